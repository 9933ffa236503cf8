//===- PerThreadPartials.cpp - Each thread has statistics of its own --------===//
//
// A loop that walks a row for its sum or its maximum joins a number with a reduction of a tile in
// each step, for which all threads wait. Here the number becomes a tile with an element for each
// thread, which joins what it holds itself, and one reduction follows the loop.
//
// A loop for sums of e^(x - m), m being the row's maximum, carries the maximum so far and makes its
// sums smaller whenever that grows. For each thread these are relative to its own maximum then, and
// they are brought to the common one at the end by the factor that the loop itself has for that.
// What is joined where x is the maximum so far, and dropped whenever that grows, is each thread's
// own in the same way.
//
// The threads of a block hold neighbours, as wide pieces as they are loaded in, and further ones
// behind those of all threads; the blocks of a cluster have a part of the tile each. Of columns,
// for which a loop carries a row of numbers, a thread has those of its piece of a row, and the
// threads whose pieces lie below it have numbers of their own.
//
//===----------------------------------------------------------------------===//
#include "MergeStatistics.h"
#include "Numerics/Zero.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Common/Monoids.h"
#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPERTHREADPARTIALS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// A carried number that each step joins with a reduction of a tile.
struct State {
  unsigned number;
  Value carried;
  tile::ReduceOp reduce;
  MapOp join;
  Value part;   // what is joined: the reduction, perhaps in a wider type
  Value factor; // what the number is multiplied by before
  Value kept;   // whether it counts, or is the unit

  bool isRelative() const { return factor || kept; }
  TypedAttr unit() {
    return unitOf(reduce.getReduceOp(), cast<RankedTensorType>(carried.getType()).getElementType());
  }
};

/// A power of two of an exponent relative to a gauge.
struct Weight {
  Value exponent;
  Value gauge; // what is taken away: the gauge, or a number where that is not finite; scaled if the
               // exponent is, first
  Value scale;
  bool isScaledFirst;
};

/// Values of a program, each by what takes its place.
using Renaming = llvm::DenseMap<Value, Value>;

class Deferral {
public:
  Deferral(scf::ForOp loop, const Coordinates &coordinates, int64_t threads, int64_t blocks)
      : loop(loop), coordinates(coordinates), threads(threads), blocks(blocks) {}

  bool find();
  /// `tiles`: of numbers that earlier loops have left, the tiles that they were made of.
  void rewrite(Renaming &tiles);

private:
  std::optional<State> stateOf(unsigned number);
  bool dependsOnLoop(Value value, Value exceptFor);
  bool isOfNumbers(Value value);
  bool isGuarded(Value reference);
  std::optional<Weight> weightOf(Value weight);
  bool isRelative(State sum);
  bool isQuestion(Value condition, Value x, Value extremum);
  bool isChosen(Value tile, TypedAttr unit);
  bool isIndicated(State state);
  bool areApart();
  bool findSteps();

  RankedTensorType typeOf(Value number) {
    return RankedTensorType::get(ofThreads(),
                                 cast<RankedTensorType>(number.getType()).getElementType());
  }
  using Numbers = SmallVector<int64_t>;
  /// The shape of a tile with an element for each thread, or for each column of its piece, and of
  /// one with all that threads have.
  Numbers ofThreads() const {
    if (columns)
      return {groups, columns};
    return blocks > 1 ? Numbers{blocks, threads} : Numbers{threads};
  }
  Numbers ofPieces() const {
    if (columns)
      return {rest, groups, columns};
    return blocks > 1 ? Numbers{blocks, rest, threads, width} : Numbers{rest, threads, width};
  }
  /// The dimensions of the second that the first has, and those that it has not.
  Numbers kept() const { return columns ? Numbers{1, 2} : blocks > 1 ? Numbers{0, 2} : Numbers{1}; }
  Numbers joined() const {
    return columns ? Numbers{0} : blocks > 1 ? Numbers{1, 3} : Numbers{0, 2};
  }
  /// The dimensions of the first that a number of the loop, or a row of them, has not.
  Numbers ofLoop() const { return columns || blocks == 1 ? Numbers{0} : Numbers{0, 1}; }
  Value onThreads(OpBuilder &builder, Value number);
  Value rebased(OpBuilder &builder, State state, Value number, Renaming &known);
  Value rename(OpBuilder &builder, Value value, Renaming &known);
  Value tileOf(OpBuilder &builder, Value tile, Renaming &known);
  Value reduce(OpBuilder &builder, tile::ReduceOp old, Renaming &known);

