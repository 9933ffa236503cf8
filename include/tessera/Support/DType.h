//===- DType.h - The element types of programs -----------------*- C++ -*-===//
#ifndef TESSERA_SUPPORT_DTYPE_H
#define TESSERA_SUPPORT_DTYPE_H

#include <cstdint>

namespace tessera {

/// The element types of programs; the numbers are those of tessera_rt_dtype, and of the runtime's
/// own rt::DType.
enum class DType : uint8_t {
  FP64,
  FP32,
  BF16,
  FP16,
  Int64,
  Int32,
  Int16,
  Int8,
  UInt8,
  Bool,
  FP8E4M3,
  FP8E5M2,
};
inline constexpr unsigned numDTypes = 12;

} // namespace tessera

#endif
