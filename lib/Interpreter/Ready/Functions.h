//===- Functions.h - Elementary functions that vectorize -------*- C++ -*-===//
//
// Branch-free forms of the functions that programs use most, accurate to a few units in the last
// place (the bounds of ScalarEval.h). Their constants are those of Cephes (Moshier) and, for erf,
// minimax polynomials in the style of Juffa.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_INTERPRETER_READY_FUNCTIONS_H
#define TESSERA_LIB_INTERPRETER_READY_FUNCTIONS_H

#include <cstdint>

namespace tessera::ready::TESSERA_READY_LEVEL {
namespace {

template <typename To, typename From> inline To bitsAs(From from) {
  return __builtin_bit_cast(To, from);
}

inline float roundEven(float x) { return __builtin_rintf(x); }
inline double roundEven(double x) { return __builtin_rint(x); }
inline float absolute(float x) { return __builtin_fabsf(x); }
inline double absolute(double x) { return __builtin_fabs(x); }
inline float copySign(float x, float y) { return __builtin_copysignf(x, y); }
inline double copySign(double x, double y) { return __builtin_copysign(x, y); }
inline float squareRoot(float x) { return __builtin_sqrtf(x); }
inline double squareRoot(double x) { return __builtin_sqrt(x); }

/// x * 2^n for n in [-252, 254], with overflow to infinity and gradual underflow.
inline float scaled(float x, int32_t n) {
  int32_t half = n >> 1;
  return x * bitsAs<float>((half + 127) << 23) * bitsAs<float>((n - half + 127) << 23);
}
inline double scaled(double x, int64_t n) {
  int64_t half = n >> 1;
  return x * bitsAs<double>((half + 1023) << 52) * bitsAs<double>((n - half + 1023) << 52);
}

/// exp(r) for |r| <= log(2) / 2.
inline float expReduced(float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p * r * r + r + 1.0f;
}
inline double expReduced(double r) {
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  return p * r * r + r + 1.0;
}

inline float expOf(float x) {
  x = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
  float n = roundEven(x * 1.44269504088896341f);
  float r = x - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  return scaled(expReduced(r), int32_t(n));
}
inline double expOf(double x) {
  x = x < -746.0 ? -746.0 : x > 710.0 ? 710.0 : x;
  double n = roundEven(x * 1.44269504088896340736);
  double r = x - n * 6.93145751953125e-1;
  r = r - n * 1.42860682030941723212e-6;
  return scaled(expReduced(r), int64_t(n));
}

inline float exp2Of(float x) {
  x = x < -151.0f ? -151.0f : x > 129.0f ? 129.0f : x;
  float n = roundEven(x);
  return scaled(expReduced((x - n) * 0.693147180559945309f), int32_t(n));
}
inline double exp2Of(double x) {
  x = x < -1076.0 ? -1076.0 : x > 1025.0 ? 1025.0 : x;
  double n = roundEven(x);
  return scaled(expReduced((x - n) * 0.693147180559945309417), int64_t(n));
}

inline float logOf(float x) {
  bool isSubnormal = x < 1.17549435e-38f;
  int32_t bits = bitsAs<int32_t>(isSubnormal ? x * 33554432.0f : x);
  int32_t exponent = (bits >> 23) - 126 - (isSubnormal ? 25 : 0);
  float m = bitsAs<float>((bits & 0x007fffff) | 0x3f000000); // in [0.5, 1)
  bool isLow = m < 0.707106781186547524f;
  float e = float(isLow ? exponent - 1 : exponent);
  float f = (isLow ? m + m : m) - 1.0f, z = f * f;
  float p = 7.0376836292e-2f;
  p = p * f + -1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f + -1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f + -1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f + -2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  float y = p * f * z + e * -2.12194440e-4f - 0.5f * z;
  float result = f + y + e * 0.693359375f;
  result = x == __builtin_inff() ? x : result;
  result = x == 0.0f ? -__builtin_inff() : result;
  return x < 0.0f ? __builtin_nanf("") : x != x ? x : result;
}
inline double logOf(double x) { return __builtin_log(x); }

inline float tanhOf(float x) {
  float size = absolute(x), z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z + -5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z + -3.33332819422e-1f;
  float small = p * z * x + x;
  float large = 1.0f - 2.0f / (expOf(size + size) + 1.0f);
  return size < 0.625f ? small : copySign(large, x);
}
inline double tanhOf(double x) { return __builtin_tanh(x); }

inline float erfOf(float x) {
  float size = absolute(x), s = x * x, t = size > 4.0f ? 4.0f : size, tt = t * t;
  float r = -1.72853470e-5f * t + 3.83197126e-4f;
  float u = -3.88396438e-3f * t + 2.42546219e-2f;
  r = r * tt + u;
  r = r * t + -1.06777877e-1f;
  r = r * t + -6.34846687e-1f;
  r = r * t + -1.28717512e-1f;
  r = r * t - t;
  float large = copySign(1.0f - expOf(r), x);
  float p = -5.96761703e-4f;
  p = p * s + 4.99119423e-3f;
  p = p * s + -2.67681349e-2f;
  p = p * s + 1.12819925e-1f;
  p = p * s + -3.76125336e-1f;
  p = p * s + 1.28379166e-1f;
  float small = p * x + x;
  return size != size ? x : size > 0.921875f ? large : small;
}
inline double erfOf(double x) { return __builtin_erf(x); }

/// Of |x| <= largestAngle; the quadrant selects sine or cosine.
constexpr float largestAngle = 8192.0f;
inline float sineOf(float x, int32_t quadrant) {
  float n = roundEven(x * 0.636619772367581343f);
  float r = x - n * 1.5703125f;
  r = r - n * 4.837512969970703125e-4f;
  r = r - n * 7.54978942e-8f;
  int32_t q = int32_t(n) + quadrant;
  float z = r * r;
  float s = -1.9515295891e-4f;
  s = s * z + 8.3321608736e-3f;
  s = s * z + -1.6666654611e-1f;
  s = s * z * r + r;
  float c = 2.443315711809948e-5f;
  c = c * z + -1.388731625493765e-3f;
  c = c * z + 4.166664568298827e-2f;
  c = c * z * z - 0.5f * z + 1.0f;
  float y = q & 1 ? c : s;
  return q & 2 ? -y : y;
}

/// Of a negative number, the exponential is small instead of infinite.
template <typename T> inline T sigmoidOf(T x) {
  T e = expOf(-absolute(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}
inline float siluOf(float x) { return x * sigmoidOf(x); }
inline double siluOf(double x) { return x / (1.0 + expOf(-x)); }
inline float geluErfOf(float x) { return 0.5f * x * (1.0f + erfOf(x * 0.707106781186547524f)); }
inline double geluErfOf(double x) { return 0.5 * x * __builtin_erfc(x * -0.707106781186547524401); }
template <typename T> inline T geluTanhOf(T x) {
  T inner = T(0.797884560802865355880) * (x + T(0.044715) * x * x * x);
  return T(0.5) * x * (T(1) + tanhOf(inner));
}

} // namespace
} // namespace tessera::ready::TESSERA_READY_LEVEL

#endif
