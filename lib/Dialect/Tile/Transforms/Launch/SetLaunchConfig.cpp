//===- SetLaunchConfig.cpp - Complete launch hints for a chip -------------===//
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
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
  constexpr int64_t maxSize = 65535; // of the second dimension and the third
  int64_t gridRank = kernel.getGridRank(),
          rank = std::min(gridRank, getHint(kernel.getHintsAttr(), "launch_rank").value_or(3));
  if (getHint(kernel.getHintsAttr(), "raster_group"))
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
  DictionaryAttr given = kernel.getHintsAttr();
  int64_t cluster = gpu.has(GpuFeature::Clusters) ? getHint(given, "cluster_size").value_or(1) : 1;
  Type number = IntegerType::get(kernel.getContext(), 64);
  NamedAttrList hints;
  auto set = [&](StringRef name, int64_t value) {
    hints.append(name, IntegerAttr::get(number, value));
  };
  set("num_warps", getHint(given, "num_warps").value_or(warpsForLargestTile(kernel, cluster)));
  for (StringRef name : {"num_stages", "use_tma", "raster_group", "persistent_ctas",
                         "min_ctas_per_sm", "l2_evict_last", "tiles_per_cta", "wgmma"})
    if (std::optional<int64_t> kept = getHint(given, name))
      set(name, *kept);
  if (cluster > 1) {
    set("cluster_size", cluster);
    if (std::optional<int64_t> axis = getHint(given, "cluster_axis"))
      set("cluster_axis", *axis);
  }
  // Persistent CTAs pay off where the next tile's TMA loads run under this tile's epilogue.
  if (cluster > 1 || !getHint(given, "wgmma").value_or(0))
    hints.erase("persistent_ctas");
  if (int64_t rank = launchRankOf(kernel); rank > 1)
    set("launch_rank", rank);
  kernel.setHintsAttr(hints.getDictionary(kernel.getContext()));
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
