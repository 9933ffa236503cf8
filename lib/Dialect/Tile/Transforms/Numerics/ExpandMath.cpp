//===- ExpandMath.cpp - Elementary functions as primitive maps ------------===//
//
// Walks over all maps once: widens 16-bit arithmetic, then replaces what is not primitive by its
// expansion. Expansions only build primitives, so nothing new has to be visited.
//
//===----------------------------------------------------------------------===//
#include "MathExpansions.h"
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEEXPANDMATH
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

bool tile::isPrimitive(ScalarOp op, Type type) {
  bool isFloat = isa<FloatType>(type);
  switch (op) {
  case ScalarOp::Add:
  case ScalarOp::Sub:
  case ScalarOp::Mul:
  case ScalarOp::Neg:
  case ScalarOp::Abs:
  case ScalarOp::Maximum:
  case ScalarOp::Minimum:
  case ScalarOp::Eq:
  case ScalarOp::Ne:
  case ScalarOp::Lt:
  case ScalarOp::Le:
  case ScalarOp::Gt:
  case ScalarOp::Ge:
  case ScalarOp::Where:
    return true;
  case ScalarOp::Div:
  case ScalarOp::Sqrt:
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
  case ScalarOp::Trunc:
  case ScalarOp::Fma:
  case ScalarOp::ScaleB:
    return isFloat;
  case ScalarOp::FloorDiv:
  case ScalarOp::Remainder:
  case ScalarOp::FMod:
  case ScalarOp::And:
  case ScalarOp::Or:
  case ScalarOp::Xor:
  case ScalarOp::Not:
  case ScalarOp::Shl:
  case ScalarOp::Shr:
    return !isFloat;
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Expansion of one operation
//===----------------------------------------------------------------------===//

/// x^n by repeated squaring, n a constant between -8 and 8, or nothing.
static std::optional<Term> constantPow(Term x, Value exponent) {
  auto constant = exponent.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  int64_t n;
  if (auto number = dyn_cast<FloatAttr>(constant.getValue())) {
    double value = number.getValueAsDouble();
    if (value == 0.5) // sqrt, but for -0 and -inf
      return where(x == -std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity(), sqrt(x + 0.0));
    if (!(value >= -8 && value <= 8) || value != int64_t(value))
      return std::nullopt;
    n = int64_t(value);
  } else {
    APInt value = cast<IntegerAttr>(constant.getValue()).getValue();
    if (value.ugt(8))
      return std::nullopt;
    n = value.getZExtValue();
  }
  Term one = isa<FloatType>(x.element()) ? x.number(1) : x.integer(1);
  std::optional<Term> result;
  Term base = x;
  for (int64_t rest = std::abs(n); rest; rest >>= 1) {
    if (rest & 1)
      result = result ? *result * base : base;
    if (rest > 1)
      base = base * base;
  }
  if (!result)
    return one;
  return n < 0 ? one / *result : *result;
}

static Term expandFloat(ScalarOp op, ArrayRef<Term> x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (op) {
  case ScalarOp::Square:
    return x[0] * x[0];
  case ScalarOp::Reciprocal:
    return 1.0 / x[0];
  case ScalarOp::Rsqrt:
    return 1.0 / sqrt(x[0]);
  case ScalarOp::Relu:
    return maximum(x[0], x[0].number(0));
  case ScalarOp::IsNan:
    return x[0] != x[0];
  case ScalarOp::IsInf:
    return abs(x[0]) == infinity;
  case ScalarOp::IsFinite:
    return abs(x[0]) < infinity;
  case ScalarOp::Sign:
    return expandSign(x[0]);
  case ScalarOp::FloorDiv:
    return expandFloorDiv(x[0], x[1]);
  case ScalarOp::Remainder:
    return expandRemainder(x[0], x[1]);
  case ScalarOp::FMod:
    return expandFMod(x[0], x[1]);
  case ScalarOp::Pow: {
    std::optional<Term> product = constantPow(x[0], x[1].get());
    return product ? *product : expandPow(x[0], x[1]);
  }
  case ScalarOp::Exp:
    return expandExp(x[0]);
  case ScalarOp::Exp2:
    return expandExp2(x[0]);
  case ScalarOp::Expm1:
    return expandExpm1(x[0]);
  case ScalarOp::Log:
    return expandLog(x[0]);
  case ScalarOp::Log2:
    return expandLog2(x[0]);
  case ScalarOp::Log1p:
    return expandLog1p(x[0]);
  case ScalarOp::Sin:
    return expandSin(x[0]);
  case ScalarOp::Cos:
    return expandCos(x[0]);
  case ScalarOp::Tan:
    return expandTan(x[0]);
  case ScalarOp::Asin:
    return expandAsin(x[0]);
  case ScalarOp::Acos:
    return expandAcos(x[0]);
  case ScalarOp::Atan:
    return expandAtan(x[0]);
  case ScalarOp::Atan2:
    return expandAtan2(x[0], x[1]);
  case ScalarOp::Sinh:
    return expandSinh(x[0]);
  case ScalarOp::Cosh:
    return expandCosh(x[0]);
  case ScalarOp::Tanh:
    return expandTanh(x[0]);
  case ScalarOp::Erf:
    return expandErf(x[0]);
  case ScalarOp::Erfc:
    return expandErfc(x[0]);
  case ScalarOp::Sigmoid:
    return expandSigmoid(x[0]);
  case ScalarOp::Silu:
    return expandSilu(x[0]);
  case ScalarOp::GeluErf:
    return expandGeluErf(x[0]);
  case ScalarOp::GeluTanh:
    return expandGeluTanh(x[0]);
  case ScalarOp::Join:
    return x[0] + (x[1] + x[2]);
  case ScalarOp::OrderKey:
    return expandOrderKey(x[0]);
  default:
    llvm_unreachable("a floating point operation that is neither primitive nor expanded");
  }
}

static Term expandInteger(ScalarOp op, ArrayRef<Term> x) {
  switch (op) {
  case ScalarOp::Square:
    return x[0] * x[0];
  case ScalarOp::Relu:
    return maximum(x[0], x[0].integer(0));
  case ScalarOp::Sign:
    return expandSign(x[0]);
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
  case ScalarOp::Trunc:
    return x[0];
  case ScalarOp::Pow: {
    std::optional<Term> product = constantPow(x[0], x[1].get());
    return product ? *product : expandIntegerPow(x[0], x[1]);
  }
  case ScalarOp::Philox:
  case ScalarOp::PhiloxUpper:
    return expandPhilox(x[0], x[1], x[2], op == ScalarOp::PhiloxUpper);
  default:
    llvm_unreachable("an integer operation that is neither primitive nor expanded");
  }
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

static bool isNarrowFloat(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
}

/// exp(x) of f32 where the target has exp2: 2^t with t the rounded product of x and log2(e), times
/// 1 + ln(2) e, with e what the rounding left. Beyond what is clamped the result is 0 or infinite.
static Term expByExp2(Term x) {
  Term y = maximum(minimum(x, x.number(89)), x.number(-104));
  Term high = x.number(0x1.715476p+0), t = y * high;
  Term rest = fma(y, x.number(0x1.4ae0cp-26), fma(y, high, -t));
  return t.map(ScalarOp::Exp2) * fma(rest, x.number(0x1.62e43p-1), x.number(1));
}

/// Whether an approximate form has constants into which a constant factor of the result can be
/// folded.
static bool takesFactor(ScalarOp op) {
  return op == ScalarOp::GeluErf || op == ScalarOp::GeluTanh || op == ScalarOp::Sigmoid ||
         op == ScalarOp::Silu;
}

/// The product of an approximate function with a positive constant, if that is its only use; null
/// otherwise.
static MapOp factorOf(MapOp map, double &factor) {
  MapOp product = map->hasOneUse() ? dyn_cast<MapOp>(*map->user_begin()) : MapOp();
  if (!takesFactor(map.getScalarOp()) || !product || product.getScalarOp() != ScalarOp::Mul)
    return MapOp();
  Value other = product.getInputs()[product.getInputs()[0] == map.getResult()];
  auto constant = other.getDefiningOp<ConstantOp>();
  auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  factor = number ? number.getValueAsDouble() : 0;
  // Far from where products overflow or lose digits.
  return factor >= 0x1p-16 && factor <= 0x1p16 ? product : MapOp();
}

/// The factors of a product with a constant; x and 1 otherwise.
static std::pair<Value, double> constantFactor(Value x) {
  auto product = x.getDefiningOp<MapOp>();
  if (product && product.getScalarOp() == ScalarOp::Mul)
    for (unsigned i : {0u, 1u})
      if (auto constant = product.getInputs()[i].getDefiningOp<ConstantOp>())
        if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
          return {product.getInputs()[1 - i], number.getValueAsDouble()};
  return {x, 1};
}

static constexpr double log2e = 0x1.715476p+0; // in f32

/// x log2(e), as one fma where x is a product with a constant less something that is broadcast:
/// that is multiplied before.
static Term scaledExponent(Term x) {
  auto difference = x.get().getDefiningOp<MapOp>();
  bool isDifference = difference && difference.getScalarOp() == ScalarOp::Sub;
  auto shift =
      isDifference ? difference.getInputs()[1].getDefiningOp<BroadcastOp>() : BroadcastOp();
  if (!shift)
    return x * log2e;
  auto [scaled, factor] = constantFactor(difference.getInputs()[0]);
  Term before = x.term(shift.getInput()) * -log2e;
  return fma(x.term(scaled), x.number(factor * log2e), before.repeated(shift));
}

/// log(1 + d) by log2 of `x`, which is 1 + d; by a polynomial near 0, where that has few digits.
static Term approxLog(Term x, Term d) {
  constexpr double ln2 = 0x1.62e43p-1, bound = 0x1p-5;
  Term near =
      d * fma(d, fma(d, fma(d, d.number(-0.25), d.number(1.0 / 3)), d.number(-0.5)), d.number(1));
  Term far = x.map(ScalarOp::Log2, {}, /*fast=*/true) * ln2;
  return where(abs(d) < bound, near, far);
}

/// `factor` times a function of f32 by exp2, as accurate as the target's approximate operations;
/// none if there is no such form.
static std::optional<Term> expandApprox(ScalarOp op, Term x, double factor,
                                        const TargetMath &target) {
  bool hasReciprocal = target.isNative(ScalarOp::Reciprocal, /*fast=*/true);
  auto power = [](Term exponent) { return exponent.map(ScalarOp::Exp2, {}, /*fast=*/true); };
  auto quotient = [&](Term a, Term b) {
    return hasReciprocal ? a * b.map(ScalarOp::Reciprocal, {}, /*fast=*/true)
                         : a.map(ScalarOp::Div, b, /*fast=*/true);
  };
  // factor * numerator / (1 + 2^exponent)
  auto share = [&](Term numerator, Term exponent) {
    Term e = power(exponent), part = e.number(1 / factor);
    return quotient(numerator, factor == 1 ? e + 1.0 : fma(e, part, part));
  };
  switch (op) {
  case ScalarOp::Exp:
    return power(scaledExponent(x));
  case ScalarOp::Log:
    return approxLog(x, x - 1.0);
  case ScalarOp::Log1p:
    return approxLog(x + 1.0, x);
  case ScalarOp::GeluErf:
    return expandApproxGeluErf(x, factor);
  case ScalarOp::GeluTanh:
    return share(x, geluTanhExponent(x));
  case ScalarOp::Sigmoid:
    return share(x.number(1), x * -log2e);
  case ScalarOp::Silu:
    return share(x, x * -log2e);
  case ScalarOp::Tanh: {
    auto [numerator, denominator] = approxTanh(x);
    return quotient(numerator, denominator);
  }
  case ScalarOp::Erf: {
    auto [numerator, denominator] = approxErf(x);
    return quotient(numerator, denominator);
  }
  default:
    return std::nullopt;
  }
}

/// A quotient by something that is broadcast is a product with its reciprocal, which is computed
/// before.
static bool divideByBroadcast(MapOp map, const TargetMath &target) {
  auto divisor = map.getScalarOp() == ScalarOp::Div && map.getFast()
                     ? map.getInputs()[1].getDefiningOp<BroadcastOp>()
                     : BroadcastOp();
  if (!divisor || !getElementTypeOrSelf(divisor.getType()).isF32() ||
      !target.isNative(ScalarOp::Reciprocal, /*fast=*/true))
    return false;
  ImplicitLocOpBuilder builder(map.getLoc(), map);
  Term share = Term(builder, divisor.getInput()).map(ScalarOp::Reciprocal, {}, /*fast=*/true);
  map.replaceAllUsesWith((share.term(map.getInputs()[0]) * share.repeated(divisor)).get());
  map.erase();
  return true;
}

MapOp tile::expandMap(MapOp map, const TargetMath &target) {
  ScalarOp op = map.getScalarOp();
  if (op == ScalarOp::Where || divideByBroadcast(map, target))
    return MapOp();
  ImplicitLocOpBuilder builder(map.getLoc(), map);
  Type element = cast<RankedTensorType>(map.getInputs()[0].getType()).getElementType();
  bool isNarrow = isNarrowFloat(element);
  Type computed = isNarrow ? builder.getF32Type() : element;
  bool primitive =
      isPrimitive(op, computed) || target.isNative(op, map.getFast() && computed.isF32());
  if (primitive && !isNarrow)
    return MapOp();

  SmallVector<Term> inputs;
  for (Value input : map.getInputs())
    inputs.push_back(Term(builder, input).cast(computed));
  bool hasExp2 = computed.isF32() && target.isNative(ScalarOp::Exp2);
  bool isApprox =
      map.getFast() && computed.isF32() && target.isNative(ScalarOp::Exp2, /*fast=*/true);
  double factor = 1;
  MapOp product = isApprox && !primitive && !isNarrow ? factorOf(map, factor) : MapOp();
  std::optional<Term> approximated =
      isApprox ? expandApprox(op, inputs[0], product ? factor : 1, target) : std::nullopt;
  Term result = primitive      ? inputs[0].map(op, ArrayRef(inputs).drop_front(), map.getFast())
                : approximated ? *approximated
                : hasExp2 && op == ScalarOp::Exp ? expByExp2(inputs[0])
                : map.getFast() && computed.isF32() && op == ScalarOp::Exp2
                    ? expandWeight(inputs[0])
                : isa<FloatType>(computed) ? expandFloat(op, inputs)
                                           : expandInteger(op, inputs);
  Type resultElement = map.getType().getElementType();
  if (result.element() != resultElement)
    result = result.cast(resultElement);
  (product ? product : map).getResult().replaceAllUsesWith(result.get());
  if (product)
    product.erase();
  map.erase();
  return product;
}

static void widenReduce(tile::ReduceOp reduce) {
  Type element = reduce.getInput().getType().getElementType();
  if (!isNarrowFloat(element))
    return;
  ImplicitLocOpBuilder builder(reduce.getLoc(), reduce);
  Value wide = CastOp::create(builder, reduce.getInput(), builder.getF32Type());
  Value sum = tile::ReduceOp::create(builder, reduce.getReduceOp(), wide, reduce.getDims(),
                                     reduce.getSkipNan());
  Value narrow = CastOp::create(builder, sum, element);
  reduce.getResult().replaceAllUsesWith(narrow);
  reduce.erase();
}

/// Whether the maps of an online softmax have to be expanded: the target has no such power, or
/// computes in a wider type.
static bool needsExpansion(Operation *op, const TargetMath &target) {
  Type element = getElementTypeOrSelf(op->getResult(0));
  return isNarrowFloat(element) || !target.isNative(ScalarOp::Exp2, /*fast=*/element.isF32());
}

void tile::expandMath(Operation *root, const TargetMath &target) {
  SmallVector<Operation *> worklist;
  root->walk([&](Operation *op) {
    if (isa<MapOp, tile::ReduceOp>(op))
      worklist.push_back(op);
    else if (auto update = dyn_cast<OnlineUpdateOp>(op))
      update.setExpanded(needsExpansion(op, target));
    else if (auto weigh = dyn_cast<OnlineWeighOp>(op))
      weigh.setExpanded(needsExpansion(op, target));
  });
  llvm::DenseSet<Operation *> taken;
  for (Operation *op : worklist) {
    if (taken.contains(op))
      continue;
    if (auto map = dyn_cast<MapOp>(op))
      taken.insert(expandMap(map, target));
    else
      widenReduce(cast<tile::ReduceOp>(op));
  }
}

namespace {
struct ExpandMath : tile::impl::TileExpandMathBase<ExpandMath> {
  using TileExpandMathBase::TileExpandMathBase;

  void runOnOperation() override {
    FailureOr<ModuleMath> math = mathOf(getOperation());
    if (failed(math))
      return signalPassFailure();
    TargetMath target;
    bool hasF64 = hasF64Maps();
    for (const NativeOp &native : math->table->native)
      if (math->has(native) && !(native.withoutF64 && hasF64))
        (native.isApprox ? target.approx : target.native).push_back(native.op);
    expandMath(getOperation(), target);
  }

private:
  /// Whether a map computes in f64, for which GPUs have no approximate instructions. The
  /// operations of an online softmax become maps later.
  bool hasF64Maps() {
    return getOperation()
        .walk([](Operation *op) {
          bool isMap = isa<MapOp, OnlineUpdateOp, OnlineWeighOp>(op);
          return isMap && getElementTypeOrSelf(op->getResult(0)).isF64() ? WalkResult::interrupt()
                                                                         : WalkResult::advance();
        })
        .wasInterrupted();
  }
};
} // namespace
