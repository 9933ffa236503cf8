//===- Reductions.h - Common parts of reductions ----------------*- C++ -*-===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_REDUCTIONS_H
#define TESSERA_LIB_FRONTEND_SEMA_REDUCTIONS_H

#include "Builtins.h"

namespace tessera::sema {

/// The common part of reductions: the operand, its dimensions (sorted) and `keepdim`.
struct Reduction {
  Value x;
  llvm::SmallVector<int64_t> dims;
  bool keep = false;

  /// The operand's type without its reduced dimensions.
  gir::TensorType type() const;
};

/// Reads x (argument 0), its dimensions and `keepdim`; nothing after an error.
std::optional<Reduction> readReduction(Args &args, size_t dimIndex, size_t keepIndex);
/// Restores the reduced dimensions as dimensions of size 1 if they are kept.
Value withKeptDims(Emitter &emit, mlir::Value value, const Reduction &r);
/// Over no dimensions, the tensor is the result.
Value reduce(Emitter &emit, tessera::ReduceOp op, const Reduction &r);
Value sumOver(Emitter &emit, const Value &x, llvm::ArrayRef<int64_t> dims, bool keep = false);
Value meanOver(Emitter &emit, const Value &x, llvm::ArrayRef<int64_t> dims, bool keep = false);
/// Reports a reduction over an empty set without an identity; then returns false.
bool checkNotEmpty(Args &args, const Reduction &r);
/// The square root, whose gradient at 0 is 0 as that of a norm.
Value rootOf(Emitter &emit, const Value &x);
/// Reports an operand that is not floating point; then returns false.
bool requireFloat(Args &args, const Value &x);
/// The accumulation type of this type: fp32 for narrower ones.
DType accumulationType(DType type);

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_REDUCTIONS_H
