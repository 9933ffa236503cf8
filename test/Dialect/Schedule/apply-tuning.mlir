// Measured tiles, launch and tuning take the place of the cost model's. `tessera explain` says what a table calls the kernel.

// RUN: echo "tessera tuning 2 sm_90" > %t.txt
// RUN: tessera explain %s --target sm_90 | sed -n "s/^  table   //p" > %t.signature
// RUN: sed "s/$/ tileir 128x64x256 raster_group=8,num_warps=8 1.0 1.5 - a test/" %t.signature >> %t.txt
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt" | FileCheck %s
// CHECK: dims [parallel m = M tile 128, stream k = K tile 64, parallel n = N tile 256] order [n, m] launch <num_warps = 8> tuning <raster_group = 8>
// CHECK-SAME: attributes {sched.changed = ["num_warps 4 -> 8: measured"], sched.tuned = "1.50 times as fast as the cost model's choice (a test)"}

// The signature is the same with other tiles, launch and tuning.
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt" > %t.mlir
// RUN: tessera explain %t.mlir --target sm_90 | FileCheck %s --check-prefix=EXPLAIN
// RUN: tessera explain %t.mlir --target sm_90 | sed -n "s/^  table   \([0-9a-f]*\).*/\1/p" | diff %t.signature -
// EXPLAIN: launch num_warps = 8
// EXPLAIN-NEXT: tuning raster_group = 8
// EXPLAIN-NEXT: changed num_warps 4 -> 8: measured
// EXPLAIN-NEXT: table {{[0-9a-f]+}}: measured tiles, launch and tuning, 1.50 times as fast as the cost model's choice (a test)

// The model's own choice may be the best; without fields they are left to the back end.
// RUN: echo "tessera tuning 2 sm_90" > %t.txt
// RUN: sed "s/$/ tileir 64x64x128 num_warps=4 1 1 -/" %t.signature >> %t.txt
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt" | FileCheck %s --check-prefix=FIRST
// FIRST: launch <num_warps = 4> attributes {sched.tuned = "none was faster than the cost model's choice"}
// RUN: sed "s/$/ tileir 64x64x128 - 1 1 -/" %t.signature >> %t.txt
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt" | FileCheck %s --check-prefix=BARE
// BARE: order [n, m] attributes {sched.changed = ["num_warps 4 -> none: measured"], sched.tuned = "1.00 times as fast as the cost model's choice"}

// A line is for one backend.
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt via=ptx" | FileCheck %s --check-prefix=NONE

// Nothing changes without a table, or with one that lacks the kernel.
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.none" | FileCheck %s --check-prefix=NONE
// RUN: echo "tessera tuning 2 sm_90" > %t.txt
// RUN: echo "0123456789abcdef tileir 1 - 1 1 -" >> %t.txt
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90 -sched-apply-tuning="table=%t.txt" | FileCheck %s --check-prefix=NONE
// NONE: dims [parallel m = M tile 64, stream k = K tile 64, parallel n = N tile 128] order [n, m] launch <num_warps = 4> {
func.func @product(%a: !gir.tensor<M, K, bf16>, %b: !gir.tensor<K, N, bf16>) -> !gir.tensor<M, N, bf16> {
  %0 = sched.kernel @product_0(%in = %a : !gir.tensor<M, K, bf16>, %in_0 = %b : !gir.tensor<K, N, bf16>) -> (%out : !gir.tensor<M, N, bf16>)
      dims [parallel m = M tile 64, stream k = K tile 64, parallel n = N tile 128] order [n, m] launch <num_warps = 4> {
    %1 = sched.stream over [k] live ["0", "K"] full ["0", "K"] lag 0.0 -> !sched.val<[m, n], f32> {
      %3 = sched.load %in["m", "k"] : <M, K, bf16> -> <[m, k], bf16>
      %4 = sched.load %in_0["k", "n"] : <K, N, bf16> -> <[k, n], bf16>
      %5 = sched.accumulate sum(%3, %4) : (!sched.val<[m, k], bf16>, !sched.val<[k, n], bf16>) -> !sched.val<[m, n], f32>
      sched.yield %5 : !sched.val<[m, n], f32>
    }
    %2 = sched.cast %1 : <[m, n], f32> -> <[m, n], bf16>
    sched.store %2, %out["m", "n"] : <[m, n], bf16>, <M, N, bf16>
  }
  return %0 : !gir.tensor<M, N, bf16>
}
