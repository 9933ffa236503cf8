//===- StableHloShapes.cpp - Data movement, reductions and contractions -------------===//
#include "StableHloTables.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <numeric>

using namespace tessera::stablehlo;

Numbers tessera::stablehlo::numbersOf(const Node &node, llvm::StringRef name, size_t count,
                                      int64_t otherwise) {
  Numbers given = node.integers(name).value_or(Numbers());
  return given.empty() ? Numbers(count, otherwise) : given;
}

static bool isKnownShape(const TensorInfo &info) {
  return !llvm::is_contained(info.shape, "?") && !llvm::is_contained(info.shape, "");
}

/// Whether numbers are distinct and those of dimensions.
static bool areDims(const Numbers &dims, size_t rank) {
  std::vector<bool> seen(rank, false);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= int64_t(rank) || seen[size_t(dim)])
      return false;
    seen[size_t(dim)] = true;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static Text broadcast(const Node &node) {
  const TensorInfo *x = node.tensor("0");
  const TensorInfo &to = node.result();
  Numbers dims = numbersOf(node, "broadcast_dimensions", 0, 0);
  if (!x || dims.size() != x->rank() || !areDims(dims, to.rank()) || !isKnownShape(to))
    return node.refuse("the shape must be known");
  std::string text = node["0"];
  Numbers order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) { return dims[size_t(a)] < dims[size_t(b)]; });
  if (!llvm::is_sorted(order))
    text += ".permute(" + tupleOf(order) + ")";
  std::vector<std::string> shape(to.rank(), "1");
  for (size_t i = 0; i < dims.size(); ++i)
    shape[size_t(dims[i])] = sizeOf(node["0"], *x, i);
  if (shape.size() != x->rank())
    text += ".reshape(" + tupleOf(shape) + ")";
  return shape == to.shape ? text : text + ".expand(" + tupleOf(to.shape) + ")";
}

static Text reshape(const Node &node) {
  if (!isKnownShape(node.result()))
    return node.refuse("the shape must be known");
  return node["0"] + ".reshape(" + tupleOf(node.result().shape) + ")";
}

static Text transpose(const Node &node) {
  const TensorInfo *x = node.tensor("0");
  Numbers order = numbersOf(node, "permutation", 0, 0);
  if (!x || order.size() != x->rank() || !areDims(order, x->rank()))
    return node.refuse("the permutation is not one of the dimensions");
  return x->rank() < 2 ? node["0"] : node["0"] + ".permute(" + tupleOf(order) + ")";
}

static Text slice(const Node &node) {
  const TensorInfo *x = node.tensor("0");
  size_t rank = x ? x->rank() : 0;
  Numbers starts = numbersOf(node, "start_indices", rank, 0);
  Numbers ends = numbersOf(node, "limit_indices", rank, 0);
  Numbers steps = numbersOf(node, "strides", rank, 1);
  if (!x || starts.size() != rank || ends.size() != rank || steps.size() != rank)
    return node.refuse("the bounds do not fit the dimensions");
  std::vector<std::string> parts;
  for (size_t i = 0; i < rank; ++i) {
    std::optional<int64_t> size = staticSize(x->shape[i]);
    if (starts[i] < 0 || ends[i] < starts[i] || steps[i] < 1 || (size && ends[i] > *size))
      return node.refuse("the bounds are not inside of the operand");
    bool isWhole = starts[i] == 0 && size == ends[i] && steps[i] == 1;
    parts.push_back(isWhole ? ":"
                            : std::to_string(starts[i]) + ":" + std::to_string(ends[i]) +
                                  (steps[i] == 1 ? "" : ":" + std::to_string(steps[i])));
  }
  bool isAll = llvm::all_of(parts, [](const std::string &part) { return part == ":"; });
  return isAll ? node["0"] : node["0"] + "[" + joined(parts) + "]";
}

static Text concatenate(const Node &node) {
  std::vector<std::string> parts;
  for (int64_t i = 0; i < node.integer("operands").value_or(0); ++i)
    parts.push_back(node[std::to_string(i)]);
  if (parts.empty() || !node.dim("dimension", node.result().rank()))
    return node.refuse("the dimension is not one of the operands");
  return parts.size() == 1 ? parts[0]
                           : "tsr.cat(" + tupleOf(parts) + ", dim=" + node["dimension"] + ")";
}

