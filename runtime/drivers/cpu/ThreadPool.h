//===- ThreadPool.h - Runs a grid on threads ------------------------------===//
//
// One pool per process, created on first use. A launch opens a job; the caller and the workers
// claim chunks of the linear grid from one counter, large ones first and smaller ones towards the
// end, until it is empty. The caller never waits for a worker that has not joined, so that a busy
// machine only loses parallelism. Which thread runs which index is not determined; kernels do not
// depend on it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_DRIVERS_CPU_THREADPOOL_H
#define TESSERA_RT_DRIVERS_CPU_THREADPOOL_H

#include "tessera_rt.h"

#include <atomic>

namespace tessera::rt::cpu {

/// The time of one grid index of a kernel in its last run, in nanoseconds; 0: never measured.
using Cost = std::atomic<float>;

struct Launch {
  tessera_rt_kernel kernel;
  const int64_t *args;
  int64_t total; // grid indices
  int64_t grain; // minimum chunk
  int64_t work;  // estimate in nanoseconds of one core; negative: unknown
  uint64_t scratchBytes;
  Cost *cost;                            // measured time, unless null
  tessera_rt_failure *failure = nullptr; // written if a check fails, unless null
};

/// Runs the whole grid and returns when it is done; returns false if scratch memory cannot be
/// allocated (then nothing was run). Runs in the calling thread alone if the grid or the work is
/// small, if called from a kernel of the pool, and if another thread uses the pool.
bool launch(const Launch &launch);

int32_t numThreads();
/// Returns false if called from a kernel.
bool setNumThreads(int32_t count);

struct LaunchStatistics {
  uint64_t launches, parallel;
};
LaunchStatistics launchStatistics();

} // namespace tessera::rt::cpu

#endif // TESSERA_RT_DRIVERS_CPU_THREADPOOL_H
