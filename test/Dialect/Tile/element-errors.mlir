// RUN: %tessera_opt %s -split-input-file -verify-diagnostics

func.func @elementOfFloats(%x: tensor<4xf32>, %i: index) {
  // expected-error @+1 {{expected a tile of rank 1 of integers, got 'tensor<4xf32>'}}
  %0 = tile.element %x[%i] : tensor<4xf32>
  return
}

// -----

#inRegisters = #tile.layout<"register[d0:1, d0:2] lane[d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
func.func @elementElsewhere(%x: tensor<128xi32, #inRegisters>, %i: index) {
  // expected-error @+1 {{expected a tile that is dealt to the lanes of each warp}}
  %0 = tile.element %x[%i] : tensor<128xi32, #inRegisters>
  return
}
