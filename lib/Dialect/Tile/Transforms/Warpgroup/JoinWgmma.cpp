//===- JoinWgmma.cpp - One instruction for two warpgroup MMAs -------------===//
//
// An instruction finds the swizzle spans of its right operand by their distance, the leading
// dimension of the descriptor. Two right operands that are one span wide each are therefore the
// spans of one matrix, at the distance of their buffers.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEJOINWGMMA
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// The distance in bytes from the right operand of an MMA to that of the next one, where one
/// instruction computes both; otherwise 0.
static int64_t distanceToNext(WgmmaOp mma, WgmmaOp next) {
  constexpr int64_t maxColumns = 256;
  if (mma.getParts() > 1 || mma.getSpread().blocks > 1 || !mma.canJoin(next))
    return 0;
  BufferType buffer = mma.getRhs().getType();
  std::optional<SharedMatrix> matrix = groupMatrix(buffer, /*over=*/0, /*parts=*/1);
  int64_t columns = mma.getMatrix()[1];
  auto first = mma.getRhs().getDefiningOp<AllocOp>(),
       second = next.getRhs().getDefiningOp<AllocOp>();
  if (!matrix->isAcross || columns * buffer.getElementBytes() != matrix->span ||
      2 * columns > maxColumns || !first || !second || !first.getOffset() || !second.getOffset())
    return 0;
  int64_t distance = int64_t(*second.getOffset()) - int64_t(*first.getOffset());
  return distance > 0 && distance < WgmmaOp::kDescriptorBytes ? distance : 0;
}

namespace {
struct TileJoinWgmma : tile::impl::TileJoinWgmmaBase<TileJoinWgmma> {
  using TileJoinWgmmaBase::TileJoinWgmmaBase;

  void runOnOperation() override {
    getOperation().walk([](WgmmaOp mma) {
      auto next = dyn_cast_or_null<WgmmaOp>(mma->getNextNode());
      if (!next || mma.isJoinedToPrevious())
        return;
      if (int64_t distance = distanceToNext(mma, next))
        mma.setJoin(distance);
    });
  }
};
} // namespace
