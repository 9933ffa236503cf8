//===- Value.cpp - Values, their descriptions in messages, and element types -===//
#include "Builtins.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace tessera;
using namespace tessera::sema;

Resolver::~Resolver() = default;

//===------------------------------------------------------------------------------------------===//
// Element types
//===------------------------------------------------------------------------------------------===//

std::optional<DType> tessera::dtypeByName(std::string_view name) {
  if (name == "double")
    return DType::FP64;
  if (name == "half")
    return DType::FP16;
  return name == "bool_" ? DType::Bool : rt::dtypeByName(name);
}

//===------------------------------------------------------------------------------------------===//
// Values
//===------------------------------------------------------------------------------------------===//

Value Value::ofList(Kind kind, std::vector<Value> elements) {
  Value value = of(kind);
  value.hasList = kind == List;
  for (const Value &element : elements) {
    value.depth = std::max<uint8_t>(value.depth, std::min(element.depth + 1, 255));
    value.hasList |= element.hasList;
  }
  value.elements = std::make_shared<std::vector<Value>>(std::move(elements));
  return value;
}

std::string sema::shapeText(llvm::ArrayRef<SymExpr> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + shape[i].str();
  return text + "]";
}

std::string sema::floatText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[40];
  for (int digits = 15; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
    if (std::strtod(buffer, nullptr) == value)
      break;
  }
  std::string text = buffer;
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string sema::describe(const Value &value) {
  switch (value.kind) {
  case Value::Error:
    return "an invalid value";
  case Value::None:
    return "None";
  case Value::Ellipsis:
    return "'...'";
  case Value::Bool:
    return value.number.isConstant(0) ? "False" : "True";
  case Value::Int:
    return "the int " + value.number.str();
  case Value::Float:
    return "the float " + floatText(value.real);
  case Value::Str:
    return "the string '" + value.text->substr(0, 40) + "'";
  case Value::DType:
    return "the type " + std::string(dtypeName(value.dtype));
  case Value::Tuple:
    return "a tuple of " + std::to_string(value.elements->size());
  case Value::List:
    return "a list of " + std::to_string(value.elements->size());
  case Value::Slice:
    return "a slice";
  case Value::Range:
    return "a range";
  case Value::Tensor: {
    std::string type(dtypeName(*dtypeFromMlir(value.type().getElementType())));
    if (value.weak)
      return type == "fp64"   ? "a run-time float"
             : type == "bool" ? "a run-time bool"
                              : "a run-time int";
    return "a tensor of " + type + shapeText(value.shape());
  }
  case Value::Function:
    return "the function '" + value.function->name + "'";
  case Value::Builtin:
    return (value.elements ? "the method '" : "the function '") + std::string(value.builtin->name) +
           "'";
  case Value::Module:
    return "the module '" + *value.text + "'";
  case Value::Object:
    return "the " + (value.typeName ? *value.typeName : "object") + " '" + *value.text + "'";
  case Value::TensorType:
    return "'Tensor'";
  case Value::RegionType:
    return "'Region'";
  }
  return "";
}

Value sema::fromConstant(const Constant &constant, const std::string &path, Scope *scope) {
  switch (constant.kind) {
  case Constant::None:
    return Value::none();
  case Constant::Bool:
    return Value::ofBool(constant.integer);
  case Constant::Int:
    return Value::ofInt(SymExpr(constant.integer));
  case Constant::Float:
    return Value::ofFloat(constant.real);
  case Constant::Str:
    return Value::ofStr(constant.text);
  case Constant::DType:
    return Value::ofDType(constant.dtype);
  case Constant::Tuple: {
    std::vector<Value> elements;
    for (const Constant &element : constant.elements)
      elements.push_back(fromConstant(element, path, scope));
    return Value::ofTuple(std::move(elements));
  }
  case Constant::Object: {
    Value object = Value::ofText(Value::Object, path);
    object.scope = scope;
    // "builtins.dict", "package.Config": without the module.
    if (std::string type = constant.text.substr(constant.text.rfind('.') + 1); !type.empty())
      object.typeName = std::make_shared<const std::string>(std::move(type));
    return object;
  }
  case Constant::Tensor: // an argument only (Patterns.h)
    break;
  }
  return Value::error();
}
