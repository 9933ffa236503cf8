//===- ReferenceTest.cpp - Values, bounds and uncertainty -----------------===//
#include "Programs.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <random>

using namespace tessera;
using namespace tessera::reference;
using namespace tessera::test;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();
const double u = std::ldexp(1, -24);

FloatArgument vector(std::vector<float> data) {
  int64_t size = data.size();
  return FloatArgument({size}, std::move(data));
}

TEST(Reference, ElementwiseBoundIsOneRounding) {
  Result r =
      Program(elementwise("add", 2)).run({vector({1, 0.1f, 3}), vector({2, 0.2f, 1e-9f})})[0];
  EXPECT_EQ(r.values[0], 3);
  EXPECT_EQ(r.bounds[0], 0); // exact
  EXPECT_EQ(r.values[1], double(0.1f) + double(0.2f));
  EXPECT_NEAR(r.bounds[1], u * r.values[1], 1e-20);
  EXPECT_GT(r.bounds[2], 0);
}

TEST(Reference, PerturbationByTwiceTheBoundIsSeen) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(64);
  for (float &v : x)
    v = normal(random);
  Program program(
      "func.func @f(%x: !gir.tensor<B, S, f32>) -> !gir.tensor<B, S, f32> {"
      "%0 = gir.softmax %x dim 1 : !gir.tensor<B, S, f32> return %0 : !gir.tensor<B, S, f32> }");
  Result expected = program.run({FloatArgument({4, 16}, x)})[0];
  FloatArgument computed({4, 16},
                         std::vector<float>(expected.values.begin(), expected.values.end()));
  EXPECT_TRUE(compare(expected, computed).ok());
  EXPECT_EQ(compare(expected, computed).checked, 64);
  for (int64_t i = 0; i < 64; ++i) {
    FloatArgument changed = computed;
    changed.data[i] += 2 * expected.bounds[i];
    Comparison comparison = compare(expected, changed);
    EXPECT_EQ(comparison.wrong, 1) << i;
    EXPECT_EQ(comparison.firstWrong, i);
  }
}

TEST(Reference, SoftmaxOfMaskedRows) {
  std::vector<float> x = {-inf, -inf, 1, -inf};
  for (bool safe : {false, true}) {
    Program program("func.func @f(%x: !gir.tensor<2, 2, f32>) -> !gir.tensor<2, 2, f32> { %0 = "
                    "gir.softmax %x dim 1 " +
                    std::string(safe ? "safe" : "") +
                    " : !gir.tensor<2, 2, f32> return %0 : !gir.tensor<2, 2, f32> }");
    Result r = program.run({FloatArgument({2, 2}, x)})[0];
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_FALSE(r.uncertain[i]);
    EXPECT_EQ(std::isnan(r.values[0]), !safe);
    if (safe)
      EXPECT_EQ(r.values[0], 0);
    EXPECT_EQ(r.values[2], 1);
    EXPECT_EQ(r.values[3], 0);
  }
}

TEST(Reference, LogSumExpOfInfinities) {
  Program program(
      "func.func @f(%x: !gir.tensor<4, 2, f32>) -> !gir.tensor<4, f32> { %0 = gir.logsumexp %x "
      "dims [1] : "
      "!gir.tensor<4, 2, f32> -> !gir.tensor<4, f32> return %0 : !gir.tensor<4, f32> }");
  Result r = program.run({FloatArgument({4, 2}, {-inf, -inf, inf, 1, nan, 1, 1000, 1000})})[0];
  EXPECT_EQ(r.values[0], -inf);
  EXPECT_EQ(r.values[1], inf);
  EXPECT_TRUE(std::isnan(r.values[2]));
  EXPECT_NEAR(r.values[3], 1000 + std::log(2), 1e-12);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_FALSE(r.uncertain[i]);
}

TEST(Reference, StatisticsOfFewElements) {
  Program program(
      "func.func @f(%x: !gir.tensor<N, f32>) -> (!gir.tensor<f32>, !gir.tensor<f32>, "
      "!gir.tensor<f32>) {"
      "%0 = gir.mean %x dims [0] : !gir.tensor<N, f32> -> !gir.tensor<f32>"
      "%1 = gir.var %x dims [0] correction 1.0 : !gir.tensor<N, f32> -> !gir.tensor<f32>"
      "%2 = gir.var %x dims [0] correction 0.0 : !gir.tensor<N, f32> -> !gir.tensor<f32>"
      "return %0, %1, %2 : !gir.tensor<f32>, !gir.tensor<f32>, !gir.tensor<f32> }");
  auto four = program.run({vector({1, 2, 3, 4})});
  EXPECT_NEAR(four[0].values[0], 2.5, 1e-15);
  EXPECT_NEAR(four[1].values[0], 5.0 / 3, 1e-15);
  EXPECT_NEAR(four[2].values[0], 1.25, 1e-15);
  auto one = program.run({vector({7})});
  EXPECT_TRUE(std::isnan(one[1].values[0]));
  EXPECT_EQ(one[2].values[0], 0);
  auto none = program.run({vector({})});
  EXPECT_TRUE(std::isnan(none[0].values[0]));
}

