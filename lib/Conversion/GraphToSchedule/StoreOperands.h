//===- StoreOperands.h - Operands that are computed before products -*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_STOREOPERANDS_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_STOREOPERANDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Analysis/CostModel.h"

#include "llvm/ADT/SetVector.h"

namespace tessera {

/// A value that a large product on a GPU's tensor cores should find in memory beside `stored`: an operand that
/// elementwise work and reductions make of what is there; null if there is none. With a product in its making it stays
/// inside: that is a chain, which streams.
mlir::Value computedOperand(mlir::func::FuncOp function, const SizeFacts &facts,
                            const llvm::SetVector<mlir::Value> &stored);

} // namespace tessera

#endif