static Text reverse(const Node &node) {
  const TensorInfo *x = node.tensor("0");
  Numbers dims = numbersOf(node, "dimensions", 0, 0);
  if (!x || !areDims(dims, x->rank()))
    return node.refuse("the dimensions are not those of the operand");
  return dims.empty() ? node["0"] : "tsr.flip(" + node["0"] + ", " + tupleOf(dims) + ")";
}

/// The argument of tsr.pad: the last dimension comes first.
static std::string padsOf(const Numbers &low, const Numbers &high) {
  Numbers amounts;
  for (size_t i = low.size(); i > 0; --i) {
    amounts.push_back(std::max<int64_t>(low[i - 1], 0));
    amounts.push_back(std::max<int64_t>(high[i - 1], 0));
  }
  return tupleOf(amounts);
}

Text tessera::stablehlo::padded(const Node &node, std::string x, std::vector<std::string> shape,
                                const Numbers &low, const Numbers &high, const Numbers &inside,
                                const std::string &value, const char *name) {
  constexpr int64_t most = int64_t(1) << 40;
  size_t rank = shape.size();
  for (const Numbers *each : {&low, &high, &inside})
    if (each->size() != rank ||
        llvm::any_of(*each, [](int64_t n) { return n > most || n < -most; }))
      return node.refuse("the padding does not fit the dimensions");
  for (size_t dim = 0; dim < rank; ++dim) {
    std::optional<int64_t> size = staticSize(shape[dim]);
    if (inside[dim] == 0 || size == 1 || size == 0)
      continue;
    if (!size || inside[dim] < 0)
      return node.refuse("padding between elements needs sizes that are known");
    std::vector<std::string> split = shape;
    split.insert(split.begin() + long(dim) + 1, "1");
    Numbers before(split.size() - dim - 1, 0), after(split.size() - dim - 1, 0);
    after[0] = inside[dim];
    int64_t all = *size * (inside[dim] + 1);
    std::vector<std::string> merged = shape;
    merged[dim] = std::to_string(all);
    x = node.let(name + std::to_string(dim), "tsr.pad(" + x + ".reshape(" + tupleOf(split) + "), " +
                                                 padsOf(before, after) + ", value=" + value +
                                                 ").reshape(" + tupleOf(merged) + ")");
    x = indexed(x, dim, ":" + std::to_string(all - inside[dim]));
    shape[dim] = std::to_string(all - inside[dim]);
  }
  auto isPositive = [](int64_t amount) { return amount > 0; };
  if (llvm::any_of(low, isPositive) || llvm::any_of(high, isPositive))
    x = "tsr.pad(" + x + ", " + padsOf(low, high) + ", value=" + value + ")";
  std::vector<std::string> cropped(rank, ":");
  for (size_t dim = 0; dim < rank; ++dim)
    if (low[dim] < 0 || high[dim] < 0)
      cropped[dim] = std::to_string(std::max<int64_t>(-low[dim], 0)) + ":" +
                     (high[dim] < 0 ? std::to_string(high[dim]) : "");
  bool isCropped = llvm::any_of(cropped, [](const std::string &part) { return part != ":"; });
  return isCropped ? x + "[" + joined(cropped) + "]" : x;
}

