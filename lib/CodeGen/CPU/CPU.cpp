//===- CPU.cpp - The CPU code generator's entry points --------------------===//
#include "tessera/CodeGen/CPU/CPU.h"
#include "Backend.h"
#include "KernelEmitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Conversion/TileToTarget/TileToTarget.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

CpuTarget cpu::targetOf(target::ModuleOp module) {
  return {module.getTriple().str(), module.getCpu().str(), module.getFeatures().str()};
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

/// The target, restricted by the numerics policies of the functions.
static CpuDescription describeFor(mlir::ModuleOp module, const CpuTarget &target) {
  CpuDescription description = target.describe();
  for (auto function : module.getOps<func::FuncOp>()) {
    auto hasOption = [&](StringRef name, StringRef value) {
      return gir::numericsOption(function, name) == value;
    };
    description.rowsAlone |= hasOption("batch_invariant", "true");
    description.usesReciprocals |= hasOption("fast_math", "true");
    // Which multiply-adds LLVM fuses depends on the surrounding code.
    if (hasOption("numerics", "strict") || hasOption("batch_invariant", "true"))
      description.fusesArithmetic = false;
  }
  return description;
}

static LogicalResult lowerKernels(mlir::ModuleOp module, target::ModuleOp result,
                                  const CpuDescription &description) {
  OpBuilder builder(module.getContext());
  for (auto kernel : llvm::make_early_inc_range(module.getOps<tile::KernelOp>())) {
    Plan plan(kernel, description);
    if (failed(plan.build()))
      return failure();
    Extents extents(kernel, description);
    builder.setInsertionPointToEnd(&result.getBody().front());
    if (failed(KernelEmitter(kernel, description, plan, extents, builder).run()))
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
  CpuDescription description = describeFor(module, target); // before the functions are erased
  return failure(failed(convertHostFunctions(module, result)) ||
                 failed(lowerKernels(module, result, description)));
}

LogicalResult cpu::printPlans(mlir::ModuleOp module, const CpuTarget &target,
                              llvm::raw_ostream &os) {
  CpuDescription description = describeFor(module, target);
  // Planning changes kernels.
  OwningOpRef<mlir::ModuleOp> copy(module.clone());
  for (auto kernel : copy->getOps<tile::KernelOp>()) {
    Plan plan(kernel, description);
    if (failed(plan.build()))
      return failure();
    plan.print(os);
    Extents(kernel, description).print(kernel, os);
  }
  return success();
}

namespace {
/// Returns the LLVM module of the kernels and its target machine; null after an error.
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
