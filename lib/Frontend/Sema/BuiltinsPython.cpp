//===- BuiltinsPython.cpp - Functions of `math` and of Python itself --------------------------===//
#include "Builtins.h"

#include <cmath>

using namespace tessera;
using namespace tessera::sema;

//===------------------------------------------------------------------------------------------===//
// math
//===------------------------------------------------------------------------------------------===//

namespace {
struct MathFunction {
  std::string_view name;
  double (*value)(double);
  /// The scalar operation for a run-time number.
  std::optional<ScalarOp> op;
};
} // namespace

static const MathFunction mathTable[] = {
    {"sqrt", std::sqrt, ScalarOp::Sqrt},   {"exp", std::exp, ScalarOp::Exp},
    {"exp2", std::exp2, ScalarOp::Exp2},   {"expm1", std::expm1, ScalarOp::Expm1},
    {"log2", std::log2, ScalarOp::Log2},   {"log1p", std::log1p, ScalarOp::Log1p},
    {"log10", std::log10, std::nullopt},   {"sin", std::sin, ScalarOp::Sin},
    {"cos", std::cos, ScalarOp::Cos},      {"tan", std::tan, ScalarOp::Tan},
    {"asin", std::asin, ScalarOp::Asin},   {"acos", std::acos, ScalarOp::Acos},
    {"atan", std::atan, ScalarOp::Atan},   {"sinh", std::sinh, ScalarOp::Sinh},
    {"cosh", std::cosh, ScalarOp::Cosh},   {"tanh", std::tanh, ScalarOp::Tanh},
    {"asinh", std::asinh, std::nullopt},   {"acosh", std::acosh, std::nullopt},
    {"atanh", std::atanh, std::nullopt},   {"erf", std::erf, ScalarOp::Erf},
    {"erfc", std::erfc, ScalarOp::Erfc},   {"gamma", std::tgamma, std::nullopt},
    {"lgamma", std::lgamma, std::nullopt}, {"fabs", std::fabs, ScalarOp::Abs},
    {"cbrt", std::cbrt, std::nullopt},
};

/// Rejects tensors: `math` works on numbers.
static bool checkNumber(Args &args, size_t i) {
  const Value &value = args[i];
  if (value.isNumber() || (value.isTensor() && value.weak))
    return true;
  ErrorBuilder report =
      args.error(i, "expected a number for 'math." + std::string(args.builtin.name) + "', found " +
                        describe(value));
  std::string name(args.builtin.name);
  if (value.isTensor() && findBuiltin("tessera." + name)) {
    report.help("use " + args.in.usual(name));
    if (std::string spelled = args.in.spell(name); !spelled.empty() && args.call)
      report.fix(args.call->callee->range, spelled);
  }
  return false;
}

static Value domainError(Args &args) {
  std::string value = args[0].isStaticNumber() && args.values.size() == 1
                          ? floatText(args[0].asDouble())
                          : "the value";
  return args.in.error(args.range, value + " is outside the domain of 'math." +
                                       std::string(args.builtin.name) + "'");
}

static Value mathFunction(Args &args) {
  if (!checkNumber(args, 0))
    return Value::error();
  const MathFunction *entry =
      llvm::find_if(mathTable, [&](const MathFunction &f) { return f.name == args.builtin.name; });
  if (args[0].isStaticNumber()) {
    double x = args[0].asDouble(), y = entry->value(x);
    if (std::isnan(y) && !std::isnan(x))
      return domainError(args);
    if (std::isinf(y) && std::isfinite(x))
      return x == 0 || entry->name.starts_with("log") || entry->name == "atanh"
                 ? domainError(args)
                 : Value(args.in.error(args.range, "the value is too large for a float"));
    return Value::ofFloat(y);
  }
  if (!entry->op) {
    std::optional<double> x = args.real(0);
    return x ? Value::ofFloat(entry->value(*x)) : Value::error();
  }
  return args.emit().map(*entry->op, {args[0]}, args.ranges);
}

