//===- Driver.cpp - NVIDIA GPUs as devices --------------------------------===//

#include "../../src/Metrics.h"
#include "Device.h"

#include <algorithm>

namespace tessera::rt::cuda {

namespace {

using Status = tessera_rt_status;

CUstream native(tessera_rt_stream stream) { return static_cast<CUstream>(stream.handle); }

CUdeviceptr pointer(const void *memory) {
  return static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(memory));
}

struct CudaEvent : Event {
  Device &device;
  CUevent handle = nullptr;
  CudaEvent(Driver *driver, Device &device) : Event(driver), device(device) {}
  ~CudaEvent() override {
    Status status;
    if (handle && start(status))
      device.api.cuEventDestroy(handle);
  }
};

struct CudaGraph : Graph {
  Device &device;
  CUgraphExec handle = nullptr;
  CodeSet code;
  CudaGraph(Driver *driver, Device &device) : Graph(driver), device(device) {}
  ~CudaGraph() override {
    Status status;
    if (handle && start(status))
      device.api.cuGraphExecDestroy(handle);
  }
};

/// Opens the device, makes its context current and calls `work` with it.
template <typename Work> Status with(int32_t ordinal, Work work) {
  Status status;
  Device *device = open(ordinal, status);
  if (!device)
    return status;
  Current current(*device);
  return work(*device);
}
template <typename Work> Status with(tessera_rt_stream stream, Work work) {
  return with(deviceOrdinal(stream.device), work);
}

class CudaDriver : public Driver {
public:
  Status count(int32_t &devices) override {
    devices = 0;
    Status status;
    const Api *api = start(status);
    if (!api)
      return status;
    CUresult result = api->cuDeviceGetCount(&devices);
    devices = std::min(devices, mostDevices);
    return result == CUDA_SUCCESS
               ? TESSERA_RT_OK
               : fail(TESSERA_RT_DEVICE, "devices could not be counted: " + api->message(result));
  }

  Status info(int32_t ordinal, tessera_rt_device_info &info) override {
    return with(ordinal, [&](Device &device) {
      size_t bytes = 0;
      device.api.cuDeviceTotalMem(&bytes, device.handle);
      std::snprintf(info.name, sizeof(info.name), "%s", device.name.c_str());
      std::snprintf(info.target, sizeof(info.target), "%s", device.chip().str().c_str());
      device.api.cuDeviceGetPCIBusId(info.bus, sizeof(info.bus), device.handle);
      info.memory_bytes = bytes;
      info.l2_bytes = static_cast<uint64_t>(device.l2Bytes);
      info.shared_bytes = static_cast<uint64_t>(
          device.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
      info.sm_count = device.sm_count;
      info.threads_per_block = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
      info.threads_per_sm = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
      info.registers_per_sm =
          device.attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
      info.warp_size = device.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
      info.clock_khz = device.attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
      info.memory_clock_khz = device.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
      info.memory_bus_bits = device.attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
      info.cooperative = device.attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
      info.clusters = device.attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
      info.driver_version = device.api.driverVersion;
      return TESSERA_RT_OK;
    });
  }

  Status memory(int32_t ordinal, uint64_t &free, uint64_t &total) override {
    return with(ordinal, [&](Device &device) {
      size_t freeBytes = 0, totalBytes = 0;
      CUresult result = device.api.cuMemGetInfo(&freeBytes, &totalBytes);
      free = freeBytes;
      total = totalBytes;
      return device.check(result, "free memory could not be asked for");
    });
  }

  Status synchronizeDevice(int32_t ordinal) override {
    return with(ordinal, [&](Device &device) {
      return device.check(device.api.cuCtxSynchronize(), "waiting for the device");
    });
  }

  Status canAccess(int32_t ordinal, int32_t peer, bool &can) override {
    Status status;
    Device *other = open(peer, status);
    if (!other)
      return status;
    return with(ordinal, [&](Device &device) {
      int answer = ordinal == peer;
      CUresult result = CUDA_SUCCESS;
      if (ordinal != peer)
        result = device.api.cuDeviceCanAccessPeer(&answer, device.handle, other->handle);
      can = answer != 0;
      return device.check(result, "access to a peer could not be asked for");
    });
  }

  Status enableAccess(int32_t ordinal, int32_t peer) override {
    bool can = false;
    if (auto status = canAccess(ordinal, peer, can))
      return status;
    if (!can)
      return fail(TESSERA_RT_UNSUPPORTED,
                  "cuda:" + std::to_string(ordinal) +
                      " cannot access memory of cuda:" + std::to_string(peer));
    return with(ordinal, [&](Device &device) {
      if (ordinal == peer)
        return TESSERA_RT_OK;
      CUresult result = device.api.cuCtxEnablePeerAccess(opened(peer)->context, 0);
      if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        result = CUDA_SUCCESS;
      return device.check(result, "access to a peer could not be enabled");
    });
  }

  int64_t fact(int32_t ordinal, DeviceFact fact) override {
    Device *device = ordinal < mostDevices ? opened(ordinal) : nullptr;
    if (!device)
      return 0;
    return fact == DeviceFact::SmCount ? device->sm_count : device->l2Bytes;
  }

  Status createStream(int32_t ordinal, int32_t priority, void *&handle) override {
    return with(ordinal, [&](Device &device) {
      CUstream stream = nullptr;
      CUresult result =
          device.api.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, priority);
      handle = stream;
      return device.check(result, "a stream could not be made");
    });
  }
  void releaseStream(tessera_rt_stream stream) override {
    Status status;
    Device *device = opened(deviceOrdinal(stream.device));
    takeCode(native(stream));
    if (device && start(status))
      device->api.cuStreamDestroy(native(stream));
  }
  Status synchronize(tessera_rt_stream stream) override {
    return with(stream, [&](Device &device) {
      return device.check(device.api.cuStreamSynchronize(native(stream)), "waiting for a stream");
    });
  }
  Status query(tessera_rt_stream stream, bool &done) override {
    return with(stream, [&](Device &device) {
      return answer(device, device.api.cuStreamQuery(native(stream)), done, "asking a stream");
    });
  }
  Status wait(tessera_rt_stream stream, Event &event) override {
    return with(stream, [&](Device &device) {
      CUevent handle = static_cast<CudaEvent &>(event).handle;
      return device.check(device.api.cuStreamWaitEvent(native(stream), handle, 0),
                          "a stream could not be made to wait for an event");
    });
  }

