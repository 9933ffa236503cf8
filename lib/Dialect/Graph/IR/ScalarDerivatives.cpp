//===- ScalarDerivatives.cpp - Derivatives of elementwise operations ------===//
//
// Builds the expressions of ScalarDerivatives.def. An expression is a tensor with the operators of
// C++, so that the table reads as mathematics.
//
//===----------------------------------------------------------------------===//
#include "OpWriter.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

namespace {

/// A tensor of the expression, or no tensor.
struct Term {
  OpWriter *w = nullptr;
  Value value;

  Term constant(double number) const { return {w, w->constant(number, value)}; }
  Term apply(ScalarOp op, ValueRange operands) const { return {w, w->map(op, operands)}; }
};

Term binary(ScalarOp op, Term a, Term b) { return a.apply(op, {a.value, b.value}); }

#define TESSERA_OPERATOR(symbol, Op)                                                               \
  [[maybe_unused]] Term operator symbol(Term a, Term b) { return binary(ScalarOp::Op, a, b); }     \
  [[maybe_unused]] Term operator symbol(Term a, double b) {                                        \
    return binary(ScalarOp::Op, a, a.constant(b));                                                 \
  }                                                                                                \
  [[maybe_unused]] Term operator symbol(double a, Term b) {                                        \
    return binary(ScalarOp::Op, b.constant(a), b);                                                 \
  }
TESSERA_OPERATOR(+, Add)
TESSERA_OPERATOR(-, Sub)
TESSERA_OPERATOR(*, Mul)
TESSERA_OPERATOR(/, Div)
TESSERA_OPERATOR(==, Eq)
TESSERA_OPERATOR(<, Lt)
TESSERA_OPERATOR(<=, Le)
TESSERA_OPERATOR(>=, Ge)
#undef TESSERA_OPERATOR

Term operator&(Term a, Term b) { return binary(ScalarOp::And, a, b); }
Term operator-(Term a) { return a.apply(ScalarOp::Neg, a.value); }

Term where(Term condition, Term a, Term b) {
  return a.apply(ScalarOp::Where, {condition.value, a.value, b.value});
}
Term where(Term condition, double a, Term b) { return where(condition, b.constant(a), b); }
Term where(Term condition, Term a, double b) { return where(condition, a, a.constant(b)); }

#define TESSERA_FUNCTION(name, Op)                                                                 \
  Term name(Term a) { return a.apply(ScalarOp::Op, a.value); }
TESSERA_FUNCTION(cos, Cos)
TESSERA_FUNCTION(cosh, Cosh)
TESSERA_FUNCTION(erf, Erf)
TESSERA_FUNCTION(exp, Exp)
TESSERA_FUNCTION(floor, Floor)
TESSERA_FUNCTION(log, Log)
TESSERA_FUNCTION(rsqrt, Rsqrt)
TESSERA_FUNCTION(sigmoid, Sigmoid)
TESSERA_FUNCTION(sign, Sign)
TESSERA_FUNCTION(sin, Sin)
TESSERA_FUNCTION(sinh, Sinh)
TESSERA_FUNCTION(tanh, Tanh)
TESSERA_FUNCTION(trunc, Trunc)
#undef TESSERA_FUNCTION
Term pow(Term a, Term b) { return binary(ScalarOp::Pow, a, b); }
Term scaleb(Term a, Term b) { return binary(ScalarOp::ScaleB, a, b); }

/// With u = c (x + k x^3): (1 + tanh u) / 2 + x (1 - tanh^2 u) u' / 2.
Term geluTanhSlope(Term x) {
  const double c = M_SQRT2 * M_2_SQRTPI * 0.5, k = 0.044715;
  Term t = tanh(c * (x + k * (x * x * x)));
  Term slope = c * (1.0 + 3 * k * (x * x));
  return 0.5 * (1.0 + t) + 0.5 * x * ((1.0 - t * t) * slope);
}

/// The operands, the result and its cotangent, and what is wanted of them.
struct Rule {
  OpWriter &w;
  ArrayRef<bool> wanted;
  bool isWide; ///< narrow operands are computed in f32
  SmallVector<Value> casts = {};

