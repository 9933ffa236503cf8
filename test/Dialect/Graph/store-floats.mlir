// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-store-floats{side=64}))' | FileCheck %s
// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-store-floats))' | FileCheck %s --check-prefix=NONE

// NONE-NOT: gir.map join
// NONE: func.func @scores
// NONE-NOT: gir.map join

// Each part is what rounding has left. Only the first copy has a reason: one kernel stores all three.
// CHECK-LABEL: @product
// CHECK: %[[W:.*]] = gir.map join(
// CHECK: %[[SIGN:.*]] = gir.map sign(%arg0)
// CHECK: %[[FINITE:.*]] = gir.map isfinite(%arg0)
// CHECK: %[[FIRST:.*]] = gir.map where(%[[FINITE]], %{{.*}}, %[[SIGN]])
// CHECK: %[[A:.*]] = gir.cast %[[FIRST]] explicit : {{.*}} -> !gir.tensor<4096, 1024, bf16>
// CHECK: %[[WIDE:.*]] = gir.cast %[[A]]
// CHECK: %[[REST:.*]] = gir.map sub(%arg0, %[[WIDE]])
// CHECK: gir.map isfinite(%[[REST]])
// CHECK: %[[STORED:.*]] = gir.materialize %[[A]] isolated because "tensor cores multiply it as a sum of three bf16" : !gir.tensor<4096, 1024, bf16>
// CHECK: gir.materialize %{{.*}} isolated : !gir.tensor<4096, 1024, bf16>
// CHECK: gir.materialize %{{.*}} isolated : !gir.tensor<4096, 1024, bf16>
// CHECK: %[[X:.*]] = gir.map join(
// CHECK: gir.contract %[[X]], %[[W]] batch [] x [] over [1] x [0]
func.func @product(%x: !gir.tensor<4096, 1024, f32>, %w: !gir.tensor<1024, 4096, f32>) -> !gir.tensor<4096, 4096, f32> {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<4096, 1024, f32>, !gir.tensor<1024, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  return %0 : !gir.tensor<4096, 4096, f32>
}

// Parts of a view are views of parts, and rows of parts are padded.
// CHECK-LABEL: @viewed
// CHECK-COUNT-2: gir.materialize %{{.*}} isolated align_rows 128 {{.*}}!gir.tensor<4096, 1001, bf16>
// CHECK: %[[X:.*]] = gir.map join(
// CHECK: %[[VIEW:.*]] = gir.transpose %[[X]] perm [1, 0]
// CHECK: gir.contract %[[VIEW]], %[[X]] batch [] x [] over [1] x [0]
func.func @viewed(%x: !gir.tensor<4096, 1001, f32>) -> !gir.tensor<1001, 1001, f32> {
  %0 = gir.transpose %x perm [1, 0] : !gir.tensor<4096, 1001, f32> -> !gir.tensor<1001, 4096, f32>
  %1 = gir.contract %0, %x batch [] x [] over [1] x [0] : (!gir.tensor<1001, 4096, f32>, !gir.tensor<4096, 1001, f32>) -> !gir.tensor<1001, 1001, f32>
  return %1 : !gir.tensor<1001, 1001, f32>
}

// A matrix of windows is stored as parts at once.
// CHECK-LABEL: @windows
// CHECK-NOT: gir.materialize %arg0 isolated : !gir.tensor<32, 3248, 192, f32>
// CHECK: %[[X:.*]] = gir.map join({{.*}}!gir.tensor<32, 3248, 192, f32>
// CHECK: %[[SLID:.*]] = gir.window %[[X]] dims [1] sizes [3] steps [1] dilations [56]
// CHECK: gir.contract %[[SLID]]
func.func @windows(%x: !gir.tensor<32, 3248, 192, f32>, %w: !gir.tensor<128, 3, 192, f32>) -> !gir.tensor<32, 3136, 128, f32> {
  %0 = gir.materialize %x isolated : !gir.tensor<32, 3248, 192, f32>
  %1 = gir.window %0 dims [1] sizes [3] steps [1] dilations [56] : !gir.tensor<32, 3248, 192, f32> -> !gir.tensor<32, 3136, 192, 3, f32>
  %2 = gir.contract %1, %w batch [] x [] over [3, 2] x [1, 2] : (!gir.tensor<32, 3136, 192, 3, f32>, !gir.tensor<128, 3, 192, f32>) -> !gir.tensor<32, 3136, 128, f32>
  return %2 : !gir.tensor<32, 3136, 128, f32>
}

