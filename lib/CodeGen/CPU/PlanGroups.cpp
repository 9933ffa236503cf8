//===- PlanGroups.cpp - Which roots share a loop nest ---------------------===//
//
// Walks through a block and collects groups in a window. A root joins the earliest group of its
// shape that comes after everything it reads. A contraction, a scan, a loop or a branch ends the
// window: the groups in it run before.
//
//===----------------------------------------------------------------------===//
#include "Plan.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using tile::GatherOp;
using tile::LoadOp;
using tile::MmaOp;

/// Delays reductions to a later group of the same shape that reads the same tiles, so that the rows
/// are read once for all of them. Users of their results move after that group. A reduction is not
/// delayed if a result is needed before.
void Plan::delayReductions(std::vector<Item> &window) const {
  auto isReduction = [](const Root &root) { return root.kind == Root::Reduce; };
  auto madeBy = [](const Root &root) {
    return root.kind == Root::Reduce ? root.op->getResult(0)
           : root.definesValue       ? root.value
                                     : Value();
  };
  auto delay = [&](size_t i, size_t j) {
    DenseSet<Value> late;
    for (const Root &root : window[i].roots)
      late.insert(madeBy(root));
    auto isDelayed = [&](const Root &root) {
      return llvm::any_of(readsOf(root, false), [&](Value read) { return late.contains(read); });
    };
    std::vector<Item> behind;
    std::vector<SmallVector<Root>> staying;
    for (size_t k = i + 1; k < j; ++k) {
      Item moved = window[k];
      moved.roots.clear();
      staying.emplace_back();
      for (const Root &root : window[k].roots) {
        bool goes = isDelayed(root);
        if (goes && (window[k].kind != Item::Group || root.kind == Root::Store))
          return false;
        if (Value made = goes ? madeBy(root) : Value())
          late.insert(made);
        (goes ? moved.roots : staying.back()).push_back(root);
      }
      if (!moved.roots.empty())
        behind.push_back(std::move(moved));
    }
    if (llvm::any_of(window[j].roots, isDelayed))
      return false;
    window[j].roots.insert(window[j].roots.begin(), window[i].roots.begin(), window[i].roots.end());
    for (size_t k = i + 1; k < j; ++k)
      window[k].roots = staying[k - i - 1];
    window.insert(window.begin() + j + 1, behind.begin(), behind.end());
    window[i].roots.clear();
    llvm::erase_if(window, [](const Item &item) { return item.roots.empty(); });
    return true;
  };
  for (size_t i = window.size(); i-- > 0;) {
    if (window[i].kind != Item::Group || window[i].shape.empty() ||
        !llvm::all_of(window[i].roots, isReduction))
      continue;
    DenseSet<Value> mine = readsOf(window[i].roots, true);
    auto isOwn = [&](Value read) { return mine.contains(read); };
    for (size_t j = i + 1; j < window.size(); ++j)
      if (window[j].kind == Item::Group && window[j].shape == window[i].shape &&
          llvm::any_of(window[j].roots, isReduction) &&
          llvm::any_of(readsOf(window[j].roots, true), isOwn)) {
        delay(i, j);
        break;
      }
  }
}

/// Forms the items of one block. Groups wait in a window, where later roots join them, until an
/// operation that is no group ends the window.
class Plan::BlockFormer {
public:
  explicit BlockFormer(Plan &plan) : plan(plan) {}
  std::vector<Item> run(Block *block);

private:
  bool formAccess(Operation &op);
  bool formControl(Operation &op);
  void formComputation(Operation &op);
  void formMma(MmaOp mma);
  void flush();
  void addRoot(Root root, ArrayRef<int64_t> shape, bool transpose = false);
  unsigned earliestGroup(const Root &root) const;
  void pack(Value value, bool transpose = false);
  void makeValue(Value value);
  void carry(Value value, Buffer *dest);
  void addItem(Item::Kind kind, Operation *op);

  Plan &plan;
  std::vector<Item> out;
  std::vector<Item> window; // groups not yet placed
  // Buffered tile → its group in the window, and whether that same group may read it (at the
  // evaluated position).
  DenseMap<Value, std::pair<unsigned, bool>> made;
};

void Plan::BlockFormer::flush() {
  plan.delayReductions(window);
  for (Item &item : window)
    out.push_back(std::move(item));
  window.clear();
  made.clear();
}

void Plan::BlockFormer::addItem(Item::Kind kind, Operation *op) {
  Item item;
  item.kind = kind;
  item.op = op;
  out.push_back(std::move(item));
}

/// The first group of the window that comes after everything that a root reads.
unsigned Plan::BlockFormer::earliestGroup(const Root &root) const {
  unsigned earliest = 0;
  DenseSet<Value> open;
  if (root.definesValue)
    open.insert(root.value);
  plan.visitReads(root.value, true, open, [&](Value read, bool here) {
    if (auto it = made.find(read); it != made.end())
      earliest = std::max(earliest, it->second.first + (here && it->second.second ? 0 : 1));
  });
  return earliest;
}

