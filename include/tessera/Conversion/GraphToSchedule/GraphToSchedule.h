//===- GraphToSchedule.h - Graph IR to Schedule IR -------------*- C++ -*-===//
#ifndef TESSERA_CONVERSION_GRAPHTOSCHEDULE_GRAPHTOSCHEDULE_H
#define TESSERA_CONVERSION_GRAPHTOSCHEDULE_GRAPHTOSCHEDULE_H

#include "tessera/Analysis/CostModel.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace tessera {

/// `convert-graph-to-sched`: partitions every function into kernels and decides their schedules for
/// a machine.
std::unique_ptr<mlir::Pass> createConvertGraphToSchedulePass(const MachineModel &machine = {});
void registerConvertGraphToSchedulePass();

} // namespace tessera

#endif
