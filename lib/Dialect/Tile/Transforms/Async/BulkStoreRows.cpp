//===- BulkStoreRows.cpp - Store unaligned rows by bulk copies ------------===//
//
// Threads store the elements of an unaligned row one by one and write parts of sectors. They write
// the row into a stage of shared memory instead, and a bulk copy (cp.async.bulk) stores it from
// there. The stage is the one that the row was read from, if that has the same misalignment and
// each thread overwrites only what it has read. Otherwise the store has its own buffer: one stage,
// or a ring of three in a loop.
//
//===----------------------------------------------------------------------===//
#include "BulkRows.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEBULKSTOREROWS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-bulk-store-rows";

/// Whether each element of a tile is held by one CTA of the cluster only.
static bool isHeldOnce(Value tile) {
  Layout layout = *layoutOf(tile);
  return !(layout.freeBits() & layout.in().mask({Dim::Block}));
}

namespace {
class RowStorer {
public:
  RowStorer(KernelOp kernel, uint64_t left) : kernel(kernel), coordinates(kernel), left(left) {}

  void run() {
    SmallVector<StoreOp> stores;
    kernel.walk([&](StoreOp store) {
      if (!isUnalignedRow(coordinates, store.getView(), store.getDims(), store.getValue()))
        return;
      if (isHeldOnce(store.getValue()))
        stores.push_back(store);
      else
        missed(store, kPass, "HeldBySeveralCtas")
            << remark::reason("several CTAs of the cluster hold the same elements of the row");
    });
    llvm::for_each(stores, [&](StoreOp store) { storeRow(store); });
  }

private:
  void storeRow(StoreOp store);
  SharedLoadOp reusableStage(StoreOp store);
  bool haveSameMisalignment(StoreOp store, MisalignmentOp shift);
  bool isLastUse(SharedLoadOp read, StoreOp store);
  /// Writes the tile into a stage and starts the bulk copy.
  void storeFrom(StoreOp store, Value buffer, Value stage, Value shift, bool isRing);
  /// Waits for all bulk copies from a buffer at the end of the kernel.
  void waitForAll(Value buffer, Location loc);

  KernelOp kernel;
  Coordinates coordinates;
  uint64_t left;
};
} // namespace

/// Whether the rows of a store have the same misalignment as those of a load.
bool RowStorer::haveSameMisalignment(StoreOp store, MisalignmentOp shift) {
  int64_t along = store.getDims()[0];
  if (!coordinates.beginAlike(store.getView(), shift.getView()))
    return false;
  return llvm::all_of(llvm::enumerate(shift.getCoords()), [&](auto each) {
    return int64_t(each.index()) == along ? getConstantIntValue(each.value()) == 0
                                          : each.value() == store.getCoords()[each.index()];
  });
}

/// The loop whose induction variable is the stage of an access.
static scf::ForOp loopOverStages(Operation *op) {
  Value stage = isa<SharedLoadOp>(op)    ? cast<SharedLoadOp>(op).getStage()
                : isa<SharedStoreOp>(op) ? cast<SharedStoreOp>(op).getStage()
                : isa<BulkStoreOp>(op)   ? cast<BulkStoreOp>(op).getStage()
                                         : Value();
  auto loop = stage ? dyn_cast<scf::ForOp>(op->getParentOp()) : scf::ForOp();
  return loop && stage == loop.getInductionVar() ? loop : scf::ForOp();
}

/// Whether nothing reads or fills the stage after the store, and no other row is stored from it.
bool RowStorer::isLastUse(SharedLoadOp read, StoreOp store) {
  Block *body = &kernel.getBody().front();
  Operation *here = body->findAncestorOpInBlock(*store);
  return llvm::all_of(read.getBuffer().getUsers(), [&](Operation *user) {
    if (user == read || isa<BulkWaitOp>(user))
      return true;
    if (auto other = dyn_cast<BulkStoreOp>(user); other && other.getStage() == read.getStage())
      return false;
    if (scf::ForOp own = loopOverStages(read), other = loopOverStages(user);
        own && other && comesBefore(coordinates, own, other))
      return true;
    Operation *there = body->findAncestorOpInBlock(*user);
    return there == here ? here == store.getOperation() && user->isBeforeInBlock(store)
                         : there->isBeforeInBlock(here);
  });
}

