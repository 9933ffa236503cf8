// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-lower-scatter-add))' | FileCheck %s

// Integers are added in any order, in a type that atomic additions have.
// CHECK-LABEL: @bytes
// CHECK: %[[INTO:.*]] = gir.cast %arg0 : !gir.tensor<V, i8> -> !gir.tensor<V, i32>
// CHECK: %[[FROM:.*]] = gir.cast %arg1 : !gir.tensor<S, i8> -> !gir.tensor<S, i32>
// CHECK: %[[SUM:.*]] = gir.scatter_add %[[INTO]], %[[FROM]](%arg2) dim 0
// CHECK: gir.cast %[[SUM]] : !gir.tensor<V, i32> -> !gir.tensor<V, i8>
func.func @bytes(%x: !gir.tensor<V, i8>, %s: !gir.tensor<S, i8>, %i: !gir.tensor<S, i64>) -> !gir.tensor<V, i8> {
  %0 = gir.scatter_add %x, %s(%i) dim 0 : (!gir.tensor<V, i8>, !gir.tensor<S, i8>, !gir.tensor<S, i64>) -> !gir.tensor<V, i8>
  return %0 : !gir.tensor<V, i8>
}

// CHECK-LABEL: @words
// CHECK-NEXT: gir.scatter_add %arg0, %arg1(%arg2) dim 0
// CHECK-NEXT: return
func.func @words(%x: !gir.tensor<V, i64>, %s: !gir.tensor<S, i64>, %i: !gir.tensor<S, i64>) -> !gir.tensor<V, i64> {
  %0 = gir.scatter_add %x, %s(%i) dim 0 : (!gir.tensor<V, i64>, !gir.tensor<S, i64>, !gir.tensor<S, i64>) -> !gir.tensor<V, i64>
  return %0 : !gir.tensor<V, i64>
}

// Each element collects the floats that are sent to it, in their order.
// CHECK-LABEL: @floats
// CHECK-NOT: gir.scatter_add
// CHECK: gir.map eq
// CHECK: gir.reduce sum
func.func @floats(%x: !gir.tensor<V, f32>, %s: !gir.tensor<S, f32>, %i: !gir.tensor<S, i64>) -> !gir.tensor<V, f32> {
  %0 = gir.scatter_add %x, %s(%i) dim 0 : (!gir.tensor<V, f32>, !gir.tensor<S, f32>, !gir.tensor<S, i64>) -> !gir.tensor<V, f32>
  return %0 : !gir.tensor<V, f32>
}
