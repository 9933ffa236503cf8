// RUN: %tessera_opt %s -tile-relax-math | FileCheck %s
// RUN: %tessera_opt %s -tile-relax-math -tile-expand-math=native=exp2,tanh | FileCheck %s --check-prefix=EXPAND

// CHECK-LABEL: tile.kernel @narrow
// CHECK: tile.map tanh(%{{.*}}) fast : (tensor<64xf32>) -> tensor<64xf32>
// CHECK: tile.map gelu_erf(%{{.*}}) fast : (tensor<64xf32>) -> tensor<64xf32>
// EXPAND-LABEL: tile.kernel @narrow
// EXPAND: tile.map tanh(%{{.*}}) fast
// EXPAND: tile.map exp2(%{{.*}}) fast
tile.kernel @narrow(%x: !tile.view<64xf32, strides = [1]>) grid 1 {
  %0 = tile.constant 0.5 : f32 : tensor<64xf32>
  %1 = tile.map tanh(%0) : (tensor<64xf32>) -> tensor<64xf32>
  %2 = tile.map gelu_erf(%1) : (tensor<64xf32>) -> tensor<64xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @wide
// CHECK: tile.map tanh(%{{.*}}) : (tensor<64xf32>) -> tensor<64xf32>
tile.kernel @wide(%x: !tile.view<64xf32, strides = [1]>) grid 1 {
  %0 = tile.constant 0.5 : f32 : tensor<64xf32>
  %1 = tile.map tanh(%0) : (tensor<64xf32>) -> tensor<64xf32>
  tile.return
}

func.func @f(%x: !gir.tensor<64, f32>) attributes {gir.value_type = bf16} {
  tile.launch @narrow grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}

func.func @g(%x: !gir.tensor<64, f32>) {
  tile.launch @wide grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}

// The policy decides for any type.
// CHECK-LABEL: tile.kernel @quick
// CHECK: tile.map tanh(%{{.*}}) fast
tile.kernel @quick(%x: !tile.view<64xf32, strides = [1]>) grid 1 {
  %0 = tile.constant 0.5 : f32 : tensor<64xf32>
  %1 = tile.map tanh(%0) : (tensor<64xf32>) -> tensor<64xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @exact
// CHECK: tile.map tanh(%{{.*}}) : (tensor<64xf32>) -> tensor<64xf32>
tile.kernel @exact(%x: !tile.view<64xf32, strides = [1]>) grid 1 {
  %0 = tile.constant 0.5 : f32 : tensor<64xf32>
  %1 = tile.map tanh(%0) : (tensor<64xf32>) -> tensor<64xf32>
  tile.return
}

func.func @h(%x: !gir.tensor<64, f32>) attributes {gir.numerics = {fast_math = "true"}} {
  tile.launch @quick grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}

func.func @i(%x: !gir.tensor<64, f32>) attributes {gir.numerics = {fast_math = "false"}, gir.value_type = bf16} {
  tile.launch @exact grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}
