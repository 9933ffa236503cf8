//===- Scan.cpp - Prefix scans along a dimension of a tile ----------------===//
//
// Across rows, vectors of columns are combined row by row: as many chains as lanes. Along a row,
// the lanes of each vector are combined in log2(lanes) steps, in which every lane takes the lane 1,
// 2, 4, … before it, and the running value is combined with all of them. Input and result are
// buffers.
//
// A scan by key combines each element in order with a small table's entry for its key.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

/// Columns [start, start + lanes), or a single column.
static Position columnsAt(ArrayRef<Ix> index, Ix start, int64_t lanes) {
  Position at;
  at.index.assign(index.begin(), index.end());
  at.index.push_back(start);
  if (lanes > 1) {
    at.vectorDim = int(at.index.size()) - 1;
    at.lanes = lanes;
  }
  return at;
}

/// The position without the scanned dimension, which is not the last.
static Position without(Position at, int64_t dim) {
  at.index.erase(at.index.begin() + dim);
  if (at.vectorDim >= 0)
    --at.vectorDim;
  return at;
}

/// The prefix scan of the lanes of a vector.
Value KernelEmitter::scanLanes(tile::ScanOp op, Value vector) {
  Type element = Plan::elementOf(op.getInput());
  int64_t lanes = Emitter::lanesOf(vector.getType());
  for (int64_t distance = 1; distance < lanes; distance *= 2) {
    SmallVector<int32_t> from;
    for (int64_t lane = 0; lane < lanes; ++lane)
      from.push_back(lane < distance ? lanes + lane : lane - distance);
    Value before = e.shuffle(vector, e.unit(op.getReduceOp(), element, lanes), from);
    vector = e.join(op.getReduceOp(), before, vector, element);
  }
  return vector;
}

void KernelEmitter::scanAlongRow(tile::ScanOp op, SmallVector<Ix, 4> index) {
  const Buffer &from = *plan.bufferOf(op.getInput()), &to = *plan.bufferOf(op.getResult());
  Type element = Plan::elementOf(op.getInput());
  int64_t columns = Plan::shapeOf(op.getInput()).back(), lanes = cpu.lanes(4);
  int64_t whole = columns / lanes * lanes;
  auto step = [&](Ix start, int64_t width, Value before) -> Value {
    Position at = columnsAt(index, start, width);
    Value own = scanLanes(op, loadBuffer(from, at));
    Value joined = e.join(op.getReduceOp(), e.splat(before, at.lanes), own, element);
    storeBuffer(to, joined, at);
    return at.lanes ? e.extract(joined, at.lanes - 1) : joined;
  };
  Position row;
  row.index = index;
  Value total = evaluate(op.getInit(), row);
  if (whole)
    total = e.loop(e.integer(0), e.integer(whole), lanes, {total},
                   [&](Value start, ValueRange carried) -> SmallVector<Value> {
                     return {step(Ix(start), lanes, carried[0])};
                   })[0];
  if (columns > whole)
    total = step(Ix(whole), columns - whole, total);
  storeBuffer(*plan.bufferOf(op.getTotal()), total, row);
}

