//===- CollapseLoops.cpp - Make one K loop of nested ones -----------------===//
//
// A contraction over several dimensions has a loop for each of them. Software pipelines fill and
// drain with each run of a loop, and mbarriers are initialized once. So a nest that only passes
// accumulators on becomes one loop, whose iteration gives those of all.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;

namespace tessera::tile {
#define GEN_PASS_DEF_TILECOLLAPSELOOPS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// The only loop of a loop's body, if the outer loop passes on what that loop carries, and the
/// bounds are known before the `outermost` one.
static scf::ForOp perfectlyNested(scf::ForOp outer, scf::ForOp outermost) {
  Block &body = *outer.getBody();
  auto inner = llvm::hasNItems(body, 2) ? dyn_cast<scf::ForOp>(body.front()) : scf::ForOp();
  bool isPerfect =
      inner && llvm::equal(inner.getInitArgs(), outer.getRegionIterArgs()) &&
      llvm::equal(body.getTerminator()->getOperands(), inner.getResults()) &&
      llvm::all_of(ArrayRef<Value>{inner.getLowerBound(), inner.getUpperBound(), inner.getStep()},
                   [&](Value bound) { return outermost.isDefinedOutsideOfLoop(bound); });
  return isPerfect && getConstantIntValue(outer.getStep()) == 1 &&
                 getConstantIntValue(inner.getStep()) == 1
             ? inner
             : scf::ForOp();
}

/// The iterations of a loop with step 1.
static Value countOf(OpBuilder &builder, scf::ForOp loop) {
  Location loc = loop.getLoc();
  if (getConstantIntValue(loop.getLowerBound()) == 0 && getConstantIntValue(loop.getUpperBound()))
    return loop.getUpperBound();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value count = arith::SubIOp::create(builder, loc, loop.getUpperBound(), loop.getLowerBound());
  return arith::MaxSIOp::create(builder, loc, count, zero);
}

/// Replaces perfectly nested loops, from the outermost on.
static void collapse(ArrayRef<scf::ForOp> nest) {
  scf::ForOp outer = nest.front(), inner = nest.back();
  OpBuilder builder(outer);
  Location loc = outer.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0),
        one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> counts =
      llvm::map_to_vector(nest, [&](scf::ForOp each) { return countOf(builder, each); });
  Value all = counts.front();
  for (Value &count : llvm::drop_begin(counts)) {
    all = arith::MulIOp::create(builder, loc, all, count);
    if (!getConstantIntValue(count)) // of an empty loop, the first iterations are computed ahead
      count = arith::MaxSIOp::create(builder, loc, count, one);
  }
  auto loop = scf::ForOp::create(builder, loc, zero, all, one, outer.getInitArgs());
  loop->setAttrs(inner->getAttrs());
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  builder.setInsertionPointToStart(loop.getBody());
  Value rest = loop.getInductionVar();
  for (size_t i = nest.size(); i-- > 0;) {
    scf::ForOp each = nest[i];
    Value number = rest;
    if (i > 0) {
      number = arith::RemUIOp::create(builder, loc, rest, counts[i]);
      rest = arith::DivUIOp::create(builder, loc, rest, counts[i]);
    }
    if (getConstantIntValue(each.getLowerBound()) != 0)
      number = arith::AddIOp::create(builder, loc, number, each.getLowerBound());
    each.getInductionVar().replaceAllUsesWith(number);
  }
  for (auto [before, after] : llvm::zip_equal(inner.getRegionIterArgs(), loop.getRegionIterArgs()))
    before.replaceAllUsesWith(after);
  loop.getBody()->getOperations().splice(loop.getBody()->end(), inner.getBody()->getOperations());
  outer.replaceAllUsesWith(loop.getResults());
  outer.erase();
}

namespace {
struct TileCollapseLoops : tile::impl::TileCollapseLoopsBase<TileCollapseLoops> {
  void runOnOperation() override {
    SmallVector<SmallVector<scf::ForOp>> nests;
    getOperation()->walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      SmallVector<scf::ForOp> nest = {loop};
      while (scf::ForOp inner = perfectlyNested(nest.back(), loop))
        nest.push_back(inner);
      if (nest.size() == 1)
        return WalkResult::advance();
      if (!nest.back().getOps<tile::MmaOp>().empty())
        nests.push_back(nest);
      return WalkResult::skip();
    });
    for (ArrayRef<scf::ForOp> nest : nests)
      collapse(nest);
  }
};
} // namespace