static Value mathLog(Args &args) {
  if (!checkNumber(args, 0))
    return Value::error();
  bool hasBase = !args[1].is(Value::None);
  if (hasBase && !checkNumber(args, 1))
    return Value::error();
  auto one = [&](const Value &x) -> Value {
    if (!x.isStaticNumber())
      return args.emit().map(ScalarOp::Log, {x});
    return x.asDouble() <= 0 ? domainError(args) : Value::ofFloat(std::log(x.asDouble()));
  };
  Value result = one(args[0]);
  if (!hasBase || result.isError())
    return result;
  Value base = one(args[1]);
  if (base.isError())
    return base;
  if (result.isStaticNumber() && base.isStaticNumber())
    return base.real == 0 ? domainError(args) : Value::ofFloat(result.real / base.real);
  return args.emit().map(ScalarOp::Div, {result, base});
}

static Value mathPow(Args &args) {
  if (!checkNumber(args, 0) || !checkNumber(args, 1))
    return Value::error();
  if (args[0].isStaticNumber() && args[1].isStaticNumber()) {
    double result = std::pow(args[0].asDouble(), args[1].asDouble());
    return std::isnan(result) ? domainError(args) : Value::ofFloat(result);
  }
  return args.emit().map(ScalarOp::Pow, {args[0], args[1]}, args.ranges);
}

static Value mathBinary(Args &args) {
  std::optional<double> x = args.real(0), y = x ? args.real(1) : std::nullopt;
  if (!y)
    return Value::error();
  std::string_view name = args.builtin.name;
  if (name == "fmod" && *y == 0)
    return domainError(args);
  return Value::ofFloat(name == "atan2"   ? std::atan2(*x, *y)
                        : name == "hypot" ? std::hypot(*x, *y)
                        : name == "fmod"  ? std::fmod(*x, *y)
                                          : std::copysign(*x, *y));
}

/// floor, ceil, trunc: to an int. A quotient of sizes is written `//`.
static Value mathRound(Args &args) {
  if (!checkNumber(args, 0))
    return Value::error();
  if (args[0].is(Value::Int) || args[0].is(Value::Bool))
    return Value::ofInt(args[0].number);
  if (args[0].isTensor())
    return args
        .error(0, "the int must be known when the function is compiled, found " + describe(args[0]))
        .help("for quotients of sizes use '//', and -(-a // b) to round up");
  double x = args[0].real;
  std::string_view name = args.builtin.name;
  double rounded = name == "floor" ? std::floor(x) : name == "ceil" ? std::ceil(x) : std::trunc(x);
  if (!(std::fabs(rounded) < 0x1p63))
    return args.in.error(args.range, "the integer does not fit in 64 bits");
  return Value::ofInt(SymExpr(int64_t(rounded)));
}

static Value mathTest(Args &args) {
  std::optional<double> x = args.real(0);
  if (!x)
    return Value::error();
  std::string_view name = args.builtin.name;
  return Value::ofBool(name == "isnan"   ? std::isnan(*x)
                       : name == "isinf" ? std::isinf(*x)
                                         : std::isfinite(*x));
}

static Value mathInteger(Args &args) {
  std::optional<int64_t> x = args.integer(0);
  std::optional<int64_t> y = args.values.size() > 1 && x ? args.integer(1) : x;
  if (!y)
    return Value::error();
  std::string_view name = args.builtin.name;
  if (name == "isqrt") {
    if (*x < 0)
      return domainError(args);
    int64_t root = int64_t(std::sqrt(double(*x)));
    while (root > 0 && (root > 3037000499 || root * root > *x))
      --root;
    while (root < 3037000499 && (root + 1) * (root + 1) <= *x)
      ++root;
    return Value::ofInt(SymExpr(root));
  }
  if (*x == INT64_MIN || *y == INT64_MIN)
    return args.in.error(args.range, "the integer does not fit in 64 bits");
  int64_t a = std::abs(*x), b = std::abs(*y);
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  if (name == "gcd")
    return Value::ofInt(SymExpr(a));
  int64_t multiple = 0;
  if (a && __builtin_mul_overflow(std::abs(*x) / a, std::abs(*y), &multiple))
    return args.in.error(args.range, "the integer does not fit in 64 bits");
  return Value::ofInt(SymExpr(multiple));
}

