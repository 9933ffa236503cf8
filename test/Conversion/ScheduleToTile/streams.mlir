// RUN: %tessera_opt %s -convert-sched-to-tile -split-input-file | FileCheck %s

// Two passes over a row: the first carries the gauge and the sum of weights, the second stores. Exponents that
// are loaded can be -inf, so the reference is made finite; the second pass does that once for the final gauge.
// CHECK-LABEL: tile.kernel @weights
// CHECK-DAG: %[[G0:.*]] = tile.constant 0xFF800000 : f32 : tensor<8xf32>
// CHECK-DAG: %[[L0:.*]] = tile.constant 0.000000e+00 : f32 : tensor<8xf32>
// CHECK: %[[R:.*]]:2 = scf.for %[[J:.*]] = %c0 to %ceildiv_N_128 step %c1 iter_args(%[[G:.*]] = %[[G0]], %[[L:.*]] = %[[L0]])
// CHECK: %[[X:.*]] = tile.load %x[%pid0, %[[J]]] dims [0, 1] :
// CHECK: %[[U:.*]] = tile.map mul(%[[X]], %{{.*}})
// CHECK: %[[M:.*]] = tile.reduce max %[[U]] dims [1] skip_nan : tensor<8x128xf32> -> tensor<8xf32>
// CHECK: %[[GN:.*]], %[[REF:.*]], %{{.*}}, %[[C:.*]] = tile.online_update %[[M]] from %[[G]] scale 1.000000e+00 guarded : tensor<8xf32>
// CHECK: %[[LC:.*]] = tile.map mul(%[[L]], %[[C]])
// CHECK: %[[REFS:.*]] = tile.broadcast %[[REF]] dims [0]
// CHECK: %[[W:.*]] = tile.online_weigh %[[U]], %[[REFS]] scale 1.000000e+00 : tensor<8x128xf32>
// CHECK: %[[S:.*]] = tile.reduce sum %[[W]] dims [1]
// CHECK: %[[LN:.*]] = tile.map add(%[[LC]], %[[S]])
// CHECK: scf.yield %[[GN]], %[[LN]]
// CHECK: %{{.*}}, %[[FINAL:.*]], %{{.*}}, %{{.*}} = tile.online_update %[[R]]#0 scale 1.000000e+00 guarded : tensor<8xf32>
// CHECK: scf.for %{{.*}} = %c0 to %ceildiv_N_128 step %c1 {
// CHECK: tile.broadcast %[[FINAL]] dims [0]
// CHECK: tile.online_weigh
// CHECK: tile.map div
// CHECK: tile.store %{{.*}}, %out[%pid0, %{{.*}}] dims [0, 1] : tensor<8x128xf32>
func.func @weights(%x: !gir.tensor<S, N, f32> {gir.name = "x"}) -> !gir.tensor<S, N, f32>
    attributes {gir.symbols = {N = {divisor = 128 : i64}, S = {divisor = 8 : i64}}} {
  %r = sched.kernel @weights_k(%X = %x : !gir.tensor<S, N, f32>) -> (%o : !gir.tensor<S, N, f32>)
      dims [parallel i = S tile 8, stream n = N tile 128] order [i] {
    %c = sched.constant 1.44269504 : f32 : !sched.val<[], f32>
    %s:2 = sched.stream over [n] live ["0", "N"] full ["0", "N"] lag 0.0 -> !sched.val<[i], f32>, !sched.val<[i], f32> {
      %0 = sched.load %X["i", "n"] : !gir.tensor<S, N, f32> -> !sched.val<[i, n], f32>
      %u = sched.map mul(%0, %c) : (!sched.val<[i, n], f32>, !sched.val<[], f32>) -> !sched.val<[i, n], f32>
      %g = sched.gauge %u : !sched.val<[i, n], f32> -> !sched.val<[i], f32>
      %w = sched.weigh %u rel %g : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i, n], f32>
      %l = sched.accumulate sum(%w) rel %g : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i], f32>
      sched.yield %g, %l : !sched.val<[i], f32>, !sched.val<[i], f32>
    }
    sched.stream over [n] live ["0", "N"] full ["0", "N"] lag 0.0 {
      %0 = sched.load %X["i", "n"] : !gir.tensor<S, N, f32> -> !sched.val<[i, n], f32>
      %u = sched.map mul(%0, %c) : (!sched.val<[i, n], f32>, !sched.val<[], f32>) -> !sched.val<[i, n], f32>
      %w = sched.weigh %u rel %s#0 : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i, n], f32>
      %p = sched.map div(%w, %s#1) : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i, n], f32>
      sched.store %p, %o["i", "n"] : !sched.val<[i, n], f32>, !gir.tensor<S, N, f32>
    }
  }
  return %r : !gir.tensor<S, N, f32>
}

