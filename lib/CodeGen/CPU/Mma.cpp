//===- Mma.cpp - Contractions ---------------------------------------------===//
//
// The blocked form is an outer product in registers: `rows` × `vectors` accumulators stay in
// registers over the whole K loop. The left-hand side is broadcast from rows of constant stride, or
// loaded as vectors of several rows that are multiplied lane by lane (Interleave.cpp). The
// right-hand side is loaded as vectors from packed panels. One panel (K × panel) stays in the L1
// cache while all rows use it and prefetch the next one. Accumulators are evaluated, not just
// loaded, so that rescaling a loop-carried accumulator needs no separate pass.
//
// With at most four rows the right-hand side is read only once, so it is not packed. It is read as
// vectors along N if N is contiguous in memory, or as dot products along K if K is.
//
//===----------------------------------------------------------------------===//
#include "Backend.h"
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

static constexpr int64_t unroll = 4;            // unroll factor of K loops
static constexpr int64_t line = 64;             // bytes of a cache line
static constexpr int64_t prefetchDistance = 16; // rows ahead that packing prefetches
static constexpr int64_t minUnrolledDepth =
    128; // K from which on a larger unroll factor is worth its code size
static constexpr int64_t maxShortColumns = 256;

void KernelEmitter::emitMma(tile::MmaOp op) {
  SetVector<Operation *> loads;
  auto note = [&](Value value, bool) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<tile::LoadOp, tile::GatherOp>(op) && !plan.bufferOf(value))
      loads.insert(op);
  };
  plan.visitReads(op.getAcc(), true, {}, note);
  bool isBlocked = plan.rhsOf(op) != nullptr;
  if (plan.usesBfmmla(op))
    packForBfmmla(op);
  if (!isBlocked)
    plan.visitReads(op.getRhs(), true, {}, note);
  emitVersioned(isFull(loads.getArrayRef()), [&] {
    if (isBlocked)
      emitBlockedMma(op);
    else if (Plan::isTransposedLoad(op.getRhs()) && !plan.bufferOf(op.getRhs()))
      emitDotProducts(op);
    else
      emitRowsTimesColumns(op);
  });
}

