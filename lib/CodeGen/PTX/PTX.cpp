//===- PTX.cpp - Kernels to PTX through LLVM ------------------------------===//
#include "tessera/CodeGen/PTX/PTX.h"
#include "HighProducts.h"
#include "KernelEmitter.h"
#include "tessera/CodeGen/LLVM/MachineCode.h"

#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "tessera/Conversion/TileToTarget/ArgumentWords.h"
#include "tessera/Dialect/Common/ModuleTarget.h"
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

static std::unique_ptr<llvm::TargetMachine>
createMachine(const GpuDescription &gpu, const PtxOptions &options, std::string &error) {
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
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, gpu.ptxChip, "+ptx" + std::to_string(options.version), wanted, std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel(options.optimizationLevel)));
}

/// Declares the function of a kernel: a 64-bit parameter per word, then one per tensor map.
static LLVM::LLVMFuncOp declareFunction(OpBuilder &builder, tile::KernelOp kernel) {
  bool isRow = kernel.getField(LaunchField::PersistentCtas) ||
               int64_t(kernel.getGridRank()) > launchAxes(kernel);
  unsigned words = 0;
  forEachWord(kernel,
              [&](WordRole role, unsigned, unsigned) { words += role != WordRole::Grid || isRow; });
  SmallVector<Type> types(words, builder.getI64Type());
  size_t maps = tensorMapsOf(kernel).size();
  types.append(maps, LLVM::LLVMPointerType::get(builder.getContext()));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), types);
  auto function = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), kernel.getSymName(), type);
  for (unsigned i = words; i < types.size(); ++i) {
    Type held = LLVM::LLVMArrayType::get(builder.getI8Type(), TensorMap::kBytes);
    function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(held));
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(TensorMap::kAlignment));
    function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
  }
  return function;
}

/// Puts the source locations of the operations into the line table.
static LogicalResult addLines(ModuleOp functions) {
  PassManager manager(functions.getContext());
  LLVM::DIScopeForLLVMFuncOpPassOptions options;
  options.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  manager.addPass(LLVM::createDIScopeForLLVMFuncOpPass(options));
  return manager.run(functions);
}

/// Compiles functions by LLVM. `prepare` adds the attributes that the translation lacks.
static FailureOr<std::string> compile(ModuleOp functions, const GpuDescription &gpu,
                                      const PtxOptions &options,
                                      llvm::function_ref<void(llvm::Module &)> prepare) {
  if (options.lineInfo && failed(addLines(functions)))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(functions, llvmContext, "kernels");
  if (!translated)
    return functions.emitError("translation of the kernels to LLVM failed");
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(gpu, options, error);
  if (!machine)
    return functions.emitError("no code generator for PTX: ") << error;
  translated->setTargetTriple(machine->getTargetTriple());
  translated->setDataLayout(machine->createDataLayout());
  prepare(*translated);
  codegen::optimize(*translated, *machine);
  llvm::SmallVector<char> text;
  if (failed(codegen::emitMachineCode(*translated, *machine, /*assembly=*/true, text)))
    return functions.emitError("the code generator for PTX failed");
  return rewriteHighProducts(std::string(text.begin(), text.end()));
}

/// Inline assembly synchronizes the threads of a warp, so LLVM may not move it into a branch.
static void markConvergent(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm())
      call->setConvergent();
}

/// Whether threads diverge to issue bulk copies, or warpgroups synchronize.
static bool hasBranches(tile::KernelOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return isa<tile::MbarrierAllocOp, tile::BulkStoreOp, tile::WgmmaOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool hasMma(tile::KernelOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return isa<tile::MmaOp, tile::MmaSharedOp>(op) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether a kernel's parameters may have more bytes than all versions of PTX allow.
static bool mayExceedParameters(LLVM::LLVMFuncOp function) {
  constexpr uint64_t mostBytes = 4352, numberBytes = 8, tensorMapBytes = 128;
  uint64_t bytes = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    bool isTensorMap = function.getArgAttr(i, LLVM::LLVMDialect::getByValAttrName()) != nullptr;
    bytes += isTensorMap ? tensorMapBytes : numberBytes;
  }
  return bytes > mostBytes;
}

FailureOr<PtxModule> ptx::lowerToPtx(ModuleOp module, const PtxOptions &options) {
  MLIRContext *context = module.getContext();
  context->loadDialect<LLVM::LLVMDialect, scf::SCFDialect>();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  FailureOr<GpuDescription> gpu = gpuOf(module);
  if (failed(gpu))
    return failure();
  PtxModule result;
  OwningOpRef<ModuleOp> functions(ModuleOp::create(module.getLoc()));
  OpBuilder builder = OpBuilder::atBlockEnd(functions->getBody());
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    builder.setInsertionPointToEnd(functions->getBody());
    LLVM::LLVMFuncOp function = declareFunction(builder, kernel);
    // Wide indices let MMA loops increment pointers, which leaves more registers to accumulators.
    PtxOptions own = options;
    own.wideIndices |= hasMma(kernel);
    KernelEmitter emitter(kernel, function, own, *gpu);
    if (failed(emitter.run()))
      return failure();
    codegen::flatten(function.getBody());
    result.kernels.push_back(
        {kernel.getSymName().str(), emitter.threads(), emitter.shared(), emitter.clusterSize()});
  }
  auto prepare = [&](llvm::Module &translated) {
    for (const PtxKernel &kernel : result.kernels) {
      llvm::Function *function = translated.getFunction(kernel.name);
      function->setCallingConv(llvm::CallingConv::PTX_Kernel);
      auto source = module.lookupSymbol<tile::KernelOp>(kernel.name);
      function->addFnAttr("nvvm.reqntid", std::to_string(kernel.threads));
      if (std::optional<int64_t> ctas = source.getField(TuningField::MinCtasPerSm))
        function->addFnAttr("nvvm.minctasm", std::to_string(*ctas));
      if (kernel.cluster > 1)
        function->addFnAttr("nvvm.cluster_dim", std::to_string(kernel.cluster) + ",1,1");
      function->addFnAttr(llvm::Attribute::NoUnwind);
      // Tensor maps are read in place.
      for (llvm::Argument &argument : function->args())
        if (argument.hasByValAttr())
          argument.addAttr(llvm::Attribute::get(function->getContext(), "nvvm.grid_constant"));
      if (hasBranches(source) || kernel.cluster > 1)
        markConvergent(*function);
    }
  };
  PtxOptions wanted = options;
  if (!wanted.version)
    wanted.version = gpu->ptxVersion;
  // PTX 8.1 introduced st.async, and more than 4352 bytes of parameters.
  if (llvm::any_of(functions->getOps<LLVM::LLVMFuncOp>(), mayExceedParameters) ||
      llvm::any_of(result.kernels, [](const PtxKernel &kernel) { return kernel.cluster > 1; }))
    wanted.version = std::max(wanted.version, 81u);
  FailureOr<std::string> text = compile(*functions, *gpu, wanted, prepare);
  if (failed(text))
    return failure();
  result.text = std::move(*text);
  return result;
}

FailureOr<std::string> ptx::compileToPtx(ModuleOp functions, const GpuDescription &gpu,
                                         const PtxOptions &options) {
  MLIRContext *context = functions.getContext();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  return compile(functions, gpu, options,
                 [](llvm::Module &translated) { llvm::for_each(translated, markConvergent); });
}
