//===- Device.h - A GPU in use, and how its errors are told ---------------===//
//
// A GPU is used through its primary context, which is retained at the first use and kept: it is
// the context that other libraries of the process use as well. Calls make it current for as long as
// they need it and leave the thread's context as they found it.
//
// Errors of kernels come late, from whichever call follows. So that they can still be told with a
// kernel's name, grid and arguments, each device keeps a record of its latest launches.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_DRIVERS_CUDA_DEVICE_H
#define TESSERA_RT_DRIVERS_CUDA_DEVICE_H

#include "../../src/Driver.h"
#include "Api.h"

#include <mutex>
#include <set>

namespace tessera::rt::cuda {

struct Device;

/// Code on a device; it is unloaded when neither a library nor a graph has it any more.
struct Code {
  Device &device;
  CUlibrary library = nullptr;
  std::atomic<bool> isKept{false}; // for as long as the process
  explicit Code(Device &device) : device(device) {}
  Code(const Code &) = delete;
  ~Code();
};
using CodeSet = std::set<std::shared_ptr<Code>>;

/// A kernel on one device.
struct CudaKernel : Kernel {
  CUfunction function = nullptr;
  std::shared_ptr<Code> code;
  const char *recordName = ""; // lives as long as the process
  int32_t parameters = -1;     // negative: not known
  bool isExact = false;        // no hidden parameters: as many words as parameters
  // What the driver was already told to allow.
  mutable std::atomic<uint32_t> sharedBytes{0};
  mutable std::atomic<bool> largeClusters{false};
};

/// "kernel 'scale', grid (3, 1, 1), block (16, 1, 1), arguments (0x7f…, 40, 2)".
std::string describe(const Launch &launch);

/// The latest launches of a device.
class LaunchRecord {
public:
  void add(const Launch &launch);
  /// One per line, the latest first; "" where there was none.
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
  int32_t multiprocessors = 0;
  int64_t l2Bytes = 0;
  std::string name;
  LaunchRecord launches;
  // Of allocations; in use only where there is no pool that counts it.
  std::atomic<uint64_t> allocations{0}, allocatedBytes{0}, inUse{0}, peak{0}, trims{0};

  Device(const Api &api, int32_t ordinal) : api(api), ordinal(ordinal) {}

  /// Retains the context and makes the pool.
  tessera_rt_status open();

  int attribute(int which) const;

  /// TESSERA_RT_OK, or a failure that says what was done ("memory could not be copied") and why.
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

/// From here on, code that the stream captures is collected for a graph of ours.
void collectCode(CUstream stream);
/// What was collected.
CodeSet takeCode(CUstream stream);
/// Keeps code for the graph that a stream captures.
void keepForGraph(CUstream stream, const std::shared_ptr<Code> &code);

/// The driver, started at the first call; null, with the reason as this thread's error, where there
/// is none, or where this process was forked from one that had started it.
const Api *start(tessera_rt_status &status);
/// The device, opened at the first call; null, with the reason, where it cannot be used.
Device *open(int32_t ordinal, tessera_rt_status &status);
/// Those that were opened so far, null where not.
Device *opened(int32_t ordinal);
inline constexpr int32_t mostDevices = 64;

/// A cubin or PTX text on one device.
tessera_rt_status loadLibrary(Device &device, const CodeImage &image,
                              std::unique_ptr<Library> &library);
tessera_rt_status launchKernel(Device &device, CUstream stream, const Launch &launch);

/// The tensor maps of a launch, which are this thread's until its next one.
tessera_rt_status encodeMaps(Device &device, const Launch &launch, void **parameters);

/// The pool.
tessera_rt_status allocate(Device &device, CUstream stream, uint64_t bytes, void *&memory);
tessera_rt_status deallocate(Device &device, CUstream stream, void *memory, uint64_t bytes);
tessera_rt_status statisticsOf(Device &device, tessera_rt_pool_statistics &statistics);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_DRIVERS_CUDA_DEVICE_H
