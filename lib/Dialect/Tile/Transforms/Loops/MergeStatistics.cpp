//===- MergeStatistics.cpp - Statistics that are the same are one ---------===//
//
// A program's own maximum of a row keeps nan; the one that powers are taken relative to need not,
// and costs no more if it does. A loop with both carries one of them.
//
//===----------------------------------------------------------------------===//
#include "MergeStatistics.h"

#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

/// `kept` serves for `other`, which has operands that dominate both.
static void replace(Operation *other, Operation *kept) {
  if (other->isBeforeInBlock(kept))
    kept->moveBefore(other);
  other->replaceAllUsesWith(kept->getResults());
  other->erase();
}

static void mergeReductions(Block &body) {
  SmallVector<tile::ReduceOp> exact, loose;
  for (auto reduce : body.getOps<tile::ReduceOp>())
    (reduce.getSkipNan() ? loose : exact).push_back(reduce);
  for (tile::ReduceOp other : loose)
    for (tile::ReduceOp each : exact)
      if (each.getKind() == other.getKind() && each.getInput() == other.getInput() &&
          each.getDims() == other.getDims()) {
        replace(other, each);
        break;
      }
}

/// Whether two carried numbers are joined with the same in each step.
static bool areAlike(scf::ForOp loop, unsigned a, unsigned b) {
  auto x = loop.getYieldedValues()[a].getDefiningOp<MapOp>(),
       y = loop.getYieldedValues()[b].getDefiningOp<MapOp>();
  if (loop.getInitArgs()[a] != loop.getInitArgs()[b] || !x || !y || x == y ||
      x->getBlock() != loop.getBody() || y->getBlock() != loop.getBody() ||
      x->getAttrDictionary() != y->getAttrDictionary() ||
      x.getInputs().size() != y.getInputs().size())
    return false;
  return llvm::all_of(llvm::zip_equal(x.getInputs(), y.getInputs()), [&](auto pair) {
    auto [p, q] = pair;
    return p == q || (p == loop.getRegionIterArg(a) && q == loop.getRegionIterArg(b));
  });
}

void tile::mergeStatistics(scf::ForOp loop) {
  mergeReductions(*loop.getBody());
  for (unsigned b = 1; b < loop.getNumRegionIterArgs(); ++b)
    for (unsigned a = 0; a < b; ++a) {
      if (!areAlike(loop, a, b))
        continue;
      Operation *kept = loop.getYieldedValues()[a].getDefiningOp(),
                *other = loop.getYieldedValues()[b].getDefiningOp();
      // What is left of the number goes through the loop as it is, and leaves it by a later pass.
      Value number = loop.getRegionIterArg(b);
      number.replaceAllUsesWith(loop.getRegionIterArg(a));
      loop.getBody()->getTerminator()->setOperand(b, number);
      replace(other, kept);
      loop.getResult(b).replaceAllUsesWith(loop.getResult(a));
      break;
    }
}
