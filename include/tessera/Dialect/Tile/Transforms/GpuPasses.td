//===- GpuPasses.td - Passes on Tile IR for our own GPU code -*- tablegen -*-===//
//
// From a program on whole tiles to one that says which thread holds what, in the order in which the PTX back end runs most of them.
// Passes.td includes this file.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_TRANSFORMS_GPU_PASSES
#define TESSERA_DIALECT_TILE_TRANSFORMS_GPU_PASSES

include "mlir/Pass/PassBase.td"

def TileWalkPrograms : Pass<"tile-walk-programs", "::mlir::ModuleOp"> {
  let summary = "let a block take several programs, one after the other";
  let description = [{
    Kernels with the hint `walk = N` and a grid of one dimension run N neighbouring programs in a loop, so that the copies
    of the next one are under way while a program is worked on. What all of them read element by element, since it ends anywhere,
    is read once, in front of the loop.

    Of kernels with the hint `persistent = N` there are N blocks at most, which stay: each takes the programs block, block + N, … of a grid of any
    dimensions, in the order that the hint `group` says. Both hints go with that; where a kernel is launched in several places, some programs have longer loops than others, or programs exchange
    more than the one tile that they store, the first one alone.

    ```mlir
    tile.launch @k grid ["ceildiv(M, 8)"] (%x, %y) views [ … ] sizes ["M"] : …
    tile.kernel @k(%x: !v, %y: !v, %programs: index) grid 1 hints {walk = 8} {
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

def TileFreeWarps : Pass<"tile-free-warps", "::mlir::ModuleOp"> {
  let summary = "let each warp of a block that stays end a program by itself";
  let description = [{
    Where a block stays, some of its warps can store a program's results while others still multiply, as long as they do not meet, and as long as
    results do not lie where the next program's tiles come in. In loops over programs (`tile-walk-programs`), what is exchanged
    between all warps before it is stored is exchanged within each warp instead, 128 bytes of a row at a time, by slots of a buffer for that;
    rows of operands that all warps take are loaded by each of them. Tiles that warps do not hold so are left alone.

    Before:
    ```mlir
    %1 = tile.convert %0 : tensor<128x256xbf16, #sums> -> tensor<128x256xbf16, #rows>
    tile.store %1, %y[%i, %j] dims [0, 1] bounded : tensor<128x256xbf16, #rows>, !v
    ```
    After, for each of four parts:
    ```mlir
    %1 = tile.slice %0 at [0, 64] : tensor<128x256xbf16, #sums> -> tensor<128x64xbf16, #part>
    tile.write %1, %b[%c1] : tensor<128x64xbf16, #part>, <2, tensor<128x64xbf16, #memory>>
    %2 = tile.read %b[%c1] : <2, tensor<128x64xbf16, #memory>> -> tensor<128x64xbf16, #wide>
    tile.store %2, %y[%i, %k] dims [0, 1] bounded : tensor<128x64xbf16, #wide>, !v
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "the architecture: sm_80, sm_90a, ...">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileShareProducts : Pass<"tile-share-products", "::mlir::ModuleOp"> {
  let summary = "let the blocks of a cluster share what a product sums over";
  let description = [{
    Of few programs that sum over many elements each has several blocks (the hint `cluster`). Each block takes its part of
    every product and has its own sums, which a loop may carry, and from it one behind it, over what whole tiles leave; behind
    the products one reduction joins them. All products of the kernel are one chain, and nothing else looks at its sums. Where
    that is not so, or a block would not have a step of tensor cores, the hint goes.

    Before, in a kernel with `hints {cluster = 8}`:
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

def TileDeferReductions : Pass<"tile-defer-reductions", "::mlir::ModuleOp"> {
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

def TileAlignRows : Pass<"tile-align-rows", "::mlir::ModuleOp"> {
  let summary = "move the tiles of rows that begin anywhere to multiples of 16 bytes";
  let description = [{
    Where rows of elements of less than 4 bytes begin at no multiple of 16 bytes, threads would have to take their elements one by
    one. Loops that walk along such a row, over its whole tiles and over what is left behind them, walk along a `tile.row` instead,
    whose tiles begin at such multiples: what is in front of the row's first element is left out or padded as what is behind its last one.
    What is done to the padded rest of a row is done to all of its tiles.

    That needs a kernel whose loops all walk along the same row, which more than one of them reads, over rows of other views that begin
    as far behind such a multiple; that carry numbers alone; and that do nothing in which an element's place counts. Which of a
    row's elements are summed up together then depends on where it begins, so that rows stay as they are under the policy
    `batch_invariant`.

    ```mlir
    %r = tile.row %x[%pid0] dim 1 : !v -> !tile.view<?xbf16, strides = [1]>
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

def TileDeferStatistics : Pass<"tile-defer-statistics", "::mlir::ModuleOp"> {
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

def TileKeepRows : Pass<"tile-keep-rows", "::mlir::ModuleOp"> {
  let summary = "keep in shared memory the rows that are walked again";
  let description = [{
    Where several loops load the same tiles of a view, one tile after the other, the first of them leaves the tiles in shared
    memory, a slot for each, and the others read them there. Copies of all tiles are begun before the first loop, `ahead`
    at most, in groups that it waits for one by one; rows that begin anywhere, and those of `tile.row`, are fetched as they are, on chips that do
    (sm_90 and later), with a gate for each tile; others that cannot be copied by 16 bytes are written behind their loads. How many tiles
    there are at most must be known, and they must fit beside what the kernel exchanges through shared memory. The hint `residents` says how
    many blocks share a multiprocessor's; kernels that have it keep the first tiles of longer rows, by loops that are split.

    ```mlir
    %b = tile.alloc : <7, tensor<8192xbf16, #layout>>
    scf.for %i = %c0 to %c7 step %c1 {
      %exists = arith.cmpi slt, %i, %n : index
      scf.if %exists {
        tile.copy %x[%row, %i] dims [1] into %b[%i] via #layout : !v, <7, tensor<8192xbf16, #layout>>
      }
      tile.commit
    }
    %m = scf.for %i = %c0 to %n step %c1 iter_args(…) {
      tile.wait 6
      tile.commit
      %t = tile.read %b[%i] : <7, tensor<8192xbf16, #layout>> -> tensor<8192xbf16, #layout>
      …
    }
    tile.wait 0
    scf.for %i = %c0 to %n step %c1 {
      %t = tile.read %b[%i] : <7, tensor<8192xbf16, #layout>> -> tensor<8192xbf16, #layout>
      …
    }
    ```
  }];
  let options = [Option<"ahead", "ahead", "unsigned", "32", "tiles whose copies are under way at once">,
                 Option<"chip", "chip", "std::string", "\"sm_90a\"", "the architecture: sm_80, sm_90a, ...">,
                 Option<"most", "most", "uint64_t", "0", "bytes of shared memory of a block, 0 for those of the chip">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileFetchRows : Pass<"tile-fetch-rows", "::mlir::ModuleOp"> {
  let summary = "bring rows that begin anywhere into shared memory by copies of the machine";
  let description = [{
    A load of a tile of rank 1 with elements of less than 4 bytes, whose rows begin at no multiple of 16 bytes, becomes a `tile.fetch` into a slot with some slack, a
    `tile.await` at its gate, and a `tile.read` behind as many elements as the row begins with. Each block of a cluster fetches the
    part that its threads hold. Rows of a loop
    that walks along them, or from one to the next, are under way `slots` - 1 steps ahead, as many as the hint `ahead` says, or fewer where memory is short; a loop
    that goes on where that one ends takes its rows from the same slots.

    ```mlir
    %g = tile.gates : <1>
    %s = tile.shift %x[%row, %c0] by 8 : !v
    tile.fetch %x[%row, %c0] dims [1] bounded into %b[%c0] opens %g[%c0] : !v, <1, tensor<4096xbf16, #memory>, slack 8>, <1>
    …
    tile.await %g[%c0] phase %c0 : <1>
    %t = tile.read %b[%c0] behind %s below %n pad 0.0 : bf16
       : <1, tensor<4096xbf16, #memory>, slack 8> -> tensor<4096xbf16, #rows>
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "the architecture: sm_90a, ...">,
                 Option<"most", "most", "uint64_t", "0", "bytes of shared memory of a block, 0 for those of the chip">,
                 Option<"slots", "slots", "unsigned", "4", "slots of each row in a loop at most">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileSendRows : Pass<"tile-send-rows", "::mlir::ModuleOp"> {
  let summary = "store rows that begin anywhere by copies of the machine from shared memory";
  let description = [{
    A store of a tile of rank 1 whose rows begin at no multiple of 16 bytes becomes a `tile.write` into a slot of shared memory and
    a `tile.send` from there. Where the tile was made of one that was read from such a slot for the last time, each thread writes
    over what it has read; else the store has a slot of its own, or three in a loop along a row or from row to row. Each block of a cluster sends its part; what
    several blocks hold is stored by one.

    ```mlir
    tile.write %t, %b[%c0] behind %s : tensor<4096xbf16, #rows>, <1, tensor<4096xbf16, #memory>, slack 8>
    tile.send %b[%c0] to %y[%row, %c0] dims [1] bounded : <1, tensor<4096xbf16, #memory>, slack 8>, !v
    …
    tile.sent %b, 0 : <1, tensor<4096xbf16, #memory>, slack 8>
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "the architecture: sm_90a, ...">,
                 Option<"most", "most", "uint64_t", "0", "bytes of shared memory of a block, 0 for those of the chip">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileGuardSelections : Pass<"tile-guard-selections", "::mlir::ModuleOp"> {
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
    Loads of a loop that are converted to another layout, and whose place is known steps ahead, become `tile.copy`s into a
    buffer with a slot for each step that is under way, and a `tile.read` takes the place of the conversion. At the
    head of the loop the threads wait for the oldest copies; behind a barrier, which `tile-place-barriers` puts there, the
    slot that was read in the step before is free for the next copies. Loops whose copies would leave too little memory
    for their conversions stay as they are.

    ```mlir
    scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0, …) {
      tile.wait 1
      %a = tile.read %buffer[%slot] : <3, tensor<128x64xbf16, #layout>> -> tensor<128x64xbf16, #fragments>
      …
    }
    ```
  }];
  let options = [Option<"slots", "slots", "unsigned", "3", "steps under way, the current one included">,
                 Option<"chip", "chip", "std::string", "\"sm_90a\"", "the architecture: sm_80, sm_90a, ...">,
                 Option<"most", "most", "uint64_t", "0", "bytes of shared memory of a block, 0 for those of the chip">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileFetchTiles : Pass<"tile-fetch-tiles", "::mlir::ModuleOp"> {
  let summary = "bring tiles that a loop streams into shared memory by tensor copies of the machine";
  let description = [{
    A load of a tile of two dimensions or more in a loop, whose place is known turns ahead, becomes a `tile.fetch` of a box some turns before,
    a `tile.await` at its gate, and a `tile.read` in place of the load or of its conversion. Of the layouts that tensor copies write, the one
    is taken from which the read costs least; it swizzles spans of 128 bytes where rows are that long. The view has at
    most five dimensions, known to begin and to step by multiples of 16 bytes, none of them backward; what the load pads with is zero.
    Where the blocks of a cluster want different parts of a tile, each has room for its part and fetches that.
    Loops of which a turn makes nothing but products take it with the hint `bulk = 1` alone: there the warps that begin copies keep the
    others waiting. With the hint `warpgroups = 1`, what is taken only behind a product that takes other tiles has a gate of its own, and a loop behind
    this one that goes on with the same tiles takes them from the same slots, which are filled without a gap. Kernels with the hint `bulk = 0`, other loads, and loops that have too little memory stay as they are: `tile-pipeline-loops` takes them.

    ```mlir
    scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0, %free = %c2, %turn = %c0, …) {
      tile.await %g[%slot] phase %turn : <3>
      scf.if %exists {
        tile.fetch %x[%m, %ahead] dims [0, 1] bounded into %b[%free] opens %g[%free]
          : !v, <3, tensor<128x64xbf16, #swizzled>>, <3>
      }
      %a = tile.read %b[%slot] : <3, tensor<128x64xbf16, #swizzled>> -> tensor<128x64xbf16, #fragments>
      …
    }
    ```
  }];
  let options = [Option<"slots", "slots", "unsigned", "3", "turns under way, the current one included">,
                 Option<"chip", "chip", "std::string", "\"sm_90a\"", "the architecture: sm_90a, ...">,
                 Option<"most", "most", "uint64_t", "0", "bytes of shared memory of a block, 0 for those of the chip">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileDelayProducts : Pass<"tile-delay-products", "::mlir::ModuleOp"> {
  let summary = "begin a product of a loop in the next turn, beside that turn's other work";
  let description = [{
    In kernels with the hint `warpgroups = 1`, tensor cores multiply while warps go on. A product at the end of a turn, whose sums the next
    turn takes only behind a product of its own, is begun in the next turn, behind that one: what the turn computes of its first product is
    computed meanwhile. The loop carries what the product takes. Its first turn stands before the loop, without
    the product, and the last turn's product behind the loop; all of it stands in a branch, since the loop may have no turn.

    A product waits so whose right operand is read from a slot that tensor copies fill, with a gate of its own, and whose left operand a turn
    computes, if the registers of a thread hold it beside the sums of both.

    ```mlir
    scf.for %t = %c1 to %n step %c1 iter_args(%sum, %weights, %before, …) {
      %scores = tile.mma %q, %k, %zero : …
      tile.await %g[%before] phase %turn : <2>
      %v = tile.read %b[%before] : …
      %next = tile.mma %weights, %v, %sum : …
      …
    }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileGroupProducts : Pass<"tile-group-products", "::mlir::ModuleOp"> {
  let summary = "let groups of four warps begin products of tiles in shared memory";
  let description = [{
    In kernels with the hint `warpgroups = 1`, a product of bf16 or f16 whose sums groups of four warps hold, 64 rows each, and whose right operand is read from a slot that tensor
    copies have written, becomes a `tile.mma_async`, which reads the slot itself. The left operand is read so as well, or stays in
    registers. A `tile.mma_fence` stands before it and a `tile.mma_commit` behind; products that follow each other share them.
    So does one that is summed in parts by the blocks of a cluster (`tile-share-products`): each block multiplies what its own slots hold.

    Where a loop does nothing with the sums but add to them, they are under way from turn to turn: a turn waits for the products of the turn
    before, while its own go on, and then asks for the tiles that take the slot of that turn. Behind the loop all are waited for. Sums that
    a loop carries for something else to take in the next turn are waited for there, behind the first products that it begins. Other sums are waited for where they are taken, while products that were begun since go on; what
    fills their slots comes behind that. Other products stay as they are: `tile-step-products` takes them.

    ```mlir
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc, %slot, %free, %turn) {
      tile.await %g[%slot] phase %turn : <4>
      tile.mma_fence
      %next = tile.mma_async %a[%slot], %b[%slot], %acc : …
      tile.mma_commit
      tile.mma_wait 1
      tile.barrier
      scf.if %exists {
        tile.fetch %x[%m, %ahead] dims [0, 1] bounded into %a[%free] opens %g[%free] : …
      }
      …
    }
    %done = tile.mma_wait 0, %sum : …
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileReleaseSlots : Pass<"tile-release-slots", "::mlir::ModuleOp"> {
  let summary = "let warps give slots back at gates in place of barriers";
  let description = [{
    In kernels of several groups of four warps, slots that `tile.fetch` fills and `tile.mma_async` alone reads are given back at gates: behind
    the wait for a product each warp tells the slot's gate so, and the copy that fills the slot again waits there (`after`). No barrier is
    needed in a turn, so that groups come to be in different places of it; where several blocks share a multiprocessor, these are. A loop that
    has its products under way tells of the turn before. Slots of which products are waited for in different ways, or which others read,
    stay as they are: `tile-place-barriers` takes them.

    ```mlir
    scf.for %i = %c0 to %n step %c1 iter_args(%slot, %free, %turn, …) {
      tile.await %g[%slot] phase %turn : <3>
      scf.if %exists {
        tile.fetch %x[%m, %ahead] dims [0, 1] into %b[%free] opens %g[%free] after %left[%free] phase %before : …
      }
      …
      %s = tile.mma_wait 1, %product : …
      tile.arrive %left[%slot] : <3>
    }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileShareFetches : Pass<"tile-share-fetches", "::mlir::ModuleOp"> {
  let summary = "let each block of a cluster bring a part of what all of them read";
  let description = [{
    Where the blocks of a cluster read the same tile, as they do of one operand of products that are spread over them, each would bring it for
    itself. Here a tile whose slots all blocks have alike comes once: each block asks for a part, and the machine delivers that to all (`shared`). A
    slot is filled again when all blocks have left it, so that warps tell the gates of all blocks (`tile.arrive cluster`), there where the slot is
    to be filled and only then: who waits has heard of all who tell, and no block ends before. Nothing is brought before all blocks have made
    their gates (`tile.open`, `tile.meet`). Slots that warps do not give back at gates (`tile-release-slots`), in the turn that fills them, stay as they are.

    ```mlir
    tile.mma_wait 1
    scf.if %exists {
      tile.arrive cluster %left[%free] : <4>
      tile.fetch %x[%m, %ahead] dims [0, 1] shared into %a[%free] opens %g[%free] after %left[%free] phase %turn : …
      tile.fetch %w[%ahead, %n] dims [0, 1] into %b[%free] opens %g[%free] by 1 after %left[%free] phase %turn : …
    }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileStepProducts : Pass<"tile-step-products", "::mlir::ModuleOp"> {
  let summary = "read the fragments of a product a step before tensor cores need them";
  let description = [{
    A product of tiles that are read from shared memory is made in steps of its instruction's depth: each reads its own
    part of the tiles, while the product of the step before is made.

    In a loop that copies run ahead of, the reads of the first step go round: they are made before the last product of
    the turn before, behind the wait and the barrier that stood before them, and the loop carries what they give. So that
    there is something to read in the last turn, copies of steps that there are not fill their slots with zeros. The copies
    stand between the products, and one barrier is enough for a turn.

    ```mlir
    scf.for … iter_args(%acc, %a0, %b0, %slot, %free) {
      %a1 = tile.read %a[%slot] at [0, 16] : …
      %b1 = tile.read %b[%slot] at [16, 0] : …
      tile.copy %x[%m, %ahead] dims [0, 1] if %exists into %a[%free] via #rows : …
      …
      %acc0 = tile.mma %a0, %b0, %acc : …
      tile.wait 1
      tile.barrier
      %a2 = tile.read %a[%next] at [0, 0] : …
      %b2 = tile.read %b[%next] at [0, 0] : …
      %acc1 = tile.mma %a1, %b1, %acc0 : …
    }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileExpandExchanges : Pass<"tile-expand-exchanges", "::mlir::ModuleOp"> {
  let summary = "make everything that goes through shared memory a write and a read";
  let description = [{
    Conversions that shuffles do not make within a warp for less become a buffer, a `tile.write` and a `tile.read`, in the
    arrangement without bank conflicts that lib/Layout finds. A reduction across warps becomes a `tile.partial`, a conversion
    after which threads have the parts of all warps, and a reduction in registers. A scan across warps becomes one of
    the runs that a warp holds, one of the runs' totals, which each warp makes for itself, and a join of the two. Products without tensor cores become
    `tile.mma_shared`. Reads stand where they are needed first, so that what is written before shares a barrier.

    Before:
    ```mlir
    %m = tile.reduce max %x dims [1] : tensor<4x1024xf32, #rows> -> tensor<4xf32, #row>
    ```
    After:
    ```mlir
    %p = tile.partial max %x dims [1] : tensor<4x1024xf32, #rows> -> tensor<4x4xf32, #parts>
    %b = tile.alloc : <1, tensor<4x4xf32, #memory>>
    tile.write %p, %b[%c0] : tensor<4x4xf32, #parts>, <1, tensor<4x4xf32, #memory>>
    %a = tile.read %b[%c0] : <1, tensor<4x4xf32, #memory>> -> tensor<4x4xf32, #all>
    %m = tile.reduce max %a dims [1] : tensor<4x4xf32, #all> -> tensor<4xf32, #row>
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "the architecture: sm_80, sm_90a, ...">];
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
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "the architecture: sm_80, sm_90a, ...">];
}

def TilePlaceBarriers : Pass<"tile-place-barriers", "::mlir::ModuleOp"> {
  let summary = "put barriers where accesses to shared memory would meet";
  let description = [{
    Two accesses of the same memory of which one writes need a barrier between them: of the block if different warps make
    them, of the warp if each warp meets only itself. The pass walks through a kernel with the accesses that lie behind
    the last barrier on any way, around loops as well, and puts a barrier before the first operation that needs one;
    before the loop or the branch that it is in where that is enough. Barriers that are there count.

    ```mlir
    tile.write %p, %b[%c0] : tensor<4x4xf32, #parts>, <1, tensor<4x4xf32, #memory>>
    tile.barrier
    %a = tile.read %b[%c0] : <1, tensor<4x4xf32, #memory>> -> tensor<4x4xf32, #all>
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
    as tensor cores have them. What becomes of sums that groups of four warps have made is computed where these hold them, and is
    converted when it was rounded to fewer bits; a sum alone goes where another operand is loaded, if that is as many bytes. Constants are made where they are wanted. Of products that the blocks of a cluster
    share, each has a part of what is summed over, and finishes some of the rows; where groups of four warps make them, some of the
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
                 Option<"quarters", "quarters", "bool", "false", "whether quarters of a warp multiply f16, as on sm_70">,
                 Option<"warpgroups", "warpgroups", "bool", "false", "whether groups of four warps multiply, as on sm_90a">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

#endif
