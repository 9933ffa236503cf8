//===- Elementwise.cpp - Elementwise operations with error bounds ---------===//
//
// The bound of f(x) has two parts. The effect of the operands' errors is computed over the whole
// interval v ± e, not from the derivative at v alone: monotone functions are evaluated at both
// ends, the others have a Lipschitz constant or a formula. The error of f itself is its error bound
// (ScalarEval.h) in the computation type.
//
//===----------------------------------------------------------------------===//
#include "Tensor.h"

#include <cfloat>
#include <cmath>

using namespace tessera;
using namespace tessera::reference;

//===----------------------------------------------------------------------===//
// Propagation of the operands' errors
//===----------------------------------------------------------------------===//

/// The change of a monotone function over v ± e; infinite if an end is outside its domain or at a
/// pole.
static double monotoneBound(ScalarOp op, Approximation x) {
  double low = x.value - x.bound, high = x.value + x.bound;
  double at = evaluateFloat(op, &x.value), atLow = evaluateFloat(op, &low),
         atHigh = evaluateFloat(op, &high);
  if (!std::isfinite(atLow) || !std::isfinite(atHigh))
    return kInfinity;
  return std::max(std::fabs(atLow - at), std::fabs(atHigh - at));
}

/// Zero if a step function is constant over v ± e, otherwise infinite.
static double stepBound(ScalarOp op, Approximation x) {
  double low = x.value - x.bound, high = x.value + x.bound;
  return evaluateFloat(op, &low) == evaluateFloat(op, &high) ? 0 : kInfinity;
}

static double productBound(Approximation x, Approximation y) {
  return std::fabs(x.value) * y.bound + std::fabs(y.value) * x.bound + x.bound * y.bound;
}

static double quotientBound(Approximation x, Approximation y) {
  double room = std::fabs(y.value) - y.bound;
  if (y.bound > 0 && room <= 0)
    return kInfinity;
  return (x.bound + std::fabs(x.value / y.value) * y.bound) / room;
}

static double tangentBound(Approximation x) {
  double low = x.value - x.bound, high = x.value + x.bound;
  bool crossesPole = x.bound >= 1 || (std::cos(low) < 0) != (std::cos(high) < 0);
  return crossesPole ? kInfinity : monotoneBound(ScalarOp::Tan, x);
}

static double powerBound(Approximation x, Approximation y) {
  double at = std::pow(x.value, y.value), low = x.value - x.bound, high = x.value + x.bound;
  if (low <= 0) {
    // Only constant exponents have values around and below a zero base.
    if (y.bound > 0 || (high >= 0 && y.value < 0))
      return kInfinity;
    double change =
        std::max(std::fabs(std::pow(low, y.value) - at), std::fabs(std::pow(high, y.value) - at));
    return change <= DBL_MAX ? std::max(change, low < 0 && high > 0 ? std::fabs(at) : 0)
                             : kInfinity;
  }
  double change = 0;
  for (double base : {low, high})
    for (double exponent : {y.value - y.bound, y.value + y.bound})
      change = std::max(change, std::fabs(std::pow(base, exponent) - at));
  return change <= DBL_MAX ? change : kInfinity;
}

static double angleBound(Approximation y, Approximation x) {
  double distance = std::hypot(std::max(std::fabs(x.value) - x.bound, 0.0),
                               std::max(std::fabs(y.value) - y.bound, 0.0));
  bool crossesCut = x.value - x.bound < 0 && std::fabs(y.value) <= y.bound && y.bound > 0;
  return crossesCut || distance == 0 ? kInfinity : std::hypot(x.bound, y.bound) / distance;
}

