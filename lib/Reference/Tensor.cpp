//===- Tensor.cpp - Element types of the reference interpreter ------------===//
#include "Tensor.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cfloat>
#include <cmath>
#include <cstring>

using namespace tessera;
using namespace tessera::reference;

std::optional<DType> reference::dtypeOf(mlir::Type type) {
  if (type.isF64())
    return DType::FP64;
  if (type.isF32())
    return DType::FP32;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF16())
    return DType::FP16;
  if (llvm::isa<mlir::Float8E4M3FNType>(type))
    return DType::FP8E4M3;
  if (llvm::isa<mlir::Float8E5M2Type>(type))
    return DType::FP8E5M2;
  if (type.isUnsignedInteger(8))
    return DType::UInt8;
  if (!type.isSignlessInteger())
    return std::nullopt;
  switch (type.getIntOrFloatBitWidth()) {
  case 64:
    return DType::Int64;
  case 32:
    return DType::Int32;
  case 16:
    return DType::Int16;
  case 8:
    return DType::Int8;
  case 1:
    return DType::Bool;
  default:
    return std::nullopt;
  }
}

int64_t reference::dtypeBytes(DType dtype) {
  static constexpr int64_t bytes[] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1, 1, 1};
  return bytes[int(dtype)];
}

static bool isFloat8(DType dtype) { return dtype >= DType::FP8E4M3; }

bool reference::isFloat(DType dtype) { return dtype <= DType::FP16 || isFloat8(dtype); }

IntegerFormat reference::formatOf(DType dtype) {
  if (dtype == DType::Bool)
    return {1, false};
  return {unsigned(dtypeBytes(dtype) * 8), dtype != DType::UInt8};
}

const Rounding &reference::roundingOf(DType dtype) {
  static const double f32 = std::ldexp(1, -24), exact = std::ldexp(1, 24);
  static const Rounding table[] = {
      {std::ldexp(1, -52), 0, DBL_MIN, DBL_MIN, DBL_MAX, DBL_MAX, std::ldexp(1, 53)},
      {f32, 0, FLT_MIN, FLT_MIN, FLT_MAX, FLT_MAX, exact},
      {f32, std::ldexp(1, -8), FLT_MIN, FLT_MIN, std::ldexp(255, 120), FLT_MAX, exact},
      {f32, std::ldexp(1, -11), std::ldexp(1, -14), std::ldexp(1, -25), 65504, FLT_MAX, exact},
      {f32, std::ldexp(1, -4), std::ldexp(1, -6), std::ldexp(1, -10), 448, FLT_MAX, exact, 16},
      {f32, std::ldexp(1, -3), std::ldexp(1, -14), std::ldexp(1, -17), 57344, FLT_MAX, exact, 8},
  };
  return table[isFloat8(dtype) ? int(dtype) - int(DType::FP8E4M3) + 4 : int(dtype)];
}

Approximation Rounding::checked(Approximation x) const {
  // Not for infinities: those that persist are certain.
  if (std::isfinite(x.value) && !(std::fabs(x.value) + x.bound <= max))
    return Approximation::uncertain(x.value);
  return x;
}

double reference::roundTo(DType dtype, double value) {
  // Numbers that are too large for e4m3, which has no infinity, become NaN.
  double beyond = dtype == DType::FP8E4M3 ? std::nan("") : kInfinity;
  if (std::isinf(value))
    return std::copysign(beyond, value);
  if (dtype == DType::FP64 || value == 0 || std::isnan(value))
    return value;
  if (dtype == DType::FP32)
    return float(value);
  auto [digits, minExponent] = dtype == DType::FP16      ? std::pair(11, -13)
                               : dtype == DType::BF16    ? std::pair(8, -125)
                               : dtype == DType::FP8E4M3 ? std::pair(4, -5)
                                                         : std::pair(3, -13);
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
