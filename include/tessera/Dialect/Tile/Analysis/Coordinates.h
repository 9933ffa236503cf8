//===- Coordinates.h - Which tiles touch their tensor ----------*- C++ -*-===//
//
// Index values as expressions over sizes, and bounds of coordinates. A launch names the sizes of
// the views, of the grid and of the index arguments; a kernel without one gets names of its own,
// under which only what follows inside it can be shown.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_ANALYSIS_COORDINATES_H
#define TESSERA_DIALECT_TILE_ANALYSIS_COORDINATES_H

#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include <optional>

namespace tessera {

class Coordinates {
public:
  explicit Coordinates(tile::KernelOp kernel);

  /// An index value as an expression over sizes, if it is one.
  std::optional<SymExpr> expression(mlir::Value value) const;
  /// What an index value is at most; INT64_MAX where that is not known.
  int64_t most(mlir::Value value) const { return most(value, 0); }
  bool isNonNegative(mlir::Value value) const { return isNonNegative(value, 0); }
  /// What is known to divide an index value; 0 for 0.
  int64_t divisor(mlir::Value value) const;
  /// The size of dimension `dim` of a view argument, or of a row of one (`tile.aligned_row`).
  SymExpr size(mlir::Value view, unsigned dim) const;
  /// What is known to divide a stride of a view argument, in elements.
  int64_t strideDivisor(mlir::Value view, unsigned dim) const;

  /// A stride of a view argument as an expression of sizes; none where it is not known.
  std::optional<SymExpr> stride(mlir::Value view, unsigned dim) const;
  /// What is known to divide the address of a view argument, in bytes, at most 16.
  int64_t addressDivisor(mlir::Value view) const;
  /// What is known to divide the addresses of a view's rows, in bytes, at most 16.
  int64_t rowAlignment(mlir::Value view) const;
  /// Whether the rows of two view arguments at the same coordinates lie as far behind multiples of
  /// 16 bytes as each other.
  bool beginAlike(mlir::Value view, mlir::Value other) const;
  /// Whether the program itself walks the dimension backward.
  bool isBackward(mlir::Value view, unsigned dim) const;
  /// Whether the stride is known not to be negative: all but the strides of arguments that come as
  /// they are.
  bool hasPositiveStride(mlir::Value view, unsigned dim) const;

  /// How many elements a thread can access at once, up to 16 bytes: neighbours in its registers and
  /// in memory, aligned, and not cut by the tensor's end where that is checked. What is cut at the
  /// ends of a `tile.aligned_row` is accessed one by one.
  unsigned accessWidth(mlir::Value view, llvm::ArrayRef<int64_t> dims, const Layout &layout,
                       bool isChecked) const;

  /// Whether a coordinate that counts tiles of `tileSize` elements names a tile that is at least
  /// partly in the view, at an operation that may stand under a condition on it.
  bool touches(mlir::Value coordinate, mlir::Value view, unsigned dim, int64_t tileSize,
               mlir::Operation *at = nullptr) const;

private:
  void addRow(tile::AlignedRowOp row);
  int64_t most(mlir::Value value, unsigned depth) const;
  bool isNonNegative(mlir::Value value, unsigned depth) const;
  /// Whether value <= bound.
  bool isAtMost(mlir::Value value, SymExpr bound, unsigned depth = 0) const;
  /// Whether value < bound at an operation.
  bool isBelow(mlir::Value value, SymExpr bound, mlir::Operation *at) const;

  tile::KernelOp kernel;
  SizeFacts facts; // of the function that launches it
  llvm::DenseMap<mlir::Value, llvm::SmallVector<SymExpr>> sizes;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<std::optional<SymExpr>>> strides;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> strideDivisors;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<bool>> positiveStrides, backward;
  llvm::DenseMap<mlir::Value, int64_t> offsetDivisors; // in elements, 0 for no offset
  llvm::DenseMap<mlir::Value, SymExpr> arguments;      // index arguments
  llvm::DenseMap<mlir::Value, int64_t> divisors;       // of them
  llvm::SmallVector<SymExpr> grid;
  llvm::SmallVector<tile::AlignedRowOp> rows;
  int64_t alignment; // of the memory that views lie in
};

/// What divides the addresses that a module's functions are called with, in bytes: 16, or 1 where
/// an option says that tensors begin anywhere.
int64_t addressAlignment(mlir::ModuleOp module);

} // namespace tessera

#endif
