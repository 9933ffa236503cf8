//===- Verify.h - What verifiers share -------------------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_TILE_IR_VERIFY_H
#define TESSERA_LIB_DIALECT_TILE_IR_VERIFY_H

#include "tessera/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera::tile {

inline mlir::RankedTensorType tileType(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()); }

/// `64x128`, or `scalar` for rank 0.
inline std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(shape, os, "x");
  return text;
}

inline mlir::LogicalResult expectShape(mlir::Operation *op, llvm::StringRef what, llvm::ArrayRef<int64_t> expected,
                                 llvm::ArrayRef<int64_t> found) {
  if (expected == found)
    return mlir::success();
  return op->emitOpError() << "expected " << what << " of shape " << shapeText(expected) << ", got "
                           << shapeText(found);
}

inline mlir::LogicalResult expectElement(mlir::Operation *op, llvm::StringRef what, mlir::Type expected, mlir::Type found) {
  if (expected == found)
    return mlir::success();
  return op->emitOpError() << "expected " << what << " of element type " << expected << ", got "
                           << found;
}

/// Each dimension below `rank` and none twice.
inline mlir::LogicalResult expectDistinctDims(mlir::Operation *op, llvm::ArrayRef<int64_t> dims, int64_t rank) {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return op->emitOpError() << "expected dims below " << rank << ", got " << dim;
    if (seen.test(dim))
      return op->emitOpError() << "expected distinct dims, got " << dim << " twice";
    seen.set(dim);
  }
  return mlir::success();
}

inline mlir::LogicalResult expectIncreasing(mlir::Operation *op, llvm::ArrayRef<int64_t> dims) {
  for (size_t i = 1; i < dims.size(); ++i)
    if (dims[i] <= dims[i - 1])
      return op->emitOpError() << "expected increasing dims, got " << dims[i] << " after "
                               << dims[i - 1];
  return mlir::success();
}

/// Groups of copies or products that a wait leaves under way.
inline mlir::LogicalResult expectPending(mlir::Operation *op, int64_t pending) {
  if (pending >= 0)
    return mlir::success();
  return op->emitOpError() << "expected a number of groups of at least 0, got " << pending;
}

/// The sizes of the dimensions that are not in `dims`.
inline llvm::SmallVector<int64_t> withoutDims(llvm::ArrayRef<int64_t> shape,
                                              llvm::ArrayRef<int64_t> dims) {
  llvm::SmallVector<int64_t> rest;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, int64_t(dim)))
      rest.push_back(size);
  return rest;
}

/// What joins of elements along dimensions have in common.
inline mlir::LogicalResult verifyJoin(mlir::Operation *op, mlir::RankedTensorType input,
                                      llvm::StringRef kind, llvm::ArrayRef<int64_t> dims,
                                      bool skipNan) {
  std::optional<tessera::ReduceOp> join = reduceOpByName({kind.data(), kind.size()});
  if (!join)
    return op->emitOpError() << "expected one of sum prod max min any all, got '" << kind << "'";
  bool isLogical = *join == tessera::ReduceOp::Any || *join == tessera::ReduceOp::All;
  if (isLogical && !input.getElementType().isInteger(1))
    return op->emitOpError() << "expected bools for '" << kind << "', got "
                             << input.getElementType();
  bool isExtreme = *join == tessera::ReduceOp::Max || *join == tessera::ReduceOp::Min;
  if (skipNan && !(isExtreme && llvm::isa<mlir::FloatType>(input.getElementType())))
    return op->emitOpError() << "expected skip_nan for max and min of floats only";
  if (failed(expectDistinctDims(op, dims, input.getRank())))
    return mlir::failure();
  return expectIncreasing(op, dims);
}

} // namespace tessera::tile

#endif
