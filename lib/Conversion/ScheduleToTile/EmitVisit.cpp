//===- EmitVisit.cpp - Blocks that are left out ---------------------------===//
//
// A mask that depends on memory, or leaves holes in a range, leaves out blocks of a stream by a
// branch around each block, or by a search before the loop. The search evaluates the same
// conditions for many blocks at a time: it loads the elements of all of these blocks as one tile
// and reduces it to the bounds of each block. It gives a range of blocks, or a list of them.
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"

using namespace mlir;
using namespace tessera;

/// A condition of the whole block as a scalar.
Value Emitter::emitTest(Value condition, ReduceOp kind) {
  Order order = getOrder(condition);
  Value tile = emitTile(condition, order);
  if (!order.empty())
    tile = fold<tile::ReduceOp>(kind, tile, llvm::to_vector(llvm::seq<int64_t>(0, order.size())));
  return create<tile::ExtractOp>(builder.getI1Type(), tile);
}

/// Branches on the conditions of a block: it is skipped, or computed with or without its masks.
Values Emitter::emitVisit(sched::VisitOp visit, sched::StreamOp op, ValueRange states) {
  Scope &loop = top();
  loop.stream = {}; // the block is in the branches
  Value live = emitTest(visit.getLive(), ReduceOp::Any);
  auto block = [&] { return emitBlock(op); };
  auto prepare = [&](Scope &scope, bool full) {
    scope.coords = loop.coords;
    scope.ragged = loop.ragged;
    scope.stream = op;
    scope.full = full;
    scope.carried = loop.carried;
  };
  TypeRange types = states.getTypes();
  return emitIf(
      live, types,
      [&] {
        Value full = emitTest(visit.getFull(), ReduceOp::All);
        return emitIf(full, types, block, block, prepare);
      },
      [&] { return Values(states); });
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// Whether a condition depends on elements of the stream only through bounds over a block.
bool Emitter::canSearch(Value condition, StringAttr dim) {
  if (!(getDependence(condition) & getDimBits(dim)))
    return getOrder(condition).empty();
  Operation *op = condition.getDefiningOp();
  if (auto bound = dyn_cast<sched::BoundOp>(op)) {
    auto isReduced = [&](StringAttr over) {
      sched::DimAttr each = kernel.getDim(over);
      return !each.isParallel() || each.getTile() > 1;
    };
    SmallVector<StringAttr> reduced(
        llvm::make_filter_range(bound.getOver().getAsRange<StringAttr>(), isReduced));
    return ArrayRef(reduced) == ArrayRef(dim) && getOrder(bound.getValue()) == Order{dim};
  }
  return isa<sched::MapOp, sched::CastOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return canSearch(operand, dim); });
}

/// The bound of an index along the stream in each of the searched blocks; null for another value. A
/// ragged last block counts as a whole one.
Value Emitter::emitIndexBound(sched::BoundOp bound, StringAttr dim, RankedTensorType blocks) {
  auto index = bound.getValue().getDefiningOp<sched::IndexOp>();
  if (!index)
    return {};
  SymExpr rest = *SymExpr::parse(index.getExpression().str()) - SymExpr::symbol(dim.getValue());
  if (getDimBits(kernel.getDimsIn(rest)))
    return {};
  int64_t tile = kernel.getDim(dim).getTile();
  if (bound.getReduceOp() == ReduceOp::Max)
    rest = rest + (tile - 1);
  Value first = fold<arith::MulIOp>(getCoord(dim), getConstant(searchedBlocks(dim)));
  Value block = create<tile::IotaOp>(blocks, first),
        size = create<tile::ConstantOp>(blocks, double(tile));
  return map(ScalarOp::Add,
             {map(ScalarOp::Mul, {block, size}), fold<tile::SplatOp>(blocks, emitScalar(rest))});
}

