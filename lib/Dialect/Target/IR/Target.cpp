//===- Target.cpp - The tessera_target dialect ----------------------------===//
//
// Registration and verifiers. The bundle writer and the code generators rely on what is verified
// here.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Target/IR/Target.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

#include "tessera/Dialect/Target/IR/TargetDialect.cpp.inc"

/// "[?, 4]"
static ParseResult parseSizes(AsmParser &parser, SmallVector<int64_t> &sizes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      sizes.push_back(ShapedType::kDynamic);
      return success();
    }
    return parser.parseInteger(sizes.emplace_back());
  });
}

static void printSizes(AsmPrinter &printer, ArrayRef<int64_t> sizes) {
  auto print = [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      printer << '?';
    else
      printer << size;
  };
  printer << '[';
  llvm::interleaveComma(sizes, printer, print);
  printer << ']';
}

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

LogicalResult RangeConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                      int64_t gridRank, int64_t words, int64_t scratchBytes) {
  if (gridRank < 1 || gridRank > 3)
    return emitError() << "expected a grid rank of 1 to 3, got " << gridRank;
  if (words < 0 || scratchBytes < 0)
    return emitError() << "expected non-negative words and scratch bytes, got " << words << " and "
                       << scratchBytes;
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

LogicalResult TensorMapAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t word,
                                    int64_t bytes, int64_t span, int64_t spans,
                                    ArrayRef<int64_t> dims, ArrayRef<int64_t> boxes, Type rounded) {
  constexpr int64_t kMostDims = CudaLimits::tmaDims, kMostElements = CudaLimits::tmaBoxElements;
  if (word < 0)
    return emitError() << "expected a non-negative word number, got " << word;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    return emitError() << "expected elements of 1, 2, 4 or 8 bytes, got " << bytes;
  if (span != 16 && span != 32 && span != 64 && span != 128)
    return emitError() << "expected spans of 16, 32, 64 or 128 bytes, got " << span;
  if (spans < 1 || spans > kMostElements || (spans > 1 && int64_t(dims.size()) == kMostDims))
    return emitError() << "expected 1 to " << kMostElements << " spans, of a view of less than "
                       << kMostDims << " dims if several, got " << spans;
  if (dims.empty() || int64_t(dims.size()) > kMostDims || dims.size() != boxes.size())
    return emitError() << "expected 1 to " << kMostDims << " dims and as many boxes, got "
                       << dims.size() << " and " << boxes.size();
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, dims.size())))
    return emitError() << "expected each dim of the view once";
  for (int64_t size : boxes)
    if (size < 1 || size > kMostElements)
      return emitError() << "expected boxes of 1 to " << kMostElements
                         << " elements in each dim, got " << size;
  // A box that is not swizzled may have a row of any length.
  constexpr int64_t unswizzled = 16;
  if (boxes[0] * bytes != span && (span != unswizzled || boxes[0] * bytes % span))
    return emitError() << "expected boxes of one span, " << span
                       << " bytes, along the first dim, got " << boxes[0] * bytes;
  if (rounded && (!isa<FloatTF32Type>(rounded) || bytes != 4))
    return emitError() << "expected elements of 4 bytes rounded to tf32, got " << bytes
                       << " bytes rounded to " << rounded;
  return success();
}

LogicalResult ImageOp::verify() {
  for (NamedAttribute each : getChanged().value_or(DictionaryAttr::get(getContext()))) {
    if (!llvm::is_contained(getKernels(), each.getName()))
      return emitOpError("has changed fields of '")
             << each.getName().getValue() << "', which is none of its kernels";
    auto list = dyn_cast<ArrayAttr>(each.getValue());
    if (!list || !llvm::all_of(list, llvm::IsaPred<StringAttr>))
      return emitOpError("expected a list of strings as the changed fields of '")
             << each.getName().getValue() << "', got " << each.getValue();
  }
  std::optional<ArrayAttr> configs = getConfigs();
  if (!configs)
    return success();
  if (configs->size() != getKernels().size())
    return emitOpError("has ") << getKernels().size() << " kernels, but " << configs->size()
                               << " configurations";
  std::optional<GpuDescription> gpu = gpuOf(*this);
  if (!gpu)
    return success();
  for (auto [name, config] :
       llvm::zip(getKernels().getAsRange<StringAttr>(), configs->getAsRange<KernelConfigAttr>()))
    if (failed(verifyConfig(*this, name, config, *gpu)))
      return failure();
  return success();
}

