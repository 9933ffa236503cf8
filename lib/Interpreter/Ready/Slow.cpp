//===- Slow.cpp - Scalar operations by their definition -------------------===//
#include "Level.h"

#include "tessera/Support/ScalarEval.h"

using namespace tessera;
using namespace tessera::ready;

namespace {
/// The number i of a register.
double floatAt(const void *block, Compute type, int64_t i) {
  switch (type) {
  case Compute::F64:
    return static_cast<const double *>(block)[i];
  case Compute::F32:
    return static_cast<const float *>(block)[i];
  default: // the condition of `where`
    return static_cast<const uint8_t *>(block)[i];
  }
}

int64_t integerAt(const void *block, Compute type, int64_t i) {
  DType dtype = dtypeOf(type);
  const char *at = static_cast<const char *>(block) + i * dtypeBytes(dtype);
  return rt::decodeInteger(rt::loadBits(at, dtype), dtype);
}
} // namespace

void ready::evaluateSlowly(ScalarOp op, Compute type, void *result, const void *const *operands,
                           int64_t n) {
  const ScalarOpInfo &info = scalarOpInfo(op);
  bool isBool = info.rule == TypeRule::Compare || info.rule == TypeRule::Test;
  bool isFloat = type == Compute::F64 || type == Compute::F32;
  DType dtype = isBool ? DType::Bool : info.rule == TypeRule::Order ? DType::Int64 : dtypeOf(type);
  auto typeOf = [&](unsigned k) {
    return info.rule == TypeRule::Select && k == 0 ? Compute::B8 : type;
  };
  IntegerFormat format{type == Compute::B8 ? 1 : unsigned(dtypeBytes(dtypeOf(type)) * 8),
                       type != Compute::U8 && type != Compute::B8};
  char *to = static_cast<char *>(result);
  for (int64_t i = 0; i < n; ++i, to += dtypeBytes(dtype)) {
    uint64_t bits;
    if (isFloat) {
      double x[3] = {};
      for (unsigned k = 0; k < info.arity; ++k)
        x[k] = floatAt(operands[k], typeOf(k), i);
      if (op == ScalarOp::OrderKey) {
        bits = uint64_t(orderKey(x[0], type == Compute::F64));
      } else {
        double value = evaluateFloat(op, x);
        bits = isBool ? value != 0 : rt::encodeFloat(value, dtype);
      }
    } else {
      int64_t x[3] = {};
      for (unsigned k = 0; k < info.arity; ++k)
        x[k] = integerAt(operands[k], typeOf(k), i);
      bits = rt::encodeInteger(evaluateInteger(op, x, format), dtype);
    }
    rt::storeBits(to, bits, dtype);
  }
}

float ready::decodeSlowly(uint8_t bits, DType dtype) { return float(rt::decodeFloat(bits, dtype)); }
uint8_t ready::encodeSlowly(float value, DType dtype) {
  return uint8_t(rt::encodeFloat(value, dtype));
}
