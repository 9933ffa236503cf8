//===- PtxBackend.cpp - The last stages by way of our own PTX -------------===//
//
// Target IR holds the host program and one image of PTX with all kernels. ptxas makes a cubin of it;
// where there is none, a bundle carries the PTX itself and the driver assembles it.
//
//===----------------------------------------------------------------------===//
#include "Backend.h"
#include "GpuTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Analysis/Coordinates.h"
#include "tessera/Analysis/SizeFacts.h"
#include "tessera/CodeGen/CudaTools/JitLink.h"
#include "tessera/CodeGen/PTX/PTX.h"
#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "tessera/Support/TensorCores.h"

#include <cstdlib>

namespace tessera {

using namespace mlir;
using llvm::StringRef;

namespace {

class PtxBackend final : public GpuBackend {
public:
  explicit PtxBackend(GpuDescription gpu) : gpu(std::move(gpu)) {}

  std::string name() const override { return gpu.ptxChip + ":ptx"; }
  std::string road() const override { return "ptx"; }

  bool hasStage(Stage stage) const override {
    return stage == Stage::Placed || stage == Stage::Ptx || stage == Stage::Cubin || stage == Stage::Sass;
  }

  MachineModel machine() const override {
    MachineModel machine = machineOf(gpu);
    machine.operandsInRegisters = true; // mma.sync
    machine.quarters = !findGpuFeature("mma fp16 m16n8k8")->isIn(gpu);
    machine.multipliesBytes = findGpuFeature("mma int8")->isIn(gpu);
    machine.tilesInRegisters = true;
    machine.warpgroups = findGpuFeature("wgmma")->isIn(gpu);
    machine.copiesRows = gpu.hasBulkCopies;
    machine.cachePolicies = findGpuFeature("cache policies")->isIn(gpu);
    machine.sharedBytes = gpu.multiprocessor.sharedBytes;
    machine.sharedOfBlock = gpu.multiprocessor.sharedOfBlock;
    machine.cluster = gpu.maxCluster();
    return machine;
  }

  LogicalResult place(ModuleOp module) const override;
  LogicalResult lower(ModuleOp module) const override;
  LogicalResult assemble(Compilation &compilation, target::ImageOp image, Stage last, Cubin &cubin) const override;
  LogicalResult makeImages(target::ModuleOp module) const override {
    return assembleKernels(module, gpu, int(codeOptions.optimizationLevel));
  }

private:
  void reportUse(llvm::json::Object &report, target::ImageOp image,
                 ArrayRef<cuda::KernelUse> uses) const;

  GpuDescription gpu;
};

} // namespace

/// How many dimensions launches of a kernel have: as many as are known to be small enough, so that programs find their
/// place without divisions.
static int64_t axesOf(tile::KernelOp kernel) {
  constexpr int64_t most = 65535; // of the second dimension and the third
  int64_t rank = kernel.getGridRank(), axes = std::min(rank, getHint(kernel.getHintsAttr(), "axes").value_or(3));
  if (getHint(kernel.getHintsAttr(), "group"))
    return 1;
  kernel->getParentOfType<ModuleOp>().walk([&](tile::LaunchOp launch) {
    if (launch.getKernel() != kernel.getSymName())
      return;
    SizeFacts facts(launch->getParentOfType<func::FuncOp>());
    auto size = [&](int64_t dim) { return *SymExpr::parse(cast<StringAttr>(launch.getGrid()[dim]).getValue()); };
    auto isSmall = [&](int64_t axis) {
      SymExpr all = size(axis);
      for (int64_t dim = axis + 1; axis + 1 == axes && dim < rank; ++dim)
        all = all * size(dim);
      return facts.max(all) <= most;
    };
    while (axes > 1 && !llvm::all_of(llvm::seq<int64_t>(1, axes), isSmall))
      --axes;
  });
  return axes;
}

/// Leaves the hints that this road knows, and says how many warps share a program: as the hints say, or so many that
/// the largest tile stays in some 32 registers of each thread.
static void settleHints(tile::KernelOp kernel, const GpuDescription &gpu) {
  constexpr int64_t ofWarp = 32 * 32, fewest = 4, most = 16;
  int64_t elements = 0;
  kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(type))
        elements = std::max(elements, tile.getNumElements());
  });
  int64_t cluster = gpu.hasClusters ? getHint(kernel.getHintsAttr(), "cluster").value_or(1) : 1;
  elements /= cluster;
  int64_t spread = std::clamp<int64_t>(llvm::PowerOf2Ceil(elements / ofWarp), fewest, most);
  Type number = IntegerType::get(kernel.getContext(), 64);
  NamedAttrList hints;
  hints.append("warps", IntegerAttr::get(number, getHint(kernel.getHintsAttr(), "warps").value_or(spread)));
  for (StringRef name : {"ahead", "bulk", "group", "persistent", "residents", "retain", "walk", "warpgroups"})
    if (std::optional<int64_t> kept = getHint(kernel.getHintsAttr(), name))
      hints.append(name, IntegerAttr::get(number, *kept));
  if (cluster > 1) {
    hints.append("cluster", IntegerAttr::get(number, cluster));
    if (std::optional<int64_t> spread = getHint(kernel.getHintsAttr(), "spread"))
      hints.append("spread", IntegerAttr::get(number, *spread));
  }
  // Blocks stay for the sake of tiles that come ahead for groups of warps.
  if (cluster > 1 || !getHint(kernel.getHintsAttr(), "warpgroups").value_or(0))
    hints.erase("persistent");
  if (int64_t axes = axesOf(kernel); axes > 1)
    hints.append("axes", IntegerAttr::get(number, axes));
  kernel.setHintsAttr(hints.getDictionary(kernel.getContext()));
}