  scf::ForOp loop;
  const Coordinates &coordinates;
  int64_t threads, blocks, width = 1, rest = 1; // of a tile: blocks x rest x threads x width
  int64_t columns = 0,
          groups =
              1; // of one whose columns are reduced: rest x groups x columns; 0: there are none
  SmallVector<State> states; // those that are relative behind their gauge
  std::optional<State> gauge;
  std::optional<Weight> common; // of sums: how the number so far is brought to the new gauge
};
} // namespace

//===----------------------------------------------------------------------===//
// What is deferred
//===----------------------------------------------------------------------===//

/// The reduction that a number is, as it is or made wider: the end of its type is then the wider
/// one's.
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

std::optional<State> Deferral::stateOf(unsigned number) {
  Value carried = loop.getRegionIterArg(number);
  auto type = dyn_cast<RankedTensorType>(carried.getType());
  auto join = loop.getYieldedValues()[number].getDefiningOp<MapOp>();
  if (!type || type.getRank() > 1 || !join || join->getBlock() != loop.getBody() ||
      join.getInputs().size() != 2)
    return std::nullopt;
  for (unsigned i = 0; i < 2; ++i) {
    Value part = join.getInputs()[i];
    tile::ReduceOp reduce = reductionOf(part);
    if (!reduce || reduce->getBlock() != loop.getBody() ||
        reduce.getInput().getType().getRank() != type.getRank() + 1 ||
        reduce.getDims() != ArrayRef<int64_t>{0} ||
        join.getScalarOp() != reduceOpCombiner(reduce.getReduceOp()))
      continue;
    Value other = join.getInputs()[1 - i];
    State state{number, carried, reduce, join, part, Value(), Value()};
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

/// Whether a value of the body is made of what the loop carries, by another way than by
/// `exceptFor`.
bool Deferral::dependsOnLoop(Value value, Value exceptFor) {
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

/// Whether a number is made of the states and of what is known outside the loop, element by
/// element.
bool Deferral::isOfNumbers(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isAncestor(op) ||
      llvm::any_of(states, [&](State &state) { return state.join == op; }))
    return true;
  return isa<MapOp, tile::CastOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isOfNumbers(operand); });
}

/// Whether a reference that is made of the new gauge is a number even where that is not: a thread
/// may have seen nothing while others have.
bool Deferral::isGuarded(Value reference) {
  if (reference == gauge->join.getResult())
    return false;
  auto map = reference.getDefiningOp<MapOp>();
  if (!map || !loop->isAncestor(map))
    return true;
  auto isFinite = [](Value value) {
    auto constant = value.getDefiningOp<ConstantOp>();
    auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return number && number.getValue().isFinite();
  };
  return (map.getScalarOp() == ScalarOp::Maximum && llvm::any_of(map.getInputs(), isFinite)) ||
         llvm::all_of(map.getInputs(), [&](Value input) { return isGuarded(input); });
}

/// What a number has been made a tile of.
static Value withoutBroadcast(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return broadcast ? broadcast.getInput() : value;
}

static bool isZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && isZero(constant.getValue());
}

static bool areSame(Value a, Value b) {
  auto x = a.getDefiningOp<ConstantOp>(), y = b.getDefiningOp<ConstantOp>();
  return a == b || (x && y && x.getValue() == y.getValue());
}

/// The parts of exp2((exponent - gauge) * scale), or of exp2(exponent * scale - gauge), of which
/// the product may be rounded first, as a sum with zero; gauge and scale may be tiles of the same
/// number.
std::optional<Weight> Deferral::weightOf(Value weight) {
  auto mapOf = [](Value value, ScalarOp op) {
    auto map = value.getDefiningOp<MapOp>();
    return map && map.getScalarOp() == op ? map : MapOp();
  };
  MapOp power = mapOf(weight, ScalarOp::Exp2);
  if (!power)
    return std::nullopt;
  if (MapOp fma = mapOf(power.getInputs()[0], ScalarOp::Fma)) {
    MapOp taken = mapOf(fma.getInputs()[2], ScalarOp::Neg);
    if (!taken)
      return std::nullopt;
    return Weight{fma.getInputs()[0], withoutBroadcast(taken.getInputs()[0]),
                  withoutBroadcast(fma.getInputs()[1]),
                  /*isScaledFirst=*/true};
  }
  if (MapOp difference = mapOf(power.getInputs()[0], ScalarOp::Sub))
    if (MapOp product = mapOf(difference.getInputs()[0], ScalarOp::Fma);
        product && isZero(product.getInputs()[2]))
      return Weight{product.getInputs()[0], withoutBroadcast(difference.getInputs()[1]),
                    withoutBroadcast(product.getInputs()[1]), /*isScaledFirst=*/true};
  MapOp product = mapOf(power.getInputs()[0], ScalarOp::Mul);
  MapOp difference = product ? mapOf(product.getInputs()[0], ScalarOp::Sub) : MapOp();
  if (!difference)
    return std::nullopt;
  return Weight{difference.getInputs()[0], withoutBroadcast(difference.getInputs()[1]),
                product.getInputs()[1],
                /*isScaledFirst=*/false};
}

