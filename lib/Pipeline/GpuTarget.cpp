//===- GpuTarget.cpp - What the roads to a GPU share ----------------------===//
#include "GpuTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Analysis/SizeFacts.h"
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
    else if (target.road.empty() && (part == "tileir" || part == "ptx"))
      target.road = part.str();
    else
      return std::nullopt;
  }
  return target;
}

std::string GpuTarget::choose(StringRef via, std::string &error) const {
  std::string wanted = via.empty() || via == "auto" ? road : via.str();
  if (!road.empty() && wanted != road)
    error = "target '" + gpu.chip + ":" + road + "' is not supported via '" + wanted + "'";
  else if (wanted == "tileir" && !gpu.hasTileIR)
    error = "target '" + gpu.chip +
            "' is not supported via 'tileir', which begins with sm_80; code for it is made via 'ptx'";
  else
    return !wanted.empty() ? wanted : gpu.hasTileIR ? "tileir" : "ptx";
  return "";
}

MachineModel machineOf(const GpuDescription &gpu) {
  MachineModel machine;
  machine.isGpu = true;
  machine.cores = gpu.multiprocessors;
  machine.l2Bytes = gpu.l2Bytes;
  machine.wholeRow = 16384;
  machine.rowAlignment = 16;
  machine.operandsInRegisters = gpu.operandsInRegisters;
  machine.addsInMemory = true;
  return machine;
}

StringRef optionOf(ModuleOp module, StringRef name) {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto options = function->getAttrOfType<DictionaryAttr>(gir::kNumericsAttr))
      if (auto value = options.getAs<StringAttr>(name))
        return value.getValue();
  return "";
}

bool needsWideIndices(ModuleOp module) {
  bool large = optionOf(module, "indices") == "64";
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

void addGpuPasses(PassManager &manager, bool tensorCores, bool wideIndices,
                  const std::vector<std::string> &native, const std::vector<std::string> &quick,
                  const tile::TileWidenProductsOptions &widen) {
  if (tensorCores) {
    manager.addPass(tile::createTileNarrowProducts());
    manager.addPass(tile::createTileSplitProducts());
  } else {
    if (!widen.keep.empty())
      manager.addPass(tile::createTileNarrowProducts({.types = widen.keep}));
    manager.addPass(tile::createTileWidenProducts(widen));
  }
  manager.addPass(tile::createTileSplitIntegerProducts());
  if (!wideIndices)
    manager.addPass(tile::createTileNarrowIndices());
  tile::TileExpandMathOptions expand;
  expand.native.assign(native.begin(), native.end());
  expand.quick.assign(quick.begin(), quick.end());
  manager.addPass(tile::createTileMergeLoads());
  manager.addPass(tile::createTileRelaxMath());
  manager.addPass(tile::createTileExpandMath(expand));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

LogicalResult packGpuModule(ModuleOp module, StringRef chip, StringRef features,
                            const HostProgramOptions &host, const GpuImage &image) {
  module.getContext()->loadDialect<target::TargetDialect>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto result =
      target::ModuleOp::create(builder, module.getLoc(), module.getSymName().value_or("kernels"),
                               "nvptx64-nvidia-cuda", chip, features);
  builder.createBlock(&result.getBody());
  if (failed(convertHostFunctions(module, result, host)))
    return failure();
  SmallVector<StringRef> names;
  for (auto kernel : module.getOps<tile::KernelOp>())
    names.push_back(kernel.getSymName());
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
  auto made = target::ImageOp::create(builder, module.getLoc(), "image", image.format, kernels, image.configs, code);
  symbols.insert(made); // under another name where this one is taken
}

} // namespace tessera
