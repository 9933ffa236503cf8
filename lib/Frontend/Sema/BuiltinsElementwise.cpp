//===- BuiltinsElementwise.cpp - Operations on elements ---------------------------------------===//
//
// The scalar vocabulary becomes functions and methods by itself; what follows it here are those
// with more parameters than operands, written in terms of the vocabulary.
//
//===------------------------------------------------------------------------------------------===//
#include "Builtins.h"

using namespace tessera;
using namespace tessera::sema;

static Value number(double value) { return Value::ofFloat(value); }

/// Any operation of ScalarOps.def.
static Value scalarOp(Args &args) {
  for (size_t i = 0; i < args.values.size(); ++i) {
    if (!args[i].isTensor() && !args[i].isNumber())
      return args.error(i, "expected a tensor or a number for '" + std::string(args.builtin.name) +
                               "', found " + describe(args[i]));
  }
  if (!args.in.emitter)
    return args.in.error(args.range, "'" + std::string(args.builtin.name) +
                                         "' makes a tensor, which cannot be a constant")
        .help("use math for constants");
  return args.emit().map(args.builtin.op, args.values, args.ranges);
}

static Value clamp(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  if (args[1].is(Value::None) && args[2].is(Value::None))
    return args.in.error(args.range, "'clamp' needs 'min' or 'max'");
  Value result = *x;
  if (!args[1].is(Value::None))
    result =
        args.emit().map(ScalarOp::Maximum, {result, args[1]}, {args.ranges[0], args.ranges[1]});
  if (!args[2].is(Value::None))
    result =
        args.emit().map(ScalarOp::Minimum, {result, args[2]}, {args.ranges[0], args.ranges[2]});
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
  // The constants that keep mean 0 and variance 1 (Klambauer et al., 2017).
  return exponentialUnit(args, 1.0507009873554804934193349852946,
                         number(1.6732632423543772848170429916717));
}

/// log(1 + exp(x)), linear where it does not matter.
static Value softplusOf(Emitter &emit, const Value &x) {
  // max(x, 0) + log1p(exp(-|x|)) is exact to rounding everywhere.
  Value tail = emit.map(ScalarOp::Exp, {emit.map(ScalarOp::Neg, {emit.map(ScalarOp::Abs, {x})})});
  return emit.map(ScalarOp::Add,
                  {emit.map(ScalarOp::Relu, {x}), emit.map(ScalarOp::Log1p, {tail})});
}

static Value softplus(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  Value wide = Emitter::isFloat(Emitter::dtype(*x)) ? *x : args.emit().cast(*x, DType::FP32, false);
  return softplusOf(args.emit(), wide);
}

static Value mish(Args &args) {
  Value soft = softplus(args);
  if (soft.isError())
    return soft;
  return args.emit().map(ScalarOp::Mul,
                         {args.emit().asTensor(args[0]), args.emit().map(ScalarOp::Tanh, {soft})});
}

/// clamp(x / 6 + 1/2, 0, 1)
static Value hardSigmoidOf(Emitter &emit, const Value &x) {
  Value line = emit.map(ScalarOp::Add, {emit.map(ScalarOp::Div, {x, number(6)}), number(0.5)});
  return emit.map(ScalarOp::Minimum, {emit.map(ScalarOp::Maximum, {line, number(0)}), number(1)});
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

std::vector<Builtin> sema::elementwiseBuiltins() {
  constexpr uint8_t both = Builtin::Function | Builtin::Method;
  static constexpr std::string_view signatures[] = {"", "x", "x, y", "x, y, z"};
  std::vector<Builtin> table;
  forEachScalarOp([&](const ScalarOpInfo &info) {
    if (info.visibility != Visibility::User)
      return;
    std::string_view signature =
        info.op == ScalarOp::Where ? "condition, x, y" : signatures[info.arity];
    uint8_t use = info.op == ScalarOp::Where ? uint8_t(Builtin::Function) : both;
    table.push_back({info.name, signature, use, scalarOp, info.meaning, info.op});
  });
  auto alias = [&](std::string_view name, ScalarOp op) {
    const ScalarOpInfo &info = scalarOpInfo(op);
    table.push_back({name, signatures[info.arity], both, scalarOp, info.meaning, op});
  };
  alias("subtract", ScalarOp::Sub);
  alias("multiply", ScalarOp::Mul);
  alias("divide", ScalarOp::Div);
  alias("true_divide", ScalarOp::Div);
  alias("negative", ScalarOp::Neg);
  alias("absolute", ScalarOp::Abs);
  std::vector<Builtin> more = {
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
      {"softplus", "x", both, softplus, "log(1 + exp(x))"},
      {"mish", "x", both, mish, "x * tanh(softplus(x))"},
      {"hardsigmoid", "x", both, hardsigmoid, "x / 6 + 1/2 limited to [0, 1]"},
      {"hardswish", "x", both, hardswish, "x * hardsigmoid(x)"},
      {"lerp", "x, y, weight", both, lerp, "x + weight * (y - x)"},
      {"to", "x, dtype", Builtin::Method, to, "x converted to another element type, rounded"},
      {"astype", "x, dtype", Builtin::Method, to, "as `to`"},
  };
  table.insert(table.end(), more.begin(), more.end());
  return table;
}
