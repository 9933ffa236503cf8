//===- Interpreter.cpp - Evaluates a graph function -----------------------===//
//
// An operation is evaluated from its GraphOpInterface alone: its operands are gathered over the
// iteration space, the scalar body is applied, the reduced dimensions are combined. Composites are
// first decomposed in a private copy of the function.
//
//===----------------------------------------------------------------------===//
#include "HostTensor.h"

#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/ValueType.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <set>

using namespace mlir;
using namespace tessera;
using namespace tessera::reference;

namespace {

/// An index into a tensor as a function of the iteration point: affine if possible, otherwise
/// evaluated at every point.
class IndexMap {
public:
  IndexMap(ArrayRef<SymExpr> index, ArrayRef<int64_t> sourceSizes, unsigned rank)
      : coefficients(rank, 0) {
    int64_t stride = 1;
    for (unsigned dim = index.size(); dim-- > 0;) {
      if (!addAffine(index[dim], stride))
        general.push_back({index[dim], stride});
      stride *= sourceSizes[dim];
    }
  }

  /// Whether the elements are read in memory order.
  bool isIdentity(ArrayRef<int64_t> iteration, ArrayRef<int64_t> sourceSizes) const {
    if (!general.empty() || base != 0 || iteration != sourceSizes)
      return false;
    int64_t stride = 1;
    for (unsigned dim = iteration.size(); dim-- > 0;) {
      if (coefficients[dim] != stride && iteration[dim] != 1)
        return false;
      stride *= iteration[dim];
    }
    return true;
  }

  int64_t generalOffset(ArrayRef<int64_t> point) const {
    int64_t offset = 0;
    for (auto [expr, stride] : general)
      offset += stride * *expr.evaluate([&](const std::string &name) {
        return point[std::stoul(name.substr(1))];
      });
    return offset;
  }
  bool isAffine() const { return general.empty(); }

  int64_t base = 0;
  Sizes coefficients;

private:
  bool addAffine(SymExpr expr, int64_t stride) {
    Sizes saved = coefficients;
    int64_t savedBase = base;
    bool isAdd = expr.kind() == SymExpr::Kind::Add;
    for (SymExpr term : isAdd ? ArrayRef<SymExpr>(expr.operands()) : ArrayRef<SymExpr>(expr))
      if (!addTerm(term, stride)) {
        coefficients = saved;
        base = savedBase;
        return false;
      }
    return true;
  }

  bool addTerm(SymExpr term, int64_t stride) {
    if (term.kind() == SymExpr::Kind::Mul && term.operands().size() == 2 &&
        term.operands()[0].isConstant()) {
      stride *= term.operands()[0].constantValue();
      term = term.operands()[1];
    }
    if (term.isConstant())
      base += stride * term.constantValue();
    else if (term.isSymbol())
      coefficients[std::stoul(term.symbolName().substr(1))] += stride;
    else
      return false;
    return true;
  }

