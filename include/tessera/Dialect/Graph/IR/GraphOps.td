//===- GraphOps.td - Graph IR operations --------------------*- tablegen -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_GRAPHOPS
#define TESSERA_DIALECT_GRAPH_IR_GRAPHOPS

include "tessera/Dialect/Graph/IR/GraphBase.td"
include "tessera/Dialect/Graph/IR/GraphInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

defvar Graph_Differentiable = DeclareOpInterfaceMethods<DifferentiableOpInterface>;
defvar Graph_NonDifferentiable = DeclareOpInterfaceMethods<NonDifferentiableOpInterface>;

/// Every operation has a derivative, or says why it has none.
class Graph_Op<string mnemonic, list<Trait> traits = [], Trait derivative = Graph_Differentiable>
    : Op<Graph_Dialect, mnemonic, !listconcat([Pure, derivative], traits)> {
  let hasVerifier = 1;
}

/// An operation of the decomposed graph.
class Graph_BasicOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<GraphOpInterface>], traits)>;

/// A basic operation without operands.
class Graph_SourceOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<GraphOpInterface>], traits),
               Graph_NonDifferentiable>;

/// A reduction-like basic operation, which also has a monoid.
class Graph_ReductionOp<string mnemonic> : Graph_Op<mnemonic,
    [DeclareOpInterfaceMethods<GraphOpInterface, ["getNumReduced", "getReduction"]>]>;

class Graph_CompositeOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<CompositeOpInterface>], traits)>;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

