//===- Scatter.cpp - Elements at computed places --------------------------===//
//
// Elements of a sum are added one after the other, since two of them may go to one place. Only along
// a dimension on which the place does not depend are they neighbours that a vector adds at once.
// Other elements go to places of their own: a vector of them to a vector of addresses.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using LLVM::ICmpPredicate;

/// Where the elements at `at` go, which all have the same places.
KernelEmitter::Destination KernelEmitter::destinationOf(tile::ScatterOp op, const Position &at) {
  const Access &access = accesses.find(op)->second;
  Destination result;
  Position first;
  first.index = at.index;
  for (auto [tile, place] : llvm::zip_equal(op.getPlaces(), access.places)) {
    Value index = e.cast(evaluate(tile, first), Plan::elementOf(tile), e.i64);
    // As an unsigned number a negative index is beyond every size.
    result.isInside = e.andI(result.isInside, e.cmp(ICmpPredicate::ule, index, place.last));
    result.moved = e.add(result.moved, e.mul(Ix(index), place.stride));
  }
  return result;
}

/// Adds or puts the elements at `at` where they are known to go.
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

/// A row that goes to one place: vector after vector, a few at a time.
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

/// Puts the lanes at `at` at their places, those that are inside.
void KernelEmitter::putAt(tile::ScatterOp op, const Position &at) {
  const Access &access = accesses.find(op)->second;
  Type element = Plan::elementOf(op.getValue());
  Value value = e.toStorage(evaluate(op.getValue(), at), element), isInside;
  Value offsets = e.mulI(e.iota(e.i64, at.lanes),
                         e.splat(e.materialize(access.strides[at.vectorDim]), at.lanes));
  for (auto [tile, place] : llvm::zip_equal(op.getPlaces(), access.places)) {
    Value index = e.cast(evaluate(tile, at), Plan::elementOf(tile), e.i64);
    // As an unsigned number a negative index is beyond every size.
    isInside = e.andI(isInside, e.cmp(ICmpPredicate::ule, index, e.splat(place.last, at.lanes)));
    offsets = e.addI(offsets, e.mulI(index, e.splat(e.materialize(place.stride), at.lanes)));
  }
  if (Value count = validLanes(access, at))
    isInside = e.andI(isInside, e.laneMask(at.lanes, count));
  e.maskedScatter(value, accessAddress(access, at, element), offsets, isInside);
}

/// A row whose elements have places of their own.
void KernelEmitter::putRow(tile::ScatterOp op, Position at) {
  int64_t columns = Plan::shapeOf(op.getValue()).back(), lanes = std::min(cpu.lanes(4), columns);
  int64_t whole = columns / lanes * lanes;
  at.vectorDim = int(at.index.size());
  auto put = [&](Ix column, int64_t width) {
    MemoScope scope(*this);
    at.index.push_back(column);
    at.lanes = width;
    putAt(op, at);
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
               llvm::all_of(op.getPlaces(), [&](Value tile) { return isUniform(tile, last); });
  bool isSpread = !op.getSum() && !isRow && last >= 0;
  versioned(isFull(read.getArrayRef()), [&] {
    Position at;
    std::function<void(int)> nest = [&](int d) {
      MemoScope scope(*this);
      if (isSpread && d == last)
        return putRow(op, at);
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
