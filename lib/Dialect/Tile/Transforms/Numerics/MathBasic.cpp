//===- MathBasic.cpp - Signs, quotients and integer powers ----------------===//
//
// Quotients are exact: a remainder computed with one rounding shows where a rounded quotient is
// off. The operands may be products that later sums take before they are rounded: nothing here may
// count on two uses of an operand being the same number, as x - x would.
//
//===----------------------------------------------------------------------===//
#include "MathExpansions.h"

#include <cmath>
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

/// Exact for all arguments: multiples of |y| times a power of two are taken off, from the largest
/// powers to 1, each for the quotient's next digits. A product with the reciprocal is off by a
/// quarter at most, so the nearest integer leaves less than the divisor, which one rounding keeps
/// exactly. Divisors that are too large are infinite and leave everything. For the last ones both
/// numbers are scaled where the reciprocal would overflow.
Term tile::expandFMod(Term x, Term y) {
  const bool isDouble = x.element().isF64();
  const int digits = isDouble ? 50 : 21, highest = isDouble ? 41 : 13, scale = isDouble ? 800 : 100;
  const int firstScaled = scale / digits + 1;
  const double power = std::ldexp(1.0, digits);
  const double toIntegers = std::ldexp(1.5, isDouble ? 52 : 23); // a sum with it has no fraction
  Term r = abs(x), d = abs(y);
  Term isSmall = d < std::ldexp(1.0, -scale);
  Term up = where(isSmall, d.number(std::ldexp(1.0, scale)), 1.0);
  Term down = where(isSmall, d.number(std::ldexp(1.0, -scale)), 1.0);
  Term scaled = d * up, reciprocal = d.number(1).map(ScalarOp::Div, {scaled});
  /// Takes off multiples of divisor times powers of two with `count` exponents, the least of which
  /// is 0.
  auto takeOff = [&](Term divisor, Term inverse, int count) {
    llvm::SmallVector<std::pair<Term, Term>> steps{{divisor, inverse}};
    while (int(steps.size()) < count)
      steps.push_back({steps.back().first * power, steps.back().second * (1 / power)});
    for (auto [multiple, itsInverse] : llvm::reverse(steps)) {
      Term quotient = (r * itsInverse + toIntegers) - toIntegers;
      r = where(abs(r) >= multiple, fma(-quotient, multiple, r), r);
    }
  };
  const double first = std::ldexp(1.0, digits * firstScaled);
  takeOff(d * first, reciprocal * (1 / first) * up, highest - firstScaled + 1);
  r = r * up;
  takeOff(scaled, reciprocal, firstScaled);
  r = where(r < 0.0, r + scaled, r) * down;
  return copySign(where(d == d, r, d), x);
}

Term tile::expandRemainder(Term x, Term y) {
  Term r = expandFMod(x, y);
  Term opposite = (r < 0.0).map(ScalarOp::Ne, {y < 0.0});
  return where(opposite & (r != 0.0), r + y, r);
}

Term tile::expandFloorDiv(Term x, Term y) {
  // x / y, the nearest number to it, may have been rounded up to an integer: the exact remainder
  // then has the wrong sign. It was never rounded down from one, as an approximate quotient might
  // be.
  Term q = floor(x.map(ScalarOp::Div, {y}));
  Term r = where(abs(y) == std::numeric_limits<double>::infinity(), x, fma(-q, y, x));
  Term tooLarge = where(y < 0.0, r > 0.0, r < 0.0);
  q = where(tooLarge, q - 1.0, q);
  // An infinite x has no remainder, as in PyTorch, unless nothing divides it.
  Term isInfinite = abs(x) == std::numeric_limits<double>::infinity();
  return where(isInfinite & (y != 0.0), std::numeric_limits<double>::quiet_NaN(), q);
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
