//===- ThreadKernels.cpp - Per-thread kernels of Target IR to an image ----===//
#include "GpuTarget.h"

#include "mlir/IR/Verifier.h"
#include "tessera/CodeGen/PTX/PTX.h"
#include "tessera/Conversion/TargetToLLVM/TargetToLLVM.h"

namespace tessera {

using namespace mlir;

LogicalResult assembleKernels(target::ModuleOp module, const GpuDescription &gpu,
                              int optimizationLevel) {
  auto kernels = module.getBody().getOps<target::KernelOp>();
  if (kernels.empty())
    return success();
  std::optional<GpuDescription> written = GpuDescription::from(module.getCpu().str());
  if (!written || written->chip != gpu.chip)
    return module.emitOpError("is for ") << module.getCpu() << ", but the target is " << gpu.chip;
  OwningOpRef<ModuleOp> functions(ModuleOp::create(module.getLoc()));
  FailureOr<unsigned> version = convertKernelsToLLVM(module, *functions);
  if (failed(version) || failed(verify(*functions)))
    return failure();
  ptx::PtxOptions options;
  options.version = std::max(gpu.ptxVersion, *version);
  options.optimizationLevel = optimizationLevel;
  FailureOr<std::string> text = ptx::compileToPtx(*functions, gpu, options);
  if (failed(text))
    return failure();

  SmallVector<Attribute> names, configs;
  for (auto kernel : llvm::make_early_inc_range(kernels)) {
    names.push_back(kernel.getSymNameAttr());
    configs.push_back(kernel.getKernelConfig());
    kernel.erase();
  }
  Builder builder(module.getContext());
  addImage(module, builder.getArrayAttr(names),
           {"ptx", ArrayRef<char>(text->data(), text->size()), builder.getArrayAttr(configs)});
  return success();
}

} // namespace tessera
