//===- AlignAccesses.cpp - Align the tiles of unaligned rows --------------===//
//
// A row is read by a pair of loops: one over its whole tiles, one over the remainder. If all pairs
// of a kernel read rows with the same misalignment, the pass moves their tiles to multiples of 16
// bytes (tile.aligned_row). The first tile then has fewer elements of the row, so that both loops
// mask their tiles as the second one did.
//
//===----------------------------------------------------------------------===//
#include "Async/BulkRows.h"

#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEALIGNACCESSES
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-align-accesses";

/// Whether all elements of a tile are equal.
static bool isUniform(Value tile) {
  if (cast<RankedTensorType>(tile.getType()).getRank() == 0)
    return true;
  Operation *op = tile.getDefiningOp();
  if (isa_and_nonnull<ConstantOp, SplatOp>(op))
    return true;
  return isa_and_nonnull<BroadcastOp, MapOp, tile::CastOp, OnlineUpdateOp, OnlineWeighOp>(op) &&
         llvm::all_of(op->getOperands(), isUniform);
}

/// Whether an operation does not depend on the positions of elements: it is elementwise or a
/// reduction of the whole tile.
static bool ignoresPositions(Operation *op) {
  if (isa<arith::ConstantOp>(op))
    return true;
  if (!isa<MapOp, tile::CastOp, BitcastOp, BroadcastOp, ConstantOp, SplatOp, tile::ReduceOp,
           OnlineUpdateOp, OnlineWeighOp>(op))
    return false;
  bool isWhole =
      !isa<tile::ReduceOp>(op) || cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 0;
  return isWhole && (!isa<BroadcastOp>(op) || isUniform(op->getOperand(0)));
}

namespace {
/// Loops over the whole tiles of a row, and over what is left.
struct LoopPair {
  scf::ForOp whole, rest;
};

} // namespace

/// Whether both loops do the same but for bounds checks and padding.
static bool doTheSame(LoopPair pair) {
  Block *whole = pair.whole.getBody(), *rest = pair.rest.getBody();
  IRMapping twins;
  twins.map(whole->getArguments(), rest->getArguments());
  auto areSame = [&](Value a, Value b) {
    Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
    return twins.lookupOrDefault(a) == b ||
           (x && y && x->hasTrait<OpTrait::ConstantLike>() && x->getName() == y->getName() &&
            x->getAttrDictionary() == y->getAttrDictionary() && a.getType() == b.getType());
  };
  auto attributesOf = [](Operation &op) {
    NamedAttrList attributes(op.getAttrDictionary());
    for (StringRef ofBounds : {"pad", "bounded"})
      attributes.erase(ofBounds);
    return attributes.getDictionary(op.getContext());
  };
  auto isTwin = [&](Operation &a, Operation &b) {
    if (a.getName() != b.getName() || attributesOf(a) != attributesOf(b) ||
        a.getNumOperands() != b.getNumOperands() || a.getResultTypes() != b.getResultTypes() ||
        a.getNumRegions() || b.getNumRegions())
      return false;
    twins.map(a.getResults(), b.getResults());
    return llvm::all_of_zip(a.getOperands(), b.getOperands(), areSame);
  };
  return llvm::range_size(*whole) == llvm::range_size(*rest) &&
         llvm::all_of_zip(*whole, *rest, isTwin);
}

namespace {
class Aligner {
public:
  explicit Aligner(KernelOp kernel) : kernel(kernel), coordinates(kernel) {}

  void run() {
    auto canAlignBoth = [&](LoopPair &pair) {
      return canAlign(pair.whole, /*isRest=*/false) && canAlign(pair.rest, /*isRest=*/true) &&
             doTheSame(pair);
    };
    if (!findPairs() || !findRow())
      return;
    if (!llvm::all_of(pairs, canAlignBoth)) {
      missed(model, kPass, "NotAligned") << remark::reason(
          "rows are {0}-byte aligned, and the loops of the kernel depend on the positions of "
          "elements, or access rows with another misalignment",
          coordinates.rowAlignment(model.getView()));
      return;
    }
    if (isReadAgain())
      rewrite();
  }

private:
  bool findPairs();
  bool findRow();
  bool accessesRow(scf::ForOp loop, Value view, ValueRange coords, ArrayRef<int64_t> dims,
                   RankedTensorType tile);
  bool canAlign(scf::ForOp loop, bool isRest);
  bool isReadAgain();
  void rewrite();
  SmallVector<Value> otherCoords(ValueRange coords) {
    SmallVector<Value> others(coords);
    others.erase(others.begin() + model.getDims()[0]);
    return others;
  }

