//===- StoreOperands.cpp - Stored operands of contractions ----------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/ComputedOperands.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHSTOREOPERANDS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

namespace {
struct StoreOperands : gir::impl::GraphStoreOperandsBase<StoreOperands> {
  using GraphStoreOperandsBase::GraphStoreOperandsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    SizeFacts facts(function);
    llvm::SetVector<Value> stored;
    for (auto op : function.getOps<gir::MaterializeOp>())
      stored.insert(op.getResult());
    while (Value operand =
               gir::computedOperand(function, facts, stored, {flopPerByte, flopPerLaunch})) {
      OpBuilder builder(operand.getContext());
      builder.setInsertionPointAfterValue(operand);
      auto type = cast<gir::TensorType>(operand.getType());
      std::optional<int64_t> alignment = gir::alignmentOfCopy(type, facts, rowAlignment);
      auto copy = gir::MaterializeOp::create(
          builder, operand.getLoc(), type, operand, builder.getUnitAttr(),
          alignment ? builder.getI64IntegerAttr(*alignment) : IntegerAttr(),
          builder.getStringAttr(
              "a contraction reads it many times, and tensor cores are fed from memory"));
      operand.replaceAllUsesExcept(copy, copy);
      stored.insert(copy.getResult());
    }
  }
};
} // namespace
