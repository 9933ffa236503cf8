//===- GpuTiles.h - Tile sizes for GPUs ------------------------*- C++ -*-===//
#ifndef TESSERA_LIB_COSTMODEL_GPUTILES_H
#define TESSERA_LIB_COSTMODEL_GPUTILES_H

#include "tessera/CostModel/Candidates.h"

namespace tessera {

/// Fills every dimension's tile with a power of two; all are 1 before. `listed` gets all schedules
/// that were compared by their predicted times.
void chooseGpuTiles(const MachineModel &machine, const SizeFacts &facts, KernelShape &shape,
                    std::vector<Candidate> *listed = nullptr);

} // namespace tessera

#endif
