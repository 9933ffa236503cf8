//===- CanonicalizeLoopCarried.cpp - Carry tiles in the shape of their use -===//
//
// A loop that reshapes or transposes a carried tile at its begin and undoes that at its end carries
// the reshaped tile instead.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;

namespace tessera::tile {
#define GEN_PASS_DEF_TILECANONICALIZELOOPCARRIED
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// Whether `back` undoes what `there` does to the order or the shape of a tile.
static bool undoes(Operation *back, Operation *there) {
  if (isa_and_nonnull<tile::ReshapeOp>(back) && isa<tile::ReshapeOp>(there))
    return back->getOperand(0).getType() == there->getResult(0).getType();
  auto inverse = dyn_cast_or_null<tile::TransposeOp>(back);
  auto transpose = dyn_cast<tile::TransposeOp>(there);
  if (!inverse || !transpose)
    return false;
  ArrayRef<int64_t> first = transpose.getPermutation(), second = inverse.getPermutation();
  for (auto [i, from] : llvm::enumerate(second))
    if (first[from] != int64_t(i))
      return false;
  return true;
}

/// Lets the loop carry the `index`th tile as its only user reshapes it. Returns whether it did.
static bool carryReshaped(scf::ForOp loop, unsigned index) {
  BlockArgument carried = loop.getRegionIterArg(index);
  if (!carried.hasOneUse())
    return false;
  Operation *there = *carried.user_begin();
  if (!isa<tile::ReshapeOp, tile::TransposeOp>(there) || there->getParentOp() != loop)
    return false;
  OpOperand &yielded = loop.getYieldedValuesMutable().value()[index];
  Operation *back = yielded.get().getDefiningOp();
  if (!back || back->getParentOp() != loop || !undoes(back, there))
    return false;

  OpBuilder builder(loop);
  Type type = there->getResult(0).getType();
  OpOperand &init = loop.getInitArgsMutable()[index];
  IRMapping entry;
  entry.map(carried, init.get());
  init.set(builder.clone(*there, entry)->getResult(0));
  carried.setType(type);
  there->getResult(0).replaceAllUsesWith(carried);
  there->erase();

  Value result = loop.getResult(index);
  Type outside = result.getType();
  builder.setInsertionPointAfter(loop);
  IRMapping exit;
  exit.map(back->getOperand(0), result);
  Operation *after = builder.clone(*back, exit);
  assert(after->getResult(0).getType() == outside && "the inverse restores the carried shape");
  result.replaceAllUsesExcept(after->getResult(0), after);
  result.setType(type);
  yielded.set(back->getOperand(0));
  if (back->use_empty())
    back->erase();
  return true;
}

namespace {
struct TileCanonicalizeLoopCarried
    : tile::impl::TileCanonicalizeLoopCarriedBase<TileCanonicalizeLoopCarried> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) {
      for (unsigned i = 0; i < loop.getNumRegionIterArgs();)
        i += !carryReshaped(loop, i);
    });
  }
};
} // namespace
