//===- CompositeDerivatives.cpp - Derivatives of composite operations -----===//
//
// Composites have rules of their own, which reuse the composite's result and need no Jacobian: what
// a person would write. Differentiating the decomposition gives the same numbers with more
// operations, and without the cancellation of terms. 16-bit operands are computed in f32.
//
//===----------------------------------------------------------------------===//
#include "OpWriter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

using Gradients = SmallVector<Value>;

/// y (g - sum(g y)).
Gradients SoftmaxOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  OpWriter w(builder, *this);
  SmallVector<int64_t, 1> dims{int64_t(getDim())};
  Value y = w.widen(getResult()), g = w.widen(cotangent);
  Value dot = w.sum(w.mul(g, y), dims);
  return {w.finish(w.mul(y, w.sub(g, w.expand(dot, y, dims))))};
}

/// g - exp(y) sum(g).
Gradients LogSoftmaxOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  OpWriter w(builder, *this);
  SmallVector<int64_t, 1> dims{int64_t(getDim())};
  Value y = w.widen(getResult()), g = w.widen(cotangent);
  Value share = w.mul(w.map(ScalarOp::Exp, y), w.expand(w.sum(g, dims), y, dims));
  return {w.finish(w.sub(g, share))};
}

/// g exp(x - y).
Gradients LogSumExpOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  OpWriter w(builder, *this);
  Value x = w.widen(getInput()), y = w.widen(getResult()), g = w.widen(cotangent);
  Value share = w.map(ScalarOp::Exp, w.sub(x, w.expand(y, x, getDims())));
  return {w.finish(w.mul(w.expand(g, x, getDims()), share))};
}

Gradients MeanOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  OpWriter w(builder, *this);
  Value g = w.widen(cotangent);
  Value each = w.div(g, w.count(getInput(), getDims(), g));
  return {w.finish(w.expand(each, getInput(), getDims()))};
}

/// 2 g (x - mean) / (number - correction).
Gradients VarOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  OpWriter w(builder, *this);
  Value x = w.widen(getInput()), g = w.widen(cotangent);
  Value freedom = w.count(x, getDims(), g);
  if (double correction = getCorrection().convertToDouble()) {
    freedom = w.sub(freedom, w.constant(correction, freedom));
    freedom = w.map(ScalarOp::Maximum, {freedom, w.constant(0, freedom)});
  }
  Value factor = w.div(w.mul(w.constant(2, g), g), freedom);
  return {w.finish(w.mul(w.expand(factor, x, getDims()), w.centre(x, getDims())))};
}

namespace {
/// A normalized row and what normalized it.
struct Normalized {
  Value rows;    ///< x / sqrt(mean(x^2) + eps)
  Value inverse; ///< 1 / sqrt(mean(x^2) + eps), in the shape of x
};
} // namespace

static Normalized normalize(OpWriter &w, Value x, ArrayRef<int64_t> dims, const APFloat &eps) {
  Value power = w.mean(w.map(ScalarOp::Square, x), dims);
  Value inverse = w.map(ScalarOp::Rsqrt, w.add(power, w.constant(eps.convertToDouble(), power)));
  Value expanded = w.expand(inverse, x, dims);
  return {w.mul(x, expanded), expanded};
}

/// The cotangent of the normalized rows: that of the result, times the scale.
static Value scaled(OpWriter &w, Value g, Value scale, ArrayRef<int64_t> leading) {
  return scale ? w.mul(g, w.expand(w.widen(scale), g, leading)) : g;
}

/// (h - n mean(h n)) inverse, without the mean of h if the rows are centred.
static Value throughRows(OpWriter &w, Value h, const Normalized &n, ArrayRef<int64_t> dims,
                         bool isCentred) {
  Value along = w.mul(n.rows, w.expand(w.mean(w.mul(h, n.rows), dims), h, dims));
  Value rest = w.sub(isCentred ? w.centre(h, dims) : h, along);
  return w.mul(rest, n.inverse);
}

Gradients LayerNormOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool> wanted) {
  OpWriter w(builder, *this);
  SmallVector<int64_t> dims = lastDims(getInput(), getRank());
  SmallVector<int64_t> leading = leadingDims(getInput(), getRank());
  Value g = w.widen(cotangent);
  Normalized n = normalize(w, w.centre(w.widen(getInput()), dims), dims, getEps());
  Gradients gradients;
  Value h = scaled(w, g, getScale(), leading);
  gradients.push_back(wanted[0] ? w.finish(throughRows(w, h, n, dims, true)) : Value());
  if (getScale()) {
    bool isWanted = wanted[gradients.size()];
    Value sum = isWanted ? w.sum(w.mul(g, n.rows), leading) : Value();
    gradients.push_back(isWanted ? w.cast(sum, OpWriter::element(getScale())) : Value());
  }
  if (getShift()) {
    bool isWanted = wanted[gradients.size()];
    Value sum = isWanted ? w.sum(g, leading) : Value();
    gradients.push_back(isWanted ? w.cast(sum, OpWriter::element(getShift())) : Value());
  }
  return gradients;
}

Gradients RmsNormOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool> wanted) {
  OpWriter w(builder, *this);
  SmallVector<int64_t> dims = lastDims(getInput(), getRank());
  SmallVector<int64_t> leading = leadingDims(getInput(), getRank());
  Value g = w.widen(cotangent);
  Normalized n = normalize(w, w.widen(getInput()), dims, getEps());
  Gradients gradients;
  Value h = scaled(w, g, getScale(), leading);
  gradients.push_back(wanted[0] ? w.finish(throughRows(w, h, n, dims, false)) : Value());
  if (getScale()) {
    Value sum = wanted[1] ? w.sum(w.mul(g, n.rows), leading) : Value();
    gradients.push_back(sum ? w.cast(sum, OpWriter::element(getScale())) : Value());
  }
  return gradients;
}
