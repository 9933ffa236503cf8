//===- dtype.h - The element types of programs ----------------------------===//
//
// What the runtime, the compiler and the Python package know about an element type follows from
// one table, dtypes.def.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_DTYPE_H
#define TESSERA_RT_DTYPE_H

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace tessera::rt {

/// Element types; the values are those of tessera_rt_dtype.
enum class DType : uint8_t {
#define TESSERA_FLOAT(Enum, ...) Enum,
#define TESSERA_INTEGER(Enum, ...) Enum,
#include "tessera_rt/dtypes.def"
};

struct DTypeInfo {
  const char *name;    ///< the language's
  const char *library; ///< NumPy's, PyTorch's and ml_dtypes'
  const char *cpp;     ///< of an element in C++
  uint8_t dlpackCode;
  uint8_t bits; ///< 1 of a bool, which is stored as a byte
  bool isFloat;
  bool isSigned;
  // Floats.
  uint8_t exponentBits, fractionBits;
  bool hasInfinities;
  uint8_t digits; ///< of a printed element

  constexpr int64_t bytes() const { return bits < 8 ? 1 : bits / 8; }
};

inline constexpr DTypeInfo dtypeInfos[] = {
#define TESSERA_FLOAT(Enum, name, library, dlpack, cpp, mlir, exponent, fraction, infinities,      \
                      digits)                                                                      \
  {name,     library,  cpp,        dlpack, 1 + exponent + fraction, true, true,                    \
   exponent, fraction, infinities, digits},
#define TESSERA_INTEGER(Enum, name, library, dlpack, cpp, bits, isSigned)                          \
  {name, library, cpp, dlpack, bits, false, isSigned, 0, 0, false, 0},
#include "tessera_rt/dtypes.def"
};
inline constexpr unsigned numDTypes = sizeof dtypeInfos / sizeof *dtypeInfos;

constexpr const DTypeInfo &dtypeInfo(DType dtype) {
  return dtypeInfos[static_cast<unsigned>(dtype)];
}
constexpr int64_t dtypeBytes(DType dtype) { return dtypeInfo(dtype).bytes(); }
constexpr const char *dtypeName(DType dtype) { return dtypeInfo(dtype).name; }
constexpr bool isFloat(DType dtype) { return dtypeInfo(dtype).isFloat; }

/// The type with this name, the language's or that of array libraries.
constexpr std::optional<DType> dtypeByName(std::string_view name) {
  for (unsigned i = 0; i < numDTypes; ++i)
    if (name == dtypeInfos[i].name || name == dtypeInfos[i].library)
      return static_cast<DType>(i);
  return std::nullopt;
}

namespace detail {
/// Of formats with fewer bits than a float.
inline double decodeSmall(uint64_t bits, const DTypeInfo &info) {
  uint64_t exponents = (uint64_t(1) << info.exponentBits) - 1,
           fractions = (uint64_t(1) << info.fractionBits) - 1;
  uint64_t exponent = bits >> info.fractionBits & exponents, fraction = bits & fractions;
  int bias = static_cast<int>(exponents >> 1);
  double magnitude;
  if (exponent == exponents && (info.hasInfinities || fraction == fractions))
    magnitude = info.hasInfinities && fraction == 0 ? HUGE_VAL : std::nan("");
  else
    magnitude = std::ldexp(static_cast<double>(exponent ? fraction + fractions + 1 : fraction),
                           std::max(static_cast<int>(exponent), 1) - bias - info.fractionBits);
  return bits >> (info.bits - 1) & 1 ? -magnitude : magnitude;
}

inline uint64_t encodeSmall(double value, const DTypeInfo &info) {
  int fraction = info.fractionBits, exponent = info.exponentBits;
  uint64_t sign = std::bit_cast<uint64_t>(value) >> 63 << (fraction + exponent);
  uint64_t infinity = info.hasInfinities ? ((uint64_t(1) << exponent) - 1) << fraction
                                         : (uint64_t(1) << (exponent + fraction)) - 1;
  if (std::isnan(value))
    return sign | infinity | uint64_t(1) << (fraction - 1);
  double magnitude = std::fabs(value);
  if (std::isinf(value))
    return sign | infinity;
  if (magnitude == 0)
    return sign;
  int bias = (1 << (exponent - 1)) - 1;
  int scale =
      std::max(std::ilogb(magnitude), 1 - bias); // subnormal numbers share the smallest exponent
  // In units of the last place; the default rounding mode is to nearest even.
  double units = std::nearbyint(std::scalbn(magnitude, fraction - scale));
  uint64_t encoded =
      (static_cast<uint64_t>(scale + bias - 1) << fraction) + static_cast<uint64_t>(units);
  // A carry out of the significand propagates into the exponent.
  return sign | std::min(encoded, infinity);
}
} // namespace detail

/// The number that the bits of a float encode.
inline double decodeFloat(uint64_t bits, DType dtype) {
  switch (dtype) {
  case DType::FP64:
    return std::bit_cast<double>(bits);
  case DType::FP32:
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  case DType::BF16:
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  default:
    return detail::decodeSmall(bits, dtypeInfo(dtype));
  }
}

/// The bits of the nearest float, ties to even, with subnormal numbers. A number that is too large
/// is infinite, or NaN where the type has no infinities.
inline uint64_t encodeFloat(double value, DType dtype) {
  switch (dtype) {
  case DType::FP64:
    return std::bit_cast<uint64_t>(value);
  case DType::FP32:
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  default:
    return detail::encodeSmall(value, dtypeInfo(dtype));
  }
}

/// The number that the bits of an integer encode.
inline int64_t decodeInteger(uint64_t bits, DType dtype) {
  const DTypeInfo &info = dtypeInfo(dtype);
  if (dtype == DType::Bool)
    return (bits & 0xff) != 0;
  unsigned unused = 64 - info.bits;
  return info.isSigned ? static_cast<int64_t>(bits << unused) >> unused
                       : static_cast<int64_t>(bits << unused >> unused);
}

/// The low bits of an integer; of a bool whether it is not 0.
inline uint64_t encodeInteger(int64_t value, DType dtype) {
  if (dtype == DType::Bool)
    return value != 0;
  return static_cast<uint64_t>(value) & (~uint64_t(0) >> (64 - dtypeInfo(dtype).bits));
}

/// The bits of an element in memory.
inline uint64_t loadBits(const void *element, DType dtype) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t bits = 0;
  std::memcpy(&bits, element, static_cast<size_t>(dtypeBytes(dtype)));
  return bits;
}

inline void storeBits(void *element, uint64_t bits, DType dtype) {
  std::memcpy(element, &bits, static_cast<size_t>(dtypeBytes(dtype)));
}

} // namespace tessera::rt

#endif
