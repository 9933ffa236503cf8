//===- ScalarLowering.cpp - Scalar semantics on lanes ---------------------===//
//
// Lowers the primitive scalar operations, conversions and reductions to LLVM operations. Nothing
// here becomes a library call: bf16 is rounded by integer arithmetic, f16 is converted in software
// where the target has no instruction, integer division neither traps on zero nor overflows, and
// the remainder of floats does not use `frem`.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/LLVM/Emitter.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::codegen;
using LLVM::FCmpPredicate;
using LLVM::ICmpPredicate;

static bool isUnsigned(Type element) { return element.isUnsignedInteger() || element.isInteger(1); }

/// Signed zeros are equal here, so one instruction and one blend for nan are enough on x86.
Value Emitter::floatMax(Value x, Value y, bool max) {
  auto flags = LLVM::FastmathFlags::nsz;
  if (max)
    return LLVM::MaximumOp::create(b, x, y, flags);
  return LLVM::MinimumOp::create(b, x, y, flags);
}

bool Emitter::isZmmOfF32(Value value) const {
  return cpu.hasScaleF && elementOf(value.getType()).isF32() && lanesOf(value.getType()) == 16;
}

Value Emitter::integerDivision(ScalarOp op, Value x, Value y, bool isSigned) {
  Type type = x.getType();
  Value zero = integer(0, type), one = integer(1, type);
  Value isZero = cmp(ICmpPredicate::eq, y, zero);
  if (!isSigned) {
    Value divisor = select(isZero, one, y);
    if (op == ScalarOp::FloorDiv)
      return select(isZero, zero, LLVM::UDivOp::create(b, x, divisor));
    return select(isZero, zero, LLVM::URemOp::create(b, x, divisor));
  }
  // x / -1 overflows for the smallest x: it is -x, and its remainder 0.
  Value minusOne = cmp(ICmpPredicate::eq, y, integer(-1, type));
  Value divisor = select(orI(isZero, minusOne), one, y);
  Value quotient = LLVM::SDivOp::create(b, x, divisor);
  Value remainder = LLVM::SRemOp::create(b, x, divisor);
  Value inexact = cmp(ICmpPredicate::ne, remainder, zero);
  Value oppose = cmp(ICmpPredicate::slt, xorI(remainder, divisor), zero);
  Value adjust = andI(inexact, oppose);
  switch (op) {
  case ScalarOp::FloorDiv: {
    Value floor = select(adjust, subI(quotient, one), quotient);
    Value negated = subI(zero, x);
    return select(isZero, zero, select(minusOne, negated, floor));
  }
  case ScalarOp::Remainder:
    return select(orI(isZero, minusOne), zero, select(adjust, addI(remainder, divisor), remainder));
  default:
    return select(orI(isZero, minusOne), zero, remainder);
  }
}

/// x * 2^n for integral n, by two multiplications of which only the last rounds, so that the result
/// may overflow or underflow gradually.
Value Emitter::scaleB(Value x, Value n) {
  Type type = x.getType(), element = elementOf(type);
  int64_t lanes = lanesOf(type);
  if (cpu.hasScaleF && lanes * byteWidth(element) == 64) {
    bool isF32 = element.isF32();
    StringRef name =
        isF32 ? "llvm.x86.avx512.mask.scalef.ps.512" : "llvm.x86.avx512.mask.scalef.pd.512";
    Type maskType = isF32 ? i16 : i8;
    return intrinsic(name, type, {x, n, x, integer(-1, maskType), integer(4, i32)});
  }
  bool isF32 = element.isF32();
  Type intType = withLanes(isF32 ? i32 : i64, lanes);
  int64_t bias = isF32 ? 127 : 1023, mantissa = isF32 ? 23 : 52;
  // The addition puts n plus twice the bias into the low bits of the mantissa; the shifts drop the
  // others. Shifted by one bit less it is the exponent of 2^floor(n / 2); the remaining bits are
  // that of 2^(n - floor(n / 2)).
  Value shifted =
      LLVM::FAddOp::create(b, n, real((isF32 ? 0x1.8p23 : 0x1.8p52) + double(2 * bias), type));
  Value bits = LLVM::BitcastOp::create(b, intType, shifted);
  auto shift = [&](int64_t count) -> Value {
    return LLVM::ShlOp::create(b, bits, integer(count, intType));
  };
  Value half = andI(shift(mantissa - 1), integer(-(int64_t(1) << mantissa), intType));
  auto power = [&](Value exponent) -> Value { return LLVM::BitcastOp::create(b, type, exponent); };
  return LLVM::FMulOp::create(b, LLVM::FMulOp::create(b, x, power(half)),
                              power(subI(shift(mantissa), half)));
}

