//===- BuiltinsElementwise.cpp - Elementwise operations -------------------===//
//
// The scalar operations become functions and methods automatically. The others in this file have
// further parameters and are composed of scalar operations.
//
//===------------------------------------------------------------------------------------------===//
#include "Builtins.h"

#include <cmath>

using namespace tessera;
using namespace tessera::sema;

static Value number(double value) { return Value::ofFloat(value); }

/// Whether argument `i` can be an operand; reports an error if not.
static bool isOperand(Args &args, size_t i) {
  if (args[i].isTensor() || args[i].isNumber() || args[i].isError())
    return true;
  args.error(i, "expected a tensor or a number for '" + std::string(args.builtin.name) +
                    "', found " + describe(args[i]));
  return false;
}

/// Any operation of ScalarOps.def.
static Value scalarOp(Args &args) {
  for (size_t i = 0; i < args.values.size(); ++i)
    if (!isOperand(args, i))
      return Value::error();
  if (!args.in.emitter)
    return args.in
        .error(args.range, "'" + std::string(args.builtin.name) +
                               "' makes a tensor, which cannot be a constant")
        .help("use math for constants");
  return args.emit().map(args.builtin.op, args.values, args.ranges);
}

/// x + alpha * y, x - alpha * y
static Value scaledSum(Args &args) {
  if (args[2].isStaticNumber() && args[2].asDouble() == 1) {
    args.values.pop_back();
    args.ranges.pop_back();
    return scalarOp(args);
  }
  std::optional<Value> x = args.tensor(0), y = x ? args.tensor(1) : std::nullopt;
  if (!y)
    return Value::error();
  Emitter &emit = args.emit();
  DType common = Emitter::commonType({args[0], args[1]}).dtype;
  Value alpha = args[2];
  if (!alpha.isNumber())
    return args.error(2, "expected a number for 'alpha', found " + describe(alpha));
  if (!Emitter::isFloat(common)) {
    if (alpha.is(Value::Float))
      return args.error(2,
                        "expected an int for 'alpha', because the operands are integers, found " +
                            describe(alpha));
    if (common == DType::Bool && !alpha.is(Value::Bool))
      return args.error(2, "expected a bool for 'alpha', because the operands are bools, found " +
                               describe(alpha));
    // As in PyTorch, a value out of range wraps around.
    alpha = Value::ofTensor(emit.materialise(alpha, common, {}));
  }
  Value scaled = emit.map(ScalarOp::Mul, {emit.cast(*y, common, false), alpha});
  return emit.map(args.builtin.op, {args[0], scaled}, {args.ranges[0], args.ranges[1]});
}

/// x / y, optionally rounded down or towards zero.
static Value divide(Args &args) {
  Value mode = args[2];
  args.values.pop_back();
  args.ranges.pop_back();
  if (mode.is(Value::None))
    return scalarOp(args);
  std::string text = mode.is(Value::Str) ? *mode.text : "";
  if (text != "trunc" && text != "floor")
    return args.in.error(args.range,
                         "expected None, 'trunc' or 'floor' for 'rounding_mode', found " +
                             describe(mode));
  std::optional<Value> x = args.tensor(0), y = x ? args.tensor(1) : std::nullopt;
  if (!y)
    return Value::error();
  Emitter &emit = args.emit();
  if (text == "floor")
    return emit.map(ScalarOp::FloorDiv, args.values, args.ranges);
  if (Emitter::isFloat(Emitter::commonType(args.values).dtype))
    return emit.map(ScalarOp::Trunc, {emit.map(ScalarOp::Div, args.values, args.ranges)});
  // Without its remainder, x is a multiple of y.
  Value rest = emit.map(ScalarOp::FMod, args.values, args.ranges);
  return emit.map(ScalarOp::FloorDiv, {emit.map(ScalarOp::Sub, {args[0], rest}), args[1]});
}

/// Bools are returned unchanged, and NaN gives 0, as in PyTorch.
static Value sign(Args &args) {
  if (args[0].isTensor() && Emitter::dtype(args[0]) == DType::Bool)
    return args[0];
  Value result = scalarOp(args);
  if (!result.isTensor() || !Emitter::isFloat(Emitter::dtype(result)))
    return result;
  Emitter &emit = args.emit();
  return emit.map(ScalarOp::Where, {emit.map(ScalarOp::IsNan, {result}), number(0), result});
}