void KernelEmitter::emitBlockedMma(tile::MmaOp op) {
  const Buffer &rhs = *plan.rhsOf(op);
  int64_t m = Plan::shapeOf(op.getLhs())[0], k = rhs.shape[0], n = Plan::shapeOf(op.getRhs())[1];
  int64_t bytes = Emitter::byteWidth(rhs.element);
  int64_t lanes = cpu.lanes(Emitter::byteWidth(Plan::elementOf(op.getResult())));
  // With a small dynamic number of rows, a last full block would compute mostly unused rows; half
  // blocks come last instead.
  bool halves = !bandStart && !extents->of(op, 0).all && m <= maxShortRows && !plan.splitRhsOf(op);
  int64_t rows = rhs.paired ? std::min(m, bfmmlaRows) : plan.microTile(op, halves).rows;
  int64_t wholeRows = m / rows * rows;
  halves &= rows % (rhs.paired ? 4 : 2) == 0;
  int64_t covered = halves ? m / (rows / 2) * (rows / 2) : wholeRows;
  Value rowEnd = limit(extents->of(op, 0), m, 1), columnEnd = limit(extents->of(op, 1), n, 1);
  Value depth = contractionLimit(op);
  // A remainder is skipped if it is not demanded.
  auto rest = [&](Value demanded, int64_t size, int64_t covered, function_ref<void()> body) {
    if (size == covered)
      return;
    auto scoped = [&] {
      MemoScope scope(*this);
      body();
    };
    if (!covered)
      return scoped();
    e.branch(e.cmp(LLVM::ICmpPredicate::sgt, demanded, e.integer(covered)), scoped, nullptr);
  };
  // Splits `size` columns at `first` into pieces. The last two pieces have about the same width,
  // which keeps more accumulators in registers than one full and one narrow piece.
  bool isPlain = !rhs.paired && !plan.splitRhsOf(op);
  using ColumnsFn = function_ref<void(Ix at, int64_t width)>;
  auto ends = [&](int64_t size, int64_t piece) {
    int64_t whole = size / piece * piece, left = size - whole;
    if (!left || !whole || left + lanes >= piece || !isPlain)
      return std::pair(whole, whole);
    return std::pair(whole - piece,
                     int64_t(whole - piece + llvm::alignTo((piece + left) / 2, lanes)));
  };
  bool packs = plan.packsPanels(op);
  auto forEachEndPiece = [&](Value demanded, int64_t whole, int64_t middle, int64_t size,
                             ColumnsFn body) {
    int64_t width = middle - whole;
    if (packs && width && width == size - middle && width % lanes == 0)
      return e.loop(e.integer(whole), e.minI(demanded, e.integer(size)), width, [&](Value at) {
        MemoScope scope(*this);
        body(Ix(at), width);
      });
    if (middle > whole)
      rest(demanded, size, whole, [&] { body(Ix(whole), middle - whole); });
    rest(demanded, size, middle, [&] { body(Ix(middle), size - middle); });
  };
  auto forEachPiece = [&](Ix first, int64_t size, int64_t piece, ColumnsFn body) {
    Value demanded = e.subI(columnEnd, e.materialize(first));
    auto [whole, middle] = ends(size, piece);
    if (whole)
      e.loop(e.integer(0), e.minI(demanded, e.integer(whole)), piece, [&](Value at) {
        MemoScope scope(*this);
        body(Ix(at), piece);
      });
    forEachEndPiece(demanded, whole, middle, size, body);
  };
  auto vectorsOf = [&](int64_t width) { return llvm::divideCeil(width, lanes); };
  if (plan.splitsStrips(op))
    return forEachPiece(Ix(0), n, plan.splitRhsOf(op)->shape[1], [&](Ix start, int64_t width) {
      packPanel(op, start, width, depth);
      forEachPiece(start, width, rhs.panel, [&](Ix inStrip, int64_t width) {
        emitAmxRows(op, e.add(start, inStrip), inStrip, vectorsOf(width), rowEnd, depth, {});
      });
    });
  auto [rowStart, rowStop] = currentRows(rowEnd);
  // A panel that is packed as column `packed` of the packed buffer.
  auto passPacked = [&](Ix column, Ix packed, int64_t width) {
    int64_t vectors = vectorsOf(width);
    if (plan.splitRhsOf(op)) {
      splitPanel(op, e.mul(packed, k * bytes), vectors, depth);
      NextPanel next = findNextPanel(op, e.add(column, rhs.panel), columnEnd);
      return emitAmxRows(op, column, Ix(0), vectors, rowEnd, depth, next);
    }
    auto emitRows = [&](int64_t rows, int64_t vectors, Ix row, const PanelPrefetch &ahead = {}) {
      if (rhs.paired)
        emitBfmmlaKernel(op, {rows, vectors}, row, column, e.mul(packed, k * bytes), depth);
      else
        emitMicroKernel(op, {rows, vectors}, row, column, packed, depth, ahead);
    };
    auto passRows = [&](int64_t vectors) {
      Value end = e.minI(rowStop, e.integer(wholeRows));
      if (halves)
        end = e.mulI(LLVM::UDivOp::create(e.b, end, e.integer(rows)), e.integer(rows));
      // In a band, panels are used in memory order with one block of rows at a time.
      if (bandStart) {
        prefetchAccumulators(op, {rows, vectors}, Ix(rowStart), e.add(column, vectors * lanes));
        return emitRows(rows, vectors, Ix(rowStart));
      }
      if (wholeRows)
        e.loop(rowStart, end, rows, [&](Value row) {
          MemoScope scope(*this);
          prefetchAccumulators(op, {rows, vectors}, Ix(row, rows), column);
          emitRows(rows, vectors, Ix(row),
                   planPanelPrefetch(op, e.add(column, rhs.panel), row, rows, rowEnd));
        });
      if (halves)
        e.loop(end, e.minI(rowStop, e.integer(covered)), rows / 2, [&](Value row) {
          MemoScope scope(*this);
          emitRows(rows / 2, vectors, Ix(row));
        });
      rest(rowEnd, m, covered, [&] { emitRows(m - covered, vectors, Ix(covered)); });
    };
    // With a small dynamic number of columns, the last panel may be half a panel.
    if (vectors < 3 || n > maxShortColumns || extents->of(op, 1).all)
      return passRows(vectors);
    auto scoped = [&](int64_t vectors) {
      MemoScope scope(*this);
      passRows(vectors);
    };
    Value left = e.subI(columnEnd, e.materialize(column));
    e.branch(
        e.cmp(LLVM::ICmpPredicate::sle, left, e.integer(vectors / 2 * lanes)),
        [&] { scoped(vectors / 2); }, [&] { scoped(vectors); });
  };
  auto passPanel = [&](Ix column, int64_t width) {
    if (packs)
      packPanel(op, column, width, depth);
    passPacked(column, packs ? Ix(0) : column, width);
  };
  // Several panels are packed at once if that reads whole cache lines.
  int64_t strip = rhs.shape[1];
  auto passStrips = [&] {
    auto [whole, middle] = ends(n, rhs.panel);
    int64_t inStrips = whole / strip * strip, left = whole - inStrips;
    e.loop(e.integer(0), e.minI(columnEnd, e.integer(whole)), strip, [&](Value start) {
      auto pack = [&](int64_t width) {
        MemoScope scope(*this);
        packPanel(op, Ix(start), width, depth);
      };
      if (!left || !inStrips)
        pack(left ? left : strip);
      else
        e.branch(
            e.cmp(LLVM::ICmpPredicate::slt, start, e.integer(inStrips)), [&] { pack(strip); },
            [&] { pack(left); });
      Value end = e.minI(columnEnd, e.minI(e.addI(start, e.integer(strip)), e.integer(whole)));
      e.loop(start, end, rhs.panel, [&](Value column) {
        MemoScope scope(*this);
        passPacked(Ix(column), Ix(e.subI(column, start)), rhs.panel);
      });
    });
    forEachEndPiece(columnEnd, whole, middle, n, passPanel);
  };
  auto passPanels = [&] {
    if (packs && strip > rhs.panel)
      return passStrips();
    forEachPiece(Ix(0), n, rhs.panel, passPanel);
  };
  // BFMMLA consumes panels faster than the L2 cache delivers them: all panels are multiplied with
  // rows that stay in the L1 cache. A band does the same: panels that are read once, in order, are
  // prefetched by the hardware.
  int64_t near = rhs.paired && !halves ? cpu.l1Bytes / 2 / (k * bytes) / rows * rows : 0;
  if (bandStart)
    near = rows;
  else if (!near || m <= near || m % near)
    return passPanels();
  e.loop(rowStart, rowStop, near, [&](Value row) {
    MemoScope scope(*this);
    rowStart = row;
    rowStop = e.minI(rowEnd, e.addI(row, e.integer(near)));
    passPanels();
  });
}

