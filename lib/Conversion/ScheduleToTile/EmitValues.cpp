//===- EmitValues.cpp - Tiles of scheduled values -------------------------===//
//
// A value is requested in an order. A tile in that order is reused; a tile in another order is
// transposed, or recomputed where that costs no more. Loop-invariant tiles are emitted before the
// loop, but broadcasts are emitted at their use: a broadcast tile is cheap to compute and expensive
// to keep in registers.
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

Value Emitter::map(ScalarOp op, ValueRange operands) { return fold<tile::MapOp>(op, operands); }

Value Emitter::constant(const Order &order, Type element, double value) {
  return create<tile::ConstantOp>(tileType(order, element), value);
}

Value Emitter::cast(Value tile, Type element) {
  if (llvm::cast<RankedTensorType>(tile.getType()).getElementType() == element)
    return tile;
  return fold<tile::CastOp>(tile, element);
}

Value Emitter::permute(Value tile, const Order &from, const Order &to) {
  if (from == to)
    return tile;
  SmallVector<int64_t> permutation;
  for (StringAttr dim : to)
    permutation.push_back(llvm::find(from, dim) - from.begin());
  return fold<tile::TransposeOp>(tile, permutation);
}

Value Emitter::broadcast(Value tile, const Order &from, const Order &to) {
  Order kept;
  SmallVector<int64_t> dims, shape;
  for (auto [i, dim] : llvm::enumerate(to)) {
    shape.push_back(tileOf(dim));
    if (!llvm::is_contained(from, dim))
      continue;
    kept.push_back(dim);
    dims.push_back(i);
  }
  Value ordered = permute(tile, from, kept);
  return kept.size() == to.size() ? ordered : fold<tile::BroadcastOp>(ordered, shape, dims);
}

/// Whether recomputing the value costs no more than transposing it.
bool Emitter::isCheapToRecompute(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (auto load = dyn_cast<sched::LoadOp>(op))
    return load.getPlaces().empty();
  if (isa<sched::ConstantOp, sched::IndexOp>(op))
    return true;
  auto mapOp = dyn_cast<sched::MapOp>(op);
  bool isSimple =
      mapOp && (mapOp.getScalarOp() == ScalarOp::Add || mapOp.getScalarOp() == ScalarOp::Sub ||
                mapOp.getScalarOp() == ScalarOp::Mul || mapOp.getScalarOp() == ScalarOp::Neg);
  if (depth >= 2 || !(isSimple || isa<sched::CastOp>(op)))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value v) { return isCheapToRecompute(v, depth + 1); });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value Emitter::emitTile(Value value, const Order &order) {
  Order own;
  for (StringAttr dim : order)
    if (llvm::cast<sched::ValType>(value.getType()).hasDim(dim))
      own.push_back(dim);
  Location outerLoc = std::exchange(loc, value.getLoc());
  Value result;
  Operation *op = value.getDefiningOp();
  auto load = dyn_cast<sched::LoadOp>(op);
  bool isSplat = isa<sched::ConstantOp>(op) || (load && isScalarArgument(load.getTensor()));
  // In a search, a splat for all searched blocks exists beside the one for a block.
  if (isSplat && llvm::is_contained(order, searched)) {
    result = generate(value, order);
    loc = outerLoc;
    return result;
  }
  if (own == order || isSplat) {
    result = atDepth(getDepth(getDependence(value)), [&] {
      SmallVector<Scope::Tile> known = top().tiles.lookup({value, pieceOf(value)});
      for (Scope::Tile &tile : known)
        if (tile.order == order)
          return tile.tile;
      Value made;
      for (Scope::Tile &tile : known)
        if (!made && tile.order.size() == order.size() && !isCheapToRecompute(value))
          made = permute(tile.tile, tile.order, order);
      if (!made)
        made = generate(value, order);
      top().tiles[{value, pieceOf(value)}].push_back({order, made});
      return made;
    });
    loc = outerLoc;
    return result;
  }
  Value tile = emitTile(value, own);
  for (Scope::Tile &known : top().tiles[{value, pieceOf(value)}])
    if (known.order == order)
      result = known.tile;
  if (!result) {
    result = broadcast(tile, own, order);
    top().tiles[{value, pieceOf(value)}].push_back({order, result});
  }
  loc = outerLoc;
  return result;
}

