//===- PlaceBarriers.cpp - Barriers between conflicting accesses ----------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPLACEBARRIERS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
struct TilePlaceBarriers : tile::impl::TilePlaceBarriersBase<TilePlaceBarriers> {
  using TilePlaceBarriersBase::TilePlaceBarriersBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      placeBarriers(kernel);
  }
};
} // namespace
