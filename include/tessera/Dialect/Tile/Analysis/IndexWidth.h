//===- IndexWidth.h - Whether 32 bits index every tensor ------*- C++ -*-===//
#ifndef TESSERA_DIALECT_TILE_ANALYSIS_INDEXWIDTH_H
#define TESSERA_DIALECT_TILE_ANALYSIS_INDEXWIDTH_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Support/SymExpr.h"

namespace tessera {

/// An option of the compilation, which the functions of a module carry; "" if it is not given.
llvm::StringRef compileOption(mlir::ModuleOp module, llvm::StringRef name);

/// The number of elements of a tensor of the module that may be 2^31 or more by a function's
/// typical sizes, if there is one.
std::optional<SymExpr> wideTensorSize(mlir::ModuleOp module);

/// Whether indices need 64 bits: for such a tensor, or by the option `indices = "64"`.
bool needsWideIndices(mlir::ModuleOp module);

} // namespace tessera

#endif
