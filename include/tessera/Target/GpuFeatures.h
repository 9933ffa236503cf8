//===- GpuFeatures.h - The features by which GPUs differ -------*- C++ -*-===//
//
// Code for a chip is refused only for a feature that the chip lacks: every chip of the table can do
// what is not a feature. GpuFeatures.def lists the features, and each entry of Chips.cpp has the
// set of its chip.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_GPUFEATURES_H
#define TESSERA_TARGET_GPUFEATURES_H

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>

namespace tessera {

enum class GpuFeature {
#define TESSERA_GPU_FEATURE(enumerator, name, meaning) enumerator,
#include "tessera/Target/GpuFeatures.def"
};

inline constexpr GpuFeature kGpuFeatures[] = {
#define TESSERA_GPU_FEATURE(enumerator, name, meaning) GpuFeature::enumerator,
#include "tessera/Target/GpuFeatures.def"
};

class GpuFeatureSet {
public:
  constexpr GpuFeatureSet(std::initializer_list<GpuFeature> features) {
    for (GpuFeature feature : features)
      bits |= bit(feature);
  }
  constexpr bool has(GpuFeature feature) const { return bits & bit(feature); }
  constexpr GpuFeatureSet operator|(GpuFeatureSet other) const {
    other.bits |= bits;
    return other;
  }

private:
  static constexpr uint64_t bit(GpuFeature feature) { return uint64_t(1) << unsigned(feature); }
  uint64_t bits = 0;
};
static_assert(std::size(kGpuFeatures) <= 64, "a feature is a bit of one word");

/// "wgmma"
std::string_view nameOf(GpuFeature feature);
/// What docs/chips.md says beside the name; "" where the name says all.
std::string_view meaningOf(GpuFeature feature);
/// The chips of the table that have a feature: "sm_80 and later", "sm_90 only", "sm_100 to sm_103",
/// "no chip".
std::string chipsWith(GpuFeature feature);
/// The first of them, "sm_80"; "" where there is none.
std::string firstChipWith(GpuFeature feature);

} // namespace tessera

#endif
