//===- JoinWgmma.cpp - One instruction for two warpgroup MMAs -------------===//
//
// An instruction finds the swizzle spans of its right operand by their distance, the leading
// dimension of the descriptor. Right operands that are one span wide each are therefore the spans
// of one matrix, at the distance of their buffers. The pass joins pairs: `join` has the distance to
// one further operand.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEJOINWGMMA
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-join-wgmma";

/// The distance in bytes from the right operand of an MMA to that of the next one, where one
/// instruction can compute both; otherwise 0, and a remark says why where the left operand is the
/// same.
static int64_t distanceToNext(WgmmaOp mma, WgmmaOp next) {
  constexpr int64_t maxColumns = 256;
  if (mma.getParts() > 1 || mma.getSpread().blocks > 1 || !mma.canJoin(next))
    return 0;
  BufferType buffer = mma.getRightBuffer();
  std::optional<SharedMatrix> matrix = groupMatrix(buffer, /*over=*/0, /*parts=*/1);
  int64_t columns = mma.getMatrix()[1];
  auto first = mma.getRhs().getDefiningOp<AllocOp>(),
       second = next.getRhs().getDefiningOp<AllocOp>();
  if (!matrix->isAcross || columns * buffer.getElementBytes() != matrix->span ||
      2 * columns > maxColumns) {
    missed(next, kPass, "NotOneSpan")
        << remark::reason("rhs has {0} columns, and an instruction with two of them needs one "
                          "swizzle span, {1} bytes "
                          "of contiguous columns, of each",
                          columns, matrix->span);
    return 0;
  }
  if (!first || !second || !first.getOffset() || !second.getOffset())
    return 0;
  int64_t distance = int64_t(*second.getOffset()) - int64_t(*first.getOffset());
  if (distance > 0 && distance < WgmmaOp::kDescriptorBytes)
    return distance;
  missed(next, kPass, "Distance") << remark::reason(
      "rhs is {0} bytes after that of the previous MMA, and a descriptor holds 0 to {1}", distance,
      WgmmaOp::kDescriptorBytes);
  return 0;
}

namespace {
struct TileJoinWgmma : tile::impl::TileJoinWgmmaBase<TileJoinWgmma> {
  using TileJoinWgmmaBase::TileJoinWgmmaBase;

  void runOnOperation() override {
    getOperation().walk([](WgmmaOp mma) {
      auto next = dyn_cast_or_null<WgmmaOp>(mma->getNextNode());
      int64_t distance = next ? distanceToNext(mma, next) : 0;
      if (!distance)
        return;
      if (!mma.isJoinedToPrevious())
        mma.setJoin(distance);
      else
        missed(next, kPass, "MoreThanTwo") << remark::reason(
            "an instruction computes two MMAs with the same lhs, and this is a further one");
    });
  }
};
} // namespace
