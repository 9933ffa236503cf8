// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s

// A row of 8 elements in the registers of a thread: the six steps of the network need no other thread.
// CHECK-LABEL: .entry registers(
// CHECK-NOT: shfl.sync.bfly
// CHECK-NOT: bar.sync
// CHECK: st.global
tile.kernel @registers(%x: !tile.view<32x8xi32, strides = [8, 1]>, %y: !tile.view<32x8xi32, strides = [8, 1]>) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<32x8xi32, strides = [8, 1]> -> tensor<32x8xi32>
  %s = tile.sort %t dim 1 : tensor<32x8xi32>
  tile.store %s, %y[%c0, %c0] dims [0, 1] : tensor<32x8xi32>, !tile.view<32x8xi32, strides = [8, 1]>
  tile.return
}

// The same in eight lanes: a shuffle for each step, with the lanes whose number differs in one bit.
// CHECK-LABEL: .entry lanes(
// CHECK: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// CHECK: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// CHECK: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// CHECK: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// CHECK: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// CHECK: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// CHECK-NOT: shfl.sync.bfly
// CHECK: st.global
tile.kernel @lanes(%x: !tile.view<4x8xi32, strides = [8, 1]>, %y: !tile.view<4x8xi32, strides = [8, 1]>) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<4x8xi32, strides = [8, 1]> -> tensor<4x8xi32>
  %s = tile.sort %t dim 1 : tensor<4x8xi32>
  tile.store %s, %y[%c0, %c0] dims [0, 1] : tensor<4x8xi32>, !tile.view<4x8xi32, strides = [8, 1]>
  tile.return
}