/// Packs all panels of the right-hand side.
void KernelEmitter::packAllPanels(tile::MmaOp op) {
  const Buffer &rhs = *plan.rhsOf(op);
  int64_t n = rhs.shape[1], panelBytes = rhs.shape[0] * Emitter::byteWidth(rhs.element);
  int64_t step =
      Plan::isTransposedLoad(op.getRhs()) ? rhs.panel : std::min(stripPanels * rhs.panel, n);
  Value depth = contractionLimit(op), end = limit(extents->of(op, 1), n, 1),
        start = bufferStart(rhs);
  auto pack = [&](Ix column, int64_t width) {
    MemoScope scope(*this);
    starts[&rhs] = e.address(start, e.mul(column, panelBytes));
    packPanel(op, column, width, depth);
    starts[&rhs] = start;
  };
  int64_t whole = n / step * step;
  e.loop(e.integer(0), e.minI(end, e.integer(whole)), step,
         [&](Value column) { pack(Ix(column), step); });
  if (n > whole)
    e.branch(
        e.cmp(LLVM::ICmpPredicate::sgt, end, e.integer(whole)), [&] { pack(Ix(whole), n - whole); },
        nullptr);
}

/// Packs columns [column, column + width) of the right-hand side into the single panel, or splits a
/// strip of them.
void KernelEmitter::packPanel(tile::MmaOp op, Ix column, int64_t width, Value depth) {
  const Buffer &panel = *plan.rhsOf(op);
  tile::LoadOp load = Plan::definingLoad(op.getRhs());
  Type from = Plan::elementOf(op.getRhs());
  int64_t lanes = cpu.lanes(Emitter::byteWidth(panel.element)), k = panel.shape[0];
  bool isTransposed = Plan::isTransposedLoad(op.getRhs()), wasAtEdge = atEdge;
  // Most panels are inside the view even where the tile is not.
  const Access &access = accesses.find(load)->second;
  auto covers = [&](unsigned dim, Value end) {
    return access.valid[dim] ? e.cmp(LLVM::ICmpPredicate::sge, access.valid[dim], end) : Value();
  };
  Value rowsInside = covers(0, k % extents->contractionStep() ? e.integer(k) : depth);
  Value inside = e.andI(rowsInside, covers(1, e.materialize(e.add(column, width))));
  emitVersioned(inside, [&] {
    if (isTransposed)
      return emitTransposeNest(load, panel, column, width);
    if (plan.splitsStrips(op))
      return splitStrip(op, column, width, depth);
    auto copyRow = [&](Ix row) {
      for (int64_t start = 0; start < width; start += lanes) {
        Position at, to;
        at.index = {row, e.add(column, start)};
        at.vectorDim = 1;
        at.lanes = std::min(lanes, width - start);
        to.index = {row, Ix(start)};
        storeBuffer(panel, e.cast(evaluate(op.getRhs(), at), from, panel.element), to);
      }
    };
    auto lookAhead = [&](Ix row) {
      Position at;
      at.index = {row, column};
      Value address = accessAddress(access, at, from);
      prefetchRun(address, width * Emitter::byteWidth(Plan::elementOf(load.getResult())),
                  /*hint=*/3);
    };
    // Masks take many instructions: with several panels, one row at a time.
    if (bool isStrip = width > panel.panel; k % unroll == 0 && isStrip && atEdge)
      e.loop(e.integer(0), depth, 1, [&](Value row) {
        MemoScope scope(*this);
        copyRow(Ix(row));
      });
    else if (k % unroll == 0)
      e.loop(e.integer(0), depth, unroll, [&](Value row) {
        MemoScope scope(*this);
        for (int64_t i = 0; i < unroll; ++i) {
          copyRow(Ix(row, i));
          if (isStrip)
            lookAhead(Ix(row, i + prefetchDistance));
        }
      });
    else
      e.loop(e.integer(0), e.integer(k), 1, [&](Value row) {
        MemoScope scope(*this);
        copyRow(Ix(row));
      });
  });
  atEdge = wasAtEdge;
}

