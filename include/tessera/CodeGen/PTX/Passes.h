//===- Passes.h - The PTX code generator as passes -------------*- C++ -*-===//
#ifndef TESSERA_CODEGEN_PTX_PASSES_H
#define TESSERA_CODEGEN_PTX_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tessera::ptx {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/CodeGen/PTX/Passes.h.inc"

} // namespace tessera::ptx

#endif
