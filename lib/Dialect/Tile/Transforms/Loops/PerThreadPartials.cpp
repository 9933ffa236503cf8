//===- PerThreadPartials.cpp - Reduce per thread, combine after the loop --===//
//
// A loop over a row combines a carried value with the reduction of a tile in each iteration, and
// the reduction synchronizes all threads. The pass carries a tile with one element per thread
// instead: a thread reduces its own elements, and one reduction across threads follows the loop.
//
// An online softmax (tile.online_update) carries the running maximum m and sums of e^(x - m), which
// it rescales when m grows. Each thread then has its own maximum and sums relative to it; after the
// loop the sums of all threads are rescaled to the common maximum. An argmax, which keeps a value
// for elements equal to the maximum and drops it when that grows, works the same way per thread.
//
// A thread holds vectors as wide as its loads, and the vectors of a warp are contiguous. The CTAs
// of a cluster each hold a part of the tile. For a reduction of columns, where the loop carries a
// row, a thread has the columns of its vector, and threads in different rows have their own
// partials.
//
//===----------------------------------------------------------------------===//
#include "MergeStatistics.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/Monoids.h"
#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPERTHREADPARTIALS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
static constexpr StringLiteral kPass = "tile-per-thread-partials";

/// A carried value that each iteration combines with the reduction of a tile.
struct State {
  unsigned number;
  Value carried;
  tile::ReduceOp reduce;
  Value joined;      // the carried value after the iteration, by a map or an online update
  Value part;        // the reduction, perhaps cast to a wider type
  Value factor = {}; // by which the carried value is rescaled first, or null
  Value kept = {};   // the condition under which the carried value is not reset, or null

  bool isRelative() const { return factor || kept; }
  Location getLoc() const { return joined.getLoc(); }
  ScalarOp combiner() { return reduceOpCombiner(reduce.getReduceOp()); }
  TypedAttr unit() {
    return unitOf(reduce.getReduceOp(), cast<RankedTensorType>(carried.getType()).getElementType());
  }
};

/// Replacements of values.
using Renaming = llvm::DenseMap<Value, Value>;

class PartialsPerThread {
public:
  PartialsPerThread(scf::ForOp loop, const Coordinates &coordinates, int64_t threads,
                    int64_t blocks)
      : loop(loop), coordinates(coordinates), threads(threads), blocks(blocks) {}

  bool find();
  /// `tiles` maps results of earlier loops to the per-thread tiles that they were reduced from.
  void rewrite(Renaming &tiles);

private:
  std::optional<State> stateOf(unsigned number);
  bool dependsOnLoop(Value value, Value exceptFor);
  bool isElementwise(Value value);
  OnlineUpdateOp update() { return gauge->joined.getDefiningOp<OnlineUpdateOp>(); }
  bool isWeight(Value weight);
  bool isRelative(State sum);
  bool comparesWithExtremum(Value condition, Value x, Value extremum);
  bool selectsExtremum(Value tile, TypedAttr unit);
  bool belongsToExtremum(State state);
  bool areUsedByStatesOnly();
  bool findShape();
  remark::detail::InFlightRemark decline(StringRef name) {
    return missed(states.front().reduce, kPass, name);
  }

