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
/// An operand of a contraction, seen through casts and transpositions up to a reshape.
class Operand {
public:
  explicit Operand(Value operand) : whole(operand) {
    while (isa_and_nonnull<gir::CastOp, gir::TransposeOp>(operand.getDefiningOp())) {
      around.push_back(operand.getDefiningOp());
      operand = around.back()->getOperand(0);
    }
    reshape = operand.getDefiningOp<gir::ReshapeOp>();
    std::optional<SmallVector<Sizes>> found;
    if (reshape)
      found = joinedSizes(reshape);
    if (!found) {
      around.clear();
      reshape = nullptr;
      found.emplace();
      for (SymExpr size : tensorType(whole).getShape())
        found->push_back({size});
    }
    sizes = *found;
    for (Operation *op : llvm::reverse(around))
      if (auto transpose = dyn_cast<gir::TransposeOp>(op))
        sizes = llvm::map_to_vector(transpose.getPermutation(),
                                    [&](int64_t dim) { return sizes[dim]; });
  }

  /// The sizes that are joined into a dimension.
  const Sizes &of(int64_t dim) const { return sizes[dim]; }

  /// The operand with dimensions in place of others, which they divide.
  Value split(OpBuilder &builder, ArrayRef<Sizes> wanted) {
    SmallVector<Sizes> inner(wanted);
    for (Operation *op : around)
      if (auto transpose = dyn_cast<gir::TransposeOp>(op)) {
        SmallVector<Sizes> outer = inner;
        for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
          inner[from] = outer[to];
      }
    auto flat = [](ArrayRef<Sizes> parts) {
      SmallVector<SymExpr> shape;
      for (const Sizes &each : parts)
        llvm::append_range(shape, each);
      return shape;
    };
    Value value = builder.createOrFold<gir::ReshapeOp>(
        whole.getLoc(), reshape ? reshape.getInput() : whole, flat(inner));
    for (Operation *op : llvm::reverse(around)) {
      if (auto cast = dyn_cast<gir::CastOp>(op)) {
        Operation *again = builder.clone(*cast);
        again->setOperand(0, value);
        again->getResult(0).setType(tensorType(cast).withShape(tensorType(value).getShape()));
        value = again->getResult(0);
        continue;
      }
      SmallVector<SmallVector<int64_t>> places;
      int64_t next = 0;
      for (const Sizes &each : inner) {
        places.emplace_back();
        for (size_t i = 0; i < each.size(); ++i)
          places.back().push_back(next++);
      }
      SmallVector<int64_t> order;
      SmallVector<Sizes> outer;
      for (int64_t from : cast<gir::TransposeOp>(op).getPermutation()) {
        llvm::append_range(order, places[from]);
        outer.push_back(inner[from]);
      }
      value = builder.createOrFold<gir::TransposeOp>(op->getLoc(), value, order);
      inner = outer;
    }
    return value;
  }

private:
  Value whole;
  SmallVector<Operation *> around; ///< the last one first
  gir::ReshapeOp reshape;
  SmallVector<Sizes> sizes;
};
} // namespace

static void splitBatches(gir::ContractOp product) {
  Operand lhs(product.getLhs()), rhs(product.getRhs());
  // The batch dimensions, each as those that an operand has joined, unless the other one has joined
  // different ones.
  SmallVector<Sizes> batches;
  bool isSplit = false;
  for (auto [l, r] : llvm::zip_equal(product.getLhsBatch(), product.getRhsBatch())) {
    const Sizes &first = lhs.of(l), &second = rhs.of(r);
    bool isOne = first.size() < 2 || second.size() < 2 || first == second;
    const Sizes &joined = first.size() > 1 ? first : second;
    batches.push_back(isOne && joined.size() > 1 ? joined
                                                 : Sizes{tensorType(product.getLhs()).getDim(l)});
    isSplit |= batches.back().size() > 1;
  }
  if (!isSplit)
    return;
  OpBuilder builder(product);
  auto rebuilt = [&](Operand &operand, Value old, ArrayRef<int64_t> batch,
                     ArrayRef<int64_t> contract, SmallVector<int64_t> &newBatch,
                     SmallVector<int64_t> &newContract) {
    SmallVector<Sizes> shape;
    SmallVector<SmallVector<int64_t>> places;
    int64_t next = 0;
    for (auto [dim, size] : llvm::enumerate(tensorType(old).getShape())) {
      const auto *at = llvm::find(batch, int64_t(dim));
      shape.push_back(at == batch.end() ? Sizes{size} : batches[at - batch.begin()]);
      SmallVector<int64_t> &here = places.emplace_back();
      for (size_t i = 0; i < shape.back().size(); ++i)
        here.push_back(next++);
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