def Graph_ConstantOp : Graph_SourceOp<"constant", [ConstantLike]> {
  let summary = "a tensor of one repeated number";
  let description = [{
    Every element is `value`, which is a float, integer or bool attribute of the element type.

    ```mlir
    %0 = gir.constant 1.000000e+00 : f32 : !gir.tensor<B, S, f32>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = "$value attr-dict `:` custom<FullType>(type($result))";
  let builders = [
    OpBuilder<(ins "::tessera::gir::TensorType":$type, "double":$value)>
  ];
  let hasFolder = 1;
}

def Graph_SizeOp : Graph_SourceOp<"size"> {
  let summary = "the run-time value of a size expression";
  let description = [{
    A rank-0 i64 tensor holding the value of a size expression.

    ```mlir
    %0 = gir.size "B*S" : !gir.tensor<i64>
    ```
  }];
  let arguments = (ins StrAttr:$size);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = "$size attr-dict `:` custom<FullType>(type($result))";
  let builders = [
    OpBuilder<(ins "::tessera::SymExpr":$size)>
  ];
  let hasFolder = 1;
  let extraClassDeclaration = [{
    ::tessera::SymExpr getExpr() { return *::tessera::SymExpr::parse(getSize().str()); }
  }];
}

def Graph_IotaOp : Graph_SourceOp<"iota"> {
  let summary = "the index along one dimension";
  let description = [{
    Element `[i₀, i₁, …]` is `i_dim`.

    ```mlir
    %0 = gir.iota 1 : !gir.tensor<S, T, i64>
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = "custom<PlainInt>($dim) attr-dict `:` custom<FullType>(type($result))";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

def Graph_MapOp : Graph_BasicOp<"map"> {
  let summary = "an elementwise operation";
  let description = [{
    Applies the operation `kind` of the scalar vocabulary (ScalarOps.def) to elements at equal
    indices. All operands have the result's shape; element types follow the operation's type
    rule.

    ```mlir
    %2 = gir.map add(%0, %1) : (!gir.tensor<B, f32>, !gir.tensor<B, f32>) -> !gir.tensor<B, f32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Variadic<Graph_TensorType>:$inputs);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    custom<Keyword>($kind) `(` $inputs `)` attr-dict
    `:` functional-type($inputs, $result)
  }];
  let builders = [
    OpBuilder<(ins "::tessera::ScalarOp":$op, "::mlir::ValueRange":$inputs)>
  ];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::tessera::ScalarOp getScalarOp() { return *::tessera::scalarOpByName(getKind()); }
  }];
}

def Graph_CastOp : Graph_BasicOp<"cast"> {
  let summary = "conversion of the element type";
  let description = [{
    Rounds to nearest even between floating point types, truncates towards zero from floating
    point to integers, and tests for non-zero when the result is bool. An `explicit` cast was
    written by the user and always rounds; others were inserted by promotion, and their value may
    be kept in a wider type inside a kernel.

    ```mlir
    %1 = gir.cast %0 : !gir.tensor<B, bf16> -> !gir.tensor<B, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, UnitAttr:$explicit_);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input (`explicit` $explicit_^)? attr-dict
    `:` custom<FullType>(type($input)) `->` custom<FullType>(type($result))
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType,
                   CArg<"bool", "false">:$isExplicit)>
  ];
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Views: only the indexing changes
//===----------------------------------------------------------------------===//

def Graph_BroadcastOp : Graph_BasicOp<"broadcast"> {
  let summary = "broadcast along new or unit dimensions";
  let description = [{
    Operand dimension `i` becomes result dimension `dims[i]` (strictly increasing); it has that
    size, or size 1 and is repeated. Result dimensions that are not named are new.

    ```mlir
    %1 = gir.broadcast %0 dims [1] : !gir.tensor<D, f32> -> !gir.tensor<S, D, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `dims` $dims attr-dict
    `:` custom<FullType>(type($input)) `->` custom<FullType>(type($result))
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<::tessera::SymExpr>":$shape,
                   "::llvm::ArrayRef<int64_t>":$dims)>
  ];
  let hasFolder = 1;
}

def Graph_TransposeOp : Graph_BasicOp<"transpose"> {
  let summary = "permutation of dimensions";
  let description = [{
    Result dimension `i` is operand dimension `permutation[i]`.

    ```mlir
    %1 = gir.transpose %0 perm [0, 2, 1] : !gir.tensor<B, S, D, f32> -> !gir.tensor<B, D, S, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `perm` $permutation attr-dict
    `:` custom<FullType>(type($input)) `->` custom<FullType>(type($result))
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$permutation)>
  ];
  let hasFolder = 1;
}

def Graph_MaterializeOp : Graph_BasicOp<"materialize", [AllTypesMatch<["input", "result"]>]> {
  let summary = "the same tensor, stored in memory";
  let description = [{
    A kernel stores the tensor, and its users load it. `align_rows` pads each row at its end, so that rows start at
    multiples of as many bytes. The kernel that stores an `isolated` tensor stores no other one, unless that is isolated
    and has the same type in memory. `reason` says why the tensor is stored; `tessera explain` prints it.

    ```mlir
    %1 = gir.materialize %0 : !gir.tensor<B, S, f32>
    %3 = gir.materialize %2 isolated align_rows 16 because "rows start at odd addresses" : !gir.tensor<B, 1001, bf16>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, UnitAttr:$isolated, OptionalAttr<I64Attr>:$rowAlignment,
                       OptionalAttr<StrAttr>:$reason);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input (`isolated` $isolated^)? (`align_rows` $rowAlignment^)? (`because` $reason^)? attr-dict
    `:` custom<FullType>(type($input))
  }];
}

def Graph_ReshapeOp : Graph_BasicOp<"reshape"> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    ```mlir
    %1 = gir.reshape %0 : !gir.tensor<B, S, D, f32> -> !gir.tensor<"B*S", D, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input attr-dict
    `:` custom<FullType>(type($input)) `->` custom<FullType>(type($result))
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<::tessera::SymExpr>":$shape)>
  ];
  let hasFolder = 1;
}

def Graph_SliceOp : Graph_BasicOp<"slice"> {
  let summary = "a regular part of a tensor";
  let description = [{
    Result element `i` of each dimension is operand element `starts + i * steps`. Starts are
    size expressions, steps are non-zero integers; a negative step selects elements backwards
    from its start.

    ```mlir
    %1 = gir.slice %0 starts ["0", "S - 1"] steps [1, -1]
       : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, StrArrayAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `starts` $starts `steps` $steps attr-dict
    `:` custom<FullType>(type($input)) `->` custom<FullType>(type($result))
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<::tessera::SymExpr>":$starts,
                   "::llvm::ArrayRef<int64_t>":$steps,
                   "::llvm::ArrayRef<::tessera::SymExpr>":$sizes)>
  ];
  let extraClassDeclaration = [{
    ::tessera::SymExpr getStart(unsigned dim);
  }];
  let hasFolder = 1;
}

def Graph_WindowOp : Graph_BasicOp<"window"> {
  let summary = "windows that slide along dimensions";
  let description = [{
    Each of `dims` becomes a dimension of window positions. A dimension of the elements inside a window, of size
    `sizes[j]`, follows after all others. Element `k` of window `i` is operand element `i * steps + k * dilations`. There
    are as many windows as fit.

    A convolution is a contraction of windows with weights, and pooling is a reduction of windows.

    ```mlir
    %1 = gir.window %0 dims [2] sizes [3] steps [1] dilations [1]
       : !gir.tensor<B, C, S, f32> -> !gir.tensor<B, C, "S - 2", 3, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, DenseI64ArrayAttr:$dims, DenseI64ArrayAttr:$sizes,
                       DenseI64ArrayAttr:$steps, DenseI64ArrayAttr:$dilations);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `dims` $dims `sizes` $sizes `steps` $steps `dilations` $dilations attr-dict
    `:` custom<FullType>(type($input)) `->` custom<FullType>(type($result))
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$dims,
                   "::llvm::ArrayRef<int64_t>":$sizes, "::llvm::ArrayRef<int64_t>":$steps,
                   "::llvm::ArrayRef<int64_t>":$dilations)>
  ];
  let extraClassDeclaration = [{
    /// The shape of windows over a tensor.
    static ::llvm::SmallVector<::tessera::SymExpr>
    inferShape(TensorType from, ::llvm::ArrayRef<int64_t> dims, ::llvm::ArrayRef<int64_t> sizes,
               ::llvm::ArrayRef<int64_t> steps, ::llvm::ArrayRef<int64_t> dilations);
  }];
}

def Graph_ConcatOp : Graph_Op<"concat"> {
  let summary = "concatenation along a dimension";
  let description = [{
    ```mlir
    %2 = gir.concat 0 (%0, %1)
       : (!gir.tensor<S, f32>, !gir.tensor<T, f32>) -> !gir.tensor<"S + T", f32>
    ```
  }];
  let arguments = (ins I64Attr:$dim, Variadic<Graph_TensorType>:$inputs);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    custom<PlainInt>($dim) `(` $inputs `)` attr-dict
    `:` functional-type($inputs, $result)
  }];
  let builders = [
    OpBuilder<(ins "int64_t":$dim, "::mlir::ValueRange":$inputs)>
  ];
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Gathers and scatters
//===----------------------------------------------------------------------===//

def Graph_GatherOp : Graph_BasicOp<"gather"> {
  let summary = "elements at computed indices";
  let description = [{
    The result's element at `p` is the input's element whose index along dimension `dims[k]` is
    element `p` of `indices[k]`; along the input's other dimensions, in order, it is `p`'s index
    along `rest`. All indices are integers of the result's shape. An index that is out of range is
    clamped.

    ```mlir
    %1 = gir.gather %table(%i) dims [0] rest [1]
       : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, Variadic<Graph_TensorType>:$indices,
                       DenseI64ArrayAttr:$dims, DenseI64ArrayAttr:$rest);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `(` $indices `)` `dims` $dims `rest` $rest attr-dict
    `:` functional-type(operands, $result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::ValueRange":$indices,
                   "::llvm::ArrayRef<int64_t>":$dims, "::llvm::ArrayRef<int64_t>":$rest)>
  ];
}

def Graph_ScatterAddOp : Graph_CompositeOp<"scatter_add", [AllTypesMatch<["input", "result"]>]> {
  let summary = "sources added at computed indices";
  let description = [{
    The result is `input` with every element of `sources` added to one of its elements. The index
    along `dim` is the corresponding element of `indices`; the other indices are those of the source.
    Sources are added in their order along `dim`. A source whose index is out of range is ignored.
    `sources` and `indices` have one shape, along the other dimensions no larger than the result.

    The decomposition into basic operations compares every element with every source. If a single
    grid task can add the sources in order in memory, the scheduler keeps the operation: see
    `convert-graph-to-sched`.

    ```mlir
    %1 = gir.scatter_add %x, %s(%i) dim 0
       : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, Graph_TensorType:$sources,
                       Graph_TensorType:$indices, I64Attr:$dim);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `,` $sources `(` $indices `)` `dim` custom<PlainInt>($dim) attr-dict
    `:` functional-type(operands, $result)
  }];
}

def Graph_ScatterOp : Graph_Op<"scatter"> {
  let summary = "elements stored at computed indices";
  let description = [{
    The result has the sources' first `batch` dimensions and one more. The index of a source along the latter is the
    corresponding element of `indices`. `sources` and `indices` have one shape. Sources with the same batch indices must
    have different indices, since they are stored in any order. A source whose index is out of range is ignored, and an
    element that no source is stored to is undefined.

    ```mlir
    %1 = gir.scatter %s(%i) batch 1
       : (!gir.tensor<B, C, 256, i64>, !gir.tensor<B, C, 256, i64>) -> !gir.tensor<B, "256*C", i64>
    ```
  }];
  let arguments = (ins Graph_TensorType:$sources, Graph_TensorType:$indices, I64Attr:$batch);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $sources `(` $indices `)` `batch` custom<PlainInt>($batch) attr-dict `:` functional-type(operands, $result)
  }];
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

