//===- Passes.td - Passes on Graph IR -----------------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def GraphDecompose : Pass<"gir-decompose"> {
  let summary = "rewrite composite operations into maps, views, reductions and contractions";
  let description = [{
    Replaces every operation of `CompositeOpInterface` by the operations that define it. Later
    passes see only basic operations, and no layer of a model by name. Composites of 16-bit
    tensors are computed in f32 between two casts that promotion may later drop inside a kernel.
    Every new operation has the composite's location.

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

    The pass cannot fail. It does not simplify the new operations; `canonicalize` and `cse` do.
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphExpandSorts : Pass<"gir-expand-sorts"> {
  let summary = "rewrite sorts into scans and scatters";
  let description = [{
    Replaces `gir.argsort` by a radix sort. Elements are mapped to integer keys of the same order. Each digit takes a
    count of its values, a scan of the counts, and a `gir.scatter` of every element to its sorted position.

    With `walks`, for CPUs, rows are processed sequentially: elements are counted by adding to a small table
    (`gir.scatter_add`, and `gir.scan` by a key), and digits have eight bits. Otherwise, for GPUs, elements are counted
    in parallel by reductions and scans, and digits have four bits.
  }];
  let options = [
    Option<"walks", "walks", "bool", /*default=*/"false", "count elements sequentially along rows, for CPUs">
  ];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphAccumulate : Pass<"gir-accumulate", "::mlir::ModuleOp"> {
  let summary = "accumulate reductions and contractions in the type of the numerics policy";
  let description = [{
    By default reductions, scans and contractions of 16-bit and 32-bit floats accumulate in f32. A policy
    `accum = "fp64"` changes this to f64: operands are converted before the operation, the result after it. A type
    that is not wider than the default changes nothing.

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
    A reduction along a concatenated dimension combines the reductions of the parts, a
    contraction over it is the sum of the parts' contractions, maps and views that keep the
    dimension apply to each part, and a slice inside one part is a slice of that part. If all
    users of a `gir.concat` have one of these forms, the concatenation disappears.

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

    Operands that are not concatenations are sliced. Sums of 16-bit elements are combined in f32
    and rounded once. The pass does not change a concatenation that a user needs as a whole (a
    result, a reshape, a free dimension of a contraction), nor one with several long parts, since
    each part would need a separate loop.
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphLowerScatterAdd : Pass<"gir-lower-scatter-add", "::mlir::func::FuncOp"> {
  let summary = "rewrite scatter_add for targets whose CTAs run in any order";
  let description = [{
    CTAs of a GPU add in any order. For integers the order does not show: `gir.scatter_add` stays, in i32 if the type is
    narrower than what the target's atomics add. For floats it becomes the gather that defines it: each element collects
    the sources that are sent to it, in their order.

    *Why.* Results are deterministic on every target.

    *Input form.* Graph IR without composite operations. *Output form.* `gir.scatter_add` of i32 and i64 only.

    *Declines.* Never.

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

def GraphDropChecks : Pass<"gir-drop-checks", "::mlir::func::FuncOp"> {
  let summary = "erase checks of values";
  let description = [{
    Erases `gir.check`.

    *Why.* Calls to a GPU return before its kernels run, so no caller can receive the error.

    *Input and output form.* Graph IR. *Declines.* Never.
  }];
}

def GraphSplitScans : Pass<"gir-split-scans", "::mlir::func::FuncOp"> {
  let summary = "split long running sums into parts that run in parallel";
  let description = [{
    A CTA scans a row, or some columns, in order. A few long scans leave most SMs idle. The pass splits the dimension into
    64 parts: one kernel sums each part, one sums the parts before each part, and the scans of the parts start from there.

    *Input form.* Graph IR without composite operations. *Output form.* The same, with `gir.materialize` of the sums of the
    parts and of the sums before them.

    *Declines.* Scans by a key and of other monoids than the sum; dimensions that are not known to be a multiple of 64;
    scans that have enough CTAs (a quarter of `sms`) or few bytes (1 MiB for each CTA); functions with strict or
    batch-invariant numerics, since the order of the additions changes.
  }];
  let options = [Option<"sms", "sms", "int64_t", "132", "SMs of the device">];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphAlignOperands : Pass<"gir-align-operands", "::mlir::func::FuncOp"> {
  let summary = "copy operands of contractions whose rows TMA cannot load";
  let description = [{
    A contraction reads an element once for each tile of the other operand, by copies of whole tiles that need rows at
    multiples of `row-alignment` bytes. If the rows of an argument are not, the pass puts a `gir.materialize` with padded
    rows between the argument and its users.

    *Why.* One copy is cheap compared with element-wise loads in the main loop.

    *Input form.* Graph IR. *Output form.* The same, with `gir.materialize … isolated align_rows`.

    *Declines.* Arguments that are not contiguous; elements wider than 16 bits; contractions that read an element less
    than 512 times or have less than 2^31 multiplications.
  }];
  let options = [Option<"rowAlignment", "row-alignment", "int64_t", "16", "bytes at whose multiples rows must start">];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

def GraphStoreOperands : Pass<"gir-store-operands", "::mlir::func::FuncOp"> {
  let summary = "store computed operands of contractions before they are multiplied";
  let description = [{
    Tensor cores read operands that asynchronous copies bring from memory. A computed operand, such as a normalized row,
    passes through registers instead, once for each tile of the other operand, and the main loop has no copies in flight.
    The pass stores such an operand with `gir.materialize`.

    *Input form.* Graph IR without composite operations. *Output form.* The same, with `gir.materialize … isolated`.

    *Declines.* Operands wider than 16 bits, which are split in registers in any case; operands that depend on another
    contraction; contractions that read an element less than 512 times or have less than 2^31 multiplications.
  }];
  let dependentDialects = ["::tessera::gir::GraphDialect"];
}

#endif
