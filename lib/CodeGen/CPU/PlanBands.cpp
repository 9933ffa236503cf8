//===- PlanBands.cpp - Bands of rows that pass through several contractions -===//
//
// Where one contraction consumes values computed row by row from another's result, everything in
// between can be done for a few rows at a time. The intermediate tiles then fit the L1 cache, in
// buffers of one band of rows, however many rows there are. The right-hand sides are packed before.
// A run of items becomes a loop over bands when
//
// - each of them computes rows of its results from the same rows of the results of the run, and
// - the items between them (addresses, scalars, packing) do not depend on the run, so that they can
//   be hoisted before it.
//
//===----------------------------------------------------------------------===//
#include "Plan.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using tile::MmaOp;

/// Rows of a band are a multiple of this: several whole vectors of per-row values.
static int64_t bandStep(const CpuDescription &cpu) { return 4 * cpu.lanes(4); }

void Plan::findChainedContractions() {
  auto mayChain = [&](MmaOp op) {
    int64_t rows = shapeOf(op.getResult())[0];
    return elementOf(op.getResult()).isF32() && !canUseBfmmla(op) && !canUseAmx(op) &&
           packsRhs(op) && rows % bandStep(cpu) == 0 && needsRowLoop(rows, cpu);
  };
  kernel.walk([&](MmaOp op) {
    DenseSet<Value> seen;
    SmallVector<Value> work{op.getLhs()};
    while (!work.empty()) {
      Value value = work.pop_back_val();
      Operation *def = value.getDefiningOp();
      if (!def || def->getBlock() != op->getBlock() || !seen.insert(value).second)
        continue;
      auto before = dyn_cast<MmaOp>(def);
      if (!before) {
        llvm::append_range(work, def->getOperands());
        continue;
      }
      // In between there are the rows of the contraction's result and the values computed from
      // them.
      int64_t rows = shapeOf(value)[0], rowBytes = 2 * shapeOf(value)[1] * 4;
      bool pays = rows * rowBytes > cpu.l1Bytes && bandStep(cpu) * rowBytes <= cpu.l1Bytes;
      if (pays && mayChain(before) && mayChain(op) && rows == shapeOf(op.getResult())[0])
        chained.insert_range(ArrayRef<Operation *>{before, op});
    }
  });
}

/// Whether an item can be hoisted before the items that precede it: it reads no tile, or only tiles
/// that do not depend on the grid task.
static bool canHoist(const Item &item) {
  return item.isTaskInvariant || item.kind == Item::Pack || item.kind == Item::Access ||
         (item.kind == Item::Scalar && !isa<tile::ExtractOp>(item.op));
}

/// Whether an item computes each of `rows` rows independently.
bool Plan::isRowwise(const Item &item, int64_t rows) const {
  if (item.kind == Item::Mma) {
    auto op = cast<MmaOp>(item.op);
    return chained.contains(op) && shapeOf(op.getResult())[0] == rows &&
           bandStep(cpu) % microTile(op).rows == 0;
  }
  if ((item.kind != Item::Group && item.kind != Item::Transpose) || item.shape.empty() ||
      item.shape[0] != rows)
    return false;
  return llvm::all_of(item.roots, [&](const Root &root) {
    if (root.kind == Root::Store || (item.kind == Item::Transpose && !root.dest->interleaved))
      return false;
    auto reduce = dyn_cast_or_null<tile::ReduceOp>(root.op);
    int64_t last = item.shape.size() - 1;
    return root.kind != Root::Reduce || (last > 0 && reduce.getDims() == ArrayRef<int64_t>(last));
  });
}

