//===- Accumulate.cpp - Accumulation in the policy's type -----------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHACCUMULATE
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

/// Whether the operation accumulates many elements with rounding.
static bool accumulates(Operation *op) {
  if (!isa<gir::ReduceOp, gir::ScanOp, gir::ContractOp>(op))
    return false;
  auto indexed = cast<gir::GraphOpInterface>(op);
  std::optional<tessera::ReduceOp> monoid = indexed.getReduction();
  bool rounds = monoid == tessera::ReduceOp::Sum || monoid == tessera::ReduceOp::Prod;
  Type element = tensorType(op->getResult(0)).getElementType();
  return rounds && isa<FloatType>(element) && !element.isF64();
}

/// Converts the operands before the operation, and the result after it.
static void accumulateInF64(Operation *op) {
  OpBuilder builder(op);
  Type wide = builder.getF64Type();
  for (OpOperand &operand : op->getOpOperands())
    operand.set(gir::CastOp::create(builder, op->getLoc(), operand.get(), wide, false));
  Value result = op->getResult(0);
  gir::TensorType narrow = tensorType(result);
  result.setType(narrow.withElementType(wide));
  builder.setInsertionPointAfter(op);
  auto rounded = gir::CastOp::create(builder, op->getLoc(), result, narrow.getElementType(), false);
  result.replaceAllUsesExcept(rounded, rounded);
}

namespace {
struct Accumulate : gir::impl::GraphAccumulateBase<Accumulate> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (gir::numericsOption(function, "accum") != "fp64")
        continue;
      SmallVector<Operation *> found;
      function.walk([&](Operation *op) {
        if (accumulates(op))
          found.push_back(op);
      });
      llvm::for_each(found, accumulateInF64);
    }
  }
};
} // namespace
