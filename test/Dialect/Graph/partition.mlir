// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-partition{flop-per-byte=200}))' | FileCheck %s

// The scores are computed again from the arguments, whatever they cost to save: a stream computes
// them tile by tile. The maxima and the sums of their rows are residuals, the result is kept.
// CHECK-LABEL: @rows(
// CHECK-SAME: %arg0: !gir.tensor<4096, 64, f32>, %arg1: !gir.tensor<4096, 64, f32>, %arg2: !gir.tensor<4096, 64, f32>)
// CHECK-SAME: -> (!gir.tensor<4096, 64, f32>, !gir.tensor<4096, f32>, !gir.tensor<4096, f32>)
// CHECK-SAME: bytes = 32768 : i64
// CHECK-SAME: inputs = [{{.*}}value = "argument 0"{{.*}}value = "argument 1"{{.*}}value = "argument 2"
// CHECK-SAME: recomputed = [{{[^]]*}}value = "contract in line
// CHECK-SAME: residuals = "{{[0-9a-f]+:[0-9]+,[0-9]+,[0-9]+}}=0"
// CHECK-SAME: saved = [{{.*}}value = "reduce max{{.*}}value = "reduce sum{{.*}}result = 0 : i64
// CHECK: %[[S:.*]] = gir.contract
// CHECK: %[[MAX:.*]] = gir.reduce max %[[S]] dims [1] {gir.reference}
// CHECK: %[[SUM:.*]] = gir.reduce sum
// CHECK: %[[OUT:.*]] = gir.contract
// CHECK-NEXT: return %[[OUT]], %[[MAX]], %[[SUM]]
func.func @rows(%q: !gir.tensor<4096, 64, f32>, %k: !gir.tensor<4096, 64, f32>, %v: !gir.tensor<4096, 64, f32>, %g: !gir.tensor<4096, 64, f32>) -> (!gir.tensor<4096, 64, f32>, !gir.tensor<4096, 64, f32>)
    attributes {gir.joint = {part = "forward", inputs = 3, cotangents = 1, results = 1}} {
  %0 = gir.contract %q, %k batch [] x [] over [1] x [1] : (!gir.tensor<4096, 64, f32>, !gir.tensor<4096, 64, f32>) -> !gir.tensor<4096, 4096, f32>
  %1 = gir.reduce max %0 dims [1] : !gir.tensor<4096, 4096, f32> -> !gir.tensor<4096, f32>
  %2 = gir.broadcast %1 dims [0] : !gir.tensor<4096, f32> -> !gir.tensor<4096, 4096, f32>
  %3 = gir.map sub(%0, %2) : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %4 = gir.map exp(%3) : (!gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %5 = gir.reduce sum %4 dims [1] : !gir.tensor<4096, 4096, f32> -> !gir.tensor<4096, f32>
  %6 = gir.broadcast %5 dims [0] : !gir.tensor<4096, f32> -> !gir.tensor<4096, 4096, f32>
  %7 = gir.map div(%4, %6) : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %8 = gir.contract %7, %v batch [] x [] over [1] x [0] : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 64, f32>) -> !gir.tensor<4096, 64, f32>
  %9 = gir.contract %g, %v batch [] x [] over [1] x [1] : (!gir.tensor<4096, 64, f32>, !gir.tensor<4096, 64, f32>) -> !gir.tensor<4096, 4096, f32>
  %10 = gir.map mul(%g, %8) : (!gir.tensor<4096, 64, f32>, !gir.tensor<4096, 64, f32>) -> !gir.tensor<4096, 64, f32>
  %11 = gir.reduce sum %10 dims [1] : !gir.tensor<4096, 64, f32> -> !gir.tensor<4096, f32>
  %12 = gir.broadcast %11 dims [0] : !gir.tensor<4096, f32> -> !gir.tensor<4096, 4096, f32>
  %13 = gir.map sub(%9, %12) : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %14 = gir.map mul(%7, %13) : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
  %15 = gir.contract %14, %k batch [] x [] over [1] x [0] : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 64, f32>) -> !gir.tensor<4096, 64, f32>
  return %8, %15 : !gir.tensor<4096, 64, f32>, !gir.tensor<4096, 64, f32>
}

