// Out-of-bounds accesses, uninitialized reads, a race between CTAs, uncoalesced accesses.
// RUN: not %tessera simulate %s --arg x=fp32[96] --arg z=fp32[4096] 2>&1 | FileCheck %s

#rows = #tile.layout<"register[d0:1, d0:2] lane[d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!v = !tile.view<96xf32, strides = [1]>
!w = !tile.view<128xf32, strides = [1]>
!s = !tile.view<128xf32, strides = [32]>
!b = !tile.buffer<2, tensor<128xf32, #memory>>

// CHECK-DAG: [[#@LINE+5]]:{{.*}} error: uninitialized read: element (128) of result 0 is returned, which nothing has written
func.func @f(%x: !gir.tensor<96, f32> {gir.name = "x"}, %z: !gir.tensor<4096, f32> {gir.name = "z"}) -> !gir.tensor<130, f32> {
  %y = tile.empty : <130, f32>
  tile.launch @k grid ["2"] (%x, %y, %z) views [#tile.operand<offset "0", sizes ["96"], strides ["1"]>, #tile.operand<offset "0", sizes ["128"], strides ["1"]>, #tile.operand<offset "0", sizes ["128"], strides ["32"]>] sizes []
    : !gir.tensor<96, f32>, !gir.tensor<130, f32>, !gir.tensor<4096, f32>
  return %y : !gir.tensor<130, f32>
}

tile.kernel @k(%x: !v, %y: !w, %z: !s) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %buffer = tile.alloc : !b
  %p = tile.program_id 0
  %n = tile.splat %p : index -> tensor<128xi32, #rows>
  %q = tile.cast %n : tensor<128xi32, #rows> -> tensor<128xf32, #rows>
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: out-of-bounds access: CTA (0), warp 0, lane 24 reads element (96) of 'x', a view of sizes (96) ({{.*}} times)
  %t = tile.load %x[%c0] dims [0] : !v -> tensor<128xf32, #rows>
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: uninitialized read: CTA (0), warp 0, lane 0 reads element (0) of stage 0, which nothing has written
  %u = tile.shared_load %buffer[%c0] : !b -> tensor<128xf32, #rows>
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: out-of-bounds access: CTA (0), warp 0, lane 0 accesses stage 2 of a buffer with 2 stages
  %v = tile.shared_load %buffer[%c2] : !b -> tensor<128xf32, #rows>
  // CHECK-DAG: [[#@LINE+2]]:{{.*}} error: data race: CTA (1), warp 0, lane 0 writes element 0 of the result, which is not ordered with another access
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} note: CTA 0, warp 0, lane 0 writes it here
  tile.store %q, %y[%c0] dims [0] : tensor<128xf32, #rows>, !w
  // CHECK-DAG: tile.load {{.*}} global 8 256 32 8.00
  %w = tile.load %z[%c0] dims [0] : !s -> tensor<128xf32, #rows>
  tile.return
}
