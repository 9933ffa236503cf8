//===- AtenOperations.cpp - The translation of each ATen operation -------------===//
//
// An operation is a pattern of the language, in which {x} stands for argument x of the operation's
// schema, or a function that writes the expression.
//
//===----------------------------------------------------------------------===//
#include "AtenTables.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera::aten;
using Text = std::optional<std::string>;

namespace {
struct Pattern {
  const char *op, *text;
};
} // namespace

//===----------------------------------------------------------------------===//
// Elementwise operations
//===----------------------------------------------------------------------===//

/// Operations of one tensor with the same name and meaning in both languages.
static constexpr const char *kUnary[] = {
    "abs",         "acos",     "asin", "atan",      "bitwise_not", "ceil",  "cos",     "cosh",
    "erf",         "erfc",     "exp",  "exp2",      "expm1",       "floor", "isinf",   "isnan",
    "log",         "log1p",    "log2", "neg",       "relu",        "rsqrt", "sigmoid", "sign",
    "silu",        "sin",      "sinh", "sqrt",      "tan",         "tanh",  "trunc",   "reciprocal",
    "logical_not", "isfinite", "mish", "hardswish", "hardsigmoid", "round", "square",  "selu"};

/// Operations of two tensors, or of a tensor and a number.
static constexpr const char *kBinary[] = {"eq",
                                          "ne",
                                          "lt",
                                          "le",
                                          "gt",
                                          "ge",
                                          "maximum",
                                          "minimum",
                                          "fmod",
                                          "remainder",
                                          "atan2",
                                          "bitwise_and",
                                          "bitwise_or",
                                          "bitwise_xor",
                                          "logical_and",
                                          "logical_or",
                                          "logical_xor",
                                          "mul",
                                          "bitwise_left_shift",
                                          "bitwise_right_shift",
                                          "floor_divide"};

