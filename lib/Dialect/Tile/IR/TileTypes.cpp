//===- TileTypes.cpp - Types and attributes of Tile IR --------------------===//
//
// Textual form and invariants of `!tile.view`, `!tile.buffer`, `!tile.mbarrier`, `#tile.operand`
// and `#tile.layout`; LaunchAttrs.h has those of `#tile.launch` and `#tile.tuning`.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Common/LaunchAttrs.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/Tile/IR/TileTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Tile/IR/TileAttrs.cpp.inc"

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tessera/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
}

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tessera/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
}

bool tile::isTileType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  // tf32 is no element type of tensors: f32 operands are rounded to it before an MMA.
  return tensor && tensor.hasStaticShape() &&
         (isElementType(tensor.getElementType()) || isa<FloatTF32Type>(tensor.getElementType()));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

SmallVector<int64_t> tile::canonicalDivisors(ArrayRef<int64_t> shape, ArrayRef<int64_t> divisors) {
  // The verifier reports a wrong number of divisors.
  SmallVector<int64_t> result(divisors);
  if (divisors.empty())
    result.assign(shape.size(), 1);
  for (auto [divisor, size] : llvm::zip(result, shape))
    if (!ShapedType::isDynamic(size) && size > 0)
      divisor = size;
  return result;
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type elementType, ArrayRef<int64_t> strides,
                               ArrayRef<int64_t> divisors) {
  if (!isElementType(elementType))
    return emitError() << "expected an element type among " << kElementTypes << ", got "
                       << elementType;
  if (strides.size() != shape.size())
    return emitError() << "expected " << shape.size() << " strides, got " << strides.size();
  if (divisors.size() != shape.size())
    return emitError() << "expected " << shape.size() << " divisors, got " << divisors.size();
  for (int64_t divisor : divisors)
    if (divisor < 1)
      return emitError() << "expected divisors of at least 1, got " << divisor;
  return success();
}

/// `[1, ?, -2]`
static ParseResult parseIntegerList(AsmParser &parser, SmallVectorImpl<int64_t> &list) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      list.push_back(ShapedType::kDynamic);
      return success();
    }
    return parser.parseInteger(list.emplace_back());
  });
}

static void printIntegerList(AsmPrinter &printer, ArrayRef<int64_t> list) {
  printer << '[';
  llvm::interleaveComma(list, printer, [&](int64_t value) {
    if (ShapedType::isDynamic(value))
      printer << '?';
    else
      printer << value;
  });
  printer << ']';
}

Type ViewType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape, strides, divisors;
  Type elementType;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/true) ||
      parser.parseType(elementType))
    return {};
  if (!shape.empty() && (parser.parseComma() || parser.parseKeyword("strides") ||
                         parser.parseEqual() || parseIntegerList(parser, strides)))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("divisors") || parser.parseEqual() ||
       parseIntegerList(parser, divisors)))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ViewType>(loc, ArrayRef<int64_t>(shape), elementType,
                                     ArrayRef<int64_t>(strides), ArrayRef<int64_t>(divisors));
}

void ViewType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printDimensionList(getShape());
  if (getRank())
    printer << 'x';
  printer << getElementType();
  if (getRank()) {
    printer << ", strides = ";
    printIntegerList(printer, getStrides());
  }
  if (getDivisors() != ArrayRef<int64_t>(canonicalDivisors(getShape(), {}))) {
    printer << ", divisors = ";
    printIntegerList(printer, getDivisors());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Operand views of launches
//===----------------------------------------------------------------------===//

static ParseResult parseExpression(AsmParser &parser, SymExpr &expression) {
  SMLoc loc = parser.getCurrentLocation();
  std::string text;
  if (parser.parseString(&text))
    return failure();
  std::optional<SymExpr> parsed = SymExpr::parse(text);
  if (!parsed)
    return parser.emitError(loc) << "expected a size expression, got '" << text << "'";
  expression = *parsed;
  return success();
}

static ParseResult parseExpressionList(AsmParser &parser, StringRef keyword,
                                       SmallVectorImpl<SymExpr> &list) {
  if (parser.parseKeyword(keyword))
    return failure();
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&] { return parseExpression(parser, list.emplace_back()); });
}

Attribute OperandViewAttr::parse(AsmParser &parser, Type) {
  SymExpr offset;
  SmallVector<SymExpr> sizes, strides;
  if (parser.parseLess() || parser.parseKeyword("offset") || parseExpression(parser, offset) ||
      parser.parseComma() || parseExpressionList(parser, "sizes", sizes) || parser.parseComma())
    return {};
  SMLoc loc = parser.getCurrentLocation();
  if (parseExpressionList(parser, "strides", strides) || parser.parseGreater())
    return {};
  if (sizes.size() != strides.size()) {
    parser.emitError(loc) << "expected " << sizes.size() << " strides, got " << strides.size();
    return {};
  }
  return get(parser.getContext(), offset, sizes, strides);
}

