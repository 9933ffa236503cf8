//===- CudaTileBackend.cpp - The last stages by way of CUDA Tile IR -------===//
//
// Target IR holds the host program and one image of bytecode with all kernels. NVIDIA's assembler
// makes a cubin of it, which is looked for only when a cubin or a bundle is wanted.
//
//===----------------------------------------------------------------------===//
#include "Backend.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Analysis/SizeFacts.h"
#include "tessera/Bundle/Bundle.h"
#include "tessera/CodeGen/CudaTileIR/Bytecode/Assembler.h"
#include "tessera/CodeGen/CudaTileIR/CudaTileIR.h"
#include "tessera/Conversion/TileToTarget/TileToTarget.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "tessera/Support/GpuDescription.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace tessera {

using namespace mlir;
using llvm::StringRef;

/// Whether a tensor that is typical for the function has more elements than 32 bits count.
static bool hasLargeTensors(ModuleOp module) {
  bool large = false;
  for (auto function : module.getOps<func::FuncOp>()) {
    SizeFacts facts(function);
    auto look = [&](Value value) {
      auto type = dyn_cast<gir::TensorType>(value.getType());
      large |= type && facts.hint(type.getNumElements()) > INT32_MAX;
    };
    llvm::for_each(function.getArguments(), look);
    function.walk([&](tile::EmptyOp empty) { look(empty.getResult()); });
  }
  return large;
}

/// An option of the compilation, which the functions carry; "" where it is not given.
static StringRef optionOf(ModuleOp module, StringRef name) {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto options = function->getAttrOfType<DictionaryAttr>(gir::kNumericsAttr))
      if (auto value = options.getAs<StringAttr>(name))
        return value.getValue();
  return "";
}

namespace {

class CudaTileBackend final : public Backend {
public:
  CudaTileBackend(GpuDescription gpu, std::string hostArchitecture)
      : gpu(std::move(gpu)), hostArchitecture(std::move(hostArchitecture)) {}

  std::string name() const override { return gpu.chip + ":tileir," + hostArchitecture; }

  bool hasStage(Stage stage) const override {
    return stage == Stage::TileIR || stage == Stage::TileIRBytecode || stage == Stage::Cubin ||
           stage == Stage::Sass;
  }

  MachineModel machine() const override {
    MachineModel machine;
    machine.isGpu = true;
    machine.cores = gpu.multiprocessors;
    machine.l2Bytes = gpu.l2Bytes;
    machine.wholeRow = 16384;
    machine.rowAlignment = 16;
    machine.operandsInRegisters = gpu.operandsInRegisters;
    return machine;
  }

protected:
  LogicalResult lower(ModuleOp module) const override;
  LogicalResult emit(Compilation &compilation, target::ModuleOp module,
                     Stage last) const override;

private:
  GpuDescription gpu;
  std::string hostArchitecture;
};

} // namespace

