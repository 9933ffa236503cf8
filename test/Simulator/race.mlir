// Warps read each other's part of a copy: without a barrier that is a race, with one it is none.
// RUN: not %tessera simulate %s --arg x=fp32[256] 2>&1 | FileCheck %s
// RUN: sed 's/^ *\/\/ HERE/tile.barrier/' %s > %t.mlir
// RUN: %tessera simulate %t.mlir --arg x=fp32[256] | FileCheck %s --check-prefix=FIXED

// FIXED: nothing found

#rows = #tile.layout<"register[d0:1, d0:2] lane[d0:4, d0:8, d0:16, d0:32, d0:64] warp[d0:128] -> d0:256">
#other = #tile.layout<"register[d0:1, d0:128] lane[d0:4, d0:8, d0:16, d0:32, d0:64] warp[d0:2] -> d0:256">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64, d0:128] -> d0:256">
!v = !tile.view<256xf32, strides = [1]>
!b = !tile.buffer<1, tensor<256xf32, #memory>>

func.func @f(%x: !gir.tensor<256, f32> {gir.name = "x"}) -> !gir.tensor<256, f32> {
  %y = tile.empty : <256, f32>
  tile.launch @k grid ["1"] (%x, %y) views [#tile.operand<offset "0", sizes ["256"], strides ["1"]>, #tile.operand<offset "0", sizes ["256"], strides ["1"]>] sizes []
    : !gir.tensor<256, f32>, !gir.tensor<256, f32>
  return %y : !gir.tensor<256, f32>
}

tile.kernel @k(%x: !v, %y: !v) grid 1 hints {warps = 2} {
  %c0 = arith.constant 0 : index
  %room = tile.alloc : !b
  // CHECK-DAG: [[#@LINE+8]]:{{.*}} error: data race: warp 1, lane 0 reads element (2) of slot 0, with no barrier in between
  // CHECK-DAG: [[#@LINE+3]]:{{.*}} note: warp 0, lane 0 copies here element (2) and has waited for it
  // CHECK-DAG: [[#@LINE+6]]:{{.*}} error: use of a copy before its wait: warp 0, lane 0 reads element (128) of slot 0, which a copy may still fill
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} note: warp 1, lane 0 copies here element (128)
  tile.copy %x[%c0] dims [0] into %room[%c0] via #rows : !v, !b
  tile.commit
  tile.wait 0
  // HERE
  %t = tile.read %room[%c0] : !b -> tensor<256xf32, #other>
  tile.store %t, %y[%c0] dims [0] : tensor<256xf32, #other>, !v
  tile.return
}
