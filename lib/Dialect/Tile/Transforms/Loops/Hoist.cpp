//===- Hoist.cpp - Loop-invariant loads and maps leave their loops --------===//
//
// Inner loops come first, so that an operation can leave several loops.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEHOIST
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// Whether the loop's constant bounds let its body run.
static bool runsAtLeastOnce(scf::ForOp loop) {
  auto lower = getConstantIntValue(loop.getLowerBound());
  auto upper = getConstantIntValue(loop.getUpperBound());
  return lower && upper && *lower < *upper;
}

/// The views that the loop stores to.
static llvm::SmallDenseSet<Value> storedViews(scf::ForOp loop) {
  llvm::SmallDenseSet<Value> views;
  loop.walk([&](tile::StoreOp store) { views.insert(store.getView()); });
  loop.walk([&](tile::ScatterOp scatter) { views.insert(scatter.getView()); });
  return views;
}

static void hoist(scf::ForOp loop) {
  llvm::SmallDenseSet<Value> stored = storedViews(loop);
  bool executed = runsAtLeastOnce(loop);
  moveLoopInvariantCode(
      loop.getLoopRegions(),
      [&](Value value, Region *) { return loop.isDefinedOutsideOfLoop(value); },
      [&](Operation *op, Region *) {
        if (auto load = dyn_cast<tile::LoadOp>(op))
          return (load.getPad() || executed) && !stored.contains(load.getView());
        if (auto gather = dyn_cast<tile::GatherOp>(op))
          return (gather.getPad() || executed) && !stored.contains(gather.getView());
        return isMemoryEffectFree(op) && isSpeculatable(op);
      },
      [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
}

namespace {
struct Hoist : tile::impl::TileHoistBase<Hoist> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) { hoist(loop); });
  }
};
} // namespace
