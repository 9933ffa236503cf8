//===- GraphVerify.cpp - Verifiers of graph operations --------------------===//
//
// Verifiers compare sizes as expressions: two sizes are equal if their canonical forms are.
// Messages say what was expected and what was found.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "tessera/Dialect/Common/ScalarTypes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

static std::string shapeText(ArrayRef<SymExpr> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + size.str();
  return text + "]";
}

static LogicalResult expectShape(Operation *op, const Twine &what, ArrayRef<SymExpr> got,
                                 ArrayRef<SymExpr> expected) {
  if (got == expected)
    return success();
  return op->emitOpError() << "expected " << what << " of shape " << shapeText(expected) << ", got "
                           << shapeText(got);
}

static LogicalResult expectElement(Operation *op, const Twine &what, Type got, Type expected) {
  if (got == expected)
    return success();
  return op->emitOpError() << "expected " << what << " of element type " << expected << ", got "
                           << got;
}

/// Checks that `dim` names a dimension of a tensor of `rank` dimensions.
static LogicalResult expectDim(Operation *op, int64_t dim, int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError() << "expected a dimension below " << rank << ", got " << dim;
}

static LogicalResult expectSortedDims(Operation *op, ArrayRef<int64_t> dims, int64_t rank) {
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (failed(expectDim(op, dim, rank)))
      return failure();
    if (i > 0 && dims[i - 1] >= dim)
      return op->emitOpError() << "expected strictly increasing dimensions, got " << dims[i - 1]
                               << " before " << dim;
  }
  return success();
}

static LogicalResult expectCount(Operation *op, const Twine &what, size_t got, size_t expected) {
  if (got == expected)
    return success();
  return op->emitOpError() << "expected " << expected << ' ' << what << ", got " << got;
}

static LogicalResult expectFloat(Operation *op, Value value) {
  if (tensorType(value).isFloat())
    return success();
  return op->emitOpError() << "expected a floating point element type, got "
                           << tensorType(value).getElementType();
}

static SmallVector<SymExpr> withoutDims(ArrayRef<SymExpr> shape, ArrayRef<int64_t> dims) {
  SmallVector<SymExpr> rest;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, int64_t(dim)))
      rest.push_back(size);
  return rest;
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  if (!isa<FloatAttr, IntegerAttr>(getValue()))
    return emitOpError() << "expected a number, got " << getValue();
  return expectElement(*this, "a value", getValue().getType(),
                       tensorType(getResult()).getElementType());
}

LogicalResult SizeOp::verify() {
  if (!SymExpr::parse(getSize().str()))
    return emitOpError() << "expected a size expression, got '" << getSize() << "'";
  if (failed(expectShape(*this, "a result", tensorType(getResult()).getShape(), {})))
    return failure();
  return expectElement(*this, "a result", tensorType(getResult()).getElementType(),
                       IntegerType::get(getContext(), 64));
}

