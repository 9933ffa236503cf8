// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-reuse-contractions,canonicalize))' | FileCheck %s

// The sum of p * (a bT) along the columns is that of a * (p b).
// CHECK-LABEL: @rows
// CHECK: %[[KNOWN:.*]] = gir.contract %arg0, %arg1 batch [0] x [0] over [2] x [1]
// CHECK-NEXT: %[[PRODUCT:.*]] = gir.map mul(%arg2, %[[KNOWN]])
// CHECK-NEXT: %[[SUM:.*]] = gir.reduce sum %[[PRODUCT]] dims [2]
// CHECK-NEXT: return %[[KNOWN]], %[[SUM]]
func.func @rows(%p: !gir.tensor<H, 64, 512, f32>, %b: !gir.tensor<H, 512, 32, f32>, %a: !gir.tensor<H, 64, 32, f32>) -> (!gir.tensor<H, 64, 32, f32>, !gir.tensor<H, 64, f32>) {
  %0 = gir.contract %p, %b batch [0] x [0] over [2] x [1] : (!gir.tensor<H, 64, 512, f32>, !gir.tensor<H, 512, 32, f32>) -> !gir.tensor<H, 64, 32, f32>
  %1 = gir.contract %a, %b batch [0] x [0] over [2] x [2] : (!gir.tensor<H, 64, 32, f32>, !gir.tensor<H, 512, 32, f32>) -> !gir.tensor<H, 64, 512, f32>
  %2 = gir.map mul(%1, %p) : (!gir.tensor<H, 64, 512, f32>, !gir.tensor<H, 64, 512, f32>) -> !gir.tensor<H, 64, 512, f32>
  %3 = gir.reduce sum %2 dims [2] : !gir.tensor<H, 64, 512, f32> -> !gir.tensor<H, 64, f32>
  return %0, %3 : !gir.tensor<H, 64, 32, f32>, !gir.tensor<H, 64, f32>
}

// Along the rows: the other operand stays. The known contraction has its operands the other way
// round and transposed.
// CHECK-LABEL: @columns
// CHECK: %[[KNOWN:.*]] = gir.contract
// CHECK: %[[VIEW:.*]] = gir.transpose %[[KNOWN]] perm [1, 0]
// CHECK-NEXT: %[[PRODUCT:.*]] = gir.map mul(%arg1, %[[VIEW]])
// CHECK-NEXT: %[[SUM:.*]] = gir.reduce sum %[[PRODUCT]] dims [1]
// CHECK-NEXT: return %[[KNOWN]], %[[SUM]]
func.func @columns(%p: !gir.tensor<512, 64, f32>, %b: !gir.tensor<64, 32, f32>, %a: !gir.tensor<512, 32, f32>) -> (!gir.tensor<32, 64, f32>, !gir.tensor<64, f32>) {
  %t = gir.transpose %a perm [1, 0] : !gir.tensor<512, 32, f32> -> !gir.tensor<32, 512, f32>
  %0 = gir.contract %t, %p batch [] x [] over [1] x [0] : (!gir.tensor<32, 512, f32>, !gir.tensor<512, 64, f32>) -> !gir.tensor<32, 64, f32>
  %1 = gir.contract %a, %b batch [] x [] over [1] x [1] : (!gir.tensor<512, 32, f32>, !gir.tensor<64, 32, f32>) -> !gir.tensor<512, 64, f32>
  %2 = gir.map mul(%p, %1) : (!gir.tensor<512, 64, f32>, !gir.tensor<512, 64, f32>) -> !gir.tensor<512, 64, f32>
  %3 = gir.reduce sum %2 dims [0] : !gir.tensor<512, 64, f32> -> !gir.tensor<64, f32>
  return %0, %3 : !gir.tensor<32, 64, f32>, !gir.tensor<64, f32>
}

