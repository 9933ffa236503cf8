// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-store-windows))' | FileCheck %s
// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-store-windows{word-side=64}))' | FileCheck %s --check-prefixes=CHECK,WORDS

// What is summed is behind the channels, and the positions stay last.
// CHECK-LABEL: func.func @conv
// CHECK: %[[WINDOWS:.*]] = gir.window %arg0
// CHECK: %[[ROWS:.*]] = gir.transpose %[[WINDOWS]] perm [0, 1, 4, 5, 2, 3]
// CHECK: %[[STORED:.*]] = gir.materialize %[[ROWS]] isolated because "its windows overlap, and tensor cores are fed from memory"
// CHECK: gir.contract %[[STORED]], %arg1 batch [] x [] over [1, 2, 3] x [1, 2, 3]
func.func @conv(%x: !gir.tensor<32, 64, 58, 58, bf16>, %w: !gir.tensor<128, 64, 3, 3, bf16>) -> !gir.tensor<32, 56, 56, 128, bf16> {
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [1, 1] dilations [1, 1] : !gir.tensor<32, 64, 58, 58, bf16> -> !gir.tensor<32, 64, 56, 56, 3, 3, bf16>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<32, 64, 56, 56, 3, 3, bf16>, !gir.tensor<128, 64, 3, 3, bf16>) -> !gir.tensor<32, 56, 56, 128, bf16>
  return %1 : !gir.tensor<32, 56, 56, 128, bf16>
}

// 7 x 7 positions of 16 bits are no multiple of 16 bytes: what is summed is last.
// CHECK-LABEL: func.func @unaligned
// CHECK: gir.transpose %{{.*}} perm [0, 2, 3, 1, 4, 5]
func.func @unaligned(%x: !gir.tensor<32, 64, 9, 9, bf16>, %w: !gir.tensor<128, 64, 3, 3, bf16>) -> !gir.tensor<32, 7, 7, 128, bf16> {
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [1, 1] dilations [1, 1] : !gir.tensor<32, 64, 9, 9, bf16> -> !gir.tensor<32, 64, 7, 7, 3, 3, bf16>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<32, 64, 7, 7, 3, 3, bf16>, !gir.tensor<128, 64, 3, 3, bf16>) -> !gir.tensor<32, 7, 7, 128, bf16>
  return %1 : !gir.tensor<32, 7, 7, 128, bf16>
}

// A weight that is a view is stored, too.
// CHECK-LABEL: func.func @view
// CHECK: %[[W:.*]] = gir.transpose %arg1 perm [1, 0, 2]
// CHECK: %[[ROWS:.*]] = gir.materialize %[[W]] isolated because "its rows are multiplied with stored windows"
// CHECK: gir.contract %{{.*}}, %[[ROWS]]
func.func @view(%x: !gir.tensor<32, 64, 58, f32>, %w: !gir.tensor<64, 32, 3, f32>) -> !gir.tensor<32, 56, 32, f32> {
  %0 = gir.window %x dims [2] sizes [3] steps [1] dilations [1] : !gir.tensor<32, 64, 58, f32> -> !gir.tensor<32, 64, 56, 3, f32>
  %1 = gir.transpose %w perm [1, 0, 2] : !gir.tensor<64, 32, 3, f32> -> !gir.tensor<32, 64, 3, f32>
  %2 = gir.contract %0, %1 batch [] x [] over [1, 3] x [1, 2] : (!gir.tensor<32, 64, 56, 3, f32>, !gir.tensor<32, 64, 3, f32>) -> !gir.tensor<32, 56, 32, f32>
  return %2 : !gir.tensor<32, 56, 32, f32>
}

// One channel for each window is no matrix.
// CHECK-LABEL: func.func @single_channels
// CHECK-NOT: gir.materialize
// CHECK: return
func.func @single_channels(%x: !gir.tensor<32, 64, 58, f32>, %w: !gir.tensor<64, 3, f32>) -> !gir.tensor<64, 32, 56, f32> {
  %0 = gir.window %x dims [2] sizes [3] steps [1] dilations [1] : !gir.tensor<32, 64, 58, f32> -> !gir.tensor<32, 64, 56, 3, f32>
  %1 = gir.contract %0, %w batch [1] x [0] over [3] x [1] : (!gir.tensor<32, 64, 56, 3, f32>, !gir.tensor<64, 3, f32>) -> !gir.tensor<64, 32, 56, f32>
  return %1 : !gir.tensor<64, 32, 56, f32>
}

// wgmma has no transposed operands of tf32: what is summed is last, if the sides are long and rows are aligned.
// CHECK-LABEL: func.func @words
// CHECK: %[[WINDOWS:.*]] = gir.window %arg0
// WORDS: gir.transpose %[[WINDOWS]] perm [0, 2, 3, 1, 4, 5]
// CHECK: gir.contract
func.func @words(%x: !gir.tensor<32, 64, 58, 58, f32>, %w: !gir.tensor<128, 64, 3, 3, f32>) -> !gir.tensor<32, 56, 56, 128, f32> attributes {gir.numerics = {matmul = "tf32"}} {
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [1, 1] dilations [1, 1] : !gir.tensor<32, 64, 58, 58, f32> -> !gir.tensor<32, 64, 56, 56, 3, 3, f32>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<32, 64, 56, 56, 3, 3, f32>, !gir.tensor<128, 64, 3, 3, f32>) -> !gir.tensor<32, 56, 56, 128, f32>
  return %1 : !gir.tensor<32, 56, 56, 128, f32>
}

// CHECK-LABEL: func.func @words_of_few_channels
// CHECK: gir.transpose %{{.*}} perm [0, 1, 4, 5, 2, 3]
func.func @words_of_few_channels(%x: !gir.tensor<32, 64, 58, 58, f32>, %w: !gir.tensor<32, 64, 3, 3, f32>) -> !gir.tensor<32, 56, 56, 32, f32> attributes {gir.numerics = {matmul = "tf32"}} {
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [1, 1] dilations [1, 1] : !gir.tensor<32, 64, 58, 58, f32> -> !gir.tensor<32, 64, 56, 56, 3, 3, f32>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<32, 64, 56, 56, 3, 3, f32>, !gir.tensor<32, 64, 3, 3, f32>) -> !gir.tensor<32, 56, 56, 32, f32>
  return %1 : !gir.tensor<32, 56, 56, 32, f32>
}

// 3 x 7 x 7 terms of 4 bytes are no multiple of 16 bytes.
// CHECK-LABEL: func.func @unaligned_words
// CHECK: gir.transpose %{{.*}} perm [0, 1, 4, 5, 2, 3]
func.func @unaligned_words(%x: !gir.tensor<32, 3, 62, 62, f32>, %w: !gir.tensor<64, 3, 7, 7, f32>) -> !gir.tensor<32, 56, 56, 64, f32> attributes {gir.numerics = {matmul = "tf32"}} {
  %0 = gir.window %x dims [2, 3] sizes [7, 7] steps [1, 1] dilations [1, 1] : !gir.tensor<32, 3, 62, 62, f32> -> !gir.tensor<32, 3, 56, 56, 7, 7, f32>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<32, 3, 56, 56, 7, 7, f32>, !gir.tensor<64, 3, 7, 7, f32>) -> !gir.tensor<32, 56, 56, 64, f32>
  return %1 : !gir.tensor<32, 56, 56, 64, f32>
}
