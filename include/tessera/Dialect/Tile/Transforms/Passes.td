//===- Passes.td - Passes on Tile IR ------------------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_TILE_TRANSFORMS_PASSES
#define TESSERA_DIALECT_TILE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def TileDeduplicateKernels : Pass<"tile-deduplicate-kernels", "::mlir::ModuleOp"> {
  let summary = "launch one kernel where several are identical";
  let description = [{
    Replaces launches of identical kernels by launches of one of them, and erases the others.

    **Why.** Programs that repeat a step, such as the passes of a radix sort, have the same kernel
    many times. It is then compiled once. What a back end proves about one launch holds for all of
    them, because the launches agree as well.

    **Input form.** Whole-tile kernels and their launches.

    **Output form.** The same, with fewer kernels.

    **Declines.** The pass keeps two kernels apart

    - if they differ in anything but their names and locations;
    - if their launches are in different functions, or differ in the grid, views, sizes or scalars;
    - if a tensor has another type, or is the caller's in one launch and the program's own
      (`tile.empty`) in the other.
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileExpandMath : Pass<"tile-expand-math", "::mlir::ModuleOp"> {
  let summary = "expand elementary functions into primitive maps";
  let description = [{
    Rewrites `tile.map` so that only primitive and native operations remain.

    **Why.** Every back end has a primitive operation as one or two instructions. All targets share
    the same polynomials and therefore the same results and error bounds.

    *Primitive* on f32 and f64: add sub mul div neg abs maximum minimum sqrt floor ceil round trunc
    fma scaleb, comparisons, where, casts and bitcasts. On integers: add sub mul neg abs maximum
    minimum floor_divide remainder fmod, comparisons, where, the bitwise operations and shifts. The
    pass emits `scaleb` with exponents between -1100 and 1100 (-160 and 160 for f32), or on nan;
    back ends need not support others.

    *Native* operations are those that the target computes itself (`lib/Target/NativeMath.cpp`), some
    of them only where the map is marked `fast` and of f32, or in modules without f64. With a native
    `exp2`, `exp` of f32 is computed from it, with an error of 1.9 ulp plus that of `exp2`.

    *Fast* functions become approximations by exp2 and reciprocals, with a relative error of at most
    2^-14 (for gelu_erf also 2^-25 of the argument). A positive constant factor of such a result is
    folded into the constants of the approximation. On a target without an approximate exp2, a
    `fast` exp2 has an error of at most 2.1 ulp, and is 0 below 2^-125.5.

    *Narrow types.* Arithmetic and reductions on f16 and bf16 tiles are computed in f32 between
    casts, with one rounding per operation. A power with a small constant integral exponent becomes
    a product.

    **Input form.** Tile IR with any map, in a module with a target.

    **Output form.** Tile IR whose maps are primitive on f32, f64 and integers, or native. Operations
    of an online softmax are marked `expanded` if that holds for their maps after an expansion only.

    **Declines.** Primitive and native maps that are not of a narrow float stay, and so does
    `where`, which only moves elements.

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

    The table lists the errors in units of the last place (ulp) of the exact result: the largest
    among 1.5 million arguments for each function and type (unittests/Dialect/Tile). The arguments
    are bit patterns of the whole range, a dense part of it, and special values. The fourth column
    has the number of operations in f32 and f64, with `fma` rounding once. Infinities, nan, signed
    zeros, overflow and gradual underflow are exact unless the last column says otherwise.

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
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileLowerOnlineUpdate : Pass<"tile-lower-online-update"> {
  let summary = "lower an online softmax to maps";
  let description = [{
    Replaces `tile.online_update` and `tile.online_weigh` by maps in their place.

    **Why.** Passes that rewrite an online softmax have to know which values belong to it: the
    running maximum, the reference, the factor that rescales sums, and the weights. These operations
    say so. Later passes and back ends need to know elementwise operations only.

    **Input form.** Tile IR without layouts.

    **Output form.** The same without these two operations. Powers are `exp2` marked `fast`. The maps
    of an operation that `tile-expand-math` marked `expanded` are primitive.

    **Declines.** Never. Results that nothing uses have no maps.

    Before:
    ```mlir
    %next, %reference, %scales, %factor = tile.online_update %m from %g scale 2.0 guarded : tensor<64xf32>
    ```
    After:
    ```mlir
    %next = tile.map maximum(%g, %m) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %reference = tile.map maximum(%next, %lowest) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = tile.map sub(%g, %reference) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %e = tile.map mul(%d, %two) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %factor = tile.map exp2(%e) fast : (tensor<64xf32>) -> tensor<64xf32>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileHoist : Pass<"tile-hoist"> {
  let summary = "move loop-invariant operations out of loops";
  let description = [{
    Moves operations out of `scf.for` if their operands are defined outside it.

    **Why.** MLIR's loop-invariant code motion does not move loads. Views of a kernel do not overlap
    unless both are only read, so this pass also moves `tile.load` and `tile.gather` out of a loop
    that does not store to their view.

    **Input form.** Whole-tile kernels.

    **Output form.** The same.

    **Declines.** The pass leaves an operation in its loop

    - if it has side effects, or may not be speculated;
    - if it is a load or gather from a view that the loop stores or scatters to;
    - if it is a load or gather without padding, unless constant bounds show that the loop runs:
      such a load is in bounds only if the program executes it.

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

def TileCollapseLoops : Pass<"tile-collapse-loops"> {
  let summary = "make one K loop of nested ones";
  let description = [{
    Replaces perfectly nested loops around a contraction by one loop over all their iterations. The
    iterations of each are quotients and remainders of the new one.

    **Why.** A contraction over several dimensions, such as a convolution, has a loop for each. A
    software pipeline of the inner loop would fill and drain with each iteration of the outer loop,
    and TMA loads are pipelined in outermost loops only.

    **Input form.** Whole-tile kernels.

    **Output form.** The same, with fewer loops.

    **Declines.** Outer loops that do more than pass on what the inner loop carries; bounds of the
    inner loop that depend on the outer iteration; nests without `tile.mma` in the inner loop.

    Before:
    ```mlir
    %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %zero) -> (tensor<64x64xf32>) {
      %s = scf.for %k = %c0 to %c8 step %c1 iter_args(%b = %a) -> (tensor<64x64xf32>) {
        %x_tile = tile.load %x[%m, %i, %k] dims [0, 2] : !tile.view<?x5x512xbf16, strides = [2560, 512, 1]> -> tensor<64x64xbf16>
        …
      }
      scf.yield %s : tensor<64x64xf32>
    }
    ```
    After:
    ```mlir
    %r = scf.for %t = %c0 to %c40 step %c1 iter_args(%b = %zero) -> (tensor<64x64xf32>) {
      %i = arith.divui %t, %c8 : index
      %k = arith.remui %t, %c8 : index
      %x_tile = tile.load %x[%m, %i, %k] dims [0, 2] : !tile.view<?x5x512xbf16, strides = [2560, 512, 1]> -> tensor<64x64xbf16>
      …
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileCanonicalizeLoopCarried : Pass<"tile-canonicalize-loop-carried"> {
  let summary = "let loops carry tiles in the shape that their body uses";
  let description = [{
    Removes a reshape or transpose at the start of a loop body and its inverse at the end: the loop
    carries the tile in the shape that the body uses. The tile is reshaped or transposed once before
    the loop, and back once after it.

    **Why.** A conversion of the accumulator in every iteration costs registers and, on GPUs, shared
    memory.

    **Input form.** Whole-tile kernels.

    **Output form.** The same, with other types of carried tiles.

    **Declines.** Carried tiles with more than one use in the body; uses other than a reshape or a
    transpose directly in the body; loops that do not yield the result of the inverse operation.

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
  let summary = "mark maps whose functions may be approximated as `fast`";
  let description = [{
    Marks maps as `fast` in the kernels of functions that compute in a narrow type, or whose policy
    allows approximations. `tile-expand-math` then expands them into approximations.

    **Why.** Kernels compute in f32 what a bf16 program rounds after every step. The last digits of
    f32 are lost in any case.

    A function is narrow if bf16 is its only floating point type (`gir.value_type`), or f16 on CPUs.
    The policy `fast_math = "true"` marks the maps of any function, `"false"` of none. A function
    with strict numerics has no `gir.value_type`.

    The target determines which operations have an approximation (`lib/Target/NativeMath.cpp`). Powers
    that the compiler itself emits, the weights of streams, are `fast` in every function. Where the
    target's approximation of them has fewer digits than f32, they lose the mark in functions that
    are not narrow (AVX-512), or are expanded here, with an error of at most 2.1 ulp (Neon); results
    below 2^-125.5 are 0.

    **Input form.** Whole-tile kernels and the functions that launch them, in a module with a target.

    **Output form.** The same, with other `fast` marks.

    **Declines.** Operations without an approximation; kernels of functions that are neither narrow
    nor allowed by the policy, except for weights.

    ```mlir
    %1 = tile.map tanh(%0) fast : (tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileRoundMmaOperands : Pass<"tile-round-mma-operands", "::mlir::ModuleOp"> {
  let summary = "round MMA operands to the program's narrow type, or to the policy's";
  let description = [{
    Rounds the f32 operands of MMAs to a narrow type. An operand that was widened from this type is
    used as it was. So are operands of 32-bit integers that were widened from bytes.

    **Why.** A kernel may carry a value in f32 that the program rounds to bf16, f16 or an 8-bit type
    before a contraction. Tensor cores process narrow operands at many times the rate of wider ones.

    **Input form.** Whole-tile kernels of functions with `gir.product_type`, which states the common
    operand type of all contractions of the program, or with a numerics policy `matmul = "tf32"` or
    `"bf16"`.

    **Output form.** The same, with MMAs of that type that accumulate in f32.

    **Declines.** Floats of functions without the attribute and the policy; types that the target's
    tensor cores lack, on chips without bf16; MMAs whose left operand or accumulator is not f32.

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
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileNarrowIndexTypes : Pass<"tile-narrow-index-types", "::mlir::ModuleOp"> {
  let summary = "compute with indices in 32 bits";
  let description = [{
    Computes comparisons, conversions to floating point, minima and maxima of indices in i32.

    **Why.** Indices are i64 in programs. If all tensors have fewer than 2^31 elements, indices and
    their differences fit into 32 bits, which GPUs compare and convert several times faster.

    The operands may be `tile.iota`, constants that fit, differences of indices that cannot be
    negative, minima and maxima, `where`, and views of these. In a minimum or maximum, the largest
    or smallest i64 that stands for "none" becomes that of i32, and is widened after the reduction.

    **Input form.** Whole-tile kernels with their launches.

    **Output form.** The same, with tiles of i32.

    **Declines.** Modules with a tensor that may have 2^31 elements or more, or with the option
    `indices = "64"`; operands of other kinds, such as sums and products of indices, which may
    overflow, and loaded indices.

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
  let summary = "compute MMAs of f32 by MMAs of narrower types";
  let description = [{
    Splits each f32 operand of an MMA into two tf32 parts, and computes the MMA as three MMAs of
    tf32. If both operands are sums of three bf16 tiles (`join`, from `gir-store-floats`), the MMA
    becomes six MMAs of bf16.

    **Why.** Tensor cores process tf32 (f32 with a mantissa of 10 bits) at eight times or more the
    rate of f32 FMAs. An element is the sum of its first 11 digits and the rest. Three products of
    such parts, accumulated in f32, have an error of at most 8 f32 roundoffs per term, within the
    error bound of an f32 sum.

    Infinities and nans are those of one MMA. Elements below 2^-115 lose digits of their second
    part. Operands that were widened from 16 bits or fewer have no second part, and need no MMA with
    it. In a loop that only accumulates, the small products have an accumulator of their own, which
    is added after the loop.

    **Input form.** Whole-tile kernels.

    **Output form.** The same, without MMAs of f32.

    **Declines.** MMAs whose left operand or accumulator is not f32.

    Before:
    ```mlir
    %d = tile.mma %a, %b, %c : (tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
    After, with `%ah` and `%al` as the tf32 parts of `%a`:
    ```mlir
    %s0 = tile.mma %al, %bh, %zero : (tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s1 = tile.mma %ah, %bl, %s0 : (tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %l = tile.mma %ah, %bh, %c : (tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %d = tile.map add(%l, %s1) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileExpandSorts : Pass<"tile-expand-sorts", "::mlir::ModuleOp"> {
  let summary = "rewrite sorts as reductions of pairs";
  let description = [{
    Replaces `tile.sort` by the steps of its network. A step divides the dimension into pairs, whose minimum and
    maximum are reductions; the position of an element decides which of the two it becomes.

    **Why.** The backends for CPUs and CUDA Tile IR then need no sorting code of their own. The PTX backend keeps
    sorts: it compares registers and exchanges words by shuffles.

    **Input form.** Whole-tile kernels.

    **Output form.** The same, without `tile.sort`.

    **Declines.** Never.

    Before:
    ```mlir
    %1 = tile.sort %0 dim 0 : tensor<2xi64>
    ```
    After:
    ```mlir
    %c0 = arith.constant 0 : index
    %at = tile.iota %c0 : tensor<2xi32>
    %one = tile.constant 1 : i32 : tensor<2xi32>
    %bit = tile.map bitwise_and(%at, %one) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
    %zero = tile.constant 0 : i32 : tensor<2xi32>
    %second = tile.map ne(%bit, %zero) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %pairs = tile.reshape %0 : tensor<2xi64> -> tensor<1x2x1xi64>
    %p = tile.reshape %second : tensor<2xi1> -> tensor<1x2x1xi1>
    %h = tile.reduce max %pairs dims [1] : tensor<1x2x1xi64> -> tensor<1x1xi64>
    %high = tile.broadcast %h dims [0, 2] : tensor<1x1xi64> -> tensor<1x2x1xi64>
    %l = tile.reduce min %pairs dims [1] : tensor<1x2x1xi64> -> tensor<1x1xi64>
    %low = tile.broadcast %l dims [0, 2] : tensor<1x1xi64> -> tensor<1x2x1xi64>
    %w = tile.map where(%p, %high, %low) : (tensor<1x2x1xi1>, tensor<1x2x1xi64>, tensor<1x2x1xi64>) -> tensor<1x2x1xi64>
    %1 = tile.reshape %w : tensor<1x2x1xi64> -> tensor<2xi64>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileWidenMmaTypes : Pass<"tile-widen-mma-types", "::mlir::ModuleOp"> {
  let summary = "compute MMAs of narrow types in f32, without tensor cores";
  let description = [{
    Converts the operands of MMAs of narrow floats and of bytes to f32, which needs no tensor cores.

    **Why.** Some compilations may not use tensor cores, and some chips' tensor cores do not support
    all types. Floats of 16 bits or fewer are exact in f32, so that only the order of additions may
    change. Bytes are exact in f32 as well, and so are their sums over a K dimension of at most 256;
    over a larger K dimension they are computed in f64. Their accumulator stays an integer.

    **Input form.** Whole-tile kernels.

    **Output form.** The same. MMAs of narrow floats and bytes remain only where tensor cores
    compute them.

    **Declines.** MMAs that the target's tensor cores compute, unless `tensor-cores` is false: both
    operands have the same type, and the shape fits the instruction. MMAs of f32, f64 and of integers
    that were not widened from bytes.

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
  let options = [Option<"tensorCores", "tensor-cores", "bool", "true", "whether the compilation may use tensor cores">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TileEmulateIntegerMma : Pass<"tile-emulate-integer-mma"> {
  let summary = "compute MMAs of wide integers by MMAs of f64";
  let description = [{
    Splits the operands of MMAs of int16, int32 and int64 into limbs of 16 bits, and multiplies the
    limbs in f64.

    **Why.** Tensor cores multiply bytes and floats, but no wider integers. f64 holds a limb, the
    products of limbs and their sums over a tile exactly. The products are shifted and added modulo
    the size of the integer. int16 needs one MMA, int32 three, int64 ten.

    **Input form.** Whole-tile kernels.

    **Output form.** The same, without MMAs of integers of 16 bits or more.

    **Declines.** MMAs of floats and of bytes.

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
  let summary = "merge loads of a tile that differ only in their padding";
  let description = [{
    Replaces two loads of the same tile by one if they have the same padding, or if the padding of
    one of them has no effect.

    **Why.** A softmax pads its maximum with -inf and its result with zero. Without the pass, the
    kernel would load the row twice.

    Padding has no effect if the loaded tile reaches, through elementwise operations only, `bounded`
    stores to the same coordinates: these omit the elements outside the tensor.

    **Input form.** Whole-tile kernels.

    **Output form.** The same, with fewer loads.

    **Declines.** Loads without padding; loads that differ in the view, coordinates, dimensions or
    type; a second load that the first does not dominate; loads whose different paddings both have
    an effect, for example through a reduction.

    Before:
    ```mlir
    %a = tile.load %x[%i, %c0] dims [1] pad 0xFF800000 : f32 : !v -> tensor<1024xf32>
    %m = tile.reduce max %a dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.load %x[%i, %c0] dims [1] pad 0.0 : f32 : !v -> tensor<1024xf32>
    %c = tile.broadcast %m dims [] : tensor<f32> -> tensor<1024xf32>
    %d = tile.map sub(%b, %c) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    tile.store %d, %out[%i, %c0] dims [1] bounded : tensor<1024xf32>, !v
    ```
    After: `%d` is computed from `%a`.
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

include "tessera/Dialect/Tile/Transforms/GpuPasses.td"
include "tessera/Dialect/Tile/Transforms/AsyncPasses.td"
include "tessera/Dialect/Tile/Transforms/LaunchPasses.td"

#endif
