//===- ComputedOperands.h - Computed operands of contractions --*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_ANALYSIS_COMPUTEDOPERANDS_H
#define TESSERA_DIALECT_GRAPH_ANALYSIS_COMPUTEDOPERANDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/SetVector.h"

namespace tessera::gir {

/// The rates of a device that decide whether an operand is copied: the multiplications and
/// additions of 16-bit MMAs in the time of a byte of memory, and of a launch.
struct CopyRates {
  double flopPerByte, flopPerLaunch;
};

/// Whether it pays to store an operand in memory, with rows from which asynchronous copies load,
/// before a contraction reads it. The copy moves each element twice and is a launch. Without it,
/// elements pass through registers, and the contraction takes about three times as long.
bool paysToStore(gir::ContractOp product, unsigned operand, const SizeFacts &facts,
                 const CopyRates &rates);

/// The alignment of the rows of a copy of `type` in bytes: that of cache lines, if this adds little
/// to a row, otherwise `rowAlignment`. Nothing if rows without gaps have it.
std::optional<int64_t> alignmentOfCopy(gir::TensorType type, const SizeFacts &facts,
                                       int64_t rowAlignment);

/// The last of the elementwise operations that only follow each other from `value` on: it is as
/// well stored as the value. Of several, the narrowest.
mlir::Value endOfMaps(mlir::Value value);

/// The elements of the largest argument or result of a function.
double largestElements(mlir::func::FuncOp function, const SizeFacts &facts);

/// How often the elements of a value are computed if nothing stores it: once for each reduction
/// and each result that elementwise operations and views lead to, more often for contractions.
unsigned passesOver(mlir::Value value);

/// A computed operand of a contraction that reads each of its elements so often that storing it
/// first pays: the operand, or the value that it is a view of. `stored` values are in memory. Null
/// if there is none.
mlir::Value computedOperand(mlir::func::FuncOp function, const SizeFacts &facts,
                            const llvm::SetVector<mlir::Value> &stored, const CopyRates &rates);

} // namespace tessera::gir

#endif
