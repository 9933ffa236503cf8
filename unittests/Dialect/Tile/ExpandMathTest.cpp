//===- ExpandMathTest.cpp - Error of the expanded functions ---------------===//
//
// Tests every expanded function on f32 and f64 against the C library in the next wider type, over
// bit patterns of the whole range, a dense part of it, and special values. Errors are in units in
// the last place of the exact result. Set TESSERA_ULP_TABLE to print the measured errors,
// TESSERA_ULP_SAMPLES to take more samples.
//
//===----------------------------------------------------------------------===//
#include "TileEvaluator.h"

#include "tessera/Support/ScalarEval.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

using Wide = long double;
template <typename T> using Reference = std::conditional_t<std::is_same_v<T, float>, double, Wide>;

namespace {

/// How a function is sampled and its allowed error.
struct Case {
  ScalarOp op;
  double low, high; ///< the dense part of the range
  double boundF32, boundF64;
  double from = -HUGE_VAL; ///< arguments outside [from, to] are not compared (see the pass's table)
  double to = HUGE_VAL;
  bool relativeToArgument = false; ///< units in the argument's last place, if they are larger
};

template <typename W> W exactValue(ScalarOp op, const W *x) {
  switch (op) {
  case ScalarOp::Exp:
    return std::exp(x[0]);
  case ScalarOp::Exp2:
    return std::exp2(x[0]);
  case ScalarOp::Expm1:
    return std::expm1(x[0]);
  case ScalarOp::Log:
    return std::log(x[0]);
  case ScalarOp::Log2:
    return std::log2(x[0]);
  case ScalarOp::Log1p:
    return std::log1p(x[0]);
  case ScalarOp::Rsqrt:
    return 1 / std::sqrt(x[0]);
  case ScalarOp::Reciprocal:
    return 1 / x[0];
  case ScalarOp::Square:
    return x[0] * x[0];
  case ScalarOp::Sin:
    return std::sin(x[0]);
  case ScalarOp::Cos:
    return std::cos(x[0]);
  case ScalarOp::Tan:
    return std::tan(x[0]);
  case ScalarOp::Asin:
    return std::asin(x[0]);
  case ScalarOp::Acos:
    return std::acos(x[0]);
  case ScalarOp::Atan:
    return std::atan(x[0]);
  case ScalarOp::Atan2:
    return std::atan2(x[0], x[1]);
  case ScalarOp::Sinh:
    return std::sinh(x[0]);
  case ScalarOp::Cosh:
    return std::cosh(x[0]);
  case ScalarOp::Tanh:
    return std::tanh(x[0]);
  case ScalarOp::Erf:
    return std::erf(x[0]);
  case ScalarOp::Erfc:
    return std::erfc(x[0]);
  case ScalarOp::Pow:
    return std::pow(x[0], x[1]);
  case ScalarOp::Sigmoid:
    return 1 / (1 + std::exp(-x[0]));
  case ScalarOp::Silu:
    return x[0] / (1 + std::exp(-x[0]));
  case ScalarOp::GeluErf:
    return x[0] / 2 * std::erfc(-x[0] / std::sqrt(W(2)));
  case ScalarOp::GeluTanh: {
    W slope = 2 * std::sqrt(2 / std::acos(W(-1)));
    return x[0] / (1 + std::exp(-slope * (x[0] + W(0.044715L) * x[0] * x[0] * x[0])));
  }
  case ScalarOp::Relu:
    return std::isnan(x[0]) ? x[0] : x[0] > 0 ? x[0] : 0;
  case ScalarOp::Sign:
    return std::isnan(x[0]) ? x[0] : W((x[0] > 0) - (x[0] < 0));
  case ScalarOp::FMod:
    return std::fmod(x[0], x[1]);
  case ScalarOp::Remainder: {
    W r = std::fmod(x[0], x[1]);
    return r != 0 && (r < 0) != (x[1] < 0) ? r + x[1] : r;
  }
  case ScalarOp::FloorDiv: {
    // From the remainder: x / y may round up to an integer.
    if (x[1] == 0)
      return x[0] / x[1];
    if (std::isinf(x[0]))
      return std::numeric_limits<W>::quiet_NaN();
    W r = std::fmod(x[0], x[1]);
    W q = std::nearbyint((x[0] - r) / x[1]);
    return r != 0 && (r < 0) != (x[1] < 0) ? q - 1 : q;
  }
  case ScalarOp::IsNan:
    return std::isnan(x[0]);
  case ScalarOp::IsInf:
    return std::isinf(x[0]);
  case ScalarOp::IsFinite:
    return std::isfinite(x[0]);
  default:
    ADD_FAILURE() << "no reference for " << scalarOpInfo(op).name;
    return 0;
  }
}

/// The distance of adjacent numbers of type T at `x`.
template <typename T, typename W> W ulp(W x) {
  int exponent;
  if (x == 0 || !std::isfinite(x))
    return std::numeric_limits<T>::denorm_min();
  std::frexp(x, &exponent);
  W smallest = std::numeric_limits<T>::denorm_min();
  return std::max(std::ldexp(W(1), exponent - std::numeric_limits<T>::digits), smallest);
}

/// Error in ulp; 0 for equal special values, infinite for a wrong one.
template <typename T, typename W> double ulpError(T computed, W exact, W scale) {
  if (std::isnan(exact) || std::isnan(computed))
    return std::isnan(exact) && std::isnan(computed) ? 0 : HUGE_VAL;
  if (std::isinf(computed) || std::isinf(exact) || std::isinf(T(exact))) {
    if (computed == T(exact))
      return 0;
    // At the overflow threshold either neighbour is within an ulp.
    W limit = std::numeric_limits<T>::max();
    if (std::fabs(exact) < limit * (1 + 4 * std::numeric_limits<T>::epsilon()) &&
        std::fabs(exact) > limit * (1 - 4 * std::numeric_limits<T>::epsilon()))
      return 1;
    return HUGE_VAL;
  }
  return double(std::fabs(W(computed) - exact) / std::max(ulp<T>(exact), scale));
}

template <typename T> T fromBits(uint64_t bits) {
  T x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

template <typename T> std::vector<T> specials() {
  using L = std::numeric_limits<T>;
  std::vector<T> values;
  for (T x : {T(0), T(1), T(0.5), T(2), T(3), T(10), L::min(), L::denorm_min(), L::max(),
              L::infinity(), L::epsilon(), T(88.72284), T(709.782712893384), T(0.7071067811865476),
              T(1e5), T(1.5707963)})
    for (T sign : {T(1), T(-1)})
      values.push_back(sign * x);
  values.push_back(L::quiet_NaN());
  return values;
}

size_t sampleCount() {
  const char *text = std::getenv("TESSERA_ULP_SAMPLES");
  return text ? std::strtoull(text, nullptr, 10) : 40000;
}

/// Operands: specials (all pairs), bit patterns of the whole range, and a dense part.
template <typename T> std::vector<std::vector<T>> samples(const Case &test, unsigned arity) {
  std::vector<std::vector<T>> x(arity);
  std::vector<T> special = specials<T>();
  for (T a : special)
    for (T b : arity == 2 ? special : std::vector<T>{0}) {
      x[0].push_back(a);
      if (arity == 2)
        x[1].push_back(b);
    }
  std::mt19937_64 random(1234 + unsigned(test.op));
  std::uniform_real_distribution<double> dense(test.low, test.high);
  size_t count = sampleCount();
  for (size_t i = 0; i < count; ++i) {
    for (unsigned k = 0; k < arity; ++k) {
      bool anywhere = (i + (i >> 1)) % 2;
      x[k].push_back(anywhere ? fromBits<T>(random() >> (64 - 8 * sizeof(T))) : T(dense(random)));
    }
  }
  return x;
}

const Case kCases[] = {
    {ScalarOp::Exp, -110, 95, 1.5, 1.5},
    {ScalarOp::Exp2, -155, 130, 1.5, 1.5},
    {ScalarOp::Expm1, -3, 3, 4, 4},
    {ScalarOp::Log, 0, 4, 1.5, 1.5},
    {ScalarOp::Log2, 0, 4, 2, 2},
    {ScalarOp::Log1p, -1, 3, 4, 4},
    {ScalarOp::Rsqrt, 0, 4, 4, 4},
    {ScalarOp::Reciprocal, -4, 4, 0.5, 0.502},
    {ScalarOp::Square, -4, 4, 0.5, 0.502},
    {ScalarOp::Sin, -100, 100, 4, 4},
    {ScalarOp::Cos, -100, 100, 4, 4},
    {ScalarOp::Tan, -100, 100, 4, 4},
    {ScalarOp::Asin, -1, 1, 4, 4},
    {ScalarOp::Acos, -1, 1, 4, 4},
    {ScalarOp::Atan, -4, 4, 4, 4},
    {ScalarOp::Atan2, -4, 4, 4, 4},
    {ScalarOp::Sinh, -5, 5, 4, 4},
    {ScalarOp::Cosh, -5, 5, 4, 4},
    {ScalarOp::Tanh, -10, 10, 4, 4},
    {ScalarOp::Erf, -5, 5, 4, 4},
    {ScalarOp::Erfc, -5, 27, 4, 4},
    {ScalarOp::Pow, 0, 30, 4, 4},
    {ScalarOp::Sigmoid, -20, 20, 4, 4},
    {ScalarOp::Silu, -20, 20, 4, 4, -80},
    {ScalarOp::GeluErf, -6, 6, 4, 4, -HUGE_VAL, HUGE_VAL, true},
    {ScalarOp::GeluTanh, -6, 6, 4, 4, -HUGE_VAL, HUGE_VAL, true},
    {ScalarOp::FMod, -1000, 1000, 0, 0},
    {ScalarOp::Remainder, -1000, 1000, 1, 1},
    {ScalarOp::FloorDiv, -1000, 1000, 0.5, 0.502},
    {ScalarOp::Relu, -4, 4, 0, 0},
    {ScalarOp::Sign, -4, 4, 0, 0},
    {ScalarOp::IsNan, -4, 4, 0, 0},
    {ScalarOp::IsInf, -4, 4, 0, 0},
    {ScalarOp::IsFinite, -4, 4, 0, 0},
};

class ExpandMath : public testing::TestWithParam<Case> {
protected:
  ExpandMath() { context.loadDialect<tile::TileDialect, func::FuncDialect>(); }

  template <typename T> void measure(const Case &test, Type type, double bound) {
    using W = Reference<T>;
    unsigned arity = scalarOpInfo(test.op).arity;
    ExpandedMap expanded(context, test.op, type);
    std::vector<std::vector<T>> x = samples<T>(test, arity);
    std::vector<Lanes> inputs(arity);
    for (unsigned k = 0; k < arity; ++k)
      lanesOf<T>(inputs[k]) = x[k];
    size_t n = x[0].size();
    Lanes result = expanded.run(inputs, n);
    bool isTest = scalarOpInfo(test.op).rule == TypeRule::Test;

    double worst = -1;
    size_t at = 0, compared = 0;
    for (size_t i = 0; i < n; ++i) {
      if (std::isfinite(x[0][i]) && !(x[0][i] >= test.from && x[0][i] <= test.to))
        continue;
      W wide[2] = {x[0][i], arity == 2 ? W(x[1][i]) : W(0)};
      if (test.op == ScalarOp::FloorDiv &&
          std::fabs(wide[0] / wide[1]) > (sizeof(T) == 4 ? 0x1p44 : 0x1p100))
        continue; // a rounded quotient does not determine its last digit
      W exact = exactValue<W>(test.op, wide);
      T computed = isTest ? T(result.integer[i]) : lanesOf<T>(result)[i];
      W scale = test.relativeToArgument && std::isfinite(wide[0]) ? ulp<T>(wide[0]) : W(0);
      double error = ulpError<T, W>(computed, exact, scale);
      ++compared;
      if (error > worst) {
        worst = error;
        at = i;
      }
    }
    EXPECT_GE(compared, 100u);
    StringRef name(scalarOpInfo(test.op).name.data(), scalarOpInfo(test.op).name.size());
    T computed = isTest ? T(result.integer[at]) : lanesOf<T>(result)[at];
    EXPECT_LE(worst, bound) << name.str() << " of " << (sizeof(T) == 4 ? "f32" : "f64") << " at "
                            << x[0][at] << (arity == 2 ? ", " : "")
                            << (arity == 2 ? std::to_string(x[1][at]) : "") << " gives "
                            << computed;
    if (std::getenv("TESSERA_ULP_TABLE"))
      std::printf("| %-10s | %s | %7.3f | %3u |  at %.9g\n", name.str().c_str(),
                  sizeof(T) == 4 ? "f32" : "f64", worst, expanded.numOps(), double(x[0][at]));
  }

  MLIRContext context;
};

TEST_P(ExpandMath, F32) {
  measure<float>(GetParam(), Float32Type::get(&context), GetParam().boundF32);
}
TEST_P(ExpandMath, F64) {
  measure<double>(GetParam(), Float64Type::get(&context), GetParam().boundF64);
}

/// A `fast` power is accurate to 2.1 units, 0 below 2^-125.5, and keeps any NaN.
TEST(ExpandMathFast, Weight) {
  MLIRContext context;
  context.loadDialect<tile::TileDialect, func::FuncDialect>();
  ExpandedMap expanded(context, ScalarOp::Exp2, Float32Type::get(&context), /*fast=*/true);
  Case test{ScalarOp::Exp2, -140, 130, 2.1, 0};
  std::vector<Lanes> inputs(1);
  std::vector<float> &x = inputs[0].f32 = samples<float>(test, 1)[0];
  for (uint32_t bits : {0x7fffffffu, 0xffffffffu, 0x7fc00001u, 0xffc00100u})
    x.push_back(fromBits<float>(bits));
  std::vector<float> result = expanded.run(inputs, x.size()).f32;
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] < -125.5)
      EXPECT_EQ(result[i], 0) << "at " << x[i];
    else
      worst = std::max(worst, ulpError<float, double>(result[i], std::exp2(double(x[i])), 0));
  }
  EXPECT_LE(worst, test.boundF32);
}

