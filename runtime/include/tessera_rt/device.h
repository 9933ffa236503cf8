//===- device.h - Devices, streams, memory, graphs: the C ABI -------------===//
//
// The environment of calls: devices, memory on them, copies, streams, events, graphs, and
// standalone kernels. Every function works on the CPU and on GPUs unless it says otherwise. Drivers
// are loaded at run time: on a machine without one, functions that name a GPU return
// TESSERA_RT_UNSUPPORTED with the reason.
//
// Environment:
//   TESSERA_CUDA_LIBRARY=PATH    this libcuda instead of libcuda.so.1; "none": no CUDA at all
//   TESSERA_CUDA_BLOCKING=1      wait after each launch, so that an error names its kernel
//
// Errors name the kernel, its grid and its arguments. After TESSERA_RT_DEVICE the device is usable.
// After TESSERA_RT_DEVICE_LOST (a kernel accessed memory that it does not own, hardware failed)
// CUDA cannot be used on it in this process, and every further call returns the error. A process
// that was forked from one that used CUDA cannot use it: TESSERA_RT_DEVICE, until it calls exec.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_DEVICE_H
#define TESSERA_RT_DEVICE_H

#include "tessera_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/// \name Devices
/// @{
typedef enum tessera_rt_device_kind {
  TESSERA_RT_KIND_CPU = 0,
  TESSERA_RT_KIND_CUDA = 1,
} tessera_rt_device_kind;

typedef struct tessera_rt_device_info {
  uint64_t struct_bytes; ///< set by the caller to sizeof(tessera_rt_device_info)
  int32_t device;
  int32_t kind; ///< tessera_rt_device_kind
  char name[128];
  char target[64]; ///< "sm_90"; the CPU's architecture
  char bus[32];    ///< PCI address
  uint64_t memory_bytes;
  uint64_t l2_bytes;
  uint64_t shared_bytes; ///< maximum shared memory per block
  int32_t sm_count;      ///< the threads of a launch on the CPU
  int32_t threads_per_block, threads_per_sm, registers_per_sm, warp_size;
  int32_t clock_khz, memory_clock_khz, memory_bus_bits;
  int32_t cooperative;    ///< whether cooperative launches are supported
  int32_t clusters;       ///< whether thread block clusters are supported
  int32_t driver_version; ///< of CUDA: 1000 * major + 10 * minor
} tessera_rt_device_info;

/// The devices of a kind. TESSERA_RT_UNSUPPORTED, with the reason, if there is no driver, the
/// driver is too old, or there is no GPU; *count is 0 then.
TESSERA_RT_API tessera_rt_status tessera_rt_device_count(int32_t kind, int32_t *count);
TESSERA_RT_API tessera_rt_status tessera_rt_device_get_info(int32_t device,
                                                            tessera_rt_device_info *info);
/// Free and total memory of the device.
TESSERA_RT_API tessera_rt_status tessera_rt_device_memory(int32_t device, uint64_t *free_bytes,
                                                          uint64_t *total_bytes);
/// Waits for all work on the device.
TESSERA_RT_API tessera_rt_status tessera_rt_device_synchronize(int32_t device);
/// Whether kernels on `device` can use memory of `peer`.
TESSERA_RT_API tessera_rt_status tessera_rt_device_can_access(int32_t device, int32_t peer,
                                                              int32_t *can);
TESSERA_RT_API tessera_rt_status tessera_rt_device_enable_access(int32_t device, int32_t peer);
/// The device that owns an address; the CPU if no driver knows it.
TESSERA_RT_API tessera_rt_status tessera_rt_address_device(const void *address, int32_t *device);
/// @}

/// \name Streams and events
/// @{
/// `priority`: 0 is the default, negative is more urgent.
TESSERA_RT_API tessera_rt_status tessera_rt_stream_create(int32_t device, int32_t priority,
                                                          tessera_rt_stream *stream);
TESSERA_RT_API void tessera_rt_stream_release(tessera_rt_stream stream);
TESSERA_RT_API tessera_rt_status tessera_rt_stream_synchronize(tessera_rt_stream stream);
TESSERA_RT_API tessera_rt_status tessera_rt_stream_query(tessera_rt_stream stream, int32_t *done);

typedef struct tessera_rt_event tessera_rt_event;
TESSERA_RT_API tessera_rt_status tessera_rt_event_create(int32_t device, tessera_rt_event **event);
TESSERA_RT_API void tessera_rt_event_release(tessera_rt_event *event);
TESSERA_RT_API tessera_rt_status tessera_rt_event_record(tessera_rt_event *event,
                                                         tessera_rt_stream stream);
TESSERA_RT_API tessera_rt_status tessera_rt_event_synchronize(tessera_rt_event *event);
TESSERA_RT_API tessera_rt_status tessera_rt_event_query(tessera_rt_event *event, int32_t *done);
/// Time between two recorded events.
TESSERA_RT_API tessera_rt_status tessera_rt_event_elapsed(tessera_rt_event *start,
                                                          tessera_rt_event *end,
                                                          double *milliseconds);
/// Later work in the stream waits for the event.
TESSERA_RT_API tessera_rt_status tessera_rt_stream_wait(tessera_rt_stream stream,
                                                        tessera_rt_event *event);
