//===- Harness.h - Running interpreted programs in tests -------*- C++ -*-===//
#ifndef TESSERA_UNITTESTS_INTERPRETER_HARNESS_H
#define TESSERA_UNITTESTS_INTERPRETER_HARNESS_H

#include "../Reference/Programs.h"

#include "tessera/Interpreter/ReadyKernels.h"

#include <random>

namespace tessera::test {

/// A tensor in host memory that owns its elements. Strides count elements.
struct Array {
  Array(DType dtype, std::vector<int64_t> sizes);
  /// Random elements: normal numbers with some zeros and infinities, small integers.
  static Array random(DType dtype, std::vector<int64_t> sizes, std::mt19937 &random);
  /// The same elements behind other strides: dimensions are stored in this order, with gaps.
  Array permuted(const std::vector<unsigned> &order) const;

  void set(int64_t index, double value);
  double get(int64_t index) const;
  int64_t count() const;
  operator reference::HostTensor() const { return {dtype, sizes, strides, bytes.data()}; }
  tessera_rt_value value() const;

  DType dtype;
  std::vector<int64_t> sizes, strides;
  std::vector<char> bytes;
};

/// The results of a function, interpreted with the ready kernels of a level. Fails the test if
/// there are none; `message` gets that of a call that failed.
std::vector<Array> interpretOn(mlir::func::FuncOp function, const std::vector<Array> &arguments,
                               const char *level, std::string *message = nullptr);

/// Compares every level's results with the reference; says what differs.
std::string compareWithReference(mlir::func::FuncOp function, const std::vector<Array> &arguments,
                                 int64_t *checked = nullptr);

/// The same for the one function of a module's text.
std::string compareWithReference(const std::string &text, const std::vector<Array> &arguments);

} // namespace tessera::test

#endif
