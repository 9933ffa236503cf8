// A slot is read before its copy is waited for, though the reader copied it itself.
// RUN: not %tessera simulate %s --arg x=fp32[128] 2>&1 | FileCheck %s
// RUN: not %tessera simulate %s --arg x=fp32[128] --exhaustive 2>&1 | FileCheck %s --check-prefixes=CHECK,ALL

#rows = #tile.layout<"register[d0:1, d0:2] lane[d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!v = !tile.view<128xf32, strides = [1]>
!b = !tile.buffer<1, tensor<128xf32, #memory>>

func.func @f(%x: !gir.tensor<128, f32> {gir.name = "x"}) -> !gir.tensor<128, f32> {
  %y = tile.empty : <128, f32>
  tile.launch @k grid ["1"] (%x, %y) views [#tile.operand<offset "0", sizes ["128"], strides ["1"]>, #tile.operand<offset "0", sizes ["128"], strides ["1"]>] sizes []
    : !gir.tensor<128, f32>, !gir.tensor<128, f32>
  return %y : !gir.tensor<128, f32>
}

tile.kernel @k(%x: !v, %y: !v) grid 1 hints {warps = 1} {
  %c0 = arith.constant 0 : index
  %room = tile.alloc : !b
  // CHECK: [[#@LINE+5]]:{{.*}} error: use of a copy before its wait: warp 0, lane 0 reads element (0) of slot 0, which a copy may still fill
  // CHECK: [[#@LINE+1]]:{{.*}} note: warp 0, lane 0 copies here element (0)
  tile.copy %x[%c0] dims [0] into %room[%c0] via #rows : !v, !b
  tile.commit
  tile.wait 1
  %t = tile.read %room[%c0] : !b -> tensor<128xf32, #rows>
  tile.store %t, %y[%c0] dims [0] : tensor<128xf32, #rows>, !v
  tile.return
}
// CHECK: results depend on the order
// The copy lands before the read, or behind it.
// ALL: k 1 1 512 2, all that differ
