//===- TargetToLLVM.cpp - Per-thread GPU kernels to LLVM ------------------===//
//
// Copies each kernel into an LLVM function, lowers the operations of tessera_target by
// ThreadLowering, and converts scf and arith by the patterns of MLIR.
//
//===----------------------------------------------------------------------===//
#include "tessera/Conversion/TargetToLLVM/TargetToLLVM.h"
#include "ThreadLowering.h"
#include "tessera/Conversion/TargetToLLVM/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace tessera {

#define GEN_PASS_DEF_CONVERTTARGETTOLLVM
#include "tessera/Conversion/TargetToLLVM/Passes.h.inc"

/// Converts a word to the type of a kernel argument.
static Value fromWord(OpBuilder &builder, Location loc, Value word, Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return LLVM::IntToPtrOp::create(builder, loc, type, word);
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits < 64)
    word = LLVM::TruncOp::create(builder, loc, builder.getIntegerType(bits), word);
  return word.getType() == type ? word : LLVM::BitcastOp::create(builder, loc, type, word);
}

/// Creates a function with a copy of the kernel's operations, and with its configuration as LLVM
/// attributes.
static LLVM::LLVMFuncOp makeFunction(target::KernelOp kernel, ModuleOp functions) {
  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(functions.getBody());
  Block &body = kernel.getBody().front();
  SmallVector<Type> words(body.getNumArguments(), builder.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), words);
  auto function = LLVM::LLVMFuncOp::create(builder, loc, kernel.getSymName(), type);
  function.setCConv(LLVM::CConv::PTX_Kernel);

  target::KernelConfigAttr config = kernel.getKernelConfig();
  SmallVector<Attribute> attributes = {builder.getStringAttr("nounwind")};
  auto add = [&](StringRef name, std::string value) {
    attributes.push_back(builder.getStrArrayAttr({name, value}));
  };
  auto three = [](std::array<int64_t, 3> sizes) {
    return std::to_string(sizes[0]) + "," + std::to_string(sizes[1]) + "," +
           std::to_string(sizes[2]);
  };
  add("nvvm.reqntid", three(config.getBlockSizes()));
  if (config.getRegs())
    add("nvvm.maxnreg", std::to_string(config.getRegs()));
  if (config.getClusterBlocks() > 1)
    add("nvvm.cluster_dim", three(config.getClusterSizes()));
  function.setPassthroughAttr(builder.getArrayAttr(attributes));

  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToEnd(entry);
  IRMapping mapping;
  for (auto [argument, word] : llvm::zip(body.getArguments(), entry->getArguments()))
    mapping.map(argument, fromWord(builder, loc, word, argument.getType()));
  for (Operation &op : body)
    builder.clone(op, mapping);
  return function;
}

/// Lowers scf to branches, then arith and branches to LLVM.
static LogicalResult lowerScalars(ModuleOp functions) {
  MLIRContext *context = functions.getContext();
  {
    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    ConversionTarget target(*context);
    target.addIllegalOp<scf::ForOp, scf::IfOp, scf::WhileOp, scf::ExecuteRegionOp,
                        scf::IndexSwitchOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(functions, target, std::move(patterns))))
      return failure();
  }
  LLVMTypeConverter converter(context);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  ConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect>();
  target.addLegalOp<ModuleOp>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return false; });
  return applyFullConversion(functions, target, std::move(patterns));
}

FailureOr<unsigned> convertKernelsToLLVM(target::ModuleOp module, ModuleOp functions) {
  module.getContext()
      ->loadDialect<LLVM::LLVMDialect, scf::SCFDialect, arith::ArithDialect,
                    cf::ControlFlowDialect>();
  unsigned version = 0;
  for (auto kernel : module.getBody().getOps<target::KernelOp>()) {
    if (!kernel.getKernelConfig())
      return kernel.emitOpError("expected a kernel_config for a GPU, got ") << kernel.getConfig();
    WalkResult known = kernel.walk([](Operation *op) {
      if (isa<target::TargetDialect, LLVM::LLVMDialect, scf::SCFDialect, arith::ArithDialect>(
              op->getDialect()))
        return WalkResult::advance();
      op->emitOpError(
          "is not part of a kernel for a GPU; expected arith, scf, llvm or tessera_target");
      return WalkResult::interrupt();
    });
    if (known.wasInterrupted())
      return failure();
    ThreadLowering lowering(kernel, makeFunction(kernel, functions), functions);
    lowering.run();
    version = std::max(version, lowering.getPtxVersion());
  }
  if (failed(lowerScalars(functions)))
    return failure();
  return version;
}

namespace {
struct ConvertTargetToLLVM : impl::ConvertTargetToLLVMBase<ConvertTargetToLLVM> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<LLVM::LLVMDialect, scf::SCFDialect, arith::ArithDialect, cf::ControlFlowDialect>();
  }

  void runOnOperation() override {
    for (auto module : getOperation().getOps<target::ModuleOp>()) {
      OwningOpRef<ModuleOp> functions(ModuleOp::create(module.getLoc()));
      if (failed(convertKernelsToLLVM(module, *functions)))
        return signalPassFailure();
      for (auto kernel : llvm::make_early_inc_range(module.getBody().getOps<target::KernelOp>()))
        kernel.erase();
      Block *body = getOperation().getBody();
      body->getOperations().splice(body->end(), functions->getBody()->getOperations());
    }
  }
};
} // namespace

} // namespace tessera
