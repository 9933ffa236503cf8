//===- ClusterSplitK.cpp - Blocks of a cluster share what products sum over -===//
#include "Numerics/Zero.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILECLUSTERSPLITK
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// What products add to, one after the other: what a loop carries, or a value.
struct Sum {
  SmallVector<MmaOp> products;
  scf::ForOp loop; // null: there is none
  unsigned number = 0;
};
} // namespace

/// The sum that begins with a product; none: something else looks at it on its way.
static std::optional<Sum> sumFrom(MmaOp first) {
  Sum sum{{first}, scf::ForOp()};
  auto next = [&]() -> MmaOp {
    Value value = sum.products.back().getResult();
    auto product = value.hasOneUse() ? dyn_cast<MmaOp>(*value.user_begin()) : MmaOp();
    return product && product.getAcc() == value && product->getBlock() == first->getBlock()
               ? product
               : MmaOp();
  };
  while (MmaOp product = next())
    sum.products.push_back(product);
  sum.loop = dyn_cast<scf::ForOp>(first->getParentOp());
  if (!sum.loop)
    return isa<KernelOp>(first->getParentOp()) ? std::optional(std::move(sum)) : std::nullopt;
  auto carried = dyn_cast<BlockArgument>(first.getAcc());
  Value last = sum.products.back().getResult();
  if (!carried || carried.getOwner() != sum.loop.getBody() || !carried.hasOneUse() ||
      !last.hasOneUse())
    return std::nullopt;
  sum.number = carried.getArgNumber() - sum.loop.getNumInductionVars();
  return sum.loop.getYieldedValues()[sum.number] == last ? std::optional(std::move(sum))
                                                         : std::nullopt;
}

/// Whether each block has a whole step of tensor cores.
static bool canShare(MmaOp product, int64_t blocks) {
  std::optional<unsigned> depth = fragmentDepth(product);
  int64_t over = cast<RankedTensorType>(product.getLhs().getType()).getShape()[1];
  return depth && product.getParts() == 1 && over % (blocks * *depth) == 0;
}

static RankedTensorType partsOf(Type sum, int64_t blocks) {
  auto type = cast<RankedTensorType>(sum);
  SmallVector<int64_t> shape = {blocks};
  llvm::append_range(shape, type.getShape());
  return RankedTensorType::get(shape, type.getElementType());
}

static Value zeros(OpBuilder &builder, Location loc, RankedTensorType type) {
  return ConstantOp::create(builder, loc, type, builder.getZeroAttr(type.getElementType()));
}

/// The same products, to other sums.
static Value again(OpBuilder &builder, ArrayRef<MmaOp> products, Value parts) {
  for (MmaOp product : products)
    parts = MmaOp::create(builder, product.getLoc(), product.getLhs(), product.getRhs(), parts);
  return parts;
}

/// Behind the products: all parts, and what they were added to.
static Operation *join(OpBuilder &builder, Location loc, Value start, Value parts, Value old) {
  auto total =
      tile::ReduceOp::create(builder, loc, tessera::ReduceOp::Sum, parts, ArrayRef<int64_t>{0});
  auto constant = start.getDefiningOp<ConstantOp>();
  if (constant && isZero(cast<TypedAttr>(constant.getValue())))
    return total;
  return MapOp::create(builder, loc, ScalarOp::Add, ValueRange{old, total});
}

/// The sums of a kernel's products, each of which begins with the one before: loops over whole
/// tiles and over what is left behind them. None where products are not one such chain.
static SmallVector<Sum> chainOf(ArrayRef<MmaOp> products) {
  SmallVector<Sum> sums;
  while (!products.empty()) {
    std::optional<Sum> sum = sumFrom(products.front());
    if (!sum || sum->products.size() > products.size())
      return {};
    if (!sums.empty()) {
      Sum &before = sums.back();
      Value start = before.loop && sum->loop ? sum->loop.getInitArgs()[sum->number] : Value();
      if (!start || start != before.loop.getResult(before.number) || !start.hasOneUse())
        return {};
    }
    products = products.drop_front(sum->products.size());
    sums.push_back(std::move(*sum));
  }
  return sums;
}

/// Products outside of a loop.
static void shareOnce(const Sum &sum, int64_t blocks) {
  MmaOp first = sum.products.front(), last = sum.products.back();
  IRRewriter rewriter(first.getContext());
  rewriter.setInsertionPointAfter(last);
  Value parts = again(rewriter, sum.products,
                      zeros(rewriter, first.getLoc(), partsOf(last.getType(), blocks)));
  rewriter.replaceAllUsesWith(
      last.getResult(),
      join(rewriter, last.getLoc(), first.getAcc(), parts, first.getAcc())->getResult(0));
}

/// Products of one loop or of several behind each other, whose parts go from each to the next.
static void shareLoops(ArrayRef<Sum> sums, int64_t blocks) {
  scf::ForOp loop = sums.front().loop;
  Value start = loop.getInitArgs()[sums.front().number], old;
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  Value parts = zeros(rewriter, loop.getLoc(), partsOf(start.getType(), blocks));
  for (const Sum &sum : sums) {
    loop = sum.loop;
    rewriter.setInsertionPoint(loop);
    loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, parts, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
          return {again(inside, sum.products, carried.front())};
        }));
    // The old value goes through the loop as it is, and leaves it by a later pass.
    loop.getBody()->getTerminator()->setOperand(sum.number, loop.getRegionIterArg(sum.number));
    old = loop.getResult(sum.number);
    parts = loop.getResults().back();
  }
  rewriter.setInsertionPointAfter(loop);
  Operation *joined = join(rewriter, loop.getLoc(), start, parts, old);
  rewriter.replaceAllUsesExcept(old, joined->getResult(0), joined);
}

namespace {
struct TileClusterSplitK : tile::impl::TileClusterSplitKBase<TileClusterSplitK> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      int64_t blocks = getHint(kernel.getHintsAttr(), "cluster_size").value_or(1);
      SmallVector<MmaOp> products;
      kernel.walk([&](MmaOp product) { products.push_back(product); });
      if (blocks < 2 || products.empty() || getHint(kernel.getHintsAttr(), "cluster_axis"))
        continue;
      SmallVector<Sum> sums = chainOf(products);
      if (!sums.empty() &&
          llvm::all_of(products, [&](MmaOp product) { return canShare(product, blocks); })) {
        sums.front().loop ? shareLoops(sums, blocks) : shareOnce(sums.front(), blocks);
        for (MmaOp product : llvm::reverse(products))
          product.erase();
        continue;
      }
      NamedAttrList hints(kernel.getHintsAttr());
      hints.erase("cluster_size");
      kernel.setHintsAttr(hints.getDictionary(kernel.getContext()));
    }
  }
};
} // namespace
