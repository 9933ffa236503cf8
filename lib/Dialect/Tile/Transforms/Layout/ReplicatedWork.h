//===- ReplicatedWork.h - Elementwise work that threads repeat --*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_LAYOUT_REPLICATEDWORK_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_LAYOUT_REPLICATEDWORK_H

#include "tessera/Dialect/Tile/IR/Tile.h"

namespace tessera::tile {

/// Whether elementwise operations compute a tile from a contraction, a reduction or a scan, which
/// have layouts of their own.
bool hasOwnLayout(mlir::Value tile);
/// Whether a layout that several warps share replicates long elementwise work on an operand: a
/// conversion after the work is cheaper. The same holds for lanes that share elements, if the input
/// of the work has a layout of its own and is converted anyway: threads then hold fewer elements.
bool replicatesWork(mlir::Value tile, const Layout &layout);
/// Whether a broadcast's slice of a layout makes each thread compute a tile for so many elements,
/// which other threads compute as well, that the code becomes too long. The tile is then computed
/// in a layout of its own and converted.
bool replicatesCode(mlir::Value tile, const Layout &layout, unsigned threads);

} // namespace tessera::tile

#endif
