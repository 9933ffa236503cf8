//===- QuickMath.cpp - Functions with the digits of 16 bits ---------------===//
//
// What `fast` maps of f32 become on machines whose instructions estimate reciprocals (AVX-512).
// Relative errors, evaluation included, for every argument; infinities, nan, zeros and overflow as
// in the exact functions:
//
//   2^x                        2^-18, and 0 below 2^-126
//   1/x, 1/sqrt(x), sqrt(x)    2^-14 (the instructions' own)
//
// bf16 has roundings of up to 2^-9 and f16 of up to 2^-11. All is done in whole registers: a number
// has one result, however many lanes are beside it.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/LLVM/Emitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::codegen;

constexpr int64_t kLanes = 16;

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

Value Emitter::quickOp(ScalarOp op, Value x) {
  bool hasForm = op == ScalarOp::Exp2 || op == ScalarOp::Reciprocal || op == ScalarOp::Rsqrt ||
                 op == ScalarOp::Sqrt;
  if (!cpu.hasEstimates || !hasForm || !elementOf(x.getType()).isF32())
    return Value();
  int64_t lanes = lanesOf(x.getType());
  if (lanes > kLanes) {
    int64_t half = lanes / 2; // lanes are a power of two
    return concat(quickOp(op, part(x, 0, half)), quickOp(op, part(x, half, half)));
  }
  Value filler = real(1, withLanes(f32, kLanes));
  if (!lanes)
    return extract(quickWhole(op, insert(filler, x, 0)), 0);
  Value whole = quickWhole(op, widen(x, filler));
  return lanes == kLanes ? whole : part(whole, 0, lanes);
}
