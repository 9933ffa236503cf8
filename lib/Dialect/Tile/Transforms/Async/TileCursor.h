//===- TileCursor.h - Where a loop's copies are, across programs ----*- C++ -*-===//
//
// The copies of a loop run some iterations ahead of it. Where the loop stands in one over programs,
// they go on with the iterations of the next program, and the places of their tiles with them: all
// that places are computed of from the program's number is computed for the copies once more,
// whenever these come to another program.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_TILECURSOR_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_TILECURSOR_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace tessera::tile {

class Cursor {
public:
  /// Of a loop in the body of one over programs, or alone.
  Cursor(mlir::scf::ForOp loop, mlir::scf::ForOp programs)
      : first(loop.getLowerBound()), step(loop.getStep()), programs(programs) {}

  /// Whether it finds a value of the loop's surroundings for any program; such a value is known
  /// from then on.
  bool follow(mlir::Value value);
  /// The place before the first iteration, as values to carry: the iteration, the program, and what
  /// was followed.
  llvm::SmallVector<mlir::Value> begin(mlir::OpBuilder &builder);
  /// The place behind one; the iterations of a program end there.
  llvm::SmallVector<mlir::Value> next(mlir::OpBuilder &builder, mlir::Location loc,
                                      mlir::ValueRange place, mlir::Value end);
  /// Whether there is an iteration at a place.
  mlir::Value exists(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange place,
                     mlir::Value end);
  /// Takes the loop over programs by which one with that program's number was replaced.
  void replace(mlir::Value program, mlir::scf::ForOp by);
  /// What a value is at a place.
  mlir::Value at(mlir::ValueRange place, mlir::Value value);

private:
  /// What was followed, for a program.
  llvm::SmallVector<mlir::Value> followed(mlir::OpBuilder &builder, mlir::Value program);

  mlir::Value first, step; // of iterations
  mlir::scf::ForOp programs;
  llvm::SmallVector<mlir::Value> values;         // that are followed
  llvm::SetVector<mlir::Operation *> operations; // that make them, in order
};

} // namespace tessera::tile

#endif