static Text pad(const Node &node) {
  const TensorInfo *x = node.tensor("0");
  if (!x)
    return node.refuse("the shape must be known");
  // Amounts are attributes, or operands of a dynamic one.
  bool isDynamic = node.has("2");
  auto amounts = [&](const char *attribute, const char *operand) {
    return isDynamic ? node.integers(operand).value_or(Numbers())
                     : numbersOf(node, attribute, x->rank(), 0);
  };
  Numbers low = amounts("edge_padding_low", "2"), high = amounts("edge_padding_high", "3"),
          inside = amounts("interior_padding", "4");
  std::vector<std::string> shape = sizesOf(node["0"], *x, 0, x->rank());
  std::optional<std::vector<std::string>> value = node.known("1");
  if (value && value->size() == 1)
    return padded(node, node["0"], shape, low, high, inside, (*value)[0]);
  Text data = padded(node, node["0"], shape, low, high, inside, x->dtype == "bool" ? "False" : "0");
  std::string ones = node.let("inner", "tsr.full(" + tupleOf(shape) + ", True, dtype=tsr.bool)");
  Text mask = data ? padded(node, ones, shape, low, high, inside, "False", "mask") : std::nullopt;
  return mask ? Text("tsr.where(" + *mask + ", " + *data + ", " + node["1"] + ")") : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Whether a number changes nothing.
static bool isIdentity(const std::string &reducer, llvm::StringRef value, const TensorInfo &info) {
  value = value.trim("()");
  double number = 0;
  bool isNumber = !value.getAsDouble(number);
  if (info.dtype == "bool")
    return value ==
           (reducer == "multiply" || reducer == "and" || reducer == "minimum" ? "True" : "False");
  if (reducer == "add" || reducer == "multiply")
    return isNumber && number == (reducer == "add" ? 0 : 1);
  if (info.isFloat())
    return value == (reducer == "maximum" ? "-math.inf" : "math.inf");
  if (info.dtype == "uint8")
    return isNumber && number == (reducer == "maximum" ? 0 : 255);
  unsigned bits = 0;
  llvm::StringRef(info.dtype).drop_front(3).getAsInteger(10, bits);
  int64_t integer = 0;
  int64_t most = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return !value.getAsInteger(10, integer) && integer == (reducer == "maximum" ? -most - 1 : most);
}

Text tessera::stablehlo::reduced(const Node &node, const std::string &x, const TensorInfo &info,
                                 const std::string &dims) {
  std::string reducer = node.string("reducer");
  bool isBool = info.dtype == "bool";
  bool isAny = reducer == "add" || reducer == "or" || reducer == "maximum";
  std::string function = isBool                  ? (isAny ? "any" : "all")
                         : reducer == "add"      ? "sum"
                         : reducer == "multiply" ? "prod"
                         : reducer == "maximum"  ? "amax"
                         : reducer == "minimum"  ? "amin"
                                                 : "";
  if (function.empty() || (isBool && reducer == "xor"))
    return node.refuse("the reducer is not supported for this type");
  return "tsr." + function + "(" + x + ", dim=" + dims + ")";
}

/// A value together with the initial one.
std::string tessera::stablehlo::withInitial(const Node &node, const std::string &x,
                                            const TensorInfo &info) {
  std::string reducer = node.string("reducer");
  std::optional<std::vector<std::string>> known = node.known("1");
  if (known && known->size() == 1 && isIdentity(reducer, (*known)[0], info))
    return x;
  bool isAny = reducer == "add" || reducer == "or" || reducer == "maximum";
  std::string value = node["1"];
  if (info.dtype == "bool")
    return std::string(isAny ? "tsr.logical_or(" : "tsr.logical_and(") + x + ", " + value + ")";
  if (reducer == "add" || reducer == "multiply")
    return x + (reducer == "add" ? " + " : " * ") + value;
  return "tsr." + reducer + "(" + x + ", " + value + ")";
}

static Text reduce(const Node &node) {
  const TensorInfo *x = node.tensor("0");
  Numbers dims = numbersOf(node, "dimensions", 0, 0);
  if (!x || !areDims(dims, x->rank()))
    return node.refuse("the dimensions are not those of the operand");
  if (llvm::any_of(dims, [&](int64_t dim) { return x->shape[size_t(dim)] == "0"; }))
    return node["1"] + ".reshape(" + tupleOf(Numbers(node.result().rank(), 1)) + ").expand(" +
           tupleOf(node.result().shape) + ")";
  if (dims.empty())
    return withInitial(node, node["0"], *x);
  Text text = reduced(node, node["0"], *x, tupleOf(dims));
  if (!text)
    return std::nullopt;
  // The sum of integers is wider than they are.
  bool isWider = !x->isFloat() && x->dtype != "bool";
  return withInitial(node, isWider ? converted(*text, node) : *text, *x);
}

static Text choose(const Node &node) {
  std::string reducer = node.string("reducer"), x = node["0"];
  Numbers dims = numbersOf(node, "dimensions", 0, 0);
  if (dims.size() != 1 || node.results.size() != 2)
    return node.refuse("only one dimension is supported");
  std::string dim = std::to_string(dims[0]);
  return "(tsr." + std::string(reducer == "argmax" ? "amax" : "amin") + "(" + x + ", dim=" + dim +
         "), tsr." + reducer + "(" + x + ", dim=" + dim + ").to(tsr." + node.results[1].dtype +
         "))";
}

static Text topK(const Node &node) {
  std::optional<int64_t> k = node.integer("k");
  if (!k || node.results.size() != 2 || *k < 0)
    return node.refuse("K must be known");
  if (node.has("largest") && !node.isTrue("largest"))
    return node.refuse("only the largest elements are supported");
  std::string both = node.let("both", "tsr.topk(" + node["0"] + ", " + std::to_string(*k) + ")");
  return "(" + both + "[0], " + both + "[1].to(tsr." + node.results[1].dtype + "))";
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// An operand in the type of the result, if that is wider.
std::string tessera::stablehlo::asResult(const Node &node, const char *operand) {
  const TensorInfo *info = node.tensor(operand);
  const std::string &to = node.result().dtype;
  bool isNarrow = info && info->dtype != to &&
                  !(info->dtype == "fp64" || (info->dtype == "fp32" && to != "fp64"));
  return isNarrow ? node[operand] + ".to(tsr." + to + ")" : node[operand];
}

static Text einsum(const Node &node, const Numbers (&batch)[2], const Numbers (&contracted)[2]) {
  const TensorInfo *infos[] = {node.tensor("0"), node.tensor("1")};
  if (!infos[0] || !infos[1] || batch[0].size() != batch[1].size() ||
      contracted[0].size() != contracted[1].size() || node.result().dtype == "bool")
    return node.refuse("its form is not that of the operation");
  if (infos[0]->rank() + infos[1]->rank() > 26)
    return node.refuse("there are too many dimensions");
  std::string letters[2], result;
  char next = 'a';
  for (int side : {0, 1}) {
    Numbers all = batch[side];
    all.insert(all.end(), contracted[side].begin(), contracted[side].end());
    if (!areDims(all, infos[side]->rank()))
      return node.refuse("the dimensions are not those of the operands");
    letters[side].resize(infos[side]->rank(), ' ');
  }
  auto shared = [&](const Numbers(&dims)[2], bool isKept) {
    for (size_t i = 0; i < dims[0].size(); ++i, ++next) {
      letters[0][size_t(dims[0][i])] = letters[1][size_t(dims[1][i])] = next;
      result += isKept ? std::string(1, next) : "";
    }
  };
  shared(batch, true);
  shared(contracted, false);
  for (std::string &side : letters)
    for (char &letter : side)
      if (letter == ' ')
        result += letter = next++;
  std::string x = asResult(node, "0"), y = asResult(node, "1");
  bool isMatmul = letters[0].size() >= 2 && letters[1].size() == letters[0].size() &&
                  contracted[0].size() == 1 && batch[0].size() + 2 == letters[0].size() &&
                  contracted[0][0] + 1 == int64_t(letters[0].size()) &&
                  contracted[1][0] + 2 == int64_t(letters[1].size()) && llvm::is_sorted(batch[0]) &&
                  batch[0] == batch[1];
  return isMatmul ? x + " @ " + y
                  : "tsr.einsum('" + letters[0] + "," + letters[1] + "->" + result + "', " + x +
                        ", " + y + ")";
}

static Text dotGeneral(const Node &node) {
  auto dims = [&](const char *name) { return numbersOf(node, name, 0, 0); };
  return einsum(node, {dims("lhs_batching_dimensions"), dims("rhs_batching_dimensions")},
                {dims("lhs_contracting_dimensions"), dims("rhs_contracting_dimensions")});
}

static Text dot(const Node &node) {
  const TensorInfo *x = node.tensor("0");
  if (!x || x->rank() == 0)
    return node.refuse("its form is not that of the operation");
  return einsum(node, {{}, {}}, {{int64_t(x->rank()) - 1}, {0}});
}

//===----------------------------------------------------------------------===//
// Batch norm
//===----------------------------------------------------------------------===//

namespace {
/// The dimensions of a batch norm's operand.
struct Features {
  std::vector<std::string> shape; ///< of a vector of features
  Numbers others;

  std::string operator()(const std::string &x) const {
    return x + ".reshape(" + tupleOf(shape) + ")";
  }
};
} // namespace

static std::optional<Features> featuresOf(const Node &node) {
  const TensorInfo *x = node.tensor("0");
  std::optional<size_t> dim = x ? node.dim("feature_index", x->rank()) : std::nullopt;
  if (!dim || !x->isFloat())
    return node.refuse("the dimension of features is not one of the operand");
  Features features{std::vector<std::string>(x->rank(), "1"), {}};
  features.shape[*dim] = "-1";
  for (size_t i = 0; i < x->rank(); ++i)
    if (i != *dim)
      features.others.push_back(int64_t(i));
  return features;
}

static Text batchNormInference(const Node &node) {
  std::optional<Features> each = featuresOf(node);
  if (!each)
    return std::nullopt;
  return "(" + node["0"] + " - " + (*each)(node["3"]) + ") / tsr.sqrt(" + (*each)(node["4"]) +
         " + " + node["epsilon"] + ") * " + (*each)(node["1"]) + " + " + (*each)(node["2"]);
}

static Text batchNormTraining(const Node &node) {
  std::optional<Features> each = featuresOf(node);
  if (!each || node.results.size() != 3 || each->others.empty())
    return each ? node.refuse("its form is not that of the operation") : Text();
  std::string dims = tupleOf(each->others);
  std::string mean = node.let("mean", "tsr.mean(" + node["0"] + ", dim=" + dims + ")");
  std::string var = node.let("var", "tsr.var(" + node["0"] + ", dim=" + dims + ", correction=0)");
  return "((" + node["0"] + " - " + (*each)(mean) + ") / tsr.sqrt(" + (*each)(var) + " + " +
         node["epsilon"] + ") * " + (*each)(node["1"]) + " + " + (*each)(node["2"]) + ", " + mean +
         ", " + var + ")";
}

static Text batchNormGradient(const Node &node) {
  std::optional<Features> each = featuresOf(node);
  if (!each || node.results.size() != 3 || each->others.empty())
    return each ? node.refuse("its form is not that of the operation") : Text();
  std::string dims = tupleOf(each->others), g = node["4"];
  std::string spread =
      node.let("spread", "tsr.sqrt(" + (*each)(node["3"]) + " + " + node["epsilon"] + ")");
  std::string normal =
      node.let("normal", "(" + node["0"] + " - " + (*each)(node["2"]) + ") / " + spread);
  std::string scale = node.let("scale", "tsr.sum(" + g + " * " + normal + ", dim=" + dims + ")");
  std::string offset = node.let("offset", "tsr.sum(" + g + ", dim=" + dims + ")");
  auto mean = [&](const std::string &x) {
    return "tsr.mean(" + x + ", dim=" + dims + ", keepdim=True)";
  };
  return "(" + (*each)(node["1"]) + " / " + spread + " * (" + g + " - " + mean(g) + " - " + normal +
         " * " + mean(g + " * " + normal) + "), " + scale + ", " + offset + ")";
}

void tessera::stablehlo::addShapeOperations(Table &table) {
  table["broadcast_in_dim"] = broadcast;
  table["reshape"] = reshape;
  table["transpose"] = transpose;
  table["slice"] = slice;
  table["concatenate"] = concatenate;
  table["reverse"] = reverse;
  table["pad"] = pad;
  table["dynamic_pad"] = pad;
  table["reduce"] = reduce;
  table[".choose"] = choose;
  table["chlo.top_k"] = topK;
  table["dot_general"] = dotGeneral;
  table["dot"] = dot;
  table["batch_norm_inference"] = batchNormInference;
  table["batch_norm_training"] = batchNormTraining;
  table["batch_norm_grad"] = batchNormGradient;
  for (auto [op, text] :
       {std::pair(".sort", "tsr.sort({0}, dim={dim}, descending={descending}, stable=True)[0]"),
        std::pair(".argsort", "tsr.argsort({0}, dim={dim}, descending={descending}, stable=True)"),
        std::pair(".take_along", "tsr.gather({0}, {dim}, {1})")})
    table[op] = [text = text](const Node &node) -> Text { return fill(text, node); };
}