TEST(Reference, ComparisonsNearEqualityAreUncertain) {
  Program program(
      "func.func @f(%x: !gir.tensor<N, f32>, %y: !gir.tensor<N, f32>) -> !gir.tensor<N, i1> {"
      "%0 = gir.map mul(%x, %x) : (!gir.tensor<N, f32>, !gir.tensor<N, f32>) -> !gir.tensor<N, f32>"
      "%1 = gir.map lt(%0, %y) : (!gir.tensor<N, f32>, !gir.tensor<N, f32>) -> !gir.tensor<N, i1>"
      "return %1 : !gir.tensor<N, i1> }");
  float third = 1.0f / 3;
  Result r = program.run({vector({third, third, 2, nan}), vector({third * third, 0.2f, 4, 1})})[0];
  EXPECT_TRUE(r.uncertain[0]);
  EXPECT_FALSE(r.uncertain[1]);
  EXPECT_EQ(r.integers[1], 1);
  EXPECT_FALSE(r.uncertain[2]); // 2 * 2 is exact
  EXPECT_EQ(r.integers[2], 0);
  EXPECT_FALSE(r.uncertain[3]);
  EXPECT_EQ(r.integers[3], 0);
}

TEST(Reference, UncertainChoices) {
  // where(x * x < y, a, b) is certain if both sides agree.
  Program program(
      "func.func @f(%x: !gir.tensor<N, f32>, %y: !gir.tensor<N, f32>, %a: !gir.tensor<N, f32>, %b: "
      "!gir.tensor<N, f32>) -> "
      "!gir.tensor<N, f32> { %0 = gir.map square(%x) : (!gir.tensor<N, f32>) -> !gir.tensor<N, f32>"
      "%1 = gir.map lt(%0, %y) : (!gir.tensor<N, f32>, !gir.tensor<N, f32>) -> !gir.tensor<N, i1>"
      "%2 = gir.map where(%1, %a, %b) : (!gir.tensor<N, i1>, !gir.tensor<N, f32>, !gir.tensor<N, "
      "f32>) -> !gir.tensor<N, f32>"
      "return %2 : !gir.tensor<N, f32> }");
  float x = 1.0f / 3, y = x * x;
  Result r =
      program.run({vector({x, x, x}), vector({y, y, y}), vector({5, 5, 6}), vector({5, 6, 5})})[0];
  EXPECT_FALSE(r.uncertain[0]);
  EXPECT_EQ(r.values[0], 5);
  // The value is that of the condition in float64.
  bool isLess = double(x) * double(x) < double(y);
  EXPECT_TRUE(r.uncertain[1]);
  EXPECT_EQ(r.values[1], isLess ? 5 : 6);
  EXPECT_TRUE(r.uncertain[2]);
  EXPECT_EQ(r.values[2], isLess ? 6 : 5);
}

TEST(Reference, StepsAndPoles) {
  Program floor(
      "func.func @f(%x: !gir.tensor<N, f32>) -> (!gir.tensor<N, f32>, !gir.tensor<N, f32>) {"
      "%0 = gir.map exp(%x) : (!gir.tensor<N, f32>) -> !gir.tensor<N, f32>"
      "%1 = gir.map floor(%0) : (!gir.tensor<N, f32>) -> !gir.tensor<N, f32>"
      "%2 = gir.map sub(%0, %0) : (!gir.tensor<N, f32>, !gir.tensor<N, f32>) -> !gir.tensor<N, f32>"
      "%3 = gir.map reciprocal(%2) : (!gir.tensor<N, f32>) -> !gir.tensor<N, f32>"
      "return %1, %3 : !gir.tensor<N, f32>, !gir.tensor<N, f32> }");
  auto r = floor.run({vector({0, 1})});
  EXPECT_TRUE(r[0].uncertain[0]); // exp(0) is 1 up to its error
  EXPECT_FALSE(r[0].uncertain[1]);
  EXPECT_EQ(r[0].values[1], 2);
  EXPECT_EQ(r[0].bounds[1], 0);
  EXPECT_TRUE(r[1].uncertain[0]); // 1 / (0 +- e)
}

TEST(Reference, OverflowIsUncertain) {
  Result r = Program(elementwise("exp", 1)).run({vector({100, 80, -200, -inf, inf})})[0];
  EXPECT_TRUE(r.uncertain[0]);
  EXPECT_FALSE(r.uncertain[1]);
  EXPECT_FALSE(r.uncertain[2]);
  EXPECT_GT(r.bounds[2], 0);
  EXPECT_EQ(r.values[3], 0);
  EXPECT_EQ(r.bounds[3], 0);
  EXPECT_EQ(r.values[4], inf);
  EXPECT_FALSE(r.uncertain[4]);
}

