// RUN: %tessera_opt %s --convert-graph-to-sched='target=x86-64-v4 cores=2' | FileCheck %s

// What belongs to the largest element, and the share of its exponential, are found in one pass. The mask of the scores
// bounds nothing: where all of a row is masked every element is the largest.

// CHECK-LABEL: func.func @largest
// CHECK: sched.kernel @largest_0
// CHECK: sched.stream over [n] live ["0", "max(N, min(N, s.hi))"] full ["0", "min(N, s.lo)"]
// CHECK: %[[X:.*]] = sched.mask
// CHECK: %[[M:.*]] = sched.gauge %[[X]] indicator
// CHECK: %[[HIT:.*]] = sched.map eq(%[[X]], %[[M]])
// CHECK: %[[V:.*]] = sched.map where(%[[HIT]],
// CHECK: sched.accumulate sum(%[[V]]) rel %[[M]]
// CHECK: %[[G:.*]] = sched.gauge %[[X]] scale
// CHECK: %[[W:.*]] = sched.weigh %[[X]] rel %[[G]]
// CHECK: sched.accumulate sum(%[[W]]) rel %[[G]]
// CHECK-NOT: sched.stream
// CHECK-NOT: sched.kernel
func.func @largest(%x0: !gir.tensor<S, N, f32>, %y: !gir.tensor<S, N, f32>) -> (!gir.tensor<S, f32>, !gir.tensor<S, f32>) {
  %i = gir.iota 0 : !gir.tensor<S, N, i64>
  %j = gir.iota 1 : !gir.tensor<S, N, i64>
  %live = gir.map lt(%j, %i) : (!gir.tensor<S, N, i64>, !gir.tensor<S, N, i64>) -> !gir.tensor<S, N, i1>
  %ninf = gir.constant 0xFF800000 : f32 : !gir.tensor<S, N, f32>
  %x = gir.map where(%live, %x0, %ninf) : (!gir.tensor<S, N, i1>, !gir.tensor<S, N, f32>, !gir.tensor<S, N, f32>) -> !gir.tensor<S, N, f32>
  %m = gir.reduce max %x dims [1] : !gir.tensor<S, N, f32> -> !gir.tensor<S, f32>
  %mm = gir.broadcast %m dims [0] : !gir.tensor<S, f32> -> !gir.tensor<S, N, f32>
  %hit = gir.map eq(%x, %mm) : (!gir.tensor<S, N, f32>, !gir.tensor<S, N, f32>) -> !gir.tensor<S, N, i1>
  %zero = gir.constant 0.0 : f32 : !gir.tensor<S, N, f32>
  %v = gir.map where(%hit, %y, %zero) : (!gir.tensor<S, N, i1>, !gir.tensor<S, N, f32>, !gir.tensor<S, N, f32>) -> !gir.tensor<S, N, f32>
  %payload = gir.reduce sum %v dims [1] : !gir.tensor<S, N, f32> -> !gir.tensor<S, f32>
  %d = gir.map sub(%x, %mm) : (!gir.tensor<S, N, f32>, !gir.tensor<S, N, f32>) -> !gir.tensor<S, N, f32>
  %e = gir.map exp(%d) : (!gir.tensor<S, N, f32>) -> !gir.tensor<S, N, f32>
  %l = gir.reduce sum %e dims [1] : !gir.tensor<S, N, f32> -> !gir.tensor<S, f32>
  %p = gir.map reciprocal(%l) : (!gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return %payload, %p : !gir.tensor<S, f32>, !gir.tensor<S, f32>
}

// The place of the largest element, nan before all, is carried beside it: the row is read once. The maximum is the gauge itself.
// CHECK-LABEL: func.func @place
// CHECK: sched.kernel @place_0
// CHECK: %[[S:.*]]:2 = sched.stream
// CHECK: %[[X:.*]] = sched.load
// CHECK: %[[M:.*]] = sched.gauge %[[X]] indicator
// CHECK: %[[EQ:.*]] = sched.map eq(%[[X]], %[[M]])
// CHECK: %[[NAN:.*]] = sched.map isnan(%[[X]])
// CHECK: %[[HIT:.*]] = sched.map bitwise_or(%[[EQ]], %[[NAN]])
// CHECK: %[[V:.*]] = sched.map where(%[[HIT]],
// CHECK: sched.accumulate min(%[[V]]) rel %[[M]]
// CHECK-NOT: sched.stream
// CHECK: sched.store %[[S]]#0
// CHECK: sched.store %[[S]]#1
func.func @place(%x: !gir.tensor<S, N, f32>) -> (!gir.tensor<S, f32>, !gir.tensor<S, i64>) {
  %m = gir.reduce max %x dims [1] : !gir.tensor<S, N, f32> -> !gir.tensor<S, f32>
  %mm = gir.broadcast %m dims [0] : !gir.tensor<S, f32> -> !gir.tensor<S, N, f32>
  %eq = gir.map eq(%x, %mm) : (!gir.tensor<S, N, f32>, !gir.tensor<S, N, f32>) -> !gir.tensor<S, N, i1>
  %nan = gir.map isnan(%x) : (!gir.tensor<S, N, f32>) -> !gir.tensor<S, N, i1>
  %hit = gir.map bitwise_or(%eq, %nan) : (!gir.tensor<S, N, i1>, !gir.tensor<S, N, i1>) -> !gir.tensor<S, N, i1>
  %j = gir.iota 1 : !gir.tensor<S, N, i64>
  %none = gir.constant 9223372036854775807 : i64 : !gir.tensor<S, N, i64>
  %v = gir.map where(%hit, %j, %none) : (!gir.tensor<S, N, i1>, !gir.tensor<S, N, i64>, !gir.tensor<S, N, i64>) -> !gir.tensor<S, N, i64>
  %p = gir.reduce min %v dims [1] : !gir.tensor<S, N, i64> -> !gir.tensor<S, i64>
  return %m, %p : !gir.tensor<S, f32>, !gir.tensor<S, i64>
}

// Of integers the least is the largest of ~x.
// CHECK-LABEL: func.func @least
// CHECK: sched.kernel @least_0
// CHECK: %[[NOT:.*]] = sched.map bitwise_not
// CHECK: sched.gauge %[[NOT]] indicator
// CHECK-NOT: sched.stream
// CHECK: return
func.func @least(%x: !gir.tensor<S, N, i32>) -> !gir.tensor<S, i64> {
  %m = gir.reduce min %x dims [1] : !gir.tensor<S, N, i32> -> !gir.tensor<S, i32>
  %mm = gir.broadcast %m dims [0] : !gir.tensor<S, i32> -> !gir.tensor<S, N, i32>
  %eq = gir.map eq(%x, %mm) : (!gir.tensor<S, N, i32>, !gir.tensor<S, N, i32>) -> !gir.tensor<S, N, i1>
  %j = gir.iota 1 : !gir.tensor<S, N, i64>
  %none = gir.constant 9223372036854775807 : i64 : !gir.tensor<S, N, i64>
  %v = gir.map where(%eq, %j, %none) : (!gir.tensor<S, N, i1>, !gir.tensor<S, N, i64>, !gir.tensor<S, N, i64>) -> !gir.tensor<S, N, i64>
  %p = gir.reduce min %v dims [1] : !gir.tensor<S, N, i64> -> !gir.tensor<S, i64>
  return %p : !gir.tensor<S, i64>
}
