//===- GpuPasses.td - Passes on Tile IR for our own GPU code -*- tablegen -*-===//
//
// From a program on whole tiles to one that says which thread holds what, in the order in which the PTX back end runs most of them.
// Passes.td includes this file.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_TRANSFORMS_GPU_PASSES
#define TESSERA_DIALECT_TILE_TRANSFORMS_GPU_PASSES

include "mlir/Pass/PassBase.td"

def TilePersistentLoop : Pass<"tile-persistent-loop", "::mlir::ModuleOp"> {
  let summary = "let a block take several programs, one after the other";
  let description = [{
    Kernels with the hint `tiles_per_cta = N` and a grid of one dimension run N neighbouring programs in a loop, so that the copies
    of the next one are in flight while a program is worked on. What all of them read element by element, since it ends anywhere,
    is read once, in front of the loop.

    Of kernels with the hint `persistent_ctas = N` there are N blocks at most, which stay: each takes the programs block, block + N, … of a grid of any
    dimensions, in the order that the hint `raster_group` says. Both hints go with that; where a kernel is launched in several places, some programs have longer loops than others, or programs exchange
    more than the one tile that they store, the first one alone.

    ```mlir
    tile.launch @k grid ["ceildiv(M, 8)"] (%x, %y) views [ … ] sizes ["M"] : …
    tile.kernel @k(%x: !v, %y: !v, %programs: index) grid 1 hints {tiles_per_cta = 8} {
      …
      scf.for %i = %first to %end step %c1 {
        %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : f32 : !v -> tensor<1024xf32>
        …
      }
      tile.return
    }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileDecoupleEpilogue : Pass<"tile-decouple-epilogue", "::mlir::ModuleOp"> {
  let summary = "let each warp of a persistent CTA end a program by itself";
  let description = [{
    Where a block stays, some of its warps can store a program's results while others still multiply, as long as they do not meet, and as long as
    results do not lie where the next program's tiles come in. In loops over programs (`tile-persistent-loop`), what is exchanged
    between all warps before it is stored is exchanged within each warp instead, 128 bytes of a row at a time, by stages of a buffer for that;
    rows of operands that all warps take are loaded by each of them. Tiles that warps do not hold so are left alone.

    Before:
    ```mlir
    %1 = tile.convert %0 : tensor<128x256xbf16, #sums> -> tensor<128x256xbf16, #rows>
    tile.store %1, %y[%i, %j] dims [0, 1] bounded : tensor<128x256xbf16, #rows>, !v
    ```
    After, for each of four parts:
    ```mlir
    %1 = tile.slice %0 at [0, 64] : tensor<128x256xbf16, #sums> -> tensor<128x64xbf16, #part>
    tile.shared_store %1, %b[%c1] : tensor<128x64xbf16, #part>, <2, tensor<128x64xbf16, #memory>>
    %2 = tile.shared_load %b[%c1] : <2, tensor<128x64xbf16, #memory>> -> tensor<128x64xbf16, #wide>
    tile.store %2, %y[%i, %k] dims [0, 1] bounded : tensor<128x64xbf16, #wide>, !v
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileClusterSplitK : Pass<"tile-cluster-split-k", "::mlir::ModuleOp"> {
  let summary = "let the blocks of a cluster share what a product sums over";
  let description = [{
    Of few programs that sum over many elements each has several blocks (the hint `cluster_size`). Each block takes its part of
    every product and has its own sums, which a loop may carry, and from it one behind it, over what whole tiles leave; behind
    the products one reduction joins them. All products of the kernel are one chain, and nothing else looks at its sums. Where
    that is not so, or a block would not have a step of tensor cores, the hint goes.

    Before, in a kernel with `hints {cluster_size = 8}`:
    ```mlir
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<64x32xf32>) {
      %b = tile.mma %x, %w, %a : (tensor<64x512xbf16>, tensor<512x32xbf16>, tensor<64x32xf32>) -> tensor<64x32xf32>
      scf.yield %b : tensor<64x32xf32>
    }
    ```
    After:
    ```mlir
    %p = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zeros) -> (tensor<8x64x32xf32>) {
      %b = tile.mma %x, %w, %a : (tensor<64x512xbf16>, tensor<512x32xbf16>, tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
      scf.yield %b : tensor<8x64x32xf32>
    }
    %s = tile.reduce sum %p dims [0] : tensor<8x64x32xf32> -> tensor<64x32xf32>
    ```
  }];
}

def TilePerElementPartials : Pass<"tile-per-element-partials", "::mlir::ModuleOp"> {
  let summary = "join tiles within a loop, and their elements behind it";
  let description = [{
    A reduction makes threads wait for each other. Where a loop joins what it carries with the reduction of a tile, it
    carries a tile instead, which each step joins element by element, and one reduction follows the loop. The order of
    joining is another one, and as fixed as the one before.

    Before:
    ```mlir
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<1024xf32>) {
      %r = tile.reduce sum %x dims [0] : tensor<16x1024xf32> -> tensor<1024xf32>
      %b = tile.map add(%a, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
      scf.yield %b : tensor<1024xf32>
    }
    ```
    After:
    ```mlir
    %t = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zeros) -> (tensor<16x1024xf32>) {
      %b = tile.map add(%a, %x) : (tensor<16x1024xf32>, tensor<16x1024xf32>) -> tensor<16x1024xf32>
      scf.yield %b : tensor<16x1024xf32>
    }
    %r = tile.reduce sum %t dims [0] : tensor<16x1024xf32> -> tensor<1024xf32>
    %s = tile.map add(%zero, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    ```
  }];
  let options = [Option<"most", "most", "unsigned", "32", "elements that a thread may carry so through a loop">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileAlignAccesses : Pass<"tile-align-accesses", "::mlir::ModuleOp"> {
  let summary = "move the tiles of unaligned rows to multiples of 16 bytes";
  let description = [{
    Where rows of elements of less than 4 bytes begin at no multiple of 16 bytes, threads would have to take their elements one by
    one. Loops that walk along such a row, over its whole tiles and over what is left behind them, walk along a `tile.aligned_row` instead,
    whose tiles begin at such multiples: what is in front of the row's first element is left out or padded as what is behind its last one.
    What is done to the padded rest of a row is done to all of its tiles.

    That needs a kernel whose loops all walk along the same row, which more than one of them reads, over rows of other views that begin
    as far behind such a multiple; that carry numbers alone; and that do nothing in which an element's place counts. Which of a
    row's elements are summed up together then depends on where it begins, so that rows stay as they are under the policy
    `batch_invariant`.

    ```mlir
    %r = tile.aligned_row %x[%pid0] dim 1 : !v -> !tile.view<?xbf16, strides = [1]>
    %n = tile.dim %r, 0 : !tile.view<?xbf16, strides = [1]>
    %whole = arith.divui %n, %c4096 : index
    %all = arith.ceildivsi %n, %c4096 : index
    scf.for %i = %c0 to %whole step %c1 {
      %t = tile.load %r[%i] dims [0] pad 0.0 : bf16 : !tile.view<?xbf16, strides = [1]> -> tensor<4096xbf16>
      …
    }
    scf.for %i = %whole to %all step %c1 { … }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TilePerThreadPartials : Pass<"tile-per-thread-partials", "::mlir::ModuleOp"> {
  let summary = "give each thread statistics of its own while a row is walked";
  let description = [{
    Where a loop joins a number that it carries with the reduction of a tile of one dimension, it carries a tile instead,
    with an element for each thread. A step joins what a thread holds, and one reduction follows the loop. So do loops that carry the largest
    exponent so far and sums of powers relative to it: a thread's sums are relative to its own maximum, and behind the loop
    they are brought to the common one by the factor that the loop has for that. And so do loops that carry the largest
    element so far and what belongs to elements equal to it, such as their least position. A second loop that goes on with the
    numbers of the first takes the tiles. Numbers that begin and go on alike are one before that; a maximum that may leave
    out nan is one that does not, where the loop has both of a tile.

    Before:
    ```mlir
    %m, %s = scf.for … iter_args(%a = %lowest, %b = %zero) -> (tensor<f32>, tensor<f32>) {
      %r = tile.reduce max %x dims [0] : tensor<2048xf32> -> tensor<f32>
      %c = tile.map maximum(%a, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %f = … // exp2((%a - %c) * k)
      %w = … // exp2((%x - %c) * k)
      %t = tile.reduce sum %w dims [0] : tensor<2048xf32> -> tensor<f32>
      %d = … // %b * %f + %t
    ```
    After, with 128 threads that hold 8 neighbours each:
    ```mlir
    %ms, %ss = scf.for … iter_args(%a = %lowests, %b = %zeros) -> (tensor<128xf32>, tensor<128xf32>) {
      %y = tile.reshape %x : tensor<2048xf32> -> tensor<2x128x8xf32>
      %r = tile.reduce max %y dims [0, 2] : tensor<2x128x8xf32> -> tensor<128xf32>
      …
    }
    %m = tile.reduce max %ms dims [0] : tensor<128xf32> -> tensor<f32>
    %s = … // the sum of %ss * exp2((%ms - %m) * k)
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileCacheRows : Pass<"tile-cache-rows", "::mlir::ModuleOp"> {
  let summary = "keep in shared memory the rows that are walked again";
  let description = [{
    Where several loops load the same tiles of a view, one tile after the other, the first of them leaves the tiles in shared
    memory, a stage for each, and the others read them there. Copies of all tiles are begun before the first loop, `ahead`
    at most, in groups that it waits for one by one; unaligned rows, and those of `tile.aligned_row`, are loaded as they are, on chips that do
    (sm_90 and later), with an mbarrier for each tile; others that cannot be copied by 16 bytes are written behind their loads. How many tiles
    there are at most must be known, and they must fit beside what the kernel exchanges through shared memory. The hint `min_ctas_per_sm` says how
    many blocks share an SM's; kernels that have it keep the first tiles of longer rows, by loops that are split.

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
  let options = [Option<"ahead", "ahead", "unsigned", "32", "tiles whose copies are in flight at once">,
                 Option<"most", "most", "uint64_t", "0", "bytes of shared memory of a block, 0 for those of the chip">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileBulkLoadRows : Pass<"tile-bulk-load-rows", "::mlir::ModuleOp"> {
  let summary = "bring unaligned rows into shared memory by copies of the machine";
  let description = [{
    A load of a tile of rank 1 with elements of less than 4 bytes, whose rows begin at no multiple of 16 bytes, becomes a `tile.bulk_load` into a stage with some slack, a
    `tile.mbarrier_wait` at its mbarrier, and a `tile.shared_load` behind as many elements as the row begins with. Each block of a cluster loads the
    part that its threads hold. Rows of a loop
    that walks along them, or from one to the next, are in flight `stages` - 1 iterations ahead (the hint `num_stages` overrides `stages`), or fewer where memory is short; a loop
    that goes on where that one ends takes its rows from the same stages.

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
  let options = [Option<"most", "most", "uint64_t", "0", "bytes of shared memory of a block, 0 for those of the chip">,
                 Option<"stages", "stages", "unsigned", "4", "stages of each row in a loop at most">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileBulkStoreRows : Pass<"tile-bulk-store-rows", "::mlir::ModuleOp"> {
  let summary = "store unaligned rows by copies of the machine from shared memory";
  let description = [{
    A store of a tile of rank 1 whose rows begin at no multiple of 16 bytes becomes a `tile.shared_store` into a stage of shared memory and
    a `tile.bulk_store` from there. Where the tile was made of one that was read from such a stage for the last time, each thread writes
    over what it has read; else the store has a stage of its own, or three in a loop along a row or from row to row. Each block of a cluster sends its part; what
    several blocks hold is stored by one.

    ```mlir
    tile.shared_store %t, %b[%c0] shift %s : tensor<4096xbf16, #rows>, <1, tensor<4096xbf16, #memory>, slack 8>
    tile.bulk_store %b[%c0] to %y[%row, %c0] dims [1] bounded : <1, tensor<4096xbf16, #memory>, slack 8>, !v
    …
    tile.bulk_wait %b, 0 : <1, tensor<4096xbf16, #memory>, slack 8>
    ```
  }];
  let options = [Option<"most", "most", "uint64_t", "0", "bytes of shared memory of a block, 0 for those of the chip">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TilePredicateGathers : Pass<"tile-predicate-gathers", "::mlir::ModuleOp"> {
  let summary = "add up an element at one position only in the step of a loop that has it";
  let description = [{
    Where a loop adds `where(eq(iota, p), x, 0)` to what it carries, all of it in placed tiles, the comparison, the choice, their
    sum within warps and the addition come under the condition that `p` lies in the step's tile: all other steps would add zeros.

    ```mlir
    %at = tile.extract %p : tensor<i64, #one> -> index
    %place = arith.subi %at, %first : index
    %inside = arith.cmpi ult, %place, %c1024 : index
    %next = scf.if %inside -> (tensor<1024xf32, #rows>) {
      %is = tile.map eq(%positions, %wanted) : (tensor<1024xi64, #rows>, tensor<1024xi64, #rows>) -> tensor<1024xi1, #rows>
      …
      scf.yield %sum : tensor<1024xf32, #rows>
    } else {
      scf.yield %before : tensor<1024xf32, #rows>
    }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TilePipelineLoops : Pass<"tile-pipeline-loops", "::mlir::ModuleOp"> {
  let summary = "copy tiles into shared memory some steps before a loop needs them";
  let description = [{
    Loads of a loop that are converted to another layout, and whose place is known steps ahead, become `tile.cp_async`s into a
    buffer with a stage for each step that is in flight, and a `tile.shared_load` takes the place of the conversion. At the
    head of the loop the threads wait for the oldest copies; behind a barrier, which `tile-place-barriers` puts there, the
    stage that was read in the step before is free for the next copies. Loops whose copies would leave too little memory
    for their conversions stay as they are.

    ```mlir
    scf.for %k = %c0 to %n step %c1 iter_args(%stage = %c0, …) {
      tile.cp_async_wait 1
      %a = tile.shared_load %buffer[%stage] : <3, tensor<128x64xbf16, #layout>> -> tensor<128x64xbf16, #fragments>
      …
    }
    ```
  }];
  let options = [Option<"stages", "stages", "unsigned", "3", "steps in flight, the current one included">,
                 Option<"most", "most", "uint64_t", "0", "bytes of shared memory of a block, 0 for those of the chip">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileLowerTmaLoads : Pass<"tile-lower-tma-loads", "::mlir::ModuleOp"> {
  let summary = "bring tiles that a loop streams into shared memory by tensor copies of the machine";
  let description = [{
    A load of a tile of two dimensions or more in a loop, whose place is known iterations ahead, becomes a `tile.tma_load` of a box some iterations before,
    a `tile.mbarrier_wait` at its mbarrier, and a `tile.shared_load` in place of the load or of its conversion. Of the layouts that tensor copies write, the one
    is taken from which the read costs least; it swizzles spans of 128 bytes where rows are that long. The view has at
    most five dimensions, known to begin and to step by multiples of 16 bytes, none of them backward; what the load pads with is zero.
    Where the blocks of a cluster want different parts of a tile, each has room for its part and loads that.
    Loops of which an iteration makes nothing but products take it with the hint `use_tma = 1` alone: there the warps that begin copies keep the
    others waiting. With the hint `wgmma = 1`, what is taken only behind a product that takes other tiles has an mbarrier of its own, and a loop behind
    this one that goes on with the same tiles takes them from the same stages, which are filled without a gap. Kernels with the hint `use_tma = 0`, other loads, and loops that have too little memory stay as they are: `tile-pipeline-loops` takes them.

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
  let options = [Option<"stages", "stages", "unsigned", "3", "iterations in flight, the current one included">,
                 Option<"most", "most", "uint64_t", "0", "bytes of shared memory of a block, 0 for those of the chip">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TilePipelineMma : Pass<"tile-pipeline-mma", "::mlir::ModuleOp"> {
  let summary = "begin a product of a loop in the next iteration, beside that iteration's other work";
  let description = [{
    In kernels with the hint `wgmma = 1`, tensor cores multiply while warps go on. A product at the end of an iteration, whose sums the next
    iteration takes only behind a product of its own, is begun in the next iteration, behind that one: what the iteration computes of its first product is
    computed meanwhile. The loop carries what the product takes. Its first iteration stands before the loop, without
    the product, and the last iteration's product behind the loop; all of it stands in a branch, since the loop may have no iteration.

    A product waits so whose right operand is read from a stage that tensor copies fill, with an mbarrier of its own, and whose left operand an iteration
    computes, if the registers of a thread hold it beside the sums of both.

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
  let summary = "let warpgroups begin products of tiles in shared memory";
  let description = [{
    In kernels with the hint `wgmma = 1`, a product of bf16 or f16 whose sums warpgroups hold, 64 rows each, and whose right operand is read from a stage that tensor
    copies have written, becomes a `tile.wgmma`, which reads the stage itself. The left operand is read so as well, or stays in
    registers. A `tile.wgmma_fence` stands before it and a `tile.wgmma_commit` behind; products that follow each other share them.
    So does one that is summed in parts by the blocks of a cluster (`tile-cluster-split-k`): each block multiplies what its own stages hold.

    Where a loop does nothing with the sums but add to them, they are in flight from iteration to iteration: an iteration waits for the products of the iteration
    before, while its own go on, and then asks for the tiles that take the stage of that iteration. Behind the loop all are waited for. Sums that
    a loop carries for something else to take in the next iteration are waited for there, behind the first products that it begins. Other sums are waited for where they are taken, while products that were begun since go on; what
    fills their stages comes behind that. Other products stay as they are: `tile-prefetch-mma-operands` takes them.

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
  let summary = "let warps give stages back at mbarriers in place of barriers";
  let description = [{
    In kernels of several warpgroups, stages that `tile.tma_load` fills and `tile.wgmma` alone reads are given back at mbarriers: behind
    the wait for a product each warp tells the stage's mbarrier so, and the copy that fills the stage again waits there (`after`). No barrier is
    needed in an iteration, so that groups come to be in different places of it; where several blocks share an SM, these are. A loop that
    has its products in flight tells of the iteration before. Stages of which products are waited for in different ways, or which others read,
    stay as they are: `tile-place-barriers` takes them.

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
  let summary = "let each block of a cluster bring a part of what all of them read";
  let description = [{
    Where the blocks of a cluster read the same tile, as they do of one operand of products that are spread over them, each would bring it for
    itself. Here a tile whose stages all blocks have alike comes once: each block asks for a part, and the machine delivers that to all (`multicast`). A
    stage is filled again when all blocks have left it, so that warps tell the mbarriers of all blocks (`tile.mbarrier_arrive cluster`), there where the stage is
    to be filled and only then: who waits has heard of all who tell, and no block ends before. Nothing is brought before all blocks have made
    their mbarriers (`tile.cluster_arrive`, `tile.cluster_wait`). Stages that warps do not give back at mbarriers (`tile-release-stages`), in the iteration that fills them, stay as they are.

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
  let summary = "read the fragments of a product a step before tensor cores need them";
  let description = [{
    A product of tiles that are read from shared memory is made in steps of its instruction's depth: each reads its own
    part of the tiles, while the product of the step before is made.

    In a loop that copies run ahead of, the reads of the first step go round: they are made before the last product of
    the iteration before, behind the wait and the barrier that stood before them, and the loop carries what they give. So that
    there is something to read in the last iteration, copies of steps that there are not fill their stages with zeros. The copies
    stand between the products, and one barrier is enough for an iteration.

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

def TileLowerLayoutConversions : Pass<"tile-lower-layout-conversions", "::mlir::ModuleOp"> {
  let summary = "make everything that goes through shared memory a write and a read";
  let description = [{
    Conversions that shuffles do not make within a warp for less become a buffer, a `tile.shared_store` and a `tile.shared_load`, in the
    arrangement without bank conflicts that lib/Layout finds. A reduction across warps becomes a `tile.warp_reduce`, a conversion
    after which threads have the parts of all warps, and a reduction in registers. A scan across warps becomes one of
    the runs that a warp holds, one of the runs' totals, which each warp makes for itself, and a join of the two. Products without tensor cores become
    `tile.mma_shared`. Reads stand where they are needed first, so that what is written before shares a barrier.

    Before:
    ```mlir
    %m = tile.reduce max %x dims [1] : tensor<4x1024xf32, #rows> -> tensor<4xf32, #row>
    ```
    After:
    ```mlir
    %p = tile.warp_reduce max %x dims [1] : tensor<4x1024xf32, #rows> -> tensor<4x4xf32, #parts>
    %b = tile.alloc : <1, tensor<4x4xf32, #memory>>
    tile.shared_store %p, %b[%c0] : tensor<4x4xf32, #parts>, <1, tensor<4x4xf32, #memory>>
    %a = tile.shared_load %b[%c0] : <1, tensor<4x4xf32, #memory>> -> tensor<4x4xf32, #all>
    %m = tile.reduce max %a dims [1] : tensor<4x4xf32, #all> -> tensor<4xf32, #row>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileAllocateShared : Pass<"tile-allocate-shared", "::mlir::ModuleOp"> {
  let summary = "say where buffers lie in shared memory";
  let description = [{
    Gives every `tile.alloc` an offset. Buffers lie in the same memory if the time from the first access to the last is
    over for one before it begins for the other; a buffer that a loop uses, and that is made before it, is taken for the whole loop.
    Small buffers of neighbouring exchanges lie apart all the same, which saves a barrier between them. It is an
    error if a kernel needs more than a block has.

    ```mlir
    %a = tile.alloc offset 0 : <1, tensor<64x64xf32, #memory>>
    …
    %b = tile.alloc offset 0 : <1, tensor<64x64xbf16, #other>>
    ```
  }];
}

def TilePlaceBarriers : Pass<"tile-place-barriers", "::mlir::ModuleOp"> {
  let summary = "put barriers where accesses to shared memory would meet";
  let description = [{
    Two accesses of the same memory of which one writes need a barrier between them: of the block if different warps make
    them, of the warp if each warp meets only itself. The pass walks through a kernel with the accesses that lie behind
    the last barrier on any way, around loops as well, and puts a barrier before the first operation that needs one;
    before the loop or the branch that it is in where that is enough. Barriers that are there count.

    ```mlir
    tile.shared_store %p, %b[%c0] : tensor<4x4xf32, #parts>, <1, tensor<4x4xf32, #memory>>
    tile.barrier
    %a = tile.shared_load %b[%c0] : <1, tensor<4x4xf32, #memory>> -> tensor<4x4xf32, #all>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileAssignLayouts : Pass<"tile-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "say which registers of which threads hold each tile";
  let description = [{
    The first step to placed programs. Each tile gets a `#tile.layout` over the registers, lanes and warps of a block, and
    `tile.convert` stands where an operation needs an operand otherwise than it is. Layouts are asked for from the end
    backward: stores want wide accesses by neighbouring lanes, elementwise operations want their operands as their result
    is, broadcasts want a part of that; reductions leave a tile with what their operand's threads hold, and products are
    as tensor cores have them. What becomes of sums that warpgroups have made is computed where these hold them, and is
    converted when it was rounded to fewer bits; a sum alone goes where another operand is loaded, if that is as many bytes. Constants are made where they are wanted. Of products that the blocks of a cluster
    share, each has a part of what is summed over, and finishes some of the rows; where warpgroups make them, some of the
    columns, those that each thread has among its own sums. What becomes an operand of them element by element, in loops, too, is
    divided as that is; of what else an operand follows from, all blocks have everything.

    ```mlir
    %x_tile = tile.load %x[%i, %c0] dims [0, 1] : … -> tensor<4x1024xf32, #layout>
    %m = tile.reduce max %x_tile dims [1] : tensor<4x1024xf32, #layout> -> tensor<4xf32, #layout1>
    ```

    Where several warps multiply the same elements, long work on these is done once and its results are converted. So is work on sums
    for products whose lanes hold the same elements.
  }];
  let options = [Option<"warps", "warps", "unsigned", "4", "warps of a block, for kernels whose hints say nothing">,
                 Option<"quadPairs", "quad-pairs", "bool", "false", "whether quad pairs multiply f16, as on sm_70">,
                 Option<"wgmma", "wgmma", "bool", "false", "whether warpgroups multiply, as on sm_90a">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

#endif
