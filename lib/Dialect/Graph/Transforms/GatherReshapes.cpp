//===- GatherReshapes.cpp - Reshapes that take apart a contraction's result -===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHGATHERRESHAPES
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

static bool hasDivision(SymExpr e) {
  switch (e.kind()) {
  case SymExpr::Kind::FloorDiv:
  case SymExpr::Kind::Mod:
    return true;
  case SymExpr::Kind::Add:
  case SymExpr::Kind::Mul:
    return llvm::any_of(e.operands(), hasDivision);
  default:
    return false;
  }
}

namespace {
/// A reshape that shows the result of a contraction, through other views.
class ReshapedProduct {
public:
  explicit ReshapedProduct(gir::ReshapeOp reshape)
      : source(reshape.getResult()), shape(tensorType(source).getShape()), loc(reshape.getLoc()) {
    for (unsigned i = 0; i < shape.size(); ++i)
      index.push_back(gir::iterationSymbol(i));
    while (isa_and_nonnull<gir::ReshapeOp, gir::TransposeOp>(source.getDefiningOp()) &&
           (source == reshape.getResult() || source.hasOneUse()))
      descend();
  }

  /// Whether a dimension of the contraction's result is taken apart, so that its elements are along
  /// several dimensions of the reshape.
  bool isTakenApart() const {
    Operation *op = source.getDefiningOp();
    if (auto cast = dyn_cast_or_null<gir::CastOp>(op))
      op = cast.getInput().getDefiningOp();
    return isa_and_nonnull<gir::ContractOp>(op) && source.hasOneUse() &&
           llvm::any_of(index, [&](SymExpr e) { return hasDivision(e) && dimsIn(e) > 1; });
  }

  /// The same elements, read from the stored result at computed indices.
  Value gather(OpBuilder &builder) {
    auto stored = gir::MaterializeOp::create(
        builder, loc, source.getType(), source, builder.getUnitAttr(), IntegerAttr(),
        builder.getStringAttr("its elements are read in another order"));
    SmallVector<Value> indices;
    SmallVector<int64_t> dims, rest;
    for (auto [dim, e] : llvm::enumerate(index)) {
      if (std::optional<int64_t> same = resultDim(e)) {
        rest.push_back(*same);
        continue;
      }
      dims.push_back(int64_t(dim));
      indices.push_back(compute(builder, e));
    }
    return gir::GatherOp::create(builder, loc, stored, indices, dims, rest);
  }

private:
  /// Moves to the operand of the view that `source` is.
  void descend() {
    auto view = cast<gir::GraphOpInterface>(source.getDefiningOp());
    SmallVector<SymExpr> next = view.getOperandIndex(0);
    for (SymExpr &e : next)
      e = e.substitute([&](const std::string &name) -> std::optional<SymExpr> {
        for (auto [i, at] : llvm::enumerate(index))
          if (gir::iterationSymbol(i).symbolName() == name)
            return at;
        return std::nullopt;
      });
    index = next;
    source = source.getDefiningOp()->getOperand(0);
  }

  /// The dimension of the result whose index an expression is.
  std::optional<int64_t> resultDim(SymExpr e) const {
    for (unsigned i = 0; i < shape.size(); ++i)
      if (e == gir::iterationSymbol(i))
        return i;
    return std::nullopt;
  }

  /// The number of the result's dimensions whose indices are in an expression.
  unsigned dimsIn(SymExpr e) const {
    std::set<std::string> names;
    e.collectSymbols(names);
    return llvm::count_if(names, [&](const std::string &name) {
      return resultDim(SymExpr::symbol(name)).has_value();
    });
  }

  /// An index, for each element of the result.
  Value compute(OpBuilder &builder, SymExpr e) {
    auto type = gir::TensorType::get(shape, builder.getI64Type());
    if (std::optional<int64_t> dim = resultDim(e))
      return gir::IotaOp::create(builder, loc, type, *dim);
    if (dimsIn(e) == 0) {
      Value size = builder.createOrFold<gir::SizeOp>(loc, e);
      return builder.createOrFold<gir::BroadcastOp>(loc, size, shape, ArrayRef<int64_t>{});
    }
    ScalarOp op = e.kind() == SymExpr::Kind::Add        ? ScalarOp::Add
                  : e.kind() == SymExpr::Kind::Mul      ? ScalarOp::Mul
                  : e.kind() == SymExpr::Kind::FloorDiv ? ScalarOp::FloorDiv
                                                        : ScalarOp::Remainder;
    Value result;
    for (SymExpr operand : e.operands()) {
      Value next = compute(builder, operand);
      result = result ? gir::MapOp::create(builder, loc, op, ValueRange{result, next}) : next;
    }
    return result;
  }

  Value source;
  ArrayRef<SymExpr> shape; ///< of the reshape
  Location loc;
  SmallVector<SymExpr> index; ///< of the source's element, by the indices of the reshape's
};

struct GatherReshapes : gir::impl::GraphGatherReshapesBase<GatherReshapes> {
  void runOnOperation() override {
    while (rewriteLast())
      ;
  }

private:
  /// Replaces a reshape: of several that show one contraction, the last one.
  bool rewriteLast() {
    auto reshapes = llvm::to_vector(getOperation().getOps<gir::ReshapeOp>());
    for (gir::ReshapeOp reshape : llvm::reverse(reshapes)) {
      ReshapedProduct product(reshape);
      if (!product.isTakenApart())
        continue;
      OpBuilder builder(reshape);
      reshape.getResult().replaceAllUsesWith(product.gather(builder));
      // The views between the two have no other use.
      Operation *view = reshape;
      while (view->use_empty() && isa<gir::ReshapeOp, gir::TransposeOp>(view)) {
        Operation *input = view->getOperand(0).getDefiningOp();
        view->erase();
        view = input;
      }
      return true;
    }
    return false;
  }
};
} // namespace
