//===- GradientPasses.td - Passes for gradients --------------*- tablegen -*-===//
//
// Included at the end of Passes.td.
//
//===----------------------------------------------------------------------===//

def GraphDifferentiate : Pass<"gir-differentiate", "::mlir::ModuleOp"> {
  let summary = "compute gradients in reverse mode";
  let description = [{
    Replaces every `gir.vjp` by the operations that compute its gradients. The pass visits the
    operations between the inputs and the outputs in reverse order. Each operation builds the
    cotangents of its operands from that of its result (`DifferentiableOpInterface`), and the
    cotangents of a value with several uses are added.

    **Why.** Gradients are computed on few operations before anything is fused. The scheduler then
    fuses, stores or recomputes their operations like those of any program.

    With `wrt`, the pass first appends a `gir.vjp` to a function: the gradients of its first
    result, which must be a float scalar, with respect to these arguments become the function's
    results. With `value`, the results of the function stay in front of them. The operations of
    inner gradients come before those of outer ones, so that gradients of gradients need no special
    case.

    Only values that depend on an input and are floats have a cotangent. Derivatives of composites
    are composed of basic operations and use the composite's result. Gradients that are zero are
    constants.

    **Input form.** Graph IR.

    **Output form.** Graph IR without `gir.vjp` and `gir.stop_gradient`, and without the attributes
    that select a convention for gradients (`gir.first_tie`, `gir.zero_at_zero`). Operations whose
    results are not used are erased in functions that had a `gir.vjp`.

    **Declines.** Integers, comparisons and roundings have no derivative, and no cotangent passes
    through them. The pass fails if the function of its options does not exist, or if an argument
    or the result is not a float.

    Before:
    ```mlir
    %1 = gir.map tanh(%0) : (!gir.tensor<S, f32>) -> !gir.tensor<S, f32>
    %2 = gir.vjp of(%1) cotangents(%g) wrt(%0)
       : (!gir.tensor<S, f32>, !gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
    ```
    After:
    ```mlir
    %1 = gir.map tanh(%0) : (!gir.tensor<S, f32>) -> !gir.tensor<S, f32>
    %2 = gir.map mul(%1, %1) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
    %3 = gir.constant 1.000000e+00 : f32 : !gir.tensor<S, f32>
    %4 = gir.map sub(%3, %2) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
    %5 = gir.map mul(%g, %4) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"", "the function that `wrt` is for">,
    ListOption<"wrt", "wrt", "unsigned", "arguments for which gradients are added">,
    Option<"value", "value", "bool", /*default=*/"false", "keep the function's results, too">
  ];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphPartition : Pass<"gir-partition", "::mlir::func::FuncOp"> {
  let summary = "split a joint function into forward and backward";
  let description = [{
    Makes one part of a function with the attribute `gir.joint`, which computes results and
    gradients. Its arguments are `inputs`, then `cotangents`; its results are `results`, then
    gradients. The forward part computes the results, and residuals from which the backward part
    continues.

    **Why.** A caller that needs gradients later calls two functions. What the first one stores for
    the second one is memory until then; what it does not store is computed twice.

    The pass chooses what is saved by a minimum cut. A saved value costs the bytes that are stored
    and loaded. A value that is computed again costs the time of its operation, in bytes of memory
    traffic: the FLOP of a contraction (`flop-per-byte`), another pass over the input of a
    reduction. Elementwise work and views cost almost nothing, because kernels fuse them. A result
    of the function is stored in any case, and arguments are read. A contraction with a K dimension
    of at most 256 and more elements than every argument and result is part of a stream: its result,
    and what is computed from it element by element, is never saved; statistics of its rows are.
    A maximum of rows that is saved, and that only exponents are relative to, is marked
    (`gir.reference`), and so are these exponents (`gir.at_most_zero`): the gauge of a stream can be
    stored in its place, and exponentials relative to it cannot overflow. If all values are of a
    16-bit type (`gir.value_type`, of the whole function), and the maxima and sums of rows of
    exp(x - max) / sum are saved, one number of each row is saved instead, r = max + log(sum), and
    the backward part computes exp(x - r).

    `gir.materialize` is always saved, and nothing that is computed from a `gir.recompute`
    (checkpoint policies). `bytes` in the attribute limits the residuals: what is saved costs more
    until they fit.

    **Input form.** Graph IR without composite operations, after `cse`. With `part = "backward"`,
    the function has an argument for each saved value after the cotangents, and `saved` is the text
    that the forward part has as `residuals` of its attribute `gir.partition`.

    **Output form.** With `part = "forward"`, the results and then the residuals; cotangents are no
    arguments any more. With `part = "backward"`, the gradients. `gir.partition` says what is
    saved, what backward reads of the inputs, and which contractions and reductions it computes
    again.

    **Declines.** Functions without the attribute. If no cut exists, nothing is saved. The pass fails
    if the attribute is malformed, or if `saved` is of another function: it begins with a digest of
    the operations.

    Before:
    ```mlir
    func.func @f(%x: !gir.tensor<64, f32>, %g: !gir.tensor<64, f32>) -> (!gir.tensor<64, f32>, !gir.tensor<64, f32>)
        attributes {gir.joint = {part = "forward", inputs = 1, cotangents = 1, results = 1}} {
      %0 = gir.map exp(%x) : (!gir.tensor<64, f32>) -> !gir.tensor<64, f32>
      %1 = gir.map mul(%g, %0) : (!gir.tensor<64, f32>, !gir.tensor<64, f32>) -> !gir.tensor<64, f32>
      return %0, %1 : !gir.tensor<64, f32>, !gir.tensor<64, f32>
    }
    ```
    After:
    ```mlir
    func.func @f(%x: !gir.tensor<64, f32>) -> !gir.tensor<64, f32> {
      %0 = gir.map exp(%x) : (!gir.tensor<64, f32>) -> !gir.tensor<64, f32>
      return %0 : !gir.tensor<64, f32>
    }
    ```
  }];
  let options = [
    Option<"flopPerByte", "flop-per-byte", "double", "200", "FLOP of 16-bit MMAs in the time of a byte of memory">
  ];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphEraseRecompute : Pass<"gir-erase-recompute", "::mlir::func::FuncOp"> {
  let summary = "erase the marks of recomputed values";
  let description = [{
    Replaces `gir.recompute` by its operand.

    **Why.** The operation separates values that a checkpoint policy computes again from those of the first time, until
    no pass merges equal operations. The scheduler reads the operand itself.

    **Input form.** Graph IR.

    **Output form.** Graph IR without `gir.recompute`.

    **Declines.** Never.
  }];
}
