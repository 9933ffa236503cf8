//===- ClusterSplitK.cpp - Split-K over the CTAs of a cluster -------------===//
//
// A kernel with few output tiles and a long K dimension does not fill the device. The CTAs of a
// cluster then share an output tile: each contracts its part of every K tile into an accumulator of
// its own, and a reduction through distributed shared memory adds the accumulators after the K
// loop. In the IR the accumulator gets a leading dimension, one element per CTA.
//
//===----------------------------------------------------------------------===//
#include "Numerics/Zero.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILECLUSTERSPLITK
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-cluster-split-k";

namespace {
/// An accumulator and the contractions that add to it, in order.
struct Accumulation {
  SmallVector<MmaOp> mmas;
  scf::ForOp loop;     // that carries the accumulator, or null
  unsigned number = 0; // of the accumulator among the values that the loop carries
};
} // namespace

/// The accumulation that begins with a contraction; none if another operation uses the accumulator
/// in between.
static std::optional<Accumulation> accumulationFrom(MmaOp first) {
  Accumulation accumulation{{first}, scf::ForOp()};
  auto next = [&]() -> MmaOp {
    Value value = accumulation.mmas.back().getResult();
    auto mma = value.hasOneUse() ? dyn_cast<MmaOp>(*value.user_begin()) : MmaOp();
    return mma && mma.getAcc() == value && mma->getBlock() == first->getBlock() ? mma : MmaOp();
  };
  while (MmaOp mma = next())
    accumulation.mmas.push_back(mma);
  scf::ForOp loop = accumulation.loop = dyn_cast<scf::ForOp>(first->getParentOp());
  if (!loop)
    return isa<KernelOp>(first->getParentOp()) ? std::optional(std::move(accumulation))
                                               : std::nullopt;
  auto carried = dyn_cast<BlockArgument>(first.getAcc());
  Value last = accumulation.mmas.back().getResult();
  if (!carried || carried.getOwner() != loop.getBody() || !carried.hasOneUse() || !last.hasOneUse())
    return std::nullopt;
  accumulation.number = carried.getArgNumber() - loop.getNumInductionVars();
  return loop.getYieldedValues()[accumulation.number] == last
             ? std::optional(std::move(accumulation))
             : std::nullopt;
}

/// Whether the part of a K tile that a CTA gets is a whole number of tensor core k-steps; says so
/// by a remark if it is not.
static bool canSplit(MmaOp mma, int64_t ctas) {
  std::optional<unsigned> depth = fragmentDepth(mma);
  int64_t k = cast<RankedTensorType>(mma.getLhs().getType()).getShape()[1];
  if (depth && mma.getParts() == 1 && k % (ctas * *depth) == 0)
    return true;
  if (depth)
    missed(mma, kPass, "ShallowTile") << remark::reason(
        "a K tile of {0} does not give each of {1} CTAs whole k-steps of {2}", k, ctas, *depth);
  else
    missed(mma, kPass, "NoTensorCores")
        << remark::reason("the contraction does not run on tensor cores");
  return false;
}

/// The type of the accumulators of all CTAs.
static RankedTensorType splitType(Type acc, int64_t ctas) {
  auto type = cast<RankedTensorType>(acc);
  SmallVector<int64_t> shape = {ctas};
  llvm::append_range(shape, type.getShape());
  return RankedTensorType::get(shape, type.getElementType());
}

static Value zeros(OpBuilder &builder, Location loc, RankedTensorType type) {
  return ConstantOp::create(builder, loc, type, builder.getZeroAttr(type.getElementType()));
}

/// The same contractions, with the split accumulator.
static Value contractSplit(OpBuilder &builder, ArrayRef<MmaOp> mmas, Value split) {
  for (MmaOp mma : mmas)
    split = MmaOp::create(builder, mma.getLoc(), mma.getLhs(), mma.getRhs(), split);
  return split;
}

