//===- MergeLoads.cpp - Merge loads that differ in padding ----------------===//
//
// Two loads of the same tile with different pads become one if the pad of one of them is never
// observed: its elements outside of the tensor reach only stores that skip them.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/Dominance.h"
#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEMERGELOADS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
class Merger {
public:
  explicit Merger(KernelOp kernel) : coordinates(kernel), dominance(kernel), kernel(kernel) {}

  void run() {
    SmallVector<LoadOp> loads;
    kernel.walk([&](LoadOp load) {
      if (load.getPad())
        loads.push_back(load);
    });
    SmallVector<LoadOp> kept;
    for (LoadOp load : loads) {
      auto first = llvm::find_if(kept, [&](LoadOp other) { return canReplace(other, load); });
      if (first == kept.end()) {
        kept.push_back(load);
        continue;
      }
      if (!isPadUnobserved(load, load))
        first->setPadAttr(load.getPadAttr());
      load.getResult().replaceAllUsesWith(first->getResult());
      load.erase();
    }
  }

private:
  /// Whether one load can replace the other, with one of their pads.
  bool canReplace(LoadOp first, LoadOp second) {
    return first.getView() == second.getView() && first.getCoords() == second.getCoords() &&
           first.getDims() == second.getDims() && first.getType() == second.getType() &&
           (first.getPadAttr() == second.getPadAttr() || isPadUnobserved(first, first) ||
            isPadUnobserved(second, second)) &&
           dominance.dominates(first.getOperation(), second.getOperation());
  }

  /// Whether the padding of a load is never observed: elementwise operations take it to stores that
  /// skip the same elements.
  bool isPadUnobserved(LoadOp load, Operation *from) {
    return llvm::all_of(from->getUsers(), [&](Operation *user) {
      if (isa<MapOp, tile::CastOp, BitcastOp, OnlineWeighOp>(user))
        return isPadUnobserved(load, user);
      auto store = dyn_cast<StoreOp>(user);
      return store && store.getBounded() && hasSameBounds(load, store);
    });
  }

  bool hasSameBounds(LoadOp load, StoreOp store) {
    if (store.getDims() != load.getDims() || store.getCoords() != load.getCoords())
      return false;
    return llvm::all_of(load.getDims(), [&](int64_t dim) {
      return dim < 0 ||
             coordinates.size(load.getView(), dim) == coordinates.size(store.getView(), dim);
    });
  }

  Coordinates coordinates;
  DominanceInfo dominance;
  KernelOp kernel;
};

struct TileMergeLoads : tile::impl::TileMergeLoadsBase<TileMergeLoads> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      Merger(kernel).run();
  }
};
} // namespace
