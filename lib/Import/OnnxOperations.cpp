//===- OnnxOperations.cpp - Arithmetic of ONNX ------------------------------------===//
//
// An operator is a pattern of the language, in which {X} stands for the input or attribute X of the
// operator's schema, or a function that writes the expression.
//
//===----------------------------------------------------------------------===//
#include "OnnxTables.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera::onnx;

namespace {
struct Pattern {
  const char *op, *text;
};
} // namespace

static constexpr Pattern kPatterns[] = {
    {"Abs", "tsr.abs({X})"},
    {"Acos", "tsr.acos({input})"},
    {"Add", "{A} + {B}"},
    {"And", "tsr.logical_and({A}, {B})"},
    {"Asin", "tsr.asin({input})"},
    {"Atan", "tsr.atan({input})"},
    {"BitwiseAnd", "tsr.bitwise_and({A}, {B})"},
    {"BitwiseNot", "tsr.bitwise_not({X})"},
    {"BitwiseOr", "tsr.bitwise_or({A}, {B})"},
    {"BitwiseXor", "tsr.bitwise_xor({A}, {B})"},
    {"Ceil", "tsr.ceil({X})"},
    {"Celu", "tsr.maximum({X}, 0) + tsr.minimum({alpha} * tsr.expm1({X} / {alpha}), 0)"},
    {"Cos", "tsr.cos({input})"},
    {"Cosh", "tsr.cosh({input})"},
    {"Elu", "tsr.elu({X}, {alpha})"},
    {"Equal", "{A} == {B}"},
    {"Erf", "tsr.erf({input})"},
    {"Exp", "tsr.exp({input})"},
    {"Floor", "tsr.floor({X})"},
    {"Gelu", "tsr.gelu({X}, approximate={approximate})"},
    {"Greater", "{A} > {B}"},
    {"GreaterOrEqual", "{A} >= {B}"},
    {"HardSigmoid", "tsr.clamp({X} * {alpha} + {beta}, 0, 1)"},
    {"HardSwish", "tsr.hardswish({X})"},
    {"Identity", "{input}"},
    {"IsNaN", "tsr.isnan({X})"},
    {"LeakyRelu", "tsr.leaky_relu({X}, {alpha})"},
    {"Less", "{A} < {B}"},
    {"LessOrEqual", "{A} <= {B}"},
    {"Log", "tsr.log({input})"},
    {"MatMul", "{A} @ {B}"},
    {"Mish", "tsr.mish({X})"},
    {"Mul", "{A} * {B}"},
    {"Neg", "-{X}"},
    {"Not", "tsr.logical_not({X})"},
    {"Or", "tsr.logical_or({A}, {B})"},
    {"Reciprocal", "tsr.reciprocal({X})"},
    {"Relu", "tsr.relu({X})"},
    {"Round", "tsr.round({X})"},
    {"Selu", "{gamma} * tsr.elu({X}, {alpha})"},
    {"Shrink", "tsr.where({input} < -{lambd}, {input} + {bias}, "
               "tsr.where({input} > {lambd}, {input} - {bias}, 0))"},
    {"Sigmoid", "tsr.sigmoid({X})"},
    {"Sign", "tsr.sign({input})"},
    {"Sin", "tsr.sin({input})"},
    {"Sinh", "tsr.sinh({input})"},
    {"Softplus", "tsr.softplus({X}, 1, 40)"},
    {"Softsign", "{input} / (1 + tsr.abs({input}))"},
    {"Sqrt", "tsr.sqrt({X})"},
    {"Sub", "{A} - {B}"},
    {"Swish", "{X} * tsr.sigmoid({alpha} * {X})"},
    {"Tan", "tsr.tan({input})"},
    {"Tanh", "tsr.tanh({input})"},
    {"ThresholdedRelu", "tsr.where({X} > {alpha}, {X}, 0)"},
    {"Where", "tsr.where({condition}, {X}, {Y})"},
    {"Xor", "tsr.logical_xor({A}, {B})"},
};

