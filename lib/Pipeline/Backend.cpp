//===- Backend.cpp - From Tile IR to machine code -------------------------===//
#include "Backend.h"

#include "mlir/IR/Verifier.h"
#include "tessera/Bundle/Bundle.h"
#include "tessera/Support/GpuDescription.h"

namespace tessera {

using namespace mlir;

std::unique_ptr<Backend> Backend::forTarget(const std::string &name, const CodeOptions &options) {
  std::unique_ptr<Backend> backend = createCpuBackend(name, options);
  if (!backend)
    backend = createCudaTileBackend(name);
  if (backend)
    backend->codeOptions = options;
  return backend;
}

Ceilings Backend::ceilings() const {
  return Ceilings::ofChip(chip(), codeOptions.tensorCores);
}

std::string Backend::supportedTargets() {
  return "expected cpu, x86-64-v2, x86-64-v3, x86-64-v4, aarch64, an architecture with features "
         "such as x86_64:avx2,fma, or one of " +
         GpuDescription::knownChips();
}

bool Backend::finish(Compilation &compilation, Stage last) const {
  if (compilation.stage() != Stage::Target) {
    ModuleOp module = compilation.getModule();
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
  target::ModuleOp module = *modules.begin();
  if (compilation.request.launcher) {
    FailureOr<std::string> text = makeLauncher(module);
    if (failed(text))
      return false;
    compilation.result.launcher = std::move(*text);
  }
  if (last == Stage::Target)
    return true;
  return compilation.advance(last, [&] { return emit(compilation, module, last); });
}

} // namespace tessera
