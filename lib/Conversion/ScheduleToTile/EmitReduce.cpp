//===- EmitReduce.cpp - Reductions and contractions of blocks -------------===//
//
// The sum of a product over axes that both operands have is a `tile.mma` if each operand also has
// an axis of its own; several axes of one kind are flattened into one. Other reductions are
// computed elementwise and reduced. Where a block may reach past a size, its elements there must be
// the neutral element of the reduction.
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"

#include "tessera/Dialect/Common/Monoids.h"

using namespace mlir;
using namespace tessera;

static ArrayRef<StringAttr> dimsOf(Value value) {
  return cast<sched::ValType>(value.getType()).getDims();
}

static Type elementOf(Value value) {
  return cast<sched::ValType>(value.getType()).getElementType();
}

Type Emitter::accumulatorType(ReduceOp kind, ValueRange values, Type result) {
  if (kind != ReduceOp::Sum && kind != ReduceOp::Prod)
    return elementOf(values.front());
  Type a = gir::accumulationType(elementOf(values.front())), b = gir::accumulationType(result);
  return a.getIntOrFloatBitWidth() > b.getIntOrFloatBitWidth() ? a : b;
}

Value Emitter::identity(ReduceOp kind, const Order &order, Type element,
                        std::optional<int64_t> keys) {
  SmallVector<int64_t> shape(tileType(order, element).getShape());
  if (keys)
    shape.push_back(*keys);
  return create<tile::ConstantOp>(RankedTensorType::get(shape, element), unitOf(kind, element));
}

SmallVector<StringAttr> Emitter::raggedAmong(ArrayRef<StringAttr> dims) {
  SmallVector<StringAttr> ragged;
  for (StringAttr dim : dims)
    if (isRagged(dim))
      ragged.push_back(dim);
  return ragged;
}

/// Whether the value's elements past the size of `dim` are zero without a mask: loads are padded
/// with zeros, weights are powers of an exponent that is -inf there, and some operations keep
/// zeros.
bool Emitter::isZeroAtEdge(Value value, StringAttr dim) {
  Operation *op = value.getDefiningOp();
  if (!cast<sched::ValType>(value.getType()).hasDim(dim))
    return false;
  if (auto load = dyn_cast<sched::LoadOp>(op)) // a gather is padded along its other dimensions only
    return load.getPlaces().empty() || llvm::is_contained(accesses[op].dims, dim);
  if (auto weigh = dyn_cast<sched::WeighOp>(op))
    return isa_and_nonnull<sched::GaugeOp>(weigh.getGauge().getDefiningOp());
  auto isZero = [&](Value v) { return isZeroAtEdge(v, dim); };
  if (isa<sched::CastOp>(op))
    return isZero(op->getOperand(0));
  auto mapOp = dyn_cast<sched::MapOp>(op);
  if (!mapOp)
    return false;
  auto isFinite = [](Value v) {
    auto constant = v.getDefiningOp<sched::ConstantOp>();
    auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return constant && (!number || number.getValue().isFinite());
  };
  switch (mapOp.getScalarOp()) {
  case ScalarOp::Neg:
  case ScalarOp::Abs:
  case ScalarOp::Square:
  case ScalarOp::Relu:
  case ScalarOp::Add:
  case ScalarOp::Sub:
  case ScalarOp::Join:
    return llvm::all_of(mapOp.getInputs(), isZero);
  case ScalarOp::Mul:
    return llvm::any_of(mapOp.getInputs(), isZero) &&
           llvm::all_of(mapOp.getInputs(), [&](Value v) { return isZero(v) || isFinite(v); });
  default:
    return false;
  }
}

/// Whether the value is the position along `dim` where an element equals an indicator, and the
/// neutral element of a minimum elsewhere. Elements past the edge are the lowest value; if the
/// indicator equals that, so do all elements before the edge, whose positions are smaller.
static bool isLeastPosition(ReduceOp kind, Value value, StringAttr dim) {
  auto where = value.getDefiningOp<sched::MapOp>();
  if (kind != ReduceOp::Min || !where || where.getScalarOp() != ScalarOp::Where)
    return false;
  auto isIndex = [&](Value index, SymExpr expression) {
    auto op = index.getDefiningOp<sched::IndexOp>();
    return op && *SymExpr::parse(op.getExpression().str()) == expression;
  };
  auto hit = where.getInputs()[0].getDefiningOp<sched::MapOp>();
  if (hit && hit.getScalarOp() == ScalarOp::Or)
    hit = hit.getInputs()[0].getDefiningOp<sched::MapOp>();
  auto gauge = hit && hit.getScalarOp() == ScalarOp::Eq
                   ? hit.getInputs()[1].getDefiningOp<sched::GaugeOp>()
                   : sched::GaugeOp();
  return gauge && gauge.getIndicator() && gauge.getExponent() == hit.getInputs()[0] &&
         isIndex(where.getInputs()[1], SymExpr::symbol(dim.str())) &&
         isIndex(where.getInputs()[2], INT64_MAX);
}

