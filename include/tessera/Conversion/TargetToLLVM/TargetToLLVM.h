//===- TargetToLLVM.h - Per-thread GPU kernels to LLVM ---------*- C++ -*-===//
#ifndef TESSERA_CONVERSION_TARGETTOLLVM_TARGETTOLLVM_H
#define TESSERA_CONVERSION_TARGETTOLLVM_TARGETTOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Dialect/Target/IR/Target.h"

namespace tessera {

/// Converts the kernels of `module` with a `kernel_config` to LLVM functions in `functions`: PTX
/// kernels with a 64-bit parameter per word. Returns the first version of PTX that has all their
/// instructions, 84 for 8.4; 0 where any version has them.
mlir::FailureOr<unsigned> convertKernelsToLLVM(target::ModuleOp module, mlir::ModuleOp functions);

} // namespace tessera

#endif
