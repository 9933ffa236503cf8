//===- GraphInterface.cpp - GraphOpInterface of the basic operations ------===//
//
// Implements GraphOpInterface for every basic operation: iteration space, operand indices, scalar
// body, reduction.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

using Index = SmallVector<SymExpr>;

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

static Index shapeOf(Value value) { return Index(tensorType(value).getShape()); }

/// The symbols of the first `rank` iteration dimensions.
static Index identityIndex(unsigned rank) {
  Index index;
  for (unsigned i = 0; i < rank; ++i)
    index.push_back(iterationSymbol(i));
  return index;
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

Index ConstantOp::getIterationSizes() { return shapeOf(getResult()); }
Index ConstantOp::getOperandIndex(unsigned) { return {}; }
ScalarBody ConstantOp::getScalarBody() {
  return {.kind = ScalarBody::Constant, .value = getValue()};
}

Index SizeOp::getIterationSizes() { return {}; }
Index SizeOp::getOperandIndex(unsigned) { return {}; }
ScalarBody SizeOp::getScalarBody() { return {.kind = ScalarBody::Size, .size = getExpr()}; }

Index IotaOp::getIterationSizes() { return shapeOf(getResult()); }
Index IotaOp::getOperandIndex(unsigned) { return {}; }
ScalarBody IotaOp::getScalarBody() {
  return {.kind = ScalarBody::Index, .dim = unsigned(getDim())};
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

Index MapOp::getIterationSizes() { return shapeOf(getResult()); }
Index MapOp::getOperandIndex(unsigned) { return identityIndex(tensorType(getResult()).getRank()); }
ScalarBody MapOp::getScalarBody() { return {.kind = ScalarBody::Map, .op = getScalarOp()}; }

Index CastOp::getIterationSizes() { return shapeOf(getResult()); }
Index CastOp::getOperandIndex(unsigned) { return identityIndex(tensorType(getResult()).getRank()); }
ScalarBody CastOp::getScalarBody() { return {.kind = ScalarBody::Cast}; }

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Index BroadcastOp::getIterationSizes() { return shapeOf(getResult()); }
ScalarBody BroadcastOp::getScalarBody() { return {.kind = ScalarBody::Identity}; }
Index BroadcastOp::getOperandIndex(unsigned) {
  Index index;
  for (auto [size, dim] : llvm::zip_equal(tensorType(getInput()).getShape(), getDims()))
    index.push_back(size.isConstant(1) && !tensorType(getResult()).getDim(dim).isConstant(1)
                        ? SymExpr(0)
                        : iterationSymbol(dim));
  return index;
}

Index TransposeOp::getIterationSizes() { return shapeOf(getResult()); }
ScalarBody TransposeOp::getScalarBody() { return {.kind = ScalarBody::Identity}; }
Index TransposeOp::getOperandIndex(unsigned) {
  Index index(getPermutation().size());
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    index[dim] = iterationSymbol(i);
  return index;
}

Index MaterializeOp::getIterationSizes() { return shapeOf(getResult()); }
ScalarBody MaterializeOp::getScalarBody() { return {.kind = ScalarBody::Identity}; }
Index MaterializeOp::getOperandIndex(unsigned) {
  Index index;
  for (int64_t dim = 0; dim < tensorType(getInput()).getRank(); ++dim)
    index.push_back(iterationSymbol(dim));
  return index;
}

Index RecomputeOp::getIterationSizes() { return shapeOf(getResult()); }
ScalarBody RecomputeOp::getScalarBody() { return {.kind = ScalarBody::Identity}; }
Index RecomputeOp::getOperandIndex(unsigned) {
  Index index;
  for (int64_t dim = 0; dim < tensorType(getInput()).getRank(); ++dim)
    index.push_back(iterationSymbol(dim));
  return index;
}

Index SliceOp::getIterationSizes() { return shapeOf(getResult()); }
ScalarBody SliceOp::getScalarBody() { return {.kind = ScalarBody::Identity}; }
Index SliceOp::getOperandIndex(unsigned) {
  Index index;
  for (auto [i, step] : llvm::enumerate(getSteps()))
    index.push_back(getStart(i) + iterationSymbol(i) * SymExpr(step));
  return index;
}

Index WindowOp::getIterationSizes() { return shapeOf(getResult()); }
ScalarBody WindowOp::getScalarBody() { return {.kind = ScalarBody::Identity}; }
Index WindowOp::getOperandIndex(unsigned) {
  int64_t rank = tensorType(getInput()).getRank();
  Index index = identityIndex(rank);
  for (auto [j, dim] : llvm::enumerate(getDims()))
    index[dim] = iterationSymbol(dim) * SymExpr(getSteps()[j]) +
                 iterationSymbol(rank + j) * SymExpr(getDilations()[j]);
  return index;
}

Index ReshapeOp::getIterationSizes() { return shapeOf(getResult()); }
ScalarBody ReshapeOp::getScalarBody() { return {.kind = ScalarBody::Identity}; }
Index ReshapeOp::getOperandIndex(unsigned) {
  gir::TensorType from = tensorType(getInput()), to = tensorType(getResult());
  return reshapeIndex(from.getShape(), to.getShape(), identityIndex(to.getRank()));
}

static SymExpr product(ArrayRef<SymExpr> sizes) {
  SymExpr result(1);
  for (SymExpr size : sizes)
    result = result * size;
  return result;
}

/// The index into dimensions `from`, which hold the same elements as dimensions `to` in row-major
/// order.
static void appendGroupIndex(ArrayRef<SymExpr> from, ArrayRef<SymExpr> to, ArrayRef<SymExpr> index,
                             Index &result) {
  SymExpr linear(0);
  for (auto [size, i] : llvm::zip_equal(to, index))
    linear = linear * size + (size.isConstant(1) ? SymExpr(0) : i);
  bool leading = true; // the first dimension's index needs no remainder
  for (unsigned dim = 0; dim < from.size(); ++dim) {
    if (from[dim].isConstant(1)) {
      result.push_back(SymExpr(0));
      continue;
    }
    SymExpr quotient = linear.floorDiv(product(from.drop_front(dim + 1)));
    result.push_back(leading ? quotient : quotient.mod(from[dim]));
    leading = false;
  }
}

SmallVector<SymExpr> gir::reshapeIndex(ArrayRef<SymExpr> from, ArrayRef<SymExpr> to,
                                       ArrayRef<SymExpr> index) {
  auto isZero = [](SymExpr size) { return size.isConstant(0); };
  if (llvm::any_of(from, isZero) || llvm::any_of(to, isZero))
    return Index(from.size(), SymExpr(0)); // there are no elements
  Index result, last;
  // Equal last dimensions are their own: products of the others may be equal without looking so.
  while (!from.empty() && !to.empty() && from.back() == to.back()) {
    last.push_back(from.back().isConstant(1) ? SymExpr(0) : index.back());
    from = from.drop_back();
    to = to.drop_back();
    index = index.drop_back();
  }
  while (!from.empty() || !to.empty()) {
    // The shortest leading groups with equal products; the whole rest if no products are known to
    // be equal.
    unsigned numFrom = from.size(), numTo = to.size();
    for (unsigned i = 0; i <= from.size(); ++i)
      for (unsigned j = 0; j <= to.size(); ++j)
        if (i + j > 0 && i + j < numFrom + numTo &&
            product(from.take_front(i)) == product(to.take_front(j)))
          numFrom = i, numTo = j;
    appendGroupIndex(from.take_front(numFrom), to.take_front(numTo), index.take_front(numTo),
                     result);
    from = from.drop_front(numFrom);
    to = to.drop_front(numTo);
    index = index.drop_front(numTo);
  }
  result.append(last.rbegin(), last.rend());
  return result;
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

Index GatherOp::getIterationSizes() { return shapeOf(getResult()); }
ScalarBody GatherOp::getScalarBody() { return {.kind = ScalarBody::Identity}; }
Index GatherOp::getOperandIndex(unsigned operand) {
  if (operand > 0)
    return identityIndex(tensorType(getResult()).getRank());
  Index index;
  unsigned given = 0, kept = 0;
  for (unsigned dim = 0, rank = tensorType(getInput()).getRank(); dim < rank; ++dim)
    index.push_back(llvm::is_contained(getDims(), dim) ? operandSymbol(++given)
                                                       : iterationSymbol(getRest()[kept++]));
  return index;
}

//===----------------------------------------------------------------------===//
// Reductions and contractions
//===----------------------------------------------------------------------===//

Index gir::ReduceOp::getIterationSizes() {
  Index sizes = shapeOf(getResult());
  for (int64_t dim : getDims())
    sizes.push_back(tensorType(getInput()).getDim(dim));
  return sizes;
}
unsigned gir::ReduceOp::getNumReduced() { return getDims().size(); }
std::optional<tessera::ReduceOp> gir::ReduceOp::getReduction() { return getReduceOp(); }
ScalarBody gir::ReduceOp::getScalarBody() { return {.kind = ScalarBody::Identity}; }
Index gir::ReduceOp::getOperandIndex(unsigned) {
  Index index;
  unsigned parallel = 0, reduced = tensorType(getResult()).getRank();
  for (unsigned dim = 0, rank = tensorType(getInput()).getRank(); dim < rank; ++dim)
    index.push_back(iterationSymbol(llvm::is_contained(getDims(), dim) ? reduced++ : parallel++));
  return index;
}

Index ScanOp::getIterationSizes() { return shapeOf(getResult()); }
std::optional<unsigned> ScanOp::getScannedDim() { return getDim(); }
std::optional<tessera::ReduceOp> ScanOp::getReduction() { return getReduceOp(); }
ScalarBody ScanOp::getScalarBody() { return {.kind = ScalarBody::Identity}; }
Index ScanOp::getOperandIndex(unsigned) { return identityIndex(tensorType(getResult()).getRank()); }

Index SortOp::getIterationSizes() { return shapeOf(getResult()); }
std::optional<unsigned> SortOp::getScannedDim() { return tensorType(getResult()).getRank() - 1; }
ScalarBody SortOp::getScalarBody() { return {.kind = ScalarBody::Identity}; }
Index SortOp::getOperandIndex(unsigned) { return identityIndex(tensorType(getResult()).getRank()); }

Index ContractOp::getIterationSizes() {
  Index sizes = shapeOf(getResult());
  for (int64_t dim : getLhsContract())
    sizes.push_back(tensorType(getLhs()).getDim(dim));
  return sizes;
}
unsigned ContractOp::getNumReduced() { return getLhsContract().size(); }
std::optional<tessera::ReduceOp> ContractOp::getReduction() { return tessera::ReduceOp::Sum; }
ScalarBody ContractOp::getScalarBody() { return {.kind = ScalarBody::Product}; }
Index ContractOp::getOperandIndex(unsigned operand) {
  ArrayRef<int64_t> batch = operand == 0 ? getLhsBatch() : getRhsBatch();
  ArrayRef<int64_t> contract = operand == 0 ? getLhsContract() : getRhsContract();
  unsigned lhsRank = tensorType(getLhs()).getRank();
  Index index(tensorType(getOperand(operand)).getRank());
  for (auto [i, dim] : llvm::enumerate(batch))
    index[dim] = iterationSymbol(i);
  for (auto [i, dim] : llvm::enumerate(contract))
    index[dim] = iterationSymbol(tensorType(getResult()).getRank() + i);
  unsigned free = operand == 0 ? batch.size() : lhsRank - contract.size();
  for (unsigned dim = 0; dim < index.size(); ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      index[dim] = iterationSymbol(free++);
  return index;
}
