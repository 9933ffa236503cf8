//===- Passes.td - Passes on Graph IR -----------------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def GraphDecompose : Pass<"gir-decompose"> {
  let summary = "rewrite composite operations into maps, views, reductions and contractions";
  let description = [{
    Replaces every operation of `CompositeOpInterface` by the operations that define it, so that
    what follows sees plain mathematics and no name of a model's layer. Composites of 16-bit
    tensors are computed in f32 between two casts that promotion may later drop inside a kernel.
    Locations are kept: every new operation carries the composite's.

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

    The pass cannot fail. It leaves the new operations as they are written; `canonicalize` and
    `cse` tidy them.
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphExpandSorts : Pass<"gir-expand-sorts"> {
  let summary = "rewrite sorts into scans and scatters";
  let description = [{
    Replaces `gir.argsort` by a radix sort: keys whose integers are ordered as the elements are, and per digit a count of
    its values, their sums, and a `gir.scatter` that puts every element behind those that come before it.

    A machine that `walks` along rows counts by adding to a small table (`gir.scatter_add`, and `gir.scan` by a key), and
    its digits have eight bits. Otherwise, and by default, many programs work side by side: digits of four bits are
    counted by reductions and scans of all elements.
  }];
  let options = [
    Option<"walks", "walks", "bool", /*default=*/"false", "count by walking along rows, as CPUs do">
  ];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphAccumulate : Pass<"gir-accumulate", "::mlir::ModuleOp"> {
  let summary = "compute sums and products of many elements in the type that the policy asks for";
  let description = [{
    Sums, products, running joins and contractions of 16-bit floats are computed in f32 anyway, those of
    f32 in f32. A policy `accum = "fp64"` makes it f64: operands are converted before, the result
    behind. A type that is no wider than the usual one changes nothing.

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
  let summary = "compute on the parts of a concatenation instead of putting it together";
  let description = [{
    A reduction along a concatenated dimension is the join of the reductions of the parts, a
    contraction over it is the sum of the parts' contractions, maps and views that keep the
    dimension work on each part, and a slice inside one part is a slice of that part. Where all
    that is computed from a `gir.concat` ends so, the concatenation disappears.

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

    Operands that are no concatenations are sliced. Sums of 16-bit elements are joined in f32
    and rounded once. The pass leaves a concatenation alone that anything needs whole (a result,
    a reshape, a free dimension of a contraction), and one with several long parts: each would
    be a loop of its own.
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

#endif