/// Whether a sum is of weights relative to the new gauge, each perhaps times something, and is made
/// smaller as those are.
bool Deferral::isRelative(State sum) {
  std::optional<Weight> rebase = sum.factor ? weightOf(sum.factor) : std::nullopt;
  auto isCommon = [&](const Weight &weight) {
    return !common || (weight.gauge == common->gauge && areSame(weight.scale, common->scale) &&
                       weight.isScaledFirst == common->isScaledFirst);
  };
  if (!rebase || rebase->exponent != gauge->carried || !isCommon(*rebase) ||
      dependsOnLoop(rebase->gauge, gauge->join.getResult()) ||
      dependsOnLoop(rebase->scale, gauge->join.getResult()) || !isGuarded(rebase->gauge) ||
      !isOfNumbers(sum.factor))
    return false;
  common = rebase;
  auto isTerm = [&](Value term) {
    std::optional<Weight> weight = weightOf(term);
    return weight && isCommon(*weight) && !dependsOnLoop(weight->exponent, Value());
  };
  auto product = sum.reduce.getInput().getDefiningOp<MapOp>();
  if (!product || product.getScalarOp() != ScalarOp::Mul)
    return isTerm(sum.reduce.getInput());
  Value a = product.getInputs()[0], b = product.getInputs()[1];
  return (isTerm(a) && !dependsOnLoop(b, Value())) || (isTerm(b) && !dependsOnLoop(a, Value()));
}

/// x == extremum, or that and whether x is nan; the extremum may be a tile of the same number.
bool Deferral::isQuestion(Value condition, Value x, Value extremum) {
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
    return isQuestion(inputs[0], x, extremum) && isNan(inputs[1].getDefiningOp<MapOp>());
  Value other = map.getScalarOp() == ScalarOp::Eq && inputs[0] == x ? inputs[1] : Value();
  if (auto broadcast = other ? other.getDefiningOp<BroadcastOp>() : BroadcastOp())
    other = broadcast.getInput();
  return other && other == extremum;
}

/// Whether a tile is the unit wherever an element is not the new gauge, and nothing else of the
/// loop is in it.
bool Deferral::isChosen(Value tile, TypedAttr unit) {
  auto where = tile.getDefiningOp<MapOp>();
  auto other = where && where.getScalarOp() == ScalarOp::Where
                   ? where.getInputs()[2].getDefiningOp<ConstantOp>()
                   : ConstantOp();
  if (!other || other.getValue() != unit)
    return false;
  Value condition = where.getInputs()[0], chosen = where.getInputs()[1];
  if (!dependsOnLoop(condition, Value()))
    return isChosen(chosen, unit);
  return isQuestion(condition, gauge->reduce.getInput(), gauge->join.getResult()) &&
         !dependsOnLoop(chosen, Value());
}

/// Whether a state joins what belongs to elements that are the new gauge, and counts while the
/// gauge stays.
bool Deferral::isIndicated(State state) {
  Type element = state.reduce.getInput().getType().getElementType();
  return !gauge->reduce.getSkipNan() && isOfNumbers(state.kept) &&
         isQuestion(state.kept, gauge->carried, gauge->join.getResult()) &&
         isChosen(state.reduce.getInput(), unitOf(state.reduce.getReduceOp(), element));
}

