// RUN: %tessera_opt %s -gir-accumulate | FileCheck %s

// Sums and what is summed in products are f64; maxima are what they were.
// CHECK-LABEL: @wide
// CHECK: %[[X:.*]] = gir.cast %{{.*}} : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, f64>
// CHECK: %[[SUM:.*]] = gir.reduce sum %[[X]] dims [1] : !gir.tensor<B, S, f64> -> !gir.tensor<B, f64>
// CHECK: gir.cast %[[SUM]] : !gir.tensor<B, f64> -> !gir.tensor<B, f32>
// CHECK: gir.reduce max %arg0 dims [1] : !gir.tensor<B, S, f32>
func.func @wide(%x: !gir.tensor<B, S, f32>) -> (!gir.tensor<B, f32>, !gir.tensor<B, f32>)
    attributes {gir.numerics = {accum = "fp64"}} {
  %0 = gir.reduce sum %x dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
  %1 = gir.reduce max %x dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
  return %0, %1 : !gir.tensor<B, f32>, !gir.tensor<B, f32>
}

// CHECK-LABEL: @usual
// CHECK-NOT: gir.cast
func.func @usual(%x: !gir.tensor<B, S, bf16>) -> !gir.tensor<B, bf16>
    attributes {gir.numerics = {accum = "fp32"}} {
  %0 = gir.reduce sum %x dims [1] : !gir.tensor<B, S, bf16> -> !gir.tensor<B, bf16>
  return %0 : !gir.tensor<B, bf16>
}