/// @}

/// \name Memory
/// @{
/// Stream-ordered memory from the pool of the stream's device, usable by later work of the stream.
/// If memory runs out, the pool is trimmed first. At least 64-byte aligned.
TESSERA_RT_API tessera_rt_status tessera_rt_allocate(tessera_rt_stream stream, uint64_t bytes,
                                                     void **memory);
/// Frees memory in stream order; `bytes` is the requested size.
TESSERA_RT_API tessera_rt_status tessera_rt_deallocate(tessera_rt_stream stream, void *memory,
                                                       uint64_t bytes);
/// Pinned host memory, which the device copies from and to directly.
TESSERA_RT_API tessera_rt_status tessera_rt_host_allocate(int32_t device, uint64_t bytes,
                                                          void **memory);
TESSERA_RT_API void tessera_rt_host_deallocate(int32_t device, void *memory);
/// Copies between any two addresses that the device can access, including host memory.
TESSERA_RT_API tessera_rt_status tessera_rt_copy(tessera_rt_stream stream, void *target,
                                                 const void *source, uint64_t bytes);
/// Sets each byte.
TESSERA_RT_API tessera_rt_status tessera_rt_fill(tessera_rt_stream stream, void *target,
                                                 uint8_t value, uint64_t bytes);

typedef struct tessera_rt_pool_statistics {
  uint64_t struct_bytes; ///< set by the caller to sizeof(tessera_rt_pool_statistics)
  uint64_t in_use, in_use_peak;
  uint64_t reserved, reserved_peak; ///< in use or cached
  uint64_t allocations;             ///< since the process started
  uint64_t allocated_bytes;
  uint64_t trims_for_memory; ///< how often the pool was trimmed because memory ran out
} tessera_rt_pool_statistics;
TESSERA_RT_API tessera_rt_status
tessera_rt_pool_get_statistics(int32_t device, tessera_rt_pool_statistics *statistics);
/// Trims the pool to `keep_bytes`.
TESSERA_RT_API tessera_rt_status tessera_rt_pool_trim(int32_t device, uint64_t keep_bytes);
/// @}

/// \name Standalone kernels
/// @{
typedef struct tessera_rt_library tessera_rt_library;
typedef struct tessera_rt_device_kernel tessera_rt_device_kernel;

/// Loads a cubin or PTX text for a GPU.
TESSERA_RT_API tessera_rt_status tessera_rt_library_load(int32_t device, const void *bytes,
                                                         size_t length,
                                                         tessera_rt_library **library);
/// Kernels of the calling program, for the CPU.
TESSERA_RT_API tessera_rt_status tessera_rt_library_from_functions(
    const tessera_rt_native_kernel *kernels, size_t count, tessera_rt_library **library);
TESSERA_RT_API void tessera_rt_library_release(tessera_rt_library *library);
/// The kernel belongs to the library.
TESSERA_RT_API tessera_rt_status tessera_rt_library_kernel(tessera_rt_library *library,
                                                           const char *name,
                                                           const tessera_rt_device_kernel **kernel);

#define TESSERA_RT_LAUNCH_COOPERATIVE 1u ///< cooperative: all blocks are resident at once
#define TESSERA_RT_LAUNCH_DEPENDENT 2u   ///< may start while the previous launch ends

typedef struct tessera_rt_launch_config {
  uint64_t struct_bytes; ///< set by the caller to sizeof(tessera_rt_launch_config)
  int64_t grid[3];       ///< blocks; an empty grid is not launched
  uint32_t block[3];     ///< threads; (1, 1, 1) for CUDA Tile IR; ignored on the CPU
  uint32_t cluster[3];   ///< blocks; (0, 0, 0) and (1, 1, 1): none
  uint32_t shared_bytes; ///< dynamic shared memory per block
  uint32_t flags;        ///< TESSERA_RT_LAUNCH_…
} tessera_rt_launch_config;

/// Launches with one 64-bit word per parameter: an address, an integer, or the bits of a number
/// (the low bytes if the parameter is shorter). Words are read before the call returns.
TESSERA_RT_API tessera_rt_status tessera_rt_launch(const tessera_rt_device_kernel *kernel,
                                                   const tessera_rt_launch_config *config,
                                                   const int64_t *words, uint32_t word_count,
                                                   tessera_rt_stream stream);
/// @}

/// \name Graphs
/// @{
typedef struct tessera_rt_graph tessera_rt_graph;
/// From here on the stream (not the default one) records its work instead of running it.
TESSERA_RT_API tessera_rt_status tessera_rt_capture_begin(tessera_rt_stream stream);
TESSERA_RT_API tessera_rt_status tessera_rt_capture_end(tessera_rt_stream stream,
                                                        tessera_rt_graph **graph);
TESSERA_RT_API tessera_rt_status tessera_rt_graph_launch(tessera_rt_graph *graph,
                                                         tessera_rt_stream stream);
TESSERA_RT_API void tessera_rt_graph_release(tessera_rt_graph *graph);
/// @}

#ifdef __cplusplus
}
#endif

#endif // TESSERA_RT_DEVICE_H
