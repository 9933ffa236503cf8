// Errors of programs that the simulator does not support are at the operation.
// RUN: not %tessera simulate %s --arg x=fp32[128] 2>&1 | FileCheck %s

#rows = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] warp[d0:64] -> d0:128">
#apart = #tile.layout<"register[d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[d0:32] -> d0:128">
!v = !tile.view<128xf32, strides = [1]>

func.func @f(%x: !gir.tensor<128, f32> {gir.name = "x"}) -> !gir.tensor<128, f32> {
  %y = tile.empty : <128, f32>
  tile.launch @k grid ["1"] (%x, %y) views [#tile.operand<offset "0", sizes ["128"], strides ["1"]>, #tile.operand<offset "0", sizes ["128"], strides ["1"]>] sizes []
    : !gir.tensor<128, f32>, !gir.tensor<128, f32>
  return %y : !gir.tensor<128, f32>
}

tile.kernel @k(%x: !v, %y: !v) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] dims [0] : !v -> tensor<128xf32, #rows>
  // CHECK: [[#@LINE+1]]:{{.*}} error: expected operands within the warp; data of other warps goes through shared memory
  %u = tile.convert %t : tensor<128xf32, #rows> -> tensor<128xf32, #apart>
  tile.store %u, %y[%c0] dims [0] : tensor<128xf32, #apart>, !v
  tile.return
}
