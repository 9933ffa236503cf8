//===- FirstUse.h - The first use of a value in its block ------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_FIRSTUSE_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_FIRSTUSE_H

#include "mlir/IR/Operation.h"

namespace tessera::tile {

/// The first operation of the value's block that uses the value, itself or in a region.
inline mlir::Operation *firstUse(mlir::Value value) {
  mlir::Block *block = value.getDefiningOp()->getBlock();
  mlir::Operation *first = block->getTerminator();
  for (mlir::Operation *user : value.getUsers())
    if (mlir::Operation *here = block->findAncestorOpInBlock(*user);
        here && here->isBeforeInBlock(first))
      first = here;
  return first;
}

} // namespace tessera::tile

#endif
