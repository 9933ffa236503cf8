//===- PlanBuffers.cpp - Sharing and placing of scratch buffers -----------===//
//
// Items are numbered in execution order. A buffer is live from the first to the last item that
// touches it; an item inside a loop that does not contain the buffer's home counts as the whole
// loop. Buffers are first merged where work can be done in place (accumulators of contractions,
// carried tiles), then placed first-fit.
//
//===----------------------------------------------------------------------===//
#include "Plan.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

void Plan::itemReads(const Item &item, ReadFn read) const {
  if (item.kind == Item::Group || item.kind == Item::Transpose) {
    DenseSet<Value> open;
    for (const Root &root : item.roots)
      if (root.definesValue)
        open.insert(root.value);
    for (const Root &root : item.roots)
      visitReads(root.value, true, open, read);
  } else if (item.kind == Item::Mma) {
    auto op = cast<tile::MmaOp>(item.op);
    visitReads(op.getAcc(), true, {}, read);
    if (lhsOf(op) == bufferOf(op.getLhs()))
      read(op.getLhs(), false);
    if (!rhsOf(op) || usesBfmmla(op))
      visitReads(op.getRhs(), false, {}, read);
  } else if (item.kind == Item::Scatter) {
    for (Value operand : item.op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        visitReads(operand, true, {}, read);
  } else if (item.kind == Item::Scan) {
    auto op = cast<tile::ScanOp>(item.op);
    visitReads(op.getInput(), false, {}, read);
    if (op.getKey())
      visitReads(op.getKey(), false, {}, read);
    // A scan by key updates its table in place.
    visitReads(op.getInit(), bool(op.getKey()), {}, read);
  } else if (auto extract = dyn_cast_or_null<tile::ExtractOp>(item.op)) {
    visitReads(extract.getTile(), false, {}, read);
  }
}

/// Marks items of the kernel's own block that do not depend on the grid task: tiles of views that
/// the kernel does not write, at coordinates that do not depend on the program id. Their buffers
/// are kept between grid tasks.
void Plan::findTaskInvariantItems() {
  DenseSet<Operation *> taskInvariant;
  auto isTaskInvariant = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || taskInvariant.contains(op);
  };
  // Whether all reads of evaluating a tile are independent of the grid task, and the tile is
  // elementwise. A load may be independent while its tile is computed by a group that is not.
  DenseMap<Value, bool> known;
  std::function<bool(Value, const DenseSet<Value> &)> readsCommon =
      [&](Value tile, const DenseSet<Value> &open) {
        Operation *op = tile.getDefiningOp();
        if (Buffer *buffer = bufferOf(tile); buffer && !open.contains(tile))
          return buffer->isTaskInvariant;
        if (!op || taskInvariant.contains(op) || isa<tile::ConstantOp>(op))
          return bool(op);
        if (auto found = known.find(tile); found != known.end())
          return found->second;
        bool result = isa<tile::SplatOp, tile::IotaOp, tile::MapOp, tile::CastOp, tile::BitcastOp,
                          tile::BroadcastOp>(op) &&
                      llvm::all_of(op->getOperands(), [&](Value operand) {
                        return isa<RankedTensorType>(operand.getType()) ? readsCommon(operand, open)
                                                                        : isTaskInvariant(operand);
                      });
        return known[tile] = result;
      };
  for (Item &item : blocks[&kernel.getBody().front()]) {
    if (item.kind == Item::Scalar) {
      item.isTaskInvariant = isPure(item.op) && !isa<tile::ProgramIdOp, tile::ExtractOp>(item.op) &&
                             llvm::all_of(item.op->getOperands(), isTaskInvariant);
    } else if (item.kind == Item::Access) {
      auto load = dyn_cast<tile::LoadOp>(item.op);
      item.isTaskInvariant = load && !storedViews.contains(load.getView()) &&
                             llvm::all_of(load.getCoords(), isTaskInvariant);
    } else if (item.kind == Item::Group) {
      DenseSet<Value> open;
      known.clear();
      for (const Root &root : item.roots)
        if (root.kind == Root::Value && root.definesValue)
          open.insert(root.value);
      item.isTaskInvariant =
          open.size() == item.roots.size() &&
          llvm::all_of(open, [&](Value tile) { return readsCommon(tile, open); });
    }
    if (!item.isTaskInvariant)
      continue;
    if (item.op)
      taskInvariant.insert(item.op);
    for (const Root &root : item.roots) {
      taskInvariant.insert(root.value.getDefiningOp());
      root.dest->isTaskInvariant = true;
    }
  }
}

