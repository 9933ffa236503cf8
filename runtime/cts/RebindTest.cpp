//===- RebindTest.cpp - Repeated calls ------------------------------------===//

#include "Programs.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace tessera::rt;
using namespace tessera::rt::test;

namespace {

struct Rebind : testing::Test {
  tessera_rt_module *module = load(axpy(), {{"copy", copyKernel, 0}, {"scale", scaleKernel, 0}});
  const tessera_rt_function *function = tessera_rt_find_function(module, "f", 0);
  tessera_rt_frame *frame = nullptr;
  float x[16], y[16], out[16];

  void SetUp() override {
    for (int i = 0; i < 16; ++i) {
      x[i] = static_cast<float>(i);
      y[i] = 100;
    }
    Vector vector = {16, 1};
    tessera_rt_value args[] = {vector.value(x), vector.value(y), scalar(2)};
    ASSERT_EQ(tessera_rt_prepare(function, args, 3, &frame), TESSERA_RT_OK);
  }
  void TearDown() override {
    tessera_rt_frame_release(frame);
    tessera_rt_module_release(module);
  }
};

TEST_F(Rebind, OtherAddressesAndFloats) {
  Vector vector = {16, 1};
  tessera_rt_value args[] = {vector.value(y), vector.value(x), scalar(0.5)};
  ASSERT_EQ(tessera_rt_rebind(frame, args, 3), TESSERA_RT_OK);
  void *results[] = {out};
  ASSERT_EQ(tessera_rt_execute(frame, results), TESSERA_RT_OK);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(out[i], 50 + static_cast<float>(i));
}

TEST_F(Rebind, OtherShapesAndTypes) {
  Vector vector = {16, 1}, shorter = {15, 1}, strided = {16, 0};
  tessera_rt_value good = vector.value(x);
  for (tessera_rt_value other : {shorter.value(x), strided.value(x), scalar(1)}) {
    tessera_rt_value args[] = {good, other, scalar(2)};
    EXPECT_EQ(tessera_rt_rebind(frame, args, 3), TESSERA_RT_MISMATCH);
  }
  tessera_rt_value args[] = {good, good, scalar(2)};
  EXPECT_EQ(tessera_rt_rebind(frame, args, 2), TESSERA_RT_MISMATCH);
  args[1].as.tensor.dtype = TESSERA_RT_INT32;
  EXPECT_EQ(tessera_rt_rebind(frame, args, 3), TESSERA_RT_MISMATCH);
  args[1] = good;
  args[1].as.tensor.device = TESSERA_RT_DEVICE_CUDA(0);
  EXPECT_EQ(tessera_rt_rebind(frame, args, 3), TESSERA_RT_MISMATCH);
  args[1] = good;
  EXPECT_EQ(tessera_rt_rebind(frame, args, 3), TESSERA_RT_OK);
}

void nothingKernel(const int64_t *, int64_t, int64_t, const tessera_rt_kernel_env *) {}

/// A function of one vector whose derived slot is its address modulo 16.
Program aligned() {
  Program program;
  program.arguments = {{Argument::Tensor, "x", DType::FP32, 1}};
  program.kernels = {"k"};
  program.slots = {
      {Slot::ArgAddress, 0, 0, {}},
      {Slot::Derived, 0, 0, Expr::binary(ExprOp::Mod, Expr::slot(0), Expr::constant(16))},
      {Slot::ArgSize, 0, 0, {}}};
  program.guards = {{Guard::Specialisation,
                     Expr::binary(ExprOp::Eq, Expr::slot(1), Expr::constant(0)),
                     "not aligned",
                     {}}};
  Step step;
  step.grid = {Expr::slot(2)};
  program.steps = {step};
  return program;
}

TEST(RebindAddress, GuardsOfAddressesAreCheckedAgain) {
  tessera_rt_module *module = load(aligned(), {{"k", nothingKernel, 0}});
  const tessera_rt_function *function = tessera_rt_find_function(module, "f", 0);
  alignas(16) float data[8];
  Vector vector = {4, 1};
  tessera_rt_value good[] = {vector.value(data)}, bad[] = {vector.value(data + 1)};
  tessera_rt_frame *frame = nullptr;
  ASSERT_EQ(tessera_rt_prepare(function, good, 1, &frame), TESSERA_RT_OK);
  EXPECT_EQ(tessera_rt_rebind(frame, bad, 1), TESSERA_RT_MISMATCH);
  good[0] = vector.value(data + 4);
  EXPECT_EQ(tessera_rt_rebind(frame, good, 1), TESSERA_RT_OK);
  tessera_rt_frame_release(frame);
  tessera_rt_module_release(module);
}

/// The last element of a call's result with this vector and zeros.
float lastOf(const tessera_rt_function *function, float *data, int64_t size, float factor) {
  float sum[16] = {}, zeros[16] = {};
  Vector vector = {size, 1};
  tessera_rt_value args[] = {vector.value(data), vector.value(zeros), scalar(factor)};
  tessera_rt_frame *frame = nullptr;
  EXPECT_EQ(tessera_rt_prepare(function, args, 3, &frame), TESSERA_RT_OK);
  tessera_rt_tensor shape = {};
  EXPECT_EQ(tessera_rt_frame_result(frame, 0, &shape), TESSERA_RT_OK);
  EXPECT_EQ(shape.sizes[0], size);
  void *results[] = {sum};
  EXPECT_EQ(tessera_rt_execute(frame, results), TESSERA_RT_OK);
  tessera_rt_frame_release(frame);
  return sum[size - 1];
}

TEST_F(Rebind, ReleasedFramesServeTheNextCall) {
  // The same shapes, others, and the same again.
  for (int64_t size : {16, 16, 8, 16, 2, 2}) {
    EXPECT_EQ(lastOf(function, x, size, 3), 3 * static_cast<float>(size - 1));
    EXPECT_EQ(lastOf(function, y, size, 2), 200);
  }
  // A rejected call leaves no state that would let a later one pass.
  Vector vector = {16, 1}, shorter = {15, 1};
  for (int repeat = 0; repeat < 3; ++repeat) {
    tessera_rt_value args[] = {vector.value(x), shorter.value(y), scalar(2)};
    tessera_rt_frame *refused = nullptr;
    EXPECT_NE(tessera_rt_prepare(function, args, 3, &refused), TESSERA_RT_OK);
  }
  EXPECT_EQ(lastOf(function, x, 16, 1), 15);
}

TEST_F(Rebind, FramesOutliveTheirFunctions) {
  // More modules than a thread keeps frames; a new function may have the address of an old one.
  for (int i = 0; i < 40; ++i) {
    tessera_rt_module *other = load(axpy(), {{"copy", copyKernel, 0}, {"scale", scaleKernel, 0}});
    const tessera_rt_function *same = tessera_rt_find_function(other, "f", 0);
    EXPECT_EQ(lastOf(same, x, 16, 1), 15);
    Vector vector = {16, 1};
    tessera_rt_value args[] = {vector.value(x), vector.value(y), scalar(2)};
    tessera_rt_frame *late = nullptr;
    ASSERT_EQ(tessera_rt_prepare(same, args, 3, &late), TESSERA_RT_OK);
    tessera_rt_module_release(other);
    tessera_rt_frame_release(late);
  }
}

TEST_F(Rebind, ThreadsKeepTheirOwnFrames) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i)
        EXPECT_EQ(lastOf(function, x, 2 + (i + t) % 15, 1), static_cast<float>(1 + (i + t) % 15));
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Programs in which more than a guard depends on an address.
void expectNoRebinding(const Program &program) {
  tessera_rt_module *module = load(program, {{"k", nothingKernel, 0}});
  const tessera_rt_function *function = tessera_rt_find_function(module, "f", 0);
  alignas(16) float data[4];
  Vector vector{4, 1};
  tessera_rt_value args[] = {vector.value(data)};
  tessera_rt_frame *frame = nullptr;
  ASSERT_EQ(tessera_rt_prepare(function, args, 1, &frame), TESSERA_RT_OK);
  EXPECT_EQ(tessera_rt_rebind(frame, args, 1), TESSERA_RT_MISMATCH);
  tessera_rt_frame_release(frame);
  tessera_rt_module_release(module);
}

TEST(RebindAddress, WhatElseDependsOnAnAddressIsFoundAnew) {
  Program program = aligned();
  program.steps[0].grid = {Expr::slot(1)};
  expectNoRebinding(program);
  program = aligned();
  Word word;
  word.expr = Expr::slot(0);
  program.steps[0].words = {word};
  expectNoRebinding(program);
}

} // namespace
