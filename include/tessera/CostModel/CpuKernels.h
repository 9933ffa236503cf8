//===- CpuKernels.h - Predicted times of any kernel on CPUs -----*- C++ -*-===//
//
// A grid task computes its tiles in vectors along the dimension that is contiguous in memory, run
// by run. What does not depend on a dimension of the grid is computed again for each tile along it.
// The time is that of the instructions and of the loops around them, or that of the caches or of
// memory if it is longer: operands come from the L2 cache for each tile that needs them, and from
// memory once if the cache does not hold all of them.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_CPUKERNELS_H
#define TESSERA_COSTMODEL_CPUKERNELS_H

#include "tessera/CostModel/CostModel.h"
#include "tessera/CostModel/PredictedTime.h"

#include <vector>

namespace tessera {

/// The predicted time of a kernel with the tiles of its description.
PredictedTime predictCpuKernel(const MachineModel &machine, const SizeFacts &facts,
                               const KernelShape &shape);

/// The kernel with all tiles that are compared.
std::vector<KernelShape> cpuKernelTiles(const SizeFacts &facts, const KernelShape &shape);

} // namespace tessera

#endif