static constexpr Pattern kPatterns[] = {
    {"aten.__or__.Tensor", "tsr.bitwise_or({self}, {other})"},
    {"aten.div.Tensor", "tsr.div({self}, {other})"},
    {"aten.div.Scalar", "tsr.div({self}, {other})"},
    {"aten.div.Tensor_mode", "tsr.div({self}, {other}, rounding_mode={rounding_mode})"},
    {"aten.div.Scalar_mode", "tsr.div({self}, {other}, rounding_mode={rounding_mode})"},
    {"aten.pow.Tensor_Tensor", "{self} ** {exponent}"},
    {"aten.pow.Tensor_Scalar", "{self} ** {exponent}"},
    {"aten.pow.Scalar", "{self} ** {exponent}"},
    {"aten.rsub.Scalar", "{other} - {self} * {alpha}"},
    {"aten.where.self", "tsr.where({condition}, {self}, {other})"},
    {"aten.where.ScalarOther", "tsr.where({condition}, {self}, {other})"},
    {"aten.where.ScalarSelf", "tsr.where({condition}, {self}, {other})"},
    {"aten.clamp.default", "tsr.clamp({self}, {min}, {max})"},
    {"aten.clamp.Tensor", "tsr.clamp({self}, {min}, {max})"},
    {"aten.clamp_min.default", "tsr.clamp({self}, {min}, None)"},
    {"aten.clamp_max.default", "tsr.clamp({self}, None, {max})"},
    {"aten.hardtanh.default", "tsr.clamp({self}, {min_val}, {max_val})"},
    {"aten.gelu.default", "tsr.gelu({self}, approximate={approximate})"},
    {"aten.leaky_relu.default", "tsr.leaky_relu({self}, {negative_slope})"},
    {"aten.softplus.default", "tsr.softplus({self}, {beta}, {threshold})"},
    {"aten.masked_fill.Scalar", "tsr.where({mask}, {value}, {self})"},
    {"aten.masked_fill.Tensor", "tsr.where({mask}, {value}, {self})"},
    {"aten.lerp.Scalar", "tsr.lerp({self}, {end}, {weight})"},
    {"aten.lerp.Tensor", "tsr.lerp({self}, {end}, {weight})"},
    {"aten.log10.default", "tsr.log({self}) * 0.4342944819032518"},
    {"aten.addcmul.default", "{self} + {value} * {tensor1} * {tensor2}"},
    {"aten.addcdiv.default", "{self} + {value} * {tensor1} / {tensor2}"},
    // Data movement.
    {"aten.view.default", "{self}.reshape({size})"},
    {"aten._unsafe_view.default", "{self}.reshape({size})"},
    {"aten.reshape.default", "{self}.reshape({shape})"},
    {"aten.expand.default", "{self}.expand({size})"},
    {"aten.permute.default", "{self}.permute({dims})"},
    {"aten.transpose.int", "{self}.transpose({dim0}, {dim1})"},
    {"aten.t.default", "{self}.T"},
    {"aten.unsqueeze.default", "{self}.unsqueeze({dim})"},
    {"aten.clone.default", "{self}"},
    {"aten.alias.default", "{self}"},
    {"aten.detach.default", "{self}"},
    {"aten.lift_fresh_copy.default", "{self}"},
    {"aten.copy.default", "{src}.expand({self}.shape)"},
    {"aten.unfold.default", "{self}.unfold({dimension}, {size}, {step})"},
    {"aten.contiguous.default", "{self}"},
    {"aten.flip.default", "tsr.flip({self}, {dims})"},
    {"aten.repeat.default", "{self}.repeat({repeats})"},
    {"aten.stack.default", "tsr.stack({tensors}, dim={dim})"},
    {"aten.split_with_sizes.default", "tsr.split({self}, {split_sizes}, dim={dim})"},
    {"aten.split.Tensor", "tsr.split({self}, {split_size}, dim={dim})"},
    {"aten.gather.default", "tsr.gather({self}, {dim}, {index})"},
    {"aten.index_select.default", "tsr.index_select({self}, {dim}, {index})"},
    {"aten.embedding.default", "tsr.embedding({indices}, {weight})"},
    {"aten.scatter_add.default", "tsr.scatter_add({self}, {dim}, {index}, {src})"},
    {"aten.tril.default", "tsr.tril({self}, {diagonal})"},
    {"aten.triu.default", "tsr.triu({self}, {diagonal})"},
    // Contractions.
    {"aten.mm.default", "{self} @ {mat2}"},
    {"aten.bmm.default", "{self} @ {mat2}"},
    {"aten.mv.default", "{self} @ {vec}"},
    {"aten.dot.default", "tsr.dot({self}, {tensor})"},
    {"aten.matmul.default", "{self} @ {other}"},
    // Reductions.
    {"aten.amax.default", "tsr.amax({self}, dim={dim}, keepdim={keepdim})"},
    {"aten.amin.default", "tsr.amin({self}, dim={dim}, keepdim={keepdim})"},
    {"aten.max.default", "tsr.amax({self})"},
    {"aten.min.default", "tsr.amin({self})"},
    {"aten.max.dim", "tsr.max({self}, dim={dim}, keepdim={keepdim})"},
    {"aten.min.dim", "tsr.min({self}, dim={dim}, keepdim={keepdim})"},
    {"aten.argmax.default", "tsr.argmax({self}, dim={dim}, keepdim={keepdim})"},
    {"aten.argmin.default", "tsr.argmin({self}, dim={dim}, keepdim={keepdim})"},
    {"aten.any.default", "tsr.any({self})"},
    {"aten.any.dim", "tsr.any({self}, dim={dim}, keepdim={keepdim})"},
    {"aten.any.dims", "tsr.any({self}, dim={dim}, keepdim={keepdim})"},
    {"aten.all.default", "tsr.all({self})"},
    {"aten.all.dim", "tsr.all({self}, dim={dim}, keepdim={keepdim})"},
    {"aten.prod.default", "tsr.prod({self}, dtype={dtype})"},
    {"aten.prod.dim_int", "tsr.prod({self}, dim={dim}, keepdim={keepdim}, dtype={dtype})"},
    {"aten.cumsum.default", "tsr.cumsum({self}, {dim}, dtype={dtype})"},
    {"aten.cumprod.default", "tsr.cumprod({self}, {dim}, dtype={dtype})"},
    {"aten.logsumexp.default", "tsr.logsumexp({self}, dim={dim}, keepdim={keepdim})"},
    {"aten.linalg_vector_norm.default",
     "tsr.vector_norm({self}, {ord}, dim={dim}, keepdim={keepdim}, dtype={dtype})"},
    {"aten.topk.default", "tsr.topk({self}, {k}, dim={dim}, largest={largest}, sorted={sorted})"},
    {"aten.sort.default", "tsr.sort({self}, dim={dim}, descending={descending})"},
    {"aten.sort.stable", "tsr.sort({self}, dim={dim}, descending={descending})"},
    {"aten.argsort.default", "tsr.argsort({self}, dim={dim}, descending={descending})"},
    // Sizes and parts of several results.
    {"aten.sym_size.int", "{self}.shape[{dim}]"},
    {"operator.getitem", "{a}[{b}]"},
    {"operator.add", "{a} + {b}"},
    {"operator.sub", "{a} - {b}"},
    {"operator.mul", "{a} * {b}"},
    {"operator.floordiv", "{a} // {b}"},
    {"operator.truediv", "{a} / {b}"},
    {"operator.pow", "{a} ** {b}"},
    {"operator.neg", "-{a}"},
    {"operator.mod", "{a} % {b}"},
};

