//===- MathErf.cpp - The error function and its complement ----------------===//
//
// erfc(x) = exp(-x²) erfcx(x) for x >= 0. (1 + 2x) erfcx(x) lies between 1 and 1.3 and is a smooth
// function of (x - 4) / (x + 4), so that one polynomial serves the whole range.
//
//===----------------------------------------------------------------------===//
#include "MathExpansions.h"
#include "MathTables.h"

using namespace tessera;
using namespace tessera::tile;

/// erfc of a >= 0.
static Term erfcPositive(Term a) {
  Term t = minimum(a, a.pick(10.1, 27.3)); // beyond it the result is 0
  auto [p, n] = expMinusSquare(t);
  Term scaled = polynomial((t - 4.0) / (t + 4.0), kErfcxF32, kErfcxF64);
  return scaleb(p * (scaled / fma(t, 2.0, t.number(1))), n);
}

Term tile::expandErfc(Term x) {
  Term tail = erfcPositive(abs(x));
  return where(x < 0.0, 2.0 - tail, tail);
}

/// An odd quotient of polynomials for f32; at the bound it is 1 to the last bit.
static Term erfF32(Term x) {
  x = clamp(x, x.number(-3.92f), x.number(3.92f));
  Term z = x * x;
  return x * horner<float>(z, kErfNumeratorF32) / horner<float>(z, kErfDenominatorF32);
}

Term tile::expandErf(Term x) {
  if (!x.isF64())
    return erfF32(x);
  Term a = abs(x);
  Term small = x * horner<double>(x * x, kErfSmallF64);
  return where(a < 1.0, small, copySign(1.0 - erfcPositive(a), x));
}

Term tile::expandGeluErf(Term x) {
  Term y = x * x.number(0x1.6a09e667f3bcdp-1), half = x * 0.5;
  if (x.isF64())
    return half * expandErfc(-y);
  // x (1 + erf(x / sqrt 2)) / 2: accurate relative to |x|.
  return fma(half, erfF32(y), half);
}
