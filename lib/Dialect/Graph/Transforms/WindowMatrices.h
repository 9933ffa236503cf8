//===- WindowMatrices.h - Windows as matrices in memory ---------*- C++ -*-===//
//
// A convolution multiplies weights with windows. Elements of a window are K dimensions, and its
// positions are rows. In memory, elements of different windows are the same, so that the matrix of
// all windows is larger than the tensor by the number of elements.
//
// Positions are numbered along rows of the tensor. If a window's first dimension has step 1, then
// what its element `k` shows at position `p` is what element 0 shows `k` rows further on. These
// elements are not stored:
//
//   x[n, c, h, w]  ->  m[n, (c, kw), (h, w)] = x[n, c, h, w + kw]
//   y[n, (h, w), o] = sum(kh, c, kw) m[n, (c, kw), (h, w) + kh*W] * weight[o, kh, (c, kw)]
//
// With a step s, rows h*s + r are a matrix of their own for each r < s, along K; of a dilation that
// is a multiple of s, windows show only those with r = 0.
//
// If the second dimension slides as well, positions are those of the whole tensor. Windows at the
// end of its rows would begin in one row and end in the next: these are computed, and left out.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_WINDOWMATRICES_H
#define TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_WINDOWMATRICES_H

#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/Analysis/Windows.h"

#include "mlir/IR/Builders.h"

namespace tessera::gir {

/// An operand of a contraction: its dimensions by their roles.
struct Side {
  mlir::Value value;
  mlir::SmallVector<int64_t> batch, contract, free;

  Side(mlir::Value value, mlir::ArrayRef<int64_t> batch, mlir::ArrayRef<int64_t> contract);

  TensorType getType() const { return mlir::cast<TensorType>(value.getType()); }
  mlir::SmallVector<int64_t> allDims() const;
  double size(mlir::ArrayRef<int64_t> dims, const SizeFacts &facts) const;
  double bytes(const SizeFacts &facts) const;
};

/// What decides about the form of a matrix.
struct MatrixRules {
  int64_t rowAlignment;              ///< in bytes, of rows that bulk copies read
  double flopPerByte, flopPerLaunch; ///< FLOP of 16-bit MMAs in the time of a byte, of a launch
  bool sumsLast;                     ///< rows are what is summed, otherwise positions
  double largestBytes;
  int64_t groupSide; ///< the shortest side that warpgroups multiply; 0: the target has none
};

/// A contraction over elements of windows that is computed as a product of matrices.
class WindowMatrices {
public:
  WindowMatrices(ContractOp product, const Side &side, const Side &other, const SizeFacts &facts,
                 const MatrixRules &rules);

  /// Whether elements are summed, positions are not, and a matrix has a size that can be stored.
  bool isPossible() const;

  /// The value of the contraction.
  mlir::Value build();

private:
  int64_t positionDim(int64_t i) const { return places.firstPosition + i; }
  int64_t elementDim(int64_t i) const { return places.firstElement + i; }
  SymExpr sizeOf(int64_t dim) const { return side.getType().getDim(dim); }
  SymExpr product(mlir::ArrayRef<int64_t> dims) const;
  double hint(SymExpr size) const { return double(facts.hint(size)); }

  bool skipsRows(int64_t i) const;
  int64_t stepsInSums(int64_t i) const;
  int64_t taps(int64_t i) const;
  int64_t rowsOfTap(int64_t i) const;
  SymExpr rowsAlong(int64_t i) const;
  SymExpr width(int64_t i) const;
  int64_t distance(int64_t i) const;

  bool canSlide(int64_t count) const;
  double storedBytes(int64_t slid) const;
  double cost(int64_t slid) const;
  std::optional<int64_t> dividedDim() const;

  mlir::SmallVector<int64_t> orderOfSums(mlir::ArrayRef<int64_t> before,
                                         mlir::ArrayRef<int64_t> steps,
                                         mlir::ArrayRef<int64_t> elements) const;
  mlir::Value rowsOfSteps(mlir::Value value, int64_t i, int64_t dim, int64_t place);
  mlir::Value withRowsAtEnd(mlir::Value matrix, int64_t place);
  mlir::Value stored(mlir::Value matrix, mlir::StringRef reason, bool isRead);
  mlir::Value windowMatrix(mlir::Value value);
  mlir::Value otherMatrix();
  mlir::Value multiplied(mlir::Value part, mlir::Value weights);
  mlir::Value withoutGaps(mlir::Value result, size_t place);

  ContractOp contract;
  Side side, other;
  const SizeFacts &facts;
  MatrixRules rules;
  mlir::OpBuilder builder;
  mlir::Location loc;

  mlir::Value source; ///< what windows slide over; null if the contraction has none
  mlir::ArrayRef<int64_t> dims, sizes, steps, dilations;
  Windows places{0, 0};
  mlir::SmallVector<int64_t> kept, summed; ///< dimensions before the positions, by their roles
  int64_t slid = 0; ///< the first dimensions of windows whose elements are found by sliding
};

} // namespace tessera::gir

#endif
