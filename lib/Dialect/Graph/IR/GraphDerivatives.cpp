//===- GraphDerivatives.cpp - Derivatives of the basic operations ---------===//
//
// Implements DifferentiableOpInterface of views, gathers, scatters, reductions, scans and
// contractions, and NonDifferentiableOpInterface of the operations without a derivative. The
// transposed operation is written with operations of the dialect: a broadcast's is a sum, a
// gather's is a scatter_add, a contraction's are contractions, a scan's is a reversed scan.
//
//===----------------------------------------------------------------------===//
#include "OpWriter.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

using Gradients = SmallVector<Value>;

//===----------------------------------------------------------------------===//
// Operations without a derivative
//===----------------------------------------------------------------------===//

StringRef ConstantOp::getReason() { return "it has no operands"; }
StringRef SizeOp::getReason() { return "it has no operands"; }
StringRef IotaOp::getReason() { return "it has no operands"; }
StringRef CheckOp::getReason() { return "it has no result"; }
StringRef PrintOp::getReason() { return "it has no result"; }
StringRef ArgSortOp::getReason() { return "it returns indices"; }
StringRef SortOp::getReason() { return "it sorts integers"; }
StringRef StopGradientOp::getReason() { return "its result is a constant of gradients"; }
StringRef CustomVjpOp::getReason() { return "it is replaced by its values"; }
StringRef CheckpointOp::getReason() { return "it is replaced by its values"; }
StringRef YieldOp::getReason() { return "it has no result"; }
StringRef VjpOp::getReason() { return "it is replaced by its gradients first"; }

//===----------------------------------------------------------------------===//
// Casts and views
//===----------------------------------------------------------------------===//

Gradients CastOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  OpWriter w(builder, *this);
  return {w.cast(cotangent, OpWriter::element(getInput()))};
}

Gradients BroadcastOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  OpWriter w(builder, *this);
  gir::TensorType from = OpWriter::type(getInput()), to = OpWriter::type(getResult());
  SmallVector<int64_t> repeated;
  for (int64_t dim = 0; dim < int64_t(to.getRank()); ++dim) {
    const int64_t *found = llvm::find(getDims(), dim);
    bool isKept =
        found != getDims().end() && from.getDim(found - getDims().begin()) == to.getDim(dim);
    if (!isKept && !to.getDim(dim).isConstant(1))
      repeated.push_back(dim);
  }
  return {w.reshape(w.sum(cotangent, repeated), from.getShape())};
}

Gradients TransposeOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    inverse[dim] = i;
  return {OpWriter(builder, *this).transpose(cotangent, inverse)};
}

Gradients MaterializeOp::buildVjp(OpBuilder &, Value cotangent, ArrayRef<bool>) {
  return {cotangent};
}

Gradients CheckpointNameOp::buildVjp(OpBuilder &, Value cotangent, ArrayRef<bool>) {
  return {cotangent};
}

Gradients RecomputeOp::buildVjp(OpBuilder &, Value cotangent, ArrayRef<bool>) {
  return {cotangent};
}

Gradients ReshapeOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  return {OpWriter(builder, *this).reshape(cotangent, OpWriter::type(getInput()).getShape())};
}

/// Elements along `dim` followed by `step` - 1 zeros each.
static Value interleave(OpWriter &w, Value x, int64_t dim, int64_t step) {
  SmallVector<SymExpr> shape(OpWriter::type(x).getShape());
  SmallVector<SymExpr> merged = shape;
  merged[dim] = merged[dim] * SymExpr(step);
  shape.insert(shape.begin() + dim + 1, SymExpr(1));
  Value single = w.reshape(x, shape);
  Value zeros = w.zeros(single, dim + 1, SymExpr(step - 1));
  return w.reshape(w.concat(dim + 1, {single, zeros}), merged);
}

