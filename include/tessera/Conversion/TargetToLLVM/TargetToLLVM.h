//===- TargetToLLVM.h - A GPU's per-thread kernels to LLVM -----*- C++ -*-===//
#ifndef TESSERA_CONVERSION_TARGETTOLLVM_TARGETTOLLVM_H
#define TESSERA_CONVERSION_TARGETTOLLVM_TARGETTOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Dialect/Target/IR/Target.h"

namespace tessera {

/// Writes the kernels of `module` that have a `kernel_config` as LLVM functions into `functions`: kernels
/// of PTX with one parameter of 64 bits for each word. Returns the first version of PTX that has all
/// their instructions, 84 for 8.4; 0 where any has.
mlir::FailureOr<unsigned> convertKernelsToLLVM(target::ModuleOp module, mlir::ModuleOp functions);

} // namespace tessera

#endif
