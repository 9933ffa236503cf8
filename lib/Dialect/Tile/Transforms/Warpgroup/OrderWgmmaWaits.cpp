//===- OrderWgmmaWaits.cpp - Reductions before waits for wgmma ------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEORDERWGMMAWAITS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-order-wgmma-waits";

/// The last reduction of the block since a wgmma was committed or waited for; null if there is
/// none.
static tile::ReduceOp lastReduction(WgmmaWaitOp wait) {
  for (Operation *op = wait->getPrevNode(); op && !isa<WgmmaCommitOp, WgmmaWaitOp>(op);
       op = op->getPrevNode())
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      return reduce;
  return nullptr;
}

static void orderWait(WgmmaWaitOp wait) {
  tile::ReduceOp reduce = lastReduction(wait);
  if (!reduce)
    return;
  Type element = reduce.getType().getElementType();
  unsigned registers = layoutOf(reduce)->in().size(Dim::Register);
  if (element.isF32() && registers <= WgmmaWaitOp::kMaxRegistersAfter) {
    wait.getAfterMutable().assign(reduce);
    return;
  }
  missed(wait, kPass, "ReductionNotKept")
      << remark::reason("ptxas may move the wait before a reduction of {0} in {1} registers per "
                        "thread; the pass takes "
                        "f32 in at most {2}",
                        element, registers, WgmmaWaitOp::kMaxRegistersAfter);
}

namespace {
struct TileOrderWgmmaWaits : tile::impl::TileOrderWgmmaWaitsBase<TileOrderWgmmaWaits> {
  using TileOrderWgmmaWaitsBase::TileOrderWgmmaWaitsBase;

  void runOnOperation() override { getOperation().walk(orderWait); }
};
} // namespace