KernelConfigAttr ImageOp::getConfig(size_t kernel) {
  std::optional<ArrayAttr> configs = getConfigs();
  return configs ? cast<KernelConfigAttr>((*configs)[kernel])
                 : KernelConfigAttr::get(getContext(), {}, {}, 0, 0, {});
}

KernelConfigAttr ImageOp::getConfig(StringRef kernel) {
  for (auto [i, name] : llvm::enumerate(getKernels().getAsRange<StringAttr>()))
    if (name.getValue() == kernel)
      return getConfig(i);
  return KernelConfigAttr::get(getContext(), {}, {}, 0, 0, {});
}

SmallVector<StringRef> ImageOp::getChanges(StringRef kernel) {
  SmallVector<StringRef> changes;
  if (std::optional<DictionaryAttr> changed = getChanged())
    if (auto list = changed->getAs<ArrayAttr>(kernel))
      llvm::append_range(changes, list.getAsValueRange<StringAttr>());
  return changes;
}

void ImageOp::addChange(StringRef kernel, StringRef change) {
  SmallVector<StringRef> changes = getChanges(kernel);
  changes.push_back(change);
  NamedAttrList all(getChanged().value_or(DictionaryAttr()));
  all.set(kernel, Builder(getContext()).getStrArrayAttr(changes));
  setChangedAttr(all.getDictionary(getContext()));
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

/// Verifies a launch of a GPU kernel: the grid matches the configuration, and there is a word per
/// argument.
static LogicalResult verifyGrid(LaunchOp launch, KernelOp kernel, KernelConfigAttr config) {
  size_t words = kernel.getBody().getNumArguments();
  if (launch.getWords().size() != words)
    return launch.emitOpError("passes ") << launch.getWords().size() << " words, but kernel "
                                         << launch.getKernel() << " takes " << words;
  ArrayRef<int64_t> grid = config.getGrid();
  if (grid.empty())
    return success();
  if (grid.size() != launch.getGrid().size())
    return launch.emitOpError("has a grid of rank ")
           << launch.getGrid().size() << ", but kernel " << launch.getKernel() << " has rank "
           << grid.size();
  for (auto [size, attribute] : llvm::zip(grid, launch.getGrid())) {
    SymExpr given = *SymExpr::parse(cast<StringAttr>(attribute).getValue());
    if (!ShapedType::isDynamic(size) && !given.isConstant(size))
      return launch.emitOpError("has a grid of '")
             << given.str() << "' where kernel " << launch.getKernel() << " has " << size;
  }
  return success();
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
    bool isOperand = word.getOperand() >= 0 && word.getOperand() < int64_t(getOperands().size());
    if (word.getKind() != "integer" && !isOperand)
      return emitOpError("has ") << getOperands().size()
                                 << " operands, but a word refers to operand " << word.getOperand();
  }
  if (ArrayAttr maps = getMapsAttr())
    for (auto map : maps.getAsRange<TensorMapAttr>()) {
      size_t first = map.getWord(), end = first + 1 + 2 * map.getDims().size();
      auto address = first < getWords().size() ? cast<WordAttr>(getWords()[first]) : WordAttr();
      if (end > getWords().size() || address.getKind() != "address")
        return emitOpError("expected the words of a view from word ")
               << map.getWord() << " on, which a tensor map refers to";
    }
  auto module = (*this)->getParentOfType<target::ModuleOp>();
  auto kernel = module ? SymbolTable::lookupNearestSymbolFrom<KernelOp>(
                             module.getBody().getParentOp(), getKernelAttr())
                       : KernelOp();
  // A program may be verified without its kernels, and before they are verified.
  if (!kernel || !kernel.getConfigAttr())
    return success();
  if (KernelConfigAttr config = kernel.getKernelConfig())
    return verifyGrid(*this, kernel, config);
  RangeConfigAttr config = kernel.getRangeConfig();
  if (!config)
    return success();
  if (config.getGridRank() != int64_t(getGrid().size()))
    return emitOpError("has a grid of rank ") << getGrid().size() << ", but kernel " << getKernel()
                                              << " has rank " << config.getGridRank();
  if (config.getWords() != int64_t(getWords().size()))
    return emitOpError("passes ") << getWords().size() << " words, but kernel " << getKernel()
                                  << " takes " << config.getWords();
  return success();
}

LogicalResult target::PrintOp::verify() {
  if (!getValue().getDefiningOp<AllocateOp>())
    return emitOpError("expected the memory of a tessera_target.allocate");
  return success();
}

LogicalResult ResultOp::verify() {
  if (!getValue().getDefiningOp<AllocateOp>())
    return emitOpError("expected the memory of a tessera_target.allocate");
  return success();
}
