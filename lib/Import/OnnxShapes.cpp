//===- OnnxShapes.cpp - Data movement and indexing of ONNX --------------------------===//
#include "OnnxTables.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tessera::onnx;

static constexpr const char *kUnknownRank = "the number of dimensions is not known";

/// Axes from 0; nothing if they are not known.
static std::optional<std::vector<int64_t>> axesOf(const Node &node, const char *argument,
                                                  size_t rank) {
  std::optional<std::vector<int64_t>> axes = node.integers(argument);
  if (!axes)
    return std::nullopt;
  for (int64_t &axis : *axes) {
    axis += axis < 0 ? int64_t(rank) : 0;
    if (axis < 0 || axis >= int64_t(rank))
      return std::nullopt;
  }
  return axes;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// The graph says which shape results, if the operator's own argument is not known.
static Text asResult(const Node &node, const char *data, const char *what) {
  std::optional<std::vector<int64_t>> shape = staticShape(&node.result());
  if (!shape || node.results.empty())
    return node.refuse(std::string(what) + " must be known");
  return node[data] + ".reshape(" + tupleOf(*shape) + ")";
}

static Text reshape(const Node &node) {
  const TensorInfo *data = node.tensor("data");
  std::optional<std::vector<std::string>> shape = node.known("shape");
  if (!data || !shape)
    return asResult(node, "data", "the shape");
  for (size_t i = 0; i < shape->size(); ++i)
    if ((*shape)[i] == "0" && !node.is("allowzero", 1)) {
      if (i >= data->rank())
        return node.refuse("size 0 copies a size that the input does not have");
      (*shape)[i] = sizeOf(node["data"], *data, i);
    }
  // A size of -1 is not known where other sizes are 0.
  if (std::optional<std::vector<int64_t>> known = staticShape(&node.result());
      known && known->size() == shape->size())
    return asResult(node, "data", "the shape");
  return node["data"] + ".reshape(" + tupleOf(*shape) + ")";
}

static Text flatten(const Node &node) {
  const TensorInfo *data = node.tensor("input");
  if (!data)
    return node.refuse(kUnknownRank);
  int64_t axis = node.integer("axis").value_or(1);
  axis += axis < 0 ? int64_t(data->rank()) : 0;
  if (axis < 0 || axis > int64_t(data->rank()))
    return node.refuse("the axis is not one of the input");
  std::string x = node["input"];
  return x + ".reshape((" + product(sizesOf(x, *data, 0, size_t(axis))) + ", " +
         product(sizesOf(x, *data, size_t(axis), data->rank())) + "))";
}

static Text transpose(const Node &node) {
  const TensorInfo *data = node.tensor("data");
  if (!data)
    return node.refuse(kUnknownRank);
  std::vector<int64_t> order;
  for (size_t i = data->rank(); i > 0; --i)
    order.push_back(int64_t(i) - 1);
  if (node.has("perm"))
    order = node.integers("perm").value_or(order);
  return data->rank() < 2 ? node["data"] : node["data"] + ".permute(" + tupleOf(order) + ")";
}

static Text squeeze(const Node &node) {
  const TensorInfo *data = node.tensor("data");
  if (!data)
    return node.refuse(kUnknownRank);
  if (!node.has("axes")) {
    if (!staticShape(data))
      return node.refuse("the axes must be known");
    return asResult(node, "data", "the shape");
  }
  std::optional<std::vector<int64_t>> axes = axesOf(node, "axes", data->rank());
  return axes ? "tsr.squeeze(" + node["data"] + ", " + tupleOf(*axes) + ")"
              : asResult(node, "data", "the axes");
}

static Text unsqueeze(const Node &node) {
  const TensorInfo *data = node.tensor("data");
  std::optional<std::vector<int64_t>> axes = node.integers("axes");
  if (!data || !axes)
    return asResult(node, "data", "the axes");
  int64_t rank = int64_t(data->rank() + axes->size());
  for (int64_t &axis : *axes)
    axis += axis < 0 ? rank : 0;
  llvm::sort(*axes);
  std::string text = node["data"];
  for (int64_t axis : *axes)
    text += ".unsqueeze(" + std::to_string(axis) + ")";
  return text;
}

static Text expand(const Node &node) {
  const TensorInfo *x = node.tensor("input");
  if (std::optional<std::vector<int64_t>> shape = staticShape(&node.result());
      shape && !node.results.empty())
    return node["input"] + ".expand(" + tupleOf(*shape) + ")";
  std::optional<std::vector<std::string>> shape = node.known("shape");
  if (!x || !shape)
    return node.refuse("the shape must be known");
  // Sizes of 1 keep those of the input.
  size_t rank = std::max(x->rank(), shape->size());
  std::vector<std::string> sizes(rank, "1");
  std::copy(shape->begin(), shape->end(), sizes.begin() + long(rank - shape->size()));
  for (size_t i = rank - x->rank(); i < rank; ++i)
    if (sizes[i] == "1")
      sizes[i] = sizeOf(node["input"], *x, i - (rank - x->rank()));
  return node["input"] + ".expand(" + tupleOf(sizes) + ")";
}

static Text tile(const Node &node) {
  const TensorInfo *x = node.tensor("input");
  if (std::optional<std::vector<std::string>> repeats = node.known("repeats"))
    return repeats->empty() ? node["input"] : node["input"] + ".repeat(" + tupleOf(*repeats) + ")";
  std::optional<std::vector<int64_t>> from = staticShape(x), to = staticShape(&node.result());
  if (!from || !to || from->size() != to->size() || llvm::is_contained(*from, 0))
    return node.refuse("the repeats must be known");
  for (size_t i = 0; i < to->size(); ++i)
    (*to)[i] /= (*from)[i];
  return node["input"] + ".repeat(" + tupleOf(*to) + ")";
}

static Text concat(const Node &node) {
  return "tsr.cat(" + tupleOf(node.list("inputs")) + ", dim=" + node["axis"] + ")";
}

static Text split(const Node &node) {
  const TensorInfo *x = node.tensor("input");
  std::optional<size_t> axis = x ? node.dim("axis", x->rank()) : std::nullopt;
  if (!axis)
    return node.refuse(kUnknownRank);
  std::vector<std::string> sizes;
  size_t count = std::max<size_t>(node.targets.size(), 1);
  if (std::optional<std::vector<std::string>> given = node.known("split")) {
    sizes = *given;
  } else if (std::optional<int64_t> size = staticSize(x->shape[*axis])) {
    // The last part may be smaller.
    int64_t part = (*size + int64_t(count) - 1) / int64_t(count);
    for (size_t i = 0; i < count; ++i)
      sizes.push_back(std::to_string(i + 1 < count ? part : *size - part * int64_t(count - 1)));
    if (node.has("split"))
      return node.refuse("the sizes of the parts must be known");
  } else {
    return node.refuse("the sizes of the parts must be known");
  }
  if (sizes.size() != count)
    return node.refuse("the sizes of the parts do not fit the outputs");
  std::string parts =
      "tsr.split(" + node["input"] + ", " + tupleOf(sizes) + ", dim=" + std::to_string(*axis) + ")";
  return count == 1 ? node["input"] : parts;
}

//===----------------------------------------------------------------------===//
// Slices and padding
//===----------------------------------------------------------------------===//

/// The slice of a dimension whose size is known. A negative step is a slice that is reversed.
static std::string staticSlice(int64_t size, int64_t start, int64_t end, int64_t step,
                               bool &isReversed) {
  start += start < 0 ? size : 0;
  end += end < 0 ? size : 0;
  isReversed = step < 0;
  int64_t first = 0, last = 0, by = std::abs(step);
  if (step > 0) {
    first = std::clamp<int64_t>(start, 0, size);
    last = std::max(std::clamp<int64_t>(end, 0, size), first);
  } else {
    int64_t high = std::clamp<int64_t>(start, -1, size - 1);
    int64_t low = std::clamp<int64_t>(end, -1, size - 1);
    int64_t count = high > low ? (high - low + by - 1) / by : 0;
    last = high + 1;
    first = count ? high - (count - 1) * by : last;
  }
  return std::to_string(first) + ":" + std::to_string(last) +
         (by == 1 ? "" : ":" + std::to_string(by));
}

static Text slice(const Node &node) {
  const TensorInfo *data = node.tensor("data");
  if (!data)
    return node.refuse(kUnknownRank);
  std::optional<std::vector<std::string>> starts = node.known("starts"), ends = node.known("ends");
  if (!starts || !ends || starts->size() != ends->size())
    return node.refuse("starts and ends must be known");
  std::vector<int64_t> axes, steps(starts->size(), 1);
  for (size_t i = 0; i < starts->size(); ++i)
    axes.push_back(int64_t(i));
  if (node.has("axes")) {
    std::optional<std::vector<int64_t>> known = axesOf(node, "axes", data->rank());
    if (!known || known->size() != starts->size())
      return node.refuse("the axes must be known");
    axes = *known;
  }
  if (node.has("steps")) {
    std::optional<std::vector<int64_t>> known = node.integers("steps");
    if (!known || known->size() != starts->size() || llvm::is_contained(*known, 0))
      return node.refuse("the steps must be known");
    steps = *known;
  }
  std::vector<std::string> parts(data->rank(), ":");
  std::vector<int64_t> reversed;
  auto number = [](llvm::StringRef text) -> std::optional<int64_t> {
    int64_t value = 0;
    return text.trim("()").getAsInteger(10, value) ? std::nullopt : std::optional(value);
  };
  constexpr int64_t past = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < axes.size(); ++i) {
    if (size_t(axes[i]) >= data->rank())
      return node.refuse("the axes are not those of the input");
    std::optional<int64_t> size = staticSize(data->shape[size_t(axes[i])]);
    std::optional<int64_t> start = number((*starts)[i]), end = number((*ends)[i]);
    if (size && start && end) {
      bool isReversed = false;
      parts[size_t(axes[i])] = staticSlice(*size, *start, *end, steps[i], isReversed);
      if (isReversed)
        reversed.push_back(axes[i]);
      continue;
    }
    if (steps[i] < 0)
      return node.refuse("a negative step needs a size that is known");
    parts[size_t(axes[i])] = (start == 0 ? "" : (*starts)[i]) + ":" +
                             (end && *end >= past ? "" : (*ends)[i]) +
                             (steps[i] == 1 ? "" : ":" + std::to_string(steps[i]));
  }
  std::string text = node["data"] + (parts.empty() ? "" : "[" + joined(parts) + "]");
  return reversed.empty() ? text : "tsr.flip(" + text + ", " + tupleOf(reversed) + ")";
}

