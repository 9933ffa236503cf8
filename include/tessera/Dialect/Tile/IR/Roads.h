//===- Roads.h - By which road a kernel goes to a GPU ----------*- C++ -*-===//
#ifndef TESSERA_DIALECT_TILE_IR_ROADS_H
#define TESSERA_DIALECT_TILE_IR_ROADS_H

#include "llvm/ADT/StringRef.h"

namespace tessera::tile {

/// Name of the attribute of a kernel that goes by another road to a GPU than others of its program: "ptx" or "tileir".
inline constexpr llvm::StringLiteral kRoadAttr = "tile.road";

} // namespace tessera::tile

#endif
