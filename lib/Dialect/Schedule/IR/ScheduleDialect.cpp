//===- ScheduleDialect.cpp - The Schedule IR dialect and its types --------===//
//
// Registration, and the textual form of `!sched.val` and `#sched.dim`; LaunchAttrs.h has
// that of `#sched.launch` and `#sched.tuning`.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Common/LaunchAttrs.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::sched;

#include "tessera/Dialect/Schedule/IR/ScheduleDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/Schedule/IR/ScheduleTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Schedule/IR/ScheduleAttrs.cpp.inc"

void ScheduleDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tessera/Dialect/Schedule/IR/ScheduleTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tessera/Dialect/Schedule/IR/ScheduleAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Schedule/IR/ScheduleOps.cpp.inc"
      >();
}

Operation *ScheduleDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                                Location loc) {
  auto number = dyn_cast<TypedAttr>(value);
  auto val = dyn_cast<ValType>(type);
  if (!number || !val || !val.getDims().empty() || number.getType() != val.getElementType())
    return nullptr;
  return ConstantOp::create(builder, loc, val, number);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool ValType::hasDim(StringRef name) const {
  return llvm::any_of(getDims(), [&](StringAttr dim) { return dim.getValue() == name; });
}

LogicalResult ValType::verify(function_ref<InFlightDiagnostic()> emitError,
                              ArrayRef<StringAttr> dims, Type elementType) {
  if (!isElementType(elementType))
    return emitError() << "expected an element type among " << kElementTypes << ", got "
                       << elementType;
  for (auto [i, dim] : llvm::enumerate(dims))
    if (llvm::is_contained(dims.take_front(i), dim))
      return emitError() << "expected distinct dimensions, got '" << dim.getValue() << "' twice";
  return success();
}

/// `[i, n], f32`
Type ValType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<StringAttr> dims;
  Type elementType;
  auto parseDim = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    dims.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim) ||
      parser.parseComma() || parser.parseType(elementType) || parser.parseGreater())
    return {};
  return parser.getChecked<ValType>(loc, parser.getContext(), dims, elementType);
}

void ValType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](StringAttr dim) { printer << dim.getValue(); });
  printer << "], " << getElementType() << '>';
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// Whether `name` reads as one keyword of the textual form, without dots.
static bool isPlainName(StringRef name) {
  return !name.empty() && (llvm::isAlpha(name.front()) || name.front() == '_') &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LogicalResult DimAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                              SymExpr size, StringAttr role, int64_t tile) {
  if (!isPlainName(name.getValue()))
    return emitError() << "expected a plain name for a dimension, got '" << name.getValue() << "'";
  if (role != kParallel && role != kStream && role != kInner)
    return emitError() << "expected a role among parallel stream inner, got '" << role.getValue()
                       << "'";
  if (tile < 1)
    return emitError() << "expected a tile of at least 1, got " << tile;
  if (size.isConstant() && size.constantValue() < 0)
    return emitError() << "expected a size of at least 0, got " << size.constantValue();
  return success();
}

DimAttr DimAttr::parseBody(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef role, name, bare;
  SymExpr size;
  int64_t constant, tile;
  if (parser.parseKeyword(&role) || parser.parseKeyword(&name) || parser.parseEqual())
    return {};
  SMLoc sizeLoc = parser.getCurrentLocation();
  std::string quoted;
  if (OptionalParseResult integer = parser.parseOptionalInteger(constant); integer.has_value()) {
    if (failed(*integer))
      return {};
    size = SymExpr(constant);
  } else {
    if (succeeded(parser.parseOptionalString(&quoted)))
      bare = quoted;
    else if (failed(parser.parseOptionalKeyword(&bare)))
      return parser.emitError(sizeLoc, "expected a size"), DimAttr();
    std::optional<SymExpr> parsed = SymExpr::parse(std::string_view(bare.data(), bare.size()));
    if (!parsed)
      return parser.emitError(sizeLoc) << "expected a size expression, got '" << bare << "'",
             DimAttr();
    size = *parsed;
  }
  if (parser.parseKeyword("tile") || parser.parseInteger(tile))
    return {};
  Builder &builder = parser.getBuilder();
  return parser.getChecked<DimAttr>(loc, parser.getContext(), builder.getStringAttr(name), size,
                                    builder.getStringAttr(role), tile);
}

void DimAttr::printBody(AsmPrinter &printer) const {
  printer << getRole().getValue() << ' ' << getName().getValue() << " = ";
  if (getSize().isConstant() || (getSize().isSymbol() && isPlainName(getSize().symbolName())))
    printer << getSize().str();
  else
    printer.printString(getSize().str());
  printer << " tile " << getTile();
}

Attribute DimAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  DimAttr dim = parseBody(parser);
  if (!dim || parser.parseGreater())
    return {};
  return dim;
}

void DimAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printBody(printer);
  printer << '>';
}
