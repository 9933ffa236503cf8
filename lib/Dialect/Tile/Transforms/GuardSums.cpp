//===- GuardSums.cpp - Sums that most tiles add nothing to ----------------===//
//
// A loop that walks a row for the element at one position (the class of a loss) adds, in each step, what stands there, or
// zero. The position is one number for the whole program, so that steps without it need not look at their elements:
//
//   %e = tile.map eq(%iota, %everywhere)            %i = the position's place in this tile
//   %w = tile.map where(%e, %x, %zeros)             %b = scf.if %i is in the tile {
//   %s = tile.reduce sum %w dims [0]           =>     … as before
//   %b = tile.map add(%a, %s)                       } else { %a }
//
//===----------------------------------------------------------------------===//
#include "GuardSums.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace {
/// A tile that is zero except where `positions` are equal to `place`.
struct OneHot {
  IotaOp positions;
  Value place; // a tile of rank 0
};
} // namespace

static bool isZero(Value tile) {
  auto constant = tile.getDefiningOp<ConstantOp>();
  if (!constant)
    return false;
  if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
    return number.getValue().isPosZero();
  return cast<IntegerAttr>(constant.getValue()).getValue().isZero();
}

static std::optional<OneHot> oneHotOf(Value tile) {
  auto where = tile.getDefiningOp<MapOp>();
  if (!where || where.getScalarOp() != ScalarOp::Where || !isZero(where.getInputs()[2]))
    return std::nullopt;
  auto equal = where.getInputs()[0].getDefiningOp<MapOp>();
  for (unsigned side = 0; equal && equal.getScalarOp() == ScalarOp::Eq && side < 2; ++side) {
    auto positions = equal.getInputs()[side].getDefiningOp<IotaOp>();
    auto everywhere = equal.getInputs()[1 - side].getDefiningOp<BroadcastOp>();
    if (positions && everywhere && !everywhere.getInput().getType().getRank())
      return OneHot{positions, everywhere.getInput()};
  }
  return oneHotOf(where.getInputs()[1]);
}

/// Moves an operation to the end of a block, behind what of its own block it alone needs.
static void sink(Operation *op, Block *to) {
  for (Value operand : op->getOperands())
    if (auto map = operand.getDefiningOp<MapOp>(); map && map->hasOneUse() && map->getBlock() == op->getBlock())
      sink(map, to);
  op->moveBefore(to, to->end());
}

static void guard(MapOp join, tile::ReduceOp sum, Value rest, OneHot hot) {
  OpBuilder builder(join);
  Location loc = sum.getLoc();
  Value place = ExtractOp::create(builder, loc, builder.getIndexType(), hot.place);
  Value inTile = arith::SubIOp::create(builder, loc, place, hot.positions.getStart());
  Value size = arith::ConstantIndexOp::create(builder, loc, hot.positions.getType().getDimSize(0));
  // As an unsigned number a negative one is beyond every size.
  Value has = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, inTile, size);
  auto branch = scf::IfOp::create(builder, loc, TypeRange(join.getType()), has, /*withElseRegion=*/true);
  join.getResult().replaceAllUsesWith(branch.getResult(0));
  Block *added = &branch.getThenRegion().front(), *left = &branch.getElseRegion().front();
  sink(sum, added);
  join->moveBefore(added, added->end());
  builder.setInsertionPointToEnd(added);
  scf::YieldOp::create(builder, loc, join.getResult());
  builder.setInsertionPointToEnd(left);
  scf::YieldOp::create(builder, loc, rest);
}

void tile::guardSums(KernelOp kernel) {
  SmallVector<tile::ReduceOp> sums;
  kernel.walk([&](tile::ReduceOp reduce) {
    bool isInLoop = isa<scf::ForOp>(reduce->getParentOp());
    if (isInLoop && reduce.getReduceOp() == tessera::ReduceOp::Sum && reduce->hasOneUse() && !reduce.getType().getRank())
      sums.push_back(reduce);
  });
  for (tile::ReduceOp sum : sums) {
    auto join = dyn_cast<MapOp>(*sum->user_begin());
    std::optional<OneHot> hot = oneHotOf(sum.getInput());
    if (!join || !hot || join->getBlock() != sum->getBlock() || join.getScalarOp() != ScalarOp::Add)
      continue;
    guard(join, sum, join.getInputs()[join.getInputs()[0] == sum.getResult()], *hot);
  }
}
