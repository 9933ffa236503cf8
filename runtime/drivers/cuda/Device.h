//===- Device.h - An open GPU and its error messages ----------------------===//
//
// A GPU is used through its primary context, which is retained on first use and kept: it is the
// context that other libraries of the process use as well. Calls make it current for as long as
// they need it and restore the thread's context.
//
// Errors of kernels are asynchronous and reported by a later call. So that a message can still
// contain a kernel's name, grid and arguments, each device keeps a record of its latest launches.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_DRIVERS_CUDA_DEVICE_H
#define TESSERA_RT_DRIVERS_CUDA_DEVICE_H

#include "../../src/Driver.h"
#include "Api.h"
#include "tessera_rt/target.h"

#include <mutex>
#include <set>

namespace tessera::rt::cuda {

struct Device;

/// Code on a device; it is unloaded when neither a library nor a graph refers to it.
struct Code {
  Device &device;
  CUlibrary library = nullptr;
  std::atomic<bool> isKept{false}; // until process exit
  explicit Code(Device &device) : device(device) {}
  Code(const Code &) = delete;
  ~Code();
};
using CodeSet = std::set<std::shared_ptr<Code>>;

/// A kernel on one device.
struct CudaKernel : Kernel {
  CUfunction function = nullptr;
  std::shared_ptr<Code> code;
  const char *recordName = ""; // valid until process exit
  int32_t parameters = -1;     // negative: not known
  bool isExact = false;        // no hidden parameters: one word per parameter
  // The limits that the driver was already asked to raise.
  mutable std::atomic<uint32_t> sharedBytes{0};
  mutable std::atomic<bool> largeClusters{false};
};

/// "kernel 'scale', grid (3, 1, 1), block (16, 1, 1), arguments (0x7f…, 40, 2)".
std::string describe(const Launch &launch);

/// The latest launches of a device.
class LaunchRecord {
public:
  void add(const Launch &launch);
  /// One per line, the latest first; "" if there was none.
  std::string text();

private:
  static constexpr unsigned kept = 4, keptWords = 12;
  struct Entry {
    const char *name;
    int64_t grid[3];
    KernelShape shape;
    uint32_t wordCount;
    int64_t words[keptWords];
  };
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  Entry entries[kept];
  uint64_t count = 0;
};

struct Device {
  const Api &api;
  int32_t ordinal;
  CUdevice handle = 0;
  CUcontext context = nullptr;
  CUmemoryPool pool = nullptr; // null: the device has no pools
  int32_t sm_count = 0;
  int64_t l2Bytes = 0;
  std::string name;
  LaunchRecord launches;
  // Allocation counters; `in use` only if there is no pool that counts it.
  std::atomic<uint64_t> allocations{0}, allocatedBytes{0}, inUse{0}, peak{0}, trims{0};

  Device(const Api &api, int32_t ordinal) : api(api), ordinal(ordinal) {}

  /// Retains the context and creates the pool.
  tessera_rt_status open();

  int attribute(int which) const;
  Chip chip() const {
    return {attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 0};
  }

  /// TESSERA_RT_OK, or a failure whose message has the action ("memory could not be copied") and
  /// the reason.
  tessera_rt_status check(CUresult result, const char *what) {
    return result == CUDA_SUCCESS ? TESSERA_RT_OK : failed(result, what);
  }
  tessera_rt_status failed(CUresult result, const std::string &what);

  bool isLost() const { return lost.load(std::memory_order_acquire); }
  tessera_rt_status tellLost();

private:
  std::atomic<bool> lost{false};
  std::mutex mutex; // of the reason
  std::string reason;
};

/// Makes the device's context current for a scope.
class Current {
public:
  explicit Current(const Device &device) : api(device.api) {
    CUcontext now = nullptr;
    api.cuCtxGetCurrent(&now);
    if (now != device.context)
      pushed = api.cuCtxPushCurrent(device.context) == CUDA_SUCCESS;
  }
  Current(const Current &) = delete;
  ~Current() {
    CUcontext ignored;
    if (pushed)
      api.cuCtxPopCurrent(&ignored);
  }

private:
  const Api &api;
  bool pushed = false;
};

/// From here on, code that the stream captures is collected for a graph of this runtime.
void collectCode(CUstream stream);
/// The collected code.
CodeSet takeCode(CUstream stream);
/// Keeps code alive for the graph that a stream captures.
void keepForGraph(CUstream stream, const std::shared_ptr<Code> &code);

/// The driver, started on the first call; null, with the reason as this thread's error, if there is
/// none, or if this process was forked from one that had started it.
const Api *start(tessera_rt_status &status);
/// The device, opened on the first call; null, with the reason, if it cannot be used.
Device *open(int32_t ordinal, tessera_rt_status &status);
/// The devices opened so far, null for the others.
Device *opened(int32_t ordinal);
inline constexpr int32_t mostDevices = 64;

/// A cubin or PTX text on one device.
tessera_rt_status loadLibrary(Device &device, const CodeImage &image,
                              std::unique_ptr<Library> &library);
tessera_rt_status launchKernel(Device &device, CUstream stream, const Launch &launch);

/// The tensor maps of a launch, which are valid until this thread's next one.
tessera_rt_status encodeMaps(Device &device, const Launch &launch, void **parameters);

/// The pool.
tessera_rt_status allocate(Device &device, CUstream stream, uint64_t bytes, void *&memory);
tessera_rt_status deallocate(Device &device, CUstream stream, void *memory, uint64_t bytes);
tessera_rt_status statisticsOf(Device &device, tessera_rt_pool_statistics &statistics);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_DRIVERS_CUDA_DEVICE_H