  RankedTensorType typeOf(Value number) {
    return RankedTensorType::get(threadShape(),
                                 cast<RankedTensorType>(number.getType()).getElementType());
  }
  using Numbers = SmallVector<int64_t>;
  /// The shape of a tile with an element per thread, or per column of its vector, and the shape of
  /// the loaded tile with the elements of a thread in dimensions of their own.
  Numbers threadShape() const {
    if (columns)
      return {groups, columns};
    return blocks > 1 ? Numbers{blocks, threads} : Numbers{threads};
  }
  Numbers vectorShape() const {
    if (columns)
      return {rest, groups, columns};
    return blocks > 1 ? Numbers{blocks, rest, threads, width} : Numbers{rest, threads, width};
  }
  /// The dimensions of vectorShape() that threadShape() has, and those that a thread reduces.
  Numbers kept() const { return columns ? Numbers{1, 2} : blocks > 1 ? Numbers{0, 2} : Numbers{1}; }
  Numbers joined() const {
    return columns ? Numbers{0} : blocks > 1 ? Numbers{1, 3} : Numbers{0, 2};
  }
  /// The dimensions of threadShape() that are reduced after the loop.
  Numbers threadDims() const { return columns || blocks == 1 ? Numbers{0} : Numbers{0, 1}; }
  Value broadcastToThreads(OpBuilder &builder, Value number);
  Value rebased(OpBuilder &builder, State state, Value number, Renaming &known);
  Value cloneUpdate(OpBuilder &builder, Value value, Renaming &known);
  Value cloneWith(OpBuilder &builder, Value value, Renaming &known);
  Value tileOf(OpBuilder &builder, Value tile, Renaming &known);
  Value reduce(OpBuilder &builder, tile::ReduceOp old, Renaming &known);

  scf::ForOp loop;
  const Coordinates &coordinates;
  int64_t threads, blocks, width = 1, rest = 1; // of a tile: blocks x rest x threads x width
  // Of a tile whose columns are reduced: rest x groups x columns; 0 columns otherwise.
  int64_t columns = 0, groups = 1;
  SmallVector<State> states; // states relative to the gauge follow it
  std::optional<State> gauge;
};
} // namespace

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// The reduction that a value is, directly or after a cast to a wider type that maps the identity
/// of the narrow type to the one of the wide type.
static tile::ReduceOp reductionOf(Value part) {
  if (auto reduce = part.getDefiningOp<tile::ReduceOp>())
    return reduce;
  auto widened = part.getDefiningOp<MapOp>();
  if (!widened || widened.getScalarOp() != ScalarOp::Where)
    return {};
  auto isEnd = widened.getInputs()[0].getDefiningOp<MapOp>();
  auto end = widened.getInputs()[1].getDefiningOp<ConstantOp>();
  auto wide = widened.getInputs()[2].getDefiningOp<tile::CastOp>();
  auto reduce = wide ? wide.getInput().getDefiningOp<tile::ReduceOp>() : tile::ReduceOp();
  if (!reduce || !end || !isEnd || isEnd.getScalarOp() != ScalarOp::Eq ||
      isEnd.getInputs()[0] != reduce.getResult())
    return {};
  auto narrowEnd = isEnd.getInputs()[1].getDefiningOp<ConstantOp>();
  auto unit = [&](Value of) { return unitOf(reduce.getReduceOp(), getElementTypeOrSelf(of)); };
  bool isWidened =
      narrowEnd && narrowEnd.getValue() == unit(reduce.getResult()) && end.getValue() == unit(part);
  return isWidened ? reduce : tile::ReduceOp();
}

