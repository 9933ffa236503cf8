//===- ScalarEval.h - Evaluation of scalar operations -----------*- C++ -*-===//
//
// Defines the scalar operations on numbers, in one file: constant folding and the reference
// interpreter use it, and code generators are tested against it.
//
// Integer operations that are undefined in C are defined here: results wrap around, x // 0 is 0
// with the remainder x, and a shift by a negative amount or by at least the width shifts all bits
// out.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_SUPPORT_SCALAREVAL_H
#define TESSERA_SUPPORT_SCALAREVAL_H

#include "tessera/Support/ScalarOps.h"

namespace tessera {

/// An integer element type. Bool has width 1 and no sign; its sum is `or`, its product `and`.
struct IntegerFormat {
  unsigned width;
  bool isSigned;

  bool isBool() const { return width == 1; }
  /// The value modulo 2^width, in this type's range.
  int64_t wrap(int64_t value) const;
};

/// Evaluates an operation on floating-point operands, in double. Comparisons and tests return 0 or
/// 1, and the condition of `where` is 0 or 1.
double evaluateFloat(ScalarOp op, const double *x);

/// Evaluates an operation on integer or bool operands (also `where`'s condition); the result is
/// wrapped to the format, or 0 or 1 for comparisons.
int64_t evaluateInteger(ScalarOp op, const int64_t *x, IntegerFormat format);

/// `order_key` of a number in fp64, or in fp32 as for all other types.
int64_t orderKey(double x, bool isDouble);

/// The error bound of a conforming floating-point implementation, in multiples of the unit roundoff
/// u of its type (2^-24 for f32): |computed - exact| <= u * scalarErrorUnits(op, x, exact),
/// underflow aside. Basic arithmetic is correctly rounded; the elementary functions are accurate to
/// 4 ulp (8 u) of the result, or of the scale that the definition states.
double scalarErrorUnits(ScalarOp op, const double *x, double exact);

} // namespace tessera

#endif