//===----------------------------------------------------------------------===//
// Elementwise operators
//===----------------------------------------------------------------------===//

static Text divide(const Node &node) {
  return node.result().isFloat() ? fill("{A} / {B}", node)
                                 : fill("tsr.div({A}, {B}, rounding_mode='trunc')", node);
}

static Text modulo(const Node &node) {
  return fill(node.is("fmod", 1) ? "tsr.fmod({A}, {B})" : "tsr.remainder({A}, {B})", node);
}

static Text power(const Node &node) {
  const TensorInfo *x = node.tensor("X"), *y = node.tensor("Y");
  // An integer to the power of a float is a float that is truncated.
  bool widens = x && !x->isFloat() && y && y->isFloat();
  return converted((widens ? node["X"] + ".to(tsr.fp64)" : node["X"]) + " ** " + node["Y"], node);
}

static Text shift(const Node &node) {
  return fill(node.string("direction") == "LEFT" ? "tsr.bitwise_left_shift({X}, {Y})"
                                                 : "tsr.bitwise_right_shift({X}, {Y})",
              node);
}

/// Before version 7, a slope for each channel is a vector.
static Text prelu(const Node &node) {
  const TensorInfo *x = node.tensor("X"), *slope = node.tensor("slope");
  std::string factor = node["slope"];
  if (node.version < 7 && x && slope && slope->rank() == 1 && slope->shape[0] != "1") {
    std::vector<std::string> shape(x->rank(), "1");
    if (shape.size() < 2)
      return node.refuse("the input must have channels");
    shape[1] = "-1";
    factor += ".reshape(" + tupleOf(shape) + ")";
  }
  return "tsr.where(" + node["X"] + " < 0, " + factor + " * " + node["X"] + ", " + node["X"] + ")";
}

/// A builder for operators that had a broadcasting of their own before version 7.
static Builder broadcasting(Builder builder) {
  return [builder = std::move(builder)](const Node &node) -> Text {
    if (node.version < 7 && node.has("axis"))
      return node.refuse("broadcasting along an axis, before version 7, is not supported");
    return builder(node);
  };
}

static Text clip(const Node &node) {
  return node.has("min") || node.has("max") ? fill("tsr.clamp({input}, {min}, {max})", node)
                                            : node["input"];
}

/// max(max(a, b), c).
static Text folded(const Node &node, const char *function) {
  std::string text;
  for (const std::string &one : node.list("data_0"))
    text = text.empty() ? one : "tsr." + std::string(function) + "(" + text + ", " + one + ")";
  return text;
}

static Text sumOf(const Node &node, bool isMean) {
  std::vector<std::string> parts = node.list("data_0");
  std::string sum = llvm::join(parts, " + ");
  return isMean ? "(" + sum + ") / " + std::to_string(parts.size()) : sum;
}

static Text isInf(const Node &node) {
  bool up = node.is("detect_positive", 1), down = node.is("detect_negative", 1);
  if (up && down)
    return fill("tsr.isinf({X})", node);
  if (!up && !down)
    return fill("tsr.full({X}.shape, False, dtype=tsr.bool)", node);
  return fill(up ? "{X} == math.inf" : "{X} == -math.inf", node);
}

