// RUN: %tessera_opt %s --sched-split-streams='target=x86-64-v4 cores=4' | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: %tessera_opt %s --sched-split-streams=target=sm_90:ptx | FileCheck %s --check-prefixes=CHECK,GPU

// The parts of a long row have a maximum and a sum each; a second kernel rescales the sums to the maximum of all parts.
// CHECK-LABEL: func.func @statistics
// CPU: %[[P:.*]]:2 = sched.kernel @statistics_0_parts(%in = %arg0 : !gir.tensor<1048576, f32>) -> (%out : !gir.tensor<16, f32>, %out_0 : !gir.tensor<16, f32>)
// CPU: dims [parallel part = 16 tile 1, stream n = 1048576 tile 4096] order [part] {
// CPU: sched.stream over [n] live ["max(0, 65536*part.lo)", "min(1048576, 65536*part.lo + 65536)"]
// GPU: %[[P:.*]]:2 = sched.kernel @statistics_0_parts(%in = %arg0 : !gir.tensor<1048576, f32>) -> (%out : !gir.tensor<64, f32>, %out_0 : !gir.tensor<64, f32>)
// GPU: dims [parallel part = 64 tile 1, stream n = 1048576 tile 4096] order [part] {
// CHECK: %[[M:.*]] = sched.gauge
// CHECK: sched.store %{{.*}}, %out["part"] : <[], f32>
// CHECK: sched.store %{{.*}}, %out_0["part"] : <[], f32>
// CHECK: sched.kernel @statistics_0_merge(%in = %[[P]]#0 : {{.*}}, %in_0 = %[[P]]#1 : {{.*}}) -> (%out : !gir.tensor<f32>)
// CHECK: dims [stream part = {{.*}}] order []
// CHECK: sched.stream over [part]
// CHECK: %[[L:.*]] = sched.load %in["part"]
// CHECK: %[[G:.*]] = sched.gauge %[[L]] scale 1.442
// CHECK: %[[W:.*]] = sched.weigh %[[L]] rel %[[G]] scale 1.442
// CHECK: %[[S:.*]] = sched.load %in_0["part"]
// CHECK: %[[R:.*]] = sched.map mul(%[[W]], %[[S]])
// CHECK: sched.accumulate sum(%[[R]]) rel %[[G]]
// CHECK: sched.map log
// CHECK: sched.store
func.func @statistics(%x: !gir.tensor<1048576, f32> {gir.contiguous}) -> !gir.tensor<f32> {
  %0 = sched.kernel @statistics_0(%in = %x : !gir.tensor<1048576, f32>) -> (%out : !gir.tensor<f32>) dims [stream n = 1048576 tile 4096] order [] {
    %1:2 = sched.stream over [n] live ["0", "1048576"] full ["0", "1048576"] lag 0.0 -> !sched.val<[], f32>, !sched.val<[], f32> {
      %2 = sched.load %in["n"] : <1048576, f32> -> <[n], f32>
      %3 = sched.gauge %2 scale 1.442695 : !sched.val<[n], f32> -> !sched.val<[], f32>
      %4 = sched.weigh %2 rel %3 scale 1.442695 : (!sched.val<[n], f32>, !sched.val<[], f32>) -> !sched.val<[n], f32>
      %5 = sched.accumulate sum(%4) rel %3 : (!sched.val<[n], f32>, !sched.val<[], f32>) -> !sched.val<[], f32>
      sched.yield %3, %5 : !sched.val<[], f32>, !sched.val<[], f32>
    }
    %6 = sched.map log(%1#1) : (!sched.val<[], f32>) -> !sched.val<[], f32>
    %7 = sched.map add(%6, %1#0) : (!sched.val<[], f32>, !sched.val<[], f32>) -> !sched.val<[], f32>
    sched.store %7, %out[] : <[], f32>, <f32>
  }
  return %0 : !gir.tensor<f32>
}

// Enough rows for every core: one kernel.
// CHECK-LABEL: func.func @rows
// CHECK: sched.kernel @rows_0(
// CHECK-NOT: sched.kernel
func.func @rows(%x: !gir.tensor<4096, 4096, f32> {gir.contiguous}) -> !gir.tensor<4096, f32> {
  %0 = sched.kernel @rows_0(%in = %x : !gir.tensor<4096, 4096, f32>) -> (%out : !gir.tensor<4096, f32>) dims [parallel i = 4096 tile 1, stream n = 4096 tile 256] order [i] {
    %1 = sched.stream over [n] live ["0", "4096"] full ["0", "4096"] lag 0.0 -> !sched.val<[i], f32> {
      %2 = sched.load %in["i", "n"] : <4096, 4096, f32> -> <[i, n], f32>
      %3 = sched.accumulate sum(%2) : (!sched.val<[i, n], f32>) -> !sched.val<[i], f32>
      sched.yield %3 : !sched.val<[i], f32>
    }
    sched.store %1, %out["i"] : <[i], f32>, <4096, f32>
  }
  return %0 : !gir.tensor<4096, f32>
}

// 96 rows leave SMs idle, and 1 part is the power of two below 132 / 96: each row has the next one.
// CHECK-LABEL: func.func @few_rows
// CPU-NOT: _parts
// GPU: sched.kernel @few_rows_0_parts
// GPU: dims [parallel part = 2 tile 1, parallel i = 96 tile 1, stream n = 1048576 tile 16384]
// GPU: sched.kernel @few_rows_0_merge
func.func @few_rows(%x: !gir.tensor<96, 1048576, f32> {gir.contiguous}) -> !gir.tensor<96, f32> {
  %0 = sched.kernel @few_rows_0(%in = %x : !gir.tensor<96, 1048576, f32>) -> (%out : !gir.tensor<96, f32>) dims [parallel i = 96 tile 1, stream n = 1048576 tile 16384] order [i] {
    %1 = sched.stream over [n] live ["0", "1048576"] full ["0", "1048576"] lag 0.0 -> !sched.val<[i], f32> {
      %2 = sched.load %in["i", "n"] : <96, 1048576, f32> -> <[i, n], f32>
      %3 = sched.accumulate sum(%2) : (!sched.val<[i, n], f32>) -> !sched.val<[i], f32>
      sched.yield %3 : !sched.val<[i], f32>
    }
    sched.store %1, %out["i"] : <[i], f32>, <96, f32>
  }
  return %0 : !gir.tensor<96, f32>
}