TEST(ExpandMathInteger, Philox) {
  MLIRContext context;
  context.loadDialect<tile::TileDialect, func::FuncDialect>();
  Type i64 = IntegerType::get(&context, 64);
  ExpandedMap expanded(context, ScalarOp::Philox, i64), upper(context, ScalarOp::PhiloxUpper, i64);
  std::mt19937_64 random(7);
  std::vector<Lanes> inputs(3);
  for (int64_t number : {int64_t(0), int64_t(-1)})
    for (Lanes &input : inputs)
      input.integer.push_back(number);
  while (inputs[0].integer.size() < 1000)
    for (Lanes &input : inputs)
      input.integer.push_back(int64_t(random()));
  Lanes result = expanded.run(inputs, 1000), others = upper.run(inputs, 1000);
  for (size_t i = 0; i < 1000; ++i) {
    int64_t x[] = {inputs[0].integer[i], inputs[1].integer[i], inputs[2].integer[i]};
    EXPECT_EQ(result.integer[i], evaluateInteger(ScalarOp::Philox, x, {64, true}));
    EXPECT_EQ(others.integer[i], evaluateInteger(ScalarOp::PhiloxUpper, x, {64, true}));
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, ExpandMath, testing::ValuesIn(kCases), [](const auto &info) {
  return std::string(scalarOpInfo(info.param.op).name);
});

} // namespace
