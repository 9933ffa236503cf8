//===- GpuDescription.cpp - What is known of a GPU by its name ------------===//
#include "tessera/Support/GpuDescription.h"

namespace tessera {

namespace {
struct Entry {
  const char *chip;
  int64_t multiprocessors, l2Megabytes;
  bool hasFloat8, sumsFloat8, operandsInRegisters;
};

constexpr Entry entries[] = {
    {"sm_80", 108, 40, false, false, true},  // A100
    {"sm_86", 84, 6, false, false, true},    // A40
    {"sm_89", 142, 96, false, false, true},  // L40S
    {"sm_90", 132, 50, true, false, false},  // H100, H200
    {"sm_100", 148, 126, true, true, false}, // B200
    {"sm_103", 148, 126, true, true, false}, // B300
    {"sm_120", 188, 128, true, true, true},  // RTX PRO 6000
};
} // namespace

std::optional<GpuDescription> GpuDescription::from(std::string_view name) {
  if (!name.empty() && (name.back() == 'a' || name.back() == 'f'))
    name.remove_suffix(1);
  for (const Entry &entry : entries)
    if (name == entry.chip)
      return GpuDescription{entry.chip, entry.multiprocessors, entry.l2Megabytes << 20,
                            entry.hasFloat8, entry.sumsFloat8, entry.operandsInRegisters};
  return std::nullopt;
}

std::string GpuDescription::knownChips() {
  std::string text;
  for (const Entry &entry : entries)
    text += (text.empty() ? "" : ", ") + std::string(entry.chip);
  return text;
}

} // namespace tessera