/// The slice's elements at their positions among zeros.
Gradients SliceOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  OpWriter w(builder, *this);
  gir::TensorType from = OpWriter::type(getInput());
  Value x = cotangent;
  for (int64_t dim = 0; dim < int64_t(from.getRank()); ++dim) {
    int64_t step = getSteps()[dim];
    SymExpr start = getStart(dim), count = OpWriter::type(x).getDim(dim), size = from.getDim(dim);
    if (step < 0) {
      x = w.reverse(x, dim);
      start = start + (count - SymExpr(1)) * SymExpr(step);
      step = -step;
    }
    bool isSparse = step > 1 && !count.isConstant(1);
    if (isSparse) {
      x = interleave(w, x, dim, step);
      count = count * SymExpr(step);
    }
    SmallVector<Value> parts;
    if (!start.isConstant(0))
      parts.push_back(w.zeros(x, dim, start));
    parts.push_back(x);
    // The zeros after the last element may reach past the end.
    SymExpr after = isSparse ? size : size - start - count;
    if (!after.isConstant(0))
      parts.push_back(w.zeros(x, dim, after));
    x = w.slice(w.concat(dim, parts), dim, SymExpr(0), size);
  }
  return {x};
}

/// The sum of the windows' elements at each position. Element `i` of the operand is element `k` of
/// window `(i - k * dilation) / step`, if that is a window.
Gradients WindowOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  OpWriter w(builder, *this);
  gir::TensorType from = OpWriter::type(getInput());
  Value x = cotangent;
  // The window's last dimension is the last of the tensor.
  for (int64_t j = int64_t(getDims().size()) - 1; j >= 0; --j) {
    int64_t dim = getDims()[j], last = int64_t(OpWriter::type(x).getRank()) - 1;
    SmallVector<SymExpr> shape(OpWriter::type(x).getShape());
    SymExpr windows = shape[dim];
    shape[dim] = from.getDim(dim);
    auto type = gir::TensorType::get(shape, builder.getI64Type());
    auto number = [&](int64_t value) -> Value {
      return ConstantOp::create(builder, w.loc, type, builder.getI64IntegerAttr(value));
    };
    Value k = IotaOp::create(builder, w.loc, type, last);
    Value i = IotaOp::create(builder, w.loc, type, dim);
    Value start = w.sub(i, w.mul(k, number(getDilations()[j])));
    Value step = number(getSteps()[j]), zero = number(0);
    Value window = w.map(ScalarOp::FloorDiv, {start, step});
    Value end = BroadcastOp::create(builder, w.loc, SizeOp::create(builder, w.loc, windows), shape,
                                    ArrayRef<int64_t>());
    Value isWindow = w.map(
        ScalarOp::And, {w.map(ScalarOp::Ge, {start, zero}), w.map(ScalarOp::Lt, {window, end})});
    if (getSteps()[j] > 1)
      isWindow = w.map(ScalarOp::And, {isWindow, w.equal(w.mul(window, step), start)});
    Value place = w.where(isWindow, window, zero);
    SmallVector<int64_t> rest;
    for (int64_t other = 0; other <= last; ++other)
      if (other != dim)
        rest.push_back(other);
    Value element = GatherOp::create(builder, w.loc, x, place, ArrayRef<int64_t>{dim}, rest);
    x = w.sum(w.widen(w.where(isWindow, element, w.constant(0, element))), {last});
    x = w.cast(x, OpWriter::element(cotangent));
  }
  return {x};
}

Gradients ConcatOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool> wanted) {
  OpWriter w(builder, *this);
  Gradients gradients;
  SymExpr start(0);
  for (auto [input, isWanted] : llvm::zip(getInputs(), wanted)) {
    SymExpr size = OpWriter::type(input).getDim(getDim());
    gradients.push_back(isWanted ? w.slice(cotangent, getDim(), start, size) : Value());
    start = start + size;
  }
  return gradients;
}

//===----------------------------------------------------------------------===//
// Gathers and scatters
//===----------------------------------------------------------------------===//

