//===- LowerScalar.cpp - Scalar semantics on tiles ------------------------===//
//
// Lowers the primitive scalar operations and conversions to CUDA Tile IR, with the same results as
// on the CPU: nan propagates, integer division by zero gives zero, shifts by the width or more
// shift everything out.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include <cmath>

using mlir::LogicalResult;
using mlir::success;

namespace tessera::cudatile {

Value KernelLowering::integerDivision(ScalarOp op, Value x, Value y, Signedness sign) {
  Value zero = fillInt(x, 0), one = fillInt(x, 1);
  Value isZero = b.compare(Predicate::Equal, y, zero);
  if (sign == Signedness::Unsigned) {
    Value divisor = b.select(isZero, one, y);
    Value result = op == ScalarOp::FloorDiv ? b.div(x, divisor, Rounding::Zero, sign)
                                            : b.rem(x, divisor, sign);
    return b.select(isZero, zero, result);
  }
  // x / -1 overflows for the smallest x: it is -x, and its remainder 0.
  Value isMinusOne = b.compare(Predicate::Equal, y, fillInt(x, -1));
  Value special = b.elementwise(Opcode::OrI, {isZero, isMinusOne});
  Value divisor = b.select(special, one, y);
  if (op == ScalarOp::FloorDiv) {
    Value quotient = b.select(isMinusOne, b.neg(x), b.floorDiv(x, divisor));
    return b.select(isZero, zero, quotient);
  }
  Value remainder =
      op == ScalarOp::FMod ? b.rem(x, divisor) : b.sub(x, b.mul(b.floorDiv(x, divisor), divisor));
  return b.select(special, zero, remainder);
}

Value KernelLowering::roundEven(Value x) {
  // Adding and subtracting 2^mantissa rounds to the nearest even integer. Larger values have no
  // fraction. The sign is that of x, also of a zero result.
  bool isF32 = b.elementKindOf(x) == TypeKind::F32;
  Value shift = fill(x, isF32 ? 0x1p23 : 0x1p52), magnitude = b.abs(x);
  Value rounded = b.sub(b.add(magnitude, shift), shift);
  TypeKind bits = isF32 ? TypeKind::I32 : TypeKind::I64;
  Value pattern = b.bitcast(x, bits);
  Value signBit = b.constantBits(b.typeOf(pattern), isF32 ? uint64_t(1) << 31 : uint64_t(1) << 63);
  Value sign = b.elementwise(Opcode::AndI, {pattern, signBit});
  Value signedBits = b.elementwise(Opcode::OrI, {b.bitcast(rounded, bits), sign});
  Value isSmall = b.compare(Predicate::Less, magnitude, shift);
  return b.select(isSmall, b.bitcast(signedBits, b.elementKindOf(x)), x);
}

Value KernelLowering::scaleB(Value x, Value exponent) {
  // Three multiplications, of which only the last rounds: the result may underflow gradually.
  bool isF32 = b.elementKindOf(x) == TypeKind::F32;
  TypeKind bits = isF32 ? TypeKind::I32 : TypeKind::I64;
  int64_t bias = isF32 ? 127 : 1023, mantissa = isF32 ? 23 : 52;
  double bound = 2.0 * bias + 40;
  Value clamped = b.max(b.min(exponent, fill(x, bound)), fill(x, -bound));
  Value n = b.convert(clamped, bits);
  auto power = [&](Value e) {
    Value biased = b.add(e, fillInt(e, bias));
    Value pattern = b.elementwise(Opcode::ShLI, {biased, fillInt(e, mantissa)});
    return b.bitcast(pattern, b.elementKindOf(x));
  };
  Value third = b.div(n, fillInt(n, 3));
  Value factor = power(third), rest = power(b.sub(n, b.add(third, third)));
  return b.mul(b.mul(b.mul(x, factor), factor), rest);
}

Value KernelLowering::shift(ScalarOp op, Value x, Value y, Signedness sign) {
  int64_t width = typeSpec(b.elementKindOf(x)).bits;
  Value tooFar = b.compare(Predicate::GreaterOrEqual, y, fillInt(y, width), Ordering::Ordered,
                           Signedness::Unsigned);
  Value count = b.select(tooFar, fillInt(y, width - 1), y), zero = fillInt(x, 0);
  if (op == ScalarOp::Shl)
    return b.select(tooFar, zero, b.elementwise(Opcode::ShLI, {x, count}));
  Value shifted = b.elementwise(Opcode::ShRI, {x, count}, {{"signedness", Builder::of(sign)}});
  return sign == Signedness::Signed ? shifted : b.select(tooFar, zero, shifted);
}

Value KernelLowering::approximateExp2(Value x) {
  return b.elementwise(Opcode::Exp2, {x}, {{"flush_to_zero", Attribute::integer(1)}});
}

/// numerator / (1 + exp(-argument)) of f32 by approximate instructions.
Value KernelLowering::approximateOverOnePlusExp(Value numerator, Value argument) {
  Value power = approximateExp2(b.mul(argument, fill(argument, -M_LOG2E)));
  return b.div(numerator, b.add(power, fill(power, 1)), Rounding::Approx);
}

/// numerator / (1 + exp(argument))
Value KernelLowering::overOnePlusExp(Value numerator, Value argument) {
  Value power = b.elementwise(Opcode::Exp, {argument});
  Rounding rounding =
      b.elementKindOf(power) == TypeKind::F32 ? Rounding::Full : Rounding::NearestEven;
  return b.div(numerator, b.add(power, fill(power, 1)), rounding);
}

/// Operations on floats that CUDA Tile IR has, or that are built of these; none: another one.
Value KernelLowering::functionOf(ScalarOp op, Value x) {
  switch (op) {
  case ScalarOp::Sqrt:
    return b.elementwise(Opcode::Sqrt, {x});
  case ScalarOp::Exp:
    return b.elementwise(Opcode::Exp, {x});
  case ScalarOp::Exp2:
    return b.elementwise(Opcode::Exp2, {x});
  case ScalarOp::Log:
    return b.elementwise(Opcode::Log, {x});
  case ScalarOp::Log2:
    return b.elementwise(Opcode::Log2, {x});
  case ScalarOp::Sin:
    return b.elementwise(Opcode::Sin, {x});
  case ScalarOp::Cos:
    return b.elementwise(Opcode::Cos, {x});
  case ScalarOp::Tanh:
    return b.elementwise(Opcode::TanH, {x});
  case ScalarOp::Rsqrt:
    return b.elementwise(Opcode::Rsqrt, {x});
  case ScalarOp::Sigmoid:
    return overOnePlusExp(fill(x, 1), b.neg(x));
  case ScalarOp::Silu:
    return overOnePlusExp(x, b.neg(x));
  case ScalarOp::GeluTanh: {
    // (1 + tanh(u)) / 2 is 1 / (1 + exp(-2u)), which does not cancel.
    Value square = b.mul(x, x);
    Value inner = b.fma(square, fill(x, 0.044715), fill(x, 1));
    Value argument = b.mul(b.mul(x, inner), fill(x, -2 * std::sqrt(2 / M_PI)));
    return overOnePlusExp(x, argument);
  }
  default:
    return Value();
  }
}

/// Rounds a float to an integral value; integers stay as they are.
Value KernelLowering::roundTo(ScalarOp op, Value x, bool isFloat) {
  if (!isFloat)
    return x;
  if (op == ScalarOp::Round)
    return roundEven(x);
  if (op == ScalarOp::Floor)
    return b.elementwise(Opcode::Floor, {x});
  if (op == ScalarOp::Ceil)
    return b.elementwise(Opcode::Ceil, {x});
  Value isNegative = b.compare(Predicate::Less, x, fill(x, 0));
  return b.select(isNegative, b.elementwise(Opcode::Ceil, {x}), b.elementwise(Opcode::Floor, {x}));
}

Value KernelLowering::scalar(ScalarOp op, llvm::ArrayRef<Value> x, mlir::Type element) {
  bool isFloat = llvm::isa<mlir::FloatType>(element), isBool = element.isInteger(1);
  Signedness sign = signednessOf(element);
  auto bits = [&](Opcode opcode) { return b.elementwise(opcode, {x[0], x[1]}); };
  auto compare = [&](Predicate predicate, Ordering ordering = Ordering::Ordered) {
    return b.compare(predicate, x[0], x[1], ordering, sign);
  };
  switch (op) {
  case ScalarOp::Add:
    return isBool ? bits(Opcode::OrI) : b.add(x[0], x[1]);
  case ScalarOp::Sub:
    return isBool ? bits(Opcode::XOrI) : b.sub(x[0], x[1]);
  case ScalarOp::Mul:
    return isBool ? bits(Opcode::AndI) : b.mul(x[0], x[1]);
  case ScalarOp::Div:
    return isFloat ? b.div(x[0], x[1]) : Value();
  case ScalarOp::FloorDiv:
  case ScalarOp::Remainder:
  case ScalarOp::FMod:
    return isFloat ? Value() : integerDivision(op, x[0], x[1], sign);
  case ScalarOp::Maximum:
    return isBool ? bits(Opcode::OrI) : b.max(x[0], x[1], sign);
  case ScalarOp::Minimum:
    return isBool ? bits(Opcode::AndI) : b.min(x[0], x[1], sign);
  case ScalarOp::Neg:
    return b.neg(x[0]);
  case ScalarOp::Abs:
    return isFloat || sign == Signedness::Signed ? b.abs(x[0]) : x[0];
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
  case ScalarOp::Trunc:
    return roundTo(op, x[0], isFloat);
  case ScalarOp::Eq:
    return compare(Predicate::Equal);
  case ScalarOp::Ne:
    return compare(Predicate::NotEqual, Ordering::Unordered);
  case ScalarOp::Lt:
    return compare(Predicate::Less);
  case ScalarOp::Le:
    return compare(Predicate::LessOrEqual);
  case ScalarOp::Gt:
    return compare(Predicate::Greater);
  case ScalarOp::Ge:
    return compare(Predicate::GreaterOrEqual);
  case ScalarOp::Where:
    return b.select(x[0], x[1], x[2]);
  case ScalarOp::And:
    return bits(Opcode::AndI);
  case ScalarOp::Or:
    return bits(Opcode::OrI);
  case ScalarOp::Xor:
    return bits(Opcode::XOrI);
  case ScalarOp::Not:
    return b.elementwise(Opcode::XOrI, {x[0], fillInt(x[0], -1)});
  case ScalarOp::Shl:
  case ScalarOp::Shr:
    return shift(op, x[0], x[1], sign);
  case ScalarOp::Fma:
    return b.fma(x[0], x[1], x[2]);
  case ScalarOp::ScaleB:
    return scaleB(x[0], x[1]);
  default:
    return functionOf(op, x[0]);
  }
}

/// The approximate form of an operation on f32; none: there is no other.
Value KernelLowering::approximate(ScalarOp op, llvm::ArrayRef<Value> x) {
  switch (op) {
  case ScalarOp::Exp2:
    return approximateExp2(x[0]);
  case ScalarOp::Sigmoid:
    return approximateOverOnePlusExp(fill(x[0], 1), x[0]);
  case ScalarOp::Silu:
    return approximateOverOnePlusExp(x[0], x[0]);
  case ScalarOp::Div:
    return b.div(x[0], x[1], Rounding::Full);
  case ScalarOp::Tanh:
    return b.elementwise(Opcode::TanH, {x[0]}, {{"rounding_mode", Builder::of(Rounding::Approx)}});
  default:
    return Value();
  }
}

LogicalResult KernelLowering::lowerMap(tile::MapOp map) {
  llvm::SmallVector<Value> inputs;
  for (mlir::Value input : map.getInputs())
    inputs.push_back(get(input));
  // The last input has the type of the values; the first one may be a condition.
  mlir::Value last = map.getInputs().back();
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(last.getType()).getElementType();
  Value result =
      map.getFast() && element.isF32() ? approximate(map.getScalarOp(), inputs) : Value();
  if (!result)
    result = scalar(map.getScalarOp(), inputs, element);
  if (!result)
    return map.emitError("expected a primitive operation; tile-expand-math must run first");
  set(map, result);
  return success();
}

LogicalResult KernelLowering::lowerCast(tile::CastOp cast) {
  mlir::Type from = cast.getInput().getType().getElementType();
  mlir::Type to = cast.getType().getElementType();
  bool fromFloat = llvm::isa<mlir::FloatType>(from);
  Value input = get(cast.getInput());
  Signedness sign = signednessOf(fromFloat ? to : from);
  // fp8 types are storage types: every conversion goes through f32.
  if (isFloat8(from))
    input = fromFloat8(input, from);
  if (isFloat8(to)) {
    bool isWider = from.isF64() || (!fromFloat && from.getIntOrFloatBitWidth() >= 32);
    Value single = isWider ? roundToOddF32(b.convert(input, TypeKind::F64, sign))
                           : b.convert(input, TypeKind::F32, sign);
    set(cast, toFloat8(single, to));
    return success();
  }
  // Signed and unsigned integers of one width have the same type.
  set(cast, b.convert(input, kindOf(to), sign));
  return success();
}

} // namespace tessera::cudatile
