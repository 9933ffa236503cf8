//===- BulkLoadRows.cpp - Load unaligned rows by bulk copies --------------===//
//
// Threads load the elements of an unaligned row one by one and request each sector several times.
// A bulk copy (cp.async.bulk) brings the row into shared memory instead, where the threads read it.
// In a loop along a row, or from row to row, several iterations are in flight in a ring of stages,
// with an mbarrier for each stage. A loop over the remainder of a row continues with the same
// stages.
//
//===----------------------------------------------------------------------===//
#include "BulkRows.h"
#include "FirstUse.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEBULKLOADROWS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-bulk-load-rows";

namespace {
/// A loop, and its loads whose tiles move along a row, or from row to row.
struct RowLoop {
  scf::ForOp loop;
  SmallVector<LoadOp> loads;
  bool isAlong = true;
};

class RowLoader {
public:
  RowLoader(KernelOp kernel, uint64_t left, unsigned most)
      : kernel(kernel), coordinates(kernel), left(left), most(std::max(2u, most)) {}
  void run();

private:
  bool isRow(LoadOp load);
  bool isMovedBy(LoadOp load, scf::ForOp loop, bool isAlong);
  bool isSame(Value a, Value b);
  bool continues(RowLoop &rowLoop, RowLoop &before);
  /// Allocates the stages of loads, and removes from `loads` those that do not fit.
  SmallVector<Value> allocate(OpBuilder &builder, SmallVectorImpl<LoadOp> &loads, unsigned count);
  void load(SmallVector<LoadOp> loads);
  void loadAhead(MutableArrayRef<RowLoop> rowLoops);
  /// Emits a remark for each load of an unaligned row that is left.
  void remarkOthers();
  Value number(OpBuilder &builder, int64_t value) {
    return arith::ConstantIndexOp::create(builder, kernel.getLoc(), value);
  }

  KernelOp kernel;
  Coordinates coordinates;
  uint64_t left;
  unsigned most;                              // stages in a loop
  llvm::SmallPtrSet<Operation *, 4> reported; // loads with a remark
};
} // namespace

bool RowLoader::isRow(LoadOp load) {
  bool isWritten =
      llvm::any_of(load.getView().getUsers(), llvm::IsaPred<StoreOp, ScatterOp, BulkStoreOp>);
  return !isWritten && !load->use_empty() && prefersBulkLoad(load) &&
         isUnalignedRow(coordinates, load.getView(), load.getDims(), load.getResult());
}

/// Whether an iteration moves a load along its row, or to another row, and nothing else moves it.
bool RowLoader::isMovedBy(LoadOp load, scf::ForOp loop, bool isAlong) {
  bool isMoved = false;
  for (auto [dim, coordinate] : llvm::enumerate(load.getCoords())) {
    bool isStep = coordinate == loop.getInductionVar();
    if (isStep ? isAlong != (int64_t(dim) == load.getDims()[0])
               : !loop.isDefinedOutsideOfLoop(coordinate))
      return false;
    isMoved |= isStep;
  }
  return isMoved;
}

/// The bytes of the stages and mbarriers of loads.
static uint64_t bytesOf(ArrayRef<LoadOp> loads, unsigned count) {
  uint64_t bytes = 0;
  for (LoadOp load : loads)
    bytes += rowBuffer(load, count).getAllBytes() + count * MbarrierType::kBytes;
  return bytes;
}

SmallVector<Value> RowLoader::allocate(OpBuilder &builder, SmallVectorImpl<LoadOp> &loads,
                                       unsigned count) {
  SmallVector<Value> buffers;
  llvm::erase_if(loads, [&](LoadOp load) {
    uint64_t bytes = bytesOf(load, count);
    if (bytes > left) {
      missed(load, kPass, "SharedMemory") << remark::reason(
          "{0} stages of the row need {1} bytes of shared memory, and {2} are left", count, bytes,
          left);
      reported.insert(load);
      return true;
    }
    left -= bytes;
    buffers.push_back(AllocOp::create(builder, load.getLoc(), rowBuffer(load, count)));
    return false;
  });
  return buffers;
}

