//===- PredicateGathers.cpp - Skip iterations without the position --------===//
//
// An iteration that adds zeros to a carried value can skip the addition and what computes the
// zeros. The pass proves that for a tile that is zero except at one position: a loop that selects
// the element of a row compares, selects and adds in each iteration, and all iterations but one add
// zeros. It compares the position with the range of the iteration's tile first, and does the rest
// under that condition. A remark names selections of other forms.
//
//===----------------------------------------------------------------------===//
#include "Numerics/Zero.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Layout/Reduction.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPREDICATEGATHERS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-predicate-gathers";
static constexpr unsigned kPositionBits = 32; // enough for every position

namespace {
/// A tile that is zero except at one position, and the operations that compute it, the last one
/// first.
struct Selection {
  SmallVector<Operation *> ops;
  IotaOp positions;
  Value position; // a tile of rank 0
};
} // namespace

static bool isMap(Operation *op, ScalarOp kind) {
  auto map = dyn_cast_or_null<MapOp>(op);
  return map && map.getScalarOp() == kind;
}

/// Whether a reduction stays within warps.
static bool isWithinWarps(tile::ReduceOp reduce) {
  SmallVector<unsigned> dims(reduce.getDims().begin(), reduce.getDims().end());
  ReductionPlan plan = planReduction(*layoutOf(reduce.getInput()), dims);
  return plan.warps.empty() && plan.blocks.empty();
}

static bool isZeroTile(Value tile) {
  auto constant = tile.getDefiningOp<ConstantOp>();
  return constant && isZero(cast<TypedAttr>(constant.getValue()));
}

static bool isSum(Operation *op) {
  auto reduce = dyn_cast<tile::ReduceOp>(op);
  return reduce && reduce.getReduceOp() == tessera::ReduceOp::Sum;
}

/// The operand whose zeros become zeros of the result, or null.
static Value zerosOf(Operation *op) {
  if (isa<ReshapeOp, tile::CastOp>(op) || isSum(op))
    return op->getOperand(0);
  // A mask sets elements after the end of the row to zero.
  bool isCut = isMap(op, ScalarOp::Where) && isZeroTile(op->getOperand(2)) &&
               isMap(op->getOperand(1).getDefiningOp(), ScalarOp::Where);
  return isCut ? op->getOperand(1) : Value();
}

static std::optional<Selection> selectionOf(Value tile, Block *block) {
  Selection selection;
  Operation *op = tile.getDefiningOp();
  while (op && op->hasOneUse() && op->getBlock() == block && zerosOf(op) &&
         (!isSum(op) || isWithinWarps(cast<tile::ReduceOp>(op)))) {
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
    selection.position = one.getInput();
    return selection;
  }
  return std::nullopt;
}

/// Whether the elements of a tile are positions along a dimension.
static bool arePositions(Value tile) {
  Operation *op = tile.getDefiningOp();
  while (isa_and_nonnull<BroadcastOp, ReshapeOp, ConvertOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<IotaOp>(op);
}

/// Says why the addition of a tile that selects elements by their positions runs in each iteration.
static void remarkEachIteration(MapOp add, Value tile) {
  if (!add.getContext()->getRemarkEngine())
    return;
  bool isUsed = false, isAcrossWarps = false;
  Operation *op = tile.getDefiningOp();
  for (; op && op->getBlock() == add->getBlock() && zerosOf(op); op = zerosOf(op).getDefiningOp()) {
    isUsed |= !op->hasOneUse();
    isAcrossWarps |= isSum(op) && !isWithinWarps(cast<tile::ReduceOp>(op));
  }
  if (!op || op->getBlock() != add->getBlock() || !isMap(op, ScalarOp::Where) ||
      !isZeroTile(op->getOperand(2)))
    return;
  Operation *isHere = op->getOperand(0).getDefiningOp();
  if (!isMap(isHere, ScalarOp::Eq) || llvm::none_of(isHere->getOperands(), arePositions))
    return;
  if (isUsed || !op->hasOneUse())
    missed(add, kPass, "SeveralUses")
        << remark::reason("other operations use the selected elements as well");
  else if (isAcrossWarps)
    missed(add, kPass, "AcrossWarps")
        << remark::reason("the selected elements are added across warps, which all warps do");
  else if (getElementTypeOrSelf(isHere->getOperand(0)).getIntOrFloatBitWidth() < kPositionBits)
    missed(add, kPass, "NarrowIndex") << remark::reason(
        "the index has {0} bits, and is compared with the range of a tile in {1}",
        getElementTypeOrSelf(isHere->getOperand(0)).getIntOrFloatBitWidth(), kPositionBits);
  else
    missed(add, kPass, "SeveralIndices") << remark::reason(
        "the elements are selected by more than one index, and a CTA tests the range of one");
}

/// Moves the addition and the selection under the condition that the tile has the position.
static void predicate(MapOp add, Value sum, const Selection &selection) {
  OpBuilder builder(add);
  Location loc = add.getLoc();
  IotaOp positions = selection.positions;
  Value at = ExtractOp::create(builder, loc, builder.getIndexType(), selection.position);
  Value offset = arith::SubIOp::create(builder, loc, at, positions.getStart());
  int64_t size = cast<RankedTensorType>(positions.getType()).getNumElements();
  Value end = arith::ConstantIndexOp::create(builder, loc, size);
  // A negative offset is larger than every size in the unsigned comparison.
  Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, offset, end);
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

static void predicateAll(KernelOp kernel) {
  SmallVector<MapOp> adds;
  kernel.walk([&](MapOp map) {
    if (isMap(map, ScalarOp::Add) && isa<scf::ForOp>(map->getParentOp()))
      adds.push_back(map);
  });
  for (MapOp add : adds)
    for (unsigned i : {0, 1}) {
      if (std::optional<Selection> selection = selectionOf(add->getOperand(i), add->getBlock())) {
        predicate(add, add->getOperand(1 - i), *selection);
        break;
      }
      remarkEachIteration(add, add->getOperand(i));
    }
}

namespace {
struct TilePredicateGathers : tile::impl::TilePredicateGathersBase<TilePredicateGathers> {
  using TilePredicateGathersBase::TilePredicateGathersBase;

  void runOnOperation() override {
    llvm::for_each(getOperation().getOps<KernelOp>(), predicateAll);
  }
};
} // namespace
