//===- GpuDescription.cpp - What is known of a GPU by its name ------------===//
#include "tessera/Support/GpuDescription.h"

#include <algorithm>

namespace tessera {

namespace {
struct Entry {
  int number; // sm_90 is 90
  int64_t multiprocessors, l2Megabytes;
  bool hasFloat8, sumsFloat8, operandsInRegisters;
  const char *ptxChip;
  unsigned ptxVersion, firstCuda, lastCuda;
  int64_t warps, blocks, sharedKilobytes, sharedOfBlock; // of a multiprocessor
};

constexpr unsigned kAny = 999999;
constexpr Entry entries[] = {
    // V100, T4, A100, A40, L40S
    {70, 80, 6, false, false, true, "sm_70", 80, 1200, 1209, 64, 32, 96, 96},
    {75, 40, 4, false, false, true, "sm_75", 80, 1200, kAny, 32, 16, 64, 64},
    {80, 108, 40, false, false, true, "sm_80", 80, 1200, kAny, 64, 32, 164, 163},
    {86, 84, 6, false, false, true, "sm_86", 80, 1200, kAny, 48, 16, 100, 99},
    {89, 142, 96, false, false, true, "sm_89", 80, 1200, kAny, 48, 24, 100, 99},
    // H100 and H200, B200, B300, RTX PRO 6000
    {90, 132, 50, true, false, false, "sm_90a", 80, 1200, kAny, 64, 32, 228, 227},
    {100, 148, 126, true, true, false, "sm_100a", 86, 1207, kAny, 64, 32, 228, 227},
    {103, 148, 126, true, true, false, "sm_103a", 88, 1209, kAny, 64, 32, 228, 227},
    {120, 188, 128, true, true, true, "sm_120a", 87, 1208, kAny, 48, 24, 100, 99},
};

std::string nameOf(const Entry &entry) { return "sm_" + std::to_string(entry.number); }
} // namespace

std::optional<GpuDescription> GpuDescription::from(std::string_view name) {
  if (!name.empty() && (name.back() == 'a' || name.back() == 'f'))
    name.remove_suffix(1);
  for (const Entry &entry : entries)
    if (name == nameOf(entry))
      return GpuDescription{nameOf(entry),
                            entry.multiprocessors,
                            entry.l2Megabytes << 20,
                            entry.hasFloat8,
                            entry.sumsFloat8,
                            entry.operandsInRegisters,
                            /*hasTileIR=*/entry.number >= 80,
                            /*hasBf16=*/entry.number >= 80,
                            /*hasLargeMma=*/entry.number >= 80,
                            /*hasAsyncCopies=*/entry.number >= 80,
                            /*hasBulkCopies=*/entry.number >= 90,
                            /*hasClusters=*/entry.number >= 90,
                            entry.ptxChip,
                            entry.ptxVersion,
                            entry.firstCuda,
                            entry.lastCuda,
                            {entry.warps, entry.blocks, entry.sharedKilobytes << 10,
                             entry.sharedOfBlock << 10}};
  return std::nullopt;
}

std::vector<GpuDescription> GpuDescription::all() {
  std::vector<GpuDescription> chips;
  for (const Entry &entry : entries)
    chips.push_back(*from(nameOf(entry)));
  return chips;
}

std::string GpuDescription::knownChips() {
  std::string text;
  for (const Entry &entry : entries)
    text += (text.empty() ? "" : ", ") + nameOf(entry);
  return text;
}

int64_t GpuDescription::residentBlocks(int64_t threads, int64_t registers,
                                       int64_t sharedBytes) const {
  auto upTo = [](int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; };
  int64_t warps = std::max<int64_t>(1, upTo(threads, 32) / 32);
  // Registers are given to warps by 256, and are those of four parts that have their own warps; shared memory is given to
  // blocks by 128 bytes and, from sm_80 on, 1 KB for the system.
  constexpr int64_t parts = 4;
  int64_t ofWarp = upTo(std::max<int64_t>(registers, 1) * 32, 256);
  int64_t system = multiprocessor.sharedBytes > multiprocessor.sharedOfBlock ? 1024 : 0;
  int64_t shared = upTo(sharedBytes + system, 128);
  int64_t blocks = std::min(multiprocessor.blocks, multiprocessor.warps / warps);
  blocks = std::min(blocks, Multiprocessor::registers / parts / ofWarp * parts / warps);
  return shared ? std::min(blocks, multiprocessor.sharedBytes / shared) : blocks;
}

} // namespace tessera
