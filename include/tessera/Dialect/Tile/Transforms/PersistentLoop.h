//===- PersistentLoop.h - How a persistent kernel is described --*- C++ -*-===//
#ifndef TESSERA_DIALECT_TILE_TRANSFORMS_PERSISTENTLOOP_H
#define TESSERA_DIALECT_TILE_TRANSFORMS_PERSISTENTLOOP_H

#include "llvm/ADT/StringRef.h"

namespace tessera::tile {

/// Why `tile-persistent-loop` removes fields of the grid: the kernel has what they ask for.
inline constexpr llvm::StringLiteral kLoopOverGrid = "a loop over the grid in the kernel";

} // namespace tessera::tile

#endif
