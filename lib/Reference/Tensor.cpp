//===- Tensor.cpp - Element types of the reference interpreter ------------===//
#include "Tensor.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cfloat>
#include <cmath>
#include <cstring>

using namespace tessera;
using namespace tessera::reference;

IntegerFormat reference::formatOf(DType dtype) {
  if (dtype == DType::Bool)
    return {1, false};
  return {unsigned(dtypeBytes(dtype) * 8), dtype != DType::UInt8};
}

static Rounding makeRounding(DType dtype) {
  const DTypeInfo &info = dtypeInfo(dtype);
  double f32 = std::ldexp(1, -24), exact = std::ldexp(1, 24);
  if (dtype == DType::FP64)
    return {std::ldexp(1, -52), 0, DBL_MIN, DBL_MIN, DBL_MAX, DBL_MAX, std::ldexp(1, 53)};
  if (dtype == DType::FP32)
    return {f32, 0, FLT_MIN, FLT_MIN, FLT_MAX, FLT_MAX, exact};
  int bias = (1 << (info.exponentBits - 1)) - 1, fraction = info.fractionBits;
  // The largest number is below infinity, or below the one NaN.
  uint64_t top = (uint64_t(1) << (info.exponentBits + fraction)) - 1;
  uint64_t largest = info.hasInfinities ? top - (uint64_t(1) << fraction) : top - 1;
  double minNormal = std::ldexp(1, 1 - bias);
  // Where f32 has the same range, it flushes what the narrow type could hold.
  double underflow = info.exponentBits == 8 ? minNormal : std::ldexp(minNormal, -fraction - 1);
  return {f32,
          std::ldexp(1, -fraction - 1),
          minNormal,
          underflow,
          rt::decodeFloat(largest, dtype),
          FLT_MAX,
          exact,
          std::min(256.0, std::ldexp(1, fraction + 1))};
}

const Rounding &reference::roundingOf(DType dtype) {
  static const std::vector<Rounding> table = [] {
    std::vector<Rounding> all(numDTypes);
    for (unsigned i = 0; i < numDTypes; ++i)
      if (isFloat(DType(i)))
        all[i] = makeRounding(DType(i));
    return all;
  }();
  return table[unsigned(dtype)];
}

Approximation Rounding::checked(Approximation x) const {
  // Not for infinities: those that persist are certain.
  if (std::isfinite(x.value) && !(std::fabs(x.value) + x.bound <= max))
    return Approximation::uncertain(x.value);
  return x;
}

double reference::roundTo(DType dtype, double value) {
  const DTypeInfo &info = dtypeInfo(dtype);
  // Numbers that are too large for a type without infinities become NaN.
  double beyond = info.hasInfinities ? kInfinity : std::nan("");
  if (std::isinf(value))
    return std::copysign(beyond, value);
  if (dtype == DType::FP64 || value == 0 || std::isnan(value))
    return value;
  if (dtype == DType::FP32)
    return float(value);
  int digits = info.fractionBits + 1, minExponent = 3 - (1 << (info.exponentBits - 1));
  int exponent;
  std::frexp(value, &exponent);
  int quantum = std::max(exponent, minExponent) - digits;
  double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  return std::fabs(rounded) > roundingOf(dtype).max ? std::copysign(beyond, value) : rounded;
}

int64_t reference::product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

Tensor::Tensor(DType dtype, llvm::ArrayRef<int64_t> sizes) : dtype(dtype), sizes(sizes) {
  size_t count = product(sizes);
  if (isFloat()) {
    values.resize(count);
    bounds.resize(count);
  } else {
    integers.resize(count);
    uncertain.resize(count);
  }
}
