//===- LimitWork.cpp - Smaller tiles where a thread's code is too long ----===//
#include "tessera/CostModel/DescribeKernel.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"

#include "ForEachKernel.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::sched;

namespace tessera::sched {
#define GEN_PASS_DEF_SCHEDULELIMITWORK
#include "tessera/Dialect/Schedule/Transforms/Passes.h.inc"
} // namespace tessera::sched

namespace {
struct ScheduleLimitWork : sched::impl::ScheduleLimitWorkBase<ScheduleLimitWork> {
  using ScheduleLimitWorkBase::ScheduleLimitWorkBase;

  void runOnOperation() override {
    auto limit = [](const MachineModel &machine, const SizeFacts &facts, KernelOp kernel) {
      KernelShape shape = describeKernel(kernel, facts);
      limitWork(machineOf(kernel, machine), shape);
      writeSchedule(shape, kernel);
    };
    if (failed(forEachKernel(getOperation(), target, cores, limit)))
      signalPassFailure();
  }
};
} // namespace