/// Loads outside of loops: each has an mbarrier, and the wait stands before its first use.
void RowLoader::load(SmallVector<LoadOp> loads) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  SmallVector<Value> buffers = allocate(builder, loads, 1);
  if (loads.empty())
    return;
  Location loc = kernel.getLoc();
  Value mbarriers =
      MbarrierAllocOp::create(builder, loc, MbarrierType::get(kernel.getContext(), loads.size()));
  Value zero = number(builder, 0);
  for (auto [i, load] : llvm::enumerate(loads)) {
    builder.setInsertionPoint(load);
    loc = load.getLoc();
    Value mbarrier = number(builder, i);
    Value shift = misalignmentOf(builder, loc, load.getView(), load.getCoords(), load.getDims());
    BulkLoadOp::create(builder, loc, load.getView(), load.getCoords(), load.getDims(), buffers[i],
                       zero, mbarriers, mbarrier, load.getPad().has_value());
    builder.setInsertionPoint(firstUse(load));
    MbarrierWaitOp::create(builder, loc, mbarriers, mbarrier, zero);
    load.replaceAllUsesWith(readBulkRow(builder, load, buffers[i], zero, shift));
    load.erase();
  }
}

bool RowLoader::isSame(Value a, Value b) {
  std::optional<SymExpr> x = coordinates.expression(a), y = coordinates.expression(b);
  return a == b || (x && y && *x == *y);
}

/// Whether a loop continues the rows of another one, and its bounds are known before that one
/// begins.
bool RowLoader::continues(RowLoop &rowLoop, RowLoop &before) {
  auto isKnown = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return !maker ||
           (maker->getBlock() == before.loop->getBlock() && maker->isBeforeInBlock(before.loop));
  };
  scf::ForOp loop = rowLoop.loop, other = before.loop;
  auto isOfSameRow = [&](auto pair) {
    auto [load, first] = pair;
    return load.getView() == first.getView() && load.getType() == first.getType() &&
           load.getDims() == first.getDims() &&
           llvm::all_of(llvm::zip_equal(load.getCoords(), first.getCoords()), [&](auto both) {
             auto [a, b] = both;
             bool isMoved = a == loop.getInductionVar();
             return isMoved == (b == other.getInductionVar()) && (isMoved || isSame(a, b));
           });
  };
  return rowLoop.isAlong && before.isAlong && rowLoop.loads.size() == before.loads.size() &&
         isKnown(loop.getUpperBound()) && isSame(loop.getStep(), other.getStep()) &&
         isSame(loop.getLowerBound(), other.getUpperBound()) &&
         llvm::all_of(llvm::zip_equal(rowLoop.loads, before.loads), isOfSameRow);
}

/// The loops carry the stage that they read, the stage that they fill, and the phase of the
/// mbarriers.
void RowLoader::loadAhead(MutableArrayRef<RowLoop> rowLoops) {
  RowLoop &first = rowLoops.front();
  OpBuilder builder(first.loop);
  Location loc = first.loop.getLoc();
  unsigned stages = most;
  while (stages > 2 && bytesOf(first.loads, stages) > left)
    --stages;
  // A load that does not fit is left out of all loops.
  SmallVector<LoadOp> all = first.loads;
  SmallVector<Value> buffers = allocate(builder, first.loads, stages), mbarriers, shifts;
  if (first.loads.empty())
    return;
  kernel.noteUse(TuningField::NumStages, stages, "shared memory for bulk copies of rows");
  for (RowLoop &rowLoop : rowLoops.drop_front()) {
    SmallVector<LoadOp> kept;
    for (auto [load, model] : llvm::zip_equal(rowLoop.loads, all))
      if (llvm::is_contained(first.loads, model))
        kept.push_back(load);
    rowLoop.loads = kept;
  }
  bool isBounded = llvm::any_of(rowLoops, [](RowLoop &rowLoop) {
    return llvm::any_of(rowLoop.loads, [](LoadOp load) { return load.getPad().has_value(); });
  });
  for (LoadOp load : first.loads) {
    mbarriers.push_back(
        MbarrierAllocOp::create(builder, loc, MbarrierType::get(kernel.getContext(), stages)));
    if (first.isAlong)
      shifts.push_back(
          misalignmentOf(builder, loc, load.getView(), load.getCoords(), load.getDims()));
  }
  Value end = rowLoops.back().loop.getUpperBound();
  auto loadIteration = [&](RowLoop &rowLoop, Value iteration, Value stage) {
    Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, iteration, end);
    auto branch = scf::IfOp::create(builder, loc, exists);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    for (auto [i, load] : llvm::enumerate(rowLoop.loads))
      BulkLoadOp::create(builder, load.getLoc(), load.getView(),
                         coordsAtIteration(load, rowLoop.loop, iteration), load.getDims(),
                         buffers[i], stage, mbarriers[i], stage, isBounded);
  };
  Value iteration = first.loop.getLowerBound();
  for (unsigned stage = 0; stage + 1 < stages; ++stage) {
    loadIteration(first, iteration, number(builder, stage));
    iteration = arith::AddIOp::create(builder, loc, iteration, first.loop.getStep());
  }
  SmallVector<Value> state = {number(builder, 0), number(builder, stages - 1), number(builder, 0)};
  for (RowLoop &rowLoop : rowLoops) {
    bool isRest = &rowLoop == &rowLoops.back() && isRemainderLoop(coordinates, rowLoop.loop);
    builder.setInsertionPoint(rowLoop.loop);
    IRRewriter rewriter(builder);
    rowLoop.loop = cast<scf::ForOp>(*rowLoop.loop.replaceWithAdditionalYields(
        rewriter, state, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
          Value next = nextStage(inside, loc, carried[0], stages),
                free = nextStage(inside, loc, carried[1], stages);
          Value isLast = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::eq, carried[0],
                                               number(inside, stages - 1));
          Value more = arith::AddIOp::create(inside, loc, carried[2], number(inside, 1));
          return {next, free, arith::SelectOp::create(inside, loc, isLast, more, carried[2])};
        }));
    state = rowLoop.loop.getResults().take_back(3);
    auto carried = rowLoop.loop.getRegionIterArgs().take_back(3);
    builder.setInsertionPointToStart(rowLoop.loop.getBody());
    for (Value each : mbarriers)
      MbarrierWaitOp::create(builder, loc, each, carried[0], carried[2]);
    if (!isRest) {
      Value ahead = rowLoop.loop.getInductionVar();
      for (unsigned i = 1; i < stages; ++i)
        ahead = arith::AddIOp::create(builder, loc, ahead, rowLoop.loop.getStep());
      loadIteration(rowLoop, ahead, carried[1]);
    }
    for (auto [i, load] : llvm::enumerate(rowLoop.loads)) {
      builder.setInsertionPoint(firstUse(load));
      Value shift = rowLoop.isAlong ? shifts[i]
                                    : misalignmentOf(builder, loc, load.getView(), load.getCoords(),
                                                     load.getDims());
      load.replaceAllUsesWith(readBulkRow(builder, load, buffers[i], carried[0], shift));
      load.erase();
    }
  }
}

