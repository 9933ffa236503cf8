//===- ArgumentSpec.h - What `--arg` says ---------------------------------===//
//
//   q=fp16[2,16,1024,64]    a tensor: type and sizes; `fp16[]` has no dimensions
//   x=fp32[64,8:2]          8 elements along the last dimension, two apart: a strided view
//   x=fp32[64,8:-1]         reversed
//   x=fp32[S,64]            any number of rows; x=fp32[16*S,64]: any multiple of 16
//   n=3  scale=0.5  on=true scalars
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TOOLS_TESSERA_ARGUMENTSPEC_H
#define TESSERA_TOOLS_TESSERA_ARGUMENTSPEC_H

#include "tessera-c/tessera.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

struct ArgumentSpec {
  std::string name;
  tessera_argument_kind kind = TESSERA_ARGUMENT_TENSOR;

  // Tensors.
  static constexpr int64_t anySize = -1;
  tessera_rt_dtype dtype = TESSERA_RT_FP32;
  std::vector<int64_t> sizes;    // or anySize
  std::vector<int64_t> divisors; // of those that are any size; 0: as the size's class says
  std::vector<int64_t> steps;    // along each dimension, in elements of the memory behind the view

  // Scalars.
  int64_t integer = 0;
  double real = 0;

  /// Strides in elements of a view with these steps over dense memory.
  std::vector<int64_t> strides() const;
  int64_t elementCount() const;
  /// Whether a size is not known: such an argument can be compiled for, but not made up.
  bool hasAnySize() const;
  /// Elements of the memory behind the view, and the place of the view's first element in it;
  /// a negative count does not fit into 64 bits.
  int64_t memoryCount() const;
  int64_t firstElement() const;
};

std::string_view dtypeName(int32_t dtype);
int64_t dtypeBytes(int32_t dtype);

/// "fp32[2, 64]", as in LANGUAGE.md.
std::string typeText(int32_t dtype, const int64_t *sizes, int32_t rank);

/// Reads one `--arg`; on failure `error` says what was expected.
bool parseArgument(std::string_view text, ArgumentSpec &spec, std::string &error);

} // namespace tessera::cli

#endif // TESSERA_TOOLS_TESSERA_ARGUMENTSPEC_H
