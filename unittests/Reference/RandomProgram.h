//===- RandomProgram.h - Random graph functions ----------------*- C++ -*-===//
#ifndef TESSERA_UNITTESTS_REFERENCE_RANDOMPROGRAM_H
#define TESSERA_UNITTESTS_REFERENCE_RANDOMPROGRAM_H

#include "Programs.h"

#include "mlir/IR/Builders.h"

#include <map>
#include <random>

namespace tessera::test {

/// A function of random operations on two random arguments, with several results; the values of its
/// sizes are chosen with it. Composites are decomposed.
class RandomProgram {
public:
  RandomProgram(mlir::MLIRContext *context, unsigned seed);

  mlir::func::FuncOp function;
  std::map<std::string, int64_t> sizes;

private:
  using Value = mlir::Value;
  gir::TensorType type(Value x) { return mlir::cast<gir::TensorType>(x.getType()); }
  bool chance(unsigned percent) { return random() % 100 < percent; }
  unsigned below(size_t n) { return random() % n; }
  mlir::Type floatType();
  llvm::SmallVector<SymExpr> shape();
  /// A random value whose element type is a float.
  Value pick();
  /// A float value of this shape and element type.
  Value like(Value x);
  void addOperation();
  Value addMap();
  Value addView();
  Value addReduction();
  Value addContraction();
  Value addComposite();

  std::mt19937 random;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Value> pool;
};

} // namespace tessera::test

#endif
