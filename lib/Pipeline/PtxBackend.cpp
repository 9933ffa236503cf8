//===- PtxBackend.cpp - The last stages by way of our own PTX -------------===//
//
// Target IR holds the host program and one image of PTX with all kernels. ptxas makes a cubin of
// it; where there is none, a bundle carries the PTX itself and the driver assembles it.
//
//===----------------------------------------------------------------------===//
#include "Backend.h"
#include "GpuTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/CodeGen/CudaTools/JitLink.h"
#include "tessera/CodeGen/PTX/PTX.h"
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "tessera/Pipeline/Passes.h"
#include "tessera/Target/TensorCores.h"

#include <cstdlib>

namespace tessera {

using namespace mlir;
using llvm::StringRef;

namespace {

class PtxBackend final : public GpuBackend {
public:
  explicit PtxBackend(GpuDescription gpu) : gpu(std::move(gpu)) {}

  std::string name() const override { return gpu.ptxChip + ":ptx"; }
  std::string via() const override { return "ptx"; }

  bool hasStage(Stage stage) const override {
    return stage == Stage::Placed || stage == Stage::Ptx || stage == Stage::Cubin ||
           stage == Stage::Sass;
  }

  std::string specification() const override { return gpu.chip + ":ptx"; }
  MachineModel machine() const override { return ptxMachineModel(gpu); }

  void addPlacingPasses(OpPassManager &manager) const override;
  LogicalResult lower(ModuleOp module) const override;
  LogicalResult assemble(Compilation &compilation, target::ImageOp image, Stage last,
                         Cubin &cubin) const override;
  LogicalResult makeImages(target::ModuleOp module) const override {
    return assembleKernels(module, gpu, int(codeOptions.optimizationLevel));
  }

private:
  void reportUse(llvm::json::Object &report, target::ImageOp image,
                 ArrayRef<cuda::KernelUse> uses) const;

