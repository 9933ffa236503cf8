// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=2' --sched-merge-dims='target=x86-64-v4 cores=2' --sched-select-schedule='target=x86-64-v4 cores=2' --sched-split-streams='target=x86-64-v4 cores=2' | FileCheck %s

// A long stream with no rows is cut into parts, and a second kernel merges their states.
// CHECK-LABEL: func.func @total
// CHECK: sched.kernel @total_0_parts
// CHECK: dims [parallel part = [[P:[0-9]+]] tile 1, stream
// CHECK: live ["max(0, {{.*}}part.lo)"
// CHECK: sched.store {{.*}}["part"]
// CHECK: sched.kernel @total_0_merge
// CHECK: sched.stream over [part]
// CHECK: sched.gauge
// CHECK: sched.map log

// Pieces of a concatenation are written one after the other into the same tensor.
// CHECK-LABEL: func.func @cat
// CHECK: %[[A:.*]] = sched.kernel @cat_0
// CHECK: sched.store {{.*}}["n"]
// CHECK: sched.kernel @cat_1({{.*}} = %[[A]]
// CHECK: sched.store {{.*}}["N + m"]

// A strided argument is copied before it is reshaped; a contiguous one is not.
// CHECK-LABEL: func.func @rs
// CHECK: sched.kernel @rs_0
// CHECK: sched.store {{.*}}["M*n + m"]
// CHECK: sched.kernel @rs_1
// CHECK: sched.load %{{.*}}["i"]
// CHECK: sched.load %{{.*}}["i"]

// Sums along both dimensions: the column sums are a kernel of their own.
// CHECK-LABEL: func.func @cas
// CHECK: sched.kernel @cas_0
// CHECK: sched.kernel @cas_1
func.func @total(%x: !gir.tensor<N, f32> {gir.contiguous}) -> (!gir.tensor<f32>) attributes {gir.symbols = {N = {hint = 1000000 : i64}}} {
  %1 = gir.logsumexp %x dims [0] : !gir.tensor<N, f32> -> !gir.tensor<f32>
  return %1 : !gir.tensor<f32>
}
func.func @cat(%x: !gir.tensor<N, f32> {gir.contiguous}, %y: !gir.tensor<M, f32>) -> (!gir.tensor<"N + M", f32>) {
  %1 = gir.concat 0 (%x, %y) : (!gir.tensor<N, f32>, !gir.tensor<M, f32>) -> !gir.tensor<"N + M", f32>
  return %1 : !gir.tensor<"N + M", f32>
}
func.func @rs(%x: !gir.tensor<N, M, f32>, %z: !gir.tensor<N, M, f32> {gir.contiguous}) -> (!gir.tensor<"N * M", f32>) {
  %1 = gir.reshape %x : !gir.tensor<N, M, f32> -> !gir.tensor<"N * M", f32>
  %3 = gir.map exp(%1) : (!gir.tensor<"N * M", f32>) -> !gir.tensor<"N * M", f32>
  %2 = gir.reshape %z : !gir.tensor<N, M, f32> -> !gir.tensor<"N * M", f32>
  %4 = gir.map add(%3, %2) : (!gir.tensor<"N * M", f32>, !gir.tensor<"N * M", f32>) -> !gir.tensor<"N * M", f32>
  return %4 : !gir.tensor<"N * M", f32>
}
func.func @cas(%x: !gir.tensor<N, M, f32>) -> (!gir.tensor<N, M, f32>, !gir.tensor<M, f32>) {
  %1 = gir.reduce sum %x dims [0] : !gir.tensor<N, M, f32> -> !gir.tensor<M, f32>
  %2 = gir.reduce sum %x dims [1] : !gir.tensor<N, M, f32> -> !gir.tensor<N, f32>
  %b1 = gir.broadcast %1 dims [1] : !gir.tensor<M, f32> -> !gir.tensor<N, M, f32>
  %b2 = gir.broadcast %2 dims [0] : !gir.tensor<N, f32> -> !gir.tensor<N, M, f32>
  %3 = gir.map add(%b1, %b2) : (!gir.tensor<N, M, f32>, !gir.tensor<N, M, f32>) -> !gir.tensor<N, M, f32>
  %4 = gir.map mul(%3, %x) : (!gir.tensor<N, M, f32>, !gir.tensor<N, M, f32>) -> !gir.tensor<N, M, f32>
  return %4, %1 : !gir.tensor<N, M, f32>, !gir.tensor<M, f32>
}

