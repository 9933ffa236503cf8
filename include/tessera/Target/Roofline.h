//===- Roofline.h - The peak rates of a target -----------------*- C++ -*-===//
//
// Peak rates for predictions, from the tables of Chips.h and Cpus.h, which say where each number
// comes from. A prediction ranks and explains; it replaces no measurement.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_ROOFLINE_H
#define TESSERA_TARGET_ROOFLINE_H

#include "tessera/Target/CpuDescription.h"

#include <string_view>

namespace tessera {

struct Roofline {
  double bytesPerSecond = 0;
  double vectorFlops = 0; ///< per second, fp32 on CUDA cores or vector units
  // MMA by the width of the operands, per second.
  double mma8 = 0; ///< int8 and fp8
  double mma16 = 0;
  double mma32 = 0; ///< fp32 by tensor cores, AMX or BFMMLA, with the accuracy of fp32
  double mma64 = 0;
  double launchSeconds = 0; ///< of an empty kernel

  /// The peaks of a chip's largest product; those of sm_90 for a chip that is not in the table.
  /// Without tensor cores, MMA run at the vector rate.
  static Roofline ofChip(std::string_view chip, bool tensorCores);
  static Roofline ofCpu(const CpuDescription &cpu, int64_t cores);
};

} // namespace tessera

#endif