  SmallVector<std::pair<SymExpr, int64_t>> general;
};

/// The elements of `source` at `map` of every point of the iteration space.
TensorRef gather(const TensorRef &source, const IndexMap &map, ArrayRef<int64_t> iteration) {
  if (map.isIdentity(iteration, source->sizes))
    return source;
  auto result = std::make_shared<Tensor>(source->dtype, iteration);
  Sizes point(iteration.size(), 0);
  int64_t at = map.base;
  for (int64_t i = 0, count = result->size(); i < count; ++i) {
    int64_t from = map.isAffine() ? at : at + map.generalOffset(point);
    if (result->isFloat()) {
      result->set(i, source->get(from));
    } else {
      result->integers[i] = source->integers[from];
      result->uncertain[i] = source->uncertain[from];
    }
    for (int64_t dim = int64_t(iteration.size()) - 1; dim >= 0; --dim) {
      at += map.coefficients[dim];
      if (++point[dim] < iteration[dim])
        break;
      at -= map.coefficients[dim] * iteration[dim];
      point[dim] = 0;
    }
  }
  return result;
}

/// The precision that the numerics policy leaves to factors of f32 products, in binary digits; 0:
/// all.
unsigned productDigitsOf(func::FuncOp function) {
  return llvm::StringSwitch<unsigned>(gir::numericsOption(function, "matmul"))
      .Case("tf32", 10) // eleven, but the eleventh may be truncated instead of rounded
      .Case("bf16", 8)
      .Default(0);
}

/// Whether functions may have 16-bit precision only: by the policy, or because the program uses no
/// wider type.
bool allowsApproximation(func::FuncOp function) {
  StringRef policy = gir::numericsOption(function, "fast_math");
  Type type = gir::narrowValueType(function);
  return policy.empty() ? type && (type.isBF16() || type.isF16()) : policy == "true";
}

/// The elements of `source` at indices that other tensors hold, one for each point; indices out of
/// range are clamped. If an index is uncertain, so is the element.
TensorRef gatherAt(const TensorRef &source, const IndexMap &rest, ArrayRef<TensorRef> places,
                   ArrayRef<int64_t> iteration) {
  auto result = std::make_shared<Tensor>(source->dtype, iteration);
  Sizes point(iteration.size(), 0);
  for (int64_t i = 0, count = result->size(); i < count; ++i) {
    int64_t from = rest.base + rest.generalOffset(point), stride = 1;
    bool isUncertain = false;
    for (int64_t dim = int64_t(iteration.size()) - 1; dim >= 0; --dim)
      from += rest.coefficients[dim] * point[dim];
    for (int64_t dim = int64_t(source->sizes.size()) - 1; dim >= 0; --dim) {
      int64_t size = source->sizes[dim];
      if (const Tensor *place = places[dim].get()) {
        from += stride * std::clamp<int64_t>(place->integers[i], 0, size - 1);
        isUncertain |= place->uncertain[i];
      }
      stride *= size;
    }
    if (result->isFloat()) {
      result->set(i, source->get(from));
      if (isUncertain)
        result->bounds[i] = kInfinity;
    } else {
      result->integers[i] = source->integers[from];
      result->uncertain[i] = source->uncertain[from] || isUncertain;
    }
    for (int64_t dim = int64_t(iteration.size()) - 1; dim >= 0; --dim) {
      if (++point[dim] < iteration[dim])
        break;
      point[dim] = 0;
    }
  }
  return result;
}

class Interpreter {
public:
  Interpreter(func::FuncOp function, const llvm::StringMap<int64_t> &symbols)
      : symbols(symbols), productDigits(productDigitsOf(function)),
        mayApproximate(allowsApproximation(function)) {}

  LogicalResult bindArguments(func::FuncOp function, ArrayRef<HostTensor> arguments);
  FailureOr<std::vector<Result>> run(func::FuncOp function);

private:
  FailureOr<TensorRef> evaluate(Operation *op);
  FailureOr<TensorRef> evaluateGraphOp(gir::GraphOpInterface op);
  FailureOr<TensorRef> evaluateConcat(gir::ConcatOp op);
  LogicalResult evaluateCheck(gir::CheckOp op);
  TensorRef evaluateBody(gir::GraphOpInterface op, const gir::ScalarBody &body,
                         ArrayRef<int64_t> iteration);
  TensorRef evaluateContraction(gir::GraphOpInterface op, ArrayRef<int64_t> iteration, DType dtype);
  TensorRef operand(gir::GraphOpInterface op, unsigned i, ArrayRef<int64_t> iteration);

  FailureOr<Sizes> sizesOf(Operation *op, ArrayRef<SymExpr> shape);
  LogicalResult checkIndices(gir::GraphOpInterface op);
  std::optional<int64_t> lookup(const std::string &name) const {
    auto it = symbols.find(name);
    return it == symbols.end() ? std::nullopt : std::optional(it->second);
  }
  std::optional<int64_t> value(SymExpr size) const {
    return size.evaluate([this](const std::string &name) { return lookup(name); });
  }
  /// An index expression with sizes replaced by their values.
  SymExpr bound(SymExpr index) const {
    return index.substitute([this](const std::string &name) -> std::optional<SymExpr> {
      std::optional<int64_t> size = lookup(name);
      return size ? std::optional(SymExpr(*size)) : std::nullopt;
    });
  }