/// select(x > bound, bound, x), and with <, propagates nan, as the minimum and maximum of AArch64
/// do in one instruction; x86 has one for the select itself. Null for other operands.
Value Emitter::clampToBound(Value condition, Value x, Value y) {
  auto compare = condition.getDefiningOp<LLVM::FCmpOp>();
  auto constant = x.getDefiningOp<LLVM::ConstantOp>();
  if (cpu.arch != CpuDescription::Arch::AArch64 || !compare || !constant || compare.getLhs() != y ||
      compare.getRhs() != x)
    return Value();
  // For a bound of zero the sign of the result could differ.
  auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
  auto number = dyn_cast<FloatAttr>(splat ? splat.getSplatValue<Attribute>() : constant.getValue());
  if (!number || number.getValue().isZero() || number.getValue().isNaN())
    return Value();
  if (compare.getPredicate() == FCmpPredicate::ogt)
    return floatMax(x, y, false);
  if (compare.getPredicate() == FCmpPredicate::olt)
    return floatMax(x, y, true);
  return Value();
}

Value Emitter::arithmeticOp(ScalarOp op, Value x, Value y, Type element) {
  bool isFloat = isa<FloatType>(element), isBool = element.isInteger(1),
       isSigned = !isUnsigned(element);
  switch (op) {
  case ScalarOp::Add:
    return isFloat ? fadd(x, y) : isBool ? orI(x, y) : Value(LLVM::AddOp::create(b, x, y));
  case ScalarOp::Sub:
    return isFloat ? fsub(x, y) : isBool ? xorI(x, y) : Value(LLVM::SubOp::create(b, x, y));
  case ScalarOp::Mul:
    return isFloat ? fmul(x, y) : isBool ? andI(x, y) : Value(LLVM::MulOp::create(b, x, y));
  case ScalarOp::Div:
    return isFloat ? fdiv(x, y) : integerDivision(ScalarOp::FloorDiv, x, y, isSigned);
  case ScalarOp::FloorDiv:
    return isFloat ? Value(LLVM::FFloorOp::create(b, fdiv(x, y)))
                   : integerDivision(op, x, y, isSigned);
  case ScalarOp::Remainder:
    if (isFloat)
      return LLVM::FSubOp::create(
          b, x, LLVM::FMulOp::create(b, LLVM::FFloorOp::create(b, fdiv(x, y)), y));
    return integerDivision(op, x, y, isSigned);
  case ScalarOp::FMod:
    if (isFloat)
      return LLVM::FSubOp::create(
          b, x, LLVM::FMulOp::create(b, LLVM::FTruncOp::create(b, fdiv(x, y)), y));
    return integerDivision(op, x, y, isSigned);
  case ScalarOp::Maximum:
    if (isFloat)
      return floatMax(x, y, true);
    return isSigned ? Value(LLVM::SMaxOp::create(b, x, y)) : Value(LLVM::UMaxOp::create(b, x, y));
  case ScalarOp::Minimum:
    if (isFloat)
      return floatMax(x, y, false);
    return isSigned ? Value(LLVM::SMinOp::create(b, x, y)) : Value(LLVM::UMinOp::create(b, x, y));
  case ScalarOp::ScaleB:
    return scaleB(x, y);
  default:
    return Value();
  }
}

