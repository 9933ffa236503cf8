//===- Allocator.h - A cache of temporary memory --------------------------===//
//
// Page faults of new memory cost more than most kernels: freed memory is kept by size class, up to
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
/// Frees a block; `bytes` is the requested size.
void deallocate(void *block, uint64_t bytes);
/// Returns all cached blocks to the system.
void trim();

/// The memory of this machine in bytes; larger requests are rejected without asking the system,
/// which may overcommit.
uint64_t physicalMemory();

struct MemoryStatistics {
  uint64_t total = 0, inUse = 0, peak = 0, cached = 0;
  uint64_t allocations = 0, reservedPeak = 0; // reserved: in use or cached
};
MemoryStatistics memoryStatistics();

} // namespace tessera::rt::cpu

#endif // TESSERA_RT_DRIVERS_CPU_ALLOCATOR_H
