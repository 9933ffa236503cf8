//===- SendRows.cpp - Rows that begin anywhere are stored as a whole ------===//
//
// Threads that store the elements of such a row one by one write pieces of memory's sectors. They write
// them into a slot of shared memory instead, from where the row is sent. That is the slot the row came
// from, where each thread writes over what it alone has read there and the row begins alike; else one of
// the store's own, in loops one of three: while one is written, another is free, and a third is sent.
//
//===----------------------------------------------------------------------===//
#include "Rows.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILESENDROWS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// Whether no two blocks of a cluster hold the same of a tile.
static bool isSharedByAll(Value tile) {
  Layout layout = *layoutOf(tile);
  return !(layout.freeBits() & layout.in().mask({Dim::Block}));
}

namespace {
class Sender {
public:
  Sender(KernelOp kernel, uint64_t left) : kernel(kernel), coordinates(kernel), left(left) {}

  void run() {
    SmallVector<StoreOp> stores;
    kernel.walk([&](StoreOp store) {
      if (isLooseRow(coordinates, store.getView(), store.getDims(), store.getValue()) && isSharedByAll(store.getValue()))
        stores.push_back(store);
    });
    llvm::for_each(stores, [&](StoreOp store) { send(store); });
  }

private:
  void send(StoreOp store);
  ReadOp sourceOf(StoreOp store);
  bool beginAlike(StoreOp store, ShiftOp shift);
  bool isLastUse(ReadOp read, StoreOp store);
  /// Writes what is stored into a slot and sends it.
  void sendFrom(StoreOp store, Value buffer, Value slot, Value shift, bool isRing);
  /// Before the program ends.
  void waitForAll(Value buffer, Location loc);

  KernelOp kernel;
  Coordinates coordinates;
  uint64_t left;
};
} // namespace

/// Whether a store's rows lie as far behind multiples of 16 bytes as those of another view.
bool Sender::beginAlike(StoreOp store, ShiftOp shift) {
  int64_t along = store.getDims()[0];
  if (!coordinates.beginAlike(store.getView(), shift.getView()))
    return false;
  return llvm::all_of(llvm::enumerate(shift.getCoords()), [&](auto each) {
    return int64_t(each.index()) == along ? getConstantIntValue(each.value()) == 0
                                          : each.value() == store.getCoords()[each.index()];
  });
}

/// The loop whose steps are the slots that an access goes over.
static scf::ForOp slotsOf(Operation *op) {
  Value slot = isa<ReadOp>(op)    ? cast<ReadOp>(op).getSlot()
               : isa<WriteOp>(op) ? cast<WriteOp>(op).getSlot()
               : isa<SendOp>(op)  ? cast<SendOp>(op).getSlot()
                                  : Value();
  auto loop = slot ? dyn_cast<scf::ForOp>(op->getParentOp()) : scf::ForOp();
  return loop && slot == loop.getInductionVar() ? loop : scf::ForOp();
}

/// Whether nothing reads or fills the slot behind the store, nor is another row sent from it.
bool Sender::isLastUse(ReadOp read, StoreOp store) {
  Block *body = &kernel.getBody().front();
  Operation *here = body->findAncestorOpInBlock(*store);
  return llvm::all_of(read.getBuffer().getUsers(), [&](Operation *user) {
    if (user == read || isa<SentOp>(user))
      return true;
    if (auto send = dyn_cast<SendOp>(user); send && send.getSlot() == read.getSlot())
      return false;
    if (scf::ForOp own = slotsOf(read), other = slotsOf(user); own && other && comesBefore(coordinates, own, other))
      return true;
    Operation *there = body->findAncestorOpInBlock(*user);
    return there == here ? here == store.getOperation() && user->isBeforeInBlock(store) : there->isBeforeInBlock(here);
  });
}

ReadOp Sender::sourceOf(StoreOp store) {
  for (auto read : store->getBlock()->getOps<ReadOp>()) {
    auto shift = read.getBehind() ? read.getBehind().getDefiningOp<ShiftOp>() : ShiftOp();
    if (shift && read.getType() == store.getValue().getType() && read->isBeforeInBlock(store) &&
        beginAlike(store, shift) && isLastUse(read, store))
      return read;
  }
  return nullptr;
}

void Sender::sendFrom(StoreOp store, Value buffer, Value slot, Value shift, bool isRing) {
  OpBuilder builder(store);
  Location loc = store.getLoc();
  WriteOp::create(builder, loc, store.getValue(), buffer, slot, shift);
  if (isRing)
    SentOp::create(builder, loc, buffer, 1);
  SendOp::create(builder, loc, buffer, slot, store.getView(), store.getCoords(), store.getDims(), store.getBounded());
  store.erase();
}

void Sender::waitForAll(Value buffer, Location loc) {
  Operation *end = kernel.getBody().front().getTerminator();
  auto last = dyn_cast_or_null<SentOp>(end->getPrevNode());
  OpBuilder builder(end);
  if (!last || last.getBuffer() != buffer)
    SentOp::create(builder, loc, buffer, 0);
}

void Sender::send(StoreOp store) {
  constexpr int64_t ring = 3;
  Location loc = store.getLoc();
  auto loop = dyn_cast<scf::ForOp>(store->getParentOp());
  Operation *outer = loop ? loop.getOperation() : store.getOperation();
  if (outer->getParentOp() != kernel)
    return;
  OpBuilder builder(outer);
  if (ReadOp source = sourceOf(store)) {
    sendFrom(store, source.getBuffer(), source.getSlot(), source.getBehind(), /*isRing=*/false);
    return waitForAll(source.getBuffer(), loc);
  }
  // In a loop from row to row each begins elsewhere.
  bool isAcross = loop && llvm::any_of(llvm::enumerate(store.getCoords()), [&](auto each) {
                    return int64_t(each.index()) != store.getDims()[0] && !loop.isDefinedOutsideOfLoop(each.value());
                  });
  BufferType type = rowBuffer(store.getValue(), loop ? ring : 1);
  if (uint64_t(type.getAllBytes()) > left)
    return;
  left -= type.getAllBytes();
  Value buffer = AllocOp::create(builder, loc, type);
  Value slot = arith::ConstantIndexOp::create(builder, loc, 0);
  OpBuilder inside(store);
  Value shift = shiftOf(isAcross ? inside : builder, loc, store.getView(), store.getCoords(), store.getDims());
  if (loop) {
    IRRewriter rewriter(builder);
    loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, slot, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
          return {slotBehind(inside, loc, carried[0], ring)};
        }));
    slot = loop.getRegionIterArgs().back();
    outer = loop;
  }
  Operation *next = outer->getNextNode();
  sendFrom(store, buffer, slot, shift, /*isRing=*/bool(loop));
  if (!loop)
    return waitForAll(buffer, loc);
  builder.setInsertionPoint(next);
  SentOp::create(builder, loc, buffer, 0);
}

namespace {
struct TileSendRows : tile::impl::TileSendRowsBase<TileSendRows> {
  using TileSendRowsBase::TileSendRowsBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      Sender(kernel, bytesForRows(kernel, most, chip)).run();
  }
};
} // namespace
