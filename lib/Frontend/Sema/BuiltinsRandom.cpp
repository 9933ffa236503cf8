//===- BuiltinsRandom.cpp - Counter-based random numbers ------------------===//
//
// A random number is a function of a seed and the element's index: element n, in row-major order of
// the result's shape, is computed from the block of Philox4x32-10 with key `seed` and counter n.
// The upper half of the counter identifies the use (`Stream`). Elements are independent, so the
// generator is elementwise code over an index: it fuses like any other code, and every schedule,
// thread and target gives the same bits.
//
//   uniform  the leading 53 (fp64), 24 (fp32), 11 (fp16) or 8 (bf16) bits as a fraction, so that
//            every value is exact in its type and below 1
//   normal   Box-Muller: sqrt(-2 log u) cos(2 pi v). fp64 has 53 bits of u and of v, in two
//            streams; the others 31 and 24 bits of one block, computed in fp32. No number is larger
//            than 8.6 (fp64) or 6.7.
//   dropout  16 bits decide, so that eight consecutive elements share a block: element n has bits
//            16 (n mod 8) and up of the block with counter n / 8, and is kept if they are at least
//            65536 p. A probability is rounded up to a multiple of 2^-16.
//
//===------------------------------------------------------------------------------------------===//
#include "Builtins.h"

#include <cmath>
#include <numbers>

using namespace tessera;
using namespace tessera::sema;

namespace {
/// The upper half of the counter: the same seed gives independent numbers for each use.
enum class Stream : int64_t { Uniform, Normal, NormalAngle, Dropout };
} // namespace

static Value integer(int64_t value) { return Value::ofInt(SymExpr(value)); }

/// The linear index of every element of a shape.
static Value placesOf(Emitter &emit, const Shape &shape) {
  SymExpr count(1);
  for (SymExpr size : shape)
    count = count * size;
  Value line = emit.iota({count}, 0, DType::Int64);
  return Value::ofTensor(emit.reshape(line.tensor, shape));
}

/// 64 random bits for every element of a shape.
static Value randomBits(Emitter &emit, const Shape &shape, const Value &seed, Stream stream) {
  return emit.map(ScalarOp::Philox, {placesOf(emit, shape), integer(int64_t(stream)), seed});
}

/// Bits [from, from + count) as an integer; it fits int32 if count is below 32.
static Value cut(Emitter &emit, Value bits, int64_t from, int64_t count) {
  if (from)
    bits = emit.map(ScalarOp::Shr, {bits, integer(from)});
  bits = emit.map(ScalarOp::And, {bits, integer((int64_t(1) << count) - 1)});
  return count < 32 ? emit.cast(bits, DType::Int32, false) : bits;
}

/// An integer multiple of 2^-count.
static Value fraction(Emitter &emit, const Value &number, int64_t count, DType dtype) {
  return emit.map(ScalarOp::Mul,
                  {emit.cast(number, dtype, false), Value::ofFloat(std::ldexp(1, -int(count)))});
}

/// 16 random bits for every element of a shape; eight elements share a block.
static Value fewBits(Emitter &emit, const Shape &shape, const Value &seed, Stream stream) {
  Value place = placesOf(emit, shape), block = emit.map(ScalarOp::Shr, {place, integer(3)});
  Value lower = emit.map(ScalarOp::Philox, {block, integer(int64_t(stream)), seed});
  Value upper = emit.map(ScalarOp::PhiloxUpper, {block, integer(int64_t(stream)), seed});
  Value isUpper =
      emit.map(ScalarOp::Ne, {emit.map(ScalarOp::And, {place, integer(4)}), integer(0)});
  Value bits = emit.map(ScalarOp::Where, {isUpper, upper, lower});
  Value from = emit.map(ScalarOp::Mul, {emit.map(ScalarOp::And, {place, integer(3)}), integer(16)});
  return cut(emit, emit.map(ScalarOp::Shr, {bits, from}), 0, 16);
}

static int64_t digitsOf(DType dtype) {
  switch (dtype) {
  case DType::FP64:
    return 53;
  case DType::FP32:
    return 24;
  case DType::FP16:
    return 11;
  default:
    return 8; // bf16
  }
}

static Value uniform(Emitter &emit, const Value &bits, DType dtype) {
  int64_t digits = digitsOf(dtype);
  return fraction(emit, cut(emit, bits, 64 - digits, digits), digits, dtype);
}

static Value normal(Emitter &emit, const Shape &shape, const Value &seed, DType dtype) {
  bool isWide = dtype == DType::FP64;
  DType computed = isWide ? DType::FP64 : DType::FP32;
  Value bits = randomBits(emit, shape, seed, Stream::Normal);
  int64_t digits = isWide ? 53 : 31;
  Value radius = fraction(emit, cut(emit, bits, isWide ? 11 : 0, digits), digits, computed);
  // Half a step is added, so that the logarithm of 0 is never taken.
  radius = emit.map(ScalarOp::Add, {radius, Value::ofFloat(std::ldexp(0.5, -int(digits)))});
  Value log = emit.map(ScalarOp::Log, {radius});
  radius = emit.map(ScalarOp::Sqrt, {emit.map(ScalarOp::Mul, {log, Value::ofFloat(-2)})});
  Value angle = isWide ? randomBits(emit, shape, seed, Stream::NormalAngle) : bits;
  // From -pi to pi, where the error of a rounded multiple of pi is smallest.
  angle = emit.map(ScalarOp::Sub, {uniform(emit, angle, computed), Value::ofFloat(0.5)});
  angle = emit.map(ScalarOp::Mul, {angle, Value::ofFloat(2 * std::numbers::pi)});
  Value result = emit.map(ScalarOp::Mul, {radius, emit.map(ScalarOp::Cos, {angle})});
  return emit.cast(result, dtype, false);
}

