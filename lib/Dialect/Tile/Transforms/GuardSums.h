//===- GuardSums.h - Sums that most tiles add nothing to -------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_GUARDSUMS_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_GUARDSUMS_H

#include "tessera/Dialect/Tile/IR/Tile.h"

namespace tessera::tile {

/// Puts sums of tiles that are zero but at one position under the condition that the tile has that position.
void guardSums(KernelOp kernel);

} // namespace tessera::tile

#endif