/// Adds the cotangents at the gathered positions. The gathered dimensions are flattened into one,
/// at the position of the first of them, and so are the result's dimensions that are not `rest`.
Gradients GatherOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool> wanted) {
  Gradients gradients((*this)->getNumOperands());
  if (!wanted[0])
    return gradients;
  OpWriter w(builder, *this);
  gir::TensorType from = OpWriter::type(getInput()), to = OpWriter::type(getResult());
  int64_t first = *llvm::min_element(getDims());

  // Dimensions of the input and of the sources, in the order in which they are flattened.
  SmallVector<int64_t> inputOrder, sourceOrder;
  SmallVector<SymExpr> flatInput, flatSources;
  SymExpr gathered(1), places(1);
  unsigned rest = 0;
  for (int64_t dim = 0; dim < int64_t(from.getRank()); ++dim) {
    if (dim == first) {
      llvm::append_range(inputOrder, getDims());
      for (int64_t other : getDims())
        gathered = gathered * from.getDim(other);
      for (int64_t other = 0; other < int64_t(to.getRank()); ++other)
        if (!llvm::is_contained(getRest(), other)) {
          sourceOrder.push_back(other);
          places = places * to.getDim(other);
        }
      flatInput.push_back(gathered);
      flatSources.push_back(places);
    }
    if (llvm::is_contained(getDims(), dim))
      continue;
    inputOrder.push_back(dim);
    sourceOrder.push_back(getRest()[rest]);
    flatInput.push_back(from.getDim(dim));
    flatSources.push_back(to.getDim(getRest()[rest++]));
  }
  int64_t flatDim = llvm::find(inputOrder, getDims().front()) - inputOrder.begin();

  Type indexType = builder.getI64Type();
  Value index;
  for (auto [dim, indices] : llvm::zip(getDims(), getIndices())) {
    Value part = w.cast(indices, indexType);
    Value size = w.cast(SizeOp::create(builder, getLoc(), from.getDim(dim)), indexType);
    Value sizes = BroadcastOp::create(builder, getLoc(), size, to.getShape(), ArrayRef<int64_t>());
    index = index ? w.add(w.mul(index, sizes), part) : part;
  }
  auto flatten = [&](Value x) { return w.reshape(w.transpose(x, sourceOrder), flatSources); };
  Value sources = flatten(w.widen(cotangent));
  Value zeros =
      ConstantOp::create(builder, getLoc(), OpWriter::type(sources).withShape(flatInput), 0.0);
  Value sum = ScatterAddOp::create(builder, getLoc(), zeros.getType(), zeros, sources,
                                   flatten(index), flatDim);

  SmallVector<SymExpr> ordered;
  SmallVector<int64_t> inverse(inputOrder.size());
  for (auto [i, dim] : llvm::enumerate(inputOrder)) {
    ordered.push_back(from.getDim(dim));
    inverse[dim] = i;
  }
  gradients[0] = w.cast(w.transpose(w.reshape(sum, ordered), inverse), from.getElementType());
  return gradients;
}

/// All dimensions of a tensor but one.
static SmallVector<int64_t> dimsWithout(Value x, int64_t dim) {
  SmallVector<int64_t> dims;
  for (int64_t other = 0; other < int64_t(OpWriter::type(x).getRank()); ++other)
    if (other != dim)
      dims.push_back(other);
  return dims;
}

Gradients ScatterAddOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool> wanted) {
  Gradients gradients(3);
  if (wanted[0])
    gradients[0] = cotangent;
  if (!wanted[1])
    return gradients;
  OpWriter w(builder, *this);
  gir::TensorType from = OpWriter::type(getSources());
  Value sent = cotangent;
  for (int64_t dim : dimsWithout(sent, getDim()))
    sent = w.slice(sent, dim, SymExpr(0), from.getDim(dim));
  Value taken = GatherOp::create(builder, getLoc(), sent, ValueRange{getIndices()},
                                 ArrayRef<int64_t>{int64_t(getDim())}, dimsWithout(sent, getDim()));
  // A source whose index is out of range was ignored.
  Value index = w.cast(getIndices(), builder.getI64Type());
  Value size = SizeOp::create(builder, getLoc(), OpWriter::type(sent).getDim(getDim()));
  Value sizes = BroadcastOp::create(builder, getLoc(), size, from.getShape(), ArrayRef<int64_t>());
  Value isInside = w.map(ScalarOp::And, {w.map(ScalarOp::Ge, {index, w.constant(0, index)}),
                                         w.map(ScalarOp::Lt, {index, sizes})});
  gradients[1] = w.where(isInside, taken, w.constant(0, taken));
  return gradients;
}