// -----

// Weights of a contraction times values. Queries are loaded before the loop; a ragged last block gets -inf as exponents
// and zeros as values. No exponent can be -inf, so the reference is the gauge.
// CHECK-LABEL: tile.kernel @contract
// CHECK: %[[Q:.*]] = tile.load %q[%pid1, %pid0, %c0] dims [1, 2] pad {{.*}} -> tensor<64x64xf32>
// CHECK: %[[FULL:.*]]:3 = scf.for %[[J:.*]] = %c0 to %floordiv_T_128 step %c1
// CHECK: %[[K:.*]] = tile.load %k[%pid1, %[[J]], %c0] dims [2, 1] : {{.*}} -> tensor<64x128xf32>
// CHECK: tile.mma %[[Q]], %[[K]], %{{.*}} -> tensor<64x128xf32>
// CHECK-NOT: tile.map where
// CHECK: tile.online_update %{{.*}} from %{{.*}} scale 1.000000e+00 : tensor<64xf32>
// CHECK-NOT: tile.map where
// CHECK: %[[V:.*]] = tile.load %v[%pid1, %c0, %[[J]]] dims [2, 1] : {{.*}} -> tensor<128x64xf32>
// CHECK: tile.mma %{{.*}}, %[[V]], %{{.*}} -> tensor<64x64xf32>
// CHECK: scf.for %[[J2:.*]] = %floordiv_T_128 to %ceildiv_T_128 step %c1 iter_args(%{{.*}} = %[[FULL]]#0
// CHECK: tile.load %k{{.*}} pad
// CHECK: %[[EDGE:.*]] = tile.map lt
// CHECK: %[[EB:.*]] = tile.broadcast %[[EDGE]] dims [1]
// CHECK: %[[U:.*]] = tile.map where(%[[EB]], %{{.*}}, %{{.*}})
// CHECK: tile.reduce max %[[U]]
// CHECK: tile.online_weigh %[[U]], %{{.*}}
// CHECK-NOT: tile.map where
// CHECK: tile.load %v{{.*}} pad
// CHECK-NOT: tile.map where
// CHECK: tile.mma
func.func @contract(%q: !gir.tensor<B, S, 64, f32> {gir.name = "q"}, %k: !gir.tensor<B, T, 64, f32> {gir.name = "k"},
                    %v: !gir.tensor<B, T, 64, f32> {gir.name = "v"}) -> !gir.tensor<B, S, 64, f32> {
  %r = sched.kernel @contract_k(%Q = %q : !gir.tensor<B, S, 64, f32>, %K = %k : !gir.tensor<B, T, 64, f32>,
                                %V = %v : !gir.tensor<B, T, 64, f32>) -> (%o : !gir.tensor<B, S, 64, f32>)
      dims [parallel b = B tile 1, parallel i = S tile 64, parallel e = 64 tile 64, stream n = T tile 128, inner d = 64 tile 64]
      order [i, b, e] {
    %s:2 = sched.stream over [n] live ["0", "T"] full ["0", "T"] lag 0.0
        -> !sched.val<[b, i], f32>, !sched.val<[b, i, e], f32> {
      %0 = sched.load %Q["b", "i", "d"] : !gir.tensor<B, S, 64, f32> -> !sched.val<[b, i, d], f32>
      %1 = sched.load %K["b", "n", "d"] : !gir.tensor<B, T, 64, f32> -> !sched.val<[b, n, d], f32>
      %u = sched.reduce sum(%0, %1) over [d] : (!sched.val<[b, i, d], f32>, !sched.val<[b, n, d], f32>) -> !sched.val<[b, i, n], f32>
      %g = sched.gauge %u : !sched.val<[b, i, n], f32> -> !sched.val<[b, i], f32>
      %w = sched.weigh %u rel %g : (!sched.val<[b, i, n], f32>, !sched.val<[b, i], f32>) -> !sched.val<[b, i, n], f32>
      %l = sched.accumulate sum(%w) rel %g : (!sched.val<[b, i, n], f32>, !sched.val<[b, i], f32>) -> !sched.val<[b, i], f32>
      %2 = sched.load %V["b", "n", "e"] : !gir.tensor<B, T, 64, f32> -> !sched.val<[b, e, n], f32>
      %a = sched.accumulate sum(%w, %2) rel %g : (!sched.val<[b, i, n], f32>, !sched.val<[b, e, n], f32>, !sched.val<[b, i], f32>) -> !sched.val<[b, i, e], f32>
      sched.yield %l, %a : !sched.val<[b, i], f32>, !sched.val<[b, i, e], f32>
    }
    %3 = sched.map div(%s#1, %s#0) : (!sched.val<[b, i, e], f32>, !sched.val<[b, i], f32>) -> !sched.val<[b, i, e], f32>
    sched.store %3, %o["b", "i", "e"] : !sched.val<[b, i, e], f32>, !gir.tensor<B, S, 64, f32>
  }
  return %r : !gir.tensor<B, S, 64, f32>
}

// -----

// A band mask: head and tail evaluate the mask and make the reference finite, the middle does neither. With a lag the gauge
// is unchanged while the maximum is near it.
// CHECK-LABEL: tile.kernel @band
// CHECK: %[[I0:.*]] = arith.muli %pid0, %c64
// CHECK: arith.floordivsi
// CHECK: arith.ceildivsi
// CHECK: %[[HEAD:.*]] = scf.for
// CHECK: tile.map lt
// CHECK: tile.map where(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<64x64xi1>
// CHECK: tile.online_update %{{.*}} from %{{.*}} scale 1.000000e+00 lag 8.000000e+00 guarded : tensor<64xf32>
// CHECK: scf.yield
// CHECK: %[[FULL:.*]] = scf.for %{{.*}} iter_args(%{{.*}} = %[[HEAD]])
// CHECK-NOT: (tensor<64x64xi1>
// CHECK-NOT: tile.map eq
// CHECK: tile.online_update %{{.*}} from %{{.*}} scale 1.000000e+00 lag 8.000000e+00 : tensor<64xf32>
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %[[FULL]])
// CHECK: tile.map where(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<64x64xi1>
// CHECK: scf.yield
// CHECK-NOT: scf.for
func.func @band(%q: !gir.tensor<S, 64, f32>, %k: !gir.tensor<S, 64, f32>) -> !gir.tensor<S, f32>
    attributes {gir.symbols = {S = {divisor = 64 : i64}}} {
  %r = sched.kernel @band_k(%Q = %q : !gir.tensor<S, 64, f32>, %K = %k : !gir.tensor<S, 64, f32>) -> (%o : !gir.tensor<S, f32>)
      dims [parallel i = S tile 64, stream n = S tile 64, inner d = 64 tile 64] order [i] {
    %s = sched.stream over [n] live ["i.lo - 255", "i.hi + 1"] full ["i.hi - 255", "i.lo + 1"] lag 8.0 -> !sched.val<[i], f32> {
      %0 = sched.load %Q["i", "d"] : !gir.tensor<S, 64, f32> -> !sched.val<[i, d], f32>
      %1 = sched.load %K["n", "d"] : !gir.tensor<S, 64, f32> -> !sched.val<[n, d], f32>
      %2 = sched.reduce sum(%0, %1) over [d] : (!sched.val<[i, d], f32>, !sched.val<[n, d], f32>) -> !sched.val<[i, n], f32>
      %3 = sched.index "i - n" : !sched.val<[i, n], i64>
      %zero = sched.constant 0 : i64 : !sched.val<[], i64>
      %width = sched.constant 256 : i64 : !sched.val<[], i64>
      %4 = sched.map ge(%3, %zero) : (!sched.val<[i, n], i64>, !sched.val<[], i64>) -> !sched.val<[i, n], i1>
      %5 = sched.map lt(%3, %width) : (!sched.val<[i, n], i64>, !sched.val<[], i64>) -> !sched.val<[i, n], i1>
      %6 = sched.map bitwise_and(%4, %5) : (!sched.val<[i, n], i1>, !sched.val<[i, n], i1>) -> !sched.val<[i, n], i1>
      %u = sched.mask %6, %2 else 0xFF800000 : f32 : (!sched.val<[i, n], i1>, !sched.val<[i, n], f32>) -> !sched.val<[i, n], f32>
      %g = sched.gauge %u : !sched.val<[i, n], f32> -> !sched.val<[i], f32>
      sched.yield %g : !sched.val<[i], f32>
    }
    sched.store %s, %o["i"] : !sched.val<[i], f32>, !gir.tensor<S, f32>
  }
  return %r : !gir.tensor<S, f32>
}

