//===- LimitWork.h - Limits the code of a tile ------------------*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_LIMITWORK_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_LIMITWORK_H

#include "tessera/CostModel/CostModel.h"
#include "tessera/Fusion/Expr.h"

namespace tessera {

/// Instructions for one element of an expression, about.
int64_t instructionsOf(Expr e);

/// Halves tiles of a kernel with contractions, for a GPU whose tiles are in registers, until the
/// elementwise code of a thread is short enough. `work` has each expression that is computed
/// elementwise once, also operands of contractions.
void limitWork(llvm::ArrayRef<Expr> work, KernelShape &shape);

} // namespace tessera

#endif
