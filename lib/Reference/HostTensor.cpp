//===- HostTensor.cpp - Reading and comparing tensors in host memory ------===//
#include "HostTensor.h"

#include <cmath>
#include <cstring>

using namespace tessera;
using namespace tessera::reference;

TensorRef reference::readHostTensor(const HostTensor &host) {
  auto tensor = std::make_shared<Tensor>(host.dtype, host.sizes);
  int64_t rank = host.sizes.size(), count = tensor->size();
  Sizes index(rank, 0);
  int64_t at = 0, bytes = dtypeBytes(host.dtype);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = rt::loadBits(static_cast<const char *>(host.data) + at * bytes, host.dtype);
    if (tensor->isFloat())
      tensor->values[i] = rt::decodeFloat(bits, host.dtype);
    else
      tensor->integers[i] = rt::decodeInteger(bits, host.dtype);
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
