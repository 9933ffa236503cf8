//===- GpuFeatures.h - Which chip has what ---------------------*- C++ -*-===//
//
// The one table by which code for a chip may be refused: what is not in it, every chip from sm_70 on
// can do. docs/chips.md is made from it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_SUPPORT_GPUFEATURES_H
#define TESSERA_SUPPORT_GPUFEATURES_H

#include "tessera/Support/GpuDescription.h"

#include <span>

namespace tessera {

/// Something that the chips from `first` to `last` have: 90 is sm_90.
struct GpuFeature {
  std::string_view name, meaning;
  int first, last;

  bool isIn(const GpuDescription &gpu) const { return gpu.number() >= first && gpu.number() <= last; }
  /// "sm_80 and later", "sm_90 only", "sm_100 to sm_103".
  std::string chips() const;
};

std::span<const GpuFeature> gpuFeatures();

/// Null for a name that is not in the table.
const GpuFeature *findGpuFeature(std::string_view name);

/// The page docs/chips.md: features, shapes of tensor cores and limits per chip, as Markdown.
std::string describeChips();

} // namespace tessera

#endif