LogicalResult IotaOp::verify() {
  gir::TensorType type = tensorType(getResult());
  if (type.isBool())
    return emitOpError("expected a number as element type, got i1");
  return expectDim(*this, getDim(), type.getRank());
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Checks operand types against the operation's rule and returns the result's element type.
static FailureOr<Type> inferMapElement(MapOp op, const ScalarOpInfo &info) {
  SmallVector<Type> elements;
  for (Value input : op.getInputs())
    elements.push_back(tensorType(input).getElementType());
  Type boolType = IntegerType::get(op.getContext(), 1);
  bool isSelect = info.rule == TypeRule::Select;
  if (isSelect && failed(expectElement(op, "a condition", elements[0], boolType)))
    return failure();
  Type element = elements[isSelect ? 1 : 0];
  for (Type other : ArrayRef(elements).drop_front(isSelect ? 2 : 1))
    if (failed(expectElement(op, "operands", other, element)))
      return failure();

  bool isFloat = isa<FloatType>(element);
  bool needsFloat =
      info.rule == TypeRule::Float || info.rule == TypeRule::Test || info.rule == TypeRule::Order;
  if (needsFloat && !isFloat)
    return op.emitOpError() << "expected floating point operands of " << op.getKind() << ", got "
                            << element;
  if (info.rule == TypeRule::Integer && isFloat)
    return op.emitOpError() << "expected integer or bool operands of " << op.getKind() << ", got "
                            << element;
  if (info.rule == TypeRule::Int64 && !element.isSignlessInteger(64))
    return op.emitOpError() << "expected operands of type i64 of " << op.getKind() << ", got "
                            << element;
  if (info.rule == TypeRule::Number && element == boolType)
    return op.emitOpError() << "expected numbers as operands of " << op.getKind() << ", got "
                            << element;
  return scalarOpResultType(info.op, elements);
}

LogicalResult MapOp::verify() {
  std::optional<ScalarOp> op = scalarOpByName({getKind().data(), getKind().size()});
  if (!op)
    return emitOpError() << "expected an operation of the scalar vocabulary, got '" << getKind()
                         << "'";
  const ScalarOpInfo &info = scalarOpInfo(*op);
  if (failed(expectCount(*this, "operands of " + getKind(), getInputs().size(), info.arity)))
    return failure();
  gir::TensorType type = tensorType(getResult());
  for (Value input : getInputs())
    if (failed(expectShape(*this, "operands", tensorType(input).getShape(), type.getShape())))
      return failure();
  FailureOr<Type> element = inferMapElement(*this, info);
  if (failed(element))
    return failure();
  return expectElement(*this, "a result", type.getElementType(), *element);
}

LogicalResult CastOp::verify() {
  return expectShape(*this, "a result", tensorType(getResult()).getShape(),
                     tensorType(getInput()).getShape());
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static LogicalResult expectSameElement(Operation *op, Value input) {
  return expectElement(op, "a result", tensorType(op->getResult(0)).getElementType(),
                       tensorType(input).getElementType());
}

LogicalResult BroadcastOp::verify() {
  gir::TensorType from = tensorType(getInput()), to = tensorType(getResult());
  if (failed(expectSameElement(*this, getInput())) ||
      failed(expectCount(*this, "entries in dims", getDims().size(), from.getRank())) ||
      failed(expectSortedDims(*this, getDims(), to.getRank())))
    return failure();
  for (auto [size, dim] : llvm::zip_equal(from.getShape(), getDims()))
    if (!size.isConstant(1) && size != to.getDim(dim))
      return emitOpError() << "expected size 1 or " << to.getDim(dim).str()
                           << " for result dimension " << dim << ", got " << size.str();
  return success();
}

LogicalResult MaterializeOp::verify() {
  std::optional<int64_t> alignment = getRowAlignment();
  if (!alignment)
    return success();
  if (*alignment < 1 || !llvm::isPowerOf2_64(*alignment))
    return emitOpError() << "expected rows aligned to a power of two, got " << *alignment;
  gir::TensorType type = tensorType(getInput());
  if (type.getRank() == 0 || type.getElementType().getIntOrFloatBitWidth() < 8)
    return emitOpError() << "expected rows of whole bytes to align, got " << type;
  return success();
}

LogicalResult TransposeOp::verify() {
  gir::TensorType from = tensorType(getInput()), to = tensorType(getResult());
  if (failed(expectSameElement(*this, getInput())) ||
      failed(expectCount(*this, "entries in the permutation", getPermutation().size(),
                         from.getRank())))
    return failure();
  SmallVector<SymExpr> shape;
  SmallVector<bool> seen(from.getRank(), false);
  for (int64_t dim : getPermutation()) {
    if (failed(expectDim(*this, dim, from.getRank())))
      return failure();
    if (seen[dim])
      return emitOpError() << "expected a permutation, got dimension " << dim << " twice";
    seen[dim] = true;
    shape.push_back(from.getDim(dim));
  }
  return expectShape(*this, "a result", to.getShape(), shape);
}

static bool hasDivision(SymExpr e) {
  return e.kind() == SymExpr::Kind::FloorDiv || e.kind() == SymExpr::Kind::CeilDiv ||
         llvm::any_of(e.operands(), hasDivision);
}

LogicalResult ReshapeOp::verify() {
  if (failed(expectSameElement(*this, getInput())))
    return failure();
  SymExpr from = tensorType(getInput()).getNumElements(),
          to = tensorType(getResult()).getNumElements();
  // A guard of the function makes the quotient exact, which the expressions do not show.
  if (from != to && !hasDivision(from) && !hasDivision(to))
    return emitOpError() << "expected a result of " << from.str() << " elements, got " << to.str();
  return success();
}

LogicalResult SliceOp::verify() {
  gir::TensorType from = tensorType(getInput()), to = tensorType(getResult());
  if (failed(expectSameElement(*this, getInput())) ||
      failed(expectCount(*this, "starts", getStarts().size(), from.getRank())) ||
      failed(expectCount(*this, "steps", getSteps().size(), from.getRank())) ||
      failed(expectCount(*this, "result dimensions", to.getRank(), from.getRank())))
    return failure();
  for (unsigned dim = 0; dim < from.getRank(); ++dim) {
    StringRef text = cast<StringAttr>(getStarts()[dim]).getValue();
    std::optional<SymExpr> start = SymExpr::parse({text.data(), text.size()});
    if (!start)
      return emitOpError() << "expected a size expression as start, got '" << text << "'";
    int64_t step = getSteps()[dim];
    if (step == 0)
      return emitOpError() << "expected non-zero steps, got 0 for dimension " << dim;
    SymExpr size = to.getDim(dim);
    if (size.isConstant(0))
      continue;
    SymExpr last = *start + (size - SymExpr(1)) * SymExpr(step), room = from.getDim(dim) - last;
    if ((last.isConstant() && last.constantValue() < 0) ||
        (room.isConstant() && room.constantValue() <= 0) ||
        (start->isConstant() && start->constantValue() < 0))
      return emitOpError() << "expected elements inside size " << from.getDim(dim).str()
                           << " of dimension " << dim << ", got " << start->str() << " to "
                           << last.str();
  }
  return success();
}

LogicalResult WindowOp::verify() {
  gir::TensorType from = tensorType(getInput()), to = tensorType(getResult());
  if (to.getElementType() != from.getElementType())
    return emitOpError() << "expected a result with elements of type " << from.getElementType()
                         << ", got " << to.getElementType();
  size_t count = getDims().size();
  if (getSizes().size() != count || getSteps().size() != count || getDilations().size() != count)
    return emitOpError() << "expected one size, step and dilation for each of " << count
                         << " dimensions";
  llvm::SmallDenseSet<int64_t> seen;
  for (auto [j, dim] : llvm::enumerate(getDims())) {
    if (dim < 0 || dim >= int64_t(from.getRank()) || !seen.insert(dim).second)
      return emitOpError() << "expected different dimensions of the operand, got " << dim;
    if (getSizes()[j] < 1 || getSteps()[j] < 1 || getDilations()[j] < 1)
      return emitOpError() << "expected positive sizes, steps and dilations for dimension " << dim;
    SymExpr room = from.getDim(dim) - SymExpr(getDilations()[j] * (getSizes()[j] - 1) + 1);
    if (room.isConstant() && room.constantValue() < 0)
      return emitOpError() << "expected a window inside size " << from.getDim(dim).str()
                           << " of dimension " << dim;
  }
  SmallVector<SymExpr> shape = inferShape(from, getDims(), getSizes(), getSteps(), getDilations());
  if (to.getShape() != ArrayRef<SymExpr>(shape))
    return emitOpError() << "expected a result of type " << from.withShape(shape) << ", got " << to;
  return success();
}

LogicalResult ConcatOp::verify() {
  gir::TensorType to = tensorType(getResult());
  if (getInputs().empty())
    return emitOpError("expected at least one operand, got none");
  if (failed(expectDim(*this, getDim(), to.getRank())))
    return failure();
  SymExpr sum(0);
  for (Value input : getInputs()) {
    gir::TensorType from = tensorType(input);
    if (failed(expectElement(*this, "operands", from.getElementType(), to.getElementType())) ||
        failed(expectCount(*this, "dimensions of every operand", from.getRank(), to.getRank())))
      return failure();
    SmallVector<SymExpr> expected(to.getShape());
    expected[getDim()] = from.getDim(getDim());
    if (failed(expectShape(*this, "an operand", from.getShape(), expected)))
      return failure();
    sum = sum + from.getDim(getDim());
  }
  SmallVector<SymExpr> expected(to.getShape());
  expected[getDim()] = sum;
  return expectShape(*this, "a result", to.getShape(), expected);
}

LogicalResult GatherOp::verify() {
  gir::TensorType from = tensorType(getInput()), to = tensorType(getResult());
  if (getIndices().empty())
    return emitOpError("expected at least one index, got none");
  if (failed(expectSortedDims(*this, getDims(), from.getRank())) ||
      failed(
          expectCount(*this, "dims, one for each index", getDims().size(), getIndices().size())) ||
      failed(expectCount(*this, "dimensions of the result in rest, one for each other dimension",
                         getRest().size(), from.getRank() - getDims().size())))
    return failure();
  for (Value index : getIndices()) {
    gir::TensorType type = tensorType(index);
    if (type.isFloat() || type.isBool())
      return emitOpError() << "expected an index of integers, got " << type.getElementType();
    if (failed(expectShape(*this, "an index", type.getShape(), to.getShape())))
      return failure();
  }
  for (auto [dim, size] : llvm::zip_equal(getRest(), withoutDims(from.getShape(), getDims()))) {
    if (failed(expectDim(*this, dim, to.getRank())))
      return failure();
    if (size != to.getDim(dim))
      return emitOpError() << "expected size " << size.str() << " of the result's dimension " << dim
                           << ", got " << to.getDim(dim).str();
  }
  auto isZero = [](SymExpr size) { return size.isConstant(0); };
  for (int64_t dim : getDims())
    if (isZero(from.getDim(dim)) && llvm::none_of(to.getShape(), isZero))
      return emitOpError() << "expected elements along dimension " << dim << " to read, got none";
  return expectElement(*this, "a result", to.getElementType(), from.getElementType());
}

LogicalResult ScatterAddOp::verify() {
  gir::TensorType to = tensorType(getResult()), from = tensorType(getSources()),
                  index = tensorType(getIndices());
  if (failed(expectDim(*this, getDim(), to.getRank())) ||
      failed(expectElement(*this, "sources", from.getElementType(), to.getElementType())) ||
      failed(expectCount(*this, "dimensions of the sources", from.getRank(), to.getRank())))
    return failure();
  if (to.isBool())
    return emitOpError("expected numbers to add, got i1");
  if (index.isFloat() || index.isBool())
    return emitOpError() << "expected indices of integers, got " << index.getElementType();
  return expectShape(*this, "indices", index.getShape(), from.getShape());
}

LogicalResult CheckOp::verify() {
  gir::TensorType condition = tensorType(getCondition()), value = tensorType(getValue());
  if (!condition.isBool())
    return emitOpError() << "expected a condition of i1, got " << condition.getElementType();
  if (!value.getElementType().isSignlessInteger(64))
    return emitOpError() << "expected values of i64, got " << value.getElementType();
  return expectShape(*this, "values", value.getShape(), condition.getShape());
}

LogicalResult ScatterOp::verify() {
  gir::TensorType to = tensorType(getResult()), from = tensorType(getSources()),
                  index = tensorType(getIndices());
  int64_t batch = getBatch();
  if (batch < 0 || batch > int64_t(from.getRank()))
    return emitOpError() << "expected at most " << from.getRank() << " batch dimensions, got "
                         << batch;
  if (failed(expectCount(*this, "dimensions of the result", to.getRank(), batch + 1)) ||
      failed(expectElement(*this, "a result", to.getElementType(), from.getElementType())) ||
      failed(expectShape(*this, "batch dimensions", to.getShape().take_front(batch),
                         from.getShape().take_front(batch))))
    return failure();
  if (index.isFloat() || index.isBool())
    return emitOpError() << "expected indices of integers, got " << index.getElementType();
  return expectShape(*this, "indices", index.getShape(), from.getShape());
}

//===----------------------------------------------------------------------===//
// Reductions and contractions
//===----------------------------------------------------------------------===//

/// A sum's result has the operands' element type or the accumulation type.
static LogicalResult expectSumElement(Operation *op, Type got, Type element) {
  if (got == element || got == accumulationType(element))
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError()
                                  << "expected a result of element type " << element;
  if (accumulationType(element) != element)
    diagnostic << " or " << accumulationType(element);
  return diagnostic << ", got " << got;
}

LogicalResult gir::ReduceOp::verify() {
  std::optional<tessera::ReduceOp> op = reduceOpByName({getKind().data(), getKind().size()});
  if (!op)
    return emitOpError() << "expected sum, prod, max, min, any or all, got '" << getKind() << "'";
  gir::TensorType from = tensorType(getInput()), to = tensorType(getResult());
  if (failed(expectSortedDims(*this, getDims(), from.getRank())) ||
      failed(
          expectShape(*this, "a result", to.getShape(), withoutDims(from.getShape(), getDims()))))
    return failure();
  bool isLogical = *op == tessera::ReduceOp::Any || *op == tessera::ReduceOp::All;
  bool isSum = *op == tessera::ReduceOp::Sum || *op == tessera::ReduceOp::Prod;
  if (isLogical && !from.isBool())
    return emitOpError() << "expected an operand of element type i1 for " << getKind() << ", got "
                         << from.getElementType();
  if (isSum && from.isBool())
    return emitOpError() << "expected an operand of numbers for " << getKind() << ", got i1";
  return isSum ? expectSumElement(*this, to.getElementType(), from.getElementType())
               : expectSameElement(*this, getInput());
}

LogicalResult ScanOp::verify() {
  std::optional<tessera::ReduceOp> op = reduceOpByName({getKind().data(), getKind().size()});
  if (!op)
    return emitOpError() << "expected sum, prod, max, min, any or all, got '" << getKind() << "'";
  gir::TensorType type = tensorType(getInput());
  bool isLogical = *op == tessera::ReduceOp::Any || *op == tessera::ReduceOp::All;
  if (isLogical != type.isBool())
    return emitOpError() << "expected an operand of " << (isLogical ? "bools" : "numbers")
                         << " for " << getKind() << ", got " << type.getElementType();
  if (failed(expectDim(*this, getDim(), type.getRank())))
    return failure();
  if (!getKey())
    return success();
  gir::TensorType key = tensorType(getKey());
  if (key.isFloat() || key.isBool())
    return emitOpError() << "expected keys of integers, got " << key.getElementType();
  if (!getBelow() || *getBelow() < 1)
    return emitOpError("expected a positive number of keys");
  return expectShape(*this, "keys", key.getShape(), type.getShape());
}

LogicalResult SortOp::verify() {
  gir::TensorType type = tensorType(getInput());
  if (type.getRank() == 0)
    return emitOpError("expected at least one dimension");
  if (Type element = type.getElementType();
      !element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    return emitOpError() << "expected integers of type i32 or i64, got " << element;
  return success();
}

LogicalResult ContractOp::verify() {
  gir::TensorType lhs = tensorType(getLhs()), rhs = tensorType(getRhs()),
                  to = tensorType(getResult());
  if (failed(expectElement(*this, "operands", rhs.getElementType(), lhs.getElementType())))
    return failure();
  if (lhs.isBool())
    return emitOpError("expected operands of numbers, got i1");

  auto expectDistinct = [&](gir::TensorType type, ArrayRef<int64_t> batch,
                            ArrayRef<int64_t> contract) -> LogicalResult {
    SmallVector<bool> seen(type.getRank(), false);
    for (ArrayRef<int64_t> dims : {batch, contract})
      for (int64_t dim : dims) {
        if (failed(expectDim(*this, dim, type.getRank())))
          return failure();
        if (seen[dim])
          return emitOpError() << "expected each dimension at most once, got dimension " << dim
                               << " twice";
        seen[dim] = true;
      }
    return success();
  };
  if (failed(expectDistinct(lhs, getLhsBatch(), getLhsContract())) ||
      failed(expectDistinct(rhs, getRhsBatch(), getRhsContract())))
    return failure();

  auto expectPairs = [&](StringRef what, ArrayRef<int64_t> left,
                         ArrayRef<int64_t> right) -> LogicalResult {
    if (failed(expectCount(*this, what + " dimensions of the right operand", right.size(),
                           left.size())))
      return failure();
    for (auto [l, r] : llvm::zip_equal(left, right))
      if (lhs.getDim(l) != rhs.getDim(r))
        return emitOpError() << "expected " << what << " dimensions of one size, got "
                             << lhs.getDim(l).str() << " and " << rhs.getDim(r).str();
    return success();
  };
  if (failed(expectPairs("batch", getLhsBatch(), getRhsBatch())) ||
      failed(expectPairs("contracted", getLhsContract(), getRhsContract())))
    return failure();

  SmallVector<SymExpr> shape;
  for (int64_t dim : getLhsBatch())
    shape.push_back(lhs.getDim(dim));
  SmallVector<int64_t> left(getLhsBatch()), right(getRhsBatch());
  llvm::append_range(left, getLhsContract());
  llvm::append_range(right, getRhsContract());
  llvm::append_range(shape, withoutDims(lhs.getShape(), left));
  llvm::append_range(shape, withoutDims(rhs.getShape(), right));
  if (failed(expectShape(*this, "a result", to.getShape(), shape)))
    return failure();
  return expectSumElement(*this, to.getElementType(), lhs.getElementType());
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  if (failed(expectFloat(*this, getInput())))
    return failure();
  return expectDim(*this, getDim(), tensorType(getInput()).getRank());
}

LogicalResult ArgSortOp::verify() {
  gir::TensorType from = tensorType(getInput()), to = tensorType(getResult());
  if (from.getRank() == 0)
    return emitOpError("expected at least one dimension");
  if (failed(expectElement(*this, "a result", to.getElementType(),
                           IntegerType::get(getContext(), 64))))
    return failure();
  SmallVector<SymExpr> shape(from.getShape());
  if (getFirst())
    shape.back() = SymExpr(int64_t(*getFirst()));
  return expectShape(*this, "a result", to.getShape(), shape);
}

LogicalResult LogSoftmaxOp::verify() {
  if (failed(expectFloat(*this, getInput())))
    return failure();
  return expectDim(*this, getDim(), tensorType(getInput()).getRank());
}

/// A floating-point statistic over dimensions.
static LogicalResult verifyStatistic(Operation *op, Value input, ArrayRef<int64_t> dims) {
  gir::TensorType from = tensorType(input), to = tensorType(op->getResult(0));
  if (failed(expectFloat(op, input)) || failed(expectSortedDims(op, dims, from.getRank())) ||
      failed(expectSameElement(op, input)))
    return failure();
  return expectShape(op, "a result", to.getShape(), withoutDims(from.getShape(), dims));
}

LogicalResult LogSumExpOp::verify() { return verifyStatistic(*this, getInput(), getDims()); }
LogicalResult MeanOp::verify() { return verifyStatistic(*this, getInput(), getDims()); }
LogicalResult VarOp::verify() { return verifyStatistic(*this, getInput(), getDims()); }

/// A normalisation over the last `rank` dimensions; `parameters` (which may be absent) have those
/// dimensions.
static LogicalResult verifyNorm(Operation *op, Value input, int64_t rank,
                                ArrayRef<Value> parameters) {
  gir::TensorType from = tensorType(input), to = tensorType(op->getResult(0));
  if (failed(expectFloat(op, input)) || failed(expectSameElement(op, input)) ||
      failed(expectShape(op, "a result", to.getShape(), from.getShape())))
    return failure();
  if (rank < 1 || rank > int64_t(from.getRank()))
    return op->emitOpError() << "expected a rank from 1 to " << from.getRank() << ", got " << rank;
  for (Value parameter : parameters) {
    if (!parameter)
      continue;
    gir::TensorType type = tensorType(parameter);
    if (failed(expectElement(op, "parameters", type.getElementType(), from.getElementType())) ||
        failed(expectShape(op, "parameters", type.getShape(), from.getShape().take_back(rank))))
      return failure();
  }
  return success();
}

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, getInput(), getRank(), {getScale(), getShift()});
}
LogicalResult RmsNormOp::verify() { return verifyNorm(*this, getInput(), getRank(), {getScale()}); }

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult VjpOp::verify() {
  if (failed(expectCount(*this, "cotangents", getCotangents().size(), getOutputs().size())) ||
      failed(expectCount(*this, "gradients", getGradients().size(), getInputs().size())))
    return failure();
  for (auto [output, cotangent] : llvm::zip(getOutputs(), getCotangents())) {
    if (failed(expectFloat(*this, output)))
      return failure();
    if (output.getType() != cotangent.getType())
      return emitOpError() << "expected a cotangent of type " << output.getType() << ", got "
                           << cotangent.getType();
  }
  for (auto [input, gradient] : llvm::zip(getInputs(), getGradients())) {
    if (failed(expectFloat(*this, input)))
      return failure();
    if (input.getType() != gradient.getType())
      return emitOpError() << "expected a gradient of type " << input.getType() << ", got "
                           << gradient.getType();
  }
  return success();
}

/// Checks that the results of an operation have the types of these values.
static LogicalResult expectResults(Operation *op, ValueRange values) {
  if (failed(expectCount(op, "results", op->getNumResults(), values.size())))
    return failure();
  for (auto [value, result] : llvm::zip(values, op->getResults()))
    if (value.getType() != result.getType())
      return op->emitOpError() << "expected a result of type " << value.getType() << ", got "
                               << result.getType();
  return success();
}

LogicalResult CheckpointOp::verify() {
  if (failed(expectResults(*this, getValues())))
    return failure();
  static constexpr StringRef policies[] = {"nothing", "everything", "contractions", "names"};
  if (!llvm::is_contained(policies, getPolicy()))
    return emitOpError() << "expected the policy nothing, everything, contractions or names, got "
                         << getPolicy();
  bool hasNames = getNames().has_value();
  if ((getPolicy() == "names") != hasNames)
    return emitOpError(hasNames ? "expected no names with this policy"
                                : "expected names with the policy names");
  return success();
}

LogicalResult CheckpointNameOp::verify() {
  if (getName().empty())
    return emitOpError("expected a name, got an empty string");
  return success();
}

LogicalResult CustomVjpOp::verifyRegions() {
  if (failed(expectResults(*this, getValues())))
    return failure();
  SmallVector<Type> cotangents;
  for (Value value : getValues())
    if (tensorType(value).isFloat())
      cotangents.push_back(value.getType());
  for (Value input : getInputs())
    if (failed(expectFloat(*this, input)))
      return failure();
  Block &block = getRule().front();
  if (failed(expectCount(*this, "arguments of the region", block.getNumArguments(),
                         cotangents.size())))
    return failure();
  for (auto [argument, type] : llvm::zip(block.getArguments(), cotangents))
    if (argument.getType() != type)
      return emitOpError() << "expected a cotangent of type " << type << ", got "
                           << argument.getType();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("expected gir.yield at the end of the region");
  if (failed(expectCount(*this, "gradients", yield.getGradients().size(), getInputs().size())))
    return failure();
  for (auto [input, gradient] : llvm::zip(getInputs(), yield.getGradients()))
    if (input.getType() != gradient.getType())
      return emitOpError() << "expected a gradient of type " << input.getType() << ", got "
                           << gradient.getType();
  return success();
}
