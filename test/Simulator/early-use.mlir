// A warp reads a stage before it waits for its own copy.
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

tile.kernel @k(%x: !v, %y: !v) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %buffer = tile.alloc : !b
  // CHECK: [[#@LINE+5]]:{{.*}} error: use before wait: warp 0, lane 0 reads element (0) of stage 0, which a copy may still write
  // CHECK: [[#@LINE+1]]:{{.*}} note: warp 0, lane 0 copies element (0) here
  tile.cp_async %x[%c0] dims [0] into %buffer[%c0] via #rows : !v, !b
  tile.cp_async_commit
  tile.cp_async_wait 1
  %t = tile.shared_load %buffer[%c0] : !b -> tensor<128xf32, #rows>
  tile.store %t, %y[%c0] dims [0] : tensor<128xf32, #rows>, !v
  tile.return
}
// CHECK: error: order-dependent results
// The copy lands before the read, or after it.
// ALL: k 1 1 512 2, all distinct
