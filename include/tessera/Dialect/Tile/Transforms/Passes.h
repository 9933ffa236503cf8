//===- Passes.h - Passes on Tile IR ----------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_TILE_TRANSFORMS_PASSES_H
#define TESSERA_DIALECT_TILE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/SmallVector.h"

namespace tessera::tile {

/// What a target computes by itself; everything else that is not primitive is expanded.
struct TargetMath {
  llvm::SmallVector<ScalarOp> native;
  llvm::SmallVector<ScalarOp> approx; ///< of f32, if the map is `fast`

  bool isNative(ScalarOp op, bool fast = false) const {
    return llvm::is_contained(native, op) || (fast && llvm::is_contained(approx, op));
  }
};

/// Whether every back end has `op` on elements of `type` (f32, f64 or an integer).
bool isPrimitive(ScalarOp op, mlir::Type type);

/// `tile-expand-math` as a function, for any set of operations: rewrites every `tile.map` and
/// 16-bit `tile.reduce` under `root`, and marks the operations of an online softmax whose maps have
/// to be expanded.
void expandMath(mlir::Operation *root, const TargetMath &target);

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"

} // namespace tessera::tile

#endif
