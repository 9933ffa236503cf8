//===- LimitWork.h - Tiles whose work is a bounded piece of code -*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_LIMITWORK_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_LIMITWORK_H

#include "tessera/CostModel/CostModel.h"
#include "tessera/Fusion/Expr.h"

namespace tessera {

/// Instructions for one element of an expression, about.
int64_t instructionsOf(Expr e);

/// Halves tiles of a kernel with products, for a GPU whose tiles are in registers, until what a
/// thread computes element by element is not too long. `work` has each expression once that is
/// computed so: of products their sides.
void limitWork(llvm::ArrayRef<Expr> work, KernelShape &shape);

} // namespace tessera

#endif
