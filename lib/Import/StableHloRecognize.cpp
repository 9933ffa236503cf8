//===- StableHloRecognize.cpp - What a region of scalars means ----------------------===//
//
// A region that only compares and selects is recognized by its values. They depend on the order of
// its arguments and on the constants in it alone, so a sample that has every order decides.
//
//===----------------------------------------------------------------------===//
#include "StableHloReader.h"

#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <limits>

using namespace tessera;
using namespace tessera::stablehlo;
using mlir::Attribute;
using mlir::DenseElementsAttr;

bool stablehlo::isElementwise(llvm::StringRef op) {
  static const llvm::StringSet<> names = {"abs",
                                          "add",
                                          "and",
                                          "atan2",
                                          "cbrt",
                                          "ceil",
                                          "clamp",
                                          "compare",
                                          "convert",
                                          "cosine",
                                          "count_leading_zeros",
                                          "divide",
                                          "exponential",
                                          "exponential_minus_one",
                                          "floor",
                                          "is_finite",
                                          "log",
                                          "log_plus_one",
                                          "logistic",
                                          "maximum",
                                          "minimum",
                                          "multiply",
                                          "negate",
                                          "not",
                                          "or",
                                          "popcnt",
                                          "power",
                                          "reduce_precision",
                                          "remainder",
                                          "round_nearest_afz",
                                          "round_nearest_even",
                                          "rsqrt",
                                          "select",
                                          "shift_left",
                                          "shift_right_arithmetic",
                                          "shift_right_logical",
                                          "sign",
                                          "sine",
                                          "sqrt",
                                          "subtract",
                                          "tan",
                                          "tanh",
                                          "xor",
                                          "bitcast_convert"};
  return names.contains(op) || (op.starts_with("chlo.") && op != "chlo.top_k");
}

static bool isTerminator(mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  return name == "stablehlo.return" || name == "func.return" || name == "mhlo.return";
}

/// The only block of a region, with a terminator at its end.
static mlir::Block *bodyOf(mlir::Region &region) {
  if (!region.hasOneBlock() || region.front().empty() || !isTerminator(&region.front().back()))
    return nullptr;
  return &region.front();
}

std::string stablehlo::operationOf(mlir::Region &region) {
  mlir::Block *body = bodyOf(region);
  if (!body || body->getNumArguments() != 2 || body->back().getNumOperands() != 1)
    return "";
  mlir::Value result = body->back().getOperand(0);
  if (result == body->getArgument(1))
    return "second";
  mlir::Operation *op = result.getDefiningOp();
  if (!op || op != &body->front() || op->getNumOperands() != 2 ||
      op->getNextNode() != &body->back())
    return "";
  bool isPlain =
      op->getOperand(0) == body->getArgument(0) && op->getOperand(1) == body->getArgument(1);
  bool isSwapped =
      op->getOperand(0) == body->getArgument(1) && op->getOperand(1) == body->getArgument(0);
  std::string name = nameOf(op);
  bool isKnown =
      llvm::is_contained({"add", "multiply", "maximum", "minimum", "and", "or", "xor"}, name);
  return isKnown && (isPlain || isSwapped) ? name : "";
}

//===----------------------------------------------------------------------===//
// Regions that compare and select
//===----------------------------------------------------------------------===//

DenseElementsAttr stablehlo::constantOf(mlir::Operation *op) {
  if (op->getName().getStringRef() != "stablehlo.constant")
    return {};
  mlir::DictionaryAttr all =
      llvm::dyn_cast_or_null<mlir::DictionaryAttr>(op->getPropertiesAsAttribute());
  Attribute value = all ? all.get("value") : Attribute();
  if (!value)
    value = op->getDiscardableAttr("value");
  auto known = llvm::dyn_cast_or_null<DenseElementsAttr>(value);
  return known && !dtypeOf(known.getElementType()).empty() ? known : DenseElementsAttr();
}

