// RUN: %tessera_opt %s | %tessera_opt | FileCheck %s
// RUN: %tessera_opt %s -mlir-print-op-generic | %tessera_opt | FileCheck %s
// Every operation and every form of a type, twice through the parser and the printer.

// CHECK-LABEL: func private @types
// CHECK-SAME: !gir.tensor<f32>
// CHECK-SAME: !gir.tensor<B, 64, "x.0", "S + T", "2*s", bf16>
// CHECK-SAME: !gir.tensor<"S - 1", f16>, !gir.tensor<N_1, f64>
// CHECK-SAME: !gir.tensor<0, i64>, !gir.tensor<i32>, !gir.tensor<i16>, !gir.tensor<i8>, !gir.tensor<ui8>, !gir.tensor<i1>
// CHECK-SAME: !gir.tensor<"ceildiv(S, 64)", "min(S, T)", f32>
func.func private @types(!gir.tensor<f32>, !gir.tensor<B, 64, "x.0", "T + S", "s + s", bf16>, !gir.tensor<"S - 1", f16>,
  !gir.tensor<"N_1", f64>, !gir.tensor<0, i64>, !gir.tensor<i32>, !gir.tensor<i16>, !gir.tensor<i8>, !gir.tensor<ui8>,
  !gir.tensor<i1>, !gir.tensor<"ceildiv(S, 64)", "min(T, S)", f32>)

// CHECK-LABEL: func @sources
func.func @sources() -> (!gir.tensor<B, S, f32>, !gir.tensor<i1>, !gir.tensor<ui8>, !gir.tensor<i64>, !gir.tensor<S, T, i64>) {
  // CHECK: gir.constant 1.000000e+00 : f32 : !gir.tensor<B, S, f32>
  %0 = gir.constant 1.0 : f32 : !gir.tensor<B, S, f32>
  // CHECK: gir.constant true : !gir.tensor<i1>
  %1 = gir.constant true : !gir.tensor<i1>
  // CHECK: gir.constant 200 : ui8 : !gir.tensor<ui8>
  %2 = gir.constant 200 : ui8 : !gir.tensor<ui8>
  // CHECK: gir.size "B*S" : !gir.tensor<i64>
  %3 = gir.size "B*S" : !gir.tensor<i64>
  // CHECK: gir.iota 1 : !gir.tensor<S, T, i64>
  %4 = gir.iota 1 : !gir.tensor<S, T, i64>
  return %0, %1, %2, %3, %4 : !gir.tensor<B, S, f32>, !gir.tensor<i1>, !gir.tensor<ui8>, !gir.tensor<i64>, !gir.tensor<S, T, i64>
}

