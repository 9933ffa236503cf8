// RUN: %tessera_opt %s -gir-decompose | FileCheck %s

// CHECK-LABEL: func @softmax
// CHECK-SAME: %[[X:.*]]: !gir.tensor<B, S, f32>
// CHECK-NEXT: %[[MAX:.*]] = gir.reduce max %[[X]] dims [1]
// CHECK-NEXT: %[[M:.*]] = gir.broadcast %[[MAX]] dims [0] : !gir.tensor<B, f32> -> !gir.tensor<B, S, f32>
// CHECK-NEXT: %[[D:.*]] = gir.map sub(%[[X]], %[[M]])
// CHECK-NEXT: %[[E:.*]] = gir.map exp(%[[D]])
// CHECK-NEXT: %[[SUM:.*]] = gir.reduce sum %[[E]] dims [1]
// CHECK-NEXT: %[[L:.*]] = gir.broadcast %[[SUM]] dims [0]
// CHECK-NEXT: %[[P:.*]] = gir.map div(%[[E]], %[[L]])
// CHECK-NEXT: return %[[P]]
func.func @softmax(%x: !gir.tensor<B, S, f32>) -> !gir.tensor<B, S, f32> {
  %0 = gir.softmax %x dim 1 : !gir.tensor<B, S, f32>
  return %0 : !gir.tensor<B, S, f32>
}

// CHECK-LABEL: func @safe_softmax
// CHECK: %[[MAX:.*]] = gir.reduce max %arg0 dims [0]
// CHECK: %[[NONE:.*]] = gir.constant 0xFF800000 : f32
// CHECK: %[[EMPTY:.*]] = gir.map eq(%[[MAX]], %[[NONE]])
// CHECK: gir.map where(%[[EMPTY]], %{{.*}}, %[[MAX]])
// CHECK: %[[P:.*]] = gir.map div(
// CHECK: gir.map eq(
// CHECK: gir.map where(%{{.*}}, %{{.*}}, %[[P]])
func.func @safe_softmax(%x: !gir.tensor<B, S, f32>) -> !gir.tensor<B, S, f32> {
  %0 = gir.softmax %x dim 0 safe : !gir.tensor<B, S, f32>
  return %0 : !gir.tensor<B, S, f32>
}

// CHECK-LABEL: func @log_softmax
// CHECK: %[[D:.*]] = gir.map sub(
// CHECK: gir.map exp(%[[D]])
// CHECK: %[[SUM:.*]] = gir.reduce sum
// CHECK: %[[LOG:.*]] = gir.map log(%[[SUM]])
// CHECK: %[[L:.*]] = gir.broadcast %[[LOG]]
// CHECK: gir.map sub(%[[D]], %[[L]])
func.func @log_softmax(%x: !gir.tensor<B, S, f32>) -> !gir.tensor<B, S, f32> {
  %0 = gir.log_softmax %x dim 1 : !gir.tensor<B, S, f32>
  return %0 : !gir.tensor<B, S, f32>
}

// An infinite maximum is the result by itself.
// CHECK-LABEL: func @logsumexp
// CHECK: %[[MAX:.*]] = gir.reduce max %arg0 dims [0, 1] : !gir.tensor<B, S, f32> -> !gir.tensor<f32>
// CHECK: %[[SUM:.*]] = gir.reduce sum %{{.*}} dims [0, 1]
// CHECK: %[[LOG:.*]] = gir.map log(%[[SUM]])
// CHECK: %[[V:.*]] = gir.map add(%[[LOG]], %[[MAX]])
// CHECK: %[[INF:.*]] = gir.map isinf(%[[MAX]])
// CHECK: gir.map where(%[[INF]], %[[MAX]], %[[V]])
func.func @logsumexp(%x: !gir.tensor<B, S, f32>) -> !gir.tensor<f32> {
  %0 = gir.logsumexp %x dims [0, 1] : !gir.tensor<B, S, f32> -> !gir.tensor<f32>
  return %0 : !gir.tensor<f32>
}

