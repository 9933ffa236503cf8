//===- EmulateFp32Mma.cpp - Contractions of f32 on tf32 tensor cores ------===//
//
// A number is hi + lo. hi is the number rounded to the 11 significant bits of tf32; lo is at most
// 2^-11 of it and a tf32 but for its last bit. Of the four mmas hi hi, hi lo, lo hi, lo lo the
// last is below 2^-22 of the whole and left out. With the last bits of the los, a product has an
// error of at most 8 units of the roundoff of f32. The reference allows 2 (n + 8) of them for a sum
// of n terms.
//
// Where rounding would make hi infinite, and for infinities, hi is the largest tf32. The remainder
// is in lo, through which infinities and NaNs enter the accumulator.
//
//===----------------------------------------------------------------------===//
#include "MathBuilder.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

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

static Value zeros(ImplicitLocOpBuilder &builder, Type type) {
  return ConstantOp::create(builder, cast<RankedTensorType>(type), builder.getF32FloatAttr(0));
}

/// Adds the contractions with a lo to an accumulator.
static Value addSmall(ImplicitLocOpBuilder &builder, Parts lhs, Parts rhs, Value acc) {
  if (lhs.lo)
    acc = MmaOp::create(builder, lhs.lo, rhs.hi, acc);
  if (rhs.lo)
    acc = MmaOp::create(builder, lhs.hi, rhs.lo, acc);
  return acc;
}

static Value add(ImplicitLocOpBuilder &builder, Value large, Value small) {
  return (Term(builder, large) + Term(builder, small)).get();
}

/// The loop that carries the accumulator of a contraction and does nothing else with it, and the
/// number of the accumulator there.
static std::optional<std::pair<scf::ForOp, unsigned>> carryingLoop(MmaOp mma) {
  auto carried = dyn_cast<BlockArgument>(mma.getAcc());
  auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
  if (!carried || !loop || carried.getOwner() != loop.getBody() || !carried.hasOneUse() ||
      !mma.getResult().hasOneUse())
    return std::nullopt;
  unsigned number = carried.getArgNumber() - loop.getNumInductionVars();
  OpOperand &use = *mma.getResult().use_begin();
  if (!isa<scf::YieldOp>(use.getOwner()) || use.getOperandNumber() != number)
    return std::nullopt;
  return std::pair(loop, number);
}

static void emulate(MmaOp mma) {
  ImplicitLocOpBuilder builder(mma.getLoc(), mma);
  Parts lhs = split(builder, mma.getLhs()), rhs = split(builder, mma.getRhs());
  bool hasSmall = lhs.lo || rhs.lo;
  auto carrying = carryingLoop(mma);
  if (!carrying || !hasSmall) {
    Value small = hasSmall ? addSmall(builder, lhs, rhs, zeros(builder, mma.getType())) : Value();
    Value large = MmaOp::create(builder, lhs.hi, rhs.hi, mma.getAcc());
    mma.replaceAllUsesWith(hasSmall ? add(builder, large, small) : large);
    mma.erase();
    return;
  }
  // The loop carries an accumulator of the small contractions; it is added after the loop.
  auto [loop, number] = *carrying;
  IRRewriter rewriter(builder.getContext());
  rewriter.setInsertionPoint(loop);
  ImplicitLocOpBuilder outside(mma.getLoc(), loop);
  Value start = zeros(outside, mma.getType());
  auto next = [&](OpBuilder &inside, Location loc, ArrayRef<BlockArgument> added) {
    ImplicitLocOpBuilder here(loc, inside);
    return SmallVector<Value>{addSmall(here, lhs, rhs, added.front())};
  };
  FailureOr<LoopLikeOpInterface> wider = loop.replaceWithAdditionalYields(
      rewriter, start, /*replaceInitOperandUsesInLoop=*/false, next);
  assert(succeeded(wider) && "a loop can always carry more");
  mma.getLhsMutable().assign(lhs.hi);
  mma.getRhsMutable().assign(rhs.hi);

  Operation *replaced = wider->getOperation();
  ImplicitLocOpBuilder afterLoop(mma.getLoc(), builder.getContext());
  afterLoop.setInsertionPointAfter(replaced);
  Value large = replaced->getResult(number);
  SmallVector<OpOperand *> uses = llvm::to_vector(llvm::make_pointer_range(large.getUses()));
  Value sum = add(afterLoop, large, replaced->getResults().back());
  for (OpOperand *use : uses)
    use->set(sum);
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
    llvm::for_each(mmas, emulate);
  }
};
} // namespace