/// Whether evaluating rows of `value` reads only the same rows of every tile in one of the
/// `written` buffers.
bool Plan::readsOnlyOwnRows(Value value, const DenseSet<Value> &open,
                            const DenseSet<const Buffer *> &written) const {
  // The dimension of the tile that corresponds to the rows; -1 if there is none.
  DenseSet<std::pair<Value, int>> seen;
  SmallVector<std::pair<Value, int>> work{{value, 0}};
  while (!work.empty()) {
    auto [tile, rowDim] = work.pop_back_val();
    if (!seen.insert({tile, rowDim}).second)
      continue;
    if (const Buffer *buffer = bufferOf(tile); buffer && !open.contains(tile)) {
      if (rowDim != 0 && written.contains(buffer))
        return false;
      continue;
    }
    Operation *op = tile.getDefiningOp();
    if (!op)
      continue;
    int inner = rowDim;
    if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
      const int64_t *found = llvm::find(broadcast.getDims(), int64_t(rowDim));
      inner = found == broadcast.getDims().end() ? -1 : int(found - broadcast.getDims().begin());
      if (inner >= 0 &&
          shapeOf(broadcast.getInput())[inner] != broadcast.getType().getShape()[rowDim])
        inner = -1;
    } else if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
      inner = rowDim < 0 ? -1 : int(transpose.getPermutation()[rowDim]);
    } else if (isa<tile::ReshapeOp>(op)) {
      inner = -1;
    }
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        work.push_back({operand, inner});
  }
  return true;
}

bool Plan::isBand(ArrayRef<Item> run) const {
  DenseSet<const Buffer *> written;
  unsigned products = 0;
  for (const Item &item : run) {
    if (item.kind == Item::Mma) {
      written.insert(bufferOf(item.op->getResult(0)));
      ++products;
    }
    for (const Root &root : item.roots)
      written.insert(root.dest);
  }
  return products > 1 && llvm::all_of(run, [&](const Item &item) {
           if (item.kind == Item::Mma)
             return readsOnlyOwnRows(cast<MmaOp>(item.op).getAcc(), {}, written);
           DenseSet<Value> open;
           for (const Root &root : item.roots)
             if (root.definesValue)
               open.insert(root.value);
           return llvm::all_of(item.roots, [&](const Root &root) {
             return readsOnlyOwnRows(root.value, open, written);
           });
         });
}

void Plan::formBands() {
  for (auto &[block, items] : blocks)
    for (size_t first = 0; first < items.size(); ++first) {
      auto product = dyn_cast_or_null<MmaOp>(items[first].op);
      if (items[first].kind != Item::Mma || !chained.contains(product))
        continue;
      int64_t rows = shapeOf(product.getResult())[0];
      std::vector<Item> ahead, run;
      size_t end = first;
      for (; end < items.size(); ++end) {
        if (canHoist(items[end]))
          ahead.push_back(items[end]);
        else if (isRowwise(items[end], rows))
          run.push_back(items[end]);
        else
          break;
      }
      if (!isBand(run))
        continue;
      bands.push_back({rows, rows, run.size()});
      for (Item &item : run)
        item.band = int(bands.size());
      llvm::copy(ahead, items.begin() + first);
      llvm::copy(run, items.begin() + first + ahead.size());
      first = end - 1;
    }
}

/// Buffers that a band uses are live over its whole loop.
void Plan::numberBands() {
  for (auto &[block, items] : blocks)
    for (size_t i = 0; i < items.size(); ++i)
      if (items[i].band) {
        size_t end = i + bands[items[i].band - 1].items;
        int start = items[i].number, last = items[end - 1].end;
        for (; i < end; ++i)
          std::tie(items[i].number, items[i].end) = std::pair(start, last);
        --i;
      }
}

/// Chooses the number of rows of a band, and shrinks the buffers that only the band uses.
void Plan::narrowBands() {
  for (auto [i, band] : llvm::enumerate(bands)) {
    SmallVector<Buffer *> own;
    int64_t bytes = 0, step = bandStep(cpu);
    for (auto &buffer : storage)
      if (buffer->band == int(i + 1)) {
        own.push_back(buffer.get());
        bytes += buffer->bytes();
      }
    // Half of the cache is for the operands that are streamed.
    int64_t rows = cpu.l1Bytes / 2 * band.allRows / std::max<int64_t>(bytes, 1) / step * step;
    band.rows = std::clamp(rows, step, band.allRows);
    for (Buffer *buffer : own) {
      buffer->shape[0] = band.rows;
      if (buffer->shape.size() == 1)
        buffer->rowStride = band.rows;
    }
  }
}