/// Adds a root to the first group of its shape that may have it, or to a new one.
void Plan::BlockFormer::addRoot(Root root, ArrayRef<int64_t> shape, bool transpose) {
  unsigned earliest = earliestGroup(root), place = window.size();
  if (!transpose)
    for (unsigned i = window.size(); i-- > earliest;)
      if (window[i].kind == Item::Group && ArrayRef(window[i].shape) == shape)
        place = i;
  if (place == window.size()) {
    Item item;
    item.kind = transpose ? Item::Transpose : Item::Group;
    item.op = root.op ? root.op : root.value.getDefiningOp();
    item.shape.assign(shape.begin(), shape.end());
    window.push_back(std::move(item));
  }
  if (root.kind == Root::Reduce)
    made[root.op->getResult(0)] = {place, false};
  else if (root.definesValue)
    made[root.value] = {place, !transpose};
  window[place].roots.push_back(root);
}

/// Writes a tile to the packed forms that contractions read.
void Plan::BlockFormer::pack(Value value, bool transpose) {
  if (auto it = plan.packed.find(value); it != plan.packed.end())
    for (Buffer *buffer : it->second)
      addRoot({Root::Value, nullptr, value, buffer, false}, shapeOf(value),
              transpose || buffer->interleaved);
}

/// Writes a tile to its buffers, if it has any.
void Plan::BlockFormer::makeValue(Value value) {
  bool transposed = isTransposedLoad(value);
  Buffer *buffer = plan.bufferOf(value);
  if (buffer)
    addRoot({Root::Value, nullptr, value, buffer, true}, shapeOf(value), transposed);
  pack(value, transposed && !buffer);
}

/// Copies a tile to the buffer of a carried tile.
void Plan::BlockFormer::carry(Value value, Buffer *dest) {
  if (plan.bufferOf(value) != dest)
    addRoot({Root::Value, nullptr, value, dest, false}, shapeOf(value));
}

bool Plan::BlockFormer::formAccess(Operation &op) {
  if (isa<LoadOp, GatherOp>(op)) {
    addItem(Item::Access, &op);
    makeValue(op.getResult(0));
  } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
    addItem(Item::Access, &op);
    addRoot({Root::Store, &op, store.getValue(), nullptr, false}, shapeOf(store.getValue()));
  } else if (isa<tile::ScatterOp>(op)) {
    flush();
    addItem(Item::Access, &op);
    addItem(Item::Scatter, &op);
  } else {
    return false;
  }
  return true;
}

bool Plan::BlockFormer::formControl(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [init, argument] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs()))
      if (isa<RankedTensorType>(init.getType()))
        carry(init, plan.bufferOf(argument));
    flush();
    addItem(Item::For, &op);
    plan.formBlock(loop.getBody());
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    flush();
    addItem(Item::If, &op);
    for (Region &region : branch->getRegions())
      if (!region.empty())
        plan.formBlock(&region.front());
  } else if (isa<scf::YieldOp>(op)) {
    flush();
    for (auto [value, result] : llvm::zip(op.getOperands(), op.getParentOp()->getResults()))
      if (isa<RankedTensorType>(value.getType()))
        carry(value, plan.bufferOf(result));
  } else {
    return false;
  }
  return true;
}

void Plan::BlockFormer::formMma(MmaOp mma) {
  if (auto it = plan.beforeOp.find(mma); it != plan.beforeOp.end())
    for (const Root &root : it->second)
      addRoot(root, shapeOf(root.value), root.dest->interleaved);
  flush();
  if (plan.chained.contains(mma))
    addItem(Item::Pack, mma);
  addItem(Item::Mma, mma);
  pack(mma.getResult());
}

void Plan::BlockFormer::formComputation(Operation &op) {
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    addRoot({Root::Reduce, &op, reduce.getInput(), plan.bufferOf(reduce.getResult()), false},
            shapeOf(reduce.getInput()));
    pack(reduce.getResult());
  } else if (auto mma = dyn_cast<MmaOp>(op)) {
    formMma(mma);
  } else if (isa<tile::ScanOp>(op)) {
    flush();
    addItem(Item::Scan, &op);
    for (Value result : op.getResults())
      pack(result);
  } else if (isa<tile::ExtractOp>(op)) {
    flush();
    addItem(Item::Scalar, &op);
  } else if (op.getNumResults() == 1 && isa<RankedTensorType>(op.getResult(0).getType())) {
    makeValue(op.getResult(0));
  } else if (!isa<tile::ReturnOp>(op)) {
    addItem(Item::Scalar, &op);
  }
}

std::vector<Item> Plan::BlockFormer::run(Block *block) {
  for (Operation &op : *block)
    if (!formAccess(op) && !formControl(op))
      formComputation(op);
  flush();
  return std::move(out);
}

void Plan::formBlock(Block *block) {
  std::vector<Item> items = BlockFormer(*this).run(block);
  blocks[block] = std::move(items);
}
