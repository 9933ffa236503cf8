//===- tessera.h - The C ABI of the Tessera compiler ----------------------===//
//
// `libtessera` compiles the source text of a function for given argument types to a bundle, which
// the runtime (tessera_rt.h) loads. The command line, the Python package and C++ programs are thin
// layers over these two libraries.
//
// Rules. Everything is re-entrant: threads may compile concurrently. No function throws or exits.
// Pointers returned by a result handle are valid as long as the handle; pointers passed in are read
// during the call only. Structs start with their size, so that fields can be added at their end: a
// field beyond `struct_bytes` counts as zero. Text is UTF-8 and zero-terminated unless a length is
// given.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_C_TESSERA_H
#define TESSERA_C_TESSERA_H

#include "tessera_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_API __attribute__((visibility("default")))

/// Version of this interface: (major << 16) | minor. A minor version only adds.
#define TESSERA_ABI_VERSION 0x00010008u

typedef enum tessera_status {
  TESSERA_OK = 0,
  TESSERA_DIAGNOSTICS = 1, ///< the program has errors; the diagnostics locate them
  TESSERA_UNSUPPORTED = 2, ///< an operation, type or stage that this target does not support
  TESSERA_REQUEST = 3,     ///< the request is malformed; the only diagnostic explains it
  TESSERA_INTERNAL = 4,    ///< a bug in the compiler
} tessera_status;

/// \name Requests
/// @{

/// One dimension of a tensor argument.
///
/// `size` is the concrete size (-1: not known). If `fixed` is 0 the code must work for every size
/// with the same `divisor` and `hint`: the compiler uses `size` itself only where the program needs
/// its value (a range, a branch), and then records a specialisation guard in the host program and
/// reports it by tessera_result_guarded.
typedef struct tessera_dim {
  int64_t size;
  int64_t divisor; ///< a known divisor of the size, at least 1
  int64_t hint;    ///< an upper bound of the supported sizes; 0: none
  int32_t fixed;   ///< the size is part of the specialisation
  int32_t reserved;
} tessera_dim;

typedef enum tessera_argument_kind {
  TESSERA_ARGUMENT_TENSOR = 0,
  TESSERA_ARGUMENT_INT = 1,
  TESSERA_ARGUMENT_FLOAT = 2,
  TESSERA_ARGUMENT_BOOL = 3,
  TESSERA_ARGUMENT_CONSTANT =
      4, ///< any value as JSON, see tessera_resolve_fn; not passed at run time. Also a tensor
         ///< whose elements follow from their indices:
         ///<   {"kind": "tensor", "dtype": "bool", "shape": [64, 64], "steps": [-1, 1],
         ///<    "offset": 0, "value": [answer, …], "low": -3, "high": 0}
         ///< The position of an element is the sum of `offset` and the products of its indices and
         ///< `steps`. Without values, an element is its position; one value is that of all
         ///< elements; of two, the first is for positions from `low` to `high`.
} tessera_argument_kind;

/// One parameter of the function, in the order of its definition. A parameter that is missing at
/// the end of the list, or has a null name, takes its default, or else the type of its annotation
/// (tessera_compile_request, from_annotations).
typedef struct tessera_argument {
  uint64_t struct_bytes;
  const char *name; ///< the parameter's name
  int32_t kind;     ///< tessera_argument_kind

  // Tensors.
  int32_t dtype; ///< tessera_rt_dtype
  int32_t rank;
  int32_t unit_stride_dim; ///< a dimension whose stride is 1, or -1
  int32_t contiguous;      ///< dense and row-major
  int32_t reserved;
  const tessera_dim *dims;

  // Scalars: the concrete value, used like `size` above.
  int32_t has_value;
  int32_t fixed;   ///< the value is part of the specialisation
  int64_t integer; ///< of int and bool
  double real;
  const char *constant; ///< of TESSERA_ARGUMENT_CONSTANT
} tessera_argument;