  Status createEvent(int32_t ordinal, Event *&event) override {
    return with(ordinal, [&](Device &device) {
      auto made = std::make_unique<CudaEvent>(this, device);
      auto status =
          device.check(device.api.cuEventCreate(&made->handle, 0), "an event could not be made");
      if (status == TESSERA_RT_OK)
        event = made.release();
      return status;
    });
  }
  Status record(Event &event, tessera_rt_stream stream) override {
    return with(stream, [&](Device &device) {
      CUevent handle = static_cast<CudaEvent &>(event).handle;
      return device.check(device.api.cuEventRecord(handle, native(stream)),
                          "an event could not be recorded");
    });
  }
  Status synchronizeEvent(Event &event) override {
    auto &mine = static_cast<CudaEvent &>(event);
    return with(mine.device.ordinal, [&](Device &device) {
      return device.check(device.api.cuEventSynchronize(mine.handle), "waiting for an event");
    });
  }
  Status queryEvent(Event &event, bool &done) override {
    auto &mine = static_cast<CudaEvent &>(event);
    return with(mine.device.ordinal, [&](Device &device) {
      return answer(device, device.api.cuEventQuery(mine.handle), done, "asking an event");
    });
  }
  Status elapsed(Event &start, Event &end, double &milliseconds) override {
    auto &from = static_cast<CudaEvent &>(start), &to = static_cast<CudaEvent &>(end);
    return with(from.device.ordinal, [&](Device &device) {
      float time = 0;
      CUresult result = device.api.cuEventElapsedTime(&time, from.handle, to.handle);
      milliseconds = time;
      return device.check(result, "the time between two events");
    });
  }

  Status allocate(tessera_rt_stream stream, uint64_t bytes, void *&memory) override {
    return with(stream, [&](Device &device) {
      return cuda::allocate(device, native(stream), bytes, memory);
    });
  }
  Status deallocate(tessera_rt_stream stream, void *memory, uint64_t bytes) override {
    return with(stream, [&](Device &device) {
      return cuda::deallocate(device, native(stream), memory, bytes);
    });
  }
  Status allocateHost(int32_t ordinal, uint64_t bytes, void *&memory) override {
    return with(ordinal, [&](Device &device) {
      CUresult result = device.api.cuMemHostAlloc(&memory, bytes, 0);
      if (result == CUDA_SUCCESS)
        return TESSERA_RT_OK;
      return device.failed(result, formatBytes(bytes) + " of host memory could not be allocated");
    });
  }
  void deallocateHost(int32_t ordinal, void *memory) override {
    Status status;
    Device *device = ordinal < mostDevices ? opened(ordinal) : nullptr;
    if (!device || !start(status))
      return;
    Current current(*device);
    device->api.cuMemFreeHost(memory);
  }
  Status copy(tessera_rt_stream stream, void *target, const void *source, uint64_t bytes) override {
    return with(stream, [&](Device &device) {
      CUresult result =
          device.api.cuMemcpyAsync(pointer(target), pointer(source), bytes, native(stream));
      if (result == CUDA_SUCCESS)
        return TESSERA_RT_OK;
      return device.failed(result, formatBytes(bytes) + " could not be copied");
    });
  }
  Status fill(tessera_rt_stream stream, void *target, uint8_t value, uint64_t bytes) override {
    return with(stream, [&](Device &device) {
      CUresult result = device.api.cuMemsetD8Async(pointer(target), value, bytes, native(stream));
      if (result == CUDA_SUCCESS)
        return TESSERA_RT_OK;
      return device.failed(result, formatBytes(bytes) + " could not be filled");
    });
  }
  Status poolStatistics(int32_t ordinal, tessera_rt_pool_statistics &statistics) override {
    return with(ordinal, [&](Device &device) { return statisticsOf(device, statistics); });
  }
  Status trim(int32_t ordinal, uint64_t keep) override {
    return with(ordinal, [&](Device &device) {
      if (!device.pool)
        return TESSERA_RT_OK;
      return device.check(device.api.cuMemPoolTrimTo(device.pool, keep),
                          "the pool could not be trimmed");
    });
  }

