//===- SavedValues.h - What a forward function saves for backward -*- C++ -*-===//
//
// A joint function computes results from inputs, and gradients from inputs and cotangents. Split in
// two, its backward part needs values that only its forward part has: each is saved, or computed
// again from others. The choice is a minimum cut. Saving a value costs the bytes that are stored
// and loaded, computing it again costs the time of its operation in bytes of memory traffic.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_ANALYSIS_SAVEDVALUES_H
#define TESSERA_DIALECT_GRAPH_ANALYSIS_SAVEDVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include <limits>

namespace tessera::gir {

/// A function whose first arguments are inputs and then cotangents, and whose first results are
/// results of the forward part; the others are gradients.
struct JointFunction {
  mlir::func::FuncOp function;
  unsigned numInputs = 0, numCotangents = 0, numResults = 0;

  mlir::Block &block() const { return mlir::func::FuncOp(function).getBody().front(); }
  mlir::Operation *terminator() const { return block().getTerminator(); }
  /// The number of the forward result that a value is, if it is one.
  std::optional<unsigned> resultOf(mlir::Value value) const;
};

struct SavingCosts {
  /// FLOP of 16-bit MMAs in the time of a byte of memory.
  double flopPerByte = 200;
  /// The most bytes that are saved beside inputs and results.
  double mostBytes = std::numeric_limits<double>::infinity();
};

/// A value that backward needs, and the costs that decided.
struct SavedValue {
  mlir::Value value;
  double bytes = 0; ///< of the tensor
  double again = 0; ///< what computing it again costs, in bytes of memory traffic
};

struct SavedValues {
  std::vector<SavedValue> saved;      ///< results of operations, in their order
  std::vector<SavedValue> inputs;     ///< that backward reads
  std::vector<SavedValue> recomputed; ///< contractions and reductions

  /// The bytes that are saved beside inputs and results.
  double bytes(const JointFunction &joint) const;
};

SavedValues chooseSavedValues(const JointFunction &joint, const SavingCosts &costs);

} // namespace tessera::gir

#endif
