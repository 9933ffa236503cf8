// RUN: %tessera_opt %s -convert-sched-to-tile -split-input-file | FileCheck %s

// A row that one tile covers: one load, mean and variance in registers, no loop. Past 768 the row is padded, and values
// that are not zero there are masked before they are summed.
// CHECK-LABEL: tile.kernel @moments
// CHECK-NOT: scf.for
// CHECK: %[[X:.*]] = tile.load %x[%pid0, %c0] dims [0, 1] pad 0.000000e+00
// CHECK: %[[SUM:.*]] = tile.reduce sum %[[X]] dims [1] : tensor<4x1024xf32> -> tensor<4xf32>
// CHECK: %[[C:.*]] = tile.map sub(%[[X]], %{{.*}}) : (tensor<4x1024xf32>
// CHECK: %[[Q:.*]] = tile.map square(%[[C]])
// CHECK: %[[J:.*]] = tile.iota %{{.*}} : tensor<1024xi32>
// CHECK: %[[N:.*]] = tile.constant 768 : i32 : tensor<1024xi32>
// CHECK: %[[E:.*]] = tile.map lt(%[[J]], %[[N]])
// CHECK: %[[EB:.*]] = tile.broadcast %[[E]] dims [1] : tensor<1024xi1> -> tensor<4x1024xi1>
// CHECK: %[[ZERO:.*]] = tile.constant 0.000000e+00 : f32 : tensor<4x1024xf32>
// CHECK: %[[M:.*]] = tile.map where(%[[EB]], %[[Q]], %[[ZERO]])
// CHECK: tile.reduce sum %[[M]] dims [1]
func.func @row(%x: !gir.tensor<S, 768, f32> {gir.name = "x", gir.contiguous}) -> !gir.tensor<S, f32> {
  %r = sched.kernel @moments(%X = %x : !gir.tensor<S, 768, f32>) -> (%o : !gir.tensor<S, f32>)
      dims [parallel i = S tile 4, inner d = 768 tile 1024] order [i] {
    %0 = sched.load %X["i", "d"] : !gir.tensor<S, 768, f32> -> !sched.val<[i, d], f32>
    %1 = sched.reduce sum(%0) over [d] : (!sched.val<[i, d], f32>) -> !sched.val<[i], f32>
    %n = sched.constant 0.00130208333 : f32 : !sched.val<[], f32>
    %2 = sched.map mul(%1, %n) : (!sched.val<[i], f32>, !sched.val<[], f32>) -> !sched.val<[i], f32>
    %3 = sched.map sub(%0, %2) : (!sched.val<[i, d], f32>, !sched.val<[i], f32>) -> !sched.val<[i, d], f32>
    %4 = sched.map square(%3) : (!sched.val<[i, d], f32>) -> !sched.val<[i, d], f32>
    %5 = sched.reduce sum(%4) over [d] : (!sched.val<[i, d], f32>) -> !sched.val<[i], f32>
    sched.store %5, %o["i"] : !sched.val<[i], f32>, !gir.tensor<S, f32>
  }
  return %r : !gir.tensor<S, f32>
}

// -----

// A contraction with an epilogue. The K loop needs no masks: both operands are padded loads. bf16 accumulates
// in f32; the right operand is loaded transposed.
// CHECK-LABEL: tile.kernel @gemm
// CHECK: %[[ACC0:.*]] = tile.constant 0.000000e+00 : f32 : tensor<64x128xf32>
// CHECK: %[[ACC:.*]] = scf.for %[[K:.*]] = %c0 to %ceildiv_K_32 step %c1 iter_args(%[[A:.*]] = %[[ACC0]]) -> (tensor<64x128xf32>) {
// CHECK-NEXT: %[[X:.*]] = tile.load %x[%pid1, %[[K]]] dims [0, 1] pad 0.000000e+00 : bf16 : {{.*}} -> tensor<64x32xbf16>
// CHECK-NEXT: %[[W:.*]] = tile.load %w[%pid0, %[[K]]] dims [1, 0] pad 0.000000e+00 : bf16 : {{.*}} -> tensor<32x128xbf16>
// CHECK-NEXT: %[[NEXT:.*]] = tile.mma %[[X]], %[[W]], %[[A]]
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK-NEXT: }
// CHECK-NOT: scf.for
// CHECK: %[[B:.*]] = tile.load %b[%pid0]
// CHECK: tile.map gelu_erf
// CHECK: %[[Y:.*]] = tile.cast %{{.*}} : tensor<64x128xf32> -> tensor<64x128xbf16>
// CHECK: tile.store %[[Y]], %out[%pid1, %pid0] dims [0, 1] bounded
func.func @linear(%x: !gir.tensor<M, K, bf16> {gir.name = "x"}, %w: !gir.tensor<N, K, bf16> {gir.name = "w"},
                  %b: !gir.tensor<N, bf16> {gir.name = "b"}) -> !gir.tensor<M, N, bf16> {
  %r = sched.kernel @gemm(%X = %x : !gir.tensor<M, K, bf16>, %W = %w : !gir.tensor<N, K, bf16>,
                          %B = %b : !gir.tensor<N, bf16>) -> (%o : !gir.tensor<M, N, bf16>)
      dims [parallel m = M tile 64, parallel n = N tile 128, inner k = K tile 32] order [n, m] {
    %0 = sched.load %X["m", "k"] : !gir.tensor<M, K, bf16> -> !sched.val<[m, k], bf16>
    %1 = sched.load %W["n", "k"] : !gir.tensor<N, K, bf16> -> !sched.val<[n, k], bf16>
    %2 = sched.reduce sum(%0, %1) over [k] : (!sched.val<[m, k], bf16>, !sched.val<[n, k], bf16>) -> !sched.val<[m, n], f32>
    %3 = sched.load %B["n"] : !gir.tensor<N, bf16> -> !sched.val<[n], bf16>
    %4 = sched.cast %3 : !sched.val<[n], bf16> -> !sched.val<[n], f32>
    %5 = sched.map add(%2, %4) : (!sched.val<[m, n], f32>, !sched.val<[n], f32>) -> !sched.val<[m, n], f32>
    %6 = sched.map gelu_erf(%5) : (!sched.val<[m, n], f32>) -> !sched.val<[m, n], f32>
    %7 = sched.cast %6 : !sched.val<[m, n], f32> -> !sched.val<[m, n], bf16>
    sched.store %7, %o["m", "n"] : !sched.val<[m, n], bf16>, !gir.tensor<M, N, bf16>
  }
  return %r : !gir.tensor<M, N, bf16>
}

