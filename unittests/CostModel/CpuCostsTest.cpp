//===- CpuCostsTest.cpp - Predicted beside measured times on CPUs ---------===//
//
// The regret of a shape is the measured time of the tile with the smallest predicted time over the
// smallest measured time, of 20 tiles.
//
//===----------------------------------------------------------------------===//
#include "tessera/CostModel/CpuCosts.h"
#include "Measurements.h"
#include "tessera/CostModel/MachineModels.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

namespace {
CpuCosts avx512() {
  CpuDescription cpu = CpuDescription::from(
      "x86_64", {"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma", "f16c"});
  return *machineModel(cpu, 1).cpuCosts;
}
} // namespace

TEST(CpuCosts, Regret) {
  CpuCosts costs = avx512();
  std::vector<double> regrets;
  size_t records = 0;
  llvm::json::Value parsed = readFile("gemm_cpu_x86_64.json");
  for (const llvm::json::Value &value : *parsed.getAsObject()->getArray("rows")) {
    const llvm::json::Object &row = *value.getAsObject();
    std::vector<int64_t> sides = integers(*row.get("shape"));
    std::pair<double, double> chosen(1e30, 0);
    double best = 1e30;
    for (const llvm::json::Value &each : *row.getArray("tiles")) {
      const llvm::json::Array &tile = *each.getAsArray();
      double time = *tile[3].getAsNumber();
      CpuTile sizes{*tile[0].getAsInteger(), *tile[1].getAsInteger(), *tile[2].getAsInteger()};
      double predicted = predictTime(costs, 1, {sides[0], sides[1], sides[2]}, sizes).microseconds;
      chosen = std::min(chosen, std::pair(predicted, time));
      best = std::min(best, time);
      ++records;
    }
    regrets.push_back(chosen.second / best);
  }
  RecordProperty("median", std::to_string(quantile(regrets, 0.5)));
  RecordProperty("p90", std::to_string(quantile(regrets, 0.9)));
  RecordProperty("worst", std::to_string(quantile(regrets, 1)));
  EXPECT_GE(records, 1500u);
  EXPECT_LE(quantile(regrets, 0.5), 1.08);
  EXPECT_LE(quantile(regrets, 0.9), 1.25);
  EXPECT_LE(quantile(regrets, 1), 2); // five terms, a result beyond the caches
}

/// A result of few terms is written in long rows; deep products have tiles that the caches hold.
TEST(CpuCosts, Tiles) {
  CpuCosts costs = avx512();
  auto best = [&](const CpuContraction &size) {
    return *llvm::min_element(cpuTiles(costs, size), [&](const CpuTile &a, const CpuTile &b) {
      return predictTime(costs, 1, size, a).microseconds <
             predictTime(costs, 1, size, b).microseconds;
    });
  };
  EXPECT_GE(best({4000, 4000, 8}).columns, 128);
  CpuTile deep = best({1000, 1000, 1000});
  EXPECT_LE(deep.rows * deep.columns * 4, costs.l2Bytes);
  EXPECT_EQ(best({3, 4000, 100}).rows, 3);
}