static Text cast(const Node &node) {
  std::string x = node["input"];
  const TensorInfo *from = node.tensor("input");
  if (node.result().dtype == "bool")
    return from && from->dtype == "bool" ? x : x + " != 0";
  return x + ".to(tsr." + node.result().dtype + ")";
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static bool isReduced(const std::vector<int64_t> &axes, size_t dim, size_t rank) {
  return axes.empty() || llvm::is_contained(axes, int64_t(dim)) ||
         llvm::is_contained(axes, int64_t(dim) - int64_t(rank));
}

namespace {
/// What a reduction does with each element, with all of them, and with the result.
struct Reduction {
  const char *op, *before, *function, *after;
  const char *empty;  ///< the value of an empty reduction; null: that of the function
  bool keepsIdentity; ///< whether reducing one element gives that element
};
} // namespace

static constexpr Reduction kReductions[] = {
    {"ReduceSum", "{}", "sum", "{}", nullptr, true},
    {"ReduceMean", "{}", "mean", "{}", nullptr, true},
    {"ReduceMax", "{}", "amax", "{}", "least", true},
    {"ReduceMin", "{}", "amin", "{}", "greatest", true},
    {"ReduceProd", "{}", "prod", "{}", nullptr, true},
    {"ReduceL1", "tsr.abs({})", "sum", "{}", nullptr, false},
    {"ReduceL2", "tsr.square({})", "sum", "tsr.sqrt({})", nullptr, false},
    {"ReduceSumSquare", "tsr.square({})", "sum", "{}", nullptr, false},
    {"ReduceLogSum", "{}", "sum", "tsr.log({})", nullptr, false},
    {"ReduceLogSumExp", "{}", "logsumexp", "{}", "-math.inf", false},
};

static std::string around(llvm::StringRef pattern, const std::string &text) {
  auto [before, after] = pattern.split("{}");
  return before.str() + text + after.str();
}

/// The value of an empty maximum or minimum.
static std::string emptyValue(llvm::StringRef empty, const TensorInfo &info) {
  bool isLeast = empty == "least";
  if (empty.starts_with("-") || info.isFloat())
    return isLeast || empty.starts_with("-") ? "-math.inf" : "math.inf";
  if (info.dtype == "bool")
    return isLeast ? "False" : "True";
  if (info.dtype == "uint8")
    return isLeast ? "0" : "255";
  unsigned bits = 0;
  llvm::StringRef(info.dtype).drop_front(3).getAsInteger(10, bits);
  return isLeast ? "-" + std::to_string(uint64_t(1) << (bits - 1))
                 : std::to_string((uint64_t(1) << (bits - 1)) - 1);
}

static Text reduce(const Node &node, const Reduction &reduction) {
  const TensorInfo *data = node.tensor("data");
  if (!data)
    return node.refuse("the number of dimensions is not known");
  std::vector<int64_t> axes;
  if (node.has("axes")) {
    std::optional<std::vector<int64_t>> known = node.integers("axes");
    if (!known)
      return node.refuse("the axes must be known");
    axes = *known;
  }
  if (axes.empty() && node.is("noop_with_empty_axes", 1)) {
    if (!reduction.keepsIdentity)
      return node.refuse("empty axes that reduce nothing are not supported");
    return node["data"];
  }
  if (!data->isFloat() && llvm::StringRef(reduction.function) == "mean")
    return node.refuse("the mean of integers is not supported");
  bool isEmpty = false;
  for (size_t i = 0; i < data->rank(); ++i)
    isEmpty |= isReduced(axes, i, data->rank()) && data->shape[i] == "0";
  if (isEmpty && reduction.empty) {
    std::optional<std::vector<int64_t>> shape = staticShape(&node.result());
    if (!shape)
      return node.refuse("the shape of an empty reduction must be known");
    return "tsr.full(" + tupleOf(*shape) + ", " + emptyValue(reduction.empty, *data) +
           ", dtype=tsr." + node.result().dtype + ")";
  }
  if (!data->rank())
    return converted(around(reduction.after, around(reduction.before, node["data"])), node);
  if (axes.empty())
    for (size_t i = 0; i < data->rank(); ++i)
      axes.push_back(int64_t(i));
  std::string x = node["data"];
  if (data->dtype == "bool")
    x += ".to(tsr.uint8)";
  std::string text = "tsr." + std::string(reduction.function) + "(" + around(reduction.before, x) +
                     ", dim=" + tupleOf(axes) +
                     ", keepdim=" + (node.is("keepdims", 0) ? "False" : "True") + ")";
  text = around(reduction.after, text);
  if (data->dtype == "bool")
    return text + " != 0";
  return data->isFloat() ? text : converted(text, node);
}

static Text argument(const Node &node, const char *function) {
  const TensorInfo *data = node.tensor("data");
  std::optional<size_t> axis = data ? node.dim("axis", data->rank()) : std::nullopt;
  if (!axis)
    return node.refuse("the number of dimensions is not known");
  std::string dim = std::to_string(*axis), x = node["data"];
  std::string keep = node.is("keepdims", 0) ? "False" : "True";
  auto index = [&](const std::string &of) {
    return "tsr." + std::string(function) + "(" + of + ", dim=" + dim + ", keepdim=" + keep + ")";
  };
  if (node.is("select_last_index", 1))
    return sizeOf(x, *data, *axis) + " - 1 - " + index("tsr.flip(" + x + ", " + dim + ")");
  return index(x);
}

static Text topK(const Node &node) {
  std::optional<std::vector<std::string>> k = node.known("K");
  if (!k)
    k = node.known("k"); // an attribute before version 10
  std::string count;
  if (k && k->size() == 1) {
    count = (*k)[0];
  } else {
    std::optional<size_t> axis = node.dim("axis", node.result().rank());
    if (!axis || !staticSize(node.result().shape[*axis]))
      return node.refuse("K must be known");
    count = node.result().shape[*axis];
  }
  return "tsr.topk(" + node["X"] + ", " + count + ", dim=" + node["axis"] +
         ", largest=" + (node.is("largest", 0) ? "False" : "True") + ")";
}

/// A scan, in reverse and without the element itself if the attributes say so.
static Text scan(const Node &node, const char *function, const char *first) {
  const TensorInfo *x = node.tensor("x");
  std::optional<size_t> axis = x ? node.dim("axis", x->rank()) : std::nullopt;
  if (!axis)
    return node.refuse("the axis must be known");
  std::string dim = std::to_string(*axis), text = node["x"];
  if (node.is("reverse", 1))
    text = node.let("reversed", "tsr.flip(" + text + ", " + dim + ")");
  if (node.is("exclusive", 1)) {
    std::vector<std::string> sizes = sizesOf(node["x"], *x, 0, x->rank());
    sizes[*axis] = "1";
    std::string one = "tsr.full(" + tupleOf(sizes) + ", " + first + ", dtype=tsr." + x->dtype + ")";
    text = node.let("before",
                    "tsr.cat((" + one + ", " + indexed(text, *axis, ":-1") + "), dim=" + dim + ")");
  }
  text = "tsr." + std::string(function) + "(" + text + ", " + dim + ", dtype=tsr." + x->dtype + ")";
  return node.is("reverse", 1) ? "tsr.flip(" + text + ", " + dim + ")" : text;
}

//===----------------------------------------------------------------------===//
// Contractions and softmax
//===----------------------------------------------------------------------===//

static Text gemm(const Node &node) {
  std::string product = node["A"] + (node.is("transA", 1) ? ".T" : "") + " @ " + node["B"] +
                        (node.is("transB", 1) ? ".T" : "");
  if (!node.is("alpha", 1))
    product = node["alpha"] + " * (" + product + ")";
  if (node.has("C") && !node.is("beta", 0))
    product += " + " + (node.is("beta", 1) ? node["C"] : node["beta"] + " * " + node["C"]);
  return node.result().isFloat() ? product : converted(product, node);
}

static Text einsum(const Node &node) {
  return "tsr.einsum(" + node["equation"] + ", " + joined(node.list("Inputs")) + ")";
}

/// Before version 13, all dimensions from the axis on are one.
static Text softmax(const Node &node, const char *function) {
  const TensorInfo *x = node.tensor("input");
  if (!x)
    return node.refuse("the number of dimensions is not known");
  std::string name = "tsr." + std::string(function) + "(" + node["input"];
  std::optional<size_t> axis = node.dim("axis", x->rank());
  if (!axis)
    return node.refuse("the axis is not one of the input");
  if (node.version >= 13 || *axis + 1 == x->rank())
    return name + ", dim=" + std::to_string(*axis) + ")";
  return name + ".flatten(" + std::to_string(*axis) + "), dim=-1).reshape(" +
         tupleOf(sizesOf(node["input"], *x, 0, x->rank())) + ")";
}

static Text hardmax(const Node &node) {
  const TensorInfo *x = node.tensor("input");
  std::optional<size_t> axis = x ? node.dim("axis", x->rank()) : std::nullopt;
  if (!axis || node.version < 13)
    return node.refuse("hardmax of several dimensions is not supported");
  std::string dim = std::to_string(*axis);
  return converted("tsr.iota(" + tupleOf(sizesOf(node["input"], *x, 0, x->rank())) +
                       ", dim=" + dim + ") == tsr.argmax(" + node["input"] + ", dim=" + dim +
                       ", keepdim=True)",
                   node);
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

/// A scale or zero point in the shape of the input: one number, or one for each slice of an axis.
static Text alongAxis(const Node &node, const char *argument, const TensorInfo &x) {
  const TensorInfo *info = node.tensor(argument);
  if (!info || info->rank() > 1 || node.integer("block_size").value_or(0))
    return node.refuse("scales of blocks are not supported");
  if (info->rank() == 0)
    return node[argument];
  std::vector<std::string> shape(x.rank(), "1");
  if (info->shape[0] != "1") {
    std::optional<size_t> axis = node.has("axis") ? node.dim("axis", x.rank()) : 1;
    if (!axis || *axis >= x.rank())
      return node.refuse("the axis is not one of the input");
    shape[*axis] = "-1";
  }
  return node[argument] + ".reshape(" + tupleOf(shape) + ")";
}

static Text limits(const std::string &dtype) {
  if (dtype == "uint8")
    return "0, 255";
  if (dtype == "int8")
    return "-128, 127";
  if (dtype == "int16")
    return "-32768, 32767";
  return std::nullopt;
}

static Text quantize(const Node &node) {
  const TensorInfo *x = node.tensor("x");
  Text range = limits(node.result().dtype);
  if (!x || !range || !x->isFloat())
    return node.refuse("only quantization to int8, uint8 and int16 is supported");
  Text scale = alongAxis(node, "y_scale", *x);
  if (!scale)
    return std::nullopt;
  std::string text = "tsr.round(" + node["x"] + ".to(tsr.fp32) / " + *scale + ".to(tsr.fp32))";
  if (node.has("y_zero_point")) {
    Text zero = alongAxis(node, "y_zero_point", *x);
    if (!zero)
      return std::nullopt;
    text += " + " + *zero + ".to(tsr.fp32)";
  }
  return converted("tsr.clamp(" + text + ", " + *range + ")", node);
}

static Text dequantize(const Node &node) {
  const TensorInfo *x = node.tensor("x");
  if (!x || x->isFloat())
    return node.refuse("only dequantization of integers is supported");
  Text scale = alongAxis(node, "x_scale", *x);
  if (!scale)
    return std::nullopt;
  std::string text = node["x"] + ".to(tsr.fp32)";
  if (node.has("x_zero_point")) {
    Text zero = alongAxis(node, "x_zero_point", *x);
    if (!zero)
      return std::nullopt;
    text = "(" + text + " - " + *zero + ".to(tsr.fp32))";
  }
  return converted(text + " * " + *scale, node);
}

/// An operand of a product of integers without its zero point, which may be one for each row or
/// column.
static Text shifted(const Node &node, const char *operand, const char *zero, bool isRow) {
  std::string text = node[operand] + ".to(tsr.int32)";
  if (!node.has(zero))
    return text;
  const TensorInfo *info = node.tensor(zero);
  if (!info || info->rank() > 1)
    return node.refuse("zero points of batches are not supported");
  std::string point = node[zero] + ".to(tsr.int32)";
  if (info->rank() == 1 && info->shape[0] != "1" && isRow)
    point += ".unsqueeze(-1)";
  return "(" + text + " - " + point + ")";
}

static Text matmulInteger(const Node &node) {
  Text a = shifted(node, "A", "a_zero_point", true), b = shifted(node, "B", "b_zero_point", false);
  return a && b ? Text(converted(*a + " @ " + *b, node)) : std::nullopt;
}

/// A product of quantized matrices, computed with integers and scaled at the end.
static Text qlinearMatmul(const Node &node) {
  for (const char *scale : {"a_scale", "b_scale", "y_scale", "y_zero_point"})
    if (const TensorInfo *info = node.tensor(scale);
        !info || info->rank() > 1 || (info->rank() == 1 && info->shape[0] != "1"))
      return node.refuse("scales of rows and columns are not supported");
  Text a = shifted(node, "a", "a_zero_point", true), b = shifted(node, "b", "b_zero_point", false);
  Text range = limits(node.result().dtype);
  if (!a || !b || !range)
    return a && b ? node.refuse("only int8, uint8 and int16 are supported") : Text();
  std::string scale = node.let("scale", fill("{a_scale}.to(tsr.fp32) * {b_scale}.to(tsr.fp32) / "
                                             "{y_scale}.to(tsr.fp32)",
                                             node));
  return converted("tsr.clamp(tsr.round((" + *a + " @ " + *b + ").to(tsr.fp32) * " + scale +
                       ") + " + node["y_zero_point"] + ".to(tsr.fp32), " + *range + ")",
                   node);
}

void tessera::onnx::addBasicOperators(Table &table) {
  for (const Pattern &each : kPatterns)
    table[each.op] = [text = each.text](const Node &node) -> Text { return fill(text, node); };
  for (const Reduction &each : kReductions)
    table[each.op] = [&each](const Node &node) { return reduce(node, each); };
  table["PRelu"] = prelu;
  table["Clip"] = clip;
  table["Div"] = divide;
  table["Mod"] = modulo;
  table["Pow"] = power;
  for (const char *op :
       {"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"})
    table[op] = broadcasting(table[op]);
  table["BitShift"] = shift;
  table["Max"] = [](const Node &n) { return folded(n, "maximum"); };
  table["Min"] = [](const Node &n) { return folded(n, "minimum"); };
  table["Sum"] = [](const Node &n) { return sumOf(n, false); };
  table["Mean"] = [](const Node &n) { return sumOf(n, true); };
  table["IsInf"] = isInf;
  table["Asinh"] = [](const Node &n) { return inverseSinh(n, "input"); };
  table["Acosh"] = [](const Node &n) { return inverseCosh(n, "input"); };
  table["Atanh"] = [](const Node &n) { return inverseTanh(n, "input"); };
  table["Cast"] = cast;
  table["CastLike"] = cast;
  table["ArgMax"] = [](const Node &n) { return argument(n, "argmax"); };
  table["ArgMin"] = [](const Node &n) { return argument(n, "argmin"); };
  table["TopK"] = topK;
  table["CumSum"] = [](const Node &n) { return scan(n, "cumsum", "0"); };
  table["CumProd"] = [](const Node &n) { return scan(n, "cumprod", "1"); };
  table["Gemm"] = gemm;
  table["Einsum"] = einsum;
  table["Softmax"] = [](const Node &n) { return softmax(n, "softmax"); };
  table["LogSoftmax"] = [](const Node &n) { return softmax(n, "log_softmax"); };
  table["Hardmax"] = hardmax;
  table["QuantizeLinear"] = quantize;
  table["DequantizeLinear"] = dequantize;
  table["MatMulInteger"] = matmulInteger;
  table["QLinearMatMul"] = qlinearMatmul;
}