// -----

// Only weights use the gauge: exponents are scaled before the scaled reference is subtracted. The scale is a power of two
// where the reference is far from zero.
// CHECK-LABEL: tile.kernel @scaled
// CHECK: scf.for {{.*}} iter_args(%[[BEFORE:[^ ]*]] = %{{[^,]*}}, %{{.*}} = %{{.*}})
// CHECK: %{{.*}}, %[[REF:.*]], %[[SCALE:.*]], %[[F:.*]] = tile.online_update %{{.*}} from %[[BEFORE]] scale 3.000000e-01 guarded prescaled adaptive : tensor<64xf32>
// CHECK: tile.map mul(%{{.*}}, %[[F]])
// CHECK: %[[REFS:.*]] = tile.broadcast %[[REF]] dims [0]
// CHECK: %[[SCALES:.*]] = tile.broadcast %[[SCALE]] dims [0]
// CHECK: tile.online_weigh %{{.*}}, %[[REFS]] by %[[SCALES]] : tensor<64x64xf32>
func.func @scaled(%x: !gir.tensor<S, T, f32>, %v: !gir.tensor<S, T, f32>) -> !gir.tensor<S, f32>
    attributes {gir.symbols = {S = {divisor = 64 : i64}, T = {divisor = 64 : i64}}} {
  %r = sched.kernel @scaled_k(%X = %x : !gir.tensor<S, T, f32>, %V = %v : !gir.tensor<S, T, f32>) -> (%o : !gir.tensor<S, f32>)
      dims [parallel i = S tile 64, stream n = T tile 64] order [i] {
    %s:2 = sched.stream over [n] live ["0", "T"] full ["0", "T"] lag 0.0 -> !sched.val<[i], f32>, !sched.val<[i], f32> {
      %u = sched.load %X["i", "n"] : !gir.tensor<S, T, f32> -> !sched.val<[i, n], f32>
      %g = sched.gauge %u scale 0.3 : !sched.val<[i, n], f32> -> !sched.val<[i], f32>
      %w = sched.weigh %u rel %g scale 0.3 : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i, n], f32>
      %l = sched.accumulate sum(%w) rel %g : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i], f32>
      %1 = sched.load %V["i", "n"] : !gir.tensor<S, T, f32> -> !sched.val<[i, n], f32>
      %2 = sched.map mul(%w, %1) : (!sched.val<[i, n], f32>, !sched.val<[i, n], f32>) -> !sched.val<[i, n], f32>
      %a = sched.accumulate sum(%2) rel %g : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i], f32>
      sched.yield %l, %a : !sched.val<[i], f32>, !sched.val<[i], f32>
    }
    %3 = sched.map div(%s#1, %s#0) : (!sched.val<[i], f32>, !sched.val<[i], f32>) -> !sched.val<[i], f32>
    sched.store %3, %o["i"] : !sched.val<[i], f32>, !gir.tensor<S, f32>
  }
  return %r : !gir.tensor<S, f32>
}

