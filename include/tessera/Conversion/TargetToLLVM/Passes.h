//===- Passes.h - Per-thread GPU kernels to LLVM ---------------*- C++ -*-===//
#ifndef TESSERA_CONVERSION_TARGETTOLLVM_PASSES_H
#define TESSERA_CONVERSION_TARGETTOLLVM_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Conversion/TargetToLLVM/Passes.h.inc"

} // namespace tessera

#endif
