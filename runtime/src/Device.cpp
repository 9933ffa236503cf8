//===- Device.cpp - The C ABI of devices, over their drivers --------------===//

#include "Driver.h"
#include "Metrics.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

// The handles of the C ABI are the drivers' objects.
static Event *unwrap(tessera_rt_event *event) { return reinterpret_cast<Event *>(event); }
static Graph *unwrap(tessera_rt_graph *graph) { return reinterpret_cast<Graph *>(graph); }
static Library *unwrap(tessera_rt_library *library) { return reinterpret_cast<Library *>(library); }
static const Kernel *unwrap(const tessera_rt_device_kernel *kernel) {
  return reinterpret_cast<const Kernel *>(kernel);
}

namespace tessera::rt {

std::string deviceName(int32_t device) {
  if (device == TESSERA_RT_DEVICE_CPU)
    return "the CPU";
  if (deviceKind(device) == TESSERA_RT_KIND_CUDA)
    return "cuda:" + std::to_string(deviceOrdinal(device));
  return "device " + std::to_string(device);
}

Driver *driverOf(int32_t device) {
  if (device == TESSERA_RT_DEVICE_CPU)
    return &cpuDriver();
  if (deviceKind(device) == TESSERA_RT_KIND_CUDA)
    return &cudaDriver();
  fail(TESSERA_RT_UNSUPPORTED, "there is no device " + std::to_string(device));
  return nullptr;
}

} // namespace tessera::rt

/// Calls `work` with the driver of `device` and its ordinal there.
template <typename Work> static tessera_rt_status with(int32_t device, Work work) {
  Driver *driver = driverOf(device);
  return driver ? work(*driver, deviceOrdinal(device)) : TESSERA_RT_UNSUPPORTED;
}

/// Copies what fits into the caller's version of a struct.
template <typename Struct> static void give(Struct *target, const Struct &full) {
  uint64_t bytes = target->struct_bytes;
  std::memcpy(target, &full, std::min<uint64_t>(bytes, sizeof(full)));
  target->struct_bytes = bytes;
}

tessera_rt_status tessera_rt_device_count(int32_t kind, int32_t *count) {
  *count = 0;
  return with(kind << 16, [&](Driver &driver, int32_t) { return driver.count(*count); });
}

tessera_rt_status tessera_rt_device_get_info(int32_t device, tessera_rt_device_info *info) {
  tessera_rt_device_info full = {};
  full.device = device;
  full.kind = deviceKind(device);
  auto status =
      with(device, [&](Driver &driver, int32_t ordinal) { return driver.info(ordinal, full); });
  if (status == TESSERA_RT_OK)
    give(info, full);
  return status;
}

tessera_rt_status tessera_rt_device_memory(int32_t device, uint64_t *free, uint64_t *total) {
  return with(device, [&](Driver &driver, int32_t ordinal) {
    return driver.memory(ordinal, *free, *total);
  });
}

tessera_rt_status tessera_rt_device_synchronize(int32_t device) {
  return with(device,
              [](Driver &driver, int32_t ordinal) { return driver.synchronizeDevice(ordinal); });
}

/// Both devices, if one driver serves them; no other driver can access its memory.
template <typename Work>
static tessera_rt_status withPeers(int32_t device, int32_t peer, Work work) {
  if (!driverOf(device) || !driverOf(peer))
    return TESSERA_RT_UNSUPPORTED;
  if (deviceKind(device) != deviceKind(peer))
    return fail(TESSERA_RT_UNSUPPORTED,
                deviceName(device) + " cannot use memory of " + deviceName(peer) + "; copy it");
  return with(device, [&](Driver &driver, int32_t ordinal) {
    return work(driver, ordinal, deviceOrdinal(peer));
  });
}

tessera_rt_status tessera_rt_device_can_access(int32_t device, int32_t peer, int32_t *can) {
  *can = device == peer;
  bool answer = device == peer;
  if (deviceKind(device) != deviceKind(peer) && driverOf(device) && driverOf(peer))
    return TESSERA_RT_OK;
  auto status = withPeers(device, peer, [&](Driver &driver, int32_t mine, int32_t other) {
    return driver.canAccess(mine, other, answer);
  });
  *can = status == TESSERA_RT_OK && answer;
  return status;
}

tessera_rt_status tessera_rt_device_enable_access(int32_t device, int32_t peer) {
  return withPeers(device, peer, [](Driver &driver, int32_t mine, int32_t other) {
    return driver.enableAccess(mine, other);
  });
}

tessera_rt_status tessera_rt_address_device(const void *address, int32_t *device) {
  int32_t ordinal;
  *device =
      cudaAddressDevice(address, ordinal) ? TESSERA_RT_DEVICE_CUDA(ordinal) : TESSERA_RT_DEVICE_CPU;
  return TESSERA_RT_OK;
}