SharedLoadOp RowStorer::reusableStage(StoreOp store) {
  for (auto read : store->getBlock()->getOps<SharedLoadOp>()) {
    auto shift =
        read.getShift() ? read.getShift().getDefiningOp<MisalignmentOp>() : MisalignmentOp();
    if (shift && read.getType() == store.getValue().getType() && read->isBeforeInBlock(store) &&
        haveSameMisalignment(store, shift) && isLastUse(read, store))
      return read;
  }
  return nullptr;
}

void RowStorer::storeFrom(StoreOp store, Value buffer, Value stage, Value shift, bool isRing) {
  OpBuilder builder(store);
  Location loc = store.getLoc();
  SharedStoreOp::create(builder, loc, store.getValue(), buffer, stage, shift);
  if (isRing)
    BulkWaitOp::create(builder, loc, buffer, 1);
  BulkStoreOp::create(builder, loc, buffer, stage, store.getView(), store.getCoords(),
                      store.getDims(), store.getBounded());
  store.erase();
}

void RowStorer::waitForAll(Value buffer, Location loc) {
  Operation *end = kernel.getBody().front().getTerminator();
  auto last = dyn_cast_or_null<BulkWaitOp>(end->getPrevNode());
  OpBuilder builder(end);
  if (!last || last.getBuffer() != buffer)
    BulkWaitOp::create(builder, loc, buffer, 0);
}

void RowStorer::storeRow(StoreOp store) {
  constexpr int64_t ring = 3;
  Location loc = store.getLoc();
  auto loop = dyn_cast<scf::ForOp>(store->getParentOp());
  Operation *outer = loop ? loop.getOperation() : store.getOperation();
  if (outer->getParentOp() != kernel) {
    missed(store, kPass, "NestedLoop")
        << remark::reason("the store is in a nested loop or a branch");
    return;
  }
  OpBuilder builder(outer);
  if (SharedLoadOp source = reusableStage(store)) {
    storeFrom(store, source.getBuffer(), source.getStage(), source.getShift(), /*isRing=*/false);
    return waitForAll(source.getBuffer(), loc);
  }
  // In a loop from row to row each row has its own misalignment.
  bool isAcross = loop && llvm::any_of(llvm::enumerate(store.getCoords()), [&](auto each) {
                    return int64_t(each.index()) != store.getDims()[0] &&
                           !loop.isDefinedOutsideOfLoop(each.value());
                  });
  BufferType type = rowBuffer(store.getValue(), loop ? ring : 1);
  if (uint64_t(type.getAllBytes()) > left) {
    missed(store, kPass, "SharedMemory")
        << remark::reason("{0} stages of the row need {1} bytes of shared memory, and {2} are left",
                          type.getStages(), type.getAllBytes(), left);
    return;
  }
  left -= type.getAllBytes();
  Value buffer = AllocOp::create(builder, loc, type);
  Value stage = arith::ConstantIndexOp::create(builder, loc, 0);
  OpBuilder inside(store);
  Value shift = misalignmentOf(isAcross ? inside : builder, loc, store.getView(), store.getCoords(),
                               store.getDims());
  if (loop) {
    IRRewriter rewriter(builder);
    loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, stage, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
          return {nextStage(inside, loc, carried[0], ring)};
        }));
    stage = loop.getRegionIterArgs().back();
    outer = loop;
  }
  Operation *next = outer->getNextNode();
  storeFrom(store, buffer, stage, shift, /*isRing=*/bool(loop));
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
      RowStorer(kernel, sharedBytesForRows(kernel, sharedBytes, *gpu)).run();
  }
};
} // namespace
