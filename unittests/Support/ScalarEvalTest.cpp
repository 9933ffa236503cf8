//===- ScalarEvalTest.cpp - Evaluation of scalar operations ---------------===//
#include "tessera/Support/ScalarEval.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace tessera;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();
constexpr IntegerFormat i8{8, true}, u8{8, false}, i64{64, true}, boolean{1, false};

double f(ScalarOp op, double x, double y = 0, double z = 0) {
  double operands[] = {x, y, z};
  return evaluateFloat(op, operands);
}

int64_t i(ScalarOp op, IntegerFormat format, int64_t x, int64_t y = 0, int64_t z = 0) {
  int64_t operands[] = {x, y, z};
  return evaluateInteger(op, operands, format);
}

TEST(ScalarOps, TableIsConsistent) {
  forEachScalarOp([](const ScalarOpInfo &info) {
    EXPECT_EQ(scalarOpByName(info.name), info.op);
    EXPECT_GE(info.arity, 1u);
    EXPECT_LE(info.arity, 3u);
    EXPECT_FALSE(info.meaning.empty());
  });
  EXPECT_FALSE(scalarOpByName("frobnicate"));
  for (auto op :
       {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::Any, ReduceOp::All})
    EXPECT_EQ(reduceOpByName(reduceOpName(op)), op);
}

TEST(ScalarEval, EveryFloatOperationIsDefined) {
  forEachScalarOp([](const ScalarOpInfo &info) {
    if (info.rule == TypeRule::Integer || info.rule == TypeRule::Int64 ||
        info.rule == TypeRule::Order)
      return;
    EXPECT_FALSE(std::isnan(f(info.op, 0.5, 0.25, 2))) << info.name;
    double operands[] = {0.5, 0.25, 2};
    double units = scalarErrorUnits(info.op, operands, f(info.op, 0.5, 0.25, 2));
    EXPECT_GE(units, 0) << info.name;
    EXPECT_LE(units, 64) << info.name;
  });
}

TEST(ScalarEval, FloatDivision) {
  EXPECT_EQ(f(ScalarOp::FloorDiv, 7, 2), 3);
  EXPECT_EQ(f(ScalarOp::FloorDiv, -7, 2), -4);
  EXPECT_EQ(f(ScalarOp::FloorDiv, 1, 0), inf);
  EXPECT_EQ(f(ScalarOp::Remainder, -7, 2), 1);
  EXPECT_EQ(f(ScalarOp::Remainder, 7, -2), -1);
  EXPECT_EQ(f(ScalarOp::FMod, -7, 2), -1);
}

TEST(ScalarEval, NanPropagates) {
  for (auto op : {ScalarOp::Maximum, ScalarOp::Minimum}) {
    EXPECT_TRUE(std::isnan(f(op, nan, 1)));
    EXPECT_TRUE(std::isnan(f(op, 1, nan)));
  }
  for (auto op : {ScalarOp::Relu, ScalarOp::Sign, ScalarOp::Abs, ScalarOp::Silu, ScalarOp::Round})
    EXPECT_TRUE(std::isnan(f(op, nan)));
  EXPECT_EQ(f(ScalarOp::Maximum, -inf, 1), 1);
}

TEST(ScalarEval, Rounding) {
  EXPECT_EQ(f(ScalarOp::Round, 2.5), 2);
  EXPECT_EQ(f(ScalarOp::Round, 3.5), 4);
  EXPECT_EQ(f(ScalarOp::Round, -0.5), 0);
  EXPECT_EQ(f(ScalarOp::Trunc, -1.5), -1);
}

