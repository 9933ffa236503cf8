//===- Roofline.cpp - The peak rates of a target --------------------------===//
#include "tessera/Target/Roofline.h"
#include "tessera/Target/Chips.h"
#include "tessera/Target/Cpus.h"

#include <algorithm>

namespace tessera {

Roofline Roofline::ofChip(std::string_view name, bool tensorCores) {
  auto all = chips();
  auto find = [&](std::string_view wanted) {
    return std::find_if(all.begin(), all.end(),
                        [&](const Chip &chip) { return chip.name() == wanted; });
  };
  auto found = find(name);
  const Chip::Peak &peak = (found == all.end() ? find("sm_90") : found)->peak;
  Roofline roofline;
  constexpr double tera = 1e12;
  roofline.bytesPerSecond = peak.bytes * tera;
  roofline.vectorFlops = peak.vector * tera;
  roofline.mma8 = (tensorCores ? peak.mma8 : peak.vector) * tera;
  roofline.mma16 = (tensorCores ? peak.mma16 : peak.vector) * tera;
  // Three tf32 MMA emulate one fp32 MMA.
  double mma32 = std::max<double>(peak.tf32 / 3, peak.vector);
  roofline.mma32 = (tensorCores ? mma32 : double(peak.vector)) * tera;
  roofline.mma64 = peak.mma64 * tera;
  roofline.launchSeconds = peak.launchSeconds;
  return roofline;
}

Roofline Roofline::ofCpu(const CpuDescription &cpu, int64_t cores) {
  const CpuRates &rates = cpuRates();
  double count = static_cast<double>(std::max<int64_t>(cores, 1));
  double flopsPerCycle = cpu.vectorBytes / 4.0 * rates.vectorUnits * (cpu.hasFma ? 2 : 1);
  Roofline roofline;
  roofline.bytesPerSecond = rates.memoryBytesPerCore * count;
  roofline.vectorFlops = flopsPerCycle * rates.hertz * count;
  roofline.mma8 = roofline.vectorFlops;
  roofline.mma16 = cpu.hasAmx            ? rates.amxFlopsPerCycle * rates.hertz * count
                   : cpu.hasBf16Products ? rates.bfmmlaSpeedup * roofline.vectorFlops
                                         : roofline.vectorFlops;
  roofline.mma32 = roofline.vectorFlops;
  roofline.mma64 = roofline.vectorFlops / 2;
  roofline.launchSeconds = rates.launchSeconds;
  return roofline;
}

} // namespace tessera
