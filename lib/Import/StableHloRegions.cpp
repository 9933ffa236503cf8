//===- StableHloRegions.cpp - Operations with regions -------------------------------===//
//
// Reductions, windows and sorts whose regions are recognized become operations of the language.
// Other regions are applied to whole tensors: a reduction combines neighbours until one element is
// left, which keeps the order of the elements.
//
//===----------------------------------------------------------------------===//
#include "StableHloReader.h"
#include "StableHloTables.h"

using namespace tessera;
using namespace tessera::stablehlo;

/// A window of this size is not combined element by element.
static constexpr int64_t kLongWindow = 17;

static json::Object textObject(llvm::StringRef text) { return json::Object{{"str", text.str()}}; }

/// Whether the language reduces elements of a type so.
static bool canReduce(llvm::StringRef kind, llvm::StringRef dtype) {
  bool isOfBools = kind == "and" || kind == "or";
  return llvm::is_contained({"add", "multiply", "maximum", "minimum"}, kind) ||
         (isOfBools && dtype == "bool");
}

static std::optional<int64_t> sizeAt(const Datum &datum, size_t dim) {
  return importer::staticSize(datum.info.shape[dim]);
}

//===----------------------------------------------------------------------===//
// Regions on tensors
//===----------------------------------------------------------------------===//

std::optional<Data> Reader::applyRegion(mlir::Operation *of, mlir::Region &region, Data arguments,
                                        llvm::ArrayRef<std::string> tensorShape) {
  if (!region.hasOneBlock())
    return refuse(of, "its region is not one block");
  std::vector<std::string> own(tensorShape);
  const std::vector<std::string> *outer = std::exchange(shape, &own);
  std::string outerTitle = title;
  size_t before = problems.size();
  std::optional<Data> results = readBlock(region.front(), std::move(arguments));
  shape = outer;
  title = outerTitle;
  if (problems.size() != before)
    return std::nullopt;
  if (!results)
    return refuse(of, "its region is not supported");
  for (Datum &result : *results) {
    if (result.isBad)
      return refuse(of, "its region is not supported");
    if (result.rank() == own.size())
      continue;
    TensorInfo info{result.info.dtype, own};
    result = emitOne(
        "broadcast_in_dim",
        json::Object{{"0", reference(result)}, {"broadcast_dimensions", json::Array()}}, info);
  }
  return results;
}

Datum Reader::sliced(Datum &x, size_t dim, int64_t start, int64_t count, int64_t step) {
  json::Array starts, limits, strides;
  TensorInfo info = x.info;
  for (size_t i = 0; i < x.rank(); ++i) {
    int64_t size = sizeAt(x, i).value_or(-1);
    starts.push_back(i == dim ? start : 0);
    limits.push_back(i == dim ? start + (count - 1) * step + 1 : size);
    strides.push_back(i == dim ? step : 1);
  }
  info.shape[dim] = std::to_string(count);
  return emitOne("slice",
                 json::Object{{"0", reference(x)},
                              {"start_indices", std::move(starts)},
                              {"limit_indices", std::move(limits)},
                              {"strides", std::move(strides)}},
                 info);
}

Data Reader::slicesOf(Data &inputs, size_t dim, int64_t start, int64_t count, int64_t step) {
  Data slices;
  for (Datum &each : inputs)
    slices.push_back(sliced(each, dim, start, count, step));
  return slices;
}

