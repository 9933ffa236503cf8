//===- PTX.cpp - From kernels to PTX by LLVM ------------------------------===//
#include "tessera/CodeGen/PTX/PTX.h"
#include "tessera/CodeGen/LLVM/MachineCode.h"
#include "KernelEmitter.h"

#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "tessera/Conversion/TileToTarget/ArgumentWords.h"
#include "tessera/Dialect/Common/LaunchHints.h"
#include "llvm/IR/CallingConv.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;

static std::unique_ptr<llvm::TargetMachine> createMachine(const PtxOptions &options, std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions wanted;
  wanted.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, options.chip, "+ptx" + std::to_string(options.version), wanted,
                                  std::nullopt, std::nullopt, llvm::CodeGenOptLevel(options.optimizationLevel)));
}

/// The function of a kernel: one parameter of 64 bits for each word, and one for each tensor map.
static LLVM::LLVMFuncOp declareFunction(OpBuilder &builder, tile::KernelOp kernel) {
  bool isRow = getHint(kernel.getHintsAttr(), "persistent") || int64_t(kernel.getGridRank()) > launchAxes(kernel);
  unsigned words = 0;
  forEachWord(kernel, [&](WordRole role, unsigned, unsigned) { words += role != WordRole::Grid || isRow; });
  SmallVector<Type> types(words, builder.getI64Type());
  size_t maps = tensorMapsOf(kernel).size();
  types.append(maps, LLVM::LLVMPointerType::get(builder.getContext()));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), types);
  auto function = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), kernel.getSymName(), type);
  for (unsigned i = words; i < types.size(); ++i) {
    Type held = LLVM::LLVMArrayType::get(builder.getI8Type(), TensorMap::kBytes);
    function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(held));
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(TensorMap::kAlignment));
    function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
  }
  return function;
}

/// Makes the operations' places in the user's source lines of the code's line table.
static LogicalResult addLines(ModuleOp functions) {
  PassManager manager(functions.getContext());
  LLVM::DIScopeForLLVMFuncOpPassOptions options;
  options.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  manager.addPass(LLVM::createDIScopeForLLVMFuncOpPass(options));
  return manager.run(functions);
}

/// What LLVM makes of functions. `prepare` says what their translation does not.
static FailureOr<std::string> compile(ModuleOp functions, const PtxOptions &options,
                                      llvm::function_ref<void(llvm::Module &)> prepare) {
  if (options.lineInfo && failed(addLines(functions)))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(functions, llvmContext, "kernels");
  if (!translated)
    return functions.emitError("translation of the kernels to LLVM failed");
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(options, error);
  if (!machine)
    return functions.emitError("no code generator for PTX: ") << error;
  translated->setTargetTriple(machine->getTargetTriple());
  translated->setDataLayout(machine->createDataLayout());
  prepare(*translated);
  codegen::optimize(*translated, *machine);
  llvm::SmallVector<char> text;
  if (failed(codegen::emitMachineCode(*translated, *machine, /*assembly=*/true, text)))
    return functions.emitError("the code generator for PTX failed");
  return std::string(text.begin(), text.end());
}

/// Threads of a warp come together by what is written as text: LLVM may not put it behind a condition.
static void keepTogether(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm())
      call->setConvergent();
}

/// Whether threads part, to begin copies of rows, or groups of warps come together.
static bool hasBranches(tile::KernelOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return isa<tile::GatesOp, tile::SendOp, tile::MmaAsyncOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool hasProducts(tile::KernelOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return isa<tile::MmaOp, tile::MmaSharedOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

FailureOr<PtxModule> ptx::lowerToPtx(ModuleOp module, const PtxOptions &options) {
  MLIRContext *context = module.getContext();
  context->loadDialect<LLVM::LLVMDialect, scf::SCFDialect>();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  PtxModule result;
  OwningOpRef<ModuleOp> functions(ModuleOp::create(module.getLoc()));
  OpBuilder builder = OpBuilder::atBlockEnd(functions->getBody());
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    builder.setInsertionPointToEnd(functions->getBody());
    LLVM::LLVMFuncOp function = declareFunction(builder, kernel);
    // Loops of products step pointers, which takes fewer of the registers that their sums need.
    PtxOptions own = options;
    own.wideIndices |= hasProducts(kernel);
    KernelEmitter emitter(kernel, function, own);
    if (failed(emitter.run()))
      return failure();
    codegen::flatten(function.getBody());
    result.kernels.push_back({kernel.getSymName().str(), emitter.threads(), emitter.shared(), emitter.cluster()});
  }
  auto prepare = [&](llvm::Module &translated) {
    for (const PtxKernel &kernel : result.kernels) {
      llvm::Function *function = translated.getFunction(kernel.name);
      function->setCallingConv(llvm::CallingConv::PTX_Kernel);
      auto source = module.lookupSymbol<tile::KernelOp>(kernel.name);
      function->addFnAttr("nvvm.reqntid", std::to_string(kernel.threads));
      if (std::optional<int64_t> blocks = getHint(source.getHintsAttr(), "residents"))
        function->addFnAttr("nvvm.minctasm", std::to_string(*blocks));
      if (kernel.cluster > 1)
        function->addFnAttr("nvvm.cluster_dim", std::to_string(kernel.cluster) + ",1,1");
      function->addFnAttr(llvm::Attribute::NoUnwind);
      // Tensor maps stay where the launch has put them.
      for (llvm::Argument &argument : function->args())
        if (argument.hasByValAttr())
          argument.addAttr(llvm::Attribute::get(function->getContext(), "nvvm.grid_constant"));
      if (hasBranches(source) || kernel.cluster > 1)
        keepTogether(*function);
    }
  };
  PtxOptions wanted = options;
  // Stores that a barrier in another block's memory counts came with 8.1.
  if (llvm::any_of(result.kernels, [](const PtxKernel &kernel) { return kernel.cluster > 1; }))
    wanted.version = std::max(wanted.version, 81u);
  FailureOr<std::string> text = compile(*functions, wanted, prepare);
  if (failed(text))
    return failure();
  result.text = std::move(*text);
  return result;
}

FailureOr<std::string> ptx::compileToPtx(ModuleOp functions, const PtxOptions &options) {
  MLIRContext *context = functions.getContext();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  return compile(functions, options, [](llvm::Module &translated) { llvm::for_each(translated, keepTogether); });
}