// -----

// Sums without a gauge over two stream dimensions; a count of the indices; the outer dimension is a plain loop.
// CHECK-LABEL: tile.kernel @sums
// CHECK: %[[R:.*]]:2 = scf.for %[[H:.*]] = %c0 to %H step %c1
// CHECK: scf.for %[[J:.*]] = %c0 to %floordiv_N_64 step %c1
// CHECK: %[[X:.*]] = tile.load %x[%[[H]], %[[J]]] dims [1] :
// CHECK: tile.reduce sum %[[X]] dims [0] : tensor<64xf32> -> tensor<f32>
// CHECK: tile.reduce sum
// CHECK: scf.for %[[J2:.*]] = %floordiv_N_64 to %ceildiv_N_64 step %c1
// CHECK: tile.load %x[%[[H]], %[[J2]]] dims [1] pad
// CHECK: tile.map where
// CHECK: tile.map add
// CHECK: tile.store %[[R]]#0, %out[] dims [] : tensor<f32>
func.func @sums(%x: !gir.tensor<H, N, f32> {gir.name = "x"}) -> (!gir.tensor<f32>, !gir.tensor<f32>) {
  %r:2 = sched.kernel @sums_k(%X = %x : !gir.tensor<H, N, f32>) -> (%o : !gir.tensor<f32>, %p : !gir.tensor<f32>)
      dims [stream h = H tile 1, stream n = N tile 64] order [] {
    %s:2 = sched.stream over [h, n] live ["0", "N"] full ["0", "N"] lag 0.0 -> !sched.val<[], f32>, !sched.val<[], f32> {
      %0 = sched.load %X["h", "n"] : !gir.tensor<H, N, f32> -> !sched.val<[h, n], f32>
      %1 = sched.accumulate sum(%0) : (!sched.val<[h, n], f32>) -> !sched.val<[], f32>
      %one = sched.constant 1.0 : f32 : !sched.val<[], f32>
      %2 = sched.accumulate sum(%one) : (!sched.val<[], f32>) -> !sched.val<[], f32>
      sched.yield %1, %2 : !sched.val<[], f32>, !sched.val<[], f32>
    }
    sched.store %s#0, %o[] : !sched.val<[], f32>, !gir.tensor<f32>
    sched.store %s#1, %p[] : !sched.val<[], f32>, !gir.tensor<f32>
  }
  return %r#0, %r#1 : !gir.tensor<f32>, !gir.tensor<f32>
}