static Text pad(const Node &node) {
  const char *given = node.has("pads") ? "pads" : "paddings"; // its name in version 1
  const TensorInfo *data = node.tensor("data");
  std::optional<std::vector<int64_t>> pads = node.integers(given);
  if (!data || !pads)
    return node.refuse("the pads must be known");
  std::vector<int64_t> axes;
  for (size_t i = 0; i < data->rank(); ++i)
    axes.push_back(int64_t(i));
  if (node.has("axes")) {
    std::optional<std::vector<int64_t>> known = axesOf(node, "axes", data->rank());
    if (!known)
      return node.refuse("the axes must be known");
    axes = *known;
  }
  if (pads->size() != 2 * axes.size())
    return node.refuse("the number of pads does not fit the axes");
  std::string mode = node.string("mode");
  bool isConstant = mode == "constant" || mode.empty();
  std::vector<std::string> cropped(data->rank(), ":");
  std::vector<int64_t> amounts(2 * data->rank(), 0);
  size_t most = 0;
  bool crops = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t back = data->rank() - 1 - size_t(axes[i]); // the last dimension comes first
    int64_t begin = (*pads)[i], end = (*pads)[axes.size() + i];
    if (begin < 0 || end < 0) {
      if (!isConstant)
        return node.refuse("negative pads are supported only with constants");
      crops = true;
      cropped[size_t(axes[i])] =
          (begin < 0 ? std::to_string(-begin) : "") + ":" + (end < 0 ? std::to_string(end) : "");
    }
    amounts[2 * back] = std::max<int64_t>(begin, 0);
    amounts[2 * back + 1] = std::max<int64_t>(end, 0);
    if (amounts[2 * back] || amounts[2 * back + 1])
      most = std::max(most, back + 1);
  }
  std::string x = crops ? node["data"] + "[" + joined(cropped) + "]" : node["data"];
  if (!most)
    return x;
  amounts.resize(2 * most);
  std::string text = "tsr.pad(" + x + ", " + tupleOf(amounts);
  if (isConstant) {
    std::string value = "0";
    for (const char *argument : {"constant_value", "value"})
      if (node.has(argument)) {
        std::optional<std::vector<std::string>> known = node.known(argument);
        if (!known || known->size() != 1)
          return node.refuse("the value of the padding must be known");
        value = (*known)[0];
      }
    return text + ", value=" + value + ")";
  }
  std::string ours = mode == "edge" ? "replicate" : mode == "wrap" ? "circular" : mode;
  return text + ", mode='" + ours + "')";
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// Indices, of which those below 0 count from the end.
static std::string fromFront(const Node &node, const char *argument, const std::string &size) {
  std::string index = node[argument];
  std::optional<std::vector<int64_t>> known = node.integers(argument);
  if (known && llvm::all_of(*known, [](int64_t each) { return each >= 0; }))
    return index;
  return node.let(std::string(argument),
                  "tsr.where(" + index + " < 0, " + index + " + " + size + ", " + index + ")");
}

