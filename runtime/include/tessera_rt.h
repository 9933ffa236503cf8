//===- tessera_rt.h - The C ABI of the Tessera runtime --------------------===//
//
// `libtessera_rt` loads bundles (host program as data + machine code), binds the arguments of a
// call, checks its guards, and runs its kernels. It contains no compiler and needs only the C
// library. Devices, streams, memory and graphs are in tessera_rt/device.h.
//
// A call has three steps, so that the caller's own library can allocate the results:
//
//   tessera_rt_prepare   bind sizes and strides, check guards, compute the results' shapes
//   tessera_rt_frame_*   query the results' types and shapes
//   tessera_rt_execute   run the launches, write the results
//
// Rules. Functions return a tessera_rt_status; if it is not TESSERA_RT_OK, tessera_rt_last_error()
// holds a message for this thread until its next failing call. No function throws. Modules and
// functions may be used by several threads concurrently; a frame belongs to one thread at a time.
// Strings and functions returned without a `release` belong to the object that returned them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_H
#define TESSERA_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_RT_API __attribute__((visibility("default")))

/// Version of this interface: (major << 16) | minor. A minor version only adds.
#define TESSERA_RT_ABI_VERSION 0x00010004u

typedef enum tessera_rt_status {
  TESSERA_RT_OK = 0,
  TESSERA_RT_MISMATCH = 1, ///< the arguments belong to another specialisation; try another function
  TESSERA_RT_ARGUMENT = 2, ///< the arguments are invalid for every specialisation
  TESSERA_RT_OUT_OF_MEMORY = 3, ///< temporary or scratch memory could not be allocated
  TESSERA_RT_INVALID = 4,       ///< a blob is corrupt, truncated or of an unknown version
  TESSERA_RT_UNSUPPORTED = 5,   ///< no code for this target, no such device, no driver for it
  TESSERA_RT_NOT_FOUND = 6,     ///< no such function, no such cache entry
  TESSERA_RT_IO = 7,            ///< a file could not be read or written
  TESSERA_RT_DEVICE = 8,        ///< a device's driver reported an error; the device stays usable
  TESSERA_RT_DEVICE_LOST = 9,   ///< the device is unusable until the process is restarted
  // Since ABI 1.3. The results are then undefined.
  TESSERA_RT_INDEX = 10,     ///< an element of an argument is an index out of range
  TESSERA_RT_ASSERTION = 11, ///< an assertion of the program on its data failed
} tessera_rt_status;

/// Element types. The values are part of the bundle format.
typedef enum tessera_rt_dtype {
  TESSERA_RT_FP64 = 0,
  TESSERA_RT_FP32 = 1,
  TESSERA_RT_BF16 = 2,
  TESSERA_RT_FP16 = 3,
  TESSERA_RT_INT64 = 4,
  TESSERA_RT_INT32 = 5,
  TESSERA_RT_INT16 = 6,
  TESSERA_RT_INT8 = 7,
  TESSERA_RT_UINT8 = 8,
  TESSERA_RT_BOOL = 9,
  TESSERA_RT_FP8_E4M3 = 10, ///< no infinities; numbers that are too large are NaN
  TESSERA_RT_FP8_E5M2 = 11,
} tessera_rt_dtype;

/// Devices by number: the CPU is one device, GPUs count from 0.
#define TESSERA_RT_DEVICE_CPU 0
#define TESSERA_RT_DEVICE_CUDA(ordinal) (0x10000 + (ordinal))

/// A strided view of memory. Strides count elements and may be zero or negative.
typedef struct tessera_rt_tensor {
  void *data;
  int32_t dtype; ///< tessera_rt_dtype
  int32_t ndim;
  const int64_t *sizes;
  const int64_t *strides;
  int32_t device; ///< TESSERA_RT_DEVICE_CPU, TESSERA_RT_DEVICE_CUDA(n)
  int32_t reserved;
} tessera_rt_tensor;

typedef enum tessera_rt_value_kind {
  TESSERA_RT_TENSOR = 0,
  TESSERA_RT_INT = 1,
  TESSERA_RT_FLOAT = 2,
  TESSERA_RT_BOOLEAN = 3,
} tessera_rt_value_kind;