Value Emitter::unaryOp(ScalarOp op, Value x, Type element) {
  Type type = x.getType();
  bool isFloat = isa<FloatType>(element), isSigned = !isUnsigned(element);
  switch (op) {
  case ScalarOp::Neg:
    return isFloat ? Value(LLVM::FNegOp::create(b, x)) : subI(integer(0, type), x);
  case ScalarOp::Abs:
    if (isFloat)
      return LLVM::FAbsOp::create(b, x);
    return isSigned ? Value(LLVM::SMaxOp::create(b, x, LLVM::SubOp::create(b, integer(0, type), x)))
                    : x;
  case ScalarOp::Sign: {
    if (!isFloat) {
      Value one = integer(1, type), zero = integer(0, type);
      if (!isSigned)
        return select(cmp(ICmpPredicate::ne, x, zero), one, zero);
      return LLVM::SMaxOp::create(b, LLVM::SMinOp::create(b, x, one), integer(-1, type));
    }
    Value zero = real(0, type);
    Value positive = select(fcmp(FCmpPredicate::ogt, x, zero), real(1, type), zero);
    Value sign = select(fcmp(FCmpPredicate::olt, x, zero), real(-1, type), positive);
    return select(fcmp(FCmpPredicate::uno, x, x), x, sign);
  }
  case ScalarOp::Square:
    return isFloat ? fmul(x, x) : Value(LLVM::MulOp::create(b, x, x));
  case ScalarOp::Relu:
    return isFloat    ? floatMax(x, real(0, type), true)
           : isSigned ? Value(LLVM::SMaxOp::create(b, x, integer(0, type)))
                      : x;
  case ScalarOp::Sqrt:
    return LLVM::SqrtOp::create(b, x);
  case ScalarOp::Rsqrt:
    return fdiv(real(1, type), LLVM::SqrtOp::create(b, x));
  case ScalarOp::Reciprocal:
    return fdiv(real(1, type), x);
  case ScalarOp::Floor:
    return isFloat ? Value(LLVM::FFloorOp::create(b, x)) : x;
  case ScalarOp::Ceil:
    return isFloat ? Value(LLVM::FCeilOp::create(b, x)) : x;
  case ScalarOp::Round:
    return isFloat ? Value(LLVM::RoundEvenOp::create(b, x)) : x;
  case ScalarOp::Trunc:
    return isFloat ? Value(LLVM::FTruncOp::create(b, x)) : x;
  case ScalarOp::IsNan:
    return fcmp(FCmpPredicate::uno, x, x);
  case ScalarOp::IsInf:
    return fcmp(FCmpPredicate::oeq, LLVM::FAbsOp::create(b, x), real(INFINITY, type));
  case ScalarOp::IsFinite:
    return fcmp(FCmpPredicate::olt, LLVM::FAbsOp::create(b, x), real(INFINITY, type));
  case ScalarOp::Not:
    return xorI(x, integer(-1, type));
  default:
    return Value();
  }
}

Value Emitter::comparisonOp(ScalarOp op, Value x, Value y, Type element) {
  bool isFloat = isa<FloatType>(element), isSigned = !isUnsigned(element);
  auto compare = [&](FCmpPredicate f, ICmpPredicate s, ICmpPredicate u) {
    return isFloat ? fcmp(f, x, y) : cmp(isSigned ? s : u, x, y);
  };
  switch (op) {
  case ScalarOp::Eq:
    return compare(FCmpPredicate::oeq, ICmpPredicate::eq, ICmpPredicate::eq);
  case ScalarOp::Ne:
    return compare(FCmpPredicate::une, ICmpPredicate::ne, ICmpPredicate::ne);
  case ScalarOp::Lt:
    return compare(FCmpPredicate::olt, ICmpPredicate::slt, ICmpPredicate::ult);
  case ScalarOp::Le:
    return compare(FCmpPredicate::ole, ICmpPredicate::sle, ICmpPredicate::ule);
  case ScalarOp::Gt:
    return compare(FCmpPredicate::ogt, ICmpPredicate::sgt, ICmpPredicate::ugt);
  case ScalarOp::Ge:
    return compare(FCmpPredicate::oge, ICmpPredicate::sge, ICmpPredicate::uge);
  default:
    return Value();
  }
}

Value Emitter::bitwiseOp(ScalarOp op, Value x, Value y, Type element) {
  Type type = x.getType();
  switch (op) {
  case ScalarOp::And:
    return andI(x, y);
  case ScalarOp::Or:
    return orI(x, y);
  case ScalarOp::Xor:
    return xorI(x, y);
  case ScalarOp::Shl:
  case ScalarOp::Shr: {
    // A count of the width or more shifts everything out.
    int64_t width = element.getIntOrFloatBitWidth();
    Value tooFar = cmp(ICmpPredicate::uge, y, integer(width, type));
    Value count = select(tooFar, integer(width - 1, type), y);
    if (op == ScalarOp::Shl)
      return select(tooFar, integer(0, type), LLVM::ShlOp::create(b, x, count));
    if (!isUnsigned(element))
      return LLVM::AShrOp::create(b, x, count);
    return select(tooFar, integer(0, type), LLVM::LShrOp::create(b, x, count));
  }
  default:
    return Value();
  }
}

