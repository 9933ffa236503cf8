//===- GpuPasses.td - Passes on Tile IR for our own GPU code -*- tablegen -*-===//
//
// From whole-tile programs to programs with layouts, for the PTX back end. AsyncPasses.td has the
// passes for asynchronous copies, warpgroups and shared memory. Passes.td includes this file.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_TRANSFORMS_GPU_PASSES
#define TESSERA_DIALECT_TILE_TRANSFORMS_GPU_PASSES

include "mlir/Pass/PassBase.td"

def TileClusterSplitK : Pass<"tile-cluster-split-k", "::mlir::ModuleOp"> {
  let summary = "split the K dimension of contractions over the CTAs of a cluster";
  let description = [{
    Gives each CTA of a cluster a part of the K dimension of every MMA, with an accumulator of its
    own. One reduction over the cluster follows the last MMA.

    **Why.** A contraction with few output tiles and a long K dimension does not fill the device.
    The CTAs of a cluster exchange their partial sums through distributed shared memory, without a
    second kernel.

    **Input form.** Whole-tile kernels with `cluster_size` and without `cluster_axis`.

    **Output form.** The same. Accumulators have a leading dimension of `cluster_size`, also where
    loops carry them and where one loop continues another.

    **Declines.** Kernels without MMAs, and clusters along `cluster_axis`. Otherwise the pass
    removes `cluster_size`

    - if the MMAs are not one chain that adds to one accumulator, or something else reads the
      accumulator on its way;
    - if the K dimension is not a multiple of `cluster_size` times the depth of a tensor core
      instruction.

    Before, in a kernel with `launch <cluster_size = 8>`:
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

def TileAlignAccesses : Pass<"tile-align-accesses", "::mlir::ModuleOp"> {
  let summary = "move the tiles of unaligned rows to multiples of 16 bytes";
  let description = [{
    Replaces the views of unaligned rows by `tile.aligned_row`, whose tiles start at multiples of 16
    bytes. Elements before the first element of the row are padded or omitted, as those after its
    last one are. Both loops over a row, that over whole tiles and that over the rest, then do what
    the second one did.

    **Why.** If rows of elements of less than 4 bytes do not start at multiples of 16 bytes, threads
    have to access their elements one by one.

    **Input form.** Whole-tile kernels in which pairs of loops go along a row: one over its whole
    tiles, one over the rest.

    **Output form.** The same, with views that `tile.aligned_row` makes.

    **Declines.** Functions with batch-invariant numerics, since the start of a row decides which
    elements are added together. The pass also leaves a kernel alone unless

    - all loops come in such pairs, directly after one another, carry scalars only, and go along
      rows of the same length and misalignment;
    - the tiles have rank 1, at least 1 KiB, and elements of less than 4 bytes, in an argument that
      is aligned to 16 bytes with rows that are not;
    - more than one pair reads the row, and nothing writes what is read;
    - nothing depends on the index of an element, and reductions are of the whole tile.

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
  let summary = "give each thread partial reductions of its own";
  let description = [{
    Lets a loop carry a tile with one element per thread in place of a scalar that it combines with
    a reduction. Each thread reduces what it holds, and one reduction across threads follows the
    loop.

    **Why.** A reduction across warps in every iteration makes all threads wait.

    The pass handles three kinds of states:

    - a sum, product, maximum or minimum of the tiles;
    - sums of weights relative to the running maximum of a `tile.online_update` (online softmax).
      Each thread has a maximum of its own, and the sums are rescaled to the common one after the
      loop;
    - values that belong to the largest element so far, such as its index (argmax).

    Where a loop reduces columns, it carries a row of partial results for each group of threads. A
    second loop that continues the first takes over the tiles. Before the rewrite, equal states are
    merged, and a maximum that skips nan is replaced by one that does not if the loop has both.

    **Input form.** Whole-tile kernels with `num_warps`, whose loops combine carried scalars or rows
    with reductions of tiles. An online softmax is not lowered to maps yet.

    **Output form.** The same, with carried tiles and reductions after the loop.

    **Declines.** The pass leaves a loop alone

    - if a state is used for anything but its own update and the updates of other states;
    - if relative states do not all refer to one maximum, or its update has a lag or is not
      `guarded`, so that the reference is infinite for a thread without elements;
    - if a thread has fewer than 4 elements of a tile with relative states, or less than one of
      another;
    - for columns, in clusters, or if the tile is not loaded or has no more rows than there are
      groups of threads.

    Before:
    ```mlir
    %m, %s = scf.for … iter_args(%a = %lowest, %b = %zero) -> (tensor<f32>, tensor<f32>) {
      %r = tile.reduce max %x dims [0] : tensor<2048xf32> -> tensor<f32>
      %c, %reference, %scales, %factor = tile.online_update %r from %a scale 2.0 guarded : tensor<f32>
      %w = … // tile.online_weigh of %x and the broadcast reference
      %t = tile.reduce sum %w dims [0] : tensor<2048xf32> -> tensor<f32>
      %d = … // %b * %factor + %t
    ```
    After, with 128 threads that hold 8 consecutive elements each:
    ```mlir
    %ms, %ss = scf.for … iter_args(%a = %lowests, %b = %zeros) -> (tensor<128xf32>, tensor<128xf32>) {
      %y = tile.reshape %x : tensor<2048xf32> -> tensor<2x128x8xf32>
      %r = tile.reduce max %y dims [0, 2] : tensor<2x128x8xf32> -> tensor<128xf32>
      …
    }
    %m = tile.reduce max %ms dims [0] : tensor<128xf32> -> tensor<f32>
    %s = … // the sum of %ss times tile.online_weigh of %ms and the reference of %m
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TilePerElementPartials : Pass<"tile-per-element-partials", "::mlir::ModuleOp"> {
  let summary = "accumulate tiles elementwise in a loop, and reduce them after it";
  let description = [{
    Lets a loop carry a tile that each iteration combines elementwise, and reduces this tile once
    after the loop.

    **Why.** A reduction makes threads wait for each other in every iteration. The order of the
    combinations changes, but is still fixed.

    **Input form.** Whole-tile kernels whose loops combine a carried value with the reduction of a
    tile.

    **Output form.** The same, with larger carried tiles and the reduction after the loop.

    **Declines.** The pass leaves a carried value alone

    - if something else uses it, the reduction or their combination;
    - if the reduction skips nan, or the combination is another operation than the reduction;
    - if the tile is `where(eq(…), x, 0)`, which `tile-predicate-gathers` handles;
    - if `tile-per-thread-partials` made the reduction;
    - if a thread would carry more than `max-elements` elements through the loop.

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
  let options = [Option<"maxElements", "max-elements", "unsigned", "32", "elements that a thread may carry through a loop">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TilePersistentLoop : Pass<"tile-persistent-loop", "::mlir::ModuleOp"> {
  let summary = "let a CTA compute several output tiles in a loop";
  let description = [{
    Puts the body of a kernel into a loop over output tiles, as one of two fields requests.

    - `tiles_per_cta = N`: a CTA computes N consecutive tiles of a one-dimensional grid. Loads that
      all iterations share, and that threads would read element by element, move before the loop.
    - `persistent_ctas = N`: at most N CTAs are launched, and CTA i computes the tiles i, i + N, …
      of a grid of any rank, in the order of `raster_group`.

    **Why.** Copies of the next tile are in flight while the CTA computes the current one. With
    `persistent_ctas`, the TMA loads of the next tile also overlap the epilogue (a persistent
    kernel).

    **Input form.** Whole-tile kernels and their launches.

    **Output form.** The same, with a grid of rank 1 and the number of tiles as an argument. For a
    persistent kernel, `persistent_ctas`, `raster_group` and `launch_rank` are removed.

    **Declines.** Kernels with several launches or none. For `tiles_per_cta`: grids of another rank,
    N = 1, kernels with `persistent_ctas`. For `persistent_ctas`, which is then removed:

    - kernels with a loop whose bounds depend on the grid coordinates: the hardware balances such
      CTAs better;
    - kernels that, outside their loops, load a tile of rank 2 or more, or store anything but one
      tile with a contiguous last dimension: their epilogue would need the shared memory of the
      pipeline.

    ```mlir
    tile.launch @k grid ["ceildiv(M, 8)"] (%x, %y) views [ … ] sizes ["M"] : …
    tile.kernel @k(%x: !v, %y: !v, %programs: index) grid 1 launch <tiles_per_cta = 8> {
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

def TileAssignLayouts : Pass<"tile-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "choose which registers of which threads hold each tile";
  let description = [{
    Gives each tile a `#tile.layout` over the registers, lanes and warps of a CTA, and the CTAs of a
    cluster. The pass inserts `tile.convert` where an operation needs an operand in another layout.

    **Why.** This is the first step from whole tiles to placed programs. All later passes read
    layouts.

    Layouts propagate backward from the end of the kernel:

    | operation | layout |
    | --- | --- |
    | store, load | wide accesses by consecutive lanes |
    | elementwise operation | that of its result |
    | broadcast | the part of its result's layout that its operand has |
    | reduction | that of its operand, without the reduced dimensions |
    | scan | that of its result; whole rows in threads where 16 or more lanes would have one element of a row each |
    | MMA | the fragments of the target's tensor cores; warpgroups for `wgmma`, on targets that have it |
    | constant, splat, iota | computed again in every layout that is needed |

    Three exceptions avoid work:

    - The epilogue of an MMA by warpgroups is computed in the accumulator's layout and converted
      after rounding. It moves to the layout of another loaded operand if that exchanges no more
      bytes.
    - Long elementwise work on an MMA operand that several warps hold is done once, and its result
      is converted.
    - A load rejects a layout in which a warp would read parts of memory sectors.

    A scan across lanes takes five instructions per element for each bit of the number of lanes. A warp whose threads have
    an element of enough rows each converts them, so that a thread has a row, and back.

    In a cluster, each CTA holds a part of the longest rows. With `tile-cluster-split-k` it holds a
    part of the K dimension of MMA operands and finishes some rows or columns of the result. With
    `cluster_axis` it holds rows or columns of the accumulator.

    **Input form.** Whole-tile kernels with tile sizes that are powers of two, in a module with a
    target.

    **Output form.** The same, with a layout on every tile.

    **Declines.** Never. Tile sizes and cluster sizes that are not powers of two are errors. The
    fields `cluster_size` and `cluster_axis` are removed if the MMAs of a kernel cannot be spread
    over the cluster.

    ```mlir
    %x_tile = tile.load %x[%i, %c0] dims [0, 1] : … -> tensor<4x1024xf32, #layout>
    %m = tile.reduce max %x_tile dims [1] : tensor<4x1024xf32, #layout> -> tensor<4xf32, #layout1>
    ```
  }];
  let options = [Option<"warps", "warps", "unsigned", "4", "warps of a CTA, for kernels without `num_warps`">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileDecoupleEpilogue : Pass<"tile-decouple-epilogue", "::mlir::ModuleOp"> {
  let summary = "let each warp of a persistent CTA finish an output tile by itself";
  let description = [{
    Replaces exchanges between all warps in the epilogue of a persistent kernel by exchanges within
    each warp. A warp converts 128 bytes of its rows at a time, through two stages of a small
    buffer, and stores them. Short rows that all warps read, such as a bias, are loaded by each
    warp.

    **Why.** Some warps can store results while others still multiply, if they do not meet at a
    barrier. The epilogue also leaves the stages of the pipeline to the next tile's loads.

    **Input form.** Kernels with layouts, and a loop over output tiles from `tile-persistent-loop`.

    **Output form.** The same, with `tile.slice`, `tile.shared_store` and `tile.shared_load` in
    place of conversions.

    **Declines.** Kernels that are not persistent; conversions that do not cross warps. The pass
    leaves a load alone if its rank is not 1 or it has more than 1 KiB. It leaves a store alone if
    the converted tile has other uses, if no dimension is contiguous in memory, or if a warp does
    not hold whole pieces of 16 bytes of its rows.

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

def TilePredicateGathers : Pass<"tile-predicate-gathers", "::mlir::ModuleOp"> {
  let summary = "add the element at one index only in the iteration that has it";
  let description = [{
    Puts the addition of a tile that is zero except at one index, `where(eq(iota, p), x, 0)`, to a
    carried value under the condition that the index `p` is in the iteration's tile.

    **Why.** An iteration that adds zeros can skip the addition and what computes the zeros. A loop
    that selects one element of a row (a cross entropy's target, for example) would compare, select
    and add in every iteration, and all but one add zeros.

    The condition covers the comparison, the selection, its reduction within warps and the addition.

    **Input form.** Kernels with layouts.

    **Output form.** The same, with `scf.if` around such additions.

    **Declines.** Additions outside loops; selections that something else uses; an index that is not
    a scalar of at least 32 bits; selections that are reduced across warps before the addition.

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

def TileLowerLayoutConversions : Pass<"tile-lower-layout-conversions", "::mlir::ModuleOp"> {
  let summary = "lower everything that crosses warps to accesses of shared memory";
  let description = [{
    Replaces operations that move data between warps by writes and reads of buffers.

    | operation | becomes |
    | --- | --- |
    | `tile.convert` that shuffles do not do at lower cost | a buffer, a `tile.shared_store` and a `tile.shared_load`, in a layout without bank conflicts that lib/Layout finds |
    | reduction across warps | a `tile.warp_reduce`, a conversion that gives threads the parts of all warps, and a reduction in registers |
    | reduction across the CTAs of a cluster | `tile.dsmem_store`, `tile.dsmem_wait` and `tile.dsmem_load` of the parts |
    | scan across warps | a scan of each warp's run, a scan of the totals in every warp, and their combination |
    | sort across warps | in each phase, a sort of the steps between warps after a conversion that exchanges warps with threads, and a sort of the others |
    | MMA without tensor cores | `tile.mma_shared` |

    **Why.** After this pass all traffic between threads is explicit, so that shared memory can be
    allocated and barriers can be placed.

    Reads are placed at their first use, so that several writes share a barrier. What a loop does
    not change is written before the loop.

    **Input form.** Kernels with layouts.

    **Output form.** The same. Conversions and reductions stay within a warp.

    **Declines.** Conversions that are copies of registers or cheaper as shuffles; reductions and
    scans within warps; MMAs on tensor cores. A tile that exceeds the shared memory of the chip is
    an error, and so is a scan or sort whose layout divides the dimension over the CTAs of a cluster.

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

#endif
