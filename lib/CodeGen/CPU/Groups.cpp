//===- Groups.cpp - Loop nests over tiles ---------------------------------===//
//
// A group iterates over its shape with loops for the leading dimensions and vectors along the last
// one. Short rows are unrolled; long rows are a loop over a few vectors at a time, and a reduction
// along the row keeps one accumulator per unrolled vector. At every vector position all roots are
// evaluated before any is stored, which makes in-place updates correct.
//
// Where a tile crosses the end of a view, a second version of the nest with masked accesses runs.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using LLVM::ICmpPredicate;

static constexpr int64_t unrollLoop = 4; // vectors per iteration of a long row

static bool reducesLastDim(const Root &root) {
  auto reduce = cast<tile::ReduceOp>(root.op);
  int64_t rank = reduce.getInput().getType().getRank();
  return llvm::is_contained(reduce.getDims(), rank - 1);
}

static bool reducesOnlyLastDim(const Root &root) {
  return reducesLastDim(root) && cast<tile::ReduceOp>(root.op).getDims().size() == 1;
}

static Value join(Emitter &e, const Root &root, Value sum, Value value) {
  auto reduce = cast<tile::ReduceOp>(root.op);
  return e.join(reduce.getReduceOp(), sum, value, Plan::elementOf(root.value), reduce.getSkipNan());
}

void KernelEmitter::emitGroup(const Item &item) {
  open.clear();
  for (const Root &root : item.roots)
    if (root.definesValue)
      open.insert(root.value);
  for (const Root &root : item.roots)
    if (root.dest && root.dest->parts)
      e.store(e.integer(0), unsplitFlag(*root.dest), scratchScope);
  SmallVector<Operation *> read = accessesOf(item);
  emitVersioned(isFull(read), [&] {
    inside.clear();
    if (!atEdge)
      inside.insert(read.begin(), read.end());
    emitNest(item);
  });
  inside.clear();
  open.clear();
}

/// Column reductions: the row loop is innermost, so that the accumulators stay in registers.
void KernelEmitter::emitColumnReductions(const Item &item) {
  int64_t columns = item.shape[1], lanes = cpu.lanes(4), whole = columns / lanes;
  int64_t most = std::max<int64_t>(1, 8 / int64_t(item.roots.size()));
  auto strip = [&](Ix column, int64_t vectors, int64_t width) {
    SmallVector<Value> sums;
    for (int64_t v = 0; v < vectors; ++v)
      for (const Root &root : item.roots)
        sums.push_back(e.unit(cast<tile::ReduceOp>(root.op).getReduceOp(),
                              Plan::elementOf(root.value), width));
    sums =
        e.loop(e.integer(0), e.integer(item.shape[0]), 1, sums, [&](Value row, ValueRange carried) {
          MemoScope scope(*this);
          SmallVector<Value> next;
          for (int64_t v = 0; v < vectors; ++v)
            for (const Root &root : item.roots) {
              Position at;
              at.index = {Ix(row), e.add(column, v * lanes)};
              at.vectorDim = 1;
              at.lanes = width;
              next.push_back(join(e, root, carried[next.size()], evaluate(root.value, at)));
            }
          return next;
        });
    for (int64_t v = 0, i = 0; v < vectors; ++v)
      for (const Root &root : item.roots) {
        Position to;
        to.index = {e.add(column, v * lanes)};
        to.vectorDim = 0;
        to.lanes = width;
        storeBuffer(*root.dest, sums[i++], to);
      }
  };
  int64_t step = std::min(whole, most), covered = step ? whole / step * step : 0;
  if (covered)
    e.loop(e.integer(0), e.integer(covered * lanes), step * lanes, [&](Value column) {
      MemoScope scope(*this);
      strip(Ix(column), step, lanes);
    });
  if (whole > covered)
    strip(Ix(covered * lanes), whole - covered, lanes);
  if (columns > whole * lanes)
    strip(Ix(whole * lanes), 1, columns - whole * lanes);
}

