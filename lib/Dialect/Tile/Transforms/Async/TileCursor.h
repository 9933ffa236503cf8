//===- TileCursor.h - The position of loads across tiles -------*- C++ -*-===//
//
// The TMA loads of a K loop run some iterations ahead of it. Inside a persistent loop they go on
// with the first iterations of the next tile. Everything that their coordinates are computed from
// the tile's number is then computed again for the loads, whenever they reach another tile.
//
// A position is a list of values that the loops carry: the iteration, the tile, and the followed
// values of that tile.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_TILECURSOR_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_TILECURSOR_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace tessera::tile {

class Cursor {
public:
  /// The cursor of a loop in the body of a persistent loop, or of one without (`tiles` is null).
  Cursor(mlir::scf::ForOp loop, mlir::scf::ForOp tiles)
      : first(loop.getLowerBound()), step(loop.getStep()), tiles(tiles) {}

  /// Whether a value outside of the loop can be computed for any tile; positions contain it then.
  bool follow(mlir::Value value);
  /// The position of the first iteration of the first tile.
  llvm::SmallVector<mlir::Value> begin(mlir::OpBuilder &builder);
  /// The position after another one; `end` is the upper bound of the iterations of a tile.
  llvm::SmallVector<mlir::Value> next(mlir::OpBuilder &builder, mlir::Location loc,
                                      mlir::ValueRange position, mlir::Value end);
  /// Whether there is an iteration at a position.
  mlir::Value hasIteration(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange position,
                           mlir::Value end);
  /// Replaces the persistent loop, whose induction variable was `tile`, by another one.
  void replace(mlir::Value tile, mlir::scf::ForOp by);
  /// A value at a position.
  mlir::Value at(mlir::ValueRange position, mlir::Value value);

private:
  /// Computes the followed values for a tile.
  llvm::SmallVector<mlir::Value> followed(mlir::OpBuilder &builder, mlir::Value tile);

  mlir::Value first, step; // of the iterations
  mlir::scf::ForOp tiles;
  llvm::SmallVector<mlir::Value> values;         // the followed values
  llvm::SetVector<mlir::Operation *> operations; // that compute them, in program order
};

} // namespace tessera::tile

#endif
