//===- Evaluate.cpp - A tile's elements at a position ---------------------===//
//
// Evaluating a tile follows its definition down to buffers, views and constants, one vector (or one
// scalar) at a time. Indexing operations only change the position. Where the new position is not
// contiguous in memory, the lanes are collected one by one.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using LLVM::ICmpPredicate;

using MemoKey = std::vector<uintptr_t>;

static MemoKey keyOf(Value tile, const Position &at) {
  MemoKey key{reinterpret_cast<uintptr_t>(tile.getAsOpaquePointer()), uintptr_t(at.vectorDim),
              uintptr_t(at.lanes)};
  for (const Ix &index : at.index) {
    key.push_back(reinterpret_cast<uintptr_t>(index.value.getAsOpaquePointer()));
    key.push_back(uintptr_t(index.constant));
  }
  return key;
}

Value KernelEmitter::evaluate(Value tile, const Position &at) {
  MemoKey key = keyOf(tile, at);
  for (auto &scope : llvm::reverse(memo))
    if (auto it = scope.find(key); it != scope.end())
      return it->second;
  Value value = evaluateUncached(tile, at);
  memo.back()[key] = value;
  return value;
}

/// Evaluates the roots of a group one operation at a time, each for all positions. An out-of-order
/// window holds a limited number of instructions: with one position's dependency chain after the
/// other, only a few chains would overlap.
void KernelEmitter::evaluateTogether(const Item &item, ArrayRef<Position> positions) {
  SetVector<Value> order; // operands first
  DenseSet<Value> seen;
  std::function<void(Value)> visit = [&](Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!op || !isa<tile::LoadOp, tile::GatherOp, tile::MapOp, tile::CastOp, tile::BitcastOp>(op) ||
        (plan.bufferOf(tile) && !open.contains(tile)) || !seen.insert(tile).second)
      return;
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        visit(operand);
    order.insert(tile);
  };
  for (const Root &root : item.roots)
    visit(root.value);
  for (Value tile : order) {
    auto cast = tile.getDefiningOp<tile::CastOp>();
    if (cast && Plan::elementOf(tile).isBF16() && Plan::elementOf(cast.getInput()).isF32()) {
      SmallVector<Value> wide = llvm::map_to_vector(
          positions, [&](const Position &at) { return evaluate(cast.getInput(), at); });
      for (auto [at, narrow] : llvm::zip(positions, e.bf16FromF32(wide)))
        memo.back()[keyOf(tile, at)] = narrow;
    }
    evaluatePowers(tile, positions);
    for (const Position &at : positions)
      (void)evaluate(tile, at);
  }
}

/// A fast power is a dependency chain of its own. The powers of all positions form one long vector,
/// which is again computed one operation at a time.
void KernelEmitter::evaluatePowers(Value tile, ArrayRef<Position> positions) {
  auto map = tile.getDefiningOp<tile::MapOp>();
  if (!map || !map.getFast() || map.getScalarOp() != ScalarOp::Exp2 ||
      cpu.arch != CpuDescription::Arch::AArch64 || !Plan::elementOf(tile).isF32())
    return;
  SmallVector<Value> all = llvm::map_to_vector(
      positions, [&](const Position &at) { return evaluate(map.getInputs()[0], at); });
  Value powers = e.quickOp(ScalarOp::Exp2, e.concat(all));
  for (auto [i, at] : llvm::enumerate(positions))
    memo.back()[keyOf(tile, at)] = e.part(powers, i * at.lanes, at.lanes);
}

static Position scalarAt(ArrayRef<Ix> index) {
  Position at;
  at.index.assign(index.begin(), index.end());
  return at;
}

Value KernelEmitter::gather(int64_t lanes, Type type, function_ref<Value(int64_t)> element) {
  Value vector = LLVM::PoisonOp::create(e.b, type);
  for (int64_t lane = 0; lane < lanes; ++lane)
    vector = e.insert(vector, element(lane), lane);
  return vector;
}

