//===- MathExp.cpp - Exponentials and what is made of them ----------------===//
//
// exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln(2) / 2. ln 2 is subtracted in two
// parts; the first has trailing zeros, so that n times it is exact. exp(r) - 1 = r + r² q(r), which
// keeps relative accuracy near 0 for everything that subtracts one again.
//
//===----------------------------------------------------------------------===//
#include "MathExpansions.h"
#include "MathTables.h"

using namespace tessera;
using namespace tessera::tile;

namespace {
/// x = n ln 2 + r.
struct Reduced {
  Term n, r;
};
} // namespace

static Reduced reduce(Term x) {
  Term n = rounded(x, x.pick(0x1.715476p+0f, 0x1.71547652b82fep+0));
  Term r = fma(n, x.pick(-0x1.62e400p-1f, -0x1.62e42fee00000p-1), x);
  return {n, fma(n, x.pick(-0x1.7f7d1cp-20f, -0x1.a39ef35793c76p-33), r)};
}

/// c0 + c1 x + c2 x² + …: neighbours first, which do not wait for each other, then Horner's rule in
/// x².
static Term byPairs(Term x, Term square, llvm::ArrayRef<float> coefficients) {
  std::optional<Term> sum;
  for (size_t i = (coefficients.size() - 1) / 2 * 2 + 2; i > 0; i -= 2) {
    Term pair = x.number(coefficients[i - 2]);
    if (i - 1 < coefficients.size())
      pair = fma(x, x.number(coefficients[i - 1]), pair);
    sum = sum ? fma(square, *sum, pair) : pair;
  }
  return *sum;
}

/// exp(r) - 1 on |r| <= ln(2) / 2.
static Term expm1Reduced(Term r) {
  Term square = r * r;
  if (r.isF64())
    return fma(square, horner<double>(r, kExpF64), r);
  llvm::ArrayRef<float> c = kExpF32;
  return fma(square, fma(r, byPairs(r, square, c.drop_front()), r.number(c.front())), r);
}

/// `power` of x, and 0 where x is below `low`: there the power is less than half of the smallest
/// number. A product that only just rounds to 0 takes a processor a hundred times as long as
/// others, so these lanes compute something else.
template <typename Power> static Term zeroBelow(Term x, double low, Power power) {
  Term isZero = x < low;
  return where(isZero, 0.0, power(where(isZero, 0.0, x)));
}

static Term expInRange(Term x) {
  auto [n, r] = reduce(x);
  return scaleb(expm1Reduced(r) + 1.0, n);
}

/// exp(x) for x that does not overflow.
static Term expBounded(Term x) { return zeroBelow(x, x.choose(-104, -745.5), expInRange); }

Term tile::expandExp(Term x) { return expBounded(atMost(x, x.choose(89, 710))); }

Term tile::exp2InRange(Term x) {
  Term n = rounded(x);
  return scaleb(polynomial(x - n, kExp2F32, kExp2F64), n);
}

Term tile::exp2InRange(Term high, Term low) {
  Term n = rounded(high);
  return scaleb(polynomial((high - n) + low, kExp2F32, kExp2F64), n);
}

Term tile::expandExp2(Term x) {
  return zeroBelow(atMost(x, x.choose(129, 1025)), x.choose(-150, -1075),
                   [](Term y) { return exp2InRange(y); });
}

Term tile::expandWeight(Term x) {
  // 2^n 2^f is twice 2^f times 2^(n - 1), whose exponent has the sum's last bits: 0 for the
  // smallest n, and finite for the largest. A product keeps nan.
  constexpr double shift = 0x1.8p23 + 126;
  Term y = clamp(x, -126, 128), shifted = y + shift;
  Term f = y - (shifted - shift);
  Term twice = fma(f, byPairs(f, f * f, kWeightF32), f.number(2));
  return twice * (shifted.bits() << 23).asFloat(x);
}

Term tile::expandExpm1(Term x) {
  auto [n, r] = reduce(clamp(x, x.choose(-20, -40), x.choose(89, 710)));
  Term p = expm1Reduced(r);
  // 2^n p + (2^n - 1), halved so that 2^n cannot overflow before the result does.
  Term half = scaleb(x.number(0.5), n);
  Term h = fma(half, p, half - 0.5);
  return keepZero(x, where(n == 0.0, p, h + h));
}

Term tile::expandSinh(Term x) {
  Term a = abs(x);
  auto [n, r] = reduce(atMost(a, x.choose(89.5, 710.6)));
  Term quarter = scaleb(x.number(0.25), n);
  Term h = fma(quarter, expm1Reduced(r), quarter - 0.25);
  h = h + h; // (exp(a) - 1) / 2
  Term sum = where(a > x.pick(20, 40), h, h + h / fma(h, 2.0, x.number(1)));
  return where(a < x.pick(0x1p-12, 0x1p-27), x, copySign(sum, x));
}

Term tile::expandCosh(Term x) {
  auto [n, r] = reduce(atMost(abs(x), x.choose(89.5, 710.6)));
  Term half = scaleb(expm1Reduced(r) + 1.0, n - 1.0);
  return half + 0.25 / half;
}

Term tile::expandTanh(Term x) {
  // With t = exp(2x) - 1, tanh(x) = t / (t + 2).
  double bound = x.choose(20, 40);
  auto [n, r] = reduce(clamp(x + x, -bound, bound));
  Term power = scaleb(x.number(1), n);
  Term t = fma(power, expm1Reduced(r), power - 1.0);
  return keepZero(x, t / (t + 2.0));
}

/// `numerator` / (1 + exp(-a)) for a >= 0, and the same times exp(-a) where `negative`.
static Term logistic(Term a, Term negative, Term numerator) {
  Term e = expBounded(-a);
  return where(negative, numerator * e, numerator) / (e + 1.0);
}

Term tile::expandSigmoid(Term x) { return logistic(abs(x), x < 0.0, x.number(1)); }

Term tile::expandSilu(Term x) { return logistic(abs(x), x < 0.0, x); }

std::pair<Term, Term> tile::approxTanh(Term x) {
  x = clamp(x, -5.2f, 5.2f); // where tanh is 1 - 2^-14
  Term z = x * x;
  return {x * horner<float>(z, kTanhNumeratorF32), horner<float>(z, kTanhDenominatorF32)};
}

Term tile::geluTanhExponent(Term x) {
  constexpr double log2e = 0x1.71547652b82fep+0;
  return x * fma(x * x, -log2e * 0x1.2444f2a4d8b4bp-4, x.number(-log2e * 0x1.9884533d43651p+0));
}

Term tile::expandGeluTanh(Term x) {
  // (1 + tanh u) / 2 is the logistic function of 2u = x (c0 + c1 x²), which has the sign of x.
  Term slope = fma(x * x, 0x1.2444f2a4d8b4bp-4, x.number(0x1.9884533d43651p+0));
  return logistic(abs(x) * slope, x < 0.0, x);
}

std::pair<Term, Term> tile::expMinusSquare(Term x) {
  Term square = x * x, rest = fma(x, x, -square);
  auto [n, r] = reduce(-square);
  return {expm1Reduced(r - rest) + 1.0, n};
}
