//===- GpuFeatures.cpp - The features by which GPUs differ ----------------===//
#include "tessera/Target/GpuFeatures.h"
#include "tessera/Target/Chips.h"

#include <algorithm>

namespace tessera {

std::string_view nameOf(GpuFeature feature) {
  static constexpr std::string_view names[] = {
#define TESSERA_GPU_FEATURE(enumerator, name, meaning) name,
#include "tessera/Target/GpuFeatures.def"
  };
  return names[unsigned(feature)];
}

std::string_view meaningOf(GpuFeature feature) {
  static constexpr std::string_view meanings[] = {
#define TESSERA_GPU_FEATURE(enumerator, name, meaning) meaning,
#include "tessera/Target/GpuFeatures.def"
  };
  return meanings[unsigned(feature)];
}

std::string chipsWith(GpuFeature feature) {
  auto has = [&](const Chip &chip) { return chip.features.has(feature); };
  auto all = chips();
  auto first = std::find_if(all.begin(), all.end(), has);
  if (first == all.end())
    return "no chip";
  auto end = std::find_if_not(first, all.end(), has);
  if (std::find_if(end, all.end(), has) != all.end()) { // not one range: a list
    std::string list;
    for (const Chip &chip : all)
      if (has(chip))
        list += (list.empty() ? "" : ", ") + chip.name();
    return list;
  }
  if (end == all.end())
    return first->name() + " and later";
  return end - first == 1 ? first->name() + " only" : first->name() + " to " + (end - 1)->name();
}

std::string firstChipWith(GpuFeature feature) {
  for (const Chip &chip : chips())
    if (chip.features.has(feature))
      return chip.name();
  return "";
}

} // namespace tessera