  Status load(int32_t ordinal, const CodeImage &image, std::unique_ptr<Library> &library) override {
    return with(ordinal, [&](Device &device) { return loadLibrary(device, image, library); });
  }
  Status launch(tessera_rt_stream stream, const Launch &launch) override {
    Status status;
    Device *device = open(deviceOrdinal(stream.device), status);
    return device ? launchKernel(*device, native(stream), launch) : status;
  }

  Status beginCapture(tessera_rt_stream stream) override {
    if (!stream.handle)
      return fail(TESSERA_RT_ARGUMENT, "the default stream cannot capture a graph; create one");
    return with(stream, [&](Device &device) {
      CUresult result =
          device.api.cuStreamBeginCapture(native(stream), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
      if (result == CUDA_SUCCESS)
        collectCode(native(stream));
      return device.check(result, "the stream cannot begin to capture a graph");
    });
  }
  Status endCapture(tessera_rt_stream stream, Graph *&graph) override {
    return with(stream, [&](Device &device) {
      CUgraph captured = nullptr;
      CUresult result = device.api.cuStreamEndCapture(native(stream), &captured);
      auto made = std::make_unique<CudaGraph>(this, device);
      made->code = takeCode(native(stream));
      if (result == CUDA_SUCCESS)
        result = device.api.cuGraphInstantiateWithFlags(&made->handle, captured, 0);
      if (captured)
        device.api.cuGraphDestroy(captured);
      auto status = device.check(result, "the graph could not be captured");
      if (status == TESSERA_RT_OK)
        graph = made.release();
      return status;
    });
  }
  Status launchGraph(Graph &graph, tessera_rt_stream stream) override {
    return with(stream, [&](Device &device) {
      CUgraphExec handle = static_cast<CudaGraph &>(graph).handle;
      return device.check(device.api.cuGraphLaunch(handle, native(stream)),
                          "the graph could not be launched");
    });
  }

private:
  static Status answer(Device &device, CUresult result, bool &done, const char *what) {
    done = result == CUDA_SUCCESS;
    return result == CUDA_ERROR_NOT_READY ? TESSERA_RT_OK : device.check(result, what);
  }
};

} // namespace

/// Calls `visit` with each device that is open and usable; opens none.
template <typename Visit> static void eachOpened(Visit visit) {
  for (int32_t i = 0; i < mostDevices; ++i) {
    Device *device = opened(i);
    tessera_rt_status status;
    if (!device || device->isLost() || !start(status))
      continue;
    Current current(*device);
    visit(*device);
  }
}

} // namespace tessera::rt::cuda

using namespace tessera::rt;

Driver &tessera::rt::cudaDriver() {
  static Driver *driver = new cuda::CudaDriver;
  return *driver;
}

bool tessera::rt::cudaAddressDevice(const void *address, int32_t &ordinal) {
  bool found = false;
  cuda::eachOpened([&](cuda::Device &device) {
    unsigned type = 0;
    int owner = 0;
    auto value = cuda::pointer(address);
    if (!found &&
        device.api.cuPointerGetAttribute(&type, cuda::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, value) ==
            cuda::CUDA_SUCCESS &&
        type == cuda::CU_MEMORYTYPE_DEVICE &&
        device.api.cuPointerGetAttribute(&owner, cuda::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                         value) == cuda::CUDA_SUCCESS) {
      found = true;
      ordinal = owner;
    }
  });
  return found;
}

tessera_rt_pool_statistics tessera::rt::cudaPoolTotals() {
  tessera_rt_pool_statistics total = {};
  cuda::eachOpened([&](cuda::Device &device) {
    tessera_rt_pool_statistics one = {};
    if (statisticsOf(device, one) != TESSERA_RT_OK)
      return;
    total.in_use += one.in_use;
    total.in_use_peak += one.in_use_peak;
    total.reserved += one.reserved;
  });
  return total;
}

void tessera::rt::cudaTrimAll() {
  cuda::eachOpened([](cuda::Device &device) {
    if (device.pool)
      device.api.cuMemPoolTrimTo(device.pool, 0);
  });
}
