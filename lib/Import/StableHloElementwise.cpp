//===- StableHloElementwise.cpp - Arithmetic of StableHLO and CHLO ------------------===//
#include "StableHloTables.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera::stablehlo;

namespace {
struct Pattern {
  const char *op, *text;
};
} // namespace

static constexpr Pattern kPatterns[] = {
    {"abs", "tsr.abs({0})"},
    {"ceil", "tsr.ceil({0})"},
    {"cosine", "tsr.cos({0})"},
    {"exponential", "tsr.exp({0})"},
    {"exponential_minus_one", "tsr.expm1({0})"},
    {"floor", "tsr.floor({0})"},
    {"is_finite", "tsr.isfinite({0})"},
    {"log", "tsr.log({0})"},
    {"log_plus_one", "tsr.log1p({0})"},
    {"logistic", "tsr.sigmoid({0})"},
    {"maximum", "tsr.maximum({0}, {1})"},
    {"minimum", "tsr.minimum({0}, {1})"},
    {"negate", "-{0}"},
    {"round_nearest_even", "tsr.round({0})"},
    {"rsqrt", "tsr.rsqrt({0})"},
    {"select", "tsr.where({0}, {1}, {2})"},
    {"shift_left", "tsr.bitwise_left_shift({0}, {1})"},
    {"shift_right_arithmetic", "tsr.bitwise_right_shift({0}, {1})"},
    {"sine", "tsr.sin({0})"},
    {"sqrt", "tsr.sqrt({0})"},
    {"subtract", "{0} - {1}"},
    {"tan", "tsr.tan({0})"},
    {"tanh", "tsr.tanh({0})"},
    {"atan2", "tsr.atan2({0}, {1})"},
    {"clamp", "tsr.minimum(tsr.maximum({1}, {0}), {2})"},
    {"chlo.acos", "tsr.acos({0})"},
    {"chlo.asin", "tsr.asin({0})"},
    {"chlo.atan", "tsr.atan({0})"},
    {"chlo.cosh", "tsr.cosh({0})"},
    {"chlo.erf", "tsr.erf({0})"},
    {"chlo.erfc", "tsr.erfc({0})"},
    {"chlo.is_inf", "tsr.isinf({0})"},
    {"chlo.is_pos_inf", "{0} == math.inf"},
    {"chlo.is_neg_inf", "{0} == -math.inf"},
    {"chlo.sinh", "tsr.sinh({0})"},
    {"chlo.square", "{0} * {0}"},
    {"chlo.tan", "tsr.tan({0})"},
};

//===----------------------------------------------------------------------===//
// Operations whose meaning depends on the type
//===----------------------------------------------------------------------===//

/// An operation of numbers, and another one of bools.
static Builder byKind(const char *numbers, const char *bools) {
  return [=](const Node &node) -> Text {
    return fill(node.result().dtype == "bool" ? bools : numbers, node);
  };
}

static Text divide(const Node &node) {
  return node.result().isFloat() ? fill("{0} / {1}", node)
                                 : fill("tsr.div({0}, {1}, rounding_mode='trunc')", node);
}

static Text compare(const Node &node) {
  static const llvm::StringMap<std::string> signs = {{"EQ", "=="}, {"NE", "!="}, {"LT", "<"},
                                                     {"LE", "<="}, {"GT", ">"},  {"GE", ">="}};
  auto sign = signs.find(node.string("comparison_direction"));
  if (sign == signs.end())
    return node.refuse("the direction is not known");
  const TensorInfo *a = node.tensor("0"), *b = node.tensor("1");
  bool isFloat = (a && a->isFloat()) || (b && b->isFloat());
  if (isFloat && node.string("compare_type") == "TOTALORDER")
    return node.refuse("the total order of floats is supported only in comparators");
  return node["0"] + " " + sign->second + " " + node["1"];
}

static Text convert(const Node &node) {
  const TensorInfo *from = node.tensor("0");
  if (!from)
    return node.refuse("the type is not known");
  if (from->dtype == node.result().dtype)
    return node["0"];
  if (node.result().dtype == "bool")
    return node["0"] + " != 0";
  return node["0"] + ".to(tsr." + node.result().dtype + ")";
}

/// Zeros and NaN keep their sign and their payload.
static Text sign(const Node &node) {
  if (!node.result().isFloat())
    return fill("tsr.sign({0})", node);
  return fill("tsr.where(({0} == 0) | tsr.isnan({0}), {0}, tsr.sign({0}))", node);
}

