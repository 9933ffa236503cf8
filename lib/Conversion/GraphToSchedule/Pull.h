//===- Pull.h - From graph values to element expressions -------*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_PULL_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_PULL_H

#include "KernelPlan.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "llvm/ADT/SetVector.h"

namespace tessera {

/// The bytes at whose multiples the rows of a stored value start, if it says so.
std::optional<int64_t> rowAlignment(mlir::Value stored);
/// The type of a stored value in memory: aligned rows are padded at their end.
gir::TensorType memoryType(mlir::Value stored);

/// Asks a graph value for its element at an index: follows operations through GraphOpInterface up
/// to tensors in memory (arguments and the values in `stored`), and composes index expressions on
/// the way.
class Puller {
public:
  /// With `keepsUnits`, dimensions of size 1 are treated as others, so that one row is computed
  /// like many.
  Puller(ExprPool &pool, const llvm::SetVector<mlir::Value> &stored, bool keepsUnits = false)
      : pool(pool), stored(stored), keepsUnits(keepsUnits) {}

  Expr pull(mlir::Value value, std::vector<SymExpr> index, bool asRoot = false);
  /// Says which dimension of the output is contiguous in memory.
  void setInnermost(std::string dim) { innermost = std::move(dim); }
  /// A value that must be stored first because its elements cannot be addressed by affine indices.
  std::optional<Cut> cut;
  /// The same, or else a statistic that groups of elements share.
  std::optional<Cut> anyCut() const { return cut ? cut : shared; }

private:
  /// A point of an operation's iteration space: the result's index, then fresh dimensions for what
  /// is reduced.
  struct IterationPoint {
    std::map<std::string, SymExpr> coordinates;
    std::vector<std::string> over; ///< the reduced dimensions
    bool isEmpty = false;          ///< whether one of these has no element
  };

  Expr compute(mlir::Value value, const std::vector<SymExpr> &index);
  Expr pullReshape(gir::ReshapeOp reshape, const std::vector<SymExpr> &index);
  IterationPoint iterationPoint(gir::GraphOpInterface op, const std::vector<SymExpr> &index);
  Expr pullOperand(gir::GraphOpInterface op, unsigned number, const IterationPoint &point,
                   const std::vector<SymExpr> &index);
  Expr pullBody(gir::GraphOpInterface op, const IterationPoint &point,
                const std::vector<SymExpr> &index);
  Expr widened(mlir::Operation *op, Expr e);
  /// Whether computing the value takes a reduction.
  bool reduces(mlir::Value value);
  Expr needsStore(mlir::Value reshape, mlir::Type type);
  SymExpr place(mlir::Value tensor, Expr value, SymExpr size);
  Expr load(mlir::Value tensor, std::vector<SymExpr> index, mlir::Location loc);
  bool isOfGroups(llvm::ArrayRef<SymExpr> index) const;

  ExprPool &pool;
  const llvm::SetVector<mlir::Value> &stored;
  bool keepsUnits;
  std::optional<Cut> shared;
  std::string innermost; ///< the contiguous dimension of the output
  std::map<std::pair<void *, std::vector<SymExpr>>, Expr> memo;
  /// The number of different indices at which a value was requested; beyond the limit it is stored
  /// and not computed again.
  std::map<void *, unsigned> places;
  static constexpr unsigned mostPlaces = 8;
  /// The reshapes on the way from the output whose inputs are addressed by quotients and
  /// remainders.
  std::vector<mlir::Value> reshapes;
  llvm::DenseMap<mlir::Value, bool> reducing;
  /// One name per reduced dimension of an operation, wherever it is asked for: equal elements stay
  /// equal.
  std::map<std::pair<mlir::Operation *, unsigned>, std::string> reducedDims;
};

/// Whether the tensor is in memory row-major without gaps: stored values are, arguments if they say
/// so.
bool isContiguous(mlir::Value tensor);

/// The row-major element number of an index.
SymExpr linearIndex(llvm::ArrayRef<SymExpr> shape, llvm::ArrayRef<SymExpr> index);

} // namespace tessera

#endif
