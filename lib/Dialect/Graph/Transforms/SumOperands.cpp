//===- SumOperands.cpp - Sums of contractions as contractions of sums -----===//
//
// Σⱼ Σₖ a[i,k] b[j,k] = Σₖ a[i,k] (Σⱼ b[j,k]). Linear operations between the sum and the
// contraction are summed as they are passed: additions term by term, factors that do not vary along
// the sum outside of it. Sums are in the type in which the reduction accumulates.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHSUMOPERANDS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

using Dims = SmallVector<int64_t>;

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }
static Type elementType(Value value) { return tensorType(value).getElementType(); }
static bool contains(ArrayRef<int64_t> dims, int64_t dim) { return llvm::is_contained(dims, dim); }

/// The dimensions of a reshape's input that are `dims` of its result, unless they are joined with
/// others or taken apart.
static std::optional<Dims> dimsBefore(gir::ReshapeOp reshape, ArrayRef<int64_t> dims) {
  ArrayRef<SymExpr> from = tensorType(reshape.getInput()).getShape(),
                    to = tensorType(reshape.getResult()).getShape();
  Dims result;
  SymExpr before(1), inner(1);
  size_t i = 0;
  for (auto [dim, size] : llvm::enumerate(to)) {
    if (contains(dims, dim)) {
      while (i < from.size() && !(inner == before && from[i] == size))
        inner = inner * from[i++];
      if (i == from.size())
        return std::nullopt;
      result.push_back(i);
      inner = inner * from[i++];
    }
    before = before * size;
  }
  return result;
}

/// The dimensions of a sum by the operand that has them; nothing if both operands have one.
namespace {
struct FreeDims {
  Dims lhs, rhs;
};
} // namespace

static std::optional<FreeDims> freeDims(gir::ContractOp product, ArrayRef<int64_t> dims) {
  auto others = [](Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> summed) {
    Dims free;
    for (int64_t dim = 0; dim < int64_t(tensorType(operand).getRank()); ++dim)
      if (!contains(batch, dim) && !contains(summed, dim))
        free.push_back(dim);
    return free;
  };
  Dims lhs = others(product.getLhs(), product.getLhsBatch(), product.getLhsContract()),
       rhs = others(product.getRhs(), product.getRhsBatch(), product.getRhsContract());
  int64_t batches = product.getLhsBatch().size();
  FreeDims result;
  for (int64_t dim : dims) {
    if (dim < batches) // both operands vary
      return std::nullopt;
    int64_t place = dim - batches, count = lhs.size();
    (place < count ? result.lhs : result.rhs)
        .push_back(place < count ? lhs[place] : rhs[place - count]);
  }
  return result;
}

/// Whether a value is a number, or a broadcast along all of these dimensions.
static bool isInvariant(Value value, const Dims &dims) {
  if (auto constant = value.getDefiningOp<gir::ConstantOp>())
    return isa<FloatAttr>(constant.getValue());
  auto broadcast = value.getDefiningOp<gir::BroadcastOp>();
  return broadcast && llvm::all_of(llvm::enumerate(broadcast.getDims()), [&](auto each) {
           return !contains(dims, each.value()) ||
                  tensorType(broadcast.getInput()).getDim(each.index()).isConstant(1);
         });
}

/// Whether linear operations that have no other use lead to a contraction with these dimensions.
static bool leadsToProduct(Value value, const Dims &dims) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse() || !isa<FloatType>(elementType(value)))
    return false;
  if (auto product = dyn_cast<gir::ContractOp>(op))
    return freeDims(product, dims).has_value();
  if (auto cast = dyn_cast<gir::CastOp>(op))
    return !cast.getExplicit_() && leadsToProduct(cast.getInput(), dims);
  if (auto transpose = dyn_cast<gir::TransposeOp>(op))
    return leadsToProduct(transpose.getInput(), llvm::map_to_vector(dims, [&](int64_t dim) {
                            return transpose.getPermutation()[dim];
                          }));
  if (auto reshape = dyn_cast<gir::ReshapeOp>(op)) {
    std::optional<Dims> before = dimsBefore(reshape, dims);
    return before && leadsToProduct(reshape.getInput(), *before);
  }
  auto map = dyn_cast<gir::MapOp>(op);
  if (!map)
    return false;
  auto leads = [&](unsigned i) { return leadsToProduct(map->getOperand(i), dims); };
  auto varies = [&](unsigned i) { return !isInvariant(map->getOperand(i), dims); };
  switch (map.getScalarOp()) {
  case ScalarOp::Neg:
    return leads(0);
  case ScalarOp::Add:
  case ScalarOp::Sub:
    return leads(0) || leads(1);
  case ScalarOp::Mul:
    return (leads(0) && !varies(1)) || (leads(1) && !varies(0));
  case ScalarOp::Div:
    return leads(0) && !varies(1);
  default:
    return false;
  }
}

