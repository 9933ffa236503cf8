//===- SplitBatches.cpp - Batch dimensions that reshapes joined -----------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHSPLITBATCHES
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

using Sizes = SmallVector<SymExpr>;

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

/// The sizes other than 1 that a reshape joins into each of its dimensions; nothing if it divides
/// some.
static std::optional<SmallVector<Sizes>> joinedSizes(gir::ReshapeOp reshape) {
  ArrayRef<SymExpr> from = tensorType(reshape.getInput()).getShape();
  SmallVector<Sizes> result;
  for (SymExpr size : tensorType(reshape).getShape()) {
    SymExpr joined(1);
    Sizes &sizes = result.emplace_back();
    for (; !from.empty() && joined != size; from = from.drop_front()) {
      joined = joined * from.front();
      if (!from.front().isConstant(1))
        sizes.push_back(from.front());
    }
    if (joined != size)
      return std::nullopt;
  }
  return result;
}

namespace {
/// An operand of a contraction, seen through casts.
struct Operand {
  SmallVector<gir::CastOp> casts; ///< the last one first
  gir::ReshapeOp reshape;
  SmallVector<Sizes> sizes;

  explicit Operand(Value value) {
    while (auto cast = value.getDefiningOp<gir::CastOp>()) {
      casts.push_back(cast);
      value = cast.getInput();
    }
    reshape = value.getDefiningOp<gir::ReshapeOp>();
    if (std::optional<SmallVector<Sizes>> found =
            reshape ? joinedSizes(reshape) : std::optional<SmallVector<Sizes>>())
      sizes = *found;
  }

  /// The operand with dimensions in place of others, which they divide.
  Value split(OpBuilder &builder, ArrayRef<SymExpr> shape) {
    Value value = builder.createOrFold<gir::ReshapeOp>(reshape.getLoc(), reshape.getInput(), shape);
    for (gir::CastOp cast : llvm::reverse(casts)) {
      Operation *again = builder.clone(*cast);
      again->setOperand(0, value);
      again->getResult(0).setType(tensorType(cast).withShape(shape));
      value = again->getResult(0);
    }
    return value;
  }
};
} // namespace

static void splitBatches(gir::ContractOp product) {
  Operand lhs(product.getLhs()), rhs(product.getRhs());
  if (lhs.sizes.empty() || rhs.sizes.empty())
    return;
  // The batch dimensions, each as those that both operands have joined.
  SmallVector<Sizes> batches;
  bool isSplit = false;
  for (auto [l, r] : llvm::zip_equal(product.getLhsBatch(), product.getRhsBatch())) {
    bool isJoined = lhs.sizes[l].size() > 1 && lhs.sizes[l] == rhs.sizes[r];
    batches.push_back(isJoined ? lhs.sizes[l] : Sizes{tensorType(product.getLhs()).getDim(l)});
    isSplit |= isJoined;
  }
  if (!isSplit)
    return;
  OpBuilder builder(product);
  auto rebuilt = [&](Operand &operand, Value old, ArrayRef<int64_t> batch,
                     ArrayRef<int64_t> contract, SmallVector<int64_t> &newBatch,
                     SmallVector<int64_t> &newContract) {
    SmallVector<SymExpr> shape;
    SmallVector<SmallVector<int64_t>> places;
    for (auto [dim, size] : llvm::enumerate(tensorType(old).getShape())) {
      const auto *at = llvm::find(batch, int64_t(dim));
      Sizes sizes = at == batch.end() ? Sizes{size} : batches[at - batch.begin()];
      SmallVector<int64_t> &here = places.emplace_back();
      for (SymExpr each : sizes) {
        here.push_back(int64_t(shape.size()));
        shape.push_back(each);
      }
    }
    for (int64_t dim : batch)
      llvm::append_range(newBatch, places[dim]);
    for (int64_t dim : contract)
      llvm::append_range(newContract, places[dim]);
    return operand.split(builder, shape);
  };
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
  Value l = rebuilt(lhs, product.getLhs(), product.getLhsBatch(), product.getLhsContract(),
                    lhsBatch, lhsContract);
  Value r = rebuilt(rhs, product.getRhs(), product.getRhsBatch(), product.getRhsContract(),
                    rhsBatch, rhsContract);
  auto result = gir::ContractOp::create(builder, product.getLoc(), l, r, lhsBatch, rhsBatch,
                                        lhsContract, rhsContract);
  result->setDiscardableAttrs(product->getDiscardableAttrDictionary());
  result.getResult().setType(
      tensorType(result).withElementType(tensorType(product).getElementType()));
  Value joined = builder.createOrFold<gir::ReshapeOp>(product.getLoc(), result,
                                                      tensorType(product).getShape());
  product.replaceAllUsesWith(joined);
  product.erase();
}

namespace {
struct SplitBatches : gir::impl::GraphSplitBatchesBase<SplitBatches> {
  void runOnOperation() override {
    for (gir::ContractOp product : llvm::to_vector(getOperation().getOps<gir::ContractOp>()))
      splitBatches(product);
  }
};
} // namespace
