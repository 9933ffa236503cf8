//===- Numbers.cpp - Random inputs and their comparison -------------------===//
#include "Numbers.h"

#include "ArgumentSpec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace tessera::cli {

namespace {

/// splitmix64: one good 64-bit number per counter.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// A standard normal number by Box and Muller.
double normal(uint64_t seed, uint64_t index) {
  double u = (double(mix(seed + 2 * index) >> 11) + 0.5) * 0x1p-53;
  double v = double(mix(seed + 2 * index + 1) >> 11) * 0x1p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}

/// Rounds to nearest even; the values here are far from overflow.
uint16_t toHalf(double value) {
  _Float16 half = static_cast<_Float16>(value);
  return std::bit_cast<uint16_t>(half);
}

uint16_t toBfloat(double value) {
  uint32_t bits = std::bit_cast<uint32_t>(float(value));
  return uint16_t((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

double fromHalf(uint16_t bits) {
  int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                     : exponent == 0 ? std::ldexp(mantissa, -24)
                                     : std::ldexp(mantissa + 1024, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

double fromE4M3(uint8_t bits) {
  int exponent = (bits >> 3) & 15, mantissa = bits & 7;
  double magnitude = (bits & 127) == 127 ? NAN
                     : exponent == 0     ? std::ldexp(mantissa, -9)
                                         : std::ldexp(mantissa + 8, exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

/// e5m2 is the upper half of an fp16.
double fromE5M2(uint8_t bits) { return fromHalf(uint16_t(bits << 8)); }

/// A byte whose number is nearest to the value; the values here are far from overflow.
uint8_t toByte(double value, double (*decode)(uint8_t)) {
  uint8_t sign = value < 0 ? 0x80 : 0, best = 0;
  for (uint8_t bits = 1; bits < 0x7B; ++bits) // in rising order
    if (std::fabs(decode(bits) - std::fabs(value)) < std::fabs(decode(best) - std::fabs(value)))
      best = bits;
  return sign | best;
}

template <typename T> void store(void *data, int64_t index, T value) {
  std::memcpy(static_cast<char *>(data) + index * int64_t(sizeof(T)), &value, sizeof value);
}
template <typename T> T load(const void *data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * int64_t(sizeof(T)), sizeof value);
  return value;
}

} // namespace

bool isFloat(int32_t dtype) { return dtype <= TESSERA_RT_FP16 || dtype >= TESSERA_RT_FP8_E4M3; }

void fillRandom(void *data, int32_t dtype, int64_t count, uint64_t seed) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t integer = int64_t(mix(seed + uint64_t(i)) % 17) - 8;
    switch (dtype) {
    case TESSERA_RT_FP64:
      store(data, i, normal(seed, i));
      break;
    case TESSERA_RT_FP32:
      store(data, i, float(normal(seed, i)));
      break;
    case TESSERA_RT_BF16:
      store(data, i, toBfloat(normal(seed, i)));
      break;
    case TESSERA_RT_FP16:
      store(data, i, toHalf(normal(seed, i)));
      break;
    case TESSERA_RT_FP8_E4M3:
      store(data, i, toByte(normal(seed, i), fromE4M3));
      break;
    case TESSERA_RT_FP8_E5M2:
      store(data, i, toByte(normal(seed, i), fromE5M2));
      break;
    case TESSERA_RT_INT64:
      store(data, i, integer);
      break;
    case TESSERA_RT_INT32:
      store(data, i, int32_t(integer));
      break;
    case TESSERA_RT_INT16:
      store(data, i, int16_t(integer));
      break;
    case TESSERA_RT_INT8:
      store(data, i, int8_t(integer));
      break;
    case TESSERA_RT_UINT8:
      store(data, i, uint8_t(integer < 0 ? -integer : integer));
      break;
    case TESSERA_RT_BOOL:
      store(data, i, uint8_t(integer & 1));
      break;
    }
  }
}

double elementAt(const void *data, int32_t dtype, int64_t i) {
  switch (dtype) {
  case TESSERA_RT_FP64:
    return load<double>(data, i);
  case TESSERA_RT_FP32:
    return load<float>(data, i);
  case TESSERA_RT_BF16:
    return std::bit_cast<float>(uint32_t(load<uint16_t>(data, i)) << 16);
  case TESSERA_RT_FP16:
    return fromHalf(load<uint16_t>(data, i));
  case TESSERA_RT_FP8_E4M3:
    return fromE4M3(load<uint8_t>(data, i));
  case TESSERA_RT_FP8_E5M2:
    return fromE5M2(load<uint8_t>(data, i));
  case TESSERA_RT_INT64:
    return double(load<int64_t>(data, i));
  case TESSERA_RT_INT32:
    return load<int32_t>(data, i);
  case TESSERA_RT_INT16:
    return load<int16_t>(data, i);
  case TESSERA_RT_INT8:
    return load<int8_t>(data, i);
  default:
    return load<uint8_t>(data, i);
  }
}

Comparison compare(const void *data, int32_t dtype, int64_t count, const tessera_output &expected) {
  Comparison result;
  int64_t bytes = dtypeBytes(dtype);
  for (int64_t i = 0; i < count; ++i) {
    if (expected.excluded && expected.excluded[i]) {
      ++result.excluded;
      continue;
    }
    double want = elementAt(expected.value.data, expected.value.dtype, i);
    double got = elementAt(data, dtype, i);
    double bound = expected.bound ? expected.bound[i] : 0;
    bool good = false;
    if (isFloat(dtype)) {
      double error = std::fabs(got - want);
      good = error <= bound || got == want || (std::isnan(got) && std::isnan(want));
      if (std::isfinite(error) && std::isfinite(bound)) {
        result.error = std::max(result.error, error);
        result.bound = std::max(result.bound, bound);
        if (error > 0)
          result.share = std::max(result.share, error / bound);
      }
    } else {
      const char *left = static_cast<const char *>(data) + i * bytes;
      const char *right = static_cast<const char *>(expected.value.data) + i * bytes;
      good = std::memcmp(left, right, size_t(bytes)) == 0;
    }
    if (!good && result.wrong++ == 0) {
      result.firstWrong = uint64_t(i);
      result.expected = want;
      result.got = got;
      result.firstBound = bound;
    }
  }
  return result;
}

} // namespace tessera::cli
