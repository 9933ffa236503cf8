//===- LowerScatterAdd.cpp - Sums of scattered elements on GPUs -----------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHLOWERSCATTERADD
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

static Type elementType(Value value) {
  return cast<gir::TensorType>(value.getType()).getElementType();
}

/// The same sum in i32, the narrowest type of atomic additions: modulo the size of a narrower type
/// the result is the same.
static Value addWide(OpBuilder &builder, gir::ScatterAddOp op) {
  auto cast = [&](Value x, Type type) -> Value {
    return gir::CastOp::create(builder, op.getLoc(), x, type);
  };
  Value into = cast(op.getInput(), builder.getI32Type());
  Value sources = cast(op.getSources(), builder.getI32Type());
  Value sum = gir::ScatterAddOp::create(builder, op.getLoc(), into.getType(), into, sources,
                                        op.getIndices(), op.getDim());
  return cast(sum, elementType(op.getResult()));
}

namespace {
struct LowerScatterAdd : gir::impl::GraphLowerScatterAddBase<LowerScatterAdd> {
  void runOnOperation() override {
    for (gir::ScatterAddOp op : llvm::to_vector(getOperation().getOps<gir::ScatterAddOp>())) {
      Type type = elementType(op.getResult());
      if (type.isInteger() && type.getIntOrFloatBitWidth() >= 32)
        continue;
      OpBuilder builder(op);
      op.getResult().replaceAllUsesWith(type.isInteger() ? addWide(builder, op)
                                                         : op.decompose(builder));
      op.erase();
    }
  }
};
} // namespace
