//===- Access.h - Views that loads and stores need -------------*- C++ -*-===//
//
// An index into a tensor as an affine address over a kernel's dimensions.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CONVERSION_SCHEDULETOTILE_ACCESS_H
#define TESSERA_LIB_CONVERSION_SCHEDULETOTILE_ACCESS_H

#include "tessera/Analysis/SizeFacts.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

namespace tessera {

/// A tensor seen along the dimensions of a kernel that its index names.
struct Access {
  llvm::SmallVector<mlir::StringAttr> dims; ///< in declaration order
  SymExpr offset;
  /// One per dimension, then one per place that the index takes from values.
  llvm::SmallVector<SymExpr> sizes, strides;
  /// Dimensions along which the tensor ends before the dimension does; reads there give the
  /// padding.
  llvm::SmallVector<mlir::StringAttr> limited;

  tile::OperandViewAttr getOperandView(mlir::MLIRContext *context) const;
  tile::ViewType getViewType(mlir::Type elementType, const SizeFacts &facts) const;
};

/// The strides of a tensor on the host side, `$k` where only the call knows stride `k`.
llvm::SmallVector<SymExpr> getHostStrides(mlir::Value tensor);

/// The access of a `sched.load` or `sched.store` (its tensor on the host side is `tensor`); places
/// in the index are `below` these limits. Reports an error if the address is not affine.
mlir::FailureOr<Access> analyseAccess(mlir::Operation *op, sched::KernelOp kernel,
                                      mlir::Value tensor, mlir::ArrayAttr index,
                                      llvm::ArrayRef<SymExpr> below = {});

} // namespace tessera

#endif