typedef struct tessera_option {
  const char *key;
  const char *value;
} tessera_option;

/// Asks the caller for the meaning of a free name. `scope` is "" for the function itself, otherwise
/// the id of a function that was an answer; `name` may be a dotted path ("self.scale",
/// "module.HALF").
///
/// The answer is JSON text that is valid until the next call of this function or the end of the
/// compilation:
///   {"kind": "int" | "bool" | "str", "value": …}   {"kind": "none"}
///   {"kind": "float", "value": 0.5}                infinities and NaN as "inf", "-inf", "nan"
///   {"kind": "dtype", "value": "fp16"}
///   {"kind": "tuple", "value": [answer, …]}        lists too
///   {"kind": "function", "id": "1", "name": "gelu", "source": "…", "file": "…", "line": 12,
///    "column": 4}                                  a @tsr.function: text, its location, and the
///                                                  columns of indentation that were removed; with
///                                                  "grad": "grad:w", its gradient (option `grad`)
///                                                  The name "defvjp.forward" or "defvjp.backward"
///                                                  in a function's scope is its derivative rule
///   {"kind": "module", "value": "tessera" | "math" | other name}
///   {"kind": "operation", "module": "tessera" | "math", "name": "softmax"}
///   {"kind": "array", "value": "numpy.ndarray"}    an error: arrays must be passed as arguments
///   {"kind": "unknown", "value": "set"}            some other object; `value` is its type
///   {"kind": "missing", "names": ["scale", …]}     not bound; bound names, for "did you mean"
/// A null answer is "missing" with no names.
typedef const char *(*tessera_resolve_fn)(void *user, const char *scope, const char *name);

typedef struct tessera_compile_request {
  uint64_t struct_bytes;
  const char *source;    ///< text of the function with its decorators, or of a whole file
  uint64_t source_bytes; ///< may contain any bytes, including zeros and invalid UTF-8
  const char *file;      ///< for diagnostics
  int32_t first_line;    ///< number of the text's first line in the file, from 1
  int32_t first_column;  ///< columns of indentation that were removed from each line
  const char *function;  ///< name of the function to compile; null: the only one of the text
  const tessera_argument *arguments;
  uint64_t argument_count;
  /// "cpu" (the host), an architecture with features as in tessera_rt_host_target, or a GPU:
  /// "sm_90", or "sm_90:tileir,aarch64" if its host has another architecture. Null or empty: the
  /// target of the function's decorator, otherwise "cpu".
  const char *target;
  /// "numerics", "matmul", "fast_math", "deterministic", …; for code generation
  /// "optimization_level" (0 to 3), "tensor_cores", "profiling", "tuning" (true or false; since ABI
  /// 1.2); "remarks" ("missed" or "all"): what passes report, as diagnostics of severity
  /// TESSERA_REMARK, or in the text "explain" where that is requested.
  const tessera_option *options;
  uint64_t option_count;
  tessera_resolve_fn resolve; ///< null: the text is a whole file and resolves its names itself
  void *resolve_user;
  /// Stages whose text is requested: "graph" "sched" "tile" "placed" "target" "explain", for CPUs
  /// "llvm" "asm", for GPUs "tileir" "ptx", the bytes of "tileir-bytecode" "cubin", "sass", and
  /// "launcher": the host code as C++ over the CUDA driver API.
  const char *const *stages;
  uint64_t stage_count;
  int32_t no_code; ///< stop after the last requested stage: the result has no bundle
  /// A parameter that is not given and has no default gets the type of its annotation: `Tensor["M",
  /// 512, fp32]` is a dense tensor of any M, `float` a run-time number. It is an error if the
  /// annotation leaves its type or its rank open. Since ABI 1.5.
  int32_t from_annotations;
} tessera_compile_request;
/// @}

/// \name Compiling
/// @{
typedef struct tessera_result tessera_result;

