//===- MergeStatistics.cpp - Merge equal reductions of a loop -------------===//
//
// The maximum that a program computes propagates NaN. The running maximum of a softmax may ignore
// NaN, and costs the same if it does not. A loop with both carries one of them.
//
//===----------------------------------------------------------------------===//
#include "MergeStatistics.h"

#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

/// Replaces `other` by `kept`; the operands of `other` dominate both.
static void replace(Operation *other, Operation *kept) {
  if (other->isBeforeInBlock(kept))
    kept->moveBefore(other);
  other->replaceAllUsesWith(kept->getResults());
  other->erase();
}

static void mergeReductions(Block &body) {
  SmallVector<tile::ReduceOp> propagatingNan, ignoringNan;
  for (auto reduce : body.getOps<tile::ReduceOp>())
    (reduce.getSkipNan() ? ignoringNan : propagatingNan).push_back(reduce);
  for (tile::ReduceOp other : ignoringNan)
    for (tile::ReduceOp each : propagatingNan)
      if (each.getKind() == other.getKind() && each.getInput() == other.getInput() &&
          each.getDims() == other.getDims()) {
        replace(other, each);
        break;
      }
}

/// Whether two carried values have equal initial values and equal updates.
static bool areEqual(scf::ForOp loop, unsigned a, unsigned b) {
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
      if (!areEqual(loop, a, b))
        continue;
      Operation *kept = loop.getYieldedValues()[a].getDefiningOp(),
                *other = loop.getYieldedValues()[b].getDefiningOp();
      // The loop carries the merged value unchanged; canonicalization removes it.
      Value merged = loop.getRegionIterArg(b);
      merged.replaceAllUsesWith(loop.getRegionIterArg(a));
      loop.getBody()->getTerminator()->setOperand(b, merged);
      replace(other, kept);
      loop.getResult(b).replaceAllUsesWith(loop.getResult(a));
      break;
    }
}
