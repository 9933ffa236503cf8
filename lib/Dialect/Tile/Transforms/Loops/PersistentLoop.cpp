//===- PersistentLoop.cpp - A CTA computes several tiles ------------------===//
//
// `tiles_per_cta` gives each CTA a number of neighbouring tiles. `persistent_ctas` limits the grid
// to as many CTAs as run at once: CTA i computes the tiles i, i + N, i + 2N, and so on, so that
// CTAs that run at the same time compute neighbouring tiles.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/PersistentLoop.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPERSISTENTLOOP
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-persistent-loop";

/// The only launch of a kernel; null if there are several, or none.
static LaunchOp launchOf(ModuleOp module, KernelOp kernel) {
  SmallVector<LaunchOp> launches;
  module.walk([&](LaunchOp launch) {
    if (launch.getKernel() == kernel.getName())
      launches.push_back(launch);
  });
  return launches.size() == 1 ? launches.front() : LaunchOp();
}

/// Adds a size argument to a kernel and its launch. Sizes follow the views and precede the scalars.
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

/// Whether threads load single elements, because rows are not aligned.
static bool isUnaligned(LoadOp load) {
  constexpr int64_t vectorBytes = 16;
  ViewType type = load.getView().getType();
  int64_t bytes = std::max(1u, type.getElementType().getIntOrFloatBitWidth() / 8);
  return load.getPad() && llvm::any_of(load.getDims(), [&](int64_t dim) {
           return type.hasUnitStride(dim) && type.getDivisor(dim) * bytes % vectorBytes != 0;
         });
}

