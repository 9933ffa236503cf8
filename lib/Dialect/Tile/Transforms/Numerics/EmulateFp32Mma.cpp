//===- EmulateFp32Mma.cpp - Products of f32 on tensor cores ----------------===//
//
// A number is hi + lo: hi is the number rounded to the 11 digits of a tf32, lo is at most 2^-11 of
// it and a tf32 but for its last bit. Of the four products hi hi, hi lo, lo hi, lo lo the last is
// below 2^-22 of the whole and left out; with the last bits of the los a product of two numbers is
// off by at most 8 units of f32's roundoff. The reference allows a sum of n terms 2 (n + 8) of
// them.
//
// Where rounding would make hi infinite, and where the number is, hi is the largest tf32: what is
// left is then in lo, and infinities and nans come into the sum by the products with it.
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
  // The hardware may cut what it is told to round: hi has no digits that it could cut.
  constexpr double largest = 0x1.FFCp127;
  Term bits = minimum(maximum(x, x.number(-largest)), x.number(largest)).bits();
  constexpr int64_t half = 0x1000, firstDigits = ~int64_t(0x1FFF);
  Term hi = ((bits + bits.integer(half)) & bits.integer(firstDigits)).asFloat(x);
  return {hi.cast(tf32).get(), (x - hi).cast(tf32).get()};
}

static Value zeros(ImplicitLocOpBuilder &builder, Type type) {
  return ConstantOp::create(builder, cast<RankedTensorType>(type), builder.getF32FloatAttr(0));
}

/// acc + the products that have a lo; acc itself where there are none.
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

/// The loop that carries the sum of a product and does nothing else with it, and its place there.
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

static void splitProduct(MmaOp mma) {
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
  // The small products are summed through the whole loop too, and added behind it.
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
  ImplicitLocOpBuilder behind(mma.getLoc(), builder.getContext());
  behind.setInsertionPointAfter(replaced);
  Value large = replaced->getResult(number);
  SmallVector<OpOperand *> uses = llvm::to_vector(llvm::make_pointer_range(large.getUses()));
  Value sum = add(behind, large, replaced->getResults().back());
  for (OpOperand *use : uses)
    use->set(sum);
}

namespace {
struct TileEmulateFp32Mma : tile::impl::TileEmulateFp32MmaBase<TileEmulateFp32Mma> {
  void runOnOperation() override {
    SmallVector<MmaOp> products;
    getOperation()->walk([&](MmaOp mma) {
      if (getElementTypeOrSelf(mma.getLhs()).isF32() &&
          getElementTypeOrSelf(mma.getResult()).isF32())
        products.push_back(mma);
    });
    llvm::for_each(products, splitProduct);
  }
};
} // namespace