std::optional<State> PartialsPerThread::stateOf(unsigned number) {
  Value carried = loop.getRegionIterArg(number);
  Value joined = loop.getYieldedValues()[number];
  auto type = dyn_cast<RankedTensorType>(carried.getType());
  if (!type || type.getRank() > 1 || !joined.getDefiningOp() ||
      joined.getDefiningOp()->getBlock() != loop.getBody())
    return std::nullopt;
  auto reductionAlongLoop = [&](Value part) {
    tile::ReduceOp reduce = reductionOf(part);
    bool isAlongLoop = reduce && reduce->getBlock() == loop.getBody() &&
                       reduce.getInput().getType().getRank() == type.getRank() + 1 &&
                       reduce.getDims() == ArrayRef<int64_t>{0};
    return isAlongLoop ? reduce : tile::ReduceOp();
  };
  if (auto update = joined.getDefiningOp<OnlineUpdateOp>()) {
    tile::ReduceOp reduce = reductionAlongLoop(update.getLargest());
    if (!reduce || reduce.getReduceOp() != tessera::ReduceOp::Max || joined != update.getNext() ||
        update.getBefore() != carried || update.getLag().isNonZero())
      return std::nullopt;
    return State{number, carried, reduce, joined, update.getLargest()};
  }
  auto join = joined.getDefiningOp<MapOp>();
  if (!join || join.getInputs().size() != 2)
    return std::nullopt;
  for (unsigned i = 0; i < 2; ++i) {
    Value part = join.getInputs()[i];
    tile::ReduceOp reduce = reductionAlongLoop(part);
    if (!reduce || join.getScalarOp() != reduceOpCombiner(reduce.getReduceOp()))
      continue;
    Value other = join.getInputs()[1 - i];
    State state{number, carried, reduce, joined, part};
    if (other == carried)
      return state;
    auto rebase = other.getDefiningOp<MapOp>();
    if (rebase && rebase.getScalarOp() == ScalarOp::Where && rebase.getInputs()[1] == carried) {
      auto dropped = rebase.getInputs()[2].getDefiningOp<ConstantOp>();
      if (!dropped || dropped.getValue() != state.unit())
        continue;
      state.kept = rebase.getInputs()[0];
      return state;
    }
    if (!rebase || rebase.getScalarOp() != ScalarOp::Mul ||
        reduce.getReduceOp() != tessera::ReduceOp::Sum)
      continue;
    for (unsigned k = 0; k < 2; ++k)
      if (rebase.getInputs()[k] == carried) {
        state.factor = rebase.getInputs()[1 - k];
        return state;
      }
  }
  return std::nullopt;
}

/// Whether a value of the body depends on a carried value other than through `exceptFor`.
bool PartialsPerThread::dependsOnLoop(Value value, Value exceptFor) {
  llvm::SetVector<Value> made;
  made.insert(value);
  for (unsigned i = 0; i < made.size(); ++i) {
    Value each = made[i];
    if (each == exceptFor || each == loop.getInductionVar())
      continue;
    if (auto argument = dyn_cast<BlockArgument>(each)) {
      if (argument.getOwner() == loop.getBody())
        return true;
    } else if (Operation *op = each.getDefiningOp(); loop->isAncestor(op)) {
      if (op->getNumRegions())
        return true;
      made.insert_range(op->getOperands());
    }
  }
  return false;
}

/// Whether elementwise operations compute a value from states and values outside of the loop.
bool PartialsPerThread::isElementwise(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isAncestor(op) ||
      llvm::any_of(states, [&](State &state) { return state.joined == value; }))
    return true;
  return isa<MapOp, tile::CastOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isElementwise(operand); });
}

/// The operand of a broadcast, or the value itself.
static Value withoutBroadcast(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return broadcast ? broadcast.getInput() : value;
}

/// Whether a tile has weights relative to the new gauge, of exponents that do not depend on states.
bool PartialsPerThread::isWeight(Value weight) {
  auto weigh = weight.getDefiningOp<OnlineWeighOp>();
  if (!weigh || weigh.getRounded() || dependsOnLoop(weigh.getExponent(), Value()) ||
      withoutBroadcast(weigh.getReference()) != update().getReference())
    return false;
  return update().getPrescaled()
             ? weigh.getScales() && withoutBroadcast(weigh.getScales()) == update().getScales()
             : weigh.getScaleAttr() == update().getScaleAttr();
}

/// Whether a state sums weights relative to the new gauge, each perhaps times a value, and rescales
/// the carried sum accordingly. A thread may not have seen any element yet, so the reference must
/// be finite even where the gauge is not.
bool PartialsPerThread::isRelative(State sum) {
  if (!update() || !update().getGuarded() || sum.factor != update().getFactor())
    return false;
  auto product = sum.reduce.getInput().getDefiningOp<MapOp>();
  if (!product || product.getScalarOp() != ScalarOp::Mul)
    return isWeight(sum.reduce.getInput());
  Value a = product.getInputs()[0], b = product.getInputs()[1];
  return (isWeight(a) && !dependsOnLoop(b, Value())) || (isWeight(b) && !dependsOnLoop(a, Value()));
}