TEST(Reference, MaskedElementsNeedNotPropagate) {
  Program program("func.func @f(%x: !gir.tensor<1, K, f32>, %y: !gir.tensor<K, 3, f32>) -> "
                  "!gir.tensor<1, 3, f32> {"
                  "%0 = gir.contract %x, %y batch [] x [] over [1] x [0] : (!gir.tensor<1, K, "
                  "f32>, !gir.tensor<K, 3, f32>) "
                  "-> !gir.tensor<1, 3, f32> return %0 : !gir.tensor<1, 3, f32> }");
  Result r = program.run(
      {FloatArgument({1, 2}, {0, 1}), FloatArgument({2, 3}, {nan, 5, 5, 1, nan, inf})})[0];
  EXPECT_TRUE(r.uncertain[0]);
  EXPECT_FALSE(r.uncertain[1]);
  EXPECT_TRUE(std::isnan(r.values[1]));
  EXPECT_FALSE(r.uncertain[2]);
  EXPECT_EQ(r.values[2], inf);
}

TEST(Reference, SubnormalFactorsOfBf16MayBeZero) {
  Program program("func.func @f(%x: !gir.tensor<2, 1, bf16>, %y: !gir.tensor<1, 1, bf16>) -> "
                  "!gir.tensor<2, 1, bf16> {"
                  "%0 = gir.contract %x, %y batch [] x [] over [1] x [0] : (!gir.tensor<2, 1, "
                  "bf16>, !gir.tensor<1, 1, bf16>) "
                  "-> !gir.tensor<2, 1, bf16> return %0 : !gir.tensor<2, 1, bf16> }");
  uint16_t x[] = {0x0040, 0x0080}, y[] = {0x49C0}; // 2^-127, 2^-126; 1.5 * 2^20
  Result r = program.run(
      {HostTensor{DType::BF16, {2, 1}, {1, 1}, x}, HostTensor{DType::BF16, {1, 1}, {1, 1}, y}})[0];
  EXPECT_EQ(r.values[0], std::ldexp(1.5, -107));
  EXPECT_GE(r.bounds[0], r.values[0]);
  EXPECT_LT(r.bounds[0], 1.1 * r.values[0]);
  EXPECT_EQ(r.values[1], std::ldexp(1.5, -106));
  EXPECT_LT(r.bounds[1], 0.01 * r.values[1]);
}

TEST(Reference, CastsRoundWhereTheUserSaysSo) {
  for (bool isExplicit : {false, true}) {
    Program program(
        "func.func @f(%x: !gir.tensor<N, f32>) -> !gir.tensor<N, bf16> { %0 = gir.cast %x " +
        std::string(isExplicit ? "explicit" : "") +
        " : !gir.tensor<N, f32> -> !gir.tensor<N, bf16> return %0 : !gir.tensor<N, bf16> }");
    Result r = program.run({vector({1.001f, 1.5f})})[0];
    EXPECT_EQ(r.values[0], isExplicit ? 1.0 : double(1.001f));
    EXPECT_EQ(r.bounds[0] > 0, !isExplicit);
    EXPECT_EQ(r.bounds[1], 0);
  }
}

