//===- DeferProducts.cpp - A turn's last product is made in the next ------===//
//
// Where a turn multiplies, works on the sums and multiplies again, tensor cores stand still while warps work. The last
// product can wait: the loop carries its left operand and the sums that it adds to, and it is begun in the next turn, right
// behind that turn's first product, so that it is made beside the work. Behind the loop the last one is left.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Layout/SharedMatrix.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEDEFERPRODUCTS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
class Deferral {
public:
  Deferral(scf::ForOp loop, unsigned warps) : loop(loop), warps(warps) {}
  /// Whether the loop has a first product and a last one that takes what is made of it.
  bool find();
  void rewrite();

private:
  bool isGrouped(MmaOp mma);
  /// The number of what the loop carries; none: it is nothing of that.
  std::optional<unsigned> numberOf(Value value);

  scf::ForOp loop;
  unsigned warps;
  MmaOp first, last;
  ReadOp read; // of the last product's right operand
  unsigned sums = 0, slot = 0;
  SmallVector<Operation *> refills;
};
} // namespace

std::optional<unsigned> Deferral::numberOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  bool isCarried = argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar();
  return isCarried ? std::optional(argument.getArgNumber() - 1) : std::nullopt;
}

/// Groups of warps make it, with a right operand that tensor copies have brought.
bool Deferral::isGrouped(MmaOp mma) {
  auto right = mma.getRhs().getDefiningOp<ReadOp>();
  return right && right->getBlock() == loop.getBody() && !right.getAt() && mma.getParts() == 1 &&
         layoutOf(mma.getAcc()) == groupSums(mma.getMatrix(), warps) &&
         sharedMatrix(right.getBuffer().getType().getMemory(), /*over=*/0, 16);
}

/// A turn has a slot of its own, one of the turn before, and one that is filled.
bool Deferral::find() {
  constexpr int64_t kSlots = 3;
  SmallVector<MmaOp> products(loop.getBody()->getOps<MmaOp>());
  if (products.size() != 2 || !llvm::all_of(products, [&](MmaOp mma) { return isGrouped(mma); }))
    return false;
  first = products[0];
  last = products[1];
  read = last.getRhs().getDefiningOp<ReadOp>();
  std::optional<unsigned> place = numberOf(read.getSlot());
  if (!place || !read->hasOneUse() || read.getBuffer().getType().getSlots() < kSlots || !last->hasOneUse() ||
      !isa<scf::YieldOp>(*last->user_begin()) || !last.getLhs().getDefiningOp() || isa<ReadOp>(last.getLhs().getDefiningOp()))
    return false;
  slot = *place;
  sums = last->use_begin()->getOperandNumber();
  for (Operation *user : loop.getRegionIterArg(sums).getUsers())
    if (user->getBlock() != loop.getBody() || !first->isBeforeInBlock(user) || user == last)
      return false;
  for (Operation *user : read.getBuffer().getUsers()) {
    Operation *here = loop.getBody()->findAncestorOpInBlock(*user);
    if (!isa<FetchOp, ReadOp, MmaAsyncOp>(user) || (here && isa<FetchOp>(user) && !isa<scf::IfOp>(here)))
      return false;
    if (here && isa<FetchOp>(user) && !llvm::is_contained(refills, here))
      refills.push_back(here);
  }
  return true;
}

void Deferral::rewrite() {
  Location loc = last.getLoc();
  IRRewriter rewriter(loop->getContext());
  rewriter.setInsertionPoint(loop);
  Value left = last.getLhs();
  // In the first turn nothing is added.
  Value none = ConstantOp::create(rewriter, loc, cast<RankedTensorType>(left.getType()), 0.0);
  Value begin = loop.getInitArgs()[slot];
  loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, {none, begin}, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument>) { return SmallVector<Value>{left, loop.getRegionIterArg(slot)}; }));
  auto carried = loop.getRegionIterArgs().take_back(2);
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  yield.setOperand(yield.getNumOperands() - 1, loop.getRegionIterArg(slot));

  rewriter.setInsertionPointAfter(first);
  BlockArgument before = loop.getRegionIterArg(sums);
  Value right = ReadOp::create(rewriter, read.getLoc(), read.getType(), read.getBuffer(), carried[1]);
  auto made = MmaOp::create(rewriter, loc, carried[0], right, before);
  before.replaceAllUsesExcept(made.getResult(), made);
  Operation *place = made;
  for (Operation *refill : refills) {
    refill->moveAfter(place);
    place = refill;
  }
  yield.setOperand(sums, last.getAcc());

  // The one that is left, if there was a turn.
  rewriter.setInsertionPointAfter(loop);
  Value hasTurns = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
  Value result = loop.getResult(sums);
  auto branch = scf::IfOp::create(rewriter, loc, TypeRange(result.getType()), hasTurns, /*withElseRegion=*/true);
  result.replaceAllUsesWith(branch.getResult(0));
  auto rest = loop.getResults().take_back(2);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  right = ReadOp::create(rewriter, read.getLoc(), read.getType(), read.getBuffer(), rest[1]);
  scf::YieldOp::create(rewriter, loc, MmaOp::create(rewriter, loc, rest[0], right, result).getResult());
  rewriter.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(rewriter, loc, result);
  last.erase();
  read.erase();
}

namespace {
struct TileDeferProducts : tile::impl::TileDeferProductsBase<TileDeferProducts> {
  using TileDeferProductsBase::TileDeferProductsBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      DictionaryAttr hints = kernel.getHintsAttr();
      if (!getHint(hints, "warpgroups").value_or(0))
        continue;
      for (auto loop : llvm::make_early_inc_range(kernel.getBody().front().getOps<scf::ForOp>()))
        if (Deferral deferral(loop, getHint(hints, "warps").value_or(4)); deferral.find())
          deferral.rewrite();
    }
  }
};
} // namespace
