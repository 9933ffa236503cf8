//===- Elementwise.cpp - Blocks of elementwise operations -----------------===//
//
// One loop for each operation and type, which clang vectorizes.
//
//===----------------------------------------------------------------------===//
#include "Level.h"

#include "Functions.h"

namespace tessera::ready::TESSERA_READY_LEVEL {

namespace {

#define READY_UNARY(NAME, EXPRESSION)                                                              \
  template <typename T>                                                                            \
  void NAME(void *result, const void *a, const void *, const void *, int64_t n) {                  \
    auto *to = static_cast<T *>(result);                                                           \
    auto *from = static_cast<const T *>(a);                                                        \
    for (int64_t i = 0; i < n; ++i) {                                                              \
      T x = from[i];                                                                               \
      to[i] = T(EXPRESSION);                                                                       \
    }                                                                                              \
  }
#define READY_BINARY(NAME, RESULT, EXPRESSION)                                                     \
  template <typename T>                                                                            \
  void NAME(void *result, const void *a, const void *b, const void *, int64_t n) {                 \
    auto *to = static_cast<RESULT *>(result);                                                      \
    auto *first = static_cast<const T *>(a), *second = static_cast<const T *>(b);                  \
    for (int64_t i = 0; i < n; ++i) {                                                              \
      T x = first[i], y = second[i];                                                               \
      to[i] = RESULT(EXPRESSION);                                                                  \
    }                                                                                              \
  }
#define READY_TEST(NAME, EXPRESSION)                                                               \
  template <typename T>                                                                            \
  void NAME(void *result, const void *a, const void *, const void *, int64_t n) {                  \
    auto *to = static_cast<uint8_t *>(result);                                                     \
    auto *from = static_cast<const T *>(a);                                                        \
    for (int64_t i = 0; i < n; ++i) {                                                              \
      T x = from[i];                                                                               \
      to[i] = uint8_t(EXPRESSION);                                                                 \
    }                                                                                              \
  }

// Any number.
READY_BINARY(addOp, T, x + y)
READY_BINARY(subOp, T, x - y)
READY_BINARY(mulOp, T, x *y)
READY_BINARY(maxOp, T, x > y || x != x ? x : y)
READY_BINARY(minOp, T, x < y || x != x ? x : y)
READY_BINARY(eqOp, uint8_t, x == y)
READY_BINARY(neOp, uint8_t, x != y)
READY_BINARY(ltOp, uint8_t, x < y)
READY_BINARY(leOp, uint8_t, x <= y)
READY_BINARY(gtOp, uint8_t, x > y)
READY_BINARY(geOp, uint8_t, x >= y)
READY_UNARY(negOp, -x)
READY_UNARY(squareOp, x *x)
READY_UNARY(reluOp, x < T(0) ? T(0) : x)

template <typename T>
void whereOp(void *result, const void *a, const void *b, const void *c, int64_t n) {
  auto *to = static_cast<T *>(result);
  auto *condition = static_cast<const uint8_t *>(a);
  auto *yes = static_cast<const T *>(b), *no = static_cast<const T *>(c);
  for (int64_t i = 0; i < n; ++i) {
    T x = yes[i], y = no[i];
    to[i] = condition[i] ? x : y;
  }
}

// Floats.
READY_BINARY(divOp, T, x / y)
READY_UNARY(absFloat, absolute(x))
READY_UNARY(signFloat, x != x ? x : T(x > T(0)) - T(x < T(0)))
READY_UNARY(expOp, expOf(x))
READY_UNARY(exp2Op, exp2Of(x))
READY_UNARY(logOp, logOf(x))
READY_UNARY(tanhOp, tanhOf(x))
READY_UNARY(erfOp, erfOf(x))
READY_UNARY(sigmoidOp, sigmoidOf(x))
READY_UNARY(siluOp, siluOf(x))
READY_UNARY(geluErfOp, geluErfOf(x))
READY_UNARY(geluTanhOp, geluTanhOf(x))
READY_UNARY(sqrtOp, squareRoot(x))
READY_UNARY(rsqrtOp, T(1) / squareRoot(x))
READY_UNARY(reciprocalOp, T(1) / x)
READY_UNARY(floorOp, __builtin_elementwise_floor(x))
READY_UNARY(ceilOp, __builtin_elementwise_ceil(x))
READY_UNARY(roundOp, __builtin_elementwise_rint(x))
READY_UNARY(truncOp, __builtin_elementwise_trunc(x))
READY_TEST(isNanOp, x != x)
READY_TEST(isInfOp, absolute(x) == T(__builtin_inff()))
READY_TEST(isFiniteOp, absolute(x) < T(__builtin_inff()))

// Functions of the C library.
#define READY_LIBRARY(NAME)                                                                        \
  inline float NAME##Of(float x) { return __builtin_##NAME##f(x); }                                \
  inline double NAME##Of(double x) { return __builtin_##NAME(x); }                                 \
  READY_UNARY(NAME##Op, NAME##Of(x))
READY_LIBRARY(expm1)
READY_LIBRARY(log1p)
READY_LIBRARY(log2)
READY_LIBRARY(sin)
READY_LIBRARY(cos)
READY_LIBRARY(tan)
READY_LIBRARY(asin)
READY_LIBRARY(acos)
READY_LIBRARY(atan)
READY_LIBRARY(sinh)
READY_LIBRARY(cosh)
READY_LIBRARY(erfc)
#undef READY_LIBRARY
inline float powOf(float x, float y) { return __builtin_powf(x, y); }
inline double powOf(double x, double y) { return __builtin_pow(x, y); }
READY_BINARY(powOp, T, powOf(x, y))

/// Sines, or cosines, of a block; large angles are left to the C library.
template <int quadrant>
void sinesOp(void *result, const void *a, const void *, const void *, int64_t n) {
  auto *to = static_cast<float *>(result);
  auto *from = static_cast<const float *>(a);
  int64_t others = 0;
  for (int64_t i = 0; i < n; ++i)
    others += !(absolute(from[i]) <= largestAngle);
  if (others)
    return quadrant ? cosOp<float>(result, a, nullptr, nullptr, n)
                    : sinOp<float>(result, a, nullptr, nullptr, n);
  for (int64_t i = 0; i < n; ++i)
    to[i] = sineOf(from[i], quadrant);
}

/// Powers of positive numbers by way of logarithms; others are left to the C library.
void powersOp(void *result, const void *a, const void *b, const void *, int64_t n) {
  auto *to = static_cast<float *>(result);
  auto *base = static_cast<const float *>(a), *exponent = static_cast<const float *>(b);
  int64_t others = 0;
  for (int64_t i = 0; i < n; ++i) {
    bool isUsual = base[i] >= 1e-30f && base[i] <= 1e30f && absolute(exponent[i]) <= 1e30f;
    others += !isUsual;
  }
  if (others)
    return powOp<float>(result, a, b, nullptr, n);
  for (int64_t i = 0; i < n; ++i)
    to[i] = expOf(exponent[i] * logOf(base[i]));
}

// Integers; bools are 0 or 1.
READY_UNARY(absInteger, x < T(0) ? -x : x)
READY_UNARY(signInteger, T(x > T(0)) - T(x < T(0)))
READY_BINARY(andOp, T, x &y)
READY_BINARY(orOp, T, x | y)
READY_BINARY(xorOp, T, x ^ y)
READY_UNARY(notOp, ~x)
READY_UNARY(notBool, x ^ 1)
READY_UNARY(identityOp, x)

/// Operations of every type but bool.
template <typename T> BlockFunction commonFunction(ScalarOp op) {
  switch (op) {
  case ScalarOp::Add:
    return addOp<T>;
  case ScalarOp::Sub:
    return subOp<T>;
  case ScalarOp::Mul:
    return mulOp<T>;
  case ScalarOp::Maximum:
    return maxOp<T>;
  case ScalarOp::Minimum:
    return minOp<T>;
  case ScalarOp::Neg:
    return negOp<T>;
  case ScalarOp::Square:
    return squareOp<T>;
  case ScalarOp::Relu:
    return reluOp<T>;
  case ScalarOp::Eq:
    return eqOp<T>;
  case ScalarOp::Ne:
    return neOp<T>;
  case ScalarOp::Lt:
    return ltOp<T>;
  case ScalarOp::Le:
    return leOp<T>;
  case ScalarOp::Gt:
    return gtOp<T>;
  case ScalarOp::Ge:
    return geOp<T>;
  case ScalarOp::Where:
    return whereOp<T>;
  default:
    return nullptr;
  }
}

template <typename T> BlockFunction floatFunction(ScalarOp op) {
  switch (op) {
  case ScalarOp::Div:
    return divOp<T>;
  case ScalarOp::Pow:
    return powOp<T>;
  case ScalarOp::Abs:
    return absFloat<T>;
  case ScalarOp::Sign:
    return signFloat<T>;
  case ScalarOp::Exp:
    return expOp<T>;
  case ScalarOp::Exp2:
    return exp2Op<T>;
  case ScalarOp::Expm1:
    return expm1Op<T>;
  case ScalarOp::Log:
    return logOp<T>;
  case ScalarOp::Log2:
    return log2Op<T>;
  case ScalarOp::Log1p:
    return log1pOp<T>;
  case ScalarOp::Sqrt:
    return sqrtOp<T>;
  case ScalarOp::Rsqrt:
    return rsqrtOp<T>;
  case ScalarOp::Reciprocal:
    return reciprocalOp<T>;
  case ScalarOp::Sin:
    return sinOp<T>;
  case ScalarOp::Cos:
    return cosOp<T>;
  case ScalarOp::Tan:
    return tanOp<T>;
  case ScalarOp::Asin:
    return asinOp<T>;
  case ScalarOp::Acos:
    return acosOp<T>;
  case ScalarOp::Atan:
    return atanOp<T>;
  case ScalarOp::Sinh:
    return sinhOp<T>;
  case ScalarOp::Cosh:
    return coshOp<T>;
  case ScalarOp::Tanh:
    return tanhOp<T>;
  case ScalarOp::Erf:
    return erfOp<T>;
  case ScalarOp::Erfc:
    return erfcOp<T>;
  case ScalarOp::Floor:
    return floorOp<T>;
  case ScalarOp::Ceil:
    return ceilOp<T>;
  case ScalarOp::Round:
    return roundOp<T>;
  case ScalarOp::Trunc:
    return truncOp<T>;
  case ScalarOp::Sigmoid:
    return sigmoidOp<T>;
  case ScalarOp::Silu:
    return siluOp<T>;
  case ScalarOp::GeluErf:
    return geluErfOp<T>;
  case ScalarOp::GeluTanh:
    return geluTanhOp<T>;
  case ScalarOp::IsNan:
    return isNanOp<T>;
  case ScalarOp::IsInf:
    return isInfOp<T>;
  case ScalarOp::IsFinite:
    return isFiniteOp<T>;
  default:
    return commonFunction<T>(op);
  }
}

template <typename T> BlockFunction integerFunction(ScalarOp op) {
  switch (op) {
  case ScalarOp::Abs:
    return absInteger<T>;
  case ScalarOp::Sign:
    return signInteger<T>;
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
  case ScalarOp::Trunc:
    return identityOp<T>;
  case ScalarOp::And:
    return andOp<T>;
  case ScalarOp::Or:
    return orOp<T>;
  case ScalarOp::Xor:
    return xorOp<T>;
  case ScalarOp::Not:
    return notOp<T>;
  default:
    return commonFunction<T>(op);
  }
}

BlockFunction boolFunction(ScalarOp op) {
  switch (op) {
  case ScalarOp::Add:
  case ScalarOp::Or:
  case ScalarOp::Maximum:
    return orOp<uint8_t>;
  case ScalarOp::Mul:
  case ScalarOp::And:
  case ScalarOp::Minimum:
    return andOp<uint8_t>;
  case ScalarOp::Xor:
    return xorOp<uint8_t>;
  case ScalarOp::Not:
    return notBool<uint8_t>;
  case ScalarOp::Eq:
    return eqOp<uint8_t>;
  case ScalarOp::Ne:
    return neOp<uint8_t>;
  case ScalarOp::Where:
    return whereOp<uint8_t>;
  default:
    return nullptr;
  }
}

template <typename To, typename From>
void castOp(void *result, const void *a, const void *, const void *, int64_t n) {
  auto *to = static_cast<To *>(result);
  auto *from = static_cast<const From *>(a);
  for (int64_t i = 0; i < n; ++i)
    to[i] = To(from[i]);
}
template <typename From>
void castToBool(void *result, const void *a, const void *, const void *, int64_t n) {
  auto *to = static_cast<uint8_t *>(result);
  auto *from = static_cast<const From *>(a);
  for (int64_t i = 0; i < n; ++i)
    to[i] = from[i] != From(0);
}
/// Narrow integers by way of one that holds what the others do: a number that is too large wraps.
template <typename To, typename From>
void castThroughInt(void *result, const void *a, const void *, const void *, int64_t n) {
  auto *to = static_cast<To *>(result);
  auto *from = static_cast<const From *>(a);
  for (int64_t i = 0; i < n; ++i)
    to[i] = To(int32_t(from[i]));
}

template <typename From> BlockFunction castFrom(Compute to) {
  constexpr bool isFloat = From(0.5) != From(0);
  switch (to) {
  case Compute::F64:
    return castOp<double, From>;
  case Compute::F32:
    return castOp<float, From>;
  case Compute::I64:
    return castOp<int64_t, From>;
  case Compute::I32:
    return castOp<int32_t, From>;
  case Compute::I16:
    return isFloat ? castThroughInt<int16_t, From> : castOp<int16_t, From>;
  case Compute::I8:
    return isFloat ? castThroughInt<int8_t, From> : castOp<int8_t, From>;
  case Compute::U8:
    return isFloat ? castThroughInt<uint8_t, From> : castOp<uint8_t, From>;
  case Compute::B8:
    return castToBool<From>;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Narrow floats
//===----------------------------------------------------------------------===//

struct Bf16 {
  using Bits = uint16_t;
  static float decode(uint16_t bits) { return bitsAs<float>(uint32_t(bits) << 16); }
  static uint16_t encode(float x) {
    uint32_t bits = bitsAs<uint32_t>(x);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return uint16_t(x != x ? (bits >> 16 | 0x40) : rounded);
  }
};

struct Fp16 {
  using Bits = uint16_t;
  static float decode(uint16_t bits) {
    uint32_t magnitude = uint32_t(bits & 0x7fff) << 13, sign = uint32_t(bits & 0x8000) << 16;
    // As a float whose exponent is too small by 112; infinities and NaN have the largest.
    float value = bitsAs<float>(magnitude) * 0x1p112f;
    uint32_t special = magnitude >= 0x0f800000 ? 0x7f800000 : 0;
    return bitsAs<float>(bitsAs<uint32_t>(value) | special | sign);
  }
  static uint16_t encode(float x) {
    uint32_t bits = bitsAs<uint32_t>(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    // A subnormal result: the float addition rounds at the right place.
    float small = bitsAs<float>(magnitude) + 0.5f;
    uint32_t subnormal = bitsAs<uint32_t>(small) - 0x3f000000;
    uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13;
    uint32_t result = magnitude < 0x38800000 ? subnormal : normal;
    result = magnitude >= 0x477ff000 ? 0x7c00 : result;
    result = magnitude > 0x7f800000 ? 0x7e00 : result;
    return uint16_t(result | sign);
  }
};

template <DType type> struct Fp8 {
  using Bits = uint8_t;
  static float decode(uint8_t bits) { return decodeSlowly(bits, type); }
  static uint8_t encode(float x) { return encodeSlowly(x, type); }
};

template <typename T> struct Plain {
  using Bits = T;
  static T decode(T x) { return x; }
  static T encode(T x) { return x; }
};
struct Bool {
  using Bits = uint8_t;
  static uint8_t decode(uint8_t x) { return x != 0; }
  static uint8_t encode(uint8_t x) { return x; }
};

template <typename Format> struct ValueOf {
  using Type = decltype(Format::decode(typename Format::Bits()));
};

template <typename Format> void load(void *block, const char *memory, int64_t stride, int64_t n) {
  using Bits = typename Format::Bits;
  using Value = typename ValueOf<Format>::Type;
  auto *to = static_cast<Value *>(block);
  auto *from = reinterpret_cast<const Bits *>(memory);
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i)
      to[i] = Format::decode(from[i]);
  } else if (stride == 0) {
    Value value = Format::decode(*from);
    for (int64_t i = 0; i < n; ++i)
      to[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i)
      to[i] = Format::decode(from[i * stride]);
  }
}

template <typename Format> void store(char *memory, int64_t stride, const void *block, int64_t n) {
  using Bits = typename Format::Bits;
  auto *from = static_cast<const typename ValueOf<Format>::Type *>(block);
  auto *to = reinterpret_cast<Bits *>(memory);
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i)
      to[i] = Format::encode(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i)
      to[i * stride] = Format::encode(from[i]);
  }
}

template <typename Format> void roundAll(float *block, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    block[i] = Format::decode(Format::encode(block[i]));
}

} // namespace

BlockFunction blockFunction(ScalarOp op, Compute type) {
  if (type == Compute::F32 && op == ScalarOp::Sin)
    return sinesOp<0>;
  if (type == Compute::F32 && op == ScalarOp::Cos)
    return sinesOp<1>;
  if (type == Compute::F32 && op == ScalarOp::Pow)
    return powersOp;
  switch (type) {
  case Compute::F64:
    return floatFunction<double>(op);
  case Compute::F32:
    return floatFunction<float>(op);
  case Compute::I64:
    return integerFunction<int64_t>(op);
  case Compute::I32:
    return integerFunction<int32_t>(op);
  case Compute::I16:
    return integerFunction<int16_t>(op);
  case Compute::I8:
    return integerFunction<int8_t>(op);
  case Compute::U8:
    return integerFunction<uint8_t>(op);
  case Compute::B8:
    return boolFunction(op);
  }
  return nullptr;
}

BlockFunction castFunction(Compute from, Compute to) {
  switch (from) {
  case Compute::F64:
    return castFrom<double>(to);
  case Compute::F32:
    return castFrom<float>(to);
  case Compute::I64:
    return castFrom<int64_t>(to);
  case Compute::I32:
    return castFrom<int32_t>(to);
  case Compute::I16:
    return castFrom<int16_t>(to);
  case Compute::I8:
    return castFrom<int8_t>(to);
  case Compute::U8:
  case Compute::B8:
    return castFrom<uint8_t>(to);
  }
  return nullptr;
}

LoadFunction loadFunction(DType dtype) {
  switch (dtype) {
  case DType::FP64:
    return load<Plain<double>>;
  case DType::FP32:
    return load<Plain<float>>;
  case DType::BF16:
    return load<Bf16>;
  case DType::FP16:
    return load<Fp16>;
  case DType::Int64:
    return load<Plain<int64_t>>;
  case DType::Int32:
    return load<Plain<int32_t>>;
  case DType::Int16:
    return load<Plain<int16_t>>;
  case DType::Int8:
    return load<Plain<int8_t>>;
  case DType::UInt8:
    return load<Plain<uint8_t>>;
  case DType::Bool:
    return load<Bool>;
  case DType::FP8E4M3:
    return load<Fp8<DType::FP8E4M3>>;
  case DType::FP8E5M2:
    return load<Fp8<DType::FP8E5M2>>;
  }
  return nullptr;
}

StoreFunction storeFunction(DType dtype) {
  switch (dtype) {
  case DType::FP64:
    return store<Plain<double>>;
  case DType::FP32:
    return store<Plain<float>>;
  case DType::BF16:
    return store<Bf16>;
  case DType::FP16:
    return store<Fp16>;
  case DType::Int64:
    return store<Plain<int64_t>>;
  case DType::Int32:
    return store<Plain<int32_t>>;
  case DType::Int16:
    return store<Plain<int16_t>>;
  case DType::Int8:
    return store<Plain<int8_t>>;
  case DType::UInt8:
    return store<Plain<uint8_t>>;
  case DType::Bool:
    return store<Bool>;
  case DType::FP8E4M3:
    return store<Fp8<DType::FP8E4M3>>;
  case DType::FP8E5M2:
    return store<Fp8<DType::FP8E5M2>>;
  }
  return nullptr;
}

void narrowBlock(float *block, const double *from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    double x = from[i];
    float nearest = float(x);
    int32_t bits = bitsAs<int32_t>(nearest);
    bool isExact = double(nearest) == x || x != x;
    int32_t step = absolute(double(nearest)) > absolute(x) ? -1 : 1;
    block[i] = bitsAs<float>(isExact || (bits & 1) ? bits : bits + step);
  }
}

void roundBlock(float *block, DType dtype, int64_t n) {
  switch (dtype) {
  case DType::BF16:
    return roundAll<Bf16>(block, n);
  case DType::FP16:
    return roundAll<Fp16>(block, n);
  case DType::FP8E4M3:
    return roundAll<Fp8<DType::FP8E4M3>>(block, n);
  case DType::FP8E5M2:
    return roundAll<Fp8<DType::FP8E5M2>>(block, n);
  default:
    return;
  }
}

} // namespace tessera::ready::TESSERA_READY_LEVEL