/// Returns the share of the next panel that the block of `rows` rows at `row` prefetches while it
/// multiplies. The share is spread over the iterations of the K loop, in rows or (if those are
/// contiguous) columns, so that memory accesses and arithmetic overlap. Where several panels are
/// packed at once, packing prefetches by itself.
KernelEmitter::PanelPrefetch KernelEmitter::planPanelPrefetch(tile::MmaOp op, Ix column, Value row,
                                                              int64_t rows, Value rowEnd) {
  const Buffer &rhs = *plan.rhsOf(op);
  bool inColumns = Plan::isTransposedLoad(op.getRhs());
  if (!plan.packsPanels(op) || rhs.paired || rhs.shape[1] > rhs.panel ||
      (inColumns && plan.lhsOf(op)->interleaved))
    return {};
  int64_t m = Plan::shapeOf(op.getLhs())[0],
          runs = inColumns ? rhs.panel : Plan::shapeOf(op.getRhs())[0];
  int64_t blocks = std::max<int64_t>(m / rows, 1);
  Value share = e.integer(llvm::divideCeil(runs, blocks));
  // A small dynamic number of rows has fewer blocks.
  if (m <= maxShortRows && !extents->of(op, 0).all) {
    Value present = LLVM::UDivOp::create(e.b, e.addI(rowEnd, e.integer(rows - 1)), e.integer(rows));
    share = LLVM::UDivOp::create(e.b, e.addI(present, e.integer(runs - 1)), present);
    blocks = std::min<int64_t>(blocks, 2);
  }
  Value first = e.mulI(LLVM::UDivOp::create(e.b, row, e.integer(rows)), share);
  int64_t each = blocks >= unroll ? 1 : blocks > 1 ? unroll / 2 : unroll;
  if (inColumns)
    each = llvm::divideCeil(llvm::divideCeil(runs, blocks), iterationsPerLine(op));
  return {first, column, each};
}