static Text gather(const Node &node) {
  const TensorInfo *data = node.tensor("data"), *indices = node.tensor("indices");
  std::optional<size_t> axis = data ? node.dim("axis", data->rank()) : std::nullopt;
  if (!axis || !indices)
    return node.refuse(kUnknownRank);
  if (indices->rank() == 0) {
    if (std::optional<std::vector<std::string>> known = node.known("indices"))
      return indexed(node["data"], *axis, (*known)[0]);
    std::string one = node.let("index", node["indices"] + ".reshape((1,))");
    return "tsr.squeeze(" + indexed(node["data"], *axis, one) + ", " + std::to_string(*axis) + ")";
  }
  return indexed(node["data"], *axis, node["indices"]);
}

static Text gatherElements(const Node &node) {
  const TensorInfo *data = node.tensor("data");
  std::optional<size_t> axis = data ? node.dim("axis", data->rank()) : std::nullopt;
  if (!axis)
    return node.refuse(kUnknownRank);
  std::string index = fromFront(node, "indices", sizeOf(node["data"], *data, *axis));
  return "tsr.gather(" + node["data"] + ", " + std::to_string(*axis) + ", " + index + ")";
}

static Text gatherND(const Node &node) {
  const TensorInfo *data = node.tensor("data"), *indices = node.tensor("indices");
  std::optional<int64_t> count =
      indices && indices->rank() ? staticSize(indices->shape.back()) : std::nullopt;
  int64_t batch = node.integer("batch_dims").value_or(0);
  if (!data || !count || batch + *count > int64_t(data->rank()))
    return node.refuse("the number of indices must be known");
  std::vector<std::string> parts,
      shape = sizesOf(node["indices"], *indices, 0, indices->rank() - 1);
  if (shape.empty())
    return node.refuse("one index of an element is not supported");
  for (int64_t i = 0; i < batch; ++i)
    parts.push_back(node.let("batch" + std::to_string(i), "tsr.iota(" + tupleOf(shape) +
                                                              ", dim=" + std::to_string(i) +
                                                              ", dtype=tsr.int64)"));
  for (int64_t i = 0; i < *count; ++i)
    parts.push_back(node.let("index" + std::to_string(i),
                             node["indices"] + "[..., " + std::to_string(i) + "]"));
  return node["data"] + "[" + joined(parts) + "]";
}

