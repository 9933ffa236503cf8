//===- NativeMath.h - The scalar operations of targets ---------*- C++ -*-===//
//
// Every target has the primitive scalar operations. This table says which of the others a target
// computes itself, and which ones it may approximate in programs of narrow types. Passes expand the
// rest.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_NATIVEMATH_H
#define TESSERA_TARGET_NATIVEMATH_H

#include "tessera/Support/ScalarOps.h"
#include "tessera/Target/CpuDescription.h"
#include "tessera/Target/GpuFeatures.h"

#include <span>

namespace tessera {

/// An operation that a target computes itself.
struct NativeOp {
  ScalarOp op;
  bool isApprox = false;                            ///< only on f32, where a map is marked `fast`
  bool withoutF64 = false;                          ///< only in modules that compute nothing in f64
  std::optional<GpuFeature> feature = std::nullopt; ///< only on chips that have it
};

/// What becomes of the powers that the compiler itself marks `fast`, the weights of streams, in
/// functions that may not be approximated.
enum class WeightMath {
  Fast,    ///< they stay marked: the approximation has the digits of f32
  Exact,   ///< they lose the mark
  Expanded ///< they are expanded to 2.1 ulp
};

struct NativeMath {
  std::span<const NativeOp> native;
  /// The operations that have an approximation.
  std::span<const ScalarOp> approximated;
  /// Those whose approximation has the digits of f16, and not only those of bf16.
  std::span<const ScalarOp> approximatedF16 = {};
  WeightMath weights = WeightMath::Fast;
};

const NativeMath &ptxMath();
const NativeMath &cudaTileMath();
const NativeMath &cpuMath(const CpuDescription &cpu);

} // namespace tessera

#endif
