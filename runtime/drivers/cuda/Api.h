//===- Api.h - The part of the CUDA driver API that we use ----------------===//
//
// Declared here, so that the runtime builds without CUDA and starts without libcuda. Values and
// layouts are those of CUDA 12.0's cuda.h, which later versions keep; if that header is installed,
// a test compares them.
//
// Entry points are looked up by cuGetProcAddress with version 12.0, so that a later driver returns
// functions of these signatures.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_DRIVERS_CUDA_API_H
#define TESSERA_RT_DRIVERS_CUDA_API_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::rt::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct Context_st *;
using CUstream = struct Stream_st *;
using CUevent = struct Event_st *;
using CUmemoryPool = struct MemoryPool_st *;
using CUlibrary = struct Library_st *;
using CUmodule = struct Module_st *;
using CUkernel = struct Kernel_st *;
using CUfunction = struct Function_st *;
using CUgraph = struct Graph_st *;
using CUgraphExec = struct GraphExec_st *;

enum ResultCode : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_STUB_LIBRARY = 34,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
  CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_CONTAINED = 226,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
  CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_INVALID_CLUSTER_SIZE = 912,
};

enum DeviceAttribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
  CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = 120,
};

enum PoolAttribute : int {
  CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
  CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
  CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
  CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
  CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8,
};

enum FunctionAttribute : int {
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
};

enum PointerAttribute : int {
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
};
inline constexpr unsigned CU_MEMORYTYPE_DEVICE = 2;

enum LaunchAttributeID : int {
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
};

enum JitOption : int {
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr int CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1;
inline constexpr int CU_MEM_ALLOCATION_TYPE_PINNED = 1;
inline constexpr int CU_MEM_LOCATION_TYPE_DEVICE = 1;

struct CUlaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int cooperative;
    struct {
      unsigned x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
  } value;
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
};

struct CUmemPoolProps {
  int allocType;
  int handleTypes;
  struct {
    int type;
    int id;
  } location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

struct alignas(64) CUtensorMap {
  uint64_t opaque[16];
};

enum TensorMapSetting {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
  CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 = 11,
  CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B = 1,
  CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0,
};

// X(name, parameters): required. O(name, parameters): null if the driver is too old for it.
#define TESSERA_CUDA_ENTRY_POINTS(X, O)                                                            \
  X(cuInit, (unsigned))                                                                            \
  X(cuDriverGetVersion, (int *))                                                                   \
  X(cuGetErrorName, (CUresult, const char **))                                                     \
  X(cuGetErrorString, (CUresult, const char **))                                                   \
  X(cuDeviceGetCount, (int *))                                                                     \
  X(cuDeviceGet, (CUdevice *, int))                                                                \
  X(cuDeviceGetName, (char *, int, CUdevice))                                                      \
  X(cuDeviceGetPCIBusId, (char *, int, CUdevice))                                                  \
  X(cuDeviceTotalMem, (size_t *, CUdevice))                                                        \
  X(cuDeviceGetAttribute, (int *, int, CUdevice))                                                  \
  X(cuDeviceCanAccessPeer, (int *, CUdevice, CUdevice))                                            \
  X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                             \
  X(cuCtxGetCurrent, (CUcontext *))                                                                \
  X(cuCtxPushCurrent, (CUcontext))                                                                 \
  X(cuCtxPopCurrent, (CUcontext *))                                                                \
  X(cuCtxSynchronize, ())                                                                          \
  X(cuCtxEnablePeerAccess, (CUcontext, unsigned))                                                  \
  X(cuPointerGetAttribute, (void *, int, CUdeviceptr))                                             \
  X(cuStreamCreateWithPriority, (CUstream *, unsigned, int))                                       \
  X(cuStreamDestroy, (CUstream))                                                                   \
  X(cuStreamSynchronize, (CUstream))                                                               \
  X(cuStreamQuery, (CUstream))                                                                     \
  X(cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                              \
  X(cuStreamIsCapturing, (CUstream, int *))                                                        \
  X(cuStreamBeginCapture, (CUstream, int))                                                         \
  X(cuStreamEndCapture, (CUstream, CUgraph *))                                                     \
  X(cuEventCreate, (CUevent *, unsigned))                                                          \
  X(cuEventDestroy, (CUevent))                                                                     \
  X(cuEventRecord, (CUevent, CUstream))                                                            \
  X(cuEventQuery, (CUevent))                                                                       \
  X(cuEventSynchronize, (CUevent))                                                                 \
  X(cuEventElapsedTime, (float *, CUevent, CUevent))                                               \
  X(cuMemGetInfo, (size_t *, size_t *))                                                            \
  X(cuMemAlloc, (CUdeviceptr *, size_t))                                                           \
  X(cuMemFree, (CUdeviceptr))                                                                      \
  X(cuMemHostAlloc, (void **, size_t, unsigned))                                                   \
  X(cuMemFreeHost, (void *))                                                                       \
  X(cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                                   \
  X(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))                               \
  X(cuMemPoolCreate, (CUmemoryPool *, const CUmemPoolProps *))                                     \
  X(cuMemPoolSetAttribute, (CUmemoryPool, int, void *))                                            \
  X(cuMemPoolGetAttribute, (CUmemoryPool, int, void *))                                            \
  X(cuMemPoolTrimTo, (CUmemoryPool, size_t))                                                       \
  X(cuMemAllocFromPoolAsync, (CUdeviceptr *, size_t, CUmemoryPool, CUstream))                      \
  X(cuMemFreeAsync, (CUdeviceptr, CUstream))                                                       \
  X(cuLibraryLoadData,                                                                             \
    (CUlibrary *, const void *, int *, void **, unsigned, int *, void **, unsigned))               \
  X(cuLibraryGetModule, (CUmodule *, CUlibrary))                                                   \
  X(cuLibraryUnload, (CUlibrary))                                                                  \
  X(cuLibraryGetKernel, (CUkernel *, CUlibrary, const char *))                                     \
  X(cuKernelGetFunction, (CUfunction *, CUkernel))                                                 \
  X(cuFuncSetAttribute, (CUfunction, int, int))                                                    \
  X(cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **, void **))                      \
  X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long))                     \
  X(cuGraphLaunch, (CUgraphExec, CUstream))                                                        \
  X(cuGraphExecDestroy, (CUgraphExec))                                                             \
  X(cuGraphDestroy, (CUgraph))                                                                     \
  O(cuFuncGetParamInfo, (CUfunction, size_t, size_t *, size_t *))                                  \
  O(cuTensorMapEncodeTiled,                                                                        \
    (CUtensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,   \
     const uint32_t *, int, int, int, int))

struct Api {
#define TESSERA_CUDA_POINTER(name, parameters) CUresult(*name) parameters = nullptr;
  TESSERA_CUDA_ENTRY_POINTS(TESSERA_CUDA_POINTER, TESSERA_CUDA_POINTER)
#undef TESSERA_CUDA_POINTER
  int driverVersion = 0; // 1000 * major + 10 * minor

  /// Loads the library and its entry points and initialises it; returns false with the reason if
  /// there is no usable driver or no GPU.
  bool load(std::string &error);

  /// "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)".
  std::string message(CUresult result) const;
};

/// Whether the context is unusable after this error.
bool isSticky(CUresult result);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_DRIVERS_CUDA_API_H
