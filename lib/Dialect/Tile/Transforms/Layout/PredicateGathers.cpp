//===- PredicateGathers.cpp - One element is looked for where it may be ----===//
//
// A loop that adds up the elements of a row at one position compares, chooses and adds for each of
// them, and all steps but one add zeros. Whether the position lies in a step's tile is one
// comparison, and the rest is done behind it.
//
//===----------------------------------------------------------------------===//
#include "Numerics/Zero.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Layout/Reduction.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPREDICATEGATHERS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr unsigned kPositionBits = 32; // of numbers that no position is beyond

namespace {
/// What is zero unless a position is the one that is wanted, and the operations that make it, the
/// last one first.
struct Selection {
  SmallVector<Operation *> ops;
  IotaOp positions;
  Value wanted; // a tile of rank 0
};
} // namespace

static bool isMap(Operation *op, ScalarOp kind) {
  auto map = dyn_cast_or_null<MapOp>(op);
  return map && map.getScalarOp() == kind;
}

/// Whether each warp reduces for itself.
static bool isWithinWarps(tile::ReduceOp reduce) {
  SmallVector<unsigned> dims(reduce.getDims().begin(), reduce.getDims().end());
  ReductionPlan plan = planReduction(*layoutOf(reduce.getInput()), dims);
  return plan.warps.empty() && plan.blocks.empty();
}

static bool isZeroTile(Value tile) {
  auto constant = tile.getDefiningOp<ConstantOp>();
  return constant && isZero(cast<TypedAttr>(constant.getValue()));
}

/// The operand that an operation makes zeros of where that has zeros; none: it need not.
static Value zerosOf(Operation *op) {
  auto reduce = dyn_cast<tile::ReduceOp>(op);
  if (isa<ReshapeOp, tile::CastOp>(op) ||
      (reduce && reduce.getReduceOp() == tessera::ReduceOp::Sum && isWithinWarps(reduce)))
    return op->getOperand(0);
  // Elements that a row does not have any more are zeros.
  bool isCut = isMap(op, ScalarOp::Where) && isZeroTile(op->getOperand(2)) &&
               isMap(op->getOperand(1).getDefiningOp(), ScalarOp::Where);
  return isCut ? op->getOperand(1) : Value();
}

static std::optional<Selection> selectionOf(Value tile, Block *block) {
  Selection selection;
  Operation *op = tile.getDefiningOp();
  while (op && op->hasOneUse() && op->getBlock() == block && zerosOf(op)) {
    selection.ops.push_back(op);
    op = zerosOf(op).getDefiningOp();
  }
  if (!isMap(op, ScalarOp::Where) || !op->hasOneUse() || op->getBlock() != block)
    return std::nullopt;
  selection.ops.push_back(op);
  Operation *isHere = op->getOperand(0).getDefiningOp();
  if (!isZeroTile(op->getOperand(2)) || !isMap(isHere, ScalarOp::Eq))
    return std::nullopt;
  if (isHere->hasOneUse() && isHere->getBlock() == block)
    selection.ops.push_back(isHere);
  for (unsigned i : {0, 1}) {
    auto one = isHere->getOperand(1 - i).getDefiningOp<BroadcastOp>();
    selection.positions = isHere->getOperand(i).getDefiningOp<IotaOp>();
    if (!selection.positions || !one || !one.getDims().empty() ||
        one.getType().getElementTypeBitWidth() < kPositionBits)
      continue;
    selection.wanted = one.getInput();
    return selection;
  }
  return std::nullopt;
}

/// Puts the addition, and all that it is for, under a condition.
static void guard(MapOp add, Value sum, const Selection &selection) {
  OpBuilder builder(add);
  Location loc = add.getLoc();
  IotaOp positions = selection.positions;
  Value at = ExtractOp::create(builder, loc, builder.getIndexType(), selection.wanted);
  Value place = arith::SubIOp::create(builder, loc, at, positions.getStart());
  int64_t size = cast<RankedTensorType>(positions.getType()).getNumElements();
  Value end = arith::ConstantIndexOp::create(builder, loc, size);
  // As an unsigned number a negative place is beyond every size.
  Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, place, end);
  auto branch =
      scf::IfOp::create(builder, loc, add->getResultTypes(), isInside, /*withElseRegion=*/true);
  add.getResult().replaceAllUsesWith(branch.getResult(0));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, sum);
  builder.setInsertionPointToStart(branch.thenBlock());
  Operation *yield = scf::YieldOp::create(builder, loc, add.getResult());
  for (Operation *op : llvm::reverse(selection.ops))
    op->moveBefore(yield);
  add->moveBefore(yield);
}

static void guardAll(KernelOp kernel) {
  SmallVector<MapOp> adds;
  kernel.walk([&](MapOp map) {
    if (isMap(map, ScalarOp::Add) && isa<scf::ForOp>(map->getParentOp()))
      adds.push_back(map);
  });
  for (MapOp add : adds)
    for (unsigned i : {0, 1})
      if (std::optional<Selection> selection = selectionOf(add->getOperand(i), add->getBlock())) {
        guard(add, add->getOperand(1 - i), *selection);
        break;
      }
}

namespace {
struct TilePredicateGathers : tile::impl::TilePredicateGathersBase<TilePredicateGathers> {
  using TilePredicateGathersBase::TilePredicateGathersBase;

  void runOnOperation() override { llvm::for_each(getOperation().getOps<KernelOp>(), guardAll); }
};
} // namespace
