//===- ReverseGrid.cpp - Start the CTAs with the longest loops first ------===//
#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEREVERSEGRID
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// How a value changes along the first dimension of the grid: not at all (0), or it grows (1);
/// none: unknown.
static std::optional<int> growthOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  if (auto id = dyn_cast<ProgramIdOp>(op))
    return id.getDim() == 0;
  int most = 0;
  for (Value operand : op->getOperands()) {
    std::optional<int> growth =
        isa<IndexType, IntegerType>(operand.getType()) ? growthOf(operand) : std::nullopt;
    if (!growth)
      return std::nullopt;
    most = std::max(most, *growth);
  }
  bool keepsOrder = isa<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp>(op) ||
                    (isa<arith::MulIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op) &&
                     getConstantIntValue(op->getOperand(1)).value_or(0) > 0);
  return most == 0 || keepsOrder ? std::optional(most) : std::nullopt;
}

/// A loop that gets longer along the grid; null if there is none.
static scf::ForOp findGrowingLoop(KernelOp kernel) {
  scf::ForOp found;
  kernel.walk([&](scf::ForOp loop) {
    if (growthOf(loop.getUpperBound()) != 1)
      return WalkResult::advance();
    found = loop;
    return WalkResult::interrupt();
  });
  return found;
}

/// Why the CTAs of a kernel keep their order; empty if they may run in reverse order.
static StringRef whyInOrder(KernelOp kernel) {
  if (kernel.getClusterSize() > 1)
    return "the CTAs run in clusters";
  if (kernel.getField(LaunchField::PersistentCtas))
    return "the CTAs are persistent";
  if (kernel.getGridRank() > 1 && kernel.getField(LaunchField::LaunchRank).value_or(1) == 1)
    return "one dimension of the launch covers the whole grid";
  return "";
}

namespace {
struct TileReverseGrid : tile::impl::TileReverseGridBase<TileReverseGrid> {
  using TileReverseGridBase::TileReverseGridBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      scf::ForOp loop = findGrowingLoop(kernel);
      if (!loop || kernel.getField(TuningField::ReverseGrid))
        continue;
      if (StringRef why = whyInOrder(kernel); !why.empty())
        missed(loop, getArgument(), "InOrder") << remark::reason(
            "the loop gets longer along the grid, and the CTAs with the longest loops start last: "
            "{0}",
            why);
      else
        kernel.changeConfig(kernel.getTuningConfig().with(TuningField::ReverseGrid, 1),
                            "the longest loops first");
    }
  }
};
} // namespace
