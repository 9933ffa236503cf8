//===- Passes.td - Passes on Tile IR ------------------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_TILE_TRANSFORMS_PASSES
#define TESSERA_DIALECT_TILE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def TileDeduplicateKernels : Pass<"tile-deduplicate-kernels", "::mlir::ModuleOp"> {
  let summary = "launch one kernel where several are the same program";
  let description = [{
    Kernels that differ in nothing but their names, and are launched with the same grid, views and sizes, become one, which
    is compiled once. What a back end concludes from one launch then holds for all of them.
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileExpandMath : Pass<"tile-expand-math"> {
  let summary = "expand elementary functions into primitive maps";
  let description = [{
    Rewrites `tile.map` so that only primitive operations remain, which every back end has as an instruction or two.
    All targets thereby share the same polynomials and the same results.

    Primitive on f32 and f64: add sub mul div neg abs maximum minimum sqrt floor ceil round trunc fma scaleb,
    comparisons, where, casts and bitcasts; on integers: add sub mul neg abs maximum minimum floor_divide remainder
    fmod, comparisons, where, the bitwise operations and shifts. `scaleb` is used with exponents between -1100 and 1100
    (-160 and 160 for f32), or on nan; a back end need not care for others. What a target computes itself is named in
    `native` and kept; with `exp2`, `exp` of f32 is made of it (1.9 units, and what `exp2` is off by).
    Functions that are `fast` become quick forms of exp2 and reciprocals, with an error of 2^-14 of the result or less (of
    gelu_erf also 2^-25 of the argument); a positive constant that only multiplies such a result goes into its constants.
    Where a target has no quick exp2, a `fast` one is off by at most 2.1 units, and 0 below 2^-125.5.

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

    Errors in units of the last place of the exact result, the largest among 1.5 million arguments for each function
    and type (bit patterns of the whole range, a dense part of it, special values; unittests/Dialect/Tile), and the
    number of operations in f32 and f64, with `fma` rounding once. Infinities, nan, signed zeros, overflow and gradual
    underflow are exact where not said otherwise.

    | function | f32 | f64 | operations | remarks |
    |----------|-----|-----|------------|---------|
    | exp, exp2 | 1.0, 0.9 | 1.0, 0.8 | 17, 15; 23, 21 | |
    | expm1 | 1.5 | 1.8 | 22; 28 | |
    | log, log2, log1p | 0.9, 1.0, 1.5 | 0.9, 1.2, 1.3 | 31, 32, 32; 35, 36, 36 | |
    | sinh, cosh, tanh | 2.1, 1.5, 2.5 | 2.4, 1.5, 2.5 | 26, 18, 22; 32, 24, 28 | |
    | sigmoid, silu | 2.2, 2.9 | 2.3, 2.8 | 21, 22; 27, 28 | silu of x below -80: relative to the smallest normal number |
    | gelu_erf, gelu_tanh | 2.6, 1.5 | 1.6, 1.5 | 21, 25; 79, 31 | in units of the argument's last place |
    | erf, erfc | 1.3, 3.5 | 1.0, 2.9 | 32, 50; 74, 75 | |
    | sin, cos, tan | 1.6, 1.6, 3.5 | 0.8, 0.8, 2.2 | 59, 58, 58; 178, 177, 177 | every finite x; in f64 from 2^45 on the angle to 2^-92 |
    | asin, acos | 2.3, 1.1 | 2.2, 1.2 | 20, 24; 27, 31 | |
    | atan, atan2 | 1.5, 1.7 | 1.8, 1.7 | 20, 30; 39, 49 | |
    | pow | 0.9 | 0.9 | 67; 123 | small constant exponents: products, at most 4 |
    | rsqrt, reciprocal | 1.5, 0.5 | 1.5, 0.5 | 2, 1 | |
    | fmod, remainder | 0, 0.5 | 0, 0.5 | 141, 148; 393, 400 | every quotient |
    | floor_divide | 0.5 | 0.5 | 17 | |
  }];
  let options = [
    ListOption<"native", "native", "std::string", "operations that the target computes itself and that are kept">,
    ListOption<"quick", "quick", "std::string", "operations that it computes so where they are `fast`, on f32">,
    ListOption<"nativeWithoutF64", "native-without-f64", "std::string", "further `native` operations of modules that have no f64 maps">,
    ListOption<"quickWithoutF64", "quick-without-f64", "std::string", "further `quick` operations of modules that have no f64 maps">
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

def TileCanonicalizeLoopCarried : Pass<"tile-canonicalize-loop-carried"> {
  let summary = "let loops carry tiles in the shape that they use";
  let description = [{
    Where a loop reshapes or transposes a carried tile before its only use and iterations it back at its end, the loop carries
    the turned tile: it is turned once before the loop and back once behind it.

    Before:
    ```mlir
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (tensor<4x16x32xf32>) {
      %c = tile.reshape %acc : tensor<4x16x32xf32> -> tensor<64x32xf32>
      %sum = tile.mma %a, %b, %c : (tensor<64x16xf32>, tensor<16x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
      %next = tile.reshape %sum : tensor<64x32xf32> -> tensor<4x16x32xf32>
      scf.yield %next : tensor<4x16x32xf32>
    }
    ```
    After:
    ```mlir
    %c = tile.reshape %init : tensor<4x16x32xf32> -> tensor<64x32xf32>
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %c) -> (tensor<64x32xf32>) {
      %sum = tile.mma %a, %b, %acc : (tensor<64x16xf32>, tensor<16x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
      scf.yield %sum : tensor<64x32xf32>
    }
    %r = tile.reshape %s : tensor<64x32xf32> -> tensor<4x16x32xf32>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileFastMath : Pass<"tile-fast-math", "::mlir::ModuleOp"> {
  let summary = "let functions of a narrow type, or whose policy allows it, take quick forms";
  let description = [{
    Kernels compute in f32 what a program of bf16 rounds again and again. Where a function has no other floating point
    type (`gir.value_type = bf16`), operations with a quick form of about that accuracy are marked `fast`. A target says
    by `types` what its quick forms are exact enough for (bf16 alone if nothing is said), and by `operations` which ones
    it has (quotients, `sqrt`, `tanh`, `sigmoid`, `silu` and `gelu_erf`).
    The policy `fast_math = "true"` marks them in any function, `"false"` in none; a function whose numerics are strict
    has no `gir.value_type`.

    Powers that a kernel itself marks, the weights of streams, are `fast` in every function. A target whose quick form
    of them has fewer digits than f32 keeps it to narrow types: with `exclusive` the other functions lose the mark, with
    `weights` they have such powers expanded here, to the last digits but without numbers below the normal ones.

    ```mlir
    %1 = tile.map tanh(%0) fast : (tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
  }];
  let options = [
    ListOption<"types", "types", "std::string", "narrow types whose functions take quick forms">,
    ListOption<"operations", "operations", "std::string", "operations that have a quick form">,
    Option<"exclusive", "exclusive", "bool", "false", "take the mark away from these operations in all other functions">,
    Option<"weights", "weights", "bool", "false", "so, but expand powers of f32 that are marked there">
  ];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileRoundMmaOperands : Pass<"tile-round-mma-operands", "::mlir::ModuleOp"> {
  let summary = "round the operands of products to the program's narrow type, or to the policy's";
  let description = [{
    A kernel may carry a value in f32 that the program rounds to bf16, f16 or a type of 8 bits before a product. Tensor
    cores take narrow operands at many times the speed of wider ones, so on machines that have them the rounding is put
    back. Only kernels are changed whose function says by `gir.product_type` that all of its products have operands of
    one such type, or whose numerics policy is `matmul = "tf32"` or `"bf16"`.

    Before, in a function with `gir.product_type = bf16`:
    ```mlir
    %w = tile.cast %v : tensor<64x64xbf16> -> tensor<64x64xf32>
    %d = tile.mma %p, %w, %c : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
    After:
    ```mlir
    %n = tile.cast %p : tensor<64x64xf32> -> tensor<64x64xbf16>
    %d = tile.mma %n, %v, %c : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
  }];
  let options = [ListOption<"types", "types", "std::string", "the types that products may have; none given: all">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileNarrowIndexTypes : Pass<"tile-narrow-index-types", "::mlir::ModuleOp"> {
  let summary = "compare and convert positions in 32 bits";
  let description = [{
    Positions are i64 in programs. Where all tensors have fewer than 2^31 elements, positions and their differences fit
    into 32 bits, which GPUs compare and convert to floating point several times faster. Comparisons and conversions
    whose operands are positions, constants, differences of positions, and minima and maxima of such are done on i32.
    The pass declines where a tensor of the module may have more elements, or where the option `indices = "64"` asks for
    wide indices.

    Before:
    ```mlir
    %i = tile.iota %start : tensor<64xi64>
    %x = tile.cast %i : tensor<64xi64> -> tensor<64xf32>
    ```
    After:
    ```mlir
    %i = tile.iota %start : tensor<64xi32>
    %x = tile.cast %i : tensor<64xi32> -> tensor<64xf32>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileEmulateFp32Mma : Pass<"tile-emulate-fp32-mma"> {
  let summary = "make products of f32 from products of tf32";
  let description = [{
    Tensor cores multiply tf32 (f32 with 10 bits after the point) at eight times and more the speed that f32 has
    elsewhere. A number is the sum of two tf32: its first 11 digits, and what is left. Three products of such parts,
    summed in f32, are off by at most 8 units of f32's roundoff for each term, which is inside the bound of f32 sums.
    Infinities and nans are what they are in one product. Numbers below 2^-115 lose digits of their second part. Operands that were widened from 16 bits or fewer have no
    second part, and no products with it.

    Before:
    ```mlir
    %d = tile.mma %a, %b, %c : (tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
    After, `%ah` and `%al` being the parts of `%a` in tf32:
    ```mlir
    %s0 = tile.mma %al, %bh, %zero : (tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s1 = tile.mma %ah, %bl, %s0 : (tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %l = tile.mma %ah, %bh, %c : (tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %d = tile.map add(%l, %s1) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
    In a loop that only sums products, the small ones are summed beside the large ones and added behind the loop.
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileWidenMmaTypes : Pass<"tile-widen-mma-types"> {
  let summary = "make products of narrow types from products of f32, which need no tensor cores";
  let description = [{
    For compilations that may not use tensor cores, or whose tensor cores do not have all types. Floats of 16 bits and fewer are exact in f32, so only the order of
    additions may change. Bytes are exact in f32, too, and so are the sums of a tile that is at most 256 deep (of f64
    where it is deeper); the accumulator stays an integer.

    Before:
    ```mlir
    %d = tile.mma %a, %b, %c : (tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
    After:
    ```mlir
    %0 = tile.cast %a : tensor<64x32xbf16> -> tensor<64x32xf32>
    %1 = tile.cast %b : tensor<32x64xbf16> -> tensor<32x64xf32>
    %d = tile.mma %0, %1, %c : (tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
  }];
  let options = [ListOption<"keep", "keep", "std::string", "types that stay as they are: f16, i8, ...">,
                 Option<"columns", "columns", "unsigned", "8", "the fewest columns of products that stay">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileEmulateIntegerMma : Pass<"tile-emulate-integer-mma"> {
  let summary = "make products of integers from products of f64";
  let description = [{
    Tensor cores multiply bytes and floats, no wider integers. An integer is cut into limbs of 16 bits, which f64 holds
    exactly with their products and sums; the products of limbs are put together modulo the integer's size. int16 takes
    one product, int32 three, int64 ten.

    Before:
    ```mlir
    %d = tile.mma %a, %b, %c : (tensor<64x32xi16>, tensor<32x64xi16>, tensor<64x64xi32>) -> tensor<64x64xi32>
    ```
    After:
    ```mlir
    %0 = tile.cast %a : tensor<64x32xi16> -> tensor<64x32xf64>
    %1 = tile.cast %b : tensor<32x64xi16> -> tensor<32x64xf64>
    %2 = tile.mma %0, %1, %zero : (tensor<64x32xf64>, tensor<32x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
    %3 = tile.cast %2 : tensor<64x64xf64> -> tensor<64x64xi64>
    %4 = tile.cast %3 : tensor<64x64xi64> -> tensor<64x64xi32>
    %d = tile.map add(%c, %4) : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi32>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileMergeLoads : Pass<"tile-merge-loads", "::mlir::ModuleOp"> {
  let summary = "load a tile once, whatever stands outside of its tensor";
  let description = [{
    Loads of the same tile that differ in what pads them are one load where nobody sees the pad of one: all that is made of
    it, element by element, is stored to the same places, of which those outside are left out.

    Before:
    ```mlir
    %a = tile.load %x[%i, %c0] dims [1] pad 0xFF800000 : f32 : !v -> tensor<1024xf32>
    %m = tile.reduce max %a dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.load %x[%i, %c0] dims [1] pad 0.0 : f32 : !v -> tensor<1024xf32>
    %c = tile.broadcast %m dims [] : tensor<f32> -> tensor<1024xf32>
    %d = tile.map sub(%b, %c) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    tile.store %d, %out[%i, %c0] dims [1] bounded : tensor<1024xf32>, !v
    ```
    After: `%d` is made of `%a`.
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

include "tessera/Dialect/Tile/Transforms/GpuPasses.td"
include "tessera/Dialect/Tile/Transforms/LaunchPasses.td"

#endif
