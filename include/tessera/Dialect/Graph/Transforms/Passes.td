//===- Passes.td - Passes on Graph IR -----------------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def GraphDecompose : Pass<"gir-decompose"> {
  let summary = "rewrite composite operations into maps, views, reductions and contractions";
  let description = [{
    Replaces every operation of `CompositeOpInterface` by the basic operations that define it.

    **Why.** Later passes know no layer of a model by name, so that a hand-written softmax and
    `gir.softmax` give the same kernel.

    Composites of 16-bit tensors are computed in f32 between two casts. Promotion may drop these
    casts inside a kernel. Every new operation has the composite's location.

    **Input form.** Graph IR.

    **Output form.** Graph IR without composite operations, except `gir.scatter_add`.

    **Declines.** `gir.scatter_add`, whose form depends on the target: `gir-lower-scatter-add` and
    `convert-graph-to-sched` handle it. The pass cannot fail. It does not simplify the new
    operations; `canonicalize` and `cse` do.

    Before:
    ```mlir
    %1 = gir.mean %0 dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
    ```
    After:
    ```mlir
    %1 = gir.reduce sum %0 dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
    %2 = gir.size "S" : !gir.tensor<i64>
    %3 = gir.cast %2 : !gir.tensor<i64> -> !gir.tensor<f32>
    %4 = gir.broadcast %3 dims [] : !gir.tensor<f32> -> !gir.tensor<B, f32>
    %5 = gir.map div(%1, %4) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
    ```
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphExpandSorts : Pass<"gir-expand-sorts"> {
  let summary = "rewrite sorts into sorts of short rows, searches, scans and scatters";
  let description = [{
    Replaces `gir.argsort`. Elements are mapped to integer keys of the same order.

    **Why.** Kernels then need no sorting code but that for short rows of integers (`gir.sort`):
    every other step is a map, a scan, a gather or a scatter.

    *Merge sort, for GPUs.* A word is an element's key above its index. Rows of at most 4096
    elements are `gir.sort` of their words. Longer rows are divided into such runs, which are merged
    two by two: a word moves by the number of words of the other run that precede it, found by a
    binary search (`gir.gather`), and is scattered to its new position (`gir.scatter`). Keys of 64
    bits are sorted by their lower half first.

    *Radix sort,* with `sequential`, and for rows of more than 2^22 elements on GPUs. For each digit
    it counts the digit's values, scans the counts, and scatters every element to its sorted
    position.

    Elements that are computed with roundings are stored first (`gir.materialize`): the kernel that
    counts digits and the kernel that scatters elements must read the same bits.

    With `sequential`, for CPUs, each row is processed in order. Counts of the radix sort are sums into a small table
    (`gir.scatter_add`, and `gir.scan` by a key), and digits have up to 8 bits (11 in rows of 32768
    elements and more). Otherwise, for GPUs, reductions and scans count in parallel, and digits have
    4 bits.

    *The first k elements.* The k blocks of a row whose minima come first contain them. With
    `sequential`, the pass sorts the minima of blocks of 64 elements, and then only these k blocks.
    Otherwise it finds the k blocks from the minima of blocks of blocks. The k first of the last
    minima, and of the words of k blocks, are found by counting the words before each. The lengths
    of the blocks have the least predicted time, with comparisons, loads and launches counted.

    **Input form.** Graph IR without composite operations.

    **Output form.** The same, without `gir.argsort`.

    **Declines.** Never. A row whose length has no bound is sorted by digits. The shortcuts for the first k elements need keys of at most 32 bits. The one
    for GPUs is not taken if the sort is predicted to take less time, or if key and index of an
    element of the longest row do not fit into 63 bits.
  }];
  let options = [
    Option<"sequential", "sequential", "bool", /*default=*/"false", "process rows in order, for CPUs">
  ];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphAccumulate : Pass<"gir-accumulate", "::mlir::ModuleOp"> {
  let summary = "accumulate reductions and contractions in the type of the numerics policy";
  let description = [{
    Computes sums, products, scans and contractions in f64 if the numerics policy says `accum =
    "fp64"`. Operands are converted before the operation, and the result after it.

    **Why.** By default these operations accumulate floats of up to 32 bits in f32. The policy makes
    the type explicit in the IR, so that no later pass reads it.

    **Input form.** Graph IR without composite operations.

    **Output form.** The same, with casts to and from f64.

    **Declines.** Functions with another policy or none; maxima, minima and logical reductions,
    which do not round; integer and f64 operations.

    Before, in a function with `gir.numerics = {accum = "fp64"}`:
    ```mlir
    %1 = gir.reduce sum %0 dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
    ```
    After:
    ```mlir
    %1 = gir.cast %0 : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, f64>
    %2 = gir.reduce sum %1 dims [1] : !gir.tensor<B, S, f64> -> !gir.tensor<B, f64>
    %3 = gir.cast %2 : !gir.tensor<B, f64> -> !gir.tensor<B, f32>
    ```
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphDistributeConcat : Pass<"gir-distribute-concat"> {
  let summary = "compute on the parts of a concatenation instead of materializing it";
  let description = [{
    Applies the users of a `gir.concat` to its parts, so that the concatenation disappears. A
    reduction over the concatenated dimension combines the reductions of the parts, and a
    contraction over it is the sum of the parts' contractions. Maps and views that keep the
    dimension apply to each part. A slice inside one part is a slice of that part. Before that, the
    sum of concatenations with zeros at different places becomes one concatenation, such as the
    gradient of a tensor that is split. A concatenation that stays, of which only a transposition is
    read, is one of transposed parts.

    **Why.** A concatenation that is read by one kernel need not be stored. The typical case is a
    row with one extra element, such as an attention sink.

    **Input form.** Graph IR without composite operations.

    **Output form.** The same, with fewer `gir.concat`. Operands that are not concatenated are
    sliced. Sums of 16-bit elements are combined in f32 and rounded once.

    **Declines.** The pass leaves a concatenation alone

    - if its parts, without the longest one, may have more than 16 elements together, or more than
      half as many as the longest: each long part would need a loop of its own;
    - if a user needs it whole: a result, a reshape, a free dimension of a contraction, a slice
      across parts or with a step;
    - if a map combines two values whose concatenated dimensions are at different positions;
    - if `numerics` is strict and a sum of concatenations with zeros would lose the sign of a zero;
    - if a reduction of booleans is neither `any` nor `all`.

    Before:
    ```mlir
    %2 = gir.concat 1(%0, %1)
       : (!gir.tensor<B, 1, f32>, !gir.tensor<B, S, f32>) -> !gir.tensor<B, "S + 1", f32>
    %3 = gir.map exp(%2) : (!gir.tensor<B, "S + 1", f32>) -> !gir.tensor<B, "S + 1", f32>
    %4 = gir.reduce sum %3 dims [1] : !gir.tensor<B, "S + 1", f32> -> !gir.tensor<B, f32>
    ```
    After:
    ```mlir
    %2 = gir.map exp(%0) : (!gir.tensor<B, 1, f32>) -> !gir.tensor<B, 1, f32>
    %3 = gir.map exp(%1) : (!gir.tensor<B, S, f32>) -> !gir.tensor<B, S, f32>
    %4 = gir.reduce sum %2 dims [1] : !gir.tensor<B, 1, f32> -> !gir.tensor<B, f32>
    %5 = gir.reduce sum %3 dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
    %6 = gir.map add(%4, %5) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
    ```
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphLowerScatterAdd : Pass<"gir-lower-scatter-add", "::mlir::func::FuncOp"> {
  let summary = "rewrite scatter_add for targets whose CTAs run in any order";
  let description = [{
    Rewrites `gir.scatter_add` into a form whose result does not depend on the order in which CTAs
    run. Integers narrower than 32 bits are added in i32, the narrowest type of atomic additions. A
    sum of floats becomes the gather that defines it: each element collects the sources that are
    sent to it, in their order.

    **Why.** CTAs of a GPU add in any order. Integer sums do not depend on the order; sums of floats
    do. With this pass, results are deterministic on every target.

    **Input form.** Graph IR without other composite operations.

    **Output form.** The same; every `gir.scatter_add` is of i32 or i64.

    **Declines.** `gir.scatter_add` of i32 and i64 stays as it is.

    Before:
    ```mlir
    %3 = gir.scatter_add %0, %1(%2) dim 0
       : (!gir.tensor<V, i8>, !gir.tensor<S, i8>, !gir.tensor<S, i64>) -> !gir.tensor<V, i8>
    ```
    After:
    ```mlir
    %3 = gir.cast %0 : !gir.tensor<V, i8> -> !gir.tensor<V, i32>
    %4 = gir.cast %1 : !gir.tensor<S, i8> -> !gir.tensor<S, i32>
    %5 = gir.scatter_add %3, %4(%2) dim 0
       : (!gir.tensor<V, i32>, !gir.tensor<S, i32>, !gir.tensor<S, i64>) -> !gir.tensor<V, i32>
    %6 = gir.cast %5 : !gir.tensor<V, i32> -> !gir.tensor<V, i8>
    ```
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphSplitBatches : Pass<"gir-split-batches", "::mlir::func::FuncOp"> {
  let summary = "split batch dimensions that reshapes of operands joined";
  let description = [{
    Where an operand of a contraction is a reshape that joins dimensions into one of the batch, the
    contraction has these dimensions instead. The other operand and the result are reshaped.

    **Why.** Products of frameworks have one batch dimension. Heads that are transposed views of a
    projection have no regular stride along the joined dimension, and would be copied. Reshapes
    between two contractions, as in attention, keep them apart.

    **Input form.** Graph IR without composite operations.

    **Output form.** The same. Casts and transpositions between a reshape and the contraction have
    the split dimensions.

    **Declines.** Batch dimensions stay that the operands join from different ones. The pass cannot
    fail.

    Before:
    ```mlir
    func.func @f(%x: !gir.tensor<4, 8, 64, 64, f32>, %y: !gir.tensor<4, 8, 64, 64, f32>) -> !gir.tensor<32, 64, 64, f32> {
      %0 = gir.reshape %x : !gir.tensor<4, 8, 64, 64, f32> -> !gir.tensor<32, 64, 64, f32>
      %1 = gir.reshape %y : !gir.tensor<4, 8, 64, 64, f32> -> !gir.tensor<32, 64, 64, f32>
      %2 = gir.contract %0, %1 batch [0] x [0] over [2] x [1]
         : (!gir.tensor<32, 64, 64, f32>, !gir.tensor<32, 64, 64, f32>) -> !gir.tensor<32, 64, 64, f32>
      return %2 : !gir.tensor<32, 64, 64, f32>
    }
    ```
    After:
    ```mlir
    func.func @f(%x: !gir.tensor<4, 8, 64, 64, f32>, %y: !gir.tensor<4, 8, 64, 64, f32>) -> !gir.tensor<32, 64, 64, f32> {
      %0 = gir.contract %x, %y batch [0, 1] x [0, 1] over [3] x [2]
         : (!gir.tensor<4, 8, 64, 64, f32>, !gir.tensor<4, 8, 64, 64, f32>) -> !gir.tensor<4, 8, 64, 64, f32>
      %1 = gir.reshape %0 : !gir.tensor<4, 8, 64, 64, f32> -> !gir.tensor<32, 64, 64, f32>
      return %1 : !gir.tensor<32, 64, 64, f32>
    }
    ```
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphReuseContractions : Pass<"gir-reuse-contractions", "::mlir::func::FuncOp"> {
  let summary = "sum products with a contraction through another contraction";
  let description = [{
    Rewrites a sum of products in which one factor is a contraction,
    Σⱼ p[i,j] · (Σₐ a[i,a] b[j,a]), to Σₐ a[i,a] · (Σⱼ p[i,j] b[j,a]), if the function contains the
    contraction in the last parentheses.

    **Why.** The sum reads a result that exists anyway, and no longer needs the elements of the first
    contraction. The gradient of a softmax that is multiplied by a matrix has such a sum: it becomes
    the sum of the products of the result and its cotangent, row by row.

    Products are compared by their factors, behind transposes, broadcasts, casts that need not round,
    and products with constants. The pass looks at the dimensions of factors, and not at the
    operations around them.

    **Input form.** Graph IR without composite operations, after `cse`.

    **Output form.** The same. The former sum and what only it used are dead.

    **Declines.** The pass leaves a sum alone

    - if no earlier contraction of the function has the same factors, or it sums over other
      dimensions;
    - if the new sum would have more terms;
    - if an explicit cast lies between the factors, or the contractions accumulate in another type
      than the sum;
    - if its elements are integers or fp8;
    - if the function's numerics are strict.

    Before:
    ```mlir
    func.func @f(%p: !gir.tensor<64, 512, f32>, %b: !gir.tensor<512, 32, f32>, %a: !gir.tensor<64, 32, f32>) -> (!gir.tensor<64, 32, f32>, !gir.tensor<64, f32>) {
      %0 = gir.contract %p, %b batch [] x [] over [1] x [0]
         : (!gir.tensor<64, 512, f32>, !gir.tensor<512, 32, f32>) -> !gir.tensor<64, 32, f32>
      %1 = gir.contract %a, %b batch [] x [] over [1] x [1]
         : (!gir.tensor<64, 32, f32>, !gir.tensor<512, 32, f32>) -> !gir.tensor<64, 512, f32>
      %2 = gir.map mul(%p, %1) : (!gir.tensor<64, 512, f32>, !gir.tensor<64, 512, f32>) -> !gir.tensor<64, 512, f32>
      %3 = gir.reduce sum %2 dims [1] : !gir.tensor<64, 512, f32> -> !gir.tensor<64, f32>
      return %0, %3 : !gir.tensor<64, 32, f32>, !gir.tensor<64, f32>
    }
    ```
    After:
    ```mlir
    func.func @f(%p: !gir.tensor<64, 512, f32>, %b: !gir.tensor<512, 32, f32>, %a: !gir.tensor<64, 32, f32>) -> (!gir.tensor<64, 32, f32>, !gir.tensor<64, f32>) {
      %0 = gir.contract %p, %b batch [] x [] over [1] x [0]
         : (!gir.tensor<64, 512, f32>, !gir.tensor<512, 32, f32>) -> !gir.tensor<64, 32, f32>
      %1 = gir.map mul(%a, %0) : (!gir.tensor<64, 32, f32>, !gir.tensor<64, 32, f32>) -> !gir.tensor<64, 32, f32>
      %2 = gir.reduce sum %1 dims [1] : !gir.tensor<64, 32, f32> -> !gir.tensor<64, f32>
      return %0, %2 : !gir.tensor<64, 32, f32>, !gir.tensor<64, f32>
    }
    ```
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphFactorContractions : Pass<"gir-factor-contractions", "::mlir::func::FuncOp"> {
  let summary = "take constant factors out of contractions";
  let description = [{
    Multiplies the result of a contraction by the constants that its operands are multiplied or
    divided by: Σ (a·x)(b·y) = ab·Σ xy.

    **Why.** An operand that is loaded as it is reaches the tensor cores by asynchronous copies, and a
    16-bit one is exact. A computed operand passes through registers and is rounded there, or is
    stored first. Frameworks scale both operands of attention's first contraction by the square root
    of the scale.

    **Input form.** Graph IR without composite operations.

    **Output form.** The same. Views between a factor and its contraction are views of what was
    multiplied. Sums of fp16 are fp32, since they may be too large before they are multiplied.

    **Declines.** The pass leaves a contraction alone

    - if an explicit cast lies between a factor and the contraction;
    - if the product of the factors is not between 2^-32 and 2^32, so that sums could overflow or
      lose small terms;
    - if its elements are integers or fp8;
    - if the function's numerics are strict.

    Before:
    ```mlir
    func.func @f(%x: !gir.tensor<64, 64, f32>, %y: !gir.tensor<64, 64, f32>) -> !gir.tensor<64, 64, f32> {
      %0 = gir.constant 5.000000e-01 : f32 : !gir.tensor<64, 64, f32>
      %1 = gir.map mul(%x, %0) : (!gir.tensor<64, 64, f32>, !gir.tensor<64, 64, f32>) -> !gir.tensor<64, 64, f32>
      %2 = gir.contract %1, %y batch [] x [] over [1] x [0]
         : (!gir.tensor<64, 64, f32>, !gir.tensor<64, 64, f32>) -> !gir.tensor<64, 64, f32>
      return %2 : !gir.tensor<64, 64, f32>
    }
    ```
    After:
    ```mlir
    func.func @f(%x: !gir.tensor<64, 64, f32>, %y: !gir.tensor<64, 64, f32>) -> !gir.tensor<64, 64, f32> {
      %0 = gir.contract %x, %y batch [] x [] over [1] x [0]
         : (!gir.tensor<64, 64, f32>, !gir.tensor<64, 64, f32>) -> !gir.tensor<64, 64, f32>
      %1 = gir.constant 5.000000e-01 : f32 : !gir.tensor<64, 64, f32>
      %2 = gir.map mul(%0, %1) : (!gir.tensor<64, 64, f32>, !gir.tensor<64, 64, f32>) -> !gir.tensor<64, 64, f32>
      return %2 : !gir.tensor<64, 64, f32>
    }
    ```
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphDropChecks : Pass<"gir-drop-checks", "::mlir::func::FuncOp"> {
  let summary = "erase checks of values";
  let description = [{
    Erases `gir.check`.

    **Why.** A call to a GPU returns before its kernels run, so that no caller could receive the
    error.

    **Input form.** Graph IR.

    **Output form.** Graph IR without `gir.check`.

    **Declines.** Never.
  }];
}

def GraphSplitScans : Pass<"gir-split-scans", "::mlir::func::FuncOp"> {
  let summary = "split long running sums into parts that run in parallel";
  let description = [{
    Splits the dimension of a long scan into 64 equal parts. One kernel sums each part, one sums the
    parts before each part, and the scans of the parts start from there.

    **Why.** A CTA scans a row, or up to 32 columns, in order. A few long scans leave most SMs idle.

    **Input form.** Graph IR without composite operations.

    **Output form.** The same, with `gir.materialize` of the sums of the parts and of the sums
    before them. Narrow floats are scanned in their accumulation type.

    **Declines.** The pass leaves a scan alone

    - if it has a key, or is not a sum;
    - if its dimension is not known to be a multiple of 64;
    - if it has more CTAs than a quarter of `sms`, or at most 1 MiB for each CTA;
    - if the function's numerics are strict or batch-invariant, since the order of the additions
      changes.
  }];
  let options = [Option<"sms", "sms", "int64_t", "132", "SMs of the device">];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphAlignOperands : Pass<"gir-align-operands", "::mlir::func::FuncOp"> {
  let summary = "copy operands of contractions whose rows TMA cannot load";
  let description = [{
    Copies an argument, or a reshape of one, whose rows do not start at multiples of
    `row-alignment` bytes into memory with padded rows, if a large contraction reads it.

    **Why.** A contraction reads an element once for each tile of the other operand. TMA and
    `cp.async` need aligned rows. One copy is cheap compared with elementwise loads in the main
    loop.

    **Input form.** Graph IR.

    **Output form.** The same, with a `gir.materialize … isolated align_rows` between the argument
    and its users. Rows that are long enough start at cache lines. Reshapes of the argument keep
    reading the original, because they index it linearly.

    **Declines.** The pass leaves an operand alone

    - if it is not an argument or a reshape of one, or one seen through transposes, broadcasts and
      slices that have no other use;
    - if the argument is not contiguous (`gir.contiguous`), has fewer than two dimensions, or has
      elements of less than 8 or more than 16 bits;
    - if the size of a row is known to be a multiple of `row-alignment` bytes;
    - if the copy would take longer than the contraction without it: `flop-per-byte` and
      `flop-per-launch` compare the two.
  }];
  let options = [
    Option<"rowAlignment", "row-alignment", "int64_t", "16", "bytes at whose multiples rows must start">,
    Option<"flopPerByte", "flop-per-byte", "double", "200", "FLOP of 16-bit MMAs in the time of a byte of memory">,
    Option<"flopPerLaunch", "flop-per-launch", "double", "2e9", "FLOP of 16-bit MMAs in the time of a launch">
  ];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphStoreOperands : Pass<"gir-store-operands", "::mlir::func::FuncOp"> {
  let summary = "store computed operands of contractions before they are multiplied";
  let description = [{
    Stores a computed operand of a large contraction with `gir.materialize`, and reductions of 16
    elements and more whose results vary along the K dimension of a contraction: each CTA of the
    contraction would compute all of those in its tiles.

    **Why.** Tensor cores are fed by asynchronous copies from global memory. A computed operand,
    such as a normalized row, passes through registers instead, once for each tile of the other
    operand, and the main loop has no copies in flight.

    **Input form.** Graph IR without composite operations.

    **Output form.** The same, with `gir.materialize … isolated` of such operands. Transposes and
    broadcasts of an operand stay after it. Rows are padded (`align_rows`) where asynchronous
    copies could not load them.

    **Declines.** The pass leaves an operand alone

    - if it is loaded as it is: an argument, a stored value, or a view of one;
    - if its elements are wider than 16 bits, which are split in registers in any case;
    - if it depends on another contraction;
    - if storing it would take longer than the contraction without it: `flop-per-byte` and
      `flop-per-launch` compare the two.
  }];
  let options = [
    Option<"rowAlignment", "row-alignment", "int64_t", "16", "bytes at whose multiples rows must start">,
    Option<"flopPerByte", "flop-per-byte", "double", "200", "FLOP of 16-bit MMAs in the time of a byte of memory">,
    Option<"flopPerLaunch", "flop-per-launch", "double", "2e9", "FLOP of 16-bit MMAs in the time of a launch">
  ];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphSumOperands : Pass<"gir-sum-operands", "::mlir::func::FuncOp"> {
  let summary = "sum the operands of contractions whose results are summed";
  let description = [{
    Replaces the sum of a contraction along dimensions of one operand by a contraction of that
    operand's sum: Σⱼ Σₖ a[i,k] b[j,k] = Σₖ a[i,k] (Σⱼ b[j,k]). The same holds for the sum along
    rows and columns, and for positions of windows.

    **Why.** The contraction has as many fewer products as elements are summed, and its result is
    small: the mean of all positions of a convolution is one product of a matrix.

    **Input form.** Graph IR without composite operations.

    **Output form.** The same. Between the contraction and the sum there may be additions,
    subtractions and negations, factors and divisors that are the same along the sum, casts that
    need not round, transposes, and reshapes that leave the summed dimensions alone. Terms beside
    the contraction are summed on their own; what is the same along the sum is multiplied by the
    number of elements. Sums of 16-bit types and the contraction are computed in fp32.

    **Declines.** The pass leaves a sum alone

    - if the contraction, or an operation before the sum, has other uses;
    - if other operations or explicit casts lie between the two;
    - if both operands have the summed dimension (a batch);
    - if the function's numerics are strict.

    Before:
    ```mlir
    func.func @f(%x: !gir.tensor<64, 32, f32>, %w: !gir.tensor<32, 96, f32>) -> !gir.tensor<64, f32> {
      %0 = gir.contract %x, %w batch [] x [] over [1] x [0]
         : (!gir.tensor<64, 32, f32>, !gir.tensor<32, 96, f32>) -> !gir.tensor<64, 96, f32>
      %1 = gir.reduce sum %0 dims [1] : !gir.tensor<64, 96, f32> -> !gir.tensor<64, f32>
      return %1 : !gir.tensor<64, f32>
    }
    ```
    After:
    ```mlir
    func.func @f(%x: !gir.tensor<64, 32, f32>, %w: !gir.tensor<32, 96, f32>) -> !gir.tensor<64, f32> {
      %0 = gir.reduce sum %w dims [1] : !gir.tensor<32, 96, f32> -> !gir.tensor<32, f32>
      %1 = gir.contract %x, %0 batch [] x [] over [1] x [0]
         : (!gir.tensor<64, 32, f32>, !gir.tensor<32, f32>) -> !gir.tensor<64, f32>
      return %1 : !gir.tensor<64, f32>
    }
    ```
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphStoreFloats : Pass<"gir-store-floats", "::mlir::func::FuncOp"> {
  let summary = "store f32 operands of contractions as wgmma reads them";
  let description = [{
    Stores the f32 operands of a large contraction as three tensors of bf16, whose sum
    (`gir.map join`) takes the operand's place. The first part is the rounded operand, and each
    other one is what rounding has left. An infinity is in the last part, after a first one with its
    sign. With the policy `matmul = "tf32"`, an operand that is computed, or not contiguous along
    what is summed, is stored in such rows.

    **Why.** Tensor cores have no products of f32. Without copies in memory, each warp splits or
    rounds the elements that it loads, once for each tile of the other operand, and multiplies them
    by `mma.sync`. `wgmma` reads operands from shared memory, where TMA puts them: 16-bit ones in
    any order, tf32 along K. `tile-emulate-fp32-mma` multiplies the parts of one operand with those
    of the other.

    **Input form.** Graph IR without composite operations.

    **Output form.** The same, with `gir.materialize … isolated` of the parts. Transposes,
    broadcasts and windows of an operand stay after the sum. Rows are aligned (`align_rows`). A
    product that is reduced is stored.

    **Declines.** The pass leaves a contraction alone

    - if the policy `matmul` is `"bf16"`, or rows must not depend on how many there are
      (`batch_invariant`);
    - if its sides have less than `side` elements, or its K dimensions no more than a k-step (64,
      of tf32 32);
    - if an operand depends on the relation of two positions (`gir.iota`), as a triangle does: loops
      skip its zeros as long as they are not stored;
    - if the product is larger than all arguments and results of the function, and reduced or the
      sum of at most 256 terms: streams compute such products in their tiles. The same holds if an
      operand depends on one;
    - if the copies would take longer than what the contraction saves: `flop-per-byte` and
      `flop-per-launch` compare the two.

    Before:
    ```mlir
    %1 = gir.contract %x, %w batch [] x [] over [1] x [0]
       : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<4096, 4096, f32>
    ```
    After, with `%x` as the sum of its parts `%10`, `%11` and `%12`, and `%w` likewise:
    ```mlir
    %13 = gir.cast %10 : !gir.tensor<4096, 4096, bf16> -> !gir.tensor<4096, 4096, f32>
    %14 = gir.cast %11 : !gir.tensor<4096, 4096, bf16> -> !gir.tensor<4096, 4096, f32>
    %15 = gir.cast %12 : !gir.tensor<4096, 4096, bf16> -> !gir.tensor<4096, 4096, f32>
    %16 = gir.map join(%13, %14, %15)
       : (!gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>, !gir.tensor<4096, 4096, f32>)
      -> !gir.tensor<4096, 4096, f32>
    ```
  }];
  let options = [
    Option<"side", "side", "int64_t", "0",
           "the shortest side of a product that `wgmma` computes; 0: the target has none">,
    Option<"rowAlignment", "row-alignment", "int64_t", "16", "bytes at whose multiples rows must start">,
    Option<"flopPerByte", "flop-per-byte", "double", "200", "FLOP of 16-bit MMAs in the time of a byte of memory">,
    Option<"flopPerLaunch", "flop-per-launch", "double", "2e9", "FLOP of 16-bit MMAs in the time of a launch">
  ];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphGatherReshapes : Pass<"gir-gather-reshapes", "::mlir::func::FuncOp"> {
  let summary = "read reshapes that take apart a contraction's result at computed indices";
  let description = [{
    Stores the result of a contraction as it is, if a reshape takes apart one of its dimensions so
    that the elements are along several dimensions of the reshape, as in a transposed convolution
    whose residues are channels. The reshape is replaced by a `gir.gather` with computed indices.

    **Why.** The contraction would store its result in the order of the reshape. Its tiles would
    have few elements along each of many dimensions, and tensor cores would be mostly idle.

    **Input form.** Graph IR.

    **Output form.** The same, with `gir.materialize … isolated` and `gir.gather` in place of such
    reshapes. The gather is part of the kernel that reads it.

    **Declines.** The pass leaves a reshape alone

    - if a value between it and the contraction has other uses, or is computed;
    - if each dimension of the contraction's result is along one dimension of the reshape, as where
      heads of attention are merged. The pass cannot fail.

    Before:
    ```mlir
    %1 = gir.reshape %0 : !gir.tensor<8, 64, f32> -> !gir.tensor<8, 32, 2, f32>
    %2 = gir.transpose %1 perm [1, 0, 2]
       : !gir.tensor<8, 32, 2, f32> -> !gir.tensor<32, 8, 2, f32>
    %3 = gir.reshape %2 : !gir.tensor<32, 8, 2, f32> -> !gir.tensor<32, 16, f32>
    ```
    After, with `%i` = 2 * row + column % 2 and `%j` = column / 2:
    ```mlir
    %1 = gir.materialize %0 isolated : !gir.tensor<8, 64, f32>
    %3 = gir.gather %1(%j, %i) dims [0, 1] rest []
       : (!gir.tensor<8, 64, f32>, !gir.tensor<32, 16, i64>, !gir.tensor<32, 16, i64>)
       -> !gir.tensor<32, 16, f32>
    ```
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphStoreWindows : Pass<"gir-store-windows", "::mlir::func::FuncOp"> {
  let summary = "store windows that a contraction reads as a matrix";
  let description = [{
    Stores an operand of a contraction that shows windows of a tensor (`gir.window`, seen through
    reshapes) as a matrix with `gir.materialize`: what is summed has one dimension, and the positions
    of windows have one. Rows are positions, or what is summed where `wgmma` has no transposed
    operands: of bytes, and with the policy `matmul = "tf32"` of f32, where both sides of the
    product have `word-side` elements, or positions fill a device. Rows are aligned for bulk copies.

    Elements along the first dimensions of windows are not stored where that saves time: they are
    other rows of the tensor, a constant number of positions further on, and the contraction reads
    a window of the matrix. Where windows have a step, the rows between two windows are part of
    what is summed, and zeros are added to the other operand; of a dilation that is a multiple of
    the step, windows never show these rows. The distance of two elements is a multiple of
    `row-alignment`, or rows are what is summed. The other operand is stored in the same order.

    Along a second dimension, positions are those of whole rows of the tensor. The product has
    elements that no window has at the end of each row; it is stored, and a slice of it is the
    result. This is done for products that `wgmma` computes (`word-side`).

    **Why.** An element of a convolution's operand is at a sum of indices, and along a window there
    are few elements: a tile of tensor cores would be mostly empty. The matrix has one K dimension
    of all that is summed. It repeats each element of the tensor for each element of a window, and
    a convolution of few channels is as long as its copies.

    **Input form.** Graph IR without composite operations.

    **Output form.** The same, with `gir.materialize … isolated` of such operands.

    **Declines.** The pass leaves an operand alone

    - if there are few terms (32, or 128 elements of one window), and a side of the product has less than 16 elements: rows,
      columns, or what is summed, as in a convolution of single channels (`gir-unroll-windows`);
    - if the copy would have more than 1 GiB and no dimension to divide it along: otherwise the
      contraction is divided, and its results are concatenated.

    Where positions are summed, as in the gradient of a weight, all elements are stored, with the
    dimensions that the window has.

    Before:
    ```mlir
    %1 = gir.window %x dims [2, 3] sizes [3, 3] steps [1, 1] dilations [1, 1]
       : !gir.tensor<N, C, 58, 58, bf16> -> !gir.tensor<N, C, 56, 56, 3, 3, bf16>
    %2 = gir.contract %1, %w batch [] x [] over [1, 4, 5] x [1, 2, 3]
       : (!gir.tensor<N, C, 56, 56, 3, 3, bf16>, !gir.tensor<O, C, 3, 3, bf16>) -> !gir.tensor<N, 56, 56, O, bf16>
    ```
    After:
    ```mlir
    %1 = gir.transpose %w perm [0, 2, 1, 3]
       : !gir.tensor<O, C, 3, 3, bf16> -> !gir.tensor<O, 3, C, 3, bf16>
    %2 = gir.reshape %1 : !gir.tensor<O, 3, C, 3, bf16> -> !gir.tensor<O, 3, "3*C", bf16>
    %3 = gir.materialize %2 isolated : !gir.tensor<O, 3, "3*C", bf16>
    %4 = gir.window %x dims [3] sizes [3] steps [1] dilations [1]
       : !gir.tensor<N, C, 58, 58, bf16> -> !gir.tensor<N, C, 58, 56, 3, bf16>
    %5 = gir.transpose %4 perm [0, 1, 4, 2, 3]
       : !gir.tensor<N, C, 58, 56, 3, bf16> -> !gir.tensor<N, C, 3, 58, 56, bf16>
    %6 = gir.reshape %5 : !gir.tensor<N, C, 3, 58, 56, bf16> -> !gir.tensor<N, "3*C", 3248, bf16>
    %7 = gir.materialize %6 isolated : !gir.tensor<N, "3*C", 3248, bf16>
    %8 = gir.window %7 dims [2] sizes [3] steps [1] dilations [56]
       : !gir.tensor<N, "3*C", 3248, bf16> -> !gir.tensor<N, "3*C", 3136, 3, bf16>
    %9 = gir.contract %8, %3 batch [] x [] over [3, 1] x [1, 2]
       : (!gir.tensor<N, "3*C", 3136, 3, bf16>, !gir.tensor<O, 3, "3*C", bf16>) -> !gir.tensor<N, 3136, O, bf16>
    %10 = gir.reshape %9 : !gir.tensor<N, 3136, O, bf16> -> !gir.tensor<N, 56, 56, O, bf16>
    ```
  }];
  let options = [
    Option<"rowAlignment", "row-alignment", "int64_t", /*default=*/"16",
           "the alignment in bytes of rows that bulk copies read">,
    Option<"wordSide", "word-side", "int64_t", /*default=*/"0",
           "the shortest side of a product that `wgmma` computes; 0: the target has none">,
    Option<"sms", "sms", "int64_t", /*default=*/"132", "the number of SMs">,
    Option<"flopPerByte", "flop-per-byte", "double", "200", "FLOP of 16-bit MMAs in the time of a byte of memory">,
    Option<"flopPerLaunch", "flop-per-launch", "double", "2e9", "FLOP of 16-bit MMAs in the time of a launch">
  ];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphUnrollWindows : Pass<"gir-unroll-windows", "::mlir::func::FuncOp"> {
  let summary = "write out reductions of small windows";
  let description = [{
    Replaces reductions and contractions of few terms (32, or 128 elements of one window) over the
    elements of windows (`gir.window`) by maps of slices, one for each term.

    **Why.** A pooling or a convolution of single channels has few terms and many results. Their
    windows overlap, so that the results are best computed like those of elementwise operations:
    tiles along memory, and each window in one thread.

    **Input form.** Graph IR without composite operations.

    **Output form.** The same, with maps in place of such reductions. Sums are maps in the type in
    which they accumulate. A result of 16 terms and more that several reductions, results or tiles
    of a contraction read is stored with `gir.materialize`, with the elementwise operations that
    follow it.

    **Declines.** Windows whose size a call determines, and reductions of bools, stay. The pass cannot
    fail.

    Before:
    ```mlir
    %1 = gir.window %x dims [0] sizes [2] steps [2] dilations [1]
       : !gir.tensor<56, f32> -> !gir.tensor<28, 2, f32>
    %2 = gir.reduce max %1 dims [1] : !gir.tensor<28, 2, f32> -> !gir.tensor<28, f32>
    ```
    After:
    ```mlir
    %1 = gir.window %x dims [0] sizes [2] steps [2] dilations [1]
       : !gir.tensor<56, f32> -> !gir.tensor<28, 2, f32>
    %2 = gir.slice %1 starts ["0", "0"] steps [1, 1]
       : !gir.tensor<28, 2, f32> -> !gir.tensor<28, 1, f32>
    %3 = gir.reshape %2 : !gir.tensor<28, 1, f32> -> !gir.tensor<28, f32>
    %4 = gir.slice %1 starts ["0", "1"] steps [1, 1]
       : !gir.tensor<28, 2, f32> -> !gir.tensor<28, 1, f32>
    %5 = gir.reshape %4 : !gir.tensor<28, 1, f32> -> !gir.tensor<28, f32>
    %6 = gir.map maximum(%3, %5)
       : (!gir.tensor<28, f32>, !gir.tensor<28, f32>) -> !gir.tensor<28, f32>
    ```
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphLowerPadding : Pass<"gir-lower-padding", "::mlir::func::FuncOp"> {
  let summary = "rewrite concatenations with constants into selections";
  let description = [{
    Replaces a `gir.concat` of one tensor with constants by a `where` over the index: the constant
    where its part is, and elsewhere an element of the tensor (`gir.gather`).

    **Why.** A concatenation is put together from pieces, by a kernel for each, and is stored. A
    selection is part of the kernel that needs the padded tensor.

    **Input form.** Graph IR.

    **Output form.** Graph IR in which concatenations have at least two tensors.

    **Declines.** Concatenations of several tensors stay. The pass cannot fail.

    Before:
    ```mlir
    %0 = gir.constant 0.0 : f32 : !gir.tensor<B, 1, f32>
    %1 = gir.concat 1(%x, %0)
       : (!gir.tensor<B, S, f32>, !gir.tensor<B, 1, f32>) -> !gir.tensor<B, "S + 1", f32>
    ```
    After:
    ```mlir
    %0 = gir.iota 1 : !gir.tensor<B, "S + 1", i64>
    %1 = gir.gather %x(%0) dims [1] rest [0]
       : (!gir.tensor<B, S, f32>, !gir.tensor<B, "S + 1", i64>) -> !gir.tensor<B, "S + 1", f32>
    %2 = gir.size "S" : !gir.tensor<i64>
    %3 = gir.broadcast %2 dims [] : !gir.tensor<i64> -> !gir.tensor<B, "S + 1", i64>
    %4 = gir.map ge(%0, %3)
       : (!gir.tensor<B, "S + 1", i64>, !gir.tensor<B, "S + 1", i64>) -> !gir.tensor<B, "S + 1", i1>
    %5 = gir.constant 0.0 : f32 : !gir.tensor<B, "S + 1", f32>
    %6 = gir.map where(%4, %5, %1)
       : (!gir.tensor<B, "S + 1", i1>, !gir.tensor<B, "S + 1", f32>, !gir.tensor<B, "S + 1", f32>)
       -> !gir.tensor<B, "S + 1", f32>
    ```
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

include "tessera/Dialect/Graph/Transforms/GradientPasses.td"

#endif
