//===- FewRows.cpp - Contractions of few rows -----------------------------===//
//
// Where the accumulators of all rows are in registers, the right-hand side is read only once, so it
// is not packed. It is read as vectors along N if N is contiguous in memory, or as dot products
// along K if K is.
//
//===----------------------------------------------------------------------===//
#include "Backend.h"
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

void KernelEmitter::emitFewRows(tile::MmaOp op) {
  if (Plan::isTransposedLoad(op.getRhs()) && !plan.bufferOf(op.getRhs()))
    emitDotProducts(op);
  else
    emitRowsTimesColumns(op);
}

/// Right-hand side contiguous along N: a few rows of it at a time, which are read in the order of
/// memory. Accumulators of all columns stay in the L1 cache.
void KernelEmitter::emitRowsTimesColumns(tile::MmaOp op) {
  constexpr int64_t unroll = 8, leastStep = 4;
  const Buffer &lhs = *plan.lhsOf(op), &to = *plan.bufferOf(op.getResult());
  Type element = Plan::elementOf(op.getResult()), from = Plan::elementOf(op.getRhs());
  int64_t m = to.shape[0], n = to.shape[1], k = lhs.shape[1];
  int64_t lanes = cpu.lanes(Emitter::byteWidth(element));
  // Beside the accumulators, registers hold a broadcast of each row and a vector of columns.
  int64_t most = std::clamp<int64_t>((cpu.vectorRegisters - 1) / m - 1, 1, 2);
  Value depth = contractionLimit(op), columnEnd = limit(extents.of(op, 1), n, 1);
  tile::LoadOp load = plan.bufferOf(op.getRhs()) ? tile::LoadOp() : Plan::definingLoad(op.getRhs());
  Type stored = load ? Plan::elementOf(load.getResult()) : from;
  bool isStored = plan.bufferOf(op.getAcc()) == &to; // whether accumulators are in their place

  using ColumnsFn = function_ref<void(Ix column, int64_t vectors, int64_t width)>;
  auto forColumns = [&](ColumnsFn body) {
    int64_t whole = n / lanes, step = std::min(whole, most);
    int64_t covered = step ? whole / step * step : 0;
    auto scoped = [&](Ix column, int64_t vectors, int64_t width) {
      MemoScope scope(*this);
      body(column, vectors, width);
    };
    if (covered)
      e.loop(e.integer(0), e.minI(columnEnd, e.integer(covered * lanes)), step * lanes,
             [&](Value column) { scoped(Ix(column), step, lanes); });
    if (whole > covered)
      scoped(Ix(covered * lanes), whole - covered, lanes);
    if (n > whole * lanes)
      scoped(Ix(whole * lanes), 1, n - whole * lanes);
  };
  auto forAccumulators = [&](Ix column, int64_t vectors, int64_t width,
                             function_ref<void(int64_t i, int64_t v, const Position &at)> body) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t v = 0; v < vectors; ++v)
        body(i, v, rowSegment(Ix(i), e.add(column, v * lanes), width));
  };
  if (!isStored)
    forColumns([&](Ix column, int64_t vectors, int64_t width) {
      forAccumulators(column, vectors, width, [&](int64_t, int64_t, const Position &at) {
        storeBuffer(to, evaluate(op.getAcc(), at), at);
      });
    });
  auto multiply = [&](Ix row, int64_t rows, Ix column, int64_t vectors, int64_t width) {
    SmallVector<Value> sums;
    forAccumulators(column, vectors, width, [&](int64_t, int64_t, const Position &at) {
      sums.push_back(loadBuffer(to, at));
    });
    for (int64_t r = 0; r < rows; ++r) {
      if (load)
        prefetchRun(accessAddress(accesses.find(load)->second,
                                  rowSegment(e.add(row, r + unroll), column, 1), stored),
                    ((vectors - 1) * lanes + width) * Emitter::byteWidth(stored), /*hint=*/3);
      for (int64_t v = 0; v < vectors; ++v) {
        Position at = rowSegment(e.add(row, r), e.add(column, v * lanes), width);
        Value value = e.cast(evaluate(op.getRhs(), at), from, element);
        for (int64_t i = 0; i < m; ++i) {
          Value scalar = e.load(element, bufferAddress(lhs, {Ix(i), e.add(row, r)}), scratchScope);
          Value &sum = sums[i * vectors + v];
          sum = e.mulAdd(e.splat(scalar, width), value, sum);
        }
      }
    }
    forAccumulators(column, vectors, width, [&](int64_t i, int64_t v, const Position &at) {
      storeBuffer(to, sums[i * vectors + v], at);
    });
  };
  auto multiplyRows = [&](Ix row, int64_t rows) {
    MemoScope scope(*this);
    forColumns([&](Ix column, int64_t vectors, int64_t width) {
      auto body = [&] { multiply(row, rows, column, vectors, width); };
      if (!load)
        return body();
      Ix end = e.add(column, (vectors - 1) * lanes + width);
      emitInside(load, e.materialize(e.add(row, rows)), end, body);
    });
  };
  auto inSteps = [&](Value first, Value end, int64_t step) {
    e.loop(first, end, step, [&](Value row) { multiplyRows(Ix(row), step); });
  };
  // The depth is a multiple of the smaller step, or all of a size that need not be one.
  int64_t whole = k / leastStep * leastStep;
  Value end = whole == k ? depth : e.integer(whole);
  Value most8 = e.andI(end, e.integer(-unroll));
  if (whole >= unroll)
    inSteps(e.integer(0), most8, unroll);
  if (whole % unroll || whole == k)
    inSteps(most8, end, leastStep);
  if (k > whole)
    multiplyRows(Ix(whole), k - whole);
}

