//===- BuiltinsSort.cpp - Sorting along a dimension -------------------------------------------===//
//
// Sorting is stable, and NaN is larger than every number, as in PyTorch.
//
// Short rows are sorted by counting. An element's position is the number of elements that precede
// it: smaller ones, and equal ones with a smaller index. Positions are a reduction over pairs of
// elements, and the element at a position is a reduction over all elements with one nonzero term.
// Both are scheduled and fused like any other code, on every target. A row of n elements takes n²
// comparisons.
//
// Long rows are sorted by `gir.argsort`, and their elements are gathered in its order.
//
//===------------------------------------------------------------------------------------------===//
#include "Builtins.h"

#include <limits>

using namespace tessera;
using namespace tessera::sema;

/// Rows of at most this many elements are sorted by counting: on GPUs, and where rows are sorted
/// sequentially.
static constexpr int64_t mostCounted = 16, mostCountedSequentially = 32;

namespace {

/// A tensor with the sorted dimension moved to the end.
struct Rows {
  Value x;
  DType dtype; ///< of the operand; bools are sorted as numbers
  int64_t dim;
  SymExpr length;
};

} // namespace

/// The permutation that moves `dim` to the end, or, with `back`, from the end to its position.
static llvm::SmallVector<int64_t> moved(int64_t rank, int64_t dim, bool back) {
  llvm::SmallVector<int64_t> order = allDims(rank);
  if (back)
    std::rotate(order.begin() + dim, order.end() - 1, order.end());
  else
    std::rotate(order.begin() + dim, order.begin() + dim + 1, order.end());
  return order;
}

static Rows rowsOf(Emitter &emit, const Value &x, int64_t dim) {
  Rows rows{x, Emitter::dtype(x), dim, x.shape()[dim]};
  if (rows.dtype == DType::Bool)
    rows.x = emit.cast(x, DType::UInt8, false);
  rows.x = Value::ofTensor(emit.transpose(rows.x.tensor, moved(x.rank(), dim, false)));
  return rows;
}

static Value reduceLast(Emitter &emit, tessera::ReduceOp op, const Value &x) {
  llvm::SmallVector<int64_t, 1> last{int64_t(x.rank()) - 1};
  return Value::ofTensor(
      gir::ReduceOp::create(emit.builder, emit.loc(), op, x.tensor, last).getResult());
}

/// The position of every element in its sorted row, as int32.
static Value placesOf(Emitter &emit, const Rows &rows, bool descending) {
  int64_t rank = rows.x.rank();
  Value mine = Value::ofTensor(emit.unsqueeze(rows.x.tensor, {rank}));
  Value other = Value::ofTensor(emit.unsqueeze(rows.x.tensor, {rank - 1}));
  Shape pair{rows.length, rows.length};
  Value row = emit.iota(pair, 0, DType::Int64), column = emit.iota(pair, 1, DType::Int64);
  Value isEarlier = emit.map(ScalarOp::Lt, {column, row});
  Value isLater = emit.map(ScalarOp::Gt, {column, row});
  // Whether x comes after y, or is equal to it.
  const Value &low = descending ? other : mine, &high = descending ? mine : other;
  Value comesAfter = emit.map(ScalarOp::Ge, {low, high});
  Value before = emit.map(ScalarOp::Not, {emit.map(ScalarOp::Ge, {high, low})});
  if (Emitter::isFloat(Emitter::dtype(rows.x))) {
    comesAfter = emit.map(ScalarOp::Or, {emit.map(ScalarOp::IsNan, {low}), comesAfter});
    Value isNumber = emit.map(ScalarOp::Not, {emit.map(ScalarOp::IsNan, {high})});
    before = emit.map(ScalarOp::And, {isNumber, before});
  }
  // An element is not compared with itself: its error bound would make its position uncertain.
  before = emit.map(ScalarOp::Where, {isLater, before, Value::ofBool(false)});
  Value counts = emit.map(ScalarOp::Where, {isEarlier, comesAfter, before});
  return reduceLast(emit, tessera::ReduceOp::Sum, emit.cast(counts, DType::Int32, false));
}

static Value lowest(DType dtype) {
  switch (dtype) {
  case DType::Int64:
    return Value::ofInt(SymExpr(std::numeric_limits<int64_t>::min()));
  case DType::Int32:
    return Value::ofInt(SymExpr(std::numeric_limits<int32_t>::min()));
  case DType::Int16:
    return Value::ofInt(SymExpr(std::numeric_limits<int16_t>::min()));
  case DType::Int8:
    return Value::ofInt(SymExpr(std::numeric_limits<int8_t>::min()));
  case DType::UInt8:
    return Value::ofInt(SymExpr(0));
  default:
    return Value::ofFloat(-std::numeric_limits<double>::infinity());
  }
}

/// The first `count` elements of the sorted rows and their indices.
static std::pair<Value, Value> byCounting(Emitter &emit, const Rows &rows, bool descending,
                                          SymExpr count) {
  Value places = placesOf(emit, rows, descending);
  int64_t rank = rows.x.rank();
  Shape pair{count, rows.length};
  Value slot = emit.iota(pair, 0, DType::Int32), index = emit.iota(pair, 1, DType::Int64);
  Value place = Value::ofTensor(emit.unsqueeze(places.tensor, {rank - 1}));
  Value isThere = emit.map(ScalarOp::Eq, {place, slot});
  Value other = Value::ofTensor(emit.unsqueeze(rows.x.tensor, {rank - 1}));
  DType dtype = Emitter::dtype(rows.x);
  Value values = reduceLast(emit, tessera::ReduceOp::Max,
                            emit.map(ScalarOp::Where, {isThere, other, lowest(dtype)}));
  Value indices = reduceLast(emit, tessera::ReduceOp::Sum,
                             emit.map(ScalarOp::Where, {isThere, index, Value::ofInt(SymExpr(0))}));
  return {values, indices};
}

