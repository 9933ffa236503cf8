//===- Passes.h - From Graph IR to Schedule IR -----------------*- C++ -*-===//
#ifndef TESSERA_CONVERSION_GRAPHTOSCHEDULE_PASSES_H
#define TESSERA_CONVERSION_GRAPHTOSCHEDULE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Conversion/GraphToSchedule/Passes.h.inc"

} // namespace tessera

#endif
