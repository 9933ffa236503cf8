//===- ReuseContractions.cpp - Sums of products through known contractions ===//
//
// Σⱼ p[i,j] · (Σₐ a[i,a] b[j,a]) = Σₐ a[i,a] · (Σⱼ p[i,j] b[j,a]). The right side is taken if the
// function computes its inner contraction anyway.
//
// Every dimension of the sum has a label, and so has every summed dimension of the contraction in
// it. A product is the list of its factors: values behind transposes, broadcasts and casts that
// need not round, with the labels of their dimensions. Two products are the same if their factors
// are, under one renaming of labels.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHREUSECONTRACTIONS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

using Labels = SmallVector<int64_t>;

static constexpr int64_t kNone = -1; ///< the label of a dimension along which nothing varies

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }
static Type elementType(Value value) { return tensorType(value).getElementType(); }

static bool contains(ArrayRef<int64_t> labels, int64_t label) {
  return llvm::is_contained(labels, label);
}

static Labels sorted(Labels labels) {
  llvm::sort(labels);
  return labels;
}

namespace {
struct Factor {
  Value value;
  Labels labels;
};

struct Product {
  double scale = 1;
  SmallVector<Factor> factors;

  void add(Value value, Labels labels);
};

/// A contraction with labels for the dimensions of its operands and its result.
struct Labeled {
  gir::ContractOp op;
  Labels operand[2], result;
};
} // namespace

/// Labels of the operand of a broadcast.
static Labels labelsBefore(gir::BroadcastOp broadcast, ArrayRef<int64_t> labels) {
  Labels before;
  gir::TensorType from = tensorType(broadcast.getInput()), to = tensorType(broadcast.getResult());
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    before.push_back(from.getDim(i) == to.getDim(dim) ? labels[dim] : kNone);
  return before;
}

/// Multiplies by a value whose dimensions have these labels.
void Product::add(Value value, Labels labels) {
  Operation *op = value.getDefiningOp();
  if (auto cast = dyn_cast_or_null<gir::CastOp>(op);
      cast && !cast.getExplicit_() && isa<FloatType>(elementType(cast.getInput())))
    return add(cast.getInput(), labels);
  if (auto transpose = dyn_cast_or_null<gir::TransposeOp>(op)) {
    Labels before(labels.size());
    for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
      before[dim] = labels[i];
    return add(transpose.getInput(), before);
  }
  if (auto broadcast = dyn_cast_or_null<gir::BroadcastOp>(op))
    return add(broadcast.getInput(), labelsBefore(broadcast, labels));
  if (auto constant = dyn_cast_or_null<gir::ConstantOp>(op))
    if (auto number = dyn_cast<FloatAttr>(constant.getValue())) {
      scale *= number.getValueAsDouble();
      return;
    }
  if (auto map = dyn_cast_or_null<gir::MapOp>(op); map && isa<FloatType>(elementType(value))) {
    if (map.getScalarOp() == ScalarOp::Neg) {
      scale = -scale;
      return add(map->getOperand(0), labels);
    }
    if (map.getScalarOp() == ScalarOp::Mul) {
      add(map->getOperand(0), labels);
      return add(map->getOperand(1), labels);
    }
  }
  factors.push_back({value, std::move(labels)});
}

/// The labels of `from` that make its factors those of `to`; nothing if there are none. Labels of
/// `from` count from 0 to `rank`.
static std::optional<Labels> match(const Product &from, const Product &to, int64_t rank) {
  if (from.factors.size() != to.factors.size())
    return std::nullopt;
  Labels found(rank, kNone);
  SmallVector<bool> isTaken(to.factors.size());
  auto fits = [&](const Factor &one, const Factor &other) {
    if (one.value != other.value)
      return false;
    Labels renamed = found;
    for (auto [label, expected] : llvm::zip_equal(one.labels, other.labels)) {
      if ((label == kNone) != (expected == kNone))
        return false;
      if (label == kNone)
        continue;
      if (renamed[label] != kNone && renamed[label] != expected)
        return false;
      renamed[label] = expected;
    }
    found = renamed;
    return true;
  };
  for (const Factor &one : from.factors) {
    bool isFound = false;
    for (auto [i, other] : llvm::enumerate(to.factors))
      if (!isTaken[i] && fits(one, other)) {
        isTaken[i] = isFound = true;
        break;
      }
    if (!isFound)
      return std::nullopt;
  }
  return contains(found, kNone) ? std::nullopt : std::optional(found);
}

