//===- CpuBackend.cpp - The last stages for CPUs --------------------------===//
#include "Backend.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Bundle/Bundle.h"
#include "tessera/CodeGen/CPU/CPU.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "llvm/TargetParser/Triple.h"

#include <thread>
#include <unistd.h>

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

namespace {

class CpuBackend final : public Backend {
public:
  explicit CpuBackend(cpu::CpuTarget target) : target(std::move(target)) {}

  std::string name() const override { return target.runtimeTarget(); }

  bool hasStage(Stage stage) const override { return stage == Stage::LLVM || stage == Stage::Asm; }

  Ceilings ceilings() const override {
    return Ceilings::ofCpu(target.describe(), std::max(1u, std::thread::hardware_concurrency()));
  }

  MachineModel machine() const override {
    CpuDescription description = target.describe();
    MachineModel machine;
    // All that the machine has, not those that this process may use: how sums are split must not
    // depend on who compiles, or results would.
    machine.cores = std::max(1l, sysconf(_SC_NPROCESSORS_CONF));
    machine.vectorBytes = description.vectorBytes;
    machine.l1Bytes = description.l1Bytes;
    machine.l2Bytes = description.l2Bytes;
    machine.interleavesRows = description.multipliesByLane;
    if (description.hasTileUnit)
      std::tie(machine.blockRows, machine.blockDepth) =
          std::pair(CpuDescription::tileUnitRows, CpuDescription::tileUnitDepth);
    machine.detectsStreams = description.detectsStreams;
    return machine;
  }

protected:
  LogicalResult lower(ModuleOp module) const override {
    PassManager manager(module.getContext());
    tile::TileExpandMathOptions expand;
    // Within 2^-13, whatever the argument: less than what a rounding to either type loses.
    tile::TileRelaxMathOptions relax;
    relax.types = {"bf16", "f16"};
    relax.operations = {"exp", "exp2", "sigmoid", "silu", "gelu_erf", "gelu_tanh", "tanh", "erf"};
    CpuDescription description = target.describe();
    if (description.hasEstimates) {
      relax.operations.insert(relax.operations.end(), {"sqrt", "rsqrt", "reciprocal"});
      relax.exclusive = true; // weights of streams are marked, which other machines compute to the last digits
      manager.addPass(tile::createTileRelaxMath(relax));
      expand.quick = {"exp2", "reciprocal", "rsqrt"};
    } else if (description.arch == CpuDescription::Arch::AArch64) {
      relax.weights = true;
      manager.addPass(tile::createTileRelaxMath(relax));
      expand.quick = {"exp2", "reciprocal"};
    }
    manager.addPass(tile::createTileExpandMath(expand));
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    if (failed(manager.run(module)))
      return failure();
    if (failed(cpu::lowerTileToCpu(module, target)))
      return failure();
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
  cpu::CpuTarget target;
};

} // namespace

/// The target without the tile unit (AMX) or products of pairs (bf16 on AArch64), which are to a CPU what tensor
/// cores are to a GPU.
static cpu::CpuTarget withoutMatrixUnits(cpu::CpuTarget target) {
  llvm::SmallVector<StringRef> features, dropped = {"bf16"};
  if (llvm::Triple(target.triple).isX86())
    dropped = {"amx-tile", "amx-bf16", "amx-fp16", "amx-int8"};
  StringRef(target.features).split(features, ',', -1, /*KeepEmpty=*/false);
  std::string kept;
  for (StringRef feature : features)
    if (!feature.starts_with("+amx-") && !llvm::is_contained(dropped, feature.drop_front()))
      kept += feature.str() + ",";
  for (StringRef feature : dropped)
    kept += "-" + feature.str() + ",";
  kept.pop_back();
  target.features = std::move(kept);
  return target;
}

static std::optional<cpu::CpuTarget> targetOf(const std::string &name) {
  if (name == "cpu")
    return cpu::CpuTarget::host();
  if (std::optional<cpu::CpuTarget> baseline = cpu::CpuTarget::baseline(name))
    return baseline;
  return explicitTarget(name);
}

std::unique_ptr<Backend> createCpuBackend(const std::string &name, const CodeOptions &options) {
  std::optional<cpu::CpuTarget> target = targetOf(name);
  if (!target)
    return nullptr;
  return std::make_unique<CpuBackend>(options.tensorCores ? *target : withoutMatrixUnits(*target));
}

} // namespace tessera