static Text scattered(const Node &node, const std::string &data, const std::string &dim,
                      const std::string &index, const std::string &updates,
                      const TensorInfo &info) {
  std::string how = node.string("reduction");
  if (how.empty() || how == "none")
    return replaced(node, data, dim, index, updates, info);
  if (how != "add" || info.dtype == "bool")
    return node.refuse("only the reductions 'none' and 'add' are supported");
  return "tsr.scatter_add(" + data + ", " + dim + ", " + index + ", " + updates + ")";
}

static Text scatterElements(const Node &node) {
  const TensorInfo *data = node.tensor("data");
  std::optional<size_t> axis = data ? node.dim("axis", data->rank()) : std::nullopt;
  if (!axis)
    return node.refuse(kUnknownRank);
  std::string index = fromFront(node, "indices", sizeOf(node["data"], *data, *axis));
  return scattered(node, node["data"], std::to_string(*axis), index, node["updates"], *data);
}

static Text scatterND(const Node &node) {
  const TensorInfo *data = node.tensor("data"), *indices = node.tensor("indices");
  std::optional<int64_t> count =
      indices && indices->rank() ? staticSize(indices->shape.back()) : std::nullopt;
  if (!data || !count || *count < 1 || *count > int64_t(data->rank()))
    return node.refuse("the number of indices must be known");
  std::string x = node["data"], index;
  for (int64_t i = 0; i < *count; ++i) {
    std::string size = sizeOf(x, *data, size_t(i));
    std::string part =
        node.let("index" + std::to_string(i), node["indices"] + "[..., " + std::to_string(i) + "]");
    part = "tsr.where(" + part + " < 0, " + part + " + " + size + ", " + part + ")";
    index = index.empty() ? part : "(" + index + ") * " + size + " + " + part;
  }
  std::string rest = product(sizesOf(x, *data, size_t(*count), data->rank()));
  std::string rows =
      node.let("rows", x + ".reshape((" + product(sizesOf(x, *data, 0, size_t(*count))) + ", " +
                           rest + "))");
  std::string updates = node.let("updates", node["updates"] + ".reshape((-1, " + rest + "))");
  std::string places =
      node.let("places", "(" + index + ").reshape((-1, 1)).expand(" + updates + ".shape)");
  Text text = scattered(node, rows, "0", places, updates, *data);
  if (!text)
    return std::nullopt;
  return "(" + *text + ").reshape(" + tupleOf(sizesOf(x, *data, 0, data->rank())) + ")";
}

