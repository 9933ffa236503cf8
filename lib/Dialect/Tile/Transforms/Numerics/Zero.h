//===- Zero.h - Tests for zero ---------------------------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_NUMERICS_ZERO_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_NUMERICS_ZERO_H

#include "mlir/IR/BuiltinAttributes.h"

namespace tessera::tile {

/// Whether all bits are zero; -0.0 is not.
inline bool isZero(mlir::TypedAttr value) {
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(value))
    return number.getValue().isPosZero();
  return llvm::cast<mlir::IntegerAttr>(value).getValue().isZero();
}

/// Whether asynchronous copies can pad with a value: they fill with zeros.
inline bool isZeroOrNone(std::optional<mlir::TypedAttr> pad) { return !pad || isZero(*pad); }

} // namespace tessera::tile

#endif
