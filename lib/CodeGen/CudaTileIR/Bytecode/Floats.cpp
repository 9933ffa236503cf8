//===- Floats.cpp - Floating-point formats of any width -------------------===//
//
// Numbers are converted through double, which holds every value of the smaller formats. The formats
// differ in the meaning of their largest exponent: IEEE formats reserve it for infinities and NaN,
// e4m3 reserves only its last pattern for NaN, e2m1 reserves nothing, and e8m0 is an exponent
// alone.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/CudaTileIR/Bytecode/Operations.h"
#include <bit>
#include <cmath>
#include <limits>

using namespace tessera::cudatile;

namespace {
struct Format {
  int exponentBits, mantissaBits, bias;
  bool hasSign, hasInfinity, hasNan;

  uint64_t allOnes() const { return (uint64_t(1) << (exponentBits + mantissaBits)) - 1; }
  uint64_t infinity() const { return ((uint64_t(1) << exponentBits) - 1) << mantissaBits; }
  uint64_t nan() const {
    return hasInfinity ? infinity() | uint64_t(1) << (mantissaBits - 1) : allOnes();
  }
  uint64_t largest() const {
    return hasInfinity ? infinity() - 1 : hasNan ? allOnes() - 1 : allOnes();
  }
};
} // namespace

static Format formatOf(TypeKind kind) {
  const TypeSpec &spec = typeSpec(kind);
  bool hasSign = kind != TypeKind::E8M0 && kind != TypeKind::UE5M3;
  bool hasInfinity = spec.bits > 8 || kind == TypeKind::E5M2;
  return {spec.exponent,
          spec.bits - spec.exponent - hasSign,
          (1 << (spec.exponent - 1)) - 1,
          hasSign,
          hasInfinity,
          kind != TypeKind::E2M1};
}

uint64_t tessera::cudatile::encodeFloat(TypeKind kind, double value) {
  if (kind == TypeKind::F64)
    return std::bit_cast<uint64_t>(value);
  if (kind == TypeKind::F32)
    return std::bit_cast<uint32_t>(float(value));
  Format format = formatOf(kind);
  uint64_t sign = format.hasSign && std::signbit(value) ? format.allOnes() + 1 : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | format.nan();
  if (std::isinf(value))
    return sign | (format.hasInfinity ? format.infinity() : format.largest());
  if (magnitude == 0)
    return sign;
  // The unit in the last place; subnormal numbers share that of the smallest normal ones.
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  if (kind == TypeKind::E8M0)
    exponent = std::max(std::ilogb(magnitude), -format.bias);
  double units = std::nearbyint(std::scalbn(magnitude, format.mantissaBits - exponent));
  uint64_t whole = uint64_t(units);
  // The addition lets a mantissa that was rounded up carry into the exponent.
  uint64_t bits = kind == TypeKind::E8M0
                      ? uint64_t(exponent + format.bias) + (whole > 1)
                      : (uint64_t(exponent + format.bias - 1) << format.mantissaBits) + whole;
  if (bits > format.largest())
    bits = format.hasInfinity ? format.infinity() : format.largest();
  return sign | bits;
}

double tessera::cudatile::decodeFloat(TypeKind kind, uint64_t bits) {
  if (kind == TypeKind::F64)
    return std::bit_cast<double>(bits);
  if (kind == TypeKind::F32)
    return std::bit_cast<float>(uint32_t(bits));
  Format format = formatOf(kind);
  double sign = format.hasSign && (bits & (format.allOnes() + 1)) ? -1 : 1;
  bits &= format.allOnes();
  if (format.hasInfinity && bits == format.infinity())
    return sign * std::numeric_limits<double>::infinity();
  if (format.hasNan && bits > format.largest())
    return std::numeric_limits<double>::quiet_NaN();
  if (kind == TypeKind::E8M0)
    return std::scalbn(1.0, int(bits) - format.bias);
  int exponent = int(bits >> format.mantissaBits);
  uint64_t mantissa = bits & ((uint64_t(1) << format.mantissaBits) - 1);
  if (exponent)
    mantissa |= uint64_t(1) << format.mantissaBits;
  return sign *
         std::scalbn(double(mantissa), std::max(exponent, 1) - format.bias - format.mantissaBits);
}
