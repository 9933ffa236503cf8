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

#endif
