// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-split-batches))' | FileCheck %s

// CHECK-LABEL: func.func @heads
// CHECK: %[[PRODUCT:.*]] = gir.contract %arg0, %arg1 batch [0, 1] x [0, 1] over [3] x [2]
// CHECK: gir.reshape %[[PRODUCT]] : !gir.tensor<4, 8, 64, 32, f32> -> !gir.tensor<32, 64, 32, f32>
func.func @heads(%x: !gir.tensor<4, 8, 64, 16, f32>, %y: !gir.tensor<4, 8, 16, 32, f32>) -> !gir.tensor<32, 64, 32, f32> {
  %0 = gir.reshape %x : !gir.tensor<4, 8, 64, 16, f32> -> !gir.tensor<32, 64, 16, f32>
  %1 = gir.reshape %y : !gir.tensor<4, 8, 16, 32, f32> -> !gir.tensor<32, 16, 32, f32>
  %2 = gir.contract %0, %1 batch [0] x [0] over [2] x [1] : (!gir.tensor<32, 64, 16, f32>, !gir.tensor<32, 16, 32, f32>) -> !gir.tensor<32, 64, 32, f32>
  return %2 : !gir.tensor<32, 64, 32, f32>
}

// Casts are between the reshape and the contraction, and sums have a wider type.
// CHECK-LABEL: func.func @casts
// CHECK: %[[WIDE:.*]] = gir.cast %arg0 : !gir.tensor<4, 8, 64, 16, bf16> -> !gir.tensor<4, 8, 64, 16, f32>
// CHECK: gir.contract %[[WIDE]], %arg1 batch [0, 1] x [0, 1]
func.func @casts(%x: !gir.tensor<4, 8, 64, 16, bf16>, %y: !gir.tensor<4, 8, 16, 32, f32>) -> !gir.tensor<32, 64, 32, f32> {
  %0 = gir.reshape %x : !gir.tensor<4, 8, 64, 16, bf16> -> !gir.tensor<32, 64, 16, bf16>
  %1 = gir.cast %0 : !gir.tensor<32, 64, 16, bf16> -> !gir.tensor<32, 64, 16, f32>
  %2 = gir.reshape %y : !gir.tensor<4, 8, 16, 32, f32> -> !gir.tensor<32, 16, 32, f32>
  %3 = gir.contract %1, %2 batch [0] x [0] over [2] x [1] : (!gir.tensor<32, 64, 16, f32>, !gir.tensor<32, 16, 32, f32>) -> !gir.tensor<32, 64, 32, f32>
  return %3 : !gir.tensor<32, 64, 32, f32>
}

// A dimension of size 1 is no part of the batch.
// CHECK-LABEL: func.func @ones
// CHECK: %[[X:.*]] = gir.reshape %arg0 : !gir.tensor<1, 4, 8, 64, 16, f32> -> !gir.tensor<4, 8, 64, 16, f32>
// CHECK: gir.contract %[[X]], %arg1 batch [0, 1] x [0, 1]
func.func @ones(%x: !gir.tensor<1, 4, 8, 64, 16, f32>, %y: !gir.tensor<4, 8, 16, 32, f32>) -> !gir.tensor<32, 64, 32, f32> {
  %0 = gir.reshape %x : !gir.tensor<1, 4, 8, 64, 16, f32> -> !gir.tensor<32, 64, 16, f32>
  %1 = gir.reshape %y : !gir.tensor<4, 8, 16, 32, f32> -> !gir.tensor<32, 16, 32, f32>
  %2 = gir.contract %0, %1 batch [0] x [0] over [2] x [1] : (!gir.tensor<32, 64, 16, f32>, !gir.tensor<32, 16, 32, f32>) -> !gir.tensor<32, 64, 32, f32>
  return %2 : !gir.tensor<32, 64, 32, f32>
}

// Different dimensions are joined.
// CHECK-LABEL: func.func @other_sizes
// CHECK: gir.contract {{.*}} batch [0] x [0]
func.func @other_sizes(%x: !gir.tensor<4, 8, 64, 16, f32>, %y: !gir.tensor<8, 4, 16, 32, f32>) -> !gir.tensor<32, 64, 32, f32> {
  %0 = gir.reshape %x : !gir.tensor<4, 8, 64, 16, f32> -> !gir.tensor<32, 64, 16, f32>
  %1 = gir.reshape %y : !gir.tensor<8, 4, 16, 32, f32> -> !gir.tensor<32, 16, 32, f32>
  %2 = gir.contract %0, %1 batch [0] x [0] over [2] x [1] : (!gir.tensor<32, 64, 16, f32>, !gir.tensor<32, 16, 32, f32>) -> !gir.tensor<32, 64, 32, f32>
  return %2 : !gir.tensor<32, 64, 32, f32>
}

// A reshape that divides a dimension is not split.
// CHECK-LABEL: func.func @divided
// CHECK: gir.contract {{.*}} batch [0] x [0]
func.func @divided(%x: !gir.tensor<4, 8, 1024, f32>, %y: !gir.tensor<4, 8, 512, f32>) -> !gir.tensor<32, 64, 32, f32> {
  %0 = gir.reshape %x : !gir.tensor<4, 8, 1024, f32> -> !gir.tensor<32, 64, 16, f32>
  %1 = gir.reshape %y : !gir.tensor<4, 8, 512, f32> -> !gir.tensor<32, 16, 32, f32>
  %2 = gir.contract %0, %1 batch [0] x [0] over [2] x [1] : (!gir.tensor<32, 64, 16, f32>, !gir.tensor<32, 16, 32, f32>) -> !gir.tensor<32, 64, 32, f32>
  return %2 : !gir.tensor<32, 64, 32, f32>
}

// One operand has joined the dimensions, through a transposition; the other one is memory.
// CHECK-LABEL: func.func @one_side
// CHECK: %[[T:.*]] = gir.transpose %arg0 perm [0, 1, 3, 2]
// CHECK: %[[Y:.*]] = gir.reshape %arg1 : !gir.tensor<32, 64, 16, f32> -> !gir.tensor<4, 8, 64, 16, f32>
// CHECK: %[[P:.*]] = gir.contract %[[T]], %[[Y]] batch [0, 1] x [0, 1] over [3] x [2]
// CHECK: gir.reshape %[[P]] : !gir.tensor<4, 8, 128, 16, f32> -> !gir.tensor<32, 128, 16, f32>
func.func @one_side(%x: !gir.tensor<4, 8, 64, 128, f32>, %y: !gir.tensor<32, 64, 16, f32>) -> !gir.tensor<32, 128, 16, f32> {
  %0 = gir.reshape %x : !gir.tensor<4, 8, 64, 128, f32> -> !gir.tensor<32, 64, 128, f32>
  %1 = gir.transpose %0 perm [0, 2, 1] : !gir.tensor<32, 64, 128, f32> -> !gir.tensor<32, 128, 64, f32>
  %2 = gir.contract %1, %y batch [0] x [0] over [2] x [1] : (!gir.tensor<32, 128, 64, f32>, !gir.tensor<32, 64, 16, f32>) -> !gir.tensor<32, 128, 16, f32>
  return %2 : !gir.tensor<32, 128, 16, f32>
}
