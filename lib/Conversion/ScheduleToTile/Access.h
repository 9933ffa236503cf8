//===- Access.h - Views of loads and stores --------------------*- C++ -*-===//
//
// Analyses an index into a tensor as an affine address over the dimensions of a kernel.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CONVERSION_SCHEDULETOTILE_ACCESS_H
#define TESSERA_LIB_CONVERSION_SCHEDULETOTILE_ACCESS_H

#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

namespace tessera {

/// A tensor as a view over the dimensions of the kernel that its index uses.
struct Access {
  llvm::SmallVector<mlir::StringAttr> dims; ///< in declaration order
  SymExpr offset;
  /// One per dimension, then one per gather index.
  llvm::SmallVector<SymExpr> sizes, strides;
  /// Dimensions along which the tensor ends before the dimension; loads are padded there.
  llvm::SmallVector<mlir::StringAttr> limited;

  tile::OperandViewAttr getOperandView(mlir::MLIRContext *context) const;
  tile::ViewType getViewType(mlir::Type elementType, const SizeFacts &facts) const;
};

/// The strides of a tensor on the host side; `$k` is a stride that only the call knows.
llvm::SmallVector<SymExpr> getHostStrides(mlir::Value tensor);

/// The access of a `sched.load` or `sched.store` to `tensor` on the host side. Gather indices are
/// less than `below`. An address that is not affine is an error.
mlir::FailureOr<Access> analyseAccess(mlir::Operation *op, sched::KernelOp kernel,
                                      mlir::Value tensor, mlir::ArrayAttr index,
                                      llvm::ArrayRef<SymExpr> below = {});

} // namespace tessera

#endif