/// One argument of a call.
typedef struct tessera_rt_value {
  int32_t kind; ///< tessera_rt_value_kind
  int32_t reserved;
  union {
    tessera_rt_tensor tensor;
    int64_t integer; ///< of TESSERA_RT_INT and TESSERA_RT_BOOLEAN
    double real;
  } as;
} tessera_rt_value;

/// A failed check, as a kernel reports it.
typedef struct tessera_rt_failure {
  int64_t program; ///< the first linear grid index at which one failed; INT64_MAX: none did
  int64_t check;   ///< its number among the checks of the launch
  int64_t value;   ///< the value found
} tessera_rt_failure;

/// The kernel's inputs besides its argument words and its range. Kernels import nothing else.
typedef struct tessera_rt_kernel_env {
  uint32_t thread_index; ///< 0 is the thread that launched
  uint32_t thread_count; ///< upper bound of the threads that take part in this launch
  void *scratch;         ///< this thread's own memory, 64-byte aligned; undefined at entry
  uint64_t scratch_bytes;
  tessera_rt_failure *failure; ///< this thread's own; since ABI 1.3
  uint64_t reserved[4];
} tessera_rt_kernel_env;

/// A kernel: runs the linear grid indices [begin, end), the grid's first dimension varying fastest.
typedef void (*tessera_rt_kernel)(const int64_t *args, int64_t begin, int64_t end,
                                  const tessera_rt_kernel_env *env);

/// Work runs in order within a stream. A plain value: a stream of another library is wrapped by its
/// device and its native handle (a CUstream; null is the device's default stream). The CPU's
/// default stream runs everything synchronously.
typedef struct tessera_rt_stream {
  int32_t device;
  int32_t reserved;
  void *handle;
} tessera_rt_stream;

typedef struct tessera_rt_module tessera_rt_module;
typedef struct tessera_rt_function tessera_rt_function;
typedef struct tessera_rt_frame tessera_rt_frame;

/// \name Versions, errors, the host
/// @{
TESSERA_RT_API uint32_t tessera_rt_abi_version(void);
TESSERA_RT_API const char *tessera_rt_version(void);
/// The message of this thread's last failure ("" when there was none).
TESSERA_RT_API const char *tessera_rt_last_error(void);
/// The host's target string: architecture, colon, comma-separated feature names as LLVM spells
/// them, sorted.
TESSERA_RT_API const char *tessera_rt_host_target(void);
/// @}

/// \name Shape classes
/// @{
/// Sizes that share code. A compiled function accepts every size of the classes it was compiled
/// for.
typedef struct tessera_rt_size_class {
  int64_t divisor; ///< divides every size of the class
  int64_t bound;   ///< the largest size of the class; 0: none
  int32_t fixed;   ///< the class holds this one size only
  uint8_t code;    ///< differs between classes
} tessera_rt_size_class;

/// The class of a size; of an unknown size if it is negative.
TESSERA_RT_API tessera_rt_size_class tessera_rt_classify_size(int64_t size);
/// @}

/// \name Modules
/// @{
/// Loads a bundle from memory; the bytes are copied. Only images that this machine can run are
/// mapped; code for GPUs is loaded when a function is first requested.
TESSERA_RT_API tessera_rt_status tessera_rt_load(const void *bytes, size_t length,
                                                 tessera_rt_module **module);
TESSERA_RT_API tessera_rt_status tessera_rt_load_file(const char *path, tessera_rt_module **module);
TESSERA_RT_API void tessera_rt_module_release(tessera_rt_module *module);
/// The manifest (JSON text, opaque to the runtime), and its length.
TESSERA_RT_API const char *tessera_rt_module_manifest(const tessera_rt_module *module,
                                                      size_t *length);

/// A kernel that lives in the calling program, for drivers' conformance tests and for embedding.
typedef struct tessera_rt_native_kernel {
  const char *name;
  tessera_rt_kernel entry;
  uint64_t scratch_bytes;
} tessera_rt_native_kernel;
/// Makes a module of one function `name` from an encoded program and kernels given by address.
TESSERA_RT_API tessera_rt_status tessera_rt_module_from_functions(
    const char *name, const void *program, size_t length, const tessera_rt_native_kernel *kernels,
    size_t kernel_count, tessera_rt_module **module);

