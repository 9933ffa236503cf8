//===- Sort.cpp - Indices that sort rows ----------------------------------===//
#include "Tensor.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tessera;
using namespace tessera::reference;

namespace {
/// The range of an element's position among the others; NaN is the largest.
struct Range {
  bool isNan;
  double low, high;
};
} // namespace

/// The ends of a range are inclusive if it contains more than one number.
static Range rangeOf(Approximation x, bool negated) {
  if (std::isnan(x.value))
    return {!negated, negated ? -kInfinity : kInfinity, negated ? -kInfinity : kInfinity};
  double value = negated ? -x.value : x.value;
  if (x.bound == 0)
    return {false, value, value};
  return {false, std::nextafter(value - x.bound, -kInfinity),
          std::nextafter(value + x.bound, kInfinity)};
}

/// An index is certain if all elements before it are certainly not larger, and all after it not
/// smaller.
static void markUncertain(llvm::ArrayRef<Range> ranges, llvm::ArrayRef<int64_t> order,
                          uint8_t *uncertain) {
  double most = -kInfinity, least = kInfinity;
  for (size_t i = 0; i < order.size(); ++i) {
    uncertain[i] |= ranges[order[i]].low < most;
    most = std::max(most, ranges[order[i]].high);
  }
  for (size_t i = order.size(); i-- > 0;) {
    uncertain[i] |= ranges[order[i]].high > least;
    least = std::min(least, ranges[order[i]].low);
  }
}

/// The first elements of every row.
static TensorRef firstOf(const Tensor &rows, int64_t count) {
  Sizes sizes(rows.sizes);
  int64_t length = std::exchange(sizes.back(), count);
  auto result = std::make_shared<Tensor>(rows.dtype, sizes);
  for (int64_t i = 0; i < result->size(); ++i) {
    int64_t from = i / count * length + i % count;
    result->integers[i] = rows.integers[from];
    result->uncertain[i] = rows.uncertain[from];
  }
  return result;
}

TensorRef reference::sortIntegers(const Tensor &input) {
  auto result = std::make_shared<Tensor>(input);
  int64_t length = input.sizes.back();
  for (int64_t begin = 0; begin < input.size(); begin += length) {
    auto *row = result->integers.data() + begin;
    std::sort(row, row + length);
    uint8_t *flags = result->uncertain.data() + begin;
    std::fill_n(flags, length, std::any_of(flags, flags + length, [](uint8_t x) { return x; }));
  }
  return result;
}

TensorRef reference::sortRows(const Tensor &input, bool descending, std::optional<int64_t> first) {
  auto result = std::make_shared<Tensor>(DType::Int64, input.sizes);
  int64_t length = input.sizes.back();
  for (int64_t begin = 0; begin < input.size(); begin += length) {
    llvm::MutableArrayRef<int64_t> order(result->integers.data() + begin, length);
    std::iota(order.begin(), order.end(), 0);
    uint8_t *uncertain = result->uncertain.data() + begin;
    if (!input.isFloat()) {
      const int64_t *x = input.integers.data() + begin;
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        return descending ? x[i] > x[j] : x[i] < x[j];
      });
      const uint8_t *flags = input.uncertain.data() + begin;
      bool isUnknown = std::any_of(flags, flags + length, [](uint8_t flag) { return flag; });
      std::fill_n(uncertain, length, isUnknown);
      continue;
    }
    std::vector<Range> ranges;
    for (int64_t i = 0; i < length; ++i)
      ranges.push_back(rangeOf(input.get(begin + i), descending));
    const double *x = input.values.data() + begin;
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      bool isNan = std::isnan(x[i]), otherIsNan = std::isnan(x[j]);
      if (isNan || otherIsNan)
        return isNan != otherIsNan && isNan == descending;
      return descending ? x[i] > x[j] : x[i] < x[j];
    });
    markUncertain(ranges, order, uncertain);
  }
  return first ? firstOf(*result, *first) : result;
}