/// Adds the accumulators of all CTAs, and the initial value `old` unless `start` is zero.
static Operation *reduceSplits(OpBuilder &builder, Location loc, Value start, Value split,
                               Value old) {
  auto total =
      tile::ReduceOp::create(builder, loc, tessera::ReduceOp::Sum, split, ArrayRef<int64_t>{0});
  auto constant = start.getDefiningOp<ConstantOp>();
  if (constant && isZero(cast<TypedAttr>(constant.getValue())))
    return total;
  return MapOp::create(builder, loc, ScalarOp::Add, ValueRange{old, total});
}

/// The accumulations of a kernel in order: a K loop over whole tiles, and one over the remainder
/// that continues it. Empty unless the contractions form one such chain.
static SmallVector<Accumulation> findChain(ArrayRef<MmaOp> mmas) {
  SmallVector<Accumulation> chain;
  while (!mmas.empty()) {
    std::optional<Accumulation> next = accumulationFrom(mmas.front());
    if (!next || next->mmas.size() > mmas.size())
      return {};
    if (!chain.empty()) {
      Accumulation &before = chain.back();
      Value start = before.loop && next->loop ? next->loop.getInitArgs()[next->number] : Value();
      if (!start || start != before.loop.getResult(before.number) || !start.hasOneUse())
        return {};
    }
    mmas = mmas.drop_front(next->mmas.size());
    chain.push_back(std::move(*next));
  }
  return chain;
}

/// Splits contractions outside of a loop.
static void splitOnce(const Accumulation &accumulation, int64_t ctas) {
  MmaOp first = accumulation.mmas.front(), last = accumulation.mmas.back();
  IRRewriter rewriter(first.getContext());
  rewriter.setInsertionPointAfter(last);
  Value split = contractSplit(rewriter, accumulation.mmas,
                              zeros(rewriter, first.getLoc(), splitType(last.getType(), ctas)));
  rewriter.replaceAllUsesWith(
      last.getResult(),
      reduceSplits(rewriter, last.getLoc(), first.getAcc(), split, first.getAcc())->getResult(0));
}

/// Splits the contractions of one loop, or of several loops that pass the accumulator on.
static void splitLoops(ArrayRef<Accumulation> chain, int64_t ctas) {
  scf::ForOp loop = chain.front().loop;
  Value start = loop.getInitArgs()[chain.front().number], old;
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  Value split = zeros(rewriter, loop.getLoc(), splitType(start.getType(), ctas));
  for (const Accumulation &accumulation : chain) {
    loop = accumulation.loop;
    unsigned number = accumulation.number;
    rewriter.setInsertionPoint(loop);
    loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, split, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
          return {contractSplit(inside, accumulation.mmas, carried.front())};
        }));
    // The loop carries the initial value unchanged; canonicalization removes it.
    loop.getBody()->getTerminator()->setOperand(number, loop.getRegionIterArg(number));
    old = loop.getResult(number);
    split = loop.getResults().back();
  }
  rewriter.setInsertionPointAfter(loop);
  Operation *total = reduceSplits(rewriter, loop.getLoc(), start, split, old);
  rewriter.replaceAllUsesExcept(old, total->getResult(0), total);
}

namespace {
struct TileClusterSplitK : tile::impl::TileClusterSplitKBase<TileClusterSplitK> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      int64_t blocks = kernel.getClusterSize();
      SmallVector<MmaOp> products;
      kernel.walk([&](MmaOp mma) { products.push_back(mma); });
      if (blocks < 2 || products.empty() || kernel.getField(LaunchField::ClusterAxis))
        continue;
      SmallVector<Accumulation> chain = findChain(products);
      if (!chain.empty() &&
          llvm::all_of(products, [&](MmaOp mma) { return canSplit(mma, blocks); })) {
        chain.front().loop ? splitLoops(chain, blocks) : splitOnce(chain.front(), blocks);
        for (MmaOp mma : llvm::reverse(products))
          mma.erase();
        continue;
      }
      if (chain.empty())
        missed(products.front(), kPass, "SeveralAccumulators") << remark::reason(
            "the {0} contractions of the kernel do not add to one accumulator that nothing else "
            "uses",
            products.size());
      kernel.changeConfig(kernel.getLaunchConfig().without({LaunchField::ClusterSize}),
                          "the CTAs of a cluster cannot split K");
    }
  }
};
} // namespace