TEST(Reference, IntegersWrapAndBoolsDecide) {
  Program program("func.func @f(%x: !gir.tensor<N, f32>) -> (!gir.tensor<i8>, !gir.tensor<i1>, "
                  "!gir.tensor<N, i32>) {"
                  "%0 = gir.cast %x : !gir.tensor<N, f32> -> !gir.tensor<N, i8>"
                  "%1 = gir.reduce sum %0 dims [0] : !gir.tensor<N, i8> -> !gir.tensor<i8>"
                  "%2 = gir.cast %x : !gir.tensor<N, f32> -> !gir.tensor<N, i1>"
                  "%3 = gir.reduce any %2 dims [0] : !gir.tensor<N, i1> -> !gir.tensor<i1>"
                  "%4 = gir.iota 0 : !gir.tensor<N, i32>"
                  "return %1, %3, %4 : !gir.tensor<i8>, !gir.tensor<i1>, !gir.tensor<N, i32> }");
  auto r = program.run({vector({100, 100, 0})});
  EXPECT_EQ(r[0].integers[0], -56);
  EXPECT_EQ(r[1].integers[0], 1);
  EXPECT_EQ(r[2].integers, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(program.run({vector({1000})})[0].uncertain[0]); // outside int8
}

TEST(Reference, StridedArguments) {
  float data[] = {0, 1, 2, 3, 4, 5};
  HostTensor backwards{DType::FP32, {2, 3}, {-3, -1}, data + 5};
  HostTensor repeated{DType::FP32, {2, 3}, {0, 2}, data};
  Program program("func.func @f(%x: !gir.tensor<M, N, f32>, %y: !gir.tensor<M, N, f32>) -> "
                  "!gir.tensor<M, N, f32> {"
                  "%0 = gir.map sub(%x, %y) : (!gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>) -> "
                  "!gir.tensor<M, N, f32>"
                  "return %0 : !gir.tensor<M, N, f32> }");
  EXPECT_EQ(program.run({backwards, repeated})[0].values,
            (std::vector<double>{5, 2, -1, 2, -1, -4}));
}

TEST(Reference, HalfPrecisionArguments) {
  uint16_t half[] = {0x3C00, 0x0001, 0xFC00, 0x7E00}, bfloat[] = {0x3F80, 0xC000, 0x7F80, 0x0080};
  auto identity = [](const char *type) {
    return "func.func @f(%x: !gir.tensor<4, " + std::string(type) + ">) -> !gir.tensor<4, " + type +
           "> { return %x : !gir.tensor<4, " + type + "> }";
  };
  Result r = Program(identity("f16")).run({HostTensor{DType::FP16, {4}, {1}, half}})[0];
  EXPECT_EQ(r.values[0], 1);
  EXPECT_EQ(r.values[1], std::ldexp(1, -24));
  EXPECT_EQ(r.values[2], -inf);
  EXPECT_TRUE(std::isnan(r.values[3]));
  r = Program(identity("bf16")).run({HostTensor{DType::BF16, {4}, {1}, bfloat}})[0];
  EXPECT_EQ(r.values[1], -2);
  EXPECT_EQ(r.values[2], inf);
  EXPECT_EQ(r.values[3], std::ldexp(1, -126));
}

TEST(Reference, RoundTo) {
  EXPECT_EQ(roundTo(DType::BF16, 1 + std::ldexp(1, -8)), 1);
  EXPECT_EQ(roundTo(DType::BF16, 1 + std::ldexp(3, -8)), 1 + std::ldexp(1, -6));
  EXPECT_EQ(roundTo(DType::FP16, 65519), 65504);
  EXPECT_EQ(roundTo(DType::FP16, 65520), inf);
  EXPECT_EQ(roundTo(DType::FP16, std::ldexp(1.5, -24)), std::ldexp(1, -23));
  EXPECT_EQ(roundTo(DType::FP16, std::ldexp(1, -26)), 0);
}

TEST(Reference, BadArguments) {
  Program program(
      "func.func @f(%x: !gir.tensor<N, f32>, %y: !gir.tensor<N, f32>) -> !gir.tensor<N, f32> {"
      "return %x : !gir.tensor<N, f32> }");
  std::string message;
  mlir::ScopedDiagnosticHandler handler(
      program.context.get(), [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
  EXPECT_TRUE(mlir::failed(program.tryRun({vector({1})})));
  EXPECT_EQ(message, "expected 2 arguments, got 1");
  EXPECT_TRUE(mlir::failed(program.tryRun({vector({1}), vector({1, 2})})));
  EXPECT_EQ(message, "expected size N of argument 1, got 2");
  EXPECT_TRUE(mlir::failed(program.tryRun({vector({1}), FloatArgument({1, 1}, {1})})));
}

TEST(Reference, ContractionIsQuick) {
  constexpr int64_t n = 512;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(n * n), y(n * n);
  for (int64_t i = 0; i < n * n; ++i)
    x[i] = normal(random), y[i] = normal(random);
  Program program("func.func @f(%x: !gir.tensor<M, K, f32>, %y: !gir.tensor<K, N, f32>) -> "
                  "!gir.tensor<M, N, f32> {"
                  "%0 = gir.contract %x, %y batch [] x [] over [1] x [0] : (!gir.tensor<M, K, "
                  "f32>, !gir.tensor<K, N, f32>) "
                  "-> !gir.tensor<M, N, f32> return %0 : !gir.tensor<M, N, f32> }");
  auto start = std::chrono::steady_clock::now();
  Result r = program.run({FloatArgument({n, n}, x), FloatArgument({n, n}, y)})[0];
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("milliseconds", int(seconds * 1000));
  double sum = 0, magnitude = 0;
  for (int64_t k = 0; k < n; ++k) {
    sum += double(x[3 * n + k]) * y[k * n + 7];
    magnitude += std::fabs(double(x[3 * n + k]) * y[k * n + 7]);
  }
  EXPECT_NEAR(r.values[3 * n + 7], sum, 1e-10);
  EXPECT_NEAR(r.bounds[3 * n + 7], 2 * (n + 8) * u * magnitude, 1e-9);
  EXPECT_LT(seconds,
            5); // far above the expected time, far below that of a careless loop on a busy machine
}

} // namespace
