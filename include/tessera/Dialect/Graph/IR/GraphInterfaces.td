//===- GraphInterfaces.td - Interfaces of graph operations -*- tablegen -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_GRAPHINTERFACES
#define TESSERA_DIALECT_GRAPH_IR_GRAPHINTERFACES

include "mlir/IR/OpBase.td"

def GraphOpInterface : OpInterface<"GraphOpInterface"> {
  let cppNamespace = "::tessera::gir";
  let description = [{
    Describes an operation to the scheduler: its iteration space, how each point of it indexes the
    operands, how it reduces, and the computation at a point. An operation that implements this
    interface is scheduled, fused, executed by the reference interpreter and compiled for every
    target; nothing else about the operation is used.

    Index expressions are `SymExpr`s over the iteration dimensions (the symbols of
    `iterationSymbol(i)`) and sizes. The parallel dimensions index the result in order. The index
    of a gather is `operandSymbol(i)`, the element of another operand at the same point.
  }];
  let methods = [
    InterfaceMethod<"Sizes of the parallel dimensions (the result's shape), then of the reduced.",
      "::llvm::SmallVector<::tessera::SymExpr>", "getIterationSizes">,
    InterfaceMethod<"How many trailing iteration dimensions are reduced.", "unsigned",
      "getNumReduced", (ins), [{}], [{ return 0; }]>,
    InterfaceMethod<"The index of an operand's element at an iteration point.",
      "::llvm::SmallVector<::tessera::SymExpr>", "getOperandIndex", (ins "unsigned":$operand)>,
    InterfaceMethod<"The computation at a point from the operands' elements.",
      "::tessera::gir::ScalarBody", "getScalarBody">,
    InterfaceMethod<[{The parallel dimension along which elements are scanned, if there is one: an element of the result
      combines the values at its point and at all points before it along that dimension.}],
      "std::optional<unsigned>", "getScannedDim", (ins), [{}], [{ return std::nullopt; }]>,
    InterfaceMethod<"The monoid of the reduced dimensions, or of the scanned one.", "std::optional<::tessera::ReduceOp>",
      "getReduction", (ins), [{}], [{ return std::nullopt; }]>,
  ];
}

def CompositeOpInterface : OpInterface<"CompositeOpInterface"> {
  let cppNamespace = "::tessera::gir";
  let description = [{
    A composite is a computation that the user has named (`gir.softmax`). `gir-decompose` rewrites
    it into operations that implement `GraphOpInterface`.
  }];
  let methods = [
    InterfaceMethod<"Builds the equivalent operations and returns the replacement of the result.",
      "::mlir::Value", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

#endif
