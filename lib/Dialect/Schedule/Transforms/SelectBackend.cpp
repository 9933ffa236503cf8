//===- SelectBackend.cpp - The backend of each GPU kernel -----------------===//
#include "tessera/CostModel/BackendChoice.h"
#include "tessera/CostModel/DescribeKernel.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"

#include "ForEachKernel.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::sched;

namespace tessera::sched {
#define GEN_PASS_DEF_SCHEDULESELECTBACKEND
#include "tessera/Dialect/Schedule/Transforms/Passes.h.inc"
} // namespace tessera::sched

namespace {
struct ScheduleSelectBackend : sched::impl::ScheduleSelectBackendBase<ScheduleSelectBackend> {
  using ScheduleSelectBackendBase::ScheduleSelectBackendBase;

  void runOnOperation() override {
    auto select = [](const MachineModel &machine, const SizeFacts &facts, KernelOp kernel) {
      if (!machine.byTiles)
        return;
      KernelShape shape = describeKernel(kernel, facts);
      chooseTiles(machine, facts, shape);
      limitWork(machine, shape);
      // Threads read rows that are not aligned element by element.
      bool isPtx = !kernel->hasAttr(kPadsRows) && usesPtx(machine, facts, shape);
      kernel->setAttr(kBackend, StringAttr::get(kernel.getContext(), isPtx ? kPtx : kCudaTile));
    };
    if (failed(forEachKernel(getOperation(), target, cores, select)))
      signalPassFailure();
  }
};
} // namespace
