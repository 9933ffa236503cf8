//===- StableHloAttributes.cpp - Types and attributes of StableHLO ------------------===//
#include "StableHloReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace tessera;
using namespace tessera::stablehlo;

/// A tensor with more elements is not one that a machine holds.
static constexpr int64_t kMostElements = int64_t(1) << 47;
/// Elements of a list among the attributes.
static constexpr int64_t kMostNumbers = 4096;

std::string stablehlo::dtypeOf(mlir::Type element) {
  if (element.isF64())
    return "fp64";
  if (element.isF32())
    return "fp32";
  if (element.isF16())
    return "fp16";
  if (element.isBF16())
    return "bf16";
  auto integer = llvm::dyn_cast<mlir::IntegerType>(element);
  if (!integer)
    return "";
  if (integer.isUnsigned())
    return integer.getWidth() == 8 ? "uint8" : "";
  switch (integer.getWidth()) {
  case 1:
    return "bool";
  case 8:
  case 16:
  case 32:
  case 64:
    return "int" + std::to_string(integer.getWidth());
  default:
    return "";
  }
}

static std::string textOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

std::optional<TensorInfo> stablehlo::infoOf(mlir::Type type, std::string &reason) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor) {
    reason = "the language has no type " + textOf(type);
    return std::nullopt;
  }
  TensorInfo info{dtypeOf(tensor.getElementType()), {}};
  if (info.dtype.empty()) {
    reason = "the language has no type " + textOf(tensor.getElementType());
    return std::nullopt;
  }
  int64_t count = 1;
  for (int64_t size : tensor.getShape()) {
    bool isDynamic = mlir::ShapedType::isDynamic(size);
    info.shape.push_back(isDynamic ? "?" : std::to_string(size));
    if (!isDynamic && (size < 0 || llvm::MulOverflow(count, std::max<int64_t>(size, 1), count)))
      count = kMostElements + 1;
    if (count > kMostElements) {
      reason = "the tensor " + textOf(type) + " is too large";
      return std::nullopt;
    }
  }
  return info;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static json::Value listOf(mlir::DenseIntElementsAttr dense) {
  json::Array list;
  if (dense.getType().hasStaticShape() && dense.getNumElements() <= kMostNumbers &&
      dense.getElementType().isIntOrFloat() &&
      dense.getElementType().getIntOrFloatBitWidth() - 1 < 64)
    for (const llvm::APInt &each : dense.getValues<llvm::APInt>())
      list.push_back(each.getBitWidth() == 1 ? each.getZExtValue() : each.getSExtValue());
  return list;
}

/// `[1, 2]` after a name, as a list; a number as a number.
static json::Value fieldValue(llvm::StringRef text) {
  text = text.trim();
  int64_t number = 0;
  if (!text.consume_front("["))
    return text.getAsInteger(10, number) ? json::Value(json::Object{{"str", text.str()}})
                                         : json::Value(number);
  json::Array list;
  llvm::SmallVector<llvm::StringRef> parts;
  text.rtrim(']').split(parts, ',', -1, false);
  for (llvm::StringRef part : parts)
    if (!part.trim().getAsInteger(10, number))
      list.push_back(number);
  return list;
}

/// The fields of `scatter<update_window_dims = [0], index_vector_dim = 1>`, or a word: that of
/// `comparison_direction LT`.
static void addFields(llvm::StringRef name, const std::string &data, json::Object &fields) {
  llvm::StringRef text = llvm::StringRef(data).trim();
  if (text.starts_with("conv<")) {
    fields[name] = json::Object{{"str", text.drop_front(5).drop_back().str()}};
    return;
  }
  if (!text.contains(" = ") || !text.contains('<')) {
    llvm::StringRef word = text.rsplit(' ').second;
    fields[name] = json::Object{{"str", (word.empty() ? text : word).trim("<>").str()}};
    return;
  }
  text = text.split('<').second.rtrim('>');
  while (!text.empty()) {
    auto [field, rest] = text.split('=');
    rest = rest.ltrim();
    size_t end = rest.starts_with("[") ? rest.find(']') + 1 : rest.find(',');
    fields[field.trim().str()] = fieldValue(rest.substr(0, end));
    text = end >= rest.size() ? "" : rest.substr(end).ltrim(", ");
  }
}

