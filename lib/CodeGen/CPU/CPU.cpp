//===- CPU.cpp - The CPU code generator's entry points --------------------===//
#include "tessera/CodeGen/CPU/CPU.h"
#include "Backend.h"
#include "KernelEmitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Conversion/TileToTarget/TileToTarget.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera_rt/target.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <map>

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

CpuTarget CpuTarget::host() {
  CpuTarget target;
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  std::map<std::string, bool> has;
  for (auto &feature : llvm::sys::getHostCPUFeatures())
    has[feature.first().str()] = feature.second;
  // LLVM takes some from the processor's name: a virtual machine may hide them, and an operating system keep them back.
  for (auto [name, isThere] : rt::hostFeatures())
    has[std::string(name)] = isThere;
  std::vector<std::string> features;
  for (const auto &[name, isThere] : has)
    features.push_back((isThere ? "+" : "-") + name);
  target.features = llvm::join(features, ",");
  return target;
}

std::optional<CpuTarget> CpuTarget::baseline(StringRef name) {
  std::string x86 = "x86_64-unknown-linux-gnu", arm = "aarch64-unknown-linux-gnu";
  std::string v2 = "+sse4.2,+ssse3,+popcnt,+cx16,+sahf";
  std::string v3 = v2 + ",+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave";
  std::string v4 = v3 + ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl";
  if (name == "x86-64-v2")
    return CpuTarget{x86, "x86-64-v2", v2};
  if (name == "x86-64-v3")
    return CpuTarget{x86, "x86-64-v3", v3};
  if (name == "x86-64-v4")
    return CpuTarget{x86, "x86-64-v4", v4};
  if (name == "aarch64")
    return CpuTarget{arm, "generic", "+neon"};
  return std::nullopt;
}

CpuTarget CpuTarget::of(target::ModuleOp module) {
  return {module.getTriple().str(), module.getCpu().str(), module.getFeatures().str()};
}

static std::set<std::string> enabledFeatures(StringRef text) {
  std::set<std::string> enabled;
  SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (part.consume_front("+"))
      enabled.insert(part.str());
  return enabled;
}

CpuDescription CpuTarget::describe() const {
  return CpuDescription::from(llvm::Triple(triple).getArchName().str(), enabledFeatures(features));
}

std::string CpuTarget::runtimeTarget() const {
  std::vector<std::string> compared;
  for (const std::string &feature : enabledFeatures(features))
    if (rt::knowsFeature(feature))
      compared.push_back(feature);
  return llvm::Triple(triple).getArchName().str() + ":" + llvm::join(compared, ",");
}

static target::ModuleOp createModule(mlir::ModuleOp module, const CpuTarget &target) {
  module.getContext()->loadDialect<target::TargetDialect, LLVM::LLVMDialect, scf::SCFDialect>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto result =
      target::ModuleOp::create(builder, module.getLoc(), module.getSymName().value_or("kernels"),
                               target.triple, target.cpu, target.features);
  builder.createBlock(&result.getBody());
  return result;
}

/// The machine as the functions' numerics policies let it be used.
static CpuDescription describeFor(mlir::ModuleOp module, const CpuTarget &target) {
  CpuDescription description = target.describe();
  for (auto function : module.getOps<func::FuncOp>()) {
    auto says = [&](StringRef name, StringRef value) {
      return gir::numericsOption(function, name) == value;
    };
    description.rowsAlone |= says("batch_invariant", "true");
    description.usesReciprocals |= says("fast_math", "true");
    // Which products are fused depends on the code around them.
    if (says("numerics", "strict") || says("batch_invariant", "true"))
      description.fusesArithmetic = false;
  }
  return description;
}

static LogicalResult lowerKernels(mlir::ModuleOp module, target::ModuleOp result,
                                  const CpuDescription &description) {
  OpBuilder builder(module.getContext());
  for (auto kernel : llvm::make_early_inc_range(module.getOps<tile::KernelOp>())) {
    builder.setInsertionPointToEnd(&result.getBody().front());
    KernelEmitter emitter(kernel, description, builder);
    if (failed(emitter.run()))
      return failure();
    kernel.erase();
  }
  return success();
}

FailureOr<target::ModuleOp> cpu::lowerKernelsToCpu(mlir::ModuleOp module, const CpuTarget &target) {
  target::ModuleOp result = createModule(module, target);
  if (failed(lowerKernels(module, result, describeFor(module, target))))
    return failure();
  return result;
}

LogicalResult cpu::lowerTileToCpu(mlir::ModuleOp module, const CpuTarget &target) {
  target::ModuleOp result = createModule(module, target);
  CpuDescription description = describeFor(module, target); // before the functions are gone
  return failure(failed(convertHostFunctions(module, result)) ||
                 failed(lowerKernels(module, result, description)));
}

namespace {
/// A module's kernels as LLVM has them, and the machine that they are for; null after an error.
struct Translation {
  explicit Translation(target::ModuleOp module)
      : machine(createTargetMachine(module)),
        kernels(machine ? translateKernels(module, context, *machine) : nullptr) {}

  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> kernels;
};
} // namespace

FailureOr<Image> cpu::emitImage(target::ModuleOp module) {
  Translation translated(module);
  if (!translated.kernels)
    return failure();
  optimize(*translated.kernels, *translated.machine);
  llvm::SmallVector<char, 0> object;
  if (failed(emitMachineCode(*translated.kernels, *translated.machine, /*assembly=*/false, object)))
    return failure();
  return linkImage(module, object);
}

FailureOr<std::string> cpu::emitText(target::ModuleOp module, TextForm form) {
  Translation translated(module);
  if (!translated.kernels)
    return failure();
  std::string text;
  if (form != TextForm::LLVM)
    optimize(*translated.kernels, *translated.machine);
  if (form == TextForm::Assembly) {
    llvm::SmallVector<char, 0> out;
    if (failed(emitMachineCode(*translated.kernels, *translated.machine, /*assembly=*/true, out)))
      return failure();
    text.assign(out.begin(), out.end());
    return text;
  }
  llvm::raw_string_ostream stream(text);
  translated.kernels->print(stream, nullptr);
  return text;
}
