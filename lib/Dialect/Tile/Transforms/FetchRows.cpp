//===- FetchRows.cpp - Rows that begin anywhere are loaded as a whole -----===//
//
// Threads that load the elements of such a row one by one ask for each of memory's sectors several times.
// The machine brings the row into shared memory instead, where they read it. Rows of a loop are under way
// some steps ahead, in slots that are used in turns, with a gate for each.
//
//===----------------------------------------------------------------------===//
#include "FirstUse.h"
#include "Rows.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEFETCHROWS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
class Fetcher {
public:
  Fetcher(KernelOp kernel, uint64_t left, unsigned most)
      : kernel(kernel), coordinates(kernel), left(left), most(std::max(2u, most)) {}
  void run();

private:
  bool isRow(LoadOp load);
  bool isAhead(LoadOp load, scf::ForOp loop);
  /// Room for loads' rows, as long as there is some; those that have none are left out.
  SmallVector<Value> makeRoom(OpBuilder &builder, SmallVectorImpl<LoadOp> &loads, unsigned count);
  void fetch(SmallVector<LoadOp> loads);
  void fetchAhead(scf::ForOp loop, SmallVector<LoadOp> loads);
  Value number(OpBuilder &builder, int64_t value) {
    return arith::ConstantIndexOp::create(builder, kernel.getLoc(), value);
  }

  KernelOp kernel;
  Coordinates coordinates;
  uint64_t left;
  unsigned most; // slots in a loop
};
} // namespace

bool Fetcher::isRow(LoadOp load) {
  bool isWritten = llvm::any_of(load.getView().getUsers(), llvm::IsaPred<StoreOp, ScatterOp, SendOp>);
  return !isWritten && !load->use_empty() && isBetterFetched(load) &&
         isLooseRow(coordinates, load.getView(), load.getDims(), load.getResult());
}

/// Whether the loop's step moves a load along its row, and nothing else does.
bool Fetcher::isAhead(LoadOp load, scf::ForOp loop) {
  return llvm::all_of(llvm::enumerate(load.getCoords()), [&](auto each) {
    bool isAlong = int64_t(each.index()) == load.getDims()[0];
    return isAlong ? each.value() == loop.getInductionVar() : loop.isDefinedOutsideOfLoop(each.value());
  });
}

/// With their gates.
static uint64_t bytesOf(ArrayRef<LoadOp> loads, unsigned count) {
  uint64_t bytes = 0;
  for (LoadOp load : loads)
    bytes += rowBuffer(load, count).getAllBytes() + count * GatesType::kBytes;
  return bytes;
}

SmallVector<Value> Fetcher::makeRoom(OpBuilder &builder, SmallVectorImpl<LoadOp> &loads, unsigned count) {
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

/// Each row has a gate, and is read when it is needed.
void Fetcher::fetch(SmallVector<LoadOp> loads) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  SmallVector<Value> rooms = makeRoom(builder, loads, 1);
  if (loads.empty())
    return;
  Location loc = kernel.getLoc();
  Value gates = GatesOp::create(builder, loc, GatesType::get(kernel.getContext(), loads.size()));
  Value zero = number(builder, 0);
  for (auto [i, load] : llvm::enumerate(loads)) {
    builder.setInsertionPoint(load);
    loc = load.getLoc();
    Value gate = number(builder, i);
    Value shift = shiftOf(builder, loc, load.getView(), load.getCoords(), load.getDims());
    FetchOp::create(builder, loc, load.getView(), load.getCoords(), load.getDims(), rooms[i], zero, gates, gate,
                    load.getPad().has_value());
    builder.setInsertionPoint(firstUse(load));
    AwaitOp::create(builder, loc, gates, gate, zero);
    load.replaceAllUsesWith(readRow(builder, load, rooms[i], zero, shift));
    load.erase();
  }
}

/// The loop carries the slot that it reads, the one that it fills, and how often the gates have opened.
void Fetcher::fetchAhead(scf::ForOp loop, SmallVector<LoadOp> loads) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  unsigned slots = most;
  while (slots > 2 && bytesOf(loads, slots) > left)
    --slots;
  SmallVector<Value> rooms = makeRoom(builder, loads, slots), gates, shifts;
  if (loads.empty())
    return;
  for (LoadOp load : loads) {
    gates.push_back(GatesOp::create(builder, loc, GatesType::get(kernel.getContext(), slots)));
    shifts.push_back(shiftOf(builder, loc, load.getView(), load.getCoords(), load.getDims()));
  }
  auto fetchStep = [&](Value step, Value slot) {
    Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, step, loop.getUpperBound());
    auto branch = scf::IfOp::create(builder, loc, exists);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    for (auto [i, load] : llvm::enumerate(loads))
      FetchOp::create(builder, load.getLoc(), load.getView(), coordsIn(load, loop, step), load.getDims(), rooms[i], slot,
                      gates[i], slot, load.getPad().has_value());
  };
  Value step = loop.getLowerBound();
  for (unsigned slot = 0; slot + 1 < slots; ++slot) {
    fetchStep(step, number(builder, slot));
    step = arith::AddIOp::create(builder, loc, step, loop.getStep());
  }
  IRRewriter rewriter(builder);
  loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, {number(builder, 0), number(builder, slots - 1), number(builder, 0)},
      /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
        Value next = slotBehind(inside, loc, carried[0], slots), free = slotBehind(inside, loc, carried[1], slots);
        Value isLast = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::eq, carried[0], number(inside, slots - 1));
        Value more = arith::AddIOp::create(inside, loc, carried[2], number(inside, 1));
        return {next, free, arith::SelectOp::create(inside, loc, isLast, more, carried[2])};
      }));
  auto carried = loop.getRegionIterArgs().take_back(3);
  builder.setInsertionPointToStart(loop.getBody());
  for (Value each : gates)
    AwaitOp::create(builder, loc, each, carried[0], carried[2]);
  Value ahead = loop.getInductionVar();
  for (unsigned i = 1; i < slots; ++i)
    ahead = arith::AddIOp::create(builder, loc, ahead, loop.getStep());
  fetchStep(ahead, carried[1]);
  for (auto [i, load] : llvm::enumerate(loads)) {
    builder.setInsertionPoint(firstUse(load));
    load.replaceAllUsesWith(readRow(builder, load, rooms[i], carried[0], shifts[i]));
    load.erase();
  }
}

void Fetcher::run() {
  Block &body = kernel.getBody().front();
  for (auto loop : llvm::make_early_inc_range(body.getOps<scf::ForOp>())) {
    SmallVector<LoadOp> loads;
    for (auto load : loop.getBody()->getOps<LoadOp>())
      if (isRow(load) && isAhead(load, loop))
        loads.push_back(load);
    fetchAhead(loop, loads);
  }
  SmallVector<LoadOp> loads;
  for (auto load : body.getOps<LoadOp>())
    if (isRow(load))
      loads.push_back(load);
  fetch(loads);
}

namespace {
struct TileFetchRows : tile::impl::TileFetchRowsBase<TileFetchRows> {
  using TileFetchRowsBase::TileFetchRowsBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      Fetcher(kernel, bytesForRows(kernel, most, chip), slots).run();
  }
};
} // namespace