// -----

// A stream of MMA of loads needs only zero padding at its edge, in one loop.
// CHECK-LABEL: tile.kernel @product
// CHECK: scf.for %{{.*}} = %c0 to %ceildiv_K_32 step %c1
// CHECK-NEXT: tile.load {{.*}} pad
// CHECK-NEXT: tile.load {{.*}} pad
// CHECK-NEXT: tile.mma
// CHECK-NEXT: scf.yield
// CHECK-NOT: scf.for
func.func @product(%x: !gir.tensor<M, K, f32>, %w: !gir.tensor<K, N, f32>) -> !gir.tensor<M, N, f32> {
  %r = sched.kernel @product_k(%X = %x : !gir.tensor<M, K, f32>, %W = %w : !gir.tensor<K, N, f32>)
      -> (%o : !gir.tensor<M, N, f32>)
      dims [parallel m = M tile 64, stream k = K tile 32, parallel n = N tile 128] order [n, m] {
    %s = sched.stream over [k] live ["0", "K"] full ["0", "K"] lag 0.0 -> !sched.val<[m, n], f32> {
      %0 = sched.load %X["m", "k"] : !gir.tensor<M, K, f32> -> !sched.val<[m, k], f32>
      %1 = sched.load %W["k", "n"] : !gir.tensor<K, N, f32> -> !sched.val<[k, n], f32>
      %2 = sched.accumulate sum(%0, %1) : (!sched.val<[m, k], f32>, !sched.val<[k, n], f32>) -> !sched.val<[m, n], f32>
      sched.yield %2 : !sched.val<[m, n], f32>
    }
    sched.store %s, %o["m", "n"] : !sched.val<[m, n], f32>, !gir.tensor<M, N, f32>
  }
  return %r : !gir.tensor<M, N, f32>
}

// -----

