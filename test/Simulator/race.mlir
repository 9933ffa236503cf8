// Warps read each other's part of a copy: a race without a barrier, none with one.
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

tile.kernel @k(%x: !v, %y: !v) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %buffer = tile.alloc : !b
  // CHECK-DAG: [[#@LINE+8]]:{{.*}} error: data race: warp 1, lane 0 reads element (2) of stage 0, with no barrier in between
  // CHECK-DAG: [[#@LINE+3]]:{{.*}} note: warp 0, lane 0 copies element (2) here and has waited for it
  // CHECK-DAG: [[#@LINE+6]]:{{.*}} error: use before wait: warp 0, lane 0 reads element (128) of stage 0, which a copy may still write
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} note: warp 1, lane 0 copies element (128) here
  tile.cp_async %x[%c0] dims [0] into %buffer[%c0] via #rows : !v, !b
  tile.cp_async_commit
  tile.cp_async_wait 0
  // HERE
  %t = tile.shared_load %buffer[%c0] : !b -> tensor<256xf32, #other>
  tile.store %t, %y[%c0] dims [0] : tensor<256xf32, #other>, !v
  tile.return
}
