//===- OpWriter.h - Builds the operations of a rule ---------------*- C++ -*-===//
//
// Decompositions of composites and derivatives build the same few operations: maps, reductions,
// broadcasts, counts of elements. 16-bit operands are converted to f32 and computed there.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_IR_OPWRITER_H
#define TESSERA_LIB_DIALECT_GRAPH_IR_OPWRITER_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/Builders.h"

#include <numeric>

namespace tessera::gir {

class OpWriter {
public:
  using Value = mlir::Value;
  using Dims = llvm::ArrayRef<int64_t>;

  OpWriter(mlir::OpBuilder &builder, mlir::Operation *op)
      : builder(builder), loc(op->getLoc()), result(op->getResult(0)) {}

  static TensorType type(Value x) { return mlir::cast<TensorType>(x.getType()); }
  static mlir::Type element(Value x) { return type(x).getElementType(); }

  Value cast(Value x, mlir::Type element) {
    if (type(x).getElementType() == element)
      return x;
    return CastOp::create(builder, loc, x, element, false);
  }
  /// The operand in the type in which it is computed.
  Value widen(Value x) { return cast(x, accumulationType(element(x))); }
  /// The replacement of the operation's result.
  Value finish(Value x) { return cast(x, element(result)); }

  Value map(ScalarOp op, mlir::ValueRange x) { return MapOp::create(builder, loc, op, x); }
  Value add(Value x, Value y) { return map(ScalarOp::Add, {x, y}); }
  Value sub(Value x, Value y) { return map(ScalarOp::Sub, {x, y}); }
  Value mul(Value x, Value y) { return map(ScalarOp::Mul, {x, y}); }
  Value div(Value x, Value y) { return map(ScalarOp::Div, {x, y}); }
  Value equal(Value x, Value y) { return map(ScalarOp::Eq, {x, y}); }
  Value where(Value condition, Value x, Value y) { return map(ScalarOp::Where, {condition, x, y}); }
  Value constant(double value, Value like) {
    return ConstantOp::create(builder, loc, type(like), value);
  }
  Value iota(Value like, int64_t dim, mlir::Type element) {
    return IotaOp::create(builder, loc, type(like).withElementType(element), dim);
  }
  Value reduce(tessera::ReduceOp op, Value x, Dims dims) {
    return gir::ReduceOp::create(builder, loc, op, x, dims);
  }
  Value sum(Value x, Dims dims) {
    return dims.empty() ? x : reduce(tessera::ReduceOp::Sum, x, dims);
  }
  /// Broadcasts a value that lacks the dimensions `dims` of `like` to its shape.
  Value expand(Value x, Value like, Dims dims) {
    if (dims.empty())
      return x;
    llvm::SmallVector<int64_t> kept;
    for (int64_t dim = 0; dim < int64_t(type(like).getRank()); ++dim)
      if (!llvm::is_contained(dims, dim))
        kept.push_back(dim);
    return BroadcastOp::create(builder, loc, x, type(like).getShape(), kept);
  }
  /// The number of elements along `dims` of `x`, in the shape and element type of `like`.
  Value count(Value x, Dims dims, Value like) {
    SymExpr size(1);
    for (int64_t dim : dims)
      size = size * type(x).getDim(dim);
    Value number = cast(SizeOp::create(builder, loc, size), element(like));
    return BroadcastOp::create(builder, loc, number, type(like).getShape(), Dims());
  }
  Value mean(Value x, Dims dims) {
    Value sum = reduce(tessera::ReduceOp::Sum, x, dims);
    return map(ScalarOp::Div, {sum, count(x, dims, sum)});
  }
  /// Deviations from the mean along `dims`.
  Value centre(Value x, Dims dims) {
    return map(ScalarOp::Sub, {x, expand(mean(x, dims), x, dims)});
  }

  Value transpose(Value x, Dims permutation) {
    bool isIdentity = true;
    for (auto [i, dim] : llvm::enumerate(permutation))
      isIdentity &= int64_t(i) == dim;
    return isIdentity ? x : Value(TransposeOp::create(builder, loc, x, permutation));
  }
  Value reshape(Value x, llvm::ArrayRef<SymExpr> shape) {
    return type(x).getShape() == shape ? x : Value(ReshapeOp::create(builder, loc, x, shape));
  }
  Value concat(int64_t dim, mlir::ValueRange parts) {
    return parts.size() == 1 ? parts.front() : Value(ConcatOp::create(builder, loc, dim, parts));
  }
  Value scan(tessera::ReduceOp op, Value x, int64_t dim) {
    return ScanOp::create(builder, loc, op, x, dim);
  }
  /// `count` elements along one dimension, from `start` on.
  Value slice(Value x, int64_t dim, SymExpr start, SymExpr count, int64_t step = 1) {
    if (step == 1 && start.isConstant(0) && type(x).getDim(dim) == count)
      return x;
    llvm::SmallVector<SymExpr> starts(type(x).getRank(), SymExpr(0)), sizes(type(x).getShape());
    llvm::SmallVector<int64_t> steps(type(x).getRank(), 1);
    starts[dim] = start, sizes[dim] = count, steps[dim] = step;
    return SliceOp::create(builder, loc, x, starts, steps, sizes);
  }
  Value reverse(Value x, int64_t dim) {
    SymExpr size = type(x).getDim(dim);
    return slice(x, dim, size - SymExpr(1), size, -1);
  }
  /// Zeros of the type of `x`, with another size along `dim`.
  Value zeros(Value x, int64_t dim, SymExpr size) {
    llvm::SmallVector<SymExpr> shape(type(x).getShape());
    shape[dim] = size;
    return ConstantOp::create(builder, loc, type(x).withShape(shape), 0.0);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  Value result;
};

/// The last `rank` dimensions of a tensor.
inline llvm::SmallVector<int64_t> lastDims(mlir::Value x, int64_t rank) {
  llvm::SmallVector<int64_t> dims(rank);
  std::iota(dims.begin(), dims.end(), int64_t(OpWriter::type(x).getRank()) - rank);
  return dims;
}

/// The first dimensions of a tensor, without the last `rank`.
inline llvm::SmallVector<int64_t> leadingDims(mlir::Value x, int64_t rank) {
  llvm::SmallVector<int64_t> dims(int64_t(OpWriter::type(x).getRank()) - rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

} // namespace tessera::gir

#endif