/// Doubles the warps while a thread would have to compute thousands of elements: code without loops takes long to make
/// and to read.
static void limitCode(tile::KernelOp kernel) {
  constexpr int64_t mostOfThread = 4096, mostWarps = 32;
  int64_t elements = 0, warps = *getHint(kernel.getHintsAttr(), "warps");
  bool hasProducts = false;
  kernel.walk([&](Operation *op) {
    hasProducts |= isa<tile::MmaOp>(op);
    if (auto map = dyn_cast<tile::MapOp>(op))
      elements += map.getType().getNumElements();
  });
  if (hasProducts)
    return;
  elements /= getHint(kernel.getHintsAttr(), "cluster").value_or(1);
  while (warps < mostWarps && elements > 32 * warps * mostOfThread)
    warps *= 2;
  NamedAttrList hints(kernel.getHintsAttr());
  hints.set("warps", IntegerAttr::get(IntegerType::get(kernel.getContext(), 64), warps));
  kernel.setHintsAttr(hints.getDictionary(kernel.getContext()));
}

/// Whether something is computed in f64, for which the hardware has no functions.
static bool hasDoubles(ModuleOp module) {
  return module
      .walk([](tile::MapOp map) {
        return map.getType().getElementType().isF64() ? WalkResult::interrupt()
                                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Products of f64, which need no other types without tensor cores.
static void keepFromTensorCores(ModuleOp module) {
  module.walk([](tile::MmaOp product) {
    if (product.getType().getElementType().isF64())
      product->setAttr("tile.plain", UnitAttr::get(product.getContext()));
  });
}

/// Products of fp8 as those of fp16, which holds all their numbers.
static void multiplyHalves(ModuleOp module) {
  module.walk([](tile::MmaOp product) {
    OpBuilder builder(product);
    for (OpOperand *operand : {&product.getLhsMutable(), &product.getRhsMutable()}) {
      auto type = cast<RankedTensorType>(operand->get().getType());
      if (isFloat8(type.getElementType()))
        operand->set(tile::CastOp::create(builder, product.getLoc(), type.clone(builder.getF16Type()), operand->get()));
    }
  });
}

/// The first version of PTX that has a module's products on tensor cores, at least `known`.
static unsigned versionFor(ModuleOp module, unsigned known) {
  bool hasFloat8 = module
                       .walk([](tile::MmaOp product) {
                         return isFloat8(getElementTypeOrSelf(product.getLhs())) ? WalkResult::interrupt()
                                                                                 : WalkResult::advance();
                       })
                       .wasInterrupted();
  auto shape = llvm::find_if(tensorCoreShapes(), [](const auto &each) { return hasType(each.operands, "e4m3"); });
  return hasFloat8 ? std::max(known, shape->ptxVersion) : known;
}

LogicalResult PtxBackend::place(ModuleOp module) const {
  MLIRContext *context = module.getContext();
  for (auto kernel : module.getOps<tile::KernelOp>())
    settleHints(kernel, gpu);
  PassManager manager(context);
  auto has = [&](std::string_view feature) { return findGpuFeature(feature)->isIn(gpu); };
  std::vector<std::string> native = {"philox", "philox_upper"}, quick;
  if (!hasDoubles(module)) {
    native.push_back("exp2");
    quick.push_back("reciprocal");
    if (has("tanh"))
      quick.push_back("tanh");
  }
  tile::TileWidenProductsOptions widen;
  if (codeOptions.tensorCores && has("mma fp16"))
    widen.keep.push_back("f16");
  if (codeOptions.tensorCores && has("mma int8"))
    widen.keep.insert(widen.keep.end(), {"i8", "ui8"});
  if (codeOptions.tensorCores && !has("mma fp8"))
    multiplyHalves(module);
  bool quarters = machine().quarters;
  if (quarters)
    widen.columns = 16;
  addGpuPasses(manager, codeOptions.tensorCores && gpu.hasLargeMma, needsWideIndices(module), native, quick, widen);
  if (failed(manager.run(module)))
    return failure();
  if (!codeOptions.tensorCores || !has("mma fp64"))
    keepFromTensorCores(module);
  llvm::for_each(module.getOps<tile::KernelOp>(), limitCode);
  manager.clear();
  manager.addPass(tile::createTileShareProducts());
  manager.addPass(tile::createTileAlignRows());
  manager.addPass(tile::createTileDeferStatistics());
  manager.addPass(tile::createTileDeferReductions());
  manager.addPass(tile::createTileWalkPrograms());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(tile::createTileAssignLayouts({.quarters = quarters, .warpgroups = has("wgmma")}));
  manager.addPass(tile::createTileFreeWarps({.chip = gpu.ptxChip}));
  tile::TileKeepRowsOptions kept;
  kept.chip = gpu.ptxChip;
  manager.addPass(tile::createTileKeepRows(kept));
  if (gpu.hasBulkCopies) {
    tile::TileFetchRowsOptions fetched;
    fetched.chip = gpu.ptxChip;
    manager.addPass(tile::createTileFetchRows(fetched));
    tile::TileFetchTilesOptions tiles;
    tiles.chip = gpu.ptxChip;
    manager.addPass(tile::createTileFetchTiles(tiles));
  }
  if (gpu.hasAsyncCopies) {
    tile::TilePipelineLoopsOptions ahead;
    ahead.chip = gpu.ptxChip;
    manager.addPass(tile::createTilePipelineLoops(ahead));
  }
  if (gpu.hasBulkCopies) {
    tile::TileSendRowsOptions sent;
    sent.chip = gpu.ptxChip;
    manager.addPass(tile::createTileSendRows(sent));
  }
  manager.addPass(tile::createTileGuardSelections());
  manager.addPass(tile::createTileExpandExchanges({.chip = gpu.ptxChip}));
  if (has("wgmma")) {
    manager.addPass(tile::createTileDelayProducts());
    manager.addPass(tile::createTileGroupProducts());
    manager.addPass(tile::createTileReleaseSlots());
    manager.addPass(tile::createTileShareFetches());
  }
  manager.addPass(tile::createTileStepProducts());
  manager.addPass(tile::createTileAllocateShared({.chip = gpu.ptxChip}));
  manager.addPass(tile::createTilePlaceBarriers());
  return manager.run(module);
}

LogicalResult PtxBackend::lower(ModuleOp module) const {
  MLIRContext *context = module.getContext();
  ptx::PtxOptions options;
  options.chip = gpu.ptxChip;
  options.version = versionFor(module, gpu.ptxVersion);
  options.optimizationLevel = int(codeOptions.optimizationLevel);
  options.lineInfo = codeOptions.profiling;
  options.wideIndices = needsWideIndices(module);
  FailureOr<ptx::PtxModule> lowered = ptx::lowerToPtx(module, options);
  if (failed(lowered))
    return emitError(UnknownLoc::get(context))
           << "this is not supported for target '" << gpu.chip << "' via 'ptx'"
           << (gpu.hasTileIR ? "; via 'tileir' is the other road" : "");

  context->loadDialect<target::TargetDialect>();
  SmallVector<Attribute> configs; // kernels come in the order of the module
  for (const ptx::PtxKernel &kernel : lowered->kernels) {
    SmallVector<int64_t> cluster(kernel.cluster > 1, kernel.cluster);
    configs.push_back(target::KernelConfigAttr::get(context, /*grid=*/{}, {int64_t(kernel.threads)}, kernel.sharedBytes,
                                                    /*regs=*/0, cluster));
  }
  HostProgramOptions host;
  host.isGpu = true;
  host.addressAlignment = addressAlignment(module);
  host.alignedElements = true;
  host.hasClusters = true;
  host.hasAxes = true;
  host.maxElements = options.wideIndices ? 0 : INT32_MAX;
  return packGpuModule(module, gpu.chip, "ptx", host,
                       {"ptx", ArrayRef<char>(lowered->text.data(), lowered->text.size()),
                        ArrayAttr::get(context, configs)});
}

/// What the assembler says of each kernel, beside what was expected of it.
void PtxBackend::reportUse(llvm::json::Object &report, target::ImageOp image,
                           ArrayRef<cuda::KernelUse> uses) const {
  llvm::json::Array *kernels = report.getArray("kernels");
  if (!kernels) // of Target IR that was handed in
    return;
  for (llvm::json::Value &value : *kernels) {
    llvm::json::Object &kernel = *value.getAsObject();
    std::optional<StringRef> same = kernel.getString("same_as");
    std::string name = (same ? *same : kernel.getString("name").value_or("")).str();
    const auto *use =
        llvm::find_if(uses, [&](const cuda::KernelUse &each) { return each.name == name; });
    if (use == uses.end())
      continue;
    target::KernelConfigAttr config = image.getConfig(StringRef(name));
    int64_t shared = use->sharedBytes + config.getShared(), threads = config.getThreads();
    int64_t blocks = gpu.residentBlocks(threads, use->registers, shared);
    kernel["threads"] = threads;
    kernel["registers"] = int64_t(use->registers);
    kernel["spill_bytes"] = int64_t(use->spillStoreBytes + use->spillLoadBytes);
    kernel["shared_bytes"] = shared;
    kernel["occupancy"] =
        double(blocks * ((threads + 31) / 32)) / double(gpu.multiprocessor.warps);
  }
}

/// The image's cubin where there is an assembler, or the PTX where a bundle alone is wanted. An assembler that a variable
/// names comes first; ptxas then, whose code is better than that of nvJitLink.
LogicalResult PtxBackend::assemble(Compilation &compilation, target::ImageOp image, Stage last, Cubin &cubin) const {
  ArrayRef<uint8_t> text = image.getBytes();
  if (compilation.wantsText(Stage::Ptx))
    compilation.result.texts[Stage::Ptx] = std::string(text.begin(), text.end());
  if (last < Stage::Cubin)
    return success();
  cubin.target = name();
  StringRef source(reinterpret_cast<const char *>(text.data()), text.size());
  cuda::PtxasOptions options{codeOptions.optimizationLevel, codeOptions.profiling};
  cuda::PtxasNeeds needs{gpu.ptxChip, gpu.firstCuda, gpu.lastCuda};
  std::string error, why;
  std::optional<cuda::Ptxas> ptxas;
  std::optional<cuda::JitLink> jitLink;
  bool isPtxasNamed = std::getenv("TESSERA_PTXAS"), isJitLinkNamed = std::getenv("TESSERA_NVJITLINK");
  if (isPtxasNamed || !isJitLinkNamed)
    ptxas = cuda::findPtxas(needs, error);
  if (!ptxas && !isPtxasNamed)
    jitLink = cuda::findJitLink(needs, isJitLinkNamed ? error : why);
  if (!ptxas && !jitLink) {
    bool wantsCubin = last != Stage::Bundle || compilation.wantsText(Stage::Cubin) ||
                      compilation.wantsText(Stage::Sass);
    if (wantsCubin || (isPtxasNamed && !cuda::isPtxasForbidden()))
      return emitError(image.getLoc())
             << "target '" << gpu.chip << "' is not supported here: " << error;
    cubin.code.assign(text.begin(), text.end());
    return success();
  }
  std::optional<cuda::AssembledPtx> assembled =
      ptxas ? cuda::assemble(*ptxas, source, gpu.ptxChip, options, error)
            : cuda::assemble(*jitLink, source, gpu.ptxChip, options, error);
  if (!assembled)
    return image.emitError(error);
  reportUse(compilation.result.report, image, assembled->kernels);
  compilation.result.report["assembler"] =
      ptxas ? "ptxas " + ptxas->release.text : "nvJitLink " + jitLink->release.text;
  cubin.code = std::move(assembled->cubin);
  return success();
}

std::unique_ptr<GpuBackend> createPtxBackend(const GpuTarget &target) {
  return std::make_unique<PtxBackend>(target.gpu);
}

} // namespace tessera
