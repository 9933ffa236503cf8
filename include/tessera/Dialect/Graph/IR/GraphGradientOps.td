//===- GraphGradientOps.td - Operations of gradients --------*- tablegen -*-===//
//
// Included at the end of GraphOps.td.
//
//===----------------------------------------------------------------------===//

def Graph_VjpOp : Graph_Op<"vjp", [AttrSizedOperandSegments], Graph_NonDifferentiable> {
  let summary = "gradients of values with respect to other values";
  let description = [{
    Result `i` is the sum over all outputs of the product of the output's cotangent and the derivative of the output with
    respect to `inputs[i]` (a vector-Jacobian product). The inputs are independent variables: a derivative does not pass
    through the operation that defines an input. The operation stands in the block of the outputs, after them.

    `gir-differentiate` replaces it by the operations that compute the gradients, before any other pass.

    ```mlir
    %g:2 = gir.vjp of(%loss) cotangents(%one) wrt(%w, %b)
       : (!gir.tensor<f32>, !gir.tensor<f32>, !gir.tensor<D, f32>, !gir.tensor<f32>)
         -> (!gir.tensor<D, f32>, !gir.tensor<f32>)
    ```
  }];
  let arguments = (ins Variadic<Graph_TensorType>:$outputs, Variadic<Graph_TensorType>:$cotangents,
                       Variadic<Graph_TensorType>:$inputs);
  let results = (outs Variadic<Graph_TensorType>:$gradients);
  let assemblyFormat = [{
    `of` `(` $outputs `)` `cotangents` `(` $cotangents `)` `wrt` `(` $inputs `)` attr-dict
    `:` functional-type(operands, results)
  }];
}

def Graph_StopGradientOp : Graph_Op<"stop_gradient", [AllTypesMatch<["input", "result"]>],
                                    Graph_NonDifferentiable> {
  let summary = "the same tensor, as a constant of gradients";
  let description = [{
    The derivative with respect to the operand is zero. `gir-differentiate` erases the operation.

    ```mlir
    %1 = gir.stop_gradient %0 : !gir.tensor<B, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = "$input attr-dict `:` custom<FullType>(type($result))";
  let hasVerifier = 0;
}

def Graph_CustomVjpOp : Graph_Op<"custom_vjp",
    [AttrSizedOperandSegments, SingleBlock], Graph_NonDifferentiable> {
  let summary = "values whose derivative is given";
  let description = [{
    The results are the operands `values`. Their derivative with respect to `inputs` is given by the region: its block has
    one argument for each float among the values, its cotangent, and `gir.yield` has the gradients of the inputs. Values
    of the surrounding block can be used in the region. Derivatives do not pass through `values`.

    `gir-differentiate` replaces the operation by `values`, and inserts the region's operations wherever the results are
    differentiated.

    ```mlir
    %1 = gir.custom_vjp (%0) of(%x) {
    ^bb0(%g: !gir.tensor<S, f32>):
      %2 = gir.map mul(%g, %0) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
      gir.yield %2 : !gir.tensor<S, f32>
    } : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
    ```
  }];
  let arguments = (ins Variadic<Graph_TensorType>:$values, Variadic<Graph_TensorType>:$inputs);
  let results = (outs Variadic<Graph_TensorType>:$results);
  let regions = (region SizedRegion<1>:$rule);
  let assemblyFormat = [{
    `(` $values `)` `of` `(` $inputs `)` $rule attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 0;
  let hasRegionVerifier = 1;
}

def Graph_YieldOp : Graph_Op<"yield", [Terminator, HasParent<"CustomVjpOp">], Graph_NonDifferentiable> {
  let summary = "the gradients of a rule";
  let description = [{
    Ends the region of `gir.custom_vjp`. There is one operand for each of its inputs, of the input's type.

    ```mlir
    gir.yield %0 : !gir.tensor<S, f32>
    ```
  }];
  let arguments = (ins Variadic<Graph_TensorType>:$gradients);
  let assemblyFormat = "($gradients^ `:` type($gradients))? attr-dict";
  let hasVerifier = 0;
}

def Graph_CheckpointOp : Graph_Op<"checkpoint", [AttrSizedOperandSegments], Graph_NonDifferentiable> {
  let summary = "values of which gradients save and recompute chosen parts";
  let description = [{
    The results are the operands `values`, which the operations between `inputs` and `values` compute. Of the tensors
    among these that gradients need, the policy saves some: they are stored. The others are computed again from the
    inputs, separately from the first time.

    | policy | saves |
    | --- | --- |
    | `nothing` | no tensor |
    | `everything` | every tensor that is not a view or a constant |
    | `contractions` | results of contractions |
    | `names` | operands of `gir.checkpoint_name` with one of `names` |

    `gir-differentiate` replaces the operation by `values`.

    ```mlir
    %2 = gir.checkpoint nothing (%1) of(%x) : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
    %3 = gir.checkpoint names ["scores"] (%1) of(%x)
       : (!gir.tensor<S, f32>, !gir.tensor<S, f32>) -> !gir.tensor<S, f32>
    ```
  }];
  let arguments = (ins StrAttr:$policy, OptionalAttr<StrArrayAttr>:$names, Variadic<Graph_TensorType>:$values,
                       Variadic<Graph_TensorType>:$inputs);
  let results = (outs Variadic<Graph_TensorType>:$results);
  let assemblyFormat = [{
    custom<Keyword>($policy) ($names^)? `(` $values `)` `of` `(` $inputs `)` attr-dict
    `:` functional-type(operands, results)
  }];
}

def Graph_CheckpointNameOp : Graph_Op<"checkpoint_name", [AllTypesMatch<["input", "result"]>]> {
  let summary = "the same tensor, with a name for checkpoint policies";
  let description = [{
    `gir-differentiate` erases the operation.

    ```mlir
    %1 = gir.checkpoint_name %0 "scores" : !gir.tensor<B, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, StrAttr:$name);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = "$input $name attr-dict `:` custom<FullType>(type($result))";
}

def Graph_RecomputeOp : Graph_BasicOp<"recompute", [AllTypesMatch<["input", "result"]>]> {
  let summary = "the same tensor, from which values are computed again";
  let description = [{
    Operations on the result are not merged with equal operations on the operand. `gir-erase-recompute` erases the
    operation, after the last pass that merges equal operations.

    ```mlir
    %1 = gir.recompute %0 : !gir.tensor<B, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = "$input attr-dict `:` custom<FullType>(type($result))";
  let hasVerifier = 0;
}
