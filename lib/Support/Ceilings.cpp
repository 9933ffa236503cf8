//===- Ceilings.cpp - What a machine can do at most -----------------------===//
#include "tessera/Support/Ceilings.h"

#include <algorithm>
#include <iterator>

namespace tessera {

namespace {
struct Entry {
  std::string_view chip;
  double terabytes, vector, products8, products16, tf32, products64; // per second, in 10^12
};

constexpr Entry entries[] = {
    {"sm_90", 4.8, 67, 1979, 989, 494, 34},     // H200
    {"sm_70", 0.9, 15.7, 63, 125, 15.7, 7.8},   // V100
    {"sm_75", 0.32, 8.1, 130, 65, 8.1, 0.25},   // T4
    {"sm_80", 2.0, 19.5, 624, 312, 156, 9.7},   // A100
    {"sm_86", 0.7, 37, 299, 150, 75, 0.6},      // A40
    {"sm_89", 0.86, 92, 733, 362, 183, 1.4},    // L40S
    {"sm_100", 8.0, 75, 4500, 2250, 1125, 37},  // B200
    {"sm_103", 8.0, 75, 4500, 2500, 1250, 1.2}, // B300
    {"sm_120", 1.8, 125, 1007, 503, 251, 2},    // RTX PRO 6000
};
} // namespace

Ceilings Ceilings::ofChip(std::string_view chip, bool tensorCores) {
  const Entry *entry = std::find_if(std::begin(entries), std::end(entries),
                                    [&](const Entry &known) { return known.chip == chip; });
  if (entry == std::end(entries))
    entry = entries;
  Ceilings ceilings;
  constexpr double tera = 1e12;
  ceilings.bytesPerSecond = entry->terabytes * tera;
  ceilings.vectorFlops = entry->vector * tera;
  ceilings.products8 = (tensorCores ? entry->products8 : entry->vector) * tera;
  ceilings.products16 = (tensorCores ? entry->products16 : entry->vector) * tera;
  // Three products of tf32 make one of f32.
  ceilings.products32 =
      (tensorCores ? std::max(entry->tf32 / 3, entry->vector) : entry->vector) * tera;
  ceilings.products64 = entry->products64 * tera;
  ceilings.launchSeconds = 2e-6;
  return ceilings;
}

Ceilings Ceilings::ofCpu(const CpuDescription &cpu, int64_t cores) {
  constexpr double hertz = 3e9, unitsOfVectors = 2, bytesPerCore = 10e9;
  constexpr double tileUnitFlops = 1024; // in a cycle
  double perCycle = cpu.vectorBytes / 4.0 * unitsOfVectors * (cpu.hasFma ? 2 : 1);
  Ceilings ceilings;
  double count = static_cast<double>(std::max<int64_t>(cores, 1));
  ceilings.bytesPerSecond = bytesPerCore * count;
  ceilings.vectorFlops = perCycle * hertz * count;
  ceilings.products32 = ceilings.vectorFlops;
  ceilings.products64 = ceilings.vectorFlops / 2;
  constexpr double pairProducts = 4; // by one multiplication of vectors
  ceilings.products16 = cpu.hasTileUnit       ? tileUnitFlops * hertz * count
                        : cpu.hasBf16Products ? pairProducts * ceilings.vectorFlops
                                              : ceilings.vectorFlops;
  ceilings.products8 = ceilings.vectorFlops;
  ceilings.launchSeconds = 1e-6;
  return ceilings;
}

} // namespace tessera
