//===- IndexWidth.h - Whether 32 bits index every tensor ------*- C++ -*-===//
#ifndef TESSERA_DIALECT_TILE_ANALYSIS_INDEXWIDTH_H
#define TESSERA_DIALECT_TILE_ANALYSIS_INDEXWIDTH_H

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// An option of the compilation, which the functions of a module carry; "" where it is not given.
llvm::StringRef compileOption(mlir::ModuleOp module, llvm::StringRef name);

/// Whether a tensor of the module may have more elements than 32 bits count: a function's typical
/// sizes say so, or the option `indices = "64"`.
bool needsWideIndices(mlir::ModuleOp module);

} // namespace tessera

#endif