static Value mathProd(Args &args) {
  std::optional<std::vector<Value>> items =
      args.in.toSequence(args[0], args.ranges[0], "'math.prod'");
  if (!items)
    return Value::error();
  Value product = Value::ofInt(SymExpr(1));
  for (const Value &item : *items) {
    product = args.in.multiply(product, item, args.range);
    if (product.isError())
      break;
  }
  return product;
}

std::vector<Builtin> sema::mathBuiltins() {
  constexpr uint8_t function = Builtin::Function;
  std::vector<Builtin> table = {
      {"log", "x, base=None", function, mathLog, "logarithm of a number"},
      {"pow", "x, y", function, mathPow, "x to the power of y"},
      {"atan2", "y, x", function, mathBinary, "angle of the point (x, y)"},
      {"hypot", "x, y", function, mathBinary, "length of the vector (x, y)"},
      {"fmod", "x, y", function, mathBinary, "remainder with the sign of x"},
      {"copysign", "x, y", function, mathBinary, "x with the sign of y"},
      {"floor", "x", function, mathRound, "the int below"},
      {"ceil", "x", function, mathRound, "the int above"},
      {"trunc", "x", function, mathRound, "the int towards zero"},
      {"isnan", "x", function, mathTest, "whether a number is nan"},
      {"isinf", "x", function, mathTest, "whether a number is infinite"},
      {"isfinite", "x", function, mathTest, "whether a number is finite"},
      {"gcd", "x, y", function, mathInteger, "greatest common divisor"},
      {"lcm", "x, y", function, mathInteger, "least common multiple"},
      {"isqrt", "x", function, mathInteger, "integer square root"},
      {"prod", "x", function, mathProd, "product of a tuple's numbers"},
  };
  for (const MathFunction &entry : mathTable)
    table.push_back({entry.name, "x", function, mathFunction, "of a number, as in Python"});
  return table;
}

//===------------------------------------------------------------------------------------------===//
// Python
//===------------------------------------------------------------------------------------------===//

static Value range(Args &args) {
  std::vector<Value> &given = *args[0].elements;
  if (given.empty() || given.size() > 3)
    return args.in.error(args.range,
                         "'range' takes 1 to 3 ints, found " + std::to_string(given.size()));
  std::vector<int64_t> numbers;
  for (size_t k = 0; k < given.size(); ++k) {
    const Value &part = given[k];
    if (part.isTensor() && !part.division.isValid())
      return args.in
          .error(args.part(0, k), "a range needs bounds that are known when the function is "
                                  "compiled, found " +
                                      describe(part))
          .help("use operations on whole tensors");
    std::optional<int64_t> number = args.in.toInt(part, args.part(0, k), "a bound of 'range'");
    if (!number)
      return Value::error();
    numbers.push_back(*number);
  }
  if (numbers.size() == 1)
    numbers.insert(numbers.begin(), 0);
  if (numbers.size() == 2)
    numbers.push_back(1);
  if (numbers[2] == 0)
    return args.in.error(args.part(0, 2), "the step of a range must not be 0");
  std::vector<Value> parts;
  for (int64_t number : numbers)
    parts.push_back(Value::ofInt(SymExpr(number)));
  return Value::ofList(Value::Range, std::move(parts));
}