// A layer: its product is saved, what follows element by element is computed again, and the narrow
// one of two forms is saved.
// CHECK-LABEL: @layer(
// CHECK-SAME: -> (!gir.tensor<B, 2048, bf16>, !gir.tensor<B, 4096, bf16>)
// CHECK-SAME: recomputed = []
// CHECK: %[[Z:.*]] = gir.contract %arg0, %arg1
// CHECK: %[[H:.*]] = gir.map tanh
// CHECK: return %{{.*}}, %[[Z]]
func.func @layer(%x: !gir.tensor<B, 1024, bf16>, %w: !gir.tensor<1024, 4096, bf16>, %v: !gir.tensor<4096, 2048, bf16>, %g: !gir.tensor<B, 2048, bf16>) -> (!gir.tensor<B, 2048, bf16>, !gir.tensor<4096, 2048, bf16>, !gir.tensor<B, 4096, f32>)
    attributes {gir.joint = {part = "forward", inputs = 3, cotangents = 1, results = 1}, gir.symbols = {B = {hint = 8192}}} {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<B, 1024, bf16>, !gir.tensor<1024, 4096, bf16>) -> !gir.tensor<B, 4096, bf16>
  %1 = gir.cast %0 : !gir.tensor<B, 4096, bf16> -> !gir.tensor<B, 4096, f32>
  %2 = gir.map tanh(%1) : (!gir.tensor<B, 4096, f32>) -> !gir.tensor<B, 4096, f32>
  %3 = gir.map exp(%1) : (!gir.tensor<B, 4096, f32>) -> !gir.tensor<B, 4096, f32>
  %4 = gir.map mul(%2, %3) : (!gir.tensor<B, 4096, f32>, !gir.tensor<B, 4096, f32>) -> !gir.tensor<B, 4096, f32>
  %5 = gir.cast %4 : !gir.tensor<B, 4096, f32> -> !gir.tensor<B, 4096, bf16>
  %6 = gir.contract %5, %v batch [] x [] over [1] x [0] : (!gir.tensor<B, 4096, bf16>, !gir.tensor<4096, 2048, bf16>) -> !gir.tensor<B, 2048, bf16>
  %7 = gir.contract %5, %g batch [] x [] over [0] x [0] : (!gir.tensor<B, 4096, bf16>, !gir.tensor<B, 2048, bf16>) -> !gir.tensor<4096, 2048, bf16>
  %8 = gir.contract %g, %v batch [] x [] over [1] x [1] : (!gir.tensor<B, 2048, bf16>, !gir.tensor<4096, 2048, bf16>) -> !gir.tensor<B, 4096, f32>
  %9 = gir.map mul(%8, %3) : (!gir.tensor<B, 4096, f32>, !gir.tensor<B, 4096, f32>) -> !gir.tensor<B, 4096, f32>
  return %6, %7, %9 : !gir.tensor<B, 2048, bf16>, !gir.tensor<4096, 2048, bf16>, !gir.tensor<B, 4096, f32>
}

// A statistic of rows is saved, the rows are read again.
// CHECK-LABEL: @norm(
// CHECK-SAME: -> (!gir.tensor<64, 1024, f32>, !gir.tensor<64, f32>)
// CHECK-SAME: bytes = 256 : i64
// CHECK: %[[RSQRT:.*]] = gir.map rsqrt
// CHECK: return %{{.*}}, %[[RSQRT]]
func.func @norm(%x: !gir.tensor<64, 1024, f32>, %g: !gir.tensor<64, 1024, f32>) -> (!gir.tensor<64, 1024, f32>, !gir.tensor<64, 1024, f32>)
    attributes {gir.joint = {part = "forward", inputs = 1, cotangents = 1, results = 1}} {
  %0 = gir.map square(%x) : (!gir.tensor<64, 1024, f32>) -> !gir.tensor<64, 1024, f32>
  %1 = gir.reduce sum %0 dims [1] : !gir.tensor<64, 1024, f32> -> !gir.tensor<64, f32>
  %2 = gir.map rsqrt(%1) : (!gir.tensor<64, f32>) -> !gir.tensor<64, f32>
  %3 = gir.broadcast %2 dims [0] : !gir.tensor<64, f32> -> !gir.tensor<64, 1024, f32>
  %4 = gir.map mul(%x, %3) : (!gir.tensor<64, 1024, f32>, !gir.tensor<64, 1024, f32>) -> !gir.tensor<64, 1024, f32>
  %5 = gir.map exp(%4) : (!gir.tensor<64, 1024, f32>) -> !gir.tensor<64, 1024, f32>
  %6 = gir.map mul(%g, %3) : (!gir.tensor<64, 1024, f32>, !gir.tensor<64, 1024, f32>) -> !gir.tensor<64, 1024, f32>
  return %5, %6 : !gir.tensor<64, 1024, f32>, !gir.tensor<64, 1024, f32>
}

// Bytes are dearer than they are worth, so that the statistic is computed again.
// CHECK-LABEL: @limited(
// CHECK-SAME: %arg0: !gir.tensor<64, 1024, f32>) -> !gir.tensor<64, 1024, f32>
// CHECK-SAME: recomputed = [{{.*}}reduce sum
// CHECK-SAME: residuals = "{{[0-9a-f]+:}}"
func.func @limited(%x: !gir.tensor<64, 1024, f32>, %g: !gir.tensor<64, 1024, f32>) -> (!gir.tensor<64, 1024, f32>, !gir.tensor<64, 1024, f32>)
    attributes {gir.joint = {part = "forward", inputs = 1, cotangents = 1, results = 1, bytes = 255}} {
  %0 = gir.map square(%x) : (!gir.tensor<64, 1024, f32>) -> !gir.tensor<64, 1024, f32>
  %1 = gir.reduce sum %0 dims [1] : !gir.tensor<64, 1024, f32> -> !gir.tensor<64, f32>
  %2 = gir.map rsqrt(%1) : (!gir.tensor<64, f32>) -> !gir.tensor<64, f32>
  %3 = gir.broadcast %2 dims [0] : !gir.tensor<64, f32> -> !gir.tensor<64, 1024, f32>
  %4 = gir.map mul(%x, %3) : (!gir.tensor<64, 1024, f32>, !gir.tensor<64, 1024, f32>) -> !gir.tensor<64, 1024, f32>
  %5 = gir.map mul(%g, %3) : (!gir.tensor<64, 1024, f32>, !gir.tensor<64, 1024, f32>) -> !gir.tensor<64, 1024, f32>
  return %4, %5 : !gir.tensor<64, 1024, f32>, !gir.tensor<64, 1024, f32>
}

