//===- DescribeKernel.h - The cost model's view of a kernel ----*- C++ -*-===//
#ifndef TESSERA_COSTMODEL_DESCRIBEKERNEL_H
#define TESSERA_COSTMODEL_DESCRIBEKERNEL_H

#include "tessera/CostModel/CostModel.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"

namespace tessera {

/// What the choice of a schedule depends on, read off a kernel of Schedule IR. Tiles, launch and
/// tuning are those of the kernel.
KernelShape describeKernel(sched::KernelOp kernel, const SizeFacts &facts);

/// The dimensions of an index by where they occur in it, outermost first.
std::vector<std::string> dimsByPosition(llvm::ArrayRef<SymExpr> index,
                                        llvm::function_ref<bool(const std::string &)> isDim);

/// Writes the tiles, the launch configuration and the tuning of a description into its kernel.
void writeSchedule(const KernelShape &shape, sched::KernelOp kernel);

} // namespace tessera

#endif
