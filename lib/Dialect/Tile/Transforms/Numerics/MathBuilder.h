//===- MathBuilder.h - Formulas on tiles -----------------------*- C++ -*-===//
//
// A `Term` is a tile value with the operators of arithmetic, so that an expansion reads like its
// formula: `fma(r * r, q, r) + 1.0`. Every operator makes one primitive `tile.map` (or folds it).
// Numbers take the element type of the term beside them.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_NUMERICS_MATHBUILDER_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_NUMERICS_MATHBUILDER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

namespace tessera::tile {

class Term {
public:
  Term(mlir::ImplicitLocOpBuilder &builder, mlir::Value value) : builder(&builder), value(value) {}

  mlir::Value get() const { return value; }
  mlir::RankedTensorType type() const {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  mlir::Type element() const { return type().getElementType(); }
  bool isF64() const { return element().isF64(); }

  /// A constant of this term's shape and element type.
  Term number(double number) const {
    return {*builder, ConstantOp::create(*builder, builder->getLoc(), type(), number)};
  }
  /// A constant with 64 exact bits, for integer terms.
  Term integer(int64_t number) const {
    auto attr = builder->getIntegerAttr(
        element(), llvm::APInt(element().getIntOrFloatBitWidth(), number, true, true));
    return {*builder, ConstantOp::create(*builder, builder->getLoc(), type(), attr)};
  }
  /// The constant that suits this term's type: one for f32, one for f64.
  Term pick(double f32, double f64) const { return number(isF64() ? f64 : f32); }
  double choose(double f32, double f64) const { return isF64() ? f64 : f32; }

  Term map(ScalarOp op, llvm::ArrayRef<Term> others = {}, bool fast = false) const {
    llvm::SmallVector<mlir::Value> inputs{value};
    for (const Term &other : others)
      inputs.push_back(other.value);
    return {*builder, builder->createOrFold<MapOp>(op, inputs, fast)};
  }
  /// Another value as a term.
  Term term(mlir::Value other) const { return {*builder, other}; }
  /// This term repeated, as an operation does it.
  Term repeated(BroadcastOp as) const {
    return {*builder, BroadcastOp::create(*builder, as.getType(), value, as.getDims())};
  }
  Term cast(mlir::Type elementType) const {
    return {*builder, builder->createOrFold<CastOp>(value, elementType)};
  }
  Term bitcast(mlir::Type elementType) const {
    return {*builder, builder->createOrFold<BitcastOp>(value, elementType)};
  }
  /// The same bits as an integer of equal width, and as the float type `like` has.
  Term bits() const { return bitcast(builder->getIntegerType(type().getElementTypeBitWidth())); }
  Term asFloat(const Term &like) const { return bitcast(like.element()); }

  /// Makes types.
  mlir::Builder &types() const { return *builder; }

private:
  mlir::ImplicitLocOpBuilder *builder;
  mlir::Value value;
};

inline Term operator+(Term a, Term b) { return a.map(ScalarOp::Add, {b}); }
inline Term operator-(Term a, Term b) { return a.map(ScalarOp::Sub, {b}); }
inline Term operator*(Term a, Term b) { return a.map(ScalarOp::Mul, {b}); }
/// Quotients inside of a function may be off by a unit or two: its own error is as large.
inline Term operator/(Term a, Term b) { return a.map(ScalarOp::Div, {b}, /*fast=*/true); }
inline Term operator+(Term a, double b) { return a + a.number(b); }
inline Term operator-(Term a, double b) { return a - a.number(b); }
inline Term operator*(Term a, double b) { return a * a.number(b); }
inline Term operator/(Term a, double b) { return a / a.number(b); }
inline Term operator+(double a, Term b) { return b.number(a) + b; }
inline Term operator-(double a, Term b) { return b.number(a) - b; }
inline Term operator*(double a, Term b) { return b.number(a) * b; }
inline Term operator/(double a, Term b) { return b.number(a) / b; }
inline Term operator-(Term a) { return a.map(ScalarOp::Neg); }

inline Term operator==(Term a, Term b) { return a.map(ScalarOp::Eq, {b}); }
inline Term operator!=(Term a, Term b) { return a.map(ScalarOp::Ne, {b}); }
inline Term operator<(Term a, Term b) { return a.map(ScalarOp::Lt, {b}); }
inline Term operator>(Term a, Term b) { return a.map(ScalarOp::Gt, {b}); }
inline Term operator>=(Term a, Term b) { return a.map(ScalarOp::Ge, {b}); }
inline Term operator==(Term a, double b) { return a == a.number(b); }
inline Term operator!=(Term a, double b) { return a != a.number(b); }
inline Term operator<(Term a, double b) { return a < a.number(b); }
inline Term operator>(Term a, double b) { return a > a.number(b); }
inline Term operator>=(Term a, double b) { return a >= a.number(b); }

inline Term operator&(Term a, Term b) { return a.map(ScalarOp::And, {b}); }
inline Term operator|(Term a, Term b) { return a.map(ScalarOp::Or, {b}); }
inline Term operator^(Term a, Term b) { return a.map(ScalarOp::Xor, {b}); }
inline Term operator~(Term a) { return a.map(ScalarOp::Not); }
inline Term operator<<(Term a, int64_t count) { return a.map(ScalarOp::Shl, {a.integer(count)}); }
inline Term operator>>(Term a, int64_t count) { return a.map(ScalarOp::Shr, {a.integer(count)}); }

inline Term fma(Term a, Term b, Term c) { return a.map(ScalarOp::Fma, {b, c}); }
inline Term fma(Term a, double b, Term c) { return fma(a, a.number(b), c); }
/// a b, rounded: an fma with zero, which is also one operation. A plain product may be contracted
/// with a sum that uses it, before it is rounded. A formula that also adds the rounding error,
/// fma(a, b, -product), would then count that twice.
inline Term roundedProduct(Term a, Term b) { return fma(a, b, a.number(0)); }
inline Term abs(Term a) { return a.map(ScalarOp::Abs); }
inline Term sqrt(Term a) { return a.map(ScalarOp::Sqrt); }
inline Term floor(Term a) { return a.map(ScalarOp::Floor); }
inline Term round(Term a) { return a.map(ScalarOp::Round); }
inline Term trunc(Term a) { return a.map(ScalarOp::Trunc); }
inline Term maximum(Term a, Term b) { return a.map(ScalarOp::Maximum, {b}); }
inline Term minimum(Term a, Term b) { return a.map(ScalarOp::Minimum, {b}); }
inline Term scaleb(Term a, Term exponent) { return a.map(ScalarOp::ScaleB, {exponent}); }
inline Term where(Term condition, Term a, Term b) { return condition.map(ScalarOp::Where, {a, b}); }
inline Term where(Term condition, Term a, double b) { return where(condition, a, a.number(b)); }
inline Term where(Term condition, double a, Term b) { return where(condition, b.number(a), b); }

/// Clamps to constants. NaN stays, as with maximum and minimum, but a select is one instruction
/// where a maximum that propagates NaN is three.
inline Term atLeast(Term a, double low) { return where(a < low, low, a); }
inline Term atMost(Term a, double high) { return where(a > high, high, a); }
inline Term clamp(Term a, double low, double high) { return atMost(atLeast(a, low), high); }

/// A sum with it has no fraction, and its lowest bits are those of the integer: it is a multiple of
/// the bits that a shift moves out of the exponent.
inline double roundingShift(Term x) { return x.choose(0x1.8p23, 0x1.8p52); }

/// The integer nearest to x, or to x times `factor`, for magnitudes up to 2^22 (f32) and 2^51
/// (f64): two additions, which are faster than a rounding instruction for any number.
inline Term rounded(Term x) { return (x + roundingShift(x)) - roundingShift(x); }
inline Term rounded(Term x, Term factor) {
  return fma(x, factor, x.number(roundingShift(x))) - roundingShift(x);
}

/// c0 + c1 x + c2 x² + …, by Horner's rule.
template <typename Number> Term horner(Term x, llvm::ArrayRef<Number> coefficients) {
  Term sum = x.number(coefficients.back());
  for (Number c : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, x.number(c));
  return sum;
}

/// The polynomial of the table that suits x's type.
inline Term polynomial(Term x, llvm::ArrayRef<float> f32, llvm::ArrayRef<double> f64) {
  return x.isF64() ? horner(x, f64) : horner(x, f32);
}

/// The sign bit alone.
inline Term signBit(Term x) {
  Term bits = x.bits();
  return bits & bits.integer(x.isF64() ? INT64_MIN : INT32_MIN);
}

/// |magnitude| is `magnitude`, which is not negative; the sign is that of `sign`.
inline Term copySign(Term magnitude, Term sign) {
  return (magnitude.bits() | signBit(sign)).asFloat(magnitude);
}

/// `result`, with the sign of a zero argument kept where a formula would lose it.
inline Term keepZero(Term x, Term result) { return where(x == 0.0, x, result); }

} // namespace tessera::tile

#endif
