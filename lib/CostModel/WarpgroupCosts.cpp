//===- WarpgroupCosts.cpp - Predicted times of contractions by wgmma ------===//
#include "tessera/CostModel/WarpgroupCosts.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

using namespace tessera;

/// The bytes of a k-step in a row of an operand, and of those that an instruction multiplies; and
/// the bytes of an element for which costs were measured.
static constexpr int64_t kStepBytes = 128, kInstructionBytes = 32, kMeasuredBytes = 2;
/// The bytes that an SM reads from or writes to its shared memory in a cycle.
static constexpr double kSharedBytesPerCycle = 128;

/// The H200. The constants are fitted to the measured times of half of the shapes in
/// unittests/CostModel/measurements (see its README); the other half judges them. Those for rows
/// that are not at cache lines are fitted to gemm_variants_h200.json, and the last one to
/// 2000x3000x5000 in gemm_draws_h200.json. The two of clusters are those of a small grid that
/// choose best for the first 60 shapes in gemm_space_h200.json.
const WarpgroupCosts tessera::kHopperCosts = {
    .cyclesPerUs = 1755,
    .l2BytesPerCycle = 83.6,
    .l2BytesPerCycleOfAll = 9800,
    .offLineBytesPerCycle = 50,
    .offLineBytesPerCycleOfAll = 5000,
    .offLinePersistent = 1.1,
    .offLineTogether = 1.5,
    .fillBytesPerCycle = 61.9,
    .hitLatency = 357,
    .missLatency = 904,
    .l2Operands = 30e6,
    .dramBytesPerUs = 4.28e6,
    .tensorFlopPerUs = 0.857e9,
    .tensorEfficiency = 0.98,
    .clusterEfficiency = 0.94,
    .stepCycles = 300,
    .stepCyclesPerGroup = 116,
    .stepCyclesPersistent = 33,
    .stepCyclesCluster = 100,
    .ctaCycles = 522,
    .persistentTileCycles = 99,
    .tileCycles = 4.7,
    .rowCycles = 5.17,
    .elementCycles = 0.334,
    .storeCyclesPerElement = 0.091,
    .launchUs = 1.08,
    .stepOverlap = 7.93,
    .timeOverlap = 3.1,
};

/// The largest of some times, and a little of the others: they overlap, but not completely.
static double slowest(std::initializer_list<double> times, double exponent) {
  double most = std::max(times), sum = 0;
  for (double time : times)
    sum += std::pow(time / most, exponent);
  return most * std::pow(sum, 1 / exponent);
}

/// The operands of a k-step.
static int64_t stageBytes(const ContractionSize &size, int64_t height, int64_t width) {
  return (height + size.products * width) * kStepBytes * size.parts;
}

/// The shared memory of a CTA. A persistent kernel stores a tile from two buffers with rows of 128
/// bytes while the stages have the next operands.
static int64_t sharedBytes(const ContractionSize &size, const WarpgroupSchedule &schedule) {
  constexpr int64_t barriers = 2048, buffers = 2, rowBytes = 128;
  int64_t stored = schedule.height * std::min(schedule.width * size.bytes, buffers * rowBytes);
  return stageBytes(size, schedule.height, schedule.width) * schedule.stages + barriers +
         (schedule.persistent ? stored : 0);
}

int64_t tessera::residentCtas(const SmLimits &limits, const ContractionSize &size,
                              const WarpgroupSchedule &schedule) {
  constexpr int64_t otherRegisters = 56;
  int64_t threads = 128 * schedule.groups(), area = schedule.height * schedule.width;
  int64_t shared = sharedBytes(size, schedule);
  int64_t registers = size.accumulators() * size.products * area / threads + otherRegisters;
  int64_t resident =
      std::min(limits.sharedBytes / shared, limits.registers / (registers * threads));
  if (schedule.persistent)
    resident = std::min(resident, std::max<int64_t>(1, schedule.persistent / limits.sms));
  return std::clamp<int64_t>(resident, 1, 8);
}

