//===- Value.h - Abstract values of the interpreter -------------*- C++ -*-===//
//
// The interpreter evaluates a function over these values. Numbers, strings, tuples and functions
// are known; a tensor is an SSA value of the graph under construction. An integer is a size
// expression and may be symbolic. An `Error` value replaces a value whose error was already
// reported, and everything computed from it is an `Error` too, so that one mistake gives one
// message.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_VALUE_H
#define TESSERA_LIB_FRONTEND_SEMA_VALUE_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Frontend/Frontend.h"

#include <memory>

namespace tessera::sema {

struct Builtin;
class Scope;
struct UserFunction;

struct Value {
  enum Kind : uint8_t {
    Error,
    None,
    Ellipsis,
    Bool,
    Int,
    Float,
    Str,
    DType,
    Tuple,
    List,
    Slice, // elements: lower, upper, step
    Range, // elements: start, stop, step
    Tensor,
    Function,   // a method has its object as first element
    Builtin,    // a function of the language; a method has its tensor as first element
    Module,     // text: "tessera", "math", or the name of a foreign module
    Object,     // text: the path under which its attributes are resolved, in `scope`
    TensorType, // the word `Tensor` of annotations
    RegionType, // the word `Region` of annotations
  };

  Kind kind = Error;
  /// Of a tensor: a Python scalar's value, which does not promote other operands.
  bool weak = false;
  /// How deeply tuples and lists are nested in this one.
  uint8_t depth = 0;
  /// Whether it is or contains a list, which can grow.
  bool hasList = false;
  tessera::DType dtype = tessera::DType::FP32;
  double real = 0;
  /// For a float that is a quotient of integers: the location of its '/'.
  SourceRange division;
  /// For a part of a slice: its location.
  SourceRange written;
  SymExpr number; // Int; Bool as 0 or 1
  mlir::Value tensor;
  const sema::Builtin *builtin = nullptr;
  const UserFunction *function = nullptr;
  Scope *scope = nullptr;
  std::shared_ptr<const std::string> text;
  /// Of an object: the name of its type, if it is known.
  std::shared_ptr<const std::string> typeName;
  std::shared_ptr<std::vector<Value>> elements;

  static Value error() { return {}; }
  static Value none() { return of(None); }
  static Value of(Kind kind) {
    Value value;
    value.kind = kind;
    return value;
  }
  static Value ofBool(bool b) {
    Value value = of(Bool);
    value.number = SymExpr(b);
    return value;
  }
  static Value ofInt(SymExpr number) {
    Value value = of(Int);
    value.number = number;
    return value;
  }
  static Value ofFloat(double real) {
    Value value = of(Float);
    value.real = real;
    return value;
  }
  static Value ofText(Kind kind, std::string text) {
    Value value = of(kind);
    value.text = std::make_shared<const std::string>(std::move(text));
    return value;
  }
  static Value ofStr(std::string text) { return ofText(Str, std::move(text)); }
  static Value ofDType(tessera::DType type) {
    Value value = of(DType);
    value.dtype = type;
    return value;
  }
  static Value ofTensor(mlir::Value tensor, bool weak = false) {
    Value value = of(Tensor);
    value.tensor = tensor;
    value.weak = weak;
    return value;
  }
  static Value ofList(Kind kind, std::vector<Value> elements);
  static Value ofTuple(std::vector<Value> elements) { return ofList(Tuple, std::move(elements)); }
  static Value ofBuiltin(const sema::Builtin *builtin) {
    Value value = of(Builtin);
    value.builtin = builtin;
    return value;
  }

  bool is(Kind other) const { return kind == other; }
  bool isError() const { return kind == Error; }
  bool isTensor() const { return kind == Tensor; }
  bool isSequence() const { return kind == Tuple || kind == List; }
  /// A number or bool whose value is known.
  bool isStaticNumber() const {
    return kind == Float || ((kind == Int || kind == Bool) && number.isConstant());
  }
  bool isNumber() const { return kind == Float || kind == Int || kind == Bool; }
  /// A known number as a double.
  double asDouble() const { return kind == Float ? real : double(number.constantValue()); }
  gir::TensorType type() const { return mlir::cast<gir::TensorType>(tensor.getType()); }
  llvm::ArrayRef<SymExpr> shape() const { return type().getShape(); }
  unsigned rank() const { return type().getRank(); }
};

/// The value's description in messages: "a tensor of fp32[B, 64]", "the int 3", "None".
std::string describe(const Value &value);
/// "1 dimension", "2 dimensions".
inline std::string counted(size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}
/// "[B, S, 64]".
std::string shapeText(llvm::ArrayRef<SymExpr> shape);
/// A float as Python prints it.
std::string floatText(double value);

/// A constant with the path `path` in `scope`.
Value fromConstant(const Constant &constant, const std::string &path, Scope *scope);

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_VALUE_H
