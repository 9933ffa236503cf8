// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90a -tile-round-mma-operands | FileCheck %s
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_75 -tile-round-mma-operands | FileCheck %s --check-prefix=TURING

// Tensor cores of sm_75 do not multiply bf16.
// TURING-LABEL: tile.kernel @rounded
// TURING: tile.mma %{{.*}} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>)

// CHECK-LABEL: tile.kernel @rounded
// CHECK:         %[[P:.*]] = tile.cast %{{.*}} : tensor<16x16xf32> -> tensor<16x16xbf16>
// CHECK:         tile.mma %[[P]], %{{.*}} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>)
func.func @f(%x: !gir.tensor<16, 16, bf16>) -> !gir.tensor<16, 16, f32> attributes {gir.product_type = bf16} {
  %y = tile.empty : <16, 16, f32>
  tile.launch @rounded grid ["1"](%x, %y) views [#tile.operand<offset "0", sizes ["16", "16"], strides ["16", "1"]>, #tile.operand<offset "0", sizes ["16", "16"], strides ["16", "1"]>] sizes [] : !gir.tensor<16, 16, bf16>, !gir.tensor<16, 16, f32>
  return %y : !gir.tensor<16, 16, f32>
}
tile.kernel @rounded(%x: !tile.view<16x16xbf16, strides = [16, 1]>, %y: !tile.view<16x16xf32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : <16x16xbf16, strides = [16, 1]> -> tensor<16x16xbf16>
  %w = tile.cast %v : tensor<16x16xbf16> -> tensor<16x16xf32>
  %p = tile.map exp2(%w) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %d = tile.mma %p, %w, %zero : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, <16x16xf32, strides = [16, 1]>
  tile.return
}

// No function states that the program rounds here.
// CHECK-LABEL: tile.kernel @wide
// CHECK-NOT:     bf16
tile.kernel @wide(%y: !tile.view<16x16xf32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %v = tile.load %y[%c0, %c0] dims [0, 1] : <16x16xf32, strides = [16, 1]> -> tensor<16x16xf32>
  %d = tile.mma %v, %v, %zero : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, <16x16xf32, strides = [16, 1]>
  tile.return
}

// The user's policy for f32 contractions.
// CHECK-LABEL: tile.kernel @policy
// CHECK:         %[[T:.*]] = tile.cast %{{.*}} : tensor<16x16xf32> -> tensor<16x16xtf32>
// CHECK:         tile.mma %[[T]], %{{.*}} : (tensor<16x16xtf32>, tensor<16x16xtf32>, tensor<16x16xf32>)
func.func @g(%x: !gir.tensor<16, 16, f32>) -> !gir.tensor<16, 16, f32> attributes {gir.numerics = {matmul = "tf32"}} {
  %y = tile.empty : <16, 16, f32>
  tile.launch @policy grid ["1"](%x, %y) views [#tile.operand<offset "0", sizes ["16", "16"], strides ["16", "1"]>, #tile.operand<offset "0", sizes ["16", "16"], strides ["16", "1"]>] sizes [] : !gir.tensor<16, 16, f32>, !gir.tensor<16, 16, f32>
  return %y : !gir.tensor<16, 16, f32>
}
tile.kernel @policy(%x: !tile.view<16x16xf32, strides = [16, 1]>, %y: !tile.view<16x16xf32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : <16x16xf32, strides = [16, 1]> -> tensor<16x16xf32>
  %d = tile.mma %v, %v, %zero : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, <16x16xf32, strides = [16, 1]>
  tile.return
}

// Integers that were widened from bytes are multiplied as bytes.
// CHECK-LABEL: tile.kernel @bytes
// CHECK:         tile.mma %{{.*}} : (tensor<16x32xi8>, tensor<32x16xi8>, tensor<16x16xi32>)
tile.kernel @bytes(%a: !tile.view<16x32xi8, strides = [32, 1]>, %b: !tile.view<32x16xi8, strides = [16, 1]>, %y: !tile.view<16x16xi32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0 : i32 : tensor<16x16xi32>
  %v = tile.load %a[%c0, %c0] dims [0, 1] : <16x32xi8, strides = [32, 1]> -> tensor<16x32xi8>
  %w = tile.load %b[%c0, %c0] dims [0, 1] : <32x16xi8, strides = [16, 1]> -> tensor<32x16xi8>
  %p = tile.cast %v : tensor<16x32xi8> -> tensor<16x32xi32>
  %q = tile.cast %w : tensor<32x16xi8> -> tensor<32x16xi32>
  %d = tile.mma %p, %q, %zero : (tensor<16x32xi32>, tensor<32x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi32>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<16x16xi32>, <16x16xi32, strides = [16, 1]>
  tile.return
}
