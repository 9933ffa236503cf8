// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-fast-math -o /dev/null --remarks-filter-missed="tile-fast-math" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!v = !tile.view<64xf32, strides = [1]>

// CHECK: [Missed] ExactMath{{.*}}Function=wide
// CHECK-SAME: tanh is not approximated: the values of the function are not all of type bf16 or f16, or its numerics are strict
tile.kernel @wide(%x: !v) grid 1 {
  %0 = tile.constant 0.5 : f32 : tensor<64xf32>
  %1 = tile.map tanh(%0) : (tensor<64xf32>) -> tensor<64xf32>
  tile.return
}

func.func @f(%x: !gir.tensor<64, f32>) attributes {gir.value_type = f32} {
  tile.launch @wide grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}

// CHECK: [Missed] ExactMath{{.*}}Function=exact
// CHECK-SAME: sigmoid is not approximated: the numerics policy has fast_math =
tile.kernel @exact(%x: !v) grid 1 {
  %0 = tile.constant 0.5 : f32 : tensor<64xf32>
  %1 = tile.map sigmoid(%0) : (tensor<64xf32>) -> tensor<64xf32>
  tile.return
}

func.func @g(%x: !gir.tensor<64, f32>) attributes {gir.numerics = {fast_math = "false"}, gir.value_type = bf16} {
  tile.launch @exact grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}
