//===- Backend.cpp - From Tile IR to machine code -------------------------===//
#include "Backend.h"
#include "Contracts.h"
#include "GpuTarget.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/Bundle/Bundle.h"
#include "tessera/CodeGen/CudaTools/Disassembler.h"

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
    std::string chosen = gpu->choose(via, error);
    std::unique_ptr<GpuBackend> threads =
        chosen.starts_with("ptx") ? createPtxBackend(*gpu) : nullptr;
    std::unique_ptr<GpuBackend> tiles =
        chosen.ends_with("tileir") ? createCudaTileBackend(*gpu) : nullptr;
    for (GpuBackend *each : {threads.get(), tiles.get()})
      if (each)
        each->codeOptions = options;
    if (threads && tiles)
      backend = createMixedBackend(std::move(threads), std::move(tiles));
    else
      backend = threads ? std::move(threads) : std::move(tiles);
  }
  if (backend)
    backend->codeOptions = options;
  return backend;
}

Roofline Backend::roofline() const { return Roofline::ofChip(chip(), codeOptions.tensorCores); }

LogicalResult Backend::place(ModuleOp module) const {
  PassManager manager(module.getContext());
  addContractChecks(manager, Stage::Tile);
  addPlacingPasses(manager);
  return manager.run(module);
}

LogicalResult Backend::convertToTarget(ModuleOp module) const {
  PassManager manager(module.getContext());
  addContractChecks(manager, hasStage(Stage::Placed) ? Stage::Placed : Stage::Tile);
  addLoweringPasses(manager);
  return success(succeeded(manager.run(module)) && succeeded(lower(module)));
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
          return success(succeeded(convertToTarget(module)) && succeeded(verify(module)));
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

LogicalResult GpuBackend::emit(Compilation &compilation, target::ModuleOp module,
                               Stage last) const {
  if (failed(makeImages(module)))
    return failure();
  std::vector<Cubin> cubins;
  for (auto image : module.getBody().getOps<target::ImageOp>()) {
    const GpuBackend *backend = backendOf(image.getFormat());
    if (!backend)
      return image.emitOpError("is not of format '") << via() << "'";
    if (failed(backend->assemble(compilation, image, last, cubins.emplace_back())))
      return failure();
  }
  if (cubins.empty())
    return module.emitOpError("expected an image of format '") << via() << "'";
  if (auto kernels = module.getBody().getOps<target::KernelOp>(); !kernels.empty())
    return (*kernels.begin())
               .emitOpError("is a per-thread kernel, which is supported via 'ptx', not via '")
           << via() << "'";
  if (last < Stage::Cubin)
    return success();
  auto &texts = compilation.result.texts;
  if (compilation.wantsText(Stage::Cubin))
    texts[Stage::Cubin] = std::string(cubins.front().code.begin(), cubins.front().code.end());
  if (compilation.wantsText(Stage::Sass)) {
    std::string error;
    for (const Cubin &cubin : cubins) {
      std::optional<std::string> text = cuda::disassemble(cubin.code, error);
      if (!text)
        return emitError(module.getLoc()) << "stage 'sass' is not supported here: " << error;
      texts[Stage::Sass] += *text;
    }
  }
  if (last != Stage::Bundle)
    return success();
  FailureOr<std::vector<uint8_t>> bundle =
      makeBundle(module, name(), std::move(cubins), compilation.manifest());
  if (failed(bundle))
    return failure();
  compilation.result.bundle = std::move(*bundle);
  return success();
}

} // namespace tessera
