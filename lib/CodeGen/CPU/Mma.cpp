//===- Mma.cpp - Contractions ---------------------------------------------===//
//
// The blocked form is an outer product in registers: `rows` × `vectors` accumulators stay in
// registers over the whole K loop. The left-hand side is broadcast from rows of constant stride, or
// loaded as vectors of several rows that are multiplied lane by lane (Interleave.cpp). The
// right-hand side is loaded as vectors from packed panels. One panel (K × panel) stays in the L1
// cache while all rows use it and prefetch the next one. Accumulators are evaluated, not just
// loaded, so that rescaling a loop-carried accumulator needs no separate pass.
//
// Few rows are multiplied without packing (FewRows.cpp).
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

/// A contraction over packed panels of the right-hand side.
class KernelEmitter::BlockedMma {
public:
  BlockedMma(KernelEmitter &kernel, tile::MmaOp op);
  void run();

private:
  using ColumnsFn = function_ref<void(Ix at, int64_t width)>;
  /// The columns that are covered by whole pieces, and where the last two pieces meet.
  struct Ends {
    int64_t whole, middle;
  };
  Ends ends(int64_t size, int64_t piece) const;
  int64_t vectorsOf(int64_t width) const { return llvm::divideCeil(width, lanes); }
  void emitRest(Value demanded, int64_t size, int64_t covered, function_ref<void()> body);
  void forEachEndPiece(Value demanded, Ends ends, int64_t size, ColumnsFn body);
  void forEachPiece(Ix first, int64_t size, int64_t piece, ColumnsFn body);
  void emitSplitStrips();
  void emitBlock(int64_t rows, int64_t vectors, Ix row, Ix column, Ix packed,
                 const PanelPrefetch &ahead = {});
  void emitRows(int64_t vectors, Ix column, Ix packed);
  void emitPacked(Ix column, Ix packed, int64_t width);
  void emitPanel(Ix column, int64_t width);
  void packStrip(Value start, int64_t inStrips, int64_t left);
  void emitStrips();
  void emitPanels();

  KernelEmitter &kernel;
  Emitter &e;
  const Plan &plan;
  tile::MmaOp op;
  const Buffer &rhs;
  int64_t m, k, n;
  int64_t bytes, lanes;       // of an element of the panels; of an accumulator vector
  int64_t rows;               // of a block of accumulators
  bool halves;                // whether half blocks follow the last full one
  int64_t wholeRows, covered; // rows in full blocks; in full and half blocks
  bool packs;                 // whether panels are packed here
  Value rowEnd, columnEnd;    // what is demanded
  Value depth;                // of the K loop
  Value rowStart, rowStop;    // the rows that panels are multiplied with
};

KernelEmitter::BlockedMma::BlockedMma(KernelEmitter &kernel, tile::MmaOp op)
    : kernel(kernel), e(kernel.e), plan(kernel.plan), op(op), rhs(*plan.rhsOf(op)),
      m(Plan::shapeOf(op.getLhs())[0]), k(rhs.shape[0]), n(Plan::shapeOf(op.getRhs())[1]),
      bytes(Emitter::byteWidth(rhs.element)),
      lanes(kernel.cpu.lanes(Emitter::byteWidth(Plan::elementOf(op.getResult())))),
      packs(plan.packsPanels(op)) {
  const Extents &extents = kernel.extents;
  // With a small dynamic number of rows, a last full block would compute mostly unused rows; half
  // blocks come last instead.
  halves = !kernel.bandStart && !extents.of(op, 0).all && m <= maxShortRows && !plan.splitRhsOf(op);
  rows = rhs.paired ? std::min(m, bfmmlaRows) : plan.microTile(op, halves).rows;
  wholeRows = m / rows * rows;
  halves &= rows % (rhs.paired ? 4 : 2) == 0;
  covered = halves ? m / (rows / 2) * (rows / 2) : wholeRows;
  rowEnd = kernel.limit(extents.of(op, 0), m, 1);
  columnEnd = kernel.limit(extents.of(op, 1), n, 1);
  depth = kernel.contractionLimit(op);
}

/// A remainder is skipped if it is not demanded.
void KernelEmitter::BlockedMma::emitRest(Value demanded, int64_t size, int64_t covered,
                                         function_ref<void()> body) {
  if (size == covered)
    return;
  auto scoped = [&] {
    MemoScope scope(kernel);
    body();
  };
  if (!covered)
    return scoped();
  e.branch(e.cmp(LLVM::ICmpPredicate::sgt, demanded, e.integer(covered)), scoped, nullptr);
}