/// Compiles one specialisation of one function. Always returns a handle, also on failure, which
/// must be released by tessera_result_release; returns its status.
TESSERA_API tessera_status tessera_compile(const tessera_compile_request *request,
                                           tessera_result **result);

/// Evaluates the function operation by operation on the CPU, floats in float64, integers and bools
/// in their own types, with an error bound per element. `values` are the arguments, one for each
/// tensor and scalar of the request (constants have none), in its order.
TESSERA_API tessera_status tessera_reference(const tessera_compile_request *request,
                                             const tessera_rt_value *values, uint64_t value_count,
                                             tessera_result **result);

/// Writes the function as a program over ready kernels, which were compiled with the library: its
/// code is there at once. The program is the result's stage "program", in the runtime's encoding;
/// tessera_rt_module_from_functions loads it with the kernels of tessera_ready_kernels. Its text is
/// the stage "target". TESSERA_UNSUPPORTED if its results would differ from those of compiled code
/// by more than their bounds allow (numerics "strict", "deterministic", …). Since ABI 1.8.
TESSERA_API tessera_status tessera_interpret(const tessera_compile_request *request,
                                             tessera_result **result);

/// The ready kernels for the CPU at hand. Since ABI 1.8.
TESSERA_API const tessera_rt_native_kernel *tessera_ready_kernels(uint64_t *count);

/// Options of a simulation; zeros are the defaults. Since ABI 1.4.
typedef struct tessera_simulation {
  uint64_t struct_bytes;
  uint64_t seeds; ///< number of schedules to try
  uint64_t first_seed;
  uint64_t most_runs; ///< limit of an exhaustive exploration of one launch
  int32_t exhaustive; ///< all distinct schedules, if they are few enough
  int32_t
      mutants; ///< remove each synchronisation operation in turn, and check that this is detected
} tessera_simulation;

/// Simulates, on the CPU, the kernels that the request's GPU would run through the PTX backend,
/// with adversarial schedules of warps and asynchronous copies. `values` as for tessera_reference.
/// Findings are diagnostics: races, uses of a copy before its wait, deadlocks, out-of-bounds
/// accesses, uninitialised reads, each with a note at the other access. The stage "simulation" is a
/// summary, and the member "simulation" of the report has all details. Since ABI 1.4.
TESSERA_API tessera_status tessera_simulate(const tessera_compile_request *request,
                                            const tessera_rt_value *values, uint64_t value_count,
                                            const tessera_simulation *options,
                                            tessera_result **result);

/// Merges bundles, in their order: different functions, and the same functions for different
/// targets. The result has a bundle. Since ABI 1.1.
TESSERA_API tessera_status tessera_merge(const void *const *bundles, const uint64_t *lengths,
                                         uint64_t count, tessera_result **result);

/// Lists the functions of the request's text with @tsr.function, in its order, methods as
/// "Class.method": the lines of the result's stage "functions". Since ABI 1.5.
TESSERA_API tessera_status tessera_functions(const tessera_compile_request *request,
                                             tessera_result **result);

/// Generates a C++ header with one typed function for each function of a bundle, in the namespace
/// `name`; its text is the result's stage "header". Since ABI 1.2.
TESSERA_API tessera_status tessera_header(const void *bundle, uint64_t length, const char *name,
                                          tessera_result **result);

TESSERA_API void tessera_result_release(tessera_result *result);
TESSERA_API tessera_status tessera_result_status(const tessera_result *result);
/// @}

/// \name Results of a compilation
/// @{

/// The bundle of one function, with the request's name; null if there is none.
TESSERA_API const void *tessera_result_bundle(const tessera_result *result, uint64_t *length);
/// The text of a requested stage; null if it was not requested or not reached.
TESSERA_API const char *tessera_result_ir(const tessera_result *result, const char *stage);
/// The same with its length, for stages that are bytes. Since ABI 1.1.
TESSERA_API const void *tessera_result_stage(const tessera_result *result, const char *stage,
                                             uint64_t *length);