// -----

// A prologue that is not zero at the edge: the ragged block is peeled and masked.
// CHECK-LABEL: tile.kernel @prologue
// CHECK: scf.for %{{.*}} = %c0 to %floordiv_K_32 step %c1
// CHECK-NOT: tile.map where
// CHECK: tile.mma
// CHECK: scf.for %{{.*}} = %floordiv_K_32 to %ceildiv_K_32 step %c1
// CHECK: %[[E:.*]] = tile.map exp
// CHECK: tile.map where(%{{.*}}, %[[E]], %{{.*}})
// CHECK: tile.mma
func.func @prologue(%x: !gir.tensor<M, K, f32>, %w: !gir.tensor<K, N, f32>) -> !gir.tensor<M, N, f32> {
  %r = sched.kernel @prologue_k(%X = %x : !gir.tensor<M, K, f32>, %W = %w : !gir.tensor<K, N, f32>)
      -> (%o : !gir.tensor<M, N, f32>)
      dims [parallel m = M tile 64, parallel n = N tile 64, inner k = K tile 32] order [n, m] {
    %0 = sched.load %X["m", "k"] : !gir.tensor<M, K, f32> -> !sched.val<[m, k], f32>
    %1 = sched.map exp(%0) : (!sched.val<[m, k], f32>) -> !sched.val<[m, k], f32>
    %2 = sched.load %W["k", "n"] : !gir.tensor<K, N, f32> -> !sched.val<[n, k], f32>
    %3 = sched.reduce sum(%1, %2) over [k] : (!sched.val<[m, k], f32>, !sched.val<[n, k], f32>) -> !sched.val<[m, n], f32>
    sched.store %3, %o["m", "n"] : !sched.val<[m, n], f32>, !gir.tensor<M, N, f32>
  }
  return %r : !gir.tensor<M, N, f32>
}

// -----

// A matrix times a vector has no second axis: it is multiplied and reduced elementwise. A batch is a coordinate. 16-bit results
// accumulate in f32.
// CHECK-LABEL: tile.kernel @gemv
// CHECK: %[[A:.*]] = tile.load %a[%pid1, %pid0, %{{.*}}] dims [1, 2]
// CHECK: %[[AF:.*]] = tile.cast %[[A]] : tensor<64x128xf16> -> tensor<64x128xf32>
// CHECK: %[[X:.*]] = tile.load %x[%pid1, %{{.*}}] dims [1]
// CHECK: tile.map mul(%{{.*}}, %{{.*}}) : (tensor<64x128xf32>
// CHECK: tile.reduce sum %{{.*}} dims [1] : tensor<64x128xf32> -> tensor<64xf32>
// CHECK: %[[Y:.*]] = tile.cast %{{.*}} : tensor<64xf32> -> tensor<64xf16>
// CHECK: tile.store %[[Y]], %out[%pid1, %pid0] dims [1] bounded
func.func @gemv(%a: !gir.tensor<B, M, K, f16> {gir.name = "a"}, %x: !gir.tensor<B, K, f16> {gir.name = "x"})
    -> !gir.tensor<B, M, f16> {
  %r = sched.kernel @gemv_k(%A = %a : !gir.tensor<B, M, K, f16>, %X = %x : !gir.tensor<B, K, f16>)
      -> (%o : !gir.tensor<B, M, f16>)
      dims [parallel b = B tile 1, parallel m = M tile 64, inner k = K tile 128] order [m, b] {
    %0 = sched.load %A["b", "m", "k"] : !gir.tensor<B, M, K, f16> -> !sched.val<[b, m, k], f16>
    %1 = sched.load %X["b", "k"] : !gir.tensor<B, K, f16> -> !sched.val<[b, k], f16>
    %2 = sched.reduce sum(%0, %1) over [k] : (!sched.val<[b, m, k], f16>, !sched.val<[b, k], f16>) -> !sched.val<[b, m], f16>
    sched.store %2, %o["b", "m"] : !sched.val<[b, m], f16>, !gir.tensor<B, M, f16>
  }
  return %r : !gir.tensor<B, M, f16>
}

