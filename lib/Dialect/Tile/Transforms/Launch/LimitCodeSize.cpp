//===- LimitCodeSize.cpp - More warps for much elementwise work -----------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILELIMITCODESIZE
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// About as many maps as a `tile.online_weigh` becomes: two for the exponent, and the power.
static int64_t mapsOf(OnlineWeighOp weigh) { return 2 + (weigh.getExpanded() ? 20 : 1); }

static void limitCodeSize(KernelOp kernel) {
  constexpr int64_t maxPerThread = 4096, maxWarps = 32;
  int64_t elements = 0, warps = kernel.getNumWarps();
  bool hasMma = false;
  kernel.walk([&](Operation *op) {
    hasMma |= isa<MmaOp>(op);
    if (auto map = dyn_cast<MapOp>(op))
      elements += map.getType().getNumElements();
    else if (auto weigh = dyn_cast<OnlineWeighOp>(op))
      elements += mapsOf(weigh) * weigh.getType().getNumElements();
  });
  if (hasMma)
    return;
  elements /= kernel.getClusterSize();
  while (warps < maxWarps && elements > 32 * warps * maxPerThread)
    warps *= 2;
  kernel.changeConfig(kernel.getLaunchConfig().with(LaunchField::NumWarps, warps),
                      "more than 4096 elements per thread");
}

namespace {
struct TileLimitCodeSize : tile::impl::TileLimitCodeSizeBase<TileLimitCodeSize> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      limitCodeSize(kernel);
  }
};
} // namespace
