// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-allocate-shared | FileCheck %s

#t = #tile.layout<"register[d0:1, d0:2, d0:4, d0:8] lane[d0:16, d0:32, d0:64, d0:128, d0:256] warp[d0:512, d0:1024] -> d0:2048">
#m = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64, d0:128, d0:256, d0:512, d0:1024] -> d0:2048">
!b = !tile.buffer<1, tensor<2048xf32, #m>>

// The lifetime of the third buffer starts after that of the first.
// CHECK-LABEL: tile.kernel @times
// CHECK: tile.alloc offset 0
// CHECK: tile.alloc offset 8192
// CHECK: tile.alloc offset 0
tile.kernel @times() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.constant 1.0 : f32 : tensor<2048xf32, #t>
  %a = tile.alloc : !b
  tile.shared_store %x, %a[%c0] : tensor<2048xf32, #t>, !b
  %b = tile.alloc : !b
  tile.shared_store %x, %b[%c0] : tensor<2048xf32, #t>, !b
  %0 = tile.shared_load %a[%c0] : !b -> tensor<2048xf32, #t>
  %c = tile.alloc : !b
  tile.shared_store %x, %c[%c0] : tensor<2048xf32, #t>, !b
  %1 = tile.shared_load %b[%c0] : !b -> tensor<2048xf32, #t>
  %2 = tile.shared_load %c[%c0] : !b -> tensor<2048xf32, #t>
  tile.return
}

// A buffer that is allocated before a loop lives for the whole loop, one that is allocated inside for a part of each
// iteration; after the loop its memory is free.
// CHECK-LABEL: tile.kernel @loops
// CHECK: tile.alloc offset 0 : <3
// CHECK: tile.alloc offset 24576
// CHECK: tile.alloc offset 24576
// CHECK: tile.alloc offset 0 : <1
tile.kernel @loops(%v: !tile.view<2048xf32, strides = [1]>, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tile.constant 1.0 : f32 : tensor<2048xf32, #t>
  %a = tile.alloc : !tile.buffer<3, tensor<2048xf32, #m>>
  scf.for %i = %c0 to %n step %c1 {
    tile.cp_async %v[%c0] dims [0] into %a[%c0] via #t : !tile.view<2048xf32, strides = [1]>, !tile.buffer<3, tensor<2048xf32, #m>>
    %b = tile.alloc : !b
    tile.shared_store %x, %b[%c0] : tensor<2048xf32, #t>, !b
    %0 = tile.shared_load %b[%c0] : !b -> tensor<2048xf32, #t>
    %c = tile.alloc : !b
    tile.shared_store %x, %c[%c0] : tensor<2048xf32, #t>, !b
    %1 = tile.shared_load %c[%c0] : !b -> tensor<2048xf32, #t>
  }
  %d = tile.alloc : !b
  tile.shared_store %x, %d[%c0] : tensor<2048xf32, #t>, !b
  %2 = tile.shared_load %d[%c0] : !b -> tensor<2048xf32, #t>
  tile.return
}

// Small buffers alternate between two offsets.
#p = #tile.layout<"lane[0, 0, 0, 0, 0] warp[d0:1, d0:2] -> d0:4">
#f = #tile.layout<"offset[d0:1, d0:2] -> d0:4">
!s = !tile.buffer<1, tensor<4xf32, #f>>
// CHECK-LABEL: tile.kernel @small
// CHECK: tile.alloc offset 0
// CHECK: tile.alloc offset 16
// CHECK: tile.alloc offset 0
tile.kernel @small() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.constant 1.0 : f32 : tensor<4xf32, #p>
  %a = tile.alloc : !s
  tile.shared_store %x, %a[%c0] : tensor<4xf32, #p>, !s
  %0 = tile.shared_load %a[%c0] : !s -> tensor<4xf32, #p>
  %b = tile.alloc : !s
  tile.shared_store %x, %b[%c0] : tensor<4xf32, #p>, !s
  %1 = tile.shared_load %b[%c0] : !s -> tensor<4xf32, #p>
  %c = tile.alloc : !s
  tile.shared_store %x, %c[%c0] : tensor<4xf32, #p>, !s
  %2 = tile.shared_load %c[%c0] : !s -> tensor<4xf32, #p>
  tile.return
}