/// The number of K loop iterations that one cache line along K serves.
int64_t KernelEmitter::iterationsPerLine(tile::MmaOp op) {
  return std::max<int64_t>(line / (unroll * Emitter::byteWidth(Plan::elementOf(op.getRhs()))), 1);
}

/// Prefetches `bytes` bytes, addressing the last byte of each line: a partial first line belongs to
/// the preceding run.
void KernelEmitter::prefetchRun(Value address, int64_t bytes, int hint) {
  for (int64_t end = (bytes - 1) % line + 1; end <= bytes; end += line)
    LLVM::Prefetch::create(e.b, e.address(address, end - 1), /*rw=*/0, hint, /*cache=*/1);
}

/// Prefetches the share of the next panel that belongs to iteration `at` of a K loop.
void KernelEmitter::prefetchPanel(tile::MmaOp op, const PanelPrefetch &ahead, Value at) {
  tile::LoadOp load = Plan::definingLoad(op.getRhs());
  const Access &access = accesses.find(load)->second;
  Type element = Plan::elementOf(load.getResult());
  if (Plan::isTransposedLoad(op.getRhs())) {
    // One line of each column, spread over the iterations that it serves.
    Value iteration = e.andI(LLVM::LShrOp::create(e.b, at, e.integer(llvm::Log2_64(unroll))),
                             e.integer(iterationsPerLine(op) - 1));
    Ix column =
        e.add(ahead.column, Ix(e.addI(ahead.first, e.mulI(iteration, e.integer(ahead.each)))));
    for (int64_t i = 0; i < ahead.each; ++i)
      prefetchRun(accessAddress(access, rowSegment(Ix(at), e.add(column, i), 1), element), 1,
                  /*hint=*/2);
    return;
  }
  Value iteration = LLVM::LShrOp::create(e.b, at, e.integer(llvm::Log2_64(unroll / ahead.each)));
  for (int64_t i = 0; i < ahead.each; ++i) {
    Position position = rowSegment(Ix(e.addI(ahead.first, iteration), i), ahead.column, 1);
    prefetchRun(accessAddress(access, position, element),
                plan.rhsOf(op)->panel * Emitter::byteWidth(element), /*hint=*/2);
  }
}

