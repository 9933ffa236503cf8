// A wait for a second phase that never completes.
// RUN: not %tessera simulate %s --arg x=fp32[513] 2>&1 | FileCheck %s

#rows = #tile.layout<"register[d0:64, d0:128, d0:256] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[d0:32] -> d0:512">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64, d0:128, d0:256] -> d0:512">
!v = !tile.view<513xf32, strides = [1]>
!b = !tile.buffer<1, tensor<512xf32, #memory>, slack 4>
!t = tensor<512xf32, #rows>

func.func @f(%x: !gir.tensor<513, f32> {gir.name = "x"}) -> !gir.tensor<513, f32> {
  %y = tile.empty : <513, f32>
  tile.launch @k grid ["1"] (%x, %y) views [#tile.operand<offset "0", sizes ["513"], strides ["1"]>, #tile.operand<offset "0", sizes ["513"], strides ["1"]>] sizes []
    : !gir.tensor<513, f32>, !gir.tensor<513, f32>
  return %y : !gir.tensor<513, f32>
}

tile.kernel @k(%x: !v, %y: !v) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %buffer = tile.alloc : !b
  %full = tile.mbarrier_alloc : <1>
  tile.bulk_load %x[%c0] dims [0] into %buffer[%c0] full %full[%c0] : !v, !b, <1>
  tile.barrier
  tile.mbarrier_wait %full[%c0] phase %c0 : <1>
  // CHECK: [[#@LINE+1]]:{{.*}} error: deadlock: warp 0, lane 0 waits at this mbarrier forever
  tile.mbarrier_wait %full[%c0] phase %c1 : <1>
  %t = tile.shared_load %buffer[%c0] shift %c0 : !b -> !t
  tile.store %t, %y[%c0] dims [0] bounded : !t, !v
  tile.store %t, %y[%c1] dims [0] bounded : !t, !v
  tile.return
}