/// How threads hold the tiles: as wide pieces as they are loaded in. For a gauge of its own each
/// should have several.
bool Deferral::findSteps() {
  constexpr int64_t fewest = 4;
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
  if (!llvm::all_of(states, fits))
    return false;
  if (type.getRank() == 1)
    return rest * width >= (gauge ? fewest : 1);
  // Each warp has rows, or further pieces of its own row where that is long; what is computed by
  // other means may lie otherwise.
  constexpr int64_t lanes = 32;
  columns = type.getDimSize(1);
  groups =
      std::min(threads / lanes * std::max<int64_t>(1, lanes * width / columns), type.getDimSize(0));
  rest = type.getDimSize(0) / groups;
  return isLoaded && blocks == 1 && rest > 1 && rest * groups == type.getDimSize(0);
}

/// Whether nothing but the states' own joins knows them on their way.
bool Deferral::areApart() {
  llvm::SmallPtrSet<Operation *, 16> known;
  std::function<bool(Value)> isInside = [&](Value value) -> bool {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (isa<scf::YieldOp>(user) || !known.insert(user).second)
        return true;
      return isa<MapOp, BroadcastOp, tile::CastOp, tile::ReduceOp>(user) &&
             isInside(user->getResult(0));
    });
  };
  auto isState = [&](unsigned number) {
    return llvm::any_of(states, [&](const State &state) { return state.number == number; });
  };
  if (!llvm::all_of(states, [&](State &state) {
        return isInside(state.carried) && isInside(state.join.getResult());
      }))
    return false;
  for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues()))
    if (!isState(i) && yielded.getDefiningOp() && known.contains(yielded.getDefiningOp()))
      return false;
  return true;
}

bool Deferral::find() {
  SmallVector<State> relative;
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
    std::optional<State> state = stateOf(i);
    if (state && state->isRelative())
      relative.push_back(*state);
    else if (state && !dependsOnLoop(state->reduce.getInput(), Value()))
      states.push_back(*state);
  }
  // Of several maxima, the one that all of these are relative to.
  auto isGauge = [&](State &state) {
    gauge = state;
    common.reset();
    return state.reduce.getReduceOp() == tessera::ReduceOp::Max &&
           llvm::all_of(relative, [&](State &each) {
             return each.factor ? isRelative(each) : isIndicated(each);
           });
  };
  if (!relative.empty() && llvm::none_of(states, isGauge))
    return false;
  // Of rows and columns in one loop the larger tiles are worth it.
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
  return !states.empty() && areApart() && findSteps();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// A number that all threads have.
Value Deferral::onThreads(OpBuilder &builder, Value number) {
  if (auto constant = number.getDefiningOp<ConstantOp>())
    return ConstantOp::create(builder, loop.getLoc(), typeOf(number), constant.getValue());
  bool isRow = cast<RankedTensorType>(number.getType()).getRank() == 1;
  return BroadcastOp::create(builder, loop.getLoc(), number, ofThreads(),
                             isRow ? Numbers{1} : Numbers{});
}

/// The operations that make a number, with others in place of what is known, for each thread or for
/// all.
Value Deferral::rename(OpBuilder &builder, Value value, Renaming &known) {
  if (Value found = known.lookup(value))
    return found;
  if (auto cast = value.getDefiningOp<tile::CastOp>(); cast && loop->isAncestor(cast))
    return known[value] =
               tile::CastOp::create(builder, cast.getLoc(), rename(builder, cast.getInput(), known),
                                    getElementTypeOrSelf(value));
  auto map = value.getDefiningOp<MapOp>();
  if (!map || !loop->isAncestor(map)) {
    bool isOfThreads = llvm::any_of(known, [&](auto &pair) {
      return cast<RankedTensorType>(pair.second.getType()).getShape() ==
             ArrayRef<int64_t>(ofThreads());
    });
    return isOfThreads ? known[value] = onThreads(builder, value) : value;
  }
  SmallVector<Value> operands;
  for (Value operand : map.getInputs())
    operands.push_back(rename(builder, operand, known));
  return known[value] =
             MapOp::create(builder, map.getLoc(), map.getScalarOp(), operands, map.getFast());
}

Value Deferral::tileOf(OpBuilder &builder, Value tile, Renaming &known) {
  if (!dependsOnLoop(tile, Value()))
    return tile;
  if (Value found = known.lookup(tile))
    return found;
  if (auto broadcast = tile.getDefiningOp<BroadcastOp>()) {
    Value all =
        BroadcastOp::create(builder, broadcast.getLoc(),
                            rename(builder, broadcast.getInput(), known), ofPieces(), kept());
    return known[tile] =
               ReshapeOp::create(builder, broadcast.getLoc(), all, broadcast.getType().getShape());
  }
  auto map = tile.getDefiningOp<MapOp>();
  SmallVector<Value> operands;
  for (Value operand : map.getInputs())
    operands.push_back(tileOf(builder, operand, known));
  return known[tile] =
             MapOp::create(builder, map.getLoc(), map.getScalarOp(), operands, map.getFast());
}