  KernelOp kernel;
  Coordinates coordinates;
  SmallVector<LoopPair> pairs;
  LoadOp model; // a load of the row
  llvm::SmallSetVector<Value, 4> loaded, stored;
};
} // namespace

/// Whether the loops of the kernel form pairs without side effects in between.
bool Aligner::findPairs() {
  auto loops = llvm::to_vector(kernel.getBody().front().getOps<scf::ForOp>());
  if (loops.empty() || loops.size() % 2)
    return false;
  for (unsigned i = 0; i < loops.size(); i += 2) {
    scf::ForOp whole = loops[i], rest = loops[i + 1];
    std::optional<SymExpr> end = coordinates.expression(whole.getUpperBound()),
                           begin = coordinates.expression(rest.getLowerBound());
    if (!isRemainderLoop(coordinates, rest) || !end || end != begin ||
        getConstantIntValue(whole.getLowerBound()) != 0 ||
        getConstantIntValue(whole.getStep()) != 1 || getConstantIntValue(rest.getStep()) != 1 ||
        whole.getResults() != rest.getInitArgs() ||
        !llvm::all_of(whole.getResults(), [](Value each) { return each.hasOneUse(); }))
      return false;
    for (Operation *op = whole->getNextNode(); op != rest; op = op->getNextNode())
      if (!isMemoryEffectFree(op))
        return false;
    pairs.push_back({whole, rest});
  }
  return true;
}

/// The first load determines the row.
bool Aligner::findRow() {
  auto loads = pairs.front().rest.getBody()->getOps<LoadOp>();
  if (loads.empty())
    return false;
  model = *loads.begin();
  constexpr int64_t alignment = AlignedRowOp::kAlignment, minBytes = 1024;
  RankedTensorType tile = model.getType();
  if (tile.getRank() != 1 || !isa<BlockArgument>(model.getView()) ||
      !model.getView().getType().hasUnitStride(model.getDims()[0]))
    return false;
  SymExpr size = coordinates.size(model.getView(), model.getDims()[0]);
  return prefersBulkLoad(model) &&
         tile.getNumElements() * tile.getElementTypeBitWidth() / 8 >= minBytes &&
         coordinates.rowAlignment(model.getView()) < alignment &&
         coordinates.addressDivisor(model.getView()) % alignment == 0 &&
         coordinates.expression(pairs.front().rest.getUpperBound()) ==
             std::optional(size.ceilDiv(SymExpr(tile.getNumElements())));
}

/// Whether an access reads or writes the same tile as the model, of a row with the same
/// misalignment and length.
bool Aligner::accessesRow(scf::ForOp loop, Value view, ValueRange coords, ArrayRef<int64_t> dims,
                          RankedTensorType tile) {
  LoadOp model = this->model;
  int64_t along = model.getDims()[0];
  return isa<BlockArgument>(view) && dims == model.getDims() &&
         tile.getShape() == model.getType().getShape() &&
         cast<ViewType>(view.getType()).hasUnitStride(along) &&
         coordinates.beginAlike(view, model.getView()) &&
         coordinates.size(view, along) == coordinates.size(model.getView(), along) &&
         coords[along] == loop.getInductionVar() &&
         otherCoords(coords) == otherCoords(model.getCoords()) &&
         llvm::all_of(llvm::enumerate(coords), [&](auto each) {
           auto [dim, coord] = each;
           return int64_t(dim) == along || (loop.isDefinedOutsideOfLoop(coord) &&
                                            coordinates.touches(coord, view, dim, 1, loop));
         });
}

