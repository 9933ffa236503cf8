//===- OnnxNetworks.cpp - Norms and windows of ONNX ---------------------------------===//
#include "OnnxTables.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace tessera::onnx;
using Numbers = std::vector<int64_t>;

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// A vector of channels in the shape of the input.
static std::string perChannel(const std::string &x, size_t rank) {
  std::vector<std::string> shape(rank, "1");
  shape[1] = "-1";
  return x + ".reshape(" + tupleOf(shape) + ")";
}

static Text layerNorm(const Node &node) {
  const TensorInfo *x = node.tensor("X"), *scale = node.tensor("Scale"), *bias = node.tensor("B");
  std::optional<size_t> axis = x ? node.dim("axis", x->rank()) : std::nullopt;
  if (!axis)
    return node.refuse("the number of dimensions is not known");
  std::vector<std::string> last(x->shape.begin() + long(*axis), x->shape.end());
  if (!scale || scale->shape != last || (node.has("B") && (!bias || bias->shape != last)))
    return node.refuse("scale and bias must have the normalized shape");
  std::string y = "tsr.layer_norm(" + node["X"] + ", " +
                  tupleOf(sizesOf(node["X"], *x, *axis, x->rank())) + ", " + node["Scale"] + ", " +
                  node["B"] + ", " + node["epsilon"] + ")";
  if (node.targets.size() < 2)
    return y;
  Numbers dims(x->rank() - *axis);
  std::iota(dims.begin(), dims.end(), int64_t(*axis));
  std::string wide = node.let("wide", node["X"] + ".to(tsr." + node.results[1].dtype + ")");
  std::string mean = node.let("mean", wide + ".mean(" + tupleOf(dims) + ", keepdim=True)");
  std::string text = "(" + y + ", " + mean;
  if (node.targets.size() > 2)
    text += ", tsr.rsqrt(" + wide + ".var(" + tupleOf(dims) + ", correction=0, keepdim=True) + " +
            node["epsilon"] + ")";
  return text + ")";
}

static Text rmsNorm(const Node &node) {
  const TensorInfo *x = node.tensor("X"), *scale = node.tensor("scale");
  std::optional<size_t> axis = x ? node.dim("axis", x->rank()) : std::nullopt;
  if (!axis)
    return node.refuse("the number of dimensions is not known");
  std::vector<std::string> last(x->shape.begin() + long(*axis), x->shape.end());
  if (!scale || scale->shape != last)
    return node.refuse("the scale must have the normalized shape");
  return "tsr.rms_norm(" + node["X"] + ", " + tupleOf(sizesOf(node["X"], *x, *axis, x->rank())) +
         ", " + node["scale"] + ", " + node["epsilon"] + ")";
}

static Text groupNorm(const Node &node) {
  const TensorInfo *x = node.tensor("X");
  std::optional<int64_t> groups = node.integer("num_groups");
  std::optional<int64_t> channels = x && x->rank() > 1 ? staticSize(x->shape[1]) : std::nullopt;
  if (!groups || !channels)
    return node.refuse("the number of channels must be known");
  auto each = [&](const char *argument) {
    if (node.version >= 21)
      return node[argument];
    // Before version 21, there is one number for each group.
    return node[argument] + ".reshape((-1, 1)).expand(" +
           tupleOf(Numbers{*groups, *channels / *groups}) + ").reshape((-1,))";
  };
  return "tsr.group_norm(" + node["X"] + ", " + std::to_string(*groups) + ", " + each("scale") +
         ", " + each("bias") + ", " + node["epsilon"] + ")";
}

static Text instanceNorm(const Node &node) {
  const TensorInfo *x = node.tensor("input");
  std::optional<int64_t> channels = x && x->rank() > 2 ? staticSize(x->shape[1]) : std::nullopt;
  if (!channels)
    return node.refuse("the number of channels must be known");
  return "tsr.group_norm(" + node["input"] + ", " + std::to_string(*channels) + ", " +
         node["scale"] + ", " + node["B"] + ", " + node["epsilon"] + ")";
}

