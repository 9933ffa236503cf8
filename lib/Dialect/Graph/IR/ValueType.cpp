//===- ValueType.cpp - The common narrow type of a function ---------------===//
#include "tessera/Dialect/Graph/IR/ValueType.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;

/// The operations that the function's results and side effects depend on.
static DenseSet<Operation *> usedOperations(func::FuncOp function) {
  DenseSet<Operation *> used;
  SmallVector<Operation *> work;
  function.walk([&](Operation *op) {
    if (op->getNumResults() == 0)
      work.push_back(op);
  });
  while (!work.empty())
    for (Value operand : work.pop_back_val()->getOperands())
      if (Operation *op = operand.getDefiningOp(); op && used.insert(op).second)
        work.push_back(op);
  return used;
}

Type gir::narrowValueType(func::FuncOp function, ArrayRef<Type> arguments) {
  if (numericsOption(function, "numerics") == "strict")
    return Type();
  if (auto known = function->getAttrOfType<TypeAttr>(kValueTypeAttr))
    return known.getValue();
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
  llvm::for_each(arguments, note);
  llvm::for_each(function.getResultTypes(), note);
  // Redundant casts (to the same type, or without users) and casts to integers do not count. Those
  // of integers are values as others are.
  DenseSet<Operation *> used = usedOperations(function);
  function.walk([&](CastOp cast) {
    if (!cast.getExplicit_() || !used.contains(cast))
      return;
    if (!isa<FloatType>(cast.getInput().getType().getElementType()))
      return note(cast.getType());
    agree &= !isa<FloatType>(cast.getType().getElementType()) ||
             cast.getInput().getType() == cast.getType();
  });
  return agree ? common : Type();
}

Type gir::narrowValueType(func::FuncOp function) {
  return narrowValueType(function, function.getArgumentTypes());
}
