//===- Print.cpp - Tensors as text ----------------------------------------===//

#include "Print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace tessera::rt {

namespace {

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
  uint64_t bits = loadBits(data, dtype);
  if (isFloat(dtype))
    return floatText(decodeFloat(bits, dtype), dtypeInfo(dtype).digits);
  int64_t value = decodeInteger(bits, dtype);
  return dtype != DType::Bool ? std::to_string(value) : value ? "True" : "False";
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
