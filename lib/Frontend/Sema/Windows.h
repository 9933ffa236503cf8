//===- Windows.h - Windows that slide along dimensions ---------*- C++ -*-===//
//
// The common parts of convolutions, pooling and `unfold`: their arguments, padding, and the view of
// windows.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_WINDOWS_H
#define TESSERA_LIB_FRONTEND_SEMA_WINDOWS_H

#include "Builtins.h"

namespace tessera::sema {

using Numbers = llvm::SmallVector<int64_t>;

/// How windows slide along the spatial dimensions.
struct Windows {
  Numbers sizes, steps, dilations, before, after; ///< before, after: the padding

  /// The extent of a window along a dimension.
  int64_t extent(size_t j) const { return dilations[j] * (sizes[j] - 1) + 1; }
};

/// The digit in the operation's name: conv2d has two spatial dimensions.
int64_t spatialRank(const Args &args);

/// What messages call an argument.
std::string nameOf(const Args &args, size_t i);

/// A number for each spatial dimension: one for all, or a sequence.
std::optional<Numbers> perDim(Args &args, size_t i, int64_t count, int64_t least);

/// Numbers that follow each other.
Numbers range(int64_t first, int64_t count);

/// Extends a dimension by a number; a negative width removes elements.
mlir::Value padded(Emitter &emit, mlir::Value x, int64_t dim, SymExpr before, SymExpr after,
                   const Value &number);

/// The windows over the last dimensions: [.., positions.., elements..]. Nothing after an error.
std::optional<mlir::Value> windowsOf(Args &args, const Value &x, const Windows &windows,
                                     const Value &padding);

} // namespace tessera::sema

#endif
