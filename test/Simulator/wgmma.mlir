// A warpgroup MMA reads its stages until it is waited for: they may not be overwritten before, nor its accumulator used. A fence comes
// between register writes and the MMA.
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

tile.kernel @k(%x: !v, %y: !y) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %buffer = tile.alloc offset 0 : !b
  %other = tile.alloc offset 8192 : !b
  %full = tile.mbarrier_alloc offset 16384 : <1>
  tile.tma_load %x[%c0, %c0] dims [0, 1] into %buffer[%c0] full %full[%c0] : !v, !b, <1>
  tile.barrier
  tile.mbarrier_wait %full[%c0] phase %c0 : <1>
  %zero = tile.constant 0.0 : f32 : !s
  %one = tile.constant 1.0 : bf16 : !t
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: missing fence: warp 0, lane 0 issues an MMA with no wgmma fence after its registers were written
  %0 = tile.wgmma %buffer[%c0], %buffer[%c0], %zero : !b, !b, !s
  tile.wgmma_commit
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: use before wait: warp 0, lane 0 uses an accumulator that an MMA may still write
  %early = tile.wgmma_wait 1, %0 : !s
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: data race: {{.*}} copies to element {{.*}} of stage 0
  tile.tma_load %x[%c0, %c0] dims [0, 1] into %buffer[%c0] full %full[%c0] : !v, !b, <1>
  tile.mbarrier_wait %full[%c0] phase %c1 : <1>
  tile.shared_store %one, %other[%c0] : !t, !b
  tile.barrier
  tile.wgmma_fence
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: missing fence
  %1 = tile.wgmma %buffer[%c0], %other[%c0], %early : !b, !b, !s
  %done = tile.wgmma_wait 0, %1 : !s
  // CHECK-DAG: [[#@LINE-2]]:{{.*}} error: use before wait: the CTA may exit while this MMA is in flight
  tile.store %done, %y[%c0, %c0] dims [0, 1] : !s, !y
  tile.return
}
