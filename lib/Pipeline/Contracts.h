//===- Contracts.h - What holds after a phase ------------------*- C++ -*-===//
//
// Passes establish properties of the IR that every later pass relies on and must keep: after
// `gir-decompose` no composite is left, after `tile-assign-layouts` every tile has a layout. A
// contract names the property, the pass that establishes it, and a check. The instrumentation
// checks all contracts in force after each pass, so that an error names the pass that broke one.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_CONTRACTS_H
#define TESSERA_LIB_PIPELINE_CONTRACTS_H

#include "mlir/Pass/PassManager.h"
#include "tessera/Pipeline/Pipeline.h"

namespace tessera {

struct Contract {
  llvm::StringLiteral property;    ///< "every tile has a layout"
  llvm::StringLiteral establisher; ///< the pass from which on it holds
  Stage stage;                     ///< the first stage at whose end it holds
  Stage until;                     ///< the last stage in which it is meaningful
  /// The first operation that violates it, or null.
  mlir::Operation *(*findViolation)(mlir::ModuleOp module);
};

llvm::ArrayRef<Contract> contracts();

/// Checks the contracts in force after each pass of a manager that starts at the end of `stage`.
void addContractChecks(mlir::PassManager &manager, Stage stage);

} // namespace tessera

#endif
