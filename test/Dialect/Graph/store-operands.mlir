// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-store-operands))' | FileCheck %s

// A computed operand that every column block would compute again is stored once.
// CHECK-LABEL: @scaled
// CHECK-NEXT: %[[S:.*]] = gir.map mul(%arg0, %arg1)
// CHECK-NEXT: %[[M:.*]] = gir.materialize %[[S]] isolated because
// CHECK-NEXT: gir.contract %[[M]], %arg2
func.func @scaled(%a: !gir.tensor<4096, 4096, bf16>, %s: !gir.tensor<4096, 4096, bf16>, %b: !gir.tensor<4096, 4096, bf16>) -> !gir.tensor<4096, 4096, bf16> {
  %0 = gir.map mul(%a, %s) : (!gir.tensor<4096, 4096, bf16>, !gir.tensor<4096, 4096, bf16>) -> !gir.tensor<4096, 4096, bf16>
  %1 = gir.contract %0, %b batch [] x [] over [1] x [0] : (!gir.tensor<4096, 4096, bf16>, !gir.tensor<4096, 4096, bf16>) -> !gir.tensor<4096, 4096, bf16>
  return %1 : !gir.tensor<4096, 4096, bf16>
}

// What depends on a contraction stays with it, as scores of attention do; f32 is split in registers in any case.
// CHECK-LABEL: @chained
// CHECK-NOT: gir.materialize
func.func @chained(%a: !gir.tensor<4096, 4096, bf16>, %b: !gir.tensor<4096, 4096, bf16>, %x: !gir.tensor<4096, 4096, f32>) -> (!gir.tensor<4096, 4096, bf16>, !gir.tensor<4096, 4096, f32>) {
  %0 = gir.contract %a, %b batch [] x [] over [1] x [0] : (!gir.tensor<4096, 4096, bf16>, !gir.tensor<4096, 4096, bf16>) -> !gir.tensor<4096, 4096, bf16>
  %1 = gir.map relu(%0) : (!gir.tensor<4096, 4096, bf16>) -> !gir.tensor<4096, 4096, bf16>
  %2 = gir.contract %1, %b batch [] x [] over [1] x [0] : (!gir.tensor<4096, 4096, bf16>, !gir.tensor<4096, 4096, bf16>) -> !gir.tensor<4096, 4096, bf16>
  %3 = gir.map relu(%x) : (!gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %4 = gir.contract %3, %x batch [] x [] over [1] x [0] : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  return %2, %4 : !gir.tensor<4096, 4096, bf16>, !gir.tensor<4096, 4096, f32>
}

// A mean over positions varies along the K dimension of the layer that follows: a CTA of it would compute all means.
// CHECK-LABEL: @pooled
// CHECK: %[[SUM:.*]] = gir.reduce sum %arg0
// CHECK: %[[MEAN:.*]] = gir.map mul(%[[SUM]]
// CHECK: %[[M:.*]] = gir.materialize %[[MEAN]] because "a contraction reads it along its K dimension"
// CHECK: gir.contract %[[M]], %arg1
func.func @pooled(%x: !gir.tensor<32, 64, 289, f32>, %w: !gir.tensor<64, 16, f32>) -> !gir.tensor<32, 16, f32> {
  %0 = gir.reduce sum %x dims [2] : !gir.tensor<32, 64, 289, f32> -> !gir.tensor<32, 64, f32>
  %1 = gir.constant 3.460000e-03 : f32 : !gir.tensor<32, 64, f32>
  %2 = gir.map mul(%0, %1) : (!gir.tensor<32, 64, f32>, !gir.tensor<32, 64, f32>) -> !gir.tensor<32, 64, f32>
  %3 = gir.contract %2, %w batch [] x [] over [1] x [0] : (!gir.tensor<32, 64, f32>, !gir.tensor<64, 16, f32>) -> !gir.tensor<32, 16, f32>
  return %3 : !gir.tensor<32, 16, f32>
}

// A statistic of each row does not vary along K.
// CHECK-LABEL: @normalized
// CHECK-NOT: gir.materialize
// CHECK: return
func.func @normalized(%x: !gir.tensor<32, 64, f32>, %w: !gir.tensor<64, 16, f32>) -> !gir.tensor<32, 16, f32> {
  %0 = gir.reduce sum %x dims [1] : !gir.tensor<32, 64, f32> -> !gir.tensor<32, f32>
  %1 = gir.broadcast %0 dims [0] : !gir.tensor<32, f32> -> !gir.tensor<32, 64, f32>
  %2 = gir.map div(%x, %1) : (!gir.tensor<32, 64, f32>, !gir.tensor<32, 64, f32>) -> !gir.tensor<32, 64, f32>
  %3 = gir.contract %2, %w batch [] x [] over [1] x [0] : (!gir.tensor<32, 64, f32>, !gir.tensor<64, 16, f32>) -> !gir.tensor<32, 16, f32>
  return %3 : !gir.tensor<32, 16, f32>
}