void Plan::forEachItem(Block *block, function_ref<void(Block *, Item &)> visit) {
  for (Item &item : blocks[block]) {
    visit(block, item);
    if (item.kind == Item::For || item.kind == Item::If)
      for (Region &region : item.op->getRegions())
        if (!region.empty())
          forEachItem(&region.front(), visit);
  }
}

void Plan::number(Block *block, int &counter) {
  for (Item &item : blocks[block]) {
    item.number = counter++;
    if (item.kind == Item::For || item.kind == Item::If)
      for (Region &region : item.op->getRegions())
        if (!region.empty())
          number(&region.front(), counter);
    item.end = counter++;
  }
}

void Plan::forEachRead(Buffer *buffer, Block *block,
                       function_ref<void(const Item &, Value, bool)> read) {
  forEachItem(block, [&](Block *, Item &item) {
    itemReads(item, [&](Value value, bool here) {
      if (bufferOf(value) == buffer)
        read(item, value, here);
    });
  });
}

void Plan::merge(Buffer *from, Buffer *into) {
  for (auto &entry : buffers)
    if (entry.second == from)
      entry.second = into;
  for (auto *map : {&lhsBuffers, &rhsBuffers})
    for (auto &entry : *map)
      if (entry.second == from)
        entry.second = into;
  for (auto &entry : blocks)
    for (Item &item : entry.second)
      for (Root &root : item.roots)
        if (root.dest == from)
          root.dest = into;
}

/// Lets a yielded tile be written to the carried tile's buffer, and lets the carried tile use the
/// buffer of its initial value.
void Plan::shareCarried(Block *block, Item &item) {
  auto loop = cast<scf::ForOp>(item.op);
  Block *body = loop.getBody();
  auto yield = cast<scf::YieldOp>(body->getTerminator());
  for (auto [argument, yielded, init] :
       llvm::zip(loop.getRegionIterArgs(), yield.getOperands(), loop.getInitArgs())) {
    Buffer *carried = bufferOf(argument);
    if (!carried)
      continue;
    Buffer *next = bufferOf(yielded);
    if (next && next != carried && next->sameForm(*carried) && yielded.getParentBlock() == body) {
      // The item that computes the next tile must be the last reader of the current one, and read
      // it at the evaluated position.
      Item *maker = nullptr;
      for (Item &candidate : blocks[body]) {
        if (candidate.kind == Item::Mma && candidate.op->getResult(0) == yielded)
          maker = &candidate;
        if (candidate.kind == Item::Scan && cast<tile::ScanOp>(candidate.op).getKey() &&
            cast<tile::ScanOp>(candidate.op).getTotal() == yielded)
          maker = &candidate;
        if (candidate.kind == Item::For && llvm::is_contained(candidate.op->getResults(), yielded))
          maker = &candidate;
        for (const Root &root : candidate.roots)
          if (root.definesValue && root.value == yielded)
            maker = &candidate;
      }
      bool ok = maker != nullptr;
      forEachRead(carried, body, [&](const Item &reader, Value value, bool here) {
        ok = ok && (reader.number < maker->number || (&reader == maker && here));
      });
      if (ok)
        merge(next, carried);
    }
    // The initial tile is not read after the copy into the loop.
    Buffer *first = bufferOf(init);
    carried = bufferOf(argument);
    if (!first || first == carried || first->isTaskInvariant || !first->sameForm(*carried) ||
        init.getParentBlock() != block)
      continue;
    if (llvm::count(loop.getInitArgs(), init) > 1)
      continue;
    bool ok = true;
    forEachRead(first, block, [&](const Item &reader, Value value, bool here) {
      if (reader.number < item.number)
        return; // the copy itself is the last of these
      ok = false;
    });
    // Nothing reads it between the copy and the loop: the copy is right before the loop.
    if (ok)
      merge(carried, first);
  }
}

