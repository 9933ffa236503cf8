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
