//===- FakeDevices.cpp - Devices and contexts of the fake libcuda ---------===//

#include "FakeState.h"

#include <cstring>

namespace fake_cuda {

CUresult cuInit(unsigned) { return state().initResult; }

CUresult cuDriverGetVersion(int *version) {
  *version = state().version;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult result, const char **name) {
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    break;
  case CUDA_ERROR_ILLEGAL_ADDRESS:
    *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
    break;
  default:
    *name = "CUDA_ERROR_OF_THE_FAKE";
  }
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult result, const char **text) {
  *text = isSticky(result) ? "an illegal memory access was encountered" : "an error";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  ENTER(cuDeviceGetCount);
  *count = state().devices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  ENTER(cuDeviceGet);
  *device = ordinal;
  return ordinal < state().devices ? CUDA_SUCCESS : misuse();
}

CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  ENTER(cuDeviceGetName);
  std::strncpy(name, "Fake GPU", static_cast<size_t>(length));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *name, int length, CUdevice) {
  ENTER(cuDeviceGetPCIBusId);
  std::strncpy(name, "0000:00:00.0", static_cast<size_t>(length));
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice) {
  ENTER(cuDeviceTotalMem);
  *bytes = memoryBytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int which, CUdevice) {
  ENTER(cuDeviceGetAttribute);
  static const std::map<int, int> values = {
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, state().capability / 10},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, state().capability % 10},
      {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10},
      {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1}};
  auto found = values.find(which);
  *value = found == values.end() ? 1 : found->second;
  if (which == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)
    *value = state().pools;
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  ENTER(cuDeviceCanAccessPeer);
  *can = device != peer;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  ENTER(cuDevicePrimaryCtxRetain);
  *context = reinterpret_cast<CUcontext>(&state().contexts[device]);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = reinterpret_cast<CUcontext>(current());
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  contextStack().push_back(reinterpret_cast<FakeContext *>(context));
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (!current())
    return misuse();
  *context = reinterpret_cast<CUcontext>(current());
  contextStack().pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  ENTER_WITH_CONTEXT(cuCtxSynchronize);
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  ENTER_WITH_CONTEXT(cuCtxEnablePeerAccess);
  int other = reinterpret_cast<FakeContext *>(peer)->device;
  bool isNew = state().peers.insert({current()->device, other}).second;
  return isNew ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuPointerGetAttribute(void *data, int which, CUdeviceptr address) {
  ENTER(cuPointerGetAttribute);
  auto after = state().allocations.upper_bound(address);
  if (after == state().allocations.begin())
    return CUDA_ERROR_INVALID_VALUE;
  const auto &[start, block] = *--after;
  if (address >= start + block.bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *static_cast<unsigned *>(data) = CU_MEMORYTYPE_DEVICE;
  else
    *static_cast<int *>(data) = block.device;
  return CUDA_SUCCESS;
}

} // namespace fake_cuda