Value Emitter::generate(Value value, const Order &order) {
  Operation *op = value.getDefiningOp();
  Type element = llvm::cast<sched::ValType>(value.getType()).getElementType();
  if (auto load = dyn_cast<sched::LoadOp>(op))
    return generateLoad(load, order);
  if (auto constant = dyn_cast<sched::ConstantOp>(op))
    return create<tile::ConstantOp>(tileType(order, element), constant.getValue());
  if (auto index = dyn_cast<sched::IndexOp>(op))
    return emitIndex(*SymExpr::parse(index.getExpression().str()), element, order);
  if (auto castOp = dyn_cast<sched::CastOp>(op))
    return cast(emitTile(castOp.getInput(), order), element);
  if (auto reduce = dyn_cast<sched::ReduceOp>(op))
    return generateReduce(reduce, order);
  if (auto bound = dyn_cast<sched::BoundOp>(op)) {
    Order inner(order);
    SmallVector<int64_t> axes;
    for (StringAttr dim :
         getOrder(SmallVector<StringAttr>(bound.getOver().getAsRange<StringAttr>()))) {
      axes.push_back(inner.size());
      inner.push_back(dim);
    }
    Value tile = emitTile(bound.getValue(), inner);
    return axes.empty() ? tile : fold<tile::ReduceOp>(bound.getReduceOp(), tile, axes);
  }
  if (auto weigh = dyn_cast<sched::WeighOp>(op))
    return generateWeigh(weigh, order);
  if (auto gauge = dyn_cast<sched::GaugeOp>(op))
    return permute(getGaugeStep(gauge).next, getOrder(value), order);
  if (auto scan = dyn_cast<sched::ScanOp>(op))
    return permute(getScanStep(scan).elements, getOrder(value), order);
  if (auto sort = dyn_cast<sched::SortOp>(op))
    return generateSort(sort, order);
  if (auto mask = dyn_cast<sched::MaskOp>(op)) {
    if (Scope *stream = findStream(); stream && stream->full)
      return emitTile(mask.getValue(), order);
    Value condition = emitTile(mask.getCondition(), order);
    Value live = emitTile(mask.getValue(), order);
    Value other = create<tile::ConstantOp>(tileType(order, element), mask.getOtherwise());
    return map(ScalarOp::Where, {condition, live, other});
  }
  auto mapOp = llvm::cast<sched::MapOp>(op);
  Values operands;
  for (OpOperand &operand : mapOp->getOpOperands())
    operands.push_back(isCompared(operand) ? emitExponent(operand.get(), order)
                                           : emitTile(operand.get(), order));
  return map(mapOp.getScalarOp(), operands);
}

Value Emitter::generateLoad(sched::LoadOp op, const Order &order) {
  Type element = op.getResult().getType().getElementType();
  Value tensor = hostTensor(op.getTensor());
  if (isScalarArgument(op.getTensor()))
    return fold<tile::SplatOp>(tileType(order, element), getScalar(tensor));
  const Access &access = accesses[op];
  Values coords;
  SmallVector<int64_t> dims;
  bool pad = !access.limited.empty();
  for (StringAttr dim : access.dims) {
    coords.push_back(getCoord(dim));
    pad |= isRagged(dim);
  }
  for (StringAttr dim : order) {
    const auto *found = llvm::find(access.dims, dim);
    dims.push_back(found == access.dims.end() ? -1 : found - access.dims.begin());
  }
  TypedAttr zero = pad ? builder.getZeroAttr(element) : TypedAttr();
  if (!op.getPlaces().empty()) {
    Values indices = emitGatherIndices(op.getPlaces(), order);
    return create<tile::GatherOp>(tileType(order, element), getView(access, tensor), coords,
                                  indices, dims, zero);
  }
  return create<tile::LoadOp>(tileType(order, element), getView(access, tensor), coords, dims,
                              zero);
}

/// The tiles of gather indices, as i32 or i64.
Values Emitter::emitGatherIndices(ValueRange indices, const Order &order) {
  Values tiles;
  for (Value index : indices) {
    Value tile = emitTile(index, order);
    Type type = getElementTypeOrSelf(tile);
    tiles.push_back(type.isInteger(64) ? tile : cast(tile, builder.getI32Type()));
  }
  return tiles;
}

