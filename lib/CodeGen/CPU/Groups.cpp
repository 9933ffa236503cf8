//===- Groups.cpp - Loop nests over tiles ---------------------------------===//
//
// A group runs over its shape with loops for the leading dimensions and vectors along the last one.
// Short rows are unrolled, long ones are a loop over a few vectors at a time; a reduction along the
// row keeps one accumulator per unrolled vector. In every vector position all roots are evaluated
// before anything is written, which is what makes working in place right.
//
// If a tile reaches over the end of a view, a second version of the nest with masked accesses is
// taken.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using LLVM::ICmpPredicate;

static constexpr int64_t unrollWhole = 8; // vectors of a row that are unrolled completely
static constexpr int64_t unrollLoop = 4;  // vectors per step of a longer row

static bool reducesLast(const Root &root) {
  auto reduce = cast<tile::ReduceOp>(root.op);
  int64_t rank = reduce.getInput().getType().getRank();
  return llvm::is_contained(reduce.getDims(), rank - 1);
}

static bool reducesOnlyLast(const Root &root) {
  return reducesLast(root) && cast<tile::ReduceOp>(root.op).getDims().size() == 1;
}

static Value join(Emitter &e, const Root &root, Value sum, Value value) {
  auto reduce = cast<tile::ReduceOp>(root.op);
  return e.join(reduce.getReduceOp(), sum, value, Plan::elementOf(root.value),
                reduce.getSkipNan());
}

SmallVector<Operation *> KernelEmitter::accessesOf(const Item &item) {
  SetVector<Operation *> found;
  DenseSet<Value> own;
  for (const Root &root : item.roots) {
    if (root.definesValue)
      own.insert(root.value);
    if (root.kind == Root::Store)
      found.insert(root.op);
  }
  for (const Root &root : item.roots)
    plan.visitReads(root.value, true, own, [&](Value value, bool) {
      if (auto load = value.getDefiningOp<tile::LoadOp>();
          load && (!plan.bufferOf(value) || own.contains(value)))
        found.insert(load);
    });
  return found.takeVector();
}

Value KernelEmitter::isFull(ArrayRef<Operation *> operations) {
  Value all;
  DenseSet<Value> seen;
  for (Operation *op : operations)
    if (Value full = accesses.find(op)->second.full; full && seen.insert(full).second)
      all = e.andI(all, full);
  return all;
}

void KernelEmitter::versioned(Value full, function_ref<void()> body) {
  auto run = [&](bool edge) {
    MemoScope scope(*this);
    atEdge = edge;
    body();
    atEdge = false;
  };
  if (!full)
    return run(false);
  e.branch(full, [&] { run(false); }, [&] { run(true); });
}

void KernelEmitter::emitGroup(const Item &item) {
  open.clear();
  for (const Root &root : item.roots)
    if (root.definesValue)
      open.insert(root.value);
  for (const Root &root : item.roots)
    if (root.dest && root.dest->parts)
      e.store(e.integer(0), oddNumbersFlag(*root.dest), scratchScope);
  versioned(isFull(accessesOf(item)), [&] { emitNest(item); });
  open.clear();
}

