//===- Target.cpp - The tessera_target dialect ----------------------------===//
//
// Registration and verifiers: what is checked here is what the bundle writer and the code
// generators rely on.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Target/IR/Target.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "tessera/Support/GpuDescription.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

#include "tessera/Dialect/Target/IR/TargetDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Target/IR/TargetAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "tessera/Dialect/Target/IR/TargetOps.cpp.inc"

void TargetDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tessera/Dialect/Target/IR/TargetAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Target/IR/TargetOps.cpp.inc"
      >();
}

LogicalResult KernelConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                       int64_t gridRank, int64_t words, int64_t scratchBytes) {
  if (gridRank < 1 || gridRank > 3)
    return emitError() << "expected a grid rank of 1 to 3, got " << gridRank;
  if (words < 0 || scratchBytes < 0)
    return emitError() << "expected non-negative words and scratch bytes, got " << words << " and "
                       << scratchBytes;
  return success();
}

LogicalResult KernelShapeAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t block,
                                      int64_t sharedBytes, int64_t cluster) {
  if (block < 1 || block > 1024)
    return emitError() << "expected a block of 1 to 1024 threads, got " << block;
  if (sharedBytes < 0)
    return emitError() << "expected non-negative bytes of shared memory, got " << sharedBytes;
  if (cluster < 1 || cluster > 16)
    return emitError() << "expected a cluster of 1 to 16 blocks, got " << cluster;
  return success();
}

LogicalResult WordAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef kind,
                               int64_t operand, StringAttr expr) {
  if (kind != "address" && kind != "integer" && kind != "scalar")
    return emitError() << "expected a word of kind address, integer or scalar, got '" << kind
                       << "'";
  if (!SymExpr::parse(expr.getValue()))
    return emitError() << "expected a size expression, got '" << expr.getValue() << "'";
  if (operand < 0)
    return emitError() << "expected a non-negative operand number, got " << operand;
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  MLIRContext *context = getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), integer = IntegerType::get(context, 64);
  TypeRange types = getBody().front().getArgumentTypes();
  if (types != TypeRange{pointer, integer, integer, pointer})
    return emitOpError("expected block arguments (!llvm.ptr, i64, i64, !llvm.ptr), got (")
           << types << ")";
  return success();
}

LogicalResult ImageOp::verify() {
  std::optional<ArrayAttr> shapes = getShapes();
  if (!shapes)
    return success();
  if (shapes->size() != getKernels().size())
    return emitOpError("has ") << getKernels().size() << " kernels, but " << shapes->size()
                               << " shapes";
  auto module = (*this)->getParentOfType<target::ModuleOp>();
  std::optional<GpuDescription> gpu =
      module ? GpuDescription::from(module.getCpu().str()) : std::nullopt;
  if (!gpu)
    return success();
  for (auto [name, shape] : llvm::zip(getKernels().getAsRange<StringAttr>(),
                                      shapes->getAsRange<KernelShapeAttr>())) {
    if (shape.getSharedBytes() > gpu->multiprocessor.sharedOfBlock)
      return emitOpError("kernel '") << name.getValue() << "' asks for " << shape.getSharedBytes()
                                     << " bytes of shared memory, a block of " << gpu->chip
                                     << " has " << gpu->multiprocessor.sharedOfBlock;
    if (shape.getCluster() > 1 && !gpu->hasClusters)
      return emitOpError("kernel '") << name.getValue() << "' asks for a cluster of "
                                     << shape.getCluster() << " blocks, " << gpu->chip
                                     << " has none";
  }
  return success();
}

KernelShapeAttr ImageOp::getShape(size_t kernel) {
  std::optional<ArrayAttr> shapes = getShapes();
  return shapes ? cast<KernelShapeAttr>((*shapes)[kernel]) : KernelShapeAttr::get(getContext(), 1, 0, 1);
}

KernelShapeAttr ImageOp::getShape(StringRef kernel) {
  for (auto [i, name] : llvm::enumerate(getKernels().getAsRange<StringAttr>()))
    if (name.getValue() == kernel)
      return getShape(i);
  return KernelShapeAttr::get(getContext(), 1, 0, 1);
}

llvm::ArrayRef<uint8_t> ImageOp::getBytes() {
  auto resource = dyn_cast<DenseResourceElementsAttr>(getCode());
  AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return {};
  return {reinterpret_cast<const uint8_t *>(blob->getData().data()), blob->getData().size()};
}

LogicalResult ArgumentOp::verify() {
  std::optional<StringRef> scalar = getScalar();
  if (!scalar)
    return success();
  if (*scalar != "int" && *scalar != "float" && *scalar != "bool")
    return emitOpError("expected a scalar of kind int, float or bool, got '") << *scalar << "'";
  if (getType().getRank() != 0)
    return emitOpError("expected a scalar of rank 0, got rank ") << getType().getRank();
  return success();
}

static LogicalResult verifyExpr(Operation *op, StringRef text, StringRef what) {
  if (SymExpr::parse(text))
    return success();
  return op->emitOpError("expected a size expression as ") << what << ", got '" << text << "'";
}

LogicalResult GuardOp::verify() {
  bool known = llvm::StringSwitch<bool>(getPredicate())
                   .Cases({"eq", "ne", "lt", "le", "gt", "ge", "multiple"}, true)
                   .Default(false);
  if (!known)
    return emitOpError("expected one of eq ne lt le gt ge multiple, got '")
           << getPredicate() << "'";
  return failure(failed(verifyExpr(*this, getLhs(), "left side")) ||
                 failed(verifyExpr(*this, getRhs(), "right side")));
}

LogicalResult LaunchOp::verify() {
  for (Attribute size : getGrid())
    if (failed(verifyExpr(*this, cast<StringAttr>(size).getValue(), "grid size")))
      return failure();
  if (getWork() && failed(verifyExpr(*this, *getWork(), "work")))
    return failure();
  for (Attribute attribute : getWords()) {
    auto word = dyn_cast<WordAttr>(attribute);
    if (!word)
      return emitOpError("expected #tessera_target.word, got ") << attribute;
    bool names = word.getOperand() >= 0 && word.getOperand() < int64_t(getOperands().size());
    if (word.getKind() != "integer" && !names)
      return emitOpError("has ") << getOperands().size() << " operands, but a word names operand "
                                 << word.getOperand();
  }
  auto module = (*this)->getParentOfType<target::ModuleOp>();
  auto kernel = module ? SymbolTable::lookupNearestSymbolFrom<KernelOp>(
                             module.getBody().getParentOp(), getKernelAttr())
                       : KernelOp();
  // A program may be looked at without its kernels, and before they are verified.
  if (!kernel || !kernel.getConfigAttr())
    return success();
  if (kernel.getConfig().getGridRank() != int64_t(getGrid().size()))
    return emitOpError("has a grid of rank ") << getGrid().size() << ", but kernel " << getKernel()
                                              << " has rank " << kernel.getConfig().getGridRank();
  if (kernel.getConfig().getWords() != int64_t(getWords().size()))
    return emitOpError("passes ") << getWords().size() << " words, but kernel " << getKernel()
                                  << " takes " << kernel.getConfig().getWords();
  return success();
}

LogicalResult ResultOp::verify() {
  if (!getValue().getDefiningOp<AllocateOp>())
    return emitOpError("expected the memory of a tessera_target.allocate");
  return success();
}
