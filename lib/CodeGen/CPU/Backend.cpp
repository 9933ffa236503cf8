//===- Backend.cpp - From kernels to LLVM's modules -----------------------===//
#include "Backend.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <mutex>

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeAArch64TargetInfo();
void LLVMInitializeAArch64Target();
void LLVMInitializeAArch64TargetMC();
void LLVMInitializeAArch64AsmPrinter();
}

static constexpr StringRef kLevel = "tessera_target.optimization_level";
static constexpr StringRef kProfiling = "tessera_target.profiling";
static constexpr unsigned kUsualLevel = 2;

void cpu::setCodeOptions(target::ModuleOp module, unsigned optimizationLevel, bool profiling) {
  Builder builder(module.getContext());
  if (optimizationLevel < kUsualLevel)
    module->setAttr(kLevel, builder.getI64IntegerAttr(optimizationLevel));
  if (profiling)
    module->setAttr(kProfiling, builder.getUnitAttr());
}

static unsigned levelOf(target::ModuleOp module) {
  auto level = module->getAttrOfType<IntegerAttr>(kLevel);
  return level ? unsigned(level.getInt()) : kUsualLevel;
}

std::unique_ptr<llvm::TargetMachine> cpu::createTargetMachine(target::ModuleOp module) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
  std::string error;
  llvm::Triple triple(module.getTriple());
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    module.emitError("no code generator for '") << module.getTriple() << "': " << error;
    return nullptr;
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, module.getCpu(), module.getFeatures(), options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel(std::min(levelOf(module), kUsualLevel))));
}

/// Kernels become LLVM functions in a separate module.
static OwningOpRef<mlir::ModuleOp> makeFunctions(target::ModuleOp module) {
  MLIRContext *context = module.getContext();
  OwningOpRef<mlir::ModuleOp> result(mlir::ModuleOp::create(module.getLoc()));
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(result->getBody());
  Type pointer = LLVM::LLVMPointerType::get(context), integer = IntegerType::get(context, 64);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, integer, integer, pointer});
  for (auto kernel : module.getBody().getOps<target::KernelOp>()) {
    auto function = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), kernel.getSymName(), type);
    if (kernel->hasAttr(kOrdered))
      function.setTuneCpu("neoverse-n1");
    IRMapping mapping;
    kernel.getBody().cloneInto(&function.getBody(), mapping);
    function.walk([](target::ReturnOp op) {
      OpBuilder at(op);
      LLVM::ReturnOp::create(at, op.getLoc(), ValueRange());
      op.erase();
    });
  }

  result->walk([](LLVM::LLVMFuncOp function) { flatten(function.getBody()); });
  return result;
}

std::unique_ptr<llvm::Module> cpu::translateKernels(target::ModuleOp module,
                                                    llvm::LLVMContext &context,
                                                    llvm::TargetMachine &machine) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  for (auto kernel : module.getBody().getOps<target::KernelOp>())
    if (!kernel.getRangeConfig()) {
      kernel.emitOpError("expected a range_config for a CPU, got ") << kernel.getConfig();
      return nullptr;
    }
  OwningOpRef<mlir::ModuleOp> functions = makeFunctions(module);
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(*functions, context, module.getSymName());
  if (!translated) {
    module.emitError("translation of the kernels to LLVM failed");
    return nullptr;
  }
  translated->setTargetTriple(machine.getTargetTriple());
  translated->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *translated) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", module.getCpu());
    function.addFnAttr("target-features", module.getFeatures());
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("frame-pointer", module->hasAttr(kProfiling) ? "all" : "none");
    for (unsigned i : {0u, 3u}) {
      function.addParamAttr(i, llvm::Attribute::NoAlias);
      function.addParamAttr(i, llvm::Attribute::ReadOnly);
    }
  }
  return translated;
}
