//===- HostTensor.cpp - Reading and comparing tensors in host memory ------===//
#include "HostTensor.h"

#include <cmath>
#include <cstring>

using namespace tessera;
using namespace tessera::reference;

template <typename T> static T load(const void *data, int64_t element) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + element * int64_t(sizeof(T)), sizeof(T));
  return value;
}

static double loadHalf(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double magnitude = exponent == 31  ? (fraction ? std::nan("") : kInfinity)
                     : exponent == 0 ? std::ldexp(fraction, -24)
                                     : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// e4m3: exponents up to 15, and only all bits set is NaN. e5m2 is the upper half of an fp16.
static double loadE4M3(uint8_t bits) {
  int exponent = (bits >> 3) & 15, fraction = bits & 7;
  double magnitude = (bits & 0x7f) == 0x7f ? std::nan("")
                     : exponent == 0       ? std::ldexp(fraction, -9)
                                           : std::ldexp(8 + fraction, exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

static double loadBFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

static double loadFloat(DType dtype, const void *data, int64_t element) {
  switch (dtype) {
  case DType::FP64:
    return load<double>(data, element);
  case DType::FP32:
    return load<float>(data, element);
  case DType::BF16:
    return loadBFloat(load<uint16_t>(data, element));
  case DType::FP8E4M3:
    return loadE4M3(load<uint8_t>(data, element));
  case DType::FP8E5M2:
    return loadHalf(uint16_t(load<uint8_t>(data, element) << 8));
  default:
    return loadHalf(load<uint16_t>(data, element));
  }
}

static int64_t loadInteger(DType dtype, const void *data, int64_t element) {
  switch (dtype) {
  case DType::Int64:
    return load<int64_t>(data, element);
  case DType::Int32:
    return load<int32_t>(data, element);
  case DType::Int16:
    return load<int16_t>(data, element);
  case DType::Int8:
    return load<int8_t>(data, element);
  case DType::UInt8:
    return load<uint8_t>(data, element);
  default:
    return load<uint8_t>(data, element) != 0;
  }
}

TensorRef reference::readHostTensor(const HostTensor &host) {
  auto tensor = std::make_shared<Tensor>(host.dtype, host.sizes);
  int64_t rank = host.sizes.size(), count = tensor->size();
  Sizes index(rank, 0);
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (tensor->isFloat())
      tensor->values[i] = loadFloat(host.dtype, host.data, at);
    else
      tensor->integers[i] = loadInteger(host.dtype, host.data, at);
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
      at += host.strides[dim];
      if (++index[dim] < host.sizes[dim])
        break;
      at -= host.strides[dim] * host.sizes[dim];
      index[dim] = 0;
    }
  }
  return tensor;
}

/// The error relative to its bound: at most 1 if the element is correct.
static double relativeError(double expected, double bound, double computed) {
  if (std::isnan(expected) || std::isnan(computed))
    return std::isnan(expected) && std::isnan(computed) ? 0 : kInfinity;
  if (expected == computed)
    return 0;
  double error = std::fabs(expected - computed);
  return bound > 0 && std::isfinite(error) ? error / bound : kInfinity;
}

Comparison reference::compare(const Result &expected, const HostTensor &computed) {
  Comparison comparison;
  TensorRef tensor = readHostTensor(computed);
  bool sameType = computed.dtype == expected.dtype && computed.sizes == expected.sizes;
  for (int64_t i = 0, count = expected.size(); i < count; ++i) {
    if (expected.uncertain[i]) {
      ++comparison.uncertain;
      continue;
    }
    double error = kInfinity;
    if (sameType)
      error = tensor->isFloat()
                  ? relativeError(expected.values[i], expected.bounds[i], tensor->values[i])
                  : (expected.integers[i] == tensor->integers[i] ? 0 : kInfinity);
    ++comparison.checked;
    comparison.worst = std::max(comparison.worst, error);
    if (error > 1 && comparison.wrong++ == 0)
      comparison.firstWrong = i;
  }
  return comparison;
}