/// The number of functions that this machine can run. A name occurs once per specialisation.
TESSERA_RT_API size_t tessera_rt_function_count(const tessera_rt_module *module);
TESSERA_RT_API const tessera_rt_function *tessera_rt_function_at(const tessera_rt_module *module,
                                                                 size_t index);
/// The `index`-th specialisation of `name` in the bundle's order, or null.
TESSERA_RT_API const tessera_rt_function *tessera_rt_find_function(const tessera_rt_module *module,
                                                                   const char *name, size_t index);
/// The same for any device; the best-fitting code is loaded on the first request. `backend` is
/// "tileir" or "ptx" to request code of that backend only, or null. TESSERA_RT_NOT_FOUND if there
/// is no such specialisation, TESSERA_RT_UNSUPPORTED if the bundle has no code for the device.
TESSERA_RT_API tessera_rt_status tessera_rt_get_function(tessera_rt_module *module, int32_t device,
                                                         const char *backend, const char *name,
                                                         size_t index,
                                                         const tessera_rt_function **function);
TESSERA_RT_API int32_t tessera_rt_function_device(const tessera_rt_function *function);
TESSERA_RT_API const char *tessera_rt_function_name(const tessera_rt_function *function);
TESSERA_RT_API int32_t tessera_rt_function_argument_count(const tessera_rt_function *function);
TESSERA_RT_API int32_t tessera_rt_function_result_count(const tessera_rt_function *function);
/// Whether a result is of type `dtype` (tessera_rt_dtype).
TESSERA_RT_API int32_t tessera_rt_function_returns(const tessera_rt_function *function,
                                                   int32_t dtype);

/// One parameter or result of a function.
typedef struct tessera_rt_parameter {
  uint64_t struct_bytes; ///< set by the caller to sizeof(tessera_rt_parameter)
  const char *name;      ///< "" of a result
  int32_t kind;          ///< tessera_rt_value_kind
  int32_t dtype;         ///< of a tensor: tessera_rt_dtype
  int32_t rank;          ///< of a tensor
  int32_t reserved;
} tessera_rt_parameter;
/// Since ABI 1.2. TESSERA_RT_NOT_FOUND if there is no argument or result of that number.
TESSERA_RT_API tessera_rt_status tessera_rt_function_argument(const tessera_rt_function *function,
                                                              int32_t index,
                                                              tessera_rt_parameter *parameter);
TESSERA_RT_API tessera_rt_status tessera_rt_function_result(const tessera_rt_function *function,
                                                            int32_t index,
                                                            tessera_rt_parameter *parameter);
/// @}

/// \name Calls
/// @{
/// Binds a call. On success, release *frame with tessera_rt_frame_release. Sizes and strides are
/// read here only; the data addresses must stay valid until tessera_rt_execute returns.
TESSERA_RT_API tessera_rt_status tessera_rt_prepare(const tessera_rt_function *function,
                                                    const tessera_rt_value *args, int32_t nargs,
                                                    tessera_rt_frame **frame);
/// Binds a frame to another call of its function that differs in addresses and floats only, which
/// is fast. TESSERA_RT_MISMATCH, without a message, if it differs otherwise or a guard on an
/// address fails: then the frame can only be bound again or released. Since ABI 1.2.
TESSERA_RT_API tessera_rt_status tessera_rt_rebind(tessera_rt_frame *frame,
                                                   const tessera_rt_value *args, int32_t nargs);
/// The type and shape of result `index`: dense, row-major, data null. The arrays are valid as long
/// as the frame.
TESSERA_RT_API tessera_rt_status tessera_rt_frame_result(const tessera_rt_frame *frame,
                                                         int32_t index, tessera_rt_tensor *result);
