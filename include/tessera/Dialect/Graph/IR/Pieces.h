//===- Pieces.h - Sums of concatenations with zeros ------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_PIECES_H
#define TESSERA_DIALECT_GRAPH_IR_PIECES_H

#include "mlir/IR/Builders.h"

namespace tessera::gir {

/// The sum of two concatenations with zeros if the parts of one lie before those of the other: the
/// cotangents of slices of one value become one concatenation. Null if they do not.
mlir::Value joinPieces(mlir::OpBuilder &builder, mlir::Value sum, mlir::Value added);

} // namespace tessera::gir

#endif
