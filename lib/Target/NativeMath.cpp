//===- NativeMath.cpp - The scalar operations of targets ------------------===//
#include "tessera/Target/NativeMath.h"

namespace tessera {

using enum ScalarOp;

// PTX has approximate instructions for f32 alone. A module that computes in f64 as well has the
// expansions for both types.
static constexpr NativeOp kPtx[] = {
    {Philox},
    {PhiloxUpper},
    {Exp2, /*isApprox=*/false, /*withoutF64=*/true},
    {Reciprocal, /*isApprox=*/true, /*withoutF64=*/true},
    {Tanh, /*isApprox=*/true, /*withoutF64=*/true, GpuFeature::Tanh},
    {Log2, /*isApprox=*/true, /*withoutF64=*/true},
};
static constexpr NativeOp kCudaTile[] = {{Exp},  {Exp2},  {Log},     {Log2}, {Sin},     {Cos},
                                         {Tanh}, {Rsqrt}, {Sigmoid}, {Silu}, {GeluTanh}};
static constexpr NativeOp kAvx512[] = {
    {Exp2, /*isApprox=*/true}, {Reciprocal, /*isApprox=*/true}, {Rsqrt, /*isApprox=*/true}};
static constexpr NativeOp kNeon[] = {{Exp2, /*isApprox=*/true}, {Reciprocal, /*isApprox=*/true}};

static constexpr ScalarOp kPtxApproximated[] = {Div,  Sqrt,    Exp,  Log,    Log1p,
                                                Tanh, Sigmoid, Silu, GeluErf};
static constexpr ScalarOp kPtxApproximatedF16[] = {Div, Sqrt, Exp, Log, Log1p, Sigmoid, Silu};
static constexpr ScalarOp kCudaTileApproximated[] = {Div, Sqrt, Tanh, Sigmoid, Silu, GeluErf};
// Within 2^-13, whatever the argument: less than what a rounding to bf16 or f16 loses.
static constexpr ScalarOp kNeonApproximated[] = {Exp,     Exp2,     Sigmoid, Silu,
                                                 GeluErf, GeluTanh, Tanh,    Erf};
static constexpr ScalarOp kAvx512Approximated[] = {Exp,  Exp2, Sigmoid, Silu,  GeluErf,   GeluTanh,
                                                   Tanh, Erf,  Sqrt,    Rsqrt, Reciprocal};

const NativeMath &ptxMath() {
  static constexpr NativeMath math = {
      .native = kPtx, .approximated = kPtxApproximated, .approximatedF16 = kPtxApproximatedF16};
  return math;
}

const NativeMath &cudaTileMath() {
  static constexpr NativeMath math = {.native = kCudaTile, .approximated = kCudaTileApproximated};
  return math;
}

const NativeMath &cpuMath(const CpuDescription &cpu) {
  static constexpr NativeMath avx512 = {.native = kAvx512,
                                        .approximated = kAvx512Approximated,
                                        .approximatedF16 = kAvx512Approximated,
                                        .weights = WeightMath::Exact};
  static constexpr NativeMath neon = {.native = kNeon,
                                      .approximated = kNeonApproximated,
                                      .approximatedF16 = kNeonApproximated,
                                      .weights = WeightMath::Expanded};
  static constexpr NativeMath others = {};
  return cpu.hasEstimates ? avx512 : cpu.arch == CpuDescription::Arch::AArch64 ? neon : others;
}

} // namespace tessera