/// Splits `size` columns into pieces. The last two pieces have about the same width, which keeps
/// more accumulators in registers than one full and one narrow piece.
KernelEmitter::BlockedMma::Ends KernelEmitter::BlockedMma::ends(int64_t size, int64_t piece) const {
  bool isPlain = !rhs.paired && !plan.splitRhsOf(op);
  int64_t whole = size / piece * piece, left = size - whole;
  if (!left || !whole || left + lanes >= piece || !isPlain)
    return {whole, whole};
  return {whole - piece, int64_t(whole - piece + llvm::alignTo((piece + left) / 2, lanes))};
}

void KernelEmitter::BlockedMma::forEachEndPiece(Value demanded, Ends ends, int64_t size,
                                                ColumnsFn body) {
  auto [whole, middle] = ends;
  int64_t width = middle - whole;
  if (packs && width && width == size - middle && width % lanes == 0)
    return e.loop(e.integer(whole), e.minI(demanded, e.integer(size)), width, [&](Value at) {
      MemoScope scope(kernel);
      body(Ix(at), width);
    });
  if (width > 0)
    emitRest(demanded, size, ends.whole, [&] { body(Ix(ends.whole), width); });
  emitRest(demanded, size, ends.middle, [&] { body(Ix(ends.middle), size - ends.middle); });
}

void KernelEmitter::BlockedMma::forEachPiece(Ix first, int64_t size, int64_t piece,
                                             ColumnsFn body) {
  Value demanded = e.subI(columnEnd, e.materialize(first));
  Ends ends = this->ends(size, piece);
  if (ends.whole)
    e.loop(e.integer(0), e.minI(demanded, e.integer(ends.whole)), piece, [&](Value at) {
      MemoScope scope(kernel);
      body(Ix(at), piece);
    });
  forEachEndPiece(demanded, ends, size, body);
}

/// AMX with strips of panels that are split at once.
void KernelEmitter::BlockedMma::emitSplitStrips() {
  forEachPiece(Ix(0), n, plan.splitRhsOf(op)->shape[1], [&](Ix start, int64_t width) {
    kernel.packPanel(op, start, width, depth);
    forEachPiece(start, width, rhs.panel, [&](Ix inStrip, int64_t width) {
      kernel.emitAmxRows(op, e.add(start, inStrip), inStrip, vectorsOf(width), rowEnd, depth, {});
    });
  });
}

/// One block of accumulators over the whole K loop.
void KernelEmitter::BlockedMma::emitBlock(int64_t rows, int64_t vectors, Ix row, Ix column,
                                          Ix packed, const PanelPrefetch &ahead) {
  if (rhs.paired)
    kernel.emitBfmmlaKernel(op, {rows, vectors}, row, column, e.mul(packed, k * bytes), depth);
  else
    kernel.emitMicroKernel(op, {rows, vectors}, row, column, packed, depth, ahead);
}

/// Multiplies `vectors` of a panel with all rows.
void KernelEmitter::BlockedMma::emitRows(int64_t vectors, Ix column, Ix packed) {
  Value end = e.minI(rowStop, e.integer(wholeRows));
  if (halves)
    end = e.mulI(LLVM::UDivOp::create(e.b, end, e.integer(rows)), e.integer(rows));
  // In a band, panels are used in memory order with one block of rows at a time.
  if (kernel.bandStart) {
    kernel.prefetchAccumulators(op, {rows, vectors}, Ix(rowStart), e.add(column, vectors * lanes));
    return emitBlock(rows, vectors, Ix(rowStart), column, packed);
  }
  if (wholeRows)
    e.loop(rowStart, end, rows, [&](Value row) {
      MemoScope scope(kernel);
      kernel.prefetchAccumulators(op, {rows, vectors}, Ix(row, rows), column);
      emitBlock(rows, vectors, Ix(row), column, packed,
                kernel.planPanelPrefetch(op, e.add(column, rhs.panel), row, rows, rowEnd));
    });
  if (halves)
    e.loop(end, e.minI(rowStop, e.integer(covered)), rows / 2, [&](Value row) {
      MemoScope scope(kernel);
      emitBlock(rows / 2, vectors, Ix(row), column, packed);
    });
  emitRest(rowEnd, m, covered,
           [&] { emitBlock(m - covered, vectors, Ix(covered), column, packed); });
}

