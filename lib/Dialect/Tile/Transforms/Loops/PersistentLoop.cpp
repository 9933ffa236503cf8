//===- PersistentLoop.cpp - A block takes several programs ------------------===//
//
// Either neighbours, each block as many as a hint says; or blocks stay, as many as a hint says, and
// each takes every so manieth program until there is none left: those that run at once are
// neighbours, in the order that blocks would have.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPERSISTENTLOOP
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// The only launch of a kernel; none: there are several, or none.
static LaunchOp launchOf(ModuleOp module, KernelOp kernel) {
  SmallVector<LaunchOp> launches;
  module.walk([&](LaunchOp launch) {
    if (launch.getKernel() == kernel.getName())
      launches.push_back(launch);
  });
  return launches.size() == 1 ? launches.front() : LaunchOp();
}

/// Sizes stand behind the views and in front of the scalars.
static Value addSize(KernelOp kernel, LaunchOp launch, StringRef size, StringRef called) {
  unsigned number = launch.getTensors().size() + launch.getSizes().size();
  Builder builder(kernel.getContext());
  auto name =
      builder.getDictionaryAttr(builder.getNamedAttr("tile.name", builder.getStringAttr(called)));
  (void)kernel.insertArgument(number, builder.getIndexType(), name, kernel.getLoc());
  SmallVector<Attribute> sizes(launch.getSizes().getAsRange<Attribute>());
  sizes.push_back(builder.getStringAttr(size));
  launch.setSizesAttr(builder.getArrayAttr(sizes));
  return kernel.getArgument(number);
}

/// Whether threads read a load's elements one by one, since rows end anywhere.
static bool isLoose(LoadOp load) {
  constexpr int64_t piece = 16;
  ViewType type = load.getView().getType();
  int64_t bytes = std::max(1u, type.getElementType().getIntOrFloatBitWidth() / 8);
  return load.getPad() && llvm::any_of(load.getDims(), [&](int64_t dim) {
           return type.hasUnitStride(dim) && type.getDivisor(dim) * bytes % piece != 0;
         });
}

