//===- StableHloFold.cpp - What is known about a module's values --------------------===//
//
// Small constants are evaluated: indices, bounds of loops, conditions. Numbers keep the arithmetic
// of their types.
//
//===----------------------------------------------------------------------===//
#include "StableHloReader.h"

#include "llvm/ADT/StringSwitch.h"

#include <numeric>

using namespace tessera;
using namespace tessera::stablehlo;
using llvm::APFloat;
using llvm::APInt;
using mlir::Attribute;
using mlir::DenseElementsAttr;
using mlir::FloatAttr;
using mlir::IntegerAttr;

/// Elements of a result that is evaluated, unless all are the same.
static constexpr int64_t kMostEvaluated = 4096;

static bool isUnsigned(mlir::Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

static APInt truth(bool value) { return APInt(1, value); }

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static std::optional<APInt> integers(llvm::StringRef op, const APInt &a, const APInt &b,
                                     bool isSigned) {
  unsigned bits = a.getBitWidth();
  auto amount = [&] { return b.getLimitedValue(bits); };
  if (op == "add")
    return bits == 1 ? a | b : a + b;
  if (op == "subtract")
    return a - b;
  if (op == "multiply")
    return a * b;
  if (op == "and")
    return a & b;
  if (op == "or")
    return a | b;
  if (op == "xor")
    return a ^ b;
  if (op == "maximum")
    return (isSigned ? a.sge(b) : a.uge(b)) ? a : b;
  if (op == "minimum")
    return (isSigned ? a.sle(b) : a.ule(b)) ? a : b;
  if (op == "shift_left")
    return b.uge(bits) ? APInt(bits, 0) : a.shl(amount());
  if (op == "shift_right_logical")
    return b.uge(bits) ? APInt(bits, 0) : a.lshr(amount());
  if (op == "shift_right_arithmetic")
    return a.ashr(std::min<uint64_t>(amount(), bits - 1));
  if (b.isZero() || (isSigned && b.isAllOnes() && a.isMinSignedValue()))
    return std::nullopt;
  if (op == "divide")
    return isSigned ? a.sdiv(b) : a.udiv(b);
  if (op == "remainder")
    return isSigned ? a.srem(b) : a.urem(b);
  return std::nullopt;
}

static std::optional<APFloat> floats(llvm::StringRef op, APFloat a, const APFloat &b) {
  constexpr auto mode = APFloat::rmNearestTiesToEven;
  if (op == "add")
    return a.add(b, mode), a;
  if (op == "subtract")
    return a.subtract(b, mode), a;
  if (op == "multiply")
    return a.multiply(b, mode), a;
  if (op == "divide")
    return a.divide(b, mode), a;
  if (op == "maximum")
    return llvm::maximum(a, b);
  if (op == "minimum")
    return llvm::minimum(a, b);
  return std::nullopt;
}

static std::optional<bool> compared(llvm::StringRef how, int order, bool isUnordered) {
  if (isUnordered)
    return how == "NE";
  return llvm::StringSwitch<std::optional<bool>>(how)
      .Case("EQ", order == 0)
      .Case("NE", order != 0)
      .Case("LT", order < 0)
      .Case("LE", order <= 0)
      .Case("GT", order > 0)
      .Case("GE", order >= 0)
      .Default(std::nullopt);
}

/// The position of a float in the total order.
static APInt placeOf(const APFloat &value) {
  APInt bits = value.bitcastToAPInt();
  unsigned width = bits.getBitWidth();
  return bits.isNegative() ? ~bits : bits | APInt::getSignMask(width);
}

static std::optional<bool> compare(const json::Object &attributes, Attribute a, Attribute b) {
  auto text = [&](llvm::StringRef name) {
    const json::Object *object = attributes.getObject(name);
    return object ? object->getString("str").value_or("").str() : std::string();
  };
  std::string how = text("comparison_direction");
  if (auto x = llvm::dyn_cast<IntegerAttr>(a)) {
    APInt left = x.getValue(), right = llvm::cast<IntegerAttr>(b).getValue();
    bool isLess = isUnsigned(x.getType()) ? left.ult(right) : left.slt(right);
    return compared(how, left == right ? 0 : isLess ? -1 : 1, false);
  }
  APFloat left = llvm::cast<FloatAttr>(a).getValue(), right = llvm::cast<FloatAttr>(b).getValue();
  if (text("compare_type") == "TOTALORDER") {
    APInt p = placeOf(left), q = placeOf(right);
    return compared(how, p == q ? 0 : p.ult(q) ? -1 : 1, false);
  }
  APFloat::cmpResult order = left.compare(right);
  return compared(how,
                  order == APFloat::cmpLessThan      ? -1
                  : order == APFloat::cmpGreaterThan ? 1
                                                     : 0,
                  order == APFloat::cmpUnordered);
}

static Attribute convert(Attribute from, mlir::Type type) {
  constexpr auto mode = APFloat::rmNearestTiesToEven;
  auto to = llvm::dyn_cast<mlir::FloatType>(type);
  if (auto x = llvm::dyn_cast<IntegerAttr>(from)) {
    bool isSigned = !isUnsigned(x.getType());
    if (to) {
      APFloat value(to.getFloatSemantics());
      value.convertFromAPInt(x.getValue(), isSigned, mode);
      return FloatAttr::get(to, value);
    }
    if (type.isInteger(1))
      return IntegerAttr::get(type, truth(!x.getValue().isZero()));
    unsigned bits = type.getIntOrFloatBitWidth();
    return IntegerAttr::get(type, isSigned ? x.getValue().sextOrTrunc(bits)
                                           : x.getValue().zextOrTrunc(bits));
  }
  APFloat value = llvm::cast<FloatAttr>(from).getValue();
  bool isLossy = false;
  if (to) {
    value.convert(to.getFloatSemantics(), mode, &isLossy);
    return FloatAttr::get(to, value);
  }
  if (type.isInteger(1))
    return IntegerAttr::get(type, truth(!value.isZero()));
  llvm::APSInt number(type.getIntOrFloatBitWidth(), isUnsigned(type));
  if (value.convertToInteger(number, APFloat::rmTowardZero, &isLossy) == APFloat::opInvalidOp)
    return {};
  return IntegerAttr::get(type, number);
}

static Attribute unary(llvm::StringRef op, Attribute a) {
  if (auto x = llvm::dyn_cast<IntegerAttr>(a)) {
    const APInt value = x.getValue();
    if (op == "negate")
      return IntegerAttr::get(x.getType(), -value);
    if (op == "not")
      return IntegerAttr::get(x.getType(), ~value);
    if (op == "abs")
      return IntegerAttr::get(x.getType(), value.abs());
    if (op == "sign" && !isUnsigned(x.getType()))
      return IntegerAttr::get(
          x.getType(), APInt(value.getBitWidth(), value.isNegative() ? -1 : !value.isZero(), true));
    return {};
  }
  APFloat value = llvm::cast<FloatAttr>(a).getValue();
  mlir::Type type = llvm::cast<FloatAttr>(a).getType();
  if (op == "negate")
    return FloatAttr::get(type, llvm::neg(value));
  if (op == "abs")
    return FloatAttr::get(type, llvm::abs(value));
  if (op == "is_finite")
    return IntegerAttr::get(mlir::IntegerType::get(type.getContext(), 1), truth(value.isFinite()));
  return {};
}

/// One element of an elementwise operation.
static Attribute element(llvm::StringRef op, llvm::ArrayRef<Attribute> x,
                         const json::Object &attributes, mlir::Type type) {
  if (op == "convert" && x.size() == 1)
    return convert(x[0], type);
  if (op == "select" && x.size() == 3 && llvm::isa<IntegerAttr>(x[0]))
    return llvm::cast<IntegerAttr>(x[0]).getValue().isZero() ? x[2] : x[1];
  if (op == "clamp" && x.size() == 3) {
    Attribute least = element("maximum", {x[1], x[0]}, attributes, type);
    return least ? element("minimum", {least, x[2]}, attributes, type) : least;
  }
  if (x.size() == 1)
    return unary(op, x[0]);
  if (x.size() != 2 ||
      llvm::cast<mlir::TypedAttr>(x[0]).getType() != llvm::cast<mlir::TypedAttr>(x[1]).getType())
    return {};
  if (op == "compare") {
    std::optional<bool> holds = compare(attributes, x[0], x[1]);
    return holds ? IntegerAttr::get(type, truth(*holds)) : Attribute();
  }
  if (auto a = llvm::dyn_cast<IntegerAttr>(x[0])) {
    std::optional<APInt> value = integers(
        op, a.getValue(), llvm::cast<IntegerAttr>(x[1]).getValue(), !isUnsigned(a.getType()));
    return value ? IntegerAttr::get(a.getType(), *value) : Attribute();
  }
  auto a = llvm::cast<FloatAttr>(x[0]);
  std::optional<APFloat> value = floats(op, a.getValue(), llvm::cast<FloatAttr>(x[1]).getValue());
  return value ? FloatAttr::get(a.getType(), *value) : Attribute();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

using Numbers = std::vector<int64_t>;

static Numbers stridesOf(llvm::ArrayRef<int64_t> shape) {
  Numbers strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// A tensor whose elements are those of another one, at offset + sum(index * stride).
static DenseElementsAttr moved(DenseElementsAttr from, mlir::RankedTensorType to, int64_t offset,
                               const Numbers &strides) {
  std::vector<Attribute> all(from.value_begin<Attribute>(), from.value_end<Attribute>());
  std::vector<Attribute> elements;
  Numbers own = stridesOf(to.getShape());
  for (int64_t i = 0; i < to.getNumElements(); ++i) {
    int64_t place = offset;
    for (size_t dim = 0; dim < own.size(); ++dim)
      place += i / own[dim] % to.getDimSize(unsigned(dim)) * strides[dim];
    if (place < 0 || place >= int64_t(all.size()))
      return {};
    elements.push_back(all[size_t(place)]);
  }
  return DenseElementsAttr::get(to, elements);
}

static DenseElementsAttr iota(const json::Object &attributes, mlir::RankedTensorType to) {
  int64_t dim = attributes.getInteger("iota_dimension").value_or(-1);
  if (dim < 0 || dim >= to.getRank())
    return {};
  std::vector<Attribute> elements;
  int64_t stride = stridesOf(to.getShape())[size_t(dim)];
  mlir::Type wide = mlir::IntegerType::get(to.getContext(), 64);
  for (int64_t i = 0; i < to.getNumElements(); ++i)
    elements.push_back(convert(IntegerAttr::get(wide, i / stride % to.getDimSize(unsigned(dim))),
                               to.getElementType()));
  return DenseElementsAttr::get(to, elements);
}

static DenseElementsAttr joined(llvm::ArrayRef<DenseElementsAttr> parts, int64_t dim,
                                mlir::RankedTensorType to) {
  if (dim < 0 || dim >= to.getRank())
    return {};
  std::vector<Attribute> elements;
  int64_t outer = 1;
  for (int64_t i = 0; i < dim; ++i)
    outer *= to.getDimSize(unsigned(i));
  for (int64_t i = 0; i < outer; ++i)
    for (DenseElementsAttr part : parts) {
      int64_t count = part.getNumElements() / std::max<int64_t>(outer, 1);
      auto begin = part.value_begin<Attribute>() + i * count;
      elements.insert(elements.end(), begin, begin + count);
    }
  return int64_t(elements.size()) == to.getNumElements() ? DenseElementsAttr::get(to, elements)
                                                         : DenseElementsAttr();
}

static DenseElementsAttr movement(llvm::StringRef op, llvm::ArrayRef<DenseElementsAttr> operands,
                                  const json::Object &attributes, mlir::RankedTensorType to) {
  DenseElementsAttr x = operands[0];
  auto from = llvm::cast<mlir::ShapedType>(x.getType());
  Numbers own = stridesOf(from.getShape()), strides(size_t(to.getRank()), 0);
  if (op == "concatenate")
    return joined(operands, attributes.getInteger("dimension").value_or(-1), to);
  if (op == "broadcast_in_dim") {
    Numbers dims = numbersIn(attributes, "broadcast_dimensions").value_or(Numbers());
    for (size_t i = 0; i < own.size() && i < dims.size(); ++i)
      if (dims[i] >= 0 && dims[i] < to.getRank() && from.getDimSize(unsigned(i)) != 1)
        strides[size_t(dims[i])] = own[i];
    return moved(x, to, 0, strides);
  }
  if (op == "transpose") {
    Numbers order = numbersIn(attributes, "permutation").value_or(Numbers());
    for (size_t i = 0; i < strides.size() && i < order.size(); ++i)
      if (order[i] >= 0 && order[i] < int64_t(own.size()))
        strides[i] = own[size_t(order[i])];
    return moved(x, to, 0, strides);
  }
  if (op == "slice") {
    Numbers starts = numbersIn(attributes, "start_indices").value_or(Numbers());
    Numbers steps = numbersIn(attributes, "strides").value_or(Numbers());
    int64_t offset = 0;
    if (starts.size() != own.size() || steps.size() != own.size() || strides.size() != own.size())
      return {};
    for (size_t i = 0; i < own.size(); ++i) {
      offset += starts[i] * own[i];
      strides[i] = steps[i] * own[i];
    }
    return moved(x, to, offset, strides);
  }
  return {};
}

DenseElementsAttr stablehlo::evaluate(llvm::StringRef op,
                                      llvm::ArrayRef<DenseElementsAttr> operands,
                                      const json::Object &attributes, mlir::Type result) {
  auto to = llvm::dyn_cast<mlir::RankedTensorType>(result);
  if (!to || !to.hasStaticShape() || dtypeOf(to.getElementType()).empty())
    return {};
  bool isSmall = to.getNumElements() <= kMostEvaluated;
  if (op == "iota")
    return isSmall ? iota(attributes, to) : DenseElementsAttr();
  if (operands.empty() || to.getNumElements() == 0)
    return {};
  DenseElementsAttr x = operands[0];
  bool isSplat = llvm::all_of(operands, [](DenseElementsAttr each) { return each.isSplat(); });
  bool isMove = llvm::is_contained({"broadcast_in_dim", "transpose", "slice", "reshape"}, op);
  if (isMove && isSplat)
    return DenseElementsAttr::get(to, x.getSplatValue<Attribute>());
  if (op == "reshape")
    return isSmall && x.getNumElements() == to.getNumElements() ? x.reshape(to)
                                                                : DenseElementsAttr();
  if (isMove || op == "concatenate")
    return isSmall ? movement(op, operands, attributes, to) : DenseElementsAttr();
  if (!isElementwise(op) || !(isSplat || isSmall))
    return {};
  int64_t count = isSplat ? 1 : to.getNumElements();
  for (DenseElementsAttr each : operands)
    if (!each.isSplat() && each.getNumElements() != count)
      return {};
  std::vector<Attribute> elements;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Attribute> inputs;
    for (DenseElementsAttr each : operands)
      inputs.push_back(each.isSplat() ? each.getSplatValue<Attribute>()
                                      : *(each.value_begin<Attribute>() + i));
    Attribute value = element(op, inputs, attributes, to.getElementType());
    if (!value || llvm::cast<mlir::TypedAttr>(value).getType() != to.getElementType())
      return {};
    elements.push_back(value);
  }
  return DenseElementsAttr::get(to, elements);
}

json::Array stablehlo::elementsOf(DenseElementsAttr known) {
  json::Array elements;
  mlir::Type type = known.getElementType();
  for (Attribute each : known.getValues<Attribute>()) {
    if (auto integer = llvm::dyn_cast<IntegerAttr>(each)) {
      if (type.isInteger(1))
        elements.push_back(!integer.getValue().isZero());
      else
        elements.push_back(isUnsigned(type) ? int64_t(integer.getValue().getZExtValue())
                                            : integer.getValue().getSExtValue());
      continue;
    }
    char text[40];
    snprintf(text, sizeof text, "%.17g", llvm::cast<FloatAttr>(each).getValueAsDouble());
    elements.push_back(json::Object{{"float", std::string(text)}});
  }
  return elements;
}

std::string stablehlo::bytesOf(DenseElementsAttr known) {
  std::string bytes;
  auto add = [&](const APInt &bits) {
    for (unsigned i = 0; i < std::max(1u, bits.getBitWidth() / 8); ++i)
      bytes += char(bits.extractBitsAsZExtValue(std::min(8u, bits.getBitWidth()), i * 8));
  };
  if (llvm::isa<mlir::FloatType>(known.getElementType()))
    for (const APFloat &each : known.getValues<APFloat>())
      add(each.bitcastToAPInt());
  else
    for (const APInt &each : known.getValues<APInt>())
      add(each);
  return bytes;
}
