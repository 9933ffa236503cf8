// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s
#wide = #tile.layout<"register[d0:1, d0:2, d0:4] lane[d0:8, d0:16, d0:32, d0:64, d0:128] -> d0:256">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64, d0:128] -> d0:256">
#all = #tile.layout<"lane[0, 0, 0, 0, 0] -> ">

// Vector loads of four words; one instruction converts an f16. Eight elements have four accumulators.
// CHECK-LABEL: .entry sum(
// CHECK: ld.shared.v4.b32 {%r[[A:[0-9]+]], %r[[B:[0-9]+]], %r[[C:[0-9]+]], %r[[D:[0-9]+]]}, [%r
// CHECK-NOT: mov.b32 {%rs
// CHECK-DAG: shl.b32 %r[[A0:[0-9]+]], %r[[A]], 16;
// CHECK-DAG: and.b32 %r[[A1:[0-9]+]], %r[[A]], -65536;
// CHECK-DAG: shl.b32 %r[[C0:[0-9]+]], %r[[C]], 16;
// CHECK-DAG: and.b32 %r[[C1:[0-9]+]], %r[[C]], -65536;
// CHECK-DAG: add.f32 %r[[S0:[0-9]+]], %r[[A0]], %r[[C0]];
// CHECK-DAG: add.f32 %r[[S1:[0-9]+]], %r[[A1]], %r[[C1]];
// CHECK: add.f32 %{{.*}}, %r[[S0]], %r[[S1]];
tile.kernel @sum(%x: !tile.view<256xbf16, strides = [1]>, %y: !tile.view<1xf32, strides = [1]>) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : !tile.view<256xbf16, strides = [1]> -> tensor<256xbf16, #wide>
  %b = tile.alloc : <1, tensor<256xbf16, #memory>>
  tile.shared_store %a, %b[%c0] : tensor<256xbf16, #wide>, <1, tensor<256xbf16, #memory>>
  %r = tile.shared_load %b[%c0] : <1, tensor<256xbf16, #memory>> -> tensor<256xbf16, #wide>
  %f = tile.cast %r : tensor<256xbf16, #wide> -> tensor<256xf32, #wide>
  %s = tile.reduce sum %f dims [0] : tensor<256xf32, #wide> -> tensor<f32, #all>
  tile.store %s, %y[%c0] dims [] : tensor<f32, #all>, !tile.view<1xf32, strides = [1]>
  tile.return
}
