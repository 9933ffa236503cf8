//===- Answers.cpp - The JSON values of the C ABI -------------------------===//
#include "Answers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>

namespace tessera::capi {

using llvm::StringRef;
using llvm::json::Object;

namespace {

std::string stringOf(const Object &object, StringRef key) {
  return object.getString(key).value_or("").str();
}

/// JSON cannot express infinities and NaN; they are strings.
std::optional<double> realOf(const Object &object) {
  if (std::optional<double> number = object.getNumber("value"))
    return number;
  std::string text = stringOf(object, "value");
  if (text == "inf")
    return INFINITY;
  if (text == "-inf")
    return -INFINITY;
  if (text == "nan")
    return NAN;
  return std::nullopt;
}

std::optional<Constant> constantOf(const Object &object);

std::optional<Constant> tupleOf(const Object &object) {
  Constant tuple(Constant::Tuple);
  const llvm::json::Array *elements = object.getArray("value");
  if (!elements)
    return std::nullopt;
  for (const llvm::json::Value &element : *elements) {
    const Object *inner = element.getAsObject();
    std::optional<Constant> constant = inner ? constantOf(*inner) : std::nullopt;
    if (!constant)
      return std::nullopt;
    tuple.elements.push_back(std::move(*constant));
  }
  return tuple;
}

/// The integers of an array; nothing if it has anything else.
std::optional<std::vector<int64_t>> integersOf(const Object &object, StringRef key) {
  const llvm::json::Array *list = object.getArray(key);
  std::vector<int64_t> found;
  for (const llvm::json::Value &one : list ? *list : llvm::json::Array()) {
    std::optional<int64_t> number = one.getAsInteger();
    if (!number)
      return std::nullopt;
    found.push_back(*number);
  }
  return list ? std::optional(std::move(found)) : std::nullopt;
}

std::optional<Constant> tensorOf(const Object &object) {
  auto pattern = std::make_shared<TensorPattern>();
  std::optional<DType> dtype = dtypeByName(stringOf(object, "dtype"));
  std::optional<std::vector<int64_t>> shape = integersOf(object, "shape"),
                                      steps = integersOf(object, "steps");
  if (!dtype || !shape || !steps || steps->size() != shape->size() ||
      llvm::any_of(*shape, [](int64_t size) { return size < 0; }))
    return std::nullopt;
  pattern->dtype = *dtype;
  pattern->shape = std::move(*shape);
  pattern->steps = std::move(*steps);
  pattern->offset = object.getInteger("offset").value_or(0);
  pattern->low = object.getInteger("low");
  pattern->high = object.getInteger("high");
  std::optional<Constant> values = tupleOf(object);
  if (!values || values->elements.size() > 2)
    return std::nullopt;
  for (const Constant &value : values->elements)
    if (value.kind != Constant::Bool && value.kind != Constant::Int &&
        value.kind != Constant::Float)
      return std::nullopt;
  pattern->values = std::move(values->elements);
  Constant constant(Constant::Tensor);
  constant.pattern = std::move(pattern);
  return constant;
}

std::optional<Constant> constantOf(const Object &object) {
  std::string kind = stringOf(object, "kind");
  if (kind == "none")
    return Constant();
  if (kind == "bool")
    if (std::optional<bool> value = object.getBoolean("value"))
      return Constant::ofBool(*value);
  if (kind == "int")
    if (std::optional<int64_t> value = object.getInteger("value"))
      return Constant::ofInt(*value);
  if (kind == "float")
    if (std::optional<double> value = realOf(object))
      return Constant::ofFloat(*value);
  if (kind == "str")
    return Constant::ofStr(stringOf(object, "value"));
  if (kind == "dtype")
    if (std::optional<DType> dtype = dtypeByName(stringOf(object, "value"))) {
      Constant constant(Constant::DType);
      constant.dtype = *dtype;
      return constant;
    }
  if (kind == "tuple")
    return tupleOf(object);
  if (kind == "unknown") {
    Constant constant(Constant::Object);
    constant.text = stringOf(object, "value");
    return constant;
  }
  return std::nullopt;
}

SourceText sourceOf(const Object &object) {
  SourceText source;
  source.text = stringOf(object, "source");
  source.file = stringOf(object, "file");
  source.firstLine = uint32_t(object.getInteger("line").value_or(1));
  source.columnShift = uint32_t(object.getInteger("column").value_or(0));
  return source;
}

Resolution resolutionOf(const Object &object) {
  Resolution resolution;
  std::string kind = stringOf(object, "kind");
  if (kind == "function") {
    resolution.kind = Resolution::Function;
    resolution.text = stringOf(object, "name");
    resolution.scope = stringOf(object, "id");
    resolution.source = sourceOf(object);
    resolution.gradients = stringOf(object, "grad");
  } else if (kind == "module") {
    resolution.kind = Resolution::Module;
    resolution.text = stringOf(object, "value");
  } else if (kind == "operation") {
    resolution.kind = Resolution::Operation;
    resolution.text = stringOf(object, "module") + "." + stringOf(object, "name");
  } else if (kind == "array") {
    resolution.kind = Resolution::Array;
    resolution.text = stringOf(object, "value");
  } else if (std::optional<Constant> constant = constantOf(object)) {
    resolution.kind = Resolution::Value;
    resolution.constant = std::move(*constant);
  } else if (const llvm::json::Array *names = object.getArray("names")) {
    for (const llvm::json::Value &name : *names)
      if (std::optional<StringRef> text = name.getAsString())
        resolution.candidates.push_back(text->str());
  }
  return resolution;
}

/// The object in a text, in `storage`; null if there is none.
const Object *parseObject(const char *json, std::optional<llvm::json::Value> &storage) {
  if (!json)
    return nullptr;
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(json);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return nullptr;
  }
  storage = std::move(*parsed);
  return storage->getAsObject();
}

} // namespace

Resolution parseAnswer(const char *json) {
  std::optional<llvm::json::Value> storage;
  const Object *object = parseObject(json, storage);
  return object ? resolutionOf(*object) : Resolution();
}

std::optional<Constant> parseConstant(const char *json) {
  std::optional<llvm::json::Value> storage;
  const Object *object = parseObject(json, storage);
  if (!object)
    return std::nullopt;
  return stringOf(*object, "kind") == "tensor" ? tensorOf(*object) : constantOf(*object);
}

} // namespace tessera::capi
