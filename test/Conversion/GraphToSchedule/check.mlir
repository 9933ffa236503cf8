// RUN: %tessera_opt %s --convert-graph-to-sched='target=x86-64-v4 cores=2' | FileCheck %s

// A check is in a kernel over the dimensions of its operands.
// CHECK-LABEL: func.func @elements
// CHECK: sched.kernel @elements_0
// CHECK: %[[I:.*]] = sched.load %in["s"]
// CHECK: sched.load {{.*}} at(%[[I]] :
// CHECK: sched.store
// CHECK: %[[OK:.*]] = sched.map lt(%[[I]],
// CHECK: sched.check %[[OK]], %[[I]] else <kind = "index", message = "{0} of {1}", sizes = ["V"]> : <[s], i1>, <[s], i64>
// CHECK-NOT: sched.kernel
func.func @elements(%w: !gir.tensor<V, f32>, %i: !gir.tensor<S, i64>) -> !gir.tensor<S, f32> {
  %v = gir.size "V" : !gir.tensor<i64>
  %n = gir.broadcast %v dims [] : !gir.tensor<i64> -> !gir.tensor<S, i64>
  %ok = gir.map lt(%i, %n) : (!gir.tensor<S, i64>, !gir.tensor<S, i64>) -> !gir.tensor<S, i1>
  gir.check %ok, %i else <kind = "index", message = "{0} of {1}", sizes = ["V"]> : !gir.tensor<S, i1>, !gir.tensor<S, i64>
  %1 = gir.gather %w(%i) dims [0] rest [] : (!gir.tensor<V, f32>, !gir.tensor<S, i64>) -> !gir.tensor<S, f32>
  return %1 : !gir.tensor<S, f32>
}

// It is not repeated for every block of a row that an index chooses.
// CHECK-LABEL: func.func @rows
// CHECK: sched.kernel @rows_0
// CHECK: sched.check
// CHECK: sched.kernel @rows_1
// CHECK-NOT: sched.check
func.func @rows(%w: !gir.tensor<V, D, f32>, %ok: !gir.tensor<S, i1>, %i: !gir.tensor<S, i64>) -> !gir.tensor<S, D, f32> {
  gir.check %ok, %i else <kind = "index", message = "{0} of {1}", sizes = ["V"]> : !gir.tensor<S, i1>, !gir.tensor<S, i64>
  %0 = gir.broadcast %i dims [0] : !gir.tensor<S, i64> -> !gir.tensor<S, D, i64>
  %1 = gir.gather %w(%0) dims [0] rest [1] : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32>
  return %1 : !gir.tensor<S, D, f32>
}

// Elements of a stream are checked in a kernel before it: a stream may skip blocks.
// CHECK-LABEL: func.func @along
// CHECK: sched.kernel @along_0(%in = %arg1 : !gir.tensor<S, i1>, %in_0 = %arg2 : !gir.tensor<S, i64>) -> ()
// CHECK: sched.check
// CHECK: sched.kernel @along_1
// CHECK: sched.stream over [s]
// CHECK-NOT: sched.check
func.func @along(%w: !gir.tensor<V, f32>, %ok: !gir.tensor<S, i1>, %i: !gir.tensor<S, i64>) -> !gir.tensor<f32> {
  gir.check %ok, %i else <kind = "index", message = "{0} of {1}", sizes = ["V"]> : !gir.tensor<S, i1>, !gir.tensor<S, i64>
  %0 = gir.gather %w(%i) dims [0] rest [] : (!gir.tensor<V, f32>, !gir.tensor<S, i64>) -> !gir.tensor<S, f32>
  %1 = gir.reduce sum %0 dims [0] : !gir.tensor<S, f32> -> !gir.tensor<f32>
  return %1 : !gir.tensor<f32>
}