/// The results of a region that compares, selects, takes the larger or smaller value or a sign, for
/// given scalars.
static std::optional<std::vector<DenseElementsAttr>>
valuesOf(mlir::Block &body, llvm::ArrayRef<DenseElementsAttr> arguments) {
  static const llvm::StringSet<> allowed = {"compare", "select",  "and",     "or",     "not",
                                            "xor",     "maximum", "minimum", "negate", "abs"};
  llvm::DenseMap<mlir::Value, DenseElementsAttr> values;
  for (size_t i = 0; i < arguments.size(); ++i)
    values[body.getArgument(unsigned(i))] = arguments[i];
  // Constants may be those of the function around the region.
  auto valueOf = [&](mlir::Value value) {
    mlir::Operation *op = value.getDefiningOp();
    DenseElementsAttr outer = op && op->getBlock() != &body ? constantOf(op) : DenseElementsAttr();
    return outer ? outer : values.lookup(value);
  };
  for (mlir::Operation &op : llvm::make_range(body.begin(), std::prev(body.end()))) {
    if (op.getNumResults() != 1 || op.getNumRegions())
      return std::nullopt;
    DenseElementsAttr value = constantOf(&op);
    if (!value && !allowed.contains(nameOf(&op)))
      return std::nullopt;
    if (!value) {
      std::vector<DenseElementsAttr> operands;
      for (mlir::Value each : op.getOperands())
        operands.push_back(valueOf(each));
      if (llvm::is_contained(operands, DenseElementsAttr()))
        return std::nullopt;
      value = evaluate(nameOf(&op), operands, attributesOf(&op), op.getResult(0).getType());
    }
    if (!value)
      return std::nullopt;
    values[op.getResult(0)] = value;
  }
  std::vector<DenseElementsAttr> results;
  for (mlir::Value each : body.back().getOperands()) {
    results.push_back(valueOf(each));
    if (!results.back())
      return std::nullopt;
  }
  return results;
}

/// A scalar of a type; nothing for one that does not have the number.
static DenseElementsAttr scalar(mlir::Type type, double number) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || tensor.getRank() != 0 || dtypeOf(tensor.getElementType()).empty())
    return {};
  mlir::Type element = tensor.getElementType();
  if (auto kind = llvm::dyn_cast<mlir::FloatType>(element))
    return DenseElementsAttr::get(tensor, Attribute(mlir::FloatAttr::get(kind, number)));
  if (!std::isfinite(number))
    return {};
  unsigned bits = element.getIntOrFloatBitWidth();
  if (bits == 1 ? number != 0 && number != 1 : element.isUnsignedInteger() && number < 0)
    return {};
  llvm::APInt value(bits, uint64_t(int64_t(number)), true, /*implicitTrunc=*/true);
  return DenseElementsAttr::get(tensor, Attribute(mlir::IntegerAttr::get(element, value)));
}

/// Numbers on both sides of the constants that occur, and those themselves.
static std::vector<DenseElementsAttr> sampleOf(mlir::Type type) {
  std::vector<DenseElementsAttr> sample;
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (double number : {-inf, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, inf})
    if (DenseElementsAttr one = scalar(type, number))
      sample.push_back(one);
  return sample;
}

/// Whether constants are only those between which the sample has numbers.
static bool hasPlainConstants(mlir::Block &body) {
  auto isPlain = [](DenseElementsAttr value) {
    if (!value.isSplat())
      return false;
    auto number = llvm::dyn_cast<mlir::FloatAttr>(value.getSplatValue<Attribute>());
    if (!number) {
      llvm::APInt integer = value.getSplatValue<llvm::APInt>();
      return integer.isZero() || integer.isOne();
    }
    double x = number.getValueAsDouble();
    return !std::isfinite(x) || x == 0;
  };
  for (mlir::Operation &op : body)
    for (mlir::Value each : op.getOperands())
      if (mlir::Operation *source = each.getDefiningOp())
        if (DenseElementsAttr value = constantOf(source); value && !isPlain(value))
          return false;
  return true;
}

static bool isNan(DenseElementsAttr x) {
  auto number = llvm::dyn_cast<mlir::FloatAttr>(x.getSplatValue<Attribute>());
  return number && number.getValue().isNaN();
}

/// -1, 0, 1: whether a number is below, equal to or above another one; NaN is above all numbers.
static int orderOfNumbers(DenseElementsAttr a, DenseElementsAttr b, bool isNanMost) {
  if (isNan(a) || isNan(b))
    return isNan(a) == isNan(b) ? 0 : isNan(a) == isNanMost ? 1 : -1;
  auto type = mlir::RankedTensorType::get({}, mlir::IntegerType::get(a.getContext(), 1));
  auto holds = [&](const char *how) {
    json::Object attributes{{"comparison_direction", json::Object{{"str", how}}}};
    DenseElementsAttr value = evaluate("compare", {a, b}, attributes, type);
    return value && value.getSplatValue<bool>();
  };
  return holds("LT") ? -1 : holds("GT") ? 1 : 0;
}

