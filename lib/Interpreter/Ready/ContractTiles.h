//===- ContractTiles.h - The tiles of ready contractions -------*- C++ -*-===//
#ifndef TESSERA_LIB_INTERPRETER_READY_CONTRACTTILES_H
#define TESSERA_LIB_INTERPRETER_READY_CONTRACTTILES_H

#include <cstdint>

namespace tessera::ready {

/// A tile of the result, and how much of K is packed at once. A grid index is a tile.
inline constexpr int64_t contractRows = 144, contractColumns = 512, contractDepth = 192;
/// Both packed operands and the tile, of 8 bytes each; vectors of the result may pad its columns.
inline constexpr int64_t contractScratchBytes =
    8 * (contractRows * contractDepth + contractDepth * contractColumns +
         contractRows * contractColumns) +
    4096;

} // namespace tessera::ready

#endif
