//===- GuardTest.cpp - Guards that are ranges of one slot -----------------===//

#include "Plan.h"

#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {

constexpr int64_t least = std::numeric_limits<int64_t>::min();
constexpr int64_t most = std::numeric_limits<int64_t>::max();

Expr number(int64_t value) { return Expr::constant(value); }
Expr slot() { return Expr::slot(0); }

Plan planOf(const Expr &condition) {
  Program program;
  program.arguments = {{Argument::Tensor, "x", DType::FP32, 1}};
  program.slots = {{Slot::ArgSize, 0, 0, {}}};
  program.guards = {{Guard::Specialisation, condition, "no", {}}};
  return Plan(std::move(program));
}

/// A range guard agrees with the expression, unless that overflows.
void expectSame(const Expr &condition, bool isRange) {
  Plan plan = planOf(condition);
  ASSERT_EQ(plan.guards[0].range.has_value(), isRange) << plan.guards[0].condition.count;
  for (int64_t value : {least, int64_t(-65), int64_t(-64), int64_t(-1), int64_t(0), int64_t(1),
                        int64_t(2), int64_t(63), int64_t(64), int64_t(65), int64_t(128), most}) {
    bool overflow = false;
    bool expected = plan.evaluate(plan.guards[0].condition, &value, overflow) != 0;
    if (!overflow)
      EXPECT_EQ(plan.holds(plan.guards[0], &value, overflow), expected) << value;
  }
}

TEST(Guards, Ranges) {
  for (ExprOp op : {ExprOp::Eq, ExprOp::Le, ExprOp::Ge}) {
    expectSame(Expr::binary(op, slot(), number(64)), true);
    expectSame(Expr::binary(op, slot(), number(least)), true);
    expectSame(Expr::binary(op, Expr::binary(ExprOp::Sub, slot(), number(64)), number(0)), true);
    expectSame(Expr::binary(op, Expr::binary(ExprOp::Add, number(-64), slot()), number(0)), true);
    expectSame(Expr::binary(op, Expr::binary(ExprOp::Mod, slot(), number(16)), number(0)), true);
    expectSame(Expr::binary(op, Expr::binary(ExprOp::Mod, slot(), number(16)), number(5)), true);
  }
}

TEST(Guards, OtherConditions) {
  expectSame(Expr::binary(ExprOp::Ne, slot(), number(64)), false);
  expectSame(Expr::binary(ExprOp::Eq, number(64), slot()), false);
  expectSame(Expr::binary(ExprOp::Eq, slot(), slot()), false);
  expectSame(Expr::binary(ExprOp::Eq, Expr::binary(ExprOp::Mod, slot(), number(12)), number(0)),
             false);
  expectSame(Expr::binary(ExprOp::Eq, Expr::binary(ExprOp::Mul, slot(), number(2)), number(128)),
             false);
  Expr shifted = Expr::binary(ExprOp::Add, slot(), number(8));
  expectSame(Expr::binary(ExprOp::Eq, Expr::binary(ExprOp::Mod, shifted, number(16)), number(0)),
             false);
  // Conditions that would overflow stay expressions.
  expectSame(Expr::binary(ExprOp::Le, Expr::binary(ExprOp::Add, slot(), number(least)), number(1)),
             false);
}

} // namespace
