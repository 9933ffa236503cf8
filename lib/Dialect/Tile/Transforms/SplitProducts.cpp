//===- SplitProducts.cpp - Products of f32 on tensor cores ----------------===//
//
// A number is hi + lo: hi has its first 11 digits, lo the rest, and both are tf32 (lo loses at most
// 2^-22 of the number). Of the four products hi hi, hi lo, lo hi, lo lo the last is below 2^-22 of
// the whole and left out, so each product of two numbers is off by less than 3 · 2^-22, 12 units of
// f32's roundoff; the reference allows a sum of n terms 2 (n + 8) of them.
//
// hi is cut, not rounded: what is finite stays finite. With an infinite number lo is nan, and so
// are the small products; the product of the his alone is right then. It is therefore summed apart,
// and the small ones are added where it is finite.
//
//===----------------------------------------------------------------------===//
#include "MathBuilder.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILESPLITPRODUCTS
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
  constexpr int64_t firstDigits = ~int64_t(0x1FFF);
  Term bits = x.bits(), hi = (bits & bits.integer(firstDigits)).asFloat(x);
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

/// large + small where large is finite.
static Value join(ImplicitLocOpBuilder &builder, Value large, Value small) {
  Term x(builder, large);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return where(abs(x) < infinity, x + Term(builder, small), x).get();
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
    mma.replaceAllUsesWith(hasSmall ? join(builder, large, small) : large);
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
  Value sum = join(behind, large, replaced->getResults().back());
  for (OpOperand *use : uses)
    use->set(sum);
}

namespace {
struct TileSplitProducts : tile::impl::TileSplitProductsBase<TileSplitProducts> {
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
