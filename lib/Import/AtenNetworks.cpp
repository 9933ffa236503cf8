//===- AtenNetworks.cpp - Norms and windows of ATen ------------------------------===//
#include "AtenTables.h"

#include "llvm/ADT/StringRef.h"

using namespace tessera::aten;
using Text = std::optional<std::string>;

/// The last `count` dimensions, as negative numbers.
static std::string lastDims(size_t count) {
  std::vector<std::string> dims;
  for (size_t i = count; i > 0; --i)
    dims.push_back("-" + std::to_string(i));
  return tupleOf(dims);
}

/// Mean and reciprocal deviation over dimensions, which stay as 1, in fp32 for narrow types.
static std::pair<std::string, std::string> statistics(const Node &node, const std::string &x,
                                                      const std::string &dims) {
  std::string mean = node.let("mean", x + ".mean(" + dims + ", keepdim=True)");
  std::string var = x + ".var(" + dims + ", correction=0, keepdim=True)";
  return {mean, node.let("rstd", "tsr.rsqrt(" + var + " + " + node["eps"] + ")")};
}

static std::string widened(const Node &node, const char *argument) {
  const TensorInfo *info = node.tensor(argument);
  bool isNarrow = info && (info->dtype == "fp16" || info->dtype == "bf16");
  return isNarrow ? node.let(argument, node[argument] + ".to(tsr.fp32)") : node[argument];
}

/// A statistic in the type that the graph gives it.
static std::string asResult(const Node &node, size_t index, const std::string &text) {
  return index < node.results.size() ? text + ".to(tsr." + node.results[index].dtype + ")" : text;
}

static Text layerNorm(const Node &node) {
  std::string dims = lastDims(node.list("normalized_shape").size());
  auto [mean, rstd] = statistics(node, widened(node, "input"), dims);
  return fill("(tsr.layer_norm({input}, {normalized_shape}, {weight}, {bias}, {eps}), ", node) +
         asResult(node, 1, mean) + ", " + asResult(node, 2, rstd) + ")";
}

static Text groupNorm(const Node &node) {
  const TensorInfo *input = node.tensor("input");
  if (!input)
    return std::nullopt;
  std::string groups = node["group"];
  std::string x = node.let("groups", widened(node, "input") + ".reshape((" + input->shape[0] +
                                         ", " + groups + ", -1))");
  auto [mean, rstd] = statistics(node, x, "-1");
  return fill("(tsr.group_norm({input}, {group}, {weight}, {bias}, {eps}), ", node) +
         asResult(node, 1, mean + ".squeeze(-1)") + ", " +
         asResult(node, 2, rstd + ".squeeze(-1)") + ")";
}

/// A statistic per channel, in the shape of the input.
static std::string perChannel(const std::string &x, size_t rank) {
  std::vector<std::string> shape(rank, "1");
  shape[1] = "-1";
  return x + ".reshape(" + tupleOf(shape) + ")";
}

static Text batchNormInference(const Node &node) {
  return fill("(tsr.batch_norm({input}, {running_mean}, {running_var}, {weight}, {bias}, "
              "eps={eps}), tsr.zeros((0,)), tsr.zeros((0,)))",
              node);
}

/// Batch norm in training: the result, the statistics, and the new running statistics.
static Text batchNormTraining(const Node &node, bool updates) {
  const TensorInfo *input = node.tensor("input");
  if (!input || input->rank() < 2 || (node.has("training") && !node.isTrue("training")))
    return std::nullopt;
  std::vector<std::string> dims;
  std::string count;
  for (size_t i = 0; i < input->rank(); ++i)
    if (i != 1) {
      dims.push_back(std::to_string(i));
      count += (count.empty() ? "" : " * ") + node["input"] + ".shape[" + std::to_string(i) + "]";
    }
  std::string x = widened(node, "input"), over = tupleOf(dims);
  std::string mean = node.let("mean", x + ".mean(" + over + ")");
  std::string var = node.let("var", x + ".var(" + over + ", correction=0)");
  std::string rstd = node.let("rstd", "tsr.rsqrt(" + var + " + " + node["eps"] + ")");
  size_t rank = input->rank();
  std::string y = "(" + x + " - " + perChannel(mean, rank) + ") * " + perChannel(rstd, rank);
  if (node.has("weight"))
    y = "(" + y + ") * " + perChannel(node["weight"], rank);
  if (node.has("bias"))
    y += " + " + perChannel(node["bias"], rank);
  y = "(" + y + ").to(tsr." + input->dtype + ")";
  if (!updates)
    return "(" + y + ", " + mean + ", " + rstd + ")";
  std::string n = node.let("count", count), momentum = node["momentum"];
  auto moved = [&](const char *argument, const std::string &now) {
    return node[argument] + " * (1 - " + momentum + ") + " + now + " * " + momentum;
  };
  return "(" + y + ", " + mean + ", " + rstd + ", " + moved("running_mean", mean) + ", " +
         moved("running_var", "(" + var + " * (" + n + " / (" + n + " - 1)))") + ")";
}

//===----------------------------------------------------------------------===//
// Convolutions and pooling
//===----------------------------------------------------------------------===//

/// "2d" for weights of four dimensions.
static std::optional<std::string> spatial(const Node &node, const char *weight) {
  const TensorInfo *info = node.tensor(weight);
  if (!info || info->rank() < 3 || info->rank() > 5 || !info->isFloat())
    return std::nullopt;
  return std::to_string(info->rank() - 2) + "d";
}

