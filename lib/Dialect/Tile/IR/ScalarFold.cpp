//===- ScalarFold.cpp - Scalar operations on constants --------------------===//
//
// Evaluates one scalar operation on attributes. Only operations whose result is the same on every
// target are evaluated (exact ones, and those that IEEE 754 rounds correctly), so that folding
// never changes what a kernel computes. Elementary functions are left to their expansion.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Support/ScalarEval.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using llvm::APFloat;
using llvm::APInt;
using llvm::APSInt;

static constexpr auto kNearest = APFloat::rmNearestTiesToEven;

static bool isUnsigned(Type type) { return type.isInteger(1) || type.isUnsignedInteger(); }

static TypedAttr boolAttr(MLIRContext *context, bool value) {
  return BoolAttr::get(context, value);
}

static std::optional<bool> foldCompare(ScalarOp op, APFloat::cmpResult order) {
  switch (op) {
  case ScalarOp::Eq:
    return order == APFloat::cmpEqual;
  case ScalarOp::Ne:
    return order != APFloat::cmpEqual;
  case ScalarOp::Lt:
    return order == APFloat::cmpLessThan;
  case ScalarOp::Le:
    return order == APFloat::cmpLessThan || order == APFloat::cmpEqual;
  case ScalarOp::Gt:
    return order == APFloat::cmpGreaterThan;
  case ScalarOp::Ge:
    return order == APFloat::cmpGreaterThan || order == APFloat::cmpEqual;
  default:
    return std::nullopt;
  }
}

static std::optional<APFloat> foldSqrt(const APFloat &x) {
  if (&x.getSemantics() == &APFloat::IEEEsingle())
    return APFloat(std::sqrt(x.convertToFloat()));
  if (&x.getSemantics() == &APFloat::IEEEdouble())
    return APFloat(std::sqrt(x.convertToDouble()));
  return std::nullopt;
}

static std::optional<APFloat> foldScaleB(const APFloat &x, const APFloat &y) {
  if (!y.isFinite())
    return std::nullopt;
  APSInt exponent(/*BitWidth=*/32, /*isUnsigned=*/false);
  bool exact;
  if (y.convertToInteger(exponent, APFloat::rmTowardZero, &exact) != APFloat::opOK)
    return std::nullopt;
  return scalbn(x, int(exponent.getExtValue()), kNearest);
}

static std::optional<APFloat> foldFloat(ScalarOp op, ArrayRef<APFloat> x) {
  APFloat r = x[0];
  auto rounded = [&](APFloat::roundingMode mode) {
    r.roundToIntegral(mode);
    return r;
  };
  switch (op) {
  case ScalarOp::Add:
    r.add(x[1], kNearest);
    return r;
  case ScalarOp::Sub:
    r.subtract(x[1], kNearest);
    return r;
  case ScalarOp::Mul:
    r.multiply(x[1], kNearest);
    return r;
  case ScalarOp::Div:
    r.divide(x[1], kNearest);
    return r;
  case ScalarOp::Fma:
    r.fusedMultiplyAdd(x[1], x[2], kNearest);
    return r;
  case ScalarOp::Square:
    r.multiply(x[0], kNearest);
    return r;
  case ScalarOp::Reciprocal:
    r = APFloat(x[0].getSemantics(), 1);
    r.divide(x[0], kNearest);
    return r;
  case ScalarOp::Maximum:
    return maximum(x[0], x[1]);
  case ScalarOp::Minimum:
    return minimum(x[0], x[1]);
  case ScalarOp::Neg:
    return neg(r);
  case ScalarOp::Abs:
    return abs(r);
  case ScalarOp::Sqrt:
    return foldSqrt(r);
  case ScalarOp::ScaleB:
    return foldScaleB(x[0], x[1]);
  case ScalarOp::Floor:
    return rounded(APFloat::rmTowardNegative);
  case ScalarOp::Ceil:
    return rounded(APFloat::rmTowardPositive);
  case ScalarOp::Round:
    return rounded(kNearest);
  case ScalarOp::Trunc:
    return rounded(APFloat::rmTowardZero);
  default:
    return std::nullopt;
  }
}

