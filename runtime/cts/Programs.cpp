//===- Programs.cpp - Small host programs that several tests use ----------===//

#include "Programs.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace tessera::rt::test {

static Word address(Word::Kind kind, uint32_t index) {
  Word word;
  word.kind = kind;
  word.index = index;
  return word;
}

static Word integer(Expr expr) {
  Word word;
  word.expr = std::move(expr);
  return word;
}

Program axpy() {
  Program program;
  program.arguments = {{Argument::Tensor, "x", DType::FP32, 1},
                       {Argument::Tensor, "y", DType::FP32, 1},
                       {Argument::Float, "a"}};
  Expr n = Expr::slot(0), m = Expr::slot(1);
  program.slots = {{Slot::ArgSize, 0, 0, {}},
                   {Slot::ArgSize, 1, 0, {}},
                   {Slot::ArgStride, 0, 0, {}},
                   {Slot::ArgStride, 1, 0, {}},
                   {Slot::Derived, 0, 0, Expr::binary(ExprOp::CeilDiv, n, Expr::constant(16))}};
  program.guards = {{Guard::Specialisation,
                     Expr::binary(ExprOp::Ne, n, Expr::constant(1)),
                     "size 1 is another specialisation",
                     {}},
                    {Guard::Error,
                     Expr::binary(ExprOp::Eq, n, m),
                     "argument 'y': expected size {0}, found {1}",
                     {n, m}}};
  program.results = {{DType::FP32, {n}}};
  program.temporaries = {{Expr::binary(ExprOp::Mul, n, Expr::constant(4)), 0, 1}};
  program.kernels = {"copy", "scale"};
  Word a = address(Word::Scalar, 2);
  a.dtype = DType::FP32;
  Step copy, scale;
  copy.kernel = 0;
  copy.grid = {Expr::slot(4)};
  copy.words = {address(Word::ArgAddress, 1), integer(Expr::slot(3)), integer(n),
                address(Word::TempAddress, 0)};
  scale.kernel = 1;
  scale.grid = {Expr::slot(4)};
  scale.words = {address(Word::ArgAddress, 0),  integer(Expr::slot(2)),         integer(n), a,
                 address(Word::TempAddress, 0), address(Word::ResultAddress, 0)};
  program.steps = {copy, scale};
  return program;
}

void copyKernel(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *) {
  auto *src = reinterpret_cast<const float *>(args[0]);
  auto *dst = reinterpret_cast<float *>(args[3]);
  for (int64_t i = begin * 16; i < std::min(end * 16, args[2]); ++i)
    dst[i] = src[i * args[1]];
}

void scaleKernel(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *) {
  auto *x = reinterpret_cast<const float *>(args[0]);
  auto *t = reinterpret_cast<const float *>(args[4]);
  auto *out = reinterpret_cast<float *>(args[5]);
  float a;
  std::memcpy(&a, &args[3], 4);
  for (int64_t i = begin * 16; i < std::min(end * 16, args[2]); ++i)
    out[i] = x[i * args[1]] * a + t[i];
}

tessera_rt_value Vector::value(const float *data) const {
  tessera_rt_value value = {};
  value.kind = TESSERA_RT_TENSOR;
  value.as.tensor = {
      const_cast<float *>(data), TESSERA_RT_FP32, 1, &size, &stride, TESSERA_RT_DEVICE_CPU, 0};
  return value;
}

tessera_rt_value scalar(double real) {
  tessera_rt_value value = {};
  value.kind = TESSERA_RT_FLOAT;
  value.as.real = real;
  return value;
}

Program launchOnly(unsigned intArguments, std::vector<Expr> grid, std::vector<Word> extra) {
  Program program;
  Step step;
  for (unsigned i = 0; i < intArguments; ++i) {
    program.arguments.push_back({Argument::Int, "i" + std::to_string(i)});
    program.slots.push_back({Slot::ArgInt, i, 0, {}});
    step.words.push_back(integer(Expr::slot(i)));
  }
  step.words.insert(step.words.end(), extra.begin(), extra.end());
  step.grid = std::move(grid);
  program.kernels = {"k"};
  program.steps = {step};
  return program;
}

tessera_rt_module *load(const Program &program, std::vector<tessera_rt_native_kernel> kernels) {
  std::vector<uint8_t> bytes = encode(program);
  tessera_rt_module *module = nullptr;
  EXPECT_EQ(tessera_rt_module_from_functions("f", bytes.data(), bytes.size(), kernels.data(),
                                             kernels.size(), &module),
            TESSERA_RT_OK)
      << tessera_rt_last_error();
  return module;
}

} // namespace tessera::rt::test