/// Matches x == extremum, also with `or x is NaN`. The extremum may be broadcast.
bool PartialsPerThread::comparesWithExtremum(Value condition, Value x, Value extremum) {
  auto map = condition.getDefiningOp<MapOp>();
  if (!map)
    return false;
  ValueRange inputs = map.getInputs();
  auto isNan = [&](MapOp nan) {
    return nan && ((nan.getScalarOp() == ScalarOp::IsNan && nan.getInputs()[0] == x) ||
                   (nan.getScalarOp() == ScalarOp::Ne && nan.getInputs()[0] == x &&
                    nan.getInputs()[1] == x));
  };
  if (map.getScalarOp() == ScalarOp::Or)
    return comparesWithExtremum(inputs[0], x, extremum) && isNan(inputs[1].getDefiningOp<MapOp>());
  Value other = map.getScalarOp() == ScalarOp::Eq && inputs[0] == x ? inputs[1] : Value();
  if (auto broadcast = other ? other.getDefiningOp<BroadcastOp>() : BroadcastOp())
    other = broadcast.getInput();
  return other && other == extremum;
}

/// Whether a tile has the identity wherever an element is not the new gauge, and depends on no
/// other carried value.
bool PartialsPerThread::selectsExtremum(Value tile, TypedAttr unit) {
  auto where = tile.getDefiningOp<MapOp>();
  auto other = where && where.getScalarOp() == ScalarOp::Where
                   ? where.getInputs()[2].getDefiningOp<ConstantOp>()
                   : ConstantOp();
  if (!other || other.getValue() != unit)
    return false;
  Value condition = where.getInputs()[0], chosen = where.getInputs()[1];
  if (!dependsOnLoop(condition, Value()))
    return selectsExtremum(chosen, unit);
  return comparesWithExtremum(condition, gauge->reduce.getInput(), gauge->joined) &&
         !dependsOnLoop(chosen, Value());
}

/// Whether a state reduces values of the elements equal to the new gauge, and is reset when the
/// gauge grows.
bool PartialsPerThread::belongsToExtremum(State state) {
  Type element = state.reduce.getInput().getType().getElementType();
  return !gauge->reduce.getSkipNan() && isElementwise(state.kept) &&
         comparesWithExtremum(state.kept, gauge->carried, gauge->joined) &&
         selectsExtremum(state.reduce.getInput(), unitOf(state.reduce.getReduceOp(), element));
}

/// Finds how threads hold the tiles: in vectors as wide as the loads. For a gauge per thread each
/// thread should have several elements. Returns false, with a remark, if the tile does not suit.
bool PartialsPerThread::findShape() {
  constexpr int64_t minElements = 4;
  RankedTensorType type = states.front().reduce.getInput().getType();
  int64_t size = type.getNumElements();
  bool isLoaded = false;
  for (auto load : loop.getBody()->getOps<LoadOp>()) {
    if (load.getType().getShape() != type.getShape())
      continue;
    int64_t bytes = std::max(1u, load.getType().getElementTypeBitWidth() / 8);
    int64_t aligned = coordinates.rowAlignment(load.getView());
    width =
        std::clamp<int64_t>(aligned / bytes, 1, std::max<int64_t>(1, size / (threads * blocks)));
    isLoaded = true;
    break;
  }
  rest = size / (threads * blocks * width);
  auto fits = [&](State &state) {
    return state.reduce.getInput().getType().getShape() == type.getShape();
  };
  if (!llvm::all_of(states, fits)) {
    decline("ShapesDiffer") << remark::reason("the loop reduces tiles of different shapes");
    return false;
  }
  if (type.getRank() == 1) {
    int64_t needed = gauge ? minElements : 1;
    if (rest * width >= needed)
      return true;
    decline("FewElements") << remark::reason(
        "the tile has {0} elements, and partials need {1} for each of {2} threads", size, needed,
        threads * blocks);
    return false;
  }
  // Each warp has rows, or further vectors of a long row. Only loaded tiles have this layout.
  constexpr int64_t lanes = 32;
  columns = type.getDimSize(1);
  groups =
      std::min(threads / lanes * std::max<int64_t>(1, lanes * width / columns), type.getDimSize(0));
  rest = type.getDimSize(0) / groups;
  return isLoaded && blocks == 1 && rest > 1 && rest * groups == type.getDimSize(0);
}

