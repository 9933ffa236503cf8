// RUN: %tessera_opt %s -gir-distribute-concat -canonicalize -cse | FileCheck %s

// Maps work on the parts, reductions and contractions are joined, a slice inside a part is the part.

// CHECK-LABEL: func @parts
// CHECK-SAME: %[[C:[a-z0-9]+]]: !gir.tensor<B, 1, f32>, %[[X:[a-z0-9]+]]: !gir.tensor<B, S, f32>, %[[V:[a-z0-9]+]]: !gir.tensor<S, D, f32>
// CHECK-NOT: gir.concat
// CHECK: %[[MC:.*]] = gir.reduce max %[[C]] dims [1]
// CHECK: %[[MX:.*]] = gir.reduce max %[[X]] dims [1]
// CHECK: %[[M:.*]] = gir.map maximum(%[[MC]], %[[MX]])
// CHECK: %[[EC:.*]] = gir.map exp(
// CHECK-SAME: -> !gir.tensor<B, 1, f32>
// CHECK: %[[EX:.*]] = gir.map exp(
// CHECK-SAME: -> !gir.tensor<B, S, f32>
// CHECK: %[[LC:.*]] = gir.reduce sum %[[EC]] dims [1]
// CHECK: %[[LX:.*]] = gir.reduce sum %[[EX]] dims [1]
// CHECK: %[[L:.*]] = gir.map add(%[[LC]], %[[LX]])
// CHECK: gir.contract %[[EX]], %[[V]]
func.func @parts(%c: !gir.tensor<B, 1, f32>, %x: !gir.tensor<B, S, f32>, %v: !gir.tensor<S, D, f32>) -> (!gir.tensor<B, f32>, !gir.tensor<B, D, f32>) {
  %s = gir.concat 1(%c, %x) : (!gir.tensor<B, 1, f32>, !gir.tensor<B, S, f32>) -> !gir.tensor<B, "S + 1", f32>
  %m = gir.reduce max %s dims [1] : !gir.tensor<B, "S + 1", f32> -> !gir.tensor<B, f32>
  %mm = gir.broadcast %m dims [0] : !gir.tensor<B, f32> -> !gir.tensor<B, "S + 1", f32>
  %d = gir.map sub(%s, %mm) : (!gir.tensor<B, "S + 1", f32>, !gir.tensor<B, "S + 1", f32>) -> !gir.tensor<B, "S + 1", f32>
  %e = gir.map exp(%d) : (!gir.tensor<B, "S + 1", f32>) -> !gir.tensor<B, "S + 1", f32>
  %l = gir.reduce sum %e dims [1] : !gir.tensor<B, "S + 1", f32> -> !gir.tensor<B, f32>
  %p = gir.slice %e starts ["0", "1"] steps [1, 1] : !gir.tensor<B, "S + 1", f32> -> !gir.tensor<B, S, f32>
  %o = gir.contract %p, %v batch [] x [] over [1] x [0] : (!gir.tensor<B, S, f32>, !gir.tensor<S, D, f32>) -> !gir.tensor<B, D, f32>
  return %l, %o : !gir.tensor<B, f32>, !gir.tensor<B, D, f32>
}

// The dimension is followed through transpositions, broadcasts and other reductions. What is summed in 16 bits is rounded once.

