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

// The residual is the logarithm of a sum of exponentials, and nothing is divided by the sum.
// CHECK-LABEL: @narrow(
// CHECK: %[[X:.*]] = gir.contract %arg0, %arg1
// CHECK-NEXT: %[[ROWS:.*]] = gir.broadcast %arg4 dims [0]
// CHECK-NEXT: %[[EXPONENT:.*]] = gir.map sub(%[[X]], %[[ROWS]]) {gir.at_most_zero}
// CHECK-NEXT: %[[P:.*]] = gir.map exp(%[[EXPONENT]])
// CHECK-NEXT: %[[NARROW:.*]] = gir.cast %[[P]]
// CHECK-NEXT: %[[GRADIENT:.*]] = gir.contract %[[NARROW]], %arg3
// CHECK-NEXT: return %[[GRADIENT]]
func.func @narrow(%q: !gir.tensor<4096, 64, bf16>, %k: !gir.tensor<4096, 64, bf16>, %v: !gir.tensor<4096, 64, bf16>, %g: !gir.tensor<4096, 64, bf16>, %r: !gir.tensor<4096, f32>) -> (!gir.tensor<4096, 64, bf16>, !gir.tensor<4096, 64, bf16>)
    attributes {gir.joint = {part = "backward", inputs = 3, cotangents = 1, results = 1, saved = "14245f389ac8b6c6:12"}} {
  %0 = gir.contract %q, %k batch [] x [] over [1] x [1] : (!gir.tensor<4096, 64, bf16>, !gir.tensor<4096, 64, bf16>) -> !gir.tensor<4096, 4096, f32>
  %1 = gir.reduce max %0 dims [1] : !gir.tensor<4096, 4096, f32> -> !gir.tensor<4096, f32>
  %2 = gir.broadcast %1 dims [0] : !gir.tensor<4096, f32> -> !gir.tensor<4096, 4096, f32>
  %3 = gir.map sub(%0, %2) : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %4 = gir.map exp(%3) : (!gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %5 = gir.reduce sum %4 dims [1] : !gir.tensor<4096, 4096, f32> -> !gir.tensor<4096, f32>
  %6 = gir.broadcast %5 dims [0] : !gir.tensor<4096, f32> -> !gir.tensor<4096, 4096, f32>
  %7 = gir.map div(%4, %6) : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %8 = gir.cast %7 : !gir.tensor<4096, 4096, f32> -> !gir.tensor<4096, 4096, bf16>
  %9 = gir.contract %8, %v batch [] x [] over [1] x [0] : (!gir.tensor<4096, 4096, bf16>, !gir.tensor<4096, 64, bf16>) -> !gir.tensor<4096, 64, bf16>
  %10 = gir.contract %8, %g batch [] x [] over [0] x [0] : (!gir.tensor<4096, 4096, bf16>, !gir.tensor<4096, 64, bf16>) -> !gir.tensor<4096, 64, bf16>
  return %9, %10 : !gir.tensor<4096, 64, bf16>, !gir.tensor<4096, 64, bf16>
}
