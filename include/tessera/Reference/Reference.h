//===- Reference.h - The reference interpreter of Graph IR -----*- C++ -*-===//
//
// Evaluates a graph function operation by operation on the host: floats in double, integers and
// bools exactly in their own types. It is the oracle of every numerical test, so each
// floating-point element also has a bound: how far the result of a correct kernel may be from it,
// derived from the operations that compute it.
//
//   inputs             bound 0
//   an operation       the operands' bounds propagated through the function, over the whole
//   interval
//                      v ± e, plus its own error: the unit roundoff u of the computation type times
//                      the error bound of ScalarEval.h, plus one rounding to a 16-bit element type,
//                      since a kernel may round there or keep the wider type
//   a sum of n terms   2 (n + 8) u times the sum of magnitudes: any order, any blocking, and the
//                      rescaling of a streamed sum; products of n terms likewise
//   an explicit cast   rounds value and interval
//
// An element is uncertain if its interval crosses a discontinuity (a comparison, floor, a pole), if
// it depends on the sign of a zero, if a finite computation may overflow, or if a masked element
// (0 * inf, 0 * nan) may or may not be evaluated. Such elements are excluded from comparisons and
// counted. Uncertainty propagates like an infinite bound.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_REFERENCE_REFERENCE_H
#define TESSERA_REFERENCE_REFERENCE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Support/LLVM.h"
#include "tessera/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::reference {

/// The nearest value of a floating-point type.
double roundTo(DType dtype, double value);

/// A strided tensor in host memory; strides count elements and may be negative or zero.
struct HostTensor {
  DType dtype;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  const void *data;
};

/// A tensor in row-major order. Floats are in `values` with `bounds`; integers and bools are in
/// `integers`.
struct Result {
  DType dtype;
  std::vector<int64_t> sizes;
  std::vector<double> values;
  std::vector<double> bounds;
  std::vector<int64_t> integers;
  std::vector<uint8_t> uncertain;

  int64_t size() const { return int64_t(uncertain.size()); }
};

/// Evaluates `function` on arguments that match its parameters. Symbolic sizes are bound from the
/// arguments' shapes; `symbols` gives those that no shape determines. Failures are reported at the
/// operation that could not be evaluated.
mlir::FailureOr<std::vector<Result>> evaluate(mlir::func::FuncOp function,
                                              llvm::ArrayRef<HostTensor> arguments,
                                              const llvm::StringMap<int64_t> &symbols = {});

/// The comparison of a computed tensor with the reference.
struct Comparison {
  int64_t checked = 0;     ///< elements compared
  int64_t uncertain = 0;   ///< elements excluded
  int64_t wrong = 0;       ///< elements outside their bound
  int64_t firstWrong = -1; ///< row-major position
  double worst = 0;        ///< largest error relative to its bound, over all compared elements

  bool ok() const { return wrong == 0; }
};

Comparison compare(const Result &expected, const HostTensor &computed);

} // namespace tessera::reference

#endif
