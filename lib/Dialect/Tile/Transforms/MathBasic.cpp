//===- MathBasic.cpp - Signs, quotients and integer powers ----------------===//
//
// Quotients are exact: a remainder computed with one rounding shows where a rounded quotient is
// off.
//
//===----------------------------------------------------------------------===//
#include "MathExpansions.h"

#include <limits>

using namespace tessera;
using namespace tessera::tile;

Term tile::expandSign(Term x) {
  if (x.element().isInteger()) {
    Term positive = where(x > x.integer(0), x.integer(1), x.integer(0));
    return where(x < x.integer(0), x.integer(-1), positive);
  }
  return where(x > 0.0, x.number(1), where(x < 0.0, x.number(-1), x - x)); // nan, and one zero
}

/// x - trunc(x / y) y. A rounded quotient is right but for its last bit, and subtracting it with
/// one rounding is exact, so every step removes a type's width of the quotient; two steps are exact
/// for |x / y| < 2^44 (f32) and 2^100 (f64). What the last step took too much is given back.
Term tile::expandFMod(Term x, Term y) {
  Term a = abs(x), d = abs(y);
  Term r = a;
  for (int step = 0; step < 2; ++step)
    r = fma(-trunc(r / d), d, r);
  r = where(r < 0.0, r + d, r);
  r = where(r >= d, r - d, r);
  // A divisor that is infinite leaves x.
  r = where(a < d, a, r);
  return copySign(r, x);
}

Term tile::expandRemainder(Term x, Term y) {
  Term r = expandFMod(x, y);
  Term opposite = (r < 0.0).map(ScalarOp::Ne, {y < 0.0});
  return where(opposite & (r != 0.0), r + y, r);
}

Term tile::expandFloorDiv(Term x, Term y) {
  // x / y may have been rounded up to an integer: the exact remainder then has the wrong sign.
  Term q = floor(x / y);
  Term r = where(abs(y) == std::numeric_limits<double>::infinity(), x, fma(-q, y, x));
  Term tooLarge = where(y<0.0, r> 0.0, r < 0.0);
  q = where(tooLarge, q - 1.0, q);
  // An infinite x has no remainder, as in PyTorch, unless nothing divides it.
  return where(y == 0.0, q, q - (x - x));
}

/// Repeated squaring over all bits of the exponent. A negative exponent gives the reciprocal
/// rounded towards zero.
Term tile::expandIntegerPow(Term x, Term y) {
  unsigned width = x.type().getElementTypeBitWidth();
  bool isSigned = !x.element().isUnsignedInteger();
  Term zero = x.integer(0), one = x.integer(1);
  Term result = one, base = x;
  for (unsigned bit = 0; bit < width - (isSigned ? 1 : 0); ++bit) {
    if (bit)
      base = base * base;
    result = where((y & y.integer(int64_t(1) << bit)) != zero, result * base, result);
  }
  if (!isSigned)
    return result;
  Term odd = (y & one) != zero, minusOne = x.integer(-1);
  Term reciprocal = where(x == one, one, where(x == minusOne, where(odd, minusOne, one), zero));
  return where(y < zero, reciprocal, result);
}

/// The bits of a number as an integer grow with its magnitude; negative ones are turned around.
Term tile::expandOrderKey(Term x) {
  Term bits = x.bits();
  unsigned width = bits.type().getElementTypeBitWidth();
  Term most = bits.integer(width == 64 ? INT64_MAX : INT32_MAX);
  Term key = bits ^ ((bits >> (width - 1)) & most);
  key = where(x == 0.0, bits.integer(0), key);
  key = where(x == x, key, most);
  return key.cast(x.types().getI64Type());
}