/// Prefetches the accumulators of a block.
void KernelEmitter::prefetchAccumulators(tile::MmaOp op, MicroTile block, Ix row, Ix column) {
  const Buffer *sums = plan.bufferOf(op.getAcc());
  if (!plan.lhsOf(op)->interleaved || !sums)
    return;
  int64_t bytes = Emitter::byteWidth(sums->element), width = block.vectors * cpu.vectorBytes;
  for (int64_t i = 0; i < block.rows; ++i) {
    Value address = bufferAddress(*sums, {e.add(row, i), column});
    for (int64_t at : {int64_t(0), width - bytes})
      LLVM::Prefetch::create(e.b, e.address(address, at), /*rw=*/1, /*hint=*/3, /*cache=*/1);
  }
}

Position KernelEmitter::rowSegment(Ix row, Ix column, int64_t lanes) {
  Position at;
  at.index = {row, column};
  at.vectorDim = 1;
  at.lanes = lanes;
  return at;
}

Value KernelEmitter::evaluateAccumulator(tile::MmaOp op, Position at) {
  Value zeros = e.integerOrReal(0, Emitter::withLanes(Plan::elementOf(op.getResult()), at.lanes));
  if (const Ix &column = at.index[1]; column.isConstant())
    at.lanes = std::min(at.lanes, Plan::shapeOf(op.getResult())[1] - column.constant);
  return e.widen(evaluate(op.getAcc(), at), zeros);
}

void KernelEmitter::emitMicroKernel(tile::MmaOp op, MicroTile block, Ix row, Ix column, Ix packed,
                                    Value depth, const PanelPrefetch &ahead) {
  auto [rows, vectors] = block;
  const Buffer &lhs = *plan.lhsOf(op), &rhs = *plan.rhsOf(op), &to = *plan.bufferOf(op.getResult());
  int64_t k = rhs.shape[0], bytes = Emitter::byteWidth(rhs.element), lanes = cpu.lanes(bytes);
  Type element = rhs.element, vectorType = Emitter::withLanes(element, lanes);

  auto positionOf = [&](int64_t i, int64_t v) {
    return rowSegment(e.add(row, i), e.add(column, v * lanes), lanes);
  };
  SmallVector<Value> accumulators;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t v = 0; v < vectors; ++v)
      accumulators.push_back(evaluateAccumulator(op, positionOf(i, v)));

  Value lhsBase = bufferAddress(lhs, {row, Ix(0)});
  // Where parts of panels are multiplied, consecutive vectors may be in two panels.
  bool isKnown = packed.isConstant();
  Value rhsBase = e.address(bufferStart(rhs), isKnown ? Ix(0) : e.mul(packed, k * bytes));
  auto inPanels = [&](int64_t v) {
    int64_t at = (isKnown ? packed.constant : 0) + v * lanes;
    return at / rhs.panel * k * rhs.panel + at % rhs.panel;
  };
  // Several elements along K of each row, where an instruction multiplies by one lane of a
  // register.
  SmallVector<Value> rowsOfSteps(rows);
  Value someRows;
  auto loadSteps = [&](Value lhsAt) {
    if (!cpu.multipliesByLane || lhs.interleaved)
      return;
    for (auto [i, steps] : llvm::enumerate(rowsOfSteps))
      steps = e.load(Emitter::withLanes(element, unroll),
                     e.address(lhsAt, i * lhs.rowStride * bytes), scratchScope);
  };
  auto spread = [&](Value lhsAt, int64_t i, int64_t step) -> Value {
    if (int64_t side = lhs.interleaved) {
      if (i % lanes == 0)
        someRows = e.load(vectorType, e.address(lhsAt, (step * side + i) * bytes), scratchScope);
      return e.shuffle(someRows, someRows, SmallVector<int32_t>(lanes, i % lanes));
    }
    if (rowsOfSteps[i])
      return e.shuffle(rowsOfSteps[i], rowsOfSteps[i], SmallVector<int32_t>(lanes, step));
    return e.splat(
        e.load(element, e.address(lhsAt, (i * lhs.rowStride + step) * bytes), scratchScope), lanes);
  };
  auto products = [&](Value lhsAt, Value rhsAt, int64_t step, MutableArrayRef<Value> sums) {
    SmallVector<Value> columns;
    for (int64_t v = 0; v < vectors; ++v)
      columns.push_back(e.load(
          vectorType, e.address(rhsAt, (step * rhs.panel + inPanels(v)) * bytes), scratchScope));
    for (int64_t i = 0; i < rows; ++i) {
      Value factor = spread(lhsAt, i, step);
      for (int64_t v = 0; v < vectors; ++v)
        sums[i * vectors + v] = e.mulAdd(factor, columns[v], sums[i * vectors + v]);
    }
  };
  int64_t whole = k / unroll * unroll;
  auto inSteps = [&](Value from, Value end, int64_t steps) {
    accumulators = e.loop(from, end, steps, accumulators, [&](Value at, ValueRange carried) {
      SmallVector<Value> sums(carried.begin(), carried.end());
      Value lhsAt =
          e.address(lhsBase, e.mul(Ix(at), std::max<int64_t>(lhs.interleaved, 1) * bytes));
      Value rhsAt = e.address(rhsBase, e.mul(Ix(at), rhs.panel * bytes));
      loadSteps(lhsAt);
      if (ahead.each)
        prefetchPanel(op, ahead, at);
      for (int64_t step = 0; step < steps; ++step)
        products(lhsAt, rhsAt, step, sums);
      return sums;
    });
  };
  if (lhs.interleaved)
    result->setAttr(kOrdered, builder.getUnitAttr());
  if (whole) {
    Value from = e.integer(0), end = whole == k ? depth : e.integer(whole);
    // A larger unroll factor for a block that is one of many.
    if (lhs.interleaved && rows == lhs.interleaved && vectors * lanes == rhs.panel &&
        whole >= minUnrolledDepth) {
      Value most = e.andI(end, e.integer(-2 * unroll));
      inSteps(from, most, 2 * unroll);
      from = most;
    }
    inSteps(from, end, unroll);
  }
  rowsOfSteps.assign(rows, Value());
  for (int64_t step = whole; step < k; ++step)
    products(lhsBase, rhsBase, step, accumulators);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t v = 0; v < vectors; ++v)
      storeBuffer(to, accumulators[i * vectors + v], positionOf(i, v));
}

