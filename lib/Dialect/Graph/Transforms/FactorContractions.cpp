//===- FactorContractions.cpp - Constant factors of contractions ----------===//
//
// Σ (a·x)(b·y) = ab·Σ xy. The operand is rebuilt without its factor: views between the factor and
// the contraction are views of what was multiplied.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include <cmath>

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHFACTORCONTRACTIONS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

/// Factors between 2^-32 and 2^32 leave most of the exponents of f32 to the sums.
static constexpr double kLargestFactor = 0x1p32;

static Type elementType(Value value) {
  return cast<gir::TensorType>(value.getType()).getElementType();
}

/// The number that all elements are.
static std::optional<double> numberOf(Value value) {
  auto constant = value.getDefiningOp<gir::ConstantOp>();
  auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

/// The operand of a map that multiplies it by a constant, and the constant.
static std::pair<Value, double> factorOf(gir::MapOp map) {
  ScalarOp op = map.getScalarOp();
  if (op == ScalarOp::Neg)
    return {map->getOperand(0), -1};
  if (op == ScalarOp::Mul || op == ScalarOp::Div)
    if (auto right = numberOf(map->getOperand(1)))
      return {map->getOperand(0), op == ScalarOp::Mul ? *right : 1 / *right};
  if (op == ScalarOp::Mul)
    if (auto left = numberOf(map->getOperand(0)))
      return {map->getOperand(1), *left};
  return {};
}

/// A value in another type, as an implicit cast.
static Value converted(OpBuilder &builder, Value value, Type type) {
  // A narrow value that was widened is the value itself.
  if (auto cast = value.getDefiningOp<gir::CastOp>();
      cast && !cast.getExplicit_() && elementType(cast.getInput()) == type)
    return cast.getInput();
  return elementType(value) == type
             ? value
             : gir::CastOp::create(builder, value.getLoc(), value, type).getResult();
}

/// An operand without constant factors, which are multiplied with `factor`.
static Value withoutFactors(OpBuilder &builder, Value operand, double &factor) {
  Operation *op = operand.getDefiningOp();
  if (isa_and_nonnull<gir::TransposeOp, gir::ReshapeOp, gir::BroadcastOp, gir::SliceOp>(op)) {
    Value shown = op->getOperand(0), rest = withoutFactors(builder, shown, factor);
    if (rest == shown)
      return operand;
    IRMapping mapping;
    mapping.map(shown, rest);
    return builder.clone(*op, mapping)->getResult(0);
  }
  // Kernels may keep the value before an implicit cast.
  if (auto cast = dyn_cast_or_null<gir::CastOp>(op);
      cast && !cast.getExplicit_() && isa<FloatType>(elementType(cast.getInput()))) {
    Value rest = withoutFactors(builder, cast.getInput(), factor);
    return rest == cast.getInput() ? operand : converted(builder, rest, elementType(operand));
  }
  if (auto map = dyn_cast_or_null<gir::MapOp>(op))
    if (auto [rest, number] = factorOf(map); rest) {
      factor *= number;
      return withoutFactors(builder, rest, factor);
    }
  return operand;
}

static void takeOutFactors(gir::ContractOp product) {
  OpBuilder builder(product);
  Location loc = product.getLoc();
  double factor = 1;
  Value operands[2];
  for (unsigned i : {0, 1})
    operands[i] = withoutFactors(builder, product->getOperand(i), factor);
  bool isUnchanged = operands[0] == product.getLhs() && operands[1] == product.getRhs();
  double magnitude = std::abs(factor);
  if (isUnchanged || !(magnitude < kLargestFactor && magnitude > 1 / kLargestFactor))
    return;
  // Sums without the factors may be too large for fp16.
  Type type = elementType(product), wide = gir::accumulationType(type);
  auto sums = cast<gir::TensorType>(product.getType());
  if (type.isF16())
    sums = sums.withElementType(wide);
  Value result = gir::ContractOp::create(
      builder, loc, sums, operands[0], operands[1], product.getLhsBatchAttr(),
      product.getRhsBatchAttr(), product.getLhsContractAttr(), product.getRhsContractAttr());
  result = converted(builder, result, wide);
  Value number = gir::ConstantOp::create(builder, loc, cast<gir::TensorType>(result.getType()),
                                         builder.getFloatAttr(wide, factor));
  result = gir::MapOp::create(builder, loc, ScalarOp::Mul, ValueRange{result, number});
  result = converted(builder, result, type);
  product->replaceAllUsesWith(ValueRange(result));
  product->erase();
}

namespace {
struct FactorContractions : gir::impl::GraphFactorContractionsBase<FactorContractions> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (gir::numericsOption(function, "numerics") == "strict")
      return;
    SmallVector<gir::ContractOp> products;
    function.walk([&](gir::ContractOp product) {
      Type type = elementType(product);
      if (type.isF16() || type.isBF16() || type.isF32() || type.isF64())
        products.push_back(product);
    });
    llvm::for_each(products, takeOutFactors);
  }
};
} // namespace