static Text oneHot(const Node &node) {
  const TensorInfo *indices = node.tensor("indices");
  if (!indices)
    return node.refuse(kUnknownRank);
  size_t rank = indices->rank() + 1;
  std::optional<size_t> axis = node.dim("axis", rank);
  if (!axis)
    return node.refuse("the axis is not one of the result");
  std::string depth;
  if (std::optional<std::vector<std::string>> known = node.known("depth");
      known && known->size() == 1)
    depth = std::to_string(int64_t(std::strtod((*known)[0].c_str(), nullptr)));
  else if (node.result().rank() == rank && staticSize(node.result().shape[*axis]))
    depth = node.result().shape[*axis];
  else
    return node.refuse("the depth must be known");
  std::vector<std::string> shape = sizesOf(node["indices"], *indices, 0, rank - 1);
  shape.insert(shape.begin() + long(*axis), depth);
  std::string at =
      node.let("at", node["indices"] + ".to(tsr.int64).unsqueeze(" + std::to_string(*axis) + ")");
  return "tsr.where(tsr.where(" + at + " < 0, " + at + " + " + depth + ", " + at +
         ") == tsr.iota(" + tupleOf(shape) + ", dim=" + std::to_string(*axis) +
         ", dtype=tsr.int64), " + node["values"] + "[1], " + node["values"] + "[0])";
}

