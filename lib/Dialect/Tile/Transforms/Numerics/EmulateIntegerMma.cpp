//===- EmulateIntegerMma.cpp - Contractions of wide integers in f64 -------===//
//
// An integer of w bits is a sum of w/16 limbs, limb i times 2^(16 i); all but the last are
// unsigned. Modulo 2^w a product of two such numbers is the sum of the mmas of limbs i and j with
// i + j < w/16, shifted by 16 (i + j). f64 represents limbs exactly, and sums of up to 2^21 of
// their mmas, which is deeper than any K tile.
//
//===----------------------------------------------------------------------===//
#include "MathBuilder.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEEMULATEINTEGERMMA
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr int64_t kLimb = 16;

/// The limbs as f64, the lowest first.
static SmallVector<Term> limbsOf(ImplicitLocOpBuilder &builder, Value operand) {
  Term x(builder, operand);
  int64_t width = x.element().getIntOrFloatBitWidth();
  SmallVector<Term> limbs;
  for (int64_t shift = 0; shift < width; shift += kLimb) {
    Term limb = shift ? x >> shift : x;
    if (shift + kLimb < width)
      limb = limb & limb.integer((1 << kLimb) - 1);
    limbs.push_back(limb.cast(builder.getF64Type()));
  }
  return limbs;
}

static void emulate(MmaOp mma) {
  ImplicitLocOpBuilder builder(mma.getLoc(), mma);
  SmallVector<Term> lhs = limbsOf(builder, mma.getLhs()), rhs = limbsOf(builder, mma.getRhs());
  auto type = cast<RankedTensorType>(mma.getType());
  Term sum(builder, mma.getAcc());
  int64_t width = type.getElementTypeBitWidth();
  Value zero =
      ConstantOp::create(builder, type.clone(builder.getF64Type()), builder.getF64FloatAttr(0));
  // The contractions of equal weight are added as integers: their sum may not be exact in f64.
  for (auto [i, a] : llvm::enumerate(lhs))
    for (auto [j, b] : llvm::enumerate(rhs)) {
      int64_t shift = kLimb * int64_t(i + j);
      if (shift >= width)
        continue;
      Term product(builder, MmaOp::create(builder, a.get(), b.get(), zero));
      Term whole = product.cast(builder.getI64Type());
      if (width < 64)
        whole = whole.cast(type.getElementType());
      sum = sum + (shift ? whole << shift : whole);
    }
  mma.replaceAllUsesWith(sum.get());
  mma.erase();
}

namespace {
struct TileEmulateIntegerMma : tile::impl::TileEmulateIntegerMmaBase<TileEmulateIntegerMma> {
  void runOnOperation() override {
    SmallVector<MmaOp> mmas;
    getOperation()->walk([&](MmaOp mma) {
      Type element = getElementTypeOrSelf(mma.getLhs());
      if (element.isInteger() && element.getIntOrFloatBitWidth() >= kLimb)
        mmas.push_back(mma);
    });
    llvm::for_each(mmas, emulate);
  }
};
} // namespace
