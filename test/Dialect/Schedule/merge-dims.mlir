// RUN: %tessera_opt %s --sched-merge-dims='target=x86-64-v4 cores=2' | FileCheck %s --check-prefix=CPU
// RUN: %tessera_opt %s --sched-merge-dims=target=sm_90:ptx | FileCheck %s --check-prefix=GPU
// RUN: not %tessera_opt %s --sched-merge-dims=target=z80 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: expected a CPU or a GPU with its backend as target, got 'z80'

// Rows of all batches are multiplied by one matrix.
// CPU-LABEL: func.func @rows
// CPU: dims [parallel i = "16*B" tile 1, stream d = D tile 1, parallel n = N tile 1] order [n, i]
// CPU: sched.load %in["D*i + d"] : <B, 16, D, f32> -> <[i, d], f32>
// CPU: sched.load %in_0["d", "n"]
// CPU: sched.store %{{.*}}, %out["N*i + n"] : <[i, n], f32>, <B, 16, N, f32>
// On a GPU, 16 rows would be a part of a tile.
// GPU-LABEL: func.func @rows
// GPU-NEXT: sched.kernel
// GPU-NEXT: dims [parallel i = "16*B" tile 1, stream d = D tile 1, parallel n = N tile 1]
func.func @rows(%x: !gir.tensor<B, 16, D, f32> {gir.contiguous}, %w: !gir.tensor<D, N, f32> {gir.contiguous}) -> !gir.tensor<B, 16, N, f32> {
  %0 = sched.kernel @rows_0(%in = %x : !gir.tensor<B, 16, D, f32>, %in_0 = %w : !gir.tensor<D, N, f32>) -> (%out : !gir.tensor<B, 16, N, f32>)
      dims [parallel b = B tile 1, parallel s = 16 tile 1, stream d = D tile 1, parallel n = N tile 1] order [n, s, b] {
    %1 = sched.stream over [d] live ["0", "D"] full ["0", "D"] lag 0.0 -> !sched.val<[b, s, n], f32> {
      %2 = sched.load %in["b", "s", "d"] : <B, 16, D, f32> -> <[b, s, d], f32>
      %3 = sched.load %in_0["d", "n"] : <D, N, f32> -> <[d, n], f32>
      %4 = sched.accumulate sum(%2, %3) : (!sched.val<[b, s, d], f32>, !sched.val<[d, n], f32>) -> !sched.val<[b, s, n], f32>
      sched.yield %4 : !sched.val<[b, s, n], f32>
    }
    sched.store %1, %out["b", "s", "n"] : <[b, s, n], f32>, <B, 16, N, f32>
  }
  return %0 : !gir.tensor<B, 16, N, f32>
}

