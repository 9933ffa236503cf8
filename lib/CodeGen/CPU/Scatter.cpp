//===- Scatter.cpp - Sums at computed places ------------------------------===//
//
// Elements are added one after the other, since two of them may go to one place. Only along a
// dimension on which the place does not depend are they neighbours that a vector adds at once.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using LLVM::ICmpPredicate;

/// Adds the elements at `at`, which all go to the same place but for their neighbourhood.
void KernelEmitter::addAt(tile::ScatterOp op, const Position &at) {
  const Access &access = accesses.find(op)->second;
  Type element = Plan::elementOf(op.getValue());
  Value value = evaluate(op.getValue(), at), isInside;
  Ix moved = 0;
  Position first;
  first.index = at.index;
  for (auto [tile, place] : llvm::zip_equal(op.getPlaces(), access.places)) {
    Value index = e.cast(evaluate(tile, first), Plan::elementOf(tile), e.i64);
    // As an unsigned number a negative index is beyond every size.
    isInside = e.andI(isInside, e.cmp(ICmpPredicate::ule, index, place.last));
    moved = e.add(moved, e.mul(Ix(index), place.stride));
  }
  Value count = validLanes(access, at);
  if (count && !at.lanes) {
    isInside = e.andI(isInside, e.cmp(ICmpPredicate::sgt, count, e.integer(0)));
    count = Value();
  }
  e.branch(
      isInside,
      [&] {
        Value address = e.address(accessAddress(access, at, element), moved);
        Type stored = Emitter::withLanes(e.storageType(element), at.lanes);
        Value mask = count ? e.laneMask(at.lanes, count) : Value();
        Value old = mask ? e.maskedLoad(stored, address, mask, e.integerOrReal(0, stored))
                         : e.load(stored, address, access.scope);
        Value sum = e.scalarOp(ScalarOp::Add, {old, value}, element);
        if (mask)
          e.maskedStore(sum, address, mask);
        else
          e.store(sum, address, access.scope);
      },
      nullptr);
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
  int64_t lanes = isRow ? std::min(cpu.lanes(4), shape[last]) : 1;
  versioned(isFull(read.getArrayRef()), [&] {
    Position at;
    std::function<void(int)> nest = [&](int d) {
      if (d > last)
        return addAt(op, at);
      int64_t step = d == last ? lanes : 1, whole = shape[d] / step * step;
      auto emit = [&](Ix index, int64_t width) {
        MemoScope scope(*this);
        at.index.push_back(index);
        if (d == last && isRow) {
          at.vectorDim = last;
          at.lanes = width;
        }
        nest(d + 1);
        at.index.pop_back();
      };
      e.loop(e.integer(0), e.integer(whole), step, [&](Value i) { emit(Ix(i), step); });
      if (whole < shape[d])
        emit(Ix(whole), shape[d] - whole);
    };
    nest(0);
  });
}
