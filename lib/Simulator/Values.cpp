//===- Values.cpp - Scalars and tiles of simulated warps ------------------===//
#include "Values.h"

#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Reference/Reference.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

using namespace tessera;
using namespace tessera::simulator;

thread_local uint64_t Tile::count = 0;

std::optional<Element> Element::of(mlir::Type type) {
  Element element;
  if (llvm::isa<mlir::FloatTF32Type>(type)) {
    element.type = DType::FP32;
    element.tf32 = true;
  } else if (std::optional<DType> known = dtypeFromMlir(type)) {
    element.type = *known;
  } else if (!type.isIndex()) {
    return std::nullopt;
  }
  element.width = unsigned(dtypeBytes(element.type));
  element.floating = tessera::isFloat(element.type);
  return element;
}

IntegerFormat Element::format() const {
  if (type == DType::Bool)
    return {1, false};
  return {8 * width, type != DType::UInt8};
}

double Element::round(double value) const {
  if (tf32) { // 10 bits of fraction, ties away from zero
    uint32_t bits = std::bit_cast<uint32_t>(float(value));
    if ((bits & 0x7f800000) != 0x7f800000)
      bits = (bits + 0x1000) & ~0x1fffu;
    return std::bit_cast<float>(bits);
  }
  return type == DType::FP32 ? double(float(value)) : reference::roundTo(type, value);
}

Number Element::convert(Number value, const Element &from) const {
  if (floating)
    return real(round(from.floating ? value.real : double(value.integer)));
  if (type == DType::Bool)
    return integer(from.floating ? value.real != 0 : value.integer != 0);
  if (!from.floating)
    return wrap(value.integer);
  double whole = std::trunc(value.real);
  constexpr double kMost = 9.2e18; // beyond it any value is right
  return wrap(std::isnan(whole) ? 0 : int64_t(std::clamp(whole, -kMost, kMost)));
}

//===----------------------------------------------------------------------===//
// In memory
//===----------------------------------------------------------------------===//

uint64_t Element::encode(Number value) const {
  if (!floating)
    return uint64_t(value.integer) & (width == 8 ? ~uint64_t(0) : (uint64_t(1) << 8 * width) - 1);
  return type == DType::BF16 ? std::bit_cast<uint32_t>(float(value.real)) >> 16
                             : rt::encodeFloat(value.real, type);
}

/// All values of fp16, by their bits.
static const std::vector<float> &halves() {
  static const std::vector<float> table = [] {
    std::vector<float> all(1 << 16);
    for (unsigned bits = 0; bits < all.size(); ++bits)
      all[bits] = float(rt::decodeFloat(bits, DType::FP16));
    return all;
  }();
  return table;
}

Number Element::decode(uint64_t bits) const {
  if (type == DType::FP16)
    return real(halves()[bits & 0xffff]);
  if (floating)
    return real(rt::decodeFloat(bits, type));
  return type == DType::Bool ? integer((bits & 0xff) != 0) : wrap(int64_t(bits));
}

Number Element::load(const std::byte *from) const {
  uint64_t bits = 0;
  std::memcpy(&bits, from, width);
  return decode(bits);
}

void Element::store(std::byte *to, Number value) const {
  uint64_t bits = encode(value);
  std::memcpy(to, &bits, width);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

template <typename Compute>
static void fill(Number *to, size_t count, const Element &result, Compute compute) {
  if (result.dtype() == DType::FP32) {
    for (size_t i = 0; i < count; ++i)
      to[i].real = float(compute(i));
  } else {
    for (size_t i = 0; i < count; ++i)
      to[i].real = result.round(compute(i));
  }
}

void simulator::evaluateMap(ScalarOp op, const Element &operand, const Element &result,
                            const std::vector<const Number *> &inputs, Number *to, size_t count) {
  const Number *a = inputs[0], *b = inputs.size() > 1 ? inputs[1] : nullptr,
               *c = inputs.size() > 2 ? inputs[2] : nullptr;
  if (op == ScalarOp::Where) {
    for (size_t i = 0; i < count; ++i)
      to[i] = a[i].integer ? b[i] : c[i];
    return;
  }
  if (!operand.isFloat()) {
    IntegerFormat format = operand.format();
    for (size_t i = 0; i < count; ++i) {
      std::array<int64_t, 4> x{};
      for (size_t k = 0; k < std::min<size_t>(inputs.size(), x.size()); ++k)
        x[k] = inputs[k][i].integer;
      to[i].integer = evaluateInteger(op, x.data(), format);
    }
    return;
  }
  switch (op) { // common operations have their own loops
  case ScalarOp::Add:
    return fill(to, count, result, [&](size_t i) { return a[i].real + b[i].real; });
  case ScalarOp::Sub:
    return fill(to, count, result, [&](size_t i) { return a[i].real - b[i].real; });
  case ScalarOp::Mul:
    return fill(to, count, result, [&](size_t i) { return a[i].real * b[i].real; });
  case ScalarOp::Fma:
    return fill(to, count, result,
                [&](size_t i) { return std::fma(a[i].real, b[i].real, c[i].real); });
  default:
    break;
  }
  for (size_t i = 0; i < count; ++i) {
    std::array<double, 4> x{};
    for (size_t k = 0; k < std::min<size_t>(inputs.size(), x.size()); ++k)
      x[k] = inputs[k][i].real;
    double value = evaluateFloat(op, x.data());
    to[i] = result.isFloat() ? real(result.round(value)) : integer(int64_t(value));
  }
}

Number simulator::combine(ReduceOp op, const Element &element, Number a, Number b, bool skipNan) {
  if (!element.isFloat()) {
    int64_t x[] = {a.integer, b.integer};
    return integer(evaluateInteger(reduceOpCombiner(op), x, element.format()));
  }
  if (skipNan && (std::isnan(a.real) || std::isnan(b.real)))
    return std::isnan(a.real) ? b : a;
  double x[] = {a.real, b.real};
  return real(element.round(evaluateFloat(reduceOpCombiner(op), x)));
}
