//===- Views.h - Values of an interpreted program --------------*- C++ -*-===//
//
// Views change how a value is indexed, and cost nothing. A value is a strided view of memory, an
// affine function of the indices (iota and what views make of it), or one number.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_INTERPRETER_VIEWS_H
#define TESSERA_LIB_INTERPRETER_VIEWS_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/DType.h"

namespace tessera::interpreter {

using Shape = llvm::SmallVector<SymExpr>;

struct View {
  enum Kind { Memory, Iota, Number, Scalar } kind = Memory;
  DType dtype = DType::FP32;
  mlir::Value
      memory; ///< of the program: an argument or an allocation; of Scalar: a rank-0 argument
  SymExpr origin = 0; ///< Memory: the first element; Iota: the value at index 0; Number: the bits
  Shape sizes, strides;

  bool isDense() const;
  unsigned rank() const { return sizes.size(); }
  /// The same with other dimensions.
  View with(Shape newSizes, Shape newStrides) const;
};

/// The strides of dense memory.
Shape denseStrides(llvm::ArrayRef<SymExpr> sizes);
SymExpr product(llvm::ArrayRef<SymExpr> sizes);

/// The result of an operation that only changes the indexing of `input`; nothing for others, and
/// for a reshape of memory that is not dense.
std::optional<View> viewOf(mlir::Operation *op, const View &input);
/// Whether the operation only changes the indexing of its one operand.
bool isView(mlir::Operation *op);

} // namespace tessera::interpreter

#endif
