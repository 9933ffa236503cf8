//===- Float8.cpp - fp8 in CUDA Tile IR -----------------------------------===//
//
// e4m3 and e5m2 are storage types: every conversion goes through f32. Chips without them in CUDA
// Tile IR store bytes, convert by integer arithmetic, and use f16 operands in MMA, which hold both
// exactly.
//
// Rounding is to nearest even. As in PyTorch, overflow becomes infinity in e5m2 and nan in e4m3,
// which has no infinity; the hardware's conversion would saturate.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"
#include <cmath>

namespace tessera::cudatile {

static bool isE4M3(mlir::Type type) { return llvm::isa<mlir::Float8E4M3FNType>(type); }

Value KernelLowering::roundToOddF32(Value x) {
  Value near = b.convert(x, TypeKind::F32), back = b.convert(near, TypeKind::F64);
  Value pattern = b.bitcast(near, TypeKind::I32);
  // Round towards zero, then set the last bit if the result is inexact.
  Value isOver = b.compare(Predicate::Greater, b.abs(back), b.abs(x));
  Value isInexact = b.compare(Predicate::NotEqual, back, x);
  pattern = b.sub(pattern, b.convert(isOver, TypeKind::I32));
  pattern = b.elementwise(Opcode::OrI, {pattern, b.convert(isInexact, TypeKind::I32)});
  return b.bitcast(pattern, TypeKind::F32);
}

Value KernelLowering::fromFloat8(Value x, mlir::Type from) {
  if (options.hasFloat8)
    return b.convert(x, TypeKind::F32);
  if (!isE4M3(from)) { // the upper byte of an f16
    Value bits = b.convert(x, TypeKind::I16, Signedness::Unsigned);
    bits = b.elementwise(Opcode::ShLI, {bits, fillInt(bits, 8)});
    return b.convert(b.bitcast(bits, TypeKind::F16), TypeKind::F32);
  }
  Value bits = b.convert(x, TypeKind::I32, Signedness::Unsigned);
  auto masked = [&](int64_t mask) {
    return b.elementwise(Opcode::AndI, {bits, fillInt(bits, mask)});
  };
  auto shifted = [&](Value value, int64_t count) {
    return b.elementwise(Opcode::ShLI, {value, fillInt(bits, count)});
  };
  // Shift exponent and mantissa into position. A multiplication corrects the bias, also of
  // subnormals.
  Value magnitude = masked(0x7f), moved = b.bitcast(shifted(magnitude, 20), TypeKind::F32);
  Value scaled = b.bitcast(b.mul(moved, fill(moved, 0x1p120)), TypeKind::I32);
  Value isNan = b.compare(Predicate::Equal, magnitude, fillInt(bits, 0x7f));
  Value result = b.select(isNan, fillInt(bits, 0x7fc00000), scaled);
  result = b.elementwise(Opcode::OrI, {result, shifted(masked(0x80), 24)});
  return b.bitcast(result, TypeKind::F32);
}

/// The hardware's conversion, with saturated values replaced.
Value KernelLowering::roundToFloat8(Value x, mlir::Type to) {
  Value pattern = b.bitcast(b.convert(x, kindOf(to)), TypeKind::I8), magnitude = b.abs(x);
  // Halfway from the largest value to the next; in e4m3 that would be even, so the tie rounds down.
  Value isBeyond = isE4M3(to)
                       ? b.compare(Predicate::Greater, magnitude, fill(x, 464), Ordering::Unordered)
                       : b.compare(Predicate::GreaterOrEqual, magnitude, fill(x, 61440));
  Value beyond = fillInt(pattern, isE4M3(to) ? 0x7f : 0x7c);
  if (!isE4M3(to)) {
    Value isNegative = b.compare(Predicate::Less, x, fill(x, 0));
    beyond = b.select(isNegative, fillInt(pattern, 0xfc), beyond);
  }
  return b.bitcast(b.select(isBeyond, beyond, pattern), kindOf(to));
}

Value KernelLowering::toFloat8(Value x, mlir::Type to) {
  if (options.hasFloat8)
    return roundToFloat8(x, to);
  int mantissa = isE4M3(to) ? 3 : 2, bias = isE4M3(to) ? 7 : 15, cut = 23 - mantissa;
  Value bits = b.bitcast(x, TypeKind::I32);
  auto number = [&](int64_t value) { return fillInt(bits, value); };
  auto masked = [&](Value value, int64_t mask) {
    return b.elementwise(Opcode::AndI, {value, number(mask)});
  };
  auto shifted = [&](Value value, int64_t count) {
    return b.elementwise(Opcode::ShRI, {value, number(count)},
                         {{"signedness", Builder::of(Signedness::Unsigned)}});
  };
  Value magnitude = masked(bits, 0x7fffffff), sign = masked(shifted(bits, 24), 0x80);
  // Subnormal results: adding a power of two with the same ulp aligns the mantissa and rounds it.
  int alignment = 1 - bias - mantissa + 23;
  Value aligned = b.add(b.abs(x), fill(x, std::ldexp(1, alignment)));
  Value small = b.sub(b.bitcast(aligned, TypeKind::I32), number((127 + alignment) << 23));
  // Normal results: add half an ulp, or just less if the last kept bit is even, and truncate.
  Value odd = masked(shifted(magnitude, cut), 1);
  int64_t rebias = int64_t(bias - 127) * (1 << 23) + (1 << (cut - 1)) - 1;
  Value normal = shifted(b.add(b.add(magnitude, number(rebias)), odd), cut);
  // The encoding after the largest finite value is infinity, or nan for e4m3.
  normal = b.min(normal, number(isE4M3(to) ? 0x7f : 0x7c), Signedness::Unsigned);
  Value isSmall = b.compare(Predicate::Less, magnitude, number((128 - bias) << 23));
  Value isNan = b.compare(Predicate::Greater, magnitude, number(0x7f800000));
  Value result = b.select(isSmall, small, normal);
  result = b.select(isNan, number(isE4M3(to) ? 0x7f : 0x7e), result);
  return b.convert(b.elementwise(Opcode::OrI, {result, sign}), TypeKind::I8);
}

} // namespace tessera::cudatile