// A bias of each batch is read without the row: they stay two dimensions. So do those of a tensor with gaps.
// CPU-LABEL: func.func @bias
// CPU: dims [parallel b = B tile 1, parallel s = 16 tile 1,
func.func @bias(%x: !gir.tensor<B, 16, D, f32> {gir.contiguous}, %w: !gir.tensor<D, N, f32> {gir.contiguous}, %c: !gir.tensor<B, f32> {gir.contiguous}) -> !gir.tensor<B, 16, N, f32> {
  %0 = sched.kernel @bias_0(%in = %x : !gir.tensor<B, 16, D, f32>, %in_0 = %w : !gir.tensor<D, N, f32>, %in_1 = %c : !gir.tensor<B, f32>) -> (%out : !gir.tensor<B, 16, N, f32>)
      dims [parallel b = B tile 1, parallel s = 16 tile 1, stream d = D tile 1, parallel n = N tile 1] order [n, s, b] {
    %1 = sched.stream over [d] live ["0", "D"] full ["0", "D"] lag 0.0 -> !sched.val<[b, s, n], f32> {
      %2 = sched.load %in["b", "s", "d"] : <B, 16, D, f32> -> <[b, s, d], f32>
      %3 = sched.load %in_0["d", "n"] : <D, N, f32> -> <[d, n], f32>
      %4 = sched.accumulate sum(%2, %3) : (!sched.val<[b, s, d], f32>, !sched.val<[d, n], f32>) -> !sched.val<[b, s, n], f32>
      sched.yield %4 : !sched.val<[b, s, n], f32>
    }
    %5 = sched.load %in_1["b"] : <B, f32> -> <[b], f32>
    %6 = sched.map add(%1, %5) : (!sched.val<[b, s, n], f32>, !sched.val<[b], f32>) -> !sched.val<[b, s, n], f32>
    sched.store %6, %out["b", "s", "n"] : <[b, s, n], f32>, <B, 16, N, f32>
  }
  return %0 : !gir.tensor<B, 16, N, f32>
}
// CPU-LABEL: func.func @gaps
// CPU: dims [parallel b = B tile 1, parallel s = 16 tile 1,
func.func @gaps(%x: !gir.tensor<B, 16, D, f32>, %w: !gir.tensor<D, N, f32> {gir.contiguous}) -> !gir.tensor<B, 16, N, f32> {
  %0 = sched.kernel @gaps_0(%in = %x : !gir.tensor<B, 16, D, f32>, %in_0 = %w : !gir.tensor<D, N, f32>) -> (%out : !gir.tensor<B, 16, N, f32>)
      dims [parallel b = B tile 1, parallel s = 16 tile 1, stream d = D tile 1, parallel n = N tile 1] order [n, s, b] {
    %1 = sched.stream over [d] live ["0", "D"] full ["0", "D"] lag 0.0 -> !sched.val<[b, s, n], f32> {
      %2 = sched.load %in["b", "s", "d"] : <B, 16, D, f32> -> <[b, s, d], f32>
      %3 = sched.load %in_0["d", "n"] : <D, N, f32> -> <[d, n], f32>
      %4 = sched.accumulate sum(%2, %3) : (!sched.val<[b, s, d], f32>, !sched.val<[d, n], f32>) -> !sched.val<[b, s, n], f32>
      sched.yield %4 : !sched.val<[b, s, n], f32>
    }
    sched.store %1, %out["b", "s", "n"] : <[b, s, n], f32>, <B, 16, N, f32>
  }
  return %0 : !gir.tensor<B, 16, N, f32>
}

// Dimensions that are reduced together become one stream.
// GPU-LABEL: func.func @sum
// GPU: dims [parallel i = 64 tile 1, stream i1 = "M*N" tile 1] order [i]
// GPU: sched.stream over [i1] live ["0", "M*N"] full ["0", "M*N"]
// GPU: sched.load %in["M*N*i + i1"] : <64, M, N, f32> -> <[i, i1], f32>
// CPU-LABEL: func.func @sum
// CPU: dims [parallel i = 64 tile 1, stream i1 = "M*N" tile 1] order [i]
func.func @sum(%x: !gir.tensor<64, M, N, f32> {gir.contiguous}) -> !gir.tensor<64, f32> {
  %0 = sched.kernel @sum_0(%in = %x : !gir.tensor<64, M, N, f32>) -> (%out : !gir.tensor<64, f32>)
      dims [parallel i = 64 tile 1, stream m = M tile 1, stream n = N tile 1] order [i] {
    %1 = sched.stream over [m, n] live ["0", "N"] full ["0", "N"] lag 0.0 -> !sched.val<[i], f32> {
      %2 = sched.load %in["i", "m", "n"] : <64, M, N, f32> -> <[i, m, n], f32>
      %3 = sched.accumulate sum(%2) : (!sched.val<[i, m, n], f32>) -> !sched.val<[i], f32>
      sched.yield %3 : !sched.val<[i], f32>
    }
    sched.store %1, %out["i"] : <[i], f32>, <64, f32>
  }
  return %0 : !gir.tensor<64, f32>
}

