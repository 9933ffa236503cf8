//===- ScalarEval.cpp - Evaluation of scalar operations -------------------===//
#include "tessera/Support/ScalarEval.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

using namespace tessera;

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

/// The quotient rounded down, computed from the exact remainder, so that it is correct where x / y
/// rounds up to an integer. An infinite x has no remainder, as in PyTorch.
static double floorDivide(double x, double y) {
  if (y == 0)
    return x / y;
  double remainder = std::fmod(x, y);
  double quotient = (x - remainder) / y;
  if (std::isnan(quotient))
    return quotient;
  if (remainder != 0 && (y < 0) != (remainder < 0))
    quotient -= 1;
  return quotient == 0 ? std::copysign(0.0, x / y) : std::rint(quotient);
}

static double floorRemainder(double x, double y) {
  double r = std::fmod(x, y);
  return r != 0 && (y < 0) != (r < 0) ? r + y : r;
}

static double maximum(double x, double y) { return std::isnan(x) || x > y ? x : y; }
static double minimum(double x, double y) { return std::isnan(x) || x < y ? x : y; }

/// Where exp(-x) overflows, the result is not yet zero.
static double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

static double geluTanh(double x) {
  double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

/// Operations with one operand; none: another operation.
static std::optional<double> evaluateUnary(ScalarOp op, double x) {
  switch (op) {
  case ScalarOp::Neg:
    return -x;
  case ScalarOp::Abs:
    return std::fabs(x);
  case ScalarOp::Sign:
    return std::isnan(x) ? x : double(x > 0) - double(x < 0);
  case ScalarOp::Square:
    return x * x;
  case ScalarOp::Exp:
    return std::exp(x);
  case ScalarOp::Exp2:
    return std::exp2(x);
  case ScalarOp::Expm1:
    return std::expm1(x);
  case ScalarOp::Log:
    return std::log(x);
  case ScalarOp::Log2:
    return std::log2(x);
  case ScalarOp::Log1p:
    return std::log1p(x);
  case ScalarOp::Sqrt:
    return std::sqrt(x);
  case ScalarOp::Rsqrt:
    return 1 / std::sqrt(x);
  case ScalarOp::Reciprocal:
    return 1 / x;
  case ScalarOp::Sin:
    return std::sin(x);
  case ScalarOp::Cos:
    return std::cos(x);
  case ScalarOp::Tan:
    return std::tan(x);
  case ScalarOp::Asin:
    return std::asin(x);
  case ScalarOp::Acos:
    return std::acos(x);
  case ScalarOp::Atan:
    return std::atan(x);
  case ScalarOp::Sinh:
    return std::sinh(x);
  case ScalarOp::Cosh:
    return std::cosh(x);
  case ScalarOp::Tanh:
    return std::tanh(x);
  case ScalarOp::Erf:
    return std::erf(x);
  case ScalarOp::Erfc:
    return std::erfc(x);
  case ScalarOp::Floor:
    return std::floor(x);
  case ScalarOp::Ceil:
    return std::ceil(x);
  case ScalarOp::Round:
    return std::nearbyint(x);
  case ScalarOp::Trunc:
    return std::trunc(x);
  case ScalarOp::Relu:
    return x < 0 ? 0 : x;
  case ScalarOp::Sigmoid:
    return sigmoid(x);
  case ScalarOp::Silu:
    return x / (1 + std::exp(-x));
  case ScalarOp::GeluErf:
    return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
  case ScalarOp::GeluTanh:
    return geluTanh(x);
  case ScalarOp::IsNan:
    return std::isnan(x);
  case ScalarOp::IsInf:
    return std::isinf(x);
  case ScalarOp::IsFinite:
    return std::isfinite(x);
  default:
    return std::nullopt;
  }
}

/// Operations with two operands; none: another operation.
static std::optional<double> evaluateBinary(ScalarOp op, double x, double y) {
  switch (op) {
  case ScalarOp::Add:
    return x + y;
  case ScalarOp::Sub:
    return x - y;
  case ScalarOp::Mul:
    return x * y;
  case ScalarOp::Div:
    return x / y;
  case ScalarOp::FloorDiv:
    return floorDivide(x, y);
  case ScalarOp::Remainder:
    return floorRemainder(x, y);
  case ScalarOp::FMod:
    return std::fmod(x, y);
  case ScalarOp::Pow:
    return std::pow(x, y);
  case ScalarOp::Maximum:
    return maximum(x, y);
  case ScalarOp::Minimum:
    return minimum(x, y);
  case ScalarOp::Atan2:
    return std::atan2(x, y);
  case ScalarOp::ScaleB:
    return std::ldexp(x, int(std::clamp(y, -5000.0, 5000.0)));
  case ScalarOp::Eq:
    return x == y;
  case ScalarOp::Ne:
    return x != y;
  case ScalarOp::Lt:
    return x < y;
  case ScalarOp::Le:
    return x <= y;
  case ScalarOp::Gt:
    return x > y;
  case ScalarOp::Ge:
    return x >= y;
  default:
    return std::nullopt;
  }
}

double tessera::evaluateFloat(ScalarOp op, const double *x) {
  switch (op) {
  case ScalarOp::Where:
    return x[0] != 0 ? x[1] : x[2];
  case ScalarOp::Fma:
    return std::fma(x[0], x[1], x[2]);
  case ScalarOp::Join:
    return x[0] + (x[1] + x[2]);
  default:
    break;
  }
  unsigned operands = scalarOpInfo(op).arity;
  std::optional<double> result = operands == 1   ? evaluateUnary(op, x[0])
                                 : operands == 2 ? evaluateBinary(op, x[0], x[1])
                                                 : std::nullopt;
  // The others compute on integers only, or depend on the type (orderKey).
  return result.value_or(std::numeric_limits<double>::quiet_NaN());
}

/// The bits of a number as an integer grow with its magnitude.
template <typename Integer, typename Float> static int64_t keyOf(Float x) {
  constexpr Integer most = std::numeric_limits<Integer>::max();
  if (std::isnan(x))
    return most;
  Integer magnitude = std::bit_cast<Integer>(x) & most;
  return std::signbit(x) && x != 0 ? ~magnitude : magnitude;
}

int64_t tessera::orderKey(double x, bool isDouble) {
  return isDouble ? keyOf<int64_t>(x) : keyOf<int32_t>(float(x));
}

double tessera::scalarErrorUnits(ScalarOp op, const double *x, double exact) {
  double size = std::fabs(exact);
  switch (op) {
  case ScalarOp::Add:
  case ScalarOp::Sub:
  case ScalarOp::Mul:
  case ScalarOp::Square:
  case ScalarOp::Fma:
  case ScalarOp::ScaleB:
  case ScalarOp::Remainder: // fmod, and the divisor if the signs differ
    return size;
  case ScalarOp::Join:
    return size + std::fabs(x[1] + x[2]);
  case ScalarOp::Sqrt:
  case ScalarOp::Reciprocal:
    return 2 * size;
  case ScalarOp::Div: // also as a product with the reciprocal
    return 3 * size;
  case ScalarOp::Rsqrt:
    return 4 * size;
  case ScalarOp::Maximum:
  case ScalarOp::Minimum:
  case ScalarOp::Neg:
  case ScalarOp::Abs:
  case ScalarOp::Sign:
  case ScalarOp::FMod:
  case ScalarOp::FloorDiv:
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
  case ScalarOp::Trunc:
  case ScalarOp::Relu:
  case ScalarOp::Where:
    return 0;
  case ScalarOp::Sin: // argument reduction: relative to 1 away from 0
  case ScalarOp::Cos:
    return 8 * std::max(size, std::min(1.0, std::fabs(x[0])));
  case ScalarOp::Tan:
    return 8 * (size + std::min(1.0, std::fabs(x[0])) * (1 + size * size));
  case ScalarOp::Acos:
    return 8 * std::max(size, 1.0);
  case ScalarOp::Erfc: // exp(-x^2) with a rounded square
    return 8 * size * (1 + x[0] * x[0]);
  case ScalarOp::Pow: // exp(y log x) with a rounded product
    return 8 * size *
           (1 + (x[0] == 0 || size == 0 ? 0 : std::fabs(x[1] * std::log(std::fabs(x[0])))));
  case ScalarOp::Sigmoid:
  case ScalarOp::Silu:
    return 12 * size;
  case ScalarOp::GeluErf: // 1 + erf cancels for negative x
  case ScalarOp::GeluTanh:
    return 16 * std::fabs(x[0]);
  default:
    return 8 * size;
  }
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

int64_t IntegerFormat::wrap(int64_t value) const {
  if (width == 64)
    return value;
  uint64_t bits = uint64_t(value) << (64 - width);
  return isSigned ? int64_t(bits) >> (64 - width) : int64_t(bits >> (64 - width));
}

/// Quotient rounded towards zero with x / 0 = 0; the minimum divided by -1 wraps.
static int64_t truncDivide(int64_t x, int64_t y) {
  if (y == 0)
    return 0;
  return y == -1 ? int64_t(0 - uint64_t(x)) : x / y;
}

static int64_t floorDivide(int64_t x, int64_t y) {
  int64_t quotient = truncDivide(x, y);
  bool isInexact = y != 0 && y != -1 && x % y != 0;
  return isInexact && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}

static int64_t multiply(int64_t x, int64_t y) { return int64_t(uint64_t(x) * uint64_t(y)); }

static int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) { // the reciprocal rounded towards zero
    if (base == 1)
      return 1;
    return base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  }
  int64_t result = 1;
  for (; exponent; exponent >>= 1, base = multiply(base, base))
    if (exponent & 1)
      result = multiply(result, base);
  return result;
}

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3; 2011): a
/// block of 128 random bits is a bijection of the counter that the key chooses.
static int64_t philox(uint64_t low, uint64_t high, uint64_t key, bool isUpper) {
  uint32_t counter[] = {uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32)};
  uint32_t key0 = uint32_t(key), key1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9, key1 += 0xBB67AE85) {
    uint64_t p0 = uint64_t(0xD2511F53) * counter[0], p1 = uint64_t(0xCD9E8D57) * counter[2];
    counter[0] = uint32_t(p1 >> 32) ^ counter[1] ^ key0;
    counter[1] = uint32_t(p1);
    counter[2] = uint32_t(p0 >> 32) ^ counter[3] ^ key1;
    counter[3] = uint32_t(p0);
  }
  const uint32_t *words = counter + 2 * isUpper;
  return int64_t(uint64_t(words[1]) << 32 | words[0]);
}