// The state of a smaller maximum is dropped, not scaled; past the edge is the lowest value, and nothing is
// accumulated. A nan maximum stays.
// CHECK-LABEL: tile.kernel @largest
// CHECK: scf.for
// CHECK: scf.for %{{.*}} iter_args(%[[G:.*]] = %{{.*}}, %[[S:.*]] = %{{.*}})
// CHECK: %[[M:.*]] = tile.reduce max
// CHECK: %[[GN:.*]] = tile.map maximum(%[[G]], %[[M]])
// CHECK: %[[SAME:.*]] = tile.map eq(%[[G]], %[[GN]])
// CHECK: %[[NAN:.*]] = tile.map isnan(%[[G]])
// CHECK: %[[STAYS:.*]] = tile.map bitwise_or(%[[SAME]], %[[NAN]])
// CHECK: %[[KEPT:.*]] = tile.map where(%[[STAYS]], %[[S]], %{{.*}})
// CHECK: %[[HIT:.*]] = tile.map eq(%{{.*}}, %{{.*}})
// CHECK: %[[V:.*]] = tile.map where(%[[HIT]], %{{.*}}, %{{.*}})
// CHECK: %[[INSIDE:.*]] = tile.map where(%{{.*}}, %[[V]], %{{.*}})
// CHECK: %[[SUM:.*]] = tile.reduce sum %[[INSIDE]]
// CHECK: %[[SN:.*]] = tile.map add(%[[KEPT]], %[[SUM]])
// CHECK: scf.yield %[[GN]], %[[SN]]
func.func @largest(%x: !gir.tensor<S, N, f32> {gir.name = "x"}, %y: !gir.tensor<S, N, f32> {gir.name = "y"}) -> !gir.tensor<S, f32>
    attributes {gir.symbols = {S = {divisor = 8 : i64}}} {
  %r = sched.kernel @largest_k(%X = %x : !gir.tensor<S, N, f32>, %Y = %y : !gir.tensor<S, N, f32>) -> (%o : !gir.tensor<S, f32>)
      dims [parallel i = S tile 8, stream n = N tile 128] order [i] {
    %zero = sched.constant 0.0 : f32 : !sched.val<[], f32>
    %s:2 = sched.stream over [n] live ["0", "N"] full ["0", "N"] lag 8.0 -> !sched.val<[i], f32>, !sched.val<[i], f32> {
      %0 = sched.load %X["i", "n"] : !gir.tensor<S, N, f32> -> !sched.val<[i, n], f32>
      %1 = sched.load %Y["i", "n"] : !gir.tensor<S, N, f32> -> !sched.val<[i, n], f32>
      %g = sched.gauge %0 indicator : !sched.val<[i, n], f32> -> !sched.val<[i], f32>
      %hit = sched.map eq(%0, %g) : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i, n], i1>
      %v = sched.map where(%hit, %1, %zero) : (!sched.val<[i, n], i1>, !sched.val<[i, n], f32>, !sched.val<[], f32>) -> !sched.val<[i, n], f32>
      %l = sched.accumulate sum(%v) rel %g : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i], f32>
      sched.yield %g, %l : !sched.val<[i], f32>, !sched.val<[i], f32>
    }
    sched.store %s#1, %o["i"] : !sched.val<[i], f32>, !gir.tensor<S, f32>
  }
  return %r : !gir.tensor<S, f32>
}

// -----

// The least position of a maximum needs no mask at the edge: if the lowest value there is the maximum, so are all elements before.
// 16-bit floats are padded before they are widened, and loaded once.
// CHECK-LABEL: tile.kernel @position
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[X:.*]] = tile.load %{{.*}} pad 0xFF80 : bf16
// CHECK: %[[WIDE:.*]] = tile.cast %[[X]]
// CHECK: tile.reduce max %[[WIDE]]
// CHECK-NOT: tile.load
// CHECK: %[[EQ:.*]] = tile.map eq(%[[WIDE]], %{{.*}})
// CHECK: %[[NAN:.*]] = tile.map isnan(%[[WIDE]])
// CHECK: %[[HIT:.*]] = tile.map bitwise_or(%[[EQ]], %[[NAN]])
// CHECK: %[[V:.*]] = tile.map where(%[[HIT]], %{{.*}}, %{{.*}})
// CHECK: tile.reduce min %[[V]]
func.func @position(%x: !gir.tensor<S, N, bf16> {gir.name = "x"}) -> !gir.tensor<S, i64>
    attributes {gir.symbols = {S = {divisor = 8 : i64}}} {
  %r = sched.kernel @position_k(%X = %x : !gir.tensor<S, N, bf16>) -> (%o : !gir.tensor<S, i64>)
      dims [parallel i = S tile 8, stream n = N tile 128] order [i] {
    %none = sched.index "9223372036854775807" : !sched.val<[], i64>
    %s:2 = sched.stream over [n] live ["0", "N"] full ["0", "N"] lag 0.0 -> !sched.val<[i], f32>, !sched.val<[i], i64> {
      %0 = sched.load %X["i", "n"] : !gir.tensor<S, N, bf16> -> !sched.val<[i, n], bf16>
      %1 = sched.cast %0 : !sched.val<[i, n], bf16> -> !sched.val<[i, n], f32>
      %g = sched.gauge %1 indicator : !sched.val<[i, n], f32> -> !sched.val<[i], f32>
      %eq = sched.map eq(%1, %g) : (!sched.val<[i, n], f32>, !sched.val<[i], f32>) -> !sched.val<[i, n], i1>
      %nan = sched.map isnan(%1) : (!sched.val<[i, n], f32>) -> !sched.val<[i, n], i1>
      %hit = sched.map bitwise_or(%eq, %nan) : (!sched.val<[i, n], i1>, !sched.val<[i, n], i1>) -> !sched.val<[i, n], i1>
      %p = sched.index "n" : !sched.val<[n], i64>
      %v = sched.map where(%hit, %p, %none) : (!sched.val<[i, n], i1>, !sched.val<[n], i64>, !sched.val<[], i64>) -> !sched.val<[i, n], i64>
      %l = sched.accumulate min(%v) rel %g : (!sched.val<[i, n], i64>, !sched.val<[i], f32>) -> !sched.val<[i], i64>
      sched.yield %g, %l : !sched.val<[i], f32>, !sched.val<[i], i64>
    }
    sched.store %s#1, %o["i"] : !sched.val<[i], i64>, !gir.tensor<S, i64>
  }
  return %r : !gir.tensor<S, i64>
}