// An index along one of them keeps them apart, and so does another order in memory.
// GPU-LABEL: func.func @weighted
// GPU: dims [stream m = M tile 1, stream n = N tile 1]
func.func @weighted(%x: !gir.tensor<M, N, i64> {gir.contiguous}) -> !gir.tensor<i64> {
  %0 = sched.kernel @weighted_0(%in = %x : !gir.tensor<M, N, i64>) -> (%out : !gir.tensor<i64>)
      dims [stream m = M tile 1, stream n = N tile 1] order [] {
    %1 = sched.stream over [m, n] live ["0", "N"] full ["0", "N"] lag 0.0 -> !sched.val<[], i64> {
      %2 = sched.load %in["m", "n"] : <M, N, i64> -> <[m, n], i64>
      %3 = sched.index "n" : !sched.val<[n], i64>
      %4 = sched.map mul(%2, %3) : (!sched.val<[m, n], i64>, !sched.val<[n], i64>) -> !sched.val<[m, n], i64>
      %5 = sched.accumulate sum(%4) : (!sched.val<[m, n], i64>) -> !sched.val<[], i64>
      sched.yield %5 : !sched.val<[], i64>
    }
    sched.store %1, %out[] : <[], i64>, <i64>
  }
  return %0 : !gir.tensor<i64>
}
// GPU-LABEL: func.func @transposed
// GPU: dims [stream m = M tile 1, stream n = N tile 1]
func.func @transposed(%x: !gir.tensor<N, M, f32> {gir.contiguous}) -> !gir.tensor<f32> {
  %0 = sched.kernel @transposed_0(%in = %x : !gir.tensor<N, M, f32>) -> (%out : !gir.tensor<f32>)
      dims [stream m = M tile 1, stream n = N tile 1] order [] {
    %1 = sched.stream over [m, n] live ["0", "N"] full ["0", "N"] lag 0.0 -> !sched.val<[], f32> {
      %2 = sched.load %in["n", "m"] : <N, M, f32> -> <[m, n], f32>
      %3 = sched.accumulate sum(%2) : (!sched.val<[m, n], f32>) -> !sched.val<[], f32>
      sched.yield %3 : !sched.val<[], f32>
    }
    sched.store %1, %out[] : <[], f32>, <f32>
  }
  return %0 : !gir.tensor<f32>
}

// What is computed element by element has one dimension where all tensors are dense: the last two of these.
// CPU-LABEL: func.func @elements
// CPU: dims [parallel a = A tile 1, parallel i = "B*C" tile 1] order [i, a]
// CPU: sched.load %in["B*C*a + i"] : <A, B, C, f32> -> <[a, i], f32>
// CPU: sched.load %in_0["i"] : <B, C, f32> -> <[i], f32>
// CPU: sched.store %{{.*}}, %out["B*C*a + i"]
// GPU-LABEL: func.func @elements
// GPU: dims [parallel a = A tile 1, parallel i = "B*C" tile 1] order [i, a]
func.func @elements(%x: !gir.tensor<A, B, C, f32> {gir.contiguous}, %y: !gir.tensor<B, C, f32> {gir.contiguous}) -> !gir.tensor<A, B, C, f32> {
  %0 = sched.kernel @elements_0(%in = %x : !gir.tensor<A, B, C, f32>, %in_0 = %y : !gir.tensor<B, C, f32>) -> (%out : !gir.tensor<A, B, C, f32>)
      dims [parallel a = A tile 1, parallel b = B tile 1, parallel c = C tile 1] order [c, b, a] {
    %1 = sched.load %in["a", "b", "c"] : <A, B, C, f32> -> <[a, b, c], f32>
    %2 = sched.load %in_0["b", "c"] : <B, C, f32> -> <[b, c], f32>
    %3 = sched.map add(%1, %2) : (!sched.val<[a, b, c], f32>, !sched.val<[b, c], f32>) -> !sched.val<[a, b, c], f32>
    sched.store %3, %out["a", "b", "c"] : <[a, b, c], f32>, <A, B, C, f32>
  }
  return %0 : !gir.tensor<A, B, C, f32>
}

