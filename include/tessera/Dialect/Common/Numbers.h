//===- Numbers.h - Constants of element types ------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_COMMON_NUMBERS_H
#define TESSERA_DIALECT_COMMON_NUMBERS_H

#include "mlir/IR/Builders.h"

namespace tessera {

/// A value as an attribute of an element type; integer types truncate it.
inline mlir::TypedAttr numberAttr(mlir::Builder &builder, mlir::Type element, double value) {
  if (llvm::isa<mlir::FloatType>(element))
    return builder.getFloatAttr(element, value);
  return builder.getIntegerAttr(element, int64_t(value));
}

} // namespace tessera

#endif