/// Sums of columns: the rows run inside, so that the sums stay in registers.
void KernelEmitter::emitColumnReductions(const Item &item) {
  int64_t columns = item.shape[1], lanes = cpu.lanes(4), whole = columns / lanes;
  int64_t most = std::max<int64_t>(1, unrollWhole / int64_t(item.roots.size()));
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
        return root.kind == Root::Reduce && !reducesLast(root);
      });
  if (isColumnwise)
    return emitColumnReductions(item);
  // Results of reductions that are collected in memory start as the unit.
  for (const Root &root : item.roots) {
    if (root.kind != Root::Reduce || reducesOnlyLast(root))
      continue;
    auto reduce = cast<tile::ReduceOp>(root.op);
    Type element = root.dest->element;
    int64_t count = root.dest->elements(), lanes = std::min(cpu.lanes(4), count);
    Type stored = e.storageType(element);
    auto fill = [&](Ix start, int64_t width) {
      Value unit = e.toStorage(e.unit(reduce.getReduceOp(), element, width), element);
      Ix bytes = e.add(e.mul(start, Emitter::byteWidth(stored)), root.dest->offset);
      e.store(unit, e.address(scratch, bytes), scratchScope);
    };
    int64_t whole = count / lanes * lanes;
    e.loop(e.integer(0), e.integer(whole), lanes, [&](Value i) { fill(Ix(i), lanes); });
    for (int64_t i = whole; i < count; ++i)
      fill(Ix(i), 0);
  }

  // Rows and columns that nobody wants are not visited.
  SmallVector<Extent> wanted(item.shape.size());
  for (const Root &root : item.roots)
    for (size_t d = 0; d < item.shape.size(); ++d)
      wanted[d].join(extents->of(root.value, d));

  SmallVector<Ix, 4> index;
  std::function<void(size_t)> nest = [&](size_t d) {
    if (d + 1 >= item.shape.size())
      return emitRow(item, index, wanted);
    if (item.shape[d] == 1) {
      index.push_back(Ix(0));
      nest(d + 1);
      index.pop_back();
      return;
    }
    // A bound on K is rounded up to whole steps of the contraction.
    e.loop(e.integer(0), limit(wanted[d], item.shape[d], extents->contractionStep()), 1,
           [&](Value i) {
             MemoScope scope(*this);
             index.push_back(Ix(i));
             nest(d + 1);
             index.pop_back();
           });
  };
  nest(0);
}

/// How many columns lie inside all edges that the group's tiles mask along the last dimension, as
/// `index < count`; null if there are no such masks. The masks are noted as `alwaysTrue`.
Value KernelEmitter::columnsInside(const Item &item) {
  Value inside;
  DenseSet<Value> seen;
  SmallVector<Value> work;
  for (const Root &root : item.roots)
    work.push_back(root.value);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second || (plan.bufferOf(value) && !open.contains(value)))
      continue;
    auto broadcast = dyn_cast<tile::BroadcastOp>(op);
    if (broadcast && broadcast.getDims() == ArrayRef<int64_t>(int64_t(item.shape.size()) - 1)) {
      auto mask = broadcast.getInput().getDefiningOp<tile::MapOp>();
      if (!mask || mask.getScalarOp() != ScalarOp::Lt || plan.bufferOf(mask))
        continue;
      auto index = mask.getInputs()[0].getDefiningOp<tile::IotaOp>();
      auto limit = mask.getInputs()[1].getDefiningOp<tile::SplatOp>();
      if (!index || !limit || !isa<IndexType>(limit.getScalar().getType()))
        continue;
      Value count = e.subI(scalars.lookup(limit.getScalar()), scalars.lookup(index.getStart()));
      inside = inside ? e.minI(inside, count) : count;
      alwaysTrue.insert(mask);
    } else if (isa<tile::MapOp, tile::CastOp, tile::BitcastOp>(op)) {
      work.append(op->operand_begin(), op->operand_end());
    }
  }
  return inside;
}

