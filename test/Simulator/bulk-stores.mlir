// A bulk store without a proxy fence, a stage that is overwritten before the store has read it, and a CTA that exits before that.
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
  %t = tile.load %x[%c0] dims [0] : !v -> !t
  %u = tile.load %x[%c1] dims [0] pad 0.0 : f32 : !v -> !t
  tile.shared_store %t, %buffer[%c0] shift %c0 : !t, !b
  tile.barrier
  // CHECK: [[#@LINE+2]]:{{.*}} error: missing fence: warp 0, lane 0 accesses shared memory through the async proxy with no proxy fence after an earlier write
  // CHECK: [[#@LINE-3]]:{{.*}} note: warp 0 writes here
  tile.bulk_store %buffer[%c0] to %y[%c0] dims [0] : !b, !v
  tile.barrier
  // CHECK: [[#@LINE+2]]:{{.*}} error: use before wait: warp 0, lane 0 writes element (0) of stage 0, which an asynchronous operation may still read
  // CHECK: [[#@LINE-3]]:{{.*}} note: warp 0, lane 0 copies element (0) here
  tile.shared_store %u, %buffer[%c0] shift %c0 : !t, !b
  tile.fence_proxy_async
  tile.barrier
  tile.bulk_store %buffer[%c0] to %y[%c1] dims [0] bounded : !b, !v
  tile.return
}
// CHECK: error: use before wait: the CTA may exit while this copy is in flight
