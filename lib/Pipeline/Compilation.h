//===- Compilation.h - One request through the stages -----------*- C++ -*-===//
//
// Holds the module and the context while a request is compiled from stage to stage. `Pipeline.cpp`
// says which passes lead from one stage to the next; this class starts, verifies, times and
// reports.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_COMPILATION_H
#define TESSERA_LIB_PIPELINE_COMPILATION_H

#include "DiagnosticBridge.h"
#include "tessera/Pipeline/Pipeline.h"

#include "mlir/IR/MLIRContext.h"

namespace mlir {
class OpPassManager;
}

namespace tessera {

class Compilation {
public:
  Compilation(const CompileRequest &request, CompileResult &result);

  /// Makes the first module: by the frontend, or by parsing IR. False after an error.
  bool start();
  /// The stage that the module is in.
  Stage stage() const { return at; }
  mlir::ModuleOp getModule() { return *module; }

  /// Runs passes that lead to `next`, then verifies. False after an error.
  bool advance(Stage next, llvm::function_ref<void(mlir::OpPassManager &)> addPasses);
  /// The same for a step that is not a pass.
  bool advance(Stage next, llvm::function_ref<mlir::LogicalResult()> step);

  /// Keeps the module's text if it is wanted.
  void keepText();
  bool wantsText(Stage stage) const {
    return request.texts.count(stage) || request.welcome.count(stage);
  }

  /// Does something with the module as it is: its errors are those of the data.
  bool consume(llvm::function_ref<mlir::LogicalResult()> step);

  /// What a bundle says about itself, as JSON.
  std::string manifest() const;

  /// Adds to a stage's time.
  void addTime(std::string_view name, double milliseconds);
  /// The kernel that does not fit into shared memory, if that was an error.
  const std::string &tooLargeKernel() const { return bridge.tooLargeKernel(); }
  /// Stops the compilation with an internal error.
  void fail(Outcome outcome, std::string message);

  const CompileRequest &request;
  CompileResult &result;
  bool choosesBackend = false; ///< of each kernel: nobody asked for one
  std::string tileirasRefusal; ///< why the assembler of CUDA Tile IR refused a module

private:
  bool parseIR();
  bool parseSource();
  bool failedAt(Stage next);
  void recordPass(const mlir::tracing::Action &action);

  mlir::MLIRContext context;
  DiagnosticBridge bridge;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Stage at = Stage::Graph;
};

} // namespace tessera

#endif