static Value len(Args &args) {
  const Value &x = args[0];
  if (x.isTensor()) {
    if (x.rank() == 0)
      return args.error(0, "a tensor without dimensions has no length");
    return Value::ofInt(x.shape()[0]);
  }
  if (x.isSequence())
    return Value::ofInt(SymExpr(int64_t(x.elements->size())));
  if (x.is(Value::Range)) {
    const std::vector<Value> &parts = *x.elements;
    SymExpr step = parts[2].number;
    SymExpr length = step.constantValue() > 0 ? parts[1].number - parts[0].number
                                              : parts[0].number - parts[1].number;
    SymExpr count = length.ceilDiv(step.constantValue() > 0 ? step : SymExpr(0) - step);
    return Value::ofInt(SymExpr::max(count, SymExpr(0)));
  }
  if (x.is(Value::Str)) {
    std::optional<std::vector<Value>> letters = args.in.toSequence(x, args.ranges[0], "'len'");
    return Value::ofInt(SymExpr(int64_t(letters->size())));
  }
  return args.error(0, "expected a tensor or a tuple for 'len', found " + describe(x));
}

static Value toInt(Args &args) {
  const Value &x = args[0];
  if (x.is(Value::Int) || x.is(Value::Bool))
    return Value::ofInt(x.number);
  if (x.is(Value::Float)) {
    if (!(std::fabs(x.real) < 0x1p63))
      return args.error(0, "the float " + floatText(x.real) + " does not fit in an int");
    return Value::ofInt(SymExpr(int64_t(x.real)));
  }
  ErrorBuilder report = args.error(0, "expected a number that is known when the function is "
                                      "compiled for 'int', found " +
                                          describe(x));
  if (x.isTensor())
    report.help("use .to(int64)");
  return report;
}

static Value toFloat(Args &args) {
  const Value &x = args[0];
  if (x.isStaticNumber())
    return Value::ofFloat(x.asDouble());
  if (x.is(Value::Int))
    return args.in.sizeAsTensor(x.number, true);
  if (x.isTensor() && x.weak) {
    Value result = args.emit().cast(x, DType::FP64, false);
    result.weak = true;
    return result;
  }
  if (x.is(Value::Str)) {
    std::string text = *x.text;
    if (text == "inf" || text == "+inf" || text == "-inf" || text == "nan")
      return Value::ofFloat(std::strtod(text.c_str(), nullptr));
  }
  ErrorBuilder report = args.error(0, "expected a number for 'float', found " + describe(x));
  if (x.isTensor())
    report.help("use .to(fp32)");
  return report;
}

static Value toBool(Args &args) {
  std::optional<bool> truth = args.in.truth(args[0], args.ranges[0], "'bool'");
  return truth ? Value::ofBool(*truth) : Value::error();
}

static Value absolute(Args &args) {
  const Value &x = args[0];
  if (x.isTensor())
    return args.emit().map(ScalarOp::Abs, {x}, args.ranges);
  if (x.is(Value::Float))
    return Value::ofFloat(std::fabs(x.real));
  if (x.is(Value::Int) || x.is(Value::Bool)) {
    std::optional<bool> positive = args.in.sizes.nonNegative(x.number, args.range);
    if (!positive)
      return args.error(0, "the sign of '" + x.number.str() + "' must be known");
    if (*positive)
      return Value::ofInt(x.number);
    return args.in.unary(ast::UnaryOp::Negate, Value::ofInt(x.number), args.range);
  }
  return args.error(0, "expected a number or a tensor for 'abs', found " + describe(x));
}

/// Reports that Python's function was given tensors, and suggests `ours`.
static Value ofTensors(Args &args, std::string_view ours) {
  ErrorBuilder report =
      args.error(0, "Python's '" + std::string(args.builtin.name) + "' does not take tensors");
  report.help("use " + args.in.usual(ours));
  if (std::string spelled = args.in.spell(ours); !spelled.empty())
    report.fix(args.nameRange(), spelled);
  return report;
}