void Plan::workInPlace(Block *block) {
  for (Item &item : blocks[block]) {
    if (item.kind == Item::For || item.kind == Item::If) {
      if (item.kind == Item::For)
        shareCarried(block, item);
      for (Region &region : item.op->getRegions())
        if (!region.empty())
          workInPlace(&region.front());
      continue;
    }
    // A tile that this item computes may reuse the buffer of a tile that it reads for the last
    // time.
    SmallVector<std::pair<Value, Buffer *>> made;
    if (item.kind == Item::Mma)
      made.push_back({item.op->getResult(0), bufferOf(item.op->getResult(0))});
    for (const Root &root : item.roots)
      if (item.kind == Item::Group && root.definesValue)
        made.push_back({root.value, root.dest});
    llvm::MapVector<Value, bool>
        onlyHere; // in the order of the reads: the first that fits is reused
    itemReads(item, [&](Value value, bool here) {
      auto [it, isNew] = onlyHere.try_emplace(value, here);
      it->second = it->second && here;
    });
    DenseSet<Buffer *> taken;
    for (auto [value, buffer] : made) {
      // A carried tile's buffer holds its current value until it is overwritten, so it cannot be
      // reused.
      if (llvm::any_of(buffers,
                       [&](auto &entry) { return entry.second == buffer && entry.first != value; }))
        continue;
      for (auto [read, here] : onlyHere) {
        Buffer *old = bufferOf(read);
        if (!old || old == buffer || old->isTaskInvariant || !here || taken.contains(old) ||
            !old->sameForm(*buffer))
          continue;
        Operation *def = read.getDefiningOp();
        if (!def || def->getBlock() != block || isa<scf::ForOp, scf::IfOp>(def))
          continue;
        bool ok = true;
        forEachRead(old, block, [&](const Item &reader, Value other, bool) {
          ok = ok && (reader.number < item.number || (&reader == &item && other == read));
        });
        if (!ok)
          continue;
        merge(buffer, old);
        taken.insert(old);
        break;
      }
    }
  }
}

/// Removes copies of a tile onto itself.
void Plan::dropCopies(Block *block) {
  forEachItem(block, [&](Block *, Item &item) {
    llvm::erase_if(item.roots, [&](const Root &root) {
      return root.kind == Root::Value && !root.definesValue && bufferOf(root.value) == root.dest;
    });
  });
  for (auto &entry : blocks)
    llvm::erase_if(entry.second, [](const Item &item) {
      return (item.kind == Item::Group || item.kind == Item::Transpose) && item.roots.empty();
    });
}

void Plan::touch(Buffer *buffer, Block *block, const Item &item) {
  if (!buffer)
    return;
  if (!buffer->home)
    buffer->home = block;
  buffer->band = buffer->band < 0 || buffer->band == item.band ? item.band : 0;
  int first = item.number, last = item.end;
  if (block != buffer->home) {
    Operation *ancestor = block->getParentOp();
    while (ancestor->getBlock() != buffer->home) {
      ancestor = ancestor->getParentOp();
      assert(ancestor && "a buffer is used outside its home");
    }
    for (const Item &outer : blocks[buffer->home])
      if (outer.op == ancestor) {
        first = outer.number;
        last = outer.end;
      }
  }
  buffer->start = std::min(buffer->start, first);
  buffer->end = std::max(buffer->end, last);
}

void Plan::liveness(Block *block) {
  for (Item &item : blocks[block]) {
    itemReads(item, [&](Value value, bool) { touch(bufferOf(value), block, item); });
    for (const Root &root : item.roots)
      touch(root.dest, block, item);
    if (auto mma = dyn_cast_or_null<tile::MmaOp>(item.op); mma && item.kind == Item::Mma) {
      touch(bufferOf(mma.getResult()), block, item);
      touch(lhsOf(mma), block, item);
      touch(rhsOf(mma), block, item);
      touch(splitRhsOf(mma), block, item);
    }
    if (item.kind == Item::Pack)
      touch(rhsOf(cast<tile::MmaOp>(item.op)), block, item);
    if (item.kind != Item::For && item.kind != Item::If && item.kind != Item::Scan)
      continue;
    for (Value result : item.op->getResults())
      touch(bufferOf(result), block, item);
    for (Region &region : item.op->getRegions())
      if (!region.empty())
        liveness(&region.front());
  }
}

void Plan::allocate() {
  if (configuration) {
    // Written before all others.
    configuration->start = 0;
    configuration->end = 0;
  }
  std::vector<Buffer *> order;
  for (auto &buffer : storage)
    if (buffer->end >= 0) {
      if (buffer->isTaskInvariant)
        std::tie(buffer->start, buffer->end) = std::pair(0, INT_MAX);
      order.push_back(buffer.get());
    }
  llvm::sort(order, [](Buffer *a, Buffer *b) {
    return std::pair(a->start, a->end) < std::pair(b->start, b->end);
  });
  std::vector<Buffer *> placed;
  for (Buffer *buffer : order) {
    std::vector<Buffer *> live;
    llvm::copy_if(placed, std::back_inserter(live), [&](Buffer *other) {
      return other->end >= buffer->start && other->start <= buffer->end;
    });
    llvm::sort(live, [](Buffer *a, Buffer *b) { return a->offset < b->offset; });
    int64_t offset = 0, bytes = buffer->bytes();
    for (Buffer *other : live) {
      if (offset + bytes <= other->offset)
        break;
      offset = std::max<int64_t>(offset, other->offset + other->bytes());
    }
    buffer->offset = offset;
    placed.push_back(buffer);
    scratch = std::max(scratch, offset + bytes);
  }
}
