//===- Emit.h - Writing a planned kernel as Schedule IR --------*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_EMIT_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_EMIT_H

#include "KernelPlan.h"
#include "tessera/CostModel/CostModel.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"

namespace tessera {

/// Finds the kernel's dimensions and their roles, and orders them.
void orderDims(ExprPool &pool, const SizeFacts &facts, KernelPlan &plan);

/// Writes the kernel. `written` maps graph values to the tensors that earlier kernels stored, and
/// receives the outputs; an output that is there already is continued (a part of it was written
/// before). Arguments are read as they are. All tiles are 1.
sched::KernelOp emitKernel(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                           ExprPool &pool, const KernelPlan &plan,
                           llvm::DenseMap<mlir::Value, mlir::Value> &written);

} // namespace tessera

#endif