void KernelEmitter::emitNest(const Item &item) {
  bool isColumnwise =
      item.shape.size() == 2 && item.shape[1] > 1 && llvm::all_of(item.roots, [](const Root &root) {
        return root.kind == Root::Reduce && !reducesLastDim(root);
      });
  if (isColumnwise)
    return emitColumnReductions(item);
  // Reductions that accumulate in memory start from the identity.
  for (const Root &root : item.roots) {
    if (root.kind != Root::Reduce || reducesOnlyLastDim(root))
      continue;
    auto reduce = cast<tile::ReduceOp>(root.op);
    Type element = root.dest->element;
    int64_t count = root.dest->elements(), lanes = std::min(cpu.lanes(4), count);
    Type stored = e.storageType(element);
    auto fill = [&](Ix start, int64_t width) {
      Value unit = e.toStorage(e.unit(reduce.getReduceOp(), element, width), element);
      e.store(unit, e.address(bufferStart(*root.dest), e.mul(start, Emitter::byteWidth(stored))),
              scratchScope);
    };
    int64_t whole = count / lanes * lanes;
    e.loop(e.integer(0), e.integer(whole), lanes, [&](Value i) { fill(Ix(i), lanes); });
    for (int64_t i = whole; i < count; ++i)
      fill(Ix(i), 0);
  }

  // Rows and columns that are not demanded are skipped.
  SmallVector<Extent> demanded(item.shape.size());
  for (const Root &root : item.roots)
    for (size_t d = 0; d < item.shape.size(); ++d)
      demanded[d].join(extents.of(root.value, d));

  SmallVector<Ix, 4> index;
  std::function<void(size_t)> nest = [&](size_t d) {
    if (d + 1 >= item.shape.size())
      return emitRow(item, index, demanded);
    if (item.shape[d] == 1) {
      index.push_back(Ix(0));
      nest(d + 1);
      index.pop_back();
      return;
    }
    // A bound on K is rounded up to the k-step of the contraction.
    Value first = e.integer(0), end = limit(demanded[d], item.shape[d], extents.contractionStep());
    if (d == 0)
      std::tie(first, end) = currentRows(end);
    e.loop(first, end, 1, [&](Value i) {
      MemoScope scope(*this);
      index.push_back(Ix(i));
      nest(d + 1);
      index.pop_back();
    });
  };
  nest(0);
}

/// Evaluates row-invariant values before the loop over the row: LLVM cannot hoist them, since the
/// memory that the loop writes may alias.
void KernelEmitter::evaluateRowInvariants(const Item &item, const Position &at) {
  DenseSet<Value> seen;
  SmallVector<Value> work =
      llvm::map_to_vector(item.roots, [](const Root &root) { return root.value; });
  while (!work.empty()) {
    Value tile = work.pop_back_val();
    Operation *op = tile.getDefiningOp();
    if (!op || !seen.insert(tile).second || (plan.bufferOf(tile) && !open.contains(tile)))
      continue;
    if (isa<tile::MapOp, tile::CastOp, tile::BitcastOp>(op))
      llvm::append_range(work, op->getOperands());
    else if (isa<tile::BroadcastOp>(op) && isUniform(tile, at.vectorDim))
      (void)evaluate(tile, at);
  }
}

/// Emits one row: all vectors along the last dimension, then the final step of the row's
/// reductions.
class KernelEmitter::RowEmitter {
public:
  RowEmitter(KernelEmitter &kernel, const Item &item, ArrayRef<Ix> index, ArrayRef<Extent> demanded)
      : kernel(kernel), e(kernel.e), item(item), index(index), demanded(demanded),
        lanes(kernel.cpu.lanes(4)) {
    for (const Root &root : item.roots)
      if (root.kind == Root::Reduce && (item.shape.empty() || reducesLastDim(root)))
        reductions.push_back(&root);
    at.index.assign(index.begin(), index.end());
  }
  void run();

private:
  static Type elementOf(const Root *root) { return Plan::elementOf(root->value); }
  static ReduceOp opOf(const Root *root) { return cast<tile::ReduceOp>(root->op).getReduceOp(); }
  void emitElement();
  void emitVector(Ix start, int64_t slot);
  void emitLoop();
  SmallVector<Value> emitIterations(Value from, Value to, ValueRange sums, bool isPastEdge);
  void storeReductions(ArrayRef<Value> rest);

