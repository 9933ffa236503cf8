// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-lower-padding),canonicalize,cse)' | FileCheck %s

// CHECK-LABEL: func.func @both_ends
// CHECK-DAG: %[[AT:.*]] = gir.iota 1 : !gir.tensor<B, "S + 3", i64>
// CHECK-DAG: %[[ONE:.*]] = gir.constant 1 : i64
// CHECK: %[[INDEX:.*]] = gir.map sub(%[[AT]], %[[ONE]])
// CHECK: %[[X:.*]] = gir.gather %arg0(%[[INDEX]]) dims [1] rest [0]
// CHECK: %[[BEFORE:.*]] = gir.map lt(%[[AT]], %[[ONE]])
// CHECK: gir.map where(%[[BEFORE]], %{{.*}}, %[[X]])
// CHECK: gir.size "S + 1"
// CHECK: gir.map ge(%[[AT]]
// CHECK: gir.map where
// CHECK-NOT: gir.concat
func.func @both_ends(%x: !gir.tensor<B, S, f32>) -> !gir.tensor<B, "S + 3", f32> {
  %0 = gir.constant 0.0 : f32 : !gir.tensor<B, 1, f32>
  %1 = gir.constant 1.0 : f32 : !gir.tensor<B, 2, f32>
  %2 = gir.concat 1(%0, %x, %1) : (!gir.tensor<B, 1, f32>, !gir.tensor<B, S, f32>, !gir.tensor<B, 2, f32>) -> !gir.tensor<B, "S + 3", f32>
  return %2 : !gir.tensor<B, "S + 3", f32>
}

// CHECK-LABEL: func.func @two_tensors
// CHECK: gir.concat
func.func @two_tensors(%x: !gir.tensor<4, f32>, %y: !gir.tensor<4, f32>) -> !gir.tensor<9, f32> {
  %0 = gir.constant 0.0 : f32 : !gir.tensor<1, f32>
  %1 = gir.concat 0(%x, %0, %y) : (!gir.tensor<4, f32>, !gir.tensor<1, f32>, !gir.tensor<4, f32>) -> !gir.tensor<9, f32>
  return %1 : !gir.tensor<9, f32>
}
