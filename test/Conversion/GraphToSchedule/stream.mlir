// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=2' | FileCheck %s

// A contraction, a causal mask, a softmax and a second contraction are one kernel with one stream over the keys. The
// user's maximum has cancelled, the scale belongs to the gauge, and the mask bounds the stream.

// CHECK-LABEL: func.func @attention
// CHECK: sched.kernel @attention_0
// CHECK-NEXT: dims [parallel b = B tile 1, parallel h = H tile 1, parallel s = S tile {{[0-9]+}}, stream t = T tile
// CHECK: sched.stream over [t] live ["0", "min(T, s.hi + 1)"] full ["0", "min(T, s.lo + 1)"]
// CHECK: %[[S:.*]] = sched.reduce sum({{.*}}) over [k]
// CHECK: %[[M:.*]] = sched.mask %{{.*}}, %[[S]] else 0xFF800000
// CHECK: %[[G:.*]] = sched.gauge %[[M]] scale 0.180336
// CHECK: %[[P:.*]] = sched.weigh %[[M]] rel %[[G]]
// CHECK: %[[L:.*]] = sched.accumulate sum(%[[P]]) rel %[[G]]
// CHECK: %[[A:.*]] = sched.accumulate sum(%[[P]], %{{.*}}) rel %[[G]]
// CHECK: sched.yield %[[G]], %[[L]], %[[A]]
// CHECK-NOT: sched.stream
// CHECK-NOT: sched.kernel
func.func @attention(%q: !gir.tensor<B, H, S, 64, f32> {gir.contiguous}, %k: !gir.tensor<B, H, T, 64, f32> {gir.contiguous}, %v: !gir.tensor<B, H, T, 64, f32> {gir.contiguous}) -> !gir.tensor<B, H, S, 64, f32> {
  %s = gir.contract %q, %k batch [0, 1] x [0, 1] over [3] x [3] : (!gir.tensor<B, H, S, 64, f32>, !gir.tensor<B, H, T, 64, f32>) -> !gir.tensor<B, H, S, T, f32>
  %c = gir.constant 0.125 : f32 : !gir.tensor<B, H, S, T, f32>
  %u0 = gir.map mul(%s, %c) : (!gir.tensor<B, H, S, T, f32>, !gir.tensor<B, H, S, T, f32>) -> !gir.tensor<B, H, S, T, f32>
  %i = gir.iota 2 : !gir.tensor<B, H, S, T, i64>
  %j = gir.iota 3 : !gir.tensor<B, H, S, T, i64>
  %le = gir.map le(%j, %i) : (!gir.tensor<B, H, S, T, i64>, !gir.tensor<B, H, S, T, i64>) -> !gir.tensor<B, H, S, T, i1>
  %ninf = gir.constant 0xFF800000 : f32 : !gir.tensor<B, H, S, T, f32>
  %u = gir.map where(%le, %u0, %ninf) : (!gir.tensor<B, H, S, T, i1>, !gir.tensor<B, H, S, T, f32>, !gir.tensor<B, H, S, T, f32>) -> !gir.tensor<B, H, S, T, f32>
  %p = gir.softmax %u dim 3 : !gir.tensor<B, H, S, T, f32>
  %o = gir.contract %p, %v batch [0, 1] x [0, 1] over [3] x [2] : (!gir.tensor<B, H, S, T, f32>, !gir.tensor<B, H, T, 64, f32>) -> !gir.tensor<B, H, S, 64, f32>
  return %o : !gir.tensor<B, H, S, 64, f32>
}

// A sum over both dimensions of a triangle: bounds of the inner one would depend on the outer one, which is part of the
// stream and not known before it, so each block is tested.

// CHECK-LABEL: func.func @triangle
// CHECK: sched.stream over [s, t] live ["0", "T"] full ["0", "T"]
// CHECK: sched.bound min %{{.*}} over [t]
// CHECK: sched.bound max %{{.*}} over [s]
// CHECK: sched.visit
// CHECK: sched.mask
func.func @triangle(%x: !gir.tensor<S, T, f32>) -> !gir.tensor<f32> {
  %i = gir.iota 0 : !gir.tensor<S, T, i64>
  %j = gir.iota 1 : !gir.tensor<S, T, i64>
  %le = gir.map le(%j, %i) : (!gir.tensor<S, T, i64>, !gir.tensor<S, T, i64>) -> !gir.tensor<S, T, i1>
  %zero = gir.constant 0.0 : f32 : !gir.tensor<S, T, f32>
  %u = gir.map where(%le, %x, %zero) : (!gir.tensor<S, T, i1>, !gir.tensor<S, T, f32>, !gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %r = gir.reduce sum %u dims [0, 1] : !gir.tensor<S, T, f32> -> !gir.tensor<f32>
  return %r : !gir.tensor<f32>
}
