//===- TensorCores.cpp - The shapes and types of mma.sync -----------------===//
#include "tessera/Support/TensorCores.h"

#include <algorithm>

namespace tessera {

std::span<const TensorCoreShape> tensorCoreShapes() {
  constexpr std::string_view fp8 = "e4m3 e5m2", small = "e4m3 e5m2 e3m2 e2m3 e2m1";
  static constexpr TensorCoreShape shapes[] = {
      {8, 8, 4, "f16", "f16 f32", "mma fp16", 64, "", true},
      {16, 8, 8, "f16", "f16 f32", "mma fp16 m16n8k8", 65, "", false},
      {16, 8, 16, "f16", "f16 f32", "mma fp16 m16n8k16", 70, "", false},
      {16, 8, 8, "bf16", "f32", "mma bf16", 70, "", false},
      {16, 8, 16, "bf16", "f32", "mma bf16", 70, "", false},
      {16, 8, 4, "tf32", "f32", "mma tf32", 70, "", false},
      {16, 8, 8, "tf32", "f32", "mma tf32", 70, "", false},
      {8, 8, 16, "s8 u8", "s32", "mma int8", 65, "", false},
      {16, 8, 16, "s8 u8", "s32", "mma int8 m16n8", 70, "", false},
      {16, 8, 32, "s8 u8", "s32", "mma int8 m16n8", 70, "", false},
      {8, 8, 4, "f64", "f64", "mma fp64", 70, "", false},
      {16, 8, 4, "f64", "f64", "mma fp64 m16n8", 78, "", false},
      {16, 8, 8, "f64", "f64", "mma fp64 m16n8", 78, "", false},
      {16, 8, 16, "f64", "f64", "mma fp64 m16n8", 78, "", false},
      {16, 8, 32, fp8, "f32", "mma fp8", 84, "", false},
      {16, 8, 32, small, "f32", "mma fp6 fp4", 87, ".kind::f8f6f4", false},
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

/// The quarters of a warp compute m8n8k4 of f16 each for themselves, so a thread holds four times its
/// share. Elements of 6 and 4 bits are stored in bytes.
int TensorCoreShape::registers(int elements, std::string_view type) const {
  // A register of f64 counts as one, too.
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
