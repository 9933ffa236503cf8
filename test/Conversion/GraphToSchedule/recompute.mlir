// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=sm_90:ptx' | FileCheck %s
// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=2' | FileCheck %s --check-prefix=CPU

// The gradients of an attention. Scores would be more elements than each argument and result: three kernels compute
// them again, and statistics of the rows alone are stored. An exponential relative to a stored maximum needs no gauge.
// CHECK-LABEL: func.func @gradients
// CHECK: %[[STATISTICS:.*]]:3 = sched.kernel @gradients_0({{.*}} -> (%{{.*}} : !gir.tensor<S, f32>, %{{.*}} : !gir.tensor<S, f32>, %{{.*}} : !gir.tensor<S, f32>)
// CHECK-NEXT: dims [parallel s = S tile 1, stream t = T tile 1
// CHECK: sched.gauge
// CHECK: %[[KV:.*]]:2 = sched.kernel @gradients_1(
// CHECK-NEXT: dims [parallel t = T tile 1, stream s = S tile 1
// CHECK: sched.stream over [s] live ["max(0, t.lo)", "S"]
// CHECK-NOT: sched.gauge
// CHECK: sched.map exp
// CHECK: sched.accumulate sum
// CHECK: sched.accumulate sum
// CHECK: sched.kernel @gradients_2(
// CHECK-NEXT: dims [parallel s = S tile 1, stream t = T tile 1
// CHECK: sched.stream over [t] live ["0", "min(T, s.hi + 1)"]
// CHECK-NOT: sched.gauge
// CHECK-NOT: sched.kernel
// CPU-LABEL: func.func @gradients
// CPU-NOT: !gir.tensor<S, T
// CPU: return
func.func @gradients(%q: !gir.tensor<S, 64, bf16> {gir.contiguous}, %k: !gir.tensor<T, 64, bf16> {gir.contiguous}, %v: !gir.tensor<T, 64, bf16> {gir.contiguous}, %g: !gir.tensor<S, 64, bf16> {gir.contiguous}) -> (!gir.tensor<S, 64, bf16>, !gir.tensor<T, 64, bf16>, !gir.tensor<T, 64, bf16>) attributes {gir.symbols = {S = {hint = 4096 : i64}, T = {hint = 4096 : i64}}} {
  %s = gir.contract %q, %k batch [] x [] over [1] x [1] : (!gir.tensor<S, 64, bf16>, !gir.tensor<T, 64, bf16>) -> !gir.tensor<S, T, f32>
  %i = gir.iota 0 : !gir.tensor<S, T, i64>
  %j = gir.iota 1 : !gir.tensor<S, T, i64>
  %le = gir.map le(%j, %i) : (!gir.tensor<S, T, i64>, !gir.tensor<S, T, i64>) -> !gir.tensor<S, T, i1>
  %ninf = gir.constant 0xFF800000 : f32 : !gir.tensor<S, T, f32>
  %u = gir.map where(%le, %s, %ninf) : (!gir.tensor<S, T, i1>, !gir.tensor<S, T, f32>, !gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %p = gir.softmax %u dim 1 : !gir.tensor<S, T, f32>
  %pb = gir.cast %p : !gir.tensor<S, T, f32> -> !gir.tensor<S, T, bf16>
  %dv = gir.contract %pb, %g batch [] x [] over [0] x [0] : (!gir.tensor<S, T, bf16>, !gir.tensor<S, 64, bf16>) -> !gir.tensor<T, 64, bf16>
  %dp = gir.contract %g, %v batch [] x [] over [1] x [1] : (!gir.tensor<S, 64, bf16>, !gir.tensor<T, 64, bf16>) -> !gir.tensor<S, T, f32>
  %w = gir.map mul(%p, %dp) : (!gir.tensor<S, T, f32>, !gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %d = gir.reduce sum %w dims [1] : !gir.tensor<S, T, f32> -> !gir.tensor<S, f32>
  %db = gir.broadcast %d dims [0] : !gir.tensor<S, f32> -> !gir.tensor<S, T, f32>
  %e = gir.map sub(%dp, %db) : (!gir.tensor<S, T, f32>, !gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %ds = gir.map mul(%p, %e) : (!gir.tensor<S, T, f32>, !gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %dsb = gir.cast %ds : !gir.tensor<S, T, f32> -> !gir.tensor<S, T, bf16>
  %dq = gir.contract %dsb, %k batch [] x [] over [1] x [0] : (!gir.tensor<S, T, bf16>, !gir.tensor<T, 64, bf16>) -> !gir.tensor<S, 64, bf16>
  %dk = gir.contract %dsb, %q batch [] x [] over [0] x [0] : (!gir.tensor<S, T, bf16>, !gir.tensor<S, 64, bf16>) -> !gir.tensor<T, 64, bf16>
  return %dq, %dk, %dv : !gir.tensor<S, 64, bf16>, !gir.tensor<T, 64, bf16>, !gir.tensor<T, 64, bf16>
}

// A product that is as small as the function's own tensors is stored for both that read it.
// CHECK-LABEL: func.func @small
// CHECK: sched.kernel @small_0({{.*}} -> (%{{.*}} : !gir.tensor<S, 64, f32>)
// CHECK-COUNT-2: sched.kernel
func.func @small(%a: !gir.tensor<S, 64, bf16> {gir.contiguous}, %b: !gir.tensor<64, 64, bf16> {gir.contiguous}) -> (!gir.tensor<S, f32>, !gir.tensor<64, f32>) attributes {gir.symbols = {S = {hint = 4096 : i64}}} {
  %s = gir.contract %a, %b batch [] x [] over [1] x [0] : (!gir.tensor<S, 64, bf16>, !gir.tensor<64, 64, bf16>) -> !gir.tensor<S, 64, f32>
  %r = gir.reduce max %s dims [1] : !gir.tensor<S, 64, f32> -> !gir.tensor<S, f32>
  %c = gir.reduce max %s dims [0] : !gir.tensor<S, 64, f32> -> !gir.tensor<64, f32>
  return %r, %c : !gir.tensor<S, f32>, !gir.tensor<64, f32>
}

// The rows of a contraction inside a block stay rows of the one that multiplies them, however operands lie in memory.
// CHECK-LABEL: func.func @rows_first
// CHECK: sched.kernel @rows_first_0(
// CHECK-NEXT: dims [{{.*}}parallel t = T tile 1, stream s = S tile 1
func.func @rows_first(%q: !gir.tensor<S, 64, bf16> {gir.contiguous}, %k: !gir.tensor<64, T, bf16> {gir.contiguous}, %b: !gir.tensor<S, T, bf16> {gir.contiguous}) -> !gir.tensor<T, 64, bf16> {
  %s = gir.contract %q, %k batch [] x [] over [1] x [0] : (!gir.tensor<S, 64, bf16>, !gir.tensor<64, T, bf16>) -> !gir.tensor<S, T, bf16>
  %m = gir.map mul(%s, %b) : (!gir.tensor<S, T, bf16>, !gir.tensor<S, T, bf16>) -> !gir.tensor<S, T, bf16>
  %o = gir.contract %m, %q batch [] x [] over [0] x [0] : (!gir.tensor<S, T, bf16>, !gir.tensor<S, 64, bf16>) -> !gir.tensor<T, 64, bf16>
  return %o : !gir.tensor<T, 64, bf16>
}

// Of two contractions in a row, the one with fewer elements is stored: projections, not the scores between them.
// CHECK-LABEL: func.func @projected
// CHECK: sched.kernel @projected_0({{.*}} -> (%{{.*}} : !gir.tensor<2048, 64, bf16>)
// CHECK-NOT: !gir.tensor<2048, 4096
// CHECK: return
func.func @projected(%x: !gir.tensor<2048, 64, bf16> {gir.contiguous}, %w: !gir.tensor<64, 64, bf16> {gir.contiguous}, %k: !gir.tensor<4096, 64, bf16> {gir.contiguous}) -> !gir.tensor<2048, 64, bf16> {
  %q = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<2048, 64, bf16>, !gir.tensor<64, 64, bf16>) -> !gir.tensor<2048, 64, bf16>
  %s = gir.contract %q, %k batch [] x [] over [1] x [1] : (!gir.tensor<2048, 64, bf16>, !gir.tensor<4096, 64, bf16>) -> !gir.tensor<2048, 4096, bf16>
  %p = gir.softmax %s dim 1 : !gir.tensor<2048, 4096, bf16>
  %o = gir.contract %p, %k batch [] x [] over [1] x [0] : (!gir.tensor<2048, 4096, bf16>, !gir.tensor<4096, 64, bf16>) -> !gir.tensor<2048, 64, bf16>
  %y = gir.contract %o, %w batch [] x [] over [1] x [0] : (!gir.tensor<2048, 64, bf16>, !gir.tensor<64, 64, bf16>) -> !gir.tensor<2048, 64, bf16>
  return %y : !gir.tensor<2048, 64, bf16>
}