/// The name of a value in fp32 if its type is narrower.
static std::string widened(const Node &node, const std::string &x) {
  bool isNarrow = node.result().dtype == "fp16" || node.result().dtype == "bf16";
  return isNarrow ? node.let("wide", x + ".to(tsr.fp32)") : x;
}

/// A power, made accurate by a step of Newton's.
static Text cubeRoot(const Node &node) {
  std::string x = widened(node, node["0"]);
  std::string third = node.result().dtype == "fp64" ? "0.3333333333333333" : "0.33333334";
  std::string size = node.let("size", "tsr.abs(" + x + ")");
  std::string near = node.let("near", size + " ** " + third);
  std::string root = node.let("root", near + " - (" + near + " - " + size + " / (" + near + " * " +
                                          near + ")) / 3");
  std::string isPlain = "(" + size + " > 0) & (" + size + " < math.inf)";
  root = node.let("kept", "tsr.where(" + isPlain + ", " + root + ", " + size + ")");
  return converted("tsr.where(" + x + " < 0, -" + root + ", tsr.where(" + x + " == 0, " + x + ", " +
                       root + "))",
                   node);
}

/// Ties away from zero: adding a half would round the largest number below it.
static Text roundAway(const Node &node) {
  std::string x = node["0"], whole = node.let("whole", "tsr.trunc(" + x + ")");
  return "tsr.where(tsr.abs(" + x + " - " + whole + ") >= 0.5, " + whole + " + tsr.sign(" + x +
         "), " + whole + ")";
}

static int64_t bitsOf(const std::string &dtype) {
  int64_t bits = 8;
  llvm::StringRef(dtype).drop_until(llvm::isDigit).getAsInteger(10, bits);
  return bits;
}

/// A shift that fills with zeros: the sign is masked away.
static Text shiftRight(const Node &node) {
  if (node.result().dtype == "bool" || node.result().isFloat())
    return node.refuse("only integers are shifted");
  if (node.result().dtype == "uint8")
    return fill("tsr.bitwise_right_shift({0}, {1})", node);
  int64_t bits = bitsOf(node.result().dtype);
  std::string x = node["0"], n = node["1"], least = std::to_string(-(int64_t(1) << (bits - 2))),
              width = std::to_string(bits);
  // -2^(bits-1) is written as twice the half of it.
  std::string sign = "(" + least + " * 2)";
  std::string rest = node.let("rest", "tsr.bitwise_right_shift(" + x + ", " + n + ")");
  std::string mask =
      node.let("mask", "tsr.bitwise_not(tsr.bitwise_left_shift(tsr.bitwise_right_shift("
                       "tsr.full(" +
                           x + ".shape, " + sign + ", dtype=tsr." + node.result().dtype + "), " +
                           n + "), 1))");
  return "tsr.where((" + n + " < 0) | (" + n + " >= " + width + "), 0, tsr.where(" + n + " == 0, " +
         x + ", " + rest + " & " + mask + "))";
}

/// The number of ones among the bits, which are added in pairs of halves.
static std::string onesOf(const Node &node, const std::string &x, int64_t bits) {
  std::string sum;
  for (int64_t i = 0; i < bits; ++i)
    sum += (i ? " + " : "") + std::string("(tsr.bitwise_right_shift(") + x + ", " +
           std::to_string(i) + ") & 1)";
  return node.let("ones", sum);
}

static Text populationCount(const Node &node) {
  if (node.result().isFloat() || node.result().dtype == "bool")
    return node.refuse("only bits of integers are counted");
  return onesOf(node, node["0"], bitsOf(node.result().dtype));
}

/// All bits behind the first one are set; the others are counted.
static Text leadingZeros(const Node &node) {
  if (node.result().isFloat() || node.result().dtype == "bool")
    return node.refuse("only bits of integers are counted");
  int64_t bits = bitsOf(node.result().dtype);
  std::string x = node["0"];
  for (int64_t i = 1; i < bits; i *= 2)
    x = node.let("set" + std::to_string(i),
                 x + " | tsr.bitwise_right_shift(" + x + ", " + std::to_string(i) + ")");
  std::string count = std::to_string(bits);
  return "tsr.where(" + node["0"] + " < 0, 0, " + count + " - (" + onesOf(node, x, bits) + "))";
}