/// A condition, or a part of one, in each of the searched blocks.
Value Emitter::emitForBlocks(Value value, StringAttr dim) {
  Type element = llvm::cast<sched::ValType>(value.getType()).getElementType();
  auto blocks = RankedTensorType::get({searchedBlocks(dim)}, element);
  if (!(getDependence(value) & getDimBits(dim)))
    return create<tile::BroadcastOp>(blocks, emitTile(value, {}), ArrayRef<int64_t>());
  Operation *op = value.getDefiningOp();
  if (auto bound = dyn_cast<sched::BoundOp>(op)) {
    Order order{dim};
    if (Value known = emitIndexBound(bound, dim, blocks))
      return known;
    Value inside = emitEdge(dim, order), nothing = identity(bound.getReduceOp(), order, element);
    Value tile = map(ScalarOp::Where, {inside, emitTile(bound.getValue(), order), nothing});
    auto type = RankedTensorType::get({searchedBlocks(dim), kernel.getDim(dim).getTile()}, element);
    return fold<tile::ReduceOp>(bound.getReduceOp(), create<tile::ReshapeOp>(type, tile),
                                ArrayRef<int64_t>{1});
  }
  if (auto castOp = dyn_cast<sched::CastOp>(op))
    return cast(emitForBlocks(castOp.getInput(), dim), element);
  Values operands;
  for (Value operand : op->getOperands())
    operands.push_back(emitForBlocks(operand, dim));
  return map(llvm::cast<sched::MapOp>(op).getScalarOp(), operands);
}

/// The searched blocks of an iteration of a search between `from` and `to`. Those from `whole` on
/// are ragged.
Emitter::Conditions Emitter::emitConditions(sched::VisitOp visit, sched::DimAttr dim, Value from,
                                            Value to, Value whole) {
  int64_t perIteration = searchedBlocks(dim.getName());
  auto many = RankedTensorType::get({perIteration}, builder.getI32Type());
  searched = dim.getName();
  Value live = emitForBlocks(visit.getLive(), searched),
        full = emitForBlocks(visit.getFull(), searched);
  searched = {};
  Value first = fold<arith::MulIOp>(getCoord(dim.getName()), getConstant(perIteration)),
        block = create<tile::IotaOp>(many, first);
  auto splat = [&](Value index) { return fold<tile::SplatOp>(many, index); };
  auto both = [&](Value a, Value b) { return map(ScalarOp::And, {a, b}); };
  live = both(live,
              both(map(ScalarOp::Ge, {block, splat(from)}), map(ScalarOp::Lt, {block, splat(to)})));
  full = both(live, both(full, map(ScalarOp::Lt, {block, splat(whole)})));
  return {block, live, full};
}

/// An index in a tile of rank 0. The clamps change nothing; they show later passes that accesses
/// are in bounds.
Value Emitter::emitClamped(Value tile, Value from, Value to) {
  Value index = create<tile::ExtractOp>(builder.getIndexType(), tile);
  return fold<arith::MinSIOp>(fold<arith::MaxSIOp>(index, from), to);
}

/// The range of visited blocks between `from` and `to`: its start, the start and the end of the
/// full blocks, and its end.
Emitter::Segments Emitter::emitSearch(sched::VisitOp visit, sched::DimAttr dim, Value from,
                                      Value to) {
  Type i32 = builder.getI32Type();
  int64_t perIteration = searchedBlocks(dim.getName());
  auto one = RankedTensorType::get({}, i32), many = RankedTensorType::get({perIteration}, i32);
  constexpr double noBlock = 1 << 30;
  Value none = create<tile::ConstantOp>(one, noBlock), zero = create<tile::ConstantOp>(one, 0.0);
  Value count = getConstant(perIteration),
        whole = emitScalar(dim.getSize().floorDiv(dim.getTile()));

  auto body = [&](ValueRange found) {
    auto [block, live, full] = emitConditions(visit, dim, from, to, whole);
    Value next = map(ScalarOp::Add, {block, create<tile::ConstantOp>(many, 1.0)});
    auto combine = [&](ReduceOp kind, Value condition, Value value, double otherwise,
                       Value before) {
      Value chosen =
          map(ScalarOp::Where, {condition, value, create<tile::ConstantOp>(many, otherwise)});
      return map(reduceOpCombiner(kind),
                 {before, fold<tile::ReduceOp>(kind, chosen, ArrayRef<int64_t>{0})});
    };
    return Values{combine(ReduceOp::Min, live, block, noBlock, found[0]),
                  combine(ReduceOp::Max, live, next, 0, found[1]),
                  combine(ReduceOp::Min, full, block, noBlock, found[2]),
                  combine(ReduceOp::Max, full, next, 0, found[3]),
                  combine(ReduceOp::Sum, full, create<tile::ConstantOp>(many, 1.0), 0, found[4])};
  };
  Values found = emitLoop(fold<arith::FloorDivSIOp>(from, count),
                          fold<arith::CeilDivSIOp>(to, count), dim.getName(),
                          /*ragged=*/true, {none, zero, none, zero, zero}, body);
  // If the full blocks are not contiguous, all blocks are visited with masks.
  Value adjacent = map(ScalarOp::Eq, {map(ScalarOp::Sub, {found[3], found[2]}), found[4]});
  auto number = [&](Value tile) { return emitClamped(tile, from, to); };
  Value end = found[1];
  return {number(map(ScalarOp::Minimum, {found[0], end})),
          number(map(ScalarOp::Where, {adjacent, found[2], end})),
          number(map(ScalarOp::Where, {adjacent, found[3], end})), number(end)};
}

