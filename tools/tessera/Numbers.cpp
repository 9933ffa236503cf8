//===- Numbers.cpp - Random inputs and their comparison -------------------===//
#include "Numbers.h"

#include "ArgumentSpec.h"
#include "tessera_rt/dtype.h"

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

rt::DType typed(int32_t dtype) { return static_cast<rt::DType>(dtype); }

} // namespace

bool isFloat(int32_t dtype) { return rt::isFloat(typed(dtype)); }

void fillRandom(void *data, int32_t dtype, int64_t count, uint64_t seed) {
  rt::DType type = typed(dtype);
  for (int64_t i = 0; i < count; ++i) {
    int64_t integer = int64_t(mix(seed + uint64_t(i)) % 17) - 8;
    if (!rt::dtypeInfo(type).isSigned)
      integer = type == rt::DType::Bool ? integer & 1 : std::abs(integer);
    rt::storeBits(static_cast<char *>(data) + i * rt::dtypeBytes(type),
                  rt::isFloat(type) ? rt::encodeFloat(normal(seed, i), type)
                                    : rt::encodeInteger(integer, type),
                  type);
  }
}

double elementAt(const void *data, int32_t dtype, int64_t i) {
  rt::DType type = typed(dtype);
  uint64_t bits = rt::loadBits(static_cast<const char *>(data) + i * rt::dtypeBytes(type), type);
  return rt::isFloat(type) ? rt::decodeFloat(bits, type) : double(rt::decodeInteger(bits, type));
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