Gradients ScatterOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool> wanted) {
  Gradients gradients(2);
  if (!wanted[0])
    return gradients;
  int64_t batch = getBatch();
  SmallVector<int64_t> rest(batch);
  std::iota(rest.begin(), rest.end(), 0);
  gradients[0] = GatherOp::create(builder, getLoc(), cotangent, ValueRange{getIndices()},
                                  ArrayRef<int64_t>{batch}, rest);
  return gradients;
}

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

/// Which elements equal the extremum: all of them, or with `first` only the first one. NaN equals
/// itself in the latter case.
static Value isExtremum(OpWriter &w, Value x, Value extremum, ArrayRef<int64_t> dims, bool first) {
  Value hit = w.equal(x, w.expand(extremum, x, dims));
  if (!first)
    return hit;
  hit = w.map(ScalarOp::Or, {hit, w.map(ScalarOp::IsNan, x)});
  Value index = w.iota(x, dims.front(), w.builder.getI64Type());
  Value none = w.constant(double(int64_t(1) << 62), index);
  Value chosen = w.reduce(tessera::ReduceOp::Min, w.where(hit, index, none), dims);
  return w.equal(index, w.expand(chosen, index, dims));
}

/// The product of the other elements. If one element is zero, only its derivative is not. Of two
/// zeros, it is the other one times the nonzero elements: that is zero, its derivative is not.
static Value productOfOthers(OpWriter &w, Value x, Value product, ArrayRef<int64_t> dims) {
  Value zero = w.constant(0, x), one = w.constant(1, x);
  Value isZero = w.equal(x, zero);
  Value numZeros = w.sum(w.where(isZero, one, zero), dims);
  Value nonzero = w.reduce(tessera::ReduceOp::Prod, w.where(isZero, one, x), dims);
  auto factorOf = [&](int zeros) {
    Value applies = w.equal(numZeros, w.constant(zeros, numZeros));
    return w.expand(w.where(applies, nonzero, w.constant(0, nonzero)), x, dims);
  };
  Value others = w.sub(w.expand(w.sum(w.where(isZero, x, zero), dims), x, dims), x);
  Value atZero = w.add(factorOf(1), w.mul(factorOf(2), others));
  Value quotient = w.div(w.expand(product, x, dims), w.where(isZero, one, x));
  return w.where(isZero, atZero, quotient);
}

Gradients gir::ReduceOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  OpWriter w(builder, *this);
  Value x = getInput();
  Type type = OpWriter::element(x);
  switch (getReduceOp()) {
  case tessera::ReduceOp::Sum:
    return {w.expand(w.cast(cotangent, type), x, getDims())};
  case tessera::ReduceOp::Prod: {
    Value others = productOfOthers(w, w.widen(x), w.widen(getResult()), getDims());
    return {w.cast(w.mul(w.expand(w.widen(cotangent), x, getDims()), others), type)};
  }
  case tessera::ReduceOp::Max:
  case tessera::ReduceOp::Min: {
    bool isFirst = (*this)->hasAttr(kFirstTieAttr);
    Value hit = isExtremum(w, x, getResult(), getDims(), isFirst);
    if (isFirst)
      return {w.where(hit, w.expand(cotangent, x, getDims()), w.constant(0, x))};
    // Ties share the cotangent. With NaN nothing is hit, and everything is NaN.
    Value share = w.widen(w.cast(hit, type));
    Value each = w.div(w.widen(cotangent), w.sum(share, getDims()));
    return {w.cast(w.mul(share, w.expand(each, x, getDims())), type)};
  }
  case tessera::ReduceOp::Any:
  case tessera::ReduceOp::All:
    break;
  }
  return {Value()};
}

