//===- FakeCuda.h - A stand-in for libcuda, for machines without a GPU ----===//
//
// It implements the entry points that the runtime uses on host memory, checks how they are used,
// counts what is alive, and fails on demand, so that the driver's logic and its error paths are
// tested everywhere. "Devices" have little memory and run the kernels of Kernels.h, found by their
// names in the PTX, when they are launched. Kernels of a compiler, from cubins or from PTX that says
// how many threads a block has, are launched and compute nothing.
//
// Environment, for what a driver decides when it starts:
//   FAKE_CUDA_DEVICES=2  FAKE_CUDA_VERSION=13000  FAKE_CUDA_INIT=0  FAKE_CUDA_POOLS=1
//   FAKE_CUDA_CAPABILITY=90
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CTS_FAKE_FAKECUDA_H
#define TESSERA_RT_CTS_FAKE_FAKECUDA_H

#include <cstdint>

namespace fake_cuda {

inline constexpr uint64_t memoryBytes = 256ull << 20;

/// What is alive, and what was asked for.
struct Counts {
  int64_t streams, events, libraries, graphs, graphExecs, allocations, hostAllocations;
  int64_t contextsOnStack; // of the calling thread
  int64_t launches;
  int64_t misuses; // calls that a real driver may not survive
};

struct Control {
  Counts (*counts)();
  /// The `after`-th next call of entry point `name` returns `result` (0: forget it). The `first`
  /// that matches is used up.
  void (*failNext)(const char *name, int result, int after);
  /// The attributes of the last launch: cluster size, cooperative, dependent.
  void (*lastLaunch)(unsigned cluster[3], int *cooperative, int *dependent, unsigned *shared);
  /// The names of all entry points; null at the end.
  const char *const *(*entryPoints)();
  /// Ends the effect of a sticky error, which a real driver does not.
  void (*revive)();
  /// The stream and up to `most` arguments of the last launch; returns their number.
  int64_t (*lastArguments)(void **stream, uint64_t *words, int64_t most);
  /// The blocks of the last launch, and the threads of each.
  void (*lastSizes)(unsigned grid[3], unsigned block[3]);
};

/// Exported as `fake_cuda_control`.
using GetControl = const Control *(*)();

} // namespace fake_cuda

#endif // TESSERA_RT_CTS_FAKE_FAKECUDA_H