LogicalResult CudaTileBackend::lower(ModuleOp module) const {
  MLIRContext *context = module.getContext();
  if (StringRef via = optionOf(module, "via"); !via.empty() && via != "auto" && via != "tileir")
    return emitError(UnknownLoc::get(context))
           << "target '" << gpu.chip << "' is not supported via '" << via
           << "': code for GPUs is made via 'tileir'";
  PassManager manager(context);
  if (codeOptions.tensorCores) {
    manager.addPass(tile::createTileNarrowProducts());
    manager.addPass(tile::createTileSplitProducts());
  } else {
    manager.addPass(tile::createTileWidenProducts());
  }
  manager.addPass(tile::createTileSplitIntegerProducts());
  bool wideIndices = hasLargeTensors(module) || optionOf(module, "indices") == "64";
  if (!wideIndices)
    manager.addPass(tile::createTileNarrowIndices());
  tile::TileExpandMathOptions expand;
  for (StringRef native : cudatile::nativeOperations())
    expand.native.push_back(native.str());
  manager.addPass(tile::createTileRelaxMath());
  manager.addPass(tile::createTileExpandMath(expand));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (failed(manager.run(module)))
    return failure();

  cudatile::LoweringOptions options;
  options.hasFloat8 = gpu.hasFloat8;
  options.sumsFloat8 = gpu.sumsFloat8;
  options.tensorCores = codeOptions.tensorCores;
  options.wideIndices = wideIndices;
  if (optionOf(module, "alignment") == "element")
    options.addressAlignment = 1;
  options.anyStrides = optionOf(module, "strides") == "any";
  FailureOr<cudatile::Module> lowered = cudatile::lowerToCudaTile(module, options);
  if (failed(lowered))
    return failure();
  std::string error;
  std::optional<std::vector<uint8_t>> bytes = cudatile::writeModule(*lowered, error);
  if (!bytes)
    return module.emitError(error);

  context->loadDialect<target::TargetDialect>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto result =
      target::ModuleOp::create(builder, module.getLoc(), module.getSymName().value_or("kernels"),
                               "nvptx64-nvidia-cuda", gpu.chip, "tileir," + hostArchitecture);
  builder.createBlock(&result.getBody());
  HostProgramOptions host;
  host.isGpu = true;
  host.addressAlignment = options.addressAlignment;
  host.alignedElements = true;
  host.forwardStrides = !options.anyStrides;
  host.maxElements = options.wideIndices ? 0 : INT32_MAX;
  if (failed(convertHostFunctions(module, result, host)))
    return failure();

  SmallVector<StringRef> names;
  for (auto kernel : module.getOps<tile::KernelOp>())
    names.push_back(kernel.getSymName());
  ArrayAttr kernels = builder.getStrArrayAttr(names);
  for (auto kernel : llvm::make_early_inc_range(module.getOps<tile::KernelOp>()))
    kernel.erase();
  builder.setInsertionPointToEnd(&result.getBody().front());
  auto type = RankedTensorType::get(int64_t(bytes->size()),
                                    builder.getIntegerType(8, /*isSigned=*/false));
  auto code = DenseResourceElementsAttr::get(
      type, "kernels", HeapAsmResourceBlob::allocateAndCopyInferAlign(ArrayRef<uint8_t>(*bytes)));
  target::ImageOp::create(builder, module.getLoc(), "image", "tileir", kernels, code);
  return success();
}

LogicalResult CudaTileBackend::emit(Compilation &compilation, target::ModuleOp module,
                                    Stage last) const {
  auto images = module.getBody().getOps<target::ImageOp>();
  if (images.empty() || (*images.begin()).getFormat() != "tileir")
    return module.emitOpError("expected an image of format 'tileir'");
  target::ImageOp image = *images.begin();
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
    return emitError(module.getLoc()) << "target '" << gpu.chip << "' is not supported here: "
                                      << error;
  cudatile::AssembleOptions options;
  options.architecture = gpu.chip;
  options.hostArchitecture = hostArchitecture;
  options.optimizationLevel = codeOptions.optimizationLevel;
  options.lineInfo = codeOptions.profiling;
  std::optional<cudatile::Cubin> cubin =
      cudatile::assemble(*tileiras, bytecode, options, error);
  if (!cubin) {
    std::string again;
    if (auto relaxed = cudatile::withoutOccupancy(bytecode))
      cubin = cudatile::assemble(*tileiras, *relaxed, options, again);
  }
  if (!cubin)
    return image.emitError(error);
  if (compilation.wantsText(Stage::Cubin))
    texts[Stage::Cubin] = std::string(cubin->bytes.begin(), cubin->bytes.end());
  if (compilation.wantsText(Stage::Sass)) {
    std::optional<std::string> text = cudatile::disassemble(cubin->bytes, error);
    if (!text)
      return emitError(module.getLoc()) << "stage 'sass' is not supported here: " << error;
    texts[Stage::Sass] = std::move(*text);
  }
  if (last != Stage::Bundle)
    return success();
  FailureOr<std::vector<uint8_t>> bundle =
      makeBundle(module, {name(), std::move(cubin->bytes)}, compilation.manifest());
  if (failed(bundle))
    return failure();
  compilation.result.bundle = std::move(*bundle);
  return success();
}

std::unique_ptr<Backend> createCudaTileBackend(const std::string &name) {
  auto [chip, list] = StringRef(name).split(':');
  std::optional<GpuDescription> gpu = GpuDescription::from(chip);
  if (!gpu)
    return nullptr;
  std::string host = llvm::Triple(llvm::sys::getProcessTriple()).getArchName().str();
  SmallVector<StringRef> parts;
  list.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    if (part == "x86_64" || part == "aarch64")
      host = part.str();
    else if (part != "tileir")
      return nullptr;
  }
  return std::make_unique<CudaTileBackend>(*gpu, host);
}

} // namespace tessera
