//===- TensorCores.h - The shapes and types of mma.sync --------*- C++ -*-===//
#ifndef TESSERA_SUPPORT_TENSORCORES_H
#define TESSERA_SUPPORT_TENSORCORES_H

#include "tessera/Support/GpuFeatures.h"

namespace tessera {

/// A product of an m x k by a k x n matrix that a warp makes at once. Types are named as PTX does.
struct TensorCoreShape {
  int m, n, k;
  std::string_view operands; ///< the types that a and b may have, each its own: "s8 u8"
  std::string_view sums;     ///< those of c and d, which are the same
  std::string_view feature;  ///< of GpuFeatures.h: which chips have it
  unsigned ptxVersion;       ///< the first version of PTX: 84 is 8.4
  std::string_view kind;     ///< a qualifier, ".kind::f8f6f4"
  bool anyLayout;            ///< a and b may be by rows or by columns; otherwise "row.col"

  /// The registers of a thread: of 32 bits with several elements, of 64 bits for f64.
  int registersOfA(std::string_view type) const { return registers(m * k, type); }
  int registersOfB(std::string_view type) const { return registers(k * n, type); }
  int registersOfSum(std::string_view type) const { return registers(m * n, type); }
  /// "m16n8k16"
  std::string name() const;

private:
  int registers(int elements, std::string_view type) const;
};

std::span<const TensorCoreShape> tensorCoreShapes();

/// Whether a list of types ("s8 u8") has one.
bool hasType(std::string_view list, std::string_view type);

} // namespace tessera

#endif