/// Whether the body uses the states only to update states.
bool PartialsPerThread::areUsedByStatesOnly() {
  llvm::SmallPtrSet<Operation *, 16> known;
  std::function<bool(Value)> isInside = [&](Value value) -> bool {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (isa<scf::YieldOp>(user) || !known.insert(user).second)
        return true;
      return isa<MapOp, BroadcastOp, tile::CastOp, tile::ReduceOp, OnlineUpdateOp, OnlineWeighOp>(
                 user) &&
             llvm::all_of(user->getResults(), isInside);
    });
  };
  auto isState = [&](unsigned number) {
    return llvm::any_of(states, [&](const State &state) { return state.number == number; });
  };
  if (!llvm::all_of(
          states, [&](State &state) { return isInside(state.carried) && isInside(state.joined); }))
    return false;
  for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues()))
    if (!isState(i) && yielded.getDefiningOp() && known.contains(yielded.getDefiningOp()))
      return false;
  return true;
}

bool PartialsPerThread::find() {
  SmallVector<State> relative;
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
    std::optional<State> state = stateOf(i);
    if (state && state->isRelative())
      relative.push_back(*state);
    else if (state && !dependsOnLoop(state->reduce.getInput(), Value()))
      states.push_back(*state);
  }
  // The gauge is the maximum to which all relative states refer.
  auto isGauge = [&](State &state) {
    gauge = state;
    return state.reduce.getReduceOp() == tessera::ReduceOp::Max &&
           llvm::all_of(relative, [&](State &each) {
             return each.factor ? isRelative(each) : belongsToExtremum(each);
           });
  };
  if (!relative.empty() && llvm::none_of(states, isGauge)) {
    missed(relative.front().reduce, kPass, "NoCommonMaximum")
        << remark::reason("the rescaled values of the loop do not refer to one running maximum");
    return false;
  }
  // Of reductions with different shapes in one loop the larger tiles count.
  auto shapeOf = [](State &state) { return state.reduce.getInput().getType().getShape(); };
  auto isLess = [&](State &a, State &b) {
    return ShapedType::getNumElements(shapeOf(a)) < ShapedType::getNumElements(shapeOf(b));
  };
  if (states.empty())
    return false;
  SmallVector<int64_t> shape(
      gauge && !relative.empty() ? shapeOf(*gauge) : shapeOf(*llvm::max_element(states, isLess)));
  llvm::erase_if(states, [&](State &state) { return shapeOf(state) != ArrayRef<int64_t>(shape); });
  states.append(relative);
  if (states.empty())
    return false;
  if (!areUsedByStatesOnly()) {
    decline("UsedInLoop") << remark::reason(
        "the iteration uses the carried value for more than its update");
    return false;
  }
  return findShape();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// A value broadcast to all threads.
Value PartialsPerThread::broadcastToThreads(OpBuilder &builder, Value number) {
  if (auto constant = number.getDefiningOp<ConstantOp>())
    return ConstantOp::create(builder, loop.getLoc(), typeOf(number), constant.getValue());
  bool isRow = cast<RankedTensorType>(number.getType()).getRank() == 1;
  return BroadcastOp::create(builder, loop.getLoc(), number, threadShape(),
                             isRow ? Numbers{1} : Numbers{});
}

/// A result of the update other than the running maximum, for that of `known`. The factor rescales
/// what is relative to the carried maximum of `known`.
Value PartialsPerThread::cloneUpdate(OpBuilder &builder, Value value, Renaming &known) {
  OnlineUpdateOp old = update();
  if (value != old.getFactor()) {
    auto clone =
        OnlineUpdateOp::create(builder, old.getLoc(), known.at(old.getNext()),
                               /*before=*/Value(), old.getScale(), old.getLag(), old.getGuarded(),
                               old.getPrescaled(), old.getAdaptive(), old.getExpanded());
    known[old.getReference()] = clone.getReference();
    known[old.getScales()] = clone.getScales();
    return known[value];
  }
  Value reference = cloneWith(builder, old.getReference(), known), scales;
  FloatAttr scale;
  if (old.getPrescaled())
    scales = cloneWith(builder, old.getScales(), known);
  else
    scale = old.getScaleAttr();
  return known[value] = OnlineWeighOp::create(builder, old.getLoc(), known.at(old.getBefore()),
                                              reference, scales, scale,
                                              /*rounded=*/old.getPrescaled(), old.getExpanded());
}