tessera_rt_status tessera_rt_stream_create(int32_t device, int32_t priority,
                                           tessera_rt_stream *stream) {
  *stream = {device, 0, nullptr};
  return with(device, [&](Driver &driver, int32_t ordinal) {
    return driver.createStream(ordinal, priority, stream->handle);
  });
}

void tessera_rt_stream_release(tessera_rt_stream stream) {
  if (Driver *driver = stream.handle ? driverOf(stream.device) : nullptr)
    driver->releaseStream(stream);
}

tessera_rt_status tessera_rt_stream_synchronize(tessera_rt_stream stream) {
  return with(stream.device, [&](Driver &driver, int32_t) { return driver.synchronize(stream); });
}

tessera_rt_status tessera_rt_stream_query(tessera_rt_stream stream, int32_t *done) {
  bool answer = false;
  auto status =
      with(stream.device, [&](Driver &driver, int32_t) { return driver.query(stream, answer); });
  *done = answer;
  return status;
}

tessera_rt_status tessera_rt_event_create(int32_t device, tessera_rt_event **event) {
  Event *made = nullptr;
  auto status = with(
      device, [&](Driver &driver, int32_t ordinal) { return driver.createEvent(ordinal, made); });
  *event = reinterpret_cast<tessera_rt_event *>(made);
  return status;
}

void tessera_rt_event_release(tessera_rt_event *event) { delete unwrap(event); }

/// An event belongs to one driver's streams.
static tessera_rt_status checkEvent(tessera_rt_event *event, tessera_rt_stream stream) {
  if (unwrap(event)->driver != driverOf(stream.device))
    return fail(TESSERA_RT_ARGUMENT,
                "the event is of another kind of device than " + deviceName(stream.device));
  return TESSERA_RT_OK;
}

tessera_rt_status tessera_rt_event_record(tessera_rt_event *event, tessera_rt_stream stream) {
  if (auto status = checkEvent(event, stream))
    return status;
  return unwrap(event)->driver->record(*unwrap(event), stream);
}

tessera_rt_status tessera_rt_event_synchronize(tessera_rt_event *event) {
  return unwrap(event)->driver->synchronizeEvent(*unwrap(event));
}

tessera_rt_status tessera_rt_event_query(tessera_rt_event *event, int32_t *done) {
  bool answer = false;
  auto status = unwrap(event)->driver->queryEvent(*unwrap(event), answer);
  *done = answer;
  return status;
}

tessera_rt_status tessera_rt_event_elapsed(tessera_rt_event *start, tessera_rt_event *end,
                                           double *milliseconds) {
  if (unwrap(start)->driver != unwrap(end)->driver)
    return fail(TESSERA_RT_ARGUMENT, "expected two events of one kind of device");
  return unwrap(start)->driver->elapsed(*unwrap(start), *unwrap(end), *milliseconds);
}

tessera_rt_status tessera_rt_stream_wait(tessera_rt_stream stream, tessera_rt_event *event) {
  if (auto status = checkEvent(event, stream))
    return status;
  return unwrap(event)->driver->wait(stream, *unwrap(event));
}

tessera_rt_status tessera_rt_allocate(tessera_rt_stream stream, uint64_t bytes, void **memory) {
  *memory = nullptr;
  return with(stream.device, [&](Driver &driver, int32_t) {
    return driver.allocate(stream, std::max<uint64_t>(bytes, 1), *memory);
  });
}

tessera_rt_status tessera_rt_deallocate(tessera_rt_stream stream, void *memory, uint64_t bytes) {
  if (!memory)
    return TESSERA_RT_OK;
  return with(stream.device, [&](Driver &driver, int32_t) {
    return driver.deallocate(stream, memory, std::max<uint64_t>(bytes, 1));
  });
}

tessera_rt_status tessera_rt_host_allocate(int32_t device, uint64_t bytes, void **memory) {
  *memory = nullptr;
  return with(device, [&](Driver &driver, int32_t ordinal) {
    return driver.allocateHost(ordinal, std::max<uint64_t>(bytes, 1), *memory);
  });
}

void tessera_rt_host_deallocate(int32_t device, void *memory) {
  if (Driver *driver = memory ? driverOf(device) : nullptr)
    driver->deallocateHost(deviceOrdinal(device), memory);
}

tessera_rt_status tessera_rt_copy(tessera_rt_stream stream, void *target, const void *source,
                                  uint64_t bytes) {
  count(metrics.copies);
  count(metrics.copiedBytes, bytes);
  if (bytes == 0)
    return TESSERA_RT_OK;
  return with(stream.device,
              [&](Driver &driver, int32_t) { return driver.copy(stream, target, source, bytes); });
}

tessera_rt_status tessera_rt_fill(tessera_rt_stream stream, void *target, uint8_t value,
                                  uint64_t bytes) {
  count(metrics.copies);
  count(metrics.copiedBytes, bytes);
  if (bytes == 0)
    return TESSERA_RT_OK;
  return with(stream.device,
              [&](Driver &driver, int32_t) { return driver.fill(stream, target, value, bytes); });
}

