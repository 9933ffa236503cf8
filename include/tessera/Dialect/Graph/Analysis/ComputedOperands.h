//===- ComputedOperands.h - Computed operands of contractions --*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_ANALYSIS_COMPUTEDOPERANDS_H
#define TESSERA_DIALECT_GRAPH_ANALYSIS_COMPUTEDOPERANDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "llvm/ADT/SetVector.h"

namespace tessera::gir {

/// A computed operand of a contraction that reads each of its elements so often that storing it
/// first pays: the operand, or the value that it is a view of. `stored` values are in memory. Null
/// if there is none.
mlir::Value computedOperand(mlir::func::FuncOp function, const SizeFacts &facts,
                            const llvm::SetVector<mlir::Value> &stored);

} // namespace tessera::gir

#endif
