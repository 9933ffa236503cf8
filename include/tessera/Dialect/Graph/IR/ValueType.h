//===- ValueType.h - The common narrow type of a function -------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_VALUETYPE_H
#define TESSERA_DIALECT_GRAPH_IR_VALUETYPE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::gir {

/// The narrow type of all floating-point arguments and results, unless the function widens
/// explicitly or its numerics are strict; otherwise null. An attribute of the function
/// (`kValueTypeAttr`) says it of functions that were split.
mlir::Type narrowValueType(mlir::func::FuncOp function);

/// The same for a function of which only these arguments count.
mlir::Type narrowValueType(mlir::func::FuncOp function, mlir::ArrayRef<mlir::Type> arguments);

} // namespace tessera::gir

#endif