Value KernelEmitter::evaluateUncached(Value tile, const Position &at) {
  Operation *op = tile.getDefiningOp();
  Type element = Plan::elementOf(tile);
  if (const Buffer *buffer = plan.bufferOf(tile); buffer && !open.contains(tile)) {
    Value value = loadBuffer(*buffer, at);
    return e.cast(value, buffer->element, element);
  }
  if (at.lanes && alwaysTrue.contains(tile))
    return e.integer(-1, Emitter::withLanes(e.i1, at.lanes));
  if (auto constant = dyn_cast<tile::ConstantOp>(op))
    return e.number(constant.getValue(), element, at.lanes);
  if (auto splat = dyn_cast<tile::SplatOp>(op)) {
    Value scalar = scalars.lookup(splat.getScalar());
    if (isa<IndexType>(splat.getScalar().getType()))
      scalar = e.cast(scalar, e.i64, element);
    return e.splat(scalar, at.lanes);
  }
  if (auto iota = dyn_cast<tile::IotaOp>(op)) {
    Value start = e.materialize(e.add(Ix(scalars.lookup(iota.getStart())), at.index[0]));
    Type held = e.valueType(element);
    Value first = e.splat(e.cast(start, e.i64, held), at.lanes);
    return at.lanes ? Value(LLVM::AddOp::create(e.b, first, e.iota(held, at.lanes))) : first;
  }
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return evaluateAccess(accesses.find(op)->second, at, element, load.getPadAttr(), 0);
  if (auto gather = dyn_cast<tile::GatherOp>(op))
    return evaluateGather(gather, at);
  if (auto map = dyn_cast<tile::MapOp>(op)) {
    SmallVector<Value> operands;
    for (Value input : map.getInputs())
      operands.push_back(evaluate(input, at));
    Value value;
    if (map.getFast())
      value = e.quickOp(map.getScalarOp(), operands.front());
    if (!value)
      value = e.scalarOp(map.getScalarOp(), operands, Plan::elementOf(map.getInputs().back()));
    if (!value) {
      (void)fail(op, "is not a primitive; tile-expand-math must run first");
      return LLVM::PoisonOp::create(e.b, Emitter::withLanes(e.valueType(element), at.lanes));
    }
    return value;
  }
  if (auto cast = dyn_cast<tile::CastOp>(op))
    return e.cast(evaluate(cast.getInput(), at), Plan::elementOf(cast.getInput()), element);
  if (auto cast = dyn_cast<tile::BitcastOp>(op))
    return e.bitcast(evaluate(cast.getInput(), at), element);
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    Position from;
    ArrayRef<int64_t> shape = Plan::shapeOf(broadcast.getInput()),
                      to = broadcast.getType().getShape();
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims())) {
      bool isRepeated = shape[i] == 1 && to[dim] != 1;
      from.index.push_back(isRepeated ? Ix(0) : at.index[dim]);
      if (dim == at.vectorDim && !isRepeated) {
        from.vectorDim = i;
        from.lanes = at.lanes;
      }
    }
    return e.splat(evaluate(broadcast.getInput(), from), at.lanes);
  }
  if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
    Position from = at;
    for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
      from.index[dim] = at.index[i];
    if (at.vectorDim >= 0)
      from.vectorDim = transpose.getPermutation()[at.vectorDim];
    return evaluate(transpose.getInput(), from);
  }
  if (auto reshape = dyn_cast<tile::ReshapeOp>(op))
    return evaluateReshape(reshape, at);
  (void)fail(op, "is not supported by the CPU code generator");
  return LLVM::PoisonOp::create(e.b, Emitter::withLanes(e.valueType(element), at.lanes));
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