/// The labels of a contraction's result: the batch dimensions, then the free ones.
static Labels resultLabels(gir::ContractOp op, const Labels (&operand)[2]) {
  Labels result;
  for (int64_t dim : op.getLhsBatch())
    result.push_back(operand[0][dim]);
  ArrayRef<int64_t> batch[] = {op.getLhsBatch(), op.getRhsBatch()};
  ArrayRef<int64_t> contracted[] = {op.getLhsContract(), op.getRhsContract()};
  for (unsigned side : {0, 1})
    for (auto [dim, label] : llvm::enumerate(operand[side]))
      if (!contains(batch[side], dim) && !contains(contracted[side], dim))
        result.push_back(label);
  return result;
}

/// Labels for the operands of a contraction from those of its result; summed dimensions get labels
/// from `next` on.
static Labeled labeled(gir::ContractOp op, ArrayRef<int64_t> labels, int64_t next) {
  Labeled made{op, {}, Labels(labels)};
  ArrayRef<int64_t> batch[] = {op.getLhsBatch(), op.getRhsBatch()};
  ArrayRef<int64_t> contracted[] = {op.getLhsContract(), op.getRhsContract()};
  size_t free = batch[0].size();
  for (unsigned side : {0, 1}) {
    made.operand[side].resize(tensorType(op->getOperand(side)).getRank());
    for (auto [dim, label] : llvm::enumerate(made.operand[side])) {
      const int64_t *inBatch = llvm::find(batch[side], int64_t(dim));
      const int64_t *inSum = llvm::find(contracted[side], int64_t(dim));
      label = inBatch != batch[side].end()      ? labels[inBatch - batch[side].begin()]
              : inSum != contracted[side].end() ? next + (inSum - contracted[side].begin())
                                                : labels[free++];
    }
  }
  return made;
}

