//===- SetLaunchConfig.cpp - Complete launch configurations --------------===//
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Target/CudaLimits.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILESETLAUNCHCONFIG
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

/// The number of dimensions of a kernel's launches: as many as are known to be within the
/// hardware's limit, so that a CTA finds its coordinates without divisions.
static int64_t launchRankOf(KernelOp kernel) {
  constexpr int64_t maxSize = CudaLimits::grid[1]; // of the second dimension and the third
  int64_t gridRank = kernel.getGridRank(),
          rank = std::min(gridRank, kernel.getField(LaunchField::LaunchRank).value_or(3));
  if (kernel.getField(TuningField::RasterGroup))
    return 1;
  kernel->getParentOfType<ModuleOp>().walk([&](LaunchOp launch) {
    if (launch.getKernel() != kernel.getSymName())
      return;
    SizeFacts facts(launch->getParentOfType<func::FuncOp>());
    auto size = [&](int64_t dim) {
      return *SymExpr::parse(cast<StringAttr>(launch.getGrid()[dim]).getValue());
    };
    auto fits = [&](int64_t dim) {
      SymExpr all = size(dim);
      for (int64_t rest = dim + 1; dim + 1 == rank && rest < gridRank; ++rest)
        all = all * size(rest);
      return facts.max(all) <= maxSize;
    };
    while (rank > 1 && !llvm::all_of(llvm::seq<int64_t>(1, rank), fits))
      --rank;
  });
  return rank;
}

/// The warps whose threads hold the largest tile of a kernel in at most 32 registers each.
static int64_t warpsForLargestTile(KernelOp kernel, int64_t ctas) {
  constexpr int64_t elementsPerWarp = 32 * 32, fewest = 4, most = 16;
  int64_t elements = 0;
  kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(type))
        elements = std::max(elements, tile.getNumElements());
  });
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(elements / ctas / elementsPerWarp), fewest, most);
}

static void setLaunchConfig(KernelOp kernel, const GpuDescription &gpu) {
  int64_t cluster = gpu.has(GpuFeature::Clusters) ? kernel.getClusterSize() : 1;
  if (cluster == 1)
    kernel.changeConfig(
        kernel.getLaunchConfig().without({LaunchField::ClusterSize, LaunchField::ClusterAxis}),
        gpu.has(GpuFeature::Clusters) ? "one CTA is no cluster" : "no clusters on " + gpu.chip);
  bool isPersistent = kernel.getField(LaunchField::PersistentCtas).has_value();
  // Persistent CTAs pay off where the next tile's TMA loads run under this tile's epilogue.
  if (cluster > 1 || !kernel.isOn(TuningField::Wgmma))
    kernel.changeConfig(kernel.getLaunchConfig().without({LaunchField::PersistentCtas}),
                        cluster > 1 ? "a cluster computes each tile" : "no wgmma");
  if (isPersistent && !kernel.getField(LaunchField::PersistentCtas))
    missed(kernel, "tile-set-launch-config", "NotPersistent") << remark::reason(
        "the kernel is not persistent: it does not use wgmma, or runs in clusters of {0} CTAs",
        cluster);
  LaunchConfig launch = kernel.getLaunchConfig().without({LaunchField::LaunchRank});
  if (int64_t rank = launchRankOf(kernel); rank > 1)
    launch.set(LaunchField::LaunchRank, rank);
  kernel.changeConfig(launch, "limits and order of the grid");
  if (!kernel.getField(LaunchField::NumWarps))
    kernel.changeConfig(
        kernel.getLaunchConfig().with(LaunchField::NumWarps, warpsForLargestTile(kernel, cluster)),
        "the largest tile");
  kernel.changeConfig(
      kernel.getTuningConfig().without(
          {TuningField::UseAmx, TuningField::SwapOperands, TuningField::CacheStores}),
      "of CPUs alone");
}

namespace {
struct TileSetLaunchConfig : tile::impl::TileSetLaunchConfigBase<TileSetLaunchConfig> {
  using TileSetLaunchConfigBase::TileSetLaunchConfigBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<KernelOp>())
      setLaunchConfig(kernel, *gpu);
  }
};
} // namespace