/// A panel that is packed as column `packed` of the packed buffer.
void KernelEmitter::BlockedMma::emitPacked(Ix column, Ix packed, int64_t width) {
  int64_t vectors = vectorsOf(width);
  if (plan.splitRhsOf(op)) {
    kernel.splitPanel(op, e.mul(packed, k * bytes), vectors, depth);
    NextPanel next = kernel.findNextPanel(op, e.add(column, rhs.panel), columnEnd);
    return kernel.emitAmxRows(op, column, Ix(0), vectors, rowEnd, depth, next);
  }
  // With a small dynamic number of columns, the last panel may be half a panel.
  if (vectors < 3 || n > maxShortColumns || kernel.extents.of(op, 1).all)
    return emitRows(vectors, column, packed);
  auto scoped = [&](int64_t vectors) {
    MemoScope scope(kernel);
    emitRows(vectors, column, packed);
  };
  Value left = e.subI(columnEnd, e.materialize(column));
  e.branch(
      e.cmp(LLVM::ICmpPredicate::sle, left, e.integer(vectors / 2 * lanes)),
      [&] { scoped(vectors / 2); }, [&] { scoped(vectors); });
}

void KernelEmitter::BlockedMma::emitPanel(Ix column, int64_t width) {
  if (packs)
    kernel.packPanel(op, column, width, depth);
  emitPacked(column, packs ? Ix(0) : column, width);
}

/// Packs the strip at a column. The last one has the `left` columns after those `inStrips`.
void KernelEmitter::BlockedMma::packStrip(Value start, int64_t inStrips, int64_t left) {
  int64_t strip = rhs.shape[1];
  auto pack = [&](int64_t width) {
    MemoScope scope(kernel);
    kernel.packPanel(op, Ix(start), width, depth);
  };
  if (!left || !inStrips)
    return pack(left ? left : strip);
  e.branch(
      e.cmp(LLVM::ICmpPredicate::slt, start, e.integer(inStrips)), [&] { pack(strip); },
      [&] { pack(left); });
}

/// Several panels are packed at once if that reads whole cache lines.
void KernelEmitter::BlockedMma::emitStrips() {
  int64_t strip = rhs.shape[1];
  Ends ends = this->ends(n, rhs.panel);
  int64_t whole = ends.whole, inStrips = whole / strip * strip;
  e.loop(e.integer(0), e.minI(columnEnd, e.integer(whole)), strip, [&](Value start) {
    packStrip(start, inStrips, whole - inStrips);
    Value end = e.minI(columnEnd, e.minI(e.addI(start, e.integer(strip)), e.integer(whole)));
    e.loop(start, end, rhs.panel, [&](Value column) {
      MemoScope scope(kernel);
      emitPacked(Ix(column), Ix(e.subI(column, start)), rhs.panel);
    });
  });
  forEachEndPiece(columnEnd, ends, n, [&](Ix column, int64_t width) { emitPanel(column, width); });
}

void KernelEmitter::BlockedMma::emitPanels() {
  if (packs && rhs.shape[1] > rhs.panel)
    return emitStrips();
  forEachPiece(Ix(0), n, rhs.panel, [&](Ix column, int64_t width) { emitPanel(column, width); });
}

void KernelEmitter::BlockedMma::run() {
  if (plan.splitsStrips(op))
    return emitSplitStrips();
  std::tie(rowStart, rowStop) = kernel.currentRows(rowEnd);
  // BFMMLA consumes panels faster than the L2 cache delivers them: all panels are multiplied with
  // rows that stay in the L1 cache. A band does the same: panels that are read once, in order, are
  // prefetched by the hardware.
  int64_t near = rhs.paired && !halves ? kernel.cpu.l1Bytes / 2 / (k * bytes) / rows * rows : 0;
  if (kernel.bandStart)
    near = rows;
  else if (!near || m <= near || m % near)
    return emitPanels();
  e.loop(rowStart, rowStop, near, [&](Value row) {
    MemoScope scope(kernel);
    rowStart = row;
    rowStop = e.minI(rowEnd, e.addI(row, e.integer(near)));
    emitPanels();
  });
}

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
  emitVersioned(isFull(loads.getArrayRef()), [&] {
    if (isBlocked)
      BlockedMma(*this, op).run();
    else
      emitFewRows(op);
  });
}