//===----------------------------------------------------------------------===//
// List
//===----------------------------------------------------------------------===//

/// Whether a searched condition is computed from more than the indices along the stream.
bool Emitter::loadsAlong(Value condition, StringAttr dim) {
  if (!(getDependence(condition) & getDimBits(dim)))
    return false;
  Operation *op = condition.getDefiningOp();
  if (auto bound = dyn_cast<sched::BoundOp>(op))
    return !bound.getValue().getDefiningOp<sched::IndexOp>();
  return llvm::any_of(op->getOperands(), [&](Value operand) { return loadsAlong(operand, dim); });
}

std::optional<int64_t> Emitter::listedBlocks(sched::VisitOp visit, sched::DimAttr dim) {
  constexpr uint64_t fewest = 32; // a warp
  int64_t size = facts.max(dim.getSize());
  auto backend = kernel->getAttrOfType<StringAttr>(sched::kBackend);
  bool isCudaTile = backend && backend.getValue() == sched::kCudaTile;
  if (isCudaTile || size > kListedBlocks * dim.getTile())
    return std::nullopt;
  int64_t blocks = llvm::PowerOf2Ceil(
      std::max(fewest, uint64_t(size + dim.getTile() - 1) / uint64_t(dim.getTile())));
  bool loads =
      loadsAlong(visit.getLive(), dim.getName()) || loadsAlong(visit.getFull(), dim.getName());
  if (blocks > kListedBlocks || (loads && blocks * dim.getTile() > kListedElements))
    return std::nullopt;
  return blocks;
}

/// Sorts the blocks by what is known of them: full, live, none.
Emitter::BlockList Emitter::emitList(sched::VisitOp visit, sched::DimAttr dim, Value from,
                                     Value to) {
  Type i32 = builder.getI32Type();
  listed = *listedBlocks(visit, dim);
  auto many = RankedTensorType::get({listed}, i32), one = RankedTensorType::get({}, i32);
  Value zero = create<tile::ConstantOp>(one, 0.0), none = create<tile::ConstantOp>(many, 0.0);
  Value whole = emitScalar(dim.getSize().floorDiv(dim.getTile()));
  auto constant = [&](int64_t value) { return create<tile::ConstantOp>(many, double(value)); };
  auto body = [&](ValueRange) {
    auto [block, live, full] = emitConditions(visit, dim, from, to, whole);
    auto count = [&](Value condition) {
      Value ones = map(ScalarOp::Where, {condition, constant(1), constant(0)});
      return fold<tile::ReduceOp>(ReduceOp::Sum, ones, ArrayRef<int64_t>{0});
    };
    Value rank = map(ScalarOp::Where,
                     {full, constant(0), map(ScalarOp::Where, {live, constant(1), constant(2)})});
    Value key = map(ScalarOp::Add, {map(ScalarOp::Mul, {rank, constant(listed)}), block});
    Value sorted = create<tile::SortOp>(key, 0, DenseI64ArrayAttr(), DenseI64ArrayAttr());
    return Values{map(ScalarOp::And, {sorted, constant(listed - 1)}), count(full), count(live)};
  };
  Values found = emitLoop(getConstant(0), getConstant(1), dim.getName(), /*ragged=*/true,
                          {none, zero, zero}, body);
  listed = 0;
  Value least = getConstant(0);
  return {found[0], emitClamped(found[1], least, to), emitClamped(found[2], least, to)};
}

/// The clamps change nothing; they show later passes that indices are small.
Value Emitter::emitListedBlock(const BlockList &list, Value position, SymExpr blocks) {
  Value block = create<tile::ElementOp>(list.blocks, position);
  return fold<arith::MinSIOp>(fold<arith::MaxSIOp>(block, getConstant(0)),
                              emitScalar(blocks - SymExpr(1)));
}
