//===- Bundle.cpp - Target modules to bundles -----------------------------===//
#include "tessera/Bundle/Bundle.h"
#include "tessera/CodeGen/CPU/CPU.h"
#include "tessera_rt/bundle.h"

using namespace mlir;
using namespace tessera;

FailureOr<std::vector<uint8_t>> tessera::makeBundle(target::ModuleOp module,
                                                    const std::string &manifest) {
  rt::Bundle bundle;
  bundle.manifest = manifest;
  FailureOr<cpu::Image> image = cpu::emitImage(module);
  if (failed(image))
    return failure();
  rt::CodeImage code;
  code.target = image->target;
  code.code = std::move(image->code);
  for (const cpu::Image::Kernel &kernel : image->kernels)
    code.kernels.push_back({kernel.name, kernel.offset, kernel.scratchBytes, {}});
  bundle.images.push_back(std::move(code));
  for (auto program : module.getBody().getOps<target::ProgramOp>()) {
    FailureOr<rt::Program> written = makeProgram(program);
    if (failed(written))
      return failure();
    bundle.functions.push_back({program.getSymName().str(), 0, rt::encode(*written)});
  }
  return rt::encode(bundle);
}