def Graph_CheckOp : Op<Graph_Dialect, "check", [MemoryEffects<[MemWrite]>, Graph_NonDifferentiable]> {
  let summary = "makes the call fail unless all elements of a condition hold";
  let description = [{
    The error reports `value` of a failing element. Checks are asynchronous: results of a call that fails are undefined,
    and operations on checked values must be safe without the check. Targets that cannot report to the host (GPUs) omit
    checks.

    ```mlir
    gir.check %ok, %i else <kind = "index", message = "index {0} is out of range for size {1}", sizes = ["V"]>
      : !gir.tensor<S, i1>, !gir.tensor<S, i64>
    ```
  }];
  let arguments = (ins Graph_TensorType:$condition, Graph_TensorType:$value, Graph_FailureAttr:$failure);
  let assemblyFormat = [{
    $condition `,` $value `else` $failure attr-dict `:` type($condition) `,` type($value)
  }];
  let hasVerifier = 1;
}

def Graph_PrintOp : Op<Graph_Dialect, "print", [MemoryEffects<[MemWrite]>, Graph_NonDifferentiable]> {
  let summary = "prints a tensor at the end of the call";
  let description = [{
    The value is kept in memory, and the host prints it after all kernels of the call, in program order. The operation
    may occur in host functions of every stage.

    ```mlir
    gir.print "scores", %s : !gir.tensor<S, T, f32>
    ```
  }];
  let arguments = (ins StrAttr:$label, Graph_TensorType:$value);
  let assemblyFormat = "$label `,` $value attr-dict `:` type($value)";
}