/// Operations that are discontinuous where x / y crosses an integer. `u` is the unit roundoff of
/// the division in a kernel.
static double quotientStepBound(ScalarOp op, Approximation x, Approximation y, double u) {
  double quotient = x.value / y.value;
  if (x.bound == 0 && y.bound == 0 &&
      (!std::isfinite(quotient) || std::fma(-quotient, y.value, x.value) == 0))
    return 0; // an integer quotient, or one that a correct division cannot round to an integer
  if (std::isinf(y.value) && std::fabs(x.value) <= x.bound)
    return kInfinity; // the quotients of a negative and a positive x differ by a whole step
  double spread = quotientBound(x, y) + 4 * u * std::fabs(quotient);
  bool truncates = op == ScalarOp::FMod;
  auto whole = [&](double q) { return truncates ? std::trunc(q) : std::floor(q); };
  if (!(spread < 0.5) || whole(quotient - spread) != whole(quotient + spread))
    return kInfinity;
  if (op == ScalarOp::FloorDiv)
    return 0;
  return x.bound + std::fabs(whole(quotient)) * y.bound;
}

/// How far f can be from f(v) if its operands are within their bounds.
static double propagatedBound(ScalarOp op, const Approximation *x, double u) {
  switch (op) {
  case ScalarOp::Add:
  case ScalarOp::Sub:
    return x[0].bound + x[1].bound;
  case ScalarOp::Mul:
    return productBound(x[0], x[1]);
  case ScalarOp::Fma:
    return productBound(x[0], x[1]) + x[2].bound;
  case ScalarOp::Join:
    return x[0].bound + x[1].bound + x[2].bound;
  case ScalarOp::Div:
    return quotientBound(x[0], x[1]);
  case ScalarOp::Reciprocal:
    return quotientBound({1, 0}, x[0]);
  case ScalarOp::FloorDiv:
  case ScalarOp::Remainder:
  case ScalarOp::FMod:
    return quotientStepBound(op, x[0], x[1], u);
  case ScalarOp::Pow:
    return powerBound(x[0], x[1]);
  case ScalarOp::Atan2:
    return angleBound(x[0], x[1]);
  case ScalarOp::ScaleB:
    return x[1].bound > 0 ? kInfinity : std::ldexp(x[0].bound, int(x[1].value));
  case ScalarOp::Maximum:
  case ScalarOp::Minimum: {
    bool isApart = std::fabs(x[0].value - x[1].value) > x[0].bound + x[1].bound;
    bool first = (x[0].value > x[1].value) == (op == ScalarOp::Maximum);
    return isApart ? (first ? x[0].bound : x[1].bound) : std::max(x[0].bound, x[1].bound);
  }
  case ScalarOp::Neg:
  case ScalarOp::Abs:
  case ScalarOp::Relu:
    return x[0].bound;
  case ScalarOp::Square:
    return productBound(x[0], x[0]);
  case ScalarOp::Sin:
  case ScalarOp::Cos:
    return std::min(x[0].bound, 2.0);
  case ScalarOp::Tan:
    return tangentBound(x[0]);
  case ScalarOp::Cosh:
    return std::sinh(std::fabs(x[0].value) + x[0].bound) * x[0].bound;
  case ScalarOp::Silu: // the derivative is below 1.1
    return 1.1 * x[0].bound;
  case ScalarOp::GeluErf: // the derivative is below 1.13
  case ScalarOp::GeluTanh:
    return 1.13 * x[0].bound;
  case ScalarOp::Sign:
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
  case ScalarOp::Trunc:
    return stepBound(op, x[0]);
  default:
    return monotoneBound(op, x[0]);
  }
}

//===----------------------------------------------------------------------===//
// Errors of the operations themselves
//===----------------------------------------------------------------------===//

/// Whether a correctly rounded operation gives exactly this value on exact operands.
static bool isExactResult(ScalarOp op, const double *x, double value, DType dtype) {
  auto sumIsExact = [&](double a, double b) {
    double other = value - a;
    return (a - (value - other)) + (b - other) == 0;
  };
  switch (op) {
  case ScalarOp::Add:
    return sumIsExact(x[0], x[1]) && roundTo(dtype, value) == value;
  case ScalarOp::Sub:
    return sumIsExact(x[0], -x[1]) && roundTo(dtype, value) == value;
  case ScalarOp::Mul:
    return std::fma(x[0], x[1], -value) == 0 && roundTo(dtype, value) == value;
  case ScalarOp::Square:
    return std::fma(x[0], x[0], -value) == 0 && roundTo(dtype, value) == value;
  default:
    return false;
  }
}

