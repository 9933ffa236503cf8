//===- Backend.cpp - From Tile IR to machine code -------------------------===//
#include "Backend.h"
#include "GpuTarget.h"

#include "mlir/IR/Verifier.h"
#include "tessera/Bundle/Bundle.h"

namespace tessera {

using namespace mlir;

std::unique_ptr<Backend> Backend::forTarget(const std::string &name, const CodeOptions &options,
                                            llvm::StringRef via, std::string &error) {
  std::unique_ptr<Backend> backend = createCpuBackend(name, options);
  std::optional<GpuTarget> gpu = GpuTarget::parse(name);
  if (!backend && !gpu)
    error = "target '" + name +
            "' is not supported, expected cpu, x86-64-v2, x86-64-v3, x86-64-v4, aarch64, an "
            "architecture with features such as x86_64:avx2,fma, or one of " +
            GpuDescription::knownChips();
  if (!backend && gpu) {
    std::string road = gpu->choose(via, error);
    backend = road == "tileir" ? createCudaTileBackend(*gpu)
              : road == "ptx"  ? createPtxBackend(*gpu)
                               : nullptr;
  }
  if (backend)
    backend->codeOptions = options;
  return backend;
}

Ceilings Backend::ceilings() const {
  return Ceilings::ofChip(chip(), codeOptions.tensorCores);
}

bool Backend::finish(Compilation &compilation, Stage last) const {
  ModuleOp module = compilation.getModule();
  if (compilation.stage() < Stage::Placed && hasStage(Stage::Placed)) {
    if (!compilation.advance(Stage::Placed, [&]() -> LogicalResult {
          return success(succeeded(place(module)) && succeeded(verify(module)));
        }))
      return false;
    compilation.keepText();
  }
  if (compilation.stage() == Stage::Placed && !hasStage(Stage::Placed)) {
    compilation.fail(Outcome::Unsupported,
                     "placed Tile IR is not supported for target '" + name() + "', only via 'ptx'");
    return false;
  }
  if (last == Stage::Placed)
    return true;
  if (compilation.stage() != Stage::Target) {
    if (!compilation.advance(Stage::Target, [&]() -> LogicalResult {
          return success(succeeded(lower(module)) && succeeded(verify(module)));
        }))
      return false;
  }
  compilation.keepText();
  if (last == Stage::Target && !compilation.request.launcher)
    return true;
  auto modules = compilation.getModule().getOps<target::ModuleOp>();
  if (modules.empty()) {
    compilation.fail(Outcome::Diagnostics, "expected a tessera_target.module");
    return false;
  }
  target::ModuleOp lowered = *modules.begin();
  if (compilation.request.launcher) {
    FailureOr<std::string> text = makeLauncher(lowered);
    if (failed(text))
      return false;
    compilation.result.launcher = std::move(*text);
  }
  if (last == Stage::Target)
    return true;
  return compilation.advance(last, [&] { return emit(compilation, lowered, last); });
}

} // namespace tessera
