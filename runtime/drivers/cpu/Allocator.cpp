//===- Allocator.cpp - A cache of temporary memory ------------------------===//

#include "Allocator.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace tessera::rt::cpu {

/// Blocks beyond this total are returned to the system.
static constexpr uint64_t cacheLimit = 512ull << 20;
static constexpr unsigned smallestShift = 10;
static constexpr uint64_t hugePage = 2ull << 20;

namespace {

struct SizeClass {
  unsigned index;
  uint64_t bytes;
};

/// Four classes per power of two: at most a quarter of a block is unused.
SizeClass classOf(uint64_t bytes) {
  bytes = std::max<uint64_t>(bytes, 1ull << smallestShift);
  unsigned shift =
      static_cast<unsigned>(std::bit_width(bytes - 1)) - 1; // bytes in (2^shift, 2^(shift+1)]
  uint64_t quarter = (1ull << shift) / 4;
  uint64_t step = (bytes - (1ull << shift) + quarter - 1) / quarter; // 1 … 4
  return {shift * 4 + static_cast<unsigned>(step) - 1, (1ull << shift) + step * quarter};
}

struct Allocator {
  std::mutex mutex;
  std::vector<void *> kept[64 * 4];
  MemoryStatistics statistics;
};

Allocator &allocator() {
  // Never destroyed: threads may still run at process exit.
  static Allocator *instance = [] {
    auto *made = new Allocator;
    // A fork while another thread holds the lock would leave it locked in the child forever.
    static Allocator *forFork;
    forFork = made;
    pthread_atfork([] { forFork->mutex.lock(); }, [] { forFork->mutex.unlock(); },
                   [] { forFork->mutex.unlock(); });
    return made;
  }();
  return *instance;
}

} // namespace

uint64_t physicalMemory() {
  static const uint64_t bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void *allocate(uint64_t bytes) {
  if (bytes > physicalMemory())
    return nullptr;
  SizeClass size = classOf(bytes);
  Allocator &self = allocator();
  void *block = nullptr;
  {
    std::lock_guard<std::mutex> lock(self.mutex);
    auto &list = self.kept[size.index];
    if (!list.empty()) {
      block = list.back();
      list.pop_back();
      self.statistics.cached -= size.bytes;
    }
  }
  if (!block) {
    block = std::aligned_alloc(size.bytes >= hugePage ? 4096 : memoryAlignment, size.bytes);
    if (!block)
      return nullptr;
    if (size.bytes >= 2 * hugePage)
      madvise(block, size.bytes, MADV_HUGEPAGE);
  }
  std::lock_guard<std::mutex> lock(self.mutex);
  self.statistics.total += bytes;
  self.statistics.inUse += size.bytes;
  self.statistics.peak = std::max(self.statistics.peak, self.statistics.inUse);
  self.statistics.reservedPeak =
      std::max(self.statistics.reservedPeak, self.statistics.inUse + self.statistics.cached);
  ++self.statistics.allocations;
  return block;
}

void deallocate(void *block, uint64_t bytes) {
  if (!block)
    return;
  SizeClass size = classOf(bytes);
  Allocator &self = allocator();
  {
    std::lock_guard<std::mutex> lock(self.mutex);
    self.statistics.inUse -= size.bytes;
    if (self.statistics.cached + size.bytes <= cacheLimit) {
      self.statistics.cached += size.bytes;
      self.kept[size.index].push_back(block);
      return;
    }
  }
  std::free(block);
}

void trim() {
  Allocator &self = allocator();
  std::lock_guard<std::mutex> lock(self.mutex);
  for (auto &list : self.kept) {
    for (void *block : list)
      std::free(block);
    list.clear();
  }
  self.statistics.cached = 0;
}

MemoryStatistics memoryStatistics() {
  Allocator &self = allocator();
  std::lock_guard<std::mutex> lock(self.mutex);
  return self.statistics;
}

} // namespace tessera::rt::cpu