/// The additional error of a fast form, in unit roundoffs of f32: 2^-13 of the scale of the
/// function's own error, and everything below 2^-120.
static double approximationErrorUnits(ScalarOp op, const double *x, double exact) {
  constexpr double units = 0x1p11, tiny = 0x1p-96;
  switch (op) {
  case ScalarOp::Exp:
  case ScalarOp::Exp2:
  case ScalarOp::Sigmoid:
  case ScalarOp::Silu:
  case ScalarOp::Tanh:
  case ScalarOp::Erf:
  case ScalarOp::Sqrt:
  case ScalarOp::Rsqrt:
  case ScalarOp::Reciprocal:
    return units * std::fabs(exact) + tiny;
  case ScalarOp::GeluErf:
  case ScalarOp::GeluTanh:
    return units * std::fabs(x[0]) + tiny;
  default:
    return 0;
  }
}

/// Whether the result depends on the sign of a zero, which the order of a sum or a selection
/// between equal values may change.
static bool dependsOnSignOfZero(ScalarOp op, const double *x, double value) {
  switch (op) {
  case ScalarOp::Div:
  case ScalarOp::FloorDiv:
    return x[1] == 0 && std::isinf(value);
  case ScalarOp::Reciprocal:
  case ScalarOp::Rsqrt:
    return x[0] == 0;
  case ScalarOp::Pow:
    return x[0] == 0 && std::isinf(value);
  case ScalarOp::Atan2:
    return x[0] == 0 && x[1] <= 0;
  default:
    return false;
  }
}

/// Whether an infinite result of finite operands is the function's own value there, not an
/// overflow.
static bool hasPole(ScalarOp op) {
  return op == ScalarOp::Log || op == ScalarOp::Log2 || op == ScalarOp::Log1p;
}

static bool mayChangeSign(Approximation x) { return x.bound > 0 && std::fabs(x.value) <= x.bound; }

/// A floating point operation with a floating point result.
static Approximation mapFloat(ScalarOp op, const Approximation *x, unsigned arity, DType dtype,
                              bool mayApproximate) {
  const Rounding &rounding = roundingOf(dtype);
  double values[3];
  bool isExact = true, isFinite = true, isUncertain = false;
  for (unsigned i = 0; i < arity; ++i) {
    values[i] = x[i].value;
    isExact &= x[i].bound == 0;
    isFinite &= std::isfinite(x[i].value);
    isUncertain |= x[i].bound == kInfinity;
  }
  double value = evaluateFloat(op, values);
  if (isUncertain || dependsOnSignOfZero(op, values, value))
    return Approximation::uncertain(value);
  if (!isFinite) {
    // A masked element (weight zero) need not be evaluated.
    bool isProduct = op == ScalarOp::Mul || op == ScalarOp::Fma;
    if (isProduct && (values[0] == 0 || values[1] == 0))
      return Approximation::uncertain(value);
    if ((isProduct || op == ScalarOp::Div) && (mayChangeSign(x[0]) || mayChangeSign(x[1])))
      return Approximation::uncertain(value);
    if (op == ScalarOp::Pow && !isExact) // 1^NaN and inf^0 are finite, their neighbours are not
      return Approximation::uncertain(value);
    if (!std::isfinite(value) || (value == 0 && isExact))
      return {value, 0};
  }
  if (!std::isfinite(value)) {
    bool isCertain = isExact && (std::isnan(value) || hasPole(op));
    if (std::isnan(value) && !isExact && arity == 1) {
      double low = x[0].value - x[0].bound, high = x[0].value + x[0].bound;
      isCertain = std::isnan(evaluateFloat(op, &low)) && std::isnan(evaluateFloat(op, &high));
    }
    return isCertain ? Approximation{value, 0} : Approximation::uncertain(value);
  }
  double bound = isExact ? 0 : propagatedBound(op, x, rounding.computeUnit);
  bool jumps = op == ScalarOp::FloorDiv || op == ScalarOp::Remainder || op == ScalarOp::FMod;
  if (isExact && jumps)
    bound = quotientStepBound(op, x[0], x[1], rounding.computeUnit);
  if (!(bound < kInfinity))
    return Approximation::uncertain(value);
  if (isExact && isExactResult(op, values, value, dtype))
    return {value, 0};
  double magnitude = std::fabs(value) + bound;
  double units = scalarErrorUnits(op, values, magnitude);
  if (mayApproximate && dtype != DType::FP64)
    units += approximationErrorUnits(op, values, magnitude);
  if (op == ScalarOp::FloorDiv && roundTo(dtype, value) != value)
    units = magnitude; // a quotient with more digits than the type has
  // Other operations that select an operand or an integer add nothing, not even a rounding.
  return rounding.checked({value, units == 0 ? bound : bound + rounding.error(units, magnitude)});
}

