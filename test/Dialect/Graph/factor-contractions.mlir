// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-factor-contractions,canonicalize))' | FileCheck %s

// Both operands are scaled, the right one behind a view.
// CHECK-LABEL: @scaled
// CHECK-DAG: %[[FACTOR:.*]] = gir.constant 5.000000e-01 : f32 : !gir.tensor<S, T, f32>
// CHECK-DAG: %[[K:.*]] = gir.transpose %arg1 perm [1, 0]
// CHECK: %[[SUMS:.*]] = gir.contract %arg0, %[[K]] batch
// CHECK: %[[RESULT:.*]] = gir.map mul(%[[SUMS]], %[[FACTOR]])
// CHECK: return %[[RESULT]]
func.func @scaled(%q: !gir.tensor<S, D, f32>, %k: !gir.tensor<T, D, f32>) -> !gir.tensor<S, T, f32> {
  %c = gir.constant 0.25 : f32 : !gir.tensor<S, D, f32>
  %d = gir.constant 0.5 : f32 : !gir.tensor<T, D, f32>
  %0 = gir.map mul(%c, %q) : (!gir.tensor<S, D, f32>, !gir.tensor<S, D, f32>) -> !gir.tensor<S, D, f32>
  %1 = gir.map div(%k, %d) : (!gir.tensor<T, D, f32>, !gir.tensor<T, D, f32>) -> !gir.tensor<T, D, f32>
  %2 = gir.transpose %1 perm [1, 0] : !gir.tensor<T, D, f32> -> !gir.tensor<D, T, f32>
  %3 = gir.contract %0, %2 batch [] x [] over [1] x [0] : (!gir.tensor<S, D, f32>, !gir.tensor<D, T, f32>) -> !gir.tensor<S, T, f32>
  return %3 : !gir.tensor<S, T, f32>
}

// What arithmetic of a narrow type inserts is no rounding. Sums of fp16 without the factor are fp32.
// CHECK-LABEL: @narrow
// CHECK-DAG: %[[FACTOR:.*]] = gir.constant -1.250000e-01 : f32 : !gir.tensor<S, T, f32>
// CHECK-DAG: %[[SUMS:.*]] = gir.contract %arg0, %arg1 {{.*}} : (!gir.tensor<S, D, f16>, !gir.tensor<D, T, f16>) -> !gir.tensor<S, T, f32>
// CHECK: %[[SCALED:.*]] = gir.map mul(%[[SUMS]], %[[FACTOR]])
// CHECK: gir.cast %[[SCALED]] : !gir.tensor<S, T, f32> -> !gir.tensor<S, T, f16>
func.func @narrow(%q: !gir.tensor<S, D, f16>, %k: !gir.tensor<D, T, f16>) -> !gir.tensor<S, T, f16> {
  %c = gir.constant 0.125 : f32 : !gir.tensor<S, D, f32>
  %0 = gir.cast %q : !gir.tensor<S, D, f16> -> !gir.tensor<S, D, f32>
  %1 = gir.map mul(%0, %c) : (!gir.tensor<S, D, f32>, !gir.tensor<S, D, f32>) -> !gir.tensor<S, D, f32>
  %2 = gir.cast %1 : !gir.tensor<S, D, f32> -> !gir.tensor<S, D, f16>
  %3 = gir.map neg(%2) : (!gir.tensor<S, D, f16>) -> !gir.tensor<S, D, f16>
  %4 = gir.contract %3, %k batch [] x [] over [1] x [0] : (!gir.tensor<S, D, f16>, !gir.tensor<D, T, f16>) -> !gir.tensor<S, T, f16>
  return %4 : !gir.tensor<S, T, f16>
}

// The user asked for this rounding.
// CHECK-LABEL: @explicit
// CHECK-NOT: gir.contract %arg0
func.func @explicit(%q: !gir.tensor<S, D, f32>, %k: !gir.tensor<D, T, bf16>) -> !gir.tensor<S, T, bf16> {
  %c = gir.constant 0.125 : f32 : !gir.tensor<S, D, f32>
  %0 = gir.map mul(%q, %c) : (!gir.tensor<S, D, f32>, !gir.tensor<S, D, f32>) -> !gir.tensor<S, D, f32>
  %1 = gir.cast %0 explicit : !gir.tensor<S, D, f32> -> !gir.tensor<S, D, bf16>
  %2 = gir.contract %1, %k batch [] x [] over [1] x [0] : (!gir.tensor<S, D, bf16>, !gir.tensor<D, T, bf16>) -> !gir.tensor<S, T, bf16>
  return %2 : !gir.tensor<S, T, bf16>
}

// Sums could overflow, or there is nothing left of them.
// CHECK-LABEL: @large
// CHECK-NOT: gir.contract %arg0
// CHECK: return
func.func @large(%q: !gir.tensor<S, D, f32>, %k: !gir.tensor<D, T, f32>) -> (!gir.tensor<S, T, f32>, !gir.tensor<S, T, f32>) {
  %c = gir.constant 1.0e-20 : f32 : !gir.tensor<S, D, f32>
  %zero = gir.constant 0.0 : f32 : !gir.tensor<S, D, f32>
  %0 = gir.map mul(%q, %c) : (!gir.tensor<S, D, f32>, !gir.tensor<S, D, f32>) -> !gir.tensor<S, D, f32>
  %1 = gir.contract %0, %k batch [] x [] over [1] x [0] : (!gir.tensor<S, D, f32>, !gir.tensor<D, T, f32>) -> !gir.tensor<S, T, f32>
  %2 = gir.map mul(%q, %zero) : (!gir.tensor<S, D, f32>, !gir.tensor<S, D, f32>) -> !gir.tensor<S, D, f32>
  %3 = gir.contract %2, %k batch [] x [] over [1] x [0] : (!gir.tensor<S, D, f32>, !gir.tensor<D, T, f32>) -> !gir.tensor<S, T, f32>
  return %1, %3 : !gir.tensor<S, T, f32>, !gir.tensor<S, T, f32>
}

// CHECK-LABEL: @strict
// CHECK: gir.map mul
// CHECK-NEXT: gir.contract
func.func @strict(%q: !gir.tensor<S, D, f32>, %k: !gir.tensor<D, T, f32>) -> !gir.tensor<S, T, f32> attributes {gir.numerics = {numerics = "strict"}} {
  %c = gir.constant 0.125 : f32 : !gir.tensor<S, D, f32>
  %0 = gir.map mul(%q, %c) : (!gir.tensor<S, D, f32>, !gir.tensor<S, D, f32>) -> !gir.tensor<S, D, f32>
  %1 = gir.contract %0, %k batch [] x [] over [1] x [0] : (!gir.tensor<S, D, f32>, !gir.tensor<D, T, f32>) -> !gir.tensor<S, T, f32>
  return %1 : !gir.tensor<S, T, f32>
}
