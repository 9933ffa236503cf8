//===- Allocator.h - Temporary memory that is kept for reuse --------------===//
//
// Fresh pages cost more than most kernels: memory that was given back is kept by size class, up to
// a limit, for the next call. Thread-safe.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_DRIVERS_CPU_ALLOCATOR_H
#define TESSERA_RT_DRIVERS_CPU_ALLOCATOR_H

#include <cstddef>
#include <cstdint>

namespace tessera::rt::cpu {

inline constexpr size_t memoryAlignment = 64;

/// A block of at least `bytes`, aligned to memoryAlignment, or null.
void *allocate(uint64_t bytes);
/// Takes a block back; `bytes` is what it was asked with.
void deallocate(void *block, uint64_t bytes);
/// Gives all kept blocks to the system.
void trim();

/// Bytes of memory that this machine has; what exceeds it is refused without asking the system,
/// which may promise more.
uint64_t physicalMemory();

struct MemoryStatistics {
  uint64_t total = 0, inUse = 0, peak = 0, cached = 0;
  uint64_t allocations = 0, reservedPeak = 0; // reserved: in use or cached
};
MemoryStatistics memoryStatistics();

} // namespace tessera::rt::cpu

#endif // TESSERA_RT_DRIVERS_CPU_ALLOCATOR_H
