//===- GapCausesTest.cpp - The gap is the sum of its causes ---------------===//
#include "tessera/CostModel/GapCauses.h"
#include "tessera/CostModel/MachineModels.h"

#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

#include <algorithm>

using namespace tessera;

namespace {

KernelShape product(int64_t rows, int64_t columns, int64_t depth, int64_t height, int64_t width) {
  KernelShape shape;
  using Dim = KernelShape::Dim;
  shape.dims = {{"m", SymExpr::constant(rows), Dim::Parallel, height},
                {"k", SymExpr::constant(depth), Dim::Stream, 64},
                {"n", SymExpr::constant(columns), Dim::Parallel, width}};
  KernelShape::Contraction contraction;
  contraction.rows = {"m"};
  contraction.columns = {"n"};
  contraction.over = {"k"};
  shape.contractions = {contraction};
  shape.storageBytes = shape.elementBytes = 2;
  return shape;
}

ProfiledWork workOf(const KernelShape &shape, const Roofline &peaks) {
  auto size = [&](unsigned i) { return double(shape.dims[i].size.constantValue()); };
  ProfiledWork work;
  work.productUs = 2 * size(0) * size(1) * size(2) / peaks.mma16 * 1e6;
  work.storedBytes = 2 * size(0) * size(2);
  work.bytes = 2 * (size(0) + size(2)) * size(1) + work.storedBytes;
  work.sectorBytes = work.bytes;
  work.movedBytes = 4 * work.bytes;
  work.memoryUs = work.bytes / peaks.bytesPerSecond * 1e6;
  work.launchUs = peaks.launchSeconds * 1e6;
  return work;
}

double causeOf(const ExplainedTime &time, llvm::StringRef name) {
  for (const TimeTerm &cause : time.causes)
    if (cause.name == name)
      return cause.microseconds;
  return 0;
}

void expectWhole(const ExplainedTime &time) {
  double sum = time.roofline;
  for (const TimeTerm &cause : time.causes) {
    EXPECT_GT(cause.microseconds, 0) << cause.name.str();
    sum += cause.microseconds;
  }
  EXPECT_NEAR(sum, time.microseconds, 1e-6 * time.microseconds);
}

class GapCauses : public testing::Test {
protected:
  MachineModel hopper = *parseMachineModel("sm_90:ptx"), ampere = *parseMachineModel("sm_80:ptx");
  SizeFacts facts;
};

TEST_F(GapCauses, AddUpOnAllMachines) {
  MachineModel cpu = *parseMachineModel("x86-64-v3", 4);
  for (int64_t rows : {1, 100, 4097})
    for (int64_t columns : {64, 1000, 8192})
      for (int64_t depth : {16, 4096})
        for (bool grouped : {false, true})
          for (const MachineModel *machine : {&hopper, &ampere, &cpu}) {
            KernelShape shape = product(rows, columns, depth, 128, 128);
            if (grouped && machine == &hopper)
              shape.tuning.set(TuningField::Wgmma, 1);
            const Roofline &peaks = machine->isGpu ? machine->roofline : hopper.roofline;
            expectWhole(explainTime(*machine, facts, shape, workOf(shape, peaks)));
          }
}

TEST_F(GapCauses, IsThatOfWarpgroups) {
  KernelShape shape = product(4096, 4096, 4096, 128, 256);
  shape.tuning.set(TuningField::Wgmma, 1);
  ExplainedTime time = explainTime(hopper, facts, shape, workOf(shape, hopper.roofline));
  PredictedTime model = predictTime(kHopperCosts, {132, hopper.sharedBytes, hopper.sharedOfBlock},
                                    {4096, 4096, 4096}, {128, 256, 4});
  EXPECT_NEAR(time.microseconds, model.microseconds, 1e-6 * model.microseconds);
  EXPECT_GT(causeOf(time, "clock"), 0);
}

TEST_F(GapCauses, NameIdleProcessors) {
  KernelShape few = product(128, 128 * 10, 4096, 128, 128);
  ExplainedTime time = explainTime(ampere, facts, few, workOf(few, ampere.roofline));
  EXPECT_GT(causeOf(time, "waves"), 0);
  EXPECT_EQ(causeOf(time, "tail"), 0);
  KernelShape more = product(128, 128 * (ampere.cores + 1), 65536, 128, 128);
  ProfiledWork work = workOf(more, ampere.roofline);
  time = explainTime(ampere, facts, more, work);
  double cores = double(ampere.cores), waves = work.productUs * 2 * cores / (cores + 1);
  EXPECT_NEAR(causeOf(time, "tail"), waves - std::max(work.productUs, work.memoryUs), 1e-6 * waves);
  EXPECT_EQ(causeOf(time, "waves"), 0);
}

TEST_F(GapCauses, NamePadding) {
  KernelShape whole = product(1024, 1024, 8192, 128, 128),
              past = product(1025, 1024, 8192, 128, 128);
  auto padding = [&](const KernelShape &shape) {
    return causeOf(explainTime(ampere, facts, shape, workOf(shape, ampere.roofline)), "padding");
  };
  EXPECT_EQ(padding(whole), 0);
  EXPECT_GT(padding(past), 0);
}

TEST_F(GapCauses, NameSectors) {
  KernelShape shape = product(64, 64, 8192, 64, 64);
  ProfiledWork work = workOf(shape, ampere.roofline);
  work.productUs = 0;
  work.sectorBytes = 8 * work.bytes;
  EXPECT_GT(causeOf(explainTime(ampere, facts, shape, work), "uncoalesced"), 0);
}

TEST_F(GapCauses, NameSlowUnits) {
  KernelShape shape = product(8192, 8192, 8192, 128, 128);
  shape.tuning.set(TuningField::Wgmma, 1);
  ProfiledWork work = workOf(shape, hopper.roofline);
  work.slowdown = 2;
  ExplainedTime time = explainTime(hopper, facts, shape, work);
  EXPECT_NEAR(causeOf(time, "fallback"), work.productUs, 1e-6 * work.productUs);
}

} // namespace
