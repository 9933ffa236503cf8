//===- EmulateFp32Mma.cpp - Contractions of f32 on tensor cores -----------===//
//
// Operands that are the sums of three bf16 in memory (gir-store-floats) are multiplied part by
// part. Of the nine products, the three of a second or third part with a third one are below 2^-24
// of the whole and left out.
//
// Others are split here. A number is hi + lo. hi is the number rounded to the 11 significant bits
// of tf32; lo is at most 2^-11 of it and a tf32 but for its last bit. Of the four mmas hi hi, hi
// lo, lo hi, lo lo the last is below 2^-22 of the whole and left out. With the last bits of the
// los, a product has an error of at most 8 units of the roundoff of f32. The reference allows 2 (n
// + 8) of them for a sum of n terms.
//
// Where rounding would make hi infinite, and for infinities, hi is the largest tf32. The remainder
// is in lo, through which infinities and NaNs enter the accumulator.
//
//===----------------------------------------------------------------------===//
#include "MathBuilder.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEEMULATEFP32MMA
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// The parts of an operand, as tf32; lo is null where hi is the whole.
namespace {
struct Parts {
  Value hi, lo;
};
} // namespace

static Parts split(ImplicitLocOpBuilder &builder, Value operand) {
  Type tf32 = FloatTF32Type::get(builder.getContext());
  Term x(builder, operand);
  if (auto cast = operand.getDefiningOp<CastOp>()) {
    Type from = getElementTypeOrSelf(cast.getInput());
    if (isa<FloatType>(from) && from.getIntOrFloatBitWidth() <= 16)
      return {x.cast(tf32).get(), {}};
  }
  // The hardware may truncate operands: hi has no bits to truncate.
  constexpr double largest = 0x1.FFCp127;
  Term bits = minimum(maximum(x, x.number(-largest)), x.number(largest)).bits();
  constexpr int64_t half = 0x1000, tf32Bits = ~int64_t(0x1FFF);
  Term hi = ((bits + bits.integer(half)) & bits.integer(tf32Bits)).asFloat(x);
  return {hi.cast(tf32).get(), (x - hi).cast(tf32).get()};
}

/// Tensor cores truncate sums. A tile is summed from zero, the small products first, and added to
/// the accumulator with rounding.
static void emulate(MmaOp mma) {
  ImplicitLocOpBuilder builder(mma.getLoc(), mma);
  Parts lhs = split(builder, mma.getLhs()), rhs = split(builder, mma.getRhs());
  Value sum = ConstantOp::create(builder, cast<RankedTensorType>(mma.getType()),
                                 builder.getF32FloatAttr(0));
  if (lhs.lo)
    sum = MmaOp::create(builder, lhs.lo, rhs.hi, sum);
  if (rhs.lo)
    sum = MmaOp::create(builder, lhs.hi, rhs.lo, sum);
  sum = MmaOp::create(builder, lhs.hi, rhs.hi, sum);
  mma.replaceAllUsesWith((Term(builder, mma.getAcc()) + Term(builder, sum)).get());
  mma.erase();
}

namespace {
/// The parts of an operand in memory, the largest first.
using StoredParts = std::array<Value, 3>;
} // namespace

static std::optional<StoredParts> storedParts(Value operand) {
  auto join = operand.getDefiningOp<MapOp>();
  if (!join || join.getScalarOp() != ScalarOp::Join)
    return std::nullopt;
  StoredParts parts;
  for (auto [part, input] : llvm::zip_equal(parts, join.getInputs())) {
    auto cast = input.getDefiningOp<CastOp>();
    if (!cast || !getElementTypeOrSelf(cast.getInput()).isBF16())
      return std::nullopt;
    part = cast.getInput();
  }
  return parts;
}

/// Small products are added first.
static void multiplyParts(MmaOp mma, const StoredParts &lhs, const StoredParts &rhs) {
  static constexpr std::pair<unsigned, unsigned> products[] = {{1, 1}, {0, 2}, {2, 0},
                                                               {0, 1}, {1, 0}, {0, 0}};
  ImplicitLocOpBuilder builder(mma.getLoc(), mma);
  Value sum = ConstantOp::create(builder, cast<RankedTensorType>(mma.getType()),
                                 builder.getF32FloatAttr(0));
  for (auto [i, k] : products)
    sum = MmaOp::create(builder, lhs[i], rhs[k], sum);
  mma.replaceAllUsesWith((Term(builder, mma.getAcc()) + Term(builder, sum)).get());
  mma.erase();
}

namespace {
struct TileEmulateFp32Mma : tile::impl::TileEmulateFp32MmaBase<TileEmulateFp32Mma> {
  void runOnOperation() override {
    SmallVector<MmaOp> mmas;
    getOperation()->walk([&](MmaOp mma) {
      if (getElementTypeOrSelf(mma.getLhs()).isF32() &&
          getElementTypeOrSelf(mma.getResult()).isF32())
        mmas.push_back(mma);
    });
    for (MmaOp mma : mmas) {
      std::optional<StoredParts> lhs = storedParts(mma.getLhs()), rhs = storedParts(mma.getRhs());
      if (lhs && rhs)
        multiplyParts(mma, *lhs, *rhs);
      else
        emulate(mma);
    }
  }
};
} // namespace
