//===- Pool.cpp - Stream-ordered memory of a GPU --------------------------===//
//
// The driver's own pools reuse memory across streams without waiting. Ours is separate from the
// default one, so that its statistics and its trimming concern this runtime only. During capture an
// allocation becomes part of the graph.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <algorithm>

namespace tessera::rt::cuda {

static CUresult tryAllocate(Device &device, CUstream stream, uint64_t bytes, CUdeviceptr &address) {
  if (device.pool)
    return device.api.cuMemAllocFromPoolAsync(&address, bytes, device.pool, stream);
  return device.api.cuMemAlloc(&address, bytes);
}

/// Waits for work in flight, so that freed memory is reusable, and trims the pool. Returns false
/// while the stream captures, since waiting is not allowed then.
static bool makeRoom(Device &device, CUstream stream) {
  int capturing = 0;
  if (!device.pool || device.api.cuStreamIsCapturing(stream, &capturing) != CUDA_SUCCESS ||
      capturing)
    return false;
  device.trims.fetch_add(1, std::memory_order_relaxed);
  return device.api.cuCtxSynchronize() == CUDA_SUCCESS &&
         device.api.cuMemPoolTrimTo(device.pool, 0) == CUDA_SUCCESS;
}

tessera_rt_status allocate(Device &device, CUstream stream, uint64_t bytes, void *&memory) {
  Current current(device);
  CUdeviceptr address = 0;
  CUresult result = tryAllocate(device, stream, bytes, address);
  if (result == CUDA_ERROR_OUT_OF_MEMORY && makeRoom(device, stream))
    result = tryAllocate(device, stream, bytes, address);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    size_t free = 0, total = 0;
    device.api.cuMemGetInfo(&free, &total);
    tessera_rt_pool_statistics pool = {};
    statisticsOf(device, pool);
    return fail(TESSERA_RT_OUT_OF_MEMORY,
                "out of memory on " + deviceName(TESSERA_RT_DEVICE_CUDA(device.ordinal)) + " (" +
                    device.name + "): " + formatBytes(bytes) + " were asked for, " +
                    formatBytes(free) + " of " + formatBytes(total) + " are free, the pool holds " +
                    formatBytes(pool.reserved) + ", " + formatBytes(pool.in_use) + " of it in use");
  }
  if (result != CUDA_SUCCESS)
    return device.failed(result, formatBytes(bytes) + " could not be allocated");
  device.allocations.fetch_add(1, std::memory_order_relaxed);
  device.allocatedBytes.fetch_add(bytes, std::memory_order_relaxed);
  if (!device.pool) {
    uint64_t now = device.inUse.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    uint64_t peak = device.peak.load(std::memory_order_relaxed);
    while (peak < now && !device.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed))
      ;
  }
  memory = reinterpret_cast<void *>(static_cast<uintptr_t>(address));
  return TESSERA_RT_OK;
}

tessera_rt_status deallocate(Device &device, CUstream stream, void *memory, uint64_t bytes) {
  Current current(device);
  auto address = static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(memory));
  if (device.pool)
    return device.check(device.api.cuMemFreeAsync(address, stream), "memory could not be freed");
  device.inUse.fetch_sub(bytes, std::memory_order_relaxed);
  // Work that uses the memory must have ended; the plain call does not wait on every driver.
  CUresult result = device.api.cuStreamSynchronize(stream);
  if (result == CUDA_SUCCESS)
    result = device.api.cuMemFree(address);
  return device.check(result, "memory could not be freed");
}

tessera_rt_status statisticsOf(Device &device, tessera_rt_pool_statistics &statistics) {
  statistics.allocations = device.allocations;
  statistics.allocated_bytes = device.allocatedBytes;
  statistics.trims_for_memory = device.trims;
  statistics.in_use = statistics.reserved = device.inUse;
  statistics.in_use_peak = statistics.reserved_peak = device.peak;
  if (!device.pool)
    return TESSERA_RT_OK;
  auto read = [&](int which, uint64_t &value) {
    return device.check(device.api.cuMemPoolGetAttribute(device.pool, which, &value),
                        "the pool's statistics could not be read");
  };
  if (auto status = read(CU_MEMPOOL_ATTR_USED_MEM_CURRENT, statistics.in_use))
    return status;
  if (auto status = read(CU_MEMPOOL_ATTR_USED_MEM_HIGH, statistics.in_use_peak))
    return status;
  if (auto status = read(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, statistics.reserved))
    return status;
  return read(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, statistics.reserved_peak);
}

} // namespace tessera::rt::cuda