/// Few rows, right-hand side contiguous along N: vectors of columns with K innermost.
void KernelEmitter::emitRowsTimesColumns(tile::MmaOp op) {
  const Buffer &lhs = *plan.lhsOf(op), &to = *plan.bufferOf(op.getResult());
  Type element = Plan::elementOf(op.getResult()), from = Plan::elementOf(op.getRhs());
  int64_t m = to.shape[0], n = to.shape[1];
  int64_t lanes = cpu.lanes(Emitter::byteWidth(element));
  int64_t most = std::max<int64_t>((cpu.vectorRegisters - 8) / m, 1);
  Value depth = contractionLimit(op), columnEnd = limit(extents->of(op, 1), n, 1);
  auto strip = [&](Ix column, int64_t vectors, int64_t width) {
    auto positionOf = [&](Ix rowIndex, int64_t v) {
      Position at;
      at.index = {rowIndex, e.add(column, v * lanes)};
      at.vectorDim = 1;
      at.lanes = width;
      return at;
    };
    SmallVector<Value> sums;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t v = 0; v < vectors; ++v)
        sums.push_back(evaluate(op.getAcc(), positionOf(Ix(i), v)));
    sums = e.loop(e.integer(0), depth, 1, sums, [&](Value at, ValueRange carried) {
      MemoScope scope(*this);
      SmallVector<Value> next(carried.begin(), carried.end());
      for (int64_t v = 0; v < vectors; ++v) {
        Value value = e.cast(evaluate(op.getRhs(), positionOf(Ix(at), v)), from, element);
        for (int64_t i = 0; i < m; ++i) {
          Value scalar = e.load(element, bufferAddress(lhs, {Ix(i), Ix(at)}), scratchScope);
          next[i * vectors + v] = e.mulAdd(e.splat(scalar, width), value, next[i * vectors + v]);
        }
      }
      return next;
    });
    for (int64_t i = 0; i < m; ++i)
      for (int64_t v = 0; v < vectors; ++v)
        storeBuffer(to, sums[i * vectors + v], positionOf(Ix(i), v));
  };
  int64_t whole = n / lanes, step = std::min(whole, most);
  int64_t covered = step ? whole / step * step : 0;
  if (covered)
    e.loop(e.integer(0), e.minI(columnEnd, e.integer(covered * lanes)), step * lanes,
           [&](Value column) {
             MemoScope scope(*this);
             strip(Ix(column), step, lanes);
           });
  if (whole > covered)
    strip(Ix(covered * lanes), whole - covered, lanes);
  if (n > whole * lanes)
    strip(Ix(whole * lanes), 1, n - whole * lanes);
}

