//===- AsyncPasses.td - Asynchronous copies and warpgroups --*- tablegen -*-===//
//
// Passes on kernels with layouts, for the PTX back end: copies into shared memory that run ahead of
// their use, MMAs by warpgroups, the allocation of shared memory and barriers. Passes.td includes
// this file.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_TRANSFORMS_ASYNC_PASSES
#define TESSERA_DIALECT_TILE_TRANSFORMS_ASYNC_PASSES

include "mlir/Pass/PassBase.td"

def TileCacheRows : Pass<"tile-cache-rows", "::mlir::ModuleOp"> {
  let summary = "keep rows that several loops read in shared memory";
  let description = [{
    Keeps the tiles of a row in shared memory, with one stage per tile, if several loops of a kernel
    load them. Later loops read the stages.

    **Why.** A normalization or a softmax reads its row two or three times. Shared memory serves the
    later reads without traffic to L2.

    All copies start before the first loop, at most `ahead` of them at once, and the first loop
    waits for them one by one. There are three ways to fill the stages:

    | rows | copies |
    | --- | --- |
    | that threads can copy in 16-byte pieces | `cp.async` groups |
    | unaligned, or of `tile.aligned_row`, on chips with bulk copies | `tile.bulk_load` with one mbarrier per tile |
    | others | a `tile.shared_store` after the load |

    One thread of the CTA runs the loops that only issue bulk loads (`tile.one_thread`).

    If `min_ctas_per_sm` is set, the CTAs of an SM share its memory, and the first tiles of
    a row that is too long are kept: its loops are split.

    **Input form.** Kernels with layouts.

    **Output form.** The same, with buffers, copies and shared loads in place of loads.

    **Declines.** Kernels with an MMA, which needs the memory for its operands. The pass also leaves
    a row alone

    - if it is loaded once, or by loops that do not go from tile to tile with step 1;
    - if the kernel writes to its view;
    - if the number of tiles has no known upper bound, or one above 1024;
    - if the tiles do not fit beside what the kernel exchanges through shared memory.

    ```mlir
    %b = tile.alloc : <7, tensor<8192xbf16, #layout>>
    scf.for %i = %c0 to %c7 step %c1 {
      %exists = arith.cmpi slt, %i, %n : index
      scf.if %exists {
        tile.cp_async %x[%row, %i] dims [1] into %b[%i] via #layout : !v, <7, tensor<8192xbf16, #layout>>
      }
      tile.cp_async_commit
    }
    %m = scf.for %i = %c0 to %n step %c1 iter_args(…) {
      tile.cp_async_wait 6
      tile.cp_async_commit
      %t = tile.shared_load %b[%i] : <7, tensor<8192xbf16, #layout>> -> tensor<8192xbf16, #layout>
      …
    }
    tile.cp_async_wait 0
    scf.for %i = %c0 to %n step %c1 {
      %t = tile.shared_load %b[%i] : <7, tensor<8192xbf16, #layout>> -> tensor<8192xbf16, #layout>
      …
    }
    ```
  }];
  let options = [Option<"ahead", "ahead", "unsigned", "32", "copies in flight at once">,
                 Option<"sharedBytes", "shared-bytes", "uint64_t", "0", "bytes of shared memory of a CTA; 0: those of the chip">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileBulkLoadRows : Pass<"tile-bulk-load-rows", "::mlir::ModuleOp"> {
  let summary = "load unaligned rows by bulk copies";
  let description = [{
    Replaces a load of an unaligned row by a bulk copy (`cp.async.bulk`) into shared memory and a
    read from there. The stage has room for 16 bytes more, and the read is shifted by the
    misalignment of the row. Each CTA of a cluster loads the part that its threads hold.

    **Why.** Threads that load such a row element by element request each memory sector several
    times.

    In a loop along a row, or from row to row, copies run `stages` - 1 iterations ahead (the field
    `num_stages` overrides `stages`), or fewer if memory is short. A loop that continues where
    another one ends takes its rows from the same stages.

    **Input form.** Kernels with layouts, for a chip with TMA.

    **Output form.** The same, with `tile.bulk_load`, `tile.mbarrier_wait` and `tile.shared_load` in
    place of loads.

    **Declines.** The pass leaves a load alone

    - if its rank is not 1, its elements have 4 bytes or more, or its row is not contiguous or
      starts at multiples of 16 bytes;
    - if the tile has less than 1 KiB, or consecutive lanes do not hold consecutive elements;
    - if the kernel writes to its view;
    - if it is in a loop that moves it otherwise than by the induction variable, or in a nested
      loop;
    - if shared memory does not suffice for it.

    ```mlir
    %g = tile.mbarrier_alloc : <1>
    %s = tile.misalignment %x[%row, %c0] mod 8 : !v
    tile.bulk_load %x[%row, %c0] dims [1] bounded into %b[%c0] full %g[%c0] : !v, <1, tensor<4096xbf16, #memory>, slack 8>, <1>
    …
    tile.mbarrier_wait %g[%c0] phase %c0 : <1>
    %t = tile.shared_load %b[%c0] shift %s below %n pad 0.0 : bf16
       : <1, tensor<4096xbf16, #memory>, slack 8> -> tensor<4096xbf16, #rows>
    ```
  }];
  let options = [Option<"sharedBytes", "shared-bytes", "uint64_t", "0", "bytes of shared memory of a CTA; 0: those of the chip">,
                 Option<"stages", "stages", "unsigned", "4", "the largest number of stages of a row in a loop">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileLowerTmaLoads : Pass<"tile-lower-tma-loads", "::mlir::ModuleOp"> {
  let summary = "load tiles into shared memory some iterations ahead with TMA";
  let description = [{
    Replaces loads of a loop by TMA loads that run `stages` - 1 iterations ahead, with a full
    barrier (an mbarrier) per stage. `num_stages` overrides `stages`.

    **Why.** One thread starts the copy of a whole tile. Other threads spend neither instructions
    nor registers on addresses.

    The layout of a stage is the one of 128, 64 or 32 bytes of swizzle from which the tile is read
    at the lowest cost. Where the CTAs of a cluster need different parts of a tile, each loads its
    part. In kernels with `wgmma = 1`:

    - operands of a later MMA have a full barrier of their own;
    - a load whose only use is a cast to tf32 has stages of tf32: the copy rounds;
    - the number of stages is reduced until they fit into shared memory;
    - a second loop that continues with the same tiles takes them from the same stages;
    - a tile of 16-bit elements and its transpose, both operands of MMAs, are in the same stages;
    - in a persistent kernel, the loads continue with the next output tile during the epilogue.

    **Input form.** Kernels with layouts, for a chip with TMA.

    **Output form.** The same, with `tile.tma_load`, `tile.mbarrier_wait` and `tile.shared_load` in
    place of loads and their conversions.

    **Declines.** Kernels with `use_tma = 0`. Loops in other loops, except in a persistent
    kernel with `wgmma`. Loops without maps and reductions, unless `use_tma = 1` is set:
    there, the warps that start the copies delay the others. Loops whose stages do not fit into
    shared memory. The pass also leaves a load alone

    - if its tile has fewer than two dimensions, elements of less than 8 bits, rows of less than 32
      bytes, or more than 256 elements along a dimension that is not contiguous;
    - if its view has more than five dimensions, strides that are zero or may be negative, or rows
      that do not start at multiples of 16 bytes;
    - if it pads with another value than zero, or the kernel writes to its view;
    - if its coordinates depend on anything but the induction variable and values from outside the
      loop.

    `tile-pipeline-loops` handles what is left.

    ```mlir
    scf.for %k = %c0 to %n step %c1 iter_args(%stage = %c0, %free = %c2, %iteration = %c0, …) {
      tile.mbarrier_wait %g[%stage] phase %iteration : <3>
      scf.if %exists {
        tile.tma_load %x[%m, %ahead] dims [0, 1] bounded into %b[%free] full %g[%free]
          : !v, <3, tensor<128x64xbf16, #swizzled>>, <3>
      }
      %a = tile.shared_load %b[%stage] : <3, tensor<128x64xbf16, #swizzled>> -> tensor<128x64xbf16, #fragments>
      …
    }
    ```
  }];
  let options = [Option<"stages", "stages", "unsigned", "3", "iterations in flight, including the current one">,
                 Option<"sharedBytes", "shared-bytes", "uint64_t", "0", "bytes of shared memory of a CTA; 0: those of the chip">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TilePipelineLoops : Pass<"tile-pipeline-loops", "::mlir::ModuleOp"> {
  let summary = "copy tiles into shared memory some iterations ahead with `cp.async`";
  let description = [{
    Replaces loads of a loop by `cp.async` copies that run `stages` - 1 iterations ahead, and reads
    the tiles from shared memory in the layout that their users need. `num_stages`
    overrides `stages`.

    **Why.** Loads then overlap the computation, and pass no registers.

    At the start of an iteration, threads wait for the oldest copies. After the barrier that
    `tile-place-barriers` inserts there, the stage that the previous iteration has read is free for
    the next copies.

    **Input form.** Kernels with layouts, for a chip with `cp.async`.

    **Output form.** The same, with `tile.cp_async`, `tile.cp_async_commit`, `tile.cp_async_wait`
    and `tile.shared_load` in place of loads and their conversions.

    **Declines.** The pass leaves a load alone

    - if its coordinates depend on anything but the induction variable and values from outside the
      loop;
    - if it pads with another value than zero, or reads a `tile.aligned_row`;
    - if threads do not load pieces of 16 bytes.

    It leaves a loop alone if its stages do not fit beside what the loop exchanges through shared
    memory.

    ```mlir
    scf.for %k = %c0 to %n step %c1 iter_args(%stage = %c0, …) {
      tile.cp_async_wait 1
      %a = tile.shared_load %buffer[%stage] : <3, tensor<128x64xbf16, #layout>> -> tensor<128x64xbf16, #fragments>
      …
    }
    ```
  }];
  let options = [Option<"stages", "stages", "unsigned", "3", "iterations in flight, including the current one">,
                 Option<"sharedBytes", "shared-bytes", "uint64_t", "0", "bytes of shared memory of a CTA; 0: those of the chip">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileBulkStoreRows : Pass<"tile-bulk-store-rows", "::mlir::ModuleOp"> {
  let summary = "store unaligned rows by bulk copies";
  let description = [{
    Replaces a store of an unaligned row by a write to shared memory and a bulk copy from there. If
    the row was read from a stage of the same misalignment that nothing reads later, each thread
    overwrites what it has read there. Otherwise the store has a stage of its own, or three in a
    loop. Each CTA of a cluster stores its part.

    **Why.** Threads that store such a row element by element write parts of memory sectors.

    **Input form.** Kernels with layouts, for a chip with TMA.

    **Output form.** The same, with `tile.shared_store`, `tile.bulk_store` and `tile.bulk_wait` in
    place of stores.

    **Declines.** The pass leaves a store alone

    - if its rank is not 1, or its row is not contiguous or starts at multiples of 16 bytes;
    - if the tile has less than 1 KiB, or consecutive lanes do not hold consecutive elements;
    - if several CTAs of a cluster hold the same elements;
    - if it is in a nested loop or a branch;
    - if shared memory does not suffice for it.

    ```mlir
    tile.shared_store %t, %b[%c0] shift %s : tensor<4096xbf16, #rows>, <1, tensor<4096xbf16, #memory>, slack 8>
    tile.bulk_store %b[%c0] to %y[%row, %c0] dims [1] bounded : <1, tensor<4096xbf16, #memory>, slack 8>, !v
    …
    tile.bulk_wait %b, 0 : <1, tensor<4096xbf16, #memory>, slack 8>
    ```
  }];
  let options = [Option<"sharedBytes", "shared-bytes", "uint64_t", "0", "bytes of shared memory of a CTA; 0: those of the chip">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TilePipelineMma : Pass<"tile-pipeline-mma", "::mlir::ModuleOp"> {
  let summary = "run an MMA of one iteration under the elementwise work of the next";
  let description = [{
    Moves an MMA that depends on another MMA of its iteration into the next iteration, after that
    iteration's first MMA. The loop carries its operands. The first iteration is peeled, and the last
    MMA follows the loop.

    **Why.** The tensor cores would be idle during the elementwise work between the MMAs. With this
    pass they compute the MMA of the previous iteration meanwhile. In attention, with scores, their
    softmax and the MMA with V, this is the MMA with V.

    **Input form.** Kernels with `wgmma = 1`, after `tile-lower-layout-conversions`.

    **Output form.** The same, with the loop inside a branch, since it may have no iteration.

    **Declines.** Kernels without it. The pass also leaves an MMA alone unless

    - the loop yields its result directly, and the next iteration reads this accumulator only after
      another MMA;
    - the iteration computes its left operand and its accumulator;
    - its right operand is read from a stage that TMA loads fill, with a full barrier of its own:
      right operands of two MMAs that depend on the same MMA share one;
    - the registers of a thread hold the left operand and both accumulators, with 48 registers left;
    - it is the first such MMA of the iteration: one MMA is delayed.

    ```mlir
    scf.for %t = %c1 to %n step %c1 iter_args(%sum, %weights, %before, …) {
      %scores = tile.mma %q, %k, %zero : …
      tile.mbarrier_wait %g[%before] phase %iteration : <2>
      %v = tile.shared_load %b[%before] : …
      %next = tile.mma %weights, %v, %sum : …
      …
    }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileLowerWgmma : Pass<"tile-lower-wgmma", "::mlir::ModuleOp"> {
  let summary = "lower MMAs of tiles in shared memory to `wgmma`";
  let description = [{
    Replaces MMAs by `tile.wgmma`, which reads its operands from shared memory; the left operand may
    also be in registers. A `tile.wgmma_fence` precedes it, and a `tile.wgmma_commit` follows.
    Consecutive MMAs share them.

    **Why.** A warpgroup starts an MMA and continues. No warp waits for fragments or holds them in
    registers.

    Where the result is waited for depends on its use:

    | use of the accumulator | wait |
    | --- | --- |
    | the loop only adds to it | the MMAs of one iteration stay in flight during the next; the loads that refill a stage follow this wait |
    | the next iteration reads it after its own first MMA | after that MMA |
    | anything else | before the first use, with later MMAs in flight |

    An MMA of two stages that follows elementwise work on the result of the first MMA of the
    iteration moves up behind that MMA, if threads have registers for both results: it runs under
    the work. ptxas requires that no MMA runs while threads compute a left operand in registers:
    MMAs with such operands then move behind the last one of them.

    **Input form.** Kernels with `wgmma = 1`, after `tile-lower-layout-conversions`.

    **Output form.** The same, with `tile.wgmma`, `tile.wgmma_fence`, `tile.wgmma_commit` and
    `tile.wgmma_wait`.

    **Declines.** Kernels without it. The pass also leaves an MMA alone

    - if its operands are not bf16, f16 or tf32, or its accumulator is not f32;
    - if its accumulator is not in the layout of warpgroups (64 rows each), or a CTA has more than
      256 columns of it;
    - if its right operand is not read, unshifted and unsliced, from a stage in a layout that
      `wgmma` supports;
    - if its left operand is neither read so nor in the register layout of `wgmma`, or is tf32 in
      registers;
    - if something with side effects is between the reads and the MMA.

    `tile-prefetch-mma-operands` handles what is left.

    ```mlir
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc, %stage, %free, %iteration) {
      tile.mbarrier_wait %g[%stage] phase %iteration : <4>
      tile.wgmma_fence
      %next = tile.wgmma %a[%stage], %b[%stage], %acc : …
      tile.wgmma_commit
      tile.wgmma_wait 1
      tile.barrier
      scf.if %exists {
        tile.tma_load %x[%m, %ahead] dims [0, 1] bounded into %a[%free] full %g[%free] : …
      }
      …
    }
    %done = tile.wgmma_wait 0, %sum : …
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileReleaseStages : Pass<"tile-release-stages", "::mlir::ModuleOp"> {
  let summary = "release pipeline stages at empty barriers, one arrival per warp";
  let description = [{
    Gives stages that `tile.tma_load` fills and `tile.wgmma` alone reads an empty barrier. After the
    wait for an MMA, each warp arrives at the stage's empty barrier, and the load that refills the
    stage waits there (`empty … phase`).

    **Why.** A CTA barrier in each iteration keeps all warpgroups at the same point: all multiply,
    then all work on results. With empty barriers, warpgroups drift apart, and some multiply while
    others do not.

    A loop that keeps its MMAs in flight releases the stage of the previous iteration.

    **Input form.** Kernels with `wgmma = 1`, after `tile-lower-wgmma`.

    **Output form.** The same, with a second `tile.mbarrier_alloc`, `tile.mbarrier_arrive`, and the
    operands `empty` of loads.

    **Declines.** Kernels of a single warpgroup, and kernels with `min_ctas_per_sm` above 1, whose
    CTAs drift apart anyway. The pass also leaves the stages of a full barrier alone

    - if anything but a `tile.wgmma` reads them;
    - if their MMAs are waited for at different points of an iteration;
    - if a refill is not in an `scf.if` after the wait of its iteration.

    `tile-place-barriers` handles what is left.

    ```mlir
    scf.for %i = %c0 to %n step %c1 iter_args(%stage, %free, %iteration, …) {
      tile.mbarrier_wait %g[%stage] phase %iteration : <3>
      scf.if %exists {
        tile.tma_load %x[%m, %ahead] dims [0, 1] into %b[%free] full %g[%free] empty %left[%free] phase %before : …
      }
      …
      %s = tile.wgmma_wait 1, %product : …
      tile.mbarrier_arrive %left[%stage] : <3>
    }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileTmaMulticast : Pass<"tile-tma-multicast", "::mlir::ModuleOp"> {
  let summary = "load tiles that all CTAs of a cluster read once, by multicast";
  let description = [{
    Lets each CTA of a cluster load a part of a tile that all of them read, and multicast it to all
    (`multicast`).

    **Why.** If the MMAs of a cluster are spread along one operand (`cluster_axis`), all CTAs read
    the same tiles of the other operand. Multicast reads them from L2 once.

    A stage is refilled when all CTAs have released it: warps arrive at the empty barriers of all
    CTAs (`tile.mbarrier_arrive cluster`), and only where the stage is refilled, so that no CTA
    exits while others still arrive at its barriers. The first loads wait until all CTAs have
    initialized their mbarriers (`tile.cluster_arrive`, `tile.cluster_wait`).

    **Input form.** Kernels with a `cluster_size` of 2 or more, after `tile-release-stages`.

    **Output form.** The same, with `multicast` loads.

    **Declines.** Kernels with a `tile.cluster_arrive`. The pass also leaves the stages of a full
    barrier alone

    - if no tile of them is the same in all CTAs and can be divided by their number;
    - if they have no empty barrier, or share one with other stages;
    - if a release is not followed by its refill in the same iteration.

    ```mlir
    tile.wgmma_wait 1
    scf.if %exists {
      tile.mbarrier_arrive cluster %left[%free] : <4>
      tile.tma_load %x[%m, %ahead] dims [0, 1] multicast into %a[%free] full %g[%free] empty %left[%free] phase %iteration : …
      tile.tma_load %w[%ahead, %n] dims [0, 1] into %b[%free] full %g[%free] warp 1 empty %left[%free] phase %iteration : …
    }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TilePrefetchMmaOperands : Pass<"tile-prefetch-mma-operands", "::mlir::ModuleOp"> {
  let summary = "read MMA fragments one k-step before tensor cores need them";
  let description = [{
    Splits an MMA of tiles in shared memory into k-steps of the instruction's depth. Each step reads
    its fragments while the MMA of the previous step runs.

    **Why.** Tensor cores would otherwise wait for shared memory.

    In a pipelined loop, the reads of the first k-step move into the previous iteration, before its
    last MMA, with the wait and the barrier that precede them. The loop carries the fragments. So
    that the last iteration can read ahead, copies beyond the end fill their stages with zeros.
    Copies are placed between the MMAs, and one barrier per iteration is enough.

    **Input form.** Kernels after `tile-lower-layout-conversions`. MMAs that became `tile.wgmma`
    need no fragments.

    **Output form.** The same, with one `tile.mma` per k-step and `tile.shared_load … at`.

    **Declines.** The pass leaves an MMA alone

    - if it is outside a loop, has no tensor core instruction, or has a single k-step;
    - if an operand is not read from shared memory in the same block, has other uses, or may change
      before the MMA;
    - if the parts of a k-step are not multiples of 16 bytes apart.

    It does not move the reads of the first k-step if the loop has no wait before them, if stages
    are read after the last MMA, or if the buffers are filled otherwise than by conditional copies
    of this loop.

    ```mlir
    scf.for … iter_args(%acc, %a0, %b0, %stage, %free) {
      %a1 = tile.shared_load %a[%stage] at [0, 16] : …
      %b1 = tile.shared_load %b[%stage] at [16, 0] : …
      tile.cp_async %x[%m, %ahead] dims [0, 1] if %exists into %a[%free] via #rows : …
      …
      %acc0 = tile.mma %a0, %b0, %acc : …
      tile.cp_async_wait 1
      tile.barrier
      %a2 = tile.shared_load %a[%next] at [0, 0] : …
      %b2 = tile.shared_load %b[%next] at [0, 0] : …
      %acc1 = tile.mma %a1, %b1, %acc0 : …
    }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileAllocateShared : Pass<"tile-allocate-shared", "::mlir::ModuleOp"> {
  let summary = "assign buffers an offset in shared memory";
  let description = [{
    Gives every `tile.alloc` and `tile.mbarrier_alloc` an offset.

    **Why.** Buffers with disjoint lifetimes share memory, so that more CTAs fit on an SM.

    A lifetime goes from the first access to the last. A buffer that is allocated before a loop and
    used in it lives for the whole loop. Mbarriers, buffers that other CTAs write, and stages of
    multicast loads live from the start of the kernel. The lifetime of a buffer of at most 2 KiB is
    extended to the end of the next exchange, which saves the barrier between the two. The largest
    buffer is placed first, each at the lowest free offset.

    **Input form.** Kernels after `tile-lower-layout-conversions`.

    **Output form.** The same, with offsets.

    **Declines.** Never. A kernel that needs more shared memory than a CTA has is an error.

    ```mlir
    %a = tile.alloc offset 0 : <1, tensor<64x64xf32, #memory>>
    …
    %b = tile.alloc offset 0 : <1, tensor<64x64xbf16, #other>>
    ```
  }];
}

def TilePlaceBarriers : Pass<"tile-place-barriers", "::mlir::ModuleOp"> {
  let summary = "insert barriers between conflicting accesses to shared memory";
  let description = [{
    Inserts a `tile.barrier` between two accesses to the same memory if one of them writes. The
    barrier is one of the CTA if different warps make the accesses, and one of the warp otherwise.

    **Why.** Earlier passes need not insert barriers, and none is redundant.

    The pass follows all paths through a kernel, around loops as well, with the accesses since the
    last barrier. It inserts a barrier before the first operation that needs one, or before the loop
    or branch around it if that is enough. Existing barriers count.

    **Input form.** Kernels with offsets in shared memory (`tile-allocate-shared`).

    **Output form.** Placed Tile IR, which the code generator and the simulator accept.

    **Declines.** Accesses that an mbarrier, a wait or an existing barrier orders.

    ```mlir
    tile.shared_store %p, %b[%c0] : tensor<4x4xf32, #parts>, <1, tensor<4x4xf32, #memory>>
    tile.barrier
    %a = tile.shared_load %b[%c0] : <1, tensor<4x4xf32, #memory>> -> tensor<4x4xf32, #all>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileJoinWgmma : Pass<"tile-join-wgmma", "::mlir::ModuleOp"> {
  let summary = "compute two narrow warpgroup MMAs with the same left operand by one instruction";
  let description = [{
    Marks the first of two consecutive `tile.wgmma` with `join`, whose value is the distance of the
    right operands in bytes. The instruction sees them as the swizzle spans of one matrix. It finds
    spans at one distance, so that right operands of one span each can be joined. The pass joins
    pairs, and a remark names an MMA that a pair leaves.

    **Why.** An instruction reads the rows of its left operand from shared memory for all of its
    columns. With twice as many columns, two MMAs read them once. The MMAs of the two halves of RoPE
    are of this kind, and those of a gated unit with narrow tiles.

    **Input form.** Placed Tile IR in which buffers have offsets (`tile-allocate-shared`) and
    barriers are in place.

    **Output form.** The same operations, some with `join`.

    **Declines.** The pass leaves two MMAs alone

    - if the left operands differ or are in registers;
    - if a right operand is not one swizzle span of columns;
    - if the first is the second of another pair;
    - if both together have more than 256 columns;
    - in a cluster that divides the accumulator;
    - if the second buffer is not after the first within the 256 KiB of a descriptor.

    ```mlir
    %2 = tile.wgmma %x[%s], %w[%s], %0 join 8192 : !x, !w, !acc
    %3 = tile.wgmma %x[%s], %v[%s], %1 : !x, !w, !acc
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileFenceWgmma : Pass<"tile-fence-wgmma", "::mlir::ModuleOp"> {
  let summary = "mark where warpgroup MMAs need fences of their own";
  let description = [{
    Marks `tile.wgmma` with `fence` if the warp moves the accumulator into its registers first: neither
    another `tile.wgmma` nor a block argument, such as a value that a loop carries, is the accumulator.
    Marks it with `fence_rows` if it has several blocks of rows, and the warp moves accumulators or
    rows of the left operand into registers for each.

    **Why.** A `wgmma` that reads registers needs a fence after the last write to them. The
    `tile.wgmma_fence` of a commit group comes before the first MMA of the group; the compiler moves
    values into the registers of later instructions after it.

    **Input form.** Placed Tile IR with joined MMAs (`tile-join-wgmma`).

    **Output form.** The same operations, some with `fence` and `fence_rows`.

    **Declines.** The second of two joined MMAs; the first has the fences of both.

    ```mlir
    tile.wgmma_fence
    %2 = tile.wgmma %x[%s], %w[%s], %zero fence : !x, !w, !acc
    %3 = tile.wgmma %p, %v[%s], %o fence_rows : !p, !w, !acc
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileOrderWgmmaWaits : Pass<"tile-order-wgmma-waits", "::mlir::ModuleOp"> {
  let summary = "keep reductions before the wait for a warpgroup MMA";
  let description = [{
    Adds `after` to a `tile.wgmma_wait`: the result of the last reduction since the previous commit
    or wait.

    **Why.** ptxas moves a wait up over computations that do not depend on it, which then no longer
    overlap with the MMA. In attention, the maximum of the scores is computed while the MMA with V
    runs. With `after`, the code generator emits an instruction that uses the reduction and that
    ptxas moves no wait over.

    **Input form.** Placed Tile IR.

    **Output form.** The same operations, some waits with `after`.

    **Declines.** Waits without such a reduction in their block, and reductions whose result is not
    f32 or takes more than 4 registers per thread.

    ```mlir
    %max = tile.reduce max %s dims [1] : tensor<128x128xf32, #sums> -> tensor<128xf32, #rows>
    …
    %o = tile.wgmma_wait 0, %acc : tensor<128x128xf32, #sums> after %max : tensor<128xf32, #rows>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TilePrintAccesses : Pass<"tile-print-accesses", "::mlir::ModuleOp"> {
  let summary = "print which instructions access global and shared memory";
  let description = [{
    Prints a line for each access of a placed kernel: how many elements one instruction moves, along
    which dimensions coordinates are compared with the tensor's size, whether elements outside of
    the tensor get the pad, `ldmatrix` and `stmatrix`, loads that an MMA issues fragment by
    fragment, and to which CTAs of a cluster a tile is stored.

    **Why.** The analysis (`include/tessera/Dialect/Tile/Analysis/Accesses.h`) is what the PTX code
    generator emits. Its decisions depend on layouts, alignment and known sizes. The printed form
    shows why a kernel has narrow accesses.

    **Input form.** Placed Tile IR of a module with a target.

    **Output form.** The module is unchanged.

    **Declines.** Never. A tile without a layout is an error.

    ```
    accesses of @add
      tile.load 512xf32: 4 x 4 bytes, checks dims [1], needs no pad
      tile.store 512xf32: 4 x 4 bytes, checks dims [1]
    ```
  }];
}

#endif
