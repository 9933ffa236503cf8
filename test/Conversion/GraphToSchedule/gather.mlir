// RUN: %tessera_opt %s --convert-graph-to-sched='target=x86-64-v4 cores=2' | FileCheck %s

// Rows that indices choose are read where they are used: one kernel, and no copy of the rows.
// CHECK-LABEL: func.func @normalised
// CHECK: sched.kernel @normalised_0
// CHECK: %[[I:.*]] = sched.load %in["s"]
// CHECK: sched.stream over [d]
// CHECK: sched.load %in_0["#0", "d"] at(%[[I]] : !sched.val<[s], i32>) below ["V"] : <V, D, f32> -> <[s, d], f32>
// CHECK-NOT: sched.kernel
func.func @normalised(%w: !gir.tensor<V, D, f32>, %i: !gir.tensor<S, i32>) -> !gir.tensor<S, f32> {
  %0 = gir.broadcast %i dims [0] : !gir.tensor<S, i32> -> !gir.tensor<S, D, i32>
  %1 = gir.gather %w(%0) dims [0] rest [1] : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, i32>) -> !gir.tensor<S, D, f32>
  %2 = gir.reduce sum %1 dims [1] : !gir.tensor<S, D, f32> -> !gir.tensor<S, f32>
  return %2 : !gir.tensor<S, f32>
}

// Views and elementwise work between the tensor and the indices move to where elements are read; the indices stay below
// the size of what they index.
// CHECK-LABEL: func.func @views
// CHECK: sched.load %in_0["2*#0 + 2", "i + 1"] at({{.*}}) below ["W"]
// CHECK: sched.map exp
// CHECK-NOT: sched.kernel
func.func @views(%w: !gir.tensor<V, D, f32>, %i: !gir.tensor<S, 3, i64>) -> !gir.tensor<S, 3, f32> {
  %0 = gir.slice %w starts ["2", "1"] steps [2, 1] : !gir.tensor<V, D, f32> -> !gir.tensor<"W", 3, f32>
  %1 = gir.map exp(%0) : (!gir.tensor<W, 3, f32>) -> !gir.tensor<W, 3, f32>
  %2 = gir.gather %1(%i) dims [0] rest [1] : (!gir.tensor<W, 3, f32>, !gir.tensor<S, 3, i64>) -> !gir.tensor<S, 3, f32>
  return %2 : !gir.tensor<S, 3, f32>
}

// What is reduced is stored before it is read at computed places.
// CHECK-LABEL: func.func @stored
// CHECK: sched.kernel @stored_0({{.*}}
// CHECK-NEXT: {{.*}}its elements are read at computed places
// CHECK: sched.kernel @stored_1
// CHECK: sched.load %in_0["#0"]
func.func @stored(%a: !gir.tensor<V, D, f32>, %i: !gir.tensor<S, i64>) -> !gir.tensor<S, f32> {
  %0 = gir.reduce sum %a dims [1] : !gir.tensor<V, D, f32> -> !gir.tensor<V, f32>
  %1 = gir.gather %0(%i) dims [0] rest [] : (!gir.tensor<V, f32>, !gir.tensor<S, i64>) -> !gir.tensor<S, f32>
  return %1 : !gir.tensor<S, f32>
}

// So are indices that are reduced.
// CHECK-LABEL: func.func @chosen
// CHECK: sched.kernel @chosen_0({{.*}}
// CHECK-NEXT: {{.*}}it says where elements are read
// CHECK: sched.kernel @chosen_1
// CHECK: sched.load %in_0["#0"]
func.func @chosen(%a: !gir.tensor<V, f32>, %i: !gir.tensor<S, T, i64>) -> !gir.tensor<S, f32> {
  %0 = gir.reduce max %i dims [1] : !gir.tensor<S, T, i64> -> !gir.tensor<S, i64>
  %1 = gir.gather %a(%0) dims [0] rest [] : (!gir.tensor<V, f32>, !gir.tensor<S, i64>) -> !gir.tensor<S, f32>
  return %1 : !gir.tensor<S, f32>
}

// A position is computed where it is read at computed places.
// CHECK-LABEL: func.func @positions
// CHECK: %[[I:.*]] = sched.load %in["s"]
// CHECK: %[[LAST:.*]] = sched.index "V - 1"
// CHECK: %[[A:.*]] = sched.map minimum(%[[I]], %[[LAST]])
// CHECK: sched.map maximum(%[[A]],
func.func @positions(%i: !gir.tensor<S, i64>) -> !gir.tensor<S, i64> {
  %0 = gir.iota 0 : !gir.tensor<V, i64>
  %1 = gir.gather %0(%i) dims [0] rest [] : (!gir.tensor<V, i64>, !gir.tensor<S, i64>) -> !gir.tensor<S, i64>
  return %1 : !gir.tensor<S, i64>
}
