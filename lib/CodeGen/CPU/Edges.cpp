//===- Edges.cpp - Where masks are needed ---------------------------------===//
//
// Loop nests are emitted in two versions where a tile may cross the end of a view: without and with
// masks. In the masked version, rows are processed without masks up to the first edge along them.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

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
      Operation *op = value.getDefiningOp();
      if (isa_and_nonnull<tile::LoadOp, tile::GatherOp>(op) &&
          (!plan.bufferOf(value) || own.contains(value)))
        found.insert(op);
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

void KernelEmitter::emitVersioned(Value full, function_ref<void()> body) {
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

/// Emits accesses to the rows and columns of a tile before two ends. Most parts of a tile are
/// inside the view even where the tile is not.
void KernelEmitter::emitInside(Operation *load, Value rowEnd, Ix columnEnd,
                               function_ref<void()> body) {
  const Access &access = accesses.find(load)->second;
  bool wasAtEdge = atEdge;
  auto covers = [&](unsigned dim, Value end) {
    return access.valid[dim] ? e.cmp(LLVM::ICmpPredicate::sge, access.valid[dim], end) : Value();
  };
  emitVersioned(e.andI(covers(0, rowEnd), covers(1, e.materialize(columnEnd))), body);
  atEdge = wasAtEdge;
}

/// Returns how many columns are inside all edges along the last dimension: those of accesses and
/// those of masks of the form `index < count`. Returns null if there is no edge. Records the masks
/// in `alwaysTrue` and sets `isInside` of the accesses.
Value KernelEmitter::countColumnsInside(const Item &item) {
  Value least;
  auto note = [&](Value count) { least = least ? e.minI(least, count) : count; };
  auto noteAccess = [&](Operation *op) {
    Access &access = accesses.find(op)->second;
    if (Value valid = atEdge ? access.valid.back() : Value()) {
      note(valid);
      access.isInside = true;
    }
  };
  DenseSet<Value> seen;
  SmallVector<Value> work;
  for (const Root &root : item.roots) {
    work.push_back(root.value);
    if (root.kind == Root::Store)
      noteAccess(root.op);
  }
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second || (plan.bufferOf(value) && !open.contains(value)))
      continue;
    int64_t columns = Plan::shapeOf(value).back();
    auto broadcast = dyn_cast<tile::BroadcastOp>(op);
    if (EdgeMask mask; mask.match(value, Plan::shapeOf(value).size() - 1)) {
      if (plan.bufferOf(mask.value))
        continue;
      note(e.subI(scalars.lookup(mask.limit.getScalar()), scalars.lookup(mask.index.getStart())));
      alwaysTrue.insert(mask.value);
    } else if (broadcast) {
      ArrayRef<int64_t> dims = broadcast.getDims(), from = Plan::shapeOf(broadcast.getInput());
      bool isLast = !dims.empty() && dims.back() == broadcast.getType().getRank() - 1;
      if (isLast && from.back() == columns)
        work.push_back(broadcast.getInput());
    } else if (isa<tile::LoadOp>(op)) {
      noteAccess(op);
    } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
      noteAccess(op);
      llvm::append_range(work, gather.getIndices());
    } else if (isa<tile::MapOp, tile::CastOp, tile::BitcastOp>(op)) {
      work.append(op->operand_begin(), op->operand_end());
    }
  }
  return least;
}

/// Returns how many elements of each row a reduction combines; null if all.
Value KernelEmitter::reductionEnd(const Root &root) {
  std::optional<Extent::Bound> bound = extents.reduced(cast<tile::ReduceOp>(root.op));
  return bound && !inside.contains(bound->access) ? validElements(*bound) : Value();
}