  GpuDescription gpu;
};

} // namespace

/// The first version of PTX that supports the module's MMAs, at least `known`.
static unsigned versionFor(ModuleOp module, unsigned known) {
  bool hasFloat8 = module
                       .walk([](tile::MmaOp product) {
                         return isFloat8(getElementTypeOrSelf(product.getLhs()))
                                    ? WalkResult::interrupt()
                                    : WalkResult::advance();
                       })
                       .wasInterrupted();
  auto shape = llvm::find_if(tensorCoreShapes(),
                             [](const auto &each) { return hasType(each.operands, "e4m3"); });
  return hasFloat8 ? std::max(known, shape->ptxVersion) : known;
}

void PtxBackend::addPlacingPasses(OpPassManager &manager) const {
  auto has = [&](GpuFeature feature) { return gpu.has(feature); };
  manager.addPass(createAttachTarget({.chip = gpu.ptxChip}));
  manager.addPass(tile::createTileSetLaunchConfig());
  if (codeOptions.tensorCores && !has(GpuFeature::MmaFp8))
    manager.addPass(tile::createTilePromoteFp8Mma());
  addGpuPasses(manager, gpu, codeOptions.tensorCores);
  if (!codeOptions.tensorCores || !has(GpuFeature::MmaFp64))
    manager.addPass(tile::createTileMarkSimtMma());
  manager.addPass(tile::createTileLimitCodeSize());
  manager.addPass(tile::createTileClusterSplitK());
  manager.addPass(tile::createTileAlignAccesses());
  manager.addPass(tile::createTilePerThreadPartials());
  manager.addPass(tile::createTileLowerOnlineUpdate());
  manager.addPass(tile::createTilePerElementPartials());
  manager.addPass(tile::createTileCollapseLoops());
  manager.addPass(tile::createTilePersistentLoop());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(tile::createTileAssignLayouts());
  manager.addPass(tile::createTileDecoupleEpilogue());
  manager.addPass(tile::createTileCacheRows());
  if (has(GpuFeature::Tma)) {
    manager.addPass(tile::createTileBulkLoadRows());
    manager.addPass(tile::createTileLowerTmaLoads());
  }
  if (has(GpuFeature::CpAsync))
    manager.addPass(tile::createTilePipelineLoops());
  if (has(GpuFeature::Tma))
    manager.addPass(tile::createTileBulkStoreRows());
  manager.addPass(tile::createTilePredicateGathers());
  manager.addPass(tile::createTileLowerLayoutConversions());
  if (has(GpuFeature::Wgmma)) {
    manager.addPass(tile::createTilePipelineMma());
    manager.addPass(tile::createTileLowerWgmma());
    manager.addPass(tile::createTileReleaseStages());
    manager.addPass(tile::createTileTmaMulticast());
  }
  manager.addPass(tile::createTilePrefetchMmaOperands());
  manager.addPass(tile::createTileAllocateShared());
  manager.addPass(tile::createTilePlaceBarriers());
  if (has(GpuFeature::Wgmma)) {
    manager.addPass(tile::createTileJoinWgmma());
    manager.addPass(tile::createTileFenceWgmma());
    manager.addPass(tile::createTileOrderWgmmaWaits());
  }
  manager.addPass(tile::createTileReverseGrid());
}

LogicalResult PtxBackend::lower(ModuleOp module) const {
  MLIRContext *context = module.getContext();
  // Placed Tile IR that was handed in may lack its target, or have another one.
  if (!module->hasAttr(kTargetAttr))
    setTarget(module, gpu.ptxChip);
  FailureOr<GpuDescription> placedFor = gpuOf(module);
  if (failed(placedFor))
    return failure();
  if (placedFor->chip != gpu.chip)
    return module.emitError("expected placed Tile IR for ")
           << gpu.chip << ", got one for " << placedFor->chip;
  ptx::PtxOptions options;
  options.version = versionFor(module, gpu.ptxVersion);
  options.optimizationLevel = int(codeOptions.optimizationLevel);
  options.lineInfo = codeOptions.profiling;
  options.wideIndices = needsWideIndices(module);
  options.fusesArithmetic = llvm::none_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return gir::numericsOption(function, "numerics") == "strict";
  });
  FailureOr<ptx::PtxModule> lowered = ptx::lowerToPtx(module, options);
  if (failed(lowered))
    return emitError(UnknownLoc::get(context))
           << "this is not supported for target '" << gpu.chip << "' via 'ptx'"
           << (gpu.has(GpuFeature::TileIR) ? "; via 'tileir' is the other backend" : "");

  module->removeAttr(kTargetAttr); // the target module has its own
  context->loadDialect<target::TargetDialect>();
  SmallVector<Attribute> configs; // kernels come in the order of the module
  for (const ptx::PtxKernel &kernel : lowered->kernels) {
    SmallVector<int64_t> cluster(kernel.cluster > 1, kernel.cluster);
    configs.push_back(target::KernelConfigAttr::get(context, /*grid=*/{}, {int64_t(kernel.threads)},
                                                    kernel.sharedBytes,
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
    kernel["threads"] = threads;
    kernel["registers"] = int64_t(use->registers);
    kernel["spill_bytes"] = int64_t(use->spillStoreBytes + use->spillLoadBytes);
    if (use->isSerialized)
      kernel["serialized"] = true;
    kernel["shared_bytes"] = shared;
    kernel["occupancy"] = gpu.occupancy(threads, use->registers, shared);
  }
}

/// The image's cubin where there is an assembler, or the PTX where a bundle alone is wanted. An
/// assembler that a variable names comes first; ptxas then, whose code is better than that of
/// nvJitLink.
LogicalResult PtxBackend::assemble(Compilation &compilation, target::ImageOp image, Stage last,
                                   Cubin &cubin) const {
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
  bool isPtxasNamed = std::getenv("TESSERA_PTXAS"),
       isJitLinkNamed = std::getenv("TESSERA_NVJITLINK");
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
