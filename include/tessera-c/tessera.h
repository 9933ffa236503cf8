//===- tessera.h - The C ABI of the Tessera compiler ----------------------===//
//
// `libtessera` turns the source text of a function and the types of its arguments into a bundle
// that the runtime (tessera_rt.h) loads. The command line, the Python package and C++ programs are
// thin over these two libraries.
//
// Rules. Everything is re-entrant: threads may compile at once. No function throws or exits. What a
// result handle returns lives as long as the handle; what a caller passes in is read during the
// call only. Structs start with their size, so that fields can be added at their end: a field
// beyond `struct_bytes` counts as zero. Text is UTF-8, terminated by zero unless a length is given.
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
#define TESSERA_ABI_VERSION 0x00010004u

typedef enum tessera_status {
  TESSERA_OK = 0,
  TESSERA_DIAGNOSTICS = 1, ///< the program is wrong; the diagnostics say where
  TESSERA_UNSUPPORTED = 2, ///< an operation, type or stage that this target does not have
  TESSERA_REQUEST = 3,     ///< the request is malformed; the one diagnostic says how
  TESSERA_INTERNAL = 4,    ///< a fault of the compiler
} tessera_status;

/// \name Requests
/// @{

/// One dimension of a tensor argument.
///
/// `size` is the size at hand (-1: not known). Where `fixed` is 0 the code must serve every size
/// that has the same `divisor` and `hint`: the compiler uses `size` itself only where the program
/// needs to know it (a range, a branch), and then says so with a specialisation guard in the host
/// program and by tessera_result_guarded.
typedef struct tessera_dim {
  int64_t size;
  int64_t divisor; ///< a known divisor of the size, at least 1
  int64_t hint;    ///< an upper bound of the sizes to be served; 0: none
  int32_t fixed;   ///< the size is part of the specialisation
  int32_t reserved;
} tessera_dim;

typedef enum tessera_argument_kind {
  TESSERA_ARGUMENT_TENSOR = 0,
  TESSERA_ARGUMENT_INT = 1,
  TESSERA_ARGUMENT_FLOAT = 2,
  TESSERA_ARGUMENT_BOOL = 3,
  TESSERA_ARGUMENT_CONSTANT =
      4, ///< any value as JSON, see tessera_resolve_fn; not passed at run time
} tessera_argument_kind;

/// One parameter of the function, in the order of its definition. A parameter that is left out at
/// the end of the list, or has a null name, takes its default.
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

  // Scalars: the value at hand, used as `size` above is.
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

/// Asks the caller what a free name means. `scope` is "" for the function itself, else the id of a
/// function that was given as an answer; `name` may be a dotted path ("self.scale", "module.HALF").
///
/// The answer is JSON text that lives until the next question or the end of the call:
///   {"kind": "int" | "bool" | "str", "value": …}   {"kind": "none"}
///   {"kind": "float", "value": 0.5}                infinities and NaN as "inf", "-inf", "nan"
///   {"kind": "dtype", "value": "fp16"}
///   {"kind": "tuple", "value": [answer, …]}        lists too
///   {"kind": "function", "id": "1", "name": "gelu", "source": "…", "file": "…", "line": 12,
///    "column": 4}                                  a @tsr.function: text, where it starts, and how
///                                                  many columns of indentation were removed
///   {"kind": "module", "value": "tessera" | "math" | other name}
///   {"kind": "operation", "module": "tessera" | "math", "name": "softmax"}
///   {"kind": "array", "value": "numpy.ndarray"}    an error that says to pass it as an argument
///   {"kind": "unknown", "value": "set"}            some other object; `value` is its type
///   {"kind": "missing", "names": ["scale", …]}     not bound; names that are, for "did you mean"
/// A null answer is "missing" with no names.
typedef const char *(*tessera_resolve_fn)(void *user, const char *scope, const char *name);

typedef struct tessera_compile_request {
  uint64_t struct_bytes;
  const char *source;    ///< text of the function with its decorators, or of a whole file
  uint64_t source_bytes; ///< may hold anything, also zeros and invalid UTF-8
  const char *file;      ///< for diagnostics
  int32_t first_line;    ///< number of the text's first line in the file, from 1
  int32_t first_column;  ///< columns of indentation that were removed from each line
  const char *function;  ///< name of the function to compile; null: the only one of the text
  const tessera_argument *arguments;
  uint64_t argument_count;
  /// "cpu" (this machine), an architecture with features as in tessera_rt_host_target, or a GPU:
  /// "sm_90", "sm_90:tileir,aarch64" where its host is another machine than this one. Null or empty:
  /// as the function's decorator says, else "cpu".
  const char *target;
  /// "numerics", "matmul", "fast_math", "deterministic", …; of code generation
  /// "optimization_level" (0 to 3), "tensor_cores", "profiling", "tuning" (true or false; since ABI
  /// 1.2).
  const tessera_option *options;
  uint64_t option_count;
  tessera_resolve_fn resolve; ///< null: the text is a whole file and resolves its names itself
  void *resolve_user;
  /// Stages whose text is wanted: "graph" "sched" "tile" "placed" "target" "explain", of a CPU "llvm" "asm",
  /// of a GPU "tileir" "ptx", the bytes of "tileir-bytecode" "cubin", "sass", and "launcher": the
  /// host side as C++ over CUDA's driver interface.
  const char *const *stages;
  uint64_t stage_count;
  int32_t no_code; ///< stop after the last wanted stage: the result has no bundle
  int32_t reserved;
} tessera_compile_request;
/// @}

