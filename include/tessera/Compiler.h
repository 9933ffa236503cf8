//===- Compiler.h - The in-process compiler for C++ -------------*- C++ -*-===//
//
// Compiles source text, or the IR text of any stage, for a CPU or a GPU. Returns a bundle to call
// or to keep, machine code, the host launcher, the performance report, or diagnostics. Header-only
// over the C ABI of libtessera (tessera-c/tessera.h); C++17, no LLVM.
//
//   tessera::Program program;
//   program.source = "…";
//   program.arguments = {tessera::tensor("x", TESSERA_RT_FP32, {tessera::anySize, 1024})};
//   tessera::TargetLoweringOptions options;
//   options.platform = tessera::Platform::CUDA;
//   options.architecture = "sm_90";
//   tessera::Compilation result = tessera::compile(program, options);
//   if (!result)
//     std::fputs(result.text().c_str(), stderr);
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_COMPILER_H
#define TESSERA_COMPILER_H

#include "tessera-c/tessera.h"
#include "tessera/Runtime.h"

#include <map>

namespace tessera {

/// \name Inputs
/// @{
enum class Platform { CPU, CUDA };

/// The target and the code generation options.
struct TargetLoweringOptions {
  Platform platform = Platform::CPU;
  /// For CPUs: "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", or an architecture with features,
  /// "x86_64:avx2,fma"; empty: the host. For CUDA: "sm_80", "sm_90", …, with the architecture of
  /// its host if that differs, "sm_90:tileir,aarch64"; empty: the GPU of this machine.
  std::string architecture;
  /// 0: fastest compilation, no optimisation of machine code; 3: the best code. Passed to LLVM (0
  /// none, 1 less, from 2 on the default) and to NVIDIA's assembler.
  unsigned optimizationLevel = 3;
  /// Contractions may use tensor cores (on CPUs: AMX or BFMMLA). Without them contractions of
  /// narrow types are computed in fp32.
  bool tensorCores = true;
  /// Code for profilers: line tables of GPU code, frame pointers of CPU code. Kernels are timed
  /// when they run (tessera_rt_set_profiling), and Compilation::report has the predictions.
  bool profiling = false;
  /// Uses tiles, launch configurations and tuning that were measured on the chip, if the cache has
  /// some.
  bool tuning = true;
};

/// A size of an argument that is unknown at compile time.
inline constexpr int64_t anySize = -1;

/// The description of one argument.
struct ArgumentType {
  std::string name;
  tessera_argument_kind kind = TESSERA_ARGUMENT_TENSOR;
  tessera_rt_dtype dtype = TESSERA_RT_FP32;
  std::vector<int64_t> sizes; ///< of a tensor; anySize
  std::vector<int64_t>
      divisors;            ///< known divisors of sizes; empty or 0: that of the size's shape class
  bool dense = true;       ///< row-major without gaps; otherwise any strides
  bool exact = false;      ///< code for these sizes only, not for the shape class of each
  int32_t unitStride = -1; ///< of a tensor that is not dense: a dimension whose stride is 1
  bool hasValue = false;   ///< of a number: the concrete value, if the program needs to know it
  int64_t integer = 0;     ///< of int and bool
  double real = 0;
};
inline ArgumentType tensor(std::string name, tessera_rt_dtype dtype, std::vector<int64_t> sizes) {
  ArgumentType type;
  type.name = std::move(name);
  type.dtype = dtype;
  type.sizes = std::move(sizes);
  return type;
}
/// A run-time number: TESSERA_ARGUMENT_INT, _FLOAT or _BOOL.
inline ArgumentType scalar(std::string name, tessera_argument_kind kind) {
  ArgumentType type;
  type.name = std::move(name);
  type.kind = kind;
  return type;
}

/// A source text and its function to compile.
struct Program {
  std::string source;
  std::string file = "program.tsr";    ///< for diagnostics
  std::string function;                ///< empty: the only one in the text
  bool isModule = false;               ///< the text is MLIR of a stage (gir, sched, tile, target)
  std::vector<ArgumentType> arguments; ///< a module has its own
  bool fromAnnotations =
      false; ///< arguments that are not given have the types of the function's annotations
  std::vector<std::pair<std::string, std::string>> options; ///< "numerics", "matmul", …
};
/// @}

/// \name Results
/// @{
/// The compiler's prediction for one kernel, at typical sizes.
struct KernelReport {
  std::string name;
  double flops = 0;
  double bytes = 0;    ///< every input once, every output once
  double programs = 0; ///< of the grid
  double predictedMicroseconds = 0;
  std::string bound;                    ///< "compute", "memory", "launch"
  std::map<std::string, int64_t> tiles; ///< by dimension
};

class Compilation {
public:
  /// A suggestion of a diagnostic: a replacement of a range of characters, which may be empty.
  struct FixIt {
    std::string file, replacement;
    int line, column, endLine, endColumn;
  };
  struct Diagnostic {
    tessera_severity severity;
    std::string file, message;
    int line, column;       ///< from 1; 0: no location
    int endLine, endColumn; ///< one past the last character
    std::vector<FixIt> fixIts;
  };

