// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_70 -tile-assign-layouts | FileCheck %s

// With quad pairs, half of the lanes hold the same elements of an operand. Work on accumulators is done in their
// layout, and the result is exchanged after rounding; 16-bit elements are loaded through shared memory.
// CHECK-DAG: #[[SUMS:.*]] = #tile.layout<"register[d1:1, d0:2, d1:4, d1:16, d1:32] lane[d0:1, d1:2, d0:8, d1:8, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
// CHECK-DAG: #[[RIGHT:.*]] = #tile.layout<"register[d0:1, d0:2, {{.*}} lane[d1:1, d1:2, 0, d1:8, d1:4] warp[0, 0] -> d0:64 d1:64">
// CHECK-LABEL: tile.kernel @chain
// CHECK: %[[SUM:.*]] = tile.mma
// CHECK-NEXT: %[[BENT:.*]] = tile.map exp2(%[[SUM]]) : (tensor<64x64xf32, #[[SUMS]]>) -> tensor<64x64xf32, #[[SUMS]]>
// CHECK-NEXT: %[[NARROW:.*]] = tile.cast %[[BENT]]
// CHECK-NEXT: %[[V:.*]] = tile.load
// CHECK-DAG: %[[LEFT:.*]] = tile.convert %[[NARROW]]
// CHECK-DAG: %[[COME:.*]] = tile.convert %[[V]] : {{.*}} -> tensor<64x64xf16, #[[RIGHT]]>
// CHECK: tile.mma %[[LEFT]], %[[COME]]
!m = !tile.view<?x?xf16, strides = [64, 1]>
tile.kernel @chain(%q: !m, %k: !m, %v: !m, %y: !m) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %a = tile.load %q[%c0, %c0] dims [0, 1] pad 0.0 : f16 : !m -> tensor<64x64xf16>
  %b = tile.load %k[%c0, %c0] dims [1, 0] pad 0.0 : f16 : !m -> tensor<64x64xf16>
  %sum = tile.mma %a, %b, %zero : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %bent = tile.map exp2(%sum) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %narrow = tile.cast %bent : tensor<64x64xf32> -> tensor<64x64xf16>
  %c = tile.load %v[%c0, %c0] dims [0, 1] pad 0.0 : f16 : !m -> tensor<64x64xf16>
  %next = tile.mma %narrow, %c, %zero : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %out = tile.cast %next : tensor<64x64xf32> -> tensor<64x64xf16>
  tile.store %out, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf16>, !m
  tile.return
}