/// A state as it is relative to a new gauge.
Value Deferral::rebased(OpBuilder &builder, State state, Value number, Renaming &known) {
  Location loc = state.join.getLoc();
  if (state.factor)
    return MapOp::create(builder, loc, ScalarOp::Mul,
                         ValueRange{number, rename(builder, state.factor, known)});
  if (!state.kept)
    return number;
  Value dropped =
      ConstantOp::create(builder, loc, cast<RankedTensorType>(number.getType()), state.unit());
  return MapOp::create(builder, loc, ScalarOp::Where,
                       ValueRange{rename(builder, state.kept, known), number, dropped});
}

Value Deferral::reduce(OpBuilder &builder, tile::ReduceOp old, Renaming &known) {
  Value pieces =
      ReshapeOp::create(builder, old.getLoc(), tileOf(builder, old.getInput(), known), ofPieces());
  return tile::ReduceOp::create(builder, old.getLoc(), old.getReduceOp(), pieces, joined(),
                                old.getSkipNan());
}

void Deferral::rewrite(Renaming &tiles) {
  IRRewriter rewriter(loop);
  Location loc = loop.getLoc();
  SmallVector<Value> inits, starts;
  bool goesOn = true;
  for (State &state : states) {
    inits.push_back(loop.getInitArgs()[state.number]);
    Value tile = tiles.lookup(inits.back());
    goesOn &= tile && tile.getType() == typeOf(inits.back());
  }
  for (auto [state, init] : llvm::zip_equal(states, inits)) {
    RankedTensorType type = typeOf(init);
    starts.push_back(
        goesOn ? tiles.lookup(init)
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
          Value part = rename(inside, state.part, known);
          Value whole = rebased(inside, state, known[state.carried], known);
          Value joined = MapOp::create(inside, state.join.getLoc(), state.join.getScalarOp(),
                                       ValueRange{whole, part});
          known[state.join.getResult()] = joined;
          yielded.push_back(joined);
        }
        return yielded;
      }));
  loop = replaced;
  rewriter.setInsertionPointAfter(replaced);
  unsigned first = replaced.getNumResults() - states.size();
  auto *yield = replaced.getBody()->getTerminator();
  SmallVector<Value> wholes;
  SmallVector<bool> hasInit; // it is joined with the tile behind the loop only
  Renaming once;             // values of the body, as they are for the whole row
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
      SmallVector<Value, 2> references = {gauge->join.getResult()};
      if (state.factor)
        references = {common->gauge, common->scale};
      for (Value reference : references) {
        before[reference] = rename(rewriter, reference, once);
        known[reference] = onThreads(rewriter, before[reference]);
      }
      own = rebased(rewriter, state, own, known);
    }
    Value whole = tile::ReduceOp::create(rewriter, loc, state.reduce.getReduceOp(), own, ofLoop(),
                                         state.reduce.getSkipNan());
    auto unit = init.getDefiningOp<ConstantOp>();
    hasInit.push_back(!goesOn && !(unit && unit.getValue() == state.unit()));
    if (hasInit.back()) {
      init = rebased(rewriter, state, init, before);
      whole = MapOp::create(rewriter, loc, state.join.getScalarOp(), ValueRange{init, whole});
    }
    once[state.join.getResult()] = whole;
    wholes.push_back(whole);
  }
  for (auto [i, state] : llvm::enumerate(states)) {
    // The old value goes through the loop as it is, and leaves it by a later pass.
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
      int64_t threads = 32 * getHint(kernel.getHintsAttr(), "num_warps").value_or(4);
      int64_t blocks = getHint(kernel.getHintsAttr(), "cluster_size").value_or(1);
      Coordinates coordinates(kernel);
      SmallVector<scf::ForOp> loops;
      kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) { loops.push_back(loop); });
      Renaming tiles;
      for (scf::ForOp loop : loops) {
        mergeStatistics(loop);
        Deferral deferral(loop, coordinates, threads, blocks);
        if (deferral.find())
          deferral.rewrite(tiles);
      }
    }
  }
};
} // namespace
