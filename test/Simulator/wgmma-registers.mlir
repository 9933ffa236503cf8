// A left operand in registers is written before a fence, and not overwritten until the MMA is waited for. An iteration that computes the
// next one while the MMA of the last iteration is in flight, and a loop that carries it, overwrite registers that are still read. A fence
// comes between the wait for an accumulator and the next MMA on it.
// RUN: not %tessera simulate %s --arg x=bf16[64,64] 2>&1 | FileCheck %s
// RUN: not %tessera simulate %s --arg x=bf16[64,64] 2>&1 | FileCheck %s --check-prefix=ONLY

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

// ONLY-COUNT-4: error:
// ONLY-NOT: error:
tile.kernel @k(%x: !v, %y: !y) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %buffer = tile.alloc offset 0 : !b
  %full = tile.mbarrier_alloc offset 8192 : <1>
  tile.tma_load %x[%c0, %c0] dims [0, 1] into %buffer[%c0] full %full[%c0] : !v, !b, <1>
  tile.barrier
  tile.mbarrier_wait %full[%c0] phase %c0 : <1>
  %zero = tile.constant 0.0 : f32 : !s
  %one = tile.constant 1.0 : bf16 : !t
  tile.wgmma_fence

  // One group is in flight during the next iteration, which computes its operand in the same registers.
  %first = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> (!s) {
    // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: use before wait: warp 0, lane 0 writes registers that an MMA may still read
    %p = tile.map add(%one, %one) : (!t, !t) -> !t
    // CHECK-DAG: [[#@LINE+2]]:{{.*}} error: missing fence: warp 0, lane 0 issues an MMA with no wgmma fence after its registers were written
    // CHECK-DAG: [[#@LINE+1]]:{{.*}} note: the MMA is issued here
    %next = tile.wgmma %p, %buffer[%c0], %acc : !t, !b, !s
    tile.wgmma_commit
    tile.wgmma_wait 1
    scf.yield %next : !s
  }
  %waited = tile.wgmma_wait 0, %first : !s

  // The same with a fence, waited for in its iteration.
  %second = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %waited) -> (!s) {
    %p = tile.map add(%one, %one) : (!t, !t) -> !t
    tile.wgmma_fence
    %next = tile.wgmma %p, %buffer[%c0], %acc : !t, !b, !s
    tile.wgmma_commit
    tile.wgmma_wait 0
    scf.yield %next : !s
  }
  %sum = tile.wgmma_wait 0, %second : !s

  // The next iteration's operand overwrites registers that the MMA of this one may still read.
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: use before wait: warp 0, lane 0 writes registers that an MMA may still read
  %third:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %sum, %p = %one) -> (!s, !t) {
    %q = tile.map add(%one, %one) : (!t, !t) -> !t
    tile.wgmma_fence
    %next = tile.wgmma %p, %buffer[%c0], %acc : !t, !b, !s
    tile.wgmma_commit
    scf.yield %next, %q : !s, !t
  }

  // A fence before the wait does not cover an MMA after it.
  tile.wgmma_fence
  %added = tile.wgmma_wait 0, %third#0 : !s
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: missing fence: warp 0, lane 0 issues an MMA with no wgmma fence after its registers were written
  %again = tile.wgmma %one, %buffer[%c0], %added : !t, !b, !s
  tile.wgmma_commit
  %done = tile.wgmma_wait 0, %again : !s
  tile.store %done, %y[%c0, %c0] dims [0, 1] : !s, !y
  tile.return
}
