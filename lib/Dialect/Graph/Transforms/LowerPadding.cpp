//===- LowerPadding.cpp - Padding as a selection ----------------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHLOWERPADDING
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

static bool isConstant(Value value) { return value.getDefiningOp<gir::ConstantOp>() != nullptr; }

namespace {
/// A concatenation of one tensor with constants.
class Padding {
public:
  Padding(OpBuilder &builder, gir::ConcatOp concat)
      : builder(builder), concat(concat), loc(concat.getLoc()), type(tensorType(concat)),
        numbers(gir::TensorType::get(type.getShape(), builder.getI64Type())) {}

  /// The padded tensor: each constant where its part is, and elsewhere the input.
  Value lower() {
    Value at = gir::IotaOp::create(builder, loc, numbers, dim());
    Value result;
    SymExpr offset(0);
    SmallVector<std::pair<Value, SymExpr>> before, after; // constants and where they end or begin
    for (Value part : concat.getInputs()) {
      SymExpr next = offset + tensorType(part).getDim(dim());
      if (!isConstant(part))
        result = elements(part, at, offset);
      else if (!result)
        before.push_back({part, next});
      else
        after.push_back({part, offset});
      offset = next;
    }
    for (auto [constant, end] : llvm::reverse(before))
      result = where(ScalarOp::Lt, at, end, constant, result);
    for (auto [constant, begin] : after)
      result = where(ScalarOp::Ge, at, begin, constant, result);
    return result;
  }

private:
  int64_t dim() { return int64_t(concat.getDim()); }

  Value number(SymExpr value) {
    Value size = builder.createOrFold<gir::SizeOp>(loc, value);
    return builder.createOrFold<gir::BroadcastOp>(loc, size, type.getShape(), ArrayRef<int64_t>{});
  }

  /// The input's elements. Those that are not in it are others of it: indices are clamped.
  Value elements(Value input, Value at, SymExpr offset) {
    Value index = at;
    if (!offset.isConstant(0))
      index = gir::MapOp::create(builder, loc, ScalarOp::Sub, ValueRange{at, number(offset)});
    SmallVector<int64_t> rest;
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (i != dim())
        rest.push_back(i);
    return gir::GatherOp::create(builder, loc, input, index, dim(), rest);
  }

  Value where(ScalarOp comparison, Value at, SymExpr bound, Value part, Value other) {
    Value condition = gir::MapOp::create(builder, loc, comparison, ValueRange{at, number(bound)});
    Value constant = gir::ConstantOp::create(builder, loc, type,
                                             part.getDefiningOp<gir::ConstantOp>().getValue());
    return gir::MapOp::create(builder, loc, ScalarOp::Where,
                              ValueRange{condition, constant, other});
  }

  OpBuilder &builder;
  gir::ConcatOp concat;
  Location loc;
  gir::TensorType type, numbers;
};

struct LowerPadding : gir::impl::GraphLowerPaddingBase<LowerPadding> {
  void runOnOperation() override {
    for (gir::ConcatOp concat : llvm::to_vector(getOperation().getOps<gir::ConcatOp>())) {
      size_t constants = llvm::count_if(concat.getInputs(), isConstant);
      if (constants + 1 != concat.getInputs().size() || constants == 0)
        continue;
      OpBuilder builder(concat);
      concat.getResult().replaceAllUsesWith(Padding(builder, concat).lower());
      concat.erase();
    }
  }
};
} // namespace
