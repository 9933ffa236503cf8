//===- Gathers.h - Reads at places that tensors hold ---------------------------------*- C++ -*-===//
//
// What `x[i]`, `gather`, `take`, `index_select` and `embedding` have in common.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_GATHERS_H
#define TESSERA_LIB_FRONTEND_SEMA_GATHERS_H

#include "Emitter.h"

namespace tessera::sema {

/// Whether a tensor of this type holds indices.
inline bool isIndexType(DType dtype) { return !Emitter::isFloat(dtype) && dtype != DType::Bool; }

/// A list of at most 64 ints, each known when the function is compiled, as a tensor of indices.
std::optional<Value> listedIndices(Emitter &emit, const Value &list);

/// Makes a call fail if an element of `index` is not below `size` and not below 0, or, where it may
/// count from the end, not below -size. In the message {0} stands for the element, {1} for the size;
/// the error shows `range`.
void checkIndex(Emitter &emit, const Value &index, SymExpr size, bool mayCountFromEnd,
                std::string_view message, SourceRange range);

/// Indices below 0 counted from the end, as Python does.
Value fromEnd(Emitter &emit, const Value &index, SymExpr size);

/// The elements of `x` whose indices along the sorted `dims` are those of `indices`, tensors of one
/// shape. The result has the other dimensions of `x`, and the dimensions of the indices in front of
/// the `at`-th of them. Reports an error where there is nothing to read.
Value gatherAlong(Emitter &emit, const Value &x, llvm::ArrayRef<int64_t> dims,
                  llvm::ArrayRef<Value> indices, int64_t at, SourceRange range);

/// x[…] where some of `indices`, one for each dimension of x, are tensors and the others null:
/// they broadcast together, and their dimensions stand where they stood if they were side by side,
/// else in front.
Value indexByTensors(Emitter &emit, const Value &x, llvm::ArrayRef<const Value *> indices,
                     llvm::ArrayRef<SourceRange> ranges);

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_GATHERS_H
