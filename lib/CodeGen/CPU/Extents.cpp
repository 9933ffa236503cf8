//===- Extents.cpp - Which part of a tile is demanded ---------------------===//
#include "Extents.h"
#include "Plan.h"

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

/// Whole AMX blocks where a kernel may use AMX, otherwise the unroll factor of K loops.
static int64_t stepOf(tile::KernelOp kernel, const CpuDescription &cpu) {
  return cpu.hasAmx && kernel.getField(TuningField::UseAmx) != 0 ? 32 : 4;
}

Extents::Extents(tile::KernelOp kernel, const CpuDescription &cpu)
    : cpu(cpu), step(stepOf(kernel, cpu)) {
  // Loops propagate demands backwards. The lattice has little height, so a few sweeps converge.
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

bool Extents::demand(Value tile, unsigned dim, const Extent &extent) {
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
        Plan::mayCrossEnd(load.getView().getType(), load.getDims(), Plan::shapeOf(value), dim))
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

static bool isIdentity(Attribute number, tessera::ReduceOp kind) {
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

/// Whether a tile is constant along `dim`.
static bool isConstantAlong(Value tile, unsigned dim) {
  if (auto map = tile.getDefiningOp<tile::MapOp>(); map && map.getScalarOp() == ScalarOp::Neg)
    return isConstantAlong(map.getInputs()[0], dim);
  auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
  return broadcast && !llvm::is_contained(broadcast.getDims(), int64_t(dim));
}

namespace {
/// The value that a tile has everywhere past an edge.
struct Beyond {
  Extent::Bound edge;
  TypedAttr number;
};

/// Computes the values of tiles past their edges along a dimension by constant folding.
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
      bool crosses =
          Plan::mayCrossEnd(load.getView().getType(), load.getDims(), Plan::shapeOf(tile), dim);
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
    if (map && isShiftedByRow(map, numbers))
      return Beyond{first->edge, numbers[0]};
    if (map && map.getScalarOp() == ScalarOp::Exp2 &&
        isIdentity(numbers[0], tessera::ReduceOp::Max))
      return Beyond{first->edge, FloatAttr::get(numbers[0].getType(), 0.0)};
    Type element = Plan::elementOf(tile);
    TypedAttr number = map                     ? tile::foldScalarOp(map.getScalarOp(), numbers)
                       : isa<tile::CastOp>(op) ? tile::foldCast(numbers[0], element)
                                               : tile::foldBitcast(numbers[0], element);
    return number ? std::optional(Beyond{first->edge, number}) : std::nullopt;
  }

  /// Whether a map keeps -inf, up to a shift that is constant along the row. (Where the shift makes
  /// it NaN, it does so for the elements inside the edge, too.)
  bool isShiftedByRow(tile::MapOp map, ArrayRef<TypedAttr> numbers) const {
    bool isSub = map.getScalarOp() == ScalarOp::Sub, isFma = map.getScalarOp() == ScalarOp::Fma;
    return isIdentity(numbers[0], tessera::ReduceOp::Max) &&
           ((isSub && isConstantAlong(map.getInputs()[1], dim)) ||
            (isFma && isPositive(map.getInputs()[1]) && isConstantAlong(map.getInputs()[2], dim)));
  }

  /// Whether a tile consists of positive constants, or selects between such tiles.
  static bool isPositive(Value tile) {
    if (auto broadcast = tile.getDefiningOp<tile::BroadcastOp>())
      return isPositive(broadcast.getInput());
    if (auto choice = tile.getDefiningOp<tile::MapOp>();
        choice && choice.getScalarOp() == ScalarOp::Where)
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
  if (shape.empty() || !Plan::needsRowLoop(shape.back(), cpu) ||
      !llvm::is_contained(op.getDims(), int64_t(last)))
    return std::nullopt;
  std::optional<Beyond> beyond = BeyondEdges(last).of(input);
  return beyond && isIdentity(beyond->number, op.getReduceOp()) ? std::optional(beyond->edge)
                                                                : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Wants
//===----------------------------------------------------------------------===//

bool Extents::visit(Operation *op) {
  bool changed = false;
  auto rank = [](Value value) { return unsigned(Plan::shapeOf(value).size()); };
  auto isTile = [](Value value) { return isa<RankedTensorType>(value.getType()); };
  auto demanded = [&](Value value, unsigned dim) -> Extent {
    auto it = extents.find(value);
    return it == extents.end() ? Extent() : it->second[dim];
  };
  auto demandAll = [&](Value value) {
    extents[value].resize(rank(value));
    for (unsigned d = 0; d < rank(value); ++d)
      changed |= demand(value, d, everything());
  };
  auto demandSame = [&](Value value, Value like) {
    extents[value].resize(rank(value));
    for (unsigned d = 0; d < rank(value); ++d)
      changed |= demand(value, d, demanded(like, d));
  };
  if (auto store = dyn_cast<tile::StoreOp>(op)) {
    ArrayRef<int64_t> shape = Plan::shapeOf(store.getValue());
    extents[store.getValue()].resize(shape.size());
    for (unsigned d = 0; d < shape.size(); ++d) {
      bool crosses = store.getBounded() &&
                     Plan::mayCrossEnd(store.getView().getType(), store.getDims(), shape, d);
      changed |= demand(store.getValue(), d, crosses ? boundedBy(op, d) : everything());
    }
  } else if (isa<tile::MapOp, tile::CastOp, tile::BitcastOp>(op)) {
    for (Value operand : op->getOperands())
      demandSame(operand, op->getResult(0));
  } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
    for (Value place : gather.getIndices()) // any value past the edge is clamped
      demandSame(place, gather.getResult());
  } else if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    ArrayRef<int64_t> from = Plan::shapeOf(broadcast.getInput()),
                      to = broadcast.getType().getShape();
    extents[broadcast.getInput()].resize(from.size());
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
      changed |= demand(broadcast.getInput(), i,
                        from[i] == to[dim] ? demanded(broadcast, dim) : everything());
  } else if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
    extents[transpose.getInput()].resize(rank(transpose.getInput()));
    for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
      changed |= demand(transpose.getInput(), dim, demanded(transpose, i));
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    unsigned kept = 0, last = rank(reduce.getInput()) - 1;
    extents[reduce.getInput()].resize(rank(reduce.getInput()));
    std::optional<Extent::Bound> bound = reduced(reduce);
    for (unsigned d = 0; d < rank(reduce.getInput()); ++d) {
      Extent joined = bound && d == last ? boundedBy(bound->access, bound->dim) : everything();
      changed |= demand(
          reduce.getInput(), d,
          llvm::is_contained(reduce.getDims(), int64_t(d)) ? joined : demanded(reduce, kept++));
    }
  } else if (auto mma = dyn_cast<tile::MmaOp>(op)) {
    Extent inner = everything();
    if (std::optional<Extent::Bound> bound = contracted(mma))
      inner = boundedBy(bound->access, bound->dim);
    extents[mma.getLhs()].resize(2);
    extents[mma.getRhs()].resize(2);
    changed |= demand(mma.getLhs(), 0, demanded(mma, 0));
    changed |= demand(mma.getLhs(), 1, inner);
    changed |= demand(mma.getRhs(), 0, inner);
    changed |= demand(mma.getRhs(), 1, demanded(mma, 1));
    demandSame(mma.getAcc(), mma);
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    auto yield = loop.getBody()->getTerminator();
    for (auto [result, argument, init, next] :
         llvm::zip(loop.getResults(), loop.getRegionIterArgs(), loop.getInitArgs(),
                   yield->getOperands())) {
      if (!isTile(result))
        continue;
      // The initial, carried, yielded and final tile share one buffer, so a demand on one is a
      // demand on each. A bound by an access inside the loop changes with the iteration and
      // hasOption nothing about the tile of another iteration.
      demandSame(argument, result);
      for (Value value : {Value(next), Value(init), Value(result)}) {
        extents[value].resize(rank(value));
        for (unsigned d = 0; d < rank(value); ++d) {
          Extent extent = demanded(argument, d);
          bool isInside = llvm::any_of(extent.bounds,
                                       [&](auto &bound) { return loop->isAncestor(bound.access); });
          changed |= demand(value, d, isInside ? everything() : extent);
        }
      }
    }
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Region &region : branch->getRegions())
      if (!region.empty())
        for (auto [result, value] :
             llvm::zip(branch.getResults(), region.front().getTerminator()->getOperands()))
          if (isTile(result))
            demandSame(value, result);
  } else if (!isa<scf::YieldOp>(op)) {
    for (Value operand : op->getOperands())
      if (isTile(operand))
        demandAll(operand);
  }
  return changed;
}
