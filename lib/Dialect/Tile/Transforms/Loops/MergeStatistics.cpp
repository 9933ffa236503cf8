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

/// Replaces the results of `other` by the first ones of `kept`; the operands of `other` dominate
/// both.
static void replace(Operation *other, Operation *kept) {
  if (other->isBeforeInBlock(kept))
    kept->moveBefore(other);
  other->replaceAllUsesWith(kept->getResults().take_front(other->getNumResults()));
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

/// Whether an operation computes a running maximum and nothing else: a map, where an online update
/// has further results.
static bool isPlainMaximum(Operation *op) {
  auto map = dyn_cast<MapOp>(op);
  return map && map.getScalarOp() == ScalarOp::Maximum;
}

/// The operation that computes a carried value for the next iteration; null if there is none that
/// can be merged.
static Operation *updateOf(scf::ForOp loop, unsigned number) {
  Value yielded = loop.getYieldedValues()[number];
  Operation *op = yielded.getDefiningOp();
  if (!isa_and_nonnull<MapOp, OnlineUpdateOp>(op) || op->getBlock() != loop.getBody() ||
      yielded != op->getResult(0))
    return nullptr;
  return op;
}

/// Whether two carried values have equal initial values and equal updates.
static bool areEqual(scf::ForOp loop, unsigned a, unsigned b) {
  Operation *x = updateOf(loop, a), *y = updateOf(loop, b);
  if (loop.getInitArgs()[a] != loop.getInitArgs()[b] || !x || !y || x == y ||
      x->getNumOperands() != y->getNumOperands())
    return false;
  SmallVector<Value> p(x->getOperands()), q(y->getOperands());
  if (x->getName() != y->getName()) {
    // A maximum has the carried value first, an update second.
    auto update = isa<OnlineUpdateOp>(x) ? cast<OnlineUpdateOp>(x) : cast<OnlineUpdateOp>(y);
    if (!isPlainMaximum(isa<MapOp>(x) ? x : y) || update.getLag().isNonZero())
      return false;
    std::swap(p[0], p[1]);
  } else if (x->getAttrDictionary() != y->getAttrDictionary()) {
    return false;
  }
  return llvm::all_of(llvm::zip_equal(p, q), [&](auto pair) {
    auto [m, n] = pair;
    return m == n || (m == loop.getRegionIterArg(a) && n == loop.getRegionIterArg(b));
  });
}

void tile::mergeStatistics(scf::ForOp loop) {
  mergeReductions(*loop.getBody());
  for (unsigned b = 1; b < loop.getNumRegionIterArgs(); ++b)
    for (unsigned a = 0; a < b; ++a) {
      if (!areEqual(loop, a, b))
        continue;
      Operation *kept = updateOf(loop, a), *other = updateOf(loop, b);
      if (kept->getNumResults() < other->getNumResults())
        std::swap(kept, other);
      // The loop carries the merged value unchanged; canonicalization removes it.
      Value merged = loop.getRegionIterArg(b);
      merged.replaceAllUsesWith(loop.getRegionIterArg(a));
      loop.getBody()->getTerminator()->setOperand(b, merged);
      replace(other, kept);
      loop.getResult(b).replaceAllUsesWith(loop.getResult(a));
      break;
    }
}
