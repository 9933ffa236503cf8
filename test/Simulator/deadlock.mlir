// Warps disagree on a flag that they race for: one waits at a barrier for another that has exited.
// RUN: not %tessera simulate %s --arg x=int32[2] 2>&1 | FileCheck %s

#all = #tile.layout<"register[d0:1] lane[0, 0, 0, 0, 0] warp[0] -> d0:2">
#one = #tile.layout<"lane[0, 0, 0, 0, 0] warp[0] -> ">
#memory = #tile.layout<"offset[d0:1] -> d0:2">
!v = !tile.view<2xi32, strides = [1]>
!b = !tile.buffer<1, tensor<2xi32, #memory>>

func.func @f(%x: !gir.tensor<2, i32> {gir.name = "x"}) -> !gir.tensor<2, i32> {
  %y = tile.empty : <2, i32>
  tile.launch @k grid ["1"] (%x, %y) views [#tile.operand<offset "0", sizes ["2"], strides ["1"]>, #tile.operand<offset "0", sizes ["2"], strides ["1"]>] sizes []
    : !gir.tensor<2, i32>, !gir.tensor<2, i32>
  return %y : !gir.tensor<2, i32>
}

tile.kernel @k(%x: !v, %y: !v) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %buffer = tile.alloc : !b
  %old = tile.shared_load %buffer[%c0] : !b -> tensor<2xi32, #all>
  %seven = tile.splat %c7 : index -> tensor<2xi32, #all>
  tile.store %seven, %y[%c0] dims [0] : tensor<2xi32, #all>, !v
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: data race: warp 0, lane 0 writes element (0) of stage 0
  tile.shared_store %seven, %buffer[%c0] : tensor<2xi32, #all>, !b
  %flag = tile.reduce max %old dims [0] : tensor<2xi32, #all> -> tensor<i32, #one>
  %was = tile.extract %flag : tensor<i32, #one> -> index
  %isFirst = arith.cmpi ne, %was, %c7 : index
  scf.if %isFirst {
    // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: deadlock: warp {{[01]}}, lane 0 waits at this barrier forever
    tile.barrier
  }
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} note: warp {{[01]}} exits here
  tile.return
}
