//===- StableHloWindows.cpp - Convolutions and windows of StableHLO -----------------===//
#include "StableHloTables.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera::stablehlo;

static constexpr const char *kForm = "its form is not that of the operation";
/// Elements of a window that are compared one after the other.
static constexpr int64_t kMostCompared = 256;

namespace {
/// Windows over dimensions.
struct Windows {
  Numbers strides, low, high, inside, dilations;
};
} // namespace

/// The windows of `rank` dimensions by the attributes' names.
static std::optional<Windows> windowsOf(const Node &node, size_t rank, const char *base,
                                        const char *dilation) {
  Windows windows;
  windows.strides = numbersOf(node, "window_strides", rank, 1);
  windows.inside = numbersOf(node, base, rank, 1);
  windows.dilations = numbersOf(node, dilation, rank, 1);
  Numbers padding = numbersOf(node, "padding", 2 * rank, 0);
  if (padding.size() != 2 * rank)
    return node.refuse(kForm);
  for (size_t i = 0; i < rank; ++i) {
    windows.low.push_back(padding[2 * i]);
    windows.high.push_back(padding[2 * i + 1]);
  }
  for (Numbers *each : {&windows.strides, &windows.inside, &windows.dilations})
    if (each->size() != rank || llvm::any_of(*each, [](int64_t n) { return n < 1 || n > 1 << 30; }))
      return node.refuse(kForm);
  for (int64_t &each : windows.inside)
    --each;
  return windows;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// The order that puts dimensions named by letters first and those of numbers behind them.
static std::optional<Numbers> orderOf(llvm::StringRef dims, llvm::StringRef first,
                                      llvm::StringRef second) {
  llvm::SmallVector<llvm::StringRef> names;
  dims.trim(" []").split(names, ',');
  Numbers order(names.size(), -1);
  for (size_t i = 0; i < names.size(); ++i) {
    llvm::StringRef name = names[i].trim();
    size_t place = 0;
    if (name == first)
      place = 0;
    else if (name == second)
      place = 1;
    else if (name.getAsInteger(10, place))
      return std::nullopt;
    else
      place += 2;
    if (place >= names.size() || order[place] >= 0)
      return std::nullopt;
    order[place] = int64_t(i);
  }
  return order;
}

static std::string permuted(const std::string &x, const Numbers &order) {
  return llvm::is_sorted(order) ? x : x + ".permute(" + tupleOf(order) + ")";
}

static Text convolution(const Node &node) {
  std::string text = node.string("dimension_numbers");
  auto [left, rest] = llvm::StringRef(text).split("]x[");
  auto [middle, right] = rest.split("]->[");
  std::optional<Numbers> x = orderOf(left, "b", "f"), w = orderOf(middle, "o", "i"),
                         y = orderOf(right, "b", "f");
  std::optional<Numbers> xShape = staticShape(node.tensor("0")),
                         wShape = staticShape(node.tensor("1"));
  if (!x || !w || !y || !xShape || !wShape || x->size() != xShape->size() ||
      w->size() != wShape->size() || y->size() != x->size() || w->size() != x->size())
    return node.refuse("the dimensions must be known");
  if (llvm::is_contained(node.result().shape, "0"))
    return "tsr.zeros(" + tupleOf(node.result().shape) + ", dtype=tsr." + node.result().dtype + ")";
  size_t rank = x->size() - 2;
  std::optional<Windows> windows = windowsOf(node, rank, "lhs_dilation", "rhs_dilation");
  int64_t groups = node.integer("feature_group_count").value_or(1);
  int64_t batches = node.integer("batch_group_count").value_or(1);
  if (!windows || rank > 3 || groups < 1 || batches < 1 || (groups > 1 && batches > 1))
    return windows ? node.refuse("only up to three spatial dimensions are supported") : Text();
  std::string input = permuted(asResult(node, "0"), *x), kernel = permuted(asResult(node, "1"), *w);
  Numbers reversed, reversal = numbersOf(node, "window_reversal", rank, 0);
  for (size_t i = 0; i < rank && i < reversal.size(); ++i)
    if (reversal[i])
      reversed.push_back(int64_t(i) + 2);
  if (!reversed.empty())
    kernel = "tsr.flip(" + kernel + ", " + tupleOf(reversed) + ")";
  Numbers shape;
  for (int64_t dim : *x)
    shape.push_back((*xShape)[size_t(dim)]);
  if (batches > 1) {
    // A group of batches has its own features: it becomes a group of features.
    if (shape[0] % batches)
      return node.refuse(kForm);
    Numbers split = {batches, shape[0] / batches}, order = {1, 0};
    split.insert(split.end(), shape.begin() + 1, shape.end());
    for (size_t i = 2; i < split.size(); ++i)
      order.push_back(int64_t(i));
    shape[0] /= batches;
    shape[1] *= batches;
    input += ".reshape(" + tupleOf(split) + ").permute(" + tupleOf(order) + ").reshape(" +
             tupleOf(shape) + ")";
    groups = batches;
  }
  if (rank == 0) {
    if (groups > 1)
      return node.refuse("groups without spatial dimensions are not supported");
    return permuted("tsr.einsum('ab,cb->ac', " + input + ", " + kernel + ")", *y);
  }
  Numbers none(2, 0), low = none, high = none, inside = none;
  low.insert(low.end(), windows->low.begin(), windows->low.end());
  high.insert(high.end(), windows->high.begin(), windows->high.end());
  inside.insert(inside.end(), windows->inside.begin(), windows->inside.end());
  auto isZero = [](int64_t n) { return n == 0; };
  bool isNative = windows->low == windows->high && llvm::all_of(inside, isZero) &&
                  llvm::all_of(low, [](int64_t n) { return n >= 0; });
  if (!isNative) {
    std::vector<std::string> sizes;
    for (int64_t size : shape)
      sizes.push_back(std::to_string(size));
    Text padding = padded(node, node.let("input", input), sizes, low, high, inside, "0");
    if (!padding)
      return std::nullopt;
    input = *padding;
  }
  std::string call = "tsr.conv" + std::to_string(rank) + "d(" + input + ", " + kernel + ", None, " +
                     tupleOf(windows->strides) + ", " +
                     (isNative ? tupleOf(windows->low) : std::string("0")) + ", " +
                     tupleOf(windows->dilations) + ", " + std::to_string(groups) + ")";
  Numbers back(y->size());
  for (size_t i = 0; i < y->size(); ++i)
    back[size_t((*y)[i])] = int64_t(i);
  call = permuted(call, back);
  return call;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// The sum or product of all elements up to each one, if that is what the windows are.
static Text scan(const Node &node, const TensorInfo &info, const Numbers &sizes,
                 const Windows &windows) {
  std::string reducer = node.string("reducer");
  std::optional<std::vector<std::string>> initial = node.known("1");
  bool isSum = reducer == "add";
  double start = 0;
  if ((!isSum && reducer != "multiply") || info.dtype == "bool" || !initial ||
      initial->size() != 1 || llvm::StringRef((*initial)[0]).trim("()").getAsDouble(start) ||
      start != (isSum ? 0 : 1))
    return std::nullopt;
  std::optional<size_t> dim;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (windows.strides[i] != 1 || windows.inside[i] != 0 || windows.dilations[i] != 1)
      return std::nullopt;
    if (sizes[i] == 1 && windows.low[i] == 0 && windows.high[i] == 0)
      continue;
    std::optional<int64_t> size = staticSize(info.shape[i]);
    if (dim || size != sizes[i] || windows.low[i] + windows.high[i] != sizes[i] - 1 ||
        (windows.low[i] != 0 && windows.high[i] != 0))
      return std::nullopt;
    dim = i;
  }
  if (!dim)
    return std::nullopt;
  std::string d = std::to_string(*dim), x = node["0"];
  bool isReversed = windows.high[*dim] > 0;
  if (isReversed)
    x = "tsr.flip(" + x + ", " + d + ")";
  x = "tsr." + std::string(isSum ? "cumsum" : "cumprod") + "(" + x + ", " + d + ", dtype=tsr." +
      info.dtype + ")";
  return isReversed ? "tsr.flip(" + x + ", " + d + ")" : x;
}

static Text reduceWindow(const Node &node) {
  const TensorInfo *x = node.tensor("0");
  size_t rank = x ? x->rank() : 0;
  Numbers sizes = numbersOf(node, "window_dimensions", 0, 0);
  if (!x || sizes.size() != rank || llvm::any_of(sizes, [](int64_t n) { return n < 1; }))
    return node.refuse(kForm);
  std::optional<Windows> windows = windowsOf(node, rank, "base_dilations", "window_dilations");
  if (!windows)
    return std::nullopt;
  if (Text text = scan(node, *x, sizes, *windows))
    return text;
  if (llvm::is_contained(node.result().shape, "0"))
    return node["1"] + ".reshape(" + tupleOf(Numbers(rank, 1)) + ").expand(" +
           tupleOf(node.result().shape) + ")";
  std::optional<std::vector<std::string>> initial = node.known("1");
  auto isZero = [](int64_t n) { return n == 0; };
  bool isPadded = !llvm::all_of(windows->low, isZero) || !llvm::all_of(windows->high, isZero) ||
                  !llvm::all_of(windows->inside, isZero);
  std::string text = node["0"];
  if (isPadded) {
    if (!initial || initial->size() != 1)
      return node.refuse("the initial value of padded windows must be known");
    Text padding = padded(node, text, sizesOf(text, *x, 0, rank), windows->low, windows->high,
                          windows->inside, (*initial)[0]);
    if (!padding)
      return std::nullopt;
    text = node.let("padded", *padding);
  }
  std::vector<std::string> parts(rank, ":");
  Numbers reducedDims;
  bool isDilated = false;
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t reach = (sizes[dim] - 1) * windows->dilations[dim] + 1;
    if (sizes[dim] == 1) {
      if (windows->strides[dim] > 1)
        parts[dim] = "::" + std::to_string(windows->strides[dim]);
      isDilated |= windows->strides[dim] > 1;
      continue;
    }
    text += ".unfold(" + std::to_string(dim) + ", " + std::to_string(reach) + ", " +
            std::to_string(windows->strides[dim]) + ")";
    parts.push_back(windows->dilations[dim] == 1 ? ":"
                                                 : "::" + std::to_string(windows->dilations[dim]));
    isDilated |= windows->dilations[dim] != 1;
    reducedDims.push_back(int64_t(rank + reducedDims.size()));
  }
  if (isDilated)
    text += "[" + joined(parts) + "]";
  if (reducedDims.empty())
    return withInitial(node, text, *x);
  Text result = reduced(node, text, *x, tupleOf(reducedDims));
  if (!result)
    return std::nullopt;
  return withInitial(node, x->isFloat() || x->dtype == "bool" ? *result : converted(*result, node),
                     *x);
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

/// Offsets in a window of the sizes: all of them, the last dimension first.
static std::vector<Numbers> offsetsOf(const Numbers &sizes) {
  std::vector<Numbers> all = {Numbers(sizes.size(), 0)};
  while (true) {
    Numbers next = all.back();
    size_t dim = sizes.size();
    while (dim > 0 && ++next[dim - 1] == sizes[dim - 1])
      next[--dim] = 0;
    if (dim == 0)
      return all;
    all.push_back(next);
  }
}

/// The elements that comparisons select, one after the other, and the sums of the source there.
static Text selectAndScatter(const Node &node) {
  static const llvm::StringMap<std::string> signs = {
      {"GT", ">"}, {"GE", ">="}, {"LT", "<"}, {"LE", "<="}};
  const TensorInfo *x = node.tensor("0");
  std::optional<Numbers> shape = staticShape(x), source = staticShape(node.tensor("1"));
  Numbers sizes = numbersOf(node, "window_dimensions", shape ? shape->size() : 0, 1);
  auto sign = signs.find(node.string("select"));
  if (!shape || !source || sizes.size() != shape->size() || source->size() != shape->size() ||
      sign == signs.end())
    return node.refuse("the sizes must be known");
  size_t rank = shape->size();
  std::optional<Windows> windows = windowsOf(node, rank, "base_dilations", "window_dilations");
  if (!windows)
    return std::nullopt;
  int64_t count = 1;
  for (int64_t size : sizes)
    if (size < 1 || (count *= size) > kMostCompared)
      return node.refuse("windows of this size are not supported");
  if (llvm::is_contained(*source, 0) || llvm::is_contained(*shape, 0) || x->dtype == "bool")
    return node.refuse(kForm);
  std::vector<std::string> texts;
  Numbers all;
  for (size_t i = 0; i < rank; ++i) {
    texts.push_back(std::to_string((*shape)[i]));
    all.push_back((*shape)[i] + windows->low[i] + windows->high[i]);
    if (windows->low[i] < 0 || windows->high[i] < 0 ||
        ((*source)[i] - 1) * windows->strides[i] + sizes[i] > all[i])
      return node.refuse(kForm);
  }
  bool isPadded = all != *shape;
  Text values = padded(node, node["0"], texts, windows->low, windows->high, Numbers(rank, 0), "0");
  std::string ones = "tsr.full(" + tupleOf(*shape) + ", True, dtype=tsr.bool)";
  Text inside = padded(node, ones, texts, windows->low, windows->high, Numbers(rank, 0), "False");
  if (!values || !inside)
    return std::nullopt;
  std::string data = node.let("data", *values), mask = isPadded ? node.let("inside", *inside) : "";
  std::string best, place, known;
  size_t step = 0;
  for (const Numbers &offset : offsetsOf(sizes)) {
    std::vector<std::string> parts;
    int64_t linear = 0;
    for (size_t i = 0; i < rank; ++i) {
      int64_t last = offset[i] + ((*source)[i] - 1) * windows->strides[i] + 1;
      parts.push_back(std::to_string(offset[i]) + ":" + std::to_string(last) + ":" +
                      std::to_string(windows->strides[i]));
      linear = linear * (*shape)[i] + offset[i];
    }
    std::string at = "[" + joined(parts) + "]", n = std::to_string(step++);
    std::string next = node.let("next" + n, data + at);
    std::string isInside = isPadded ? node.let("is" + n, mask + at) : "";
    std::string here = std::to_string(linear);
    if (best.empty()) {
      best = next, known = isInside;
      place = node.let("place" + n,
                       "tsr.full(" + tupleOf(*source) + ", " + here + ", dtype=tsr.int64)");
      continue;
    }
    std::string keeps = best + " " + sign->second + " " + next;
    if (isPadded)
      keeps = "(" + known + " & (" + keeps + ")) | tsr.logical_not(" + isInside + ")";
    keeps = node.let("keeps" + n, keeps);
    best = node.let("best" + n, "tsr.where(" + keeps + ", " + best + ", " + next + ")");
    place = node.let("place" + n, "tsr.where(" + keeps + ", " + place + ", " + here + ")");
    if (isPadded)
      known = node.let("known" + n, known + " | " + isInside);
  }
  // The first element of each window in the whole operand.
  int64_t stride = 1, first = 0;
  std::string starts;
  for (size_t i = rank; i-- > 0;) {
    first -= windows->low[i] * stride;
    if ((*source)[i] > 1)
      starts += " + tsr.iota(" + tupleOf(*source) + ", dim=" + std::to_string(i) +
                ", dtype=tsr.int64) * " + std::to_string(windows->strides[i] * stride);
    stride *= (*shape)[i];
  }
  std::string where = node.let("where", place + starts + " + " + std::to_string(first));
  std::string sums = "tsr.scatter_add(tsr.zeros((" + std::to_string(stride) + ",), dtype=tsr." +
                     x->dtype + "), 0, " + where + ".reshape((-1,)), " + node["1"] +
                     ".reshape((-1,))).reshape(" + tupleOf(*shape) + ")";
  std::optional<std::vector<std::string>> initial = node.known("2");
  double zero = 1;
  bool isZero = initial && initial->size() == 1 &&
                !llvm::StringRef((*initial)[0]).trim("()").getAsDouble(zero) && zero == 0;
  return isZero ? sums : sums + " + " + node["2"];
}

void tessera::stablehlo::addWindowOperations(Table &table) {
  table["convolution"] = convolution;
  table["reduce_window"] = reduceWindow;
  table["select_and_scatter"] = selectAndScatter;
}
