//===- FastMathTest.cpp - Target intrinsics for any number of lanes -------===//
//
// LLVM has target intrinsics for whole registers. Vectors are shorter at the ends of rows, and may
// be longer.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"
#include "tessera/CodeGen/LLVM/Emitter.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

using namespace tessera;
using namespace tessera::cpu;

namespace {

constexpr int64_t rows = 3;
constexpr int64_t widths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 45, 80};
const char *const types[] = {"f32", "f16", "bf16"};

/// A kernel for each width: powers, reciprocals, sums and differences of the elements of a row.
std::string textFor(const std::string &type) {
  std::string text;
  for (int64_t columns : widths) {
    std::string kernel = R"(
tile.kernel @wN(%x: !tile.view<3xNxTYPE, strides = [N, 1]>, %y: !VIEW, %power: !VIEW, %reciprocal: !VIEW, %sum: !VIEW,
                %difference: !VIEW) grid 1 {
  %c0 = arith.constant 0 : index
  %narrow = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<3xNxTYPE, strides = [N, 1]> -> tensor<3xNxTYPE>
  %a = tile.cast %narrow : tensor<3xNxTYPE> -> !TILE
  %b = tile.load %y[%c0, %c0] dims [0, 1] : !VIEW -> !TILE
  %p = tile.map exp2(%a) fast : (!TILE) -> !TILE
  %r = tile.map reciprocal(%a) fast : (!TILE) -> !TILE
  %s = tile.map add(%b, %a) : (!TILE, !TILE) -> !TILE
  %d = tile.map sub(%a, %b) : (!TILE, !TILE) -> !TILE
  tile.store %p, %power[%c0, %c0] dims [0, 1] : !TILE, !VIEW
  tile.store %r, %reciprocal[%c0, %c0] dims [0, 1] : !TILE, !VIEW
  tile.store %s, %sum[%c0, %c0] dims [0, 1] : !TILE, !VIEW
  tile.store %d, %difference[%c0, %c0] dims [0, 1] : !TILE, !VIEW
  tile.return
}
)";
    auto replace = [&](const std::string &from, const std::string &to) {
      for (size_t at = 0; (at = kernel.find(from, at)) != std::string::npos; at += to.size())
        kernel.replace(at, from.size(), to);
    };
    replace("!VIEW", "!tile.view<3xNxf32, strides = [N, 1]>");
    replace("!TILE", "tensor<3xNxf32>");
    replace("TYPE", type);
    replace("@wN", "@w" + std::to_string(columns));
    replace("xNx", "x" + std::to_string(columns) + "x");
    replace("[N,", "[" + std::to_string(columns) + ",");
    text += kernel;
  }
  return text;
}

/// The bytes of values that all three types can hold.
std::vector<uint8_t> stored(const std::vector<float> &values, const std::string &type) {
  size_t bytes = type == "f32" ? 4 : 2;
  std::vector<uint8_t> result(values.size() * bytes);
  for (size_t i = 0; i < values.size(); ++i) {
    _Float16 half = static_cast<_Float16>(values[i]);
    uint16_t upper = std::bit_cast<uint32_t>(values[i]) >> 16;
    const void *from = &values[i];
    if (type != "f32")
      from = type == "f16" ? static_cast<const void *>(&half) : &upper;
    std::memcpy(&result[i * bytes], from, bytes);
  }
  return result;
}

bool hasQuickForms(const CpuTarget &target) {
  CpuDescription machine = target.describe();
  return machine.arch == CpuDescription::Arch::AArch64 || machine.hasEstimates;
}

TEST(FastMath, RowsOfEveryWidth) {
  if (!hasQuickForms(CpuTarget::host()))
    GTEST_SKIP() << "this CPU has no approximate forms";
  for (std::string type : types) {
    CompiledKernels kernels(textFor(type));
    ASSERT_EQ(kernels.error(), "");
    std::mt19937 random(1);
    for (int64_t columns : widths) {
      size_t size = rows * columns;
      std::vector<float> x(size), y(size), results[4];
      for (size_t i = 0; i < size; ++i) {
        // Eight bits of precision, from 1/4 to 4.
        x[i] = std::ldexp(float(128 + random() % 128), int(random() % 4) - 9) *
               (random() % 2 ? 1.f : -1.f);
        y[i] = std::normal_distribution<float>()(random);
      }
      std::vector<uint8_t> narrow = stored(x, type);
      std::vector<Array> arrays = {Array::dense(narrow.data(), {rows, columns}),
                                   Array::dense(y.data(), {rows, columns})};
      for (std::vector<float> &result : results) {
        result.assign(size, NAN);
        arrays.push_back(Array::dense(result.data(), {rows, columns}));
      }
      kernels.run("w" + std::to_string(columns), arrays, {}, {1});
      auto &[power, reciprocal, sum, difference] = results;
      for (size_t i = 0; i < size; ++i) {
        std::string where =
            type + ", " + std::to_string(columns) + " columns, element " + std::to_string(i);
        double expected = std::exp2(double(x[i]));
        ASSERT_LE(std::fabs(power[i] - expected), 0x1p-18 * expected) << where;
        ASSERT_LE(std::fabs(reciprocal[i] * double(x[i]) - 1), 0x1p-14) << where;
        ASSERT_EQ(sum[i], y[i] + x[i]) << where;
        ASSERT_EQ(difference[i], x[i] - y[i]) << where;
      }
    }
  }
}

