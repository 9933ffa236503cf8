//===- GpuTiles.h - Tile sizes for GPUs ------------------------*- C++ -*-===//
#ifndef TESSERA_LIB_COSTMODEL_GPUTILES_H
#define TESSERA_LIB_COSTMODEL_GPUTILES_H

#include "tessera/CostModel/CostModel.h"

namespace tessera {

/// Fills every dimension's tile with a power of two; all are 1 before.
void chooseGpuTiles(const MachineModel &machine, const SizeFacts &facts, KernelShape &shape);

} // namespace tessera

#endif