// Where the second half begins is known before the kernel runs: nothing is stored for it.
// CHECK-LABEL: func.func @halves
// CHECK: sched.kernel @halves_0
// CHECK-NOT: sched.kernel
// CHECK: sched.load %in["m", "floordiv(N, 2) + i"]
// CHECK-NOT: sched.kernel
func.func @halves(%x: !gir.tensor<M, N, f32>) -> !gir.tensor<M, "N - floordiv(N, 2)", f32> {
  %0 = gir.slice %x starts ["0", "floordiv(N, 2)"] steps [1, 1] : !gir.tensor<M, N, f32> -> !gir.tensor<M, "N - floordiv(N, 2)", f32>
  %1 = gir.map exp(%0) : (!gir.tensor<M, "N - floordiv(N, 2)", f32>) -> !gir.tensor<M, "N - floordiv(N, 2)", f32>
  return %1 : !gir.tensor<M, "N - floordiv(N, 2)", f32>
}

// A product along a dimension that elements do not depend on is a power.
// CHECK-LABEL: func.func @power
// CHECK: sched.map pow
// CHECK-NOT: sched.reduce
func.func @power(%x: !gir.tensor<M, f32>) -> !gir.tensor<f32> {
  %0 = gir.broadcast %x dims [0] : !gir.tensor<M, f32> -> !gir.tensor<M, N, f32>
  %1 = gir.reduce prod %0 dims [1] : !gir.tensor<M, N, f32> -> !gir.tensor<M, f32>
  %2 = gir.reduce sum %1 dims [0] : !gir.tensor<M, f32> -> !gir.tensor<f32>
  return %2 : !gir.tensor<f32>
}

// A sum over few elements along a dimension of what is stored would make a stream of it: it is stored first. The other
// two results share rows, and their kernel waits for the sum.
// CHECK-LABEL: func.func @small_sum_beside
// CHECK: sched.kernel @small_sum_beside_0({{.*}} -> (%{{.*}} : !gir.tensor<f32>)
// CHECK: sched.kernel @small_sum_beside_1({{.*}} -> (%{{.*}} : !gir.tensor<8192, f32>, %{{.*}} : !gir.tensor<8192, 8192, f32>)
// CHECK-NEXT: dims [parallel i = 8192 tile {{[0-9]+}}, stream i1 = 8192 tile
// CHECK-NOT: sched.kernel
func.func @small_sum_beside(%x: !gir.tensor<8192, 8192, f32> {gir.contiguous}, %w: !gir.tensor<8192, f32> {gir.contiguous}) -> (!gir.tensor<8192, f32>, !gir.tensor<8192, 8192, f32>) {
  %m = gir.reduce max %x dims [1] : !gir.tensor<8192, 8192, f32> -> !gir.tensor<8192, f32>
  %c = gir.reduce sum %w dims [0] : !gir.tensor<8192, f32> -> !gir.tensor<f32>
  %cb = gir.broadcast %c dims [] : !gir.tensor<f32> -> !gir.tensor<8192, 8192, f32>
  %mb = gir.broadcast %m dims [0] : !gir.tensor<8192, f32> -> !gir.tensor<8192, 8192, f32>
  %s = gir.map sub(%x, %mb) : (!gir.tensor<8192, 8192, f32>, !gir.tensor<8192, 8192, f32>) -> !gir.tensor<8192, 8192, f32>
  %d = gir.map div(%s, %cb) : (!gir.tensor<8192, 8192, f32>, !gir.tensor<8192, 8192, f32>) -> !gir.tensor<8192, 8192, f32>
  return %m, %d : !gir.tensor<8192, f32>, !gir.tensor<8192, 8192, f32>
}

// Results whose dimensions are in different orders share a kernel.
// CHECK-LABEL: func.func @transposed_results
// CHECK: sched.kernel @transposed_results_0({{.*}} -> (%{{.*}} : !gir.tensor<32, 64, f32>, %{{.*}} : !gir.tensor<64, 32, f32>)
// CHECK-NOT: sched.kernel
func.func @transposed_results(%x: !gir.tensor<32, 64, 500, f32> {gir.contiguous}) -> (!gir.tensor<64, 32, f32>, !gir.tensor<32, 64, f32>) {
  %s = gir.reduce sum %x dims [2] : !gir.tensor<32, 64, 500, f32> -> !gir.tensor<32, 64, f32>
  %m = gir.reduce max %x dims [2] : !gir.tensor<32, 64, 500, f32> -> !gir.tensor<32, 64, f32>
  %t = gir.transpose %s perm [1, 0] : !gir.tensor<32, 64, f32> -> !gir.tensor<64, 32, f32>
  return %t, %m : !gir.tensor<64, 32, f32>, !gir.tensor<32, 64, f32>
}