// -----

// Several axes of the left operand become the rows of one MMA.
// CHECK-LABEL: tile.kernel @packed
// CHECK: %[[Q:.*]] = tile.load %q[%{{.*}}] dims [0, 1, 2] {{.*}} -> tensor<4x16x64xf32>
// CHECK: %[[Q2:.*]] = tile.reshape %[[Q]] : tensor<4x16x64xf32> -> tensor<64x64xf32>
// CHECK: %[[S2:.*]] = tile.mma %[[Q2]], %{{.*}} -> tensor<64x32xf32>
// CHECK: tile.reshape %[[S2]] : tensor<64x32xf32> -> tensor<4x16x32xf32>
func.func @packed(%q: !gir.tensor<4, S, 64, f32> {gir.name = "q", gir.contiguous},
                  %k: !gir.tensor<T, 64, f32> {gir.name = "k", gir.contiguous}) -> !gir.tensor<4, S, T, f32> {
  %r = sched.kernel @packed_k(%Q = %q : !gir.tensor<4, S, 64, f32>, %K = %k : !gir.tensor<T, 64, f32>)
      -> (%o : !gir.tensor<4, S, T, f32>)
      dims [parallel g = 4 tile 4, parallel i = S tile 16, parallel j = T tile 32, inner d = 64 tile 64]
      order [j, i, g] {
    %0 = sched.load %Q["g", "i", "d"] : !gir.tensor<4, S, 64, f32> -> !sched.val<[g, i, d], f32>
    %1 = sched.load %K["j", "d"] : !gir.tensor<T, 64, f32> -> !sched.val<[j, d], f32>
    %2 = sched.reduce sum(%0, %1) over [d] : (!sched.val<[g, i, d], f32>, !sched.val<[j, d], f32>) -> !sched.val<[g, i, j], f32>
    sched.store %2, %o["g", "i", "j"] : !sched.val<[g, i, j], f32>, !gir.tensor<4, S, T, f32>
  }
  return %r : !gir.tensor<4, S, T, f32>
}

// -----

// Reductions over a long inner dimension and a store over it have loops of their own.
// CHECK-LABEL: tile.kernel @long
// CHECK: %[[INIT:.*]] = tile.constant 0xFF800000 : f32 : tensor<8xf32>
// CHECK: %[[M0:.*]] = scf.for %{{.*}} = %c0 to %floordiv_N_256 step %c1 iter_args(%{{.*}} = %[[INIT]])
// CHECK: tile.map maximum
// CHECK: %[[M:.*]] = scf.for %{{.*}} = %floordiv_N_256 to %ceildiv_N_256 step %c1 iter_args(%{{.*}} = %[[M0]])
// CHECK: tile.load %x[%pid0, %{{.*}}] dims [0, 1] pad 0xFF800000
// CHECK: tile.map maximum
// CHECK: scf.for %{{.*}} = %c0 to %floordiv_N_256 step %c1 {
// CHECK: tile.broadcast %[[M]] dims [0] : tensor<8xf32> -> tensor<8x256xf32>
// CHECK: tile.store %{{.*}}, %out[%pid0, %{{.*}}] dims [0, 1] : tensor<8x256xf32>
// CHECK: scf.for %{{.*}} = %floordiv_N_256 to %ceildiv_N_256 step %c1 {
// CHECK: tile.store %{{.*}} bounded
func.func @long(%x: !gir.tensor<S, N, f32> {gir.name = "x"}) -> !gir.tensor<S, N, f32>
    attributes {gir.symbols = {S = {divisor = 8 : i64}}} {
  %r = sched.kernel @long_k(%X = %x : !gir.tensor<S, N, f32>) -> (%o : !gir.tensor<S, N, f32>)
      dims [parallel i = S tile 8, inner n = N tile 256] order [i] {
    %0 = sched.load %X["i", "n"] : !gir.tensor<S, N, f32> -> !sched.val<[i, n], f32>
    %1 = sched.reduce max(%0) over [n] : (!sched.val<[i, n], f32>) -> !sched.val<[i], f32>
    %2 = sched.map sub(%0, %1) : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i, n], f32>
    sched.store %2, %o["i", "n"] : !sched.val<[i, n], f32>, !gir.tensor<S, N, f32>
  }
  return %r : !gir.tensor<S, N, f32>
}
