//===- Passes.td - Passes on Tile IR ------------------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_TILE_TRANSFORMS_PASSES
#define TESSERA_DIALECT_TILE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def TileExpandMath : Pass<"tile-expand-math"> {
  let summary = "expand elementary functions into primitive maps";
  let description = [{
    Rewrites `tile.map` so that only primitive operations remain, which every back end has as an instruction or two.
    All targets thereby share the same polynomials and the same results.

    Primitive on f32 and f64: add sub mul div neg abs maximum minimum sqrt floor ceil round trunc fma scaleb,
    comparisons, where, casts and bitcasts; on integers: add sub mul neg abs maximum minimum floor_divide remainder
    fmod, comparisons, where, the bitwise operations and shifts. `scaleb` is used with exponents between -1100 and 1100
    (-160 and 160 for f32), or on nan. What a target computes itself is named in `native` and kept.

    Arithmetic and reductions on f16 and bf16 tiles are done in f32 between casts, with one rounding per operation;
    `where` only moves elements and stays. A power with a small constant integral exponent becomes a product.

    Before:
    ```mlir
    %1 = tile.map silu(%0) : (tensor<64xbf16>) -> tensor<64xbf16>
    ```
    After, beginning and end:
    ```mlir
    %1 = tile.cast %0 : tensor<64xbf16> -> tensor<64xf32>
    %2 = tile.map abs(%1) : (tensor<64xf32>) -> tensor<64xf32>
    …
    %9 = tile.map div(%7, %8) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %10 = tile.cast %9 : tensor<64xf32> -> tensor<64xbf16>
    ```

    Every function stays within 5 units in the last place (see unittests/Dialect/Tile).
  }];
  let options = [
    ListOption<"native", "native", "std::string", "operations that the target computes itself and that are kept">
  ];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileHoist : Pass<"tile-hoist"> {
  let summary = "move work that does not change out of loops";
  let description = [{
    Moves operations out of `scf.for` when their operands are defined outside it. Beyond MLIR's loop-invariant code
    motion this moves `tile.load`: views of a kernel do not overlap unless both are only read, so a load leaves a
    loop that does not store to the load's own view. A load that may lie outside its view reads its padding, and one
    without padding lies inside by contract, but only if it is executed: such a load is moved only from loops that
    are known to run at least once.

    Before:
    ```mlir
    scf.for %n = %c0 to %c8 step %c1 {
      %q_tile = tile.load %q[%m, %c0] dims [0, 1] : !tile.view<?x64xf32, strides = [64, 1]> -> tensor<64x64xf32>
      …
    }
    ```
    After:
    ```mlir
    %q_tile = tile.load %q[%m, %c0] dims [0, 1] : !tile.view<?x64xf32, strides = [64, 1]> -> tensor<64x64xf32>
    scf.for %n = %c0 to %c8 step %c1 {
      …
    }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

#endif
