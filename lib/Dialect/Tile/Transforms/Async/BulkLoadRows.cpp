//===- BulkLoadRows.cpp - Unaligned rows are loaded as a whole -----===//
//
// Threads that load the elements of such a row one by one ask for each of memory's sectors several
// times. The machine brings the row into shared memory instead, where they read it. Rows of a loop,
// which goes along them or from one to the next, are in flight some steps ahead, in stages that are
// used in turns, with an mbarrier for each. A loop that goes on where another one ends, as for what
// is left behind a row's whole tiles, finds its first rows in flight in the same stages.
//
//===----------------------------------------------------------------------===//
#include "BulkRows.h"
#include "FirstUse.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEBULKLOADROWS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// A loop, and the loads that it moves along their rows, or from row to row.
struct Walk {
  scf::ForOp loop;
  SmallVector<LoadOp> loads;
  bool isAlong = true;
};

class BulkLoader {
public:
  BulkLoader(KernelOp kernel, uint64_t left, unsigned most)
      : kernel(kernel), coordinates(kernel), left(left), most(std::max(2u, most)) {}
  void run();

private:
  bool isRow(LoadOp load);
  bool isAhead(LoadOp load, scf::ForOp loop, bool isAlong);
  bool isSame(Value a, Value b);
  bool goesOn(Walk &walk, Walk &before);
  /// Room for loads' rows, as long as there is some; those that have none are left out.
  SmallVector<Value> makeRoom(OpBuilder &builder, SmallVectorImpl<LoadOp> &loads, unsigned count);
  void load(SmallVector<LoadOp> loads);
  void loadAhead(MutableArrayRef<Walk> walks);
  Value number(OpBuilder &builder, int64_t value) {
    return arith::ConstantIndexOp::create(builder, kernel.getLoc(), value);
  }

  KernelOp kernel;
  Coordinates coordinates;
  uint64_t left;
  unsigned most; // stages in a loop
};
} // namespace

bool BulkLoader::isRow(LoadOp load) {
  bool isWritten =
      llvm::any_of(load.getView().getUsers(), llvm::IsaPred<StoreOp, ScatterOp, BulkStoreOp>);
  return !isWritten && !load->use_empty() && isBetterBulkLoaded(load) &&
         isLooseRow(coordinates, load.getView(), load.getDims(), load.getResult());
}

/// Whether the loop's step moves a load along its row, or to another row, and nothing else does.
bool BulkLoader::isAhead(LoadOp load, scf::ForOp loop, bool isAlong) {
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

/// With their mbarriers.
static uint64_t bytesOf(ArrayRef<LoadOp> loads, unsigned count) {
  uint64_t bytes = 0;
  for (LoadOp load : loads)
    bytes += rowBuffer(load, count).getAllBytes() + count * MbarrierType::kBytes;
  return bytes;
}

SmallVector<Value> BulkLoader::makeRoom(OpBuilder &builder, SmallVectorImpl<LoadOp> &loads,
                                        unsigned count) {
  SmallVector<Value> rooms;
  llvm::erase_if(loads, [&](LoadOp load) {
    uint64_t bytes = bytesOf(load, count);
    if (bytes > left)
      return true;
    left -= bytes;
    rooms.push_back(AllocOp::create(builder, load.getLoc(), rowBuffer(load, count)));
    return false;
  });
  return rooms;
}

/// Each row has an mbarrier, and is read when it is needed.
void BulkLoader::load(SmallVector<LoadOp> loads) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  SmallVector<Value> rooms = makeRoom(builder, loads, 1);
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
    Value shift = shiftOf(builder, loc, load.getView(), load.getCoords(), load.getDims());
    BulkLoadOp::create(builder, loc, load.getView(), load.getCoords(), load.getDims(), rooms[i],
                       zero, mbarriers, mbarrier, load.getPad().has_value());
    builder.setInsertionPoint(firstUse(load));
    MbarrierWaitOp::create(builder, loc, mbarriers, mbarrier, zero);
    load.replaceAllUsesWith(readRow(builder, load, rooms[i], zero, shift));
    load.erase();
  }
}

bool BulkLoader::isSame(Value a, Value b) {
  std::optional<SymExpr> x = coordinates.expression(a), y = coordinates.expression(b);
  return a == b || (x && y && *x == *y);
}

/// Whether a loop goes on along the rows of another one where that ends, and its place is known
/// before that begins.
bool BulkLoader::goesOn(Walk &walk, Walk &before) {
  auto isKnown = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return !maker ||
           (maker->getBlock() == before.loop->getBlock() && maker->isBeforeInBlock(before.loop));
  };
  scf::ForOp loop = walk.loop, other = before.loop;
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
  return walk.isAlong && before.isAlong && walk.loads.size() == before.loads.size() &&
         isKnown(loop.getUpperBound()) && isSame(loop.getStep(), other.getStep()) &&
         isSame(loop.getLowerBound(), other.getUpperBound()) &&
         llvm::all_of(llvm::zip_equal(walk.loads, before.loads), isOfSameRow);
}

