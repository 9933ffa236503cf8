//===- Coalescing.h - What the lanes of a warp read together ----*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_LAYOUT_COALESCING_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_LAYOUT_COALESCING_H

#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Layout/Layout.h"

#include <optional>

namespace tessera::tile {

/// Whether each load instruction of a warp reads whole sectors. Several threads hold the same
/// element of an operand of a contraction: with accesses below 4 bytes, loads through shared memory
/// need fewer instructions.
bool isCoalesced(LoadOp load, const Layout &layout);

/// The longest dimension of a gather along which memory is contiguous, as in a shifted tensor, if
/// the lanes of a warp do not read whole sectors along it. Nothing if they do, or if there is none.
std::optional<unsigned> scatteredRun(GatherOp gather, const Layout &layout);

} // namespace tessera::tile

#endif