/// Rounding to a type that the language has.
static Text reducePrecision(const Node &node) {
  std::optional<int64_t> exponent = node.integer("exponent_bits"),
                         mantissa = node.integer("mantissa_bits");
  const std::string &own = node.result().dtype;
  auto is = [&](int64_t e, int64_t m) { return exponent == e && mantissa == m; };
  std::string to = is(8, 7) ? "bf16" : is(5, 10) ? "fp16" : is(8, 23) ? "fp32" : "";
  bool isWhole = (own == "bf16" && exponent >= 8 && mantissa >= 7) ||
                 (own == "fp16" && exponent >= 5 && mantissa >= 10) ||
                 (own == "fp32" && exponent >= 8 && mantissa >= 23) ||
                 (own == "fp64" && exponent >= 11 && mantissa >= 52);
  if (isWhole)
    return node["0"];
  if (to.empty() || bitsOf(own) < bitsOf(to) || (bitsOf(own) == 16 && to != own))
    return node.refuse("only the precisions of bf16, fp16 and fp32 are supported");
  return node["0"] + ".to(tsr." + to + ").to(tsr." + own + ")";
}

static Text bitcast(const Node &node) {
  const TensorInfo *from = node.tensor("0");
  if (from && from->dtype == node.result().dtype)
    return node["0"];
  return node.refuse("the bits of another type are not supported");
}

static Text constantText(const Node &node) {
  const TensorInfo &result = node.result();
  if (llvm::is_contained(result.shape, "?"))
    return node.refuse("the shape must be known");
  return "tsr.full(" + tupleOf(result.shape) + ", " + node["value"] + ", dtype=tsr." +
         result.dtype + ")";
}

static Text iota(const Node &node) {
  const TensorInfo &result = node.result();
  std::optional<size_t> dim = node.dim("iota_dimension", result.rank());
  if (!dim || llvm::is_contained(result.shape, "?"))
    return node.refuse("the shape must be known");
  std::string text = "tsr.iota(" + tupleOf(result.shape) + ", dim=" + std::to_string(*dim);
  bool isNumber = result.dtype == "int32" || result.dtype == "int64";
  return isNumber ? text + ", dtype=tsr." + result.dtype + ")"
                  : text + ", dtype=tsr.int64).to(tsr." + result.dtype + ")";
}

static Text sizes(const Node &node) {
  std::vector<std::string> parts;
  for (const std::string &size : node.list("sizes"))
    parts.push_back("tsr.full((1,), " + size + ", dtype=tsr." + node.result().dtype + ")");
  if (parts.empty())
    return node.refuse("the sizes must be known");
  std::string text = "tsr.cat(" + tupleOf(parts) + ")";
  return node.result().rank() ? text : text + ".reshape(())";
}

void tessera::stablehlo::addElementwiseOperations(Table &table) {
  for (const Pattern &each : kPatterns)
    table[each.op] = [text = each.text](const Node &node) -> Text { return fill(text, node); };
  table["add"] = byKind("{0} + {1}", "tsr.logical_or({0}, {1})");
  table["multiply"] = byKind("{0} * {1}", "tsr.logical_and({0}, {1})");
  table["and"] = byKind("tsr.bitwise_and({0}, {1})", "tsr.logical_and({0}, {1})");
  table["or"] = byKind("tsr.bitwise_or({0}, {1})", "tsr.logical_or({0}, {1})");
  table["xor"] = byKind("tsr.bitwise_xor({0}, {1})", "tsr.logical_xor({0}, {1})");
  table["not"] = byKind("tsr.bitwise_not({0})", "tsr.logical_not({0})");
  table["power"] = byKind("{0} ** {1}", "{0} | tsr.logical_not({1})");
  table["remainder"] = byKind("tsr.fmod({0}, {1})", "{0} & tsr.logical_not({1})");
  table["divide"] = divide;
  table["compare"] = compare;
  table["convert"] = convert;
  table["sign"] = sign;
  table["cbrt"] = cubeRoot;
  table["round_nearest_afz"] = roundAway;
  table["shift_right_logical"] = shiftRight;
  table["popcnt"] = populationCount;
  table["count_leading_zeros"] = leadingZeros;
  table["reduce_precision"] = reducePrecision;
  table["bitcast_convert"] = bitcast;
  table["chlo.asinh"] = [](const Node &n) { return inverseSinh(n, "0"); };
  table["chlo.acosh"] = [](const Node &n) { return inverseCosh(n, "0"); };
  table["chlo.atanh"] = [](const Node &n) { return inverseTanh(n, "0"); };
  table[".full"] = constantText;
  table["iota"] = iota;
  table[".sizes"] = sizes;
}
