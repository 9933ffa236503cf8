//===- Float8.cpp - 8-bit floats on vectors -------------------------------===//
//
// e4m3 and e5m2 are storage types. Their conversions to and from f32 use integer arithmetic on
// whole vectors and round to nearest even. An e5m2 is the upper half of an f16; numbers too large
// for it become infinite. e4m3 has no infinities: numbers that are too large, and infinities,
// become NaN, as in PyTorch's float8_e4m3fn.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/LLVM/Emitter.h"
#include "tessera/Dialect/Common/ScalarTypes.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::codegen;
using LLVM::ICmpPredicate;

Value Emitter::float8ToF32(Value value, Type from) {
  int64_t lanes = lanesOf(value.getType());
  if (isa<Float8E5M2Type>(from)) {
    Type bitsType = withLanes(i16, lanes);
    Value bits =
        LLVM::ShlOp::create(b, LLVM::ZExtOp::create(b, bitsType, value), integer(8, bitsType));
    return halfToF32(LLVM::BitcastOp::create(b, withLanes(b.getF16Type(), lanes), bits));
  }
  // Shift exponent and mantissa into position; a multiplication corrects the bias, subnormals
  // included.
  Type wide = withLanes(f32, lanes), bitsType = withLanes(i32, lanes);
  Value bits = LLVM::ZExtOp::create(b, bitsType, value);
  Value magnitude = andI(bits, integer(0x7f, bitsType));
  Value sign = LLVM::ShlOp::create(b, andI(bits, integer(0x80, bitsType)), integer(24, bitsType));
  Value shifted = LLVM::ShlOp::create(b, magnitude, integer(20, bitsType));
  Value scaled =
      LLVM::FMulOp::create(b, LLVM::BitcastOp::create(b, wide, shifted), real(0x1p120, wide));
  Value isNan = cmp(ICmpPredicate::eq, magnitude, integer(0x7f, bitsType));
  Value result =
      select(isNan, integer(0x7fc00000, bitsType), LLVM::BitcastOp::create(b, bitsType, scaled));
  return LLVM::BitcastOp::create(b, wide, orI(result, sign));
}

Value Emitter::float8FromF32(Value value, Type to) {
  bool isE4M3 = isa<Float8E4M3FNType>(to);
  int mantissa = isE4M3 ? 3 : 2, bias = isE4M3 ? 7 : 15, cut = 23 - mantissa;
  int64_t lanes = lanesOf(value.getType());
  Type wide = value.getType(), bitsType = withLanes(i32, lanes);
  Value bits = LLVM::BitcastOp::create(b, bitsType, value);
  Value sign = LLVM::LShrOp::create(b, andI(bits, integer(int32_t(0x80000000), bitsType)),
                                    integer(24, bitsType));
  Value magnitude = andI(bits, integer(0x7fffffff, bitsType));
  // Subnormal results: adding a power of two with the same unit in the last place aligns and rounds
  // the mantissa.
  int alignment = 1 - bias - mantissa + 23;
  Value aligned = LLVM::FAddOp::create(b, LLVM::BitcastOp::create(b, wide, magnitude),
                                       real(std::ldexp(1, alignment), wide));
  Value small = subI(LLVM::BitcastOp::create(b, bitsType, aligned),
                     integer((127 + alignment) << 23, bitsType));
  // Normal results: add half a unit in the last place, one less if the last kept bit is even, and
  // let it carry.
  Value odd =
      andI(LLVM::LShrOp::create(b, magnitude, integer(cut, bitsType)), integer(1, bitsType));
  int32_t rebias = (bias - 127) * (1 << 23) + (1 << (cut - 1)) - 1;
  Value normal = LLVM::LShrOp::create(b, addI(addI(magnitude, integer(rebias, bitsType)), odd),
                                      integer(cut, bitsType));
  // The code after the largest number is infinity, or NaN where there is no infinity.
  Value beyond = integer(isE4M3 ? 0x7f : 0x7c, bitsType);
  normal = select(cmp(ICmpPredicate::ult, normal, beyond), normal, beyond);
  Value isSmall = cmp(ICmpPredicate::ult, magnitude, integer((128 - bias) << 23, bitsType));
  Value isNan = cmp(ICmpPredicate::ugt, magnitude, integer(0x7f800000, bitsType));
  Value result = select(isSmall, small, normal);
  result = select(isNan, integer(isE4M3 ? 0x7f : 0x7e, bitsType), result);
  return LLVM::TruncOp::create(b, withLanes(i8, lanes), orI(result, sign));
}