  explicit Compilation(tessera_result *result, bool profiling = false)
      : result(result), profiling(profiling) {}

  explicit operator bool() const { return status() == TESSERA_OK; }
  tessera_status status() const { return tessera_result_status(result.get()); }
  /// The diagnostics in clang's text format.
  std::string text() const { return tessera_result_text(result.get(), 0); }
  std::vector<Diagnostic> diagnostics() const {
    std::vector<Diagnostic> all;
    for (uint64_t i = 0, n = tessera_result_diagnostic_count(result.get()); i < n; ++i) {
      tessera_diagnostic one = tessera_result_diagnostic(result.get(), i);
      all.push_back({static_cast<tessera_severity>(one.severity),
                     one.file ? one.file : "",
                     one.message ? one.message : "",
                     one.line,
                     one.column,
                     one.end_line,
                     one.end_column,
                     {}});
      for (uint64_t j = 0, m = tessera_result_fixit_count(result.get(), i); j < m; ++j) {
        tessera_fixit fix = tessera_result_fixit(result.get(), i, j);
        all.back().fixIts.push_back({fix.file ? fix.file : "",
                                     fix.replacement ? fix.replacement : "", fix.line, fix.column,
                                     fix.end_line, fix.end_column});
      }
    }
    return all;
  }

  /// The bundle: load it with tessera::Module, or write it to a file.
  std::string bundle() const {
    uint64_t length = 0;
    const void *bytes = tessera_result_bundle(result.get(), &length);
    return std::string(static_cast<const char *>(bytes), bytes ? length : 0);
  }
  /// Loads it for calls, which are timed if the compilation was for profiling.
  Module load(Device device = {}) const {
    if (profiling)
      tessera_rt_set_profiling(1);
    std::string bytes = bundle();
    return Module(bytes.data(), bytes.size(), device);
  }
  /// A requested stage: "graph", …, "cubin", "launcher"; empty if it was not reached.
  std::string stage(const std::string &name) const {
    uint64_t length = 0;
    const void *bytes = tessera_result_stage(result.get(), name.c_str(), &length);
    return std::string(static_cast<const char *>(bytes), bytes ? length : 0);
  }
  /// The performance report as JSON; see tessera_result_report.
  std::string reportJson() const { return tessera_result_report(result.get()); }
  std::vector<KernelReport> report() const {
    std::vector<KernelReport> kernels;
    for (uint64_t i = 0, n = tessera_result_kernel_count(result.get()); i < n; ++i) {
      tessera_kernel_report one = {};
      one.struct_bytes = sizeof(one);
      tessera_result_kernel(result.get(), i, &one);
      KernelReport &kernel = kernels.emplace_back();
      kernel.name = one.name;
      kernel.flops = one.flops;
      kernel.bytes = one.bytes;
      kernel.programs = one.programs;
      kernel.predictedMicroseconds = one.predicted_us;
      kernel.bound = one.bound;
      for (uint64_t d = 0; d < one.dim_count; ++d)
        kernel.tiles[one.dims[d].name] = one.dims[d].tile;
    }
    return kernels;
  }

private:
  struct Release {
    void operator()(tessera_result *result) const { tessera_result_release(result); }
  };
  std::unique_ptr<tessera_result, Release> result;
  bool profiling;
};
/// @}

/// The compiler's name for a target; empty for the target of the decorator or the CPU. Throws Error
/// if no GPU can be queried for its name.
inline std::string targetName(const TargetLoweringOptions &options) {
  if (!options.architecture.empty() || options.platform == Platform::CPU)
    return options.architecture;
  tessera_rt_device_info info = {};
  info.struct_bytes = sizeof(info);
  check(tessera_rt_device_get_info(TESSERA_RT_DEVICE_CUDA(0), &info));
  return info.target;
}

/// A request of the C ABI, which keeps the memory it points to, except for its program. Options of
/// the program override those of the target; the decorator's options apply to the rest.
class ProgramRequest {
public:
  ProgramRequest(const Program &program, const TargetLoweringOptions &options,
                 const std::vector<std::string> &stages, bool code)
      : target(targetName(options)), level(std::to_string(options.optimizationLevel)) {
    dims.reserve(program.arguments.size());
    for (const ArgumentType &type : program.arguments)
      add(type);
    const TargetLoweringOptions usual;
    auto set = [&](bool isUsual, const char *key, const char *value) {
      if (!isUsual)
        settings.push_back({key, value});
    };
    auto flag = [](bool value) { return value ? "true" : "false"; };
    set(options.optimizationLevel == usual.optimizationLevel, "optimization_level", level.c_str());
    set(options.tensorCores == usual.tensorCores, "tensor_cores", flag(options.tensorCores));
    set(options.profiling == usual.profiling, "profiling", flag(options.profiling));
    set(options.tuning == usual.tuning, "tuning", flag(options.tuning));
    if (program.isModule)
      settings.push_back({"input", "mlir"});
    for (const auto &[key, value] : program.options)
      settings.push_back({key.c_str(), value.c_str()});
    for (const std::string &stage : stages)
      wanted.push_back(stage.c_str());

    request.struct_bytes = sizeof(request);
    request.source = program.source.data();
    request.source_bytes = program.source.size();
    request.file = program.file.c_str();
    request.first_line = 1;
    request.function = program.function.empty() ? nullptr : program.function.c_str();
    request.arguments = arguments.data();
    request.argument_count = arguments.size();
    request.target = target.c_str();
    request.options = settings.data();
    request.option_count = settings.size();
    request.stages = wanted.data();
    request.stage_count = wanted.size();
    request.no_code = !code;
    request.from_annotations = program.fromAnnotations;
  }
  ProgramRequest(const ProgramRequest &) = delete;