static Text batchNorm(const Node &node) {
  const TensorInfo *x = node.tensor("X");
  if (!x || x->rank() < 2 || (node.has("spatial") && node.is("spatial", 0)))
    return node.refuse("the input must have channels");
  if (node.version < 7 && !node.is("is_test", 1))
    return node.refuse("training before version 7 is not supported");
  // The names differ between versions.
  std::string mean = node.has("input_mean") ? node["input_mean"] : node["mean"];
  std::string var = node.has("input_var") ? node["input_var"] : node["var"];
  if (!node.is("training_mode", 1)) {
    if (node.targets.size() > 1)
      return node.refuse("statistics of inference are not supported");
    return "tsr.batch_norm(" + node["X"] + ", " + mean + ", " + var + ", " + node["scale"] + ", " +
           node["B"] + ", eps=" + node["epsilon"] + ")";
  }
  std::vector<int64_t> dims;
  for (size_t i = 0; i < x->rank(); ++i)
    if (i != 1)
      dims.push_back(int64_t(i));
  std::string wide = node.let("wide", node["X"] + ".to(tsr.fp32)");
  std::string now = node.let("mean", wide + ".mean(" + tupleOf(dims) + ")");
  std::string spread = node.let("var", wide + ".var(" + tupleOf(dims) + ", correction=0)");
  std::string factor =
      node.let("factor", node["scale"] + " * tsr.rsqrt(" + spread + " + " + node["epsilon"] + ")");
  std::string y =
      converted("(" + wide + " - " + perChannel(now, x->rank()) + ") * " +
                    perChannel(factor, x->rank()) + " + " + perChannel(node["B"], x->rank()),
                node);
  if (node.targets.size() < 2)
    return y;
  std::string text = "(" + y;
  for (size_t i = 1; i < node.targets.size() && i < 3; ++i)
    text += ", (" + (i == 1 ? mean : var) + " * " + node["momentum"] + " + " +
            (i == 1 ? now : spread) + " * (1 - " + node["momentum"] + ")).to(tsr." +
            node.results[i].dtype + ")";
  return node.targets.size() > 3 ? node.refuse("five results are not supported") : Text(text + ")");
}

/// Sums of squares over neighbouring channels.
static Text localResponseNorm(const Node &node) {
  const TensorInfo *x = node.tensor("X");
  std::optional<int64_t> size = node.integer("size");
  if (!x || x->rank() < 2 || !size || *size < 1)
    return node.refuse("the input must have channels");
  Numbers pads(2 * (x->rank() - 1), 0);
  pads[pads.size() - 2] = (*size - 1) / 2;
  pads[pads.size() - 1] = *size - 1 - (*size - 1) / 2;
  std::string squares =
      node.let("squares", "tsr.pad(tsr.square(" + node["X"] + "), " + tupleOf(pads) + ", value=0)");
  std::string sums = squares + ".unfold(1, " + std::to_string(*size) + ", 1).sum(-1)";
  return node["X"] + " / (" + node["bias"] + " + " + node["alpha"] + " / " + std::to_string(*size) +
         " * " + sums + ") ** " + node["beta"];
}

static Text lpNormalization(const Node &node) {
  std::string x = node["input"], dim = node["axis"];
  std::string norm =
      node.is("p", 1) ? "tsr.sum(tsr.abs(" + x + "), dim=" + dim + ", keepdim=True)"
                      : "tsr.sqrt(tsr.sum(tsr.square(" + x + "), dim=" + dim + ", keepdim=True))";
  norm = node.let("norm", norm);
  return "tsr.where(" + norm + " == 0, 0, " + x + " / " + norm + ")";
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// The windows of a convolution or a pooling along the spatial dimensions.
struct Windows {
  Numbers size, stride, dilation, begin, end;
  Numbers extra; ///< what the last window of ceil_mode reaches past the padded input

  bool isSymmetric() const { return begin == end && !hasExtra(); }
  bool hasExtra() const {
    return llvm::any_of(extra, [](int64_t each) { return each != 0; });
  }
  bool hasPads() const {
    return hasExtra() || llvm::any_of(begin, [](int64_t each) { return each != 0; }) ||
           llvm::any_of(end, [](int64_t each) { return each != 0; });
  }
  /// The argument of tsr.pad: the last dimension comes first.
  std::string pads(bool withExtra) const {
    Numbers amounts;
    for (size_t i = begin.size(); i > 0; --i) {
      amounts.push_back(begin[i - 1]);
      amounts.push_back(end[i - 1] + (withExtra ? extra[i - 1] : 0));
    }
    return tupleOf(amounts);
  }
  std::string extraPads() const {
    Numbers amounts;
    for (size_t i = extra.size(); i > 0; --i) {
      amounts.push_back(0);
      amounts.push_back(extra[i - 1]);
    }
    return tupleOf(amounts);
  }
  int64_t count() const {
    return std::accumulate(size.begin(), size.end(), int64_t(1), std::multiplies<>());
  }
};
} // namespace

