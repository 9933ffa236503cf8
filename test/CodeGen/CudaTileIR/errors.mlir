// RUN: %tessera_opt %s -print-cuda-tile -split-input-file -verify-diagnostics -o /dev/null

tile.kernel @k(%x: !tile.view<16xf32, strides = [1]>) grid 1 {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] : !tile.view<16xf32, strides = [1]> -> tensor<16xf32>
  // expected-error @below {{expected a primitive operation; tile-expand-math must run first}}
  %e = tile.map erf(%t) : (tensor<16xf32>) -> tensor<16xf32>
  tile.store %e, %x[%i] dims [0] : tensor<16xf32>, !tile.view<16xf32, strides = [1]>
  tile.return
}

// -----

tile.kernel @k(%x: !tile.view<48xf32, strides = [1]>) grid 1 {
  %i = tile.program_id 0
  // expected-error @below {{expected tile sizes that are powers of two for CUDA Tile IR, got 'tensor<48xf32>'}}
  %t = tile.load %x[%i] dims [0] : !tile.view<48xf32, strides = [1]> -> tensor<48xf32>
  tile.store %t, %x[%i] dims [0] : tensor<48xf32>, !tile.view<48xf32, strides = [1]>
  tile.return
}

// -----

!v = !tile.view<16x16xi32, strides = [16, 1]>
tile.kernel @k(%x: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !v -> tensor<16x16xi32>
  // expected-error @below {{expected operands of a floating-point or 8-bit integer type, got 'i32'}}
  %m = tile.mma %t, %t, %t : (tensor<16x16xi32>, tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi32>
  tile.store %m, %x[%c0, %c0] dims [0, 1] : tensor<16x16xi32>, !v
  tile.return
}

// -----

!v = !tile.view<16x16xf32, strides = [16, 1]>
tile.kernel @k(%x: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !v -> tensor<16x16xf32>
  %z = tile.constant 0.0 : f32 : tensor<2x16x16xf32>
  // expected-error @below {{expected one partial accumulator for CUDA Tile IR, got 2}}
  %m = tile.mma %t, %t, %z : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %s = tile.reduce sum %m dims [0] : tensor<2x16x16xf32> -> tensor<16x16xf32>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, !v
  tile.return
}
