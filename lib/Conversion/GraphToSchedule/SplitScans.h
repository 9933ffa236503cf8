//===- SplitScans.h - Long scans in parts ----------------------*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_SPLITSCANS_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_SPLITSCANS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Analysis/CostModel.h"

#include "llvm/ADT/SetVector.h"

namespace tessera {

/// Writes running sums that few programs of a GPU would walk for long as those of parts, and of the sums before each part.
/// Returns what is in memory between.
llvm::SetVector<mlir::Value> splitScans(mlir::func::FuncOp function, const SizeFacts &facts, const MachineModel &machine);

} // namespace tessera

#endif