/// Rounds to this many decimals, or before the point if negative.
static Value roundTo(Args &args) {
  std::optional<int64_t> decimals = args.integer(1);
  if (!decimals)
    return Value::error();
  args.values.pop_back();
  args.ranges.pop_back();
  if (*decimals == 0)
    return scalarOp(args);
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  if (!Emitter::isFloat(Emitter::dtype(*x)))
    return args.error(0, "expected a floating point tensor for 'round' to decimals, found " +
                             describe(*x));
  Emitter &emit = args.emit();
  Value power = number(std::pow(10.0, double(std::abs(*decimals))));
  bool isFraction = *decimals > 0;
  Value scaled = emit.map(isFraction ? ScalarOp::Mul : ScalarOp::Div, {*x, power});
  return emit.map(isFraction ? ScalarOp::Div : ScalarOp::Mul,
                  {emit.map(ScalarOp::Round, {scaled}), power});
}

/// x.where(condition, y)
static Value whereMethod(Args &args) {
  return args.emit().map(ScalarOp::Where, {args[1], args[0], args[2]},
                         {args.ranges[1], args.ranges[0], args.ranges[2]});
}

/// A maximum or minimum whose first operand is a number: elements that equal it have no gradient.
static Value withoutGradientAtBound(Emitter &emit, const Value &result) {
  if (auto op = result.isTensor() ? result.tensor.getDefiningOp<gir::MapOp>() : gir::MapOp())
    op->setAttr(gir::kFirstTieAttr, emit.builder.getUnitAttr());
  return result;
}

static Value clamp(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  if (args[1].is(Value::None) && args[2].is(Value::None))
    return args.in.error(args.range, "'clamp' needs 'min' or 'max'");
  for (size_t i : {1, 2})
    if (!args[i].is(Value::None) && !isOperand(args, i))
      return Value::error();
  Value result = *x;
  for (size_t i : {1, 2}) {
    if (args[i].is(Value::None))
      continue;
    ScalarOp op = i == 1 ? ScalarOp::Maximum : ScalarOp::Minimum;
    // Elements share the gradient with a tensor that they equal.
    result = args[i].isNumber()
                 ? withoutGradientAtBound(args.emit(), args.emit().map(op, {args[i], result}))
                 : args.emit().map(op, {result, args[i]}, {args.ranges[0], args.ranges[i]});
  }
  return result;
}

static Value gelu(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  std::string kind = args[1].is(Value::Str) ? *args[1].text : "";
  if (kind != "none" && kind != "tanh")
    return args.error(1, "expected 'none' or 'tanh' for 'approximate', found " + describe(args[1]));
  return args.emit().map(kind == "tanh" ? ScalarOp::GeluTanh : ScalarOp::GeluErf, {*x},
                         {args.ranges[0]});
}

static Value leakyRelu(Args &args) {
  Emitter &emit = args.emit();
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  Value scaled = emit.map(ScalarOp::Mul, {*x, args[1]}, args.ranges);
  return emit.map(ScalarOp::Where, {emit.map(ScalarOp::Gt, {*x, number(0)}), *x, scaled});
}

/// scale * (x where x > 0, else alpha * expm1(x))
static Value exponentialUnit(Args &args, double scale, const Value &alpha) {
  Emitter &emit = args.emit();
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  Value negative = emit.map(ScalarOp::Mul, {emit.map(ScalarOp::Expm1, {*x}), alpha});
  Value result = emit.map(ScalarOp::Where, {emit.map(ScalarOp::Gt, {*x, number(0)}), *x, negative});
  return scale == 1 ? result : emit.map(ScalarOp::Mul, {result, number(scale)});
}

static Value elu(Args &args) { return exponentialUnit(args, 1, args[1]); }
static Value selu(Args &args) {
  // The constants that preserve mean 0 and variance 1 (Klambauer et al., 2017).
  return exponentialUnit(args, 1.0507009873554804934193349852946,
                         number(1.6732632423543772848170429916717));
}

/// log(1 + exp(x)), linear where the difference is negligible.
static Value softplusOf(Emitter &emit, const Value &x) {
  // max(x, 0) + log1p(exp(-|x|)) is accurate to rounding everywhere. The maximum is not relu: its
  // derivative at 0 is 1/2.
  Value tail = emit.map(ScalarOp::Exp, {emit.map(ScalarOp::Neg, {emit.map(ScalarOp::Abs, {x})})});
  return emit.map(ScalarOp::Add,
                  {emit.map(ScalarOp::Maximum, {x, number(0)}), emit.map(ScalarOp::Log1p, {tail})});
}