/// The first elements of each sequence in reverse order.
static Text reverseSequence(const Node &node) {
  const TensorInfo *x = node.tensor("input");
  std::optional<size_t> time = x ? node.dim("time_axis", x->rank()) : std::nullopt;
  std::optional<size_t> batch = x ? node.dim("batch_axis", x->rank()) : std::nullopt;
  if (!time || !batch)
    return node.refuse(kUnknownRank);
  std::vector<std::string> shape(x->rank(), "1");
  shape[*batch] = "-1";
  std::string lengths =
      node.let("lengths", node["sequence_lens"] + ".to(tsr.int64).reshape(" + tupleOf(shape) + ")");
  std::string t = node.let("t", "tsr.iota(" + tupleOf(sizesOf(node["input"], *x, 0, x->rank())) +
                                    ", dim=" + std::to_string(*time) + ", dtype=tsr.int64)");
  return "tsr.gather(" + node["input"] + ", " + std::to_string(*time) + ", tsr.where(" + t + " < " +
         lengths + ", " + lengths + " - 1 - " + t + ", " + t + "))";
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static Text constantOfShape(const Node &node) {
  std::vector<std::string> shape;
  if (std::optional<std::vector<std::string>> known = node.known("input"))
    shape = *known;
  else if (staticShape(&node.result()) && !node.results.empty())
    shape = node.result().shape;
  else
    return node.refuse("the shape must be known");
  std::optional<std::vector<std::string>> value = node.known("value");
  return "tsr.full(" + tupleOf(shape) + ", " + (value ? (*value)[0] : "0") + ", dtype=tsr." +
         node.result().dtype + ")";
}

static Text range(const Node &node) {
  std::vector<std::string> parts;
  for (const char *argument : {"start", "limit", "delta"}) {
    std::optional<std::vector<std::string>> known = node.known(argument);
    if (!known || known->size() != 1)
      return node.refuse("start, limit and delta must be known");
    parts.push_back((*known)[0]);
  }
  return "tsr.arange(" + joined(parts) + ", dtype=tsr." + node.result().dtype + ")";
}

static Text eyeLike(const Node &node) {
  const TensorInfo *x = node.tensor("input");
  if (!x || x->rank() != 2)
    return node.refuse(kUnknownRank);
  std::string shape = tupleOf(sizesOf(node["input"], *x, 0, 2));
  return converted(
      "tsr.iota(" + shape + ", dim=0) + " + node["k"] + " == tsr.iota(" + shape + ", dim=1)", node);
}

static Text trilu(const Node &node) {
  std::string k = "0";
  if (node.has("k")) {
    std::optional<std::vector<int64_t>> known = node.integers("k");
    if (!known || known->size() != 1)
      return node.refuse("the diagonal must be known");
    k = std::to_string((*known)[0]);
  }
  return "tsr." + std::string(node.is("upper", 0) ? "tril" : "triu") + "(" + node["input"] + ", " +
         k + ")";
}

/// Sizes that only a call knows.
static Text shapeOf(const Node &node) {
  std::optional<std::vector<std::string>> sizes = node.known("sizes");
  if (!sizes)
    return node.refuse("the sizes must be known");
  std::vector<std::string> parts;
  for (const std::string &size : *sizes)
    parts.push_back("tsr.full((1,), " + size + ", dtype=tsr." + node.result().dtype + ")");
  if (parts.empty())
    return node.refuse("a tensor without sizes is not supported");
  std::string text = "tsr.cat(" + tupleOf(parts) + ")";
  return node.result().rank() ? text : text + ".reshape(())";
}

static Text dropout(const Node &node) {
  bool trains = node.has("training_mode") && !node.is("training_mode", 0) &&
                (!node.known("training_mode") ||
                 *node.known("training_mode") != std::vector<std::string>{"False"});
  trains |= node.version < 7 && !node.is("is_test", 1);
  if (trains && !node.is("ratio", 0))
    return node.refuse("dropout in training is not supported");
  if (node.targets.size() < 2)
    return node["data"];
  return "(" + node["data"] + ", tsr.full(" + node["data"] + ".shape, True, dtype=tsr." +
         node.results[1].dtype + "))";
}

//===----------------------------------------------------------------------===//
// Blocks of pixels
//===----------------------------------------------------------------------===//

static Text depthToSpace(const Node &node) {
  const TensorInfo *x = node.tensor("input");
  std::optional<int64_t> block = node.integer("blocksize");
  std::optional<int64_t> depth = x && x->rank() == 4 ? staticSize(x->shape[1]) : std::nullopt;
  if (!block || !depth)
    return node.refuse("the number of channels must be known");
  std::string b = std::to_string(*block), c = std::to_string(*depth / (*block * *block));
  std::vector<std::string> size = sizesOf(node["input"], *x, 0, 4);
  bool isColumnFirst = node.string("mode") == "CRD";
  std::string parts = isColumnFirst ? c + ", " + b + ", " + b : b + ", " + b + ", " + c;
  return node["input"] + ".reshape((" + size[0] + ", " + parts + ", " + size[2] + ", " + size[3] +
         ")).permute(" + (isColumnFirst ? "(0, 1, 4, 2, 5, 3)" : "(0, 3, 4, 1, 5, 2)") +
         ").reshape((" + size[0] + ", " + c + ", " + size[2] + " * " + b + ", " + size[3] + " * " +
         b + "))";
}

static Text spaceToDepth(const Node &node) {
  const TensorInfo *x = node.tensor("input");
  std::optional<int64_t> block = node.integer("blocksize");
  std::optional<std::vector<int64_t>> size = staticShape(x);
  if (!block || !size || size->size() != 4 || node.string("mode") == "CRD")
    return node.refuse("the sizes must be known");
  std::string b = std::to_string(*block), n = std::to_string((*size)[0]),
              c = std::to_string((*size)[1]), h = std::to_string((*size)[2] / *block),
              w = std::to_string((*size)[3] / *block);
  return node["input"] + ".reshape((" + n + ", " + c + ", " + h + ", " + b + ", " + w + ", " + b +
         ")).permute((0, 3, 5, 1, 2, 4)).reshape((" + n + ", " + c + " * " + b + " * " + b + ", " +
         h + ", " + w + "))";
}

void tessera::onnx::addShapeOperators(Table &table) {
  table["Reshape"] = reshape;
  table["Flatten"] = flatten;
  table["Transpose"] = transpose;
  table["Squeeze"] = squeeze;
  table["Unsqueeze"] = unsqueeze;
  table["Expand"] = expand;
  table["Tile"] = tile;
  table["Concat"] = concat;
  table["Split"] = split;
  table["Slice"] = slice;
  table["Pad"] = pad;
  table["Gather"] = gather;
  table["GatherElements"] = gatherElements;
  table["GatherND"] = gatherND;
  table["ScatterElements"] = scatterElements;
  table["Scatter"] = scatterElements;
  table["ScatterND"] = scatterND;
  table["OneHot"] = oneHot;
  table["ReverseSequence"] = reverseSequence;
  table["ConstantOfShape"] = constantOfShape;
  table["Range"] = range;
  table["EyeLike"] = eyeLike;
  table["Trilu"] = trilu;
  table["Shape"] = shapeOf;
  table["Size"] = shapeOf;
  table["Dropout"] = dropout;
  table["DepthToSpace"] = depthToSpace;
  table["SpaceToDepth"] = spaceToDepth;
}
