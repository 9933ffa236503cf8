//===- PromoteFp8Mma.cpp - MMAs of fp8 as MMAs of fp16 --------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/ScalarTypes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPROMOTEFP8MMA
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
struct TilePromoteFp8Mma : tile::impl::TilePromoteFp8MmaBase<TilePromoteFp8Mma> {
  void runOnOperation() override {
    getOperation().walk([](MmaOp mma) {
      OpBuilder builder(mma);
      for (OpOperand *operand : {&mma.getLhsMutable(), &mma.getRhsMutable()}) {
        auto type = cast<RankedTensorType>(operand->get().getType());
        if (isFloat8(type.getElementType()))
          operand->set(tile::CastOp::create(builder, mma.getLoc(), type.clone(builder.getF16Type()),
                                            operand->get()));
      }
    });
  }
};
} // namespace