// Casts that need not round, a factor that is repeated along rows, and constants: 0.5 * 4 / 8.
// CHECK-LABEL: @factors
// CHECK-DAG: %[[SCALE:.*]] = gir.constant 2.500000e-01 : f32 : !gir.tensor<64, f32>
// CHECK-DAG: %[[KNOWN:.*]] = gir.contract {{.*}} -> !gir.tensor<64, 32, bf16>
// CHECK-DAG: %[[A:.*]] = gir.cast %arg2 : !gir.tensor<64, 32, bf16> -> !gir.tensor<64, 32, f32>
// CHECK-DAG: %[[WIDE:.*]] = gir.cast %[[KNOWN]] : !gir.tensor<64, 32, bf16> -> !gir.tensor<64, 32, f32>
// CHECK: %[[PRODUCT:.*]] = gir.map mul(%[[A]], %[[WIDE]])
// CHECK-NEXT: %[[SUM:.*]] = gir.reduce sum %[[PRODUCT]] dims [1]
// CHECK-NEXT: %[[SCALED:.*]] = gir.map mul(%[[SUM]], %[[SCALE]])
// CHECK: return %[[KNOWN]], %[[SCALED]]
func.func @factors(%p: !gir.tensor<64, 512, f32>, %b: !gir.tensor<512, 32, bf16>, %a: !gir.tensor<64, 32, bf16>, %m: !gir.tensor<512, f32>) -> (!gir.tensor<64, 32, bf16>, !gir.tensor<64, f32>) {
  %half = gir.constant 0.5 : f32 : !gir.tensor<64, 512, f32>
  %four = gir.constant 4.0 : f32 : !gir.tensor<64, 512, f32>
  %eight = gir.constant 8.0 : f32 : !gir.tensor<64, 512, f32>
  %row = gir.broadcast %m dims [1] : !gir.tensor<512, f32> -> !gir.tensor<64, 512, f32>
  %pm = gir.map mul(%p, %row) : (!gir.tensor<64, 512, f32>, !gir.tensor<64, 512, f32>) -> !gir.tensor<64, 512, f32>
  %p8 = gir.map mul(%pm, %eight) : (!gir.tensor<64, 512, f32>, !gir.tensor<64, 512, f32>) -> !gir.tensor<64, 512, f32>
  %narrow = gir.cast %p8 : !gir.tensor<64, 512, f32> -> !gir.tensor<64, 512, bf16>
  %0 = gir.contract %narrow, %b batch [] x [] over [1] x [0] : (!gir.tensor<64, 512, bf16>, !gir.tensor<512, 32, bf16>) -> !gir.tensor<64, 32, bf16>
  %1 = gir.contract %a, %b batch [] x [] over [1] x [1] : (!gir.tensor<64, 32, bf16>, !gir.tensor<512, 32, bf16>) -> !gir.tensor<64, 512, bf16>
  %wide = gir.cast %1 : !gir.tensor<64, 512, bf16> -> !gir.tensor<64, 512, f32>
  %2 = gir.map mul(%wide, %half) : (!gir.tensor<64, 512, f32>, !gir.tensor<64, 512, f32>) -> !gir.tensor<64, 512, f32>
  %3 = gir.map mul(%2, %row) : (!gir.tensor<64, 512, f32>, !gir.tensor<64, 512, f32>) -> !gir.tensor<64, 512, f32>
  %4 = gir.map mul(%3, %p) : (!gir.tensor<64, 512, f32>, !gir.tensor<64, 512, f32>) -> !gir.tensor<64, 512, f32>
  %5 = gir.map mul(%4, %four) : (!gir.tensor<64, 512, f32>, !gir.tensor<64, 512, f32>) -> !gir.tensor<64, 512, f32>
  %6 = gir.reduce sum %5 dims [1] : !gir.tensor<64, 512, f32> -> !gir.tensor<64, f32>
  return %0, %6 : !gir.tensor<64, 32, bf16>, !gir.tensor<64, f32>
}

// Nothing computes p b.
// CHECK-LABEL: @unknown
// CHECK: gir.reduce sum %{{.*}} : !gir.tensor<64, 512, f32> -> !gir.tensor<64, f32>
func.func @unknown(%p: !gir.tensor<64, 512, f32>, %b: !gir.tensor<512, 32, f32>, %a: !gir.tensor<64, 32, f32>) -> !gir.tensor<64, f32> {
  %1 = gir.contract %a, %b batch [] x [] over [1] x [1] : (!gir.tensor<64, 32, f32>, !gir.tensor<512, 32, f32>) -> !gir.tensor<64, 512, f32>
  %2 = gir.map mul(%p, %1) : (!gir.tensor<64, 512, f32>, !gir.tensor<64, 512, f32>) -> !gir.tensor<64, 512, f32>
  %3 = gir.reduce sum %2 dims [1] : !gir.tensor<64, 512, f32> -> !gir.tensor<64, f32>
  return %3 : !gir.tensor<64, f32>
}