/// JSON: {"function", "target", "class": {…}, "guards": ["…"], "kernels": [{"name", "dims":
/// [{"name", "role", "size", "tile"}], "notes", "flops", "bytes", "programs", "predicted_us",
/// "bound", and "tuned" if tiles, launch and tuning were measured, "same_as" if the code is that of
/// another kernel, "changed": fields of launch and tuning that later passes overwrote, ["num_stages
/// 5
/// -> 4: shared memory", …]}], "timings": {stage: milliseconds}}. Predictions are for typical
/// sizes.
TESSERA_API const char *tessera_result_report(const tessera_result *result);

/// One kernel of the report. Since ABI 1.2.
typedef struct tessera_kernel_dim {
  const char *name;
  const char *role; ///< "parallel", "stream", "inner"
  const char *size; ///< an expression over the sizes of the arguments
  int64_t tile;
} tessera_kernel_dim;
typedef struct tessera_kernel_report {
  uint64_t struct_bytes; ///< set by the caller to sizeof(tessera_kernel_report)
  const char *name;
  double flops;
  double bytes; ///< every input once, every output once
  double programs;
  double predicted_us;
  const char *bound; ///< "compute", "memory", "launch"
  const tessera_kernel_dim *dims;
  uint64_t dim_count;
} tessera_kernel_report;
TESSERA_API uint64_t tessera_result_kernel_count(const tessera_result *result);
/// Returns TESSERA_REQUEST if there is no kernel of that number.
TESSERA_API tessera_status tessera_result_kernel(const tessera_result *result, uint64_t index,
                                                 tessera_kernel_report *report);

/// A size (or, with dim -1, a scalar) whose value became a guard.
typedef struct tessera_guarded {
  int32_t argument;
  int32_t dim;
} tessera_guarded;
TESSERA_API uint64_t tessera_result_guarded_count(const tessera_result *result);
TESSERA_API tessera_guarded tessera_result_guarded(const tessera_result *result, uint64_t index);
/// @}

/// \name Diagnostics
/// @{
typedef enum tessera_severity {
  TESSERA_ERROR = 0,
  TESSERA_WARNING = 1,
  TESSERA_NOTE = 2,
  TESSERA_REMARK = 3,
} tessera_severity;

/// Lines and columns count from 1, columns in characters; line 0: no location. A note belongs to
/// the error or warning before it.
typedef struct tessera_diagnostic {
  int32_t severity; ///< tessera_severity
  int32_t line;
  int32_t column;
  int32_t end_line;
  int32_t end_column; ///< one past the last
  int32_t reserved;
  const char *file;
  const char *message;
} tessera_diagnostic;
TESSERA_API uint64_t tessera_result_diagnostic_count(const tessera_result *result);
TESSERA_API tessera_diagnostic tessera_result_diagnostic(const tessera_result *result,
                                                         uint64_t index);
/// A suggestion of a diagnostic: a replacement of these characters by a text. An empty range
/// inserts, an empty text removes. Since ABI 1.3.
typedef struct tessera_fixit {
  int32_t line;
  int32_t column;
  int32_t end_line;
  int32_t end_column; ///< one past the last
  const char *file;
  const char *replacement;
} tessera_fixit;
TESSERA_API uint64_t tessera_result_fixit_count(const tessera_result *result, uint64_t diagnostic);
TESSERA_API tessera_fixit tessera_result_fixit(const tessera_result *result, uint64_t diagnostic,
                                               uint64_t index);
/// All diagnostics in clang's text format, with or without colour.
TESSERA_API const char *tessera_result_text(const tessera_result *result, int32_t colour);
/// @}

