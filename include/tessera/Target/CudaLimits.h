//===- CudaLimits.h - Limits that all GPUs share ---------------*- C++ -*-===//
#ifndef TESSERA_TARGET_CUDALIMITS_H
#define TESSERA_TARGET_CUDALIMITS_H

#include <cstdint>

namespace tessera {

/// Limits of CUDA and of the hardware that all chips of the table share (CUDA C++ Programming
/// Guide, "Technical Specifications per Compute Capability"; PTX ISA for bulk copies).
struct CudaLimits {
  static constexpr int64_t warpThreads = 32;
  static constexpr int64_t threadsPerCta = 1024;
  static constexpr int64_t ctaDepth = 64; ///< threads along the third dimension of a CTA
  static constexpr int64_t grid[] = {INT32_MAX, 65535, 65535}; ///< CTAs along each dimension
  static_assert(grid[1] == grid[2]);
  static constexpr int64_t ctasPerCluster = 16; ///< on the chips with the largest clusters
  static constexpr int64_t portableCluster = 8; ///< CTAs that a kernel need not ask for
  static constexpr int64_t registersPerThread = 255;
  static constexpr int64_t registersPerSm = 65536;

  /// What occupancy is computed with: an SM has four partitions with their own warps and
  /// registers, a warp gets registers in units of 256, and a CTA gets shared memory in units of
  /// 128 bytes. Chips from sm_80 on reserve 1 KB of each CTA's shared memory for the system.
  static constexpr int64_t smPartitions = 4;
  static constexpr int64_t registerUnit = 256;
  static constexpr int64_t sharedUnit = 128;
  static constexpr int64_t reservedSharedBytes = 1024;

  /// The release of CUDA that the runtime needs, 12.0, which has cuLibraryLoadData, and the first
  /// driver that supports it.
  static constexpr int64_t firstCuda = 1200, firstDriver = 525;

  /// Bulk copies, and the boxes of tensor maps.
  static constexpr int64_t bulkAlignment = 16; ///< bytes, of addresses and sizes
  static constexpr int64_t tmaDims = 5;
  static constexpr int64_t tmaBoxElements = 256; ///< along each dimension
};

} // namespace tessera

#endif
