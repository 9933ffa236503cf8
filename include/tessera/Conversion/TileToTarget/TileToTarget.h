//===- TileToTarget.h - Host functions to host programs --------*- C++ -*-===//
#ifndef TESSERA_CONVERSION_TILETOTARGET_TILETOTARGET_H
#define TESSERA_CONVERSION_TILETOTARGET_TILETOTARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Dialect/Target/IR/Target.h"

namespace tessera {

/// Replaces every function of `module` (made of tile.empty and tile.launch) by a
/// tessera_target.program at the head of `target`. The tile kernels that are launched must still be
/// in `module`: their argument types fix the words.
mlir::LogicalResult convertHostFunctions(mlir::ModuleOp module, target::ModuleOp target);

} // namespace tessera

#endif
