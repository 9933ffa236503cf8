//===- Neighbours.h - Schedules beside a choice -----------------*- C++ -*-===//
#ifndef TESSERA_LIB_COSTMODEL_NEIGHBOURS_H
#define TESSERA_LIB_COSTMODEL_NEIGHBOURS_H

#include "tessera/CostModel/Candidates.h"

namespace tessera {

/// A choice and the schedules beside it that differ in one or two tiles or fields.
std::vector<Candidate> neighboursOf(const MachineModel &machine, const SizeFacts &facts,
                                    const KernelShape &chosen, const KernelWork &work);

} // namespace tessera

#endif
