//===- CudaTileBackend.cpp - The last stages by way of CUDA Tile IR -------===//
//
// Target IR holds the host program and one image of bytecode with all kernels. NVIDIA's assembler
// makes a cubin of it, which is looked for only when a cubin or a bundle is wanted.
//
//===----------------------------------------------------------------------===//
#include "Backend.h"
#include "GpuTarget.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/CodeGen/CudaTileIR/Bytecode/Assembler.h"
#include "tessera/CodeGen/CudaTileIR/CudaTileIR.h"
#include "tessera/Dialect/Common/LaunchAttrs.h"
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "tessera/Pipeline/Passes.h"

namespace tessera {

using namespace mlir;
using llvm::StringRef;

namespace {

class CudaTileBackend final : public GpuBackend {
public:
  CudaTileBackend(GpuDescription gpu, std::string hostArchitecture)
      : gpu(std::move(gpu)), hostArchitecture(std::move(hostArchitecture)) {}

  std::string name() const override { return gpu.chip + ":tileir," + hostArchitecture; }

  bool hasStage(Stage stage) const override {
    return stage == Stage::TileIR || stage == Stage::TileIRBytecode || stage == Stage::Cubin ||
           stage == Stage::Sass;
  }

  std::string via() const override { return "tileir"; }

  std::string specification() const override { return gpu.chip + ":tileir"; }
  MachineModel machine() const override { return cudaTileMachineModel(gpu); }

  void addLoweringPasses(OpPassManager &manager) const override;
  LogicalResult lower(ModuleOp module) const override;
  LogicalResult assemble(Compilation &compilation, target::ImageOp image, Stage last,
                         Cubin &cubin) const override;

private:
  GpuDescription gpu;
  std::string hostArchitecture;
};

} // namespace

void CudaTileBackend::addLoweringPasses(OpPassManager &manager) const {
  manager.addPass(createAttachTarget({.chip = specification()}));
  manager.addPass(tile::createTileLowerOnlineUpdate());
  manager.addPass(tile::createTileExpandSorts());
  addGpuPasses(manager, gpu, codeOptions.tensorCores);
}

LogicalResult CudaTileBackend::lower(ModuleOp module) const {
  cudatile::LoweringOptions options;
  options.hasFloat8 = gpu.has(GpuFeature::TileIRFp8);
  options.hasFloat8Mma = gpu.has(GpuFeature::TileIRFp8Mma);
  options.tensorCores = codeOptions.tensorCores;
  options.wideIndices = needsWideIndices(module);
  options.anyStrides = compileOption(module, "strides") == "any";
  FailureOr<cudatile::Module> lowered = cudatile::lowerToCudaTile(module, options);
  if (failed(lowered))
    return failure();
  std::string error;
  std::optional<std::vector<uint8_t>> bytes = cudatile::writeModule(*lowered, error);
  if (!bytes)
    return module.emitError(error);

  HostProgramOptions host;
  host.isGpu = true;
  host.addressAlignment = addressAlignment(module);
  host.alignedElements = true;
  host.forwardStrides = !options.anyStrides;
  host.maxElements = options.wideIndices ? 0 : INT32_MAX;
  module->removeAttr(kTargetAttr); // the target module has its own
  ArrayRef<char> code(reinterpret_cast<const char *>(bytes->data()), bytes->size());
  return packGpuModule(module, gpu.chip, "tileir," + hostArchitecture, host, {"tileir", code, {}});
}

/// Reports that the kernels of an image were assembled without their occupancy hints.
static void noteDropped(target::ImageOp image, ArrayRef<cudatile::OccupancyHint> hints) {
  for (const cudatile::OccupancyHint &hint : hints) {
    remark::missed(image.getLoc(), remark::RemarkOpts::name("OccupancyRejected")
                                       .category("tileiras-occupancy")
                                       .function(hint.kernel))
        << remark::reason("the assembler rejects the kernels with min_ctas_per_sm, {0} for this "
                          "one, and accepts them without it",
                          hint.ctas);
    image.addChange(hint.kernel, changeText(TuningField::MinCtasPerSm, hint.ctas, std::nullopt,
                                            "tileiras rejects the kernels with it"));
  }
}

/// Reports that an image was assembled without optimization, and why.
static void noteUnoptimized(target::ImageOp image, StringRef error) {
  remark::missed(image.getLoc(),
                 remark::RemarkOpts::name("OptimizationRejected").category("tileiras-optimization"))
      << remark::reason("the assembler accepts the kernels only with opt-level 0: {0}", error);
}

LogicalResult CudaTileBackend::assemble(Compilation &compilation, target::ImageOp image, Stage last,
                                        Cubin &cubin) const {
  ArrayRef<uint8_t> bytecode = image.getBytes();
  std::string error;
  auto &texts = compilation.result.texts;
  if (compilation.wantsText(Stage::TileIR)) {
    std::optional<cudatile::Module> read = cudatile::readModule(bytecode, error);
    if (!read)
      return image.emitOpError(error);
    texts[Stage::TileIR] = cudatile::printModule(*read);
  }
  if (compilation.wantsText(Stage::TileIRBytecode))
    texts[Stage::TileIRBytecode] = std::string(bytecode.begin(), bytecode.end());
  if (last < Stage::Cubin)
    return success();

  std::optional<cudatile::Tileiras> tileiras = cudatile::findTileiras(error);
  if (!tileiras)
    return emitError(image.getLoc())
           << "target '" << gpu.chip << "' is not supported here: " << error;
  cudatile::AssembleOptions options;
  options.architecture = gpu.chip;
  options.hostArchitecture = hostArchitecture;
  options.optimizationLevel = codeOptions.optimizationLevel;
  options.lineInfo = codeOptions.profiling;
  std::optional<cudatile::Cubin> made = cudatile::assemble(*tileiras, bytecode, options, error);
  if (!made) {
    std::string again;
    std::vector<cudatile::OccupancyHint> dropped;
    if (auto relaxed = cudatile::withoutOccupancy(bytecode, dropped))
      made = cudatile::assemble(*tileiras, *relaxed, options, again);
    if (made)
      noteDropped(image, dropped);
  }
  if (!made) {
    compilation.tileirasRefusal = error;
    InFlightDiagnostic diagnostic = image.emitError(StringRef(error).rtrim());
    diagnostic.attachNote() << "via 'auto' compiles such programs through PTX, as via 'ptx' does";
    return diagnostic;
  }
  if (StringRef refusal = compilation.request.tileirasRefusal; !refusal.empty())
    noteUnoptimized(image, refusal);
  cubin = {name(), std::move(made->bytes)};
  return success();
}

std::unique_ptr<GpuBackend> createCudaTileBackend(const GpuTarget &target) {
  return std::make_unique<CudaTileBackend>(target.gpu, target.host);
}

} // namespace tessera
