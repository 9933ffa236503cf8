//===- RowBuilder.h - Operations along the last dimension -------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_ROWBUILDER_H
#define TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_ROWBUILDER_H

#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include <numeric>
#include <optional>

namespace tessera::gir {

using namespace mlir;

/// The bits of a digit of the radix sort where rows are not sorted sequentially.
inline constexpr int64_t kParallelDigitBits = 4;

/// Builds operations on the rows of a tensor that is sorted along its last dimension.
class RowBuilder {
protected:
  RowBuilder(OpBuilder &builder, ArgSortOp op)
      : builder(builder), loc(op.getLoc()), input(op.getInput()), descending(op.getDescending()),
        facts(op->getParentOfType<func::FuncOp>()), lead(type(input).getShape().drop_back()) {}

  static gir::TensorType type(Value x) { return cast<gir::TensorType>(x.getType()); }
  /// The number of dimensions before the sorted one.
  int64_t rank() const { return lead.size(); }
  SmallVector<SymExpr> shape(ArrayRef<SymExpr> last) const {
    SmallVector<SymExpr> result(lead);
    llvm::append_range(result, last);
    return result;
  }

  Value map(ScalarOp op, ValueRange x) { return MapOp::create(builder, loc, op, x); }
  Value map(ScalarOp op, Value x, int64_t y) { return map(op, {x, number(y, x)}); }
  Value number(int64_t value, Value like) {
    auto attribute = builder.getIntegerAttr(type(like).getElementType(), value);
    return ConstantOp::create(builder, loc, type(like), attribute);
  }
  Value cast(Value x, unsigned width) {
    if (type(x).getElementType().isSignlessInteger(width))
      return x;
    return CastOp::create(builder, loc, x, builder.getIntegerType(width), false);
  }
  Value iota(gir::TensorType like, int64_t dim) { return IotaOp::create(builder, loc, like, dim); }
  Value constant(ArrayRef<SymExpr> last, int64_t value, Type element) {
    auto tensor = gir::TensorType::get(shape(last), element);
    return ConstantOp::create(builder, loc, tensor, builder.getIntegerAttr(element, value));
  }
  /// The first elements of rows.
  Value take(Value rows, SymExpr count) {
    SmallVector<SymExpr> starts(rank() + 1, SymExpr(0));
    return SliceOp::create(builder, loc, rows, starts, SmallVector<int64_t>(rank() + 1, 1),
                           shape(count));
  }
  /// Pads rows to this many elements with the given number.
  Value padded(Value rows, SymExpr size, int64_t number) {
    SymExpr missing = size - type(rows).getShape().back();
    if (missing.isConstant(0))
      return rows;
    return ConcatOp::create(
        builder, loc, rank(),
        ValueRange{rows, constant(missing, number, type(rows).getElementType())});
  }
  Value reshape(Value x, ArrayRef<SymExpr> last) {
    return ReshapeOp::create(builder, loc, x, shape(last));
  }
  /// Gathers elements of rows.
  Value gather(Value rows, Value places) {
    SmallVector<int64_t> rest(rank());
    std::iota(rest.begin(), rest.end(), 0);
    return GatherOp::create(builder, loc, rows, places, ArrayRef<int64_t>{rank()}, rest);
  }
  /// Whether the elements are loaded from memory, so that they have the precision of their type.
  static bool isLoaded(Value x) {
    while (
        isa_and_nonnull<TransposeOp, ReshapeOp, SliceOp, BroadcastOp, GatherOp>(x.getDefiningOp()))
      x = x.getDefiningOp()->getOperand(0);
    return isa<BlockArgument>(x) || x.getDefiningOp<MaterializeOp>();
  }

  /// Integers with the required order of the elements, and the number of their bits: from 0 to
  /// 2^bits - 1, or any int64.
  std::pair<Value, int64_t> keys() {
    Type element = type(input).getElementType();
    auto real = dyn_cast<FloatType>(element);
    Value key = real ? map(ScalarOp::OrderKey, input) : cast(input, 64);
    int64_t bits = real && !element.isF64() ? 32 : element.getIntOrFloatBitWidth();
    if (bits == 64)
      return {descending ? map(ScalarOp::Not, key) : key, bits};
    // The last digits of a narrow number are zero in f32.
    if (int64_t unused = real ? 24 - int64_t(real.getFPMantissaWidth()) : 0;
        unused > 0 && isLoaded(input)) {
      key = map(ScalarOp::Shr, key, unused);
      bits -= unused;
    }
    bool isSigned = real || !(element.isInteger(1) || element.isUnsignedInteger());
    if (isSigned)
      key = map(ScalarOp::Add, key, int64_t(1) << (bits - 1));
    if (descending)
      key = map(ScalarOp::Xor, key, (int64_t(1) << bits) - 1);
    return {key, bits};
  }

  /// Adds a dimension of this size before the one that is `back` from the end.
  Value spread(Value x, SymExpr size, int64_t back) {
    SmallVector<SymExpr> sizes(type(x).getShape());
    SmallVector<int64_t> dims(sizes.size());
    std::iota(dims.begin(), dims.end(), 0);
    int64_t at = int64_t(sizes.size()) - back;
    for (int64_t &dim : dims)
      dim += dim >= at;
    sizes.insert(sizes.begin() + at, size);
    return BroadcastOp::create(builder, loc, x, sizes, dims);
  }

  OpBuilder &builder;
  Location loc;
  Value input;
  bool descending;
  SizeFacts facts;
  SmallVector<SymExpr> lead;
};

/// The time that sorting a row of so many elements with keys of `bits` bits takes on a GPU, where
/// rows have at most `longest` elements. Times are in comparisons of two words.
double sortCost(double elements, int64_t longest, int64_t bits, double launch);

/// The indices of the first elements of rows without sorting the rows, for GPUs; null where a sort
/// costs less.
Value selectFirst(OpBuilder &builder, ArgSortOp op);
/// The indices that sort rows, for GPUs; null for rows so long that a radix sort takes fewer
/// kernels.
Value sortRows(OpBuilder &builder, ArgSortOp op);

} // namespace tessera::gir

#endif