static void addAttribute(llvm::StringRef name, mlir::Attribute attribute, json::Object &to) {
  if (auto flag = llvm::dyn_cast<mlir::BoolAttr>(attribute)) {
    to[name] = flag.getValue();
  } else if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(attribute)) {
    unsigned bits = integer.getValue().getBitWidth(); // i0 has none
    if (bits > 0 && integer.getValue().getSignificantBits() <= 64)
      to[name] = integer.getValue().getSExtValue();
  } else if (auto number = llvm::dyn_cast<mlir::FloatAttr>(attribute)) {
    double value = number.getValueAsDouble();
    to[name] = std::isfinite(value) ? json::Value(value)
                                    : json::Value(json::Object{{"float", std::isnan(value) ? "nan"
                                                                         : value > 0 ? "inf"
                                                                                     : "-inf"}});
  } else if (auto text = llvm::dyn_cast<mlir::StringAttr>(attribute)) {
    to[name] = json::Object{{"str", json::fixUTF8(text.getValue())}};
  } else if (auto symbol = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(attribute)) {
    to[name] = json::Object{{"str", json::fixUTF8(symbol.getValue())}};
  } else if (auto dense = llvm::dyn_cast<mlir::DenseIntElementsAttr>(attribute)) {
    to[name] = listOf(dense);
  } else if (auto array = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(attribute)) {
    to[name] = json::Array(array.asArrayRef());
  } else if (auto flags = llvm::dyn_cast<mlir::DenseBoolArrayAttr>(attribute)) {
    json::Array list;
    for (bool each : flags.asArrayRef())
      list.push_back(int64_t(each));
    to[name] = std::move(list);
  } else if (auto opaque = llvm::dyn_cast<mlir::OpaqueAttr>(attribute)) {
    addFields(name, json::fixUTF8(opaque.getAttrData()), to);
  } else if (auto fields = llvm::dyn_cast<mlir::DictionaryAttr>(attribute)) {
    for (mlir::NamedAttribute each : fields) // of a composite
      addAttribute(each.getName(), each.getValue(), to);
  } else if (auto several = llvm::dyn_cast<mlir::ArrayAttr>(attribute)) {
    json::Array list;
    for (mlir::Attribute each : several) {
      json::Object one;
      addAttribute("value", each, one);
      if (json::Value *value = one.get("value"))
        list.push_back(std::move(*value));
    }
    to[name] = std::move(list);
  }
}

json::Object stablehlo::attributesOf(mlir::Operation *op) {
  json::Object attributes;
  auto addAll = [&](mlir::DictionaryAttr all) {
    for (mlir::NamedAttribute each : all)
      if (each.getName() != "value") // of a constant, which may be large
        addAttribute(each.getName(), each.getValue(), attributes);
  };
  addAll(op->getDiscardableAttrDictionary());
  if (mlir::Attribute properties = op->getPropertiesAsAttribute())
    if (auto all = llvm::dyn_cast<mlir::DictionaryAttr>(properties))
      addAll(all);
  return attributes;
}

std::optional<std::vector<int64_t>> stablehlo::numbersIn(const json::Object &attributes,
                                                         llvm::StringRef name) {
  const json::Array *array = attributes.getArray(name);
  if (!array)
    return std::nullopt;
  std::vector<int64_t> numbers;
  for (const json::Value &each : *array)
    numbers.push_back(each.getAsInteger().value_or(0));
  return numbers;
}

std::string stablehlo::nameOf(mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  name.consume_front("stablehlo.");
  return name.str();
}

unsigned stablehlo::lineOf(mlir::Location loc) {
  if (auto place = llvm::dyn_cast<mlir::FileLineColLoc>(loc))
    return place.getLine();
  if (auto name = llvm::dyn_cast<mlir::NameLoc>(loc))
    return lineOf(name.getChildLoc());
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(loc))
    return lineOf(call.getCallee());
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc))
    for (mlir::Location each : fused.getLocations())
      if (unsigned line = lineOf(each))
        return line;
  return 0;
}

std::string stablehlo::titleOf(mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  unsigned line = lineOf(op->getLoc());
  return (name == kCall ? "func.call" : name.str()) +
         (line ? " (line " + std::to_string(line) + ")" : "");
}