  const tessera_compile_request *get() const { return &request; }

private:
  void add(const ArgumentType &type) {
    std::vector<tessera_dim> &sizes = dims.emplace_back();
    for (size_t d = 0; d < type.sizes.size(); ++d) {
      tessera_rt_size_class of = tessera_rt_classify_size(type.sizes[d]);
      bool isGiven = d < type.divisors.size() && type.divisors[d] != 0;
      bool isFixed = of.fixed || (type.exact && type.sizes[d] != anySize);
      sizes.push_back(
          {type.sizes[d], isGiven ? type.divisors[d] : of.divisor, of.bound, isFixed, 0});
    }
    tessera_argument argument = {};
    argument.struct_bytes = sizeof(argument);
    argument.name = type.name.c_str();
    argument.kind = type.kind;
    argument.dtype = type.dtype;
    argument.rank = static_cast<int32_t>(type.sizes.size());
    argument.unit_stride_dim = type.dense ? argument.rank - 1 : type.unitStride;
    argument.contiguous = type.dense;
    argument.dims = sizes.data();
    argument.has_value = type.hasValue;
    argument.integer = type.integer;
    argument.real = type.real;
    arguments.push_back(argument);
  }

  std::string target, level;
  std::vector<std::vector<tessera_dim>> dims;
  std::vector<tessera_argument> arguments;
  std::vector<tessera_option> settings;
  std::vector<const char *> wanted;
  tessera_compile_request request = {};
};

/// Compiles one function. `stages` are the requested texts or bytes: "graph" "sched" "tile"
/// "target" "explain", for CPUs "llvm" "asm", for GPUs "tileir" "tileir-bytecode" "ptx" "cubin"
/// "sass" "launcher". Without `code` the compilation ends at the last of them. Threads may compile
/// concurrently.
inline Compilation compile(const Program &program, const TargetLoweringOptions &options = {},
                           const std::vector<std::string> &stages = {}, bool code = true) {
  ProgramRequest request(program, options, stages, code);
  tessera_result *result = nullptr;
  tessera_compile(request.get(), &result);
  return Compilation(result, options.profiling);
}

} // namespace tessera

#endif // TESSERA_COMPILER_H