/// Loops carry the stage that they read, the one that they fill, and how often the mbarriers have
/// opened.
void BulkLoader::loadAhead(MutableArrayRef<Walk> walks) {
  Walk &first = walks.front();
  OpBuilder builder(first.loop);
  Location loc = first.loop.getLoc();
  unsigned stages = most;
  while (stages > 2 && bytesOf(first.loads, stages) > left)
    --stages;
  // Those that find no room are left out of all loops.
  SmallVector<LoadOp> found = first.loads;
  SmallVector<Value> rooms = makeRoom(builder, first.loads, stages), mbarriers, shifts;
  if (first.loads.empty())
    return;
  for (Walk &walk : walks.drop_front()) {
    SmallVector<LoadOp> kept;
    for (auto [load, model] : llvm::zip_equal(walk.loads, found))
      if (llvm::is_contained(first.loads, model))
        kept.push_back(load);
    walk.loads = kept;
  }
  bool isBounded = llvm::any_of(walks, [](Walk &walk) {
    return llvm::any_of(walk.loads, [](LoadOp load) { return load.getPad().has_value(); });
  });
  for (LoadOp load : first.loads) {
    mbarriers.push_back(
        MbarrierAllocOp::create(builder, loc, MbarrierType::get(kernel.getContext(), stages)));
    if (first.isAlong)
      shifts.push_back(shiftOf(builder, loc, load.getView(), load.getCoords(), load.getDims()));
  }
  Value end = walks.back().loop.getUpperBound();
  auto loadStep = [&](Walk &walk, Value step, Value stage) {
    Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, step, end);
    auto branch = scf::IfOp::create(builder, loc, exists);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    for (auto [i, load] : llvm::enumerate(walk.loads))
      BulkLoadOp::create(builder, load.getLoc(), load.getView(), coordsIn(load, walk.loop, step),
                         load.getDims(), rooms[i], stage, mbarriers[i], stage, isBounded);
  };
  Value step = first.loop.getLowerBound();
  for (unsigned stage = 0; stage + 1 < stages; ++stage) {
    loadStep(first, step, number(builder, stage));
    step = arith::AddIOp::create(builder, loc, step, first.loop.getStep());
  }
  SmallVector<Value> state = {number(builder, 0), number(builder, stages - 1), number(builder, 0)};
  for (Walk &walk : walks) {
    bool isRest = &walk == &walks.back() && runsOnce(coordinates, walk.loop);
    builder.setInsertionPoint(walk.loop);
    IRRewriter rewriter(builder);
    walk.loop = cast<scf::ForOp>(*walk.loop.replaceWithAdditionalYields(
        rewriter, state, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
          Value next = stageAfter(inside, loc, carried[0], stages),
                free = stageAfter(inside, loc, carried[1], stages);
          Value isLast = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::eq, carried[0],
                                               number(inside, stages - 1));
          Value more = arith::AddIOp::create(inside, loc, carried[2], number(inside, 1));
          return {next, free, arith::SelectOp::create(inside, loc, isLast, more, carried[2])};
        }));
    state = walk.loop.getResults().take_back(3);
    auto carried = walk.loop.getRegionIterArgs().take_back(3);
    builder.setInsertionPointToStart(walk.loop.getBody());
    for (Value each : mbarriers)
      MbarrierWaitOp::create(builder, loc, each, carried[0], carried[2]);
    if (!isRest) {
      Value ahead = walk.loop.getInductionVar();
      for (unsigned i = 1; i < stages; ++i)
        ahead = arith::AddIOp::create(builder, loc, ahead, walk.loop.getStep());
      loadStep(walk, ahead, carried[1]);
    }
    for (auto [i, load] : llvm::enumerate(walk.loads)) {
      builder.setInsertionPoint(firstUse(load));
      Value shift = walk.isAlong
                        ? shifts[i]
                        : shiftOf(builder, loc, load.getView(), load.getCoords(), load.getDims());
      load.replaceAllUsesWith(readRow(builder, load, rooms[i], carried[0], shift));
      load.erase();
    }
  }
}

void BulkLoader::run() {
  Block &body = kernel.getBody().front();
  SmallVector<Walk> walks;
  for (auto loop : body.getOps<scf::ForOp>()) {
    Walk along{loop, {}}, across{loop, {}, /*isAlong=*/false};
    for (auto load : loop.getBody()->getOps<LoadOp>()) {
      if (isRow(load) && isAhead(load, loop, /*isAlong=*/true))
        along.loads.push_back(load);
      else if (isRow(load) && isAhead(load, loop, /*isAlong=*/false))
        across.loads.push_back(load);
    }
    Walk &walk = along.loads.empty() ? across : along;
    if (!walk.loads.empty())
      walks.push_back(walk);
  }
  MutableArrayRef<Walk> left = walks;
  while (!left.empty()) {
    unsigned count = 1;
    while (count < left.size() && goesOn(left[count], left[count - 1]))
      ++count;
    loadAhead(left.take_front(count));
    left = left.drop_front(count);
  }
  SmallVector<LoadOp> loads;
  for (auto load : body.getOps<LoadOp>())
    if (isRow(load))
      loads.push_back(load);
  load(loads);
}

namespace {
struct TileBulkLoadRows : tile::impl::TileBulkLoadRowsBase<TileBulkLoadRows> {
  using TileBulkLoadRowsBase::TileBulkLoadRowsBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      unsigned numStages = getHint(kernel.getHintsAttr(), "num_stages").value_or(stages);
      BulkLoader(kernel, bytesForRows(kernel, most, *gpu), numStages).run();
    }
  }
};
} // namespace
