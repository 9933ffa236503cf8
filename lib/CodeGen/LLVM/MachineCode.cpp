//===- MachineCode.cpp - A short LLVM pipeline, and machine code ----------===//
//
// Kernels are already vectorised, unrolled and blocked, so LLVM only cleans up and selects
// instructions: no loop vectoriser, no unrolling, no inlining. No pass knows any library function,
// so that none is ever called.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/LLVM/MachineCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace mlir;
using namespace tessera;

/// Rotates a loop: one test before the first iteration and one after each.
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

/// Inner operations become visible as their parents are lowered.
void codegen::flatten(Region &region) {
  for (auto block = region.begin(); block != region.end(); ++block)
    for (Operation &op : *block) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        flattenFor(loop);
        break; // the rest of this block was moved to a new one
      }
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        flattenIf(branch);
        break;
      }
    }
}

void codegen::optimize(llvm::Module &module, llvm::TargetMachine &machine) {
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

/// A vector in a register of its own, which no combination of operations sees through.
static llvm::Value *hidden(llvm::IRBuilder<> &builder, llvm::Value *vector) {
  llvm::Type *type = vector->getType();
  auto *none = llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "", "=x,0",
                                    /*hasSideEffects=*/false);
  return builder.CreateCall(none, {vector});
}

/// The same conversion, hidden in registers of `lanes` elements.
static llvm::Value *separated(llvm::FPExtInst &conversion, unsigned lanes) {
  auto *type = llvm::cast<llvm::FixedVectorType>(conversion.getType());
  llvm::IRBuilder<> builder(conversion.getNextNode());
  if (type->getNumElements() == lanes)
    return hidden(builder, &conversion);
  llvm::SmallVector<llvm::Value *> parts;
  for (unsigned first = 0; first < type->getNumElements(); first += lanes) {
    auto mask = llvm::to_vector(llvm::seq<int>(int(first), int(first + lanes)));
    llvm::Value *half = builder.CreateShuffleVector(conversion.getOperand(0), mask);
    auto *wide = llvm::FixedVectorType::get(type->getElementType(), lanes);
    parts.push_back(hidden(builder, builder.CreateFPExt(half, wide)));
  }
  return llvm::concatenateVectors(builder, parts);
}

/// Hides conversions of fp16 vectors from shuffles of their results. LLVM 22 interleaves the fp16
/// vectors instead (`unpack` of `vcvtph2ps`), but an `unpack` of 256 bits interleaves each half by
/// itself: the upper halves are lost.
static void separateHalfConversions(llvm::Module &module, const llvm::TargetMachine &machine) {
  if (!module.getTargetTriple().isX86())
    return;
  const llvm::MCSubtargetInfo &features = *machine.getMCSubtargetInfo();
  unsigned widest = features.checkFeatures("+avx512f") ? 16
                    : features.checkFeatures("+avx")   ? 8
                                                       : 0;
  llvm::SmallVector<llvm::FPExtInst *> conversions;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *conversion = llvm::dyn_cast<llvm::FPExtInst>(&instruction);
          conversion && conversion->getSrcTy()->getScalarType()->isHalfTy() &&
          conversion->getType()->getScalarType()->isFloatTy() &&
          llvm::any_of(conversion->users(), llvm::IsaPred<llvm::ShuffleVectorInst>))
        conversions.push_back(conversion);
  for (llvm::FPExtInst *conversion : conversions) {
    auto *type = llvm::dyn_cast<llvm::FixedVectorType>(conversion->getType());
    unsigned size = type ? type->getNumElements() : 0;
    unsigned lanes = size % 16 == 0 ? widest : std::min(widest, 8u);
    if (!lanes || size < 8 || size % lanes)
      continue; // an `unpack` of 128 bits interleaves the whole
    llvm::SmallVector<llvm::Use *> uses;
    for (llvm::Use &use : conversion->uses())
      if (llvm::isa<llvm::ShuffleVectorInst>(use.getUser()))
        uses.push_back(&use);
    llvm::Value *result = separated(*conversion, lanes);
    for (llvm::Use *use : uses)
      use->set(result);
  }
}

LogicalResult codegen::emitMachineCode(llvm::Module &module, llvm::TargetMachine &machine,
                                       bool assembly, llvm::SmallVectorImpl<char> &out) {
  separateHalfConversions(module, machine);
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
