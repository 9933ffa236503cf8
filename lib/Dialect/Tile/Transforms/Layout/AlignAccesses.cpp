//===- AlignAccesses.cpp - Tiles of unaligned rows are aligned ------===//
//
// A row is walked by pairs of loops: one over its whole tiles, one over what is left. Where all
// pairs of a kernel walk along rows that begin alike, their tiles are moved to multiples of 16
// bytes of memory. The first tile then has less of the row than others, so that both loops do what
// the second one did.
//
//===----------------------------------------------------------------------===//
#include "Async/BulkRows.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEALIGNACCESSES
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// A tile of one number wherever an element lies.
static bool isSameEverywhere(Value tile) {
  if (cast<RankedTensorType>(tile.getType()).getRank() == 0)
    return true;
  Operation *op = tile.getDefiningOp();
  if (isa_and_nonnull<ConstantOp, SplatOp>(op))
    return true;
  return isa_and_nonnull<BroadcastOp, MapOp, tile::CastOp>(op) &&
         llvm::all_of(op->getOperands(), isSameEverywhere);
}

/// Whether an operation does to each element the same, or to all together.
static bool isBlindToPlaces(Operation *op) {
  if (isa<arith::ConstantOp>(op))
    return true;
  if (!isa<MapOp, tile::CastOp, BitcastOp, BroadcastOp, ConstantOp, SplatOp, tile::ReduceOp>(op))
    return false;
  bool isWhole =
      !isa<tile::ReduceOp>(op) || cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 0;
  return isWhole && (!isa<BroadcastOp>(op) || isSameEverywhere(op->getOperand(0)));
}

namespace {
/// Loops over the whole tiles of a row, and over what is left.
struct Walk {
  scf::ForOp whole, rest;
};

} // namespace

/// Whether both loops do the same, but for what lies outside of the row.
static bool areAlike(Walk walk) {
  Block *whole = walk.whole.getBody(), *rest = walk.rest.getBody();
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
    for (StringRef ofEdges : {"pad", "bounded"})
      attributes.erase(ofEdges);
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
    auto fitsBoth = [&](Walk &walk) {
      return fits(walk.whole, /*isRest=*/false) && fits(walk.rest, /*isRest=*/true) &&
             areAlike(walk);
    };
    if (findWalks() && findRow() && llvm::all_of(walks, fitsBoth) && isWalkedAgain())
      rewrite();
  }

private:
  bool findWalks();
  bool findRow();
  bool isOfRow(scf::ForOp loop, Value view, ValueRange coords, ArrayRef<int64_t> dims,
               RankedTensorType tile);
  bool fits(scf::ForOp loop, bool isRest);
  bool isWalkedAgain();
  void rewrite();
  SmallVector<Value> besides(ValueRange coords) {
    SmallVector<Value> others(coords);
    others.erase(others.begin() + model.getDims()[0]);
    return others;
  }

  KernelOp kernel;
  Coordinates coordinates;
  SmallVector<Walk> walks;
  LoadOp model; // a load of the row
  llvm::SmallSetVector<Value, 4> loaded, stored;
};
} // namespace

/// All loops of the kernel come in pairs, between which nothing happens.
bool Aligner::findWalks() {
  auto loops = llvm::to_vector(kernel.getBody().front().getOps<scf::ForOp>());
  if (loops.empty() || loops.size() % 2)
    return false;
  for (unsigned i = 0; i < loops.size(); i += 2) {
    scf::ForOp whole = loops[i], rest = loops[i + 1];
    std::optional<SymExpr> end = coordinates.expression(whole.getUpperBound()),
                           begin = coordinates.expression(rest.getLowerBound());
    if (!runsOnce(coordinates, rest) || !end || end != begin ||
        getConstantIntValue(whole.getLowerBound()) != 0 ||
        getConstantIntValue(whole.getStep()) != 1 || getConstantIntValue(rest.getStep()) != 1 ||
        whole.getResults() != rest.getInitArgs() ||
        !llvm::all_of(whole.getResults(), [](Value each) { return each.hasOneUse(); }))
      return false;
    for (Operation *op = whole->getNextNode(); op != rest; op = op->getNextNode())
      if (!isMemoryEffectFree(op))
        return false;
    walks.push_back({whole, rest});
  }
  return true;
}

/// The first load says what the row is.
bool Aligner::findRow() {
  auto loads = walks.front().rest.getBody()->getOps<LoadOp>();
  if (loads.empty())
    return false;
  model = *loads.begin();
  constexpr int64_t piece = AlignedRowOp::kAlignment, worth = 1024; // bytes
  RankedTensorType tile = model.getType();
  if (tile.getRank() != 1 || !isa<BlockArgument>(model.getView()) ||
      !model.getView().getType().hasUnitStride(model.getDims()[0]))
    return false;
  SymExpr size = coordinates.size(model.getView(), model.getDims()[0]);
  return isBetterBulkLoaded(model) &&
         tile.getNumElements() * tile.getElementTypeBitWidth() / 8 >= worth &&
         coordinates.rowAlignment(model.getView()) < piece &&
         coordinates.addressDivisor(model.getView()) % piece == 0 &&
         coordinates.expression(walks.front().rest.getUpperBound()) ==
             std::optional(size.ceilDiv(SymExpr(tile.getNumElements())));
}