TypedAttr tile::foldScalarOp(ScalarOp op, ArrayRef<TypedAttr> operands) {
  if (llvm::any_of(operands, [](TypedAttr attr) { return !attr; }))
    return {};
  MLIRContext *context = operands.front().getContext();
  if (op == ScalarOp::Where)
    return operands[cast<IntegerAttr>(operands[0]).getValue().isZero() ? 2 : 1];

  Type type = operands.front().getType();
  if (isa<FloatType>(type)) {
    SmallVector<APFloat> x;
    for (TypedAttr operand : operands)
      x.push_back(cast<FloatAttr>(operand).getValue());
    if (op == ScalarOp::IsNan)
      return boolAttr(context, x[0].isNaN());
    if (op == ScalarOp::IsInf)
      return boolAttr(context, x[0].isInfinity());
    if (op == ScalarOp::IsFinite)
      return boolAttr(context, x[0].isFinite());
    if (scalarOpInfo(op).rule == TypeRule::Compare)
      return boolAttr(context, *foldCompare(op, x[0].compare(x[1])));
    std::optional<APFloat> result = foldFloat(op, x);
    return result ? FloatAttr::get(type, *result) : TypedAttr();
  }

  // Integers, also where targets leave the result undefined: ScalarEval.h defines it.
  if (type.isInteger() && scalarOpInfo(op).rule != TypeRule::Float) {
    SmallVector<int64_t> x;
    for (TypedAttr operand : operands) {
      APInt value = cast<IntegerAttr>(operand).getValue();
      x.push_back(isUnsigned(type) ? value.getZExtValue() : value.getSExtValue());
    }
    IntegerFormat format{type.getIntOrFloatBitWidth(), !isUnsigned(type)};
    int64_t result = evaluateInteger(op, x.data(), format);
    if (scalarOpInfo(op).rule == TypeRule::Compare)
      return boolAttr(context, result);
    return IntegerAttr::get(type, APInt(format.width, result, /*isSigned=*/true,
                                        /*implicitTrunc=*/true));
  }
  return {};
}

TypedAttr tile::foldCast(TypedAttr value, Type type) {
  if (!value || value.getType() == type)
    return value;
  MLIRContext *context = type.getContext();
  auto toFloat = dyn_cast<FloatType>(type);
  if (auto number = dyn_cast<FloatAttr>(value)) {
    APFloat x = number.getValue();
    bool inexact;
    if (toFloat) {
      x.convert(toFloat.getFloatSemantics(), kNearest, &inexact);
      return FloatAttr::get(type, x);
    }
    if (type.isInteger(1))
      return boolAttr(context, !x.isZero());
    APSInt integer(type.getIntOrFloatBitWidth(), isUnsigned(type));
    if (x.convertToInteger(integer, APFloat::rmTowardZero, &inexact) & APFloat::opInvalidOp)
      return {};
    return IntegerAttr::get(type, APInt(integer));
  }
  APSInt x(cast<IntegerAttr>(value).getValue(), isUnsigned(value.getType()));
  if (toFloat) {
    APFloat result(toFloat.getFloatSemantics());
    result.convertFromAPInt(x, x.isSigned(), kNearest);
    return FloatAttr::get(type, result);
  }
  if (type.isInteger(1))
    return boolAttr(context, !x.isZero());
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return IntegerAttr::get(type, APInt(x.extOrTrunc(width)));
}

TypedAttr tile::foldBitcast(TypedAttr value, Type type) {
  if (!value)
    return {};
  auto number = dyn_cast<FloatAttr>(value);
  APInt bits = number ? number.getValue().bitcastToAPInt() : cast<IntegerAttr>(value).getValue();
  if (auto toFloat = dyn_cast<FloatType>(type))
    return FloatAttr::get(type, APFloat(toFloat.getFloatSemantics(), bits));
  return IntegerAttr::get(type, bits);
}