std::vector<WarpgroupSchedule>
tessera::warpgroupSchedules(const SmLimits &limits, const ContractionSize &size, int64_t maxParts) {
  // Half of a thread's registers are for accumulators.
  constexpr int64_t sumRegisters = 128, sides[] = {64, 128, 256}, mostStages = 7;
  constexpr int64_t widths[] = {16, 32, 64, 128, 256}; // narrow ones for few columns alone
  // The k-steps of parts are long.
  const int64_t fewestStages = size.parts > 1 ? 2 : 3;
  std::vector<WarpgroupSchedule> result;
  for (int64_t height : sides)
    for (int64_t width : widths) {
      if (width < sides[0] && size.columns > width)
        continue;
      int64_t threads = 128 * WarpgroupSchedule{height, width}.groups();
      if (height * width * size.products * size.accumulators() > threads * sumRegisters)
        continue;
      for (int64_t stages = fewestStages; stages <= mostStages; ++stages) {
        for (int64_t parts = 1; parts <= maxParts; parts *= 2)
          for (int64_t persistent : {int64_t(0), limits.sms, 2 * limits.sms}) {
            WarpgroupSchedule schedule{height, width, stages, persistent, parts};
            bool fits = sharedBytes(size, schedule) <= limits.sharedBytesPerCta &&
                        (persistent <= limits.sms ||
                         residentCtas(limits, size, schedule) * limits.sms >= persistent);
            if (fits && (!persistent || (parts == 1 && size.parts == 1)))
              result.push_back(schedule);
            if (!fits || persistent || parts > 1)
              continue;
            constexpr int64_t pair = 2;
            schedule.clusterRows = pair;
            if (size.rows > height)
              result.push_back(schedule);
            std::swap(schedule.clusterRows, schedule.clusterColumns);
            if (size.columns > width)
              result.push_back(schedule);
          }
      }
    }
  return result;
}

