// RUN: %tessera_opt %s -convert-tile-to-cpu -split-input-file -verify-diagnostics

tile.kernel @k(%x: !tile.view<16xf32, strides = [1]>) grid 1 {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] : !tile.view<16xf32, strides = [1]> -> tensor<16xf32>
  // expected-error @below {{is not a primitive; tile-expand-math must run first}}
  %e = tile.map tanh(%t) : (tensor<16xf32>) -> tensor<16xf32>
  tile.store %e, %x[%i] dims [0] : tensor<16xf32>, !tile.view<16xf32, strides = [1]>
  tile.return
}

// -----

func.func @f(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
  // expected-error @below {{expected each result to be a tensor of its own}}
  return %x : !gir.tensor<S, f32>
}

// -----

!v = !tile.view<16x16xf32, strides = [16, 1]>
tile.kernel @k(%x: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !v -> tensor<16x16xf32>
  %z = tile.constant 0.0 : f32 : tensor<2x16x16xf32>
  // expected-error @below {{expected one partial accumulator for a CPU, got 2}}
  %m = tile.mma %t, %t, %z : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %s = tile.reduce sum %m dims [0] : tensor<2x16x16xf32> -> tensor<16x16xf32>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, !v
  tile.return
}
