//===- Node.cpp - Graphs of operations as programs -----------------------------===//
#include "Node.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace tessera;
using namespace tessera::importer;
namespace json = llvm::json;

static std::vector<std::string> textsOfShape(const json::Array &sizes) {
  std::vector<std::string> texts;
  for (const json::Value &size : sizes)
    texts.push_back(size.getAsInteger() ? std::to_string(*size.getAsInteger())
                                        : size.getAsString().value_or("").str());
  return texts;
}

static std::optional<TensorInfo> tensorInfo(const json::Object &object) {
  std::optional<llvm::StringRef> dtype = object.getString("dtype");
  const json::Array *shape = object.getArray("shape");
  if (!dtype || !shape)
    return std::nullopt;
  return TensorInfo{dtype->str(), textsOfShape(*shape)};
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Node::Node(const json::Object &object, const Values &values, std::vector<std::string> &lines)
    : name(object.getString("name").value_or("").str()),
      op(object.getString("op").value_or("").str()),
      version(object.getInteger("version").value_or(0)), arguments(object.getObject("args")),
      values(values), lines(lines) {
  if (std::optional<TensorInfo> one = tensorInfo(object))
    results.push_back(*one);
  else if (const json::Array *several = object.getArray("results"))
    for (const json::Value &each : *several)
      if (const json::Object *info = each.getAsObject())
        results.push_back(tensorInfo(*info).value_or(TensorInfo()));
  if (const json::Array *names = object.getArray("targets"))
    for (const json::Value &each : *names)
      targets.push_back(each.getAsString().value_or("").str());
}

/// A string literal. Strings come from files: nothing in them may end the literal.
static std::string literal(llvm::StringRef text) {
  std::string result = "'";
  for (char c : text) {
    if (c == '\\' || c == '\'')
      result += '\\';
    if (llvm::isPrint(c))
      result += c;
  }
  return result + "'";
}

static bool isName(llvm::StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

static std::string numberText(double number) {
  if (std::isnan(number))
    return "math.nan";
  if (std::isinf(number))
    return number > 0 ? "math.inf" : "(-math.inf)";
  std::string text;
  // The shortest text that is the same number.
  for (int digits = 1; digits <= 17; ++digits) {
    char buffer[40];
    snprintf(buffer, sizeof buffer, "%.*g", digits, number);
    text = buffer;
    if (std::strtod(buffer, nullptr) == number)
      break;
  }
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return number < 0 ? "(" + text + ")" : text;
}

std::string Node::textOf(const json::Value &value) const {
  if (value.getAsNull())
    return "None";
  if (std::optional<bool> truth = value.getAsBoolean())
    return *truth ? "True" : "False";
  if (std::optional<int64_t> integer = value.getAsInteger())
    return *integer < 0 ? "(" + std::to_string(*integer) + ")" : std::to_string(*integer);
  if (std::optional<double> number = value.getAsNumber())
    return numberText(*number);
  if (const json::Array *array = value.getAsArray()) {
    std::vector<std::string> texts;
    for (const json::Value &each : *array)
      texts.push_back(textOf(each));
    return tupleOf(texts);
  }
  const json::Object *object = value.getAsObject();
  if (!object)
    return "";
  if (std::optional<llvm::StringRef> ref = object->getString("ref"))
    return ref->str();
  if (std::optional<llvm::StringRef> number = object->getString("float"))
    return numberText(std::strtod(number->str().c_str(), nullptr));
  if (std::optional<llvm::StringRef> dtype = object->getString("dtype"))
    return "tsr." + dtype->str();
  if (std::optional<llvm::StringRef> size = object->getString("size"))
    return size->str();
  if (std::optional<llvm::StringRef> text = object->getString("str"))
    return literal(*text);
  return "";
}

const json::Value *Node::find(llvm::StringRef argument) const {
  return arguments ? arguments->get(argument) : nullptr;
}

const json::Value *Node::scalar(llvm::StringRef argument) const {
  const json::Value *value = find(argument);
  const json::Object *object = value ? value->getAsObject() : nullptr;
  const json::Array *elements = object ? object->getArray("value") : nullptr;
  return elements && elements->size() == 1 ? &elements->front() : value;
}

std::string Node::operator[](llvm::StringRef argument) const {
  const json::Value *value = find(argument);
  return value ? textOf(*value) : "None";
}

bool Node::has(llvm::StringRef argument) const {
  const json::Value *value = find(argument);
  return value && !value->getAsNull();
}

std::vector<std::string> Node::list(llvm::StringRef argument) const {
  std::vector<std::string> texts;
  if (const json::Array *array = arguments ? arguments->getArray(argument) : nullptr)
    for (const json::Value &each : *array)
      texts.push_back(textOf(each));
  else if (has(argument))
    texts.push_back((*this)[argument]);
  return texts;
}

std::optional<int64_t> Node::integer(llvm::StringRef argument) const {
  const json::Value *value = scalar(argument);
  return value ? value->getAsInteger() : std::nullopt;
}

bool Node::isTrue(llvm::StringRef argument) const {
  const json::Value *value = scalar(argument);
  return value && value->getAsBoolean().value_or(false);
}

bool Node::is(llvm::StringRef argument, double number) const {
  const json::Value *value = scalar(argument);
  return value && value->getAsNumber() == number;
}

std::optional<std::vector<std::string>> Node::known(llvm::StringRef argument) const {
  const json::Value *value = find(argument);
  if (!value || value->getAsNull())
    return std::nullopt;
  const json::Array *array = value->getAsArray();
  if (const json::Object *object = value->getAsObject()) {
    array = object->getArray("value");
    if (!array && object->getString("ref"))
      return std::nullopt;
  }
  if (!array)
    return std::vector<std::string>{textOf(*value)};
  std::vector<std::string> texts;
  for (const json::Value &each : *array) {
    const json::Object *object = each.getAsObject();
    if (object && object->getString("ref"))
      return std::nullopt;
    texts.push_back(textOf(each));
  }
  return texts;
}

std::optional<std::vector<int64_t>> Node::integers(llvm::StringRef argument) const {
  std::optional<std::vector<std::string>> texts = known(argument);
  if (!texts)
    return std::nullopt;
  std::vector<int64_t> numbers;
  for (llvm::StringRef text : *texts)
    if (text.trim("()").getAsInteger(10, numbers.emplace_back()))
      return std::nullopt;
  return numbers;
}

std::string Node::string(llvm::StringRef argument) const {
  const json::Object *object = arguments ? arguments->getObject(argument) : nullptr;
  return object ? object->getString("str").value_or("").str() : "";
}

const TensorInfo *Node::typeOf(const json::Value &value) const {
  const json::Object *object = value.getAsObject();
  std::optional<llvm::StringRef> ref = object ? object->getString("ref") : std::nullopt;
  auto it = ref ? values.find(*ref) : values.end();
  return it != values.end() && it->second.size() == 1 ? &it->second[0] : nullptr;
}

const TensorInfo *Node::tensor(llvm::StringRef argument) const {
  const json::Value *value = find(argument);
  return value ? typeOf(*value) : nullptr;
}

std::vector<const TensorInfo *> Node::tensors(llvm::StringRef argument) const {
  std::vector<const TensorInfo *> types;
  if (const json::Array *array = arguments ? arguments->getArray(argument) : nullptr)
    for (const json::Value &each : *array)
      types.push_back(typeOf(each));
  return types;
}

std::vector<const TensorInfo *> Node::operands() const {
  std::vector<const TensorInfo *> types;
  if (!arguments)
    return types;
  for (const auto &[key, value] : *arguments) {
    const json::Object *object = value.getAsObject();
    if (object && object->get("value")) // known, so that it is not computed with
      continue;
    if (const TensorInfo *one = typeOf(value))
      types.push_back(one);
    for (const TensorInfo *one : tensors(key))
      if (one)
        types.push_back(one);
  }
  return types;
}

std::optional<size_t> Node::dim(llvm::StringRef argument, size_t rank) const {
  std::optional<int64_t> dim = integer(argument);
  if (!dim)
    return std::nullopt;
  int64_t positive = *dim < 0 ? *dim + int64_t(rank) : *dim;
  return positive >= 0 && positive < int64_t(rank) ? std::optional<size_t>(positive) : std::nullopt;
}

std::string Node::let(llvm::StringRef suffix, const std::string &text) const {
  std::string local = name + "_" + suffix.str();
  lines.push_back(local + " = " + text);
  return local;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string importer::joined(const std::vector<std::string> &texts) {
  return llvm::join(texts, ", ");
}

std::string importer::tupleOf(const std::vector<std::string> &texts) {
  return "(" + joined(texts) + (texts.size() == 1 ? ",)" : ")");
}

std::string importer::indexed(const std::string &x, size_t dim, const std::string &index) {
  std::string text = x + "[";
  for (size_t i = 0; i < dim; ++i)
    text += ":, ";
  return text + index + "]";
}

std::string importer::fill(llvm::StringRef pattern, const Node &node) {
  std::string text;
  while (!pattern.empty()) {
    auto [before, rest] = pattern.split('{');
    text += before.str();
    if (before.size() == pattern.size())
      break;
    auto [argument, after] = rest.split('}');
    text += node[argument];
    pattern = after;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {
class Writer {
public:
  Writer(const json::Object &graph, const Table &table) : graph(graph), table(table) {}

  ImportedProgram run(bool isPruned = false) {
    for (const json::Value &each : arrayOf("inputs"))
      if (const json::Object *input = each.getAsObject())
        addInput(*input);
    for (const json::Value &each : arrayOf("nodes"))
      if (const json::Object *object = each.getAsObject())
        addNode(*object);
    std::vector<std::string> outputs;
    for (const json::Value &each : arrayOf("outputs"))
      outputs.push_back(each.getAsString().value_or("").str());
    if (!program.unsupported.empty())
      return std::move(program);
    std::vector<std::string> parameters;
    if (isPruned)
      prune(outputs);
    llvm::StringSet<> read = namesIn(outputs);
    for (const Parameter &each : all)
      if (!each.isWeight || read.contains(each.name)) {
        parameters.push_back(each.text);
        program.parameters.push_back(each.name);
      }
    program.text = "def " + graph.getString("name").value_or("graph").str() + "(" +
                   joined(parameters) + "):\n";
    for (const std::string &line : lines)
      program.text += "    " + line + "\n";
    program.text += "    return " + tupleOf(outputs) + "\n";
    return std::move(program);
  }

private:
  struct Parameter {
    std::string name, text;
    bool isWeight;
  };

  const json::Array &arrayOf(llvm::StringRef key) const {
    static const json::Array none;
    const json::Array *array = graph.getArray(key);
    return array ? *array : none;
  }

  /// A size that is a number or a name; others cannot be annotated.
  static bool isPlain(const std::string &size) {
    return isName(size) || (!size.empty() && llvm::all_of(size, llvm::isDigit));
  }

  static void addNames(llvm::StringRef text, llvm::StringSet<> &names) {
    while (!text.empty()) {
      llvm::StringRef name = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
      if (!name.empty())
        names.insert(name);
      text = text.drop_front(std::max<size_t>(name.size(), 1));
    }
  }

  /// All names in the statements and among the outputs.
  llvm::StringSet<> namesIn(const std::vector<std::string> &outputs) const {
    llvm::StringSet<> names;
    for (const std::vector<std::string> *texts : {&lines, &outputs})
      for (llvm::StringRef text : *texts)
        addNames(text, names);
    return names;
  }

  /// Removes statements whose targets no later statement reads.
  void prune(const std::vector<std::string> &outputs) {
    llvm::StringSet<> read;
    for (llvm::StringRef text : outputs)
      addNames(text, read);
    std::vector<std::string> kept;
    for (size_t i = lines.size(); i-- > 0;) {
      auto [targets, text] = llvm::StringRef(lines[i]).split(" = ");
      llvm::StringSet<> written;
      addNames(targets, written);
      if (llvm::none_of(written.keys(), [&](llvm::StringRef name) { return read.contains(name); }))
        continue;
      addNames(text, read);
      kept.push_back(lines[i]);
    }
    lines.assign(kept.rbegin(), kept.rend());
  }

  void addInput(const json::Object &input) {
    std::string name = input.getString("name").value_or("").str();
    if (!isName(name)) {
      program.unsupported.push_back({name, "its name is not one of the language"});
      return;
    }
    std::optional<TensorInfo> info = tensorInfo(input);
    if (!info) {
      // An integer that is the size of an input is known by the name of the size.
      if (std::optional<llvm::StringRef> size = input.getString("size"))
        lines.push_back(name + " = " + size->str());
      else
        all.push_back({name, name + ": " + input.getString("number").value_or("int").str(), false});
      return;
    }
    values[name] = {*info};
    std::vector<std::string> parts;
    for (const std::string &size : info->shape)
      parts.push_back(llvm::all_of(size, llvm::isDigit) ? size : "'" + size + "'");
    parts.push_back("tsr." + info->dtype);
    bool isKnown = llvm::all_of(info->shape, isPlain);
    all.push_back({name, isKnown ? name + ": Tensor[" + joined(parts) + "]" : name,
                   input.getBoolean("weight").value_or(false)});
  }

  void addNode(const json::Object &object) {
    Node node(object, values, lines);
    if (!isName(node.name) || !llvm::all_of(node.targets, isName)) {
      program.unsupported.push_back({node.name, "its name is not one of the language"});
      return;
    }
    if (node.targets.empty())
      values[node.name] = node.results;
    for (size_t i = 0; i < node.targets.size() && i < node.results.size(); ++i)
      values[node.targets[i]] = {node.results[i]};
    auto it = table.find(node.op);
    if (it == table.end()) {
      program.unsupported.push_back({node.name, "the operation is not known"});
      return;
    }
    std::optional<std::string> text = it->second(node);
    if (!text)
      program.unsupported.push_back({node.name, node.reason});
    else if (node.targets.size() > 1)
      lines.push_back(joined(node.targets) + " = " + *text);
    else
      lines.push_back((node.targets.empty() ? node.name : node.targets[0]) + " = " +
                      withType(*text, node));
  }

  /// The type of the result is the graph's: its promotion has the last word.
  static std::string withType(const std::string &text, const Node &node) {
    if (node.results.size() != 1 || node.results[0].dtype == "bool" ||
        llvm::StringRef(text).ends_with(".to(tsr." + node.results[0].dtype + ")"))
      return text;
    auto differs = [&](const TensorInfo *one) { return one->dtype != node.results[0].dtype; };
    if (llvm::none_of(node.operands(), differs))
      return text;
    return "(" + text + ").to(tsr." + node.results[0].dtype + ")";
  }

  const json::Object &graph;
  const Table &table;
  Values values;
  std::vector<Parameter> all;
  std::vector<std::string> lines;
  ImportedProgram program;
};
} // namespace

llvm::Expected<ImportedProgram> importer::translate(llvm::StringRef text, const Table &table) {
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed)
    return parsed.takeError();
  const json::Object *graph = parsed->getAsObject();
  if (!graph)
    return llvm::createStringError("expected an object for a graph");
  return Writer(*graph, table).run();
}

ImportedProgram importer::translate(const json::Object &graph, const Table &table, bool isPruned) {
  return Writer(graph, table).run(isPruned);
}

std::vector<std::string> importer::namesOf(const Table &table) {
  std::vector<std::string> names;
  for (const auto &entry : table)
    names.push_back(entry.getKey().str());
  llvm::sort(names);
  return names;
}