/// Right-hand side contiguous along K: dot products of a few columns at a time.
void KernelEmitter::emitDotProducts(tile::MmaOp op) {
  const Buffer &lhs = *plan.lhsOf(op), &to = *plan.bufferOf(op.getResult());
  Type element = Plan::elementOf(op.getResult()), from = Plan::elementOf(op.getRhs());
  int64_t m = to.shape[0], n = to.shape[1], k = lhs.shape[1];
  int64_t lanes = cpu.lanes(Emitter::byteWidth(element));
  // Beside the accumulators, registers hold a vector of each row and one of a column.
  int64_t most = std::clamp<int64_t>((cpu.vectorRegisters - 1 - m) / m, 1, 8);
  Value depth = contractionLimit(op), columnEnd = limit(extents.of(op, 1), n, 1);
  // Rows have no values past the end of K, where the other lanes of a last vector are.
  bool endsAnywhere = extents.contracted(op).has_value();
  auto multiply = [&](Ix column, int64_t count) {
    auto zeros = [&](int64_t width) {
      return e.integerOrReal(0, Emitter::withLanes(element, width));
    };
    auto step = [&](Ix at, int64_t width, MutableArrayRef<Value> sums, Value mask = {}) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < m; ++i) {
        Value row = loadBuffer(lhs, rowSegment(Ix(i), at, width));
        rows.push_back(mask ? e.select(mask, row, zeros(width)) : row);
      }
      for (int64_t j = 0; j < count; ++j) {
        Position here = columnSegment(at, e.add(column, j), width);
        Value value = e.cast(evaluate(op.getRhs(), here), from, element);
        for (int64_t i = 0; i < m; ++i)
          sums[i * count + j] = e.mulAdd(rows[i], value, sums[i * count + j]);
      }
    };
    int64_t whole = k / lanes * lanes, width = whole ? lanes : k;
    SmallVector<Value> sums(m * count, zeros(width));
    auto inVectors = [&](Value first, Value end, bool isLast) {
      sums = e.loop(first, end, lanes, sums, [&](Value at, ValueRange carried) {
        MemoScope scope(*this);
        SmallVector<Value> next(carried.begin(), carried.end());
        step(Ix(at), lanes, next, isLast ? e.laneMask(lanes, e.subI(end, at)) : Value());
        return next;
      });
    };
    if (whole) {
      Value end = e.minI(depth, e.integer(whole)), vectors = e.andI(end, e.integer(-lanes));
      inVectors(e.integer(0), vectors, false);
      if (endsAnywhere) {
        bool wasAtEdge = std::exchange(atEdge, true);
        inVectors(vectors, end, true);
        atEdge = wasAtEdge;
      }
    }
    if (k > whole) {
      SmallVector<Value> rest(m * count, zeros(k - whole));
      Value left = e.subI(depth, e.integer(whole));
      step(Ix(whole), k - whole, rest, endsAnywhere ? e.laneMask(k - whole, left) : Value());
      for (auto [sum, last] : llvm::zip(sums, rest))
        sum = e.join(ReduceOp::Sum, sum, e.widen(last, zeros(width)), element);
    }
    Value totals = e.horizontalSums(sums, element);
    for (int64_t i = 0; i < m; ++i) {
      Position here = rowSegment(Ix(i), column, count);
      Value sum = e.join(ReduceOp::Sum, evaluate(op.getAcc(), here),
                         e.part(totals, i * count, count), element);
      storeBuffer(to, sum, here);
    }
  };
  auto strip = [&](Ix column, int64_t count) {
    MemoScope scope(*this);
    emitInside(op.getRhs().getDefiningOp(), k % lanes ? e.integer(k) : depth, e.add(column, count),
               [&] { multiply(column, count); });
  };
  int64_t step = std::min(n, most), whole = n / step * step;
  e.loop(e.integer(0), e.minI(columnEnd, e.integer(whole)), step,
         [&](Value column) { strip(Ix(column), step); });
  if (n > whole)
    strip(Ix(whole), n - whole);
}
