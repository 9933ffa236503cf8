//===- TileEvaluator.h - Evaluates expanded elementwise programs -*- C++ -*-===//
//
// Builds a function with one `tile.map` on rank-0 tiles, expands it, and evaluates the result on
// many numbers at a time with the host's arithmetic. Supports primitive operations only: anything
// else in the expanded function is an error.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_UNITTESTS_DIALECT_TILE_TILEEVALUATOR_H
#define TESSERA_UNITTESTS_DIALECT_TILE_TILEEVALUATOR_H

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/OwningOpRef.h"

#include <vector>

namespace tessera::test {

/// One value for every sample; the element type selects the array.
struct Lanes {
  std::vector<float> f32;
  std::vector<double> f64;
  std::vector<int64_t> integer;
};

template <typename T> std::vector<T> &lanesOf(Lanes &lanes) {
  if constexpr (std::is_same_v<T, float>)
    return lanes.f32;
  else if constexpr (std::is_same_v<T, double>)
    return lanes.f64;
  else
    return lanes.integer;
}

class ExpandedMap {
public:
  /// `op` on operands of element type `type`, expanded and simplified.
  ExpandedMap(mlir::MLIRContext &context, ScalarOp op, mlir::Type type, bool fast = false);

  /// The number of operations after the expansion, without constants.
  unsigned numOps();
  Lanes run(llvm::ArrayRef<Lanes> inputs, size_t count);

private:
  mlir::func::FuncOp function();
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace tessera::test

#endif
