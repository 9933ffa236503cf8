//===- SelectSchedule.cpp - Tiles, launch and tuning by the cost model ----===//
#include "tessera/CostModel/DescribeKernel.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"

#include "ForEachKernel.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::sched;

namespace tessera::sched {
#define GEN_PASS_DEF_SCHEDULESELECTSCHEDULE
#include "tessera/Dialect/Schedule/Transforms/Passes.h.inc"
} // namespace tessera::sched

namespace {
struct ScheduleSelectSchedule : sched::impl::ScheduleSelectScheduleBase<ScheduleSelectSchedule> {
  using ScheduleSelectScheduleBase::ScheduleSelectScheduleBase;

  void runOnOperation() override {
    auto select = [](const MachineModel &machine, const SizeFacts &facts, KernelOp kernel) {
      KernelShape shape = describeKernel(kernel, facts);
      chooseTiles(machineOf(kernel, machine), facts, shape);
      writeSchedule(shape, kernel);
    };
    if (failed(forEachKernel(getOperation(), target, cores, select)))
      signalPassFailure();
  }
};
} // namespace
