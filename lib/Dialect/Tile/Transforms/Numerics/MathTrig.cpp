//===- MathTrig.cpp - Circular functions and their inverses ---------------===//
//
// x = n pi/2 + r with |r| <= pi/4, then a polynomial in r and the quadrant n mod 4.
//
// f32: the reduction is done in f64 and is exact for every finite x. 2/pi times the 24 bits of x is
// needed modulo 4 only, so for large x the leading bits of 2/pi are left out: one of four triples
// of constants (2^26q · 2/pi mod 4, q = 0…3, in pieces of 28, 28 and 53 bits) is selected by |x|,
// and the products with the first two pieces are exact.
//
// f64: pi/2 in three doubles, the subtractions exact or compensated, for |x| < 2^45. Beyond, digits
// of 2/pi are selected by |x| as for f32, but there are many, so that they are moved to the front
// step by step.
//
//===----------------------------------------------------------------------===//
#include "MathExpansions.h"
#include "MathTables.h"

#include <cmath>
#include <limits>

using namespace tessera;
using namespace tessera::tile;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// x = n pi/2 + r + rLow; n as an integer, rLow only for f64.
struct Reduced {
  Term n, r, rLow;
};
} // namespace

static Reduced reduceF32(Term x) {
  Term wide = x.cast(x.types().getF64Type());
  Term a = abs(wide);
  Term above50 = a >= 0x1p50, above76 = a >= 0x1p76, above102 = a >= 0x1p102;
  auto select = [&](double q0, double q1, double q2, double q3) {
    Term upper = where(above102, wide.number(q3), wide.number(q2));
    return where(above76, upper, where(above50, wide.number(q1), wide.number(q0)));
  };
  Term scaled = wide * select(1, 0x1p-26, 0x1p-52, 0x1p-78);
  Term p1 = scaled * select(0x1.45f3068p-1, 0x1.b939104p+0, 0x1.529fc24p+0, 0x1.d5f47d4p+0);
  Term p2 = scaled * select(0x1.727220ap-27, 0x1.4a7f09cp-28, 0x1.abe8fa8p-27, 0x1.a6ee068p-29);
  Term p3 = scaled * select(0x1.29fc2757d1f53p-56, 0x1.5f47d4d377037p-56, 0x1.a6ee06db14acdp-55,
                            0x1.6c52b32788721p-55);
  p1 = fma(round(p1 * 0.25), -4.0, p1);
  Term n1 = round(p1), n2 = round(p2);
  Term fraction = (p1 - n1) + (p2 - n2);
  Term n3 = round(fraction);
  fraction = (fraction - n3) + p3;
  Term r = (fraction * 0x1.921fb54442d18p+0).cast(x.element());
  return {(n1 + n2 + n3).cast(x.types().getI32Type()), r, r};
}