namespace {
class Summation {
public:
  explicit Summation(gir::ReduceOp reduce)
      : reduce(reduce), builder(reduce), loc(reduce.getLoc()),
        wide(gir::accumulationType(elementType(reduce.getResult()))) {}

  bool isPossible() { return leadsToProduct(reduce.getInput(), Dims(reduce.getDims())); }

  void rewrite() {
    Value sum = summed(reduce.getInput(), Dims(reduce.getDims()));
    sum = converted(sum, elementType(reduce.getResult()));
    reduce.replaceAllUsesWith(sum);
    reduce.erase();
  }

private:
  /// The sum along these dimensions.
  Value summed(Value value, const Dims &dims);
  Value summedProduct(gir::ContractOp product, const Dims &dims);
  Value summedOperand(Value operand, const Dims &dims);
  Value summedAlone(Value value, const Dims &dims);
  /// A value that does not vary along these dimensions, without them.
  Value withoutDims(Value value, const Dims &dims);

  Value converted(Value value, Type type) {
    return elementType(value) == type
               ? value
               : gir::CastOp::create(builder, value.getLoc(), value, type).getResult();
  }
  Value sum(Value value, const Dims &dims) {
    return dims.empty() ? value
                        : gir::ReduceOp::create(builder, loc, tessera::ReduceOp::Sum, value, dims)
                              .getResult();
  }
  static SmallVector<SymExpr> shapeWithout(Value value, const Dims &dims) {
    SmallVector<SymExpr> shape;
    for (auto [dim, size] : llvm::enumerate(tensorType(value).getShape()))
      if (!contains(dims, dim))
        shape.push_back(size);
    return shape;
  }

  gir::ReduceOp reduce;
  OpBuilder builder;
  Location loc;
  Type wide;
};
} // namespace

/// The number of dimensions before `dim` that stay.
static int64_t placeWithout(int64_t dim, ArrayRef<int64_t> dims) {
  return dim - llvm::count_if(dims, [&](int64_t each) { return each < dim; });
}

Value Summation::withoutDims(Value value, const Dims &dims) {
  SmallVector<SymExpr> shape = shapeWithout(value, dims), before;
  if (auto constant = value.getDefiningOp<gir::ConstantOp>())
    return gir::ConstantOp::create(builder, loc, gir::TensorType::get(shape, elementType(value)),
                                   cast<FloatAttr>(constant.getValue()));
  auto broadcast = value.getDefiningOp<gir::BroadcastOp>();
  Dims kept;
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    if (!contains(dims, dim)) {
      kept.push_back(placeWithout(dim, dims));
      before.push_back(tensorType(broadcast.getInput()).getDim(i));
    }
  Value input = builder.createOrFold<gir::ReshapeOp>(loc, broadcast.getInput(), before);
  return gir::BroadcastOp::create(builder, loc, input, shape, kept);
}

/// The positions of windows are summed one dimension after the other: each sum reads its operand
/// once for each element of a window along one dimension, not for those along all of them.
Value Summation::summedOperand(Value operand, const Dims &dims) {
  auto window = operand.getDefiningOp<gir::WindowOp>();
  if (!window || window.getDims().size() < 2 ||
      !llvm::all_of(window.getDims(), [&](int64_t dim) { return contains(dims, dim); }))
    return sum(converted(operand, wide), dims);
  Value value = window.getInput();
  int64_t count = window.getDims().size();
  for (int64_t i = count - 1; i >= 0; --i) { // the rows of memory first
    int64_t dim = window.getDims()[i];
    value = gir::WindowOp::create(builder, loc, value, ArrayRef(dim), window.getSizes().slice(i, 1),
                                  window.getSteps().slice(i, 1), window.getDilations().slice(i, 1));
    value = sum(converted(value, wide), {dim});
  }
  // Elements are in the order of the sums.
  int64_t rank = tensorType(value).getRank();
  Dims order = llvm::to_vector(llvm::seq(rank));
  std::reverse(order.end() - count, order.end());
  value = builder.createOrFold<gir::TransposeOp>(loc, value, order);
  Dims rest;
  for (int64_t dim : dims)
    if (!contains(window.getDims(), dim))
      rest.push_back(placeWithout(dim, window.getDims()));
  value = sum(value, rest);
  return gir::MaterializeOp::create(
      builder, loc, value.getType(), value, UnitAttr(), IntegerAttr(),
      builder.getStringAttr("a contraction reads these sums of windows many times"));
}