/// One row: all vectors along the last dimension, then the reductions of the row.
void KernelEmitter::emitRow(const Item &item, SmallVector<Ix, 4> index, ArrayRef<Extent> wanted) {
  SmallVector<const Root *> reductions;
  for (const Root &root : item.roots)
    if (root.kind == Root::Reduce && (item.shape.empty() || reducesLast(root)))
      reductions.push_back(&root);
  auto elementOf = [](const Root *root) { return Plan::elementOf(root->value); };
  auto opOf = [](const Root *root) { return cast<tile::ReduceOp>(root->op).getReduceOp(); };

  Position at;
  at.index = index;
  if (item.shape.empty() || item.shape.back() == 1) {
    if (!item.shape.empty())
      at.index.push_back(Ix(0));
    SmallVector<Value> none(reductions.size());
    SmallVector<Value> values = emitChunk(item, at, none);
    for (auto [root, value] : llvm::zip(reductions, values))
      storeReduced(*root, value, index);
    return;
  }

  int64_t columns = item.shape.back(), lanes = cpu.lanes(4);
  int64_t whole = columns / lanes, tail = columns % lanes;
  at.vectorDim = int(item.shape.size()) - 1;
  at.index.push_back(Ix(0));
  at.lanes = lanes;
  // One accumulator per unrolled vector and reduction; a missing one starts with the vector itself.
  int64_t width = std::min(whole, unrollLoop);
  SmallVector<SmallVector<Value>> accumulators(std::max<int64_t>(width, 1),
                                               SmallVector<Value>(reductions.size()));
  auto step = [&](Ix start, int64_t slot) {
    at.index.back() = start;
    accumulators[slot] = emitChunk(item, at, accumulators[slot]);
  };
  if (whole <= unrollWhole) {
    for (int64_t i = 0; i < whole; ++i)
      step(Ix(i * lanes), i % unrollLoop);
  } else {
    int64_t steps = whole / unrollLoop * unrollLoop;
    SmallVector<Value> inits;
    for (int64_t slot = 0; slot < unrollLoop; ++slot)
      for (const Root *root : reductions)
        inits.push_back(e.unit(opOf(root), elementOf(root), lanes));
    Value end = e.minI(limit(wanted.back(), columns, unrollLoop * lanes), e.integer(steps * lanes));
    auto run = [&](Value from, Value to, ValueRange sums) {
      return e.loop(from, to, unrollLoop * lanes, sums, [&](Value i, ValueRange carried) {
        MemoScope scope(*this);
        SmallVector<Value> next;
        for (int64_t slot = 0; slot < unrollLoop; ++slot) {
          ValueRange mine = carried.slice(slot * reductions.size(), reductions.size());
          accumulators[slot].assign(mine.begin(), mine.end());
          step(Ix(i, slot * lanes), slot);
          llvm::append_range(next, accumulators[slot]);
        }
        return next;
      });
    };
    // Whole steps before an edge need no mask.
    Value start = e.integer(0);
    SmallVector<Value> results = inits;
    if (Value inside = columnsInside(item)) {
      Value whole = e.andI(e.maxI(inside, start), e.integer(-unrollLoop * lanes));
      whole = e.minI(whole, end);
      results = run(start, whole, results);
      alwaysTrue.clear();
      start = whole;
    }
    results = run(start, end, results);
    for (int64_t slot = 0; slot < unrollLoop; ++slot)
      accumulators[slot].assign(results.begin() + slot * reductions.size(),
                                results.begin() + (slot + 1) * reductions.size());
    for (int64_t i = steps; i < whole; ++i)
      step(Ix(i * lanes), i - steps);
  }
  SmallVector<Value> rest(reductions.size());
  if (tail) {
    at.lanes = tail;
    at.index.back() = Ix(whole * lanes);
    rest = emitChunk(item, at, rest);
  }
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
    storeReduced(*root, e.horizontal(opOf(root), parts[0], elementOf(root), skipNan), index);
  }
}

/// Evaluates every root at one vector, then writes. Returns the accumulators of the row's
/// reductions.
SmallVector<Value> KernelEmitter::emitChunk(const Item &item, const Position &at,
                                            ValueRange accumulators) {
  SmallVector<Value> values;
  for (const Root &root : item.roots)
    values.push_back(evaluate(root.value, at));
  SmallVector<Value> next;
  for (auto [root, value] : llvm::zip(item.roots, values)) {
    Type element = Plan::elementOf(root.value);
    if (root.kind == Root::Store) {
      emitStore(cast<tile::StoreOp>(root.op), value, at);
    } else if (root.kind == Root::Value) {
      storeBuffer(*root.dest, e.cast(value, element, root.dest->element), at);
    } else if (at.index.empty() || reducesLast(root)) {
      Value sum = accumulators[next.size()];
      next.push_back(sum ? join(e, root, sum, value) : value);
    } else {
      // The row stays: its vectors are collected in the result's memory.
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
  if (!reducesOnlyLast(root))
    value = join(e, root, loadBuffer(*root.dest, to), value);
  storeBuffer(*root.dest, value, to);
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
    if (!count)
      return e.store(stored, address, access.scope);
    return e.maskedStore(stored, address, e.laneMask(at.lanes, count));
  }
  for (int64_t lane = 0; lane < at.lanes; ++lane) {
    Position where;
    where.index = at.index;
    where.index[at.vectorDim] = e.add(where.index[at.vectorDim], lane);
    storeOne(e.extract(stored, lane), where);
  }
}
