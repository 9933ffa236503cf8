//===- StagePasses.h - The passes that lead to a stage ---------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINE_STAGEPASSES_H
#define TESSERA_LIB_PIPELINE_STAGEPASSES_H

#include "Backend.h"

namespace tessera {

/// Adds the passes that lead to a stage, up to Target IR, from the one before it.
void addStagePasses(mlir::OpPassManager &manager, Stage next, const Backend &backend);

} // namespace tessera

#endif
