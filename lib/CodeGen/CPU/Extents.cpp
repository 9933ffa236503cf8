//===- Extents.cpp - How much of a tile is wanted -------------------------===//
#include "Extents.h"
#include "Plan.h"

#include "tessera/Dialect/Common/LaunchHints.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

static constexpr size_t mostBounds = 4;

bool Extent::join(const Extent &other) {
  if (all)
    return false;
  if (other.all || bounds.size() + other.bounds.size() > 2 * mostBounds) {
    all = true;
    return true;
  }
  bool changed = false;
  for (const Bound &bound : other.bounds)
    if (!llvm::is_contained(bounds, bound)) {
      bounds.push_back(bound);
      changed = true;
    }
  if (bounds.size() > mostBounds)
    all = true;
  return changed;
}

static Extent everything() {
  Extent extent;
  extent.all = true;
  return extent;
}

static Extent boundedBy(Operation *access, unsigned dim) {
  Extent extent;
  extent.bounds.push_back({access, dim});
  return extent;
}

/// Whole blocks of the tile unit where a kernel may use it, else what loops are unrolled by.
static int64_t stepOf(tile::KernelOp kernel, const CpuDescription &cpu) {
  return cpu.hasTileUnit && getHint(kernel.getHintsAttr(), "unit") != 0 ? 32 : 4;
}

Extents::Extents(tile::KernelOp kernel, const CpuDescription &cpu)
    : cpu(cpu), step(stepOf(kernel, cpu)) {
  // Loops carry wants backwards; the lattice is low, so a few sweeps are enough.
  bool changed = true;
  while (changed) {
    changed = false;
    SmallVector<Operation *> order;
    kernel.walk([&](Operation *op) { order.push_back(op); });
    for (Operation *op : llvm::reverse(order))
      changed |= visit(op);
  }
}

const Extent &Extents::of(Value tile, unsigned dim) const {
  static const Extent all = everything();
  auto it = extents.find(tile);
  return it == extents.end() ? all : it->second[dim];
}

bool Extents::want(Value tile, unsigned dim, const Extent &extent) {
  auto &mine = extents[tile];
  mine.resize(Plan::shapeOf(tile).size());
  return mine[dim].join(extent);
}

