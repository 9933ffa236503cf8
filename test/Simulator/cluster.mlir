// Blocks of a cluster: what they push comes when it is received, and not before they have met.
// RUN: %tessera simulate %s --arg x=fp32[64] --seeds 8 | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/tile.receive.*//' %s > %t.receive.mlir
// RUN: not %tessera simulate %t.receive.mlir --arg x=fp32[64] 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: sed 's/tile.meet//' %s > %t.meet.mlir
// RUN: not %tessera simulate %t.meet.mlir --arg x=fp32[64] 2>&1 | FileCheck %s --check-prefix=CLOSED
// RUN: sed 's/tile.push.*//' %s > %t.push.mlir
// RUN: not %tessera simulate %t.push.mlir --arg x=fp32[64] 2>&1 | FileCheck %s --check-prefix=NOTHING

// RIGHT: nothing found
// EARLY-DAG: error: data race: block 0, warp 0, lane 1 reads element (0) of turn 0, with no barrier between the lanes
// EARLY-DAG: error: data race: block 0, warp 0, lane 0 ends, and what is pushed to its block may not have come
// EARLY-DAG: error: data race: block 1, warp 0, lane 0 pushes to block 0, which has ended
// EARLY-DAG: error: data race: block 1, warp 0, lane 0 pushes element (1) of turn 0, with no barrier in between
// EARLY-DAG: note: block 0, warp 0, lane 0 reads here element (1)
// CLOSED: error: data race: block 0, warp 0, lane 0 pushes to block 1, whose mailboxes may not be open
// NOTHING: error: dead-lock: block 0, warp 0, lane 0 waits here for ever

#row = #tile.layout<"lane[d0:1, d0:2, d0:4, d0:8, d0:16] block[d0:32] -> d0:64">
#each = #tile.layout<"lane[0, 0, 0, 0, 0] block[d0:1] -> d0:2">
#all = #tile.layout<"register[d0:1] lane[0, 0, 0, 0, 0] block[0] -> d0:2">
#number = #tile.layout<"lane[0, 0, 0, 0, 0] block[0] ->">
#memory = #tile.layout<"offset[d0:1] -> d0:2">
!v = !tile.view<64xf32, strides = [1]>
!w = !tile.view<1xf32, strides = [1]>
!m = !tile.buffer<1, tensor<2xf32, #memory>>

func.func @f(%x: !gir.tensor<64, f32> {gir.name = "x"}) -> !gir.tensor<1, f32> {
  %y = tile.empty : <1, f32>
  tile.launch @k grid ["1"] (%x, %y) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>, #tile.operand<offset "0", sizes ["1"], strides ["1"]>] sizes []
    : !gir.tensor<64, f32>, !gir.tensor<1, f32>
  return %y : !gir.tensor<1, f32>
}

tile.kernel @k(%x: !v, %y: !w) grid 1 hints {cluster = 2, warps = 1} {
  %c0 = arith.constant 0 : index
  %mail = tile.alloc mailbox : !m
  tile.open mailboxes %mail : !m
  %t = tile.load %x[%c0] dims [0] : !v -> tensor<64xf32, #row>
  %p = tile.partial sum %t dims [0] : tensor<64xf32, #row> -> tensor<2xf32, #each>
  tile.meet
  tile.push %p, %mail : tensor<2xf32, #each>, !m
  tile.receive %mail : !m
  %a = tile.take %mail : !m -> tensor<2xf32, #all>
  %s = tile.reduce sum %a dims [0] : tensor<2xf32, #all> -> tensor<f32, #number>
  tile.store %s, %y[%c0] dims [] : tensor<f32, #number>, !w
  tile.return
}
