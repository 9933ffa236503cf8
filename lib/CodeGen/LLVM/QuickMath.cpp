//===- QuickMath.cpp - Functions with the digits of 16 bits ---------------===//
//
// What `fast` maps of f32 become on machines whose instructions estimate reciprocals (AVX-512, AArch64).
// Relative errors, evaluation included, for every argument; infinities, nan, zeros and overflow as
// in the exact functions:
//
//   2^x                        2^-18, and 0 below 2^-126 (AArch64: 0 below 2^-125.5)
//   1/x, 1/sqrt(x), sqrt(x)    2^-14 (the instructions' own)
//
// AArch64 has the first, and 1/x for normal x, whose estimate of 8 bits takes a step of Newton's method.
//
// bf16 has roundings of up to 2^-9 and f16 of up to 2^-11. All is done in whole registers: a number
// has one result, however many lanes are beside it.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/LLVM/Emitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::codegen;

constexpr int64_t kLanes = 16; // of quickWhole

Value Emitter::quickWhole(ScalarOp op, Value x) {
  Type type = x.getType();
  Value all = integer(-1, i16), currentRounding = integer(4, i32);
  auto estimate = [&](StringRef name) { return intrinsic(name, type, {x, x, all}); };
  switch (op) {
  case ScalarOp::Exp2: {
    // 2^x = 2^f 2^floor(x) with f in [0, 1]; scalef rounds its exponent down by itself. f is 0 for
    // infinite x. A result below the range of normal numbers would take a hundred times as long.
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

/// 1/x from an estimate and one step of Newton's method, for a register or a number.
static Value quickReciprocal(Emitter &e, Value x) {
  // Infinite and zero estimates stay: the step takes their product with x for zero.
  Value estimate = e.intrinsic("llvm.aarch64.neon.frecpe", x.getType(), x);
  return LLVM::FMulOp::create(e.b, estimate, e.intrinsic("llvm.aarch64.neon.frecps", x.getType(), {x, estimate}));
}

/// 2^x in ordinary operations, for as many lanes as there are.
static Value quickPower(Emitter &e, Value x) {
  Type type = x.getType(), bits = Emitter::withLanes(e.i32, Emitter::lanesOf(type));
  // 2^n 2^f is twice 2^f times 2^(n - 1), whose exponent has the last bits of a sum without digits behind the point.
  Value shift = e.real(0x1.8p23 + 126, type);
  Value y = LLVM::MaximumOp::create(e.b, LLVM::MinimumOp::create(e.b, x, e.real(128, type)), e.real(-126, type));
  Value shifted = LLVM::FAddOp::create(e.b, y, shift);
  Value f = LLVM::FSubOp::create(e.b, y, LLVM::FSubOp::create(e.b, shifted, shift));
  // By utils/minimax.py (WeightShort): 2^-18.4, and exact at 0. Neighbours do not wait for each other.
  auto pair = [&](double c0, double c1) { return e.mulAdd(f, e.real(c1, type), e.real(c0, type)); };
  Value square = LLVM::FMulOp::create(e.b, f, f);
  Value high = e.mulAdd(square, e.real(0x1.3a0254p-6, type), pair(0x1.ec037ap-2, 0x1.c9fc4p-4));
  Value twice = e.mulAdd(square, high, pair(2, 0x1.62e12cp+0));
  Value power = LLVM::ShlOp::create(e.b, LLVM::BitcastOp::create(e.b, bits, shifted), e.integer(23, bits));
  return LLVM::FMulOp::create(e.b, twice, LLVM::BitcastOp::create(e.b, type, power));
}

/// What `whole` makes of a vector of any length, register by register: LLVM knows a machine's own instructions for whole
/// registers only. The last one is filled with ones.
static Value inRegisters(Emitter &e, Value x, int64_t registerLanes, function_ref<Value(Value)> whole) {
  int64_t lanes = Emitter::lanesOf(x.getType());
  Value filler = e.real(1, Emitter::withLanes(e.f32, registerLanes));
  SmallVector<Value> results;
  for (int64_t first = 0; first < lanes; first += registerLanes) {
    int64_t count = std::min(registerLanes, lanes - first);
    results.push_back(whole(e.widen(count < lanes ? e.part(x, first, count) : x, filler)));
  }
  results.resize(llvm::PowerOf2Ceil(results.size()), results.back());
  Value joined = e.concat(results);
  return Emitter::lanesOf(joined.getType()) == lanes ? joined : e.part(joined, 0, lanes);
}

Value Emitter::quickOp(ScalarOp op, Value x) {
  if (!elementOf(x.getType()).isF32())
    return Value();
  bool isScalar = !lanesOf(x.getType());
  if (cpu.arch == CpuDescription::Arch::AArch64) {
    if (op == ScalarOp::Exp2)
      return quickPower(*this, x);
    if (op != ScalarOp::Reciprocal)
      return Value();
    auto reciprocal = [&](Value whole) { return quickReciprocal(*this, whole); };
    return isScalar ? reciprocal(x) : inRegisters(*this, x, 4, reciprocal);
  }
  bool hasForm = op == ScalarOp::Exp2 || op == ScalarOp::Reciprocal || op == ScalarOp::Rsqrt ||
                 op == ScalarOp::Sqrt;
  if (!cpu.hasEstimates || !hasForm)
    return Value();
  Value filler = real(1, withLanes(f32, kLanes));
  if (isScalar)
    return extract(quickWhole(op, insert(filler, x, 0)), 0);
  return inRegisters(*this, x, kLanes, [&](Value whole) { return quickWhole(op, whole); });
}