  llvm::StringMap<int64_t> symbols;
  unsigned productDigits;
  bool mayApproximate;
  llvm::DenseMap<Value, TensorRef> values;
  llvm::DenseMap<Value, unsigned> pendingUses;
};

} // namespace

static DType dtypeOfValue(Value value) {
  return *dtypeFromMlir(cast<gir::TensorType>(value.getType()).getElementType());
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

LogicalResult Interpreter::bindArguments(func::FuncOp function, ArrayRef<HostTensor> arguments) {
  if (arguments.size() != function.getNumArguments())
    return function.emitError() << "expected " << function.getNumArguments() << " arguments, got "
                                << arguments.size();
  for (auto [parameter, argument] : llvm::zip_equal(function.getArguments(), arguments)) {
    auto type = dyn_cast<gir::TensorType>(parameter.getType());
    if (!type || argument.dtype != dtypeFromMlir(type.getElementType()) ||
        argument.sizes.size() != type.getRank())
      return function.emitError() << "expected argument " << parameter.getArgNumber() << " of type "
                                  << parameter.getType();
    for (auto [size, actual] : llvm::zip_equal(type.getShape(), argument.sizes))
      if (size.isSymbol())
        symbols.try_emplace(size.symbolName(), actual);
    // An integer argument may also be a size.
    auto name = function.getArgAttrOfType<StringAttr>(parameter.getArgNumber(), gir::kNameAttr);
    if (name && type.getRank() == 0 && type.getElementType().isInteger(64))
      symbols.try_emplace(name, readHostTensor(argument)->integers[0]);
  }
  for (auto [parameter, argument] : llvm::zip_equal(function.getArguments(), arguments)) {
    auto type = cast<gir::TensorType>(parameter.getType());
    for (auto [size, actual] : llvm::zip_equal(type.getShape(), argument.sizes))
      if (value(size) != actual)
        return function.emitError() << "expected size " << size.str() << " of argument "
                                    << parameter.getArgNumber() << ", got " << actual;
    values[parameter] = readHostTensor(argument);
  }
  return success();
}

static Result toResult(const Tensor &tensor) {
  Result result{tensor.dtype,    {tensor.sizes.begin(), tensor.sizes.end()},
                tensor.values,   tensor.bounds,
                tensor.integers, tensor.uncertain};
  if (!tensor.isFloat())
    return result;
  for (double bound : tensor.bounds)
    result.uncertain.push_back(bound == kInfinity);
  return result;
}

FailureOr<std::vector<Result>> Interpreter::run(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("expected a function of one block"), failure();
  for (Operation &op : function.getBody().front())
    for (Value operand : op.getOperands())
      ++pendingUses[operand];
  std::vector<Result> results;
  for (Operation &op : function.getBody().front()) {
    if (isa<func::ReturnOp>(op)) {
      for (Value result : op.getOperands())
        results.push_back(toResult(*values[result]));
      break;
    }
    if (auto check = dyn_cast<gir::CheckOp>(op)) {
      if (failed(evaluateCheck(check)))
        return failure();
      continue;
    }
    if (isa<gir::PrintOp>(op)) // printed only; not part of the result
      continue;
    FailureOr<TensorRef> result = evaluate(&op);
    if (failed(result))
      return failure();
    values[op.getResult(0)] = *result;
    for (Value operand : op.getOperands())
      if (--pendingUses[operand] == 0)
        values.erase(operand);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

FailureOr<Sizes> Interpreter::sizesOf(Operation *op, ArrayRef<SymExpr> shape) {
  Sizes sizes;
  for (SymExpr expr : shape) {
    std::optional<int64_t> size = value(expr);
    if (!size || *size < 0)
      return op->emitError() << "expected a size of at least 0, got " << expr.str()
                             << (size ? " = " + std::to_string(*size)
                                      : std::string(", which is not known")),
             failure();
    sizes.push_back(*size);
  }
  return sizes;
}

/// Checks that operand indices are over iteration dimensions and known sizes.
LogicalResult Interpreter::checkIndices(gir::GraphOpInterface op) {
  std::set<std::string> names;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    for (SymExpr expr : op.getOperandIndex(i))
      expr.collectSymbols(names);
  for (const std::string &name : names)
    if (name[0] != '#' && name[0] != '$' && !lookup(name))
      return op->emitError() << "expected a known size, got " << name;
  return success();
}

FailureOr<TensorRef> Interpreter::evaluate(Operation *op) {
  if (auto concat = dyn_cast<gir::ConcatOp>(op))
    return evaluateConcat(concat);
  if (auto sum = dyn_cast<gir::ScatterAddOp>(op))
    return addAtPlaces(*values[sum.getInput()], *values[sum.getSources()],
                       *values[sum.getIndices()], sum.getDim());
  if (auto sort = dyn_cast<gir::ArgSortOp>(op))
    return sortRows(*values[sort.getInput()], sort.getDescending(), sort.getFirst());
  if (auto scatter = dyn_cast<gir::ScatterOp>(op)) {
    FailureOr<Sizes> sizes =
        sizesOf(op, cast<gir::TensorType>(scatter.getResult().getType()).getShape());
    if (failed(sizes))
      return failure();
    return putAtPlaces(*values[scatter.getSources()], *values[scatter.getIndices()], *sizes);
  }
  if (auto scan = dyn_cast<gir::ScanOp>(op); scan && scan.getKey())
    return scanByKey(scan.getReduceOp(), *values[scan.getInput()], *values[scan.getKey()],
                     scan.getDim(), *scan.getBelow());
  if (auto graphOp = dyn_cast<gir::GraphOpInterface>(op))
    return evaluateGraphOp(graphOp);
  return op->emitError("expected a graph operation"), failure();
}

/// Fails at the first element that certainly violates the condition.
LogicalResult Interpreter::evaluateCheck(gir::CheckOp op) {
  const Tensor &condition = *values[op.getCondition()], &value = *values[op.getValue()];
  size_t wrong = 0, count = condition.integers.size();
  while (wrong < count && (condition.integers[wrong] || condition.uncertain[wrong]))
    ++wrong;
  if (wrong == count)
    return success();
  SmallVector<int64_t> reported{value.integers[wrong]};
  for (auto size : op.getFailure().getSizes().getAsRange<StringAttr>())
    reported.push_back(this->value(*SymExpr::parse(size.getValue().str())).value_or(-1));
  std::string message = op.getFailure().getMessage().str();
  for (auto [i, number] : llvm::enumerate(reported)) {
    std::string mark = "{" + std::to_string(i) + "}";
    for (size_t at; (at = message.find(mark)) != std::string::npos;)
      message.replace(at, mark.size(), std::to_string(number));
  }
  return op->emitError() << message;
}

TensorRef Interpreter::operand(gir::GraphOpInterface op, unsigned i, ArrayRef<int64_t> iteration) {
  const TensorRef &source = values[op->getOperand(i)];
  SmallVector<SymExpr> index;
  SmallVector<TensorRef> places;
  for (SymExpr expr : op.getOperandIndex(i)) {
    std::optional<unsigned> place = gir::operandOfSymbol(expr);
    places.push_back(place ? operand(op, *place, iteration) : TensorRef());
    index.push_back(place ? SymExpr(0) : bound(expr));
  }
  if (llvm::any_of(places, [](const TensorRef &place) { return bool(place); }))
    return gatherAt(source, IndexMap(index, source->sizes, iteration.size()), places, iteration);
  return gather(source, IndexMap(index, source->sizes, iteration.size()), iteration);
}

FailureOr<TensorRef> Interpreter::evaluateGraphOp(gir::GraphOpInterface op) {
  FailureOr<Sizes> iteration = sizesOf(op, op.getIterationSizes());
  if (failed(iteration))
    return failure();
  DType dtype = dtypeOfValue(op->getResult(0));
  ArrayRef<int64_t> parallel = ArrayRef(*iteration).drop_back(op.getNumReduced());
  if (isa<gir::ReshapeOp>(op)) { // row-major order is the tensors' own
    auto result = std::make_shared<Tensor>(*values[op->getOperand(0)]);
    result->sizes = *iteration;
    return TensorRef(result);
  }
  if (failed(checkIndices(op)))
    return failure();
  gir::ScalarBody body = op.getScalarBody();
  if (body.kind == gir::ScalarBody::Size && !value(body.size))
    return op->emitError() << "expected a known size, got " << body.size.str(), failure();
  if (body.kind == gir::ScalarBody::Product)
    return evaluateContraction(op, *iteration, dtype);
  TensorRef points = evaluateBody(op, body, *iteration);
  std::optional<unsigned> along = op.getScannedDim();
  if (along && !op.getReduction())
    return sortIntegers(*points);
  if (along)
    return scanTensor(*op.getReduction(), dtype, *points, *along);
  if (op.getNumReduced() == 0)
    return points;
  return reduceRows(*op.getReduction(), dtype, *points, parallel,
                    product(ArrayRef(*iteration).drop_front(parallel.size())));
}

TensorRef Interpreter::evaluateBody(gir::GraphOpInterface op, const gir::ScalarBody &body,
                                    ArrayRef<int64_t> iteration) {
  DType dtype = dtypeOfValue(op->getResult(0));
  auto fill = [&](auto &&valueAt) -> TensorRef {
    auto result = std::make_shared<Tensor>(dtype, iteration);
    for (int64_t i = 0, count = result->size(); i < count; ++i) {
      if (result->isFloat())
        result->values[i] = valueAt(i);
      else
        result->integers[i] = int64_t(valueAt(i));
    }
    return result;
  };
  switch (body.kind) {
  case gir::ScalarBody::Identity:
    return operand(op, 0, iteration);
  case gir::ScalarBody::Constant: {
    if (auto number = dyn_cast<FloatAttr>(body.value))
      return fill([value = number.getValueAsDouble()](int64_t) { return value; });
    auto integer = cast<IntegerAttr>(body.value);
    bool isSigned = formatOf(dtype).isSigned;
    int64_t number =
        isSigned ? integer.getValue().getSExtValue() : int64_t(integer.getValue().getZExtValue());
    return fill([number](int64_t) { return number; });
  }
  case gir::ScalarBody::Size:
    return fill([size = *value(body.size)](int64_t) { return size; });
  case gir::ScalarBody::Index: {
    int64_t inner = product(iteration.drop_front(body.dim + 1)), size = iteration[body.dim];
    DType index = DType::Int64;
    auto positions = std::make_shared<Tensor>(index, iteration);
    for (int64_t i = 0, count = positions->size(); i < count; ++i)
      positions->integers[i] = i / inner % size;
    return castTensor(positions, dtype, true);
  }
  case gir::ScalarBody::Cast: {
    auto cast = dyn_cast<gir::CastOp>(op.getOperation());
    return castTensor(operand(op, 0, iteration), dtype, cast && cast.getExplicit_());
  }
  case gir::ScalarBody::Map:
  case gir::ScalarBody::Product: {
    SmallVector<TensorRef> operands;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      operands.push_back(operand(op, i, iteration));
    return mapTensors(body.kind == gir::ScalarBody::Map ? body.op : ScalarOp::Mul, dtype, operands,
                      mayApproximate);
  }
  }
  return nullptr;
}

/// The iteration dimensions that an operand's index depends on.
static llvm::SmallVector<bool> usedDims(gir::GraphOpInterface op, unsigned operand, unsigned rank) {
  std::set<std::string> names;
  for (SymExpr expr : op.getOperandIndex(operand))
    expr.collectSymbols(names);
  llvm::SmallVector<bool> used;
  for (unsigned dim = 0; dim < rank; ++dim)
    used.push_back(names.count(gir::iterationSymbol(dim).symbolName()));
  return used;
}

TensorRef Interpreter::evaluateContraction(gir::GraphOpInterface op, ArrayRef<int64_t> iteration,
                                           DType dtype) {
  // The parallel dimensions are those of both operands, then of the left, then of the right one.
  unsigned numParallel = iteration.size() - op.getNumReduced();
  auto left = usedDims(op, 0, iteration.size()), right = usedDims(op, 1, iteration.size());
  Sizes lhsIteration(iteration), rhsIteration(iteration);
  int64_t batch = 1, m = 1, n = 1, k = product(iteration.drop_front(numParallel));
  for (unsigned dim = 0; dim < numParallel; ++dim) {
    (left[dim] == right[dim] ? batch : left[dim] ? m : n) *= iteration[dim];
    if (left[dim] != right[dim])
      (left[dim] ? rhsIteration : lhsIteration)[dim] = 1;
  }
  TensorRef lhs = operand(op, 0, lhsIteration), rhs = operand(op, 1, rhsIteration);
  if (productDigits && lhs->dtype == DType::FP32) {
    lhs = perhapsRounded(lhs, productDigits);
    rhs = perhapsRounded(rhs, productDigits);
  }
  return contractTensors(dtype, *lhs, *rhs, iteration.take_front(numParallel), batch, m, n, k);
}

FailureOr<TensorRef> Interpreter::evaluateConcat(gir::ConcatOp op) {
  auto type = cast<gir::TensorType>(op.getResult().getType());
  FailureOr<Sizes> sizes = sizesOf(op, type.getShape());
  if (failed(sizes))
    return failure();
  auto result = std::make_shared<Tensor>(dtypeOfValue(op.getResult()), *sizes);
  int64_t inner = product(ArrayRef(*sizes).drop_front(op.getDim() + 1)),
          row = (*sizes)[op.getDim()] * inner, start = 0;
  int64_t outer = product(ArrayRef(*sizes).take_front(op.getDim()));
  for (Value input : op.getInputs()) {
    const Tensor &source = *values[input];
    int64_t part = source.sizes[op.getDim()] * inner;
    auto copy = [&](const auto &from, auto &to) {
      for (int64_t i = 0; i < outer && !from.empty(); ++i)
        std::copy_n(from.begin() + i * part, part, to.begin() + i * row + start);
    };
    copy(source.values, result->values);
    copy(source.bounds, result->bounds);
    copy(source.integers, result->integers);
    copy(source.uncertain, result->uncertain);
    start += part;
  }
  return TensorRef(result);
}

FailureOr<std::vector<Result>> reference::evaluate(func::FuncOp function,
                                                   ArrayRef<HostTensor> arguments,
                                                   const llvm::StringMap<int64_t> &symbols) {
  Interpreter interpreter(function, symbols);
  SmallVector<gir::CompositeOpInterface> composites;
  OwningOpRef<func::FuncOp> copy;
  auto isComposite = [](Operation *op) {
    return isa<gir::CompositeOpInterface>(op) && !isa<gir::ScatterAddOp>(op);
  };
  if (llvm::any_of(function.getBody().getOps(), [&](Operation &op) { return isComposite(&op); })) {
    copy = function.clone();
    function = *copy;
    for (Operation &op : function.getBody().getOps())
      if (isComposite(&op))
        composites.push_back(cast<gir::CompositeOpInterface>(&op));
  }
  for (gir::CompositeOpInterface op : composites) {
    OpBuilder builder(op);
    op->getResult(0).replaceAllUsesWith(op.decompose(builder));
    op->erase();
  }
  if (failed(interpreter.bindArguments(function, arguments)))
    return failure();
  return interpreter.run(function);
}
