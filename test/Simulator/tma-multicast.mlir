// CTAs of a cluster that multicast parts of a tile: not before all have initialized their mbarriers, not into a stage that another CTA may
// still read, and no arrival at an mbarrier of a CTA that may have exited.
// RUN: %tessera simulate %s --arg x=bf16[32,64] --seeds 8 | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/tile.cluster_wait//' %s > %t.unmet.mlir
// RUN: not %tessera simulate %t.unmet.mlir --arg x=bf16[32,64] 2>&1 | FileCheck %s --check-prefix=CLOSED
// RUN: sed 's/empty %%empty\[%%c0\] phase %%c0 //; s/, !tile.mbarrier<1>$//' %s > %t.unguarded.mlir
// RUN: not %tessera simulate %t.unguarded.mlir --arg x=bf16[32,64] --seeds 8 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: sed 's/tile.mbarrier_arrive cluster/tile.mbarrier_arrive/; s/arrivals 4/arrivals 2/' %s > %t.alone.mlir
// RUN: not %tessera simulate %t.alone.mlir --arg x=bf16[32,64] --seeds 8 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: sed 's/^  tile.return/  tile.mbarrier_arrive cluster %%empty[%%c0] : <1>\n  tile.return/' %s > %t.late.mlir
// RUN: not %tessera simulate %t.late.mlir --arg x=bf16[32,64] --seeds 8 2>&1 | FileCheck %s --check-prefix=LATE

// RIGHT: nothing found
// CLOSED: error: data race: CTA {{.}}, warp 0, lane 0 accesses an mbarrier of CTA {{.}} that may not be initialized
// EARLY: error: data race: CTA {{.}}, warp 0, lane {{.*}} copies to element {{.*}} of stage 0
// EARLY: note: CTA {{.}}, warp {{.}}, lane {{.*}} reads {{.*}} here
// ALONE: error: data race: CTA {{.}}, warp 0, lane {{.*}} copies to element {{.*}} of stage 0
// LATE-DAG: error: data race: CTA {{.}} exits while another CTA may still arrive at its mbarrier
// LATE-DAG: note: CTA {{.}}, warp {{.}}, lane 0 does so here

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

tile.kernel @k(%x: !v, %y: !v) grid 1 launch <num_warps = 2, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %buffer = tile.alloc : !b
  %full = tile.mbarrier_alloc : <1>
  %empty = tile.mbarrier_alloc arrivals 4 : <1>
  tile.cluster_arrive
  tile.cluster_wait
  tile.tma_load %x[%c0, %c0] dims [0, 1] multicast into %buffer[%c0] full %full[%c0] : !v, !b, <1>
  tile.mbarrier_wait %full[%c0] phase %c0 : <1>
  %first = tile.shared_load %buffer[%c0] : !b -> !t
  tile.mbarrier_arrive cluster %empty[%c0] : <1>
  tile.tma_load %x[%c0, %c0] dims [0, 1] multicast into %buffer[%c0] full %full[%c0] empty %empty[%c0] phase %c0 : !v, !b, <1>, !tile.mbarrier<1>
  tile.mbarrier_wait %full[%c0] phase %c1 : <1>
  %second = tile.shared_load %buffer[%c0] : !b -> !t
  %twice = tile.map add(%first, %second) : (!t, !t) -> !t
  tile.store %twice, %y[%c0, %c0] dims [0, 1] : !t, !v
  tile.return
}