/// A floating-point tensor; others are converted to fp32.
static std::optional<Value> floating(Args &args, size_t i) {
  std::optional<Value> x = args.tensor(i);
  if (x && !Emitter::isFloat(Emitter::dtype(*x)))
    x = args.emit().cast(*x, DType::FP32, false);
  return x;
}

/// log(1 + exp(beta * x)) / beta, and x itself where beta * x is above a threshold.
static Value softplus(Args &args) {
  std::optional<Value> x = floating(args, 0);
  std::optional<double> beta = x ? args.real(1) : std::nullopt;
  std::optional<double> threshold = beta ? args.real(2) : std::nullopt;
  if (!threshold)
    return Value::error();
  Emitter &emit = args.emit();
  if (*beta == 1 && *threshold == 20) // where the difference is negligible
    return softplusOf(emit, *x);
  Value scaled = emit.map(ScalarOp::Mul, {*x, number(*beta)});
  Value soft = emit.map(ScalarOp::Div, {softplusOf(emit, scaled), number(*beta)});
  Value isLinear = emit.map(ScalarOp::Gt, {scaled, number(*threshold)});
  return emit.map(ScalarOp::Where, {isLinear, *x, soft});
}

static Value mish(Args &args) {
  std::optional<Value> x = floating(args, 0);
  if (!x)
    return Value::error();
  Emitter &emit = args.emit();
  return emit.map(ScalarOp::Mul, {*x, emit.map(ScalarOp::Tanh, {softplusOf(emit, *x)})});
}

/// clamp(x / 6 + 1/2, 0, 1)
static Value hardSigmoidOf(Emitter &emit, const Value &x) {
  Value line = emit.map(ScalarOp::Add, {emit.map(ScalarOp::Div, {x, number(6)}), number(0.5)});
  Value above = withoutGradientAtBound(emit, emit.map(ScalarOp::Maximum, {number(0), line}));
  return withoutGradientAtBound(emit, emit.map(ScalarOp::Minimum, {number(1), above}));
}

static Value hardsigmoid(Args &args) {
  std::optional<Value> x = args.tensor(0);
  return x ? hardSigmoidOf(args.emit(), *x) : Value::error();
}

static Value hardswish(Args &args) {
  std::optional<Value> x = args.tensor(0);
  return x ? args.emit().map(ScalarOp::Mul, {*x, hardSigmoidOf(args.emit(), *x)}) : Value::error();
}

static Value lerp(Args &args) {
  Emitter &emit = args.emit();
  for (size_t i = 0; i < args.values.size(); ++i)
    if (!isOperand(args, i))
      return Value::error();
  Value distance = emit.map(ScalarOp::Sub, {args[1], args[0]}, {args.ranges[1], args.ranges[0]});
  if (distance.isError())
    return distance;
  return emit.map(ScalarOp::Add, {args[0], emit.map(ScalarOp::Mul, {distance, args[2]})});
}

static Value logical(Args &args) {
  llvm::SmallVector<Value> operands;
  for (size_t i = 0; i < args.values.size(); ++i) {
    std::optional<Value> x = args.tensor(i);
    if (!x)
      return Value::error();
    operands.push_back(args.emit().cast(*x, DType::Bool, false));
  }
  return args.emit().map(args.builtin.op, operands, args.ranges);
}

static Value to(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<DType> type = args.dtype(1, DType::FP32);
  if (!x || !type)
    return Value::error();
  return args.emit().cast(*x, *type, true);
}

/// x.float(), x.half(), …
static Value castTo(Args &args) {
  static constexpr std::pair<std::string_view, DType> types[] = {
      {"float", DType::FP32},    {"double", DType::FP64}, {"half", DType::FP16},
      {"bfloat16", DType::BF16}, {"long", DType::Int64},  {"int", DType::Int32},
      {"short", DType::Int16},   {"bool", DType::Bool}};
  std::optional<Value> x = args.tensor(0);
  if (x)
    for (const auto &[name, type] : types)
      if (name == args.builtin.name)
        return args.emit().cast(*x, type, true);
  return Value::error();
}