/// An estimate of the call's work in nanoseconds of one core, from the times of earlier calls;
/// negative if unknown.
TESSERA_RT_API int64_t tessera_rt_frame_work(const tessera_rt_frame *frame);
/// Runs the launches. results[i] is the dense memory of result i, and must not overlap an argument.
TESSERA_RT_API tessera_rt_status tessera_rt_execute(tessera_rt_frame *frame, void *const *results);
/// The same on a stream of the function's device, without waiting for it: memory must stay valid
/// until the stream has completed. tessera_rt_execute uses the device's default stream, and does
/// not wait either unless the device is the CPU.
TESSERA_RT_API tessera_rt_status tessera_rt_execute_on(tessera_rt_frame *frame,
                                                       void *const *results,
                                                       tessera_rt_stream stream);
TESSERA_RT_API void tessera_rt_frame_release(tessera_rt_frame *frame);
/// @}

/// \name Threads
/// @{
/// The number of threads that one launch may use, including the caller: TESSERA_NUM_THREADS, or
/// else the cores that the process may use.
TESSERA_RT_API int32_t tessera_rt_get_num_threads(void);
/// Sets it for the process; a number below 1 restores the default. Waits for a running launch.
TESSERA_RT_API tessera_rt_status tessera_rt_set_num_threads(int32_t count);
/// @}

/// \name Metrics and logging
/// @{
typedef struct tessera_rt_metrics {
  uint64_t struct_bytes;      ///< set by the caller to sizeof(tessera_rt_metrics)
  uint64_t calls;             ///< tessera_rt_execute, tessera_rt_execute_on
  uint64_t launches;          ///< kernels launched on the CPU with a grid that is not empty
  uint64_t parallel_launches; ///< those that used the pool
  uint64_t temporary_bytes;   ///< temporaries allocated on the CPU, in total
  uint64_t memory_in_use;     ///< bytes of temporaries and of threads' scratch memory in use now
  uint64_t memory_peak;       ///< peak use
  uint64_t memory_cached;     ///< bytes kept for reuse
  // Since ABI 1.1.
  uint64_t device_launches;          ///< kernels launched on GPUs
  uint64_t graph_launches;           ///< graphs replayed
  uint64_t copies;                   ///< copies and fills through this interface
  uint64_t copied_bytes;             ///< bytes of these
  uint64_t device_memory_in_use;     ///< of the pools of all GPUs in use
  uint64_t device_memory_peak;       ///< peak use
  uint64_t device_memory_reserved;   ///< bytes that the pools hold, used or cached
  uint64_t modules_loaded;           ///< bundles and libraries
  uint64_t load_nanoseconds;         ///< time spent loading them, in total
  uint64_t cache_hits, cache_misses; ///< of the disk cache
  uint64_t cache_read_bytes, cache_written_bytes;
  uint64_t compilations;        ///< as reported by tessera_rt_count_compilation
  uint64_t compile_nanoseconds; ///< their time, in total
  uint64_t errors;              ///< failures of this interface, without mismatches
} tessera_rt_metrics;
TESSERA_RT_API void tessera_rt_get_metrics(tessera_rt_metrics *metrics);
/// The same as text in Prometheus' exposition format; free it with tessera_rt_free.
TESSERA_RT_API char *tessera_rt_metrics_text(void);
/// Times each kernel that a call launches (TESSERA_PROFILE=1 enables it from the start): the text
/// above then has tessera_kernel_seconds_total{function,kernel,device}. Launches of graphs are not
/// timed. Since ABI 1.2.
TESSERA_RT_API void tessera_rt_set_profiling(int32_t on);
TESSERA_RT_API int32_t tessera_rt_get_profiling(void);
/// Reported by a compiler in this process, so that one scrape shows everything.
TESSERA_RT_API void tessera_rt_count_compilation(uint64_t nanoseconds);
/// Returns cached temporary memory of all devices to the system.
TESSERA_RT_API void tessera_rt_trim(void);

typedef enum tessera_rt_log_level {
  TESSERA_RT_LOG_WARNING = 0,
  TESSERA_RT_LOG_INFO = 1,
  TESSERA_RT_LOG_DEBUG = 2,
} tessera_rt_log_level;
/// Writes one line to standard error if TESSERA_LOG (info, debug) enables this level; warnings are
/// always written.
TESSERA_RT_API void tessera_rt_log(tessera_rt_log_level level, const char *text);
TESSERA_RT_API int32_t tessera_rt_log_enabled(tessera_rt_log_level level);
/// @}

