//===- SizeClass.cpp - Shape classes of sizes -----------------------------===//
//
// Small sizes determine tile shapes, so their classes are narrow; for large ones only their
// divisors matter. A class with a single size makes it a constant of the program (0 and 1, and
// common widths such as 64, 96 and 128).
//
//===----------------------------------------------------------------------===//
#include "tessera_rt.h"

#include <iterator>

namespace {
/// Rows of the last ones fill an eighth, a quarter, a half, … of 458,752 bytes: two CTAs per SM, or
/// the SMs of a cluster, keep them in shared memory.
constexpr int64_t bounds[] = {4,    8,    16,    32,    64,    128,    256,    512,    1024, 2048,
                              4096, 8192, 16384, 28672, 57344, 114688, 229376, 458752, 0};

/// Multiples of 16 up to here, such as the widths of heads, have classes of their own.
constexpr int64_t widestHead = 128, headStep = 16;
constexpr uint8_t firstHeadCode = 0xe0;

/// Rows of a multiple of 8 elements of 16 bits are aligned for TMA and bulk copies; short rows do
/// not need that.
constexpr int64_t divisors[] = {64, 16, 8, 1};

constexpr unsigned divisorRank(int64_t size) {
  unsigned rank = 0;
  while (size % divisors[rank] || (divisors[rank] == 8 && size <= 16))
    ++rank;
  return rank;
}

/// Whether exactly one size is in (low, high] and has this divisor.
constexpr bool isSingle(int64_t low, int64_t high, int64_t divisor) {
  int count = 0;
  for (int64_t size = (low / divisor + 1) * divisor; size <= high && count < 2; size += divisor)
    count += divisors[divisorRank(size)] == divisor;
  return count == 1;
}
} // namespace

tessera_rt_size_class tessera_rt_classify_size(int64_t size) {
  if (size < 0)
    return {1, 0, 0, 0xff};
  if (size <= 1)
    return {size ? size : 1, size, 1, static_cast<uint8_t>(size)};
  unsigned rank = divisorRank(size);
  int64_t divisor = divisors[rank];
  if (size <= widestHead && size % headStep == 0)
    return {divisor, size, 1, static_cast<uint8_t>(firstHeadCode + size / headStep - 1)};
  unsigned range = 0;
  while (bounds[range] && size > bounds[range])
    ++range;
  int64_t low = range ? bounds[range - 1] : 1, high = bounds[range];
  return {divisor, high, high && isSingle(low, high, divisor),
          static_cast<uint8_t>(2 + std::size(divisors) * range + rank)};
}
