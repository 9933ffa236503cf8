//===- Pipeline.h - From a request to a bundle -----------------*- C++ -*-===//
//
// The named stages of a compilation and the one function that runs them:
//
//   source → graph → sched → tile → target → llvm → asm → bundle                        CPUs
//                                         → tileir → tileir-bytecode → cubin → bundle    GPUs
//                        → placed → target → ptx                      → cubin → bundle    GPUs
//                                                                            → sass
//
// A request starts from source text, or from the IR text of any stage up to target: a dump that was
// edited continues from there. The texts of stages are made only when they are asked for. Every
// compilation has a context of its own, so that threads may compile at once; a fault of the
// compiler is reported as a diagnostic, and the process stays usable.
//
// TESSERA_DUMP=DIR writes the text of every stage that a compilation reaches, and the passes that
// it runs, to files in DIR.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_PIPELINE_PIPELINE_H
#define TESSERA_PIPELINE_PIPELINE_H

#include "tessera/Frontend/Frontend.h"

#include "llvm/Support/JSON.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace tessera {

enum class Stage {
  Graph,
  Sched,
  Tile,
  Placed,
  Target,
  LLVM,
  Asm,
  TileIR,
  TileIRBytecode,
  Ptx,
  Cubin,
  Sass,
  Bundle,
};

/// "graph", "sched", …
std::string_view stageName(Stage stage);
std::optional<Stage> stageByName(std::string_view name);

enum class Outcome {
  Ok,
  Diagnostics, ///< the program is wrong
  Unsupported, ///< the target has no such operation, type or stage
  BadRequest,  ///< the request itself makes no sense
  Internal,    ///< a fault of the compiler
};

/// How machine code is made, for any target.
struct CodeOptions {
  unsigned optimizationLevel = 3; ///< 0 to 3, of LLVM and of NVIDIA's assembler
  bool tensorCores = true;        ///< whether tensor cores, AMX and BFMMLA may be used
  bool profiling = false;         ///< code has line information; calls are timed
  bool tuning = true;             ///< whether measured schedules are used
  std::string schedule;           ///< a user's choices, as in ScheduleOverride.h
};

/// The remarks of passes that are requested.
enum class RemarkFilter { None, Missed, All };

/// A pass reports that it applies, or why it does not.
struct PassRemark {
  bool isMissed = false;
  std::string pass;   ///< "tile-lower-wgmma"
  std::string name;   ///< identifies the reason: "UnalignedRows"
  std::string kernel; ///< or the function
  std::string reason;
  SourceRange range; ///< in the program, if it is known

  bool operator==(const PassRemark &) const = default;
};

struct CompileRequest {
  /// Source text, the function, its arguments' types, options.
  Request program;
  /// The text is the IR of some stage, not source.
  bool isIR = false;
  /// "cpu" for this machine, an architecture with features: "x86_64:avx2,fma", or a GPU: "sm_90".
  /// Empty: what the function's decorator says, else "cpu".
  std::string target;
  CodeOptions codeOptions;
  /// The code options that the request gives; for others a decorator in the source counts.
  std::set<std::string> givenCodeOptions;
  /// Stages whose text is wanted.
  std::set<Stage> texts;
  /// Further stages whose text is kept if the compilation reaches them.
  std::set<Stage> welcome;
  /// The passes that run are recorded.
  bool recordPasses = false;
  /// The scheduler's decisions in words are wanted.
  bool explain = false;
  /// The schedules that kernels could have are wanted: in the report, and in the explanation if
  /// there is one.
  bool candidates = false;
  /// Where the time of each kernel goes is wanted: in the report.
  bool profile = false;
  /// The remarks of passes that are wanted: in the explanation if there is one, otherwise among the
  /// diagnostics.
  RemarkFilter remarks = RemarkFilter::None;
  /// The host side as C++ is wanted, of a GPU.
  bool launcher = false;
  /// A bundle is wanted; otherwise the compilation ends with the last wanted text.
  bool code = true;
  /// Why the assembler of CUDA Tile IR refused the program, whose kernels then go through PTX, or
  /// are assembled without optimization where someone asked for CUDA Tile IR.
  std::string tileirasRefusal;
};

/// "optimization_level", "tensor_cores", "profiling", "tuning", "schedule".
bool isCodeOption(const std::string &key);
/// False when the value is none of this option; `error` says what is expected.
bool readCodeOption(const std::string &key, const std::string &value, CodeOptions &options,
                    std::string &error);

/// The request with what it leaves open as the function's decorator says it.
CompileRequest withDecorator(const CompileRequest &request);

struct CompileResult {
  Outcome outcome = Outcome::Ok;
  Diagnostics diagnostics;
  FrontendInfo info;
  std::map<Stage, std::string> texts; ///< bytes for the stages tileir-bytecode and cubin
  std::string explanation;
  std::vector<PassRemark> remarks;
  std::string launcher;
  std::vector<uint8_t> bundle;
  /// The passes that ran, in order: "STAGE PASS", where STAGE is that of the pass's input. Empty
  /// unless the request records them.
  std::vector<std::string> passes;
  /// {"function", "target", "backend" of a GPU, "class", "guards", "kernels", "timings",
  /// "candidates" and "profile" if requested}, see tessera_result_report.
  llvm::json::Object report;
};

/// Compiles. Always returns; `result.outcome` and its diagnostics say how it went.
void compile(const CompileRequest &request, CompileResult &result);

/// Runs source (or IR of the first stage) up to Graph IR and hands it to `consume`, with the same
/// reporting as `compile`.
void withGraph(const CompileRequest &request, CompileResult &result,
               llvm::function_ref<mlir::LogicalResult(mlir::ModuleOp)> consume);

/// The same up to placed Tile IR, for a GPU (sm_90 where the request names none) by way of our own
/// PTX. What `consume` finds wrong with the program it says by errors, and its outcome is that of
/// the whole.
void withPlaced(const CompileRequest &request, CompileResult &result,
                llvm::function_ref<Outcome(mlir::ModuleOp)> consume);

/// Calls `body` so that a fault of the compiler (an assertion, a fatal error of LLVM, an invalid
/// access) comes back as false instead of ending the process.
bool runProtected(llvm::function_ref<void()> body);

/// Every dialect that can stand in the text of a stage.
void registerStageDialects(mlir::DialectRegistry &registry);

} // namespace tessera

#endif
