//===- CpuCosts.cpp - Predicted times of contractions on CPUs -------------===//
#include "tessera/CostModel/CpuCosts.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace tessera;

namespace {
/// What a core takes, in cycles: fitted to the measured times of an x86-64 CPU with AVX-512
/// (unittests/CostModel/measurements/README.md).
struct ProductCycles {
  double product = 0.51;                 ///< a multiply-add of vectors
  double loop = 2.3;                     ///< an iteration of the K loop of a micro-kernel
  double copied = 4.9;                   ///< a vector of the left-hand side
  double packed = 4;                     ///< a vector of a panel
  double direct = 0.65;                  ///< a vector of columns that is not packed
  double accumulator[3] = {0, 2.9, 13};  ///< a vector, by the cache that holds the tile
  double reloaded[3] = {1.75, 3.1, 3.1}; ///< the same of few rows
  double panelVector = 1.2;              ///< a vector of a panel from the L2 cache
  double leftLine[2] = {2.5, 10};        ///< an operand's line from the L2 cache, from beyond it
  double rightLine[2] = {1.3, 2.7};
  double rightRun = 2.7; ///< a part of a row of the right-hand side beyond the L2
  double resultLine = 6.5;
  double resultRun[2] = {5.6, 15.6}; ///< a part of a row of the result
};
constexpr ProductCycles kCycles;
constexpr double line = 64, unroll = 4;
/// Rows at a time of the right-hand side of few rows.
constexpr double directRows = 8;
} // namespace

std::vector<CpuTile> tessera::cpuTiles(const CpuCosts &costs, const CpuContraction &size) {
  // Sides grow by factors of 1.5 and 4/3; the last one covers the whole size.
  auto sidesOf = [](int64_t total, int64_t unit, int64_t least, int64_t most, int64_t whole) {
    std::vector<int64_t> sides;
    for (int64_t step = unit; step <= most && step < total; step *= 2)
      for (int64_t side : {step, step * 3 / 2})
        if (side >= least && side < total && side <= most && side % unit == 0)
          sides.push_back(side);
    if (total <= most)
      sides.push_back(whole);
    return sides;
  };
  constexpr int64_t mostRows = 1024, mostColumns = 1536, leastDepth = 64, mostDepth = 1024;
  auto aligned = [](int64_t total, int64_t unit) {
    return int64_t(llvm::alignTo(std::max<int64_t>(total, 1), unit));
  };
  // Few rows read long runs of the right-hand side.
  bool isFew = size.rows <= costs.fewRows;
  int64_t columnsUnit = costs.microColumns,
          allRows = isFew ? size.rows : aligned(size.rows, costs.microRows);
  std::vector<CpuTile> tiles;
  for (int64_t rows : sidesOf(size.rows, costs.microRows, costs.microRows, mostRows, allRows))
    for (int64_t columns :
         sidesOf(size.columns, columnsUnit, columnsUnit, isFew ? 4 * mostColumns : mostColumns,
                 aligned(size.columns, columnsUnit)))
      for (int64_t depth : sidesOf(size.depth, 16, leastDepth, mostDepth, size.depth))
        tiles.push_back({rows, columns, depth});
  return tiles;
}

PredictedTime tessera::predictTime(const CpuCosts &costs, int64_t cores, const CpuContraction &size,
                                   const CpuTile &tile) {
  double bytes = double(size.elementBytes), stored = double(size.storageBytes);
  double lanes = double(costs.vectorBytes) / bytes, panel = double(costs.microColumns) * 4 / bytes;
  double below = double(llvm::divideCeil(size.rows, tile.rows)),
         across = double(llvm::divideCeil(size.columns, tile.columns));
  double tasks = below * across * double(size.batches);
  // The average tile; the last ones are smaller.
  double rows = double(size.rows) / below, columns = double(size.columns) / across;
  double depth = double(size.depth), blocks = std::ceil(depth / double(tile.depth));
  double vectors = std::ceil(columns / lanes), panels = std::ceil(columns / panel);
  double step = depth / blocks;

  // Of a task, in cycles.
  double products = kCycles.product * rows * vectors * depth, packing = 0, cached = 0;
  double sums = rows * columns * bytes, accumulators = 0;
  int level = sums <= double(costs.l1Bytes) / 2 ? 0 : sums <= double(costs.l2Bytes) / 4 ? 1 : 2;
  if (tile.rows <= costs.fewRows) {
    packing = kCycles.direct * vectors * depth;
    accumulators = (kCycles.accumulator[level] + kCycles.reloaded[level] * 2 * depth / directRows) *
                   rows * vectors;
  } else {
    double heights = std::ceil(rows / double(costs.microRows));
    products += kCycles.loop * heights * panels * depth / unroll;
    packing = kCycles.packed * vectors * depth;
    accumulators = kCycles.accumulator[level] * 2 * blocks * rows * vectors;
    if (step * panel * bytes > double(costs.l1Bytes) / 3)
      cached = kCycles.panelVector * heights * vectors * depth;
  }
  packing += kCycles.copied * rows * depth / lanes;
  auto isBeyond = [&](double elements) { return elements * stored > double(costs.l2Bytes) / 4; };
  bool isLeftBeyond = isBeyond(double(size.rows) * depth),
       isRightBeyond = isBeyond(double(size.columns) * depth);
  double memory =
      (kCycles.leftLine[isLeftBeyond] * rows * depth +
       kCycles.rightLine[isRightBeyond] * columns * depth + kCycles.resultLine * rows * columns) *
      stored / line;
  bool isResultBeyond =
      double(size.rows) * double(size.columns) * stored > double(costs.l2Bytes) / 2;
  if (across > 1)
    memory +=
        kCycles.resultRun[isResultBeyond] * rows + (isRightBeyond ? kCycles.rightRun * depth : 0);

  double rounds = std::ceil(tasks / double(cores)) / costs.cyclesPerUs;
  double start = (blocks * costs.blockUs + costs.taskUs) * costs.cyclesPerUs;
  double task = products + packing + accumulators + cached + memory + start;
  // Tiles of one round are of about the same size; the last round may leave cores idle.
  return {rounds * task + costs.launchUs,
          {{"arithmetic", rounds * products},
           {"L2", rounds * cached},
           {"accumulators", rounds * accumulators},
           {"packing", rounds * packing},
           {"memory", rounds * memory},
           {"blocks", rounds * start},
           {"launch", costs.launchUs}}};
}