/// What all programs read one by one stays in registers.
static void hoist(scf::ForOp loop) {
  auto isOther = [&](Value view) {
    return llvm::none_of(view.getUsers(),
                         [](Operation *user) { return isa<StoreOp, ScatterOp>(user); });
  };
  moveLoopInvariantCode(
      loop.getLoopRegions(),
      [&](Value value, Region *) { return loop.isDefinedOutsideOfLoop(value); },
      [&](Operation *op, Region *) {
        if (auto load = dyn_cast<LoadOp>(op))
          return isLoose(load) && isOther(load.getView());
        if (auto cast = dyn_cast<CastOp>(op))
          return bool(cast.getInput().getDefiningOp<LoadOp>());
        return isa<arith::ConstantOp>(op);
      },
      [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
}

/// Puts a kernel's body into a loop over programs, of which each has these places in the grid.
static scf::ForOp repeat(OpBuilder &builder, KernelOp kernel, Value first, Value end, Value step,
                         llvm::function_ref<SmallVector<Value>(OpBuilder &, Value)> placesOf) {
  SmallVector<Operation *> operations;
  Block &body = kernel.getBody().front();
  for (Operation *op = &*builder.getInsertionPoint(); op != body.getTerminator();
       op = op->getNextNode())
    operations.push_back(op);
  auto loop = scf::ForOp::create(builder, kernel.getLoc(), first, end, step);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> places = placesOf(builder, loop.getInductionVar());
  for (Operation *op : operations) {
    if (auto id = dyn_cast<ProgramIdOp>(op)) {
      id.getResult().replaceAllUsesWith(places[id.getDim()]);
      id.erase();
    } else {
      op->moveBefore(loop.getBody()->getTerminator());
    }
  }
  return loop;
}

static void walk(KernelOp kernel, LaunchOp launch, int64_t steps) {
  StringRef grid = cast<StringAttr>(launch.getGrid()[0]).getValue();
  Value count = addSize(kernel, launch, grid, "programs");
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Location loc = kernel.getLoc();
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value block = ProgramIdOp::create(builder, loc, builder.getIndexType(), 0);
  Value first = arith::MulIOp::create(builder, loc, block, index(steps));
  Value end = arith::AddIOp::create(builder, loc, first, index(steps));
  end = arith::MinSIOp::create(builder, loc, end, count);
  Value one = index(1);
  hoist(repeat(builder, kernel, first, end, one,
               [](OpBuilder &, Value program) { return SmallVector<Value>{program}; }));
  SymExpr programs = *SymExpr::parse(grid.str());
  launch.setGridAttr(builder.getStrArrayAttr({programs.ceilDiv(SymExpr(steps)).str()}));
}

/// The places in a grid of these sizes of a program, by its number. Groups of rows come one after
/// the other; in a group the row varies fastest. The last group may be smaller.
static SmallVector<Value> placesIn(OpBuilder &builder, Location loc, ValueRange grid,
                                   std::optional<int64_t> group, Value program) {
  auto divide = [&](Value a, Value b) -> std::pair<Value, Value> {
    Value quotient = arith::DivUIOp::create(builder, loc, a, b);
    return {quotient, arith::RemUIOp::create(builder, loc, a, b)};
  };
  auto times = [&](Value a, Value b) -> Value { return arith::MulIOp::create(builder, loc, a, b); };
  SmallVector<Value> places;
  if (group && grid.size() >= 2) {
    Value rest = program, most = arith::ConstantIndexOp::create(builder, loc, *group);
    if (grid.size() > 2)
      std::tie(program, rest) = divide(program, times(grid[0], grid[1]));
    auto [number, inside] = divide(rest, times(grid[0], most));
    Value first = times(number, most), left = arith::SubIOp::create(builder, loc, grid[1], first);
    auto [column, row] = divide(inside, arith::MinSIOp::create(builder, loc, left, most));
    places = {column, arith::AddIOp::create(builder, loc, first, row)};
  }
  while (places.size() + 1 < grid.size()) {
    auto [next, place] = divide(program, grid[places.size()]);
    places.push_back(place);
    program = next;
  }
  if (places.size() < grid.size())
    places.push_back(program);
  return places;
}

/// Whether a number is computed of the program's place.
static bool isOfProgram(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (isa<ProgramIdOp>(op) || llvm::any_of(op->getOperands(), isOfProgram));
}

/// Whether loops take as long in all programs: the machine gives the next one to the block that
/// ends first, where blocks do not stay.
static bool areAlike(KernelOp kernel) {
  return !kernel
              .walk([](scf::ForOp loop) {
                bool isOwn = isOfProgram(loop.getLowerBound()) || isOfProgram(loop.getUpperBound());
                return isOwn ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

/// Whether what a program does beside its loops leaves shared memory to these: it loads rows at
/// most, and stores one tile as it lies in memory.
static bool leavesMemory(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto stores = llvm::to_vector(body.getOps<StoreOp>());
  bool hasRows = llvm::all_of(body.getOps<LoadOp>(),
                              [](LoadOp load) { return load.getType().getRank() <= 1; });
  return hasRows && stores.size() == 1 && !stores[0].getDims().empty() &&
         stores[0].getDims().back() >= 0 &&
         stores[0].getView().getType().hasUnitStride(stores[0].getDims().back());
}

static void stay(KernelOp kernel, LaunchOp launch, int64_t blocks) {
  SmallVector<Value> grid;
  SymExpr programs = 1;
  for (auto [dim, size] : llvm::enumerate(launch.getGrid().getAsValueRange<StringAttr>())) {
    grid.push_back(addSize(kernel, launch, size, ("programs" + Twine(dim)).str()));
    programs = programs * *SymExpr::parse(size);
  }
  std::optional<int64_t> group = getHint(kernel.getHintsAttr(), "raster_group");
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Location loc = kernel.getLoc();
  Value all = grid[0];
  for (Value size : llvm::drop_begin(grid))
    all = arith::MulIOp::create(builder, loc, all, size);
  Value most = arith::ConstantIndexOp::create(builder, loc, blocks);
  Value step = arith::MinSIOp::create(builder, loc, most, all);
  Value block = ProgramIdOp::create(builder, loc, builder.getIndexType(), 0);
  repeat(builder, kernel, block, all, step, [&](OpBuilder &inside, Value program) {
    return placesIn(inside, loc, grid, group, program);
  });
  launch.setGridAttr(builder.getStrArrayAttr({SymExpr::min(programs, SymExpr(blocks)).str()}));
  kernel.setGridRank(1);
}

/// The hints that speak of the grid as it was.
static void dropHints(KernelOp kernel, ArrayRef<StringRef> names) {
  NamedAttrList hints(kernel.getHintsAttr());
  for (StringRef name : names)
    hints.erase(name);
  kernel.setHintsAttr(hints.getDictionary(kernel.getContext()));
}

namespace {
struct TilePersistentLoop : tile::impl::TilePersistentLoopBase<TilePersistentLoop> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      std::optional<int64_t> steps = getHint(kernel.getHintsAttr(), "tiles_per_cta"),
                             blocks = getHint(kernel.getHintsAttr(), "persistent_ctas");
      LaunchOp launch =
          (steps && *steps > 1) || blocks ? launchOf(getOperation(), kernel) : LaunchOp();
      if (blocks && launch && areAlike(kernel) && leavesMemory(kernel)) {
        stay(kernel, launch, *blocks);
        dropHints(kernel, {"launch_rank", "raster_group", "persistent_ctas"});
      } else if (blocks) {
        dropHints(kernel, {"persistent_ctas"});
      } else if (launch && kernel.getGridRank() == 1) {
        walk(kernel, launch, *steps);
      }
    }
  }
};
} // namespace
