//===- LimitCodeSize.cpp - More warps for much elementwise work -----------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILELIMITCODESIZE
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static void limitCodeSize(KernelOp kernel) {
  constexpr int64_t maxPerThread = 4096, maxWarps = 32;
  int64_t elements = 0, warps = getHint(kernel.getHintsAttr(), "num_warps").value_or(4);
  bool hasMma = false;
  kernel.walk([&](Operation *op) {
    hasMma |= isa<MmaOp>(op);
    if (auto map = dyn_cast<MapOp>(op))
      elements += map.getType().getNumElements();
  });
  if (hasMma)
    return;
  elements /= getHint(kernel.getHintsAttr(), "cluster_size").value_or(1);
  while (warps < maxWarps && elements > 32 * warps * maxPerThread)
    warps *= 2;
  NamedAttrList hints(kernel.getHintsAttr());
  hints.set("num_warps", IntegerAttr::get(IntegerType::get(kernel.getContext(), 64), warps));
  kernel.setHintsAttr(hints.getDictionary(kernel.getContext()));
}

namespace {
struct TileLimitCodeSize : tile::impl::TileLimitCodeSizeBase<TileLimitCodeSize> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      limitCodeSize(kernel);
  }
};
} // namespace
