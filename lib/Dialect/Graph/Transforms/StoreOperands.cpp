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

/// Whether an operation broadcasts along dimensions of size 1 only.
static bool addsOnlyOnes(Operation *op) {
  auto broadcast = dyn_cast_or_null<gir::BroadcastOp>(op);
  return broadcast && cast<gir::TensorType>(broadcast.getType()).getNumElements() ==
                          cast<gir::TensorType>(broadcast.getInput().getType()).getNumElements();
}

/// The reductions of which a value is computed element by element: one for each of its elements.
static void collectReductions(Value value, const SizeFacts &facts,
                              llvm::SetVector<Value> &reductions) {
  constexpr int64_t manyTerms = 16;
  Operation *op = value.getDefiningOp();
  if (auto reduce = dyn_cast_or_null<gir::ReduceOp>(op)) {
    int64_t terms = 1;
    for (int64_t dim : reduce.getDims())
      terms *= facts.hint(cast<gir::TensorType>(reduce.getInput().getType()).getDim(dim));
    if (terms >= manyTerms)
      reductions.insert(value);
  } else if (isa_and_nonnull<gir::MapOp, gir::CastOp, gir::ReshapeOp, gir::TransposeOp,
                             gir::SliceOp>(op) ||
             addsOnlyOnes(op)) {
    for (Value operand : op->getOperands())
      collectReductions(operand, facts, reductions);
  }
}

namespace {
struct StoreOperands : gir::impl::GraphStoreOperandsBase<StoreOperands> {
  using GraphStoreOperandsBase::GraphStoreOperandsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    SizeFacts facts(function);
    storeReductions(function, facts);
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

private:
  /// Stores long reductions whose results vary along the K dimension of a contraction: the CTAs of
  /// its tiles would compute all of them.
  static void storeReductions(func::FuncOp function, const SizeFacts &facts) {
    llvm::SetVector<Value> reductions;
    for (gir::ContractOp product : function.getOps<gir::ContractOp>())
      for (Value operand : product->getOperands())
        collectReductions(operand, facts, reductions);
    for (Value reduction : reductions) {
      Value value = gir::endOfMaps(reduction);
      if (llvm::any_of(value.getUsers(), llvm::IsaPred<gir::MaterializeOp>))
        continue;
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfterValue(value);
      auto copy = gir::MaterializeOp::create(
          builder, value.getLoc(), value.getType(), value, UnitAttr(), IntegerAttr(),
          builder.getStringAttr("a contraction reads it along its K dimension"));
      value.replaceAllUsesExcept(copy, copy);
    }
  }
};
} // namespace