/// \name Results of a reference evaluation
/// @{
typedef struct tessera_output {
  tessera_rt_tensor value; ///< dense; floats as fp64, integers and bools in their own type
  int32_t dtype;           ///< the type of the compiled function's result
  int32_t reserved;
  const double *bound;     ///< per element, absolute; null for integers and bools
  const uint8_t *excluded; ///< per element, 1: its bound includes a discontinuity; null: none does
  uint64_t excluded_count;
} tessera_output;
TESSERA_API uint64_t tessera_result_output_count(const tessera_result *result);
TESSERA_API tessera_output tessera_result_output(const tessera_result *result, uint64_t index);
/// Whether the function returns a tuple (also of one).
TESSERA_API int32_t tessera_result_is_tuple(const tessera_result *result);
/// @}

/// \name The library
/// @{
TESSERA_API uint32_t tessera_abi_version(void);
TESSERA_API const char *tessera_version(void);
/// The devices of this machine, as JSON: {"devices": [{"target": "cpu", "name": …, …}, {"target":
/// "sm_90", …}], "no_cuda": why no GPU can be used}.
TESSERA_API const char *tessera_devices(void);
/// The GPUs that code is compiled for, as JSON: [{"chip": "sm_90", "product", "ptx": "sm_90a",
/// "ptx_version", "first_cuda", "last_cuda", "features": [name, …], "mma": [{"shape": "m16n8k16",
/// "operands": [type, …], "accumulators": [type, …]}, …], "limits": {"sm_count", "warps_per_sm",
/// "ctas_per_sm", "shared_bytes_per_sm", "shared_bytes_per_cta", "ctas_per_cluster", "l2_bytes",
/// "registers_per_sm", …},
/// "peak": {"terabytes_per_second", "tflops_fp32", …}, "reached": {"copy_terabytes_per_second", …}
/// where it was measured, "sources": {"limits": {"sm_count": "vendor" | "measured" | "derived" |
/// "assumed", …}, "peak": …, "reached": …}}, …]. Since ABI 1.5.
TESSERA_API const char *tessera_chips(void);
/// The share of an SM's warps that CTAs of a kernel occupy; `registers` are those of a thread.
/// Negative for a chip that is not known. Since ABI 1.5.
TESSERA_API double tessera_occupancy(const char *chip, int64_t threads, int64_t registers,
                                     int64_t shared_bytes);
/// The operations of the language, as JSON: [{"module": "tsr" | "math" | "", "name", "signature":
/// "x, dim=None", "meaning", "function": tsr.name(x), "method": x.name(), "property": x.name}, …].
/// Since ABI 1.3.
TESSERA_API const char *tessera_operations(void);
/// A graph of ATen operations as a program: JSON in (include/tessera/Import/Aten.h), JSON out:
/// {"program": text, "unsupported": [[node, reason], …]} or {"error": message}. The text of the
/// program is empty if a node is not supported. Valid until the thread's next call. Since ABI 1.6.
TESSERA_API const char *tessera_import_aten(const char *graph);
/// The same for a graph of ONNX operators (include/tessera/Import/Onnx.h). The answer also has
/// "parameters": the names of the program's parameters. Since ABI 1.7.
TESSERA_API const char *tessera_import_onnx(const char *graph);
/// The operators that tessera_import_onnx translates, as a JSON array. Since ABI 1.7.
TESSERA_API const char *tessera_onnx_operators(void);
/// A StableHLO module as a program (include/tessera/Import/StableHlo.h): MLIR text of `size` bytes
/// in, JSON out. Beside "program", "parameters" and "unsupported", the answer has "inputs" and
/// "outputs": the names in the module; "arguments": the parameter of each input; and "constants":
/// [{"name", "dtype", "shape", "data": the bytes in base64}, …], which are parameters, too. Since
/// ABI 1.8.
TESSERA_API const char *tessera_import_stablehlo(const char *module, size_t size);
/// The operations that tessera_import_stablehlo translates, as a JSON array. Since ABI 1.8.
TESSERA_API const char *tessera_stablehlo_operations(void);
/// The program tessera-opt, which runs single passes on textual IR. Unlike all other functions it
/// is a whole program: it prints, and may exit; call it once per process.
TESSERA_API int tessera_opt_main(int argc, char **argv);
/// @}

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_TESSERA_H
