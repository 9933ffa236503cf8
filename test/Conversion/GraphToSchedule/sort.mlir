// RUN: %tessera_opt %s --convert-graph-to-sched=target=sm_90 | FileCheck %s

// What makes the words and what reads the sorted ones in order is in the same kernel, gathers at them included.
// CHECK-LABEL: func.func @indices
// CHECK: sched.kernel
// CHECK: sched.stream over [s]
// CHECK: %[[S:.*]] = sched.sort %{{.*}} : <[b, s], i64>
// CHECK: %[[I:.*]] = sched.map bitwise_and(%[[S]]
// CHECK: sched.load %{{.*}}["b", "#0"] at(%[[I]]
// CHECK-NOT: sched.kernel
func.func @indices(%x: !gir.tensor<B, S, i64>, %y: !gir.tensor<B, S, f32>) -> !gir.tensor<B, S, f32> {
  %0 = gir.constant 8 : i64 : !gir.tensor<B, S, i64>
  %1 = gir.map bitwise_left_shift(%x, %0) : (!gir.tensor<B, S, i64>, !gir.tensor<B, S, i64>) -> !gir.tensor<B, S, i64>
  %2 = gir.sort %1 : !gir.tensor<B, S, i64>
  %3 = gir.constant 255 : i64 : !gir.tensor<B, S, i64>
  %4 = gir.map bitwise_and(%2, %3) : (!gir.tensor<B, S, i64>, !gir.tensor<B, S, i64>) -> !gir.tensor<B, S, i64>
  %5 = gir.gather %y(%4) dims [1] rest [0] : (!gir.tensor<B, S, f32>, !gir.tensor<B, S, i64>) -> !gir.tensor<B, S, f32>
  return %5 : !gir.tensor<B, S, f32>
}

// In another order, sorted rows are stored first.
// CHECK-LABEL: func.func @backward
// CHECK: sched.kernel @backward_0
// CHECK-NEXT: {{.*}}a sorted row is read in another order
// CHECK: sched.sort
// CHECK: sched.kernel @backward_1
func.func @backward(%x: !gir.tensor<B, 64, i64>) -> !gir.tensor<B, 64, i64> {
  %0 = gir.sort %x : !gir.tensor<B, 64, i64>
  %1 = gir.slice %0 starts ["0", "63"] steps [1, -1] : !gir.tensor<B, 64, i64> -> !gir.tensor<B, 64, i64>
  return %1 : !gir.tensor<B, 64, i64>
}

// The first elements of a sorted row depend on all of it.
// CHECK-LABEL: func.func @first
// CHECK: sched.kernel @first_0
// CHECK: sched.sort
// CHECK: sched.kernel @first_1
// CHECK-NOT: sched.sort
func.func @first(%x: !gir.tensor<B, 64, i64>) -> !gir.tensor<B, 3, i64> {
  %0 = gir.sort %x : !gir.tensor<B, 64, i64>
  %1 = gir.slice %0 starts ["0", "0"] steps [1, 1] : !gir.tensor<B, 64, i64> -> !gir.tensor<B, 3, i64>
  return %1 : !gir.tensor<B, 3, i64>
}
