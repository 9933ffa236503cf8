//===- Tensor.h - Values of the reference interpreter ----------*- C++ -*-===//
//
// A value is a contiguous row-major tensor. Floats have a value and a bound, and an infinite bound
// means uncertain; integers and bools have a value and an uncertainty flag.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_REFERENCE_TENSOR_H
#define TESSERA_LIB_REFERENCE_TENSOR_H

#include "tessera/Reference/Reference.h"
#include "tessera/Support/ScalarEval.h"

#include "llvm/ADT/SmallVector.h"

#include <limits>
#include <memory>

namespace tessera::reference {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Sizes = llvm::SmallVector<int64_t, 6>;

int64_t product(llvm::ArrayRef<int64_t> sizes);

/// A float and how far a correct kernel's value may be from it.
struct Approximation {
  double value;
  double bound;

  static Approximation uncertain(double value) { return {value, kInfinity}; }
};

struct Tensor {
  Tensor(DType dtype, llvm::ArrayRef<int64_t> sizes);

  Approximation get(int64_t i) const { return {values[i], bounds[i]}; }
  void set(int64_t i, Approximation x) { values[i] = x.value, bounds[i] = x.bound; }
  bool isFloat() const { return tessera::isFloat(dtype); }
  int64_t size() const { return isFloat() ? values.size() : integers.size(); }

  DType dtype;
  Sizes sizes;
  std::vector<double> values, bounds;
  std::vector<int64_t> integers;
  std::vector<uint8_t> uncertain;
};
using TensorRef = std::shared_ptr<const Tensor>;

/// The rounding of operations with a floating-point result type.
struct Rounding {
  double computeUnit;         ///< unit roundoff of the computation type, twice that for f64,
                              ///< where the reference itself rounds
  double storageUnit;         ///< unit roundoff of a narrower element type, otherwise 0
  double minNormal;           ///< below it errors are absolute
  double underflow;           ///< error there: a subnormal may be rounded or flushed to zero
  double max;                 ///< largest finite value
  double accumulatorMax;      ///< the same of the accumulation type
  double exactInteger;        ///< integers up to it are exact in sums
  double storedInteger = 256; ///< integers up to it are exact as elements

  /// The error of a result of this magnitude that is computed with `units` unit roundoffs.
  double error(double units, double magnitude) const {
    double computed = units * computeUnit;
    return computed + storageUnit * (magnitude + computed) +
           (magnitude < 4 * minNormal ? underflow : 0);
  }
  /// The constant of a sum or contraction of n terms, times the sum of magnitudes.
  double sumUnit(int64_t n) const { return 2 * double(n + 8) * computeUnit; }
  /// Marks values that may overflow as uncertain.
  Approximation checked(Approximation x) const;
};
const Rounding &roundingOf(DType dtype);
IntegerFormat formatOf(DType dtype);

// The operations; callers guarantee element counts and types.
/// With `mayApproximate`, functions may be approximated (tile-fast-math).
TensorRef mapTensors(ScalarOp op, DType dtype, llvm::ArrayRef<TensorRef> inputs,
                     bool mayApproximate = false);
TensorRef castTensor(const TensorRef &input, DType dtype, bool isExplicit);
/// The floats of a tensor, each of which may be rounded to this many binary digits.
TensorRef perhapsRounded(const TensorRef &input, unsigned digits);
/// Reduces rows of `length` elements; the result has `sizes`.
TensorRef reduceRows(ReduceOp op, DType dtype, const Tensor &input, llvm::ArrayRef<int64_t> sizes,
                     int64_t length);
/// The tensor with sources added at indices along `dim`; indices out of range are ignored.
TensorRef addAtPlaces(const Tensor &input, const Tensor &sources, const Tensor &indices,
                      int64_t dim);
/// The tensor of these sizes whose rows have the sources at indices along the last dimension;
/// indices out of range are ignored, and elements without a source are uncertain.
TensorRef putAtPlaces(const Tensor &sources, const Tensor &indices, llvm::ArrayRef<int64_t> sizes);
/// The indices that sort the rows, or the first of them; uncertain where elements that may be equal
/// would change places.
TensorRef sortRows(const Tensor &input, bool descending, std::optional<int64_t> first);
/// Integer rows in ascending order; uncertain where one of their elements is.
TensorRef sortIntegers(const Tensor &input);
/// The inclusive scan along a dimension.
TensorRef scanTensor(ReduceOp op, DType dtype, const Tensor &input, unsigned dim);
/// The same over elements of one key each; keys outside of [0, below) count as the last.
TensorRef scanByKey(ReduceOp op, const Tensor &input, const Tensor &keys, unsigned dim,
                    int64_t below);
/// Sums over k of lhs[b, m, k] * rhs[b, n, k].
TensorRef contractTensors(DType dtype, const Tensor &lhs, const Tensor &rhs,
                          llvm::ArrayRef<int64_t> sizes, int64_t batch, int64_t m, int64_t n,
                          int64_t k);

} // namespace tessera::reference

#endif