/// Whether a loop goes along the row and does not depend on the positions of elements. The
/// remainder must be padded.
bool Aligner::canAlign(scf::ForOp loop, bool isRest) {
  auto isNumber = [](Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile && tile.getRank() == 0;
  };
  if (!llvm::all_of(loop.getResultTypes(), isNumber) ||
      coordinates.expression(loop.getUpperBound()) !=
          coordinates.expression(isRest ? pairs.front().rest.getUpperBound()
                                        : pairs.front().whole.getUpperBound()))
    return false;
  auto isKnown = [&](OpOperand &operand) {
    Value value = operand.get();
    if (value == loop.getInductionVar())
      return isa<LoadOp, StoreOp>(operand.getOwner());
    return !isa<RankedTensorType>(value.getType()) || !loop.isDefinedOutsideOfLoop(value) ||
           isUniform(value);
  };
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!llvm::all_of(op.getOpOperands(), isKnown))
      return false;
    if (auto load = dyn_cast<LoadOp>(op)) {
      if (!accessesRow(loop, load.getView(), load.getCoords(), load.getDims(), load.getType()) ||
          (isRest && !load.getPad()))
        return false;
      loaded.insert(load.getView());
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      if (!accessesRow(loop, store.getView(), store.getCoords(), store.getDims(),
                       store.getValue().getType()) ||
          (isRest && !store.getBounded()))
        return false;
      stored.insert(store.getView());
    } else if (!ignoresPositions(&op)) {
      return false;
    }
  }
  return true;
}

/// Whether several loop pairs read a row, and the kernel writes no row that it reads.
bool Aligner::isReadAgain() {
  auto readersOf = [&](Value view) {
    return llvm::count_if(pairs, [&](LoopPair &pair) {
      return llvm::any_of(pair.rest.getBody()->getOps<LoadOp>(),
                          [&](LoadOp load) { return load.getView() == view; });
    });
  };
  auto isWritten = [](Value view) {
    return llvm::any_of(view.getUsers(), llvm::IsaPred<StoreOp, ScatterOp, BulkStoreOp>);
  };
  return llvm::none_of(loaded, isWritten) &&
         llvm::any_of(loaded, [&](Value view) { return readersOf(view) > 1; });
}

void Aligner::rewrite() {
  OpBuilder builder(pairs.front().whole);
  Location loc = kernel.getLoc();
  llvm::DenseMap<Value, Value> rows;
  for (Value view : llvm::concat<const Value>(loaded, stored))
    rows[view] = AlignedRowOp::create(builder, loc, view, otherCoords(model.getCoords()),
                                      model.getDims()[0]);
  Value size = DimOp::create(builder, loc, builder.getIndexType(), rows[model.getView()], 0);
  Value tile = arith::ConstantIndexOp::create(builder, loc, model.getType().getNumElements());
  Value whole = arith::DivUIOp::create(builder, loc, size, tile),
        all = arith::CeilDivSIOp::create(builder, loc, size, tile);
  for (LoopPair &pair : pairs) {
    scf::ForOp rest = pair.rest;
    for (Operation &op : llvm::make_early_inc_range(*rest.getBody())) {
      builder.setInsertionPoint(&op);
      if (auto load = dyn_cast<LoadOp>(op)) {
        load.replaceAllUsesWith(LoadOp::create(builder, load.getLoc(), load.getType(),
                                               rows[load.getView()], rest.getInductionVar(),
                                               ArrayRef<int64_t>{0}, load.getPadAttr())
                                    .getResult());
        load.erase();
      } else if (auto store = dyn_cast<StoreOp>(op)) {
        StoreOp::create(builder, store.getLoc(), store.getValue(), rows[store.getView()],
                        rest.getInductionVar(), ArrayRef<int64_t>{0}, /*bounded=*/true);
        store.erase();
      }
    }
    builder.setInsertionPoint(rest);
    auto first = cast<scf::ForOp>(builder.clone(*rest));
    first.getLowerBoundMutable().assign(pair.whole.getLowerBound());
    first.getUpperBoundMutable().assign(whole);
    first.getInitArgsMutable().assign(pair.whole.getInitArgs());
    rest.getLowerBoundMutable().assign(whole);
    rest.getUpperBoundMutable().assign(all);
    rest.getInitArgsMutable().assign(first.getResults());
    pair.whole.erase();
  }
}

/// Whether results may depend on the alignment of a row: not under the policy `batch_invariant`.
static bool mayDependOnAlignment(KernelOp kernel, ModuleOp module) {
  bool isBound = false;
  module.walk([&](LaunchOp launch) {
    if (launch.getKernel() == kernel.getName())
      isBound |=
          gir::numericsOption(launch->getParentOfType<func::FuncOp>(), "batch_invariant") == "true";
  });
  return !isBound;
}

namespace {
struct TileAlignAccesses : tile::impl::TileAlignAccessesBase<TileAlignAccesses> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (mayDependOnAlignment(kernel, getOperation()))
        Aligner(kernel).run();
  }
};
} // namespace