/// Whether a contraction with these labels sums over exactly `over`, and multiplies elements with
/// equal labels otherwise.
static bool sumsOver(const Labeled &known, ArrayRef<int64_t> over) {
  Labels summed;
  gir::ContractOp op = known.op;
  for (auto [left, right] : llvm::zip_equal(op.getLhsContract(), op.getRhsContract())) {
    if (known.operand[0][left] != known.operand[1][right])
      return false;
    summed.push_back(known.operand[0][left]);
  }
  for (auto [left, right] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    if (known.operand[0][left] != known.operand[1][right])
      return false;
  // A label of both operands that is neither is not one dimension.
  Labels result = sorted(known.result);
  return sorted(summed) == sorted(Labels(over)) &&
         std::adjacent_find(result.begin(), result.end()) == result.end();
}

namespace {
/// A sum over products in which one factor is a contraction.
class SumOfProducts {
public:
  SumOfProducts(gir::ReduceOp sum, const SizeFacts &facts) : sum(sum), facts(facts) {}

  /// Rewrites the sum through one of these contractions, if it can be.
  bool rewrite(ArrayRef<gir::ContractOp> known);

private:
  bool rewrite(const Labeled &inner, unsigned kept, const Product &others, gir::ContractOp known);
  void build(const Labeled &inner, unsigned kept, const Labeled &known, double scale);
  bool accumulatesAlike(gir::ContractOp op) {
    return isa<FloatType>(elementType(op)) && elementType(op).getIntOrFloatBitWidth() >= 16 &&
           gir::accumulationType(elementType(op)) == gir::accumulationType(elementType(sum));
  }

  gir::ReduceOp sum;
  const SizeFacts &facts;
};
} // namespace

bool SumOfProducts::rewrite(ArrayRef<gir::ContractOp> known) {
  int64_t rank = tensorType(sum.getInput()).getRank();
  Labels labels(rank);
  std::iota(labels.begin(), labels.end(), 0);
  Product product;
  product.add(sum.getInput(), labels);
  if (product.factors.size() < 2)
    return false;
  for (auto [i, factor] : llvm::enumerate(product.factors)) {
    auto inner = factor.value.getDefiningOp<gir::ContractOp>();
    if (!inner || !accumulatesAlike(inner) || contains(factor.labels, kNone))
      continue;
    Product others = product;
    others.factors.erase(others.factors.begin() + i);
    Labeled labeledInner = labeled(inner, factor.labels, rank);
    for (gir::ContractOp op : known)
      for (unsigned kept : {0, 1})
        if (op != inner && accumulatesAlike(op) && op->isBeforeInBlock(sum) &&
            rewrite(labeledInner, kept, others, op))
          return true;
  }
  return false;
}

/// The operand `kept` of `inner` stays in the sum; the other one and the other factors are the
/// operands of `op`, in either order.
bool SumOfProducts::rewrite(const Labeled &inner, unsigned kept, const Product &others,
                            gir::ContractOp op) {
  ArrayRef<int64_t> over = sum.getDims();
  const Labels &left = inner.operand[kept], &right = inner.operand[1 - kept];
  if (llvm::any_of(over, [&](int64_t dim) { return contains(left, dim) || !contains(right, dim); }))
    return false;
  Product multiplied;
  gir::ContractOp product = inner.op;
  multiplied.add(product->getOperand(1 - kept), right);
  for (unsigned side : {0, 1}) {
    const Product *expected[] = {side ? &multiplied : &others, side ? &others : &multiplied};
    Labeled known{op, {}, {}};
    double scale = others.scale * multiplied.scale;
    bool isSame = true;
    for (unsigned i : {0, 1}) {
      int64_t rank = tensorType(op->getOperand(i)).getRank();
      Labels own(rank);
      std::iota(own.begin(), own.end(), 0);
      Product operand;
      operand.add(op->getOperand(i), own);
      std::optional<Labels> labels = match(operand, *expected[i], rank);
      isSame &= labels.has_value();
      if (!labels)
        break;
      known.operand[i] = *labels;
      scale /= operand.scale;
    }
    if (!isSame || !std::isfinite(scale) || !sumsOver(known, over))
      continue;
    known.result = resultLabels(op, known.operand);
    Labels rest;
    for (int64_t label : left)
      if (label < int64_t(tensorType(sum.getInput()).getRank()))
        rest.push_back(label);
    // What is summed has the dimensions of the kept operand, and no more elements than before.
    bool isCovered = sorted(known.result) == sorted(left) &&
                     rest.size() + over.size() == tensorType(sum.getInput()).getRank();
    if (!isCovered || facts.hint(tensorType(op.getResult()).getNumElements()) >
                          facts.hint(tensorType(sum.getInput()).getNumElements()))
      continue;
    build(inner, kept, known, scale);
    return true;
  }
  return false;
}

void SumOfProducts::build(const Labeled &inner, unsigned kept, const Labeled &known, double scale) {
  OpBuilder builder(sum);
  Location loc = sum.getLoc();
  Type wide = gir::accumulationType(elementType(sum));
  auto widen = [&](Value value, Type type) -> Value {
    return elementType(value) == type ? value
                                      : gir::CastOp::create(builder, loc, value, type).getResult();
  };
  auto permuted = [&](Value value, ArrayRef<int64_t> from, ArrayRef<int64_t> to) -> Value {
    SmallVector<int64_t> permutation;
    for (int64_t label : to)
      permutation.push_back(llvm::find(from, label) - from.begin());
    if (llvm::is_sorted(permutation))
      return value;
    return gir::TransposeOp::create(builder, loc, value, permutation);
  };
  const Labels &labels = inner.operand[kept];
  gir::ContractOp product = inner.op, reused = known.op;
  Value left = widen(product->getOperand(kept), wide);
  Value right = permuted(widen(reused.getResult(), wide), known.result, labels);
  Value result = gir::MapOp::create(builder, loc, ScalarOp::Mul, ValueRange{left, right});
  int64_t rank = tensorType(sum.getInput()).getRank();
  SmallVector<int64_t> dims;
  Labels rest, order;
  for (auto [dim, label] : llvm::enumerate(labels))
    label >= rank ? dims.push_back(dim) : rest.push_back(label);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!contains(sum.getDims(), dim))
      order.push_back(dim);
  result = gir::ReduceOp::create(builder, loc, tessera::ReduceOp::Sum, result, dims);
  result = permuted(result, rest, order);
  if (scale != 1) {
    Value number = gir::ConstantOp::create(builder, loc, tensorType(result), scale);
    result = gir::MapOp::create(builder, loc, ScalarOp::Mul, ValueRange{result, number});
  }
  sum.getResult().replaceAllUsesWith(widen(result, elementType(sum)));
  sum.erase();
}

namespace {
struct ReuseContractions : gir::impl::GraphReuseContractionsBase<ReuseContractions> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || gir::numericsOption(function, "numerics") == "strict")
      return;
    SizeFacts facts(function);
    SmallVector<gir::ContractOp> products;
    SmallVector<gir::ReduceOp> sums;
    for (Operation &op : function.getBody().front()) {
      if (auto product = dyn_cast<gir::ContractOp>(op))
        products.push_back(product);
      if (auto sum = dyn_cast<gir::ReduceOp>(op);
          sum && sum.getReduceOp() == tessera::ReduceOp::Sum && isa<FloatType>(elementType(sum)))
        sums.push_back(sum);
    }
    for (gir::ReduceOp sum : sums)
      SumOfProducts(sum, facts).rewrite(products);
  }
};
} // namespace
