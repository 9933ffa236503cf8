//===- Passes.h - From Schedule IR to Tile IR ------------------*- C++ -*-===//
#ifndef TESSERA_CONVERSION_SCHEDULETOTILE_PASSES_H
#define TESSERA_CONVERSION_SCHEDULETOTILE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Conversion/ScheduleToTile/Passes.h.inc"

} // namespace tessera

#endif
