//===- CheckTest.cpp - Kernels whose checks fail --------------------------===//

#include "Plan.h"
#include "Programs.h"

#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {

/// Fails at every grid task from args[0] on, with the task's index times ten.
void checkKernel(const int64_t *args, int64_t begin, int64_t end,
                 const tessera_rt_kernel_env *env) {
  for (int64_t program = begin; program < end; ++program)
    if (program >= args[0] && program < env->failure->program)
      *env->failure = {program, program % 2, 10 * program};
}

/// A launch over as many grid tasks as the second argument.
Program checked() {
  Program program = test::launchOnly(2, {Expr::slot(1)});
  program.steps[0].checks = {
      {Check::Index,
       "index {0} is out of range for size {1}",
       {Expr::slot(1)},
       "  | x[i]\n  |   ^"},
      {Check::Assertion, "{0} {0} {2}", {Expr::constant(7), Expr::constant(8)}, ""}};
  return program;
}

struct CheckTest : testing::Test {
  void SetUp() override { module = test::load(checked(), {{"k", checkKernel, 0}}); }
  void TearDown() override { tessera_rt_module_release(module); }

  tessera_rt_status call(int64_t first, int64_t count) {
    tessera_rt_value args[2] = {};
    args[0].kind = args[1].kind = TESSERA_RT_INT;
    args[0].as.integer = first;
    args[1].as.integer = count;
    tessera_rt_frame *frame = nullptr;
    const tessera_rt_function *function = tessera_rt_find_function(module, "f", 0);
    EXPECT_EQ(tessera_rt_prepare(function, args, 2, &frame), TESSERA_RT_OK);
    tessera_rt_status status = tessera_rt_execute(frame, nullptr);
    tessera_rt_frame_release(frame);
    return status;
  }
  tessera_rt_module *module = nullptr;
};

} // namespace

TEST_F(CheckTest, TellsTheValueAndTheSizes) {
  EXPECT_EQ(call(4, 4), TESSERA_RT_OK);
  EXPECT_EQ(call(2, 4), TESSERA_RT_INDEX);
  EXPECT_STREQ(tessera_rt_last_error(), "index 20 is out of range for size 4\n  | x[i]\n  |   ^");
  EXPECT_EQ(call(3, 4), TESSERA_RT_ASSERTION);
  EXPECT_STREQ(tessera_rt_last_error(), "30 30 8");
  EXPECT_EQ(call(4, 4), TESSERA_RT_OK);
}

TEST_F(CheckTest, TheFirstProgramHasTheWord) {
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(call(1000, 5000), TESSERA_RT_INDEX);
    EXPECT_STREQ(tessera_rt_last_error(),
                 "index 10000 is out of range for size 5000\n  | x[i]\n  |   ^");
  }
}

TEST_F(CheckTest, ANumberThatIsNotThereIsRefused) {
  Program program = checked();
  program.steps[0].checks.resize(1);
  tessera_rt_module *before = std::exchange(module, test::load(program, {{"k", checkKernel, 0}}));
  tessera_rt_module_release(before);
  EXPECT_EQ(call(1, 4), TESSERA_RT_INVALID);
}

TEST_F(CheckTest, TravelsWithTheProgram) {
  Program program = checked(), decoded;
  std::string error;
  ASSERT_TRUE(decode(encode(program), decoded, error)) << error;
  EXPECT_EQ(toString(decoded), toString(program));
  EXPECT_NE(toString(program).find("index \"index {0} is out of range for size {1}\" (s1)"),
            std::string::npos)
      << toString(program);
  EXPECT_EQ(decoded.steps[0].checks[0].excerpt, "  | x[i]\n  |   ^");
  program.steps[0].checks[1].operands = {Expr::slot(2)};
  EXPECT_FALSE(decode(encode(program), decoded, error));
  // Programs without checks keep their format.
  program.steps[0].checks.clear();
  EXPECT_EQ(encode(program)[0], 1);
}
