//===- Coordinates.h - Index values and alignment of views -----*- C++ -*-===//
//
// Index values as expressions over sizes, their bounds and divisors, and the alignment of views. A
// launch names the sizes of the views, of the grid and of the index arguments. A kernel without a
// launch gets fresh names, for which only facts from its own body hold.
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
  /// An upper bound of an index value; INT64_MAX if there is none.
  int64_t most(mlir::Value value) const { return most(value, 0); }
  bool isNonNegative(mlir::Value value) const { return isNonNegative(value, 0); }
  /// A known divisor of an index value; 0 for 0.
  int64_t divisor(mlir::Value value) const;
  /// The size of dimension `dim` of a view argument, or of a row of one (`tile.aligned_row`).
  SymExpr size(mlir::Value view, unsigned dim) const;
  /// A known divisor of a stride of a view argument, in elements.
  int64_t strideDivisor(mlir::Value view, unsigned dim) const;

  /// A stride of a view argument as an expression over sizes, if it is one.
  std::optional<SymExpr> stride(mlir::Value view, unsigned dim) const;
  /// A known divisor of the address of a view argument, in bytes, at most 16.
  int64_t addressDivisor(mlir::Value view) const;
  /// A known divisor of the addresses of a view's rows, in bytes, at most 16.
  int64_t rowAlignment(mlir::Value view) const;
  /// The least alignment of the rows that elementwise work reads to make a tile.
  int64_t leastRowAlignment(mlir::Value tile) const;
  /// Whether the rows of two view arguments at the same coordinates have the same misalignment to
  /// 16 bytes.
  bool beginAlike(mlir::Value view, mlir::Value other) const;
  /// Whether the program itself reverses the dimension.
  bool isBackward(mlir::Value view, unsigned dim) const;
  /// Whether the stride is known not to be negative. Only strides that the caller passes may be.
  bool hasPositiveStride(mlir::Value view, unsigned dim) const;

  /// The number of elements that a thread can access at once, up to 16 bytes: contiguous in its
  /// registers and in memory, aligned, and with a bounds check not cut by the end of the tensor. At
  /// the ends of a `tile.aligned_row` it is 1.
  unsigned accessWidth(mlir::Value view, llvm::ArrayRef<int64_t> dims, const Layout &layout,
                       bool isChecked) const;

  /// Whether the tile at a coordinate, of `tileSize` elements, is at least partly in the view. An
  /// operation `at` may be under a condition on the coordinate.
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
  int64_t alignment; // of the memory of views, in bytes
};

/// The alignment in bytes of the addresses that a module's functions are called with: 16, or 1 if
/// an option allows unaligned tensors.
int64_t addressAlignment(mlir::ModuleOp module);

} // namespace tessera

#endif
