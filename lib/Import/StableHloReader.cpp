//===- StableHloReader.cpp - Values of modules --------------------------------------===//
#include "StableHloReader.h"
#include "StableHloTables.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace tessera;
using namespace tessera::stablehlo;
using mlir::DenseElementsAttr;

/// Elements of a constant that the program may need to know.
static constexpr int64_t kMostKnown = 4096;

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

void Reader::write(Datum &datum) {
  if (!datum.name.empty())
    return;
  if (!datum.sizes.empty()) {
    json::Array sizes;
    for (const std::string &size : datum.sizes)
      sizes.push_back(json::Object{{"size", size}});
    datum.name = emitOne(".sizes", json::Object{{"sizes", std::move(sizes)}}, datum.info).name;
    return;
  }
  if (!datum.known)
    return;
  std::string &name = written[datum.known];
  if (name.empty()) {
    if (datum.known.isSplat()) {
      json::Array one = elementsOf(
          DenseElementsAttr::get(mlir::RankedTensorType::get({}, datum.known.getElementType()),
                                 datum.known.getSplatValue<mlir::Attribute>()));
      name = emitOne(".full", json::Object{{"value", std::move(one.front())}}, datum.info).name;
    } else {
      name = "c" + std::to_string(weights.size());
      weights.push_back({name, datum.known});
      json::Object input{{"name", name}, {"dtype", datum.info.dtype}, {"weight", true}};
      input["shape"] = json::Array(datum.info.shape);
      inputs.push_back(std::move(input));
    }
  }
  datum.name = name;
}

json::Value Reader::reference(Datum &datum) {
  write(datum);
  json::Object record{{"ref", datum.name}};
  if (!datum.sizes.empty()) {
    json::Array elements;
    for (const std::string &size : datum.sizes)
      elements.push_back(json::Object{{"size", size}});
    record["value"] = std::move(elements);
  } else if (datum.known && datum.known.getNumElements() <= kMostKnown) {
    record["value"] = elementsOf(datum.known);
  }
  return record;
}

/// A known number is written as such where another operand has the type of the result.
json::Object Reader::argumentsOf(llvm::StringRef op, Data &operands, json::Object attributes) {
  static const llvm::StringSet<> binary = {"add",     "subtract", "multiply", "divide", "maximum",
                                           "minimum", "compare",  "select",   "power",  "remainder",
                                           "and",     "or",       "xor",      "clamp"};
  bool hasTensor = false;
  auto isNumber = [](const Datum &each) { return each.known && each.known.isSplat(); };
  size_t first = op == "select" ? 1 : 0;
  for (size_t i = first; i < operands.size(); ++i)
    hasTensor |= !isNumber(operands[i]);
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string key = std::to_string(i);
    bool isValue =
        binary.contains(op) && i >= first && operands[i].name.empty() && isNumber(operands[i]);
    if (isValue && (hasTensor || i > first) && !(op == "power" && i == 0) &&
        !(op == "clamp" && i == 1)) {
      DenseElementsAttr known = operands[i].known;
      json::Array one =
          elementsOf(DenseElementsAttr::get(mlir::RankedTensorType::get({}, known.getElementType()),
                                            known.getSplatValue<mlir::Attribute>()));
      attributes[key] = std::move(one.front());
    } else {
      attributes[key] = reference(operands[i]);
    }
  }
  attributes["operands"] = int64_t(operands.size());
  return attributes;
}

Data Reader::emit(llvm::StringRef op, json::Object arguments, llvm::ArrayRef<TensorInfo> results) {
  size_t number = nodes.size();
  json::Array types, targets;
  Data data;
  for (size_t i = 0; i < results.size(); ++i) {
    Datum datum;
    datum.info = results[i];
    datum.name = "v" + std::to_string(number) + (i ? "_" + std::to_string(i) : "");
    types.push_back(
        json::Object{{"dtype", results[i].dtype}, {"shape", json::Array(results[i].shape)}});
    targets.push_back(datum.name);
    data.push_back(std::move(datum));
  }
  std::string name = "v" + std::to_string(number);
  titles[name] = title;
  nodes.push_back(json::Object{{"name", name},
                               {"op", op.str()},
                               {"args", std::move(arguments)},
                               {"results", std::move(types)},
                               {"targets", std::move(targets)}});
  return data;
}

