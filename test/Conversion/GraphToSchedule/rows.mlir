// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=2' | FileCheck %s

// Rows: one pass for the statistics, one that stores; the mean is centred on the middle one of three elements.

// CHECK-LABEL: func.func @ln
// CHECK: dims [parallel b = B tile {{[0-9]+}}, stream d = D tile
// CHECK: sched.load %{{.*}}["b", "0"]
// CHECK: sched.load %{{.*}}["b", "floordiv(D - 1, 2)"]
// CHECK: sched.load %{{.*}}["b", "D - 1"]
// CHECK: %[[F:.*]] = sched.map maximum(
// CHECK: %[[OK:.*]] = sched.map isfinite(%[[F]])
// CHECK: %[[H:.*]] = sched.map where(%[[OK]], %[[F]],
// CHECK: sched.stream over [d]
// CHECK: %[[X:.*]] = sched.map sub(%{{.*}}, %[[H]])
// CHECK: sched.map mul(%[[X]], %[[X]])
// CHECK: sched.stream over [d]
// CHECK: sched.store {{.*}}["b", "d"]
// CHECK-NOT: sched.kernel

// Two results share the statistics.
// CHECK-LABEL: func.func @sm
// CHECK: sched.kernel @sm_0
// CHECK: sched.gauge
// CHECK: sched.stream over [d]
// CHECK: sched.store {{.*}}["b", "d"]
// CHECK: sched.store {{.*}}["b"]
// CHECK-NOT: sched.kernel

// A contraction takes its epilogue along.
// CHECK-LABEL: func.func @mm
// CHECK: %[[A:.*]] = sched.stream over [k]
// CHECK: sched.accumulate sum(%{{.*}}, %{{.*}})
// CHECK: sched.map gelu_erf
// CHECK: sched.store
// CHECK-NOT: sched.kernel

// A norm before a contraction is finite rank: one pass, five sums.
// CHECK-LABEL: func.func @lnmm
// CHECK: :5 = sched.stream over [d]
// CHECK-NOT: sched.stream
// CHECK-NOT: sched.kernel
func.func @ln(%x: !gir.tensor<B, D, f32> {gir.contiguous}, %w: !gir.tensor<D, f32> {gir.contiguous}, %b: !gir.tensor<D, f32> {gir.contiguous}) -> (!gir.tensor<B, D, f32>) {
  %0 = gir.layer_norm %x rank 1 eps 1.0e-05 scale %w shift %b : (!gir.tensor<B, D, f32>, !gir.tensor<D, f32>, !gir.tensor<D, f32>) -> !gir.tensor<B, D, f32>
  return %0 : !gir.tensor<B, D, f32>
}
func.func @sm(%x: !gir.tensor<B, D, f32> {gir.contiguous}) -> (!gir.tensor<B, D, f32>, !gir.tensor<B, f32>) {
  %0 = gir.softmax %x dim 1 : !gir.tensor<B, D, f32>
  %1 = gir.logsumexp %x dims [1] : !gir.tensor<B, D, f32> -> !gir.tensor<B, f32>
  return %0, %1 : !gir.tensor<B, D, f32>, !gir.tensor<B, f32>
}
func.func @mm(%x: !gir.tensor<M, K, f32> {gir.contiguous}, %w: !gir.tensor<K, N, f32> {gir.contiguous}, %b: !gir.tensor<N, f32> {gir.contiguous}) -> (!gir.tensor<M, N, f32>) {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<M, K, f32>, !gir.tensor<K, N, f32>) -> !gir.tensor<M, N, f32>
  %1 = gir.broadcast %b dims [1] : !gir.tensor<N, f32> -> !gir.tensor<M, N, f32>
  %2 = gir.map add(%0, %1) : (!gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>) -> !gir.tensor<M, N, f32>
  %3 = gir.map gelu_erf(%2) : (!gir.tensor<M, N, f32>) -> !gir.tensor<M, N, f32>
  return %3 : !gir.tensor<M, N, f32>
}
func.func @lnmm(%x: !gir.tensor<B, D, f32> {gir.contiguous}, %w: !gir.tensor<D, N, f32> {gir.contiguous}) -> (!gir.tensor<B, N, f32>) {
  %0 = gir.layer_norm %x rank 1 eps 1.0e-05 : (!gir.tensor<B, D, f32>) -> !gir.tensor<B, D, f32>
  %1 = gir.contract %0, %w batch [] x [] over [1] x [0] : (!gir.tensor<B, D, f32>, !gir.tensor<D, N, f32>) -> !gir.tensor<B, N, f32>
  return %1 : !gir.tensor<B, N, f32>
}