Value KernelEmitter::evaluateReshape(tile::ReshapeOp op, const Position &at) {
  Value input = op.getInput();
  ArrayRef<int64_t> from = Plan::shapeOf(input), to = op.getType().getShape();
  auto linear = [&](ArrayRef<Ix> index, ArrayRef<int64_t> shape) {
    Ix flat = 0;
    for (auto [i, size] : llvm::zip(index, shape))
      flat = e.add(e.mul(flat, size), i);
    return flat;
  };
  auto delinear = [&](Ix flat, ArrayRef<int64_t> shape) {
    SmallVector<Ix> index(shape.size());
    for (size_t d = shape.size(); d-- > 0;) {
      if (d == 0 || flat.isConstant()) {
        index[d] = d == 0 ? flat : Ix(flat.constant % shape[d]);
        flat = Ix(d == 0 ? 0 : flat.constant / shape[d]);
        continue;
      }
      Value number = e.materialize(flat), size = e.integer(shape[d]);
      Value quotient = LLVM::UDivOp::create(e.b, number, size);
      index[d] = Ix(e.subI(number, e.mulI(quotient, size)));
      flat = Ix(quotient);
    }
    return index;
  };

  // Unit dimensions are added and removed without arithmetic.
  auto significant = [](ArrayRef<int64_t> shape) {
    return llvm::filter_to_vector(llvm::seq<int64_t>(0, shape.size()),
                                  [&](int64_t d) { return shape[d] != 1; });
  };
  SmallVector<int64_t> fromDims = significant(from), toDims = significant(to);
  auto sizes = [](ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
    return llvm::map_to_vector(dims, [&](int64_t d) { return shape[d]; });
  };
  if (sizes(from, fromDims) == sizes(to, toDims)) {
    Position moved;
    moved.index.assign(from.size(), Ix(0));
    for (auto [f, t] : llvm::zip(fromDims, toDims)) {
      moved.index[f] = at.index[t];
      if (t == at.vectorDim) {
        moved.vectorDim = f;
        moved.lanes = at.lanes;
      }
    }
    return e.splat(evaluate(input, moved), at.lanes);
  }

  int last = int(to.size()) - 1;
  if (!from.empty() && !to.empty() && from.back() == to.back() &&
      (at.vectorDim == last || at.vectorDim < 0)) {
    Ix flat = linear(ArrayRef<Ix>(at.index).drop_back(), to.drop_back());
    SmallVector<Ix> rows = delinear(flat, from.drop_back());
    Position moved = at;
    moved.index.assign(rows.begin(), rows.end());
    moved.index.push_back(at.index.back());
    moved.vectorDim = at.vectorDim < 0 ? -1 : int(from.size()) - 1;
    return evaluate(input, moved);
  }

  Ix flat = linear(at.index, to);
  const Buffer *buffer = plan.bufferOf(input);
  bool isDense = buffer && !from.empty() && (from.size() == 1 || buffer->rowStride == from.back());
  if (isDense && (at.vectorDim == last || at.vectorDim < 0)) {
    Type stored = Emitter::withLanes(e.storageType(buffer->element), at.lanes);
    Value address =
        e.address(bufferStart(*buffer), e.mul(flat, Emitter::byteWidth(buffer->element)));
    return e.fromStorage(e.load(stored, address, scratchScope), buffer->element);
  }
  if (!at.lanes)
    return evaluate(input, scalarAt(delinear(flat, from)));
  Type type = Emitter::withLanes(e.valueType(Plan::elementOf(input)), at.lanes);
  return gather(at.lanes, type, [&](int64_t lane) {
    SmallVector<Ix, 4> index = at.index;
    index[at.vectorDim] = e.add(index[at.vectorDim], lane);
    return evaluate(input, scalarAt(delinear(linear(index, to), from)));
  });
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Computed once: an offset that is part of every address slows LLVM's loop passes down.
Value KernelEmitter::bufferStart(const Buffer &buffer) {
  Value &start = starts[&buffer];
  if (!start) {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointAfter(scratch.getDefiningOp());
    start = e.address(scratch, buffer.offset);
  }
  return start;
}

Value KernelEmitter::bufferAddress(const Buffer &buffer, ArrayRef<Ix> index) {
  int64_t bytes = Emitter::byteWidth(buffer.element);
  Ix offset = 0;
  if (buffer.paired)
    return pairedRow(buffer, index[0], index[1]);
  if (buffer.interleaved)
    return interleavedRow(buffer, index[0], index[1]);
  if (buffer.panel) {
    Ix column = index[1];
    Ix panel, inside;
    if (column.isConstant()) {
      panel = column.constant / buffer.panel;
      inside = column.constant % buffer.panel;
    } else {
      Value number = e.materialize(column), width = e.integer(buffer.panel);
      Value quotient = LLVM::UDivOp::create(e.b, number, width);
      panel = quotient;
      inside = e.subI(number, e.mulI(quotient, width));
    }
    offset = e.add(e.mul(panel, buffer.shape[0] * buffer.panel),
                   e.add(e.mul(index[0], buffer.panel), inside));
  } else if (!index.empty()) {
    int64_t stride = buffer.rowStride;
    auto at = [&](size_t d) { return d == 0 ? rowIn(buffer, index[0]) : index[d]; };
    offset = at(index.size() - 1);
    for (size_t d = index.size() - 1; d-- > 0;) {
      offset = e.add(offset, e.mul(at(d), stride));
      stride *= buffer.shape[d];
    }
  }
  return e.address(bufferStart(buffer), e.mul(offset, bytes));
}

Value KernelEmitter::loadBuffer(const Buffer &buffer, const Position &at) {
  Type stored = e.storageType(buffer.element);
  bool isRun = at.vectorDim < 0 || at.vectorDim == int(buffer.shape.size()) - 1;
  if (isRun) {
    Value address = bufferAddress(buffer, at.index);
    return e.fromStorage(e.load(Emitter::withLanes(stored, at.lanes), address, scratchScope),
                         buffer.element);
  }
  Value vector = gather(at.lanes, Emitter::withLanes(stored, at.lanes), [&](int64_t lane) {
    SmallVector<Ix, 4> index = at.index;
    index[at.vectorDim] = e.add(index[at.vectorDim], lane);
    return e.load(stored, bufferAddress(buffer, index), scratchScope);
  });
  return e.fromStorage(vector, buffer.element);
}

void KernelEmitter::storeBuffer(const Buffer &buffer, Value value, const Position &at) {
  if (buffer.parts)
    return storeSplitRow(buffer, value, at);
  if (buffer.isOffset)
    value = e.xorI(value, e.integer(-128, value.getType()));
  e.store(e.toStorage(value, buffer.element), bufferAddress(buffer, at.index), scratchScope);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Value KernelEmitter::accessAddress(const Access &access, const Position &at, Type element) {
  Ix offset = 0;
  for (auto [index, stride] : llvm::zip(at.index, access.strides))
    offset = e.add(offset, e.mul(index, stride));
  return e.address(access.base, offset);
}

Value KernelEmitter::validLanes(const Access &access, const Position &at) {
  if (!atEdge || !access.full)
    return Value();
  Value count, inside;
  for (auto [t, valid] : llvm::enumerate(access.valid)) {
    if (!valid)
      continue;
    if (int(t) != at.vectorDim)
      inside = e.andI(inside, e.cmp(ICmpPredicate::slt, e.materialize(at.index[t]), valid));
    else if (!access.isInside)
      count = e.subI(valid, e.materialize(at.index[t]));
  }
  if (!inside)
    return count;
  if (!count)
    count = e.integer(std::max<int64_t>(at.lanes, 1));
  return e.select(inside, count, e.integer(0));
}

Value KernelEmitter::evaluateAccess(const Access &access, const Position &at, Type element,
                                    TypedAttr pad, Ix moved) {
  Type stored = e.storageType(element);
  int64_t bytes = Emitter::byteWidth(element);
  Value count = validLanes(access, at);
  auto padding = [&](int64_t lanes) { return e.toStorage(e.number(pad, element, lanes), element); };
  auto addressOf = [&](const Position &where) {
    return e.address(accessAddress(access, where, element), moved);
  };
  auto loadOne = [&](const Position &where) -> Value {
    Value address = addressOf(where);
    Value valid = validLanes(access, where);
    if (!valid)
      return e.load(stored, address, access.scope);
    Type one = Emitter::withLanes(stored, 1);
    return e.extract(e.maskedLoad(one, address, e.laneMask(1, valid), padding(1)), 0);
  };
  if (at.vectorDim < 0)
    return e.fromStorage(loadOne(at), element);
  Ix stride = access.strides[at.vectorDim];
  if (stride.isConstant() && stride.constant == bytes) {
    Value address = addressOf(at);
    Type type = Emitter::withLanes(stored, at.lanes);
    if (!count)
      return e.fromStorage(e.load(type, address, access.scope), element);
    return e.fromStorage(e.loadLanes(type, address, count, padding(at.lanes)), element);
  }
  Value vector = gather(at.lanes, Emitter::withLanes(stored, at.lanes), [&](int64_t lane) {
    Position where = scalarAt(at.index);
    where.index[at.vectorDim] = e.add(where.index[at.vectorDim], lane);
    return loadOne(where);
  });
  return e.fromStorage(vector, element);
}

bool KernelEmitter::isUniform(Value tile, int dim) {
  Operation *op = tile.getDefiningOp();
  if (!op)
    return false;
  if (isa<tile::ConstantOp, tile::SplatOp>(op))
    return true;
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    const int64_t *found = llvm::find(broadcast.getDims(), int64_t(dim));
    return found == broadcast.getDims().end() ||
           isUniform(broadcast.getInput(), found - broadcast.getDims().begin());
  }
  return isa<tile::MapOp, tile::CastOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isUniform(operand, dim); });
}