/// The windows over `x`; `kernel` has their sizes if the attribute has not.
static std::optional<Windows> windowsOf(const Node &node, const TensorInfo &x,
                                        const TensorInfo *kernel) {
  size_t rank = x.rank() - 2;
  auto numbers = [&](const char *attribute, int64_t otherwise) {
    Numbers given = node.integers(attribute).value_or(Numbers());
    if (given.empty())
      given.resize(rank, otherwise);
    return given;
  };
  Windows windows;
  windows.size = numbers("kernel_shape", 0);
  for (size_t i = 0; i < rank && kernel; ++i) {
    std::optional<int64_t> size = staticSize(kernel->shape[i + 2]);
    if (!size)
      return node.refuse("the size of the windows must be known");
    windows.size[i] = *size;
  }
  windows.stride = numbers("strides", 1);
  windows.dilation = numbers("dilations", 1);
  Numbers pads = node.integers("pads").value_or(Numbers());
  if (pads.empty())
    pads.resize(2 * rank, 0);
  for (const Numbers *each : {&windows.size, &windows.stride, &windows.dilation})
    if (each->size() != rank)
      return node.refuse("attributes do not fit the spatial dimensions");
  if (pads.size() != 2 * rank)
    return node.refuse("the pads do not fit the spatial dimensions");
  windows.begin.assign(pads.begin(), pads.begin() + long(rank));
  windows.end.assign(pads.begin() + long(rank), pads.end());
  windows.extra.resize(rank, 0);
  std::string automatic = node.string("auto_pad");
  bool isSame = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (automatic == "VALID") {
    windows.begin.assign(rank, 0);
    windows.end.assign(rank, 0);
  }
  for (size_t i = 0; i < rank && (isSame || node.is("ceil_mode", 1)); ++i) {
    std::optional<int64_t> size = staticSize(x.shape[i + 2]);
    if (!size)
      return node.refuse("automatic padding needs sizes that are known");
    int64_t reach = (windows.size[i] - 1) * windows.dilation[i] + 1, stride = windows.stride[i];
    if (isSame) {
      int64_t positions = (*size + stride - 1) / stride;
      int64_t total = std::max<int64_t>((positions - 1) * stride + reach - *size, 0);
      windows.begin[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      windows.end[i] = total - windows.begin[i];
      continue;
    }
    int64_t padded = *size + windows.begin[i] + windows.end[i];
    int64_t positions = (padded - reach + stride - 1) / stride + 1;
    // A window that begins behind the input does not count.
    if ((positions - 1) * stride >= *size + windows.begin[i])
      --positions;
    windows.extra[i] = std::max<int64_t>((positions - 1) * stride + reach - padded, 0);
  }
  if (llvm::any_of(windows.begin, [](int64_t each) { return each < 0; }) ||
      llvm::any_of(windows.end, [](int64_t each) { return each < 0; }))
    return node.refuse("negative pads are not supported");
  return windows;
}

/// "2d" for four dimensions.
static Text spatial(const Node &node, const TensorInfo *x) {
  if (!x || x->rank() < 3 || x->rank() > 5)
    return node.refuse("only one to three spatial dimensions are supported");
  return std::to_string(x->rank() - 2) + "d";
}

static std::string convolved(const std::string &dims, const std::string &x, const std::string &w,
                             const std::string &bias, const Windows &windows,
                             const std::string &groups) {
  std::string padded = x;
  if (!windows.isSymmetric())
    padded = "tsr.pad(" + x + ", " + windows.pads(true) + ", value=0)";
  return "tsr.conv" + dims + "(" + padded + ", " + w + ", " + bias + ", " +
         tupleOf(windows.stride) + ", " +
         (windows.isSymmetric() ? tupleOf(windows.begin) : std::string("0")) + ", " +
         tupleOf(windows.dilation) + ", " + groups + ")";
}

/// "1d", "2d" or "3d" and the windows of the operands of a convolution.
static std::optional<std::pair<std::string, Windows>>
convolutionOf(const Node &node, const char *input, const char *weight) {
  const TensorInfo *x = node.tensor(input), *w = node.tensor(weight);
  Text dims = spatial(node, x);
  std::optional<Windows> windows = dims && w ? windowsOf(node, *x, w) : std::nullopt;
  return windows ? std::optional(std::pair(*dims, *windows)) : std::nullopt;
}

static Text convolution(const Node &node) {
  auto found = convolutionOf(node, "X", "W");
  if (!found)
    return std::nullopt;
  auto &[dims, windows] = *found;
  return convolved(dims, node["X"], node["W"], node["B"], windows, node["group"]);
}

/// Products of integers are exact in fp64.
static Text convolutionInteger(const Node &node) {
  auto found = convolutionOf(node, "x", "w");
  if (!found)
    return std::nullopt;
  auto &[dims, windows] = *found;
  auto shifted = [&](const char *operand, const char *zero) {
    std::string text = node[operand] + ".to(tsr.fp64)";
    if (!node.has(zero))
      return text;
    return "(" + text + " - " + node[zero] + ".to(tsr.fp64))";
  };
  for (const char *zero : {"x_zero_point", "w_zero_point"})
    if (const TensorInfo *info = node.tensor(zero);
        info && info->rank() > 0 && info->shape[0] != "1")
      return node.refuse("zero points of channels are not supported");
  return converted(convolved(dims, shifted("x", "x_zero_point"), shifted("w", "w_zero_point"),
                             "None", windows, node["group"]),
                   node);
}

/// The whole transposed convolution, from which the pads are cut.
static Text transposedConvolution(const Node &node) {
  const TensorInfo *x = node.tensor("X"), *w = node.tensor("W");
  Text dims = spatial(node, x);
  if (!dims || !w)
    return std::nullopt;
  std::string automatic = node.string("auto_pad");
  std::optional<Windows> windows;
  size_t rank = x->rank() - 2;
  Numbers more = node.integers("output_padding").value_or(Numbers(rank, 0));
  Numbers wanted = node.integers("output_shape").value_or(Numbers());
  if (more.empty())
    more.resize(rank, 0);
  if (more.size() != rank || (!wanted.empty() && wanted.size() < rank))
    return node.refuse("attributes do not fit the spatial dimensions");
  bool isSame = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (isSame || !wanted.empty()) {
    std::optional<Numbers> sizes = staticShape(x), kernel = staticShape(w);
    if (!sizes || !kernel)
      return node.refuse("automatic padding needs sizes that are known");
    windows.emplace();
    auto numbers = [&](const char *attribute) {
      return node.integers(attribute).value_or(Numbers(rank, 1));
    };
    windows->stride = numbers("strides");
    windows->dilation = numbers("dilations");
    for (size_t i = 0; i < rank; ++i) {
      int64_t size = (*sizes)[i + 2], stride = windows->stride[i];
      int64_t result = wanted.empty() ? size * stride : wanted[wanted.size() - rank + i];
      int64_t total = stride * (size - 1) + more[i] +
                      ((*kernel)[i + 2] - 1) * windows->dilation[i] + 1 - result;
      if (total < 0)
        return node.refuse("an output that is larger than the windows reach is not supported");
      windows->begin.push_back(automatic == "SAME_UPPER" ? total / 2 : total - total / 2);
      windows->end.push_back(total - windows->begin[i]);
    }
  } else {
    windows = windowsOf(node, *x, w);
    if (!windows)
      return std::nullopt;
  }
  std::string text = "tsr.conv_transpose" + *dims + "(" + node["X"] + ", " + node["W"] +
                     ", None, " + tupleOf(windows->stride) + ", 0, 0, " + node["group"] + ", " +
                     tupleOf(windows->dilation) + ")";
  if (llvm::any_of(more, [](int64_t each) { return each != 0; })) {
    Numbers amounts;
    for (size_t i = rank; i > 0; --i) {
      amounts.push_back(0);
      amounts.push_back(more[i - 1]);
    }
    text = "tsr.pad(" + text + ", " + tupleOf(amounts) + ", value=0)";
  }
  text = node.let("whole", text);
  std::string cut;
  for (size_t i = 0; i < rank; ++i)
    cut += ", " + std::to_string(windows->begin[i]) + ":" +
           (windows->end[i] ? "-" + std::to_string(windows->end[i]) : "");
  text += "[:, :" + cut + "]";
  return node.has("B") ? text + " + " + perChannel(node["B"], x->rank()) : text;
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

static Text maxPool(const Node &node) {
  const TensorInfo *x = node.tensor("X");
  Text dims = spatial(node, x);
  if (!dims)
    return std::nullopt;
  std::optional<Windows> windows = windowsOf(node, *x, nullptr);
  if (!windows)
    return std::nullopt;
  bool isNative = windows->isSymmetric();
  for (size_t i = 0; i < windows->size.size(); ++i)
    isNative &= 2 * windows->begin[i] <= windows->size[i];
  std::string input = node["X"];
  if (!isNative) {
    std::string least = x->isFloat() ? "-math.inf" : x->dtype == "int8" ? "-128" : "0";
    if (!x->isFloat() && x->dtype != "int8" && x->dtype != "uint8")
      return node.refuse("integers of this type are not supported");
    input = "tsr.pad(" + input + ", " + windows->pads(true) + ", value=" + least + ")";
  }
  std::string call = "tsr.max_pool" + *dims + "(" + input + ", " + tupleOf(windows->size) + ", " +
                     tupleOf(windows->stride) + ", " +
                     (isNative ? tupleOf(windows->begin) : std::string("0")) + ", " +
                     tupleOf(windows->dilation);
  if (node.targets.size() < 2)
    return call + ")";
  std::optional<Numbers> sizes = staticShape(x);
  if (!isNative || !sizes || node.is("storage_order", 1))
    return node.refuse("indices of this padding or order are not supported");
  // Indices count through the whole tensor.
  int64_t plane = 1;
  for (size_t i = 2; i < sizes->size(); ++i)
    plane *= (*sizes)[i];
  std::string values = node.let("values", call + ", False, True)");
  Numbers planes(x->rank(), 1);
  planes[0] = (*sizes)[0];
  planes[1] = (*sizes)[1];
  std::string first = "tsr.arange(" + std::to_string(planes[0] * planes[1]) + ").reshape(" +
                      tupleOf(planes) + ") * " + std::to_string(plane);
  return "(" + values + "[0], (" + values + "[1] + " + first + ").to(tsr.int64))";
}

/// Sums of the windows, which may be dilated, by a convolution with ones.
static std::string windowSums(const std::string &dims, const std::string &x, const TensorInfo &info,
                              const Windows &windows, const std::string &channels) {
  Windows bare = windows;
  for (Numbers *each : {&bare.begin, &bare.end, &bare.extra})
    each->assign(each->size(), 0);
  std::vector<std::string> shape = {channels, "1"};
  for (int64_t size : windows.size)
    shape.push_back(std::to_string(size));
  return convolved(dims, x, "tsr.ones(" + tupleOf(shape) + ", dtype=tsr." + info.dtype + ")",
                   "None", bare, channels);
}

static Text averagePool(const Node &node) {
  const TensorInfo *x = node.tensor("X");
  Text dims = spatial(node, x);
  if (!dims || !x->isFloat())
    return dims ? node.refuse("the mean of integers is not supported") : Text();
  std::optional<Windows> windows = windowsOf(node, *x, nullptr);
  if (!windows)
    return std::nullopt;
  bool countsPads = node.is("count_include_pad", 1);
  bool isDilated = llvm::any_of(windows->dilation, [](int64_t each) { return each != 1; });
  bool isNative = windows->isSymmetric() && !isDilated;
  for (size_t i = 0; i < windows->size.size(); ++i)
    isNative &= 2 * windows->begin[i] <= windows->size[i];
  auto mean = [&](const std::string &of, bool isPadded) {
    return "tsr.avg_pool" + *dims + "(" + of + ", " + tupleOf(windows->size) + ", " +
           tupleOf(windows->stride) + ", " + (isPadded ? tupleOf(windows->begin) : "0") +
           ", False, " + (countsPads ? "True" : "False") + ")";
  };
  if (isNative)
    return mean(node["X"], true);
  // The sum of each window and the number of its elements that count.
  std::string ones = "tsr.ones_like(" + node["X"] + ")", input = node["X"];
  if (windows->hasPads()) {
    input = "tsr.pad(" + input + ", " + windows->pads(true) + ", value=0)";
    ones = "tsr.pad(" + ones + ", " + windows->pads(false) + ", value=" + (countsPads ? "1" : "0") +
           ")";
    if (windows->hasExtra())
      ones = "tsr.pad(" + ones + ", " + windows->extraPads() + ", value=0)";
  }
  if (!isDilated)
    return mean(input, false) + " / " + mean(ones, false);
  std::optional<int64_t> channels = staticSize(x->shape[1]);
  if (!channels)
    return node.refuse("the number of channels must be known");
  std::string c = std::to_string(*channels);
  return windowSums(*dims, input, *x, *windows, c) + " / " +
         windowSums(*dims, ones, *x, *windows, c);
}

static Text lpPool(const Node &node) {
  const TensorInfo *x = node.tensor("X");
  Text dims = spatial(node, x);
  if (!dims)
    return std::nullopt;
  std::optional<Windows> windows = windowsOf(node, *x, nullptr);
  std::optional<int64_t> channels = staticSize(x->shape[1]);
  if (!windows || !channels)
    return windows ? node.refuse("the number of channels must be known") : Text();
  std::string p = node["p"];
  std::string powers = node.let("powers", "tsr.abs(" + node["X"] + ") ** " + p);
  if (windows->hasPads())
    powers = node.let("padded", "tsr.pad(" + powers + ", " + windows->pads(true) + ", value=0)");
  return "(" + windowSums(*dims, powers, *x, *windows, std::to_string(*channels)) + ") ** (1 / " +
         p + ")";
}

static Text globalPool(const Node &node, const char *function) {
  const TensorInfo *x = node.tensor("X");
  if (!x || x->rank() < 3)
    return node.refuse("only inputs with spatial dimensions are supported");
  Numbers dims(x->rank() - 2);
  std::iota(dims.begin(), dims.end(), int64_t(2));
  if (llvm::StringRef(function) == "lp")
    return "tsr.sum(tsr.abs(" + node["X"] + ") ** " + node["p"] + ", dim=" + tupleOf(dims) +
           ", keepdim=True) ** (1 / " + node["p"] + ")";
  return "tsr." + std::string(function) + "(" + node["X"] + ", dim=" + tupleOf(dims) +
         ", keepdim=True)";
}

void tessera::onnx::addNetworkOperators(Table &table) {
  table["LayerNormalization"] = layerNorm;
  table["RMSNormalization"] = rmsNorm;
  table["GroupNormalization"] = groupNorm;
  table["InstanceNormalization"] = instanceNorm;
  table["BatchNormalization"] = batchNorm;
  table["LRN"] = localResponseNorm;
  table["LpNormalization"] = lpNormalization;
  table["Conv"] = convolution;
  table["ConvInteger"] = convolutionInteger;
  table["ConvTranspose"] = transposedConvolution;
  table["MaxPool"] = maxPool;
  table["AveragePool"] = averagePool;
  table["LpPool"] = lpPool;
  table["GlobalAveragePool"] = [](const Node &n) { return globalPool(n, "mean"); };
  table["GlobalMaxPool"] = [](const Node &n) { return globalPool(n, "amax"); };
  table["GlobalLpPool"] = [](const Node &n) { return globalPool(n, "lp"); };
}
