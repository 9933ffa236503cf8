//===- Monoids.h - Identities of reductions --------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_COMMON_MONOIDS_H
#define TESSERA_DIALECT_COMMON_MONOIDS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "tessera/Support/ScalarOps.h"

#include <limits>

namespace tessera {

/// The identity of a reduction's monoid.
inline mlir::TypedAttr unitOf(ReduceOp kind, mlir::Type element) {
  using llvm::APInt;
  bool isMax = kind == ReduceOp::Max, isOne = kind == ReduceOp::Prod || kind == ReduceOp::All;
  bool isExtreme = isMax || kind == ReduceOp::Min;
  if (llvm::isa<mlir::FloatType>(element)) {
    double infinity = std::numeric_limits<double>::infinity();
    return mlir::FloatAttr::get(element, isExtreme ? (isMax ? -infinity : infinity) : isOne);
  }
  unsigned width = element.getIntOrFloatBitWidth();
  if (!isExtreme)
    return mlir::IntegerAttr::get(element, APInt(width, isOne));
  bool isUnsigned = element.isUnsignedInteger() || width == 1;
  APInt value = isUnsigned
                    ? (isMax ? APInt::getMinValue(width) : APInt::getMaxValue(width))
                    : (isMax ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width));
  return mlir::IntegerAttr::get(element, value);
}

} // namespace tessera

#endif
