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
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    SizeFacts facts(function);
    llvm::SetVector<Value> stored;
    for (auto op : function.getOps<gir::MaterializeOp>())
      stored.insert(op.getResult());
    while (Value operand = gir::computedOperand(function, facts, stored)) {
      OpBuilder builder(operand.getContext());
      builder.setInsertionPointAfterValue(operand);
      auto copy = gir::MaterializeOp::create(
          builder, operand.getLoc(), operand.getType(), operand, builder.getUnitAttr(),
          IntegerAttr(),
          builder.getStringAttr(
              "a contraction reads it many times, and tensor cores are fed from memory"));
      operand.replaceAllUsesExcept(copy, copy);
      stored.insert(copy.getResult());
    }
  }
};
} // namespace
