//===- UnrollWindows.cpp - Small windows as elementwise operations ---------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/ComputedOperands.h"
#include "tessera/Dialect/Graph/Analysis/Windows.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHUNROLLWINDOWS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

/// The number of elements of dimensions of a tensor that shows windows; 0 if they are not written
/// out.
static int64_t countOf(Value value, ArrayRef<int64_t> dims) {
  gir::TensorType type = tensorType(value);
  std::optional<gir::Windows> windows = gir::windowsOf(value);
  if (!windows)
    return 0;
  int64_t count = 1;
  bool isOfElements = true;
  for (int64_t dim : dims) {
    SymExpr size = type.getDim(dim);
    if (!size.isConstant() || !gir::isUnrolled(double(size.constantValue()), true))
      return 0;
    count *= size.constantValue();
    isOfElements &= dim >= windows->firstElement || size.isConstant(1);
  }
  return gir::isUnrolled(double(count), isOfElements) ? count : 0;
}

/// The number of terms of a reduction or a contraction over windows; 0 if they are not written out.
static int64_t termsOf(Operation *op) {
  if (auto reduce = dyn_cast<gir::ReduceOp>(op))
    return countOf(reduce.getInput(), reduce.getDims());
  auto product = cast<gir::ContractOp>(op);
  return std::max(countOf(product.getLhs(), product.getLhsContract()),
                  countOf(product.getRhs(), product.getRhsContract()));
}

/// The tensor without dimensions, at one index along them, and with other dimensions in order.
static Value at(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> dims,
                int64_t number, ArrayRef<int64_t> order) {
  gir::TensorType type = tensorType(value);
  SmallVector<SymExpr> starts(type.getRank(), SymExpr(0)), shape(type.getShape());
  for (int64_t dim : llvm::reverse(dims)) {
    int64_t size = type.getDim(dim).constantValue();
    starts[dim] = SymExpr(number % size);
    shape[dim] = SymExpr(1);
    number /= size;
  }
  SmallVector<int64_t> permutation(order);
  permutation.append(dims.begin(), dims.end());
  value = builder.createOrFold<gir::SliceOp>(loc, value, starts,
                                             SmallVector<int64_t>(type.getRank(), 1), shape);
  value = builder.createOrFold<gir::TransposeOp>(loc, value, permutation);
  return builder.createOrFold<gir::ReshapeOp>(loc, value,
                                              tensorType(value).getShape().drop_back(dims.size()));
}

/// Sums are exact to the accumulation type.
static Value widened(OpBuilder &builder, Location loc, Value value) {
  Type wide = gir::accumulationType(tensorType(value).getElementType());
  return wide == tensorType(value).getElementType()
             ? value
             : Value(gir::CastOp::create(builder, loc, value, wide, false));
}

static Value rounded(OpBuilder &builder, Location loc, Value value, Type element) {
  return tensorType(value).getElementType() == element
             ? value
             : Value(gir::CastOp::create(builder, loc, value, element, false));
}

static bool isArithmetic(gir::TensorType type) { return !type.isBool(); }

static Value unrolled(OpBuilder &builder, gir::ReduceOp reduce) {
  Location loc = reduce.getLoc();
  Value input = reduce.getInput();
  gir::TensorType type = tensorType(input);
  int64_t count = termsOf(reduce);
  if (count == 0 || !isArithmetic(type))
    return {};
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(reduce.getDims(), dim))
      kept.push_back(dim);
  Value result;
  for (int64_t i = 0; i < count; ++i) {
    Value term = widened(builder, loc, at(builder, loc, input, reduce.getDims(), i, kept));
    result = result ? gir::MapOp::create(builder, loc, reduceOpCombiner(reduce.getReduceOp()),
                                         ValueRange{result, term})
                    : term;
  }
  return rounded(builder, loc, result, tensorType(reduce.getResult()).getElementType());
}

namespace {
/// A contraction of few terms.
class Products {
public:
  Products(OpBuilder &builder, gir::ContractOp product)
      : builder(builder), product(product), loc(product.getLoc()),
        shape(tensorType(product).getShape()) {}

  Value unrolled() {
    int64_t count = termsOf(product);
    if (count == 0)
      return {};
    Value sum;
    for (int64_t i = 0; i < count; ++i) {
      Value term = gir::MapOp::create(builder, loc, ScalarOp::Mul,
                                      ValueRange{factor(product.getLhs(), product.getLhsBatch(),
                                                        product.getLhsContract(), i, 0),
                                                 factor(product.getRhs(), product.getRhsBatch(),
                                                        product.getRhsContract(), i, lhsFree())});
      sum = sum ? gir::MapOp::create(builder, loc, ScalarOp::Add, ValueRange{sum, term}) : term;
    }
    return rounded(builder, loc, sum, tensorType(product).getElementType());
  }

private:
  int64_t lhsFree() {
    return tensorType(product.getLhs()).getRank() -
           int64_t(product.getLhsBatch().size() + product.getLhsContract().size());
  }

  /// One term's factor in the shape of the result; its free dimensions are behind the batch and
  /// `skipped` others.
  Value factor(Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract, int64_t number,
               int64_t skipped) {
    SmallVector<int64_t> order(batch), places;
    for (int64_t dim = 0; dim < tensorType(operand).getRank(); ++dim)
      if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
        order.push_back(dim);
    for (int64_t i = 0; i < int64_t(order.size()); ++i)
      places.push_back(i < int64_t(batch.size()) ? i : i + skipped);
    Value value = widened(builder, loc, at(builder, loc, operand, contract, number, order));
    return builder.createOrFold<gir::BroadcastOp>(loc, value, shape, places);
  }

  OpBuilder &builder;
  gir::ContractOp product;
  Location loc;
  SmallVector<SymExpr> shape;
};

/// Stores a sum of many terms that is needed several times: computing it again takes longer than
/// reading it.
static void storeRepeated(OpBuilder &builder, Value sum, int64_t terms) {
  constexpr int64_t manyTerms = 16;
  if (terms < manyTerms || gir::passesOver(sum) < 2)
    return;
  Value value = gir::endOfMaps(sum);
  builder.setInsertionPointAfterValue(value);
  auto copy = gir::MaterializeOp::create(
      builder, value.getLoc(), value.getType(), value, UnitAttr(), IntegerAttr(),
      builder.getStringAttr("each of its elements is computed from many, several times"));
  value.replaceAllUsesExcept(copy, copy);
}

struct UnrollWindows : gir::impl::GraphUnrollWindowsBase<UnrollWindows> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    for (Operation &op : getOperation().getOps())
      if (isa<gir::ReduceOp, gir::ContractOp>(op))
        ops.push_back(&op);
    for (Operation *op : ops) {
      OpBuilder builder(op);
      auto reduce = dyn_cast<gir::ReduceOp>(op);
      Value result = reduce ? unrolled(builder, reduce)
                            : Products(builder, cast<gir::ContractOp>(op)).unrolled();
      if (!result)
        continue;
      op->getResult(0).replaceAllUsesWith(result);
      int64_t terms = termsOf(op);
      op->erase();
      storeRepeated(builder, result, terms);
    }
  }
};
} // namespace