/// A comparison or test of floats. The result is certain if the operands' intervals are disjoint.
static bool isCertainTest(const Approximation *x, unsigned arity) {
  for (unsigned i = 0; i < arity; ++i)
    if (x[i].bound == kInfinity)
      return false;
  if (arity == 1)
    return true;
  double margin = x[0].bound + x[1].bound;
  return margin == 0 || !(std::fabs(x[0].value - x[1].value) <= margin);
}

/// A selection under an uncertain condition is certain if both sides are the same number.
static Approximation chooseEither(Approximation chosen, Approximation other) {
  if (chosen.value == other.value || (std::isnan(chosen.value) && std::isnan(other.value)))
    return {chosen.value, std::max(chosen.bound, other.bound)};
  double distance = std::fabs(chosen.value - other.value);
  if (distance <= chosen.bound + other.bound)
    return {chosen.value, distance + std::max(chosen.bound, other.bound)};
  return Approximation::uncertain(chosen.value);
}

static void whereTensors(const Tensor &condition, const Tensor &x, const Tensor &y,
                         Tensor &result) {
  for (int64_t i = 0, count = result.size(); i < count; ++i) {
    const Tensor &chosen = condition.integers[i] ? x : y, &other = condition.integers[i] ? y : x;
    if (result.isFloat()) {
      result.set(i, condition.uncertain[i] ? chooseEither(chosen.get(i), other.get(i))
                                           : chosen.get(i));
      continue;
    }
    result.integers[i] = chosen.integers[i];
    result.uncertain[i] = condition.uncertain[i]
                              ? x.uncertain[i] || y.uncertain[i] || x.integers[i] != y.integers[i]
                              : chosen.uncertain[i];
  }
}

