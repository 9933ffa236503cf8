// RUN: %tessera_opt %s -convert-sched-to-tile | FileCheck %s

// A tile of 192 columns is three of 64. A stream carries the sums of all; rows are loaded once.
// CHECK-LABEL: tile.launch @product_0 grid ["ceildiv(N, 192)", "ceildiv(M, 128)"]
// CHECK-LABEL: tile.kernel @product_0
// CHECK: %[[FIRST:.*]] = arith.muli %[[N:.*]], %c3
// CHECK-NEXT: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c1
// CHECK-NEXT: %[[THIRD:.*]] = arith.addi %[[FIRST]], %c2
// CHECK: %[[SUMS:.*]]:3 = scf.for %[[K:.*]] = {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}}) -> (tensor<128x64xf32>, tensor<128x64xf32>, tensor<128x64xf32>)
// CHECK-NEXT: %[[ROWS:.*]] = tile.load %{{.*}}[%[[M:.*]], %[[K]]]
// CHECK-NEXT: %[[LEFT:.*]] = tile.load %{{.*}}[%[[K]], %[[FIRST]]] {{.*}} -> tensor<64x64xbf16>
// CHECK-NEXT: tile.mma %[[ROWS]], %[[LEFT]], %[[A]]
// CHECK-NEXT: %[[MIDDLE:.*]] = tile.load %{{.*}}[%[[K]], %[[SECOND]]]
// CHECK-NEXT: tile.mma %[[ROWS]], %[[MIDDLE]], %[[B]]
// CHECK-NEXT: %[[RIGHT:.*]] = tile.load %{{.*}}[%[[K]], %[[THIRD]]]
// CHECK-NEXT: tile.mma %[[ROWS]], %[[RIGHT]], %[[C]]
// CHECK: tile.load %bias[%[[FIRST]]]
// CHECK: tile.store %{{.*}}, %out[%[[M]], %[[FIRST]]] dims [0, 1] bounded
// CHECK: tile.load %bias[%[[SECOND]]]
// CHECK: tile.store %{{.*}}, %out[%[[M]], %[[SECOND]]] dims [0, 1] bounded
// CHECK: tile.load %bias[%[[THIRD]]]
// CHECK: tile.store %{{.*}}, %out[%[[M]], %[[THIRD]]] dims [0, 1] bounded
func.func @product(%a: !gir.tensor<M, 256, bf16>, %b: !gir.tensor<256, N, bf16>, %c: !gir.tensor<N, f32> {gir.name = "bias"}) -> !gir.tensor<M, N, f32> {
  %0 = sched.kernel @product(%in = %a : !gir.tensor<M, 256, bf16>, %in_0 = %b : !gir.tensor<256, N, bf16>, %in_1 = %c : !gir.tensor<N, f32>) -> (%out : !gir.tensor<M, N, f32>)
      dims [parallel m = M tile 128, stream k = 256 tile 64, parallel n = N tile 192] order [n, m] launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
    %1 = sched.stream over [k] live ["0", "256"] full ["0", "256"] lag 0.0 -> !sched.val<[m, n], f32> {
      %2 = sched.load %in["m", "k"] : <M, 256, bf16> -> <[m, k], bf16>
      %3 = sched.load %in_0["k", "n"] : <256, N, bf16> -> <[k, n], bf16>
      %4 = sched.accumulate sum(%2, %3) : (!sched.val<[m, k], bf16>, !sched.val<[k, n], bf16>) -> !sched.val<[m, n], f32>
      sched.yield %4 : !sched.val<[m, n], f32>
    }
    %5 = sched.load %in_1["n"] : <N, f32> -> <[n], f32>
    %6 = sched.map add(%1, %5) : (!sched.val<[m, n], f32>, !sched.val<[n], f32>) -> !sched.val<[m, n], f32>
    sched.store %6, %out["m", "n"] : <[m, n], f32>, <M, N, f32>
  }
  return %0 : !gir.tensor<M, N, f32>
}