// A result that is written into a tensor with gaps keeps its dimensions.
// CPU-LABEL: func.func @written
// CPU: dims [parallel a = A tile 1, parallel b = B tile 1]
func.func @written(%x: !gir.tensor<A, B, f32> {gir.contiguous}, %y: !gir.tensor<A, B, f32>) -> !gir.tensor<A, B, f32> {
  %0 = sched.kernel @written_0(%in = %x : !gir.tensor<A, B, f32>, %in_0 = %y : !gir.tensor<A, B, f32>) -> (%out : !gir.tensor<A, B, f32>)
      dims [parallel a = A tile 1, parallel b = B tile 1] order [b, a] attributes {into = array<i64: 1>} {
    %1 = sched.load %in["a", "b"] : <A, B, f32> -> <[a, b], f32>
    sched.store %1, %out["a", "b"] : <[a, b], f32>, <A, B, f32>
  }
  return %0 : !gir.tensor<A, B, f32>
}

// Columns that are adjacent in memory are one dimension; on a GPU, a tile is as wide as that.
// GPU-LABEL: func.func @columns
// GPU: dims [stream k = K tile 1, parallel i = "21*A" tile 1]
// GPU: sched.load %in["21*A*k + i"]
func.func @columns(%x: !gir.tensor<K, A, 21, f32> {gir.contiguous}) -> !gir.tensor<A, 21, f32> {
  %0 = sched.kernel @columns_0(%in = %x : !gir.tensor<K, A, 21, f32>) -> (%out : !gir.tensor<A, 21, f32>)
      dims [stream k = K tile 1, parallel a = A tile 1, parallel b = 21 tile 1] order [b, a] {
    %1 = sched.stream over [k] live ["0", "K"] full ["0", "K"] lag 0.0 -> !sched.val<[a, b], f32> {
      %2 = sched.load %in["k", "a", "b"] : <K, A, 21, f32> -> <[k, a, b], f32>
      %3 = sched.accumulate sum(%2) : (!sched.val<[k, a, b], f32>) -> !sched.val<[a, b], f32>
      sched.yield %3 : !sched.val<[a, b], f32>
    }
    sched.store %1, %out["a", "b"] : <[a, b], f32>, <A, 21, f32>
  }
  return %0 : !gir.tensor<A, 21, f32>
}

// A tile of a GPU has several short rows: those of all batches are one dimension. Long ones stay.
// GPU-LABEL: func.func @short_rows
// GPU: dims [parallel i = "9*A" tile 1, stream k = 7 tile 1]
// GPU: sched.load %in["7*i + k"] : <A, 9, 7, f32> -> <[i, k], f32>
// GPU: sched.store %{{.*}}, %out["i"] : <[i], f32>, <A, 9, f32>
// CPU-LABEL: func.func @short_rows
// CPU: dims [parallel a = A tile 1, parallel b = 9 tile 1,
func.func @short_rows(%x: !gir.tensor<A, 9, 7, f32> {gir.contiguous}) -> !gir.tensor<A, 9, f32> {
  %0 = sched.kernel @short_rows_0(%in = %x : !gir.tensor<A, 9, 7, f32>) -> (%out : !gir.tensor<A, 9, f32>)
      dims [parallel a = A tile 1, parallel b = 9 tile 1, stream k = 7 tile 1] order [b, a] {
    %1 = sched.stream over [k] live ["0", "7"] full ["0", "7"] lag 0.0 -> !sched.val<[a, b], f32> {
      %2 = sched.load %in["a", "b", "k"] : <A, 9, 7, f32> -> <[a, b, k], f32>
      %3 = sched.accumulate sum(%2) : (!sched.val<[a, b, k], f32>) -> !sched.val<[a, b], f32>
      sched.yield %3 : !sched.val<[a, b], f32>
    }
    sched.store %1, %out["a", "b"] : <[a, b], f32>, <A, 9, f32>
  }
  return %0 : !gir.tensor<A, 9, f32>
}
// GPU-LABEL: func.func @long_rows
// GPU: dims [parallel a = A tile 1, parallel b = 9 tile 1, stream k = 1025 tile 1]
func.func @long_rows(%x: !gir.tensor<A, 9, 1025, f32> {gir.contiguous}) -> !gir.tensor<A, 9, f32> {
  %0 = sched.kernel @long_rows_0(%in = %x : !gir.tensor<A, 9, 1025, f32>) -> (%out : !gir.tensor<A, 9, f32>)
      dims [parallel a = A tile 1, parallel b = 9 tile 1, stream k = 1025 tile 1] order [b, a] {
    %1 = sched.stream over [k] live ["0", "1025"] full ["0", "1025"] lag 0.0 -> !sched.val<[a, b], f32> {
      %2 = sched.load %in["a", "b", "k"] : <A, 9, 1025, f32> -> <[a, b, k], f32>
      %3 = sched.accumulate sum(%2) : (!sched.val<[a, b, k], f32>) -> !sched.val<[a, b], f32>
      sched.yield %3 : !sched.val<[a, b], f32>
    }
    sched.store %1, %out["a", "b"] : <[a, b], f32>, <A, 9, f32>
  }
  return %0 : !gir.tensor<A, 9, f32>
}

