//===- BulkStoreRows.cpp - Unaligned rows are stored as a whole ------===//
//
// Threads that store the elements of such a row one by one write pieces of memory's sectors. They
// write them into a stage of shared memory instead, from where the row is sent. That is the stage
// the row came from, where each thread writes over what it alone has read there and the row begins
// alike; else one of the store's own, in loops one of three: while one is written, another is free,
// and a third is sent.
//
//===----------------------------------------------------------------------===//
#include "BulkRows.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEBULKSTOREROWS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// Whether no two blocks of a cluster hold the same of a tile.
static bool isSharedByAll(Value tile) {
  Layout layout = *layoutOf(tile);
  return !(layout.freeBits() & layout.in().mask({Dim::Block}));
}

namespace {
class BulkStorer {
public:
  BulkStorer(KernelOp kernel, uint64_t left) : kernel(kernel), coordinates(kernel), left(left) {}

  void run() {
    SmallVector<StoreOp> stores;
    kernel.walk([&](StoreOp store) {
      if (isLooseRow(coordinates, store.getView(), store.getDims(), store.getValue()) &&
          isSharedByAll(store.getValue()))
        stores.push_back(store);
    });
    llvm::for_each(stores, [&](StoreOp store) { send(store); });
  }

private:
  void send(StoreOp store);
  SharedLoadOp sourceOf(StoreOp store);
  bool beginAlike(StoreOp store, MisalignmentOp shift);
  bool isLastUse(SharedLoadOp read, StoreOp store);
  /// Writes what is stored into a stage and sends it.
  void sendFrom(StoreOp store, Value buffer, Value stage, Value shift, bool isRing);
  /// Before the program ends.
  void waitForAll(Value buffer, Location loc);

  KernelOp kernel;
  Coordinates coordinates;
  uint64_t left;
};
} // namespace

/// Whether a store's rows lie as far behind multiples of 16 bytes as those of another view.
bool BulkStorer::beginAlike(StoreOp store, MisalignmentOp shift) {
  int64_t along = store.getDims()[0];
  if (!coordinates.beginAlike(store.getView(), shift.getView()))
    return false;
  return llvm::all_of(llvm::enumerate(shift.getCoords()), [&](auto each) {
    return int64_t(each.index()) == along ? getConstantIntValue(each.value()) == 0
                                          : each.value() == store.getCoords()[each.index()];
  });
}

/// The loop whose steps are the stages that an access goes over.
static scf::ForOp stagesOf(Operation *op) {
  Value stage = isa<SharedLoadOp>(op)    ? cast<SharedLoadOp>(op).getStage()
                : isa<SharedStoreOp>(op) ? cast<SharedStoreOp>(op).getStage()
                : isa<BulkStoreOp>(op)   ? cast<BulkStoreOp>(op).getStage()
                                         : Value();
  auto loop = stage ? dyn_cast<scf::ForOp>(op->getParentOp()) : scf::ForOp();
  return loop && stage == loop.getInductionVar() ? loop : scf::ForOp();
}

/// Whether nothing reads or fills the stage behind the store, nor is another row sent from it.
bool BulkStorer::isLastUse(SharedLoadOp read, StoreOp store) {
  Block *body = &kernel.getBody().front();
  Operation *here = body->findAncestorOpInBlock(*store);
  return llvm::all_of(read.getBuffer().getUsers(), [&](Operation *user) {
    if (user == read || isa<BulkWaitOp>(user))
      return true;
    if (auto send = dyn_cast<BulkStoreOp>(user); send && send.getStage() == read.getStage())
      return false;
    if (scf::ForOp own = stagesOf(read), other = stagesOf(user);
        own && other && comesBefore(coordinates, own, other))
      return true;
    Operation *there = body->findAncestorOpInBlock(*user);
    return there == here ? here == store.getOperation() && user->isBeforeInBlock(store)
                         : there->isBeforeInBlock(here);
  });
}

SharedLoadOp BulkStorer::sourceOf(StoreOp store) {
  for (auto read : store->getBlock()->getOps<SharedLoadOp>()) {
    auto shift =
        read.getShift() ? read.getShift().getDefiningOp<MisalignmentOp>() : MisalignmentOp();
    if (shift && read.getType() == store.getValue().getType() && read->isBeforeInBlock(store) &&
        beginAlike(store, shift) && isLastUse(read, store))
      return read;
  }
  return nullptr;
}

void BulkStorer::sendFrom(StoreOp store, Value buffer, Value stage, Value shift, bool isRing) {
  OpBuilder builder(store);
  Location loc = store.getLoc();
  SharedStoreOp::create(builder, loc, store.getValue(), buffer, stage, shift);
  if (isRing)
    BulkWaitOp::create(builder, loc, buffer, 1);
  BulkStoreOp::create(builder, loc, buffer, stage, store.getView(), store.getCoords(),
                      store.getDims(), store.getBounded());
  store.erase();
}

void BulkStorer::waitForAll(Value buffer, Location loc) {
  Operation *end = kernel.getBody().front().getTerminator();
  auto last = dyn_cast_or_null<BulkWaitOp>(end->getPrevNode());
  OpBuilder builder(end);
  if (!last || last.getBuffer() != buffer)
    BulkWaitOp::create(builder, loc, buffer, 0);
}

void BulkStorer::send(StoreOp store) {
  constexpr int64_t ring = 3;
  Location loc = store.getLoc();
  auto loop = dyn_cast<scf::ForOp>(store->getParentOp());
  Operation *outer = loop ? loop.getOperation() : store.getOperation();
  if (outer->getParentOp() != kernel)
    return;
  OpBuilder builder(outer);
  if (SharedLoadOp source = sourceOf(store)) {
    sendFrom(store, source.getBuffer(), source.getStage(), source.getShift(), /*isRing=*/false);
    return waitForAll(source.getBuffer(), loc);
  }
  // In a loop from row to row each begins elsewhere.
  bool isAcross = loop && llvm::any_of(llvm::enumerate(store.getCoords()), [&](auto each) {
                    return int64_t(each.index()) != store.getDims()[0] &&
                           !loop.isDefinedOutsideOfLoop(each.value());
                  });
  BufferType type = rowBuffer(store.getValue(), loop ? ring : 1);
  if (uint64_t(type.getAllBytes()) > left)
    return;
  left -= type.getAllBytes();
  Value buffer = AllocOp::create(builder, loc, type);
  Value stage = arith::ConstantIndexOp::create(builder, loc, 0);
  OpBuilder inside(store);
  Value shift = shiftOf(isAcross ? inside : builder, loc, store.getView(), store.getCoords(),
                        store.getDims());
  if (loop) {
    IRRewriter rewriter(builder);
    loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, stage, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
          return {stageAfter(inside, loc, carried[0], ring)};
        }));
    stage = loop.getRegionIterArgs().back();
    outer = loop;
  }
  Operation *next = outer->getNextNode();
  sendFrom(store, buffer, stage, shift, /*isRing=*/bool(loop));
  if (!loop)
    return waitForAll(buffer, loc);
  builder.setInsertionPoint(next);
  BulkWaitOp::create(builder, loc, buffer, 0);
}

namespace {
struct TileBulkStoreRows : tile::impl::TileBulkStoreRowsBase<TileBulkStoreRows> {
  using TileBulkStoreRowsBase::TileBulkStoreRowsBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<KernelOp>())
      BulkStorer(kernel, bytesForRows(kernel, most, *gpu)).run();
  }
};
} // namespace
