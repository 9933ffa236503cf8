//===- DiagnosticBridge.h - MLIR's messages among ours ---------*- C++ -*-===//
//
// While a bridge lives, what passes, verifiers and the IR parser report on a context is added to a
// `Diagnostics`, at the place in the source text that the location names.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_DIAGNOSTICBRIDGE_H
#define TESSERA_LIB_PIPELINE_DIAGNOSTICBRIDGE_H

#include "tessera/Support/Diagnostics.h"

#include "mlir/IR/Diagnostics.h"

namespace tessera {

class DiagnosticBridge {
public:
  DiagnosticBridge(mlir::MLIRContext &context, Diagnostics &diagnostics);

  /// Errors that came through the bridge.
  size_t errorCount() const { return errors; }
  /// Whether an error said that something is not supported.
  bool sawUnsupported() const { return unsupported; }
  /// The kernel that shared memory cannot hold, by an error's note (TooLarge.h); empty if there is
  /// none.
  const std::string &tooLargeKernel() const { return tooLarge; }

private:
  mlir::LogicalResult handle(mlir::Diagnostic &diagnostic);

  Diagnostics &diagnostics;
  mlir::ScopedDiagnosticHandler handler;
  size_t errors = 0;
  bool unsupported = false;
  std::string tooLarge;
};

/// The bytes that a location names; invalid when it names none of the known sources.
SourceRange sourceRange(const SourceManager &sources, mlir::Location location);

} // namespace tessera

#endif
