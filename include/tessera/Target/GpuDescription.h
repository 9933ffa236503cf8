//===- GpuDescription.h - What code generation asks of a GPU ---*- C++ -*-===//
//
// The values of one entry of the table of chips (Chips.h), found by the chip's name, with the
// occupancy rule.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_GPUDESCRIPTION_H
#define TESSERA_TARGET_GPUDESCRIPTION_H

#include "tessera/Target/Chips.h"
#include "tessera/Target/CudaLimits.h"

#include <optional>
#include <vector>

namespace tessera {

struct GpuDescription {
  int number = 0;      ///< 90
  std::string chip;    ///< "sm_90"
  std::string ptxChip; ///< "sm_90a"
  unsigned ptxVersion = 80;
  unsigned firstCuda = 1200, lastCuda = 999999;

  GpuFeatureSet features{};
  bool has(GpuFeature feature) const { return features.has(feature); }
  /// Whether tensor cores read MMA operands from registers only, not from shared memory.
  bool operandsInRegisters() const {
    return !has(GpuFeature::Wgmma) && !has(GpuFeature::TensorMemory);
  }

  /// Whether MMAs of f16 are computed by quad pairs, in tiles of at least 16 columns.
  bool multipliesByQuadPairs() const { return !has(GpuFeature::MmaFp16K8); }
  /// Whether tensor cores multiply operands of a type, named as in PTX: "f16", "s8".
  bool hasMma(std::string_view type) const;

  int64_t smCount = 0, l2Bytes = 0, maxCluster = 1;
  /// The limits of one SM.
  struct SmLimits {
    int64_t warps = 64, ctas = 32, sharedBytes = 0, sharedBytesPerCta = 0;
  } sm;

  /// How many CTAs run on an SM at once; `registers` are those of a thread.
  int64_t residentCtas(int64_t threads, int64_t registers, int64_t sharedBytes) const;
  /// The share of an SM's warps that these CTAs occupy.
  double occupancy(int64_t threads, int64_t registers, int64_t sharedBytes) const;

  /// Accepts "sm_90", "sm_90a" and "sm_90f"; nothing for a chip that is not in the table.
  static std::optional<GpuDescription> from(std::string_view name);
  static std::vector<GpuDescription> all();
  /// "sm_70, sm_75, …"
  static std::string knownChips();
};

} // namespace tessera

#endif
