//===- Passes.h - The CPU code generator as passes -------------*- C++ -*-===//
#ifndef TESSERA_CODEGEN_CPU_PASSES_H
#define TESSERA_CODEGEN_CPU_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tessera::cpu {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/CodeGen/CPU/Passes.h.inc"

} // namespace tessera::cpu

#endif