/// Clones the operations that compute a value, with replacements, per thread or once.
Value PartialsPerThread::cloneWith(OpBuilder &builder, Value value, Renaming &known) {
  if (Value found = known.lookup(value))
    return found;
  if (auto update = value.getDefiningOp<OnlineUpdateOp>(); update && loop->isAncestor(update))
    return cloneUpdate(builder, value, known);
  if (auto cast = value.getDefiningOp<tile::CastOp>(); cast && loop->isAncestor(cast))
    return known[value] = tile::CastOp::create(builder, cast.getLoc(),
                                               cloneWith(builder, cast.getInput(), known),
                                               getElementTypeOrSelf(value));
  auto map = value.getDefiningOp<MapOp>();
  if (!map || !loop->isAncestor(map)) {
    bool isPerThread = llvm::any_of(known, [&](auto &pair) {
      return cast<RankedTensorType>(pair.second.getType()).getShape() ==
             ArrayRef<int64_t>(threadShape());
    });
    return isPerThread ? known[value] = broadcastToThreads(builder, value) : value;
  }
  SmallVector<Value> operands;
  for (Value operand : map.getInputs())
    operands.push_back(cloneWith(builder, operand, known));
  return known[value] =
             MapOp::create(builder, map.getLoc(), map.getScalarOp(), operands, map.getFast());
}

Value PartialsPerThread::tileOf(OpBuilder &builder, Value tile, Renaming &known) {
  if (!dependsOnLoop(tile, Value()))
    return tile;
  if (Value found = known.lookup(tile))
    return found;
  if (auto broadcast = tile.getDefiningOp<BroadcastOp>()) {
    Value all =
        BroadcastOp::create(builder, broadcast.getLoc(),
                            cloneWith(builder, broadcast.getInput(), known), vectorShape(), kept());
    return known[tile] =
               ReshapeOp::create(builder, broadcast.getLoc(), all, broadcast.getType().getShape());
  }
  Operation *op = tile.getDefiningOp();
  IRMapping operands;
  for (Value operand : op->getOperands())
    operands.map(operand, tileOf(builder, operand, known));
  return known[tile] = builder.clone(*op, operands)->getResult(0);
}

/// A carried value rescaled to, or reset by, a new gauge.
Value PartialsPerThread::rebased(OpBuilder &builder, State state, Value number, Renaming &known) {
  Location loc = state.getLoc();
  if (state.factor)
    return MapOp::create(builder, loc, ScalarOp::Mul,
                         ValueRange{number, cloneWith(builder, state.factor, known)});
  if (!state.kept)
    return number;
  Value dropped =
      ConstantOp::create(builder, loc, cast<RankedTensorType>(number.getType()), state.unit());
  return MapOp::create(builder, loc, ScalarOp::Where,
                       ValueRange{cloneWith(builder, state.kept, known), number, dropped});
}

Value PartialsPerThread::reduce(OpBuilder &builder, tile::ReduceOp old, Renaming &known) {
  Value pieces = ReshapeOp::create(builder, old.getLoc(), tileOf(builder, old.getInput(), known),
                                   vectorShape());
  return tile::ReduceOp::create(builder, old.getLoc(), old.getReduceOp(), pieces, joined(),
                                old.getSkipNan());
}

