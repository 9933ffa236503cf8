//===- PrintPlan.cpp - The printed form of a plan -------------------------===//
#include "Extents.h"
#include "Plan.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

static void printTile(ArrayRef<int64_t> shape, Type element, llvm::raw_ostream &os) {
  for (int64_t size : shape)
    os << size << "x";
  os << element;
}

namespace {
class PlanPrinter {
public:
  PlanPrinter(const Plan &plan, ArrayRef<std::unique_ptr<Buffer>> storage, llvm::raw_ostream &os)
      : plan(plan), os(os) {
    for (const auto &buffer : storage)
      if (buffer->offset >= 0)
        numbers.try_emplace(buffer.get(), numbers.size());
  }

  void printBuffers(ArrayRef<std::unique_ptr<Buffer>> storage);
  void printItems(Block *block, unsigned indent);

private:
  void printForm(const Buffer &buffer);
  void printBuffer(const Buffer *buffer);
  void printRoot(const Root &root);
  void printMma(tile::MmaOp op);
  void printItem(const Item &item);

  const Plan &plan;
  llvm::raw_ostream &os;
  llvm::DenseMap<const Buffer *, unsigned> numbers;
};
} // namespace

void PlanPrinter::printForm(const Buffer &buffer) {
  if (buffer.parts)
    os << "AMX blocks of " << buffer.parts << (buffer.parts == 1 ? " part" : " parts");
  else if (buffer.quads)
    os << "panels of " << buffer.panel << " by four bytes along K";
  else if (buffer.paired)
    os << "pairs of " << (buffer.panel ? "columns" : "rows");
  else if (buffer.interleaved)
    os << buffer.interleaved << " interleaved rows";
  else if (buffer.panel)
    os << "panels of " << buffer.panel;
  else
    os << "rows of " << buffer.rowStride;
}

void PlanPrinter::printBuffers(ArrayRef<std::unique_ptr<Buffer>> storage) {
  for (const auto &buffer : storage) {
    if (buffer->offset < 0)
      continue;
    os << "  buffer " << numbers.lookup(buffer.get()) << ": ";
    printTile(buffer->shape, buffer->element, os);
    os << ", ";
    printForm(*buffer);
    os << ", offset " << buffer->offset << ", " << buffer->bytes() << " bytes, ";
    if (buffer->isTaskInvariant)
      os << "kept for all grid tasks\n";
    else
      os << "items " << buffer->start << " to " << buffer->end << "\n";
  }
}

void PlanPrinter::printBuffer(const Buffer *buffer) {
  if (buffer && numbers.contains(buffer))
    os << "buffer " << numbers.lookup(buffer);
  else
    os << "nothing";
}

void PlanPrinter::printRoot(const Root &root) {
  if (root.kind == Root::Store) {
    os << "store";
    return;
  }
  Operation *maker = root.kind == Root::Reduce ? root.op : root.value.getDefiningOp();
  printBuffer(root.dest);
  os << " = ";
  if (maker)
    os << maker->getName();
  else
    os << "carried tile";
}

void PlanPrinter::printMma(tile::MmaOp op) {
  os << " ";
  printBuffer(plan.bufferOf(op.getResult()));
  os << " = ";
  if (const Buffer *lhs = plan.lhsOf(op))
    printBuffer(lhs);
  else
    os << "memory";
  os << " times ";
  if (const Buffer *rhs = plan.rhsOf(op))
    printBuffer(rhs);
  else
    os << "memory";
  if (const Buffer *split = plan.splitRhsOf(op)) {
    os << " split into ";
    printBuffer(split);
  }
  if (plan.packsPanels(op))
    os << ", packed panel by panel";
}

void PlanPrinter::printItem(const Item &item) {
  static constexpr StringLiteral names[] = {"scalar", "access", "group",   "transpose", "pack",
                                            "mma",    "scan",   "scatter", "for",       "if"};
  os << item.number << ": " << names[item.kind];
  if (item.kind == Item::Group || item.kind == Item::Transpose) {
    os << " ";
    llvm::interleave(item.shape, os, "x");
    os << ": ";
    llvm::interleave(item.roots, os, [&](const Root &root) { printRoot(root); }, ", ");
  } else if (item.kind == Item::Mma) {
    printMma(cast<tile::MmaOp>(item.op));
  } else if (item.kind == Item::Pack) {
    os << " ";
    printBuffer(plan.rhsOf(cast<tile::MmaOp>(item.op)));
  } else if (item.op && item.kind != Item::For && item.kind != Item::If) {
    os << " " << item.op->getName();
  }
  if (item.band)
    os << ", band " << item.band << " of " << plan.band(item.band).rows << " rows";
  if (item.isTaskInvariant)
    os << ", before the first grid task";
  os << "\n";
}

void PlanPrinter::printItems(Block *block, unsigned indent) {
  for (const Item &item : plan.items(block)) {
    os.indent(indent);
    printItem(item);
    if (item.kind == Item::For || item.kind == Item::If)
      for (Region &region : item.op->getRegions())
        if (!region.empty())
          printItems(&region.front(), indent + 2);
  }
}

void Plan::print(llvm::raw_ostream &os) const {
  tile::KernelOp self = kernel; // its methods are not const
  os << "plan of @" << self.getSymName() << ": " << scratch << " bytes of scratch memory\n";
  PlanPrinter printer(*this, storage, os);
  printer.printBuffers(storage);
  printer.printItems(&self.getBody().front(), 2);
}

void Extents::print(tile::KernelOp kernel, llvm::raw_ostream &os) const {
  auto print = [&](Value tile) {
    auto it = extents.find(tile);
    if (it == extents.end() || llvm::all_of(it->second, [](const Extent &e) { return e.all; }))
      return;
    os << "  "
       << (tile.getDefiningOp() ? tile.getDefiningOp()->getName().getStringRef() : "carried")
       << " ";
    printTile(Plan::shapeOf(tile), Plan::elementOf(tile), os);
    for (auto [dim, extent] : llvm::enumerate(it->second)) {
      if (extent.all)
        continue;
      os << ", dim " << dim << " up to ";
      if (extent.bounds.empty())
        os << "nothing";
      llvm::interleave(
          extent.bounds, os,
          [&](const Extent::Bound &bound) {
            os << bound.access->getName() << " dim " << bound.dim;
          },
          " or ");
    }
    os << "\n";
  };
  os << "demands of @" << kernel.getSymName() << "\n";
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      llvm::for_each(loop.getRegionIterArgs(), print);
    else
      llvm::for_each(op->getResults(), print);
  });
}