// CHECK-LABEL: func @followed
// CHECK-NOT: gir.concat
// CHECK: %[[V0:.*]] = gir.slice %{{.*}} starts ["0", "0"] steps [1, 1] : !gir.tensor<"S + 2", D, bf16> -> !gir.tensor<S, D, bf16>
// CHECK: %[[A:.*]] = gir.contract %{{.*}}, %[[V0]] batch [] x [] over [0] x [0]
// CHECK-SAME: -> !gir.tensor<A, D, f32>
// CHECK: %[[V1:.*]] = gir.slice %{{.*}} starts ["S", "0"] steps [1, 1] : !gir.tensor<"S + 2", D, bf16> -> !gir.tensor<2, D, bf16>
// CHECK: %[[B:.*]] = gir.contract %{{.*}}, %[[V1]] batch [] x [] over [0] x [0]
// CHECK: %[[SUM:.*]] = gir.map add(%[[A]], %[[B]])
// CHECK: gir.cast %[[SUM]] : !gir.tensor<A, D, f32> -> !gir.tensor<A, D, bf16>
func.func @followed(%x: !gir.tensor<B, S, bf16>, %c: !gir.tensor<B, 2, bf16>, %v: !gir.tensor<"S + 2", D, bf16>) -> !gir.tensor<A, D, bf16> {
  %s = gir.concat 1(%x, %c) : (!gir.tensor<B, S, bf16>, !gir.tensor<B, 2, bf16>) -> !gir.tensor<B, "S + 2", bf16>
  %t = gir.transpose %s perm [1, 0] : !gir.tensor<B, "S + 2", bf16> -> !gir.tensor<"S + 2", B, bf16>
  %m = gir.reduce max %t dims [1] : !gir.tensor<"S + 2", B, bf16> -> !gir.tensor<"S + 2", bf16>
  %b = gir.broadcast %m dims [0] : !gir.tensor<"S + 2", bf16> -> !gir.tensor<"S + 2", A, bf16>
  %o = gir.contract %b, %v batch [] x [] over [0] x [0] : (!gir.tensor<"S + 2", A, bf16>, !gir.tensor<"S + 2", D, bf16>) -> !gir.tensor<A, D, bf16>
  return %o : !gir.tensor<A, D, bf16>
}

// Concatenations of equal parts meet part by part.

// CHECK-LABEL: func @equal_parts
// CHECK-NOT: gir.concat
// CHECK-NOT: gir.slice
// CHECK: gir.map add(%arg0, %arg2)
// CHECK: gir.map add(%arg1, %arg3)
func.func @equal_parts(%a: !gir.tensor<3, f32>, %b: !gir.tensor<S, f32>, %c: !gir.tensor<3, f32>, %d: !gir.tensor<S, f32>) -> !gir.tensor<f32> {
  %0 = gir.concat 0(%a, %b) : (!gir.tensor<3, f32>, !gir.tensor<S, f32>) -> !gir.tensor<"S + 3", f32>
  %1 = gir.concat 0(%c, %d) : (!gir.tensor<3, f32>, !gir.tensor<S, f32>) -> !gir.tensor<"S + 3", f32>
  %2 = gir.map add(%0, %1) : (!gir.tensor<"S + 3", f32>, !gir.tensor<"S + 3", f32>) -> !gir.tensor<"S + 3", f32>
  %3 = gir.reduce sum %2 dims [0] : !gir.tensor<"S + 3", f32> -> !gir.tensor<f32>
  return %3 : !gir.tensor<f32>
}

// What is stored, or has several long parts, is put together as it says; so is one of which a slice lies in two parts.

// CHECK-LABEL: func @stored
// CHECK: gir.concat
func.func @stored(%c: !gir.tensor<B, 1, f32>, %x: !gir.tensor<B, S, f32>) -> (!gir.tensor<B, "S + 1", f32>, !gir.tensor<B, f32>) {
  %s = gir.concat 1(%c, %x) : (!gir.tensor<B, 1, f32>, !gir.tensor<B, S, f32>) -> !gir.tensor<B, "S + 1", f32>
  %m = gir.reduce max %s dims [1] : !gir.tensor<B, "S + 1", f32> -> !gir.tensor<B, f32>
  return %s, %m : !gir.tensor<B, "S + 1", f32>, !gir.tensor<B, f32>
}

// CHECK-LABEL: func @several_long
// CHECK: gir.concat
func.func @several_long(%x: !gir.tensor<S, f32>, %y: !gir.tensor<T, f32>) -> !gir.tensor<f32> {
  %s = gir.concat 0(%x, %y) : (!gir.tensor<S, f32>, !gir.tensor<T, f32>) -> !gir.tensor<"S + T", f32>
  %m = gir.reduce max %s dims [0] : !gir.tensor<"S + T", f32> -> !gir.tensor<f32>
  return %m : !gir.tensor<f32>
}

