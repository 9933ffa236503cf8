//===- Compilation.cpp - One request through the stages ---------------------===//
#include "Compilation.h"
#include "Contracts.h"
#include "RemarkCollector.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Dialect/Target/IR/Target.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>
#include <mutex>

namespace tessera {

using namespace mlir;

namespace {

class Stopwatch {
public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

const DialectRegistry &stageRegistry() {
  static const DialectRegistry *registry = [] {
    auto *made = new DialectRegistry();
    registerStageDialects(*made);
    return made;
  }();
  return *registry;
}

/// Whether an operation is part of a placed program: it makes tiles that have a layout, or has
/// shared memory.
bool isPlaced(Operation *op) {
  return isa<tile::AllocOp>(op) || llvm::any_of(op->getResultTypes(), [](Type type) {
           auto tile = dyn_cast<RankedTensorType>(type);
           return tile && isa_and_nonnull<tile::LayoutAttr>(tile.getEncoding());
         });
}

/// The stage that a module of IR is in: that of the lowest operation in it.
Stage stageOf(ModuleOp module) {
  Stage stage = Stage::Graph;
  module.walk([&](Operation *op) {
    Stage found = isa_and_nonnull<target::TargetDialect>(op->getDialect())    ? Stage::Target
                  : isPlaced(op)                                              ? Stage::Placed
                  : isa_and_nonnull<tile::TileDialect>(op->getDialect())      ? Stage::Tile
                  : isa_and_nonnull<sched::ScheduleDialect>(op->getDialect()) ? Stage::Sched
                                                                              : Stage::Graph;
    stage = std::max(stage, found);
  });
  return stage;
}

} // namespace

bool runProtected(llvm::function_ref<void()> body) {
  // As libclang does: the handlers stay installed and hand on what happens outside a compilation.
  static std::once_flag once;
  std::call_once(once, [] { llvm::CrashRecoveryContext::Enable(); });
  llvm::CrashRecoveryContext recovery;
  return recovery.RunSafely(body);
}

Compilation::Compilation(const CompileRequest &request, CompileResult &result)
    : request(request), result(result), context(stageRegistry(), MLIRContext::Threading::DISABLED),
      bridge(context, result.diagnostics) {
  context.printOpOnDiagnostic(false);
  if (request.remarks != RemarkFilter::None)
    collectRemarks(context, request.remarks, result.diagnostics.sources, result.remarks);
  if (request.recordPasses)
    context.registerActionHandler(
        [this](llvm::function_ref<void()> run, const tracing::Action &action) {
          recordPass(action);
          run();
        });
}

/// Every pass manager of the compilation reports here, also those that back ends make themselves.
void Compilation::recordPass(const tracing::Action &action) {
  const auto *execution = dyn_cast<PassExecutionAction>(&action);
  llvm::StringRef name = execution ? execution->getPass().getArgument() : "";
  if (!name.empty()) // adaptors that nest passes have no name
    result.passes.push_back(std::string(stageName(at)) + " " + name.str());
}

bool Compilation::start() {
  Stopwatch watch;
  if (!(request.isIR ? parseIR() : parseSource()))
    return false;
  addTime(request.isIR ? "parse" : "frontend", watch.milliseconds());
  return true;
}

bool Compilation::parseSource() {
  context.loadDialect<func::FuncDialect, gir::GraphDialect>();
  module = compileToGraph(context, request.program, result.diagnostics, result.info);
  if (module && succeeded(verify(*module)))
    return true;
  if (module || !result.diagnostics.hasErrors())
    fail(Outcome::Internal, "internal compiler error: the frontend gave no valid graph");
  else
    result.outcome = Outcome::Diagnostics;
  return false;
}

bool Compilation::parseIR() {
  const SourceText &source = request.program.source;
  result.diagnostics.sources.add(source.file, source.text, source.firstLine);
  llvm::SourceMgr manager;
  manager.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(source.text, source.file),
                             llvm::SMLoc());
  module = parseSourceFile<ModuleOp>(manager, ParserConfig(&context));
  // The parser may go on after what its lexer refused.
  if (!module || result.diagnostics.hasErrors()) {
    result.outcome = Outcome::Diagnostics;
    if (!result.diagnostics.hasErrors())
      fail(Outcome::Diagnostics, "expected the IR of a stage");
    return false;
  }
  at = stageOf(*module);
  for (auto function : module->getOps<func::FuncOp>())
    if (result.info.function.empty())
      result.info.function = function.getSymName().str();
  module->walk([&](target::ProgramOp program) {
    if (result.info.function.empty())
      result.info.function = program.getSymName().str();
  });
  return true;
}

bool Compilation::advance(Stage next, llvm::function_ref<void(OpPassManager &)> addPasses) {
  return advance(next, [&]() -> LogicalResult {
    PassManager manager(&context);
    manager.enableVerifier(true);
    addContractChecks(manager, at);
    addPasses(manager);
    return manager.run(*module);
  });
}

bool Compilation::advance(Stage next, llvm::function_ref<LogicalResult()> step) {
  Stopwatch watch;
  size_t errors = bridge.errorCount();
  bool good = succeeded(step()) && bridge.errorCount() == errors;
  addTime(stageName(next), watch.milliseconds());
  if (!good)
    return failedAt(next);
  at = next;
  return true;
}

bool Compilation::consume(llvm::function_ref<LogicalResult()> step) {
  size_t errors = bridge.errorCount();
  bool good = succeeded(step()), hasErrors = bridge.errorCount() != errors;
  if (good && !hasErrors)
    return true;
  if (!hasErrors || bridge.sawUnsupported())
    return failedAt(at);
  result.outcome = Outcome::Diagnostics;
  return false;
}

/// An error after the frontend accepted the program is a limit of the target or a fault of ours; an
/// error in IR or in a schedule that was handed in may be the text's.
bool Compilation::failedAt(Stage next) {
  if (bridge.sawUnsupported() || !tileirasRefusal.empty())
    result.outcome = Outcome::Unsupported;
  else if ((request.isIR || !request.codeOptions.schedule.empty()) && bridge.errorCount())
    result.outcome = Outcome::Diagnostics;
  else
    fail(Outcome::Internal,
         "internal compiler error on the way to stage '" + std::string(stageName(next)) + "'");
  return false;
}

void Compilation::keepText() {
  if (!wantsText(at))
    return;
  llvm::raw_string_ostream os(result.texts[at]);
  module->print(os);
  os << "\n";
}

std::string Compilation::manifest() const {
  llvm::json::Object entry{{"functions", llvm::json::Array{result.info.function}}};
  if (result.info.returnsTuple)
    entry["tuples"] = llvm::json::Array{result.info.function};
  // "f:1": its second argument is written.
  llvm::json::Array written;
  for (const std::string &name : result.info.written)
    for (const ParamInfo &param : result.info.params)
      if (param.name == name)
        written.push_back(result.info.function + ":" + std::to_string(param.argument));
  if (!written.empty())
    entry["writes"] = std::move(written);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(entry));
  return text;
}

void Compilation::addTime(std::string_view name, double milliseconds) {
  llvm::json::Value &times = result.report["timings"];
  if (times.kind() != llvm::json::Value::Object)
    times = llvm::json::Object();
  (*times.getAsObject())[llvm::StringRef(name)] = milliseconds;
}

void Compilation::fail(Outcome outcome, std::string message) {
  result.outcome = outcome;
  result.diagnostics.error({}, std::move(message));
}

} // namespace tessera