// CHECK-LABEL: func @elementwise
func.func @elementwise(%x: !gir.tensor<B, f32>, %y: !gir.tensor<B, f32>) -> !gir.tensor<B, f16> {
  // CHECK: gir.map lt(%{{.*}}, %{{.*}}) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, i1>
  %0 = gir.map lt(%x, %y) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, i1>
  // CHECK: gir.map where(
  %1 = gir.map where(%0, %x, %y) : (!gir.tensor<B, i1>, !gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
  // CHECK: gir.map isnan(
  %2 = gir.map isnan(%1) : (!gir.tensor<B, f32>) -> !gir.tensor<B, i1>
  // CHECK: gir.map bitwise_or(
  %3 = gir.map bitwise_or(%0, %2) : (!gir.tensor<B, i1>, !gir.tensor<B, i1>) -> !gir.tensor<B, i1>
  // CHECK: gir.cast %{{.*}} : !gir.tensor<B, i1> -> !gir.tensor<B, f32>
  %4 = gir.cast %3 : !gir.tensor<B, i1> -> !gir.tensor<B, f32>
  // CHECK: gir.cast %{{.*}} explicit : !gir.tensor<B, f32> -> !gir.tensor<B, f16>
  %5 = gir.cast %4 explicit : !gir.tensor<B, f32> -> !gir.tensor<B, f16>
  return %5 : !gir.tensor<B, f16>
}

// CHECK-LABEL: func @views
func.func @views(%x: !gir.tensor<B, S, D, f32>, %y: !gir.tensor<B, T, D, f32>, %w: !gir.tensor<1, D, f32>) -> !gir.tensor<B, "S + T", D, f32> {
  // CHECK: gir.broadcast %{{.*}} dims [1, 2] : !gir.tensor<1, D, f32> -> !gir.tensor<B, S, D, f32>
  %0 = gir.broadcast %w dims [1, 2] : !gir.tensor<1, D, f32> -> !gir.tensor<B, S, D, f32>
  // CHECK: gir.materialize %{{.*}} : !gir.tensor<B, S, D, f32>
  %m = gir.materialize %0 : !gir.tensor<B, S, D, f32>
  // CHECK: gir.materialize %{{.*}} isolated align_rows 16 because "rows are unaligned" : !gir.tensor<B, S, D, f32>
  %n = gir.materialize %0 isolated align_rows 16 because "rows are unaligned" : !gir.tensor<B, S, D, f32>
  // CHECK: gir.transpose %{{.*}} perm [0, 2, 1] : !gir.tensor<B, S, D, f32> -> !gir.tensor<B, D, S, f32>
  %1 = gir.transpose %0 perm [0, 2, 1] : !gir.tensor<B, S, D, f32> -> !gir.tensor<B, D, S, f32>
  // CHECK: gir.reshape %{{.*}} : !gir.tensor<B, D, S, f32> -> !gir.tensor<"B*D", S, f32>
  %2 = gir.reshape %1 : !gir.tensor<B, D, S, f32> -> !gir.tensor<"B*D", S, f32>
  // CHECK: gir.reshape %{{.*}} : !gir.tensor<"B*D", S, f32> -> !gir.tensor<"B*D", "floordiv(S, 4)", 4, f32>
  %3 = gir.reshape %2 : !gir.tensor<"B*D", S, f32> -> !gir.tensor<"B*D", "floordiv(S, 4)", 4, f32>
  // CHECK: gir.slice %{{.*}} starts ["0", "S - 1", "0"] steps [1, -1, 1] : !gir.tensor<B, S, D, f32> -> !gir.tensor<B, S, D, f32>
  %4 = gir.slice %x starts ["0", "S - 1", "0"] steps [1, -1, 1] : !gir.tensor<B, S, D, f32> -> !gir.tensor<B, S, D, f32>
  // CHECK: gir.concat 1(%{{.*}}, %{{.*}}) : (!gir.tensor<B, S, D, f32>, !gir.tensor<B, T, D, f32>) -> !gir.tensor<B, "S + T", D, f32>
  %5 = gir.concat 1 (%4, %y) : (!gir.tensor<B, S, D, f32>, !gir.tensor<B, T, D, f32>) -> !gir.tensor<B, "S + T", D, f32>
  return %5 : !gir.tensor<B, "S + T", D, f32>
}

// CHECK-LABEL: func @windows
func.func @windows(%x: !gir.tensor<B, C, S, T, f32>) -> !gir.tensor<B, C, "floordiv(S - 3, 2) + 1", "T - 4", 3, 3, f32> {
  // CHECK: gir.window %{{.*}} dims [2, 3] sizes [3, 3] steps [2, 1] dilations [1, 2] : !gir.tensor<B, C, S, T, f32> -> !gir.tensor<B, C, "floordiv(S - 3, 2) + 1", "T - 4", 3, 3, f32>
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [2, 1] dilations [1, 2] : !gir.tensor<B, C, S, T, f32> -> !gir.tensor<B, C, "floordiv(S - 3, 2) + 1", "T - 4", 3, 3, f32>
  return %0 : !gir.tensor<B, C, "floordiv(S - 3, 2) + 1", "T - 4", 3, 3, f32>
}

// CHECK-LABEL: func @reductions
func.func @reductions(%q: !gir.tensor<B, S, D, f16>, %k: !gir.tensor<B, T, D, f16>, %m: !gir.tensor<B, i1>) -> !gir.tensor<B, S, T, f32> {
  // CHECK: gir.reduce max %{{.*}} dims [1] : !gir.tensor<B, S, D, f16> -> !gir.tensor<B, D, f16>
  %0 = gir.reduce max %q dims [1] : !gir.tensor<B, S, D, f16> -> !gir.tensor<B, D, f16>
  // CHECK: gir.reduce sum %{{.*}} dims [0, 2] : !gir.tensor<B, S, D, f16> -> !gir.tensor<S, f32>
  %1 = gir.reduce sum %q dims [0, 2] : !gir.tensor<B, S, D, f16> -> !gir.tensor<S, f32>
  // CHECK: gir.reduce any %{{.*}} dims [0] : !gir.tensor<B, i1> -> !gir.tensor<i1>
  %2 = gir.reduce any %m dims [0] : !gir.tensor<B, i1> -> !gir.tensor<i1>
  // CHECK: gir.contract %{{.*}}, %{{.*}} batch [0] x [0] over [2] x [2] : (!gir.tensor<B, S, D, f16>, !gir.tensor<B, T, D, f16>) -> !gir.tensor<B, S, T, f32>
  %3 = gir.contract %q, %k batch [0] x [0] over [2] x [2]
     : (!gir.tensor<B, S, D, f16>, !gir.tensor<B, T, D, f16>) -> !gir.tensor<B, S, T, f32>
  return %3 : !gir.tensor<B, S, T, f32>
}

// CHECK-LABEL: func @composites
func.func @composites(%x: !gir.tensor<B, S, f32>, %w: !gir.tensor<S, f32>) -> !gir.tensor<B, f32> {
  // CHECK: gir.softmax %{{.*}} dim 1 : !gir.tensor<B, S, f32>
  %0 = gir.softmax %x dim 1 : !gir.tensor<B, S, f32>
  // CHECK: gir.softmax %{{.*}} dim 0 safe : !gir.tensor<B, S, f32>
  %1 = gir.softmax %0 dim 0 safe : !gir.tensor<B, S, f32>
  // CHECK: gir.log_softmax %{{.*}} dim 1 : !gir.tensor<B, S, f32>
  %2 = gir.log_softmax %1 dim 1 : !gir.tensor<B, S, f32>
  // CHECK: gir.logsumexp %{{.*}} dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
  %3 = gir.logsumexp %2 dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
  // CHECK: gir.mean %{{.*}} dims [0, 1] : !gir.tensor<B, S, f32> -> !gir.tensor<f32>
  %4 = gir.mean %2 dims [0, 1] : !gir.tensor<B, S, f32> -> !gir.tensor<f32>
  // CHECK: gir.layer_norm %{{.*}} rank 1 eps 1.0e-05 scale %{{.*}} shift %{{.*}} :
  %5 = gir.layer_norm %2 rank 1 eps 1.0e-05 scale %w shift %w
     : (!gir.tensor<B, S, f32>, !gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<B, S, f32>
  // CHECK: gir.layer_norm %{{.*}} rank 2 eps 0.10000000000000002 : (!gir.tensor<B, S, f32>) -> !gir.tensor<B, S, f32>
  %6 = gir.layer_norm %5 rank 2 eps 0x3FB999999999999B : (!gir.tensor<B, S, f32>) -> !gir.tensor<B, S, f32>
  // CHECK: gir.rms_norm %{{.*}} rank 1 eps 1.0e-06 scale %{{.*}} :
  %7 = gir.rms_norm %6 rank 1 eps 1.0e-06 scale %w : (!gir.tensor<B, S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<B, S, f32>
  // CHECK: gir.var %{{.*}} dims [1] correction 1.0 : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
  %8 = gir.var %7 dims [1] correction 1.0 : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
  return %8 : !gir.tensor<B, f32>
}

// CHECK-LABEL: func private @attributes
// CHECK-SAME: {gir.contiguous, gir.name = "x", gir.unit_stride = 1 : i64}
// CHECK-SAME: {gir.name = "scale", gir.scalar = "float"}
// CHECK-SAME: gir.guards = ["T == 2*S"]
// CHECK-SAME: gir.symbols = {S = {divisor = 64 : i64, hint = 4096 : i64, min = 2 : i64}}
func.func private @attributes(!gir.tensor<S, T, f32> {gir.contiguous, gir.name = "x", gir.unit_stride = 1 : i64},
    !gir.tensor<f32> {gir.name = "scale", gir.scalar = "float"})
    attributes {gir.guards = ["T == 2*S"], gir.symbols = {S = {divisor = 64, hint = 4096, min = 2}}, gir.numerics = {matmul = "tf32"}}

// CHECK-LABEL: func @places
func.func @places(%x: !gir.tensor<V, D, f32>, %i: !gir.tensor<S, D, i64>, %j: !gir.tensor<S, D, ui8>)
    -> (!gir.tensor<S, D, f32>, !gir.tensor<S, D, f32>) {
  // CHECK: gir.gather %arg0(%arg1) dims [0] rest [1] : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32>
  %0 = gir.gather %x(%i) dims [0] rest [1] : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32>
  // CHECK: gir.gather %arg0(%arg1, %arg2) dims [0, 1] rest [] :
  %1 = gir.gather %x(%i, %j) dims [0, 1] rest []
     : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, i64>, !gir.tensor<S, D, ui8>) -> !gir.tensor<S, D, f32>
  return %0, %1 : !gir.tensor<S, D, f32>, !gir.tensor<S, D, f32>
}

// CHECK-LABEL: func @sums
func.func @sums(%x: !gir.tensor<V, D, f32>, %s: !gir.tensor<S, D, f32>, %i: !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, f32> {
  // CHECK: gir.scatter_add %arg0, %arg1(%arg2) dim 0 : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, f32>
  %0 = gir.scatter_add %x, %s(%i) dim 0 : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, f32>
  return %0 : !gir.tensor<V, D, f32>
}

// CHECK-LABEL: func @checked
func.func @checked(%ok: !gir.tensor<S, i1>, %i: !gir.tensor<S, i64>, %w: !gir.tensor<V, f32>) {
  // CHECK: gir.print "places", %arg1 : <S, i64>
  gir.print "places", %i : !gir.tensor<S, i64>
  // CHECK: gir.check %arg0, %arg1 else <kind = "index", message = "index {0} is out of range for size {1}", sizes = ["V"]> : <S, i1>, <S, i64>
  gir.check %ok, %i else <kind = "index", message = "index {0} is out of range for size {1}", sizes = ["V"]> : !gir.tensor<S, i1>, !gir.tensor<S, i64>
  // CHECK: gir.check {{.*}} else <kind = "assertion", message = "no", sizes = [], excerpt = "x">
  gir.check %ok, %i else <kind = "assertion", message = "no", sizes = [], excerpt = "x"> : !gir.tensor<S, i1>, !gir.tensor<S, i64>
  return
}

// CHECK-LABEL: func @put
func.func @put(%s: !gir.tensor<B, C, 256, i64>, %i: !gir.tensor<B, C, 256, i64>) -> !gir.tensor<B, "256*C", i64> {
  // CHECK: gir.scatter %{{.*}}(%{{.*}}) batch 1 : (!gir.tensor<B, C, 256, i64>, !gir.tensor<B, C, 256, i64>) -> !gir.tensor<B, "256*C", i64>
  %0 = gir.scatter %s(%i) batch 1 : (!gir.tensor<B, C, 256, i64>, !gir.tensor<B, C, 256, i64>) -> !gir.tensor<B, "256*C", i64>
  return %0 : !gir.tensor<B, "256*C", i64>
}

// CHECK-LABEL: func @order
func.func @order(%x: !gir.tensor<B, S, f16>) -> (!gir.tensor<B, S, i64>, !gir.tensor<B, S, i64>) {
  // CHECK: gir.argsort %{{.*}} : !gir.tensor<B, S, f16> -> !gir.tensor<B, S, i64>
  %0 = gir.argsort %x : !gir.tensor<B, S, f16> -> !gir.tensor<B, S, i64>
  // CHECK: gir.argsort %{{.*}} descending : !gir.tensor<B, S, f16> -> !gir.tensor<B, S, i64>
  %1 = gir.argsort %x descending : !gir.tensor<B, S, f16> -> !gir.tensor<B, S, i64>
  // CHECK: gir.argsort %{{.*}} descending first 16 : !gir.tensor<B, S, f16> -> !gir.tensor<B, 16, i64>
  %2 = gir.argsort %x descending first 16 : !gir.tensor<B, S, f16> -> !gir.tensor<B, 16, i64>
  return %0, %1 : !gir.tensor<B, S, i64>, !gir.tensor<B, S, i64>
}

// CHECK-LABEL: func @sorts
func.func @sorts(%x: !gir.tensor<B, S, i32>, %y: !gir.tensor<64, i64>) -> !gir.tensor<B, S, i32> {
  // CHECK: gir.sort %{{.*}} : !gir.tensor<B, S, i32>
  %0 = gir.sort %x : !gir.tensor<B, S, i32>
  // CHECK: gir.sort %{{.*}} : !gir.tensor<64, i64>
  %1 = gir.sort %y : !gir.tensor<64, i64>
  return %0 : !gir.tensor<B, S, i32>
}

// CHECK-LABEL: func @scans
func.func @scans(%x: !gir.tensor<B, S, f32>, %m: !gir.tensor<S, i1>) -> !gir.tensor<B, S, f32> {
  // CHECK: gir.scan sum %{{.*}} dim 1 : !gir.tensor<B, S, f32>
  %0 = gir.scan sum %x dim 1 : !gir.tensor<B, S, f32>
  // CHECK: gir.scan prod %{{.*}} dim 0 : !gir.tensor<B, S, f32>
  %1 = gir.scan prod %0 dim 0 : !gir.tensor<B, S, f32>
  %k = gir.iota 1 : !gir.tensor<B, S, i32>
  // CHECK: gir.scan max %{{.*}} dim 1 by(%{{.*}} : !gir.tensor<B, S, i32>) below 16 : !gir.tensor<B, S, f32>
  %3 = gir.scan max %0 dim 1 by (%k : !gir.tensor<B, S, i32>) below 16 : !gir.tensor<B, S, f32>
  // CHECK: gir.scan any %{{.*}} dim 0 : !gir.tensor<S, i1>
  %2 = gir.scan any %m dim 0 : !gir.tensor<S, i1>
  return %1 : !gir.tensor<B, S, f32>
}

// CHECK-LABEL: func @random
func.func @random(%n: !gir.tensor<S, i64>) -> !gir.tensor<S, i64> {
  // CHECK: gir.map philox(
  %0 = gir.map philox(%n, %n, %n) : (!gir.tensor<S, i64>, !gir.tensor<S, i64>, !gir.tensor<S, i64>) -> !gir.tensor<S, i64>
  return %0 : !gir.tensor<S, i64>
}

// CHECK-LABEL: func @gradients
func.func @gradients(%x: !gir.tensor<S, f32>, %g: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
  // CHECK: gir.stop_gradient %{{.*}} : !gir.tensor<S, f32>
  %0 = gir.stop_gradient %x : !gir.tensor<S, f32>
  // CHECK: gir.vjp of(%{{.*}}) cotangents(%{{.*}}) wrt(%{{.*}}) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  %1 = gir.vjp of(%0) cotangents(%g) wrt(%x)
     : (!gir.tensor<S, f32>, !gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return %1 : !gir.tensor<S, f32>
}

// CHECK-LABEL: func @rules
func.func @rules(%x: !gir.tensor<S, f32>, %n: !gir.tensor<S, i64>) -> (!gir.tensor<S, f32>, !gir.tensor<S, i64>) {
  %0 = gir.map exp(%x) : (!gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  // CHECK: %[[R:.*]]:2 = gir.custom_vjp(%{{.*}}, %{{.*}}) of(%{{.*}}) {
  // CHECK-NEXT: ^bb0(%[[G:.*]]: !gir.tensor<S, f32>):
  // CHECK-NEXT: %[[M:.*]] = gir.map mul(%[[G]], %{{.*}})
  // CHECK-NEXT: gir.yield %[[M]] : !gir.tensor<S, f32>
  // CHECK-NEXT: } : (!gir.tensor<S, f32>, !gir.tensor<S, i64>, !gir.tensor<S, f32>) -> (!gir.tensor<S, f32>, !gir.tensor<S, i64>)
  %1:2 = gir.custom_vjp (%0, %n) of(%x) {
  ^bb0(%g: !gir.tensor<S, f32>):
    %2 = gir.map mul(%g, %0) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
    gir.yield %2 : !gir.tensor<S, f32>
  } : (!gir.tensor<S, f32>, !gir.tensor<S, i64>, !gir.tensor<S, f32>) -> (!gir.tensor<S, f32>, !gir.tensor<S, i64>)
  return %1#0, %1#1 : !gir.tensor<S, f32>, !gir.tensor<S, i64>
}

// CHECK-LABEL: func @checkpoints
func.func @checkpoints(%x: !gir.tensor<S, f32>) -> (!gir.tensor<S, f32>, !gir.tensor<S, f32>) {
  // CHECK: gir.recompute %{{.*}} : !gir.tensor<S, f32>
  %0 = gir.recompute %x : !gir.tensor<S, f32>
  // CHECK: gir.checkpoint_name %{{.*}} "scores" : !gir.tensor<S, f32>
  %1 = gir.checkpoint_name %0 "scores" : !gir.tensor<S, f32>
  // CHECK: gir.checkpoint nothing(%{{.*}}) of(%{{.*}}) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  %2 = gir.checkpoint nothing (%1) of(%x) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  // CHECK: gir.checkpoint names ["scores"](%{{.*}}) of(%{{.*}}) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  %3 = gir.checkpoint names ["scores"] (%1) of(%x)
     : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  return %2, %3 : !gir.tensor<S, f32>, !gir.tensor<S, f32>
}
