//===- MergeStatistics.h - Merge equal reductions of a loop -----*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_LOOPS_MERGESTATISTICS_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_LOOPS_MERGESTATISTICS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::tile {

/// Replaces a maximum or minimum that may ignore NaN by one that does not, if the loop has both of
/// the same tile, and merges carried values with equal initial values and equal updates.
void mergeStatistics(mlir::scf::ForOp loop);

} // namespace tessera::tile

#endif