/// a + b as the rounded sum and what it lacks.
static std::pair<Term, Term> twoSum(Term a, Term b) {
  Term sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// 2/pi, 53 bits a digit behind the point, after what is before it.
static constexpr double kTwoOverPi[] = {0,
                                        0x1.45f306dc9c882p-1,
                                        0x1.4a7f09d5f47d4p-1,
                                        0x1.a6ee06db14accp-1,
                                        0x1.3c439041fe516p-1,
                                        0x1.d5ef5de2b0db8p-3,
                                        0x1.2371d2126e97p-2,
                                        0x1.924bba82746p-8,
                                        0x1.21cfe1deb1cb1p-1,
                                        0x1.4d39f74411af8p-3,
                                        0x1.4baed1213a671p-1,
                                        0x1.8135a2fbf209cp-1,
                                        0x1.91d639835339fp-1,
                                        0x1.272117e2ef7e4p-2,
                                        0x1.41d8ffc4bffeep-2,
                                        0x1.02cc07f79788cp-1,
                                        0x1.6b414da3eda6cp-2,
                                        0x1.fb3c9f2c26dd2p-2,
                                        0x1.d18fd9a797fa8p-1,
                                        0x1.6ba93dd63f5f2p-1,
                                        0x1.f17b3d0739f78p-1,
                                        0x1.4a525d4d7f6bfp-1,
                                        0x1.88fc6ae842bp-2};

/// For |x| >= 2^45; n is a number here. With x = 2^53q y and y in [2^12, 2^65), products with
/// digits before the q-th are multiples of 4, and four digits are enough: the angle's error is
/// 2^-92.
static Reduced reduceLargeF64(Term x) {
  llvm::SmallVector<Term> digits;
  for (double digit : kTwoOverPi)
    digits.push_back(x.number(digit));
  for (int step = 16; step; step /= 2) {
    Term isFurther = abs(x) >= std::ldexp(1.0, 53 * step + 12);
    x = where(isFurther, x * std::ldexp(1.0, -53 * step), x);
    for (size_t i = 0, end = std::min(digits.size(), size_t(2 * step + 3)); i + step < end; ++i)
      digits[i] = where(isFurther, digits[i + step], digits[i]);
  }
  // Products and what their rounding lost, largest first. The first product is a multiple of 4
  // itself.
  llvm::SmallVector<Term> parts;
  for (int i = 0; i < 4; ++i) {
    Term scaled = x * std::ldexp(1.0, 53 * (1 - i)), product = roundedProduct(scaled, digits[i]);
    if (i > 0)
      parts.push_back(product);
    if (i < 3)
      parts.push_back(fma(scaled, digits[i], -product));
  }
  for (int i = 0; i < 2; ++i)
    parts[i] = fma(round(parts[i] * 0.25), -4.0, parts[i]);
  // The sum of the fractions; the last two parts are small.
  Term n = round(parts[0]), sum = parts[0] - n, rest = parts[4] + parts[5];
  for (int i = 1; i < 4; ++i) {
    Term whole = round(parts[i]);
    n = n + whole;
    auto [next, lost] = twoSum(sum, parts[i] - whole);
    sum = next;
    rest = rest + lost;
  }
  Term whole = round(sum);
  auto [fraction, low] = twoSum(sum - whole, rest);
  Term r = roundedProduct(fraction, fraction.number(0x1.921fb54442d18p+0));
  Term rLow = fma(fraction, 0x1.921fb54442d18p+0, -r) +
              fma(fraction, 0x1.1a62633145c07p-54, low * 0x1.921fb54442d18p+0);
  Term high = r + rLow;
  return {n + whole, high, (r - high) + rLow};
}

static Reduced reduceF64(Term x) {
  Term isLarge = abs(x) >= 0x1p45;
  Reduced large = reduceLargeF64(x);
  Term n = round(x * 0x1.45f306dc9c883p-1);
  Term r = fma(n, -0x1.921fb54442d18p+0, x);
  Term t = roundedProduct(n, n.number(0x1.1a62633145c07p-54)),
       tLow = fma(n, 0x1.1a62633145c07p-54, -t);
  Term high = r - t;
  Term low = ((r - high) - t) - tLow;
  low = fma(n, 0x1.f1976b7ed8fbcp-110, low);
  Term sum = high + low;
  return {(where(isLarge, large.n, n) + 0x1.8p52).bits(), where(isLarge, large.r, sum),
          where(isLarge, large.rLow, (high - sum) + low)};
}

static Reduced reduce(Term x) { return x.isF64() ? reduceF64(x) : reduceF32(x); }

static Term sinReduced(const Reduced &a) {
  Term z = a.r * a.r;
  Term cube = a.r * z;
  if (a.r.isF64()) // + rLow cos r, and cos r = 1 - r²/2 is enough for it
    cube = fma(cube, horner<double>(z, kSinF64), a.rLow * fma(z, -0.5, z.number(1)));
  else
    cube = cube * horner<float>(z, kSinF32);
  return a.r + cube;
}

static Term cosReduced(const Reduced &a) {
  Term z = a.r * a.r, half = z * 0.5;
  Term quartic = z * z * polynomial(z, kCosF32, kCosF64);
  if (!a.r.isF64())
    return quartic + (1.0 - half);
  // 1 - r²/2 with the rounding of its difference, and - rLow sin r.
  Term w = 1.0 - half;
  return w + (((1.0 - w) - half) + fma(-a.r, a.rLow, quartic));
}

/// Sine of the angle moved on by `quarter` right angles.
static Term sinQuarter(Term x, int64_t quarter) {
  Reduced a = reduce(x);
  Term n = a.n + a.n.integer(quarter);
  Term odd = (n & n.integer(1)) != n.integer(0);
  Term value = where(odd, cosReduced(a), sinReduced(a));
  return where((n & n.integer(2)) != n.integer(0), -value, value);
}

Term tile::expandSin(Term x) { return keepZero(x, sinQuarter(x, 0)); }

Term tile::expandCos(Term x) { return sinQuarter(x, 1); }

Term tile::expandTan(Term x) {
  Reduced a = reduce(x);
  Term odd = (a.n & a.n.integer(1)) != a.n.integer(0);
  Term sin = sinReduced(a), cos = cosReduced(a);
  return keepZero(x, where(odd, -cos, sin) / where(odd, sin, cos));
}

//===----------------------------------------------------------------------===//
// Inverses
//===----------------------------------------------------------------------===//

/// c - t, where c is given in two parts.
static Term subtractFrom(Term t, double highF32, double lowF32, double highF64, double lowF64) {
  return t.pick(highF32, highF64) - (t - t.pick(lowF32, lowF64));
}
static Term halfPiMinus(Term t) {
  return subtractFrom(t, 0x1.921fb6p+0f, -0x1.777a5cp-25f, 0x1.921fb54442d18p+0,
                      0x1.1a62633145c07p-54);
}
static Term piMinus(Term t) {
  return subtractFrom(t, 0x1.921fb6p+1f, -0x1.777a5cp-24f, 0x1.921fb54442d18p+1,
                      0x1.1a62633145c07p-53);
}

/// atan(y / x) for 0 <= y <= x, x not 0.
static Term atanRatio(Term y, Term x) {
  if (!y.isF64()) {
    Term t = y / x, z = t * t;
    return fma(t * z, horner<float>(z, kAtanF32), t);
  }
  // Above pi/8, turned back by pi/4. Huge operands are scaled, for the sum.
  Term shrink = where(x > 0x1p1000, x.number(0x1p-2), x.number(1));
  y = y * shrink;
  x = x * shrink;
  Term turned = y > x * 0x1.a827999fcef32p-2;
  Term t = where(turned, y - x, y) / where(turned, y + x, x), z = t * t;
  Term tail = t * z * horner<double>(z, kAtanF64);
  Term low = where(turned, 0x1.1a62633145c07p-55, y.number(0));
  return where(turned, 0x1.921fb54442d18p-1, y.number(0)) + (t + (tail + low));
}

Term tile::expandAtan(Term x) {
  Term a = abs(x), one = x.number(1);
  Term steep = a > 1.0;
  Term angle = atanRatio(where(steep, one, a), where(steep, a, one));
  return copySign(where(steep, halfPiMinus(angle), angle), x);
}

Term tile::expandAtan2(Term y, Term x) {
  Term ay = abs(y), ax = abs(x);
  Term low = minimum(ay, ax), high = maximum(ay, ax);
  // At the origin the ratio is 0, between two infinities 1.
  Term infinite = low == kInfinity;
  low = where(infinite, 1.0, low);
  high = where(infinite | (high == 0.0), 1.0, high);
  Term angle = atanRatio(low, high);
  angle = where(ay > ax, halfPiMinus(angle), angle);
  angle = where(x.bits() < x.bits().integer(0), piMinus(angle), angle);
  return copySign(angle, y);
}

namespace {
/// The angle whose sine is |x| (small), or half the angle whose cosine it is (large).
struct ArcSine {
  Term large, angle;
};
} // namespace

/// asin(t) = t + t³ p(t²) for t <= 1/2; above, t = sqrt((1 - |x|) / 2). Beyond 1 the root is nan.
static ArcSine arcSine(Term x) {
  Term a = abs(x);
  Term large = a > 0.5;
  Term z = where(large, (1.0 - a) * 0.5, a * a);
  Term t = where(large, sqrt(z), a);
  return {large, fma(t * z, polynomial(z, kAsinF32, kAsinF64), t)};
}

Term tile::expandAsin(Term x) {
  ArcSine s = arcSine(x);
  return copySign(where(s.large, halfPiMinus(s.angle + s.angle), s.angle), x);
}

Term tile::expandAcos(Term x) {
  ArcSine s = arcSine(x);
  Term twice = s.angle + s.angle;
  Term large = where(x < 0.0, piMinus(twice), twice);
  return where(s.large, large, halfPiMinus(copySign(s.angle, x)));
}
