//===- GraphDialect.cpp - The Graph IR dialect and its tensor type --------===//
//
// The dialect's registration, the textual form of tensor types, and helpers shared by operations:
// iteration symbols, accumulation types, constants created by folding.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

#include "tessera/Dialect/Graph/IR/GraphDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/Graph/IR/GraphTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Graph/IR/GraphAttrs.cpp.inc"

#include "tessera/Dialect/Graph/IR/GraphInterfaces.cpp.inc"

void GraphDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tessera/Dialect/Graph/IR/GraphTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tessera/Dialect/Graph/IR/GraphAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Graph/IR/GraphOps.cpp.inc"
      >();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                             Location loc) {
  auto number = dyn_cast<TypedAttr>(value);
  auto tensor = dyn_cast<gir::TensorType>(type);
  if (!number || !tensor || number.getType() != tensor.getElementType())
    return nullptr;
  return ConstantOp::create(builder, loc, tensor, number);
}

SymExpr gir::iterationSymbol(unsigned i) { return SymExpr::symbol("#" + std::to_string(i)); }

SymExpr gir::operandSymbol(unsigned i) { return SymExpr::symbol("$" + std::to_string(i)); }

std::optional<unsigned> gir::operandOfSymbol(SymExpr index) {
  if (!index.isSymbol() || index.symbolName()[0] != '$')
    return std::nullopt;
  return std::stoul(index.symbolName().substr(1));
}

Type gir::accumulationType(Type type) {
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(type.getContext());
  if (type.isInteger() && !type.isInteger(1) && type.getIntOrFloatBitWidth() < 32)
    return IntegerType::get(type.getContext(), 32);
  return type;
}

LogicalResult FailureAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr kind,
                                  StringAttr message, ArrayAttr sizes, StringAttr excerpt) {
  if (kind != "index" && kind != "assertion")
    return emitError() << "expected a failure of kind index or assertion, got " << kind;
  for (Attribute size : sizes) {
    auto text = dyn_cast<StringAttr>(size);
    if (!text || !SymExpr::parse(text.getValue().str()))
      return emitError() << "expected size expressions for the message, got " << size;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tensor types
//===----------------------------------------------------------------------===//

SymExpr gir::TensorType::getNumElements() const {
  SymExpr product(1);
  for (SymExpr size : getShape())
    product = product * size;
  return product;
}

LogicalResult gir::TensorType::verify(function_ref<InFlightDiagnostic()> emitError,
                                      ArrayRef<SymExpr> shape, Type elementType) {
  if (!isElementType(elementType))
    return emitError() << "expected an element type among " << kElementTypes << ", got "
                       << elementType;
  for (SymExpr size : shape)
    if (size.isConstant() && size.constantValue() < 0)
      return emitError() << "expected sizes of at least 0, got " << size.constantValue();
  return success();
}

Type gir::TensorType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<SymExpr> shape;
  Type elementType;
  if (parser.parseLess())
    return {};
  while (true) {
    // Dimensions are distinguished from the element type by their tokens: capitalised names are not
    // MLIR types.
    OptionalParseResult type = parser.parseOptionalType(elementType);
    if (type.has_value()) {
      if (failed(*type) || parser.parseGreater())
        return {};
      return parser.getChecked<gir::TensorType>(loc, parser.getContext(), shape, elementType);
    }
    int64_t constant;
    OptionalParseResult integer = parser.parseOptionalInteger(constant);
    if (integer.has_value()) {
      if (failed(*integer))
        return {};
      shape.push_back(SymExpr(constant));
    } else {
      SMLoc at = parser.getCurrentLocation();
      std::string quoted;
      StringRef bare;
      if (succeeded(parser.parseOptionalString(&quoted)))
        bare = quoted;
      else if (failed(parser.parseOptionalKeyword(&bare)))
        return parser.emitError(at, "expected a size or an element type"), Type();
      std::optional<SymExpr> size = SymExpr::parse(std::string_view(bare.data(), bare.size()));
      if (!size)
        return parser.emitError(at) << "expected a size expression, got '" << bare << "'", Type();
      shape.push_back(*size);
    }
    if (parser.parseComma())
      return {};
  }
}

/// Whether a size is written without quotes: an integer or a capitalised name.
static bool isBare(SymExpr size) {
  if (size.isConstant())
    return true;
  if (!size.isSymbol())
    return false;
  StringRef name = size.symbolName();
  return llvm::isUpper(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
}

void gir::TensorType::print(AsmPrinter &printer) const {
  printer << '<';
  for (SymExpr size : getShape()) {
    if (isBare(size))
      printer << size.str();
    else
      printer.printString(size.str());
    printer << ", ";
  }
  printer << getElementType() << '>';
}
