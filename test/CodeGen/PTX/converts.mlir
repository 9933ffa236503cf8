// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s

!v = !tile.view<128xf32, strides = [1]>
#rows = #tile.layout<"register[d0:1, d0:2] lane[d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
#turned = #tile.layout<"register[d0:4, d0:8] lane[d0:1, d0:2, d0:16, d0:32, d0:64] -> d0:128">

// Four registers are transposed with four lanes: three shuffles, with the sent and the kept register selected by lane.
// CHECK-LABEL: .entry iteration(
// CHECK-COUNT-3: shfl.sync.bfly.b32
// CHECK-NOT: shfl
// CHECK-NOT: shared_memory
// CHECK: st.global
tile.kernel @iteration(%x: !v, %y: !v) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : !v -> tensor<128xf32, #rows>
  %b = tile.convert %a : tensor<128xf32, #rows> -> tensor<128xf32, #turned>
  tile.store %b, %y[%c0] dims [0] : tensor<128xf32, #turned>, !v
  tile.return
}

// Lanes that differ in a bit receive from the lane with that bit.
#all = #tile.layout<"register[d0:32] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[0] -> d0:64">
#half = #tile.layout<"lane[d0:2, d0:4, d0:8, d0:16, d0:32] warp[d0:1] -> d0:64">
!w = !tile.view<64xf32, strides = [1]>
// CHECK-LABEL: .entry half(
// CHECK-COUNT-2: shfl.sync.idx.b32
// CHECK: st.global
tile.kernel @half(%x: !w, %y: !w) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : !w -> tensor<64xf32, #all>
  %b = tile.convert %a : tensor<64xf32, #all> -> tensor<64xf32, #half>
  tile.store %b, %y[%c0] dims [0] : tensor<64xf32, #half>, !w
  tile.return
}

// A thread that holds all elements selects its own.
#each = #tile.layout<"register[d0:1, d0:2] lane[0, 0, 0, 0, 0] -> d0:4">
#own = #tile.layout<"lane[d0:1, d0:2, 0, 0, 0] -> d0:4">
!f = !tile.view<4xf32, strides = [1]>
// CHECK-LABEL: .entry own(
// CHECK: ld.global.v4.b32
// CHECK-COUNT-3: selp
// CHECK-NOT: shfl
// CHECK: st.global
tile.kernel @own(%x: !f, %y: !f) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : !f -> tensor<4xf32, #each>
  %b = tile.convert %a : tensor<4xf32, #each> -> tensor<4xf32, #own>
  tile.store %b, %y[%c0] dims [0] : tensor<4xf32, #own>, !f
  tile.return
}
