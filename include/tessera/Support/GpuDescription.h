//===- GpuDescription.h - What is known of a GPU by its name ---*- C++ -*-===//
#ifndef TESSERA_SUPPORT_GPUDESCRIPTION_H
#define TESSERA_SUPPORT_GPUDESCRIPTION_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// A chip as its largest product has it. The device that code runs on may have less of everything;
/// choices that depend on it are made again at run time.
struct GpuDescription {
  std::string chip; ///< "sm_90"
  int64_t multiprocessors = 0;
  int64_t l2Bytes = 0;
  bool hasFloat8 = false; ///< CUDA Tile IR has floats of 8 bits there
  bool sumsFloat8 = false; ///< their products are summed in fp32; a Hopper keeps some 14 bits
  bool operandsInRegisters = false; ///< tensor cores do not read them from shared memory

  /// "sm_90", also as "sm_90a"; nothing for a chip that is not known.
  static std::optional<GpuDescription> from(std::string_view name);
  /// "sm_80, sm_86, …"
  static std::string knownChips();
};

} // namespace tessera

#endif