/// Gather indices that are the same for all lanes only change the address: gathered rows are loaded
/// as rows. Others give a vector of addresses.
Value KernelEmitter::evaluateGather(tile::GatherOp op, const Position &at) {
  const Access &access = accesses.find(op)->second;
  Type element = Plan::elementOf(op.getResult());
  Ix moved = 0;
  Value offsets; // bytes, one per lane
  for (auto [tile, bounds] : llvm::zip_equal(op.getIndices(), access.gatherIndices)) {
    bool isScalar = at.vectorDim < 0 || isUniform(tile, at.vectorDim);
    int64_t lanes = isScalar ? 0 : at.lanes;
    Value index = evaluate(tile, isScalar ? scalarAt(at.index) : at);
    index = e.cast(index, Plan::elementOf(tile), e.i64);
    Type type = Emitter::withLanes(e.i64, lanes);
    index = e.maxI(e.minI(index, e.splat(bounds.last, lanes)), e.integer(0, type));
    if (isScalar) {
      moved = e.add(moved, e.mul(Ix(index), bounds.stride));
      continue;
    }
    Value bytes = e.mulI(index, e.splat(e.materialize(bounds.stride), lanes));
    offsets = offsets ? e.addI(offsets, bytes) : bytes;
  }
  if (!offsets)
    return evaluateAccess(access, at, element, op.getPadAttr(), moved);
  Value along = e.mulI(e.iota(e.i64, at.lanes),
                       e.splat(e.materialize(access.strides[at.vectorDim]), at.lanes));
  Value base = e.address(accessAddress(access, at, element), moved);
  Value count = validLanes(access, at);
  Type stored = Emitter::withLanes(e.storageType(element), at.lanes);
  Value mask =
      count ? e.laneMask(at.lanes, count) : e.integer(-1, Emitter::withLanes(e.i1, at.lanes));
  Value other = count ? e.toStorage(e.number(op.getPadAttr(), element, at.lanes), element)
                      : e.integerOrReal(0, stored);
  return e.fromStorage(e.maskedGather(stored, base, e.addI(offsets, along), mask, other), element);
}