/// Whether an access in a loop takes the same tile of a row that begins and ends as the model's
/// does.
bool Aligner::isOfRow(scf::ForOp loop, Value view, ValueRange coords, ArrayRef<int64_t> dims,
                      RankedTensorType tile) {
  LoadOp model = this->model;
  int64_t along = model.getDims()[0];
  return isa<BlockArgument>(view) && dims == model.getDims() &&
         tile.getShape() == model.getType().getShape() &&
         cast<ViewType>(view.getType()).hasUnitStride(along) &&
         coordinates.beginAlike(view, model.getView()) &&
         coordinates.size(view, along) == coordinates.size(model.getView(), along) &&
         coords[along] == loop.getInductionVar() && besides(coords) == besides(model.getCoords()) &&
         llvm::all_of(llvm::enumerate(coords), [&](auto each) {
           auto [dim, coord] = each;
           return int64_t(dim) == along || (loop.isDefinedOutsideOfLoop(coord) &&
                                            coordinates.touches(coord, view, dim, 1, loop));
         });
}

/// Whether a loop walks along the row, and places of elements count in nothing that it does. The
/// rest of a row is padded.
bool Aligner::fits(scf::ForOp loop, bool isRest) {
  auto isNumber = [](Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile && tile.getRank() == 0;
  };
  if (!llvm::all_of(loop.getResultTypes(), isNumber) ||
      coordinates.expression(loop.getUpperBound()) !=
          coordinates.expression(isRest ? walks.front().rest.getUpperBound()
                                        : walks.front().whole.getUpperBound()))
    return false;
  auto isKnown = [&](OpOperand &operand) {
    Value value = operand.get();
    if (value == loop.getInductionVar())
      return isa<LoadOp, StoreOp>(operand.getOwner());
    return !isa<RankedTensorType>(value.getType()) || !loop.isDefinedOutsideOfLoop(value) ||
           isSameEverywhere(value);
  };
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!llvm::all_of(op.getOpOperands(), isKnown))
      return false;
    if (auto load = dyn_cast<LoadOp>(op)) {
      if (!isOfRow(loop, load.getView(), load.getCoords(), load.getDims(), load.getType()) ||
          (isRest && !load.getPad()))
        return false;
      loaded.insert(load.getView());
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      if (!isOfRow(loop, store.getView(), store.getCoords(), store.getDims(),
                   store.getValue().getType()) ||
          (isRest && !store.getBounded()))
        return false;
      stored.insert(store.getView());
    } else if (!isBlindToPlaces(&op)) {
      return false;
    }
  }
  return true;
}

/// Whether a row is read by more than one walk, and none that is read is written anywhere.
bool Aligner::isWalkedAgain() {
  auto walksOver = [&](Value view) {
    return llvm::count_if(walks, [&](Walk &walk) {
      return llvm::any_of(walk.rest.getBody()->getOps<LoadOp>(),
                          [&](LoadOp load) { return load.getView() == view; });
    });
  };
  auto isWritten = [](Value view) {
    return llvm::any_of(view.getUsers(), llvm::IsaPred<StoreOp, ScatterOp, BulkStoreOp>);
  };
  return llvm::none_of(loaded, isWritten) &&
         llvm::any_of(loaded, [&](Value view) { return walksOver(view) > 1; });
}

void Aligner::rewrite() {
  OpBuilder builder(walks.front().whole);
  Location loc = kernel.getLoc();
  llvm::DenseMap<Value, Value> rows;
  for (Value view : llvm::concat<const Value>(loaded, stored))
    rows[view] =
        AlignedRowOp::create(builder, loc, view, besides(model.getCoords()), model.getDims()[0]);
  Value size = DimOp::create(builder, loc, builder.getIndexType(), rows[model.getView()], 0);
  Value tile = arith::ConstantIndexOp::create(builder, loc, model.getType().getNumElements());
  Value whole = arith::DivUIOp::create(builder, loc, size, tile),
        all = arith::CeilDivSIOp::create(builder, loc, size, tile);
  for (Walk &walk : walks) {
    scf::ForOp rest = walk.rest;
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
    first.getLowerBoundMutable().assign(walk.whole.getLowerBound());
    first.getUpperBoundMutable().assign(whole);
    first.getInitArgsMutable().assign(walk.whole.getInitArgs());
    rest.getLowerBoundMutable().assign(whole);
    rest.getUpperBoundMutable().assign(all);
    rest.getInitArgsMutable().assign(first.getResults());
    walk.whole.erase();
  }
}

/// Whether a row's result may depend on where it lies.
static bool isFree(KernelOp kernel, ModuleOp module) {
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
      if (isFree(kernel, getOperation()))
        Aligner(kernel).run();
  }
};
} // namespace
