//===- StagePasses.h - The passes that lead to a stage ---------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINE_STAGEPASSES_H
#define TESSERA_LIB_PIPELINE_STAGEPASSES_H

#include "Backend.h"

namespace tessera {

/// Adds the passes that lead to a stage, up to Target IR, from the one before it.
void addStagePasses(mlir::OpPassManager &manager, Stage next, const Backend &backend);

/// Adds the passes that split a function into forward and backward, on Graph IR.
void addPartitionPasses(mlir::OpPassManager &manager, const MachineModel &machine);

/// Adds the passes from Graph IR to kernels of Schedule IR whose schedules are chosen, before long
/// streams are split: these are the kernels that a user's schedule numbers.
void addCandidatePasses(mlir::OpPassManager &manager, const Backend &backend);

} // namespace tessera

#endif
