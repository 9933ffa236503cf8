//===- TensorCores.h - The shapes and types of mma.sync --------*- C++ -*-===//
#ifndef TESSERA_TARGET_TENSORCORES_H
#define TESSERA_TARGET_TENSORCORES_H

#include "tessera/Target/GpuFeatures.h"

#include <span>

namespace tessera {

/// A warp-level MMA of an m x k by a k x n matrix. Types are named as in PTX.
struct TensorCoreShape {
  int m, n, k;
  std::string_view operands;     ///< the types of a and b, each chosen by itself: "s8 u8"
  std::string_view accumulators; ///< the types of c and d, which are equal
  GpuFeature feature;            ///< which chips have the shape
  unsigned ptxVersion;           ///< the first version of PTX: 84 is 8.4
  std::string_view kind;         ///< a qualifier, ".kind::f8f6f4"
  bool anyLayout;                ///< a and b may each be "row" or "col"; otherwise "row.col"

  /// Registers of a thread: 32 bits with several elements, or one f64.
  int registersOfA(std::string_view type) const { return registers(m * k, type); }
  int registersOfB(std::string_view type) const { return registers(k * n, type); }
  int registersOfAccumulator(std::string_view type) const { return registers(m * n, type); }
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
