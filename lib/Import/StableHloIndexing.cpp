//===- StableHloIndexing.cpp - Slices, gather and scatter at run-time positions -----===//
#include "StableHloTables.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera::stablehlo;
using Texts = std::vector<std::string>;

static constexpr const char *kForm = "its form is not that of the operation";
/// Pairs of updates and elements that a scatter compares.
static constexpr int64_t kMostPairs = int64_t(1) << 33;

static std::string number(int64_t value) { return std::to_string(value); }

/// min(max(x, 0), most).
static std::string limited(const std::string &x, int64_t most) {
  return "tsr.minimum(tsr.maximum(" + x + ", 0), " + number(most) + ")";
}

/// 0, 1, 2, … along one of `rank` dimensions of sizes 1.
static std::string counting(int64_t count, size_t dim, size_t rank) {
  Numbers shape(rank, 1);
  shape[dim] = count;
  std::string text = "tsr.iota((" + number(count) + ",), dim=0, dtype=tsr.int64)";
  return rank == 1 ? text : text + ".reshape(" + tupleOf(shape) + ")";
}

static int64_t productOf(const Numbers &sizes) {
  int64_t all = 1;
  for (int64_t size : sizes)
    all *= size;
  return all;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// The start of a slice in a dimension: a number, or the text of a scalar.
static std::string startOf(const Node &node, size_t operand, int64_t most, bool &isKnown) {
  std::string key = number(int64_t(operand));
  std::optional<Numbers> known = node.integers(key);
  isKnown = known && known->size() == 1;
  if (isKnown)
    return number(std::clamp<int64_t>((*known)[0], 0, most));
  return limited(node[key] + ".to(tsr.int64)", most);
}

static Text dynamicSlice(const Node &node) {
  const TensorInfo *x = node.tensor("0");
  std::optional<Numbers> shape = staticShape(x);
  Numbers sizes = numbersOf(node, "slice_sizes", 0, 0);
  if (!shape || sizes.size() != shape->size())
    return node.refuse("the sizes must be known");
  std::string text = node["0"];
  Texts parts(shape->size(), ":");
  for (size_t dim = 0; dim < shape->size(); ++dim) {
    if (sizes[dim] < 0 || sizes[dim] > (*shape)[dim])
      return node.refuse(kForm);
    if (sizes[dim] == (*shape)[dim])
      continue;
    bool isKnown = false;
    std::string start = startOf(node, dim + 1, (*shape)[dim] - sizes[dim], isKnown);
    if (isKnown) {
      int64_t first = 0;
      llvm::StringRef(start).getAsInteger(10, first);
      parts[dim] = start + ":" + number(first + sizes[dim]);
    } else {
      std::string places =
          node.let("at" + number(int64_t(dim)), counting(sizes[dim], 0, 1) + " + " + start);
      text = node.let("part" + number(int64_t(dim)), indexed(text, dim, places));
    }
  }
  bool isCut = llvm::any_of(parts, [](const std::string &part) { return part != ":"; });
  return isCut ? text + "[" + joined(parts) + "]" : text;
}

static Text dynamicUpdateSlice(const Node &node) {
  std::optional<Numbers> shape = staticShape(node.tensor("0")),
                         part = staticShape(node.tensor("1"));
  if (!shape || !part || shape->size() != part->size())
    return node.refuse("the sizes must be known");
  std::string text = node["1"], x = node["0"], mask;
  size_t rank = shape->size();
  std::vector<size_t> cut;
  for (size_t dim = 0; dim < rank; ++dim) {
    if ((*part)[dim] > (*shape)[dim])
      return node.refuse(kForm);
    if ((*part)[dim] == 0)
      return x;
    if ((*part)[dim] != (*shape)[dim])
      cut.push_back(dim);
  }
  for (size_t dim : cut) {
    bool isKnown = false;
    int64_t size = (*part)[dim], all = (*shape)[dim];
    std::string start = startOf(node, dim + 2, all - size, isKnown), d = number(int64_t(dim));
    if (isKnown && cut.size() == 1) {
      int64_t first = 0;
      llvm::StringRef(start).getAsInteger(10, first);
      Texts parts;
      if (first > 0)
        parts.push_back(indexed(x, dim, ":" + start));
      parts.push_back(text);
      if (first + size < all)
        parts.push_back(indexed(x, dim, number(first + size) + ":"));
      return "tsr.cat(" + tupleOf(parts) + ", dim=" + d + ")";
    }
    std::string place = node.let("at" + d, counting(all, 0, 1) + " - " + start);
    text = node.let("moved" + d, indexed(text, dim, limited(place, size - 1)));
    Numbers own(rank, 1);
    own[dim] = all;
    std::string inside = "((" + place + " >= 0) & (" + place + " < " + number(size) +
                         ")).reshape(" + tupleOf(own) + ")";
    mask += (mask.empty() ? "" : " & ") + inside;
  }
  return mask.empty() ? text : "tsr.where(" + mask + ", " + text + ", " + x + ")";
}

//===----------------------------------------------------------------------===//
// Index vectors
//===----------------------------------------------------------------------===//

namespace {
/// How the index vectors of a gather or scatter select windows of an operand.
struct Windows {
  Numbers shape;      ///< of the operand
  Numbers sizes;      ///< of a window, for each dimension of the operand
  Numbers batch;      ///< the shape of the index vectors
  Numbers mapped;     ///< for each dimension of the operand its component, or -1
  Numbers batched;    ///< for each dimension of the operand its batch dimension, or -1
  Numbers windowDims; ///< dimensions of the operand that are dimensions of a window
  int64_t vectorDim = 0;
  bool clamps = false; ///< starts are moved so that windows are inside

  /// Whether a dimension is indexed; others are taken as a whole.
  bool isIndexed(size_t dim) const {
    bool isMoved = mapped[dim] >= 0 && !(clamps && sizes[dim] == shape[dim]);
    return isMoved || batched[dim] >= 0 || (sizes[dim] != shape[dim]) ||
           (!clamps && !llvm::is_contained(windowDims, int64_t(dim)));
  }
};

/// The indexed dimensions, and those of windows among them.
struct Indices {
  std::vector<size_t> dims;
  Numbers shape;   ///< of an index: batch, then windows
  Texts texts;     ///< for each indexed dimension
  Numbers windows; ///< indexed dimensions that are dimensions of a window
};
} // namespace

/// The names of the attributes of gather, or of scatter.
struct Names {
  const char *collapsed, *batching, *indicesBatching, *map;
};

static std::optional<Windows> windowsOf(const Node &node, const Names &names, Numbers sizes,
                                        bool clamps) {
  std::optional<Numbers> shape = staticShape(node.tensor("0")),
                         indices = staticShape(node.tensor("1"));
  if (!shape || !indices)
    return node.refuse("the sizes must be known");
  Windows windows;
  windows.shape = *shape;
  windows.clamps = clamps;
  windows.vectorDim = node.integer("index_vector_dim").value_or(0);
  if (windows.vectorDim < 0 || windows.vectorDim > int64_t(indices->size()))
    return node.refuse(kForm);
  windows.batch = *indices;
  int64_t components = 1;
  if (windows.vectorDim < int64_t(indices->size())) {
    components = (*indices)[size_t(windows.vectorDim)];
    windows.batch.erase(windows.batch.begin() + windows.vectorDim);
  }
  windows.mapped.assign(shape->size(), -1);
  windows.batched.assign(shape->size(), -1);
  Numbers map = numbersOf(node, names.map, 0, 0), batching = numbersOf(node, names.batching, 0, 0);
  Numbers from = numbersOf(node, names.indicesBatching, 0, 0);
  Numbers collapsed = numbersOf(node, names.collapsed, 0, 0);
  auto isDim = [&](int64_t dim) { return dim >= 0 && dim < int64_t(shape->size()); };
  if (int64_t(map.size()) != components || !llvm::all_of(map, isDim) ||
      !llvm::all_of(collapsed, isDim) || !llvm::all_of(batching, isDim) ||
      batching.size() != from.size())
    return node.refuse(kForm);
  for (size_t k = 0; k < map.size(); ++k)
    windows.mapped[size_t(map[k])] = int64_t(k);
  for (size_t k = 0; k < batching.size(); ++k) {
    int64_t dim = from[k] - (from[k] > windows.vectorDim);
    if (dim < 0 || dim >= int64_t(windows.batch.size()))
      return node.refuse(kForm);
    windows.batched[size_t(batching[k])] = dim;
  }
  for (size_t dim = 0; dim < shape->size(); ++dim)
    if (!llvm::is_contained(collapsed, int64_t(dim)) && !llvm::is_contained(batching, int64_t(dim)))
      windows.windowDims.push_back(int64_t(dim));
  windows.sizes = std::move(sizes);
  return windows;
}

/// A component of the index vectors, in int64, with a dimension of size 1 for each window
/// dimension.
static std::string componentOf(const Node &node, const Windows &windows, int64_t component,
                               const Numbers &shape) {
  std::string text = node["1"];
  if (windows.vectorDim < int64_t(windows.batch.size()) + 1 &&
      node.tensor("1")->rank() == windows.batch.size() + 1)
    text = indexed(text, size_t(windows.vectorDim), number(component));
  text += ".to(tsr.int64)";
  if (shape.size() == windows.batch.size())
    return text;
  Numbers padded = windows.batch;
  padded.resize(shape.size(), 1);
  return text + ".reshape(" + tupleOf(padded) + ")";
}

static Indices indicesOf(const Node &node, const Windows &windows) {
  Indices result;
  result.shape = windows.batch;
  for (size_t dim = 0; dim < windows.shape.size(); ++dim) {
    if (!windows.isIndexed(dim))
      continue;
    result.dims.push_back(dim);
    if (llvm::is_contained(windows.windowDims, int64_t(dim))) {
      result.windows.push_back(int64_t(dim));
      result.shape.push_back(windows.sizes[dim]);
    }
  }
  size_t rank = result.shape.size();
  for (size_t dim : result.dims) {
    Texts terms;
    if (windows.batched[dim] >= 0)
      terms.push_back(counting(windows.shape[dim], size_t(windows.batched[dim]), rank));
    if (windows.mapped[dim] >= 0) {
      std::string start = componentOf(node, windows, windows.mapped[dim], result.shape);
      terms.push_back(windows.clamps ? limited(start, windows.shape[dim] - windows.sizes[dim])
                                     : start);
    }
    auto window = llvm::find(result.windows, int64_t(dim));
    if (window != result.windows.end() && (windows.sizes[dim] > 1 || terms.empty()))
      terms.push_back(counting(windows.sizes[dim],
                               windows.batch.size() + size_t(window - result.windows.begin()),
                               rank));
    if (terms.empty()) // an inserted dimension that no component selects
      terms.push_back("tsr.full(" + tupleOf(Numbers(rank, 1)) + ", 0, dtype=tsr.int64)");
    result.texts.push_back(node.let("index" + number(int64_t(dim)), llvm::join(terms, " + ")));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

static Text gather(const Node &node) {
  Numbers sizes =
      node.has("2") ? node.integers("2").value_or(Numbers()) : numbersOf(node, "slice_sizes", 0, 0);
  static const Names names = {"collapsed_slice_dims", "operand_batching_dims",
                              "start_indices_batching_dims", "start_index_map"};
  std::optional<Windows> windows = windowsOf(node, names, sizes, true);
  if (!windows)
    return std::nullopt;
  Numbers offsets = numbersOf(node, "offset_dims", 0, 0);
  size_t rank = windows->batch.size() + windows->windowDims.size();
  if (sizes.size() != windows->shape.size() || offsets.size() != windows->windowDims.size() ||
      node.result().rank() != rank)
    return node.refuse(kForm);
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    if (sizes[dim] < 0 || sizes[dim] > windows->shape[dim])
      return node.refuse(kForm);
  if (llvm::is_contained(node.result().shape, "0"))
    return "tsr.full(" + tupleOf(node.result().shape) + ", 0, dtype=tsr." + node.result().dtype +
           ")" + (node.result().dtype == "bool" ? " != 0" : "");
  Indices indices = indicesOf(node, *windows);
  // Indexed dimensions come first; their indices are batch dimensions and windows.
  Numbers order, axes, squeezed;
  for (size_t dim : indices.dims)
    order.push_back(int64_t(dim));
  for (size_t i = 0; i < indices.shape.size(); ++i)
    axes.push_back(i < windows->batch.size() ? -1 : indices.windows[i - windows->batch.size()]);
  for (size_t dim = 0; dim < windows->shape.size(); ++dim)
    if (!windows->isIndexed(dim)) {
      order.push_back(int64_t(dim));
      if (llvm::is_contained(windows->windowDims, int64_t(dim)))
        axes.push_back(int64_t(dim));
      else
        squeezed.push_back(int64_t(indices.shape.size() + order.size() - 1 - indices.dims.size()));
    }
  std::string text = node["0"];
  if (!llvm::is_sorted(order))
    text += ".permute(" + tupleOf(order) + ")";
  if (!indices.dims.empty()) {
    Texts parts = indices.texts;
    parts[0] = node.let("first", "(" + parts[0] + ").expand(" + tupleOf(indices.shape) + ")");
    text += "[" + joined(parts) + "]";
  } else {
    Numbers shape(windows->batch.size(), 1), all = windows->batch;
    shape.insert(shape.end(), windows->shape.begin(), windows->shape.end());
    all.insert(all.end(), windows->shape.begin(), windows->shape.end());
    text += ".reshape(" + tupleOf(shape) + ").expand(" + tupleOf(all) + ")";
  }
  if (!squeezed.empty())
    text = "tsr.squeeze(" + text + ", " + tupleOf(squeezed) + ")";
  // From batch, indexed windows and whole dimensions to the order of the result.
  Numbers to;
  size_t batch = 0, window = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (!llvm::is_contained(offsets, int64_t(i))) {
      to.push_back(int64_t(batch++));
      continue;
    }
    auto at = llvm::find(axes, windows->windowDims[window++]);
    to.push_back(int64_t(at - axes.begin()));
  }
  if (batch != windows->batch.size())
    return node.refuse(kForm);
  return llvm::is_sorted(to) ? text : "(" + text + ").permute(" + tupleOf(to) + ")";
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

namespace {
/// A scatter of rows: `rows` [P, W], `updates` [N, W], `places` [N], `valid` [N].
struct Rows {
  std::string rows, updates, places, valid;
  int64_t count, width, updated;
  bool isUnique;
};
} // namespace

/// Whether no two index vectors are the same.
static bool areUnique(const Node &node, const Windows &windows) {
  if (node.isTrue("unique_indices") || productOf(windows.batch) <= 1)
    return true;
  std::optional<Numbers> known = node.integers("1");
  int64_t count = productOf(windows.batch);
  bool isVector = node.tensor("1")->rank() == windows.batch.size() ||
                  windows.vectorDim == int64_t(windows.batch.size());
  // Windows of one element in each indexed dimension cannot overlap.
  for (size_t dim = 0; dim < windows.shape.size(); ++dim)
    if (windows.isIndexed(dim) && windows.sizes[dim] != 1)
      return false;
  if (!known || !isVector || known->size() % size_t(count))
    return false;
  size_t width = known->size() / size_t(count);
  std::vector<Numbers> vectors;
  for (size_t i = 0; i < size_t(count); ++i)
    vectors.push_back(
        Numbers(known->begin() + long(i * width), known->begin() + long((i + 1) * width)));
  llvm::sort(vectors);
  return std::adjacent_find(vectors.begin(), vectors.end()) == vectors.end();
}

/// Elements that updates are combined with: those at equal places, compared with every row.
static Text compared(const Node &node, const Rows &rows, const TensorInfo &info) {
  int64_t pairs = 0;
  if (llvm::MulOverflow(rows.count, rows.updated, pairs) ||
      llvm::MulOverflow(pairs, rows.width, pairs) || pairs > kMostPairs)
    return node.refuse("a scatter of this size is supported only with add, or unique indices");
  std::string reducer = node.string("reducer");
  std::string isHere =
      node.let("here", "(tsr.iota((" + number(rows.count) + ", " + number(rows.updated) +
                           "), dim=0, dtype=tsr.int64) == " + rows.places + ") & " + rows.valid);
  if (reducer == "second") {
    std::string last = node.let("last", "tsr.amax(tsr.where(" + isHere + ", tsr.iota((" +
                                            number(rows.count) + ", " + number(rows.updated) +
                                            "), dim=1, dtype=tsr.int64), -1), dim=1)");
    std::string chosen = rows.updates + "[tsr.maximum(" + last + ", 0)]";
    return "tsr.where(" + last + ".reshape((-1, 1)) >= 0, " + chosen + ", " + rows.rows + ")";
  }
  bool isBool = info.dtype == "bool";
  bool isAny = isBool && (reducer == "add" || reducer == "or" || reducer == "maximum");
  std::string least = info.isFloat() ? "-math.inf" : "", most = info.isFloat() ? "math.inf" : "";
  if (!info.isFloat() && !isBool) {
    int64_t bits = 8;
    llvm::StringRef(info.dtype).drop_until(llvm::isDigit).getAsInteger(10, bits);
    bool isSigned = info.dtype != "uint8";
    int64_t half = int64_t((uint64_t(1) << (bits - 1)) - 1);
    least = isSigned ? "(" + number(-half) + " - 1)" : "0";
    most = isSigned ? number(half) : "255";
  }
  std::string identity = isBool                  ? (isAny ? "False" : "True")
                         : reducer == "multiply" ? "1"
                         : reducer == "maximum"  ? least
                         : reducer == "minimum"  ? most
                                                 : "";
  if (identity.empty())
    return node.refuse("the reducer is not supported for this type");
  std::string all = "tsr.where(" + isHere + ".unsqueeze(-1), " + rows.updates + ".unsqueeze(0), " +
                    identity + ")";
  Text made = reduced(node, node.let("pairs", all), info, "1");
  if (!made)
    return std::nullopt;
  std::string value = node.let("made", *made + (isBool ? "" : ".to(tsr." + info.dtype + ")"));
  if (isBool)
    return std::string(isAny ? "tsr.logical_or(" : "tsr.logical_and(") + rows.rows + ", " + value +
           ")";
  return reducer == "multiply" ? rows.rows + " * " + value
                               : "tsr." + reducer + "(" + rows.rows + ", " + value + ")";
}

static Text combined(const Node &node, Rows rows, const TensorInfo &info) {
  std::string reducer = node.string("reducer");
  bool isBool = info.dtype == "bool", isSum = reducer == "add" && !isBool;
  if (!isSum && !(reducer == "second" && rows.isUnique))
    return compared(node, rows, info);
  std::string column = ".reshape((" + number(rows.updated) + ", 1))";
  std::string wide = "(" + number(rows.updated) + ", " + number(rows.width) + ")";
  // What lies outside adds nothing to row 0.
  std::string places =
      node.let("places", "tsr.where(" + rows.valid + ", " + rows.places + ", 0)" + column);
  std::string data = isBool ? "(" + rows.updates + ").to(tsr.int32)" : rows.updates;
  std::string updates = node.let("kept", "tsr.where(" + rows.valid + column + ", " + data + ", 0)");
  std::string index = places + ".expand(" + wide + ")";
  if (isSum)
    return "tsr.scatter_add(" + rows.rows + ", 0, " + index + ", " + updates + ")";
  std::string dtype = isBool ? "int32" : info.dtype;
  std::string hits = node.let("hits", "tsr.scatter_add(tsr.zeros((" + number(rows.count) +
                                          ", 1), dtype=tsr.int32), 0, " + places + ", " +
                                          rows.valid + column + ".to(tsr.int32))");
  std::string sums = node.let("sums", "tsr.scatter_add(tsr.zeros((" + number(rows.count) + ", " +
                                          number(rows.width) + "), dtype=tsr." + dtype + "), 0, " +
                                          index + ", " + updates + ")");
  return "tsr.where(" + hits + " > 0, " + sums + (isBool ? " != 0" : "") + ", " + rows.rows + ")";
}

static Text scatter(const Node &node) {
  static const Names names = {"inserted_window_dims", "input_batching_dims",
                              "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"};
  const TensorInfo *info = node.tensor("0");
  std::optional<Numbers> updates = staticShape(node.tensor("2"));
  std::optional<Windows> windows = updates ? windowsOf(node, names, {}, false) : std::nullopt;
  if (!windows)
    return updates ? Text() : node.refuse("the sizes must be known");
  Numbers updateWindows = numbersOf(node, "update_window_dims", 0, 0), order;
  if (updateWindows.size() != windows->windowDims.size() ||
      updates->size() != windows->batch.size() + updateWindows.size())
    return node.refuse(kForm);
  windows->sizes.assign(windows->shape.size(), 1);
  std::vector<size_t> batchDims;
  for (size_t i = 0; i < updates->size(); ++i)
    if (!llvm::is_contained(updateWindows, int64_t(i)))
      batchDims.push_back(i);
  if (batchDims.size() != windows->batch.size())
    return node.refuse(kForm);
  for (size_t i = 0; i < updateWindows.size(); ++i)
    windows->sizes[size_t(windows->windowDims[i])] = (*updates)[size_t(updateWindows[i])];
  if (llvm::is_contained(*updates, 0) || llvm::is_contained(windows->shape, 0))
    return node["0"];
  Indices indices = indicesOf(node, *windows);
  // Updates in the order of the indices and of the whole dimensions.
  for (size_t dim : batchDims)
    order.push_back(int64_t(dim));
  Numbers rest, rowDims;
  for (size_t dim = 0; dim < windows->shape.size(); ++dim)
    (windows->isIndexed(dim) ? rowDims : rest).push_back(int64_t(dim));
  for (const Numbers *dims : {&indices.windows, &rest})
    for (int64_t dim : *dims)
      order.push_back(updateWindows[size_t(llvm::find(windows->windowDims, dim) -
                                           windows->windowDims.begin())]);
  Rows rows;
  rows.count = rows.width = 1;
  for (int64_t dim : rowDims)
    rows.count *= windows->shape[size_t(dim)];
  for (int64_t dim : rest)
    rows.width *= windows->shape[size_t(dim)];
  rows.updated = productOf(indices.shape);
  rows.isUnique = areUnique(node, *windows);
  Texts inside, places;
  int64_t stride = rows.count;
  for (size_t i = 0; i < indices.dims.size(); ++i) {
    int64_t size = windows->shape[indices.dims[i]];
    stride /= size;
    const std::string &at = indices.texts[i];
    inside.push_back("(" + at + " >= 0) & (" + at + " < " + number(size) + ")");
    places.push_back(stride == 1 ? at : at + " * " + number(stride));
  }
  auto flat = [&](const std::string &text) {
    return "(" + text + ").expand(" + tupleOf(indices.shape) + ").reshape((" +
           number(rows.updated) + ",))";
  };
  rows.places = places.empty() ? "tsr.zeros((" + number(rows.updated) + ",), dtype=tsr.int64)"
                               : flat(llvm::join(places, " + "));
  rows.places = node.let("place", rows.places);
  rows.valid = node.let("valid", inside.empty() ? "tsr.full((" + number(rows.updated) +
                                                      ",), True, dtype=tsr.bool)"
                                                : flat(llvm::join(inside, " & ")));
  auto shaped = [&](const std::string &x, const Numbers &by, int64_t count) {
    return x + (llvm::is_sorted(by) ? "" : ".permute(" + tupleOf(by) + ")") + ".reshape((" +
           number(count) + ", " + number(rows.width) + "))";
  };
  Numbers own = rowDims, shape, back(windows->shape.size());
  own.insert(own.end(), rest.begin(), rest.end());
  for (size_t i = 0; i < own.size(); ++i) {
    shape.push_back(windows->shape[size_t(own[i])]);
    back[size_t(own[i])] = int64_t(i);
  }
  rows.rows = node.let("rows", shaped(node["0"], own, rows.count));
  rows.updates = node.let("updates", shaped(node["2"], order, rows.updated));
  Text text = combined(node, rows, *info);
  if (!text)
    return std::nullopt;
  std::string result = "(" + *text + ").reshape(" + tupleOf(shape) + ")";
  return llvm::is_sorted(back) ? result : result + ".permute(" + tupleOf(back) + ")";
}

void tessera::stablehlo::addIndexingOperations(Table &table) {
  table["dynamic_slice"] = dynamicSlice;
  table["dynamic_update_slice"] = dynamicUpdateSlice;
  table["gather"] = gather;
  table["dynamic_gather"] = gather;
  table["scatter"] = scatter;
}
