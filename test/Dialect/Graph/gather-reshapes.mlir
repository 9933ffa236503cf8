// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-gather-reshapes))' | FileCheck %s

// Columns of the contraction are interleaved with rows: element (b, n) is at row n / 2 of the
// result and column 2 * (b + ...) of it. The result is stored once and read at computed indices.
// CHECK-LABEL: @interleaved
// CHECK: %[[C:.*]] = gir.contract
// CHECK: %[[M:.*]] = gir.materialize %[[C]] isolated because "its elements are read in another order"
// CHECK: %[[G:.*]] = gir.gather %[[M]](%[[I:.*]], %[[J:.*]]) dims [0, 1] rest []
// CHECK-SAME: -> !gir.tensor<32, 16, f32>
// CHECK-NEXT: return %[[G]]
func.func @interleaved(%a: !gir.tensor<8, 48, f32>, %b: !gir.tensor<48, 64, f32>) -> !gir.tensor<32, 16, f32> {
  %0 = gir.contract %a, %b batch [] x [] over [1] x [0] : (!gir.tensor<8, 48, f32>, !gir.tensor<48, 64, f32>) -> !gir.tensor<8, 64, f32>
  %1 = gir.reshape %0 : !gir.tensor<8, 64, f32> -> !gir.tensor<8, 32, 2, f32>
  %2 = gir.transpose %1 perm [1, 0, 2] : !gir.tensor<8, 32, 2, f32> -> !gir.tensor<32, 8, 2, f32>
  %3 = gir.reshape %2 : !gir.tensor<32, 8, 2, f32> -> !gir.tensor<32, 16, f32>
  return %3 : !gir.tensor<32, 16, f32>
}

// Merged heads: each dimension of the contraction is along one of the result.
// CHECK-LABEL: @heads
// CHECK-NOT: gir.materialize
// CHECK-NOT: gir.gather
func.func @heads(%a: !gir.tensor<4, 32, 24, f32>, %b: !gir.tensor<4, 24, 16, f32>) -> !gir.tensor<32, 64, f32> {
  %0 = gir.contract %a, %b batch [0] x [0] over [2] x [1] : (!gir.tensor<4, 32, 24, f32>, !gir.tensor<4, 24, 16, f32>) -> !gir.tensor<4, 32, 16, f32>
  %1 = gir.transpose %0 perm [1, 0, 2] : !gir.tensor<4, 32, 16, f32> -> !gir.tensor<32, 4, 16, f32>
  %2 = gir.reshape %1 : !gir.tensor<32, 4, 16, f32> -> !gir.tensor<32, 64, f32>
  return %2 : !gir.tensor<32, 64, f32>
}

// A value between the two has another use, or is computed.
// CHECK-LABEL: @used
// CHECK-NOT: gir.gather
func.func @used(%a: !gir.tensor<8, 48, f32>, %b: !gir.tensor<48, 64, f32>) -> (!gir.tensor<32, 16, f32>, !gir.tensor<32, 8, 2, f32>, !gir.tensor<32, 16, f32>) {
  %0 = gir.contract %a, %b batch [] x [] over [1] x [0] : (!gir.tensor<8, 48, f32>, !gir.tensor<48, 64, f32>) -> !gir.tensor<8, 64, f32>
  %1 = gir.reshape %0 : !gir.tensor<8, 64, f32> -> !gir.tensor<8, 32, 2, f32>
  %2 = gir.transpose %1 perm [1, 0, 2] : !gir.tensor<8, 32, 2, f32> -> !gir.tensor<32, 8, 2, f32>
  %3 = gir.reshape %2 : !gir.tensor<32, 8, 2, f32> -> !gir.tensor<32, 16, f32>
  %4 = gir.map neg(%2) : (!gir.tensor<32, 8, 2, f32>) -> !gir.tensor<32, 8, 2, f32>
  %5 = gir.reshape %4 : !gir.tensor<32, 8, 2, f32> -> !gir.tensor<32, 16, f32>
  return %3, %2, %5 : !gir.tensor<32, 16, f32>, !gir.tensor<32, 8, 2, f32>, !gir.tensor<32, 16, f32>
}