// Elementwise work is computed again from the argument; nothing is saved.
// CHECK-LABEL: @nothing(
// CHECK-SAME: %arg0: !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
// CHECK-SAME: bytes = 0 : i64
// CHECK-SAME: saved = []
func.func @nothing(%x: !gir.tensor<S, f32>, %g: !gir.tensor<S, f32>) -> (!gir.tensor<S, f32>, !gir.tensor<S, f32>)
    attributes {gir.joint = {part = "forward", inputs = 1, cotangents = 1, results = 1}} {
  %0 = gir.map sin(%x) : (!gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  %1 = gir.map cos(%x) : (!gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  %2 = gir.map mul(%g, %1) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return %0, %2 : !gir.tensor<S, f32>, !gir.tensor<S, f32>
}

// What a policy stores is saved. What it computes again is not, although it would pay.
// CHECK-LABEL: @policies(
// CHECK-SAME: -> (!gir.tensor<64, f32>, !gir.tensor<64, 1024, f32>)
// CHECK-SAME: saved = [{bytes = 262144 : i64, {{.*}}value = "materialize
// CHECK: %[[STORED:.*]] = gir.materialize
// CHECK: return %{{.*}}, %[[STORED]]
func.func @policies(%x: !gir.tensor<64, 1024, f32>, %w: !gir.tensor<1024, 1024, f32>, %g: !gir.tensor<64, f32>) -> (!gir.tensor<64, f32>, !gir.tensor<64, f32>)
    attributes {gir.joint = {part = "forward", inputs = 2, cotangents = 1, results = 1}} {
  %0 = gir.map exp(%x) : (!gir.tensor<64, 1024, f32>) -> !gir.tensor<64, 1024, f32>
  %1 = gir.materialize %0 because "a checkpoint policy saves it" : !gir.tensor<64, 1024, f32>
  %2 = gir.reduce sum %1 dims [1] : !gir.tensor<64, 1024, f32> -> !gir.tensor<64, f32>
  %3 = gir.recompute %1 : !gir.tensor<64, 1024, f32>
  %4 = gir.contract %3, %w batch [] x [] over [1] x [0] : (!gir.tensor<64, 1024, f32>, !gir.tensor<1024, 1024, f32>) -> !gir.tensor<64, 1024, f32>
  %5 = gir.reduce sum %4 dims [1] : !gir.tensor<64, 1024, f32> -> !gir.tensor<64, f32>
  %6 = gir.map mul(%g, %5) : (!gir.tensor<64, f32>, !gir.tensor<64, f32>) -> !gir.tensor<64, f32>
  return %2, %6 : !gir.tensor<64, f32>, !gir.tensor<64, f32>
}

// Other functions stay.
// CHECK-LABEL: @plain(
// CHECK-NEXT: return %arg1
func.func @plain(%x: !gir.tensor<S, f32>, %g: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
  return %g : !gir.tensor<S, f32>
}

// In a program of 16-bit values, one number of each row is saved: of exp(x - max) / sum, the backward part computes
// exp(x - r) with r = max + log(sum). The forward part is as it was.
// CHECK-LABEL: @narrow(
// CHECK-SAME: -> (!gir.tensor<4096, 64, bf16>, !gir.tensor<4096, f32>)
// CHECK-SAME: gir.value_type = bf16
// CHECK: %[[MAX:.*]] = gir.reduce max %{{.*}} dims [1] {gir.reference}
// CHECK: %[[SUM:.*]] = gir.reduce sum
// CHECK: %[[LOG:.*]] = gir.map log(%[[SUM]])
// CHECK: %[[R:.*]] = gir.map add(%[[MAX]], %[[LOG]])
// CHECK: gir.map div
// CHECK: %[[OUT:.*]] = gir.contract
// CHECK-NEXT: return %[[OUT]], %[[R]]
func.func @narrow(%q: !gir.tensor<4096, 64, bf16>, %k: !gir.tensor<4096, 64, bf16>, %v: !gir.tensor<4096, 64, bf16>, %g: !gir.tensor<4096, 64, bf16>) -> (!gir.tensor<4096, 64, bf16>, !gir.tensor<4096, 64, bf16>)
    attributes {gir.joint = {part = "forward", inputs = 3, cotangents = 1, results = 1}} {
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
