//===- Print.h - Reports of simulations as text and JSON -------*- C++ -*-===//
#ifndef TESSERA_SIMULATOR_PRINT_H
#define TESSERA_SIMULATOR_PRINT_H

#include "tessera/Simulator/Simulator.h"
#include "llvm/Support/JSON.h"

namespace tessera::simulator {

/// How a result compares with the reference.
struct Checked {
  std::string type; ///< "fp32[64, 64]"
  reference::Comparison comparison;
};

/// The report of a simulation. Its findings are diagnostics.
struct Summary {
  std::string function, target;
  const Report &report;
  llvm::ArrayRef<Checked> checked;
  llvm::ArrayRef<Mutant> mutants;
  bool hasMutants = false;
};

/// Aligned tables.
std::string printText(const Summary &summary);
llvm::json::Object toJson(const Summary &summary);

/// "file.py:12:8", or "" for an operation without a file location.
std::string placeOf(mlir::Operation *op);

} // namespace tessera::simulator

#endif