static void printExpressionList(AsmPrinter &printer, StringRef keyword, ArrayRef<SymExpr> list) {
  printer << ", " << keyword << " [";
  llvm::interleaveComma(list, printer, [&](SymExpr e) { printer.printString(e.str()); });
  printer << ']';
}

void OperandViewAttr::print(AsmPrinter &printer) const {
  printer << "<offset ";
  printer.printString(getOffset().str());
  printExpressionList(printer, "sizes", getSizes());
  printExpressionList(printer, "strides", getStrides());
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  std::string text;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&text) || parser.parseGreater())
    return {};
  std::optional<Layout> layout = Layout::parse(text);
  if (!layout) {
    parser.emitError(loc) << "expected a layout such as 'register[d0:1] lane[d0:2] -> d0:4', got '"
                          << text << "'";
    return {};
  }
  return get(parser.getContext(), *layout);
}

void LayoutAttr::print(AsmPrinter &printer) const { printer << "<\"" << getValue().str() << "\">"; }

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stages,
                                 RankedTensorType tile, int64_t slack) {
  if (stages < 1)
    return emitError() << "expected at least one stage, got " << stages;
  if (slack < 0)
    return emitError() << "expected a slack of at least 0, got " << slack;
  auto layout = dyn_cast_or_null<LayoutAttr>(tile.getEncoding());
  if (!layout || layout.getValue().in() != layout.getValue().in().only({Dim::Block, Dim::Offset}))
    return emitError() << "expected a tile with a layout over offsets, got " << tile;
  return success();
}

int64_t BufferType::getElementBytes() const {
  // tf32 has 19 bits and is stored in 32.
  return llvm::PowerOf2Ceil((getTile().getElementTypeBitWidth() + 7) / 8);
}

LogicalResult MbarrierType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count) {
  if (count < 1)
    return emitError() << "expected at least one mbarrier, got " << count;
  return success();
}

Layout BufferType::getMemory() const {
  return cast<LayoutAttr>(getTile().getEncoding()).getValue();
}

BufferType BufferType::getTransposed() const {
  RankedTensorType tile = getTile();
  auto layout = LayoutAttr::get(getContext(), getMemory().transpose({1, 0}));
  return BufferType::get(getContext(), getStages(),
                         RankedTensorType::get({tile.getDimSize(1), tile.getDimSize(0)},
                                               tile.getElementType(), layout));
}

bool BufferType::isInOrder() const {
  Layout memory = getMemory();
  uint64_t inside = memory.in().size(Dim::Offset) - 1;
  return getTile().getRank() == 1 &&
         llvm::equal(memory.columns(Dim::Offset), gf2::units(memory.in().bits(Dim::Offset))) &&
         llvm::none_of(memory.columns(Dim::Block), [&](uint64_t first) { return first & inside; });
}

Space tile::spaceOf(ArrayRef<int64_t> shape) {
  return Space::tensor(SmallVector<unsigned>(shape.begin(), shape.end()));
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  auto isSize = [](int64_t size) {
    return size > 0 && size <= int64_t(1) << 31 && llvm::isPowerOf2_64(size);
  };
  if (shape.size() > maxRank || !llvm::all_of(shape, isSize))
    return emitError() << "expected at most " << maxRank
                       << " dimensions whose sizes are powers of two for a tile with a layout";
  if (getValue().out() != spaceOf(shape) || !getValue().isSurjective())
    return emitError() << "expected a layout that covers every element of the tile, got " << *this;
  return success();
}

std::optional<Layout> tile::layoutOf(Value tile) {
  auto attribute =
      dyn_cast_or_null<LayoutAttr>(cast<RankedTensorType>(tile.getType()).getEncoding());
  return attribute ? std::optional(attribute.getValue()) : std::nullopt;
}

std::optional<unsigned> tile::fragmentDepth(MmaOp mma) {
  auto left = cast<RankedTensorType>(mma.getLhs().getType()),
       right = cast<RankedTensorType>(mma.getRhs().getType());
  Type operand = left.getElementType(), acc = mma.getType().getElementType();
  bool isHalf = (operand.isBF16() || operand.isF16()) && acc.isF32(),
       isWord = isa<FloatTF32Type>(operand) && acc.isF32();
  bool isByte = (operand.isInteger(8) && acc.isInteger(32)) || (isFloat8(operand) && acc.isF32());
  bool isDouble = operand.isF64() && acc.isF64();
  unsigned depth = isHalf ? 16 : isByte ? 32 : isDouble ? 4 : 8;
  ArrayRef<int64_t> shape = mma.getMatrix();
  bool fits =
      shape[0] >= 16 && shape[1] >= 8 && left.getShape()[1] >= int64_t(depth) * mma.getParts();
  return !mma->hasAttr(kPlainAttr) && (isHalf || isByte || isWord || isDouble) &&
                 right.getElementType() == operand && fits
             ? std::optional(depth)
             : std::nullopt;
}

RankedTensorType tile::withLayout(Type tile, const Layout &layout) {
  auto type = cast<RankedTensorType>(tile);
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               LayoutAttr::get(type.getContext(), layout));
}
