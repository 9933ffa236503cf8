//===- ChipLimits.h - The limits of GPUs that messages name ---------------===//
//
// The runtime includes no header of the compiler. ChipLimits.def repeats what its messages need of
// the compiler's table of targets; the unit tests of that table write the file and compare it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_RUNTIME_SRC_CHIPLIMITS_H
#define TESSERA_RUNTIME_SRC_CHIPLIMITS_H

#include "tessera_rt/target.h"

#include <cstdint>

namespace tessera::rt {

/// Limits that all GPUs share.
struct CudaLimits {
#define TESSERA_CUDA_LIMIT(name, value) static constexpr int64_t name = value;
#define TESSERA_CHIP(number, sharedBytesPerCta, ctasPerCluster)
#include "ChipLimits.def"
#undef TESSERA_CHIP
#undef TESSERA_CUDA_LIMIT
};

/// Limits of one chip.
struct ChipLimits {
  int number; ///< 90 is sm_90
  int64_t sharedBytesPerCta;
  int64_t ctasPerCluster; ///< 1 without clusters
};

/// The limits of a chip; null if the table does not have it.
inline const ChipLimits *limitsOf(const Chip &chip) {
  static constexpr ChipLimits all[] = {
#define TESSERA_CUDA_LIMIT(name, value)
#define TESSERA_CHIP(number, sharedBytesPerCta, ctasPerCluster)                                    \
  {number, sharedBytesPerCta, ctasPerCluster},
#include "ChipLimits.def"
#undef TESSERA_CHIP
#undef TESSERA_CUDA_LIMIT
  };
  for (const ChipLimits &one : all)
    if (one.number == chip.major * 10 + chip.minor)
      return &one;
  return nullptr;
}

} // namespace tessera::rt

#endif
