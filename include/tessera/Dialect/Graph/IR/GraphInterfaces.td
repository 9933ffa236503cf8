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
    InterfaceMethod<[{The parallel dimension along which elements are scanned or sorted, if there is one. With a monoid, an
      element of the result combines the values at its point and at all points before it along that dimension; without
      one, the values along it are integers in ascending order.}],
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

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::tessera::gir";
  let description = [{
    The derivative of an operation in reverse mode: the operation is linearized at its operands, and the linear map is
    transposed. `gir-differentiate` calls it. An operation implements this interface or
    `NonDifferentiableOpInterface`, and no operation implements both.

    Conventions where a derivative does not exist are PyTorch's (docs/gradients.md).
  }];
  let methods = [
    InterfaceMethod<[{Builds the cotangents of the operands from the result's cotangent, which has the result's type. There
      is one entry per operand, of the operand's type; it is null if `wanted` is false for the operand, or if the
      cotangent is zero.}],
      "::llvm::SmallVector<::mlir::Value>", "buildVjp",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$cotangent, "::llvm::ArrayRef<bool>":$wanted)>,
  ];
}

def NonDifferentiableOpInterface : OpInterface<"NonDifferentiableOpInterface"> {
  let cppNamespace = "::tessera::gir";
  let description = [{
    An operation without a derivative declares why.
  }];
  let methods = [
    InterfaceMethod<"Why the operation has no derivative, as the end of a message: \"it returns indices\".",
      "::llvm::StringRef", "getReason">,
  ];
}

#endif