  Term term(Value value) {
    if (!value || !isWide || !isa<FloatType>(OpWriter::element(value)))
      return {&w, value};
    Value wide = w.widen(value);
    if (wide != value)
      casts.push_back(wide);
    return {&w, wide};
  }
  SmallVector<Value> build(MapOp op, ArrayRef<llvm::function_ref<Term()>> rules) {
    SmallVector<Value> gradients;
    for (auto [i, rule] : llvm::enumerate(rules)) {
      Value value = wanted[i] ? rule().value : Value();
      Value operand = op.getInputs()[i];
      gradients.push_back(value ? w.cast(value, OpWriter::element(operand)) : value);
    }
    for (Value cast : llvm::reverse(casts))
      if (cast.use_empty())
        cast.getDefiningOp()->erase();
    return gradients;
  }
};

} // namespace

#define TESSERA_LAZY_1(a) {[&]() -> Term { return a; }}
#define TESSERA_LAZY_2(a, b) {[&]() -> Term { return a; }, [&]() -> Term { return b; }}
#define TESSERA_LAZY_3(a, b, c)                                                                    \
  {[&]() -> Term { return a; }, [&]() -> Term { return b; }, [&]() -> Term { return c; }}
#define TESSERA_NAME_OF(_1, _2, _3, name, ...) name
#define TESSERA_LAZY(...)                                                                          \
  TESSERA_NAME_OF(__VA_ARGS__, TESSERA_LAZY_3, TESSERA_LAZY_2, TESSERA_LAZY_1, )(__VA_ARGS__)
#define TESSERA_RULE(Op, wide, ...)                                                                \
  case ScalarOp::Op: {                                                                             \
    Rule rule{w, wanted, wide};                                                                    \
    [[maybe_unused]] Term g = rule.term(cotangent), r = rule.term(getResult());                    \
    [[maybe_unused]] Term x = rule.term(operand(0)), y = rule.term(operand(1));                    \
    [[maybe_unused]] Term z = rule.term(operand(2)), none;                                         \
    return rule.build(*this, TESSERA_LAZY(__VA_ARGS__));                                           \
  }

SmallVector<Value> MapOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool> wanted) {
  OpWriter w(builder, *this);
  auto operand = [&](unsigned i) { return i < getInputs().size() ? getInputs()[i] : Value(); };
  if ((*this)->hasAttr(kZeroAtZeroAttr)) { // of a square root
    Value zero = w.constant(0, getResult());
    Value slope = w.div(cotangent, w.add(getResult(), getResult()));
    return {w.where(w.equal(getResult(), zero), zero, slope)};
  }
  if ((*this)->hasAttr(kFirstTieAttr)) { // of a maximum or minimum
    Value zero = w.constant(0, cotangent), bound = operand(0), x = operand(1);
    bool isMax = getScalarOp() == ScalarOp::Maximum;
    Value isBelow = w.map(ScalarOp::Lt, isMax ? ValueRange{bound, x} : ValueRange{x, bound});
    Value isBound = w.map(ScalarOp::Le, isMax ? ValueRange{x, bound} : ValueRange{bound, x});
    return {wanted[0] ? w.where(isBelow, zero, cotangent) : Value(),
            wanted[1] ? w.where(isBound, zero, cotangent) : Value()};
  }
  switch (getScalarOp()) {
#define TESSERA_DERIVATIVE(Op, ...) TESSERA_RULE(Op, true, __VA_ARGS__)
#define TESSERA_LINEAR(Op, ...) TESSERA_RULE(Op, false, __VA_ARGS__)
#define TESSERA_NO_DERIVATIVE(Op, reason)                                                          \
  case ScalarOp::Op:                                                                               \
    break;
#include "tessera/Support/ScalarDerivatives.def"
  }
  return SmallVector<Value>(getInputs().size());
}