std::vector<Builtin> sema::elementwiseBuiltins() {
  constexpr uint8_t both = Builtin::Function | Builtin::Method;
  static constexpr std::string_view signatures[] = {"", "x", "x, y", "x, y, z"};
  std::vector<Builtin> table;
  forEachScalarOp([&](const ScalarOpInfo &info) {
    if (info.visibility != Visibility::User)
      return;
    switch (info.op) {
    case ScalarOp::Where:
      table.push_back(
          {info.name, "condition, x, y", Builtin::Function, scalarOp, info.meaning, info.op});
      break;
    case ScalarOp::Add:
    case ScalarOp::Sub:
      table.push_back({info.name, "x, y, *, alpha=1", both, scaledSum, info.meaning, info.op});
      break;
    case ScalarOp::Div:
      table.push_back(
          {info.name, "x, y, *, rounding_mode=None", both, divide, info.meaning, info.op});
      break;
    case ScalarOp::Sign:
      table.push_back({info.name, "x", both, sign, "-1, 0 or 1; 0 for nan", info.op});
      break;
    case ScalarOp::Round:
      table.push_back({info.name, "x, *, decimals=0", both, roundTo, info.meaning, info.op});
      break;
    default:
      table.push_back({info.name, signatures[info.arity], both, scalarOp, info.meaning, info.op});
    }
  });
  // Synonyms in PyTorch and NumPy.
  static constexpr std::pair<std::string_view, std::string_view> aliases[] = {
      {"subtract", "sub"},  {"multiply", "mul"},  {"divide", "div"},   {"negative", "neg"},
      {"absolute", "abs"},  {"arcsin", "asin"},   {"arccos", "acos"},  {"arctan", "atan"},
      {"arctan2", "atan2"}, {"fix", "trunc"},     {"greater", "gt"},   {"greater_equal", "ge"},
      {"less", "lt"},       {"less_equal", "le"}, {"not_equal", "ne"},
  };
  for (auto [name, other] : aliases) {
    Builtin entry = *llvm::find_if(table, [&](const Builtin &b) { return b.name == other; });
    entry.name = name;
    table.push_back(entry);
  }
  table.push_back(
      {"true_divide", "x, y", both, scalarOp, scalarOpInfo(ScalarOp::Div).meaning, ScalarOp::Div});
  std::vector<Builtin> more = {
      {"where", "x, condition, y", Builtin::Method, whereMethod,
       "x where the condition holds, else y"},
      {"logical_and", "x, y", both, logical, "both are non-zero", ScalarOp::And},
      {"logical_or", "x, y", both, logical, "one of them is non-zero", ScalarOp::Or},
      {"logical_xor", "x, y", both, logical, "just one of them is non-zero", ScalarOp::Xor},
      {"logical_not", "x", both, logical, "x is zero", ScalarOp::Not},
      {"clamp", "x, min=None, max=None", both, clamp, "x limited to [min, max]"},
      {"clip", "x, min=None, max=None", both, clamp, "x limited to [min, max]"},
      {"gelu", "x, approximate='none'", both, gelu,
       "x times the normal distribution function of x"},
      {"leaky_relu", "x, negative_slope=0.01", both, leakyRelu,
       "x, times the slope where negative"},
      {"elu", "x, alpha=1.0", both, elu, "x where positive, else alpha * expm1(x)"},
      {"selu", "x", both, selu, "the self-normalising elu"},
      {"softplus", "x, beta=1, threshold=20", both, softplus,
       "log(1 + exp(beta * x)) / beta, linear above a threshold"},
      {"mish", "x", both, mish, "x * tanh(softplus(x))"},
      {"hardsigmoid", "x", both, hardsigmoid, "x / 6 + 1/2 limited to [0, 1]"},
      {"hardswish", "x", both, hardswish, "x * hardsigmoid(x)"},
      {"lerp", "x, y, weight", both, lerp, "x + weight * (y - x)"},
      {"to", "x, dtype", Builtin::Method, to, "x converted to another element type, rounded"},
      {"astype", "x, dtype", Builtin::Method, to, "as `to`"},
  };
  for (std::string_view name :
       {"float", "double", "half", "bfloat16", "long", "int", "short", "bool"})
    more.push_back({name, "x", Builtin::Method, castTo, "x converted to this element type"});
  table.insert(table.end(), more.begin(), more.end());
  return table;
}