void RowLoader::run() {
  Block &body = kernel.getBody().front();
  SmallVector<RowLoop> rowLoops;
  for (auto loop : body.getOps<scf::ForOp>()) {
    RowLoop along{loop, {}}, across{loop, {}, /*isAlong=*/false};
    for (auto load : loop.getBody()->getOps<LoadOp>()) {
      if (isRow(load) && isMovedBy(load, loop, /*isAlong=*/true))
        along.loads.push_back(load);
      else if (isRow(load) && isMovedBy(load, loop, /*isAlong=*/false))
        across.loads.push_back(load);
    }
    RowLoop &rowLoop = along.loads.empty() ? across : along;
    if (!rowLoop.loads.empty())
      rowLoops.push_back(rowLoop);
  }
  MutableArrayRef<RowLoop> left = rowLoops;
  while (!left.empty()) {
    unsigned count = 1;
    while (count < left.size() && continues(left[count], left[count - 1]))
      ++count;
    loadAhead(left.take_front(count));
    left = left.drop_front(count);
  }
  SmallVector<LoadOp> loads;
  for (auto load : body.getOps<LoadOp>())
    if (isRow(load))
      loads.push_back(load);
  load(loads);
  remarkOthers();
}

void RowLoader::remarkOthers() {
  if (!kernel.getContext()->getRemarkEngine())
    return;
  kernel.walk([&](LoadOp load) {
    if (reported.contains(load) || !prefersBulkLoad(load) ||
        !isUnalignedRow(coordinates, load.getView(), load.getDims(), load.getResult()))
      return;
    if (!isRow(load))
      missed(load, kPass, "ViewIsWritten")
          << remark::reason("the kernel writes the view that it loads");
    else
      missed(load, kPass, "NotKnownAhead")
          << remark::reason("the load is in a nested loop, or the loop computes its coordinates");
  });
}

namespace {
struct TileBulkLoadRows : tile::impl::TileBulkLoadRowsBase<TileBulkLoadRows> {
  using TileBulkLoadRowsBase::TileBulkLoadRowsBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      unsigned numStages = kernel.getField(TuningField::NumStages).value_or(stages);
      RowLoader(kernel, sharedBytesForRows(kernel, sharedBytes, *gpu), numStages).run();
    }
  }
};
} // namespace
