// Blocks of a cluster that bring parts of a box for each other: none before all have made their gates, none into a slot that another block may
// still read, and nobody tells gates of a block that may have ended.
// RUN: %tessera simulate %s --arg x=bf16[32,64] --seeds 8 | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/tile.meet//' %s > %t.meet.mlir
// RUN: not %tessera simulate %t.meet.mlir --arg x=bf16[32,64] 2>&1 | FileCheck %s --check-prefix=CLOSED
// RUN: sed 's/after %%left\[%%c0\] phase %%c0 //; s/, !tile.gates<1>$//' %s > %t.after.mlir
// RUN: not %tessera simulate %t.after.mlir --arg x=bf16[32,64] --seeds 8 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: sed 's/tile.arrive cluster/tile.arrive/; s/arrivals 4/arrivals 2/' %s > %t.alone.mlir
// RUN: not %tessera simulate %t.alone.mlir --arg x=bf16[32,64] --seeds 8 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: sed 's/^  tile.return/  tile.arrive cluster %%left[%%c0] : <1>\n  tile.return/' %s > %t.late.mlir
// RUN: not %tessera simulate %t.late.mlir --arg x=bf16[32,64] --seeds 8 2>&1 | FileCheck %s --check-prefix=LATE

// RIGHT: nothing found
// CLOSED: error: data race: block {{.}}, warp 0, lane 0 comes to a gate of block {{.}} that may not be made yet
// EARLY: error: data race: block {{.}}, warp 0, lane {{.*}} copies to element {{.*}} of slot 0
// EARLY: note: block {{.}}, warp {{.}}, lane {{.*}} reads here
// ALONE: error: data race: block {{.}}, warp 0, lane {{.*}} copies to element {{.*}} of slot 0
// LATE-DAG: error: data race: block {{.}} ends, and another one may still tell its gate
// LATE-DAG: note: block {{.}}, warp {{.}}, lane 0 does so here

#rows = #tile.layout<"register[d1:1, d1:2, d1:4, d0:8, d0:16] lane[d1:8, d1:16, d1:32, d0:1, d0:2] warp[d0:4] block[0] -> d0:32 d1:64">
#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16] -> d0:32 d1:64">
!v = !tile.view<32x64xbf16, strides = [64, 1]>
!b = !tile.buffer<1, tensor<32x64xbf16, #memory>>
!t = tensor<32x64xbf16, #rows>

func.func @f(%x: !gir.tensor<32, 64, bf16> {gir.name = "x"}) -> !gir.tensor<32, 64, bf16> {
  %y = tile.empty : <32, 64, bf16>
  tile.launch @k grid ["1"] (%x, %y) views [#tile.operand<offset "0", sizes ["32", "64"], strides ["64", "1"]>,
    #tile.operand<offset "0", sizes ["32", "64"], strides ["64", "1"]>] sizes [] : !gir.tensor<32, 64, bf16>, !gir.tensor<32, 64, bf16>
  return %y : !gir.tensor<32, 64, bf16>
}

tile.kernel @k(%x: !v, %y: !v) grid 1 hints {cluster = 2, warps = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %room = tile.alloc : !b
  %g = tile.gates : <1>
  %left = tile.gates arrivals 4 : <1>
  tile.open
  tile.meet
  tile.fetch %x[%c0, %c0] dims [0, 1] shared into %room[%c0] opens %g[%c0] : !v, !b, <1>
  tile.await %g[%c0] phase %c0 : <1>
  %first = tile.read %room[%c0] : !b -> !t
  tile.arrive cluster %left[%c0] : <1>
  tile.fetch %x[%c0, %c0] dims [0, 1] shared into %room[%c0] opens %g[%c0] after %left[%c0] phase %c0 : !v, !b, <1>, !tile.gates<1>
  tile.await %g[%c0] phase %c1 : <1>
  %second = tile.read %room[%c0] : !b -> !t
  %twice = tile.map add(%first, %second) : (!t, !t) -> !t
  tile.store %twice, %y[%c0, %c0] dims [0, 1] : !t, !v
  tile.return
}
