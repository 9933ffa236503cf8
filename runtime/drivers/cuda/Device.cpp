//===- Device.cpp - An open GPU and its error messages --------------------===//

#include "Device.h"

#include <cstring>
#include <pthread.h>

namespace tessera::rt::cuda {

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

static std::string triple(const char *name, const auto *sizes) {
  return std::string(name) + " (" + std::to_string(sizes[0]) + ", " + std::to_string(sizes[1]) +
         ", " + std::to_string(sizes[2]) + ")";
}

/// Small numbers are sizes, large ones addresses.
static std::string wordText(int64_t word) {
  if (word > -(1ll << 32) && word < (1ll << 32))
    return std::to_string(word);
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(word));
  return text;
}

static std::string describe(const char *name, const int64_t *grid, const KernelShape &shape,
                            const int64_t *words, uint32_t kept, uint32_t count) {
  std::string text = "kernel '" + std::string(name) + "', " + triple("grid", grid) + ", " +
                     triple("block", shape.block);
  if (shape.cluster[0] * shape.cluster[1] * shape.cluster[2] != 1)
    text += ", " + triple("cluster", shape.cluster);
  if (shape.sharedBytes)
    text += ", " + std::to_string(shape.sharedBytes) + " bytes of shared memory";
  if (shape.flags & KernelShape::Cooperative)
    text += ", cooperative";
  text += ", arguments (";
  for (uint32_t i = 0; i < kept; ++i)
    text += (i ? ", " : "") + wordText(words[i]);
  return text + (kept < count ? ", …)" : ")");
}

std::string describe(const Launch &launch) {
  return describe(launch.kernel->name.c_str(), launch.grid, *launch.shape, launch.words,
                  launch.wordCount, launch.wordCount);
}

void LaunchRecord::add(const Launch &launch) {
  while (busy.test_and_set(std::memory_order_acquire))
    ;
  Entry &entry = entries[count++ % kept];
  entry.name = static_cast<const CudaKernel *>(launch.kernel)->recordName;
  std::memcpy(entry.grid, launch.grid, sizeof(entry.grid));
  entry.shape = *launch.shape;
  entry.wordCount = launch.wordCount;
  uint32_t words = launch.wordCount < keptWords ? launch.wordCount : keptWords;
  for (uint32_t i = 0; i < words; ++i)
    entry.words[i] = launch.words[i];
  busy.clear(std::memory_order_release);
}

std::string LaunchRecord::text() {
  Entry copy[kept];
  uint64_t total;
  while (busy.test_and_set(std::memory_order_acquire))
    ;
  std::memcpy(copy, entries, sizeof(entries));
  total = count;
  busy.clear(std::memory_order_release);
  std::string text;
  for (uint64_t i = 0; i < kept && i < total; ++i) {
    const Entry &entry = copy[(total - 1 - i) % kept];
    uint32_t words = entry.wordCount < keptWords ? entry.wordCount : keptWords;
    text +=
        "\n  " + describe(entry.name, entry.grid, entry.shape, entry.words, words, entry.wordCount);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

int Device::attribute(int which) const {
  int value = 0;
  return api.cuDeviceGetAttribute(&value, which, handle) == CUDA_SUCCESS ? value : 0;
}

tessera_rt_status Device::open() {
  char text[128] = "";
  if (auto status = check(api.cuDeviceGet(&handle, ordinal), "the device could not be opened"))
    return status;
  api.cuDeviceGetName(text, sizeof(text), handle);
  name = text;
  sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  l2Bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  if (auto status = check(api.cuDevicePrimaryCtxRetain(&context, handle),
                          "the device's context could not be made"))
    return status;
  if (!attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
    return TESSERA_RT_OK;
  Current current(*this);
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  if (auto status = check(api.cuMemPoolCreate(&pool, &properties), "the pool could not be made"))
    return status;
  // Memory stays in the pool until it is trimmed; the default frees it at each synchronization.
  uint64_t keep = UINT64_MAX;
  return check(api.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep),
               "the pool could not be set up");
}

tessera_rt_status Device::failed(CUresult result, const std::string &what) {
  std::string text =
      deviceName(TESSERA_RT_DEVICE_CUDA(ordinal)) + ": " + what + ": " + api.message(result);
  if (!isSticky(result)) {
    switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return fail(TESSERA_RT_OUT_OF_MEMORY, text);
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
      return fail(TESSERA_RT_INVALID, text);
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_NOT_SUPPORTED:
      return fail(TESSERA_RT_UNSUPPORTED, text);
    default:
      return fail(TESSERA_RT_DEVICE, text);
    }
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!isLost()) {
      reason = text;
      if (std::string latest = launches.text(); !latest.empty())
        reason += "\nthe latest launches, the last one first (TESSERA_CUDA_BLOCKING=1 shows which "
                  "one failed):" +
                  latest;
      lost.store(true, std::memory_order_release);
    }
  }
  return tellLost();
}