static Data both(Data first, const Data &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Combines neighbours until a dimension has one element.
std::optional<Data> Reader::combineTree(mlir::Operation *op, Data inputs, size_t dim) {
  while (true) {
    int64_t size = sizeAt(inputs[0], dim).value_or(0);
    if (size <= 1)
      return inputs;
    Data even = slicesOf(inputs, dim, 0, size / 2, 2), odd = slicesOf(inputs, dim, 1, size / 2, 2);
    std::optional<Data> pairs =
        applyRegion(op, op->getRegion(0), both(even, odd), even[0].info.shape);
    if (!pairs || pairs->size() != inputs.size())
      return pairs ? refuse(op, "its region is not supported") : std::optional<Data>();
    for (size_t i = 0; i < inputs.size() && size % 2; ++i) {
      Datum last = sliced(inputs[i], dim, size - 1, 1, 1);
      TensorInfo info = inputs[i].info;
      info.shape[dim] = std::to_string(size / 2 + 1);
      json::Object arguments{{"0", reference((*pairs)[i])}, {"1", reference(last)}};
      arguments["operands"] = 2;
      arguments["dimension"] = int64_t(dim);
      (*pairs)[i] = emitOne("concatenate", std::move(arguments), info);
    }
    inputs = std::move(*pairs);
  }
}

/// Combines the elements of windows: of two windows that follow each other, one of both sizes.
std::optional<Data> Reader::combineWindows(mlir::Operation *op, Data inputs, size_t dim,
                                           int64_t size, int64_t dilation) {
  int64_t length = *sizeAt(inputs[0], dim), covered = 0;
  std::optional<Data> all;
  Data power = inputs; // of a window of 2^k elements
  auto combined = [&](Data &first, Data &second, int64_t offset, int64_t count) {
    Data a = slicesOf(first, dim, 0, count, 1), b = slicesOf(second, dim, offset, count, 1);
    return applyRegion(op, op->getRegion(0), both(a, b), a[0].info.shape);
  };
  for (int64_t part = 1; part <= size; part *= 2) {
    if (size & part) {
      int64_t count = length - (covered + part - 1) * dilation;
      all = all ? combined(*all, power, covered * dilation, count) : power;
      if (!all)
        return std::nullopt;
      covered += part;
    }
    if (2 * part > size)
      break;
    std::optional<Data> next =
        combined(power, power, part * dilation, length - (2 * part - 1) * dilation);
    if (!next)
      return std::nullopt;
    power = std::move(*next);
  }
  return all;
}

std::optional<Data> Reader::readMap(mlir::Operation *op) {
  Data operands = operandsOf(op);
  if (op->getNumRegions() != 1 || operands.empty())
    return refuse(op, "its form is not that of the operation");
  return applyRegion(op, op->getRegion(0), operands, operands[0].info.shape);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Whether n inputs of one shape, n initial scalars and n results belong together.
static bool isReduction(mlir::Operation *op, const Data &operands) {
  size_t count = op->getNumResults();
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock() || count == 0 ||
      operands.size() != 2 * count || op->getRegion(0).getNumArguments() != 2 * count)
    return false;
  for (size_t i = 0; i < count; ++i)
    if (operands[i].info.shape != operands[0].info.shape || operands[count + i].rank() != 0 ||
        operands[i].info.dtype != operands[count + i].info.dtype)
      return false;
  return true;
}

std::optional<Data> Reader::readReduce(mlir::Operation *op) {
  Data operands = operandsOf(op);
  json::Object attributes = attributesOf(op);
  std::optional<Numbers> dims = numbersIn(attributes, "dimensions");
  if (!isReduction(op, operands) || !dims)
    return refuse(op, "its form is not that of the operation");
  size_t count = op->getNumResults();
  llvm::sort(*dims);
  for (size_t i = 0; i < dims->size(); ++i)
    if ((*dims)[i] < 0 || (*dims)[i] >= int64_t(operands[0].rank()) ||
        (i && (*dims)[i] == (*dims)[i - 1]))
      return refuse(op, "the dimensions are not those of the operand");
  std::optional<std::vector<TensorInfo>> infos = resultsOf(op, {});
  if (!infos)
    return std::nullopt;
  for (TensorInfo &info : *infos) { // sizes that vary are those of the operand
    info.shape.clear();
    for (size_t i = 0; i < operands[0].rank(); ++i)
      if (!llvm::is_contained(*dims, int64_t(i)))
        info.shape.push_back(operands[0].info.shape[i]);
  }
  std::string kind = operationOf(op->getRegion(0));
  if (count == 1 && canReduce(kind, operands[0].info.dtype)) {
    attributes["reducer"] = textObject(kind);
    return emit("reduce", argumentsOf("reduce", operands, std::move(attributes)), *infos);
  }
  if (count == 2 && dims->size() == 1 && operands[1].iotaDim == size_t(dims->front()))
    if (std::string choice = choiceOf(op->getRegion(0)); !choice.empty()) {
      attributes["reducer"] = textObject(choice);
      return emit(".choose", argumentsOf(".choose", operands, std::move(attributes)), *infos);
    }
  Data inputs(operands.begin(), operands.begin() + long(count));
  Data inits(operands.begin() + long(count), operands.end());
  for (size_t i = 0; i < operands[0].rank(); ++i)
    if (!sizeAt(operands[0], i) || *sizeAt(operands[0], i) == 0)
      return refuse(op, "this reducer needs sizes that are known, and not 0");
  for (size_t i = dims->size(); i-- > 0;) {
    std::optional<Data> rest = combineTree(op, std::move(inputs), size_t((*dims)[i]));
    if (!rest)
      return std::nullopt;
    inputs = std::move(*rest);
  }
  for (size_t i = 0; i < count; ++i)
    inputs[i] = emitOne("reshape", json::Object{{"0", reference(inputs[i])}}, (*infos)[i]);
  return applyRegion(op, op->getRegion(0), both(inits, inputs), infos->front().shape);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

std::optional<Data> Reader::readWindows(mlir::Operation *op) {
  Data operands = operandsOf(op);
  json::Object attributes = attributesOf(op);
  std::optional<std::vector<TensorInfo>> infos = resultsOf(op, {});
  if (!infos)
    return std::nullopt;
  size_t rank = operands.empty() ? 0 : operands[0].rank(), count = op->getNumResults();
  auto numbers = [&](const char *name, int64_t otherwise) {
    Numbers given = numbersIn(attributes, name).value_or(Numbers());
    return given.empty() ? Numbers(rank, otherwise) : given;
  };
  Numbers sizes = numbers("window_dimensions", 0), strides = numbers("window_strides", 1);
  Numbers dilations = numbers("window_dilations", 1), inside = numbers("base_dilations", 1);
  Numbers padding = numbersIn(attributes, "padding").value_or(Numbers(2 * rank, 0));
  if (!isReduction(op, operands) || padding.size() != 2 * rank)
    return refuse(op, "its form is not that of the operation");
  for (const Numbers *each : {&sizes, &strides, &dilations, &inside})
    if (each->size() != rank ||
        llvm::any_of(*each, [](int64_t x) { return x < 1 || x > (1 << 30); }))
      return refuse(op, "its windows do not fit the operand");
  bool isLong = llvm::any_of(sizes, [](int64_t size) { return size >= kLongWindow; });
  std::string kind = operationOf(op->getRegion(0));
  bool isKnown = count == 1 && canReduce(kind, operands[0].info.dtype);
  if (isKnown && (!isLong || kind == "add" || kind == "multiply")) {
    attributes["reducer"] = textObject(kind);
    return emit("reduce_window", argumentsOf("reduce_window", operands, std::move(attributes)),
                *infos);
  }
  Data inputs;
  for (size_t i = 0; i < count; ++i) {
    json::Object arguments{{"0", reference(operands[i])}, {"1", reference(operands[count + i])}};
    TensorInfo info = operands[i].info;
    json::Array low, high, interior;
    for (size_t dim = 0; dim < rank; ++dim) {
      std::optional<int64_t> size = sizeAt(operands[i], dim);
      if (!size || *size < 1 || std::abs(padding[2 * dim]) > (1 << 30) ||
          std::abs(padding[2 * dim + 1]) > (1 << 30))
        return refuse(op, "this reducer needs sizes that are known, and not 0");
      low.push_back(padding[2 * dim]);
      high.push_back(padding[2 * dim + 1]);
      interior.push_back(inside[dim] - 1);
      int64_t all = padding[2 * dim] + padding[2 * dim + 1] + (*size - 1) * inside[dim] + 1;
      if (all < (sizes[dim] - 1) * dilations[dim] + 1)
        return refuse(op, "an operand without a whole window is not supported");
      info.shape[dim] = std::to_string(all);
    }
    arguments["edge_padding_low"] = std::move(low);
    arguments["edge_padding_high"] = std::move(high);
    arguments["interior_padding"] = std::move(interior);
    inputs.push_back(emitOne("pad", std::move(arguments), info));
  }
  for (size_t dim = rank; dim-- > 0;) {
    if (sizes[dim] > 1) {
      std::optional<Data> next = combineWindows(op, inputs, dim, sizes[dim], dilations[dim]);
      if (!next)
        return std::nullopt;
      inputs = std::move(*next);
    }
    int64_t all = *sizeAt(inputs[0], dim);
    if (strides[dim] > 1)
      inputs = slicesOf(inputs, dim, 0, (all - 1) / strides[dim] + 1, strides[dim]);
  }
  Data inits(operands.begin() + long(count), operands.end());
  return applyRegion(op, op->getRegion(0), both(inits, inputs), inputs[0].info.shape);
}

std::optional<Data> Reader::readSelectAndScatter(mlir::Operation *op) {
  Data operands = operandsOf(op);
  json::Object attributes = attributesOf(op);
  std::optional<std::vector<TensorInfo>> infos = resultsOf(op, operands);
  if (!infos)
    return std::nullopt;
  if (op->getNumRegions() != 2 || operands.size() != 3 || infos->size() != 1 ||
      !op->getRegion(0).hasOneBlock() || op->getRegion(0).getNumArguments() != 2)
    return refuse(op, "its form is not that of the operation");
  mlir::Block &select = op->getRegion(0).front();
  mlir::Operation &compare = select.front();
  bool isCompare = nameOf(&compare) == "compare" && select.getOperations().size() == 2 &&
                   compare.getOperands() == mlir::ValueRange(select.getArguments());
  if (!isCompare || operationOf(op->getRegion(1)) != "add")
    return refuse(op, "only comparisons of both elements, and sums, are supported");
  const json::Object how = attributesOf(&compare);
  const json::Object *direction = how.getObject("comparison_direction");
  attributes["select"] = textObject(direction ? direction->getString("str").value_or("") : "");
  return emit("select_and_scatter",
              argumentsOf("select_and_scatter", operands, std::move(attributes)), *infos);
}

//===----------------------------------------------------------------------===//
// Sorting and scattering
//===----------------------------------------------------------------------===//

std::optional<Data> Reader::readSort(mlir::Operation *op) {
  Data operands = operandsOf(op);
  json::Object attributes = attributesOf(op);
  std::optional<std::vector<TensorInfo>> infos = resultsOf(op, operands);
  if (!infos)
    return std::nullopt;
  int64_t dim = attributes.getInteger("dimension").value_or(-1);
  if (operands.empty() || op->getNumRegions() != 1 || infos->size() != operands.size() ||
      operands[0].rank() == 0)
    return refuse(op, "its form is not that of the operation");
  dim += dim < 0 ? int64_t(operands[0].rank()) : 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (dim < 0 || dim >= int64_t(operands[i].rank()) ||
        operands[i].info.shape != operands[0].info.shape)
      return refuse(op, "its form is not that of the operation");
    (*infos)[i].shape = operands[i].info.shape;
  }
  std::optional<Order> order = orderOf(op->getRegion(0), operands.size());
  if (!order)
    return refuse(op, "the comparator does not order by one or two operands");
  // By the last key first: sorting is stable.
  std::optional<Datum> permutation;
  TensorInfo index{"int64", operands[0].info.shape};
  auto along = [&](Datum &x, const TensorInfo &info) {
    return emitOne(".take_along",
                   json::Object{{"0", reference(x)}, {"1", reference(*permutation)}, {"dim", dim}},
                   info);
  };
  for (auto [key, isDescending] : llvm::reverse(order->keys)) {
    json::Object arguments{{"dim", dim}, {"descending", bool(isDescending)}};
    if (operands.size() == 1) {
      arguments["0"] = reference(operands[0]);
      return emit(".sort", std::move(arguments), *infos);
    }
    Datum keys = permutation ? along(operands[key], operands[key].info) : operands[key];
    arguments["0"] = reference(keys);
    Datum places = emitOne(".argsort", std::move(arguments), index);
    if (permutation) {
      std::swap(*permutation, places);
      places = along(places, index); // the first permutation in the order of the second
      std::swap(*permutation, places);
    } else {
      permutation = places;
    }
  }
  Data results;
  for (size_t i = 0; i < operands.size(); ++i)
    results.push_back(along(operands[i], (*infos)[i]));
  return results;
}

std::optional<Data> Reader::readScatter(mlir::Operation *op) {
  Data operands = operandsOf(op);
  json::Object attributes = attributesOf(op);
  std::optional<std::vector<TensorInfo>> infos = resultsOf(op, operands);
  if (!infos)
    return std::nullopt;
  if (operands.size() != 3 || op->getNumRegions() != 1 || infos->size() != 1)
    return refuse(op, "only one operand is supported");
  std::string kind = operationOf(op->getRegion(0));
  if (kind.empty() || kind == "xor")
    return refuse(op, "its region is not one operation of both elements");
  attributes["reducer"] = textObject(kind);
  infos->front() = operands[0].info;
  return emit("scatter", argumentsOf("scatter", operands, std::move(attributes)), *infos);
}
