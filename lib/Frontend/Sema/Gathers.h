//===- Gathers.h - Indexing by tensors -------------------------*- C++ -*-===//
//
// The common parts of `x[i]`, `gather`, `take`, `index_select` and `embedding`.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_GATHERS_H
#define TESSERA_LIB_FRONTEND_SEMA_GATHERS_H

#include "Emitter.h"

namespace tessera::sema {

/// Whether a tensor of this type holds indices.
inline bool isIndexType(DType dtype) { return !Emitter::isFloat(dtype) && dtype != DType::Bool; }

/// A list of at most 64 ints that are known at compile time, as a tensor of indices.
std::optional<Value> listedIndices(Emitter &emit, const Value &list);

/// Makes a call fail if an element of `index` is not in [0, size), or, if it may count from the
/// end, not in [-size, size). In the message {0} is the element, {1} the size; the error shows
/// `range`.
void checkIndex(Emitter &emit, const Value &index, SymExpr size, bool mayCountFromEnd,
                std::string_view message, SourceRange range);

/// Converts negative indices, which count from the end, as in Python.
Value fromEnd(Emitter &emit, const Value &index, SymExpr size);

/// The elements of `x` whose indices along the sorted `dims` are those of `indices`, tensors of one
/// shape. The result has the other dimensions of `x`, with the dimensions of the indices before the
/// `at`-th of them. Reports an error if `x` is empty.
Value gatherAlong(Emitter &emit, const Value &x, llvm::ArrayRef<int64_t> dims,
                  llvm::ArrayRef<Value> indices, int64_t at, SourceRange range);

/// x[…] where some of `indices`, one for each dimension of x, are tensors and the others null. The
/// tensors broadcast together; their dimensions replace the indexed ones if those are adjacent,
/// otherwise they come first.
Value indexByTensors(Emitter &emit, const Value &x, llvm::ArrayRef<const Value *> indices,
                     llvm::ArrayRef<SourceRange> ranges);

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_GATHERS_H
