//===- FakeMemory.cpp - Memory of the fake libcuda ------------------------===//

#include "FakeState.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fake_cuda {

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  ENTER_WITH_CONTEXT(cuMemGetInfo);
  *total = memoryBytes;
  *free = memoryBytes - state().usedPerDevice[current()->device];
  return CUDA_SUCCESS;
}

/// A block of host memory that represents device memory.
static CUresult makeBlock(CUdeviceptr *address, size_t bytes, int device, FakePool *pool) {
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, 0xa5, std::min<size_t>(bytes, 1 << 20)); // new memory is not zeroed
  *address = reinterpret_cast<uintptr_t>(memory);
  state().allocations[*address] = {bytes, device, pool};
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  ENTER_WITH_CONTEXT(cuMemAlloc);
  uint64_t &used = state().usedPerDevice[current()->device];
  if (bytes > memoryBytes - used)
    return CUDA_ERROR_OUT_OF_MEMORY;
  used += bytes;
  return makeBlock(address, bytes, current()->device, nullptr);
}

void release(CUdeviceptr address) {
  auto found = state().allocations.find(address);
  if (found == state().allocations.end()) {
    misuse();
    return;
  }
  Allocation block = found->second;
  state().allocations.erase(found);
  if (block.pool) {
    block.pool->used -= block.bytes;
    block.pool->kept.insert(block.bytes);
  } else {
    state().usedPerDevice[block.device] -= block.bytes;
  }
  std::free(reinterpret_cast<void *>(static_cast<uintptr_t>(address)));
}

FakeGraph::~FakeGraph() {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  for (CUdeviceptr block : blocks)
    release(block);
}

CUresult cuMemFree(CUdeviceptr address) {
  ENTER_WITH_CONTEXT(cuMemFree);
  release(address);
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  ENTER_WITH_CONTEXT(cuMemHostAlloc);
  if (bytes > memoryBytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *memory = std::malloc(bytes);
  state().hostBlocks.insert(*memory);
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *memory) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (!state().hostBlocks.erase(memory))
    return misuse();
  std::free(memory);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream handle) {
  ENTER_WITH_CONTEXT(cuMemcpyAsync);
  return submit(handle, [=] {
    std::memmove(reinterpret_cast<void *>(static_cast<uintptr_t>(target)),
                 reinterpret_cast<const void *>(static_cast<uintptr_t>(source)), bytes);
  });
}

CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t bytes, CUstream handle) {
  ENTER_WITH_CONTEXT(cuMemsetD8Async);
  return submit(handle, [=] {
    std::memset(reinterpret_cast<void *>(static_cast<uintptr_t>(target)), value, bytes);
  });
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) {
  ENTER_WITH_CONTEXT(cuMemPoolCreate);
  if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return misuse();
  auto *made = new FakePool;
  made->device = properties->location.id;
  *pool = reinterpret_cast<CUmemoryPool>(made);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool, int, void *) {
  ENTER(cuMemPoolSetAttribute);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, int which, void *value) {
  ENTER(cuMemPoolGetAttribute);
  auto *pool = reinterpret_cast<FakePool *>(handle);
  *static_cast<uint64_t *>(value) = which == CU_MEMPOOL_ATTR_USED_MEM_CURRENT ? pool->used
                                    : which == CU_MEMPOOL_ATTR_USED_MEM_HIGH  ? pool->usedHigh
                                    : which == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
                                        ? pool->reserved
                                        : pool->reservedHigh;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
  ENTER(cuMemPoolTrimTo);
  auto *pool = reinterpret_cast<FakePool *>(handle);
  while (!pool->kept.empty() && pool->reserved > keep) {
    uint64_t bytes = *pool->kept.begin();
    pool->kept.erase(pool->kept.begin());
    pool->reserved -= bytes;
    state().usedPerDevice[pool->device] -= bytes;
  }
  return CUDA_SUCCESS;
}

/// A block is reused by an allocation of at most its size; it then counts with the smaller size,
/// and the rest is freed.
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool handle,
                                 CUstream on) {
  ENTER_WITH_CONTEXT(cuMemAllocFromPoolAsync);
  auto *pool = reinterpret_cast<FakePool *>(handle);
  uint64_t &used = state().usedPerDevice[pool->device];
  FakeStream *mine;
  if (!stream(on, mine))
    return CUDA_ERROR_INVALID_VALUE;
  if (mine && mine->capture) { // owned by the graph
    CUresult result = bytes > memoryBytes ? CUDA_ERROR_OUT_OF_MEMORY
                                          : makeBlock(address, bytes, pool->device, nullptr);
    if (result == CUDA_SUCCESS) {
      used += bytes;
      mine->capture->blocks.push_back(*address);
    }
    return result;
  }
  auto kept = pool->kept.lower_bound(bytes);
  if (kept != pool->kept.end()) {
    pool->reserved -= *kept;
    used -= *kept;
    pool->kept.erase(kept);
  }
  if (bytes > memoryBytes - used)
    return CUDA_ERROR_OUT_OF_MEMORY;
  used += bytes;
  pool->reserved += bytes;
  pool->reservedHigh = std::max(pool->reservedHigh, pool->reserved);
  pool->used += bytes;
  pool->usedHigh = std::max(pool->usedHigh, pool->used);
  return makeBlock(address, bytes, pool->device, pool);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream on) {
  ENTER_WITH_CONTEXT(cuMemFreeAsync);
  FakeStream *mine;
  if (!stream(on, mine))
    return CUDA_ERROR_INVALID_VALUE;
  if (!(mine && mine->capture))
    release(address);
  return CUDA_SUCCESS;
}

} // namespace fake_cuda
