//===- Bfmmla.cpp - Contractions by BFMMLA --------------------------------===//
//
// BFMMLA (AArch64) multiplies two rows by two columns of bf16 over four elements of K and adds the
// four results to f32 accumulators. That is four times the work of a multiplication by lane. An
// accumulator is a block of two rows and two columns; a micro-kernel keeps eight rows by eight
// columns in registers.
//
// Layout: four consecutive elements along K stay together. On the left-hand side the groups of four
// of two rows alternate, one pair of rows after the other. On the right-hand side the groups of the
// eight columns of a panel are adjacent, one k-step after the other. Each operand of an instruction
// is therefore one load.
//
// Differences to the vector unit: each sum of two products and each addition to the accumulator is
// rounded to odd (an error below one unit in the last place, against half of one for a
// multiply-add), and factors, products and sums below 2^-126 are flushed to zero.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using LLVM::ICmpPredicate;

static constexpr int64_t step = 4, bytes = 2; // elements along K, and bytes per element

/// Returns the offset of a row of the left-hand side at a multiple of the k-step.
Value KernelEmitter::pairedRow(const Buffer &buffer, Ix row, Ix depth) {
  Ix pair(row.constant / 2), inPair(row.constant % 2);
  if (!row.isConstant()) {
    Value number = e.materialize(row);
    pair = Ix(LLVM::LShrOp::create(e.b, number, e.integer(1)));
    inPair = Ix(e.andI(number, e.integer(1)));
  }
  Ix start = e.add(e.mul(pair, 2 * buffer.shape[1] * bytes), e.mul(inPair, step * bytes));
  return e.address(bufferStart(buffer), e.add(start, e.mul(depth, 2 * bytes)));
}

/// Packs the right-hand side.
void KernelEmitter::packForBfmmla(tile::MmaOp op) {
  Value rhs = op.getRhs();
  int64_t n = Plan::shapeOf(rhs)[1];
  Value depth = contractionLimit(op), columnEnd = limit(extents.of(op, 1), n, bfmmlaPanel);
  if (plan.bufferOf(rhs)) {
    MemoScope scope(*this);
    return packColumns(op, depth, columnEnd);
  }
  emitInside(rhs.getDefiningOp(), depth, Ix(columnEnd), [&] { packColumns(op, depth, columnEnd); });
}

void KernelEmitter::packColumns(tile::MmaOp op, Value depth, Value columnEnd) {
  const Buffer &to = *plan.rhsOf(op);
  Value rhs = op.getRhs();
  int64_t k = to.shape[0], n = to.shape[1], whole = n / bfmmlaPanel * bfmmlaPanel;
  bool isAlongDepth = Plan::isTransposedLoad(rhs) && !plan.bufferOf(rhs);
  auto store = [&](Value vector, Ix row, Ix panel, int64_t inPanel) {
    Ix offset = e.add(e.mul(panel, k * bytes), e.mul(row, bfmmlaPanel * bytes));
    e.store(vector, e.address(bufferStart(to), e.add(offset, inPanel * step * bytes)),
            scratchScope);
  };
  // Loads four elements along K of some columns of a panel.
  auto packStep = [&](Ix row, Ix panel, int64_t width) {
    if (isAlongDepth) {
      for (int64_t i = 0; i < width; ++i)
        store(evaluate(rhs, columnSegment(row, e.add(panel, i), step)), row, panel, i);
      return;
    }
    SmallVector<Value, step> rows;
    Value zeros = e.integer(0, Emitter::withLanes(e.i16, bfmmlaPanel));
    for (int64_t i = 0; i < step; ++i)
      rows.push_back(e.widen(evaluate(rhs, rowSegment(e.add(row, i), panel, width)), zeros));
    // Interleaves elements of adjacent rows along K: single elements of two rows first, then pairs.
    constexpr int32_t halves[2][8] = {{0, 8, 1, 9, 2, 10, 3, 11}, {4, 12, 5, 13, 6, 14, 7, 15}};
    constexpr int32_t pairs[2][8] = {{0, 1, 8, 9, 2, 3, 10, 11}, {4, 5, 12, 13, 6, 7, 14, 15}};
    int64_t inPanel = 0;
    for (auto &half : halves) {
      Value first = e.shuffle(rows[0], rows[1], half), second = e.shuffle(rows[2], rows[3], half);
      for (auto &both : pairs) {
        store(e.shuffle(first, second, both), row, panel, inPanel);
        inPanel += 2;
      }
    }
  };
  Value zero = e.integer(0);
  auto forPanels = [&](function_ref<void(Ix panel, int64_t width)> body) {
    if (whole)
      e.loop(zero, e.minI(columnEnd, e.integer(whole)), bfmmlaPanel,
             [&](Value panel) { body(Ix(panel), bfmmlaPanel); });
    if (n > whole)
      e.branch(
          e.cmp(ICmpPredicate::sgt, columnEnd, e.integer(whole)),
          [&] { body(Ix(whole), n - whole); }, nullptr);
  };
  auto scoped = [&](Value row, Ix panel, int64_t width) {
    MemoScope scope(*this);
    packStep(Ix(row), panel, width);
  };
  // Along the contiguous dimension in memory.
  if (isAlongDepth)
    return forPanels([&](Ix panel, int64_t width) {
      e.loop(zero, depth, step, [&](Value row) { scoped(row, panel, width); });
    });
  e.loop(zero, depth, step, [&](Value row) {
    forPanels([&](Ix panel, int64_t width) { scoped(row, panel, width); });
  });
}

