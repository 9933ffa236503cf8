// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-partition))' | FileCheck %s

// The value that the forward part saves is the last argument, of the type of the value. What was
// computed before it is not computed again, and the results of the forward part are gone.
// CHECK-LABEL: @norm(
// CHECK-SAME: %arg0: !gir.tensor<B, 1024, f32> {gir.name = "x"}, %arg1: !gir.tensor<B, 1024, f32>, %arg2: !gir.tensor<B, f32> {gir.name = "residual"}) -> !gir.tensor<B, 1024, f32>
// CHECK-SAME: attributes {gir.symbols = {B = {hint = 64 : i64}}}
// CHECK-NEXT: %[[ROWS:.*]] = gir.broadcast %arg2 dims [0]
// CHECK-NEXT: %[[GRADIENT:.*]] = gir.map mul(%arg1, %[[ROWS]])
// CHECK-NEXT: return %[[GRADIENT]]
func.func @norm(%x: !gir.tensor<B, 1024, f32> {gir.name = "x"}, %g: !gir.tensor<B, 1024, f32>, %r: !gir.tensor<"residual.0", f32> {gir.name = "residual"}) -> (!gir.tensor<B, 1024, f32>, !gir.tensor<B, 1024, f32>)
    attributes {gir.joint = {part = "backward", inputs = 1, cotangents = 1, results = 1, saved = "28df98fff6cf2a62:4"}, gir.symbols = {B = {hint = 64}, residual.0 = {hint = 64}}} {
  %0 = gir.map square(%x) : (!gir.tensor<B, 1024, f32>) -> !gir.tensor<B, 1024, f32>
  %1 = gir.reduce sum %0 dims [1] : !gir.tensor<B, 1024, f32> -> !gir.tensor<B, f32>
  %2 = gir.map rsqrt(%1) : (!gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  %3 = gir.broadcast %2 dims [0] : !gir.tensor<B, f32> -> !gir.tensor<B, 1024, f32>
  %4 = gir.map mul(%x, %3) : (!gir.tensor<B, 1024, f32>, !gir.tensor<B, 1024, f32>) -> !gir.tensor<B, 1024, f32>
  %5 = gir.map mul(%g, %3) : (!gir.tensor<B, 1024, f32>, !gir.tensor<B, 1024, f32>) -> !gir.tensor<B, 1024, f32>
  return %4, %5 : !gir.tensor<B, 1024, f32>, !gir.tensor<B, 1024, f32>
}
