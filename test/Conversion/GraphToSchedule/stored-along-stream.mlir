// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=2' | FileCheck %s

// The second result repeats a row's statistic along the row: it does not depend on the stream, but is stored along it.

// CHECK-LABEL: func.func @repeated
// CHECK: sched.kernel @repeated_0
// CHECK: %[[SUM:.*]] = sched.stream over [n] {{.*}} -> !sched.val<[m], f32>
// CHECK: sched.stream over [n]
// CHECK: sched.store %{{.*}}["m", "n"]
// CHECK: sched.store %{{.*}}["m", "n"]
// CHECK: }
func.func @repeated(%x: !gir.tensor<M, N, f32> {gir.contiguous}) -> (!gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>) {
  %s = gir.reduce sum %x dims [1] : !gir.tensor<M, N, f32> -> !gir.tensor<M, f32>
  %r = gir.broadcast %s dims [0] : !gir.tensor<M, f32> -> !gir.tensor<M, N, f32>
  %y = gir.map mul(%x, %r) : (!gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>) -> !gir.tensor<M, N, f32>
  return %y, %r : !gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>
}
