//===- GpuDescription.cpp - What code generation asks of a GPU ------------===//
#include "tessera/Target/GpuDescription.h"
#include "tessera/Target/TensorCores.h"

#include <algorithm>

namespace tessera {

static GpuDescription describe(const Chip &chip) {
  GpuDescription gpu;
  gpu.number = chip.number;
  gpu.chip = chip.name();
  gpu.ptxChip = chip.ptxName;
  gpu.ptxVersion = chip.ptxVersion;
  gpu.firstCuda = chip.firstCuda;
  gpu.lastCuda = chip.lastCuda;
  gpu.features = chip.features;
  gpu.smCount = chip.sm.count;
  gpu.l2Bytes = chip.l2Bytes;
  gpu.maxCluster = chip.maxCluster;
  gpu.sm = {chip.sm.warps, chip.sm.ctas, chip.sm.sharedBytes, chip.sm.sharedBytesPerCta};
  return gpu;
}

bool GpuDescription::hasMma(std::string_view type) const {
  return std::ranges::any_of(tensorCoreShapes(), [&](const TensorCoreShape &shape) {
    return has(shape.feature) && hasType(shape.operands, type);
  });
}

std::optional<GpuDescription> GpuDescription::from(std::string_view name) {
  if (!name.empty() && (name.back() == 'a' || name.back() == 'f'))
    name.remove_suffix(1);
  for (const Chip &chip : chips())
    if (name == chip.name())
      return describe(chip);
  return std::nullopt;
}

std::vector<GpuDescription> GpuDescription::all() {
  std::vector<GpuDescription> all;
  for (const Chip &chip : chips())
    all.push_back(describe(chip));
  return all;
}

std::string GpuDescription::knownChips() {
  std::string text;
  for (const Chip &chip : chips())
    text += (text.empty() ? "" : ", ") + chip.name();
  return text;
}

static int64_t alignTo(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

static int64_t warpsOf(int64_t threads) {
  return std::max<int64_t>(1, (threads + CudaLimits::warpThreads - 1) / CudaLimits::warpThreads);
}

int64_t GpuDescription::residentCtas(int64_t threads, int64_t registers,
                                     int64_t sharedBytes) const {
  int64_t warps = warpsOf(threads);
  int64_t warpRegisters =
      alignTo(std::max<int64_t>(registers, 1) * CudaLimits::warpThreads, CudaLimits::registerUnit);
  int64_t warpsPerPartition = CudaLimits::registersPerSm / CudaLimits::smPartitions / warpRegisters;
  int64_t ctas =
      std::min({sm.ctas, sm.warps / warps, warpsPerPartition * CudaLimits::smPartitions / warps});
  // Chips that reserve shared memory for the system show it as what one CTA cannot use.
  int64_t reserved = sm.sharedBytes > sm.sharedBytesPerCta ? CudaLimits::reservedSharedBytes : 0;
  int64_t shared = alignTo(sharedBytes + reserved, CudaLimits::sharedUnit);
  return shared ? std::min(ctas, sm.sharedBytes / shared) : ctas;
}

double GpuDescription::occupancy(int64_t threads, int64_t registers, int64_t sharedBytes) const {
  return double(residentCtas(threads, registers, sharedBytes) * warpsOf(threads)) /
         double(sm.warps);
}

} // namespace tessera
