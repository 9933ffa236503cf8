//===- AlignRows.h - Copies of operands whose rows begin anywhere -*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_ALIGNROWS_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_ALIGNROWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Analysis/CostModel.h"
#include "tessera/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {

/// Puts a copy between an argument and the products that read it, where the argument's rows begin at
/// addresses that the machine's bulk copies cannot take and every element is read often enough to
/// pay for it. Returns the copies, which are to be stored.
llvm::SetVector<mlir::Value> copyOddRows(mlir::func::FuncOp function, const SizeFacts &facts,
                                         const MachineModel &machine);

/// The type of a copy in memory: rows have room at their end, so that each begins where bulk copies
/// can take it.
gir::TensorType withAlignedRows(gir::TensorType type, const MachineModel &machine);

} // namespace tessera

#endif