  KernelEmitter &kernel;
  Emitter &e;
  const Item &item;
  ArrayRef<Ix> index;
  ArrayRef<Extent> demanded;
  int64_t lanes;
  SmallVector<const Root *> reductions;
  Position at;
  // One accumulator per unrolled vector and reduction; a null one starts with the vector itself.
  SmallVector<SmallVector<Value>> accumulators;
  SmallVector<Value> ends; // per reduction; null where it covers the whole row
};

/// A row of one element.
void KernelEmitter::RowEmitter::emitElement() {
  if (!item.shape.empty())
    at.index.push_back(Ix(0));
  SmallVector<Value> none(reductions.size());
  SmallVector<Value> values = kernel.emitChunk(item, at, none, {});
  for (auto [root, value] : llvm::zip(reductions, values))
    kernel.storeReduced(*root, value, index);
}

void KernelEmitter::RowEmitter::emitVector(Ix start, int64_t slot) {
  at.index.back() = start;
  accumulators[slot] = kernel.emitChunk(item, at, accumulators[slot], ends);
}

/// A loop over a few vectors at a time, which carries the accumulators.
SmallVector<Value> KernelEmitter::RowEmitter::emitIterations(Value from, Value to, ValueRange sums,
                                                             bool isPastEdge) {
  return e.loop(from, to, unrollLoop * lanes, sums, [&](Value i, ValueRange carried) {
    MemoScope scope(kernel);
    // Few iterations with many comparisons, for which LLVM would spend half of its compile time.
    if (isPastEdge)
      i = e.opaque(i);
    SmallVector<Position> positions(unrollLoop, at);
    for (int64_t slot = 0; slot < unrollLoop; ++slot)
      positions[slot].index.back() = Ix(i, slot * lanes);
    kernel.evaluateTogether(item, positions);
    SmallVector<Value> next;
    for (int64_t slot = 0; slot < unrollLoop; ++slot) {
      ValueRange mine = carried.slice(slot * reductions.size(), reductions.size());
      accumulators[slot].assign(mine.begin(), mine.end());
      emitVector(Ix(i, slot * lanes), slot);
      llvm::append_range(next, accumulators[slot]);
    }
    return next;
  });
}

/// The whole vectors of a long row.
void KernelEmitter::RowEmitter::emitLoop() {
  int64_t columns = item.shape.back(), whole = columns / lanes;
  kernel.evaluateRowInvariants(item, at);
  int64_t steps = whole / unrollLoop * unrollLoop;
  SmallVector<Value> results;
  for (int64_t slot = 0; slot < unrollLoop; ++slot)
    for (const Root *root : reductions)
      results.push_back(e.unit(opOf(root), elementOf(root), lanes));
  Value end =
      e.minI(kernel.limit(demanded.back(), columns, unrollLoop * lanes), e.integer(steps * lanes));
  // Iterations entirely before an edge need no mask.
  Value start = e.integer(0), edge = kernel.countColumnsInside(item);
  if (item.shape.size() == 1)
    std::tie(start, end) = kernel.currentRows(end);
  SmallVector<Value> bounds;
  for (const Root *root : reductions) {
    bounds.push_back(kernel.reductionEnd(*root));
    if (bounds.back())
      edge = edge ? e.minI(edge, bounds.back()) : bounds.back();
  }
  if (edge) {
    Value inside = e.andI(e.maxI(edge, start), e.integer(-unrollLoop * lanes));
    inside = e.minI(inside, end);
    results = emitIterations(start, inside, results, false);
    kernel.alwaysTrue.clear();
    for (auto &access : kernel.accesses)
      access.second.isInside = false;
    start = inside;
    ends = bounds;
  }
  results = emitIterations(start, end, results, bool(edge));
  for (int64_t slot = 0; slot < unrollLoop; ++slot)
    accumulators[slot].assign(results.begin() + slot * reductions.size(),
                              results.begin() + (slot + 1) * reductions.size());
  for (int64_t i = steps; i < whole; ++i)
    emitVector(Ix(i * lanes), i - steps);
}

