//===- PerElementPartials.cpp - Accumulate tiles, reduce after the loop ---===//
//
// A reduction synchronizes threads. A loop that combines a carried value with the reduction of a
// tile combines tiles elementwise instead, and one reduction follows the loop.
//
//===----------------------------------------------------------------------===//
#include "Numerics/Zero.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/Monoids.h"
#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPERELEMENTPARTIALS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// A carried value that each iteration combines with the reduction of a tile.
struct Candidate {
  unsigned number; // among the carried values
  tile::ReduceOp reduce;
  MapOp join;
};
} // namespace

/// Whether a tile selects the elements at one position and is zero elsewhere:
/// tile-predicate-gathers adds such a tile in one iteration only.
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

/// Whether a reduction is one of PerThreadPartials.cpp, within threads.
static bool isWithinThreads(tile::ReduceOp reduce) {
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
      isSelection(reduce.getInput()) || isWithinThreads(reduce))
    return std::nullopt;
  return Candidate{number, reduce, join};
}

static void reduceAfterLoop(scf::ForOp loop, MutableArrayRef<Candidate> candidates) {
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
    // The loop carries the old value unchanged; canonicalization removes it.
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
      int64_t threads = 32 * kernel.getNumWarps() * kernel.getClusterSize();
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops) {
        SmallVector<Candidate> candidates;
        int64_t left = maxElements * threads;
        for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number) {
          std::optional<Candidate> found = candidateOf(loop, number);
          if (!found)
            continue;
          int64_t elements = found->reduce.getInput().getType().getNumElements();
          if (elements > left) {
            missed(found->reduce, "tile-per-element-partials", "TooManyElements") << remark::reason(
                "a tile of {0} elements takes more than the {1} registers that the loop may still "
                "carry",
                elements, left);
            continue;
          }
          left -= elements;
          candidates.push_back(*found);
        }
        if (!candidates.empty())
          reduceAfterLoop(loop, candidates);
      }
    }
  }
};
} // namespace