tessera_rt_status tessera_rt_pool_get_statistics(int32_t device,
                                                 tessera_rt_pool_statistics *statistics) {
  tessera_rt_pool_statistics full = {};
  auto status = with(device, [&](Driver &driver, int32_t ordinal) {
    return driver.poolStatistics(ordinal, full);
  });
  if (status == TESSERA_RT_OK)
    give(statistics, full);
  return status;
}

tessera_rt_status tessera_rt_pool_trim(int32_t device, uint64_t keep) {
  return with(device, [&](Driver &driver, int32_t ordinal) { return driver.trim(ordinal, keep); });
}

tessera_rt_status tessera_rt_library_load(int32_t device, const void *bytes, size_t length,
                                          tessera_rt_library **library) {
  LoadTimer timer;
  if (device == TESSERA_RT_DEVICE_CPU)
    return fail(TESSERA_RT_UNSUPPORTED,
                "code for the CPU is loaded as a bundle, or given by address");
  CodeImage image;
  auto *begin = static_cast<const uint8_t *>(bytes);
  image.code.assign(begin, begin + length);
  std::unique_ptr<Library> made;
  auto status = with(
      device, [&](Driver &driver, int32_t ordinal) { return driver.load(ordinal, image, made); });
  if (status == TESSERA_RT_OK)
    *library = reinterpret_cast<tessera_rt_library *>(made.release());
  return status;
}

tessera_rt_status tessera_rt_library_from_functions(const tessera_rt_native_kernel *kernels,
                                                    size_t count, tessera_rt_library **library) {
  *library = reinterpret_cast<tessera_rt_library *>(nativeLibrary({kernels, count}).release());
  return TESSERA_RT_OK;
}

void tessera_rt_library_release(tessera_rt_library *library) { delete unwrap(library); }

tessera_rt_status tessera_rt_library_kernel(tessera_rt_library *library, const char *name,
                                            const tessera_rt_device_kernel **kernel) {
  const Kernel *found = nullptr;
  auto status = unwrap(library)->find(name, found);
  *kernel = reinterpret_cast<const tessera_rt_device_kernel *>(found);
  return status;
}

tessera_rt_status tessera_rt_launch(const tessera_rt_device_kernel *handle,
                                    const tessera_rt_launch_config *config, const int64_t *words,
                                    uint32_t wordCount, tessera_rt_stream stream) {
  const Kernel *kernel = unwrap(handle);
  if (config->struct_bytes != sizeof(*config))
    return fail(TESSERA_RT_ARGUMENT,
                "kernel '" + kernel->name + "': the launch configuration is of another version");
  if (kernel->device.device != stream.device)
    return fail(TESSERA_RT_ARGUMENT, "kernel '" + kernel->name + "' was loaded for " +
                                         deviceName(kernel->device.device) + ", the stream is of " +
                                         deviceName(stream.device));
  if (config->flags & ~knownKernelFlags)
    return fail(TESSERA_RT_ARGUMENT, "kernel '" + kernel->name + "': unknown launch flags");
  if (config->grid[0] <= 0 || config->grid[1] <= 0 || config->grid[2] <= 0)
    return TESSERA_RT_OK;
  int64_t blocks;
  if (__builtin_mul_overflow(config->grid[0], config->grid[1], &blocks) ||
      __builtin_mul_overflow(blocks, config->grid[2], &blocks))
    return fail(TESSERA_RT_ARGUMENT,
                "kernel '" + kernel->name + "': the grid does not fit into 64 bits");
  KernelShape shape;
  for (int d = 0; d < 3; ++d) {
    shape.block[d] = config->block[d];
    shape.cluster[d] = std::max(config->cluster[d], 1u);
  }
  shape.sharedBytes = config->shared_bytes;
  shape.flags = config->flags;
  return driverOf(stream.device)->launch(stream, {kernel, &shape, config->grid, words, wordCount});
}

tessera_rt_status tessera_rt_capture_begin(tessera_rt_stream stream) {
  return with(stream.device, [&](Driver &driver, int32_t) { return driver.beginCapture(stream); });
}

tessera_rt_status tessera_rt_capture_end(tessera_rt_stream stream, tessera_rt_graph **graph) {
  Graph *made = nullptr;
  auto status =
      with(stream.device, [&](Driver &driver, int32_t) { return driver.endCapture(stream, made); });
  *graph = reinterpret_cast<tessera_rt_graph *>(made);
  return status;
}

tessera_rt_status tessera_rt_graph_launch(tessera_rt_graph *graph, tessera_rt_stream stream) {
  if (unwrap(graph)->driver != driverOf(stream.device))
    return fail(TESSERA_RT_ARGUMENT,
                "the graph is of another kind of device than " + deviceName(stream.device));
  count(metrics.graphLaunches);
  return unwrap(graph)->driver->launchGraph(*unwrap(graph), stream);
}

void tessera_rt_graph_release(tessera_rt_graph *graph) { delete unwrap(graph); }