/// Whether the cast widens loaded 16-bit floats, which may be infinite.
static bool isWideningLoad(sched::CastOp op) {
  Type from = elementOf(op.getInput());
  return op.getInput().getDefiningOp<sched::LoadOp>() && (from.isBF16() || from.isF16()) &&
         isa<FloatType>(elementOf(op.getResult()));
}

/// Whether all uses of the value want the lowest value past an edge, so that it is loaded once.
bool Emitter::isOnlyExponent(Value value) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return isa<sched::GaugeOp>(user) ||
           (isa<sched::WeighOp>(user) && use.getOperandNumber() == 0) ||
           (isa<sched::MapOp>(user) && isCompared(use));
  });
}

/// The value as an operand of a reduction: its elements past a ragged edge are the neutral element.
Value Emitter::emitOperand(ReduceOp kind, Value value, const Order &order,
                           ArrayRef<StringAttr> reduced) {
  Value tile = emitTile(value, order);
  SmallVector<StringAttr> masked;
  for (StringAttr dim : raggedAmong(reduced))
    if (llvm::is_contained(dimsOf(value), dim) && !isLeastPosition(kind, value, dim) &&
        !(kind == ReduceOp::Sum && isZeroAtEdge(value, dim)))
      masked.push_back(dim);
  if (masked.empty())
    return tile;
  SmallVector<Scope::Tile> &known = top().masked[{value, unsigned(kind), pieceOf(value)}];
  for (Scope::Tile &other : known)
    if (other.order == order)
      return other.tile;
  Value result;
  auto load = tile.getDefiningOp<tile::LoadOp>();
  if (load && value.getDefiningOp<sched::LoadOp>() && load.getPadAttr()) {
    // The pad of the load is the neutral element.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(load);
    auto padded = llvm::cast<tile::LoadOp>(builder.clone(*load));
    padded.setPadAttr(unitOf(kind, elementOf(value)));
    result = padded;
  } else if (auto castOp = value.getDefiningOp<sched::CastOp>();
             castOp && isWideningLoad(castOp) && isOnlyExponent(value)) {
    result = cast(emitOperand(kind, castOp.getInput(), order, reduced), elementOf(value));
  } else {
    Value edge = emitEdge(masked, order);
    result = map(ScalarOp::Where, {edge, tile, identity(kind, order, elementOf(value))});
  }
  known.push_back({order, result});
  return result;
}

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

std::optional<Emitter::MatrixProduct>
Emitter::asMma(ValueRange values, ArrayRef<StringAttr> reduced, const Order &order) {
  if (values.size() != 2 || elementOf(values[0]).isInteger(1))
    return std::nullopt;
  MatrixProduct product{values[0], values[1], {}, {}, {}};
  SmallVector<StringAttr> all(dimsOf(values[0]));
  llvm::append_range(all, dimsOf(values[1]));
  for (StringAttr dim : getOrder(all)) {
    bool inLhs = llvm::is_contained(dimsOf(values[0]), dim);
    bool inRhs = llvm::is_contained(dimsOf(values[1]), dim);
    bool isReduced = llvm::is_contained(reduced, dim);
    if (isReduced != (inLhs && inRhs))
      return std::nullopt;
    (isReduced ? product.depth : inLhs ? product.rows : product.columns).push_back(dim);
  }
  if (product.rows.empty() || product.columns.empty() || product.depth.empty())
    return std::nullopt;
  auto swap = [&] {
    std::swap(product.lhs, product.rhs);
    std::swap(product.rows, product.columns);
  };
  // The operand with the last axis has the columns, so that contiguous elements of the result are
  // contiguous in the MMA.
  if (llvm::is_contained(product.rows, order.back()))
    swap();
  if (kernel.getTuningConfig().get(TuningField::SwapOperands) == 1)
    swap();
  // A warpgroup has 64 rows at least.
  constexpr int64_t fewest = 64;
  if (kernel.getTuningConfig().get(TuningField::Wgmma) == 1 && countOf(product.rows) < fewest &&
      countOf(product.columns) >= fewest)
    swap();
  return product;
}