/// Python's min and max of numbers; those of sizes stay expressions.
static Value minOrMax(Args &args) {
  bool isMax = args.builtin.name == "max";
  std::vector<Value> items = *args[0].elements;
  if (items.empty())
    return args.in.error(args.range,
                         "'" + std::string(args.builtin.name) + "' needs at least one value");
  if (items.size() == 1 && items[0].isTensor())
    return ofTensors(args, isMax ? "max" : "min");
  Value best = items[0];
  for (const Value &item : items) {
    if (item.isError())
      return item;
    if (item.isTensor() && !item.weak)
      return ofTensors(args, isMax ? "maximum" : "minimum");
    if (!item.isNumber() && !item.isTensor())
      return args.error(0, "expected numbers, found " + describe(item));
  }
  for (const Value &item : llvm::ArrayRef(items).drop_front()) {
    bool run = best.isTensor() || item.isTensor() ||
               ((best.is(Value::Float) || item.is(Value::Float)) &&
                !(best.isStaticNumber() && item.isStaticNumber()));
    if (run) {
      best = args.emit().map(isMax ? ScalarOp::Maximum : ScalarOp::Minimum, {best, item});
      if (best.isError())
        return best;
    } else if (best.is(Value::Float) || item.is(Value::Float)) {
      bool replaces = isMax ? item.asDouble() > best.asDouble() : item.asDouble() < best.asDouble();
      if (replaces)
        best = item;
    } else {
      best = Value::ofInt(isMax ? SymExpr::max(best.number, item.number)
                                : SymExpr::min(best.number, item.number));
    }
  }
  return best;
}

static Value toTuple(Args &args) {
  if (args[0].is(Value::None))
    return Value::ofTuple({});
  std::optional<std::vector<Value>> items = args.in.toSequence(args[0], args.ranges[0], "'tuple'");
  return items ? Value::ofTuple(*items) : Value::error();
}

static Value roundNumber(Args &args) {
  if (args[0].isTensor())
    return args.emit().map(ScalarOp::Round, {args[0]}, args.ranges);
  if (args[0].is(Value::Int))
    return args[0];
  std::optional<double> x = args.real(0);
  if (!x)
    return Value::error();
  if (!args[1].is(Value::None))
    return args.error(1, "digits of 'round' are not supported by this compiler");
  double rounded = std::nearbyint(*x);
  if (!(std::fabs(rounded) < 0x1p63))
    return args.error(0, "the integer does not fit in 64 bits");
  return Value::ofInt(SymExpr(int64_t(rounded)));
}

static Value append(Args &args) {
  Value &list = args[0];
  const Value &item = args[1];
  // A list that contained itself could not be printed, compared or freed.
  if (item.hasList)
    return args.error(1, "lists inside lists are not supported by this compiler")
        .help("use tuples");
  if (list.elements->size() >= Interpreter::maxElements)
    return args.in.error(args.range, "the list has too many elements");
  list.elements->push_back(item);
  return Value::none();
}

Value Interpreter::multiply(const Value &left, const Value &right, SourceRange range) {
  ast::ErrorExpr place{};
  place.kind = ast::ExprKind::Error;
  place.range = range;
  return binary(ast::BinaryOp::Mul, left, right, &place, &place, range, {});
}

std::vector<Builtin> sema::pythonBuiltins() {
  constexpr uint8_t function = Builtin::Function;
  return {
      {"range", "*bounds", function, range, "ints from start up to stop"},
      {"len", "x", function, len, "the length of a tuple, or a tensor's first size"},
      {"int", "x", function, toInt, "a number without its fraction"},
      {"float", "x", function, toFloat, "a number as a float"},
      {"bool", "x", function, toBool, "the truth of a known value"},
      {"abs", "x", function, absolute, "absolute value"},
      {"min", "*values", function, minOrMax, "the smallest number"},
      {"max", "*values", function, minOrMax, "the largest number"},
      {"tuple", "values=None", function, toTuple, "the elements as a tuple"},
      {"round", "x, ndigits=None", function, roundNumber, "the nearest int, ties to even"},
      {"list.append", "list, item", function, append, "adds an element at the end"},
  };
}
