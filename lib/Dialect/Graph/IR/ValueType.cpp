//===- ValueType.cpp - The one narrow type of a function ------------------===//
#include "tessera/Dialect/Graph/IR/ValueType.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;

Type gir::narrowValueType(func::FuncOp function) {
  if (numericsOption(function, "numerics") == "strict")
    return Type();
  Type common;
  bool agree = true;
  auto note = [&](Type value) {
    auto tensor = dyn_cast<TensorType>(value);
    Type type = tensor ? tensor.getElementType() : value;
    if (!isa<FloatType>(type))
      return;
    agree &= type.getIntOrFloatBitWidth() <= 16 && (!common || common == type);
    common = type;
  };
  llvm::for_each(function.getArgumentTypes(), note);
  llvm::for_each(function.getResultTypes(), note);
  function.walk([&](CastOp cast) { agree &= !cast.getExplicit_(); });
  return agree ? common : Type();
}