/// Elements past a ragged edge get an index outside of the tensor, so that they are not stored.
void Emitter::emitScatter(sched::StoreOp op) {
  const Access &access = accesses[op];
  SmallVector<StringAttr> all(access.dims), ragged;
  for (Value index : op.getPlaces())
    llvm::append_range(all, llvm::cast<sched::ValType>(index.getType()).getDims());
  llvm::append_range(all, llvm::cast<sched::ValType>(op.getValue().getType()).getDims());
  Order order = getOrder(all);
  Value tile = emitTile(op.getValue(), order);
  Values coords, indices = emitGatherIndices(op.getPlaces(), order);
  SmallVector<int64_t> dims;
  bool bounded = !access.limited.empty();
  for (StringAttr dim : access.dims) {
    coords.push_back(getCoord(dim));
    bounded |= isRagged(dim);
  }
  for (StringAttr dim : order) {
    const auto *found = llvm::find(access.dims, dim);
    dims.push_back(found == access.dims.end() ? -1 : found - access.dims.begin());
    if (found == access.dims.end() && isRagged(dim))
      ragged.push_back(dim);
  }
  loc = op.getLoc();
  if (!ragged.empty()) {
    Value outside = constant(order, getElementTypeOrSelf(indices.front()), -1);
    indices.front() = map(ScalarOp::Where, {emitEdge(ragged, order), indices.front(), outside});
  }
  create<tile::ScatterOp>(tile, getView(access, hostTensor(op.getTensor())), coords, indices, dims,
                          bounded, op.getSum(), op.getUnordered());
}

void Emitter::emitStore(sched::StoreOp op) {
  if (!op.getPlaces().empty())
    return emitScatter(op);
  const Access &access = accesses[op];
  SmallVector<StringAttr> looped;
  for (StringAttr dim : access.dims)
    if (!findScope(dim))
      looped.push_back(dim);
  emitLoops(looped, /*peel=*/true, {}, [&](ValueRange) {
    Value tile = emitTile(op.getValue(), getOrder(access.dims));
    Values coords;
    SmallVector<int64_t> dims;
    bool bounded = !access.limited.empty();
    for (auto [i, dim] : llvm::enumerate(access.dims)) {
      coords.push_back(getCoord(dim));
      bounded |= isRagged(dim);
      if (tileOf(dim) > 1)
        dims.push_back(i);
    }
    loc = op.getLoc();
    create<tile::StoreOp>(tile, getView(access, hostTensor(op.getTensor())), coords, dims, bounded);
    return Values();
  });
}

/// Emits whether the condition holds in the whole block, and the least value where it does not.
void Emitter::emitCheck(sched::CheckOp op) {
  SmallVector<StringAttr> dims(llvm::cast<sched::ValType>(op.getCondition().getType()).getDims());
  llvm::append_range(dims, llvm::cast<sched::ValType>(op.getValue().getType()).getDims());
  SmallVector<StringAttr> looped, ragged;
  for (StringAttr dim : dims)
    if (!findScope(dim) && !llvm::is_contained(looped, dim))
      looped.push_back(dim);
  emitLoops(looped, /*peel=*/false, {}, [&](ValueRange) {
    Order order = getOrder(dims);
    Value holds = emitTile(op.getCondition(), order), value = emitTile(op.getValue(), order);
    loc = op.getLoc();
    for (StringAttr dim : order)
      if (isRagged(dim))
        ragged.push_back(dim);
    if (!ragged.empty())
      holds = map(ScalarOp::Or, {holds, map(ScalarOp::Not, emitEdge(ragged, order))});
    TypedAttr most = builder.getI64IntegerAttr(INT64_MAX);
    Value fine = create<tile::ConstantOp>(tileType(order, builder.getI64Type()), most);
    Value reported = map(ScalarOp::Where, {holds, fine, value});
    if (auto axes = llvm::to_vector(llvm::seq<int64_t>(0, order.size())); !axes.empty()) {
      holds = fold<tile::ReduceOp>(ReduceOp::All, holds, axes);
      reported = fold<tile::ReduceOp>(ReduceOp::Min, reported, axes);
    }
    Value all = create<tile::ExtractOp>(builder.getI1Type(), holds);
    Value least = create<tile::ExtractOp>(builder.getI64Type(), reported);
    create<tile::CheckOp>(all, least, op.getFailure());
    return Values();
  });
}
