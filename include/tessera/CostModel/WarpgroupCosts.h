//===- WarpgroupCosts.h - Predicted times of contractions by wgmma -*- C++ -*-===//
//
// The time of a contraction whose operands TMA brings into a ring of stages, from which warpgroups
// multiply. A k-step takes as long as its slowest part: the tensor cores, the operands from the L2
// cache, the instructions around a wgmma, or the latency of memory shared by the stages ahead. An
// output tile takes its k-steps and an epilogue. An SM computes its share of the tiles one after
// another, or several CTAs at once. The whole takes at least the time of memory and of the tensor
// cores at their sustained clock.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COSTMODEL_WARPGROUPCOSTS_H
#define TESSERA_COSTMODEL_WARPGROUPCOSTS_H

#include "tessera/CostModel/PredictedTime.h"

#include <cstdint>
#include <vector>

namespace tessera {

/// What a chip takes for the parts of such a contraction. Cycles are those of an SM.
struct WarpgroupCosts {
  double cyclesPerUs;
  double l2BytesPerCycle;      ///< from the L2 cache to one SM
  double l2BytesPerCycleOfAll; ///< to all SMs
  /// The same two for an operand whose rows do not start at multiples of a cache line: each row of
  /// a copy takes two requests.
  double offLineBytesPerCycle, offLineBytesPerCycleOfAll;
  double offLinePersistent;        ///< how much slower that is in a persistent CTA
  double offLineTogether;          ///< and for several CTAs on an SM
  double fillBytesPerCycle;        ///< of one stage, once its first byte has arrived
  double hitLatency;               ///< cycles until a load that hits the L2 cache arrives
  double missLatency;              ///< the same from memory
  double l2Operands;               ///< bytes of operands up to which loads hit the L2 cache
  double dramBytesPerUs;           ///< of a kernel that reads and writes memory
  double tensorFlopPerUs;          ///< at the clock of a long kernel
  double tensorEfficiency;         ///< of a wgmma, of its rate
  double clusterEfficiency;        ///< of a CTA that waits for the others of its cluster
  double stepCycles;               ///< the least cycles of a k-step of one warpgroup
  double stepCyclesPerGroup;       ///< in addition for each further warpgroup
  double stepCyclesPersistent;     ///< in addition in a persistent CTA
  double stepCyclesCluster;        ///< in addition in a cluster
  double ctaCycles;                ///< from a CTA's launch to its first load
  double persistentTileCycles;     ///< from one tile of a persistent CTA to the next
  double tileCycles;               ///< of an epilogue
  double rowCycles;                ///< of an epilogue, for each row of the tile
  double elementCycles;            ///< of an epilogue, for each element of a warp
  double storeCyclesPerElement;    ///< of an SM that stores one tile while it computes others
  double launchUs;                 ///< of a kernel
  double stepOverlap, timeOverlap; ///< exponents: how sharply the slowest part decides
};

/// The costs of Hopper (sm_90), measured on an H200.
extern const WarpgroupCosts kHopperCosts;

/// The size of a contraction. Sizes of all batches and other dimensions that are not multiplied are
/// `batches`. Costs were measured for 16-bit operands and results. A k-step of tf32 has as many
/// bytes and takes as long, but is half as deep; a result has twice the bytes.
struct ContractionSize {
  int64_t rows = 1, columns = 1, depth = 1, batches = 1;
  int64_t rowsSharers = 1, columnsSharers = 1;        ///< the batches that read the same operand
  bool rowsOffLines = false, columnsOffLines = false; ///< operands that take two requests a row
  int64_t products = 1; ///< contractions that share the tile's rows, columns and k-steps
  int64_t bytes = 2;    ///< of an element: 4 for tf32
  int64_t parts = 1;    ///< in memory, of which each operand is the sum

  /// Multiplies the batches by a dimension that an operand may not have.
  void addBatches(int64_t count, bool inRows, bool inColumns) {
    batches *= count;
    rowsSharers *= inRows ? 1 : count;
    columnsSharers *= inColumns ? 1 : count;
  }
  /// The products of parts that are computed: those of a number with at most as many bits.
  int64_t partProducts() const { return parts * (parts + 1) / 2; }
  int64_t resultBytes() const { return parts > 1 ? 4 : bytes; }
  /// Parts are summed for a k-step before they are added to the result.
  int64_t accumulators() const { return parts > 1 ? 2 : 1; }
};

/// A schedule of a contraction by wgmma.
struct WarpgroupSchedule {
  int64_t height = 128, width = 128, stages = 4;
  int64_t persistent = 0; ///< CTAs of a persistent kernel; 0: a CTA for each tile
  int64_t parts = 1;      ///< of the K dimension, which a second kernel adds
  /// CTAs of a cluster with the same columns, or the same rows, whose operand is multicast.
  int64_t clusterRows = 1, clusterColumns = 1;
  int64_t groups() const { return height >= 128 ? 2 : 1; }
  int64_t cluster() const { return clusterRows * clusterColumns; }
};

/// Limits of a chip that decide how many CTAs an SM holds.
struct SmLimits {
  int64_t sms = 1, sharedBytes = 0, sharedBytesPerCta = 0, registers = 65536;
};

/// The CTAs of a schedule that an SM holds at once.
int64_t residentCtas(const SmLimits &limits, const ContractionSize &size,
                     const WarpgroupSchedule &schedule);

/// All schedules that an SM can hold, with K split into at most `maxParts`.
std::vector<WarpgroupSchedule> warpgroupSchedules(const SmLimits &limits,
                                                  const ContractionSize &size, int64_t maxParts);

/// The predicted time.
PredictedTime predictTime(const WarpgroupCosts &costs, const SmLimits &limits,
                          const ContractionSize &size, const WarpgroupSchedule &schedule);

} // namespace tessera

#endif
