//===- AtenNetworks.cpp - Norms and windows of ATen ------------------------------===//
#include "AtenNode.h"
#include "AtenTables.h"

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
  std::string x = node.let("groups", widened(node, "input") + ".reshape((" + input->shape[0] + ", " +
                                         groups + ", -1))");
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

void tessera::aten::addNetworkOperations(llvm::StringMap<Builder> &table) {
  table["aten.native_layer_norm.default"] = layerNorm;
  table["aten.native_group_norm.default"] = groupNorm;
  table["aten._native_batch_norm_legit_no_training.default"] = batchNormInference;
  table["aten._native_batch_norm_legit_functional.default"] = [](const Node &node) {
    return batchNormTraining(node, true);
  };
  table["aten._native_batch_norm_legit.no_stats"] = [](const Node &node) {
    return batchNormTraining(node, false);
  };
}

const llvm::StringMap<Builder> &tessera::aten::operations() {
  static const llvm::StringMap<Builder> table = [] {
    llvm::StringMap<Builder> made;
    addBasicOperations(made);
    addNetworkOperations(made);
    return made;
  }();
  return table;
}