std::optional<Extent::Bound> Extents::contracted(tile::MmaOp op) const {
  if (Plan::shapeOf(op.getRhs())[0] % step)
    return std::nullopt;
  for (unsigned operand : {1u, 0u}) {
    Value value = op->getOperand(operand);
    while (auto cast = value.getDefiningOp<tile::CastOp>())
      value = cast.getInput();
    auto load = value.getDefiningOp<tile::LoadOp>();
    if (!load || !load.getPadAttr())
      continue;
    auto real = dyn_cast<FloatAttr>(load.getPadAttr());
    auto integer = dyn_cast<IntegerAttr>(load.getPadAttr());
    bool isZero = real ? real.getValue().isZero() : integer && integer.getValue().isZero();
    unsigned dim = operand == 1 ? 0 : 1;
    if (isZero &&
        Plan::mayCross(load.getView().getType(), load.getDims(), Plan::shapeOf(value), dim))
      return Extent::Bound{load, dim};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

bool EdgeMask::match(Value tile, unsigned dim) {
  int64_t size = Plan::shapeOf(tile)[dim];
  if (auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
      broadcast && broadcast.getDims() == ArrayRef<int64_t>(int64_t(dim)))
    tile = broadcast.getInput();
  if (Plan::shapeOf(tile) != ArrayRef<int64_t>(size))
    return false;
  value = tile;
  auto map = tile.getDefiningOp<tile::MapOp>();
  if (!map || map.getScalarOp() != ScalarOp::Lt)
    return false;
  index = map.getInputs()[0].getDefiningOp<tile::IotaOp>();
  limit = map.getInputs()[1].getDefiningOp<tile::SplatOp>();
  return index && limit && isa<IndexType>(limit.getScalar().getType());
}

static bool isUnit(Attribute number, tessera::ReduceOp kind) {
  auto real = dyn_cast_or_null<FloatAttr>(number);
  if (!real)
    return false;
  const APFloat &value = real.getValue();
  switch (kind) {
  case tessera::ReduceOp::Sum:
    return value.isPosZero();
  case tessera::ReduceOp::Max:
    return value.isInfinity() && value.isNegative();
  case tessera::ReduceOp::Min:
    return value.isInfinity() && !value.isNegative();
  default:
    return false;
  }
}

/// Whether a tile has one value along `dim`.
static bool isOfRow(Value tile, unsigned dim) {
  if (auto map = tile.getDefiningOp<tile::MapOp>(); map && map.getScalarOp() == ScalarOp::Neg)
    return isOfRow(map.getInputs()[0], dim);
  auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
  return broadcast && !llvm::is_contained(broadcast.getDims(), int64_t(dim));
}

namespace {
/// A number that a tile is everywhere beyond an edge.
struct Beyond {
  Extent::Bound edge;
  TypedAttr number;
};

/// Finds what tiles are beyond their edges along a dimension, by computing with numbers.
class BeyondEdges {
public:
  explicit BeyondEdges(unsigned dim) : dim(dim) {}

  std::optional<Beyond> of(Value tile) {
    if (auto it = known.find(tile); it != known.end())
      return it->second;
    std::optional<Beyond> found = find(tile);
    return known[tile] = found;
  }

private:
  std::optional<Beyond> find(Value tile) {
    Operation *op = tile.getDefiningOp();
    if (auto load = dyn_cast_or_null<tile::LoadOp>(op)) {
      bool crosses = Plan::mayCross(load.getView().getType(), load.getDims(), Plan::shapeOf(tile), dim);
      if (crosses && load.getPadAttr())
        return Beyond{{load, dim}, load.getPadAttr()};
      return std::nullopt;
    }
    if (!isa_and_nonnull<tile::MapOp, tile::CastOp, tile::BitcastOp>(op))
      return std::nullopt;
    auto map = dyn_cast<tile::MapOp>(op);
    bool isChoice = map && map.getScalarOp() == ScalarOp::Where;
    if (EdgeMask mask; isChoice && mask.match(map.getInputs()[0], dim))
      if (auto other = map.getInputs()[2].getDefiningOp<tile::ConstantOp>())
        return Beyond{{mask.value.getDefiningOp(), 0}, other.getValue()};
    std::optional<Beyond> first;
    SmallVector<TypedAttr> numbers;
    for (Value operand : op->getOperands()) {
      if (auto constant = operand.getDefiningOp<tile::ConstantOp>()) {
        numbers.push_back(constant.getValue());
        continue;
      }
      std::optional<Beyond> beyond = of(operand);
      if (beyond && first && !(beyond->edge == first->edge))
        return std::nullopt;
      if (!first)
        first = beyond;
      numbers.push_back(beyond ? beyond->number : TypedAttr());
    }
    if (!first)
      return std::nullopt;
    if (map && isShifted(map, numbers))
      return Beyond{first->edge, numbers[0]};
    if (map && map.getScalarOp() == ScalarOp::Exp2 && isUnit(numbers[0], tessera::ReduceOp::Max))
      return Beyond{first->edge, FloatAttr::get(numbers[0].getType(), 0.0)};
    Type element = Plan::elementOf(tile);
    TypedAttr number = map                       ? tile::foldScalarOp(map.getScalarOp(), numbers)
                       : isa<tile::CastOp>(op) ? tile::foldCast(numbers[0], element)
                                                 : tile::foldBitcast(numbers[0], element);
    return number ? std::optional(Beyond{first->edge, number}) : std::nullopt;
  }

  /// Whether a map leaves -inf as it is, but for a shift by a row's own value. (Where that makes it nan, it does so before
  /// the edge, too.)
  bool isShifted(tile::MapOp map, ArrayRef<TypedAttr> numbers) const {
    bool isSub = map.getScalarOp() == ScalarOp::Sub, isFma = map.getScalarOp() == ScalarOp::Fma;
    return isUnit(numbers[0], tessera::ReduceOp::Max) && ((isSub && isOfRow(map.getInputs()[1], dim)) ||
           (isFma && isPositive(map.getInputs()[1]) && isOfRow(map.getInputs()[2], dim)));
  }

  /// Whether a tile has positive numbers, or is chosen of such.
  static bool isPositive(Value tile) {
    if (auto broadcast = tile.getDefiningOp<tile::BroadcastOp>())
      return isPositive(broadcast.getInput());
    if (auto choice = tile.getDefiningOp<tile::MapOp>(); choice && choice.getScalarOp() == ScalarOp::Where)
      return isPositive(choice.getInputs()[1]) && isPositive(choice.getInputs()[2]);
    auto constant = tile.getDefiningOp<tile::ConstantOp>();
    auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return number && number.getValue().isFiniteNonZero() && !number.getValue().isNegative();
  }

  unsigned dim;
  DenseMap<Value, std::optional<Beyond>> known;
};
} // namespace

std::optional<Extent::Bound> Extents::reduced(tile::ReduceOp op) const {
  Value input = op.getInput();
  ArrayRef<int64_t> shape = Plan::shapeOf(input);
  unsigned last = unsigned(shape.size()) - 1;
  if (shape.empty() || !Plan::isWalked(shape.back(), cpu) ||
      !llvm::is_contained(op.getDims(), int64_t(last)))
    return std::nullopt;
  std::optional<Beyond> beyond = BeyondEdges(last).of(input);
  return beyond && isUnit(beyond->number, op.getReduceOp()) ? std::optional(beyond->edge) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Wants
//===----------------------------------------------------------------------===//

bool Extents::visit(Operation *op) {
  bool changed = false;
  auto rank = [](Value value) { return unsigned(Plan::shapeOf(value).size()); };
  auto isTile = [](Value value) { return isa<RankedTensorType>(value.getType()); };
  auto wanted = [&](Value value, unsigned dim) -> Extent {
    auto it = extents.find(value);
    return it == extents.end() ? Extent() : it->second[dim];
  };
  auto wantAll = [&](Value value) {
    extents[value].resize(rank(value));
    for (unsigned d = 0; d < rank(value); ++d)
      changed |= want(value, d, everything());
  };
  auto wantSame = [&](Value value, Value like) {
    extents[value].resize(rank(value));
    for (unsigned d = 0; d < rank(value); ++d)
      changed |= want(value, d, wanted(like, d));
  };
  if (auto store = dyn_cast<tile::StoreOp>(op)) {
    ArrayRef<int64_t> shape = Plan::shapeOf(store.getValue());
    extents[store.getValue()].resize(shape.size());
    for (unsigned d = 0; d < shape.size(); ++d) {
      bool crosses = store.getBounded() &&
                     Plan::mayCross(store.getView().getType(), store.getDims(), shape, d);
      changed |= want(store.getValue(), d, crosses ? boundedBy(op, d) : everything());
    }
  } else if (isa<tile::MapOp, tile::CastOp, tile::BitcastOp>(op)) {
    for (Value operand : op->getOperands())
      wantSame(operand, op->getResult(0));
  } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
    for (Value place : gather.getPlaces()) // whatever they are beyond, they are clamped
      wantSame(place, gather.getResult());
  } else if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    ArrayRef<int64_t> from = Plan::shapeOf(broadcast.getInput()),
                      to = broadcast.getType().getShape();
    extents[broadcast.getInput()].resize(from.size());
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
      changed |=
          want(broadcast.getInput(), i, from[i] == to[dim] ? wanted(broadcast, dim) : everything());
  } else if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
    extents[transpose.getInput()].resize(rank(transpose.getInput()));
    for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
      changed |= want(transpose.getInput(), dim, wanted(transpose, i));
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    unsigned kept = 0, last = rank(reduce.getInput()) - 1;
    extents[reduce.getInput()].resize(rank(reduce.getInput()));
    std::optional<Extent::Bound> bound = reduced(reduce);
    for (unsigned d = 0; d < rank(reduce.getInput()); ++d) {
      Extent joined = bound && d == last ? boundedBy(bound->access, bound->dim) : everything();
      changed |= want(reduce.getInput(), d,
                      llvm::is_contained(reduce.getDims(), int64_t(d)) ? joined
                                                                       : wanted(reduce, kept++));
    }
  } else if (auto mma = dyn_cast<tile::MmaOp>(op)) {
    Extent inner = everything();
    if (std::optional<Extent::Bound> bound = contracted(mma))
      inner = boundedBy(bound->access, bound->dim);
    extents[mma.getLhs()].resize(2);
    extents[mma.getRhs()].resize(2);
    changed |= want(mma.getLhs(), 0, wanted(mma, 0));
    changed |= want(mma.getLhs(), 1, inner);
    changed |= want(mma.getRhs(), 0, inner);
    changed |= want(mma.getRhs(), 1, wanted(mma, 1));
    wantSame(mma.getAcc(), mma);
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    auto yield = loop.getBody()->getTerminator();
    for (auto [result, argument, init, next] :
         llvm::zip(loop.getResults(), loop.getRegionIterArgs(), loop.getInitArgs(),
                   yield->getOperands())) {
      if (!isTile(result))
        continue;
      // All four are kept in one buffer: what is wanted of one is wanted of each. What an access
      // inside the loop bounds changes with the iteration, so it says nothing of the tile that
      // another iteration made.
      wantSame(argument, result);
      for (Value value : {Value(next), Value(init), Value(result)}) {
        extents[value].resize(rank(value));
        for (unsigned d = 0; d < rank(value); ++d) {
          Extent extent = wanted(argument, d);
          bool isInside = llvm::any_of(extent.bounds,
                                       [&](auto &bound) { return loop->isAncestor(bound.access); });
          changed |= want(value, d, isInside ? everything() : extent);
        }
      }
    }
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Region &region : branch->getRegions())
      if (!region.empty())
        for (auto [result, value] :
             llvm::zip(branch.getResults(), region.front().getTerminator()->getOperands()))
          if (isTile(result))
            wantSame(value, result);
  } else if (!isa<scf::YieldOp>(op)) {
    for (Value operand : op->getOperands())
      if (isTile(operand))
        wantAll(operand);
  }
  return changed;
}