static int64_t evaluateUnwrapped(ScalarOp op, const int64_t *x, IntegerFormat format) {
  bool isBool = format.isBool();
  switch (op) {
  case ScalarOp::Add:
    return isBool ? x[0] | x[1] : int64_t(uint64_t(x[0]) + uint64_t(x[1]));
  case ScalarOp::Sub:
    return int64_t(uint64_t(x[0]) - uint64_t(x[1]));
  case ScalarOp::Mul:
    return multiply(x[0], x[1]);
  case ScalarOp::FloorDiv:
    return floorDivide(x[0], x[1]);
  case ScalarOp::Remainder:
    return int64_t(uint64_t(x[0]) - uint64_t(multiply(floorDivide(x[0], x[1]), x[1])));
  case ScalarOp::FMod:
    return int64_t(uint64_t(x[0]) - uint64_t(multiply(truncDivide(x[0], x[1]), x[1])));
  case ScalarOp::Pow:
    return power(x[0], x[1]);
  case ScalarOp::Maximum:
    return std::max(x[0], x[1]);
  case ScalarOp::Minimum:
    return std::min(x[0], x[1]);
  case ScalarOp::Neg:
    return int64_t(0 - uint64_t(x[0]));
  case ScalarOp::Abs:
    return x[0] < 0 ? int64_t(0 - uint64_t(x[0])) : x[0];
  case ScalarOp::Sign:
    return (x[0] > 0) - (x[0] < 0);
  case ScalarOp::Square:
    return multiply(x[0], x[0]);
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
  case ScalarOp::Trunc:
    return x[0];
  case ScalarOp::Relu:
    return std::max<int64_t>(x[0], 0);
  case ScalarOp::Eq:
    return x[0] == x[1];
  case ScalarOp::Ne:
    return x[0] != x[1];
  case ScalarOp::Lt:
    return x[0] < x[1];
  case ScalarOp::Le:
    return x[0] <= x[1];
  case ScalarOp::Gt:
    return x[0] > x[1];
  case ScalarOp::Ge:
    return x[0] >= x[1];
  case ScalarOp::Where:
    return x[0] ? x[1] : x[2];
  case ScalarOp::And:
    return x[0] & x[1];
  case ScalarOp::Or:
    return x[0] | x[1];
  case ScalarOp::Xor:
    return x[0] ^ x[1];
  case ScalarOp::Not:
    return ~x[0];
  case ScalarOp::Shl:
    return x[1] < 0 || x[1] >= format.width ? 0 : int64_t(uint64_t(x[0]) << x[1]);
  case ScalarOp::Shr:
    return x[1] < 0 || x[1] >= format.width ? (x[0] < 0 ? -1 : 0) : x[0] >> x[1];
  case ScalarOp::Philox:
  case ScalarOp::PhiloxUpper:
    return philox(x[0], x[1], x[2], op == ScalarOp::PhiloxUpper);
  default:
    return 0; // floating point only
  }
}

int64_t tessera::evaluateInteger(ScalarOp op, const int64_t *x, IntegerFormat format) {
  int64_t result = evaluateUnwrapped(op, x, format);
  return scalarOpInfo(op).rule == TypeRule::Compare ? result : format.wrap(result);
}