/// Powers and reciprocals of vectors, consecutive in memory; the first is a scalar.
constexpr int64_t lengths[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 31, 33};

CompiledKernels longVectors(const CpuTarget &target) {
  CpuDescription machine = target.describe();
  auto addVectors = [&](target::ModuleOp module) {
    target::KernelOp kernel = *module.getOps<target::KernelOp>().begin();
    mlir::Block &body = kernel.getBody().front();
    codegen::Emitter e(mlir::OpBuilder(body.getTerminator()), kernel.getLoc(), machine);
    e.setConstantBlock(&body);
    auto addressOf = [&](int64_t view) {
      constexpr int64_t words = 3; // address, size, stride
      return e.load(e.ptr, e.address(body.getArgument(0), 8 * words * view), {});
    };
    mlir::Value x = addressOf(0), powers = addressOf(1), reciprocals = addressOf(2);
    int64_t bytes = 0;
    for (int64_t lanes : lengths) {
      mlir::Value vector =
          e.load(codegen::Emitter::withLanes(e.f32, lanes), e.address(x, bytes), {});
      e.store(e.quickOp(ScalarOp::Exp2, vector), e.address(powers, bytes), {});
      e.store(e.quickOp(ScalarOp::Reciprocal, vector), e.address(reciprocals, bytes), {});
      bytes += 4 * std::max<int64_t>(lanes, 1);
    }
  };
  return CompiledKernels(R"(
!v = !tile.view<?xf32, strides = [1]>
tile.kernel @lanes(%x: !v, %powers: !v, %reciprocals: !v) grid 1 {
  tile.return
})",
                         target, addVectors);
}

TEST(FastMath, VectorsOfEveryLength) {
  for (const char *name : {"aarch64", "x86-64-v4"})
    EXPECT_EQ(longVectors(*CpuTarget::baseline(name)).error(), "");
  if (!hasQuickForms(CpuTarget::host()))
    GTEST_SKIP() << "this CPU has no approximate forms";
  CompiledKernels kernels = longVectors(CpuTarget::host());
  ASSERT_EQ(kernels.error(), "");
  int64_t size = std::accumulate(std::begin(lengths), std::end(lengths), int64_t(1));
  std::vector<float> x(size), powers(size, NAN), reciprocals(size, NAN);
  for (int64_t i = 0; i < size; ++i)
    x[i] = 0.25f + 3.75f * i / size;
  kernels.run("lanes",
              {Array::dense(x.data(), {size}), Array::dense(powers.data(), {size}),
               Array::dense(reciprocals.data(), {size})},
              {}, {1});
  for (int64_t i = 0; i < size; ++i) {
    double power = std::exp2(double(x[i]));
    ASSERT_LE(std::fabs(powers[i] - power), 0x1p-18 * power) << i;
    ASSERT_LE(std::fabs(reciprocals[i] * double(x[i]) - 1), 0x1p-14) << i;
  }
}

TEST(FastMath, OtherTargetsHaveEveryWidth) {
  CpuTarget arm = *CpuTarget::baseline("aarch64");
  arm.features += ",+fullfp16,+fp16fml";
  for (const CpuTarget &target :
       {*CpuTarget::baseline("aarch64"), arm, *CpuTarget::baseline("x86-64-v4")})
    for (std::string type : types) {
      CompiledKernels kernels(textFor(type), target);
      ASSERT_EQ(kernels.error(), "") << target.triple << " " << target.features << " " << type;
      std::string code = kernels.target();
      CpuDescription machine = target.describe();
      bool isArm = machine.arch == CpuDescription::Arch::AArch64;
      EXPECT_NE(code.find(isArm ? "neon.frecpe" : "avx512.rcp14"), std::string::npos);
      EXPECT_EQ(code.find("neon.fmlal") != std::string::npos,
                machine.hasHalfProducts && type == "f16");
    }
}

} // namespace