TensorRef reference::mapTensors(ScalarOp op, DType dtype, llvm::ArrayRef<TensorRef> inputs,
                                bool mayApproximate) {
  auto result = std::make_shared<Tensor>(dtype, inputs[0]->sizes);
  if (op == ScalarOp::Where) {
    whereTensors(*inputs[0], *inputs[1], *inputs[2], *result);
    return result;
  }
  unsigned arity = inputs.size();
  int64_t count = result->size();
  if (!inputs[0]->isFloat()) {
    IntegerFormat format = formatOf(inputs[0]->dtype);
    for (int64_t i = 0; i < count; ++i) {
      int64_t x[3];
      for (unsigned k = 0; k < arity; ++k) {
        x[k] = inputs[k]->integers[i];
        result->uncertain[i] |= inputs[k]->uncertain[i];
      }
      result->integers[i] = evaluateInteger(op, x, format);
    }
    return result;
  }
  for (int64_t i = 0; i < count; ++i) {
    Approximation x[3];
    double values[3];
    for (unsigned k = 0; k < arity; ++k) {
      x[k] = inputs[k]->get(i);
      values[k] = x[k].value;
    }
    if (result->isFloat()) {
      result->set(i, mapFloat(op, x, arity, dtype, mayApproximate));
    } else if (op == ScalarOp::OrderKey) {
      result->integers[i] = orderKey(values[0], inputs[0]->dtype == DType::FP64);
      result->uncertain[i] = x[0].bound != 0;
    } else {
      result->integers[i] = evaluateFloat(op, values) != 0;
      result->uncertain[i] = !isCertainTest(x, arity);
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// An explicit cast rounds: the bound covers the rounded ends of the interval.
static Approximation roundExplicitly(Approximation x, DType dtype) {
  double value = roundTo(dtype, x.value);
  if (x.bound == kInfinity)
    return {value, x.bound};
  double low = roundTo(dtype, x.value - x.bound), high = roundTo(dtype, x.value + x.bound);
  if (std::isnan(low + high)) // also numbers that are too large for a type without infinities
    return std::isnan(low) && std::isnan(high) ? Approximation{value, 0}
                                               : Approximation::uncertain(value);
  return {value, low == high ? 0 : std::max(value - low, high - value)};
}

/// Any other cast may round, or keep the wider type until a later one rounds.
static Approximation roundPerhaps(Approximation x, DType dtype) {
  if (std::isinf(x.value) && std::isnan(roundTo(dtype, x.value)))
    return Approximation::uncertain(x.value);
  if (!std::isfinite(x.value) || (x.bound == 0 && roundTo(dtype, x.value) == x.value))
    return x;
  const Rounding &rounding = roundingOf(dtype);
  double magnitude = std::fabs(x.value) + x.bound;
  // f32 is stored as computed: its rounding is that of the computation.
  double units = rounding.storageUnit > 0 ? 0 : magnitude;
  return rounding.checked({x.value, x.bound + rounding.error(units, magnitude)});
}

TensorRef reference::perhapsRounded(const TensorRef &input, unsigned digits) {
  auto result = std::make_shared<Tensor>(*input);
  for (int64_t i = 0, count = result->size(); i < count; ++i) {
    Approximation x = result->get(i);
    int exponent;
    double scaled = std::ldexp(std::frexp(x.value, &exponent), digits);
    bool isExact = !std::isfinite(x.value) || (x.bound == 0 && scaled == std::rint(scaled));
    if (!isExact)
      result->bounds[i] += std::ldexp(std::fabs(x.value) + x.bound, -int(digits));
  }
  return result;
}

static bool isWider(DType to, DType from) {
  if (isFloat(from) && dtypeBytes(from) == 1) // every wider floating point type holds its values
    return isFloat(to) && dtypeBytes(to) > 1;
  return to < from && from <= DType::FP16 && to <= DType::FP32;
}

/// A float as an integer, if the whole interval gives the same one inside the type's range.
static std::optional<int64_t> toInteger(Approximation x, DType dtype) {
  double low = std::trunc(x.value - x.bound), high = std::trunc(x.value + x.bound);
  IntegerFormat format = formatOf(dtype);
  double limit = std::ldexp(1, format.width - format.isSigned);
  if (!(low == high) || low >= limit || low < (format.isSigned ? -limit : 0))
    return std::nullopt;
  return int64_t(low);
}

TensorRef reference::castTensor(const TensorRef &input, DType dtype, bool isExplicit) {
  if (input->dtype == dtype)
    return input;
  auto result = std::make_shared<Tensor>(dtype, input->sizes);
  bool isExact = input->isFloat() && isWider(dtype, input->dtype);
  for (int64_t i = 0, count = result->size(); i < count; ++i) {
    if (!input->isFloat()) {
      int64_t value = input->integers[i];
      if (result->isFloat()) {
        Approximation x = {double(value), input->uncertain[i] ? kInfinity : 0};
        result->set(i, isExplicit ? roundExplicitly(x, dtype) : roundPerhaps(x, dtype));
      } else {
        result->integers[i] = dtype == DType::Bool ? value != 0 : formatOf(dtype).wrap(value);
        result->uncertain[i] = input->uncertain[i];
      }
      continue;
    }
    Approximation x = input->get(i);
    if (result->isFloat()) {
      result->set(i, isExact ? x : isExplicit ? roundExplicitly(x, dtype) : roundPerhaps(x, dtype));
    } else if (dtype == DType::Bool) {
      result->integers[i] = x.value != 0;
      result->uncertain[i] = mayChangeSign(x);
    } else {
      std::optional<int64_t> integer = toInteger(x, dtype);
      result->integers[i] = integer.value_or(0);
      result->uncertain[i] = !integer;
    }
  }
  return result;
}
