//===- Ceilings.h - What a machine can do at most --------------*- C++ -*-===//
//
// The roofline of a machine, for predictions: figures of the maker for GPUs, assumptions for CPUs
// (3 GHz, two vector units, 10 GB/s of memory for each core). A prediction ranks and explains; it
// replaces no measurement.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_SUPPORT_CEILINGS_H
#define TESSERA_SUPPORT_CEILINGS_H

#include "tessera/Support/CpuDescription.h"

#include <string_view>

namespace tessera {

struct Ceilings {
  double bytesPerSecond = 0;
  double vectorFlops = 0; ///< per second, of f32 outside of matrix units
  // Of matrix products by their operands' type, per second.
  double products8 = 0; ///< int8 and 8-bit floats
  double products16 = 0;
  double products32 = 0; ///< f32, as exact as outside of matrix units
  double products64 = 0;
  double launchSeconds = 0; ///< of an empty kernel

  /// Of a chip's largest product; of sm_90 where the chip is not known. Without tensor cores,
  /// products are vector work.
  static Ceilings ofChip(std::string_view chip, bool tensorCores);
  static Ceilings ofCpu(const CpuDescription &cpu, int64_t cores);
};

} // namespace tessera

#endif
