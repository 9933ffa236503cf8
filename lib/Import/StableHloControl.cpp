//===- StableHloControl.cpp - Operations, calls and control flow --------------------===//
#include "StableHloReader.h"
#include "StableHloTables.h"

#include "llvm/ADT/StringSwitch.h"

using namespace tessera;
using namespace tessera::stablehlo;

/// Statements of a program, after loops are unrolled.
static constexpr size_t kMostNodes = 20000;
/// Operations that are read, also those that are evaluated.
static constexpr size_t kMostSteps = 500000;
static constexpr size_t kMostCalls = 64;

static std::string textIn(const json::Object &attributes, llvm::StringRef name) {
  const json::Object *object = attributes.getObject(name);
  return object ? object->getString("str").value_or("").str() : "";
}

static bool isBad(const Data &data) {
  return llvm::any_of(data, [](const Datum &each) { return each.isBad; });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

bool Reader::isTooLong() const { return nodes.size() > kMostNodes || steps > kMostSteps; }

void Reader::read(mlir::Operation *op) {
  title = titleOf(op);
  for (mlir::Value each : op->getOperands())
    if (!values.count(each)) { // of a block that is not read
      refuse(op, "it reads a value that nothing computes");
      set(op, {});
      return;
    }
  std::optional<Data> results = readOperation(op);
  set(op, results ? std::move(*results) : Data());
}

std::optional<Data> Reader::readOperation(mlir::Operation *op) {
  if (op->getName().getStringRef() == kCall)
    return readCall(op, textIn(attributesOf(op), "callee"), operandsOf(op));
  std::string name = nameOf(op);
  // What only passes values on may pass those that are not supported.
  if (name == "optimization_barrier")
    return operandsOf(op);
  if (name == "tuple" || name == "get_tuple_element")
    return readTuple(op);
  if (name == "constant")
    return readConstant(op);
  if (name == "composite")
    return readComposite(op);
  if (name == "while")
    return readWhile(op);
  if (isBad(operandsOf(op)))
    return std::nullopt;
  using Method = std::optional<Data> (Reader::*)(mlir::Operation *);
  Method method = llvm::StringSwitch<Method>(name)
                      .Case("custom_call", &Reader::readCustomCall)
                      .Cases({"if", "case"}, &Reader::readBranches)
                      .Case("reduce", &Reader::readReduce)
                      .Case("reduce_window", &Reader::readWindows)
                      .Case("sort", &Reader::readSort)
                      .Case("map", &Reader::readMap)
                      .Case("scatter", &Reader::readScatter)
                      .Case("select_and_scatter", &Reader::readSelectAndScatter)
                      .Cases({"get_dimension_size", "dynamic_broadcast_in_dim", "dynamic_reshape",
                              "dynamic_iota"},
                             &Reader::readSizes)
                      .Default(&Reader::readPlain);
  return (this->*method)(op);
}

std::optional<Data> Reader::readBlock(mlir::Block &block, Data arguments) {
  if (block.getNumArguments() != arguments.size())
    return std::nullopt;
  for (size_t i = 0; i < arguments.size(); ++i) {
    mlir::BlockArgument argument = block.getArgument(unsigned(i));
    values[argument] = std::move(arguments[i]);
  }
  for (mlir::Operation &op : block) {
    llvm::StringRef name = op.getName().getStringRef();
    if (name == "func.return" || name == "stablehlo.return" || name == "mhlo.return") {
      for (mlir::Value each : op.getOperands())
        if (!values.count(each))
          return std::nullopt;
      return operandsOf(&op);
    }
    if (isTooLong())
      return std::nullopt;
    ++steps;
    read(&op);
  }
  return std::nullopt;
}

std::optional<Data> Reader::readConstant(mlir::Operation *op) {
  mlir::DenseElementsAttr known = constantOf(op);
  if (op->getNumResults() != 1)
    return refuse(op, "it does not have one result");
  std::string reason;
  std::optional<TensorInfo> info = infoOf(op->getResult(0).getType(), reason);
  if (!info)
    return refuse(op, reason);
  if (!known)
    return refuse(op, "the elements are not in the text");
  if (known.getType() != op->getResult(0).getType())
    return refuse(op, "the type of the elements is not that of the result");
  Datum datum;
  datum.info = *info;
  datum.known = known;
  return Data{datum};
}

std::optional<std::vector<TensorInfo>> Reader::resultsOf(mlir::Operation *op,
                                                         const Data &operands) {
  std::vector<TensorInfo> infos;
  for (mlir::Value each : op->getResults()) {
    std::string reason;
    std::optional<TensorInfo> info = infoOf(each.getType(), reason);
    if (!info)
      return refuse(op, reason);
    if (shape && info->shape.empty())
      info->shape = *shape;
    // Sizes that vary are those of an operand.
    if (llvm::is_contained(info->shape, "?") && isElementwise(nameOf(op)))
      for (const Datum &operand : operands)
        if (operand.rank() == info->rank())
          info->shape = operand.info.shape;
    infos.push_back(std::move(*info));
  }
  return infos;
}

std::optional<Data> Reader::readPlain(mlir::Operation *op) {
  std::string name = nameOf(op);
  if (name.starts_with("."))
    return refuse(op, "the operation is not known");
  if (!operations().contains(name)) {
    bool isRandom = llvm::StringRef(name).starts_with("rng");
    return refuse(op, isRandom ? "random numbers are not supported" : "the operation is not known");
  }
  if (shape && !isElementwise(name))
    return refuse(op, "the operation is not supported in a region of scalars");
  if (op->getNumResults() == 0 || op->getNumRegions())
    return refuse(op, "its form is not that of the operation");
  Data operands = operandsOf(op);
  json::Object attributes = attributesOf(op);
  std::optional<std::vector<TensorInfo>> infos = resultsOf(op, operands);
  if (!infos)
    return std::nullopt;
  if (infos->size() == 1)
    if (std::optional<Datum> sizes = sizesAfter(op, operands, infos->front()))
      return Data{*sizes};
  Data data = apply(name, operands, attributes, *infos, llvm::to_vector(op->getResultTypes()));
  if (name == "iota" && data.size() == 1)
    data[0].iotaDim = attributes.getInteger("iota_dimension");
  if (name == "broadcast_in_dim" && operands.size() == 1 && operands[0].iotaDim) {
    std::optional<Numbers> dims = numbersIn(attributes, "broadcast_dimensions");
    size_t from = *operands[0].iotaDim;
    if (dims && from < dims->size() && operands[0].info.shape[from] != "1")
      data[0].iotaDim = (*dims)[from];
  }
  return data;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::optional<Data> Reader::readCall(mlir::Operation *op, llvm::StringRef callee, Data operands) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>(callee);
  if (!function || function.isDeclaration() || !function.getBody().hasOneBlock())
    return refuse(op, "there is no function '" + callee.str() + "' that can be inlined");
  if (function.getNumArguments() != operands.size())
    return refuse(op, "the operands do not fit the function");
  if (++depth > kMostCalls) {
    --depth;
    return refuse(op, "calls are nested too deeply");
  }
  std::optional<Data> results = readBlock(function.getBody().front(), std::move(operands));
  --depth;
  if (!results && isTooLong() && problems.empty())
    return refuse(op, "the program has too many operations");
  return results;
}

/// A composite of CHLO that the language has, or else its decomposition.
std::optional<Data> Reader::readComposite(mlir::Operation *op) {
  json::Object attributes = attributesOf(op);
  std::string name = textIn(attributes, "name");
  if (llvm::StringRef(name).starts_with("chlo.") && operations().contains(name))
    return readNamed(op, name, std::move(attributes));
  return readCall(op, textIn(attributes, "decomposition"), operandsOf(op));
}

std::optional<Data> Reader::readNamed(mlir::Operation *op, const std::string &name,
                                      json::Object attributes) {
  Data operands = operandsOf(op);
  if (isBad(operands) || op->getNumResults() == 0)
    return isBad(operands) ? std::nullopt : refuse(op, "it has no result");
  std::optional<std::vector<TensorInfo>> infos = resultsOf(op, operands);
  if (!infos)
    return std::nullopt;
  return emit(name, argumentsOf(name, operands, std::move(attributes)), *infos);
}

std::optional<Data> Reader::readCustomCall(mlir::Operation *op) {
  json::Object attributes = attributesOf(op);
  std::string target = textIn(attributes, "call_target_name");
  if (target == "Sharding" && op->getNumOperands() == 1 && op->getNumResults() == 1)
    return operandsOf(op);
  if (target == "shape_assertion" && op->getNumResults() == 0)
    return Data();
  // Operations of CHLO in a portable form.
  bool isPortable = llvm::StringRef(target).starts_with("mhlo.");
  std::string name = target == "mhlo.topk" ? "chlo.top_k"
                     : isPortable          ? "chlo." + target.substr(5)
                                           : "";
  if (!operations().contains(name))
    return refuse(op, "the custom call '" + target + "' is not known");
  return readNamed(op, name, std::move(attributes));
}

std::optional<Data> Reader::readTuple(mlir::Operation *op) {
  if (nameOf(op) == "tuple") {
    Datum tuple;
    tuple.parts = operandsOf(op);
    return Data{tuple};
  }
  int64_t index = attributesOf(op).getInteger("index").value_or(-1);
  if (op->getNumOperands() != 1 || index < 0 ||
      index >= int64_t(at(op->getOperand(0)).parts.size()))
    return refuse(op, "the tuple has no such element");
  return Data{at(op->getOperand(0)).parts[size_t(index)]};
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

static std::optional<int64_t> numberOf(const Datum &datum) {
  if (!datum.known || !datum.known.isSplat() || !datum.known.getElementType().isInteger())
    return std::nullopt;
  llvm::APInt value = datum.known.getSplatValue<llvm::APInt>();
  return value.getBitWidth() == 1 ? int64_t(value.getZExtValue()) : value.getSExtValue();
}

/// A loop whose condition is known in each step.
std::optional<Data> Reader::readWhile(mlir::Operation *op) {
  if (op->getNumRegions() != 2 || !op->getRegion(0).hasOneBlock() ||
      !op->getRegion(1).hasOneBlock())
    return refuse(op, "its form is not that of the operation");
  Data carried = operandsOf(op);
  while (true) {
    std::optional<Data> condition = readBlock(op->getRegion(0).front(), carried);
    if (!condition || condition->size() != 1 || (*condition)[0].isBad)
      return problems.empty() ? refuse(op, "the condition is not supported")
                              : std::optional<Data>();
    std::optional<int64_t> holds = numberOf((*condition)[0]);
    if (!holds)
      return refuse(op, "the number of steps depends on data");
    if (!*holds)
      return carried;
    std::optional<Data> next = readBlock(op->getRegion(1).front(), carried);
    if (isTooLong())
      return refuse(op, "the loop has too many steps to be unrolled");
    if (!next || next->size() != carried.size())
      return problems.empty() ? refuse(op, "the loop's body is not supported")
                              : std::optional<Data>();
    carried = std::move(*next);
    ++steps;
  }
}

/// The branch that is known, or each branch, of which the elements are selected.
std::optional<Data> Reader::readBranches(mlir::Operation *op) {
  size_t count = op->getNumRegions();
  bool isCase = nameOf(op) == "case";
  if (op->getNumOperands() != 1 || count == 0 || (!isCase && count != 2) ||
      llvm::any_of(op->getRegions(), [](mlir::Region &each) { return !each.hasOneBlock(); }))
    return refuse(op, "its form is not that of the operation");
  Datum choice = at(op->getOperand(0));
  auto branch = [&](size_t index) -> std::optional<Data> {
    size_t before = problems.size();
    std::optional<Data> results = readBlock(op->getRegion(unsigned(index)).front(), {});
    if (results && results->size() == op->getNumResults())
      return results;
    return problems.size() == before ? refuse(op, "a branch is not supported")
                                     : std::optional<Data>();
  };
  if (std::optional<int64_t> known = numberOf(choice)) {
    bool isInside = *known >= 0 && *known < int64_t(count);
    return branch(isCase ? (isInside ? size_t(*known) : count - 1) : *known ? 0 : 1);
  }
  std::optional<Data> chosen = branch(count - 1);
  for (size_t i = count - 1; i-- > 0 && chosen;) {
    std::optional<Data> other = branch(i);
    if (!other)
      return std::nullopt;
    Datum condition = choice;
    if (isCase)
      condition = emitOne("compare",
                          json::Object{{"0", reference(choice)},
                                       {"1", int64_t(i)},
                                       {"comparison_direction", json::Object{{"str", "EQ"}}}},
                          TensorInfo{"bool", {}});
    for (size_t k = 0; k < chosen->size(); ++k) {
      Datum &yes = (*other)[k], &no = (*chosen)[k];
      if (yes.isBad || no.isBad || !yes.parts.empty())
        return problems.empty() ? refuse(op, "a branch is not supported") : std::optional<Data>();
      Datum result = emitOne(
          "select",
          json::Object{{"0", reference(condition)}, {"1", reference(yes)}, {"2", reference(no)}},
          yes.info);
      result.type = yes.type;
      no = result;
    }
  }
  return chosen;
}

//===----------------------------------------------------------------------===//
// Sizes that vary
//===----------------------------------------------------------------------===//

static bool isAnInteger(const Datum &datum) {
  return llvm::StringRef(datum.info.dtype).starts_with("int");
}

/// The elements of a tensor of sizes as texts.
static std::optional<std::vector<std::string>> sizesIn(const Datum &datum) {
  if (!datum.sizes.empty())
    return datum.sizes;
  if (!datum.known || datum.known.getNumElements() > 16 || !isAnInteger(datum))
    return std::nullopt;
  std::vector<std::string> texts;
  for (const llvm::APInt &each : datum.known.getValues<llvm::APInt>())
    texts.push_back(std::to_string(each.getSExtValue()));
  return texts;
}

std::optional<Data> Reader::readSizes(mlir::Operation *op) {
  std::string name = nameOf(op);
  Data operands = operandsOf(op);
  json::Object attributes = attributesOf(op);
  std::optional<std::vector<TensorInfo>> infos = resultsOf(op, {});
  if (!infos || infos->size() != 1 || operands.empty())
    return infos ? refuse(op, "its form is not that of the operation") : std::optional<Data>();
  if (name == "get_dimension_size") {
    int64_t dim = attributes.getInteger("dimension").value_or(-1);
    if (dim < 0 || dim >= int64_t(operands[0].rank()))
      return refuse(op, "the tensor has no such dimension");
    Datum size;
    size.info = infos->front();
    const std::string &text = operands[0].info.shape[size_t(dim)];
    write(operands[0]);
    size.sizes = {text == "?" ? operands[0].name + ".shape[" + std::to_string(dim) + "]" : text};
    return Data{size};
  }
  std::optional<std::vector<std::string>> sizes = sizesIn(operands.back());
  if (!sizes || sizes->size() != infos->front().rank())
    return refuse(op, "the shape must be known");
  infos->front().shape = *sizes;
  operands.pop_back();
  std::string plain = name == "dynamic_iota"      ? "iota"
                      : name == "dynamic_reshape" ? "reshape"
                                                  : "broadcast_in_dim";
  if (operands.size() != (plain == "iota" ? 0 : 1))
    return refuse(op, "its form is not that of the operation");
  return emit(plain, argumentsOf(plain, operands, std::move(attributes)), *infos);
}

/// What an operation does with integers that depend on sizes; nothing for what is not arithmetic.
std::optional<Datum> Reader::sizesAfter(mlir::Operation *op, const Data &operands,
                                        const TensorInfo &result) {
  std::string name = nameOf(op);
  if (llvm::none_of(operands, [](const Datum &each) { return !each.sizes.empty(); }) ||
      result.rank() > 1 || !llvm::StringRef(result.dtype).starts_with("int"))
    return std::nullopt;
  std::vector<std::vector<std::string>> texts;
  for (const Datum &each : operands) {
    std::optional<std::vector<std::string>> one = sizesIn(each);
    if (!one)
      return std::nullopt;
    texts.push_back(*one);
  }
  Datum datum;
  datum.info = result;
  std::string sign = llvm::StringSwitch<std::string>(name)
                         .Case("add", " + ")
                         .Case("subtract", " - ")
                         .Case("multiply", " * ")
                         .Case("divide", " // ")
                         .Default("");
  if (name == "convert" || name == "reshape" || name == "broadcast_in_dim") {
    datum.sizes = texts[0];
    if (result.rank() == 1 && result.shape[0] != std::to_string(texts[0].size()))
      return std::nullopt;
  } else if (name == "concatenate") {
    for (const std::vector<std::string> &each : texts)
      datum.sizes.insert(datum.sizes.end(), each.begin(), each.end());
  } else if (!sign.empty() && texts.size() == 2 && texts[0].size() == texts[1].size()) {
    for (size_t i = 0; i < texts[0].size(); ++i)
      datum.sizes.push_back("(" + texts[0][i] + sign + texts[1][i] + ")");
  } else if (name == "slice" && result.rank() == 1) {
    std::optional<Numbers> starts = numbersIn(attributesOf(op), "start_indices");
    std::optional<int64_t> count = importer::staticSize(result.shape[0]);
    if (!starts || starts->size() != 1 || !count || *count < 0 || (*starts)[0] < 0 ||
        size_t((*starts)[0] + *count) > texts[0].size())
      return std::nullopt;
    datum.sizes.assign(texts[0].begin() + (*starts)[0], texts[0].begin() + (*starts)[0] + *count);
  } else {
    return std::nullopt;
  }
  // Texts that grow without bound are not sizes.
  bool isLong =
      llvm::any_of(datum.sizes, [](const std::string &text) { return text.size() > 200; });
  return datum.sizes.empty() || isLong ? std::nullopt : std::optional(datum);
}
