//===- MathLog.cpp - Logarithms and powers --------------------------------===//
//
// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), by integer arithmetic on the bits. log(1 + f)
// is f + tail(f): for f32 a polynomial in f, for f64 one in s² with s = f / (2 + f). Keeping f
// apart from its tail leaves the last rounding as the only large one.
//
//===----------------------------------------------------------------------===//
#include "MathExpansions.h"
#include "MathTables.h"

#include <limits>

using namespace tessera;
using namespace tessera::tile;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A small integer as a float. For f64 through the mantissa's bits: vector units without a
/// conversion from 64 bit integers have the two operations of this.
static Term smallToFloat(Term k, Term like) {
  if (!like.isF64())
    return k.cast(like.element());
  return (k + k.integer(0x4338000000000000)).asFloat(like) - 0x1.8p52;
}

/// The exponent e for which x 2^-e lies in [sqrt(1/2), sqrt(2)), as an integer; x is normal.
static Term exponentOf(Term x) {
  Term bits = x.bits();
  bool wide = x.isF64();
  return (bits - bits.integer(wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3)) >> (wide ? 52 : 23);
}

namespace {
/// x = 2^e (1 + f), e integral.
struct Split {
  Term e, f;
};
} // namespace

/// For positive finite x, subnormal ones included.
static Split split(Term x) {
  Term subnormal = x < x.pick(0x1p-126, 0x1p-1022);
  Term normal = where(subnormal, x * 0x1p54, x);
  Term e = exponentOf(normal);
  Term m = (normal.bits() - (e << (x.isF64() ? 52 : 23))).asFloat(x);
  Term exponent = smallToFloat(e, x);
  return {where(subnormal, exponent - 54.0, exponent), m - 1.0};
}

/// log(1 + f) - f.
static Term logTail(Term f) {
  if (!f.isF64()) {
    Term z = f * f;
    return fma(z * f, horner<float>(f, kLogF32), z * -0.5);
  }
  Term s = f / (f + 2.0), z = s * s, half = f * f * 0.5;
  return fma(s, fma(z, horner<double>(z, kAtanhF64), half), -half);
}

/// e ln 2 + f + tail, small terms first.
static Term logSum(Term e, Term f, Term tail) {
  Term low = f + fma(e, e.pick(0x1.7f7d1cp-20f, 0x1.a39ef35793c76p-33), tail);
  return fma(e, e.pick(0x1.62e400p-1f, 0x1.62e42fee00000p-1), low);
}

/// The value at 0, below 0, at infinity and at nan, for logarithms of `x`.
static Term logSpecials(Term x, Term result) {
  Term outside = where(x == 0.0, x.number(-kInfinity), x.number(kNan));
  return where(x > 0.0, where(x < kInfinity, result, x), outside);
}

Term tile::expandLog(Term x) {
  auto [e, f] = split(x);
  return logSpecials(x, logSum(e, f, logTail(f)));
}

Term tile::expandLog2(Term x) {
  auto [e, f] = split(x);
  Term low = fma(f, x.pick(0x1.4ae0c0p-26f, 0x1.777d0ffda0d24p-56),
                 logTail(f) * x.pick(0x1.715476p+0f, 0x1.71547652b82fep+0));
  Term fraction = fma(f, x.pick(0x1.715476p+0f, 0x1.71547652b82fep+0), low);
  return logSpecials(x, fraction + e);
}

Term tile::expandLog1p(Term x) {
  // The exponent is that of the rounded 1 + x; the fraction is then found from x itself.
  Term u = x + 1.0;
  Term e = smallToFloat(exponentOf(u), x);
  Term scale = scaleb(x.number(1), -e);
  Term f = where(e == 0.0, x, fma(x, scale, scale - 1.0));
  Term result = logSum(e, f, logTail(f));
  return keepZero(x, logSpecials(u, result));
}

//===----------------------------------------------------------------------===//
// Powers: |x|^y = 2^(y log2 |x|), the product in a wider form
//===----------------------------------------------------------------------===//

/// y log2(a) for f32 operands, computed in f64, and split into an integer and a rest.
static Term powF32(Term a, Term y) {
  mlir::Type wide = a.types().getF64Type();
  Term base = a.cast(wide);
  auto [e, f] = split(base);
  Term s = f / (f + 2.0), z = s * s;
  Term log = fma(s * z, horner<double>(z, kAtanhShortF64), s + s);
  Term log2 = fma(log, 0x1.71547652b82fep+0, e);
  log2 = where(base == 0.0, -kInfinity, where(base < kInfinity, log2, base));
  Term v = where(base == 1.0, 0.0, y.cast(wide) * log2);
  v = clamp(v, -151, 129);
  Term n = round(v);
  return scaleb(horner<float>((v - n).cast(a.element()), kExp2F32), n.cast(a.element()));
}

/// The same for f64, with log2(a) as a sum of two doubles good to about 2^-65.
static Term powF64(Term a, Term y) {
  auto [e, f] = split(a);
  // s = f / (2 + f), with what the divisor and the quotient lost.
  Term d = f + 2.0, dLow = f - (d - 2.0);
  Term s = f / d, sLow = (fma(-s, d, f) - s * dLow) / d;
  Term z = s * s, zLow = fma(s, s, -z) + (s + s) * sLow;
  // log((1 + s) / (1 - s)) = 2s + s³ (2/3 + z q(z)).
  Term u = roundedProduct(z, horner<double>(z, kAtanhLongF64));
  Term c = u + 0x1.5555555555555p-1;
  Term cLow = (0x1.5555555555555p-1 - c) + u + 0x1.5555555555555p-55;
  Term cube = s * z, cubeLow = fma(s, z, -cube) + fma(s, zLow, sLow * z);
  Term w = roundedProduct(cube, c), wLow = fma(cube, c, -w) + fma(cube, cLow, cubeLow * c);
  Term twice = s + s, log = twice + w;
  Term logLow = (twice - log) + w + (sLow + sLow + wLow);
  // To base 2, with the exponent.
  Term scale = a.number(0x1.71547652b82fep+0);
  Term g = roundedProduct(log, scale);
  Term gLow = fma(log, scale, -g) + fma(log, 0x1.777d0ffda0d24p-56, logLow * scale);
  Term sum = e + g, sumLow = (e - sum) + g + gLow;
  sum = where(a == 0.0, -kInfinity, where(a < kInfinity, sum, a));
  Term one = a == 1.0;
  Term v = where(one, 0.0, y * sum);
  Term vLow = fma(y, sum, -v) + y * sumLow;
  Term inRange = (abs(v) < 1100.0) & ~one;
  return exp2InRange(clamp(v, -1100, 1100), where(inRange, vLow, 0.0));
}

Term tile::expandPow(Term x, Term y) {
  Term a = abs(x);
  Term power = x.isF64() ? powF64(a, y) : powF32(a, y);
  // The sign: a negative base has odd and even integral exponents, and no others.
  Term half = y * 0.5;
  Term integral = floor(y) == y;
  Term odd = integral & (floor(half) != half);
  Term negative = x.bits() < x.bits().integer(0);
  power = where(negative & odd, -power, power);
  Term undefined = (x < 0.0) & (x != -kInfinity) & ~integral;
  power = where(undefined, kNan, power);
  return where((y == 0.0) | (x == 1.0), 1.0, power);
}