/// Multiplies a block of rows (the first is even) by vectors of columns, over the whole K
/// dimension.
void KernelEmitter::emitBfmmlaKernel(tile::MmaOp op, MicroTile block, Ix row, Ix column,
                                     Ix panelStart, Value depth) {
  auto [rows, vectors] = block;
  const Buffer &lhs = *plan.lhsOf(op), &rhs = *plan.rhsOf(op), &to = *plan.bufferOf(op.getResult());
  int64_t lanes = cpu.lanes(4), k = rhs.shape[0];
  int64_t pairs = llvm::divideCeil(rows, 2), blocks = 2 * vectors;
  Type sums = Emitter::withLanes(e.f32, lanes),
       operand = Emitter::withLanes(e.b.getBF16Type(), 2 * step);
  constexpr int32_t halves[2][4] = {{0, 1, 4, 5}, {2, 3, 6, 7}};
  auto positionOf = [&](int64_t i, int64_t v) {
    return rowSegment(e.add(row, i), e.add(column, v * lanes), lanes);
  };
  SmallVector<Value> accumulators;
  for (int64_t i = 0; i < 2 * pairs; i += 2)
    for (int64_t v = 0; v < vectors; ++v) {
      Value both[2];
      for (int64_t r = 0; r < 2; ++r)
        both[r] = i + r < rows ? evaluateAccumulator(op, positionOf(i + r, v)) : e.real(0, sums);
      for (auto &half : halves)
        accumulators.push_back(e.shuffle(both[0], both[1], half));
    }
  Value lhsBase = e.address(bufferStart(lhs), e.mul(row, k * bytes));
  Value rhsBase = e.address(bufferStart(rhs), panelStart);
  accumulators = e.loop(e.integer(0), depth, step, accumulators, [&](Value at, ValueRange carried) {
    Value lhsAt = e.address(lhsBase, e.mul(Ix(at), 2 * bytes));
    Value rhsAt = e.address(rhsBase, e.mul(Ix(at), bfmmlaPanel * bytes));
    auto load = [&](Value base, int64_t offset) {
      return e.load(operand, e.address(base, offset), scratchScope);
    };
    SmallVector<Value> columns, next;
    for (int64_t j = 0; j < blocks; ++j)
      columns.push_back(load(rhsAt, j * 2 * step * bytes));
    for (int64_t i = 0; i < pairs; ++i) {
      Value factor = load(lhsAt, i * 2 * k * bytes);
      for (int64_t j = 0; j < blocks; ++j)
        next.push_back(e.intrinsic("llvm.aarch64.neon.bfmmla", sums,
                                   {carried[i * blocks + j], factor, columns[j]}));
    }
    return next;
  });
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t v = 0; v < vectors; ++v) {
      int64_t first = i / 2 * blocks + 2 * v;
      storeBuffer(to, e.shuffle(accumulators[first], accumulators[first + 1], halves[i % 2]),
                  positionOf(i, v));
    }
}
