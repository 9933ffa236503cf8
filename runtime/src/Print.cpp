//===- Print.cpp - Tensors as text ----------------------------------------===//

#include "Print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace tessera::rt {

namespace {

/// The value of a small float. A format without infinities has a single pattern for NaN.
double smallFloat(uint32_t bits, int exponentBits, int mantissaBits, bool hasInfinities) {
  uint32_t exponents = (1u << exponentBits) - 1, mantissas = (1u << mantissaBits) - 1;
  uint32_t exponent = bits >> mantissaBits & exponents, mantissa = bits & mantissas;
  double sign = bits >> (exponentBits + mantissaBits) & 1 ? -1 : 1;
  if (exponent == exponents && (hasInfinities || mantissa == mantissas))
    return hasInfinities && mantissa == 0 ? sign * INFINITY : NAN;
  int bias = (1 << (exponentBits - 1)) - 1;
  double fraction = std::ldexp(static_cast<double>(mantissa), -mantissaBits);
  return sign * (exponent ? std::ldexp(1 + fraction, static_cast<int>(exponent) - bias)
                          : std::ldexp(fraction, 1 - bias));
}

template <typename T> T read(const char *data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

std::string floatText(double value, int digits) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  bool isWhole = std::strcspn(text, ".e") == std::strlen(text);
  return std::string(text) + (isWhole ? "." : "");
}

std::string elementText(DType dtype, const char *data) {
  switch (dtype) {
  case DType::FP64:
    return floatText(read<double>(data), 8);
  case DType::FP32:
    return floatText(read<float>(data), 6);
  case DType::BF16:
    return floatText(smallFloat(read<uint16_t>(data), 8, 7, true), 4);
  case DType::FP16:
    return floatText(smallFloat(read<uint16_t>(data), 5, 10, true), 5);
  case DType::FP8E4M3:
    return floatText(smallFloat(read<uint8_t>(data), 4, 3, false), 4);
  case DType::FP8E5M2:
    return floatText(smallFloat(read<uint8_t>(data), 5, 2, true), 4);
  case DType::Int64:
    return std::to_string(read<int64_t>(data));
  case DType::Int32:
    return std::to_string(read<int32_t>(data));
  case DType::Int16:
    return std::to_string(read<int16_t>(data));
  case DType::Int8:
    return std::to_string(read<int8_t>(data));
  case DType::UInt8:
    return std::to_string(read<uint8_t>(data));
  case DType::Bool:
    return *data ? "True" : "False";
  }
  return "";
}

class Formatter {
public:
  Formatter(DType dtype, std::span<const int64_t> sizes, const char *data)
      : dtype(dtype), sizes(sizes), data(data), strides(sizes.size(), dtypeBytes(dtype)) {
    for (size_t d = sizes.size(); d-- > 1;)
      strides[d - 1] = strides[d] * sizes[d];
    int64_t elements = 1;
    for (int64_t size : sizes)
      elements *= size;
    isShort = elements <= most;
    visit(0, 0, [&](int64_t offset) {
      width = std::max(width, elementText(dtype, this->data + offset).size());
    });
  }

  std::string text() {
    write(0, 0);
    return std::move(written);
  }

private:
  static constexpr int64_t most = 1000, edge = 3;

  /// Whether index `i` along the dimension is shown.
  bool shows(size_t dim, int64_t i) const {
    return isShort || sizes[dim] <= 2 * edge || i < edge || i >= sizes[dim] - edge;
  }
  int64_t next(size_t dim, int64_t i) const {
    return i + 1 >= sizes[dim] || shows(dim, i + 1) ? i + 1 : sizes[dim] - edge;
  }

  template <typename Action> void visit(size_t dim, int64_t offset, const Action &action) const {
    if (dim == sizes.size())
      return action(offset);
    for (int64_t i = 0; i < sizes[dim]; i = next(dim, i))
      visit(dim + 1, offset + i * strides[dim], action);
  }

  void write(size_t dim, int64_t offset) {
    if (dim == sizes.size()) {
      std::string element = elementText(dtype, data + offset);
      written.append(width - element.size(), ' ') += element;
      return;
    }
    // Blank lines separate blocks of rows.
    size_t below = sizes.size() - dim - 1;
    std::string apart = below == 0 ? " " : std::string(below, '\n') + std::string(dim + 1, ' ');
    written += '[';
    for (int64_t i = 0; i < sizes[dim];) {
      write(dim + 1, offset + i * strides[dim]);
      int64_t following = next(dim, i);
      if (following < sizes[dim])
        written += "," + apart;
      if (following > i + 1)
        written += "...," + apart;
      i = following;
    }
    written += ']';
  }

  DType dtype;
  std::span<const int64_t> sizes;
  const char *data;
  std::vector<int64_t> strides;
  bool isShort = true;
  size_t width = 0;
  std::string written;
};

} // namespace

std::string formatTensor(const std::string &label, DType dtype, std::span<const int64_t> sizes,
                         const char *data) {
  std::string text = label.empty() ? "" : label + ": ";
  text += dtypeName(dtype);
  text += "[";
  for (size_t d = 0; d < sizes.size(); ++d)
    text += (d ? ", " : "") + std::to_string(sizes[d]);
  return text + "]\n" + Formatter(dtype, sizes, data).text() + "\n";
}

} // namespace tessera::rt