static Value reversedSum(OpWriter &w, Value x, int64_t dim) {
  return w.reverse(w.scan(tessera::ReduceOp::Sum, w.reverse(x, dim), dim), dim);
}

/// Before the first zero, the sum of g y from an element on, divided by the element. At the first
/// zero, the same with the zero replaced by one. After it, that zero times the same for the
/// elements without it, up to the second zero: that is zero, its derivative is not.
static Value scannedProduct(OpWriter &w, Value x, Value result, Value cotangent, int64_t dim) {
  Value zero = w.constant(0, x), one = w.constant(1, x), two = w.constant(2, x);
  Value isZero = w.equal(x, zero), divisor = w.where(isZero, one, x);
  Value numZeros = w.scan(tessera::ReduceOp::Sum, w.where(isZero, one, zero), dim);
  auto isZeroOf = [&](Value count) {
    return w.map(ScalarOp::And, {isZero, w.equal(numZeros, count)});
  };
  // The sums of g y from an element on, y without the first zeros.
  auto sumsWithout = [&](Value x) {
    Value product = w.scan(tessera::ReduceOp::Prod, x, dim);
    return reversedSum(w, w.mul(cotangent, product), dim);
  };
  Value isFirst = isZeroOf(one), isSecond = isZeroOf(two);
  Value withoutFirst = w.where(isFirst, one, x);
  Value at = sumsWithout(withoutFirst);
  Value before = w.div(reversedSum(w, w.mul(cotangent, result), dim), divisor);
  Value atSecond = w.where(isSecond, sumsWithout(w.where(isSecond, one, withoutFirst)), zero);
  Value after = w.where(w.equal(numZeros, one), w.div(at, divisor), atSecond);
  Value first = w.expand(w.sum(w.where(isFirst, x, zero), {dim}), x, {dim});
  after = w.mul(first, w.where(w.map(ScalarOp::IsFinite, after), after, zero));
  return w.where(w.equal(numZeros, zero), before, w.where(isFirst, at, after));
}

/// Each cotangent goes to the last element that equals the running extremum.
static Value scannedExtremum(OpWriter &w, Value x, Value result, Value cotangent, int64_t dim) {
  Value index = w.iota(x, dim, w.builder.getI64Type());
  Value hit = w.map(ScalarOp::Or, {w.equal(x, result), w.map(ScalarOp::IsNan, x)});
  Value last = w.scan(tessera::ReduceOp::Max, w.where(hit, index, w.constant(0, index)), dim);
  return ScatterAddOp::create(w.builder, w.loc, x.getType(), w.constant(0, x), cotangent, last,
                              dim);
}

