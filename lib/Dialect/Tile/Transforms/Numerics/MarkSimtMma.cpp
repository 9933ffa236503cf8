//===- MarkSimtMma.cpp - Contractions of fp64 on CUDA cores ---------------===//
//
// Runs for chips without fp64 tensor cores, and for compilations without tensor cores.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Common/Remarks.h"
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
      if (!mma.getType().getElementType().isF64())
        return;
      mma->setAttr(kPlainAttr, UnitAttr::get(mma.getContext()));
      missed(mma, "tile-mark-simt-mma", "NoFp64TensorCores") << remark::reason(
          "the contraction runs on CUDA cores: the target has no tensor cores for f64, or the "
          "compilation does not use them");
    });
  }
};
} // namespace