Data Reader::apply(llvm::StringRef op, Data operands, json::Object attributes,
                   llvm::ArrayRef<TensorInfo> results, llvm::ArrayRef<mlir::Type> types) {
  std::vector<DenseElementsAttr> known;
  for (const Datum &each : operands)
    known.push_back(each.known);
  DenseElementsAttr value;
  if (results.size() == 1 && types.size() == 1 && !llvm::is_contained(known, DenseElementsAttr()))
    value = evaluate(op, known, attributes, types[0]);
  Data data;
  // What is known of more than one number is still computed: it need not be stored.
  if (value && value.isSplat()) {
    data.emplace_back();
    data[0].info = results[0];
  } else {
    data = emit(op, argumentsOf(op, operands, std::move(attributes)), results);
  }
  for (size_t i = 0; i < data.size() && i < types.size(); ++i)
    data[i].type = types[i];
  if (value)
    data[0].known = value;
  return data;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Data Reader::operandsOf(mlir::Operation *op) {
  Data data;
  for (mlir::Value each : op->getOperands())
    data.push_back(at(each));
  return data;
}

void Reader::set(mlir::Operation *op, Data results) {
  for (size_t i = 0; i < op->getNumResults(); ++i) {
    Datum &datum = values[op->getResult(unsigned(i))];
    datum = i < results.size() ? std::move(results[i]) : Datum();
    datum.type = op->getResult(unsigned(i)).getType();
    if (i >= results.size())
      datum.isBad = true;
  }
}

std::nullopt_t Reader::refuse(mlir::Operation *op, const std::string &why) {
  problems.push_back({titleOf(op), why});
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

mlir::func::FuncOp Reader::entry(std::string &error) {
  mlir::func::FuncOp found;
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    if (function.getSymName() == "main" && !function.isDeclaration())
      return function;
    if (function.isPublic() && !function.isDeclaration()) {
      if (found)
        error = "the module has several public functions, and none is 'main'";
      found = function;
    }
  }
  if (!found)
    error = "the module has no public function";
  return found;
}

/// A name for users: that of the location, unless there is none or another input has it.
static std::string nameOfInput(mlir::BlockArgument argument, llvm::ArrayRef<std::string> others) {
  std::string fallback = "arg" + std::to_string(argument.getArgNumber());
  auto place = llvm::dyn_cast<mlir::NameLoc>(argument.getLoc());
  if (!place)
    return fallback;
  std::string name = json::fixUTF8(place.getName().getValue());
  return name.empty() || llvm::is_contained(others, name) ? fallback : name;
}

void Reader::addInput(mlir::func::FuncOp function, unsigned index) {
  mlir::BlockArgument argument = function.getArgument(index);
  imported.inputs.push_back(nameOfInput(argument, imported.inputs));
  Datum &datum = values[argument];
  datum.type = argument.getType();
  std::string reason;
  std::optional<TensorInfo> info = infoOf(argument.getType(), reason);
  std::string name = "x" + std::to_string(index);
  imported.parameters.push_back(name);
  if (!info) {
    datum.isBad = true;
    problems.push_back({"input '" + imported.inputs.back() + "'", reason});
    return;
  }
  // A size that varies has a name of its own.
  for (size_t i = 0; i < info->shape.size(); ++i)
    if (info->shape[i] == "?")
      info->shape[i] = "n" + std::to_string(index) + "_" + std::to_string(i);
  datum.info = *info;
  datum.name = name;
  json::Object input{{"name", name}, {"dtype", info->dtype}};
  input["shape"] = json::Array(info->shape);
  inputs.push_back(std::move(input));
}

llvm::Error Reader::readFunction(mlir::func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return llvm::createStringError("control flow between blocks is not supported");
  Data arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    addInput(function, i);
    arguments.push_back(at(function.getArgument(i)));
  }
  std::optional<Data> results = readBlock(function.getBody().front(), arguments);
  if (!results) {
    if (problems.empty())
      problems.push_back({"func.func '" + function.getSymName().str() + "'",
                          "the function does not end with a return"});
    return llvm::Error::success();
  }
  outputs = std::move(*results);
  for (size_t i = 0; i < outputs.size(); ++i)
    imported.outputs.push_back(outputs.size() == 1 ? "result" : "result" + std::to_string(i));
  return llvm::Error::success();
}

/// The statements on which the outputs depend.
static json::Array live(json::Array &nodes, llvm::StringSet<> &needed) {
  std::function<void(const json::Value &)> collect = [&](const json::Value &value) {
    if (const json::Array *array = value.getAsArray())
      llvm::for_each(*array, collect);
    if (const json::Object *object = value.getAsObject())
      if (std::optional<llvm::StringRef> name = object->getString("ref"))
        needed.insert(*name);
  };
  std::vector<json::Value> kept;
  for (size_t i = nodes.size(); i-- > 0;) {
    json::Object &node = *nodes[i].getAsObject();
    if (llvm::none_of(*node.getArray("targets"), [&](const json::Value &each) {
          return needed.contains(each.getAsString().value_or(""));
        }))
      continue;
    for (const auto &[key, value] : *node.getObject("args"))
      collect(value);
    kept.push_back(std::move(nodes[i]));
  }
  json::Array result;
  for (size_t i = kept.size(); i-- > 0;)
    result.push_back(std::move(kept[i]));
  return result;
}

llvm::Expected<ImportedModule> Reader::run() {
  std::string error;
  mlir::func::FuncOp function = entry(error);
  if (!error.empty())
    return llvm::createStringError(error);
  if (llvm::Error failed = readFunction(function))
    return std::move(failed);
  finish(imported);
  return std::move(imported);
}

void Reader::finish(ImportedModule &result) {
  result.program.unsupported = problems;
  json::Array names;
  llvm::StringSet<> needed;
  for (Datum &output : outputs)
    if (!output.isBad) {
      write(output);
      names.push_back(output.name);
      needed.insert(output.name);
    }
  json::Object graph{{"name", "model"}, {"outputs", std::move(names)}};
  graph["nodes"] = live(nodes, needed);
  graph["inputs"] = std::move(inputs);
  ImportedProgram program = importer::translate(graph, operations(), true);
  for (const auto &[name, reason] : program.unsupported)
    result.program.unsupported.push_back({titles.lookup(name), reason});
  result.program.text = result.program.unsupported.empty() ? program.text : "";
  result.program.parameters = program.parameters;
  for (const auto &[name, value] : weights) {
    if (!llvm::is_contained(program.parameters, name))
      continue;
    mlir::ShapedType type = value.getType();
    result.constants.push_back({name, dtypeOf(value.getElementType()),
                                std::vector<int64_t>(type.getShape()), bytesOf(value)});
  }
}
