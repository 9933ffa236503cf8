//===- CpuBackend.cpp - The last stages for CPUs --------------------------===//
#include "Backend.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Bundle/Bundle.h"
#include "tessera/CodeGen/CPU/CPU.h"
#include "tessera/CodeGen/CPU/Passes.h"
#include "tessera/CostModel/MachineModels.h"
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "tessera/Pipeline/Passes.h"

#include <thread>

namespace tessera {

using namespace mlir;
using llvm::StringRef;

namespace {

class CpuBackend final : public Backend {
public:
  explicit CpuBackend(CpuTarget target) : target(std::move(target)) {}

  std::string name() const override { return target.runtimeTarget(); }

  bool hasStage(Stage stage) const override { return stage == Stage::LLVM || stage == Stage::Asm; }

  Roofline roofline() const override {
    return Roofline::ofCpu(target.describe(), std::max(1u, std::thread::hardware_concurrency()));
  }

  std::string specification() const override { return target.specification(); }

  MachineModel machine() const override {
    return machineModel(target.describe(), configuredCores());
  }

  void addLoweringPasses(OpPassManager &manager) const override {
    manager.addPass(createAttachTarget({.chip = specification()}));
    manager.addPass(tile::createTileLowerOnlineUpdate());
    manager.addPass(tile::createTileExpandSorts());
    manager.addPass(tile::createTileFastMath());
    manager.addPass(tile::createTileExpandMath());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    manager.addPass(cpu::createConvertTileToCpu({.target = target.specification()}));
  }

protected:
  LogicalResult lower(ModuleOp module) const override {
    module->removeAttr(kTargetAttr); // the target module has its own
    for (auto made : module.getOps<target::ModuleOp>())
      cpu::setCodeOptions(made, codeOptions.optimizationLevel, codeOptions.profiling);
    return success();
  }

  LogicalResult emit(Compilation &compilation, target::ModuleOp module, Stage last) const override {
    // The stages below Target IR are text of LLVM's, made only when they are wanted.
    for (auto [stage, form] : {std::pair(Stage::LLVM, cpu::TextForm::OptimizedLLVM),
                               std::pair(Stage::Asm, cpu::TextForm::Assembly)}) {
      if (!compilation.wantsText(stage))
        continue;
      FailureOr<std::string> text = cpu::emitText(module, form);
      if (failed(text))
        return failure();
      compilation.result.texts[stage] = std::move(*text);
    }
    if (last != Stage::Bundle)
      return success();
    FailureOr<std::vector<uint8_t>> bundle = makeBundle(module, compilation.manifest());
    if (failed(bundle))
      return failure();
    compilation.result.bundle = std::move(*bundle);
    return success();
  }

private:
  CpuTarget target;
};

} // namespace

std::unique_ptr<Backend> createCpuBackend(const std::string &name, const CodeOptions &options) {
  std::optional<CpuTarget> target = CpuTarget::parse(name);
  if (!target)
    return nullptr;
  return std::make_unique<CpuBackend>(options.tensorCores ? *target
                                                          : target->withoutMatrixInstructions());
}

} // namespace tessera
