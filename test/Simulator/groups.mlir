// A product that groups of warps begin reads its slots until it is waited for: nobody may fill them before, nor take its sums. What
// it finds in registers lies behind a fence.
// RUN: not %tessera simulate %s --arg x=bf16[64,64] 2>&1 | FileCheck %s

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!v = !tile.view<64x64xbf16, strides = [64, 1]>
!y = !tile.view<64x64xf32, strides = [64, 1]>
!b = !tile.buffer<1, tensor<64x64xbf16, #memory>>
!t = tensor<64x64xbf16, #sums>
!s = tensor<64x64xf32, #sums>

func.func @f(%x: !gir.tensor<64, 64, bf16> {gir.name = "x"}) -> !gir.tensor<64, 64, f32> {
  %y = tile.empty : <64, 64, f32>
  tile.launch @k grid ["1"] (%x, %y) views [#tile.operand<offset "0", sizes ["64", "64"], strides ["64", "1"]>,
    #tile.operand<offset "0", sizes ["64", "64"], strides ["64", "1"]>] sizes [] : !gir.tensor<64, 64, bf16>, !gir.tensor<64, 64, f32>
  return %y : !gir.tensor<64, 64, f32>
}

tile.kernel @k(%x: !v, %y: !y) grid 1 hints {warps = 4} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %room = tile.alloc offset 0 : !b
  %other = tile.alloc offset 8192 : !b
  %g = tile.gates offset 16384 : <1>
  tile.fetch %x[%c0, %c0] dims [0, 1] into %room[%c0] opens %g[%c0] : !v, !b, <1>
  tile.barrier
  tile.await %g[%c0] phase %c0 : <1>
  %zero = tile.constant 0.0 : f32 : !s
  %one = tile.constant 1.0 : bf16 : !t
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: write that a product may not see: warp 0, lane 0 begins a product with no fence behind what is in its registers
  %0 = tile.mma_async %room[%c0], %room[%c0], %zero : !b, !b, !s
  tile.mma_commit
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: use of a copy before its wait: warp 0, lane 0 takes sums to which a product may still add
  %early = tile.mma_wait 1, %0 : !s
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: data race: {{.*}} copies to element {{.*}} of slot 0
  tile.fetch %x[%c0, %c0] dims [0, 1] into %room[%c0] opens %g[%c0] : !v, !b, <1>
  tile.await %g[%c0] phase %c1 : <1>
  tile.write %one, %other[%c0] : !t, !b
  tile.barrier
  tile.mma_fence
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: write that a copy may not see
  %1 = tile.mma_async %room[%c0], %other[%c0], %early : !b, !b, !s
  %done = tile.mma_wait 0, %1 : !s
  // CHECK-DAG: [[#@LINE-2]]:{{.*}} error: use of a copy before its wait: the block may end while this product goes on
  tile.store %done, %y[%c0, %c0] dims [0, 1] : !s, !y
  tile.return
}