/// The reduction keeps the order of the elements: the second index is the larger one.
std::string stablehlo::choiceOf(mlir::Region &region) {
  mlir::Block *body = bodyOf(region);
  if (!body || body->getNumArguments() != 4 || body->back().getNumOperands() != 2 ||
      !hasPlainConstants(*body))
    return "";
  std::vector<DenseElementsAttr> numbers = sampleOf(body->getArgument(0).getType());
  if (DenseElementsAttr nan = scalar(body->getArgument(0).getType(), std::nan("")))
    numbers.push_back(nan);
  DenseElementsAttr first = scalar(body->getArgument(1).getType(), 0);
  DenseElementsAttr second = scalar(body->getArgument(3).getType(), 1);
  bool isMost = first && second, isLeast = isMost;
  for (DenseElementsAttr a : numbers)
    for (DenseElementsAttr b : numbers) {
      auto found = isMost || isLeast ? valuesOf(*body, {a, first, b, second}) : std::nullopt;
      if (!found)
        return "";
      auto agrees = [&](int order) {
        bool sameValue = (*found)[0] == (order >= 0 ? a : b) || orderOfNumbers(a, b, true) == 0;
        return sameValue && (*found)[1] == (order >= 0 ? first : second);
      };
      isMost &= agrees(orderOfNumbers(a, b, true));
      isLeast &= agrees(-orderOfNumbers(a, b, false));
    }
  return isMost == isLeast ? "" : isMost ? "argmax" : "argmin";
}

/// Whether the comparator orders rows by `keys`: for all rows of the sample.
static bool sortsBy(mlir::Block &body, llvm::ArrayRef<std::pair<size_t, bool>> keys) {
  size_t operands = body.getNumArguments() / 2;
  std::vector<std::vector<DenseElementsAttr>> samples;
  for (auto [operand, isDescending] : keys)
    samples.push_back(sampleOf(body.getArgument(unsigned(2 * operand)).getType()));
  // The other operands must not matter.
  std::vector<std::vector<DenseElementsAttr>> others;
  for (auto [first, second] : {std::pair(0, 0), std::pair(0, 1), std::pair(1, 0)}) {
    std::vector<DenseElementsAttr> &pair = others.emplace_back();
    for (size_t i = 0; i < operands; ++i) {
      mlir::Type type = body.getArgument(unsigned(2 * i)).getType();
      pair.push_back(scalar(type, first));
      pair.push_back(scalar(type, second));
    }
    if (llvm::is_contained(pair, DenseElementsAttr()))
      return false;
  }
  std::vector<DenseElementsAttr> row = others.front();
  // Pairs of numbers for each key, the first key outermost.
  std::function<bool(size_t, std::optional<bool>)> holds = [&](size_t k,
                                                               std::optional<bool> before) {
    if (k == keys.size())
      return llvm::all_of(others, [&](const std::vector<DenseElementsAttr> &pair) {
        for (size_t i = 0; i < operands; ++i)
          if (llvm::none_of(keys, [&](auto key) { return key.first == i; })) {
            row[2 * i] = pair[2 * i];
            row[2 * i + 1] = pair[2 * i + 1];
          }
        auto found = valuesOf(body, row);
        return found && found->size() == 1 && (*found)[0].getElementType().isInteger(1) &&
               (*found)[0].getSplatValue<bool>() == before.value_or(false);
      });
    auto [operand, isDescending] = keys[k];
    for (DenseElementsAttr a : samples[k])
      for (DenseElementsAttr b : samples[k]) {
        row[2 * operand] = a;
        row[2 * operand + 1] = b;
        int numbers = orderOfNumbers(a, b, true);
        if (numbers == 0 && a != b) // a total order may distinguish zeros
          continue;
        std::optional<bool> order = before;
        if (!order && numbers != 0)
          order = isDescending ? numbers > 0 : numbers < 0;
        if (!holds(k + 1, order))
          return false;
      }
    return true;
  };
  return holds(0, std::nullopt);
}

std::optional<Order> stablehlo::orderOf(mlir::Region &region, size_t operands) {
  mlir::Block *body = bodyOf(region);
  if (!body || body->getNumArguments() != 2 * operands || body->back().getNumOperands() != 1 ||
      !hasPlainConstants(*body))
    return std::nullopt;
  for (size_t i = 0; i < operands; ++i)
    for (bool isDescending : {false, true}) {
      Order order;
      order.keys.push_back({i, isDescending});
      if (sortsBy(*body, order.keys))
        return order;
    }
  for (size_t i = 0; i < operands && operands <= 4; ++i)
    for (size_t j = 0; j < operands; ++j)
      for (int directions = 0; directions < 4; ++directions) {
        Order order;
        order.keys.push_back({i, (directions & 1) != 0});
        order.keys.push_back({j, (directions & 2) != 0});
        if (i != j && sortsBy(*body, order.keys))
          return order;
      }
  return std::nullopt;
}
