//===- GraphDecompose.cpp - Decomposition of composite operations ---------===//
//
// Defines every composite in basic operations. 16-bit inputs are converted to f32, computed in f32
// and converted back at the end. Infinite and empty inputs give the same results as in PyTorch.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/IR/Graph.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

namespace {
/// Builds the basic operations of one composite.
class Writer {
public:
  Writer(OpBuilder &builder, Operation *op)
      : builder(builder), loc(op->getLoc()), result(op->getResult(0)) {}

  Value cast(Value x, Type element) {
    if (type(x).getElementType() == element)
      return x;
    return CastOp::create(builder, loc, x, element, false);
  }
  /// The input in the composite's computation type.
  Value widen(Value x) { return cast(x, accumulationType(type(x).getElementType())); }
  /// The replacement of the composite's result.
  Value finish(Value x) { return cast(x, type(result).getElementType()); }

  Value map(ScalarOp op, ValueRange x) { return MapOp::create(builder, loc, op, x); }
  Value constant(double value, Value like) {
    return ConstantOp::create(builder, loc, type(like), value);
  }
  Value reduce(tessera::ReduceOp op, Value x, ArrayRef<int64_t> dims) {
    return gir::ReduceOp::create(builder, loc, op, x, dims);
  }
  /// Broadcasts a value that lacks the dimensions `dims` of `like` to its shape.
  Value expand(Value x, Value like, ArrayRef<int64_t> dims) {
    SmallVector<int64_t> kept;
    for (int64_t dim = 0; dim < int64_t(type(like).getRank()); ++dim)
      if (!llvm::is_contained(dims, dim))
        kept.push_back(dim);
    return BroadcastOp::create(builder, loc, x, type(like).getShape(), kept);
  }
  /// The number of elements along `dims` of `x`, in the shape and element type of `like`.
  Value count(Value x, ArrayRef<int64_t> dims, Value like) {
    SymExpr size(1);
    for (int64_t dim : dims)
      size = size * type(x).getDim(dim);
    Value number = cast(SizeOp::create(builder, loc, size), type(like).getElementType());
    return BroadcastOp::create(builder, loc, number, type(like).getShape(), ArrayRef<int64_t>());
  }
  Value mean(Value x, ArrayRef<int64_t> dims) {
    Value sum = reduce(tessera::ReduceOp::Sum, x, dims);
    return map(ScalarOp::Div, {sum, count(x, dims, sum)});
  }
  /// Deviations from the mean along `dims`.
  Value centre(Value x, ArrayRef<int64_t> dims) {
    return map(ScalarOp::Sub, {x, expand(mean(x, dims), x, dims)});
  }

  static gir::TensorType type(Value x) { return mlir::cast<gir::TensorType>(x.getType()); }

private:
  OpBuilder &builder;
  Location loc;
  Value result;
};
} // namespace

Value SoftmaxOp::decompose(OpBuilder &builder) {
  Writer w(builder, *this);
  SmallVector<int64_t, 1> dims{int64_t(getDim())};
  Value x = w.widen(getInput());
  Value max = w.reduce(tessera::ReduceOp::Max, x, dims);
  if (getSafe()) {
    // exp(-inf - 0) keeps an empty slice at zero where exp(-inf + inf) is nan.
    Value isEmpty =
        w.map(ScalarOp::Eq, {max, w.constant(-std::numeric_limits<double>::infinity(), max)});
    max = w.map(ScalarOp::Where, {isEmpty, w.constant(0, max), max});
  }
  Value weight = w.map(ScalarOp::Exp, w.map(ScalarOp::Sub, {x, w.expand(max, x, dims)}));
  Value sum = w.expand(w.reduce(tessera::ReduceOp::Sum, weight, dims), x, dims);
  Value share = w.map(ScalarOp::Div, {weight, sum});
  if (getSafe()) {
    Value zero = w.constant(0, x);
    share = w.map(ScalarOp::Where, {w.map(ScalarOp::Eq, {sum, zero}), zero, share});
  }
  return w.finish(share);
}

Value LogSoftmaxOp::decompose(OpBuilder &builder) {
  Writer w(builder, *this);
  SmallVector<int64_t, 1> dims{int64_t(getDim())};
  Value x = w.widen(getInput());
  Value max = w.reduce(tessera::ReduceOp::Max, x, dims);
  Value shifted = w.map(ScalarOp::Sub, {x, w.expand(max, x, dims)});
  Value sum = w.reduce(tessera::ReduceOp::Sum, w.map(ScalarOp::Exp, shifted), dims);
  return w.finish(w.map(ScalarOp::Sub, {shifted, w.expand(w.map(ScalarOp::Log, sum), x, dims)}));
}

Value LogSumExpOp::decompose(OpBuilder &builder) {
  Writer w(builder, *this);
  Value x = w.widen(getInput());
  Value max = w.reduce(tessera::ReduceOp::Max, x, getDims());
  Value weight = w.map(ScalarOp::Exp, w.map(ScalarOp::Sub, {x, w.expand(max, x, getDims())}));
  Value sum = w.reduce(tessera::ReduceOp::Sum, weight, getDims());
  // An infinite maximum is the result itself, since inf - inf makes the sum NaN.
  Value value = w.map(ScalarOp::Add, {w.map(ScalarOp::Log, sum), max});
  return w.finish(w.map(ScalarOp::Where, {w.map(ScalarOp::IsInf, max), max, value}));
}

