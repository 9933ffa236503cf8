//===- Bundle.cpp - Target modules to bundles -----------------------------===//
#include "tessera/Bundle/Bundle.h"
#include "tessera/CodeGen/CPU/CPU.h"
#include "tessera_rt/bundle.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;

/// The manifest with the signatures of the module's programs.
static std::string withSignatures(const std::string &manifest, target::ModuleOp module,
                                  const std::string &target) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(manifest);
  llvm::json::Object entry;
  if (!parsed)
    llvm::consumeError(parsed.takeError());
  else if (llvm::json::Object *given = parsed->getAsObject())
    entry = std::move(*given);
  entry["signatures"] = describeSignatures(module, target);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(entry));
  return text;
}

static FailureOr<std::vector<uint8_t>> pack(target::ModuleOp module, const std::string &target,
                                            std::vector<rt::CodeImage> images,
                                            const std::string &manifest) {
  rt::Bundle bundle;
  bundle.manifest = withSignatures(manifest, module, target);
  bundle.images = std::move(images);
  for (auto program : module.getBody().getOps<target::ProgramOp>()) {
    FailureOr<rt::Program> written = makeProgram(program);
    if (failed(written))
      return failure();
    rt::FunctionEntry &function = bundle.functions.emplace_back(
        rt::FunctionEntry{program.getSymName().str(), 0, rt::encode(*written), {}});
    for (uint32_t i = 1; i < bundle.images.size(); ++i)
      function.more.push_back(i);
  }
  return rt::encode(bundle);
}

FailureOr<std::vector<uint8_t>> tessera::makeBundle(target::ModuleOp module,
                                                    const std::string &manifest) {
  FailureOr<cpu::Image> image = cpu::emitImage(module);
  if (failed(image))
    return failure();
  rt::CodeImage code;
  code.target = image->target;
  code.code = std::move(image->code);
  for (const cpu::Image::Kernel &kernel : image->kernels)
    code.kernels.push_back({kernel.name, kernel.offset, kernel.scratchBytes, {}});
  std::string target = code.target;
  return pack(module, target, {std::move(code)}, manifest);
}

FailureOr<std::vector<uint8_t>> tessera::makeBundle(target::ModuleOp module,
                                                    const std::string &target,
                                                    std::vector<Cubin> cubins,
                                                    const std::string &manifest) {
  std::vector<rt::CodeImage> images;
  for (auto [image, cubin] : llvm::zip_equal(module.getBody().getOps<target::ImageOp>(), cubins)) {
    rt::CodeImage &code = images.emplace_back();
    code.target = std::move(cubin.target);
    code.code = std::move(cubin.code);
    for (auto [i, name] : llvm::enumerate(image.getKernels().getAsRange<StringAttr>())) {
      target::KernelConfigAttr config = image.getConfig(i);
      rt::KernelShape launch;
      llvm::copy(config.getBlockSizes(), launch.block);
      llvm::copy(config.getClusterSizes(), launch.cluster);
      launch.sharedBytes = uint32_t(config.getShared());
      code.kernels.push_back({name.str(), 0, 0, launch});
    }
  }
  return pack(module, target, std::move(images), manifest);
}
