//===- LaunchPasses.td - Passes that fix how kernels launch --*- tablegen -*-===//
//
// Decisions about a kernel that depend on the chip alone and that every later pass reads: how many
// warps a CTA has, which launch and tuning fields apply, which MMAs run on tensor cores. Passes.td
// includes this file.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_TRANSFORMS_LAUNCH_PASSES
#define TESSERA_DIALECT_TILE_TRANSFORMS_LAUNCH_PASSES

include "mlir/Pass/PassBase.td"

def TileSetLaunchConfig : Pass<"tile-set-launch-config", "::mlir::ModuleOp"> {
  let summary = "fix the number of warps and drop fields that the chip has no use for";
  let description = [{
    Completes the launch configuration of a kernel. `num_warps` is the given one, or enough warps that
    the largest tile takes at most 32 registers of each thread. `launch_rank` is the number of grid
    dimensions that are known to fit the hardware's limit of 65535, so that CTAs find their
    coordinates without divisions.

    **Why.** Later passes read the configuration and do not question it.

    **Input form.** Whole-tile kernels.

    **Output form.** The same kernels with a complete configuration. What is dropped or changed is
    listed in `tile.changed` with the reason:

    - `cluster_size` and `cluster_axis` on chips without clusters;
    - `persistent_ctas` where no warpgroup profits from loads that run ahead of the epilogue;
    - the tuning of CPUs.

    **Declines.** Never.

    ```mlir
    tile.kernel @k(%x: !v) grid 2 launch <num_warps = 8, launch_rank = 2>
        attributes {tile.changed = ["persistent_ctas 132 -> none: no wgmma"]} { … }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileLimitCodeSize : Pass<"tile-limit-code-size", "::mlir::ModuleOp"> {
  let summary = "give kernels with much elementwise work more warps";
  let description = [{
    Doubles `num_warps`, up to 32, until a thread has at most 4096 elementwise operations.

    **Why.** Elementwise code is unrolled over the elements that a thread holds. Beyond this limit,
    compile time and instruction fetches dominate.

    **Input form.** Whole-tile kernels with `num_warps` and primitive maps.

    **Output form.** The same.

    **Declines.** Kernels with an MMA, whose layout determines the number of warps.

    ```mlir
    tile.kernel @k(%x: !v) grid 1 launch <num_warps = 16> { … }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileReverseGrid : Pass<"tile-reverse-grid", "::mlir::ModuleOp"> {
  let summary = "start the CTAs with the longest loops first";
  let description = [{
    Sets `reverse_grid` for a kernel with a loop whose upper bound grows along the first dimension of
    the grid.

    **Why.** CTAs start in the order of their indices. With a causal mask, the last rows have the
    most keys. If those CTAs start first, the last wave has the short ones.

    **Input form.** Kernels whose launch configuration is complete. The bounds of loops are final.

    **Output form.** The same, some with `reverse_grid`.

    **Declines.** Kernels with `reverse_grid`, which stays; bounds other than sums, minima, maxima and
    positive multiples of the index; clusters and persistent kernels; grids of several dimensions
    with one dimension of the launch.

    ```mlir
    tile.kernel @k(%x: !v) grid 2 launch <num_warps = 4, launch_rank = 2> tuning <reverse_grid = 1> { … }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TilePromoteFp8Mma : Pass<"tile-promote-fp8-mma", "::mlir::ModuleOp"> {
  let summary = "compute MMAs of fp8 as MMAs of fp16";
  let description = [{
    Converts fp8 operands of MMAs to fp16.

    **Why.** The pass runs for chips whose tensor cores have no fp8. Every value of both fp8 types
    is exact in fp16, so the accumulator differs at most by the order of additions.

    **Input form.** Whole-tile kernels.

    **Output form.** The same, without MMAs of fp8.

    **Declines.** Operands of other types.

    Before:
    ```mlir
    %d = tile.mma %a, %b, %c : (tensor<64x32xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
    After:
    ```mlir
    %0 = tile.cast %a : tensor<64x32xf8E4M3FN> -> tensor<64x32xf16>
    %1 = tile.cast %b : tensor<32x64xf8E4M3FN> -> tensor<32x64xf16>
    %d = tile.mma %0, %1, %c : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileMarkSimtMma : Pass<"tile-mark-simt-mma", "::mlir::ModuleOp"> {
  let summary = "keep MMAs of fp64 off the tensor cores";
  let description = [{
    Marks MMAs with an fp64 accumulator as `tile.plain`. Layouts and code generation then compute
    them with FMAs of single threads.

    **Why.** The pass runs for chips without fp64 tensor cores, and for compilations that may not
    use tensor cores.

    **Input form.** Whole-tile kernels.

    **Output form.** The same, with the attribute.

    **Declines.** MMAs with another accumulator type.

    ```mlir
    %d = tile.mma %a, %b, %c {tile.plain} : (tensor<16x16xf64>, tensor<16x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

#endif