/// The shape of the result, as the graph has it.
static std::string shapeOf(const Node &node) { return tupleOf(node.result().shape); }

static bool hasNamedSizes(const Node &node) {
  return llvm::any_of(node.result().shape, [](const std::string &size) {
    return size.empty() || !llvm::all_of(size, llvm::isDigit);
  });
}

static std::string typed(const std::string &call, const Node &node) {
  return "tsr." + call + ", dtype=tsr." + node.result().dtype + ")";
}

static Text addOrSub(const Node &node, const char *sign) {
  std::string other = node["other"];
  if (node.has("alpha") && !node.is("alpha", 1))
    other += " * " + node["alpha"];
  return node["self"] + sign + other;
}

/// A sum or mean. PyTorch reduces all dimensions if the list is empty.
static Text sumOrMean(const Node &node, const char *name) {
  std::string text = "tsr." + std::string(name) + "(" + node["self"];
  if (!node.list("dim").empty())
    text += ", dim=" + tupleOf(node.list("dim"));
  if (node.has("keepdim"))
    text += ", keepdim=" + node["keepdim"];
  if (node.has("dtype"))
    text += ", dtype=" + node["dtype"];
  return text + ")";
}

static Text variance(const Node &node, const char *name) {
  std::string text = "tsr." + std::string(name) + "(" + node["self"];
  if (!node.list("dim").empty())
    text += ", dim=" + tupleOf(node.list("dim"));
  text += ", correction=" + (node.has("correction") ? node["correction"] : "1");
  return text + ", keepdim=" + node["keepdim"] + ")";
}