// 16-bit inputs are computed in f32.
// CHECK-LABEL: func @mean
// CHECK-NEXT: %[[X:.*]] = gir.cast %arg0 : !gir.tensor<B, S, T, bf16> -> !gir.tensor<B, S, T, f32>
// CHECK-NEXT: %[[SUM:.*]] = gir.reduce sum %[[X]] dims [0, 2] : !gir.tensor<B, S, T, f32> -> !gir.tensor<S, f32>
// CHECK-NEXT: %[[N:.*]] = gir.size "B*T" : !gir.tensor<i64>
// CHECK-NEXT: %[[F:.*]] = gir.cast %[[N]] : !gir.tensor<i64> -> !gir.tensor<f32>
// CHECK-NEXT: %[[C:.*]] = gir.broadcast %[[F]] dims [] : !gir.tensor<f32> -> !gir.tensor<S, f32>
// CHECK-NEXT: %[[MEAN:.*]] = gir.map div(%[[SUM]], %[[C]])
// CHECK-NEXT: %[[R:.*]] = gir.cast %[[MEAN]] : !gir.tensor<S, f32> -> !gir.tensor<S, bf16>
// CHECK-NEXT: return %[[R]]
func.func @mean(%x: !gir.tensor<B, S, T, bf16>) -> !gir.tensor<S, bf16> {
  %0 = gir.mean %x dims [0, 2] : !gir.tensor<B, S, T, bf16> -> !gir.tensor<S, bf16>
  return %0 : !gir.tensor<S, bf16>
}

// CHECK-LABEL: func @var
// CHECK: %[[D:.*]] = gir.map sub(%arg0,
// CHECK: %[[Q:.*]] = gir.map square(%[[D]])
// CHECK: %[[SUM:.*]] = gir.reduce sum %[[Q]]
// CHECK: %[[FREE:.*]] = gir.map sub(
// CHECK: %[[F:.*]] = gir.map maximum(%[[FREE]],
// CHECK: gir.map div(%[[SUM]], %[[F]])
func.func @var(%x: !gir.tensor<B, S, f32>) -> !gir.tensor<B, f32> {
  %0 = gir.var %x dims [1] correction 1.0 : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
  return %0 : !gir.tensor<B, f32>
}

// CHECK-LABEL: func @layer_norm
// CHECK: %[[D:.*]] = gir.map sub(
// CHECK: gir.map square(%[[D]])
// CHECK: %[[R:.*]] = gir.map rsqrt(
// CHECK: %[[B:.*]] = gir.broadcast %[[R]] dims [0]
// CHECK: %[[Y:.*]] = gir.map mul(%[[D]], %[[B]])
// CHECK: %[[W:.*]] = gir.broadcast %{{.*}} dims [1, 2] : !gir.tensor<S, D, f32> -> !gir.tensor<B, S, D, f32>
// CHECK: %[[Z:.*]] = gir.map mul(%[[Y]], %[[W]])
// CHECK: %[[A:.*]] = gir.map add(%[[Z]],
// CHECK: gir.cast %[[A]] : !gir.tensor<B, S, D, f32> -> !gir.tensor<B, S, D, f16>
func.func @layer_norm(%x: !gir.tensor<B, S, D, f16>, %w: !gir.tensor<S, D, f16>, %b: !gir.tensor<S, D, f16>) -> !gir.tensor<B, S, D, f16> {
  %0 = gir.layer_norm %x rank 2 eps 1.0e-05 scale %w shift %b
     : (!gir.tensor<B, S, D, f16>, !gir.tensor<S, D, f16>, !gir.tensor<S, D, f16>) -> !gir.tensor<B, S, D, f16>
  return %0 : !gir.tensor<B, S, D, f16>
}

// CHECK-LABEL: func @rms_norm
// CHECK-NOT: gir.map sub
// CHECK: gir.map square(%arg0)
// CHECK: gir.map rsqrt(
// CHECK: %[[Y:.*]] = gir.map mul(%arg0,
// CHECK-NEXT: return %[[Y]]
func.func @rms_norm(%x: !gir.tensor<B, D, f64>) -> !gir.tensor<B, D, f64> {
  %0 = gir.rms_norm %x rank 1 eps 1.0e-06 : (!gir.tensor<B, D, f64>) -> !gir.tensor<B, D, f64>
  return %0 : !gir.tensor<B, D, f64>
}
