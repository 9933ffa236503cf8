//===- CPU.cpp - The CPU code generator's entry points --------------------===//
#include "tessera/CodeGen/CPU/CPU.h"
#include "Backend.h"
#include "KernelEmitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Conversion/TileToTarget/TileToTarget.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

/// Whether the operating system lets this process use a feature: Linux gives the tile registers
/// only to processes that ask for them.
static bool isGranted(StringRef feature) {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long archReqXcompPerm = 0x1023, xfeatureTileData = 18;
  if (feature.starts_with("amx-")) {
    static const bool granted = syscall(SYS_arch_prctl, archReqXcompPerm, xfeatureTileData) == 0;
    return granted;
  }
#endif
  return true;
}

/// What LLVM does not tell of the host: it asks the processor's name for it, and a virtual machine may hide features.
static std::vector<std::string> furtherFeatures() {
  std::vector<std::string> result;
#if defined(__aarch64__) && defined(__linux__)
  struct Feature {
    const char *name;
    unsigned long type;
    int bit;
  };
  for (auto [name, type, bit] : {Feature{"fullfp16", AT_HWCAP, 10}, Feature{"rdm", AT_HWCAP, 12},
                                 Feature{"dotprod", AT_HWCAP, 20}, Feature{"i8mm", AT_HWCAP2, 13},
                                 Feature{"bf16", AT_HWCAP2, 14}})
    result.push_back((getauxval(type) >> bit & 1 ? "+" : "-") + std::string(name));
#endif
  return result;
}

CpuTarget CpuTarget::host() {
  CpuTarget target;
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  std::vector<std::string> features = furtherFeatures();
  for (auto &feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second && isGranted(feature.first()) ? "+" : "-") +
                       feature.first().str());
  llvm::sort(features);
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

/// The features that the runtime tells apart (HostTarget.cpp there): those that kernels can be
/// better or worse for.
static bool isComparedByRuntime(StringRef feature) {
  static const llvm::StringSet<> names = {
      "sse3",       "ssse3",       "fma",        "sse4.1",     "sse4.2",       "movbe",
      "popcnt",     "avx",         "f16c",       "bmi",        "avx2",         "bmi2",
      "avx512f",    "avx512dq",    "avx512ifma", "avx512cd",   "avx512bw",     "avx512vl",
      "avx512vbmi", "avx512vbmi2", "gfni",       "avx512vnni", "avx512bitalg", "avx512vpopcntdq",
      "avx512fp16", "avxvnni",     "avx512bf16", "avxifma",    "lzcnt",        "fp-armv8",
      "amx-tile",   "amx-bf16",
      "neon",       "crc",         "lse",        "fullfp16",   "rdm",          "jsconv",
      "complxnum",  "dotprod",     "sve",        "fp16fml",    "sve2",         "i8mm",
      "bf16"};
  return names.contains(feature);
}

std::string CpuTarget::runtimeTarget() const {
  std::vector<std::string> compared;
  for (const std::string &feature : enabledFeatures(features))
    if (isComparedByRuntime(feature))
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

FailureOr<Image> cpu::emitImage(target::ModuleOp module) {
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(module);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated = translateKernels(module, context, *machine);
  if (!translated)
    return failure();
  optimize(*translated, *machine);
  llvm::SmallVector<char, 0> object;
  if (failed(emitMachineCode(*translated, *machine, /*assembly=*/false, object)))
    return failure();
  return linkImage(module, object);
}

FailureOr<std::string> cpu::emitText(target::ModuleOp module, TextForm form) {
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(module);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated = translateKernels(module, context, *machine);
  if (!translated)
    return failure();
  std::string text;
  if (form != TextForm::LLVM)
    optimize(*translated, *machine);
  if (form == TextForm::Assembly) {
    llvm::SmallVector<char, 0> out;
    if (failed(emitMachineCode(*translated, *machine, /*assembly=*/true, out)))
      return failure();
    text.assign(out.begin(), out.end());
    return text;
  }
  llvm::raw_string_ostream stream(text);
  translated->print(stream, nullptr);
  return text;
}