// The known contraction is of another p, or of a p that is read the other way round.
// CHECK-LABEL: @others
// CHECK-COUNT-2: gir.reduce sum %{{.*}} : !gir.tensor<64, 64, f32> -> !gir.tensor<64, f32>
func.func @others(%p: !gir.tensor<64, 64, f32>, %q: !gir.tensor<64, 64, f32>, %b: !gir.tensor<64, 32, f32>, %a: !gir.tensor<64, 32, f32>) -> (!gir.tensor<64, 32, f32>, !gir.tensor<64, 32, f32>, !gir.tensor<64, f32>, !gir.tensor<64, f32>) {
  %0 = gir.contract %q, %b batch [] x [] over [1] x [0] : (!gir.tensor<64, 64, f32>, !gir.tensor<64, 32, f32>) -> !gir.tensor<64, 32, f32>
  %1 = gir.contract %p, %b batch [] x [] over [0] x [0] : (!gir.tensor<64, 64, f32>, !gir.tensor<64, 32, f32>) -> !gir.tensor<64, 32, f32>
  %2 = gir.contract %a, %b batch [] x [] over [1] x [1] : (!gir.tensor<64, 32, f32>, !gir.tensor<64, 32, f32>) -> !gir.tensor<64, 64, f32>
  %3 = gir.map mul(%p, %2) : (!gir.tensor<64, 64, f32>, !gir.tensor<64, 64, f32>) -> !gir.tensor<64, 64, f32>
  %4 = gir.reduce sum %3 dims [1] : !gir.tensor<64, 64, f32> -> !gir.tensor<64, f32>
  %5 = gir.map exp(%3) : (!gir.tensor<64, 64, f32>) -> !gir.tensor<64, 64, f32>
  %6 = gir.reduce sum %5 dims [1] : !gir.tensor<64, 64, f32> -> !gir.tensor<64, f32>
  return %0, %1, %4, %6 : !gir.tensor<64, 32, f32>, !gir.tensor<64, 32, f32>, !gir.tensor<64, f32>, !gir.tensor<64, f32>
}

// The new sum would have more terms.
// CHECK-LABEL: @short
// CHECK: gir.reduce sum %{{.*}} : !gir.tensor<64, 8, f32> -> !gir.tensor<64, f32>
func.func @short(%p: !gir.tensor<64, 8, f32>, %b: !gir.tensor<8, 32, f32>, %a: !gir.tensor<64, 32, f32>) -> (!gir.tensor<64, 32, f32>, !gir.tensor<64, f32>) {
  %0 = gir.contract %p, %b batch [] x [] over [1] x [0] : (!gir.tensor<64, 8, f32>, !gir.tensor<8, 32, f32>) -> !gir.tensor<64, 32, f32>
  %1 = gir.contract %a, %b batch [] x [] over [1] x [1] : (!gir.tensor<64, 32, f32>, !gir.tensor<8, 32, f32>) -> !gir.tensor<64, 8, f32>
  %2 = gir.map mul(%p, %1) : (!gir.tensor<64, 8, f32>, !gir.tensor<64, 8, f32>) -> !gir.tensor<64, 8, f32>
  %3 = gir.reduce sum %2 dims [1] : !gir.tensor<64, 8, f32> -> !gir.tensor<64, f32>
  return %0, %3 : !gir.tensor<64, 32, f32>, !gir.tensor<64, f32>
}

