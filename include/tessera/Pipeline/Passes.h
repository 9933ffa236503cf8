//===- Passes.h - Passes on modules of any stage ---------------*- C++ -*-===//
#ifndef TESSERA_PIPELINE_PASSES_H
#define TESSERA_PIPELINE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Pipeline/Passes.h.inc"

} // namespace tessera

#endif
