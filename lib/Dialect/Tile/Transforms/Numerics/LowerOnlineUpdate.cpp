//===- LowerOnlineUpdate.cpp - Online softmax to maps ---------------------===//
//
// Every result of an update that is used becomes a chain of maps in the place of the update, in a
// fixed order: the running maximum, its finite form, the scale, the reference and the factor.
//
//===----------------------------------------------------------------------===//
#include "MathExpansions.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILELOWERONLINEUPDATE
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// Builds the maps of one operation, all on tiles of one type.
class Lowering : private OpBuilder::Listener {
public:
  explicit Lowering(Operation *op)
      : builder(op->getLoc(), op), type(cast<RankedTensorType>(op->getResult(0).getType())) {
    builder.setListener(this);
  }

  void lower(OnlineUpdateOp op);
  void lower(OnlineWeighOp op);

private:
  Value number(double value) { return ConstantOp::create(builder, type, value); }
  Value map(ScalarOp op, ValueRange inputs, bool fast = false) {
    return builder.createOrFold<MapOp>(op, inputs, fast);
  }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (auto map = dyn_cast<MapOp>(op))
      maps.push_back(map);
  }
  /// Replaces the maps by primitive ones.
  void expand() {
    for (MapOp map : maps)
      expandMap(map, TargetMath());
  }
  const llvm::fltSemantics &semantics() {
    return cast<FloatType>(type.getElementType()).getFloatSemantics();
  }
  Value next(OnlineUpdateOp op);
  Value guard(Value gauge);
  Value scaleFor(Value reference, double scale);
  Value roundedProduct(Value a, Value b);
  Value negated(Value reference, Operation *op);
  Value power(Value exponent) { return map(ScalarOp::Exp2, exponent, /*fast=*/true); }
  Value weight(Value exponent, Value reference, double scale);

  ImplicitLocOpBuilder builder;
  RankedTensorType type;
  SmallVector<MapOp> maps;
};
} // namespace

Value Lowering::next(OnlineUpdateOp op) {
  Value before = op.getBefore(), largest = op.getLargest();
  if (!before)
    return largest;
  Value next = map(ScalarOp::Maximum, {before, largest});
  double lag = op.getLag().convertToDouble();
  if (lag == 0)
    return next;
  Value ahead = map(ScalarOp::Sub, {largest, before});
  Value near = map(ScalarOp::Le, {ahead, number(lag / op.getScale().convertToDouble())});
  return map(ScalarOp::Where, {near, before, next});
}

/// The lowest finite value for rows without a live element, so that no infinities are subtracted.
Value Lowering::guard(Value gauge) {
  double lowest = APFloat::getLargest(semantics(), /*Negative=*/true).convertToDouble();
  return map(ScalarOp::Maximum, {gauge, number(lowest)});
}

/// The scale of exponents for a reference. The scaled reference has an error of up to half an ulp,
/// which is a factor 2^error of all weights. Where the reference is so large that the factor
/// matters, a power of two replaces the scale, which is exact. Different exponents are then so far
/// apart that their weights vanish with either scale.
Value Lowering::scaleFor(Value reference, double scale) {
  // The factor is at most 2^16, which 16-bit floats can hold, or 2^64 where weights stay in fp32.
  int digits = scale < 1 ? 5 : 7;
  int precision = APFloat::semanticsPrecision(semantics());
  Value far = number(std::ldexp(1.0, precision + digits) / scale);
  Value power = number(scale < 1 ? std::exp2(std::ceil(std::log2(scale))) : 1.0);
  Value isFar = map(ScalarOp::Gt, {map(ScalarOp::Abs, reference), far});
  return map(ScalarOp::Where, {isFar, power, number(scale)});
}

/// A product that is rounded by itself and not contracted with a later subtraction, so that all
/// weights are relative to the same reference.
Value Lowering::roundedProduct(Value a, Value b) { return map(ScalarOp::Fma, {a, b, number(0)}); }

/// 2^((exponent - reference) * scale). The subtraction is first: the difference is small where the
/// power matters, so that large exponents lose no precision by the scaling.
Value Lowering::weight(Value exponent, Value reference, double scale) {
  Value difference = map(ScalarOp::Sub, {exponent, reference});
  return power(scale == 1 ? difference : map(ScalarOp::Mul, {difference, number(scale)}));
}

/// The negated reference, before the loops that do not change it.
Value Lowering::negated(Value reference, Operation *op) {
  auto isUnchanged = [&](Operation *parent) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    return loop && loop.isDefinedOutsideOfLoop(reference);
  };
  OpBuilder::InsertionGuard guard(builder);
  for (; isUnchanged(op->getParentOp()); op = op->getParentOp())
    builder.setInsertionPoint(op->getParentOp());
  return map(ScalarOp::Neg, reference);
}

void Lowering::lower(OnlineUpdateOp op) {
  double scale = op.getScale().convertToDouble();
  Value before = op.getBefore(), next = this->next(op), reference = next, scales;
  op.getNext().replaceAllUsesWith(next);
  bool hasFactor = !op.getFactor().use_empty(), hasScales = !op.getScales().use_empty();
  if (hasFactor || hasScales || !op.getReference().use_empty()) {
    if (op.getGuarded())
      reference = guard(next);
    if (op.getPrescaled() || hasScales)
      scales = op.getAdaptive() ? scaleFor(reference, scale) : number(scale);
    if (op.getPrescaled()) {
      reference = roundedProduct(reference, scales);
      before = before && hasFactor ? roundedProduct(before, scales) : before;
    }
    if (hasFactor)
      op.getFactor().replaceAllUsesWith(
          before ? weight(before, reference, op.getPrescaled() ? 1 : scale) : number(0));
    op.getReference().replaceAllUsesWith(reference);
    if (hasScales)
      op.getScales().replaceAllUsesWith(scales);
  }
  if (op.getExpanded())
    expand();
  op.erase();
}

void Lowering::lower(OnlineWeighOp op) {
  Value exponent = op.getExponent(), reference = op.getReference(), scales = op.getScales(), weight;
  if (!scales)
    weight = this->weight(exponent, reference, op.getScale()->convertToDouble());
  else if (op.getRounded())
    weight = this->weight(roundedProduct(exponent, scales), reference, 1);
  else
    weight = power(map(ScalarOp::Fma, {exponent, scales, negated(reference, op)}));
  op.getWeight().replaceAllUsesWith(weight);
  if (op.getExpanded())
    expand();
  op.erase();
}

namespace {
struct TileLowerOnlineUpdate : tile::impl::TileLowerOnlineUpdateBase<TileLowerOnlineUpdate> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto update = dyn_cast<OnlineUpdateOp>(op))
        Lowering(op).lower(update);
      else if (auto weigh = dyn_cast<OnlineWeighOp>(op))
        Lowering(op).lower(weigh);
    });
  }
};
} // namespace
