//===- Chips.h - The table of GPUs -----------------------------*- C++ -*-===//
//
// Everything that the compiler knows of a GPU stands in one entry of lib/Target/Chips.cpp:
// features, limits of an SM, caches, assembler releases and peak rates. GpuDescription, Roofline
// and the MMA shapes of TensorCores.h read the table; docs/chips.md, the Python package and the
// tests get it from there. A new chip is one new entry.
//
// An entry describes the largest product with the chip. The device that code runs on may have fewer
// SMs or less cache; what depends on that is decided again at run time.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_CHIPS_H
#define TESSERA_TARGET_CHIPS_H

#include "tessera/Target/CudaLimits.h"
#include "tessera/Target/GpuFeatures.h"

#include <span>

namespace tessera {

/// Where a number of the table comes from.
enum class Source {
  Vendor,   ///< NVIDIA's data sheets, CUDA C++ Programming Guide or PTX ISA
  Measured, ///< measured by this project on the device; the entry's comment names the file
  Derived,  ///< follows from other numbers; the entry's comment says how
  Assumed,  ///< an order of magnitude, not looked up or measured
};

template <typename Number> struct Sourced {
  Number value{};
  Source source = Source::Vendor;
  constexpr operator Number() const { return value; }
};
constexpr Sourced<double> measured(double value) { return {value, Source::Measured}; }
constexpr Sourced<double> derived(double value) { return {value, Source::Derived}; }
constexpr Sourced<double> assumed(double value) { return {value, Source::Assumed}; }

/// One GPU of the table.
struct Chip {
  int number;               ///< the compute capability: 90 is sm_90
  std::string_view product; ///< the largest product with the chip, which the numbers are of

  /// PTX's name of the chip with all of its features, and the version of PTX that is emitted for
  /// it. 80 is 8.0, of CUDA 12.0, which the runtime requires of a driver; later chips need more.
  std::string_view ptxName;
  unsigned ptxVersion;
  /// The CUDA releases whose ptxas accepts that: 1209 is 12.9. By default all from 12.0 on.
  unsigned firstCuda = CudaLimits::firstCuda, lastCuda = 999999;

  GpuFeatureSet features;

  struct Sm {
    Sourced<int64_t> count;             ///< SMs of the product
    Sourced<int64_t> warps;             ///< resident at once
    Sourced<int64_t> ctas;              ///< resident at once
    Sourced<int64_t> sharedBytes;       ///< of one SM
    Sourced<int64_t> sharedBytesPerCta; ///< that one CTA may use of them
  } sm;
  Sourced<int64_t> l2Bytes;
  Sourced<int64_t> maxCluster = {1}; ///< CTAs of a cluster; 1 without clusters

  /// Peak rates in 10^12 per second, dense. An MMA rate counts multiplications and additions and is
  /// named after the width of the operands.
  struct Peak {
    Sourced<double> bytes;  ///< of device memory
    Sourced<double> vector; ///< fp32 on the CUDA cores
    Sourced<double> mma8;   ///< fp8 and int8
    Sourced<double> mma16;  ///< fp16 and bf16
    Sourced<double> tf32;
    Sourced<double> mma64;
    Sourced<double> launchSeconds = assumed(2e-6); ///< of an empty kernel
  } peak;

  /// What programs reached on the product, in the units of `peak`; 0 where nothing was measured.
  struct Reached {
    Sourced<double> copyBytes;          ///< read and written by a copy in device memory
    Sourced<double> mma16;              ///< the fastest large GEMM of bf16, before the power cap
    Sourced<double> graphKernelSeconds; ///< the shortest kernel of a CUDA graph, with its work
  } reached;

  std::string name() const { return "sm_" + std::to_string(number); }
};

/// All chips, by ascending number.
std::span<const Chip> chips();

/// docs/chips.md below its mark: features, limits, peaks and MMA shapes per chip, as Markdown.
std::string describeChips();

/// runtime/src/ChipLimits.def: the limits that messages of the runtime name.
std::string describeRuntimeLimits();

} // namespace tessera

#endif