static Text convolution(const Node &node) {
  std::optional<std::string> dims = spatial(node, "weight");
  if (!dims)
    return std::nullopt;
  if (node.isTrue("transposed"))
    return "tsr.conv_transpose" + *dims +
           fill("({input}, {weight}, {bias}, {stride}, {padding}, {output_padding}, {groups}, "
                "{dilation})",
                node);
  return "tsr.conv" + *dims +
         fill("({input}, {weight}, {bias}, {stride}, {padding}, {dilation}, {groups})", node);
}

/// The numbers of a list, one for each spatial dimension.
static std::optional<std::vector<int64_t>> numbers(const Node &node, const char *argument,
                                                   size_t count) {
  std::optional<std::vector<int64_t>> result = node.integers(argument);
  if (result && result->size() == 1)
    result->resize(count, result->front());
  return result && result->size() == count ? result : std::nullopt;
}

/// The elements that a transposed convolution adds so that its result has the input's size.
static Text outputPadding(const Node &node, const TensorInfo &input, const TensorInfo &weight,
                          const TensorInfo &gradient) {
  size_t count = weight.rank() - 2;
  auto stride = numbers(node, "stride", count), padding = numbers(node, "padding", count);
  auto dilation = numbers(node, "dilation", count);
  if (!stride || !padding || !dilation)
    return std::nullopt;
  std::vector<std::string> more;
  for (size_t j = 0; j < count; ++j) {
    int64_t size = 0, window = 0, positions = 0;
    bool isKnown = !llvm::StringRef(input.shape[2 + j]).getAsInteger(10, size) &&
                   !llvm::StringRef(weight.shape[2 + j]).getAsInteger(10, window) &&
                   !llvm::StringRef(gradient.shape[2 + j]).getAsInteger(10, positions);
    if (!isKnown && (*stride)[j] != 1)
      return std::nullopt;
    int64_t made =
        (positions - 1) * (*stride)[j] - 2 * (*padding)[j] + (*dilation)[j] * (window - 1) + 1;
    more.push_back(std::to_string(isKnown ? size - made : 0));
  }
  return tupleOf(more);
}

/// Gradients of input, weights and bias, as far as `output_mask` wants them.
static Text convolutionBackward(const Node &node) {
  std::optional<std::string> dims = spatial(node, "weight");
  const TensorInfo *input = node.tensor("input"), *weight = node.tensor("weight");
  const TensorInfo *gradient = node.tensor("grad_output");
  std::vector<std::string> mask = node.list("output_mask");
  if (!dims || !input || !gradient || mask.size() != 3 || input->rank() != weight->rank() ||
      gradient->rank() != weight->rank())
    return std::nullopt;
  bool isTransposed = node.isTrue("transposed");
  std::string results[3] = {"None", "None", "None"};
  if (mask[0] == "True" && isTransposed) {
    results[0] =
        "tsr.conv" + *dims +
        fill("({grad_output}, {weight}, None, {stride}, {padding}, {dilation}, {groups})", node);
  } else if (mask[0] == "True") {
    Text more = outputPadding(node, *input, *weight, *gradient);
    if (!more)
      return std::nullopt;
    results[0] = "tsr.conv_transpose" + *dims +
                 fill("({grad_output}, {weight}, None, {stride}, {padding}, ", node) + *more +
                 fill(", {groups}, {dilation})", node);
  }
  if (mask[1] == "True")
    results[1] = "tsr.conv" + *dims + "_weight(" +
                 (isTransposed ? node["grad_output"] : node["input"]) + ", " +
                 tupleOf(weight->shape) + ", " +
                 (isTransposed ? node["input"] : node["grad_output"]) +
                 fill(", {stride}, {padding}, {dilation}, {groups})", node);
  if (mask[2] == "True") {
    std::vector<std::string> over = {"0"};
    for (size_t j = 2; j < gradient->rank(); ++j)
      over.push_back(std::to_string(j));
    results[2] = "tsr.sum(" + node["grad_output"] + ", dim=" + tupleOf(over) + ")";
  }
  return "(" + results[0] + ", " + results[1] + ", " + results[2] + ")";
}

void tessera::aten::addNetworkOperations(Table &table) {
  table["aten.native_layer_norm.default"] = layerNorm;
  table["aten.native_group_norm.default"] = groupNorm;
  table["aten.convolution.default"] = convolution;
  table["aten.convolution_backward.default"] = convolutionBackward;
  for (const char *dims : {"1d", "2d", "3d"}) {
    auto pattern = [&](const std::string &op, const std::string &text) {
      table[op] = [text](const Node &node) -> Text { return fill(text, node); };
    };
    std::string name(dims);
    pattern("aten.max_pool" + name + "_with_indices.default",
            "tsr.max_pool" + name +
                "({self}, {kernel_size}, {stride}, {padding}, {dilation}, {ceil_mode}, True)");
    pattern("aten.avg_pool" + name + ".default",
            "tsr.avg_pool" + name +
                "({self}, {kernel_size}, {stride}, {padding}, {ceil_mode}, {count_include_pad}, "
                "{divisor_override})");
    pattern("aten._adaptive_avg_pool" + name + ".default",
            "tsr.adaptive_avg_pool" + name + "({self}, {output_size})");
  }
  table["aten._native_batch_norm_legit_no_training.default"] = batchNormInference;
  table["aten._native_batch_norm_legit_functional.default"] = [](const Node &node) {
    return batchNormTraining(node, true);
  };
  table["aten._native_batch_norm_legit.no_stats"] = [](const Node &node) {
    return batchNormTraining(node, false);
  };
}