//===----------------------------------------------------------------------===//
// Reductions and contractions
//===----------------------------------------------------------------------===//

def Graph_ReduceOp : Graph_ReductionOp<"reduce"> {
  let summary = "reduction over dimensions";
  let description = [{
    Combines the elements along `dims` (sorted) with the monoid `kind`: sum prod max min any all.
    The result has the other dimensions. 16-bit floating point sums are accumulated in f32.

    ```mlir
    %1 = gir.reduce max %0 dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Graph_TensorType:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    custom<Keyword>($kind) $input `dims` $dims attr-dict
    `:` custom<FullType>(type($input)) `->` custom<FullType>(type($result))
  }];
  let builders = [
    OpBuilder<(ins "::tessera::ReduceOp":$op, "::mlir::Value":$input,
                   "::llvm::ArrayRef<int64_t>":$dims)>
  ];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::tessera::ReduceOp getReduceOp() { return *::tessera::reduceOpByName(getKind()); }
  }];
}

def Graph_ScanOp : Graph_Op<"scan", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<GraphOpInterface, ["getScannedDim", "getReduction"]>]> {
  let summary = "inclusive scan along a dimension";
  let description = [{
    Element `n` along `dim` combines the elements 0 to `n` with the monoid `kind`: sum prod max min any all. 16-bit
    floats accumulate in f32.

    With a `key` it combines only elements with the same key. Keys are integers from 0 to `below` - 1; others count as
    the last one. A CPU processes the dimension sequentially and keeps one accumulator per key, so there should be few
    keys. Scans by key are not generated for GPUs.

    ```mlir
    %1 = gir.scan sum %0 dim 1 : !gir.tensor<B, S, f32>
    %2 = gir.scan sum %0 dim 1 by (%k : !gir.tensor<B, S, i32>) below 256 : !gir.tensor<B, S, f32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Graph_TensorType:$input, Optional<Graph_TensorType>:$key, I64Attr:$dim,
                       OptionalAttr<I64Attr>:$below);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    custom<Keyword>($kind) $input `dim` custom<PlainInt>($dim)
    (`by` `(` $key^ `:` custom<FullType>(type($key)) `)` `below` $below)? attr-dict
    `:` custom<FullType>(type($result))
  }];
  let builders = [
    OpBuilder<(ins "::tessera::ReduceOp":$op, "::mlir::Value":$input, "int64_t":$dim)>,
    OpBuilder<(ins "::tessera::ReduceOp":$op, "::mlir::Value":$input, "int64_t":$dim, "::mlir::Value":$key,
                   "int64_t":$below)>
  ];
  let hasFolder = 1;
  let extraClassDeclaration = [{
    ::tessera::ReduceOp getReduceOp() { return *::tessera::reduceOpByName(getKind()); }
  }];
}

