// A left operand in registers is put there before a fence, and stays there until the product is waited for: a turn that makes the next
// one while the product of the turn before goes on, and a loop that carries it there, overwrite what is still read. Sums that were waited
// for are added to behind a fence.
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
tile.kernel @k(%x: !v, %y: !y) grid 1 hints {warps = 4} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %room = tile.alloc offset 0 : !b
  %g = tile.gates offset 8192 : <1>
  tile.fetch %x[%c0, %c0] dims [0, 1] into %room[%c0] opens %g[%c0] : !v, !b, <1>
  tile.barrier
  tile.await %g[%c0] phase %c0 : <1>
  %zero = tile.constant 0.0 : f32 : !s
  %one = tile.constant 1.0 : bf16 : !t
  tile.mma_fence

  // One group goes on beside the next turn, which makes its operand in the same registers.
  %first = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> (!s) {
    // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: use of a copy before its wait: warp 0, lane 0 puts a tile into registers that a product may still read
    %p = tile.map add(%one, %one) : (!t, !t) -> !t
    // CHECK-DAG: [[#@LINE+2]]:{{.*}} error: write that a product may not see: warp 0, lane 0 begins a product with no fence behind what is in its registers
    // CHECK-DAG: [[#@LINE+1]]:{{.*}} note: the product is begun here
    %next = tile.mma_async %p, %room[%c0], %acc : !t, !b, !s
    tile.mma_commit
    tile.mma_wait 1
    scf.yield %next : !s
  }
  %waited = tile.mma_wait 0, %first : !s

  // The same with a fence, waited for in its turn.
  %second = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %waited) -> (!s) {
    %p = tile.map add(%one, %one) : (!t, !t) -> !t
    tile.mma_fence
    %next = tile.mma_async %p, %room[%c0], %acc : !t, !b, !s
    tile.mma_commit
    tile.mma_wait 0
    scf.yield %next : !s
  }
  %sum = tile.mma_wait 0, %second : !s

  // The next turn's operand comes where the product of this one may still read.
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: use of a copy before its wait: warp 0, lane 0 puts a tile into registers that a product may still read
  %third:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %sum, %p = %one) -> (!s, !t) {
    %q = tile.map add(%one, %one) : (!t, !t) -> !t
    tile.mma_fence
    %next = tile.mma_async %p, %room[%c0], %acc : !t, !b, !s
    tile.mma_commit
    scf.yield %next, %q : !s, !t
  }

  // A fence before the wait is none for what comes behind it.
  tile.mma_fence
  %added = tile.mma_wait 0, %third#0 : !s
  // CHECK-DAG: [[#@LINE+1]]:{{.*}} error: write that a product may not see: warp 0, lane 0 begins a product with no fence behind what is in its registers
  %again = tile.mma_async %one, %room[%c0], %added : !t, !b, !s
  tile.mma_commit
  %done = tile.mma_wait 0, %again : !s
  tile.store %done, %y[%c0, %c0] dims [0, 1] : !s, !y
  tile.return
}
