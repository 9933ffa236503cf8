//===- Interleave.cpp - Interleaved rows of the left-hand side ------------===//
//
// Where one instruction multiplies a vector by one lane of another (AArch64), the left-hand side of
// a contraction is best read as vectors that hold one element of K of several rows. A block of
// eight rows by three vectors of columns then takes five loads for 24 multiplications, all from
// consecutive addresses. Row-major operands are transposed in small blocks on their way into
// scratch memory.
//
// Layout: the rows of a block form a group; groups are adjacent, each with the whole K dimension.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

/// Returns the address of an element of a row.
Value KernelEmitter::interleavedRow(const Buffer &buffer, Ix row, Ix depth) {
  int64_t side = buffer.interleaved, bytes = Emitter::byteWidth(buffer.element);
  row = rowIn(buffer, row);
  Ix group(row.constant / side), inGroup(row.constant % side);
  if (!row.isConstant()) {
    Value number = e.materialize(row);
    group = Ix(LLVM::UDivOp::create(e.b, number, e.integer(side)));
    inGroup = Ix(LLVM::URemOp::create(e.b, number, e.integer(side)));
  }
  Ix element = e.add(e.add(e.mul(group, buffer.shape[1] * side), e.mul(depth, side)), inGroup);
  return e.address(bufferStart(buffer), e.mul(element, bytes));
}

void KernelEmitter::emitInterleave(const Item &item) {
  const Root &root = item.roots.front();
  emitVersioned(isFull(accessesOf(item)), [&] { interleaveRows(root.value, *root.dest); });
}

void KernelEmitter::interleaveRows(Value tile, const Buffer &to) {
  int64_t rows = Plan::shapeOf(tile)[0], depth = to.shape[1], side = to.interleaved;
  int64_t bytes = Emitter::byteWidth(to.element), lanes = cpu.lanes(bytes);
  Type element = Plan::elementOf(tile), vectorType = Emitter::withLanes(to.element, lanes);
  bool isAcross = Plan::isTransposedLoad(tile) && !plan.bufferOf(tile);
  Value zeros = e.integerOrReal(0, vectorType);
  auto vectorAt = [&](Ix row, Ix step, int dim, int64_t width) {
    Position at;
    at.index = {row, step};
    at.vectorDim = dim;
    at.lanes = width;
    return e.widen(e.cast(evaluate(tile, at), element, to.element), zeros);
  };
  // Interleaves `width` elements along K of the `height` rows of a group.
  auto block = [&](Ix first, int64_t height, Ix step, int64_t width) {
    Ix start = e.add(e.mul(rowIn(to, first), depth * bytes), e.mul(step, side * bytes));
    for (int64_t inGroup = 0; inGroup < height; inGroup += lanes) {
      Ix row = e.add(first, inGroup);
      int64_t left = std::min(lanes, height - inGroup);
      SmallVector<Value> vectors(lanes, zeros);
      for (int64_t i = 0; i < (isAcross ? width : left); ++i)
        vectors[i] = isAcross ? vectorAt(row, e.add(step, i), 0, left)
                              : vectorAt(e.add(row, i), step, 1, width);
      if (!isAcross)
        vectors = transposeLanes(vectors);
      for (int64_t i = 0; i < width; ++i)
        e.store(vectors[i], e.address(bufferStart(to), e.add(start, (i * side + inGroup) * bytes)),
                scratchScope);
    }
  };
  auto group = [&](Ix row, int64_t height) {
    int64_t whole = depth / lanes * lanes;
    Value end = limit(extents.of(tile, 1), depth, std::max(lanes, extents.contractionStep()));
    if (whole)
      e.loop(e.integer(0), e.minI(end, e.integer(whole)), lanes, [&](Value step) {
        MemoScope scope(*this);
        block(row, height, Ix(step), lanes);
      });
    if (depth > whole) {
      MemoScope scope(*this);
      block(row, height, Ix(whole), depth - whole);
    }
  };
  int64_t whole = rows / side * side;
  auto [start, end] = currentRows(e.minI(limit(extents.of(tile, 0), rows, side), e.integer(whole)));
  if (whole)
    e.loop(start, end, side, [&](Value row) { group(Ix(row), side); });
  if (rows > whole)
    group(Ix(whole), rows - whole);
}