void PartialsPerThread::rewrite(Renaming &tiles) {
  IRRewriter rewriter(loop);
  Location loc = loop.getLoc();
  SmallVector<Value> inits, starts;
  bool continues = true;
  for (State &state : states) {
    inits.push_back(loop.getInitArgs()[state.number]);
    Value tile = tiles.lookup(inits.back());
    continues &= tile && tile.getType() == typeOf(inits.back());
  }
  for (auto [state, init] : llvm::zip_equal(states, inits)) {
    RankedTensorType type = typeOf(init);
    starts.push_back(
        continues ? tiles.lookup(init)
                  : ConstantOp::create(rewriter, loc, type,
                                       unitOf(state.reduce.getReduceOp(), type.getElementType())));
  }
  auto replaced = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, starts, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) {
        Renaming known;
        for (auto [state, tile] : llvm::zip_equal(states, carried))
          known[state.carried] = tile;
        SmallVector<Value> yielded;
        for (State &state : states) {
          known[state.reduce.getResult()] = reduce(inside, state.reduce, known);
          Value part = cloneWith(inside, state.part, known);
          Value whole = rebased(inside, state, known[state.carried], known);
          known[state.joined] =
              MapOp::create(inside, state.getLoc(), state.combiner(), ValueRange{whole, part});
          yielded.push_back(known[state.joined]);
        }
        return yielded;
      }));
  loop = replaced;
  rewriter.setInsertionPointAfter(replaced);
  unsigned first = replaced.getNumResults() - states.size();
  auto *yield = replaced.getBody()->getTerminator();
  SmallVector<Value> wholes;
  SmallVector<bool> hasInit; // whether the initial value is combined after the loop
  Renaming once;             // values of the body, for the whole row
  for (auto [i, state] : llvm::enumerate(states)) {
    Value own = replaced.getResult(first + i), init = inits[i];
    state.carried = replaced.getRegionIterArg(state.number);
    Renaming known, before;
    if (state.isRelative()) {
      Value gauged = replaced.getRegionIterArg(gauge->number);
      const auto *number =
          llvm::find_if(states, [&](State &each) { return each.number == gauge->number; });
      known[gauged] = replaced.getResult(first + (number - states.begin()));
      before[gauged] = inits[number - states.begin()];
      SmallVector<Value, 2> references = {gauge->joined};
      if (state.factor)
        references = {update().getReference(), update().getScales()};
      for (Value reference : references) {
        before[reference] = cloneWith(rewriter, reference, once);
        known[reference] = broadcastToThreads(rewriter, before[reference]);
      }
      own = rebased(rewriter, state, own, known);
    }
    Value whole = tile::ReduceOp::create(rewriter, loc, state.reduce.getReduceOp(), own,
                                         threadDims(), state.reduce.getSkipNan());
    auto unit = init.getDefiningOp<ConstantOp>();
    hasInit.push_back(!continues && !(unit && unit.getValue() == state.unit()));
    if (hasInit.back()) {
      init = rebased(rewriter, state, init, before);
      whole = MapOp::create(rewriter, loc, state.combiner(), ValueRange{init, whole});
    }
    once[state.joined] = whole;
    wholes.push_back(whole);
  }
  for (auto [i, state] : llvm::enumerate(states)) {
    // The loop carries the old value unchanged; canonicalization removes it.
    yield->setOperand(state.number, replaced.getRegionIterArg(state.number));
    rewriter.replaceAllUsesWith(replaced.getResult(state.number), wholes[i]);
    if (!hasInit[i])
      tiles[wholes[i]] = replaced.getResult(first + i);
  }
}

namespace {
struct TilePerThreadPartials : tile::impl::TilePerThreadPartialsBase<TilePerThreadPartials> {
  using TilePerThreadPartialsBase::TilePerThreadPartialsBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      int64_t threads = 32 * kernel.getNumWarps();
      int64_t blocks = kernel.getClusterSize();
      Coordinates coordinates(kernel);
      SmallVector<scf::ForOp> loops;
      kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) { loops.push_back(loop); });
      Renaming tiles;
      for (scf::ForOp loop : loops) {
        mergeStatistics(loop);
        PartialsPerThread partials(loop, coordinates, threads, blocks);
        if (partials.find())
          partials.rewrite(tiles);
      }
    }
  }
};
} // namespace