def Graph_SortOp : Graph_Op<"sort", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<GraphOpInterface, ["getScannedDim"]>], Graph_NonDifferentiable> {
  let summary = "the integers of short rows in ascending order";
  let description = [{
    Sorts signed integers of 32 or 64 bits along the last dimension. On a GPU the threads of one CTA sort a row, which
    has at most 4096 elements. `gir-expand-sorts` makes such integers from keys and indices, so that equal elements
    keep their order.

    ```mlir
    %1 = gir.sort %0 : !gir.tensor<B, 1000, i64>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = "$input attr-dict `:` custom<FullType>(type($result))";
}

def Graph_ContractOp : Graph_ReductionOp<"contract"> {
  let summary = "sum of products over shared dimensions";
  let description = [{
    Generalised matrix multiplication. Dimensions `lhs_batch[i]` and `rhs_batch[i]` are one
    batch dimension, and `lhs_contract[i]` and `rhs_contract[i]` are one K dimension. The result has
    the batch dimensions, then the remaining dimensions of `lhs`, then those of `rhs`, in order.

    ```mlir
    %2 = gir.contract %q, %k batch [0] x [0] over [2] x [2]
       : (!gir.tensor<B, S, D, f32>, !gir.tensor<B, T, D, f32>) -> !gir.tensor<B, S, T, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$lhs, Graph_TensorType:$rhs,
                       DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `batch` $lhs_batch `x` $rhs_batch `over` $lhs_contract `x` $rhs_contract attr-dict
    `:` functional-type(operands, $result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                   "::llvm::ArrayRef<int64_t>":$lhsBatch,
                   "::llvm::ArrayRef<int64_t>":$rhsBatch,
                   "::llvm::ArrayRef<int64_t>":$lhsContract,
                   "::llvm::ArrayRef<int64_t>":$rhsContract)>
  ];
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

def Graph_SoftmaxOp : Graph_CompositeOp<"softmax", [AllTypesMatch<["input", "result"]>]> {
  let summary = "exp(x - max) / sum(exp(x - max)) along a dimension";
  let description = [{
    A slice that is all -inf gives nan, and zeros when `safe`.

    ```mlir
    %1 = gir.softmax %0 dim 1 : !gir.tensor<B, S, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, I64Attr:$dim, UnitAttr:$safe);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `dim` custom<PlainInt>($dim) (`safe` $safe^)? attr-dict
    `:` custom<FullType>(type($result))
  }];
}

def Graph_LogSoftmaxOp : Graph_CompositeOp<"log_softmax", [AllTypesMatch<["input", "result"]>]> {
  let summary = "x - logsumexp(x) along a dimension";
  let description = [{
    ```mlir
    %1 = gir.log_softmax %0 dim 1 : !gir.tensor<B, S, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, I64Attr:$dim);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `dim` custom<PlainInt>($dim) attr-dict
    `:` custom<FullType>(type($result))
  }];
}

def Graph_ArgSortOp : Graph_Op<"argsort", [], Graph_NonDifferentiable> {
  let summary = "the indices that sort the last dimension";
  let description = [{
    The sort is stable, NaN is larger than all numbers, zeros are equal. Rows have fewer than 2³¹ elements.
    `gir-expand-sorts` rewrites it as a radix sort in basic operations: the work per element depends on its type only,
    which suits long rows.

    With `first`, only that many leading indices are computed; there should be few compared to the row length.

    ```mlir
    %1 = gir.argsort %0 descending : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, i64>
    %2 = gir.argsort %0 first 16 : !gir.tensor<B, S, f32> -> !gir.tensor<B, 16, i64>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, UnitAttr:$descending, OptionalAttr<I64Attr>:$first);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input (`descending` $descending^)? (`first` $first^)? attr-dict
    `:` custom<FullType>(type($input)) `->` custom<FullType>(type($result))
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "bool":$descending,
                   CArg<"::std::optional<int64_t>", "::std::nullopt">:$first)>
  ];
}

def Graph_LogSumExpOp : Graph_CompositeOp<"logsumexp"> {
  let summary = "log(sum(exp(x))) over dimensions, computed stably";
  let description = [{
    ```mlir
    %1 = gir.logsumexp %0 dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `dims` $dims attr-dict
    `:` custom<FullType>(type($input)) `->` custom<FullType>(type($result))
  }];
}

def Graph_MeanOp : Graph_CompositeOp<"mean"> {
  let summary = "sum divided by the number of elements, over dimensions";
  let description = [{
    ```mlir
    %1 = gir.mean %0 dims [1] : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `dims` $dims attr-dict
    `:` custom<FullType>(type($input)) `->` custom<FullType>(type($result))
  }];
}

def Graph_VarOp : Graph_CompositeOp<"var"> {
  let summary = "sum of squared deviations divided by (number - correction), over dimensions";
  let description = [{
    ```mlir
    %1 = gir.var %0 dims [1] correction 1.0 : !gir.tensor<B, S, f32> -> !gir.tensor<B, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, DenseI64ArrayAttr:$dims, F64Attr:$correction);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `dims` $dims `correction` custom<PlainFloat>($correction) attr-dict
    `:` custom<FullType>(type($input)) `->` custom<FullType>(type($result))
  }];
}

