//===- MarkSimtMma.cpp - MMAs of fp64 without tensor cores ----------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEMARKSIMTMMA
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
struct TileMarkSimtMma : tile::impl::TileMarkSimtMmaBase<TileMarkSimtMma> {
  void runOnOperation() override {
    getOperation().walk([](MmaOp mma) {
      if (mma.getType().getElementType().isF64())
        mma->setAttr(kPlainAttr, UnitAttr::get(mma.getContext()));
    });
  }
};
} // namespace