// The user asked for this rounding; contractions accumulate in another type than the sum; integers.
// CHECK-LABEL: @types
// CHECK: gir.reduce sum %{{.*}} : !gir.tensor<64, 512, f32> -> !gir.tensor<64, f32>
// CHECK: gir.reduce sum %{{.*}} : !gir.tensor<64, 512, f64> -> !gir.tensor<64, f64>
// CHECK: gir.reduce sum %{{.*}} : !gir.tensor<64, 512, i32> -> !gir.tensor<64, i32>
func.func @types(%p: !gir.tensor<64, 512, f32>, %b: !gir.tensor<512, 32, bf16>, %a: !gir.tensor<64, 32, bf16>, %r: !gir.tensor<64, 512, f32>, %i: !gir.tensor<64, 512, i32>, %j: !gir.tensor<512, 32, i32>, %k: !gir.tensor<64, 32, i32>)
    -> (!gir.tensor<64, 32, bf16>, !gir.tensor<64, 32, bf16>, !gir.tensor<64, 32, i32>, !gir.tensor<64, f32>, !gir.tensor<64, f64>, !gir.tensor<64, i32>) {
  %narrow = gir.cast %p explicit : !gir.tensor<64, 512, f32> -> !gir.tensor<64, 512, bf16>
  %0 = gir.contract %narrow, %b batch [] x [] over [1] x [0] : (!gir.tensor<64, 512, bf16>, !gir.tensor<512, 32, bf16>) -> !gir.tensor<64, 32, bf16>
  %1 = gir.contract %a, %b batch [] x [] over [1] x [1] : (!gir.tensor<64, 32, bf16>, !gir.tensor<512, 32, bf16>) -> !gir.tensor<64, 512, f32>
  %2 = gir.map mul(%p, %1) : (!gir.tensor<64, 512, f32>, !gir.tensor<64, 512, f32>) -> !gir.tensor<64, 512, f32>
  %3 = gir.reduce sum %2 dims [1] : !gir.tensor<64, 512, f32> -> !gir.tensor<64, f32>
  %4 = gir.cast %r : !gir.tensor<64, 512, f32> -> !gir.tensor<64, 512, bf16>
  %5 = gir.contract %4, %b batch [] x [] over [1] x [0] : (!gir.tensor<64, 512, bf16>, !gir.tensor<512, 32, bf16>) -> !gir.tensor<64, 32, bf16>
  %6 = gir.cast %r : !gir.tensor<64, 512, f32> -> !gir.tensor<64, 512, f64>
  %7 = gir.cast %1 : !gir.tensor<64, 512, f32> -> !gir.tensor<64, 512, f64>
  %8 = gir.map mul(%6, %7) : (!gir.tensor<64, 512, f64>, !gir.tensor<64, 512, f64>) -> !gir.tensor<64, 512, f64>
  %9 = gir.reduce sum %8 dims [1] : !gir.tensor<64, 512, f64> -> !gir.tensor<64, f64>
  %10 = gir.contract %i, %j batch [] x [] over [1] x [0] : (!gir.tensor<64, 512, i32>, !gir.tensor<512, 32, i32>) -> !gir.tensor<64, 32, i32>
  %11 = gir.contract %k, %j batch [] x [] over [1] x [1] : (!gir.tensor<64, 32, i32>, !gir.tensor<512, 32, i32>) -> !gir.tensor<64, 512, i32>
  %12 = gir.map mul(%i, %11) : (!gir.tensor<64, 512, i32>, !gir.tensor<64, 512, i32>) -> !gir.tensor<64, 512, i32>
  %13 = gir.reduce sum %12 dims [1] : !gir.tensor<64, 512, i32> -> !gir.tensor<64, i32>
  return %0, %5, %10, %3, %9, %13 : !gir.tensor<64, 32, bf16>, !gir.tensor<64, 32, bf16>, !gir.tensor<64, 32, i32>, !gir.tensor<64, f32>, !gir.tensor<64, f64>, !gir.tensor<64, i32>
}

// CHECK-LABEL: @strict
// CHECK: gir.reduce sum %{{.*}} : !gir.tensor<64, 512, f32> -> !gir.tensor<64, f32>
func.func @strict(%p: !gir.tensor<64, 512, f32>, %b: !gir.tensor<512, 32, f32>, %a: !gir.tensor<64, 32, f32>) -> (!gir.tensor<64, 32, f32>, !gir.tensor<64, f32>) attributes {gir.numerics = {numerics = "strict"}} {
  %0 = gir.contract %p, %b batch [] x [] over [1] x [0] : (!gir.tensor<64, 512, f32>, !gir.tensor<512, 32, f32>) -> !gir.tensor<64, 32, f32>
  %1 = gir.contract %a, %b batch [] x [] over [1] x [1] : (!gir.tensor<64, 32, f32>, !gir.tensor<512, 32, f32>) -> !gir.tensor<64, 512, f32>
  %2 = gir.map mul(%p, %1) : (!gir.tensor<64, 512, f32>, !gir.tensor<64, 512, f32>) -> !gir.tensor<64, 512, f32>
  %3 = gir.reduce sum %2 dims [1] : !gir.tensor<64, 512, f32> -> !gir.tensor<64, f32>
  return %0, %3 : !gir.tensor<64, 32, f32>, !gir.tensor<64, f32>
}