// -----

// Blocks whose classes are all 1 are skipped. The compared scalar is a splat for 2048 blocks in the search,
// and one for a block in the loop over the visited blocks.
// CHECK-LABEL: tile.kernel @chosen
// CHECK: scf.for
// CHECK: %[[MANY:.*]] = tile.constant 3 : i64 : tensor<4096xi64>
// CHECK: tile.map remainder(%{{.*}}, %[[MANY]])
// CHECK: %[[ONE:.*]] = tile.constant 3 : i64 : tensor<2xi64>
// CHECK: scf.for
// CHECK: tile.map remainder(%{{.*}}, %[[ONE]])
func.func @chosen(%t: !gir.tensor<A, i64> {gir.name = "t"}) -> !gir.tensor<1, i64> {
  %r = sched.kernel @chosen_k(%T = %t : !gir.tensor<A, i64>) -> (%o : !gir.tensor<1, i64>)
      dims [stream a = A tile 2] order [] {
    %three = sched.constant 3 : i64 : <[], i64>
    %one = sched.constant 1 : i64 : <[], i64>
    %s = sched.stream over [a] live ["0", "A"] full ["0", "A"] lag 0.0 -> !sched.val<[], i64> {
      %0 = sched.load %T["a"] : !gir.tensor<A, i64> -> !sched.val<[a], i64>
      %1 = sched.map remainder(%0, %three) : (!sched.val<[a], i64>, !sched.val<[], i64>) -> !sched.val<[a], i64>
      %least = sched.bound min %1 over [a] : !sched.val<[a], i64> -> !sched.val<[], i64>
      %most = sched.bound max %1 over [a] : !sched.val<[a], i64> -> !sched.val<[], i64>
      %live = sched.map gt(%most, %one) : (!sched.val<[], i64>, !sched.val<[], i64>) -> !sched.val<[], i1>
      %full = sched.map gt(%least, %one) : (!sched.val<[], i64>, !sched.val<[], i64>) -> !sched.val<[], i1>
      sched.visit %live full %full as_range : !sched.val<[], i1>, !sched.val<[], i1>
      %keep = sched.map gt(%1, %one) : (!sched.val<[a], i64>, !sched.val<[], i64>) -> !sched.val<[a], i1>
      %kept = sched.mask %keep, %1 else 0 : i64 : (!sched.val<[a], i1>, !sched.val<[a], i64>) -> !sched.val<[a], i64>
      %sum = sched.accumulate sum(%kept) : (!sched.val<[a], i64>) -> !sched.val<[], i64>
      sched.yield %sum : !sched.val<[], i64>
    }
    sched.store %s, %o["0"] : !sched.val<[], i64>, !gir.tensor<1, i64>
  }
  return %r : !gir.tensor<1, i64>
}
