// RUN: %tessera_opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func @identities
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0 :
func.func @identities(%x: !gir.tensor<B, S, f32>) -> (!gir.tensor<B, S, f32>, !gir.tensor<B, S, f32>, !gir.tensor<B, S, f32>, !gir.tensor<B, S, f32>, !gir.tensor<B, S, f32>) {
  %0 = gir.transpose %x perm [0, 1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, f32>
  %1 = gir.broadcast %x dims [0, 1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, f32>
  %2 = gir.cast %x explicit : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, f32>
  %3 = gir.reshape %x : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, f32>
  %4 = gir.slice %x starts ["0", "0"] steps [1, 1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, f32>
  return %0, %1, %2, %3, %4 : !gir.tensor<B, S, f32>, !gir.tensor<B, S, f32>, !gir.tensor<B, S, f32>, !gir.tensor<B, S, f32>, !gir.tensor<B, S, f32>
}

// A transposition of a square shape has equal types and is none the less no identity.
// CHECK-LABEL: func @square_transpose
// CHECK: gir.transpose
func.func @square_transpose(%x: !gir.tensor<S, S, f32>) -> !gir.tensor<S, S, f32> {
  %0 = gir.transpose %x perm [1, 0] : !gir.tensor<S, S, f32> -> !gir.tensor<S, S, f32>
  return %0 : !gir.tensor<S, S, f32>
}

// CHECK-LABEL: func @flip
// CHECK: gir.slice
func.func @flip(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
  %0 = gir.slice %x starts ["S - 1"] steps [-1] : !gir.tensor<S, f32> -> !gir.tensor<S, f32>
  return %0 : !gir.tensor<S, f32>
}

// CHECK-LABEL: func @chains
func.func @chains(%x: !gir.tensor<A, B, C, f32>, %v: !gir.tensor<1, f32>)
    -> (!gir.tensor<A, B, C, f32>, !gir.tensor<C, B, A, f32>, !gir.tensor<A, B, C, f32>, !gir.tensor<"A*B*C", f32>, !gir.tensor<2, f32>) {
  %0 = gir.transpose %x perm [1, 2, 0] : !gir.tensor<A, B, C, f32> -> !gir.tensor<B, C, A, f32>
  %1 = gir.transpose %0 perm [2, 0, 1] : !gir.tensor<B, C, A, f32> -> !gir.tensor<A, B, C, f32>
  // CHECK: %[[T:.*]] = gir.transpose %arg0 perm [2, 1, 0]
  %2 = gir.transpose %0 perm [1, 0, 2] : !gir.tensor<B, C, A, f32> -> !gir.tensor<C, B, A, f32>
  // CHECK: %[[B:.*]] = gir.broadcast %arg1 dims [2] : !gir.tensor<1, f32> -> !gir.tensor<A, B, C, f32>
  %3 = gir.broadcast %v dims [1] : !gir.tensor<1, f32> -> !gir.tensor<1, C, f32>
  %4 = gir.broadcast %3 dims [1, 2] : !gir.tensor<1, C, f32> -> !gir.tensor<A, B, C, f32>
  // CHECK: %[[R:.*]] = gir.reshape %arg0 : !gir.tensor<A, B, C, f32> -> !gir.tensor<"A*B*C", f32>
  %5 = gir.reshape %x : !gir.tensor<A, B, C, f32> -> !gir.tensor<"A*B", C, f32>
  %6 = gir.reshape %5 : !gir.tensor<"A*B", C, f32> -> !gir.tensor<"A*B*C", f32>
  // CHECK: %[[S:.*]] = gir.slice %[[R]] starts ["15"] steps [-4] : !gir.tensor<"A*B*C", f32> -> !gir.tensor<2, f32>
  %7 = gir.slice %6 starts ["3"] steps [2] : !gir.tensor<"A*B*C", f32> -> !gir.tensor<8, f32>
  %8 = gir.slice %7 starts ["6"] steps [-2] : !gir.tensor<8, f32> -> !gir.tensor<2, f32>
  // CHECK: return %arg0, %[[T]], %[[B]], %[[R]], %[[S]]
  return %1, %2, %4, %6, %8 : !gir.tensor<A, B, C, f32>, !gir.tensor<C, B, A, f32>, !gir.tensor<A, B, C, f32>, !gir.tensor<"A*B*C", f32>, !gir.tensor<2, f32>
}

// CHECK-LABEL: func @casts
func.func @casts(%x: !gir.tensor<B, bf16>, %i: !gir.tensor<B, i32>) -> (!gir.tensor<B, bf16>, !gir.tensor<B, f16>, !gir.tensor<B, i32>) {
  // CHECK: %[[A:.*]] = gir.cast %arg0 explicit : !gir.tensor<B, bf16> -> !gir.tensor<B, f16>
  // CHECK: %[[F:.*]] = gir.cast %arg1 : !gir.tensor<B, i32> -> !gir.tensor<B, f32>
  // CHECK: %[[I:.*]] = gir.cast %[[F]] : !gir.tensor<B, f32> -> !gir.tensor<B, i32>
  // CHECK: return %arg0, %[[A]], %[[I]]
  %0 = gir.cast %x : !gir.tensor<B, bf16> -> !gir.tensor<B, f32>
  %1 = gir.cast %0 : !gir.tensor<B, f32> -> !gir.tensor<B, bf16>
  %2 = gir.cast %0 explicit : !gir.tensor<B, f32> -> !gir.tensor<B, f16>
  %3 = gir.cast %i : !gir.tensor<B, i32> -> !gir.tensor<B, f32>
  %4 = gir.cast %3 : !gir.tensor<B, f32> -> !gir.tensor<B, i32>
  return %1, %2, %4 : !gir.tensor<B, bf16>, !gir.tensor<B, f16>, !gir.tensor<B, i32>
}

// CHECK-LABEL: func @constants
func.func @constants() -> (!gir.tensor<B, S, f32>, !gir.tensor<i64>, !gir.tensor<B, i1>, !gir.tensor<B, ui8>, !gir.tensor<B, 1, i32>, !gir.tensor<"2*B", f32>) {
  // CHECK-DAG: %[[A:.*]] = gir.constant 5.000000e-01 : f32 : !gir.tensor<B, S, f32>
  %two = gir.constant 2.0 : f32 : !gir.tensor<f32>
  %half = gir.map reciprocal(%two) : (!gir.tensor<f32>) -> !gir.tensor<f32>
  %0 = gir.broadcast %half dims [] : !gir.tensor<f32> -> !gir.tensor<B, S, f32>
  // CHECK-DAG: %[[N:.*]] = gir.constant 12 : i64 : !gir.tensor<i64>
  %1 = gir.size "3*4" : !gir.tensor<i64>
  // CHECK-DAG: %[[C:.*]] = gir.constant true : !gir.tensor<B, i1>
  %x = gir.constant 1.0 : f32 : !gir.tensor<B, f32>
  %y = gir.constant 2.0 : f32 : !gir.tensor<B, f32>
  %2 = gir.map lt(%x, %y) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, i1>
  // CHECK-DAG: %[[W:.*]] = gir.constant 44 : ui8 : !gir.tensor<B, ui8>
  %u = gir.constant 150 : ui8 : !gir.tensor<B, ui8>
  %3 = gir.map add(%u, %u) : (!gir.tensor<B, ui8>, !gir.tensor<B, ui8>) -> !gir.tensor<B, ui8>
  // CHECK-DAG: %[[I:.*]] = gir.constant 0 : i32 : !gir.tensor<B, 1, i32>
  %4 = gir.iota 1 : !gir.tensor<B, 1, i32>
  // CHECK-DAG: %[[K:.*]] = gir.constant 1.000000e+00 : f32 : !gir.tensor<"2*B", f32>
  %5 = gir.concat 0 (%x, %x) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<"2*B", f32>
  // CHECK: return %[[A]], %[[N]], %[[C]], %[[W]], %[[I]], %[[K]]
  return %0, %1, %2, %3, %4, %5 : !gir.tensor<B, S, f32>, !gir.tensor<i64>, !gir.tensor<B, i1>, !gir.tensor<B, ui8>, !gir.tensor<B, 1, i32>, !gir.tensor<"2*B", f32>
}

// CHECK-LABEL: func @arithmetic
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0, %arg0, %arg0 :
func.func @arithmetic(%x: !gir.tensor<B, f32>, %c: !gir.tensor<B, i1>) -> (!gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>) {
  %one = gir.constant 1.0 : f32 : !gir.tensor<B, f32>
  %zero = gir.constant 0.0 : f32 : !gir.tensor<B, f32>
  %negative_zero = gir.constant -0.0 : f32 : !gir.tensor<B, f32>
  %true = gir.constant true : !gir.tensor<B, i1>
  %0 = gir.map mul(%one, %x) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  %1 = gir.map add(%x, %negative_zero) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  %2 = gir.map sub(%x, %zero) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  %3 = gir.map div(%x, %one) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  %n = gir.map neg(%x) : (!gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  %4 = gir.map neg(%n) : (!gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  %5 = gir.map where(%true, %x, %one) : (!gir.tensor<B, i1>, !gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  %6 = gir.map where(%c, %x, %x) : (!gir.tensor<B, i1>, !gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  return %0, %1, %2, %3, %4, %5, %6 : !gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>
}

// x + 0 turns -0 into 0, x - (-0) likewise, and 0 * x is nan for an infinite x.
// CHECK-LABEL: func @kept
// CHECK: gir.map add
// CHECK: gir.map sub
// CHECK: gir.map mul
func.func @kept(%x: !gir.tensor<B, f32>) -> (!gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>) {
  %zero = gir.constant 0.0 : f32 : !gir.tensor<B, f32>
  %negative_zero = gir.constant -0.0 : f32 : !gir.tensor<B, f32>
  %0 = gir.map add(%x, %zero) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  %1 = gir.map sub(%x, %negative_zero) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  %2 = gir.map mul(%x, %zero) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  return %0, %1, %2 : !gir.tensor<B, f32>, !gir.tensor<B, f32>, !gir.tensor<B, f32>
}

// CHECK-LABEL: func @powers
// CHECK: gir.map square(%arg0)
// CHECK: gir.map reciprocal(%arg0)
func.func @powers(%x: !gir.tensor<B, f32>) -> (!gir.tensor<B, f32>, !gir.tensor<B, f32>) {
  %two = gir.constant 2.0 : f32 : !gir.tensor<B, f32>
  %minus = gir.constant -1.0 : f32 : !gir.tensor<B, f32>
  %0 = gir.map pow(%x, %two) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  %1 = gir.map pow(%x, %minus) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  return %0, %1 : !gir.tensor<B, f32>, !gir.tensor<B, f32>
}

// CHECK-LABEL: func @joined
// CHECK: %[[C:.*]] = gir.concat 0(%arg0, %arg1)
// CHECK: return %[[C]], %arg0, %arg0
func.func @joined(%x: !gir.tensor<S, f32>, %y: !gir.tensor<T, f32>, %e: !gir.tensor<0, f32>) -> (!gir.tensor<"S + T", f32>, !gir.tensor<S, f32>, !gir.tensor<S, f32>) {
  %0 = gir.concat 0 (%e, %x, %y) : (!gir.tensor<0, f32>, !gir.tensor<S, f32>, !gir.tensor<T, f32>) -> !gir.tensor<"S + T", f32>
  %1 = gir.concat 0 (%x, %e) : (!gir.tensor<S, f32>, !gir.tensor<0, f32>) -> !gir.tensor<S, f32>
  %2 = gir.reduce sum %x dims [] : !gir.tensor<S, f32> -> !gir.tensor<S, f32>
  return %0, %1, %2 : !gir.tensor<"S + T", f32>, !gir.tensor<S, f32>, !gir.tensor<S, f32>
}

// CHECK-LABEL: func @scan_of_one
// CHECK-NEXT: return %arg0
func.func @scan_of_one(%x: !gir.tensor<B, 1, f32>) -> !gir.tensor<B, 1, f32> {
  %0 = gir.scan sum %x dim 1 : !gir.tensor<B, 1, f32>
  return %0 : !gir.tensor<B, 1, f32>
}

// Whether any element is not -inf is known from the largest one.
// CHECK-LABEL: func.func @any_is_maximum
// CHECK: %[[WIDE:.*]] = gir.cast %arg0
// CHECK: %[[MAX:.*]] = gir.reduce max %[[WIDE]] dims [1] : !gir.tensor<M, N, f32> -> !gir.tensor<M, f32>
// CHECK: gir.map ne(%[[MAX]], %{{.*}})
// CHECK-NOT: gir.reduce any
// CHECK: return
func.func @any_is_maximum(%x: !gir.tensor<M, N, bf16>) -> !gir.tensor<M, i1> {
  %0 = gir.constant 0xFF80 : bf16 : !gir.tensor<M, N, bf16>
  %1 = gir.map eq(%x, %0) : (!gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>) -> !gir.tensor<M, N, i1>
  %2 = gir.map bitwise_not(%1) : (!gir.tensor<M, N, i1>) -> !gir.tensor<M, N, i1>
  %3 = gir.reduce any %2 dims [1] : !gir.tensor<M, N, i1> -> !gir.tensor<M, i1>
  return %3 : !gir.tensor<M, i1>
}

// CHECK-LABEL: func.func @any_is_compared
// CHECK: gir.reduce any
func.func @any_is_compared(%x: !gir.tensor<M, N, f32>) -> !gir.tensor<M, i1> {
  %0 = gir.constant 1.0 : f32 : !gir.tensor<M, N, f32>
  %1 = gir.map ne(%x, %0) : (!gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>) -> !gir.tensor<M, N, i1>
  %2 = gir.reduce any %1 dims [1] : !gir.tensor<M, N, i1> -> !gir.tensor<M, i1>
  return %2 : !gir.tensor<M, i1>
}