Value Emitter::scalarOp(ScalarOp op, ValueRange xs, Type element) {
  Value x = xs[0], y = xs.size() > 1 ? xs[1] : Value(), z = xs.size() > 2 ? xs[2] : Value();
  if (op == ScalarOp::Where) {
    Value clamped = clampToBound(x, y, z);
    return clamped ? clamped : select(x, y, z);
  }
  if (op == ScalarOp::Fma)
    return mulAdd(x, y, z);
  if (!y)
    return unaryOp(op, x, element);
  if (Value result = arithmeticOp(op, x, y, element))
    return result;
  if (Value result = comparisonOp(op, x, y, element))
    return result;
  return bitwiseOp(op, x, y, element);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

SmallVector<Value> Emitter::bf16FromF32(ValueRange values) {
  auto roundAll = [&] {
    return llvm::map_to_vector(values, [&](Value value) { return roundToBf16(value); });
  };
  auto bits = [&](Value narrow) -> Value {
    return LLVM::BitcastOp::create(b, withLanes(i16, lanesOf(narrow.getType())), narrow);
  };
  auto convert = [&](Value value) -> Value {
    return bits(
        LLVM::FPTruncOp::create(b, withLanes(b.getBF16Type(), lanesOf(value.getType())), value));
  };
  if (cpu.hasBf16Conversion && cpu.arch == CpuDescription::Arch::AArch64)
    return llvm::map_to_vector(values, convert);
  if (!cpu.hasBf16Conversion || !llvm::all_of(values, [&](Value v) { return isZmmOfF32(v); }))
    return roundAll();
  // The instructions flush subnormal values to zero.
  constexpr int32_t subnormal = 0x20;
  Value isRare;
  for (Value value : values) {
    Value found =
        intrinsic("llvm.x86.avx512.fpclass.ps.512", withLanes(i1, lanesOf(value.getType())),
                  {value, integer(subnormal, i32)});
    isRare = isRare ? orI(isRare, found) : found;
  }
  // One instruction converts two vectors in the time of one.
  SmallVector<Value> converted;
  int64_t lanes = lanesOf(values.front().getType());
  for (size_t i = 0; i < values.size(); i += 2) {
    if (i + 1 == values.size()) {
      converted.push_back(convert(values[i]));
      break;
    }
    Value both = bits(intrinsic("llvm.x86.avx512bf16.cvtne2ps2bf16.512",
                                withLanes(b.getBF16Type(), 2 * lanes), {values[i + 1], values[i]}));
    auto half = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
    converted.push_back(shuffle(both, both, half));
    for (int32_t &lane : half)
      lane += lanes;
    converted.push_back(shuffle(both, both, half));
  }
  return selectUnlessAny(isRare, converted, roundAll);
}

Value Emitter::roundToBf16(Value value) {
  int64_t lanes = lanesOf(value.getType());
  Type wide = withLanes(i32, lanes);
  Value bits = LLVM::BitcastOp::create(b, wide, value);
  Value odd = andI(LLVM::LShrOp::create(b, bits, integer(16, wide)), integer(1, wide));
  Value rounded = addI(addI(bits, integer(0x7fff, wide)), odd);
  Value quiet = orI(bits, integer(0x400000, wide));
  Value chosen = select(fcmp(FCmpPredicate::uno, value, value), quiet, rounded);
  return LLVM::TruncOp::create(b, withLanes(i16, lanes),
                               LLVM::LShrOp::create(b, chosen, integer(16, wide)));
}

Value Emitter::roundToOddF32(Value value) {
  int64_t lanes = lanesOf(value.getType());
  Type wide = value.getType(), bitsType = withLanes(i32, lanes);
  Value near = LLVM::FPTruncOp::create(b, withLanes(f32, lanes), value);
  Value back = LLVM::FPExtOp::create(b, wide, near);
  // Round towards zero, then set the last bit if the result is inexact.
  Value over = fcmp(FCmpPredicate::ogt, intrinsic("llvm.fabs", wide, back),
                    intrinsic("llvm.fabs", wide, value));
  Value inexact = fcmp(FCmpPredicate::one, back, value);
  Value bits =
      subI(LLVM::BitcastOp::create(b, bitsType, near), LLVM::ZExtOp::create(b, bitsType, over));
  bits = orI(bits, LLVM::ZExtOp::create(b, bitsType, inexact));
  return LLVM::BitcastOp::create(b, near.getType(), bits);
}

Value Emitter::roundToOdd24(Value value) {
  Type type = value.getType();
  // The last 8 of 32 bits are one; numbers that f32 has stay as they are.
  Value rest = cmp(ICmpPredicate::ne, andI(value, integer(0xff, type)), integer(0, type));
  Value odd = orI(andI(value, integer(~int64_t(0xff), type)),
                  select(rest, integer(0x100, type), integer(0, type)));
  Value isLarge =
      cmp(ICmpPredicate::ugt, addI(value, integer(1 << 24, type)), integer(1 << 25, type));
  return select(isLarge, odd, value);
}

Value Emitter::halfToF32(Value value) {
  int64_t lanes = lanesOf(value.getType());
  Type wide = withLanes(f32, lanes), bitsType = withLanes(i32, lanes);
  // A conversion of a whole register costs as much as four FMLAL. One that adds to -0 converts,
  // too.
  if (cpu.hasHalfProducts && lanes == 4) {
    Value result = addHalves(real(-0.0, wide), value);
    halvesOf[result] = value;
    return result;
  }
  if (cpu.hasHalfConversion)
    return LLVM::FPExtOp::create(b, wide, value);
  // Shift exponent and mantissa into position. A multiplication corrects the bias, also of
  // subnormals.
  Value narrow = LLVM::BitcastOp::create(b, withLanes(i16, lanes), value);
  Value bits = LLVM::ZExtOp::create(b, bitsType, narrow);
  Value sign = LLVM::ShlOp::create(b, andI(bits, integer(0x8000, bitsType)), integer(16, bitsType));
  Value magnitude =
      LLVM::ShlOp::create(b, andI(bits, integer(0x7fff, bitsType)), integer(13, bitsType));
  Value scaled =
      LLVM::FMulOp::create(b, LLVM::BitcastOp::create(b, wide, magnitude), real(0x1p112, wide));
  Value special = orI(magnitude, integer(0x7f800000, bitsType));
  Value isSpecial = cmp(ICmpPredicate::uge, magnitude, integer(0x0f800000, bitsType));
  Value result = select(isSpecial, special, LLVM::BitcastOp::create(b, bitsType, scaled));
  return LLVM::BitcastOp::create(b, wide, orI(result, sign));
}

Value Emitter::halfFromF32(Value value) {
  int64_t lanes = lanesOf(value.getType());
  Type half = withLanes(b.getF16Type(), lanes), bitsType = withLanes(i32, lanes),
       wide = value.getType();
  if (cpu.hasHalfConversion)
    return LLVM::FPTruncOp::create(b, half, value);
  Value bits = LLVM::BitcastOp::create(b, bitsType, value);
  Value sign =
      LLVM::LShrOp::create(b, andI(bits, integer(0x80000000, bitsType)), integer(16, bitsType));
  Value magnitude = andI(bits, integer(0x7fffffff, bitsType));
  // Subnormal halves: adding 2^-1 aligns the mantissa and rounds to nearest even.
  Value aligned =
      LLVM::FAddOp::create(b, LLVM::BitcastOp::create(b, wide, magnitude), real(0.5, wide));
  Value small = subI(LLVM::BitcastOp::create(b, bitsType, aligned), integer(0x3f000000, bitsType));
  Value odd = andI(LLVM::LShrOp::create(b, magnitude, integer(13, bitsType)), integer(1, bitsType));
  Value normal = addI(addI(magnitude, integer(int32_t(0xc8000fff), bitsType)), odd);
  normal = LLVM::LShrOp::create(b, normal, integer(13, bitsType));
  Value result =
      select(cmp(ICmpPredicate::ult, magnitude, integer(0x38800000, bitsType)), small, normal);
  result = select(cmp(ICmpPredicate::uge, magnitude, integer(0x47800000, bitsType)),
                  integer(0x7c00, bitsType), result);
  result = select(cmp(ICmpPredicate::ugt, magnitude, integer(0x7f800000, bitsType)),
                  integer(0x7e00, bitsType), result);
  Value narrow = LLVM::TruncOp::create(b, withLanes(i16, lanes), orI(result, sign));
  return LLVM::BitcastOp::create(b, half, narrow);
}

Value Emitter::bitcast(Value value, Type to) {
  Type type = withLanes(valueType(to), lanesOf(value.getType()));
  return type == value.getType() ? value : Value(LLVM::BitcastOp::create(b, type, value));
}

/// A bf16 is the upper half of an f32.
Value Emitter::bf16ToF32(Value value) {
  int64_t lanes = lanesOf(value.getType());
  Type wide = withLanes(i32, lanes), result = withLanes(f32, lanes);
  if (cpu.arch == CpuDescription::Arch::AArch64 && lanes && lanes % 4 == 0) {
    // ZIP1 runs on all vector units, SHLL on half of them.
    SmallVector<int32_t> mask;
    for (int64_t i = 0; i < lanes; ++i)
      mask.append({int32_t(i), int32_t(lanes + i)});
    return LLVM::BitcastOp::create(b, result, shuffle(integer(0, value.getType()), value, mask));
  }
  Value bits = LLVM::ShlOp::create(b, LLVM::ZExtOp::create(b, wide, value), integer(16, wide));
  return LLVM::BitcastOp::create(b, result, bits);
}

Value Emitter::cast(Value value, Type from, Type to) {
  if (from == to)
    return value;
  int64_t lanes = lanesOf(value.getType());
  Type target = withLanes(valueType(to), lanes);
  // 16-bit and 8-bit floats are converted through f32.
  if (from.isBF16())
    return cast(bf16ToF32(value), f32, to);
  if (from.isF16())
    return cast(halfToF32(value), f32, to);
  if (isFloat8(from))
    return cast(float8ToF32(value, from), f32, to);
  if (to.isBF16() || to.isF16() || isFloat8(to)) {
    // Types wider than f32 are first rounded to odd, so that only the second rounding counts.
    if (from.isSignlessInteger(32) && !isUnsigned(from))
      return cast(cast(roundToOdd24(value), from, f32), f32, to);
    bool isWider = from.isF64() || (isa<IntegerType>(from) && from.getIntOrFloatBitWidth() >= 32);
    Value single = isWider ? roundToOddF32(cast(value, from, f64)) : cast(value, from, f32);
    if (isFloat8(to))
      return float8FromF32(single, to);
    return to.isBF16() ? bf16FromF32(single).front() : halfFromF32(single);
  }

  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (to.isInteger(1)) {
    if (fromFloat)
      return fcmp(FCmpPredicate::une, value, real(0, value.getType()));
    return cmp(ICmpPredicate::ne, value, integer(0, value.getType()));
  }
  if (fromFloat && toFloat) {
    if (byteWidth(to) > byteWidth(from))
      return LLVM::FPExtOp::create(b, target, value);
    return LLVM::FPTruncOp::create(b, target, value);
  }
  if (fromFloat) {
    // Integers of less than 32 bits are truncated from 32, as C compilers do. A value out of range
    // gives an unspecified result and never traps.
    int64_t bits = to.getIntOrFloatBitWidth();
    Type direct = withLanes(bits < 32 ? i32 : Type(valueType(to)), lanes);
    Value whole = LLVM::FreezeOp::create(b, LLVM::FPToSIOp::create(b, direct, value));
    return bits < 32 ? Value(LLVM::TruncOp::create(b, target, whole)) : whole;
  }
  if (toFloat)
    return isUnsigned(from) ? Value(LLVM::UIToFPOp::create(b, target, value))
                            : Value(LLVM::SIToFPOp::create(b, target, value));
  int64_t have = elementOf(value.getType()).getIntOrFloatBitWidth(),
          want = to.getIntOrFloatBitWidth();
  if (have == want)
    return value;
  if (have > want && lanes > 1 && !llvm::isPowerOf2_64(uint64_t(lanes))) {
    // LLVM 22 stores the wrong lanes of a truncated vector of three on AArch64.
    int64_t whole = int64_t(llvm::PowerOf2Ceil(uint64_t(lanes)));
    llvm::SmallVector<int32_t> wider(size_t(whole), -1), first;
    for (int64_t lane = 0; lane < lanes; ++lane)
      first.push_back(wider[size_t(lane)] = int32_t(lane));
    Value padded = LLVM::ShuffleVectorOp::create(b, value, value, wider);
    Value narrow = LLVM::TruncOp::create(b, withLanes(valueType(to), whole), padded);
    narrow = LLVM::FreezeOp::create(b, narrow);
    return LLVM::ShuffleVectorOp::create(b, narrow, narrow, first);
  }
  if (have > want)
    return LLVM::TruncOp::create(b, target, value);
  return isUnsigned(from) ? Value(LLVM::ZExtOp::create(b, target, value))
                          : Value(LLVM::SExtOp::create(b, target, value));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value Emitter::unit(ReduceOp op, Type element, int64_t lanes) {
  Type type = withLanes(valueType(element), lanes);
  bool isFloat = isa<FloatType>(element), isSigned = !isUnsigned(element);
  unsigned bits = element.getIntOrFloatBitWidth();
  switch (op) {
  case ReduceOp::Sum:
    return isFloat ? real(-0.0, type) : integer(0, type);
  case ReduceOp::Prod:
    return isFloat ? real(1, type) : integer(1, type);
  case ReduceOp::Any:
    return integer(0, type);
  case ReduceOp::All:
    return integer(-1, type);
  case ReduceOp::Max:
    if (isFloat)
      return real(-INFINITY, type);
    return integer(isSigned ? llvm::minIntN(bits) : 0, type);
  case ReduceOp::Min:
    if (isFloat)
      return real(INFINITY, type);
    return integer(isSigned ? llvm::maxIntN(bits) : -1, type);
  }
  llvm_unreachable("all reductions are handled");
}

Value Emitter::join(ReduceOp op, Value x, Value y, Type element, bool skipNan) {
  if (skipNan && isa<FloatType>(elementOf(x.getType())) &&
      (op == ReduceOp::Max || op == ReduceOp::Min)) {
    if (cpu.arch == CpuDescription::Arch::AArch64)
      return op == ReduceOp::Max ? Value(LLVM::MaxNumOp::create(b, x, y))
                                 : Value(LLVM::MinNumOp::create(b, x, y));
    auto isBetter = op == ReduceOp::Max ? FCmpPredicate::ogt : FCmpPredicate::olt;
    return select(fcmp(isBetter, y, x), y, x);
  }
  return scalarOp(reduceOpCombiner(op), {x, y}, element);
}

Value Emitter::horizontal(ReduceOp op, Value vector, Type element, bool skipNan) {
  int64_t lanes = lanesOf(vector.getType());
  if (!lanes)
    return vector;
  // Combine the halves of the vector until one lane is left, then an odd lane.
  Value odd;
  while (lanes > 1) {
    if (lanes % 2) {
      Value last = extract(vector, lanes - 1);
      odd = odd ? join(op, odd, last, element, skipNan) : last;
    }
    lanes /= 2;
    SmallVector<int32_t> low, high;
    for (int64_t i = 0; i < lanes; ++i) {
      low.push_back(i);
      high.push_back(i + lanes);
    }
    vector =
        join(op, shuffle(vector, vector, low), shuffle(vector, vector, high), element, skipNan);
  }
  Value result = extract(vector, 0);
  return odd ? join(op, odd, result, element, skipNan) : result;
}

Value Emitter::horizontalSums(ArrayRef<Value> vectors, Type element) {
  int64_t lanes = llvm::PowerOf2Ceil(lanesOf(vectors.front().getType()));
  Value zeros = integerOrReal(0, withLanes(element, lanes));
  SmallVector<Value> left;
  for (Value vector : vectors)
    left.push_back(widen(vector, zeros));
  // Each vector has `lanes / each` sums in as many parts; two of them become one with parts of half
  // the size.
  int64_t each = lanes;
  auto halves = [&](Value x, Value y) {
    SmallVector<int32_t> low, high;
    for (int64_t start = 0, end = x == y ? lanes : 2 * lanes; start < end; start += each)
      for (int64_t i = 0; i < each / 2; ++i) {
        low.push_back(start + i);
        high.push_back(start + each / 2 + i);
      }
    return join(ReduceOp::Sum, shuffle(x, y, low), shuffle(x, y, high), element);
  };
  while (left.size() > 1) {
    if (left.size() % 2)
      left.push_back(integerOrReal(0, left.front().getType()));
    SmallVector<Value> joined;
    for (size_t i = 0; i < left.size(); i += 2)
      joined.push_back(each > 1 ? halves(left[i], left[i + 1]) : concat(left[i], left[i + 1]));
    each = std::max<int64_t>(each / 2, 1);
    left = joined;
  }
  for (; each > 1; each /= 2, lanes /= 2)
    left.front() = halves(left.front(), left.front());
  return left.front();
}
