// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s

// Each element is stored at its index by itself, unless the index is out of bounds.
// CHECK-LABEL: .entry put(
// CHECK: ld.global.v2.b32
// CHECK-COUNT-2: @p st.global.b16
// CHECK-NOT: st.global
tile.kernel @put(%x: !tile.view<64xbf16, strides = [1]>, %i: !tile.view<64xi32, strides = [1]>, %y: !tile.view<?xbf16, strides = [?]>) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : !tile.view<64xbf16, strides = [1]> -> tensor<64xbf16>
  %p = tile.load %i[%c0] dims [0] : !tile.view<64xi32, strides = [1]> -> tensor<64xi32>
  tile.scatter %a, %y[] at (%p) dims [-1] : tensor<64xbf16>, !tile.view<?xbf16, strides = [?]>, tensor<64xi32>
  tile.return
}

// The owner of each element adds it atomically: 16 elements, one instruction.
// CHECK-LABEL: .entry add(
// CHECK: @p red.global.add.u64
// CHECK-NOT: red.global
tile.kernel @add(%x: !tile.view<16xi64, strides = [1]>, %i: !tile.view<16xi64, strides = [1]>, %y: !tile.view<?xi64, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : !tile.view<16xi64, strides = [1]> -> tensor<16xi64>
  %p = tile.load %i[%c0] dims [0] : !tile.view<16xi64, strides = [1]> -> tensor<16xi64>
  tile.scatter %a, %y[] at (%p) dims [-1] sum unordered : tensor<16xi64>, !tile.view<?xi64, strides = [1]>, tensor<16xi64>
  tile.return
}
