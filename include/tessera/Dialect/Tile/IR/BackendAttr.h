//===- BackendAttr.h - The backend of a single kernel -----------*- C++ -*-===//
#ifndef TESSERA_DIALECT_TILE_IR_BACKENDATTR_H
#define TESSERA_DIALECT_TILE_IR_BACKENDATTR_H

#include "llvm/ADT/StringRef.h"

namespace tessera::tile {

/// Attribute of a kernel that is compiled through another GPU backend than the other kernels of its
/// program: "ptx" or "cuda_tile".
inline constexpr llvm::StringLiteral kBackendAttr = "tile.backend";

} // namespace tessera::tile

#endif
