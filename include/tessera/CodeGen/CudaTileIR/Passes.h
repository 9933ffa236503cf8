//===- Passes.h - The CUDA Tile IR code generator as passes ----*- C++ -*-===//
#ifndef TESSERA_CODEGEN_CUDATILEIR_PASSES_H
#define TESSERA_CODEGEN_CUDATILEIR_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tessera::cudatile {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/CodeGen/CudaTileIR/Passes.h.inc"

} // namespace tessera::cudatile

#endif
