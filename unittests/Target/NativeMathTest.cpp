//===- NativeMathTest.cpp - The scalar operations of targets --------------===//
#include "tessera/Target/NativeMath.h"
#include "tessera/Target/GpuDescription.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace tessera;

namespace {

const NativeOp *find(const NativeMath &math, ScalarOp op) {
  auto found = std::ranges::find(math.native, op, &NativeOp::op);
  return found == math.native.end() ? nullptr : &*found;
}

CpuDescription cpu(const char *arch, const std::set<std::string> &features) {
  return CpuDescription::from(arch, features);
}

TEST(NativeMath, EachOperationIsListedOnce) {
  CpuDescription avx512 = cpu("x86_64", {"avx512f", "avx512vl", "avx512bw", "avx512dq"});
  for (const NativeMath *math :
       {&ptxMath(), &cudaTileMath(), &cpuMath(avx512), &cpuMath(cpu("aarch64", {}))}) {
    EXPECT_FALSE(math->native.empty());
    EXPECT_FALSE(math->approximated.empty());
    for (const NativeOp &each : math->native)
      EXPECT_EQ(find(*math, each.op), &each);
  }
}

TEST(NativeMath, PtxHasApproximateInstructionsOfF32Alone) {
  const NativeOp *exp2 = find(ptxMath(), ScalarOp::Exp2), *tanh = find(ptxMath(), ScalarOp::Tanh);
  ASSERT_TRUE(exp2 && tanh);
  EXPECT_TRUE(exp2->withoutF64 && !exp2->isApprox);
  EXPECT_TRUE(tanh->withoutF64 && tanh->isApprox);
  EXPECT_EQ(tanh->feature, GpuFeature::Tanh);
  EXPECT_FALSE(find(cudaTileMath(), ScalarOp::Exp2)->withoutF64);
}

TEST(NativeMath, CpusDifferByTheirEstimates) {
  CpuDescription avx2 = cpu("x86_64", {"avx2", "fma"}), neon = cpu("aarch64", {});
  CpuDescription avx512 = cpu("x86_64", {"avx512f", "avx512vl", "avx512bw", "avx512dq"});
  EXPECT_TRUE(cpuMath(avx2).native.empty());
  EXPECT_TRUE(cpuMath(avx2).approximated.empty());
  EXPECT_TRUE(find(cpuMath(avx512), ScalarOp::Rsqrt)->isApprox);
  EXPECT_FALSE(find(cpuMath(neon), ScalarOp::Rsqrt));
  EXPECT_EQ(cpuMath(avx512).weights, WeightMath::Exact);
  EXPECT_EQ(cpuMath(neon).weights, WeightMath::Expanded);
  EXPECT_EQ(ptxMath().weights, WeightMath::Fast);
}

TEST(NativeMath, TensorCoresMultiplyTheTypesOfTheirShapes) {
  GpuDescription volta = *GpuDescription::from("sm_70"), turing = *GpuDescription::from("sm_75"),
                 hopper = *GpuDescription::from("sm_90");
  EXPECT_TRUE(volta.hasMma("f16") && volta.multipliesByQuadPairs());
  EXPECT_FALSE(volta.hasMma("s8") || volta.hasMma("bf16"));
  EXPECT_TRUE(turing.hasMma("s8") && turing.hasMma("u8") && !turing.multipliesByQuadPairs());
  EXPECT_FALSE(turing.hasMma("bf16") || turing.hasMma(""));
  EXPECT_TRUE(hopper.hasMma("bf16") && hopper.hasMma("e4m3") && !hopper.hasMma("f32"));
}

} // namespace
