//===- WalkPrograms.cpp - A block takes several programs ------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEWALKPROGRAMS
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
static Value addSize(KernelOp kernel, LaunchOp launch, StringRef size) {
  unsigned number = launch.getTensors().size() + launch.getSizes().size();
  Builder builder(kernel.getContext());
  auto name = builder.getDictionaryAttr(builder.getNamedAttr("tile.name", builder.getStringAttr("programs")));
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
    return llvm::none_of(view.getUsers(), [](Operation *user) { return isa<StoreOp, ScatterOp>(user); });
  };
  moveLoopInvariantCode(
      loop.getLoopRegions(), [&](Value value, Region *) { return loop.isDefinedOutsideOfLoop(value); },
      [&](Operation *op, Region *) {
        if (auto load = dyn_cast<LoadOp>(op))
          return isLoose(load) && isOther(load.getView());
        if (auto cast = dyn_cast<CastOp>(op))
          return bool(cast.getInput().getDefiningOp<LoadOp>());
        return isa<arith::ConstantOp>(op);
      },
      [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
}

static void walk(KernelOp kernel, LaunchOp launch, int64_t steps) {
  StringRef grid = cast<StringAttr>(launch.getGrid()[0]).getValue();
  Value count = addSize(kernel, launch, grid);
  Block &body = kernel.getBody().front();
  SmallVector<Operation *> operations;
  for (Operation &op : body.without_terminator())
    operations.push_back(&op);
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  Location loc = kernel.getLoc();
  auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  Value block = ProgramIdOp::create(builder, loc, builder.getIndexType(), 0);
  Value first = arith::MulIOp::create(builder, loc, block, index(steps));
  Value end = arith::AddIOp::create(builder, loc, first, index(steps));
  end = arith::MinSIOp::create(builder, loc, end, count);
  auto loop = scf::ForOp::create(builder, loc, first, end, index(1));
  for (Operation *op : operations) {
    if (auto id = dyn_cast<ProgramIdOp>(op)) {
      id.getResult().replaceAllUsesWith(loop.getInductionVar());
      id.erase();
    } else {
      op->moveBefore(loop.getBody()->getTerminator());
    }
  }
  hoist(loop);
  SymExpr programs = *SymExpr::parse(grid.str());
  launch.setGridAttr(builder.getStrArrayAttr({programs.ceilDiv(SymExpr(steps)).str()}));
}

namespace {
struct TileWalkPrograms : tile::impl::TileWalkProgramsBase<TileWalkPrograms> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      std::optional<int64_t> steps = getHint(kernel.getHintsAttr(), "walk");
      LaunchOp launch = steps && *steps > 1 ? launchOf(getOperation(), kernel) : LaunchOp();
      if (launch && kernel.getGridRank() == 1)
        walk(kernel, launch, *steps);
    }
  }
};
} // namespace