/// The argument `seed`: an int, or an integer tensor without dimensions.
static std::optional<Value> seedOf(Args &args, size_t i) {
  const Value &seed = args[i];
  if (!args.in.emitter) {
    args.in.error(args.range, "a tensor cannot be a module-level constant of a @tsr.function")
        .help("make it inside the function");
    return std::nullopt;
  }
  if (seed.is(Value::Int))
    return seed;
  if (seed.isTensor() && seed.rank() == 0 && !Emitter::isFloat(Emitter::dtype(seed)))
    return args.emit().cast(seed, DType::Int64, false);
  args.error(i, "expected an int or an integer tensor without dimensions for 'seed' of '" +
                    std::string(args.builtin.name) + "', found " + describe(seed))
      .help("the same seed gives the same numbers; pass it as an argument to change them");
  return std::nullopt;
}

static std::optional<DType> floatType(Args &args, size_t i, DType otherwise) {
  std::optional<DType> dtype = args.dtype(i, otherwise);
  if (!dtype || (Emitter::isFloat(*dtype) && !Emitter::isFloat8(*dtype)))
    return dtype;
  args.error(i, "expected fp64, fp32, bf16 or fp16 for '" + std::string(args.builtin.name) +
                    "', found " + std::string(dtypeName(*dtype)));
  return std::nullopt;
}

static Value draw(Args &args, const Shape &shape, const Value &seed, DType dtype) {
  if (std::string_view(args.builtin.name).starts_with("randn"))
    return normal(args.emit(), shape, seed, dtype);
  return uniform(args.emit(), randomBits(args.emit(), shape, seed, Stream::Uniform), dtype);
}

/// rand and randn
static Value ofShape(Args &args) {
  std::optional<Shape> shape = args.shape(0);
  std::optional<Value> seed = shape ? seedOf(args, 1) : std::nullopt;
  std::optional<DType> dtype = seed ? floatType(args, 2, DType::FP32) : std::nullopt;
  if (!dtype || !args.checkSizes(0, *shape))
    return Value::error();
  return draw(args, *shape, *seed, *dtype);
}

static Value likeTensor(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<Value> seed = x ? seedOf(args, 1) : std::nullopt;
  std::optional<DType> dtype = seed ? floatType(args, 2, Emitter::dtype(*x)) : std::nullopt;
  return dtype ? draw(args, Shape(x->shape()), *seed, *dtype) : Value::error();
}

static Value dropout(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<bool> isTraining = x ? args.boolean(2) : std::nullopt;
  std::optional<Value> seed = isTraining ? seedOf(args, 3) : std::nullopt;
  if (!seed)
    return Value::error();
  if (!Emitter::isFloat(Emitter::dtype(*x)))
    return args.error(0, "expected a floating point tensor for 'dropout', found " + describe(*x));
  const Value &p = args[1];
  bool isNumber = p.isNumber() || (p.isTensor() && p.rank() == 0);
  if (!isNumber || (p.isStaticNumber() && !(p.asDouble() >= 0 && p.asDouble() <= 1)))
    return args.error(1, "expected a probability from 0 to 1 for 'p' of 'dropout', found " +
                             describe(p));
  if (!*isTraining)
    return *x;
  Emitter &emit = args.emit();
  Value bits = fewBits(emit, Shape(x->shape()), *seed, Stream::Dropout);
  Value scaled, keep;
  if (p.isStaticNumber()) {
    keep = emit.map(ScalarOp::Ge,
                    {bits, integer(int64_t(std::ceil(std::ldexp(float(p.asDouble()), 16))))});
    double share = 1 - p.asDouble();
    scaled = emit.map(ScalarOp::Mul, {*x, Value::ofFloat(share > 0 ? 1 / share : 0)});
  } else {
    keep = emit.map(ScalarOp::Ge, {fraction(emit, bits, 16, DType::FP32), p});
    scaled = emit.map(ScalarOp::Div, {*x, emit.map(ScalarOp::Sub, {Value::ofFloat(1), p})});
  }
  return emit.map(ScalarOp::Where, {keep, scaled, Value::ofFloat(0)});
}

std::vector<Builtin> sema::randomBuiltins() {
  constexpr uint8_t function = Builtin::Function;
  return {
      {"rand", "shape, seed, dtype=None", function, ofShape,
       "uniform random numbers in [0, 1): element n is the same function of n and seed everywhere"},
      {"randn", "shape, seed, dtype=None", function, ofShape,
       "normal random numbers with mean 0 and variance 1"},
      {"rand_like", "x, seed, dtype=None", function, likeTensor,
       "uniform random numbers in the shape and type of x"},
      {"randn_like", "x, seed, dtype=None", function, likeTensor,
       "normal random numbers in the shape and type of x"},
      {"dropout", "x, p=0.5, training=True, *, seed", function, dropout,
       "x / (1 - p) with probability 1 - p, else 0; the same elements for the same seed"},
  };
}