/// The tile of 16-bit floats before a widening cast; null for other tiles.
static Value beforeWidening(Value tile) {
  auto cast = tile.getDefiningOp<tile::CastOp>();
  if (!cast || !getElementTypeOrSelf(tile).isF32())
    return {};
  Type from = getElementTypeOrSelf(cast.getInput());
  return isa<FloatType>(from) && from.getIntOrFloatBitWidth() <= 16 ? cast.getInput() : Value();
}

Value Emitter::emitCombine(ReduceOp kind, ValueRange values, ArrayRef<StringAttr> reduced,
                           const Order &order, Type accumulator, Value state, bool skipNan) {
  auto concat = [](const Order &a, const Order &b) {
    Order both = a;
    both.append(b);
    return both;
  };
  auto reshape = [&](Value tile, ArrayRef<int64_t> shape) {
    bool same = llvm::cast<RankedTensorType>(tile.getType()).getShape() == shape;
    return same ? tile : fold<tile::ReshapeOp>(tile, shape);
  };
  if (std::optional<MatrixProduct> product = asMma(values, reduced, order)) {
    auto &[lhs, rhs, rows, columns, depth] = *product;
    int64_t m = countOf(rows), n = countOf(columns), k = countOf(depth);
    Order natural = concat(rows, columns);
    Value a = emitOperand(kind, lhs, concat(rows, depth), reduced);
    Value b = emitOperand(kind, rhs, concat(depth, columns), reduced);
    // Products of 16-bit floats are exact in the accumulator, so the operands need no widening.
    if (Value narrowA = beforeWidening(a), narrowB = beforeWidening(b);
        narrowA && narrowB && getElementTypeOrSelf(narrowA) == getElementTypeOrSelf(narrowB)) {
      a = narrowA;
      b = narrowB;
    }
    Value c = state ? permute(state, order, natural) : constant(natural, accumulator, 0);
    Value sum = create<tile::MmaOp>(reshape(a, {m, k}), reshape(b, {k, n}), reshape(c, {m, n}));
    return permute(reshape(sum, tileType(natural, accumulator).getShape()), natural, order);
  }

  Order axes = unionOrder(order, getOrder(reduced));
  Value block;
  for (Value value : values) {
    Value operand = cast(emitOperand(kind, value, axes, reduced), accumulator);
    block = block ? map(ScalarOp::Mul, {block, operand}) : operand;
  }
  // Along a dimension that no value has, only the indices inside of the edge count.
  SmallVector<StringAttr> uncounted = raggedAmong(reduced);
  llvm::erase_if(uncounted, [&](StringAttr dim) {
    return llvm::any_of(values, [&](Value v) { return llvm::is_contained(dimsOf(v), dim); });
  });
  if (!uncounted.empty())
    block =
        map(ScalarOp::Where, {emitEdge(uncounted, axes), block, identity(kind, axes, accumulator)});
  SmallVector<int64_t> positions;
  for (auto [i, dim] : llvm::enumerate(axes))
    if (llvm::is_contained(reduced, dim))
      positions.push_back(i);
  if (!positions.empty())
    block = create<tile::ReduceOp>(kind, block, positions, skipNan);
  return state ? map(reduceOpCombiner(kind), {state, block}) : block;
}

//===----------------------------------------------------------------------===//
// Reductions over inner dimensions
//===----------------------------------------------------------------------===//

Value Emitter::generateReduce(sched::ReduceOp op, const Order &order) {
  ReduceOp kind = op.getReduceOp();
  SmallVector<StringAttr> reduced(op.getOver().getAsRange<StringAttr>()), looped;
  for (StringAttr dim : reduced)
    if (!findScope(dim))
      looped.push_back(dim);
  Type result = elementOf(op.getResult());
  Type accumulator = accumulatorType(kind, op.getValues(), result);
  if (looped.empty())
    return cast(emitCombine(kind, op.getValues(), reduced, order, accumulator, {}), result);

  // An MMA of loads needs only zero padding at the edge. For others, peeling keeps the masks out of
  // the whole blocks.
  bool isPlain = llvm::all_of(op.getValues(), [&](Value value) {
    return llvm::all_of(looped, [&](StringAttr dim) { return isZeroAtEdge(value, dim); });
  });
  bool peel = !(isPlain && asMma(op.getValues(), reduced, order));
  Values states = emitLoops(looped, peel, identity(kind, order, accumulator), [&](ValueRange args) {
    loc = op.getLoc();
    return Values{emitCombine(kind, op.getValues(), reduced, order, accumulator, args.front())};
  });
  loc = op.getLoc();
  return cast(states.front(), result);
}