/// Packs all panels of the right-hand side.
void KernelEmitter::packAllPanels(tile::MmaOp op) {
  const Buffer &rhs = *plan.rhsOf(op);
  int64_t n = rhs.shape[1], panelBytes = rhs.shape[0] * Emitter::byteWidth(rhs.element);
  int64_t step =
      Plan::isTransposedLoad(op.getRhs()) ? rhs.panel : std::min(stripPanels * rhs.panel, n);
  Value depth = contractionLimit(op), end = limit(extents.of(op, 1), n, 1),
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
  if (panel.quads)
    return packBytes(op, column, width, depth);
  tile::LoadOp load = Plan::definingLoad(op.getRhs());
  Type from = Plan::elementOf(op.getRhs());
  int64_t lanes = cpu.lanes(Emitter::byteWidth(panel.element)), k = panel.shape[0];
  bool isTransposed = Plan::isTransposedLoad(op.getRhs());
  const Access &access = accesses.find(load)->second;
  Value rowEnd = k % extents.contractionStep() ? e.integer(k) : depth;
  emitInside(load, rowEnd, e.add(column, width), [&] {
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
}

/// Returns the share of the next panel that the block of `rows` rows at `row` prefetches while it
/// multiplies. The share is spread over the iterations of the K loop, in rows or (if those are
/// contiguous) columns, so that memory accesses and arithmetic overlap. Where several panels are
/// packed at once, packing prefetches by itself.
KernelEmitter::PanelPrefetch KernelEmitter::planPanelPrefetch(tile::MmaOp op, Ix column, Value row,
                                                              int64_t rows, Value rowEnd) {
  const Buffer &rhs = *plan.rhsOf(op);
  bool inColumns = Plan::isTransposedLoad(op.getRhs());
  if (!plan.packsPanels(op) || rhs.paired || rhs.quads || rhs.shape[1] > rhs.panel ||
      (inColumns && plan.lhsOf(op)->interleaved))
    return {};
  int64_t m = Plan::shapeOf(op.getLhs())[0],
          runs = inColumns ? rhs.panel : Plan::shapeOf(op.getRhs())[0];
  int64_t blocks = std::max<int64_t>(m / rows, 1);
  Value share = e.integer(llvm::divideCeil(runs, blocks));
  // A small dynamic number of rows has fewer blocks.
  if (m <= maxShortRows && !extents.of(op, 0).all) {
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

Position KernelEmitter::columnSegment(Ix row, Ix column, int64_t lanes) {
  Position at = rowSegment(row, column, lanes);
  at.vectorDim = 0;
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

  // A step of bytes has four elements along K, and sums of the columns for rows of bytes plus 128.
  const int64_t unroll = rhs.quads ? 1 : ::unroll, rowBytes = Emitter::byteWidth(lhs.element);
  if (rhs.quads)
    depth = LLVM::LShrOp::create(e.b, depth, e.integer(2));
  if (lhs.isOffset)
    accumulators.append(vectors, e.integer(0, vectorType));

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
    if (!cpu.multipliesByLane || lhs.interleaved || rhs.quads)
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
    return e.splat(e.load(element, e.address(lhsAt, i * lhs.rowStride * rowBytes + step * bytes),
                          scratchScope),
                   lanes);
  };
  auto addProducts = [&](Value factor, Value column, Value sum) {
    return rhs.quads ? addByteProducts(factor, column, sum) : e.mulAdd(factor, column, sum);
  };
  auto products = [&](Value lhsAt, Value rhsAt, int64_t step, MutableArrayRef<Value> sums) {
    SmallVector<Value> columns;
    for (int64_t v = 0; v < vectors; ++v)
      columns.push_back(e.load(
          vectorType, e.address(rhsAt, (step * rhs.panel + inPanels(v)) * bytes), scratchScope));
    for (int64_t i = 0; i < rows; ++i) {
      Value factor = spread(lhsAt, i, step);
      for (int64_t v = 0; v < vectors; ++v)
        sums[i * vectors + v] = addProducts(factor, columns[v], sums[i * vectors + v]);
    }
    for (int64_t v = 0; v < vectors && lhs.isOffset; ++v) {
      Value &sum = sums[rows * vectors + v];
      sum = addProducts(e.integer(int32_t(0x80808080), vectorType), columns[v], sum);
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
    for (int64_t v = 0; v < vectors; ++v) {
      Value sum = accumulators[i * vectors + v];
      if (lhs.isOffset)
        sum = e.subI(sum, accumulators[rows * vectors + v]);
      storeBuffer(to, sum, positionOf(i, v));
    }
}