// The product is reduced, and therefore stored.
// CHECK-LABEL: @reduced
// CHECK: %[[Y:.*]] = gir.contract
// CHECK: %[[STORED:.*]] = gir.materialize %[[Y]] because "it is a product of stored operands, and reduced"
// CHECK: gir.reduce max %[[STORED]] dims [1]
func.func @reduced(%x: !gir.tensor<4096, 4096, f32>, %w: !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, f32> {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %1 = gir.reduce max %0 dims [1] : !gir.tensor<4096, 4096, f32> -> !gir.tensor<4096, f32>
  return %1 : !gir.tensor<4096, f32>
}

// Few rows, few terms, and copies that would take longer than the product.
// CHECK-LABEL: @declined
// CHECK-NOT: gir.map join
func.func @declined(%x: !gir.tensor<32, 4096, f32>, %w: !gir.tensor<4096, 4096, f32>, %u: !gir.tensor<4096, 64, f32>, %v: !gir.tensor<64, 4096, f32>, %s: !gir.tensor<128, 128, f32>)
    -> (!gir.tensor<32, 4096, f32>, !gir.tensor<4096, 4096, f32>, !gir.tensor<128, 128, f32>) {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<32, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<32, 4096, f32>
  %1 = gir.contract %u, %v batch [] x [] over [1] x [0] : (!gir.tensor<4096, 64, f32>, !gir.tensor<64, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %2 = gir.contract %s, %s batch [] x [] over [1] x [0] : (!gir.tensor<128, 128, f32>, !gir.tensor<128, 128, f32>) -> !gir.tensor<128, 128, f32>
  return %0, %1, %2 : !gir.tensor<32, 4096, f32>, !gir.tensor<4096, 4096, f32>, !gir.tensor<128, 128, f32>
}

// A policy rounds the operands.
// CHECK-LABEL: @rounded
// CHECK-NOT: gir.map join
func.func @rounded(%x: !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32> attributes {gir.numerics = {matmul = "bf16"}} {
  %0 = gir.contract %x, %x batch [] x [] over [1] x [0] : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  return %0 : !gir.tensor<4096, 4096, f32>
}

// The zeros of a triangle are skipped as long as they are not stored.
// CHECK-LABEL: @triangle
// CHECK-NOT: gir.map join
func.func @triangle(%x: !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32> {
  %0 = gir.iota 0 : !gir.tensor<4096, 4096, i32>
  %1 = gir.iota 1 : !gir.tensor<4096, 4096, i32>
  %2 = gir.map ge(%0, %1) : (!gir.tensor<4096, 4096, i32>, !gir.tensor<4096, 4096, i32>) -> !gir.tensor<4096, 4096, i1>
  %3 = gir.constant 0.0 : f32 : !gir.tensor<4096, 4096, f32>
  %4 = gir.map where(%2, %x, %3) : (!gir.tensor<4096, 4096, i1>, !gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %5 = gir.contract %4, %x batch [] x [] over [1] x [0] : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  return %5 : !gir.tensor<4096, 4096, f32>
}

// A diagonal: the same positions along rows and columns.
// CHECK-LABEL: @diagonal
// CHECK-NOT: gir.map join
func.func @diagonal(%x: !gir.tensor<4096, f32>, %w: !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32> {
  %0 = gir.iota 0 : !gir.tensor<4096, i64>
  %1 = gir.broadcast %0 dims [1] : !gir.tensor<4096, i64> -> !gir.tensor<4096, 4096, i64>
  %2 = gir.broadcast %0 dims [0] : !gir.tensor<4096, i64> -> !gir.tensor<4096, 4096, i64>
  %3 = gir.map eq(%1, %2) : (!gir.tensor<4096, 4096, i64>, !gir.tensor<4096, 4096, i64>) -> !gir.tensor<4096, 4096, i1>
  %4 = gir.broadcast %x dims [1] : !gir.tensor<4096, f32> -> !gir.tensor<4096, 4096, f32>
  %5 = gir.constant 0.0 : f32 : !gir.tensor<4096, 4096, f32>
  %6 = gir.map where(%3, %4, %5) : (!gir.tensor<4096, 4096, i1>, !gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %7 = gir.contract %6, %w batch [] x [] over [1] x [0] : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  return %7 : !gir.tensor<4096, 4096, f32>
}

// Streams compute scores that are larger than all tensors, and what is multiplied with them.
// CHECK-LABEL: @scores
// CHECK-NOT: gir.map join
func.func @scores(%q: !gir.tensor<32, 8192, 128, f32>, %k: !gir.tensor<32, 8192, 128, f32>, %v: !gir.tensor<32, 8192, 128, f32>) -> !gir.tensor<32, 8192, 128, f32> {
  %0 = gir.contract %q, %k batch [0] x [0] over [2] x [2] : (!gir.tensor<32, 8192, 128, f32>, !gir.tensor<32, 8192, 128, f32>) -> !gir.tensor<32, 8192, 8192, f32>
  %1 = gir.map exp(%0) : (!gir.tensor<32, 8192, 8192, f32>) -> !gir.tensor<32, 8192, 8192, f32>
  %2 = gir.contract %1, %v batch [0] x [0] over [2] x [1] : (!gir.tensor<32, 8192, 8192, f32>, !gir.tensor<32, 8192, 128, f32>) -> !gir.tensor<32, 8192, 128, f32>
  return %2 : !gir.tensor<32, 8192, 128, f32>
}

// tf32 is read along K: a computed operand is stored in such rows, and so is one that is contiguous along its rows. What is
// in memory as it should be is left alone.
// CHECK-LABEL: @words
// CHECK: %[[TURNED:.*]] = gir.transpose %arg1 perm [1, 0]
// CHECK: %[[ROWS:.*]] = gir.materialize %[[TURNED]] isolated because "tensor cores read it along what is summed" : !gir.tensor<4096, 1024, f32>
// CHECK: %[[RELU:.*]] = gir.map relu(%arg0)
// CHECK: %[[STORED:.*]] = gir.materialize %[[RELU]] isolated because "tensor cores read it along what is summed"
// CHECK: %[[W:.*]] = gir.transpose %[[ROWS]] perm [1, 0]
// CHECK: gir.contract %[[STORED]], %[[W]] batch [] x [] over [1] x [0]
// CHECK: gir.contract %arg0, %arg2 batch [] x [] over [1] x [1]
// CHECK-NOT: gir.materialize
func.func @words(%x: !gir.tensor<4096, 1024, f32> {gir.contiguous}, %w: !gir.tensor<1024, 4096, f32> {gir.contiguous}, %v: !gir.tensor<4096, 1024, f32> {gir.contiguous}) -> (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) attributes {gir.numerics = {matmul = "tf32"}} {
  %0 = gir.map relu(%x) : (!gir.tensor<4096, 1024, f32>) -> !gir.tensor<4096, 1024, f32>
  %1 = gir.contract %0, %w batch [] x [] over [1] x [0] : (!gir.tensor<4096, 1024, f32>, !gir.tensor<1024, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %2 = gir.contract %x, %v batch [] x [] over [1] x [1] : (!gir.tensor<4096, 1024, f32>, !gir.tensor<4096, 1024, f32>) -> !gir.tensor<4096, 4096, f32>
  return %1, %2 : !gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>
}
