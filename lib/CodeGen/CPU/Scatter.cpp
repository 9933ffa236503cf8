//===- Scatter.cpp - Scatters ---------------------------------------------===//
//
// A scatter that adds processes its elements in order, since two of them may have the same index.
// Only along a dimension on which the index does not depend are they contiguous, so that a vector
// adds them at once. Other scatters have distinct indices: a vector is stored to a vector of
// addresses.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using LLVM::ICmpPredicate;

/// The destination of the elements at `at`, which all have the same index.
KernelEmitter::Destination KernelEmitter::destinationOf(tile::ScatterOp op, const Position &at) {
  const Access &access = accesses.find(op)->second;
  Destination result;
  Position first;
  first.index = at.index;
  for (auto [tile, bounds] : llvm::zip_equal(op.getIndices(), access.gatherIndices)) {
    Value index = e.cast(evaluate(tile, first), Plan::elementOf(tile), e.i64);
    // A negative index is out of range as an unsigned number.
    result.isInside = e.andI(result.isInside, e.cmp(ICmpPredicate::ule, index, bounds.last));
    result.moved = e.add(result.moved, e.mul(Ix(index), bounds.stride));
  }
  return result;
}

/// Adds or stores the elements at `at` to a known destination.
void KernelEmitter::addAt(tile::ScatterOp op, const Position &at, Ix moved) {
  const Access &access = accesses.find(op)->second;
  Type element = Plan::elementOf(op.getValue());
  Value count = validLanes(access, at);
  auto add = [&] {
    Value value = evaluate(op.getValue(), at);
    Value address = e.address(accessAddress(access, at, element), moved);
    Type stored = Emitter::withLanes(e.storageType(element), at.lanes);
    Value mask = count && at.lanes ? e.laneMask(at.lanes, count) : Value();
    if (op.getSum()) {
      Value old = mask ? e.maskedLoad(stored, address, mask, e.integerOrReal(0, stored))
                       : e.load(stored, address, access.scope);
      value = e.scalarOp(ScalarOp::Add, {e.fromStorage(old, element), value}, element);
    }
    value = e.toStorage(value, element);
    if (mask)
      e.maskedStore(value, address, mask);
    else
      e.store(value, address, access.scope);
  };
  if (!count || at.lanes)
    return add();
  MemoScope scope(*this);
  e.branch(e.cmp(ICmpPredicate::sgt, count, e.integer(0)), add, nullptr);
}

/// A row with one index: vector by vector, a few at a time.
void KernelEmitter::addRow(tile::ScatterOp op, Position at, Ix moved) {
  constexpr int64_t most = 4;
  int64_t columns = Plan::shapeOf(op.getValue()).back(), lanes = std::min(cpu.lanes(4), columns);
  int64_t step = std::min(most, columns / lanes) * lanes, whole = columns / step * step;
  at.vectorDim = int(at.index.size());
  auto add = [&](Ix column, int64_t width) {
    at.index.push_back(column);
    at.lanes = width;
    addAt(op, at, moved);
    at.index.pop_back();
  };
  e.loop(e.integer(0), e.integer(whole), step, [&](Value column) {
    MemoScope scope(*this);
    for (int64_t i = 0; i < step; i += lanes)
      add(e.add(Ix(column), i), lanes);
  });
  MemoScope scope(*this);
  for (int64_t column = whole; column < columns; column += lanes)
    add(Ix(column), std::min(lanes, columns - column));
}

/// Stores the lanes at `at` whose indices are in range.
void KernelEmitter::storeAt(tile::ScatterOp op, const Position &at) {
  const Access &access = accesses.find(op)->second;
  Type element = Plan::elementOf(op.getValue());
  Value value = e.toStorage(evaluate(op.getValue(), at), element), isInside;
  Value offsets = e.mulI(e.iota(e.i64, at.lanes),
                         e.splat(e.materialize(access.strides[at.vectorDim]), at.lanes));
  for (auto [tile, bounds] : llvm::zip_equal(op.getIndices(), access.gatherIndices)) {
    Value index = e.cast(evaluate(tile, at), Plan::elementOf(tile), e.i64);
    // A negative index is out of range as an unsigned number.
    isInside = e.andI(isInside, e.cmp(ICmpPredicate::ule, index, e.splat(bounds.last, at.lanes)));
    offsets = e.addI(offsets, e.mulI(index, e.splat(e.materialize(bounds.stride), at.lanes)));
  }
  if (Value count = validLanes(access, at))
    isInside = e.andI(isInside, e.laneMask(at.lanes, count));
  e.maskedScatter(value, accessAddress(access, at, element), offsets, isInside);
}

/// A row whose elements have an index each.
void KernelEmitter::storeRow(tile::ScatterOp op, Position at) {
  int64_t columns = Plan::shapeOf(op.getValue()).back(), lanes = std::min(cpu.lanes(4), columns);
  int64_t whole = columns / lanes * lanes;
  at.vectorDim = int(at.index.size());
  auto put = [&](Ix column, int64_t width) {
    MemoScope scope(*this);
    at.index.push_back(column);
    at.lanes = width;
    storeAt(op, at);
    at.index.pop_back();
  };
  e.loop(e.integer(0), e.integer(whole), lanes, [&](Value column) { put(Ix(column), lanes); });
  if (whole < columns)
    put(Ix(whole), columns - whole);
}

void KernelEmitter::emitScatter(tile::ScatterOp op) {
  SetVector<Operation *> read;
  read.insert(op);
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      plan.visitReads(operand, true, {}, [&](Value value, bool) {
        Operation *def = value.getDefiningOp();
        if (isa_and_nonnull<tile::LoadOp, tile::GatherOp>(def) && !plan.bufferOf(value))
          read.insert(def);
      });
  ArrayRef<int64_t> shape = Plan::shapeOf(op.getValue());
  const Access &access = accesses.find(op)->second;
  int64_t bytes = Emitter::byteWidth(Plan::elementOf(op.getValue()));
  int last = int(shape.size()) - 1;
  bool isRow = last >= 0 && access.strides[last].isConstant() &&
               access.strides[last].constant == bytes &&
               llvm::all_of(op.getIndices(), [&](Value tile) { return isUniform(tile, last); });
  bool isSpread = !op.getSum() && !isRow && last >= 0;
  emitVersioned(isFull(read.getArrayRef()), [&] {
    Position at;
    std::function<void(int)> nest = [&](int d) {
      MemoScope scope(*this);
      if (isSpread && d == last)
        return storeRow(op, at);
      if (d > last || (isRow && d == last)) {
        Position first = at;
        if (d == last)
          first.index.push_back(Ix(0));
        Destination to = destinationOf(op, first);
        auto add = [&] {
          MemoScope inside(*this);
          if (d == last)
            addRow(op, at, to.moved);
          else
            addAt(op, at, to.moved);
        };
        return to.isInside ? e.branch(to.isInside, add, nullptr) : add();
      }
      e.loop(e.integer(0), e.integer(shape[d]), 1, [&](Value i) {
        at.index.push_back(Ix(i));
        nest(d + 1);
        at.index.pop_back();
      });
    };
    nest(0);
  });
}