static Text varMean(const Node &node) {
  Text var = variance(node, "var"), mean = sumOrMean(node, "mean");
  return "(" + *var + ", " + *mean + ")";
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// The bounds of a slice. The end may be past the last element.
static std::string bounds(const Node &node) {
  constexpr int64_t past = std::numeric_limits<int32_t>::max();
  std::string text;
  if (node.has("start") && !node.is("start", 0))
    text += node["start"];
  text += ":";
  if (node.has("end") && node.integer("end").value_or(0) < past)
    text += node["end"];
  if (node.has("step") && !node.is("step", 1))
    text += ":" + node["step"];
  return text;
}

static Text slice(const Node &node) {
  const TensorInfo *self = node.tensor("self");
  std::optional<size_t> dim = self ? node.dim("dim", self->rank()) : std::nullopt;
  if (!dim)
    return std::nullopt;
  return indexed(node["self"], *dim, bounds(node));
}

static Text selectOne(const Node &node) {
  const TensorInfo *self = node.tensor("self");
  std::optional<size_t> dim = self ? node.dim("dim", self->rank()) : std::nullopt;
  if (!dim || !node.integer("index"))
    return std::nullopt;
  return indexed(node["self"], *dim, std::to_string(*node.integer("index")));
}

/// A slice that is replaced: what is before it, the new elements, what is behind it.
static Text sliceScatter(const Node &node) {
  const TensorInfo *self = node.tensor("self");
  std::optional<size_t> dim = self ? node.dim("dim", self->rank()) : std::nullopt;
  if (!dim || (node.has("step") && !node.is("step", 1)) || !node.tensor("src"))
    return std::nullopt;
  std::optional<int64_t> start = node.has("start") ? node.integer("start") : 0;
  if (!start || *start < 0)
    return std::nullopt;
  std::string size = node["src"] + ".shape[" + std::to_string(*dim) + "]";
  std::string from = std::to_string(*start);
  std::string parts;
  if (*start)
    parts = indexed(node["self"], *dim, ":" + from) + ", ";
  parts += node["src"] + ", " + indexed(node["self"], *dim, from + " + " + size + ":");
  return "tsr.cat((" + parts + "), dim=" + std::to_string(*dim) + ")";
}

/// An index that is replaced: what is before it, the new elements, what is behind it.
static Text selectScatter(const Node &node) {
  const TensorInfo *self = node.tensor("self");
  std::optional<size_t> dim = self ? node.dim("dim", self->rank()) : std::nullopt;
  std::optional<int64_t> index = node.integer("index");
  if (!dim || !index || !node.tensor("src"))
    return std::nullopt;
  std::string at = std::to_string(*dim), place = std::to_string(*index), parts;
  std::string next = *index == -1 ? self->shape[*dim] : std::to_string(*index + 1);
  if (*index)
    parts = indexed(node["self"], *dim, ":" + place) + ", ";
  return "tsr.cat((" + parts + node["src"] + ".unsqueeze(" + at + "), " +
         indexed(node["self"], *dim, next + ":") + "), dim=" + at + ")";
}

/// `x[i, :, j]`. The number of elements that a mask selects is not known.
static Text indexBy(const Node &node) {
  std::vector<std::string> parts = node.list("indices");
  for (const TensorInfo *info : node.tensors("indices"))
    if (info && (info->dtype == "bool" || info->dtype == "uint8"))
      return std::nullopt;
  for (std::string &part : parts)
    if (part == "None")
      part = ":";
  return node["self"] + "[" + joined(parts) + "]";
}

/// Elements that are added at indices of the first dimension.
static Text indexPut(const Node &node) {
  std::vector<const TensorInfo *> at = node.tensors("indices");
  const TensorInfo *self = node.tensor("self"), *added = node.tensor("values");
  if (!node.isTrue("accumulate") || at.size() != 1 || !at[0] || at[0]->dtype == "bool" || !self ||
      !added || added->rank() != at[0]->rank() + self->rank() - 1)
    return std::nullopt;
  std::vector<std::string> row = {"-1"}, ones = {"-1"};
  for (size_t i = at[0]->rank(); i < added->rank(); ++i) {
    row.push_back(added->shape[i]);
    ones.push_back("1");
  }
  std::string rows = node.let("rows", node["values"] + ".reshape(" + tupleOf(row) + ")");
  std::string places =
      node.list("indices")[0] + ".reshape(" + tupleOf(ones) + ").expand(" + rows + ".shape)";
  return "tsr.scatter_add(" + node["self"] + ", 0, " + places + ", " + rows + ")";
}

static Text squeeze(const Node &node) {
  return node.has("dim") ? "tsr.squeeze(" + node["self"] + ", " + node["dim"] + ")"
                         : "tsr.squeeze(" + node["self"] + ")";
}

/// Empty vectors are ignored, as PyTorch does.
static Text concat(const Node &node) {
  std::vector<std::string> kept, all = node.list("tensors");
  std::vector<const TensorInfo *> types = node.tensors("tensors");
  for (size_t i = 0; i < all.size(); ++i)
    if (!types[i] || types[i]->shape != std::vector<std::string>{"0"} || node.result().rank() == 1)
      kept.push_back(all[i]);
  if (kept.empty())
    return std::nullopt;
  return "tsr.cat(" + tupleOf(kept) + ", dim=" + node["dim"] + ")";
}

static Text constantPad(const Node &node) {
  return "tsr.pad(" + node["self"] + ", " + tupleOf(node.list("pad")) +
         ", value=" + (node.has("value") ? node["value"] : "0") + ")";
}

static Text pad(const Node &node, const char *mode) {
  return "tsr.pad(" + node["self"] + ", " + tupleOf(node.list("padding")) + ", mode='" + mode +
         "')";
}

/// The gradient of rows that were looked up.
static Text embeddingBackward(const Node &node) {
  const TensorInfo *gradient = node.tensor("grad_output"), *at = node.tensor("indices");
  if (!gradient || !at || node.isTrue("scale_grad_by_freq"))
    return std::nullopt;
  const std::string &width = gradient->shape.back();
  std::string rows = node.let("rows", node["grad_output"] + ".reshape((-1, " + width + "))");
  std::string places = node.let("places", node["indices"] + ".reshape((-1, 1)).to(tsr.int64)");
  if (node.integer("padding_idx").value_or(-1) >= 0)
    rows = node.let("kept",
                    "tsr.where(" + places + " == " + node["padding_idx"] + ", 0, " + rows + ")");
  return typed("scatter_add(tsr.zeros((" + node["num_weights"] + ", " + width + ")", node) +
         ", 0, " + places + ".expand(" + rows + ".shape), " + rows + ")";
}

//===----------------------------------------------------------------------===//
// Creation, contractions, softmax
//===----------------------------------------------------------------------===//

static Text full(const Node &node, const char *size, const std::string &value) {
  return typed("full(" + tupleOf(node.list(size)) + ", " + value, node);
}

static Text fullLike(const Node &node, const std::string &value) {
  return typed("full_like(" + node["self"] + ", " + value, node);
}

static Text arange(const Node &node) {
  std::string start = node.has("start") ? node["start"] : "0";
  std::string step = node.has("step") ? node["step"] : "1";
  return typed("arange(" + start + ", " + node["end"] + ", " + step, node);
}

/// beta * self + alpha * (x @ y).
static Text addMatmul(const Node &node, const char *x, const char *y) {
  std::string product = "(" + node[x] + " @ " + node[y] + ")";
  if (!node.is("alpha", 1))
    product = node["alpha"] + " * " + product;
  if (node.is("beta", 0))
    return product;
  return (node.is("beta", 1) ? node["self"] : node["beta"] + " * " + node["self"]) + " + " +
         product;
}

static Text softmax(const Node &node, const char *name) {
  std::string text = "tsr." + std::string(name) + "(" + node["self"] + ", dim=" + node["dim"];
  if (node.isTrue("half_to_float"))
    text += ", dtype=tsr.fp32";
  return text + ")";
}

static Text elu(const Node &node) {
  if (!node.is("scale", 1) || !node.is("input_scale", 1))
    return std::nullopt;
  return fill("tsr.elu({self}, {alpha})", node);
}

static Text scalar(const Node &node) { return typed("full((), " + node["s"], node); }

static Text convert(const Node &node) {
  std::string from = node.has("self") ? node["self"] : node["a"];
  return from + ".to(tsr." + node.result().dtype + ")";
}

static Text diagonal(const Node &node) {
  const TensorInfo *self = node.tensor("self");
  if (!self || self->rank() != 2 || !node.is("offset", 0) || hasNamedSizes(node))
    return std::nullopt;
  std::string i = node.let("i", "tsr.arange(" + node.result().shape[0] + ")");
  return node["self"] + "[" + i + ", " + i + "]";
}

void tessera::aten::addBasicOperations(Table &table) {
  auto pattern = [&](const std::string &op, std::string text) {
    table[op] = [text](const Node &node) -> Text { return fill(text, node); };
  };
  for (const char *name : kUnary)
    pattern("aten." + std::string(name) + ".default", "tsr." + std::string(name) + "({self})");
  for (const char *name : kBinary)
    for (const char *overload : {".Tensor", ".Scalar", ".default", ".Tensor_Scalar"})
      pattern("aten." + std::string(name) + overload,
              "tsr." + std::string(name) + "({self}, {other})");
  for (const Pattern &each : kPatterns)
    pattern(each.op, each.text);
  for (const char *overload : {"Tensor", "Scalar"}) {
    table["aten.add." + std::string(overload)] = [](const Node &n) { return addOrSub(n, " + "); };
    table["aten.sub." + std::string(overload)] = [](const Node &n) { return addOrSub(n, " - "); };
  }
  for (const char *overload : {"default", "dim_IntList"})
    table["aten.sum." + std::string(overload)] = [](const Node &n) { return sumOrMean(n, "sum"); };
  for (const char *overload : {"default", "dim"})
    table["aten.mean." + std::string(overload)] = [](const Node &n) {
      return sumOrMean(n, "mean");
    };
  table["aten.var.correction"] = [](const Node &n) { return variance(n, "var"); };
  table["aten.std.correction"] = [](const Node &n) { return variance(n, "std"); };
  table["aten.var_mean.correction"] = varMean;
  table["aten.slice.Tensor"] = slice;
  table["aten.select.int"] = selectOne;
  table["aten.slice_scatter.default"] = sliceScatter;
  table["aten.select_scatter.default"] = selectScatter;
  table["aten.index.Tensor"] = indexBy;
  table["aten._unsafe_index.Tensor"] = indexBy;
  table["aten.index_put.default"] = indexPut;
  table["aten._unsafe_index_put.default"] = indexPut;
  for (const char *overload : {"default", "dim", "dims"})
    table["aten.squeeze." + std::string(overload)] = squeeze;
  table["aten.cat.default"] = concat;
  table["aten.constant_pad_nd.default"] = constantPad;
  for (const char *dims : {"1d", "2d", "3d"}) {
    table["aten.reflection_pad" + std::string(dims) + ".default"] = [](const Node &n) {
      return pad(n, "reflect");
    };
    table["aten.replication_pad" + std::string(dims) + ".default"] = [](const Node &n) {
      return pad(n, "replicate");
    };
  }
  table["aten.embedding_dense_backward.default"] = embeddingBackward;
  table["aten.full.default"] = [](const Node &n) { return full(n, "size", n["fill_value"]); };
  table["aten.zeros.default"] = [](const Node &n) { return full(n, "size", "0"); };
  table["aten.ones.default"] = [](const Node &n) { return full(n, "size", "1"); };
  table["aten.new_full.default"] = [](const Node &n) { return full(n, "size", n["fill_value"]); };
  table["aten.new_zeros.default"] = [](const Node &n) { return full(n, "size", "0"); };
  table["aten.new_ones.default"] = [](const Node &n) { return full(n, "size", "1"); };
  table["aten.full_like.default"] = [](const Node &n) { return fullLike(n, n["fill_value"]); };
  table["aten.zeros_like.default"] = [](const Node &n) { return fullLike(n, "0"); };
  table["aten.ones_like.default"] = [](const Node &n) { return fullLike(n, "1"); };
  for (const char *overload : {"default", "start", "start_step"})
    table["aten.arange." + std::string(overload)] = arange;
  table["aten.scalar_tensor.default"] = scalar;
  table["aten._to_copy.default"] = convert;
  table["prims.convert_element_type.default"] = convert;
  table["aten.addmm.default"] = [](const Node &n) { return addMatmul(n, "mat1", "mat2"); };
  table["aten.baddbmm.default"] = [](const Node &n) { return addMatmul(n, "batch1", "batch2"); };
  table["aten._softmax.default"] = [](const Node &n) { return softmax(n, "softmax"); };
  table["aten._log_softmax.default"] = [](const Node &n) { return softmax(n, "log_softmax"); };
  table["aten._safe_softmax.default"] = [](const Node &node) -> Text {
    return fill("tsr.softmax({self}, dim={dim}, safe=True, dtype={dtype})", node);
  };
  // Elements that nobody has written may have any value.
  for (const char *op : {"aten.empty.memory_format", "aten.new_empty.default",
                         "aten.empty_permuted.default", "aten.new_empty_strided.default"})
    table[op] = [](const Node &n) { return full(n, "size", "0"); };
  table["aten.elu.default"] = elu;
  table["aten.diagonal.default"] = diagonal;
}
