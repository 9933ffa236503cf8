//===- Verify.h - Checks that verifiers share ------------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_TILE_IR_VERIFY_H
#define TESSERA_LIB_DIALECT_TILE_IR_VERIFY_H

#include "tessera/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera::tile {

inline mlir::RankedTensorType tileType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// `64x128`, or `scalar` for rank 0.
inline std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(shape, os, "x");
  return text;
}

inline mlir::LogicalResult expectShape(mlir::Operation *op, llvm::StringRef what,
                                       llvm::ArrayRef<int64_t> expected,
                                       llvm::ArrayRef<int64_t> found) {
  if (expected == found)
    return mlir::success();
  return op->emitOpError() << "expected " << what << " of shape " << shapeText(expected) << ", got "
                           << shapeText(found);
}

inline mlir::LogicalResult expectElement(mlir::Operation *op, llvm::StringRef what,
                                         mlir::Type expected, mlir::Type found) {
  if (expected == found)
    return mlir::success();
  return op->emitOpError() << "expected " << what << " of element type " << expected << ", got "
                           << found;
}

/// Every dimension is below `rank`, and none occurs twice.
inline mlir::LogicalResult expectDistinctDims(mlir::Operation *op, llvm::ArrayRef<int64_t> dims,
                                              int64_t rank) {
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

/// The groups of asynchronous copies or MMA that a wait leaves in flight.
inline mlir::LogicalResult expectPending(mlir::Operation *op, int64_t pending) {
  if (pending >= 0)
    return mlir::success();
  return op->emitOpError() << "expected at least 0 pending groups, got " << pending;
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

/// Monoid, dimensions and element type of a reduction.
inline mlir::LogicalResult verifyReduction(mlir::Operation *op, mlir::RankedTensorType input,
                                           llvm::StringRef kind, llvm::ArrayRef<int64_t> dims,
                                           bool skipNan) {
  std::optional<tessera::ReduceOp> monoid = reduceOpByName({kind.data(), kind.size()});
  if (!monoid)
    return op->emitOpError() << "expected one of sum prod max min any all, got '" << kind << "'";
  bool isLogical = *monoid == tessera::ReduceOp::Any || *monoid == tessera::ReduceOp::All;
  if (isLogical && !input.getElementType().isInteger(1))
    return op->emitOpError() << "expected bools for '" << kind << "', got "
                             << input.getElementType();
  bool isExtreme = *monoid == tessera::ReduceOp::Max || *monoid == tessera::ReduceOp::Min;
  if (skipNan && !(isExtreme && llvm::isa<mlir::FloatType>(input.getElementType())))
    return op->emitOpError() << "expected skip_nan on max and min of floats only";
  if (failed(expectDistinctDims(op, dims, input.getRank())))
    return mlir::failure();
  return expectIncreasing(op, dims);
}

} // namespace tessera::tile

#endif
