// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-fast-math -tile-expand-math -canonicalize | FileCheck %s

// A difference with something that is broadcast is one fma, and a quotient by it is a product: what is broadcast is
// scaled and inverted before.
// CHECK-LABEL: tile.kernel @rows
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[M:.*]] = tile.load
// CHECK: %[[SCALED:.*]] = tile.map mul(%[[M]], %{{.*}}) : (tensor<64xf32>
// CHECK: %[[SHIFT:.*]] = tile.broadcast %[[SCALED]]
// CHECK: %[[T:.*]] = tile.map fma(%[[X]], %{{.*}}, %[[SHIFT]])
// CHECK: %[[P:.*]] = tile.map exp2(%[[T]]) fast
// CHECK: %[[SHARE:.*]] = tile.map reciprocal(%[[M]]) fast : (tensor<64xf32>)
// CHECK: %[[FACTOR:.*]] = tile.broadcast %[[SHARE]]
// CHECK: tile.map mul(%[[P]], %[[FACTOR]])
tile.kernel @rows(%x: !tile.view<64x64xf32, strides = [64, 1]>, %m: !tile.view<64xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %scale = tile.constant 0.125 : f32 : tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<64x64xf32, strides = [64, 1]> -> tensor<64x64xf32>
  %b = tile.load %m[%c0] dims [0] : !tile.view<64xf32, strides = [1]> -> tensor<64xf32>
  %0 = tile.map mul(%a, %scale) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = tile.broadcast %b dims [0] : tensor<64xf32> -> tensor<64x64xf32>
  %2 = tile.map sub(%0, %1) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = tile.map exp(%2) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = tile.map div(%3, %1) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  tile.store %4, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<64x64xf32, strides = [64, 1]>
  tile.return
}

func.func @r(%x: !gir.tensor<64, 64, f32>, %m: !gir.tensor<64, f32>) attributes {gir.value_type = bf16} {
  tile.launch @rows grid ["1"] (%x, %m) views [#tile.operand<offset "0", sizes ["64", "64"], strides ["64", "1"]>, #tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, 64, f32>, !gir.tensor<64, f32>
  return
}