/// Joins the accumulators, with those of the row's last elements, and stores the results.
void KernelEmitter::RowEmitter::storeReductions(ArrayRef<Value> rest) {
  for (auto [r, root] : llvm::enumerate(reductions)) {
    SmallVector<Value> parts;
    for (auto &slot : accumulators)
      if (slot[r])
        parts.push_back(slot[r]);
    if (rest[r])
      parts.push_back(parts.empty() ? rest[r]
                                    : e.widen(rest[r], e.unit(opOf(root), elementOf(root), lanes)));
    while (parts.size() > 1) {
      SmallVector<Value> joined;
      for (size_t i = 0; i + 1 < parts.size(); i += 2)
        joined.push_back(join(e, *root, parts[i], parts[i + 1]));
      if (parts.size() % 2)
        joined.push_back(parts.back());
      parts = joined;
    }
    bool skipNan = cast<tile::ReduceOp>(root->op).getSkipNan();
    kernel.storeReduced(*root, e.horizontal(opOf(root), parts[0], elementOf(root), skipNan), index);
  }
}

void KernelEmitter::RowEmitter::run() {
  if (item.shape.empty() || item.shape.back() == 1)
    return emitElement();
  int64_t columns = item.shape.back(), whole = columns / lanes, tail = columns % lanes;
  at.vectorDim = int(item.shape.size()) - 1;
  at.index.push_back(Ix(0));
  at.lanes = lanes;
  int64_t width = std::min(whole, unrollLoop);
  accumulators.assign(std::max<int64_t>(width, 1), SmallVector<Value>(reductions.size()));
  if (Plan::needsRowLoop(columns, kernel.cpu))
    emitLoop();
  else
    for (int64_t i = 0; i < whole; ++i)
      emitVector(Ix(i * lanes), i % unrollLoop);
  SmallVector<Value> rest(reductions.size());
  if (tail) {
    at.lanes = tail;
    at.index.back() = Ix(whole * lanes);
    rest = kernel.emitChunk(item, at, rest, ends);
  }
  storeReductions(rest);
}

void KernelEmitter::emitRow(const Item &item, ArrayRef<Ix> index, ArrayRef<Extent> demanded) {
  RowEmitter(*this, item, index, demanded).run();
}

/// Evaluates every root at one vector, then stores. Returns the accumulators of the row's
/// reductions.
SmallVector<Value> KernelEmitter::emitChunk(const Item &item, const Position &at,
                                            ValueRange accumulators, ArrayRef<Value> ends) {
  SmallVector<Value> values;
  for (const Root &root : item.roots)
    values.push_back(evaluate(root.value, at));
  for (Operation *store : item.storesToPrefetch)
    prefetchLine(store, at);
  if (!cachesStores && item.storesToPrefetch.empty())
    for (Operation *load : item.loadsToPrefetch)
      prefetchNext(cast<tile::LoadOp>(load), at);
  SmallVector<Value> next;
  for (auto [root, value] : llvm::zip(item.roots, values)) {
    Type element = Plan::elementOf(root.value);
    if (root.kind == Root::Store) {
      emitStore(cast<tile::StoreOp>(root.op), value, at);
    } else if (root.kind == Root::Value) {
      storeBuffer(*root.dest, e.cast(value, element, root.dest->element), at);
    } else if (at.index.empty() || reducesLastDim(root)) {
      if (Value end = ends.empty() ? Value() : ends[next.size()]) {
        Value left = e.subI(end, e.materialize(at.index.back()));
        Value unit = e.unit(cast<tile::ReduceOp>(root.op).getReduceOp(), element, at.lanes);
        value = e.select(e.laneMask(at.lanes, left), value, unit);
      }
      Value sum = accumulators[next.size()];
      next.push_back(sum ? join(e, root, sum, value) : value);
    } else {
      // The row dimension is kept: its vectors accumulate in the result's buffer.
      auto reduce = cast<tile::ReduceOp>(root.op);
      Position to;
      to.lanes = at.lanes;
      for (auto [d, index] : llvm::enumerate(at.index))
        if (!llvm::is_contained(reduce.getDims(), int64_t(d)))
          to.index.push_back(index);
      to.vectorDim = at.vectorDim < 0 ? -1 : int(to.index.size()) - 1;
      Value sum = join(e, root, loadBuffer(*root.dest, to), value);
      storeBuffer(*root.dest, sum, to);
    }
  }
  return next;
}

