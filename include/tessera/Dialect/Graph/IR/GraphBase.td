//===- GraphBase.td - The Graph IR dialect and its types ----*- tablegen -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_GRAPHBASE
#define TESSERA_DIALECT_GRAPH_IR_GRAPHBASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Graph_Dialect : Dialect {
  let name = "gir";
  let cppNamespace = "::tessera::gir";
  let summary = "whole tensors: types, symbolic shapes, numerics, effects";
  let description = [{
    Graph IR states a program as mathematics on whole tensors. Dimensions are symbolic: the same
    name is the same size, and an operation's verifier compares sizes as expressions. Broadcasting
    is explicit, so every elementwise operation has operands of one shape. Composite operations
    (`gir.softmax`, `gir.layer_norm`, …) are kept until `gir-decompose` rewrites them. After it
    every operation is a map, a view, a reduction or a contraction, and implements one interface
    (`GraphOpInterface`).

    A function is a `func.func`. Its arguments may carry
    - `gir.name`: the parameter's name;
    - `gir.scalar`: `"int"`, `"float"` or `"bool"` for a rank-0 tensor that the caller passes as a
      number;
    - `gir.unit_stride`: the dimension whose stride is one;
    - `gir.contiguous`: elements are contiguous in row-major order.

    Its results may carry `gir.writes`: the name of the argument whose new value the result is.

    The function may carry
    - `gir.symbols`: facts about sizes, `{S = {divisor = 64, hint = 4096, min = 2}}`;
    - `gir.guards`: equalities that hold in this specialisation, `["S == T"]`;
    - `gir.numerics`: the user's numerics policy;
    - `gir.joint`: how `gir-partition` splits it into forward and backward, and `gir.partition`: what
      that pass decided.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def Graph_TensorType : TypeDef<Graph_Dialect, "Tensor"> {
  let mnemonic = "tensor";
  let summary = "a tensor with symbolic dimensions";
  let description = [{
    `!gir.tensor<B, S, 64, f32>`: dimensions, then the element type. A dimension is an integer, a
    name that begins with a capital letter, or any other size expression in quotes:
    `!gir.tensor<"S + T", "x.0", f32>`. Element types are f64 f32 bf16 f16 i64 i32 i16 i8 ui8,
    i1 (bool), and the storage types f8E4M3FN and f8E5M2, which are computed in f32.
  }];
  let parameters = (ins ArrayRefParameter<"::tessera::SymExpr">:$shape,
                        "::mlir::Type":$elementType);
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<::tessera::SymExpr>":$shape,
                                        "::mlir::Type":$elementType), [{
      return $_get(elementType.getContext(), shape, elementType);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    unsigned getRank() const { return getShape().size(); }
    ::tessera::SymExpr getDim(unsigned i) const { return getShape()[i]; }
    ::tessera::SymExpr getNumElements() const;
    TensorType withElementType(::mlir::Type type) const { return get(getShape(), type); }
    TensorType withShape(::llvm::ArrayRef<::tessera::SymExpr> shape) const {
      return get(shape, getElementType());
    }
    bool isFloat() const { return ::mlir::isa<::mlir::FloatType>(getElementType()); }
    bool isBool() const { return getElementType().isInteger(1); }
  }];
}

// MLIR cannot print a symbol without a name.
def Graph_SymbolNameAttr : ConfinedAttr<SymbolNameAttr,
    [AttrConstraint<CPred<"!::llvm::cast<::mlir::StringAttr>($_self).empty()">, "that is not empty">]>;
def Graph_SymbolRefAttr : ConfinedAttr<FlatSymbolRefAttr,
    [AttrConstraint<CPred<"!::llvm::cast<::mlir::FlatSymbolRefAttr>($_self).getValue().empty()">, "with a name">]>;

def Graph_FailureAttr : AttrDef<Graph_Dialect, "Failure"> {
  let mnemonic = "failure";
  let summary = "the error that a failing check reports";
  let description = [{
    `#gir.failure<kind = "index", message = "index {0} is out of range for size {1}", sizes = ["V"]>`: in the message `{0}` is
    replaced by the value of the check, `{1}`, `{2}`, … by `sizes`, which are size expressions. `excerpt` is the source line
    with a marker, which is printed below the message. The kind selects the error that callers see: `index` or `assertion`.
    Checks keep it from the graph down to the host program.
  }];
  let parameters = (ins "::mlir::StringAttr":$kind, "::mlir::StringAttr":$message, "::mlir::ArrayAttr":$sizes,
                        OptionalParameter<"::mlir::StringAttr">:$excerpt);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif
