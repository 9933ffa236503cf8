//===- Backend.cpp - From Tile IR to machine code -------------------------===//
#include "Backend.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Bundle/Bundle.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include <thread>

namespace tessera {

using namespace mlir;
using llvm::StringRef;

/// "x86_64:avx2,fma" as LLVM says it.
static std::optional<cpu::CpuTarget> explicitTarget(StringRef name) {
  auto [architecture, list] = name.split(':');
  if (architecture != "x86_64" && architecture != "aarch64")
    return std::nullopt;
  cpu::CpuTarget target;
  target.triple = (architecture + "-unknown-linux-gnu").str();
  target.cpu = architecture == "x86_64" ? "x86-64" : "generic";
  llvm::SmallVector<StringRef> features;
  list.split(features, ',', -1, /*KeepEmpty=*/false);
  for (StringRef feature : features)
    target.features += (target.features.empty() ? "+" : ",+") + feature.trim().str();
  return target;
}

std::optional<Backend> Backend::forTarget(const std::string &name) {
  if (name == "cpu")
    return Backend(cpu::CpuTarget::host());
  if (std::optional<cpu::CpuTarget> baseline = cpu::CpuTarget::baseline(name))
    return Backend(*baseline);
  if (std::optional<cpu::CpuTarget> given = explicitTarget(name))
    return Backend(*given);
  return std::nullopt;
}

std::string Backend::supportedTargets() {
  return "expected cpu, x86-64-v2, x86-64-v3, x86-64-v4, aarch64, or an architecture with features "
         "such as x86_64:avx2,fma";
}

MachineModel Backend::machine() const {
  CpuDescription description = target.describe();
  MachineModel machine;
  machine.cores = std::max(1u, std::thread::hardware_concurrency());
  machine.vectorBytes = description.vectorBytes;
  machine.l1Bytes = description.l1Bytes;
  machine.l2Bytes = description.l2Bytes;
  return machine;
}

bool Backend::lower(Compilation &compilation) const {
  if (compilation.stage() == Stage::Target)
    return true;
  ModuleOp module = compilation.getModule();
  return compilation.advance(Stage::Target, [&]() -> LogicalResult {
    PassManager manager(module.getContext());
    manager.addPass(tile::createTileExpandMath());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    if (failed(manager.run(module)))
      return failure();
    return success(succeeded(cpu::lowerTileToCpu(module, target)) && succeeded(verify(module)));
  });
}

/// The stages below Target IR are text of LLVM's, made only when they are wanted.
bool Backend::keepTexts(Compilation &compilation, target::ModuleOp module) const {
  for (auto [stage, form] : {std::pair(Stage::LLVM, cpu::TextForm::OptimizedLLVM),
                             std::pair(Stage::Asm, cpu::TextForm::Assembly)}) {
    if (!compilation.wantsText(stage))
      continue;
    FailureOr<std::string> text = cpu::emitText(module, form);
    if (failed(text))
      return false;
    compilation.result.texts[stage] = std::move(*text);
  }
  return true;
}

bool Backend::finish(Compilation &compilation, Stage last) const {
  if (!lower(compilation))
    return false;
  compilation.keepText();
  if (last == Stage::Target)
    return true;
  auto modules = compilation.getModule().getOps<target::ModuleOp>();
  if (modules.empty()) {
    compilation.fail(Outcome::Diagnostics, "expected a tessera_target.module");
    return false;
  }
  target::ModuleOp module = *modules.begin();
  return compilation.advance(last, [&]() -> LogicalResult {
    if (!keepTexts(compilation, module))
      return failure();
    if (last != Stage::Bundle)
      return success();
    FailureOr<std::vector<uint8_t>> bundle = makeBundle(module);
    if (failed(bundle))
      return failure();
    compilation.result.bundle = std::move(*bundle);
    return success();
  });
}

} // namespace tessera
