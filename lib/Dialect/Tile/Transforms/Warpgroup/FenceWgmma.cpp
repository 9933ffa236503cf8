//===- FenceWgmma.cpp - Fences within groups of warpgroup MMAs ------------===//
//
// An accumulator stays in its registers from one wgmma to the next and around a loop. Any other
// accumulator is moved into registers right before the instructions, and so are the rows of a left
// operand that registers hold.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEFENCEWGMMA
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// Whether the warp moves the accumulator of an MMA into its registers before it issues the MMA.
static bool isMoved(Value acc) { return !isa<BlockArgument>(acc) && !acc.getDefiningOp<WgmmaOp>(); }

static void markFences(WgmmaOp mma) {
  if (mma.isJoinedToPrevious())
    return;
  bool moves = isMoved(mma.getAcc());
  if (mma.getJoin())
    moves |= isMoved(cast<WgmmaOp>(mma->getNextNode()).getAcc());
  mma.setFence(moves);
  mma.setFenceRows((moves || !mma.getLhsStage()) && mma.getRowBlocks() > 1);
}

namespace {
struct TileFenceWgmma : tile::impl::TileFenceWgmmaBase<TileFenceWgmma> {
  using TileFenceWgmmaBase::TileFenceWgmmaBase;

  void runOnOperation() override { getOperation().walk(markFences); }
};
} // namespace
