//===- GraphDecompose.cpp - Decomposition of composite operations ---------===//
//
// Defines every composite in basic operations. 16-bit inputs are converted to f32, computed in f32
// and converted back at the end. Infinite and empty inputs give the same results as in PyTorch.
//
//===----------------------------------------------------------------------===//
#include "OpWriter.h"

#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;
using Writer = gir::OpWriter;

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