def Graph_LayerNormOp : Graph_Op<"layer_norm",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<CompositeOpInterface>]> {
  let summary = "(x - mean) / sqrt(var + eps) over the last dimensions, scaled and shifted";
  let description = [{
    Normalises over the last `rank` dimensions; `scale` and `shift`, where given, have those
    dimensions.

    ```mlir
    %1 = gir.layer_norm %x rank 1 eps 1.0e-05 scale %w shift %b
       : (!gir.tensor<B, D, f32>, !gir.tensor<D, f32>, !gir.tensor<D, f32>)
         -> !gir.tensor<B, D, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, Optional<Graph_TensorType>:$scale,
                       Optional<Graph_TensorType>:$shift, I64Attr:$rank, F64Attr:$eps);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `rank` custom<PlainInt>($rank) `eps` custom<PlainFloat>($eps) (`scale` $scale^)?
    (`shift` $shift^)? attr-dict `:` functional-type(operands, $result)
  }];
}

def Graph_RmsNormOp : Graph_CompositeOp<"rms_norm"> {
  let summary = "x / sqrt(mean(x^2) + eps) over the last dimensions, scaled";
  let description = [{
    ```mlir
    %1 = gir.rms_norm %x rank 1 eps 1.0e-06 scale %w
       : (!gir.tensor<B, D, f32>, !gir.tensor<D, f32>) -> !gir.tensor<B, D, f32>
    ```
  }];
  let arguments = (ins Graph_TensorType:$input, Optional<Graph_TensorType>:$scale, I64Attr:$rank,
                       F64Attr:$eps);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = [{
    $input `rank` custom<PlainInt>($rank) `eps` custom<PlainFloat>($eps) (`scale` $scale^)?
    attr-dict `:` functional-type(operands, $result)
  }];
}

include "tessera/Dialect/Graph/IR/GraphGradientOps.td"

#endif