void KernelEmitter::storeReduced(const Root &root, Value value, ArrayRef<Ix> rowIndex) {
  auto reduce = cast<tile::ReduceOp>(root.op);
  Position to;
  for (auto [d, index] : llvm::enumerate(rowIndex))
    if (!llvm::is_contained(reduce.getDims(), int64_t(d)))
      to.index.push_back(index);
  if (!reducesOnlyLastDim(root))
    value = join(e, root, loadBuffer(*root.dest, to), value);
  storeBuffer(*root.dest, value, to);
}

/// Prefetches the cache line that a store writes at `at`. A vector that does not start a line
/// relies on the vector before it.
void KernelEmitter::prefetchLine(Operation *store, const Position &at) {
  constexpr int64_t line = 64;
  Type element = Plan::elementOf(cast<tile::StoreOp>(store).getValue());
  int64_t bytes = Emitter::byteWidth(element);
  if (at.vectorDim < 0 || at.index.back().constant * bytes % line)
    return;
  Value address = accessAddress(accesses.find(store)->second, at, element);
  LLVM::Prefetch::create(e.b, address, /*rw=*/1, /*hint=*/3, /*cache=*/1);
}

/// Prefetches the line that the next tile reads at `at`: further along the row, or in the next
/// rows. Hardware prefetchers stop at a page boundary.
void KernelEmitter::prefetchNext(tile::LoadOp load, const Position &at) {
  constexpr int64_t line = 64;
  const Access &access = accesses.find(load)->second;
  RankedTensorType type = load.getType();
  Type element = type.getElementType();
  int64_t bytes = Emitter::byteWidth(element);
  if (at.vectorDim < 0 || at.index[at.vectorDim].constant * bytes % line)
    return;
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  for (auto [d, coordinate] : llvm::enumerate(load.getCoords())) {
    auto program = coordinate.getDefiningOp<tile::ProgramIdOp>();
    if (loop ? coordinate != loop.getInductionVar() : !program || program.getDim() != 0)
      continue;
    const auto *tiled = llvm::find(load.getDims(), int64_t(d));
    int64_t steps =
        tiled == load.getDims().end() ? 1 : type.getShape()[tiled - load.getDims().begin()];
    int64_t stride = load.getView().getType().getStrides()[d];
    Ix distance = ShapedType::isDynamic(stride)
                      ? e.mul(Ix(views[load.getView()].strides[d]), steps * bytes)
                      : Ix(stride * steps * bytes);
    Value address = e.address(accessAddress(access, at, element), distance);
    LLVM::Prefetch::create(e.b, address, /*rw=*/0, /*hint=*/3, /*cache=*/1);
    return;
  }
}

void KernelEmitter::emitStore(tile::StoreOp op, Value value, const Position &at) {
  const Access &access = accesses.find(op)->second;
  Type element = Plan::elementOf(op.getValue());
  Value stored = e.toStorage(value, element);
  auto storeOne = [&](Value scalar, const Position &where) {
    Value address = accessAddress(access, where, element);
    Value valid = validLanes(access, where);
    if (!valid)
      return e.store(scalar, address, access.scope);
    e.branch(
        e.cmp(ICmpPredicate::sgt, valid, e.integer(0)),
        [&] { e.store(scalar, address, access.scope); }, nullptr);
  };
  if (at.vectorDim < 0)
    return storeOne(stored, at);
  Ix stride = access.strides[at.vectorDim];
  if (stride.isConstant() && stride.constant == Emitter::byteWidth(element)) {
    Value address = accessAddress(access, at, element), count = validLanes(access, at);
    if (!count && access.bypassesCaches && at.lanes == cpu.lanes(4) &&
        at.index[at.vectorDim].constant % at.lanes == 0)
      return e.branch(
          access.bypassesCaches, [&] { e.storePastCaches(stored, address, access.scope); },
          [&] { e.store(stored, address, access.scope); });
    if (!count)
      return e.store(stored, address, access.scope);
    return e.storeLanes(stored, address, count);
  }
  for (int64_t lane = 0; lane < at.lanes; ++lane) {
    Position where;
    where.index = at.index;
    where.index[at.vectorDim] = e.add(where.index[at.vectorDim], lane);
    storeOne(e.extract(stored, lane), where);
  }
}