PredictedTime tessera::predictTime(const WarpgroupCosts &costs, const SmLimits &limits,
                                   const ContractionSize &size, const WarpgroupSchedule &schedule) {
  double height = double(schedule.height), width = double(schedule.width * size.products);
  double elements = height * width;
  int64_t tiles = llvm::divideCeil(size.rows, schedule.height * schedule.clusterRows) *
                  llvm::divideCeil(size.columns, schedule.width * schedule.clusterColumns) *
                  schedule.cluster() * size.batches * schedule.parts;
  double steps = double(
      llvm::divideCeil(llvm::divideCeil(size.depth, kStepBytes / size.bytes), schedule.parts));
  int64_t sms = limits.sms, perSm = llvm::divideCeil(tiles, sms);
  int64_t together = std::min(residentCtas(limits, size, schedule), perSm);
  double working = double(std::min(sms, tiles));

  // How much wider elements and results are than measured ones.
  double widening = double(size.bytes) / double(kMeasuredBytes),
         resultWidening = double(size.resultBytes()) / double(kMeasuredBytes);
  double bytes = double(stageBytes(size, schedule.height, schedule.width));
  // A k-step: a wgmma takes half a cycle for each column of 64 rows and 32 bytes of K, and no less
  // than its operands take from shared memory, to which TMA writes what several wgmmas read.
  double instructions = height / 64 * double(kStepBytes / kInstructionBytes * size.partProducts());
  double written = size.parts > 1 ? bytes / kSharedBytesPerCycle : 0;
  double tensor = std::max(instructions * width / 2, instructions * (16 + width / 4) + written) /
                  costs.tensorEfficiency;
  if (schedule.cluster() > 1)
    tensor /= costs.clusterEfficiency;
  auto cyclesOf = [&](double side, bool isOff) {
    double one = isOff ? costs.offLineBytesPerCycle : costs.l2BytesPerCycle;
    double all = isOff ? costs.offLineBytesPerCycleOfAll : costs.l2BytesPerCycleOfAll;
    double cycles = side * double(kStepBytes * size.parts) / std::min(one, all / working);
    if (isOff && schedule.persistent)
      cycles *= costs.offLinePersistent;
    return isOff && together > 1 ? cycles * costs.offLineTogether : cycles;
  };
  double traffic = cyclesOf(height / double(schedule.clusterColumns), size.rowsOffLines) +
                   cyclesOf(width / double(schedule.clusterRows), size.columnsOffLines);
  double depth = double(size.depth), rows = double(size.rows), columns = double(size.columns);
  double batches = double(size.batches), products = double(size.products);
  double operands =
      double(size.bytes * size.parts) * batches * depth *
      (rows / double(size.rowsSharers) + products * columns / double(size.columnsSharers));
  double latency = operands < costs.l2Operands ? costs.hitLatency : costs.missLatency;
  double issue = costs.stepCycles + costs.stepCyclesPerGroup * double(schedule.groups() - 1) +
                 (schedule.persistent ? costs.stepCyclesPersistent : 0) +
                 (schedule.cluster() > 1 ? costs.stepCyclesCluster : 0);
  double alone =
      slowest({issue, (latency + bytes / costs.fillBytesPerCycle) / double(schedule.stages - 1)},
              costs.stepOverlap);
  auto loop = [&](double ctas) {
    return steps * slowest({ctas * tensor, ctas * traffic, alone}, costs.stepOverlap);
  };
  double warps = 4 * double(schedule.groups());
  double epilogue =
      costs.tileCycles + costs.rowCycles * height +
      costs.elementCycles * resultWidening * elements / warps * (schedule.parts > 1 ? 2 : 1);

  double cycles = 0;
  if (schedule.persistent) {
    double rounds = double(llvm::divideCeil(tiles, sms * together));
    cycles = costs.ctaCycles + latency +
             rounds * (loop(double(together)) + epilogue + costs.persistentTileCycles);
  } else {
    // CTAs on one SM hide each other's start and end, and share what both need.
    auto round = [&](double ctas) {
      double serial = costs.ctaCycles + latency + epilogue;
      return std::max(loop(ctas) + serial,
                      ctas * (steps * std::max(tensor, traffic) +
                              costs.storeCyclesPerElement * resultWidening * elements) +
                          serial / ctas);
    };
    cycles = double(perSm / together) * round(double(together));
    if (int64_t rest = perSm % together)
      cycles += round(double(rest));
  }
  double results = batches * products * rows * columns;
  double memory = (operands + double(size.resultBytes()) * results) / costs.dramBytesPerUs;
  double flop = 2 * results * depth * double(size.partProducts());
  double time = slowest({slowest({cycles / costs.cyclesPerUs, memory}, costs.timeOverlap),
                         flop * widening / costs.tensorFlopPerUs},
                        costs.timeOverlap) +
                costs.launchUs;
  double rounds = double(perSm) / costs.cyclesPerUs;
  PredictedTime predicted{time,
                          {{"tensor cores", rounds * steps * tensor},
                           {"L2", rounds * steps * traffic},
                           {"issue and latency", rounds * steps * alone / double(together)},
                           {"epilogue", rounds * epilogue / double(together)},
                           {"DRAM", memory},
                           {"launch", costs.launchUs}}};
  if (schedule.parts == 1)
    return predicted;
  // Partial sums in fp32 are written, and read by a kernel that waits for the first one.
  constexpr double partBytes = 4;
  double moved = (2 * partBytes * double(schedule.parts) + double(size.resultBytes())) * results;
  double merge =
      2 * costs.launchUs + costs.missLatency / costs.cyclesPerUs + moved / costs.dramBytesPerUs;
  predicted.microseconds += merge;
  predicted.terms.push_back({"merge", merge});
  return predicted;
}
