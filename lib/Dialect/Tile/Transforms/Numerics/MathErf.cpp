//===- MathErf.cpp - The error function and its complement ----------------===//
//
// erfc(x) = exp(-x²) erfcx(x) for x >= 0. (1 + 2x) erfcx(x) lies between 1 and 1.3 and is a smooth
// function of (x - 4) / (x + 4), so that one polynomial serves the whole range.
//
//===----------------------------------------------------------------------===//
#include "MathExpansions.h"
#include "MathTables.h"

#include <cmath>

using namespace tessera;
using namespace tessera::tile;

/// erfc of a >= 0.
static Term erfcPositive(Term a) {
  Term t = atMost(a, a.choose(10.1f, 27.3)); // beyond it the result is 0
  auto [p, n] = expMinusSquare(t);
  Term scaled = polynomial((t - 4.0) / (t + 4.0), kErfcxF32, kErfcxF64);
  return scaleb(p * (scaled / fma(t, 2.0, t.number(1))), n);
}

/// erf on |x| <= 1.
static Term erfSmall(Term x) { return fma(x, polynomial(x * x, kErfSmallF32, kErfSmallF64), x); }

Term tile::expandErfc(Term x) {
  Term a = abs(x), tail = erfcPositive(a);
  return where(a < 0.5, 1.0 - erfSmall(x), where(x < 0.0, 2.0 - tail, tail));
}

Term tile::expandErf(Term x) {
  Term a = abs(x);
  // In f32 only the leading bits of erfc matter above 1, and its logarithm is a short polynomial.
  Term large = x.isF64() ? 1.0 - erfcPositive(a)
                         : 1.0 - exp2InRange(-horner<float>(atMost(a, 4), kErfTailF32));
  return where(a < 1.0, erfSmall(x), copySign(large, x));
}

/// erf in f32 with an error relative to 1: an odd quotient of polynomials, 1 at its bound.
static Term erfAbsolute(Term x) {
  x = clamp(x, -3.92f, 3.92f);
  Term z = x * x;
  return x * horner<float>(z, kErfNumeratorF32) / horner<float>(z, kErfDenominatorF32);
}

Term tile::expandGeluErf(Term x) {
  Term y = x * x.number(0x1.6a09e667f3bcdp-1), half = x * 0.5;
  if (x.isF64())
    return half * expandErfc(-y);
  // x (1 + erf(x / sqrt 2)) / 2: accurate relative to |x|.
  return fma(half, erfAbsolute(y), half);
}

std::pair<Term, Term> tile::approxErf(Term x) {
  x = clamp(x, -2.9f, 2.9f); // where erf is 1 - 2^-14
  Term z = x * x;
  return {x * horner<float>(z, kErfShortNumeratorF32), horner<float>(z, kErfShortDenominatorF32)};
}

Term tile::expandApproxGeluErf(Term x, double factor) {
  // x / 2 + |x| (1/2 - t), with t the part that the normal distribution cuts off. Its polynomial
  // goes to -inf, so that far out this is x on the right and 0 on the left, and infinite and nan
  // where gelu is.
  Term size = abs(x);
  llvm::SmallVector<float> exponent(llvm::ArrayRef<float>{kNormalTailF32});
  exponent[0] = float(exponent[0] + std::log2(factor));
  Term tail = horner<float>(size, exponent).map(ScalarOp::Exp2, {}, /*fast=*/true);
  return fma(size, 0.5 * factor - tail, x * (0.5 * factor));
}
