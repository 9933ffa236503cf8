//===- TooLarge.h - Kernels that shared memory cannot hold ------*- C++ -*-===//
//
// How much shared memory a kernel needs is known once its tiles have layouts. A pass that finds too
// little of it adds a note to its error, by which the driver knows the kernel: it then compiles the
// program again with a smaller tile.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_TRANSFORMS_TOOLARGE_H
#define TESSERA_DIALECT_TILE_TRANSFORMS_TOOLARGE_H

#include "tessera/Dialect/Tile/IR/Tile.h"

namespace tessera::tile {

inline constexpr llvm::StringLiteral kTooLargePrefix = "the tiles of kernel '",
                                     kTooLargeSuffix = "' are too large for shared memory";

/// Adds the note to an error.
inline mlir::InFlightDiagnostic tooLarge(mlir::InFlightDiagnostic error, KernelOp kernel) {
  error.attachNote(kernel.getLoc()) << kTooLargePrefix << kernel.getSymName() << kTooLargeSuffix;
  return error;
}

} // namespace tessera::tile

#endif
