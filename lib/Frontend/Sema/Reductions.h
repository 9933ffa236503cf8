//===- Reductions.h - What builtins that reduce have in common ----------------------*- C++ -*-===//
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
/// Puts reduced dimensions back as dimensions of size 1, where they are kept.
Value withKeptDims(Emitter &emit, mlir::Value value, const Reduction &r);
/// Over no dimensions, the tensor is its own result.
Value reduce(Emitter &emit, tessera::ReduceOp op, const Reduction &r);
Value sumOver(Emitter &emit, const Value &x, llvm::ArrayRef<int64_t> dims, bool keep = false);
Value meanOver(Emitter &emit, const Value &x, llvm::ArrayRef<int64_t> dims, bool keep = false);
/// Reports a reduction over nothing that has no value. False then.
bool checkNotEmpty(Args &args, const Reduction &r);
/// Reports an operand that is not of floating point. False then.
bool requireFloat(Args &args, const Value &x);
/// The type in which values of this one are accumulated: fp32 for the narrower ones.
DType accumulationType(DType type);

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_REDUCTIONS_H
