// RUN: %tessera_opt %s -convert-sched-to-tile -split-input-file -verify-diagnostics

func.func @strided(%x: !gir.tensor<A, B, f32>) -> !gir.tensor<"A*B", f32> {
  %r = sched.kernel @k(%X = %x : !gir.tensor<A, B, f32>) -> (%o : !gir.tensor<"A*B", f32>)
      dims [parallel i = "A*B" tile 8] order [i] {
    // expected-error @+1 {{expected an address that is affine in the dimensions, got $0*floordiv(i, B) - $1*B*floordiv(i, B) + $1*i}}
    %0 = sched.load %X["floordiv(i, B)", "mod(i, B)"] : !gir.tensor<A, B, f32> -> !sched.val<[i], f32>
    sched.store %0, %o["i"] : !sched.val<[i], f32>, !gir.tensor<"A*B", f32>
  }
  return %r : !gir.tensor<"A*B", f32>
}

// -----

func.func @state(%x: !gir.tensor<N, D, f32>) -> !gir.tensor<D, f32> {
  %r = sched.kernel @k(%X = %x : !gir.tensor<N, D, f32>) -> (%o : !gir.tensor<D, f32>)
      dims [stream n = N tile 8, inner d = D tile 64] order [] {
    %s = sched.stream over [n] live ["0", "N"] full ["0", "N"] lag 0.0 -> !sched.val<[d], f32> {
      %0 = sched.load %X["n", "d"] : !gir.tensor<N, D, f32> -> !sched.val<[n, d], f32>
      // expected-error @+1 {{expected the tile of inner dimension 'd' to cover its size D, got 64}}
      %1 = sched.accumulate sum(%0) : (!sched.val<[n, d], f32>) -> !sched.val<[d], f32>
      sched.yield %1 : !sched.val<[d], f32>
    }
    sched.store %s, %o["d"] : !sched.val<[d], f32>, !gir.tensor<D, f32>
  }
  return %r : !gir.tensor<D, f32>
}

// -----

func.func @element_number(%x: !gir.tensor<A, B, f32>) -> !gir.tensor<"A*B", f32> {
  %r = sched.kernel @k(%X = %x : !gir.tensor<A, B, f32>) -> (%o : !gir.tensor<"A*B", f32>)
      dims [parallel i = "A*B" tile 8] order [i] {
    // expected-error @+1 {{expected a contiguous tensor for a row-major element number}}
    %0 = sched.load %X["i"] : !gir.tensor<A, B, f32> -> !sched.val<[i], f32>
    sched.store %0, %o["i"] : !sched.val<[i], f32>, !gir.tensor<"A*B", f32>
  }
  return %r : !gir.tensor<"A*B", f32>
}

// -----

func.func @two_dimensions_with_pieces(%x: !gir.tensor<M, N, f32>) -> !gir.tensor<M, N, f32> {
  // expected-error @+1 {{expected a power of two as tile of dimension 'n', got 192}}
  %r = sched.kernel @k(%X = %x : !gir.tensor<M, N, f32>) -> (%o : !gir.tensor<M, N, f32>)
      dims [parallel m = M tile 192, parallel n = N tile 192] order [n, m] tuning <wgmma = 1> {
    %0 = sched.load %X["m", "n"] : !gir.tensor<M, N, f32> -> !sched.val<[m, n], f32>
    sched.store %0, %o["m", "n"] : !sched.val<[m, n], f32>, !gir.tensor<M, N, f32>
  }
  return %r : !gir.tensor<M, N, f32>
}