Gradients ScanOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool>) {
  OpWriter w(builder, *this);
  Gradients gradients((*this)->getNumOperands());
  if (getKey()) // made by later passes only
    return gradients;
  Type type = OpWriter::element(getInput());
  Value x = w.widen(getInput()), g = w.widen(cotangent), y = w.widen(getResult());
  switch (getReduceOp()) {
  case tessera::ReduceOp::Sum:
    gradients[0] = reversedSum(w, cotangent, getDim());
    break;
  case tessera::ReduceOp::Prod:
    gradients[0] = w.cast(scannedProduct(w, x, y, g, getDim()), type);
    break;
  case tessera::ReduceOp::Max:
  case tessera::ReduceOp::Min:
    gradients[0] = w.cast(scannedExtremum(w, x, y, g, getDim()), type);
    break;
  case tessera::ReduceOp::Any:
  case tessera::ReduceOp::All:
    break;
  }
  return gradients;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

namespace {
/// The dimensions of one operand of a contraction.
struct Side {
  Value operand;
  ArrayRef<int64_t> batch, contracted;
  SmallVector<int64_t> free = {};
  /// Where the free dimensions are in the result.
  SmallVector<int64_t> inResult = {};
};
} // namespace

/// Broadcasts `x` to the shape of `like`, dimension `i` to `dims[i]`.
static Value place(OpWriter &w, Value x, ArrayRef<int64_t> dims, Value like) {
  SmallVector<int64_t> order(dims.size()), sorted(dims);
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
  llvm::sort(sorted);
  return BroadcastOp::create(w.builder, w.loc, w.transpose(x, order),
                             OpWriter::type(like).getShape(), sorted);
}

/// The cotangent of `own` if the other operand has no free dimensions: nothing is summed.
static Value multiplyWithOther(OpWriter &w, Value cotangent, Value factor, const Side &own,
                               const Side &other) {
  SmallVector<int64_t> kept(own.batch), dims(OpWriter::type(factor).getRank());
  llvm::append_range(kept, own.free);
  for (auto [mine, theirs] : llvm::zip(own.batch, other.batch))
    dims[theirs] = mine;
  for (auto [mine, theirs] : llvm::zip(own.contracted, other.contracted))
    dims[theirs] = mine;
  return w.mul(place(w, cotangent, kept, own.operand), place(w, factor, dims, own.operand));
}

/// The cotangent of `own`: the result's cotangent contracted with the other operand over the other
/// operand's free dimensions.
static Value contractWithOther(OpWriter &w, Value cotangent, const Side &own, const Side &other) {
  SmallVector<int64_t> batch(own.batch.size());
  std::iota(batch.begin(), batch.end(), 0);
  Type type = OpWriter::element(own.operand);
  Value factor = w.cast(other.operand, OpWriter::element(cotangent));
  if (other.free.empty())
    return w.cast(multiplyWithOther(w, cotangent, factor, own, other), type);
  // The product has the batch dimensions, then own's free dimensions and the other operand's
  // contracted dimensions, in the order in which own has them.
  bool isContractedFirst =
      !own.contracted.empty() && !own.free.empty() && own.contracted.front() < own.free.front();
  Value product = isContractedFirst
                      ? ContractOp::create(w.builder, w.loc, factor, cotangent, other.batch, batch,
                                           other.free, other.inResult)
                      : ContractOp::create(w.builder, w.loc, cotangent, factor, batch, other.batch,
                                           other.inResult, other.free);
  SmallVector<int64_t> contracted(other.contracted);
  llvm::sort(contracted);
  SmallVector<int64_t> permutation(OpWriter::type(own.operand).getRank());
  int64_t next = 0;
  for (int64_t dim : own.batch)
    permutation[dim] = next++;
  int64_t firstFree = next + (isContractedFirst ? contracted.size() : 0);
  int64_t firstContracted = next + (isContractedFirst ? 0 : own.free.size());
  for (auto [i, dim] : llvm::enumerate(own.free))
    permutation[dim] = firstFree + i;
  for (auto [mine, theirs] : llvm::zip(own.contracted, other.contracted))
    permutation[mine] = firstContracted + (llvm::find(contracted, theirs) - contracted.begin());
  return w.cast(w.transpose(product, permutation), type);
}

Gradients ContractOp::buildVjp(OpBuilder &builder, Value cotangent, ArrayRef<bool> wanted) {
  OpWriter w(builder, *this);
  Side lhs{getLhs(), getLhsBatch(), getLhsContract()};
  Side rhs{getRhs(), getRhsBatch(), getRhsContract()};
  int64_t next = getLhsBatch().size();
  for (Side *side : {&lhs, &rhs})
    for (int64_t dim = 0; dim < int64_t(OpWriter::type(side->operand).getRank()); ++dim)
      if (!llvm::is_contained(side->batch, dim) && !llvm::is_contained(side->contracted, dim)) {
        side->free.push_back(dim);
        side->inResult.push_back(next++);
      }
  return {wanted[0] ? contractWithOther(w, cotangent, lhs, rhs) : Value(),
          wanted[1] ? contractWithOther(w, cotangent, rhs, lhs) : Value()};
}
