//===- MergeStatistics.h - Statistics that are the same are one -*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_LOOPS_MERGESTATISTICS_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_LOOPS_MERGESTATISTICS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::tile {

/// A maximum or minimum that may leave out nan is the one that does not, where the loop has both of
/// a tile; numbers that begin alike and go on alike are one.
void mergeStatistics(mlir::scf::ForOp loop);

} // namespace tessera::tile

#endif
