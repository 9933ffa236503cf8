// RUN: %tessera_opt %s -tile-narrow-index-types -o /dev/null --remarks-filter-missed="tile-narrow-index-types" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

// CHECK: [Missed] WideIndices{{.*}}Function=positions
// CHECK-SAME: index arithmetic stays in 64 bits: a tensor has 4294967296 elements, which may exceed 2^31
tile.kernel @positions(%y: !tile.view<16xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.iota %c0 : tensor<16xi64>
  %f = tile.cast %i : tensor<16xi64> -> tensor<16xf32>
  tile.store %f, %y[%c0] dims [0] : tensor<16xf32>, <16xf32, strides = [1]>
  tile.return
}

func.func @f(%x: !gir.tensor<65536, 65536, f32>) {
  tile.launch @positions grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["16"], strides ["1"]>] sizes [] : !gir.tensor<65536, 65536, f32>
  return
}