tessera_rt_status Device::tellLost() {
  std::lock_guard<std::mutex> lock(mutex);
  return fail(TESSERA_RT_DEVICE_LOST,
              "the CUDA context of " + deviceName(TESSERA_RT_DEVICE_CUDA(ordinal)) +
                  " is lost, and nothing runs on this GPU until the process is restarted; " +
                  reason);
}

//===----------------------------------------------------------------------===//
// The process
//===----------------------------------------------------------------------===//

namespace {
struct Process {
  std::mutex mutex;
  bool tried = false;
  std::string error; // why there is no driver
  Api api;
  std::atomic<bool> started{false}, forked{false};
  std::atomic<Device *> devices[mostDevices] = {};
};
} // namespace

static Process &process() {
  static Process *instance = new Process; // never destroyed: threads may use it at exit
  return *instance;
}

const Api *start(tessera_rt_status &status) {
  Process &self = process();
  if (!self.started.load(std::memory_order_acquire)) {
    std::lock_guard<std::mutex> lock(self.mutex);
    if (!self.tried) {
      self.tried = true;
      // A child may start the driver if its parent had not.
      pthread_atfork([] { process().mutex.lock(); }, [] { process().mutex.unlock(); },
                     [] {
                       process().mutex.unlock();
                       process().forked.store(process().started.load());
                     });
      if (self.api.load(self.error))
        self.started.store(true, std::memory_order_release);
    }
    if (!self.started.load(std::memory_order_relaxed)) {
      status = fail(TESSERA_RT_UNSUPPORTED, self.error);
      return nullptr;
    }
  }
  if (self.forked.load(std::memory_order_relaxed)) {
    status = fail(TESSERA_RT_DEVICE,
                  "CUDA cannot be used in this process: it was forked from one that used CUDA; "
                  "start it with exec (in Python: multiprocessing's 'spawn')");
    return nullptr;
  }
  return &self.api;
}

Device *opened(int32_t ordinal) {
  return process().devices[ordinal].load(std::memory_order_acquire);
}

Device *open(int32_t ordinal, tessera_rt_status &status) {
  const Api *api = start(status);
  if (!api)
    return nullptr;
  int count = 0;
  Device *device = ordinal < mostDevices ? opened(ordinal) : nullptr;
  if (!device) {
    CUresult result = api->cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS || ordinal >= count || ordinal >= mostDevices) {
      status = fail(TESSERA_RT_UNSUPPORTED, "there is no device cuda:" + std::to_string(ordinal) +
                                                "; this process sees " + std::to_string(count));
      return nullptr;
    }
    Process &self = process();
    std::lock_guard<std::mutex> lock(self.mutex);
    device = opened(ordinal);
    if (!device) {
      auto made = std::make_unique<Device>(*api, ordinal);
      if ((status = made->open()))
        return nullptr;
      device = made.release();
      self.devices[ordinal].store(device, std::memory_order_release);
    }
  }
  if (device->isLost()) {
    status = device->tellLost();
    return nullptr;
  }
  status = TESSERA_RT_OK;
  return device;
}

} // namespace tessera::rt::cuda
