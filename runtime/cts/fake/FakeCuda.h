//===- FakeCuda.h - A fake libcuda, for machines without a GPU ------------===//
//
// Implements the entry points that the runtime uses on host memory, checks their use, counts live
// objects, and fails on demand, so that the driver's logic and its error paths are tested
// everywhere. "Devices" have little memory and run the kernels of Kernels.h, found by their names
// in the PTX, at launch. Compiled kernels, from cubins or from PTX that declares its block size,
// are launched and compute nothing, unless a test runs the PTX itself.
//
// Environment, for decisions that a driver makes when it starts:
//   FAKE_CUDA_DEVICES=2  FAKE_CUDA_VERSION=13000  FAKE_CUDA_INIT=0  FAKE_CUDA_POOLS=1
//   FAKE_CUDA_CAPABILITY=90
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CTS_FAKE_FAKECUDA_H
#define TESSERA_RT_CTS_FAKE_FAKECUDA_H

#include <cstdint>

namespace fake_cuda {

inline constexpr uint64_t memoryBytes = 256ull << 20;

/// Live objects and request counts.
struct Counts {
  int64_t streams, events, libraries, graphs, graphExecs, allocations, hostAllocations;
  int64_t contextsOnStack; // of the calling thread
  int64_t launches;
  int64_t misuses; // calls that may crash a real driver
};

/// Runs a kernel of PTX text: its name, the grid, the bytes of dynamic shared memory, and its
/// parameters, of which a tensor map takes 16 words. Returns a CUresult.
using Runner = int (*)(const char *ptx, const char *name, const unsigned grid[3], unsigned shared,
                       const uint64_t *words, int64_t count);

struct Control {
  Counts (*counts)();
  /// The `after`-th next call of entry point `name` returns `result` (0: remove it). The first
  /// match is used once.
  void (*failNext)(const char *name, int result, int after);
  /// The attributes of the last launch: cluster size, cooperative, dependent.
  void (*lastLaunch)(unsigned cluster[3], int *cooperative, int *dependent, unsigned *shared);
  /// The names of all entry points; null at the end.
  const char *const *(*entryPoints)();
  /// Clears a sticky error, which a real driver does not.
  void (*revive)();
  /// The stream and up to `most` arguments of the last launch; returns their number.
  int64_t (*lastArguments)(void **stream, uint64_t *words, int64_t most);
  /// The blocks of the last launch, and the threads of each.
  void (*lastSizes)(unsigned grid[3], unsigned block[3]);
  /// Launches of compiled PTX kernels call `run`; null: they compute nothing.
  void (*setRunner)(Runner run);
  /// The addresses and sizes of up to `most` blocks of device memory; returns the number of all.
  int64_t (*memoryBlocks)(uint64_t *addresses, uint64_t *bytes, int64_t most);
};

/// Exported as `fake_cuda_control`.
using GetControl = const Control *(*)();

} // namespace fake_cuda

#endif // TESSERA_RT_CTS_FAKE_FAKECUDA_H
