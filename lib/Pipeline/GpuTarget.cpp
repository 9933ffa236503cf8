//===- GpuTarget.cpp - What the GPU backends share ---------------------------===//
#include "GpuTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace tessera {

using namespace mlir;
using llvm::StringRef;

std::optional<GpuTarget> GpuTarget::parse(StringRef name) {
  auto [chip, list] = name.split(':');
  std::optional<GpuDescription> gpu = GpuDescription::from(chip.str());
  if (!gpu)
    return std::nullopt;
  GpuTarget target{*gpu, "", llvm::Triple(llvm::sys::getProcessTriple()).getArchName().str()};
  SmallVector<StringRef> parts;
  list.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    if (part == "x86_64" || part == "aarch64")
      target.host = part.str();
    else if (target.backend.empty() && (part == "tileir" || part == "ptx"))
      target.backend = part.str();
    else
      return std::nullopt;
  }
  return target;
}

std::string GpuTarget::choose(StringRef via, std::string &error) const {
  std::string wanted = via.empty() || via == "auto" ? backend : via.str();
  if (!backend.empty() && wanted != backend)
    error = "target '" + gpu.chip + ":" + backend + "' is not supported via '" + wanted + "'";
  else if (wanted == "tileir" && !gpu.has(GpuFeature::TileIR))
    error = "target '" + gpu.chip + "' is not supported via 'tileir', which begins with " +
            firstChipWith(GpuFeature::TileIR) + "; code for it is made via 'ptx'";
  else
    return !wanted.empty() ? wanted : gpu.has(GpuFeature::TileIR) ? "tileir" : "ptx";
  return "";
}

void addGpuPasses(OpPassManager &manager, const GpuDescription &gpu, bool tensorCores) {
  if (tensorCores)
    manager.addPass(tile::createTileRoundMmaOperands());
  if (tensorCores && gpu.has(GpuFeature::MmaBf16))
    manager.addPass(tile::createTileEmulateFp32Mma());
  else
    manager.addPass(tile::createTileWidenMmaTypes({.tensorCores = tensorCores}));
  manager.addPass(tile::createTileEmulateIntegerMma());
  manager.addPass(tile::createTileNarrowIndexTypes());
  manager.addPass(tile::createTileMergeLoads());
  manager.addPass(tile::createTileFastMath());
  manager.addPass(tile::createTileExpandMath());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

LogicalResult packGpuModule(ModuleOp module, StringRef chip, StringRef features,
                            const HostProgramOptions &host, GpuImage image) {
  module.getContext()->loadDialect<target::TargetDialect>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto result =
      target::ModuleOp::create(builder, module.getLoc(), module.getSymName().value_or("kernels"),
                               "nvptx64-nvidia-cuda", chip, features);
  builder.createBlock(&result.getBody());
  if (failed(convertHostFunctions(module, result, host)))
    return failure();
  SmallVector<StringRef> names;
  NamedAttrList changed;
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    names.push_back(kernel.getSymName());
    if (Attribute changes = kernel->getAttr(tile::KernelOp::kChangedAttr))
      changed.set(kernel.getSymName(), changes);
  }
  if (!changed.empty())
    image.changed = changed.getDictionary(module.getContext());
  ArrayAttr kernels = builder.getStrArrayAttr(names);
  for (auto kernel : llvm::make_early_inc_range(module.getOps<tile::KernelOp>()))
    kernel.erase();
  addImage(result, kernels, image);
  return success();
}

void addImage(target::ModuleOp module, ArrayAttr kernels, const GpuImage &image) {
  OpBuilder builder = OpBuilder::atBlockEnd(&module.getBody().front());
  auto type = RankedTensorType::get(int64_t(image.code.size()),
                                    builder.getIntegerType(8, /*isSigned=*/false));
  auto code = DenseResourceElementsAttr::get(
      type, "kernels", HeapAsmResourceBlob::allocateAndCopyInferAlign(image.code));
  SymbolTable symbols(module);
  auto made = target::ImageOp::create(builder, module.getLoc(), "image", image.format, kernels,
                                      image.configs, image.changed, code);
  symbols.insert(made); // under another name where this one is taken
}

} // namespace tessera
