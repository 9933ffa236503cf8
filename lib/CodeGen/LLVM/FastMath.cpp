//===- FastMath.cpp - Approximate functions for 16-bit types --------------===//
//
// The lowering of `fast` maps of f32 on targets with reciprocal estimates (AVX-512, AArch64).
// Infinities, nan, zeros and overflow are as in the exact functions. The relative errors, rounding
// errors of the evaluation included, are for every argument at most:
//
//   2^x                        2^-18, and 0 below 2^-126 (AArch64: 0 below 2^-125.5)
//   1/x, 1/sqrt(x), sqrt(x)    2^-14 (the instructions' own)
//
// AArch64 has the first one, and 1/x for normal x: one Newton iteration refines its 8-bit estimate.
//
// Rounding to bf16 has an error of up to 2^-9, to f16 of up to 2^-11. All functions run on whole
// registers, so that the result of a lane does not depend on the number of lanes.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/LLVM/Emitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::codegen;

constexpr int64_t kLanes = 16; // of a 512-bit register

Value Emitter::approximateRegister(ScalarOp op, Value x) {
  Type type = x.getType();
  Value all = integer(-1, i16), currentRounding = integer(4, i32);
  auto estimate = [&](StringRef name) { return intrinsic(name, type, {x, x, all}); };
  switch (op) {
  case ScalarOp::Exp2: {
    // 2^x = 2^f 2^floor(x) with f in [0, 1); scalef floors its exponent itself. f is 0 for infinite
    // x. Subnormal results would take a hundred times as long, so they are flushed to zero.
    constexpr int32_t down = 9;
    Value f = intrinsic("llvm.x86.avx512.mask.reduce.ps.512", type,
                        {x, integer(down, i32), x, all, currentRounding});
    // (2^f - 1) / f, by utils/minimax.py (Exp2Unit): 2^-18.3 in 2^f, and exact at 0.
    Value sum = real(0x1.b7f734p-7, type);
    for (double c : {0x1.abf868p-5, 0x1.ee245p-3, 0x1.62d6c6p-1, 1.0})
      sum = mulAdd(sum, f, real(c, type));
    Value isNormal = fcmp(LLVM::FCmpPredicate::uge, x, real(-126, type));
    Value kept = LLVM::BitcastOp::create(b, i16, isNormal);
    return intrinsic("llvm.x86.avx512.mask.scalef.ps.512", type,
                     {sum, x, real(0, type), kept, currentRounding});
  }
  case ScalarOp::Reciprocal:
    return estimate("llvm.x86.avx512.rcp14.ps.512");
  case ScalarOp::Rsqrt:
    return estimate("llvm.x86.avx512.rsqrt14.ps.512");
  case ScalarOp::Sqrt: {
    Value root = LLVM::FMulOp::create(b, x, estimate("llvm.x86.avx512.rsqrt14.ps.512"));
    // x itself where it is zero (bits 8 to 11) or infinite (20 to 23), the root elsewhere.
    Value choice = integer(0x00500100, withLanes(i32, kLanes));
    return intrinsic("llvm.x86.avx512.mask.fixupimm.ps.512", type,
                     {root, x, choice, integer(0, i32), all, currentRounding});
  }
  default:
    return Value();
  }
}

/// 1/x from an estimate and one Newton iteration, for a register or a scalar.
static Value approximateReciprocal(Emitter &e, Value x) {
  // frecps takes 0 * inf for 0, so that infinite and zero estimates stay.
  Value estimate = e.intrinsic("llvm.aarch64.neon.frecpe", x.getType(), x);
  return LLVM::FMulOp::create(e.b, estimate,
                              e.intrinsic("llvm.aarch64.neon.frecps", x.getType(), {x, estimate}));
}

/// 2^x in portable operations, for any number of lanes.
static Value approximateExp2(Emitter &e, Value x) {
  Type type = x.getType(), bits = Emitter::withLanes(e.i32, Emitter::lanesOf(type));
  // 2^n 2^f = (2 * 2^f) 2^(n - 1). Adding the constant leaves the biased exponent n - 1 in the low
  // bits of the mantissa.
  Value shift = e.real(0x1.8p23 + 126, type);
  Value y = LLVM::MaximumOp::create(e.b, LLVM::MinimumOp::create(e.b, x, e.real(128, type)),
                                    e.real(-126, type));
  Value shifted = LLVM::FAddOp::create(e.b, y, shift);
  Value f = LLVM::FSubOp::create(e.b, y, LLVM::FSubOp::create(e.b, shifted, shift));
  // By utils/minimax.py (WeightShort): 2^-18.4, and exact at 0. Estrin's scheme shortens the
  // dependency chain.
  auto pair = [&](double c0, double c1) { return e.mulAdd(f, e.real(c1, type), e.real(c0, type)); };
  Value square = LLVM::FMulOp::create(e.b, f, f);
  Value high = e.mulAdd(square, e.real(0x1.3a0254p-6, type), pair(0x1.ec037ap-2, 0x1.c9fc4p-4));
  Value twice = e.mulAdd(square, high, pair(2, 0x1.62e12cp+0));
  Value power =
      LLVM::ShlOp::create(e.b, LLVM::BitcastOp::create(e.b, bits, shifted), e.integer(23, bits));
  return LLVM::FMulOp::create(e.b, twice, LLVM::BitcastOp::create(e.b, type, power));
}

/// Applies `whole` to a vector of any length, register by register: target intrinsics exist for
/// whole registers only. The last register is padded with ones.
static Value inRegisters(Emitter &e, Value x, int64_t registerLanes,
                         function_ref<Value(Value)> whole) {
  int64_t lanes = Emitter::lanesOf(x.getType());
  Value filler = e.real(1, Emitter::withLanes(e.f32, registerLanes));
  SmallVector<Value> results;
  for (int64_t first = 0; first < lanes; first += registerLanes) {
    int64_t count = std::min(registerLanes, lanes - first);
    results.push_back(whole(e.widen(count < lanes ? e.part(x, first, count) : x, filler)));
  }
  results.resize(llvm::PowerOf2Ceil(results.size()), results.back());
  Value all = e.concat(results);
  return Emitter::lanesOf(all.getType()) == lanes ? all : e.part(all, 0, lanes);
}

Value Emitter::quickOp(ScalarOp op, Value x) {
  if (!elementOf(x.getType()).isF32())
    return Value();
  bool isScalar = !lanesOf(x.getType());
  if (cpu.arch == CpuDescription::Arch::AArch64) {
    if (op == ScalarOp::Exp2)
      return approximateExp2(*this, x);
    if (op != ScalarOp::Reciprocal)
      return Value();
    auto reciprocal = [&](Value whole) { return approximateReciprocal(*this, whole); };
    return isScalar ? reciprocal(x) : inRegisters(*this, x, 4, reciprocal);
  }
  bool hasForm = op == ScalarOp::Exp2 || op == ScalarOp::Reciprocal || op == ScalarOp::Rsqrt ||
                 op == ScalarOp::Sqrt;
  if (!cpu.hasEstimates || !hasForm)
    return Value();
  Value filler = real(1, withLanes(f32, kLanes));
  if (isScalar)
    return extract(approximateRegister(op, insert(filler, x, 0)), 0);
  return inRegisters(*this, x, kLanes, [&](Value whole) { return approximateRegister(op, whole); });
}
