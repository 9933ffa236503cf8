// RUN: %tessera_opt %s --convert-graph-to-sched='target=sm_90:ptx' | FileCheck %s

// The maximum of each row is stored, but exponents are relative to it and nobody else sees it: the
// gauge takes its place, and no other maximum is carried.
// CHECK-LABEL: func.func @forward
// CHECK: sched.kernel @forward_0({{.*}} -> (%[[MAX:.*]] : !gir.tensor<S, f32>, %[[SUM:.*]] : !gir.tensor<S, f32>)
// CHECK-NOT: sched.accumulate max
// CHECK: sched.gauge
// CHECK-NOT: sched.accumulate max
// CHECK: sched.accumulate sum
// CHECK: sched.yield
// CHECK: sched.store %{{.*}}, %[[MAX]]["s"]
// CHECK: sched.store %{{.*}}, %[[SUM]]["s"]
func.func @forward(%x: !gir.tensor<S, T, f32> {gir.contiguous}) -> (!gir.tensor<S, f32>, !gir.tensor<S, f32>) {
  %m = gir.reduce max %x dims [1] {gir.reference} : !gir.tensor<S, T, f32> -> !gir.tensor<S, f32>
  %b = gir.broadcast %m dims [0] : !gir.tensor<S, f32> -> !gir.tensor<S, T, f32>
  %d = gir.map sub(%x, %b) : (!gir.tensor<S, T, f32>, !gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %e = gir.map exp(%d) : (!gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %l = gir.reduce sum %e dims [1] : !gir.tensor<S, T, f32> -> !gir.tensor<S, f32>
  return %m, %l : !gir.tensor<S, f32>, !gir.tensor<S, f32>
}

// Another maximum is the program's own.
// CHECK-LABEL: func.func @maximum
// CHECK: sched.accumulate max
func.func @maximum(%x: !gir.tensor<S, T, f32> {gir.contiguous}) -> (!gir.tensor<S, f32>, !gir.tensor<S, f32>) {
  %m = gir.reduce max %x dims [1] : !gir.tensor<S, T, f32> -> !gir.tensor<S, f32>
  %b = gir.broadcast %m dims [0] : !gir.tensor<S, f32> -> !gir.tensor<S, T, f32>
  %d = gir.map sub(%x, %b) : (!gir.tensor<S, T, f32>, !gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %e = gir.map exp(%d) : (!gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %l = gir.reduce sum %e dims [1] : !gir.tensor<S, T, f32> -> !gir.tensor<S, f32>
  return %m, %l : !gir.tensor<S, f32>, !gir.tensor<S, f32>
}

// A marked maximum alone has no gauge to take.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: sched.gauge
// CHECK: return
func.func @alone(%x: !gir.tensor<S, T, f32> {gir.contiguous}) -> !gir.tensor<S, f32> {
  %m = gir.reduce max %x dims [1] {gir.reference} : !gir.tensor<S, T, f32> -> !gir.tensor<S, f32>
  return %m : !gir.tensor<S, f32>
}

// Exponents that are known to be at most zero need no gauge.
// CHECK-LABEL: func.func @backward
// CHECK-NOT: sched.gauge
// CHECK: sched.map exp
// CHECK-NOT: sched.gauge
// CHECK-LABEL: func.func @unknown
// CHECK: sched.gauge
func.func @backward(%x: !gir.tensor<S, T, f32> {gir.contiguous}, %m: !gir.tensor<S, f32> {gir.contiguous}, %v: !gir.tensor<T, 64, f32> {gir.contiguous}) -> !gir.tensor<S, 64, f32> {
  %b = gir.broadcast %m dims [0] : !gir.tensor<S, f32> -> !gir.tensor<S, T, f32>
  %d = gir.map sub(%x, %b) {gir.at_most_zero} : (!gir.tensor<S, T, f32>, !gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %e = gir.map exp(%d) : (!gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %o = gir.contract %e, %v batch [] x [] over [1] x [0] : (!gir.tensor<S, T, f32>, !gir.tensor<T, 64, f32>) -> !gir.tensor<S, 64, f32>
  return %o : !gir.tensor<S, 64, f32>
}
func.func @unknown(%x: !gir.tensor<S, T, f32> {gir.contiguous}, %m: !gir.tensor<S, f32> {gir.contiguous}, %v: !gir.tensor<T, 64, f32> {gir.contiguous}) -> !gir.tensor<S, 64, f32> {
  %b = gir.broadcast %m dims [0] : !gir.tensor<S, f32> -> !gir.tensor<S, T, f32>
  %d = gir.map sub(%x, %b) : (!gir.tensor<S, T, f32>, !gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %e = gir.map exp(%d) : (!gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %o = gir.contract %e, %v batch [] x [] over [1] x [0] : (!gir.tensor<S, T, f32>, !gir.tensor<T, 64, f32>) -> !gir.tensor<S, 64, f32>
  return %o : !gir.tensor<S, 64, f32>
}