// A scan ends with its row, so that other dimensions can be merged; those beside it cannot where an
// operand has one of them.
// GPU-LABEL: func.func @scans
// GPU: dims [parallel i = "9*A" tile 1, stream k = 21 tile 1]
// GPU: sched.scan sum(%{{.*}}) : <[i, k], f32> -> <[i, k], f32>
// GPU: sched.store %{{.*}}, %out["21*i + k"]
func.func @scans(%x: !gir.tensor<A, 9, 21, f32> {gir.contiguous}) -> !gir.tensor<A, 9, 21, f32> {
  %0 = sched.kernel @scans_0(%in = %x : !gir.tensor<A, 9, 21, f32>) -> (%out : !gir.tensor<A, 9, 21, f32>)
      dims [parallel a = A tile 1, parallel b = 9 tile 1, stream k = 21 tile 1] order [b, a] {
    sched.stream over [k] live ["0", "21"] full ["0", "21"] lag 0.0 {
      %1 = sched.load %in["a", "b", "k"] : <A, 9, 21, f32> -> <[a, b, k], f32>
      %2 = sched.scan sum(%1) : <[a, b, k], f32> -> <[a, b, k], f32>
      sched.store %2, %out["a", "b", "k"] : <[a, b, k], f32>, <A, 9, 21, f32>
    }
  }
  return %0 : !gir.tensor<A, 9, 21, f32>
}
// GPU-LABEL: func.func @scans_beside
// GPU: dims [parallel a = A tile 1, parallel b = 9 tile 1, stream k = 21 tile 1]
func.func @scans_beside(%x: !gir.tensor<A, 9, 21, f32> {gir.contiguous}, %y: !gir.tensor<9, f32> {gir.contiguous}) -> !gir.tensor<A, 9, 21, f32> {
  %0 = sched.kernel @scans_beside_0(%in = %x : !gir.tensor<A, 9, 21, f32>, %in_0 = %y : !gir.tensor<9, f32>) -> (%out : !gir.tensor<A, 9, 21, f32>)
      dims [parallel a = A tile 1, parallel b = 9 tile 1, stream k = 21 tile 1] order [b, a] {
    sched.stream over [k] live ["0", "21"] full ["0", "21"] lag 0.0 {
      %1 = sched.load %in["a", "b", "k"] : <A, 9, 21, f32> -> <[a, b, k], f32>
      %2 = sched.load %in_0["b"] : <9, f32> -> <[b], f32>
      %3 = sched.map mul(%1, %2) : (!sched.val<[a, b, k], f32>, !sched.val<[b], f32>) -> !sched.val<[a, b, k], f32>
      %4 = sched.scan sum(%3) : <[a, b, k], f32> -> <[a, b, k], f32>
      sched.store %4, %out["a", "b", "k"] : <[a, b, k], f32>, <A, 9, 21, f32>
    }
  }
  return %0 : !gir.tensor<A, 9, 21, f32>
}
