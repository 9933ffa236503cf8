// Lanes of a warp exchange data through shared memory: without a barrier it is a race, a barrier of the warp is enough. Where warps
// read from each other it must be one of the CTA.
// RUN: not %tessera simulate %s --arg x=fp32[128] 2>&1 | FileCheck %s
// RUN: sed 's/^ *\/\/ HERE/tile.barrier warp/' %s > %t.mlir
// RUN: %tessera simulate %t.mlir --arg x=fp32[128] --mutants | FileCheck %s --check-prefix=FIXED
// RUN: sed 's/^ *\/\/ HERE/tile.barrier warp/; s/#turned =.*/#turned = #apart/' %s > %t.apart.mlir
// RUN: not %tessera simulate %t.apart.mlir --arg x=fp32[128] 2>&1 | FileCheck %s --check-prefix=APART

// FIXED: tile.barrier {{.*}} removed killed: data race
// FIXED: 2 mutants: 2 killed, 0 equivalent, 0 not reached, 0 survived
// FIXED: nothing found

// APART: error: data race: warp 1, lane 0 reads element (32) of stage 0, with no barrier in between
// APART: note: warp 0, lane 16 writes element (32) here

#rows = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] warp[d0:64] -> d0:128">
#within = #tile.layout<"register[d0:32] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[d0:64] -> d0:128">
#apart = #tile.layout<"register[d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[d0:32] -> d0:128">
#turned = #within
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!v = !tile.view<128xf32, strides = [1]>
!b = !tile.buffer<1, tensor<128xf32, #memory>>

func.func @f(%x: !gir.tensor<128, f32> {gir.name = "x"}) -> !gir.tensor<128, f32> {
  %y = tile.empty : <128, f32>
  tile.launch @k grid ["1"] (%x, %y) views [#tile.operand<offset "0", sizes ["128"], strides ["1"]>, #tile.operand<offset "0", sizes ["128"], strides ["1"]>] sizes []
    : !gir.tensor<128, f32>, !gir.tensor<128, f32>
  return %y : !gir.tensor<128, f32>
}

tile.kernel @k(%x: !v, %y: !v) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %buffer = tile.alloc : !b
  %t = tile.load %x[%c0] dims [0] : !v -> tensor<128xf32, #rows>
  // CHECK: [[#@LINE+4]]:{{.*}} error: data race: warp 0, lane 1 reads element (1) of stage 0, with no barrier between the lanes
  // CHECK: [[#@LINE+1]]:{{.*}} note: warp 0, lane 0 writes element (1) here
  tile.shared_store %t, %buffer[%c0] : tensor<128xf32, #rows>, !b
  // HERE
  %u = tile.shared_load %buffer[%c0] : !b -> tensor<128xf32, #turned>
  tile.store %u, %y[%c0] dims [0] : tensor<128xf32, #turned>, !v
  tile.return
}
