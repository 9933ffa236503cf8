//===- Backend.cpp - LLVM: translation, a short pipeline, machine code ----===//
//
// The kernels come vectorised, unrolled and blocked, so LLVM is asked only to clean up and to
// select instructions: no loop vectoriser, no unrolling, no inlining. No library function is known
// to any pass, so that none is ever called.
//
//===----------------------------------------------------------------------===//
#include "Backend.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

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

/// Rewrites a loop to its rotated form: a test before the first iteration and one after each.
static void flattenFor(scf::ForOp op) {
  Block *before = op->getBlock(), *after = before->splitBlock(op), *body = op.getBody();
  Location loc = op.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(before);
  for (Value result : op.getResults())
    result.replaceAllUsesWith(after->addArgument(result.getType(), loc));
  auto enter = [&](Value index, ValueRange carried) {
    SmallVector<Value> next{index};
    llvm::append_range(next, carried);
    Value more =
        LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, index, op.getUpperBound());
    LLVM::CondBrOp::create(builder, loc, more, body, next, after, carried);
  };
  enter(op.getLowerBound(), op.getInitArgs());
  auto yield = cast<scf::YieldOp>(body->getTerminator());
  builder.setInsertionPoint(yield);
  enter(LLVM::AddOp::create(builder, loc, op.getInductionVar(), op.getStep(),
                            LLVM::IntegerOverflowFlags::nsw),
        yield.getOperands());
  yield.erase();
  before->getParent()->getBlocks().splice(after->getIterator(), op.getRegion().getBlocks());
  op.erase();
}

static void flattenIf(scf::IfOp op) {
  Block *before = op->getBlock(), *after = before->splitBlock(op);
  Location loc = op.getLoc();
  for (Value result : op.getResults())
    result.replaceAllUsesWith(after->addArgument(result.getType(), loc));
  Block *then = &op.getThenRegion().front(), *otherwise = after;
  if (!op.getElseRegion().empty())
    otherwise = &op.getElseRegion().front();
  OpBuilder builder = OpBuilder::atBlockEnd(before);
  LLVM::CondBrOp::create(builder, loc, op.getCondition(), then, otherwise);
  for (Region &region : op->getRegions()) {
    if (region.empty())
      continue;
    auto yield = cast<scf::YieldOp>(region.front().getTerminator());
    builder.setInsertionPoint(yield);
    LLVM::BrOp::create(builder, loc, yield.getOperands(), after);
    yield.erase();
    before->getParent()->getBlocks().splice(after->getIterator(), region.getBlocks());
  }
  op.erase();
}

/// Structured control flow becomes branches; inner operations come to light as their parents are
/// opened.
static void flatten(Region &region) {
  for (auto block = region.begin(); block != region.end(); ++block)
    for (Operation &op : *block) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        flattenFor(loop);
        break; // the rest of this block is a later one now
      }
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        flattenIf(branch);
        break;
      }
    }
}

/// Kernels become LLVM functions in a module of their own.
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

void cpu::optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  if (machine.getOptLevel() == llvm::CodeGenOptLevel::None)
    return;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  llvm::TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(graph);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, graph, modules);

  llvm::FunctionPassManager pipeline;
  pipeline.addPass(llvm::EarlyCSEPass());
  pipeline.addPass(llvm::InstCombinePass());
  pipeline.addPass(llvm::SimplifyCFGPass());
  llvm::LICMOptions hoist;
  pipeline.addPass(
      llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(hoist), /*UseMemorySSA=*/true));
  pipeline.addPass(llvm::EarlyCSEPass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      pipeline.run(function, functions);
}

LogicalResult cpu::emitMachineCode(llvm::Module &module, llvm::TargetMachine &machine,
                                   bool assembly, llvm::SmallVectorImpl<char> &out) {
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  auto kind = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, kind))
    return failure();
  passes.run(module);
  return success();
}
