//===- FakeState.h - State of the fake libcuda ----------------------------===//

#ifndef TESSERA_RT_CTS_FAKE_FAKESTATE_H
#define TESSERA_RT_CTS_FAKE_FAKESTATE_H

#include "../../drivers/cuda/Api.h"
#include "FakeCuda.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace fake_cuda {

using namespace tessera::rt::cuda;

struct FakeContext {
  int device = 0;
};

struct FakeLibrary;

struct FakeGraph {
  std::vector<std::function<void()>> nodes;
  std::set<FakeLibrary *> code;    // of its kernels
  std::vector<CUdeviceptr> blocks; // allocated during its capture
  ~FakeGraph();
};

struct FakeStream {
  std::shared_ptr<FakeGraph> capture;
};

struct FakeGraphHandle {
  std::shared_ptr<FakeGraph> graph;
};

struct FakeEvent {
  bool recorded = false;
  double milliseconds = 0;
};

struct FakeKernel {
  std::string name;
  FakeLibrary *library = nullptr;
  std::vector<size_t> parameterBytes;
  /// For compiled code the threads of a block, 1 for tile kernels: launched and counted, and run by
  /// the runner, if there is one. 0: a kernel of Kernels.h.
  uint64_t block = 0;
};

struct FakeLibrary {
  char *log = nullptr;                     // the log for compile errors
  std::shared_ptr<const std::string> text; // of PTX
  std::vector<std::unique_ptr<FakeKernel>> kernels;
};

struct FakePool {
  int device = 0;
  uint64_t used = 0, usedHigh = 0, reserved = 0, reservedHigh = 0;
  std::multiset<uint64_t> kept; // sizes of free blocks
};

struct Allocation {
  uint64_t bytes;
  int device;
  FakePool *pool; // null: of cuMemAlloc
};

struct State {
  std::recursive_mutex mutex;
  int devices = 2, version = 13000, initResult = 0, pools = 1, capability = 90;
  CUresult sticky = CUDA_SUCCESS;
  FakeContext contexts[8];
  std::set<FakeStream *> streams;
  std::set<FakeEvent *> events;
  std::set<FakeLibrary *> libraries;
  std::set<FakeGraphHandle *> graphs, graphExecs;
  std::set<void *> hostBlocks;
  std::map<CUdeviceptr, Allocation> allocations;
  std::set<std::pair<int, int>> peers;
  uint64_t usedPerDevice[8] = {}; // reserved by pools, or allocated
  int64_t launches = 0, misuses = 0, maps = 0;
  CUlaunchConfig lastConfig = {};
  std::vector<CUlaunchAttribute> lastAttributes;
  std::vector<uint64_t> lastArguments;
  Runner runner = nullptr;
  struct Failure {
    std::string name;
    int result, after;
  };
  std::vector<Failure> failures;
};
State &state();

/// The contexts of this thread, the current one last.
std::vector<FakeContext *> &contextStack();
FakeContext *current();

/// Counts a call that may crash a real driver.
CUresult misuse();
/// The first action of every entry point: a requested error, or a sticky one.
CUresult begin(const char *name);

/// The stream of a handle; null is the default one. Returns false and counts a misuse if there is
/// none.
bool stream(CUstream handle, FakeStream *&result);
/// Runs the work, or records it for the graph that is captured.
CUresult submit(CUstream handle, std::function<void()> work);
/// Frees a block of memory.
void release(CUdeviceptr address);

#define DECLARE(name, parameters) CUresult name parameters;
TESSERA_CUDA_ENTRY_POINTS(DECLARE, DECLARE)
#undef DECLARE

#define ENTER(name)                                                                                \
  std::lock_guard<std::recursive_mutex> lock(state().mutex);                                       \
  if (CUresult failure = begin(#name))                                                             \
  return failure
#define ENTER_WITH_CONTEXT(name)                                                                   \
  ENTER(name);                                                                                     \
  if (!current())                                                                                  \
  return misuse()

/// Runs a kernel of Kernels.h on the host; returns false if there is no such kernel. A result other
/// than CUDA_SUCCESS is the kernel's error.
bool runKernel(const std::string &name, const CUlaunchConfig &config, unsigned clusterSize,
               const std::vector<uint64_t> &arguments, CUresult &result);

/// Reads the entries of PTX text; returns false if it is not PTX.
bool parsePtx(const std::string &text, FakeLibrary &library);
/// The same for a cubin that has sections.
bool parseCubin(const void *code, FakeLibrary &library);

} // namespace fake_cuda

#endif // TESSERA_RT_CTS_FAKE_FAKESTATE_H