/// The same for long rows; `few` is the number of requested elements if it is known.
static std::pair<Value, Value> byKeys(Emitter &emit, const Rows &rows, bool descending,
                                      SymExpr count, std::optional<int64_t> few) {
  int64_t last = int64_t(rows.x.rank()) - 1;
  mlir::Value indices =
      gir::ArgSortOp::create(emit.builder, emit.loc(), rows.x.tensor, descending, few);
  Shape starts(last + 1, SymExpr(0)), sizes(rows.x.shape());
  sizes.back() = count;
  if (!few)
    indices = emit.slice(indices, starts, llvm::SmallVector<int64_t>(last + 1, 1), sizes);
  mlir::Value values = gir::GatherOp::create(emit.builder, emit.loc(), rows.x.tensor, indices,
                                             llvm::ArrayRef<int64_t>{last}, allDims(last));
  return {Value::ofTensor(values), Value::ofTensor(indices)};
}

static bool isAtLeast(Args &args, SymExpr size, SymExpr least) {
  return args.in.sizes.nonNegative(size - least, args.range) == true;
}

/// Whether rows are long enough for `gir.argsort`, and not too long for its indices.
static bool areLong(Args &args, SymExpr length) {
  constexpr int64_t longest = std::numeric_limits<int32_t>::max();
  const Request &request = args.in.program.request;
  int64_t counted = request.sortsAllRows        ? 1
                    : request.sortsSequentially ? mostCountedSequentially
                                                : mostCounted;
  return isAtLeast(args, length, SymExpr(counted + 1)) && isAtLeast(args, SymExpr(longest), length);
}

/// A number of elements that is small compared to the row, whose size is known to be large.
static std::optional<int64_t> asFew(Args &args, SymExpr count, SymExpr length) {
  // Sequentially, candidates are 64 for each, and at most half of the row. GPUs find few by levels.
  constexpr int64_t most = 1024;
  int64_t share = args.in.program.request.sortsSequentially ? 128 : 16;
  if (!count.isConstant() || count.isConstant(0) || count.constantValue() > most ||
      !isAtLeast(args, length, count * SymExpr(share)))
    return std::nullopt;
  return count.constantValue();
}

/// sort, argsort and topk: values and indices.
static Value sortBy(Args &args, const Value &x, int64_t dim, bool descending,
                    std::optional<SymExpr> count) {
  Emitter &emit = args.emit();
  bool onlyIndices = args.builtin.name == "argsort";
  if (x.rank() == 0) {
    Value zero = emit.constant(DType::Int64, {}, Value::ofInt(SymExpr(0)));
    return onlyIndices ? zero : Value::ofTuple({x, zero});
  }
  Rows rows = rowsOf(emit, x, dim);
  SymExpr wanted = count.value_or(rows.length);
  auto [values, indices] = areLong(args, rows.length) ? byKeys(emit, rows, descending, wanted,
                                                               asFew(args, wanted, rows.length))
                                                      : byCounting(emit, rows, descending, wanted);
  auto back = [&](const Value &x) {
    return Value::ofTensor(emit.transpose(x.tensor, moved(x.rank(), rows.dim, true)));
  };
  values = emit.cast(back(values), rows.dtype, false);
  return onlyIndices ? back(indices) : Value::ofTuple({values, back(indices)});
}

static Value sort(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<int64_t> dim = x ? args.dim(1, x->rank(), true) : std::nullopt;
  std::optional<bool> descending = dim ? args.boolean(2) : std::nullopt;
  if (!descending || !args.boolean(3))
    return Value::error();
  return sortBy(args, *x, *dim, *descending, std::nullopt);
}

static Value topk(Args &args) {
  std::optional<Value> x = args.tensor(0);
  std::optional<SymExpr> count =
      x ? args.in.toSize(args[1], args.ranges[1], "'k' of 'topk'") : std::nullopt;
  std::optional<int64_t> dim = count ? args.dim(2, x->rank(), true) : std::nullopt;
  std::optional<bool> largest = dim ? args.boolean(3) : std::nullopt;
  if (!largest || !args.boolean(4) || !args.checkSizes(1, {*count}))
    return Value::error();
  SymExpr length = x->rank() ? x->shape()[*dim] : SymExpr(1);
  if (args.in.sizes.nonNegative(length - *count, args.ranges[1]) == false)
    return args.error(1, "expected at most " + length.str() + " for 'k' of 'topk', found " +
                             count->str());
  return sortBy(args, *x, *dim, *largest, count);
}

std::vector<Builtin> sema::sortBuiltins() {
  constexpr uint8_t both = Builtin::Function | Builtin::Method;
  return {
      {"sort", "x, dim=-1, descending=False, stable=False", both, sort,
       "values in order and their indices; equal elements keep their order, nan is the largest"},
      {"argsort", "x, dim=-1, descending=False, stable=False", both, sort,
       "the indices that sort the elements"},
      {"topk", "x, k, dim=-1, largest=True, sorted=True", both, topk,
       "the k largest (or smallest) elements in order, and their indices"},
  };
}