Value Summation::summedProduct(gir::ContractOp product, const Dims &dims) {
  FreeDims free = *freeDims(product, dims);
  Value lhs = summedOperand(product.getLhs(), free.lhs),
        rhs = summedOperand(product.getRhs(), free.rhs);
  auto places = [](ArrayRef<int64_t> dims, const Dims &left) {
    return llvm::map_to_vector(dims, [&](int64_t dim) { return placeWithout(dim, left); });
  };
  return gir::ContractOp::create(builder, loc, lhs, rhs, places(product.getLhsBatch(), free.lhs),
                                 places(product.getRhsBatch(), free.rhs),
                                 places(product.getLhsContract(), free.lhs),
                                 places(product.getRhsContract(), free.rhs));
}

/// Elements that are the same along a dimension are counted.
Value Summation::summedAlone(Value value, const Dims &dims) {
  auto broadcast = value.getDefiningOp<gir::BroadcastOp>();
  if (!broadcast)
    return sum(converted(value, wide), dims);
  ArrayRef<int64_t> places = broadcast.getDims();
  Dims inside, kept;
  for (auto [i, dim] : llvm::enumerate(places))
    if (contains(dims, dim))
      inside.push_back(i);
    else
      kept.push_back(placeWithout(dim, dims));
  SymExpr count(1);
  for (int64_t dim : dims) {
    const auto *at = llvm::find(places, dim);
    if (at == places.end() ||
        tensorType(broadcast.getInput()).getDim(at - places.begin()).isConstant(1))
      count = count * tensorType(value).getDim(dim);
  }
  Value result = sum(converted(broadcast.getInput(), wide), inside);
  result = gir::BroadcastOp::create(builder, loc, result, shapeWithout(value, dims), kept);
  if (count.isConstant(1))
    return result;
  Value number = converted(gir::SizeOp::create(builder, loc, count), wide);
  number = gir::BroadcastOp::create(builder, loc, number, tensorType(result).getShape(), Dims());
  return gir::MapOp::create(builder, loc, ScalarOp::Mul, ValueRange{result, number});
}

Value Summation::summed(Value value, const Dims &dims) {
  if (!leadsToProduct(value, dims))
    return summedAlone(value, dims);
  Operation *op = value.getDefiningOp();
  if (auto product = dyn_cast<gir::ContractOp>(op))
    return summedProduct(product, dims);
  if (auto cast = dyn_cast<gir::CastOp>(op))
    return summed(cast.getInput(), dims);
  if (auto transpose = dyn_cast<gir::TransposeOp>(op)) {
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    Dims before = llvm::map_to_vector(dims, [&](int64_t dim) { return permutation[dim]; }), order;
    for (auto [i, dim] : llvm::enumerate(permutation))
      if (!contains(dims, i))
        order.push_back(placeWithout(dim, before));
    return builder.createOrFold<gir::TransposeOp>(loc, summed(transpose.getInput(), before), order);
  }
  if (auto reshape = dyn_cast<gir::ReshapeOp>(op)) {
    Value result = summed(reshape.getInput(), *dimsBefore(reshape, dims));
    return builder.createOrFold<gir::ReshapeOp>(loc, result, shapeWithout(value, dims));
  }
  auto map = cast<gir::MapOp>(op);
  ScalarOp kind = map.getScalarOp();
  if (kind == ScalarOp::Neg)
    return gir::MapOp::create(builder, loc, kind, summed(map->getOperand(0), dims));
  Value operands[2];
  bool isLinear = kind == ScalarOp::Add || kind == ScalarOp::Sub;
  unsigned product = leadsToProduct(map->getOperand(0), dims) ? 0 : 1;
  for (unsigned i : {0u, 1u})
    operands[i] = isLinear || i == product ? summed(map->getOperand(i), dims)
                                           : converted(withoutDims(map->getOperand(i), dims), wide);
  return gir::MapOp::create(builder, loc, kind, ValueRange(operands));
}

namespace {
struct SumOperands : gir::impl::GraphSumOperandsBase<SumOperands> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (gir::numericsOption(function, "numerics") == "strict")
      return;
    for (auto reduce : llvm::to_vector(function.getOps<gir::ReduceOp>()))
      if (reduce.getReduceOp() == tessera::ReduceOp::Sum &&
          isa<FloatType>(elementType(reduce.getResult())))
        if (Summation summation(reduce); summation.isPossible())
          summation.rewrite();
  }
};
} // namespace