TEST(ScalarEval, Activations) {
  EXPECT_EQ(f(ScalarOp::Sigmoid, -1000), 0);
  EXPECT_EQ(f(ScalarOp::Sigmoid, 1000), 1);
  EXPECT_EQ(f(ScalarOp::Silu, -1000), 0);
  EXPECT_NEAR(f(ScalarOp::GeluErf, 1), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(f(ScalarOp::GeluTanh, 1), 0.8411919906082768, 1e-15);
}

TEST(ScalarEval, IntegersWrap) {
  EXPECT_EQ(i(ScalarOp::Add, i8, 127, 1), -128);
  EXPECT_EQ(i(ScalarOp::Add, u8, 255, 1), 0);
  EXPECT_EQ(i(ScalarOp::Sub, u8, 0, 1), 255);
  EXPECT_EQ(i(ScalarOp::Mul, i8, 16, 16), 0);
  EXPECT_EQ(i(ScalarOp::Neg, i8, -128), -128);
  EXPECT_EQ(i(ScalarOp::Abs, i8, -128), -128);
  EXPECT_EQ(i(ScalarOp::Not, u8, 0), 255);
  EXPECT_EQ(i(ScalarOp::Square, i64, int64_t(1) << 32), 0);
  EXPECT_EQ(i(ScalarOp::FloorDiv, i8, -128, -1), -128);
  EXPECT_EQ(i(ScalarOp::FloorDiv, i64, std::numeric_limits<int64_t>::min(), -1),
            std::numeric_limits<int64_t>::min());
}

TEST(ScalarEval, IntegerDivision) {
  EXPECT_EQ(i(ScalarOp::FloorDiv, i8, -7, 2), -4);
  EXPECT_EQ(i(ScalarOp::Remainder, i8, -7, 2), 1);
  EXPECT_EQ(i(ScalarOp::Remainder, i8, 7, -2), -1);
  EXPECT_EQ(i(ScalarOp::FMod, i8, -7, 2), -1);
  EXPECT_EQ(i(ScalarOp::FloorDiv, i8, 5, 0), 0);
  EXPECT_EQ(i(ScalarOp::Remainder, i8, 5, 0), 5);
  EXPECT_EQ(i(ScalarOp::Pow, i64, 3, 4), 81);
  EXPECT_EQ(i(ScalarOp::Pow, i64, 2, -1), 0);
  EXPECT_EQ(i(ScalarOp::Pow, i64, -1, -3), -1);
}

TEST(ScalarEval, Shifts) {
  EXPECT_EQ(i(ScalarOp::Shl, i8, 1, 7), -128);
  EXPECT_EQ(i(ScalarOp::Shl, i8, 1, 8), 0);
  EXPECT_EQ(i(ScalarOp::Shr, i8, -128, 3), -16);
  EXPECT_EQ(i(ScalarOp::Shr, i8, -1, 100), -1);
  EXPECT_EQ(i(ScalarOp::Shr, u8, 255, -1), 0);
}

TEST(ScalarEval, PhiloxKnownAnswers) {
  // The published vectors of Random123 (tests/kat_vectors, philox4x32 10): words 0 and 1, then 2
  // and 3.
  EXPECT_EQ(i(ScalarOp::Philox, i64, 0, 0, 0), int64_t(0xe169c58d6627e8d5));
  EXPECT_EQ(i(ScalarOp::Philox, i64, -1, -1, -1), int64_t(0x41c83b0e408f276d));
  EXPECT_EQ(
      i(ScalarOp::Philox, i64, int64_t(0x85a308d3243f6a88), 0x0370734413198a2e, 0x299f31d0a4093822),
      int64_t(0x94fdccebd16cfe09));
  EXPECT_EQ(i(ScalarOp::PhiloxUpper, i64, 0, 0, 0), int64_t(0x9b00dbd8bc57ac4c));
  EXPECT_EQ(i(ScalarOp::PhiloxUpper, i64, -1, -1, -1), int64_t(0x6d5451fda20bc7c6));
  EXPECT_EQ(i(ScalarOp::PhiloxUpper, i64, int64_t(0x85a308d3243f6a88), 0x0370734413198a2e,
              0x299f31d0a4093822),
            int64_t(0x24126ea15001e420));
}

TEST(ScalarEval, OrderKeys) {
  const double sorted[] = {-inf, -1e300, -2, -1, -1e-40, 0, 1e-40, 1, 1.5, 1e30, inf, nan};
  for (bool isDouble : {true, false})
    for (size_t i = 1; i < std::size(sorted); ++i)
      EXPECT_LE(orderKey(sorted[i - 1], isDouble), orderKey(sorted[i], isDouble)) << sorted[i];
  EXPECT_LT(orderKey(-1, false), orderKey(std::nextafter(-1.0f, 0.0f), false));
  EXPECT_LT(orderKey(inf, false), orderKey(-nan, false));
  EXPECT_EQ(orderKey(-0.0, true), orderKey(0.0, true));
  EXPECT_EQ(orderKey(-0.0, false), 0);
}

TEST(ScalarEval, Bools) {
  EXPECT_EQ(i(ScalarOp::Add, boolean, 1, 1), 1);
  EXPECT_EQ(i(ScalarOp::Mul, boolean, 1, 0), 0);
  EXPECT_EQ(i(ScalarOp::Not, boolean, 1), 0);
  EXPECT_EQ(i(ScalarOp::Where, boolean, 0, 1, 0), 0);
  EXPECT_EQ(i(ScalarOp::Lt, boolean, 0, 1), 1);
}

} // namespace