/// Few rows, right-hand side contiguous along K: dot products of a few columns at a time.
void KernelEmitter::emitDotProducts(tile::MmaOp op) {
  const Buffer &lhs = *plan.lhsOf(op), &to = *plan.bufferOf(op.getResult());
  Type element = Plan::elementOf(op.getResult()), from = Plan::elementOf(op.getRhs());
  int64_t m = to.shape[0], n = to.shape[1], k = lhs.shape[1];
  int64_t lanes = cpu.lanes(Emitter::byteWidth(element));
  int64_t most = m == 1 ? 8 : 4;
  Value depth = contractionLimit(op), columnEnd = limit(extents->of(op, 1), n, 1);
  auto strip = [&](Ix column, int64_t count) {
    auto step = [&](Ix at, int64_t width, MutableArrayRef<Value> sums) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < m; ++i) {
        Position here;
        here.index = {Ix(i), at};
        here.vectorDim = 1;
        here.lanes = width;
        rows.push_back(loadBuffer(lhs, here));
      }
      for (int64_t j = 0; j < count; ++j) {
        Position here;
        here.index = {at, e.add(column, j)};
        here.vectorDim = 0;
        here.lanes = width;
        Value value = e.cast(evaluate(op.getRhs(), here), from, element);
        for (int64_t i = 0; i < m; ++i)
          sums[i * count + j] = e.mulAdd(rows[i], value, sums[i * count + j]);
      }
    };
    auto zeros = [&](int64_t width) {
      return SmallVector<Value>(m * count, e.integerOrReal(0, Emitter::withLanes(element, width)));
    };
    int64_t whole = k / lanes * lanes;
    SmallVector<Value> sums = zeros(lanes), totals;
    if (whole)
      sums = e.loop(e.integer(0), e.minI(depth, e.integer(whole)), lanes, sums,
                    [&](Value at, ValueRange carried) {
                      MemoScope scope(*this);
                      SmallVector<Value> next(carried.begin(), carried.end());
                      step(Ix(at), lanes, next);
                      return next;
                    });
    for (Value sum : sums)
      totals.push_back(e.horizontal(ReduceOp::Sum, sum, element));
    if (k > whole) {
      SmallVector<Value> rest = zeros(k - whole);
      step(Ix(whole), k - whole, rest);
      for (auto [total, sum] : llvm::zip(totals, rest))
        total = e.join(ReduceOp::Sum, total, e.horizontal(ReduceOp::Sum, sum, element), element);
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < count; ++j) {
        Position here;
        here.index = {Ix(i), e.add(column, j)};
        Value sum =
            e.join(ReduceOp::Sum, evaluate(op.getAcc(), here), totals[i * count + j], element);
        storeBuffer(to, sum, here);
      }
  };
  int64_t step = std::min(n, most), whole = n / step * step;
  e.loop(e.integer(0), e.minI(columnEnd, e.integer(whole)), step, [&](Value column) {
    MemoScope scope(*this);
    strip(Ix(column), step);
  });
  if (n > whole)
    strip(Ix(whole), n - whole);
}
