//===- PerElementPartials.cpp - Loops add tiles, and what follows joins them -===//
#include "Numerics/Zero.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Common/Monoids.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPERELEMENTPARTIALS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// `carried` of a loop, which each step joins with what a reduction makes of a tile.
struct Candidate {
  unsigned number;
  tile::ReduceOp reduce;
  MapOp join;
};
} // namespace

/// Whether a tile is zero but where something is equal: such tiles are few, and added where they
/// are.
static bool isSelection(Value tile) {
  while (auto reshape = tile.getDefiningOp<ReshapeOp>())
    tile = reshape.getInput();
  auto map = tile.getDefiningOp<MapOp>();
  auto other = map && map.getScalarOp() == ScalarOp::Where
                   ? map.getInputs()[2].getDefiningOp<ConstantOp>()
                   : ConstantOp();
  if (!other || !isZero(cast<TypedAttr>(other.getValue())))
    return false;
  auto condition = map.getInputs()[0].getDefiningOp<MapOp>();
  return (condition && condition.getScalarOp() == ScalarOp::Eq) || isSelection(map.getInputs()[1]);
}

/// Whether a reduction joins what each thread has of the columns that it has numbers for
/// (PerThreadPartials.cpp).
static bool isOfThreads(tile::ReduceOp reduce) {
  auto pieces = reduce.getInput().getDefiningOp<ReshapeOp>();
  return pieces && pieces.getInput().getType().getRank() == 2 && pieces.getType().getRank() == 3 &&
         reduce.getDims() == ArrayRef<int64_t>{0};
}

static std::optional<Candidate> candidateOf(scf::ForOp loop, unsigned number) {
  Value argument = loop.getRegionIterArg(number);
  auto join = loop.getYieldedValues()[number].getDefiningOp<MapOp>();
  if (!join || join->getBlock() != loop.getBody() || !join->hasOneUse() || !argument.hasOneUse() ||
      *argument.user_begin() != join || join.getInputs().size() != 2)
    return std::nullopt;
  Value other = join.getInputs()[join.getInputs()[0] == argument];
  auto reduce = other.getDefiningOp<tile::ReduceOp>();
  if (!reduce || reduce->getBlock() != loop.getBody() || !reduce->hasOneUse() ||
      reduce.getSkipNan() || join.getScalarOp() != reduceOpCombiner(reduce.getReduceOp()) ||
      isSelection(reduce.getInput()) || isOfThreads(reduce))
    return std::nullopt;
  return Candidate{number, reduce, join};
}

static void defer(scf::ForOp loop, MutableArrayRef<Candidate> candidates) {
  IRRewriter rewriter(loop);
  SmallVector<Value> tiles;
  for (Candidate &each : candidates) {
    RankedTensorType type = each.reduce.getInput().getType();
    tiles.push_back(ConstantOp::create(rewriter, loop.getLoc(), type,
                                       unitOf(each.reduce.getReduceOp(), type.getElementType())));
  }
  auto replaced = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, tiles, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) {
        SmallVector<Value> yielded;
        for (auto [each, tile] : llvm::zip_equal(candidates, carried))
          yielded.push_back(MapOp::create(inside, each.join.getLoc(), each.join.getScalarOp(),
                                          ValueRange{tile, each.reduce.getInput()}));
        return yielded;
      }));
  rewriter.setInsertionPointAfter(replaced);
  unsigned first = replaced.getNumResults() - candidates.size();
  auto *yield = replaced.getBody()->getTerminator();
  for (auto [i, each] : llvm::enumerate(candidates)) {
    // The old value goes through the loop as it is, and leaves it by a later pass.
    yield->setOperand(each.number, replaced.getRegionIterArg(each.number));
    Value old = replaced.getResult(each.number);
    auto sum = tile::ReduceOp::create(rewriter, each.reduce.getLoc(), each.reduce.getReduceOp(),
                                      replaced.getResult(first + i), each.reduce.getDims());
    auto joined =
        MapOp::create(rewriter, each.join.getLoc(), each.join.getScalarOp(), ValueRange{old, sum});
    rewriter.replaceAllUsesExcept(old, joined, joined);
    rewriter.eraseOp(each.join);
    rewriter.eraseOp(each.reduce);
  }
}

namespace {
struct TilePerElementPartials : tile::impl::TilePerElementPartialsBase<TilePerElementPartials> {
  using TilePerElementPartialsBase::TilePerElementPartialsBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      int64_t threads = 32 * getHint(kernel.getHintsAttr(), "num_warps").value_or(4) *
                        getHint(kernel.getHintsAttr(), "cluster_size").value_or(1);
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops) {
        SmallVector<Candidate> candidates;
        int64_t left = most * threads;
        for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number) {
          std::optional<Candidate> found = candidateOf(loop, number);
          int64_t room = found ? found->reduce.getInput().getType().getNumElements() : 0;
          if (!found || room > left)
            continue;
          left -= room;
          candidates.push_back(*found);
        }
        if (!candidates.empty())
          defer(loop, candidates);
      }
    }
  }
};
} // namespace
