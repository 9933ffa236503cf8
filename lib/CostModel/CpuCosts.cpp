//===- CpuCosts.cpp - Predicted times of contractions on CPUs -------------===//
#include "tessera/CostModel/CpuCosts.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace tessera;

std::vector<CpuTile> tessera::cpuTiles(const CpuCosts &costs, const CpuContraction &size) {
  // Sides grow by factors of 1.5 and 4/3; the last one covers the whole size.
  auto sidesOf = [](int64_t total, int64_t unit, int64_t least, int64_t most) {
    std::vector<int64_t> sides;
    for (int64_t step = unit; step <= most && step < total; step *= 2)
      for (int64_t side : {step, step * 3 / 2})
        if (side >= least && side < total && side <= most && side % unit == 0)
          sides.push_back(side);
    if (total <= most)
      sides.push_back(int64_t(llvm::alignTo(std::max<int64_t>(total, 1), unit)));
    return sides;
  };
  constexpr int64_t mostRows = 1024, mostColumns = 1536, leastDepth = 64, mostDepth = 1024;
  std::vector<CpuTile> tiles;
  for (int64_t rows : sidesOf(size.rows, costs.microRows, costs.microRows, mostRows))
    for (int64_t columns :
         sidesOf(size.columns, costs.microColumns, costs.microColumns, mostColumns))
      for (int64_t depth : sidesOf(size.depth, 16, leastDepth, mostDepth))
        tiles.push_back({rows, columns, depth});
  return tiles;
}

PredictedTime tessera::predictTime(const CpuCosts &costs, int64_t cores, const CpuContraction &size,
                                   const CpuTile &tile) {
  double bytes = double(size.elementBytes), stored = double(size.storageBytes);
  double microRows = double(costs.microRows), microColumns = double(costs.microColumns) * 4 / bytes;
  int64_t below = llvm::divideCeil(size.rows, tile.rows),
          across = llvm::divideCeil(size.columns, tile.columns);
  double tasks = double(below * across * size.batches);
  // The average tile; the last ones are smaller.
  double rows = double(size.rows) / double(below), columns = double(size.columns) / double(across);
  double depth = double(size.depth), blocks = std::ceil(depth / double(tile.depth));
  double panels = std::ceil(columns / microColumns);

  double products = 2 * std::ceil(rows / microRows) * microRows * panels * microColumns * depth;
  double compute = products / (costs.flopPerUs * 4 / bytes);
  double rowBytes = rows * std::min(depth, double(tile.depth)) * bytes;
  // Rows are read for each panel: from the L1 cache while they fit into half of it.
  double reread =
      rowBytes > double(costs.l1Bytes) / 2 ? rows * depth * bytes * panels / costs.l2BytesPerUs : 0;
  double accumulators = 2 * rows * columns * bytes * (blocks - 1) / costs.l2BytesPerUs;
  double pack = columns * depth * (stored + bytes) / costs.packBytesPerUs;
  if (costs.interleavesRows)
    pack += rows * depth * (stored + bytes) / costs.packBytesPerUs;
  double operands = double(size.batches) * depth * stored *
                    (double(size.rows * across) + double(size.columns * below));
  double unique = double(size.batches) * depth * stored * double(size.rows + size.columns);
  double memory =
      (unique > double(costs.l2Bytes) ? operands : unique) / tasks / costs.dramBytesPerUs;
  double start = blocks * costs.blockUs + costs.taskUs;

  double task = std::max({compute, reread, memory}) + accumulators + pack + start;
  double rounds = std::ceil(tasks / double(cores));
  // Tiles of one round are of about the same size; the last round may leave cores idle.
  return {rounds * task + costs.launchUs,
          {{"arithmetic", rounds * compute},
           {"L2", rounds * reread},
           {"accumulators", rounds * accumulators},
           {"packing", rounds * pack},
           {"memory", rounds * memory},
           {"blocks", rounds * start},
           {"launch", costs.launchUs}}};
}
