//===- Context.h - IR in the fuzzers ----------------------------*- C++ -*-===//
#ifndef TESSERA_FUZZ_CONTEXT_H
#define TESSERA_FUZZ_CONTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace tessera::fuzz {

/// A context with the dialects of every stage. It is a new one now and then: what a context has
/// seen it keeps.
mlir::MLIRContext &freshContext();

/// Counts errors and says which were seen.
class Messages : public mlir::ScopedDiagnosticHandler {
public:
  explicit Messages(mlir::MLIRContext &context);
  unsigned errors() const { return count; }
  const std::string &text() const { return all; }

private:
  unsigned count = 0;
  std::string all;
};

/// The module's text is parsed to a module with the same text.
void checkRoundTrip(mlir::ModuleOp module, const Messages &messages);

} // namespace tessera::fuzz

#endif
