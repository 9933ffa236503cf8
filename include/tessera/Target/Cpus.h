//===- Cpus.h - The table of CPU instruction sets --------------*- C++ -*-===//
//
// A CPU is described by its instruction set, not by its model: code is compiled for an architecture
// and LLVM feature names. Each entry of lib/Target/Cpus.cpp is one level of an architecture; the
// first whose features are all enabled counts. CpuDescription and Roofline read the table.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_CPUS_H
#define TESSERA_TARGET_CPUS_H

#include "tessera/Target/Chips.h"
#include "tessera/Target/CpuDescription.h"

#include <span>

namespace tessera {

/// A property of a CPU, and the LLVM features that it needs: all of a list, "amx-tile amx-bf16". A
/// property with several rows has it by any of them.
struct CpuProperty {
  bool CpuDescription::*member;
  std::string_view features;
};

struct CpuLevel {
  CpuDescription::Arch arch;
  std::string_view name;     ///< "AVX-512"
  std::string_view features; ///< LLVM features that the level needs, all of them
  int64_t vectorBytes;       ///< width of a vector register
  int64_t vectorRegisters;
  Sourced<int64_t> l1Bytes, l2Bytes; ///< of a core
  std::span<const CpuProperty> properties;
  /// Read and written per second by a copy on one core, beyond the caches; 0 where it was not
  /// measured.
  Sourced<double> copyBytes = {};
};

/// All levels; of each architecture the most capable first and one without features last.
std::span<const CpuLevel> cpuLevels();

/// What a prediction assumes of every CPU.
struct CpuRates {
  Sourced<double> hertz, vectorUnits, memoryBytesPerCore;
  Sourced<double> amxFlopsPerCycle;
  Sourced<double> bfmmlaSpeedup; ///< over an fp32 FMA of vectors
  Sourced<double> launchSeconds;
};
const CpuRates &cpuRates();

/// Whether all features of a list ("avx2 fma") are enabled.
bool hasFeatures(const std::set<std::string> &enabled, std::string_view list);

} // namespace tessera

#endif