/// \name The disk cache
/// Content-addressed: a key is text that contains everything an entry depends on, without times and
/// paths, so that it is the same on every machine. An entry that cannot be read, that is corrupt,
/// or that another user could have written, is a miss. A failure to write an entry is logged as a
/// warning, once. See docs/cache.md.
/// @{
#define TESSERA_RT_KEY_CHARS 64
/// The SHA-256 of bytes, which is the name of a key's entry: 64 hexadecimal digits and a
/// terminating zero.
TESSERA_RT_API void tessera_rt_cache_key(const void *bytes, size_t length,
                                         char key[TESSERA_RT_KEY_CHARS + 1]);
/// TESSERA_RT_OK, or TESSERA_RT_NOT_FOUND. Free *bytes with tessera_rt_free.
TESSERA_RT_API tessera_rt_status tessera_rt_cache_get(const char *key, void **bytes,
                                                      size_t *length);
TESSERA_RT_API tessera_rt_status tessera_rt_cache_put(const char *key, const void *bytes,
                                                      size_t length);
/// The folder in use ("" if there is none).
TESSERA_RT_API const char *tessera_rt_cache_folder(void);

// Since ABI 1.4.
/// Adds a line to an entry that is a set of lines; tessera_rt_cache_get returns those of both
/// caches.
TESSERA_RT_API tessera_rt_status tessera_rt_cache_add_line(const char *key, const char *line);
/// A text file of the folder, such as "tuning-sm_90.txt"; like entries.
TESSERA_RT_API tessera_rt_status tessera_rt_cache_get_table(const char *name, void **bytes,
                                                            size_t *length);
TESSERA_RT_API tessera_rt_status tessera_rt_cache_put_table(const char *name, const void *bytes,
                                                            size_t length);
/// The folder of the read-only shared cache ("" if there is none).
TESSERA_RT_API const char *tessera_rt_cache_shared_folder(void);

typedef struct tessera_rt_cache_info {
  uint64_t struct_bytes;
  uint64_t entries, bytes;
  uint64_t limit; ///< in bytes; the least recently used entries are evicted first
  uint64_t shared_entries, shared_bytes;
} tessera_rt_cache_info;
TESSERA_RT_API tessera_rt_status tessera_rt_cache_get_info(tessera_rt_cache_info *info);

/// Called with the path of a file and the reason why it is not used.
typedef void (*tessera_rt_cache_tell)(void *user, const char *path, const char *reason);
/// Checks all entries and tables of both caches; TESSERA_RT_INVALID if some would not be loaded.
TESSERA_RT_API tessera_rt_status tessera_rt_cache_verify(tessera_rt_cache_tell tell, void *user,
                                                         uint64_t *checked);
/// Removes all entries of this user's cache; measurement tables are kept.
TESSERA_RT_API tessera_rt_status tessera_rt_cache_clear(uint64_t *entries, uint64_t *bytes);
/// Writes the loadable entries and tables of this user's cache to one file.
TESSERA_RT_API tessera_rt_status tessera_rt_cache_export(const char *path,
                                                         tessera_rt_cache_tell tell, void *user,
                                                         uint64_t *entries, uint64_t *bytes);
typedef struct tessera_rt_cache_imported {
  uint64_t struct_bytes;
  uint64_t entries, bytes; ///< imported entries
  uint64_t known;          ///< entries that existed already
  uint64_t tables;         ///< imported tables
  uint64_t tables_known;   ///< tables that existed already, unchanged
  uint64_t tables_kept;    ///< tables that existed with other lines, which are kept
} tessera_rt_cache_imported;
/// Imports the entries and tables of such a file into this user's cache, or into the shared one,
/// after checking all of them.
TESSERA_RT_API tessera_rt_status tessera_rt_cache_import(const char *path, int32_t shared,
                                                         tessera_rt_cache_imported *imported);
TESSERA_RT_API void tessera_rt_free(void *bytes);
/// @}

#ifdef __cplusplus
}
#endif

#endif // TESSERA_RT_H
