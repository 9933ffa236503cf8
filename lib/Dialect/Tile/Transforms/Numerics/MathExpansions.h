//===- MathExpansions.h - One function per expanded operation --*- C++ -*-===//
//
// Each takes terms of type f32 or f64 and builds primitive maps. Errors are stated where a function
// is defined, measured by unittests/Dialect/Tile, and tabled in the pass's documentation.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_NUMERICS_MATHEXPANSIONS_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_NUMERICS_MATHEXPANSIONS_H

#include "MathBuilder.h"

namespace tessera::tile {
struct TargetMath;

// ExpandMath.cpp
/// Replaces a map by its expansion, and the product that is folded into the expansion, which is
/// returned.
MapOp expandMap(MapOp map, const TargetMath &target);

// MathExp.cpp
Term expandExp(Term x);
Term expandExp2(Term x);
Term expandExpm1(Term x);
Term expandSinh(Term x);
Term expandCosh(Term x);
Term expandTanh(Term x);
Term expandSigmoid(Term x);
Term expandSilu(Term x);
Term expandGeluTanh(Term x);
/// The exponent of 2 in gelu_tanh(x) = x / (1 + 2^exponent).
Term geluTanhExponent(Term x);
/// Numerator and denominator of tanh in f32, both finite, with the digits that 16 bits hold.
std::pair<Term, Term> approxTanh(Term x);
/// exp(-x²) as p · 2^n (p first), the square kept to twice the precision; x in [0, 10.2] (27.3).
std::pair<Term, Term> expMinusSquare(Term x);
/// 2^x of f32 to 2.1 units of the last place, but 0 below 2^-125.5.
Term expandWeight(Term x);
/// 2^x for x within the range of scaleb's exponents; also for x = high + low with a small low part.
Term exp2InRange(Term x);
Term exp2InRange(Term high, Term low);

// MathLog.cpp
Term expandLog(Term x);
Term expandLog2(Term x);
Term expandLog1p(Term x);
Term expandPow(Term x, Term y);

// MathTrig.cpp
Term expandSin(Term x);
Term expandCos(Term x);
Term expandTan(Term x);
Term expandAsin(Term x);
Term expandAcos(Term x);
Term expandAtan(Term x);
Term expandAtan2(Term y, Term x);

// MathErf.cpp
Term expandErf(Term x);
Term expandErfc(Term x);
Term expandGeluErf(Term x);
/// `factor` times it in f32, with the digits that 16 bits hold, on targets that have exp2; factor >
/// 0.
Term expandApproxGeluErf(Term x, double factor);
/// Numerator and denominator of erf in f32, both finite, with the digits that 16 bits hold.
std::pair<Term, Term> approxErf(Term x);

// MathBasic.cpp: also on integers where the vocabulary has them there.
Term expandSign(Term x);
Term expandFloorDiv(Term x, Term y);
Term expandRemainder(Term x, Term y);
Term expandFMod(Term x, Term y);
Term expandIntegerPow(Term x, Term y);
Term expandOrderKey(Term x);

// MathPhilox.cpp
Term expandPhilox(Term low, Term high, Term key, bool isUpper);

} // namespace tessera::tile

#endif