/// Hoists loads of unaligned rows that all tiles share: they stay in registers.
static void hoist(scf::ForOp loop) {
  auto isReadOnly = [&](Value view) {
    return llvm::none_of(view.getUsers(),
                         [](Operation *user) { return isa<StoreOp, ScatterOp>(user); });
  };
  moveLoopInvariantCode(
      loop.getLoopRegions(),
      [&](Value value, Region *) { return loop.isDefinedOutsideOfLoop(value); },
      [&](Operation *op, Region *) {
        if (auto load = dyn_cast<LoadOp>(op))
          return isUnaligned(load) && isReadOnly(load.getView());
        if (auto cast = dyn_cast<CastOp>(op))
          return bool(cast.getInput().getDefiningOp<LoadOp>());
        return isa<arith::ConstantOp>(op);
      },
      [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
}

/// Moves a kernel's body into a loop over tiles; `coordsOf` computes the grid coordinates of a
/// tile.
static scf::ForOp
loopOverTiles(OpBuilder &builder, KernelOp kernel, Value first, Value end, Value step,
              llvm::function_ref<SmallVector<Value>(OpBuilder &, Value)> coordsOf) {
  SmallVector<Operation *> operations;
  Block &body = kernel.getBody().front();
  for (Operation *op = &*builder.getInsertionPoint(); op != body.getTerminator();
       op = op->getNextNode())
    operations.push_back(op);
  auto loop = scf::ForOp::create(builder, kernel.getLoc(), first, end, step);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> coords = coordsOf(builder, loop.getInductionVar());
  for (Operation *op : operations) {
    if (auto id = dyn_cast<ProgramIdOp>(op)) {
      id.getResult().replaceAllUsesWith(coords[id.getDim()]);
      id.erase();
    } else {
      op->moveBefore(loop.getBody()->getTerminator());
    }
  }
  return loop;
}

static void runNeighboringTiles(KernelOp kernel, LaunchOp launch, int64_t tilesPerCta) {
  StringRef grid = cast<StringAttr>(launch.getGrid()[0]).getValue();
  Value count = addSize(kernel, launch, grid, "programs");
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Location loc = kernel.getLoc();
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value cta = ProgramIdOp::create(builder, loc, builder.getIndexType(), 0);
  Value first = arith::MulIOp::create(builder, loc, cta, index(tilesPerCta));
  Value end = arith::AddIOp::create(builder, loc, first, index(tilesPerCta));
  end = arith::MinSIOp::create(builder, loc, end, count);
  Value one = index(1);
  hoist(loopOverTiles(builder, kernel, first, end, one,
                      [](OpBuilder &, Value tile) { return SmallVector<Value>{tile}; }));
  SymExpr tiles = *SymExpr::parse(grid.str());
  launch.setGridAttr(builder.getStrArrayAttr({tiles.ceilDiv(SymExpr(tilesPerCta)).str()}));
}

/// The coordinates of a tile in a grid, by its number. With `group`, groups of rows follow each
/// other; within a group the row varies fastest. The last group may be smaller.
static SmallVector<Value> gridCoords(OpBuilder &builder, Location loc, ValueRange grid,
                                     std::optional<int64_t> group, Value tile) {
  auto divide = [&](Value a, Value b) -> std::pair<Value, Value> {
    Value quotient = arith::DivUIOp::create(builder, loc, a, b);
    return {quotient, arith::RemUIOp::create(builder, loc, a, b)};
  };
  auto times = [&](Value a, Value b) -> Value { return arith::MulIOp::create(builder, loc, a, b); };
  SmallVector<Value> coords;
  if (group && grid.size() >= 2) {
    Value rest = tile, most = arith::ConstantIndexOp::create(builder, loc, *group);
    if (grid.size() > 2)
      std::tie(tile, rest) = divide(tile, times(grid[0], grid[1]));
    auto [number, inside] = divide(rest, times(grid[0], most));
    Value first = times(number, most), left = arith::SubIOp::create(builder, loc, grid[1], first);
    auto [column, row] = divide(inside, arith::MinSIOp::create(builder, loc, left, most));
    coords = {column, arith::AddIOp::create(builder, loc, first, row)};
  }
  while (coords.size() + 1 < grid.size()) {
    auto [next, coord] = divide(tile, grid[coords.size()]);
    coords.push_back(coord);
    tile = next;
  }
  if (coords.size() < grid.size())
    coords.push_back(tile);
  return coords;
}

/// Whether a value depends on the tile of the CTA.
static bool dependsOnTile(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (isa<ProgramIdOp>(op) || llvm::any_of(op->getOperands(), dependsOnTile));
}

/// Whether the loops of all tiles have the same number of iterations; says so by a remark if not.
/// Without a persistent loop the hardware balances tiles: the next one goes to the CTA that ends
/// first.
static bool haveEqualLoops(KernelOp kernel) {
  return !kernel
              .walk([](scf::ForOp loop) {
                if (!dependsOnTile(loop.getLowerBound()) && !dependsOnTile(loop.getUpperBound()))
                  return WalkResult::advance();
                missed(loop, kPass, "IterationsVary") << remark::reason(
                    "the number of iterations depends on the tile: CTAs would not be balanced");
                return WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Whether the epilogue leaves shared memory to the stages of the next tile: it loads vectors at
/// most, and stores one tile whose last dimension is contiguous. Says so by a remark if not.
static bool leavesSharedMemory(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  for (auto load : body.getOps<LoadOp>())
    if (load.getType().getRank() > 1) {
      missed(load, kPass, "TileOutsideOfLoop")
          << remark::reason("the kernel loads a tile of {0} dimensions outside of its loops",
                            load.getType().getRank());
      return false;
    }
  auto stores = llvm::to_vector(body.getOps<StoreOp>());
  if (stores.size() != 1) {
    missed(kernel, kPass, "SeveralStores") << remark::reason(
        "the kernel stores {0} tiles, and the epilogue of a persistent kernel stores one",
        stores.size());
    return false;
  }
  ArrayRef<int64_t> dims = stores[0].getDims();
  if (dims.empty() || dims.back() < 0 ||
      !stores[0].getView().getType().hasUnitStride(dims.back())) {
    missed(stores[0], kPass, "StoreNotContiguous")
        << remark::reason("the last dimension of the stored tile is not contiguous");
    return false;
  }
  return true;
}

static void makePersistent(KernelOp kernel, LaunchOp launch, int64_t ctas) {
  SmallVector<Value> grid;
  SymExpr tiles = 1;
  for (auto [dim, size] : llvm::enumerate(launch.getGrid().getAsValueRange<StringAttr>())) {
    grid.push_back(addSize(kernel, launch, size, ("programs" + Twine(dim)).str()));
    tiles = tiles * *SymExpr::parse(size);
  }
  std::optional<int64_t> group = kernel.getField(TuningField::RasterGroup);
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Location loc = kernel.getLoc();
  Value all = grid[0];
  for (Value size : llvm::drop_begin(grid))
    all = arith::MulIOp::create(builder, loc, all, size);
  Value most = arith::ConstantIndexOp::create(builder, loc, ctas);
  Value step = arith::MinSIOp::create(builder, loc, most, all);
  Value cta = ProgramIdOp::create(builder, loc, builder.getIndexType(), 0);
  loopOverTiles(builder, kernel, cta, all, step, [&](OpBuilder &inside, Value tile) {
    return gridCoords(inside, loc, grid, group, tile);
  });
  launch.setGridAttr(builder.getStrArrayAttr({SymExpr::min(tiles, SymExpr(ctas)).str()}));
  kernel.setGridRank(1);
}

namespace {
struct TilePersistentLoop : tile::impl::TilePersistentLoopBase<TilePersistentLoop> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      std::optional<int64_t> steps = kernel.getField(LaunchField::TilesPerCta),
                             blocks = kernel.getField(LaunchField::PersistentCtas);
      LaunchOp launch =
          (steps && *steps > 1) || blocks ? launchOf(getOperation(), kernel) : LaunchOp();
      bool isRequested = (steps && *steps > 1) || blocks;
      if (isRequested && !launch)
        missed(kernel, kPass, "SeveralLaunches")
            << remark::reason("the kernel does not have exactly one launch");
      if (blocks && launch && haveEqualLoops(kernel) && leavesSharedMemory(kernel)) {
        makePersistent(kernel, launch, *blocks);
        // These describe the grid as it was.
        kernel.changeConfig(kernel.getLaunchConfig().without(
                                {LaunchField::LaunchRank, LaunchField::PersistentCtas}),
                            kLoopOverGrid);
        kernel.changeConfig(kernel.getTuningConfig().without({TuningField::RasterGroup}),
                            kLoopOverGrid);
      } else if (blocks) {
        kernel.changeConfig(kernel.getLaunchConfig().without({LaunchField::PersistentCtas}),
                            "the tiles of the grid do not suit a loop");
      } else if (launch && kernel.getGridRank() == 1) {
        runNeighboringTiles(kernel, launch, *steps);
      } else if (launch) {
        missed(kernel, kPass, "GridRank") << remark::reason(
            "the grid has {0} dimensions, and tiles_per_cta needs one", kernel.getGridRank());
      }
    }
  }
};
} // namespace
