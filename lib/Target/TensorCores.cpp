//===- TensorCores.cpp - The shapes and types of mma.sync -----------------===//
#include "tessera/Target/TensorCores.h"

#include <algorithm>

namespace tessera {

std::span<const TensorCoreShape> tensorCoreShapes() {
  using enum GpuFeature;
  constexpr std::string_view fp8 = "e4m3 e5m2", small = "e4m3 e5m2 e3m2 e2m3 e2m1";
  static constexpr TensorCoreShape shapes[] = {
      {8, 8, 4, "f16", "f16 f32", MmaFp16, 64, "", true},
      {16, 8, 8, "f16", "f16 f32", MmaFp16K8, 65, "", false},
      {16, 8, 16, "f16", "f16 f32", MmaFp16K16, 70, "", false},
      {16, 8, 8, "bf16", "f32", MmaBf16, 70, "", false},
      {16, 8, 16, "bf16", "f32", MmaBf16, 70, "", false},
      {16, 8, 4, "tf32", "f32", MmaTf32, 70, "", false},
      {16, 8, 8, "tf32", "f32", MmaTf32, 70, "", false},
      {8, 8, 16, "s8 u8", "s32", MmaInt8, 65, "", false},
      {16, 8, 16, "s8 u8", "s32", MmaInt8M16, 70, "", false},
      {16, 8, 32, "s8 u8", "s32", MmaInt8M16, 70, "", false},
      {8, 8, 4, "f64", "f64", MmaFp64, 70, "", false},
      {16, 8, 4, "f64", "f64", MmaFp64M16, 78, "", false},
      {16, 8, 8, "f64", "f64", MmaFp64M16, 78, "", false},
      {16, 8, 16, "f64", "f64", MmaFp64M16, 78, "", false},
      {16, 8, 32, fp8, "f32", MmaFp8, 84, "", false},
      {16, 8, 32, small, "f32", MmaFp6Fp4, 87, ".kind::f8f6f4", false},
  };
  return shapes;
}

bool hasType(std::string_view list, std::string_view type) {
  for (size_t at = 0; at <= list.size();) {
    size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == type)
      return true;
    at = end + 1;
  }
  return false;
}

/// Each quad pair of a warp computes an m8n8k4 MMA of f16 by itself, so a thread holds four times
/// the share that it has of a warp-level MMA. Elements of 6 and 4 bits are stored in bytes.
int TensorCoreShape::registers(int elements, std::string_view type) const {
  // f64 counts as 32 bits here: a 64-bit register counts as one.
  int bits = type == "f64" || type == "f32" || type == "s32" || type == "tf32" ? 32
             : type == "f16" || type == "bf16"                                 ? 16
                                                                               : 8;
  int copies = anyLayout ? 4 : 1;
  return copies * elements * bits / (32 * 32);
}

std::string TensorCoreShape::name() const {
  return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k);
}

} // namespace tessera