/// \name Compiling
/// @{
typedef struct tessera_result tessera_result;

/// Compiles one specialisation of one function. Always gives a handle, also on failure, which must
/// be given to tessera_result_release; its status is returned.
TESSERA_API tessera_status tessera_compile(const tessera_compile_request *request,
                                           tessera_result **result);

/// Evaluates the function operation by operation on the CPU, floats in float64, integers and bools
/// in their own types, with an error bound per element. `values` are the arguments, one for each
/// tensor and scalar of the request (constants have none), in its order.
TESSERA_API tessera_status tessera_reference(const tessera_compile_request *request,
                                             const tessera_rt_value *values, uint64_t value_count,
                                             tessera_result **result);

/// How a simulation is run; zeros are the defaults. Since ABI 1.4.
typedef struct tessera_simulation {
  uint64_t struct_bytes;
  uint64_t seeds;      ///< orders that are tried
  uint64_t first_seed;
  uint64_t most_runs;  ///< of an exhaustive exploration of one launch
  int32_t exhaustive;  ///< all orders that differ, where they are few enough
  int32_t mutants;     ///< spoil each operation of synchronisation, and see whether that is found
} tessera_simulation;

/// Runs the kernels that the request's GPU would run by way of PTX, on the CPU, warps and copies in
/// orders that are against them. `values` as for tessera_reference. What is found are diagnostics:
/// races, uses of a copy before its wait, dead-locks, accesses out of bounds, uninitialised reads, each
/// with a note at the other access. The text of the stage "simulation" is a summary, and the member
/// "simulation" of the report all of it. Since ABI 1.4.
TESSERA_API tessera_status tessera_simulate(const tessera_compile_request *request,
                                            const tessera_rt_value *values, uint64_t value_count,
                                            const tessera_simulation *options,
                                            tessera_result **result);

/// Puts bundles together, in their order: other functions, and the same for other machines. The
/// result has a bundle. Since ABI 1.1.
TESSERA_API tessera_status tessera_merge(const void *const *bundles, const uint64_t *lengths,
                                         uint64_t count, tessera_result **result);

/// A C++ header with one typed function for each function of a bundle, in the namespace `name`; its
/// text is the result's stage "header". Since ABI 1.2.
TESSERA_API tessera_status tessera_header(const void *bundle, uint64_t length, const char *name,
                                          tessera_result **result);

TESSERA_API void tessera_result_release(tessera_result *result);
TESSERA_API tessera_status tessera_result_status(const tessera_result *result);
/// @}

/// \name What a compilation gives
/// @{

/// The bundle of one function, named as the request names it; null when there is none.
TESSERA_API const void *tessera_result_bundle(const tessera_result *result, uint64_t *length);
/// The text of a stage that was asked for; null when it was not or was not reached.
TESSERA_API const char *tessera_result_ir(const tessera_result *result, const char *stage);
/// The same with its length, for stages that are bytes. Since ABI 1.1.
TESSERA_API const void *tessera_result_stage(const tessera_result *result, const char *stage,
                                             uint64_t *length);
/// JSON: {"function", "target", "class": {…}, "guards": ["…"], "kernels": [{"name", "dims": [{"name",
/// "role", "size", "tile"}], "notes", "flops", "bytes", "programs", "predicted_us", "bound", and "tuned" where
/// tiles and hints were measured, "same_as" where the code is that of another kernel}], "timings": {stage:
/// milliseconds}}. Predictions are at typical sizes.
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
/// TESSERA_REQUEST where there is no kernel of that number.
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
/// A suggestion of a diagnostic: these characters replaced by a text. An empty range inserts, an
/// empty text removes. Since ABI 1.3.
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
/// All diagnostics as clang would print them, with or without colour.
TESSERA_API const char *tessera_result_text(const tessera_result *result, int32_t colour);
/// @}

/// \name What a reference evaluation gives
/// @{
typedef struct tessera_output {
  tessera_rt_tensor value; ///< dense; floats as fp64, integers and bools in their own type
  int32_t dtype;           ///< the type that the compiled function returns
  int32_t reserved;
  const double *bound;     ///< per element, absolute; null for integers and bools
  const uint8_t *excluded; ///< per element, 1: its bound straddles a discontinuity; null: none is
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
/// What this machine has, as JSON: {"devices": [{"target": "cpu", "name": …, …}, {"target": "sm_90",
/// …}], "no_cuda": why no GPU can be used}.
TESSERA_API const char *tessera_devices(void);
/// The operations of the language, as JSON: [{"module": "tsr" | "math" | "", "name", "signature": "x,
/// dim=None", "meaning", "function": tsr.name(x), "method": x.name(), "property": x.name}, …]. Since ABI 1.3.
TESSERA_API const char *tessera_operations(void);
/// The program tessera-opt, which runs single passes on textual IR. It is the one function here that
/// is a whole program: it prints, and may exit; call it once in a process.
TESSERA_API int tessera_opt_main(int argc, char **argv);
/// @}

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_TESSERA_H
