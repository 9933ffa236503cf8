// RUN: %tessera_opt %s --pass-pipeline="builtin.module(cse,func.func(gir-erase-recompute))" | FileCheck %s

// Equal operations are not merged before the marks are erased.
// CHECK-LABEL: func @twice
// CHECK-NEXT: %[[A:.*]] = gir.map exp(%arg0)
// CHECK-NEXT: %[[B:.*]] = gir.map exp(%arg0)
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @twice(%x: !gir.tensor<S, f32>) -> (!gir.tensor<S, f32>, !gir.tensor<S, f32>) {
  %0 = gir.map exp(%x) : (!gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  %1 = gir.recompute %x : !gir.tensor<S, f32>
  %2 = gir.map exp(%1) : (!gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return %0, %2 : !gir.tensor<S, f32>, !gir.tensor<S, f32>
}
