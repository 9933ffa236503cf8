// Stores to dsmem arrive by the wait, and are allowed after the cluster's barrier.
// RUN: %tessera simulate %s --arg x=fp32[64] --seeds 8 | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/tile.dsmem_wait.*//' %s > %t.unwaited.mlir
// RUN: not %tessera simulate %t.unwaited.mlir --arg x=fp32[64] 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: sed 's/tile.cluster_wait//' %s > %t.unmet.mlir
// RUN: not %tessera simulate %t.unmet.mlir --arg x=fp32[64] 2>&1 | FileCheck %s --check-prefix=CLOSED
// RUN: sed 's/tile.dsmem_store.*//' %s > %t.unstored.mlir
// RUN: not %tessera simulate %t.unstored.mlir --arg x=fp32[64] 2>&1 | FileCheck %s --check-prefix=NOTHING

// RIGHT: nothing found
// EARLY-DAG: error: data race: CTA 0, warp 0, lane 1 reads element (0) of iteration 0, with no barrier between the lanes
// EARLY-DAG: error: data race: CTA 0, warp 0, lane 0 exits before a dsmem store to its CTA may have arrived
// EARLY-DAG: error: data race: CTA 1, warp 0, lane 0 stores to dsmem of CTA 0, which has exited
// EARLY-DAG: error: data race: CTA 1, warp 0, lane 0 stores to dsmem element (1) of iteration 0, with no barrier in between
// EARLY-DAG: note: CTA 0, warp 0, lane 0 reads element (1) here
// CLOSED: error: data race: CTA 0, warp 0, lane 0 stores to dsmem of CTA 1, which may not have arrived at the cluster's barrier
// NOTHING: error: deadlock: CTA 0, warp 0, lane 0 waits here forever

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

tile.kernel @k(%x: !v, %y: !w) grid 1 launch <num_warps = 1, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %dsmem = tile.alloc dsmem : !m
  tile.cluster_arrive dsmem %dsmem : !m
  %t = tile.load %x[%c0] dims [0] : !v -> tensor<64xf32, #row>
  %p = tile.warp_reduce sum %t dims [0] : tensor<64xf32, #row> -> tensor<2xf32, #each>
  tile.cluster_wait
  tile.dsmem_store %p, %dsmem : tensor<2xf32, #each>, !m
  tile.dsmem_wait %dsmem : !m
  %a = tile.dsmem_load %dsmem : !m -> tensor<2xf32, #all>
  %s = tile.reduce sum %a dims [0] : tensor<2xf32, #all> -> tensor<f32, #number>
  tile.store %s, %y[%c0] dims [] : tensor<f32, #number>, !w
  tile.return
}