/// `index` has zero for the scanned dimension.
void KernelEmitter::scanAcrossRows(tile::ScanOp op, SmallVector<Ix, 4> index) {
  const Buffer &from = *plan.bufferOf(op.getInput()), &to = *plan.bufferOf(op.getResult());
  Type element = Plan::elementOf(op.getInput());
  ArrayRef<int64_t> shape = Plan::shapeOf(op.getInput());
  int64_t columns = shape.back(), lanes = cpu.lanes(4), dim = op.getDim();
  constexpr int64_t most = 4; // adjacent vectors
  auto strip = [&](Ix start, int64_t vectors, int64_t width) {
    auto at = [&](ArrayRef<Ix> row, int64_t v) {
      return columnsAt(row, e.add(start, v * lanes), width);
    };
    SmallVector<Value> totals;
    for (int64_t v = 0; v < vectors; ++v)
      totals.push_back(evaluate(op.getInit(), without(at(index, v), dim)));
    totals =
        e.loop(e.integer(0), e.integer(shape[dim]), 1, totals, [&](Value i, ValueRange carried) {
          SmallVector<Ix, 4> row = index;
          row[dim] = Ix(i);
          SmallVector<Value> next;
          for (int64_t v = 0; v < vectors; ++v) {
            Value own = loadBuffer(from, at(row, v));
            next.push_back(e.join(op.getReduceOp(), carried[v], own, element));
            storeBuffer(to, next.back(), at(row, v));
          }
          return next;
        });
    for (int64_t v = 0; v < vectors; ++v)
      storeBuffer(*plan.bufferOf(op.getTotal()), totals[v], without(at(index, v), dim));
  };
  int64_t whole = columns / lanes, step = std::min(whole, most);
  int64_t covered = step ? whole / step * step : 0;
  if (covered)
    e.loop(e.integer(0), e.integer(covered * lanes), step * lanes, [&](Value start) {
      MemoScope scope(*this);
      strip(Ix(start), step, lanes);
    });
  if (whole > covered)
    strip(Ix(covered * lanes), whole - covered, lanes);
  if (columns > whole * lanes)
    strip(Ix(whole * lanes), 1, columns - whole * lanes);
}

/// `index` has zero for the scanned dimension.
void KernelEmitter::scanByKey(tile::ScanOp op, SmallVector<Ix, 4> index) {
  const Buffer &to = *plan.bufferOf(op.getResult()), &table = *plan.bufferOf(op.getTotal());
  Type element = Plan::elementOf(op.getInput());
  int64_t dim = op.getDim(), keys = table.shape.back();
  auto entry = [&](Ix key) {
    Position at;
    at.index = index;
    at.index.erase(at.index.begin() + dim);
    at.index.push_back(key);
    return at;
  };
  if (plan.bufferOf(op.getInit()) != &table)
    e.loop(e.integer(0), e.integer(keys), 1, [&](Value key) {
      MemoScope scope(*this);
      storeBuffer(table, evaluate(op.getInit(), entry(Ix(key))), entry(Ix(key)));
    });
  e.loop(e.integer(0), e.integer(to.shape[dim]), 1, [&](Value i) {
    MemoScope scope(*this);
    Position at;
    at.index = index;
    at.index[dim] = Ix(i);
    Value key = e.cast(evaluate(op.getKey(), at), Plan::elementOf(op.getKey()), e.i64);
    Value last = e.integer(keys - 1);
    // A negative key is out of range as an unsigned number.
    Value isInside = e.cmp(LLVM::ICmpPredicate::ule, key, last);
    Position own = entry(Ix(e.select(isInside, key, last)));
    Value joined =
        e.join(op.getReduceOp(), loadBuffer(table, own), evaluate(op.getInput(), at), element);
    storeBuffer(table, joined, own);
    storeBuffer(to, joined, at);
  });
}

void KernelEmitter::emitScan(tile::ScanOp op) {
  ArrayRef<int64_t> shape = Plan::shapeOf(op.getInput());
  int64_t last = int64_t(shape.size()) - 1, dim = op.getDim();
  SmallVector<Ix, 4> index;
  std::function<void(int64_t)> nest = [&](int64_t d) {
    MemoScope scope(*this);
    if (op.getKey() && d > last)
      return scanByKey(op, index);
    if (!op.getKey() && d == last)
      return dim == last ? scanAlongRow(op, index) : scanAcrossRows(op, index);
    auto inner = [&](Ix i) {
      index.push_back(i);
      nest(d + 1);
      index.pop_back();
    };
    if (d == dim || shape[d] == 1)
      return inner(Ix(0));
    e.loop(e.integer(0), e.integer(shape[d]), 1, [&](Value i) { inner(Ix(i)); });
  };
  nest(0);
}