Value MeanOp::decompose(OpBuilder &builder) {
  Writer w(builder, *this);
  return w.finish(w.mean(w.widen(getInput()), getDims()));
}

Value VarOp::decompose(OpBuilder &builder) {
  Writer w(builder, *this);
  Value x = w.widen(getInput());
  Value sum =
      w.reduce(tessera::ReduceOp::Sum, w.map(ScalarOp::Square, w.centre(x, getDims())), getDims());
  Value freedom = w.count(x, getDims(), sum);
  if (double correction = getCorrection().convertToDouble()) {
    freedom = w.map(ScalarOp::Sub, {freedom, w.constant(correction, freedom)});
    freedom = w.map(ScalarOp::Maximum, {freedom, w.constant(0, freedom)});
  }
  return w.finish(w.map(ScalarOp::Div, {sum, freedom}));
}

/// The last `rank` dimensions of a tensor.
static SmallVector<int64_t> lastDims(Value x, int64_t rank) {
  SmallVector<int64_t> dims(rank);
  std::iota(dims.begin(), dims.end(), Writer::type(x).getRank() - rank);
  return dims;
}

/// x / sqrt(mean(x^2) + eps) along `dims`.
static Value normalise(Writer &w, Value x, ArrayRef<int64_t> dims, const APFloat &eps) {
  Value power = w.mean(w.map(ScalarOp::Square, x), dims);
  Value inverse = w.map(ScalarOp::Rsqrt,
                        w.map(ScalarOp::Add, {power, w.constant(eps.convertToDouble(), power)}));
  return w.map(ScalarOp::Mul, {x, w.expand(inverse, x, dims)});
}

/// Applies a parameter that has only the last dimensions of `x`.
static Value apply(Writer &w, ScalarOp op, Value x, Value parameter, ArrayRef<int64_t> lastDims) {
  SmallVector<int64_t> leading(Writer::type(x).getRank() - lastDims.size());
  std::iota(leading.begin(), leading.end(), 0);
  return parameter ? w.map(op, {x, w.expand(w.widen(parameter), x, leading)}) : x;
}

Value LayerNormOp::decompose(OpBuilder &builder) {
  Writer w(builder, *this);
  SmallVector<int64_t> dims = lastDims(getInput(), getRank());
  Value y = normalise(w, w.centre(w.widen(getInput()), dims), dims, getEps());
  y = apply(w, ScalarOp::Mul, y, getScale(), dims);
  return w.finish(apply(w, ScalarOp::Add, y, getShift(), dims));
}

Value RmsNormOp::decompose(OpBuilder &builder) {
  Writer w(builder, *this);
  SmallVector<int64_t> dims = lastDims(getInput(), getRank());
  Value y = normalise(w, w.widen(getInput()), dims, getEps());
  return w.finish(apply(w, ScalarOp::Mul, y, getScale(), dims));
}

/// For each element, the sum of the sources with its index.
Value ScatterAddOp::decompose(OpBuilder &builder) {
  Writer w(builder, *this);
  Location loc = getLoc();
  Value sources = w.widen(getSources());
  gir::TensorType from = cast<gir::TensorType>(sources.getType()),
                  to = cast<gir::TensorType>(getResult().getType());
  int64_t rank = to.getRank(), dim = getDim();
  // The sources' dimension comes last: [.., element, .., source].
  SmallVector<SymExpr> pairs(from.getShape());
  pairs[dim] = to.getDim(dim);
  pairs.push_back(from.getDim(dim));
  SmallVector<int64_t> order, kept;
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim) {
      order.push_back(d);
      kept.push_back(d);
    }
  order.push_back(dim);
  kept.push_back(rank);
  auto spread = [&](Value x) {
    Value last = TransposeOp::create(builder, loc, x, order);
    return Value(BroadcastOp::create(builder, loc, last, pairs, kept));
  };
  Type indexType = cast<gir::TensorType>(getIndices().getType()).getElementType();
  bool isNarrow = indexType.getIntOrFloatBitWidth() < 32;
  Value index = isNarrow ? w.cast(getIndices(), builder.getI32Type()) : getIndices();
  Value at = spread(index);
  Value own = IotaOp::create(builder, loc, at.getType(), dim);
  Value isSent = w.map(ScalarOp::Eq, {at, own}), sent = spread(sources);
  Value chosen = w.map(ScalarOp::Where, {isSent, sent, w.constant(0, sent)});
  Value sum = w.reduce(tessera::ReduceOp::Sum, chosen, {rank});
  // Nothing is added past the sources.
  for (int64_t d = 0; d < rank; ++d) {
    auto type = cast<gir::TensorType>(sum.getType());
    SmallVector<SymExpr> border(type.getShape());
    border[d] = to.getDim(d) - type.getDim(d);
    if (border[d].isConstant(0))
      continue;
    Value zeros = ConstantOp::create(builder, loc, type.withShape(border), 0.0);
    sum = ConcatOp::create(builder, loc, d, ValueRange{sum, zeros});
  }
  return w.finish(w.map(ScalarOp::Add, {w.widen(getInput()), sum}));
}