// CHECK-LABEL: func @across
// CHECK: gir.concat
func.func @across(%x: !gir.tensor<4, f32>, %y: !gir.tensor<S, f32>) -> !gir.tensor<"S + 2", f32> {
  %s = gir.concat 0(%x, %y) : (!gir.tensor<4, f32>, !gir.tensor<S, f32>) -> !gir.tensor<"S + 4", f32>
  %0 = gir.slice %s starts ["2"] steps [1] : !gir.tensor<"S + 4", f32> -> !gir.tensor<"S + 2", f32>
  return %0 : !gir.tensor<"S + 2", f32>
}

// Concatenations with zeros at different places, such as the gradients of the parts of one tensor, add up to one.
// CHECK-LABEL: func.func @sum_of_pieces
// CHECK: %[[C:.*]] = gir.concat 0(%arg0, %arg1, %arg2)
// CHECK-NEXT: return %[[C]]
func.func @sum_of_pieces(%a: !gir.tensor<1, N, f32>, %b: !gir.tensor<1, N, f32>, %c: !gir.tensor<1, N, f32>) -> !gir.tensor<3, N, f32> {
  %one = gir.constant 0.0 : f32 : !gir.tensor<1, N, f32>
  %two = gir.constant 0.0 : f32 : !gir.tensor<2, N, f32>
  %0 = gir.concat 0(%two, %c) : (!gir.tensor<2, N, f32>, !gir.tensor<1, N, f32>) -> !gir.tensor<3, N, f32>
  %1 = gir.concat 0(%one, %b, %one) : (!gir.tensor<1, N, f32>, !gir.tensor<1, N, f32>, !gir.tensor<1, N, f32>) -> !gir.tensor<3, N, f32>
  %2 = gir.concat 0(%a, %two) : (!gir.tensor<1, N, f32>, !gir.tensor<2, N, f32>) -> !gir.tensor<3, N, f32>
  %3 = gir.map add(%0, %1) : (!gir.tensor<3, N, f32>, !gir.tensor<3, N, f32>) -> !gir.tensor<3, N, f32>
  %4 = gir.map add(%3, %2) : (!gir.tensor<3, N, f32>, !gir.tensor<3, N, f32>) -> !gir.tensor<3, N, f32>
  return %4 : !gir.tensor<3, N, f32>
}

// Strict numerics keep the sign of a zero.
// CHECK-LABEL: func.func @strict_sum
// CHECK: gir.map add
func.func @strict_sum(%a: !gir.tensor<1, N, f32>, %b: !gir.tensor<1, N, f32>) -> !gir.tensor<2, N, f32> attributes {gir.numerics = {numerics = "strict"}} {
  %one = gir.constant 0.0 : f32 : !gir.tensor<1, N, f32>
  %0 = gir.concat 0(%a, %one) : (!gir.tensor<1, N, f32>, !gir.tensor<1, N, f32>) -> !gir.tensor<2, N, f32>
  %1 = gir.concat 0(%one, %b) : (!gir.tensor<1, N, f32>, !gir.tensor<1, N, f32>) -> !gir.tensor<2, N, f32>
  %2 = gir.map add(%0, %1) : (!gir.tensor<2, N, f32>, !gir.tensor<2, N, f32>) -> !gir.tensor<2, N, f32>
  return %2 : !gir.tensor<2, N, f32>
}

// CHECK-LABEL: func.func @transposed
// CHECK: %[[A:.*]] = gir.transpose %arg0 perm [1, 0]
// CHECK: %[[B:.*]] = gir.transpose %arg1 perm [1, 0]
// CHECK: gir.concat 1(%[[A]], %[[B]])
func.func @transposed(%a: !gir.tensor<64, N, f32>, %b: !gir.tensor<64, N, f32>) -> !gir.tensor<N, 128, f32> {
  %0 = gir.concat 0(%a, %b) : (!gir.tensor<64, N, f32>, !gir.tensor<64, N, f32>) -> !gir.tensor<128, N, f32>
  %1 = gir.transpose %0 perm [1, 0] : !gir.tensor<128, N, f32> -> !gir.tensor<N, 128, f32>
  return %1 : !gir.tensor<N, 128, f32>
}
