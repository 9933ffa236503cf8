//===- ScheduleVerify.cpp - Verifiers of schedule operations --------------===//
//
// A value's dimensions follow from its operands: their union without the reduced ones, in the order
// in which the kernel declares them. States must be relative to the gauge that they name; only then
// may the loop rescale them. Messages say what was expected and what was found.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::sched;

static ValType valType(Value value) { return cast<ValType>(value.getType()); }

static std::string listText(ArrayRef<StringAttr> dims) {
  std::string text = "[";
  for (auto [i, dim] : llvm::enumerate(dims))
    text += (i ? ", " : "") + dim.str();
  return text + "]";
}

static FailureOr<KernelOp> expectKernel(Operation *op) {
  if (auto kernel = op->getParentOfType<KernelOp>())
    return kernel;
  op->emitOpError("expected to be inside a sched.kernel");
  return failure();
}

static FailureOr<StreamOp> expectStream(Operation *op) {
  if (auto stream = dyn_cast_or_null<StreamOp>(op->getParentOp()))
    return stream;
  op->emitOpError("expected to be inside a sched.stream");
  return failure();
}

static bool contains(ArrayAttr names, StringAttr name) { return llvm::is_contained(names, name); }

/// Checks that the result's dimensions are those of the operands without `reduced`.
static LogicalResult expectUnion(Operation *op, KernelOp kernel, ValueRange operands,
                                 ArrayAttr reduced = {}) {
  SmallVector<StringAttr> expected;
  for (DimAttr dim : kernel.getDims().getAsRange<DimAttr>()) {
    bool occurs = llvm::any_of(operands, [&](Value v) { return valType(v).hasDim(dim.getName()); });
    if (occurs && !(reduced && contains(reduced, dim.getName())))
      expected.push_back(dim.getName());
  }
  ArrayRef<StringAttr> got = valType(op->getResult(0)).getDims();
  if (got == ArrayRef(expected))
    return success();
  return op->emitOpError() << "expected a result over " << listText(expected) << ", got "
                           << listText(got);
}

static LogicalResult expectElement(Operation *op, StringRef what, Type expected, Type got) {
  if (expected == got)
    return success();
  return op->emitOpError() << "expected " << what << " of element type " << expected << ", got "
                           << got;
}

static FailureOr<SmallVector<SymExpr>> parseExpressions(Operation *op, ArrayAttr texts) {
  SmallVector<SymExpr> expressions;
  for (StringAttr text : texts.getAsRange<StringAttr>()) {
    std::optional<SymExpr> expression = SymExpr::parse(text.getValue().str());
    if (!expression)
      return op->emitOpError() << "expected a size expression, got " << text;
    expressions.push_back(*expression);
  }
  return expressions;
}

//===----------------------------------------------------------------------===//
// Kernels and streams
//===----------------------------------------------------------------------===//

LogicalResult KernelOp::verify() {
  llvm::SmallSetVector<StringAttr, 8> parallel, seen;
  for (Attribute attribute : getDims()) {
    auto dim = dyn_cast<DimAttr>(attribute);
    if (!dim)
      return emitOpError() << "expected #sched.dim attributes as dims, got " << attribute;
    if (!seen.insert(dim.getName()))
      return emitOpError() << "expected distinct dimensions, got '" << dim.getName().getValue()
                           << "' twice";
    if (dim.isParallel())
      parallel.insert(dim.getName());
  }
  llvm::SmallSetVector<StringAttr, 8> ordered;
  for (StringAttr name : getOrder().getAsRange<StringAttr>()) {
    if (!parallel.contains(name))
      return emitOpError() << "expected parallel dimensions in the order, got '" << name.getValue()
                           << "'";
    if (!ordered.insert(name))
      return emitOpError() << "expected each dimension once in the order, got '" << name.getValue()
                           << "' twice";
  }
  for (StringAttr name : parallel)
    if (!ordered.contains(name))
      return emitOpError() << "expected every parallel dimension in the order, '" << name.getValue()
                           << "' is missing";

  SmallVector<Type> expected(getInputs().getTypes());
  llvm::append_range(expected, getOutputs().getTypes());
  if (getBody().getArgumentTypes() != ArrayRef(expected))
    return emitOpError() << "expected the body's arguments to have the types of the inputs and "
                            "results";
  if (!getInto())
    return success();
  if (getInto()->size() != getOutputs().size())
    return emitOpError() << "expected " << getOutputs().size() << " entries of 'into', got "
                         << getInto()->size();
  for (auto [i, input] : llvm::enumerate(*getInto())) {
    if (input == -1)
      continue;
    if (input < 0 || input >= int64_t(getInputs().size()))
      return emitOpError() << "expected the number of an input or -1 in 'into', got " << input;
    if (getInputs()[input].getType() != getOutputs()[i].getType())
      return emitOpError() << "expected input " << input << " of type " << getOutputs()[i].getType()
                           << ", got " << getInputs()[input].getType();
    if (!getInputArgument(input).use_empty())
      return emitOpError() << "expected no load of input " << input << ", which result " << i
                           << " is stored into";
  }
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (!isa<ScheduleDialect>(op.getDialect()))
      return op.emitOpError("expected only sched operations in a sched.kernel");
  for (unsigned i = 0; i < getOutputs().size(); ++i)
    if (getOutputArgument(i).use_empty())
      return emitOpError() << "expected a store into result " << i << ", got none";
  return success();
}

LogicalResult StreamOp::verify() {
  auto kernel = dyn_cast_or_null<KernelOp>((*this)->getParentOp());
  if (!kernel)
    return emitOpError("expected to be directly inside a sched.kernel");
  if (getOver().empty())
    return emitOpError("expected a dimension to iterate over, got none");
  for (auto [i, name] : llvm::enumerate(getOver().getAsRange<StringAttr>())) {
    DimAttr dim = kernel.getDim(name);
    if (!dim)
      return emitOpError() << "expected a declared dimension, got '" << name.getValue() << "'";
    if (!dim.isStream())
      return emitOpError() << "expected '" << name.getValue() << "' to have the role stream, got "
                           << dim.getRole().getValue();
    if (llvm::is_contained(getOver().getValue().take_front(i), name))
      return emitOpError() << "expected distinct dimensions, got '" << name.getValue() << "' twice";
  }
  if (!(getLag().convertToDouble() >= 0))
    return emitOpError() << "expected a lag of at least 0, got " << getLag().convertToDouble();

  for (auto [what, range] : {std::pair("live", getLive()), std::pair("full", getFull())}) {
    if (range.size() != 2)
      return emitOpError() << "expected a first index and an end as '" << what << "', got "
                           << range.size() << " expressions";
    FailureOr<SmallVector<SymExpr>> bounds = parseExpressions(*this, range);
    if (failed(bounds))
      return failure();
    std::set<std::string> symbols;
    for (SymExpr bound : *bounds)
      bound.collectSymbols(symbols);
    for (StringRef symbol : symbols) {
      auto [name, part] = symbol.rsplit('.');
      if (kernel.getDim(symbol))
        return emitOpError() << "expected '" << symbol << ".lo' or '" << symbol
                             << ".hi' in a bound, got the dimension itself";
      if (DimAttr dim = kernel.getDim(name);
          dim && (part == "lo" || part == "hi") && !dim.isParallel())
        return emitOpError() << "expected bounds over parallel dimensions, got '" << symbol << "'";
    }
  }
  return success();
}

LogicalResult StreamOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (!isa<ScheduleDialect>(op.getDialect()))
      return op.emitOpError("expected only sched operations in a sched.stream");
  return success();
}

LogicalResult YieldOp::verify() {
  auto stream = cast<StreamOp>((*this)->getParentOp());
  if (getStates().getTypes() != stream.getStates().getTypes())
    return emitOpError() << "expected states of the stream's result types";
  for (auto [i, state] : llvm::enumerate(getStates())) {
    Operation *def = state.getDefiningOp();
    if (!isa_and_nonnull<GaugeOp, AccumulateOp>(def) || def->getParentOp() != stream)
      return emitOpError() << "expected a sched.gauge or sched.accumulate of this stream as state "
                           << i;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

LogicalResult GaugeOp::verify() {
  FailureOr<StreamOp> stream = expectStream(*this);
  if (failed(stream))
    return failure();
  auto kernel = cast<KernelOp>((*stream)->getParentOp());
  Type element = valType(getExponent()).getElementType();
  if (getIndicator() ? element.isInteger(1) : !isa<FloatType>(element))
    return emitOpError() << "expected "
                         << (getIndicator() ? "numbers" : "a floating point exponent") << ", got "
                         << element;
  if (failed(expectElement(*this, "a result", element, valType(getResult()).getElementType())))
    return failure();
  return expectUnion(*this, kernel, getExponent(), stream->getOver());
}

LogicalResult WeighOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel))
    return failure();
  Type element = valType(getExponent()).getElementType();
  if (!isa<FloatType>(element))
    return emitOpError() << "expected a floating point exponent, got " << element;
  if (failed(expectElement(*this, "a gauge", element, valType(getGauge()).getElementType())) ||
      failed(expectElement(*this, "a result", element, valType(getResult()).getElementType())))
    return failure();
  auto gauge = getGauge().getDefiningOp<GaugeOp>();
  if (gauge && gauge.getIndicator())
    return emitOpError("expected a gauge of an exponent, got an indicator");
  if (gauge && gauge.getScale() != getScale())
    return emitOpError() << "expected the gauge's scale " << gauge.getScaleAttr() << ", got "
                         << getScaleAttr();
  for (StringAttr dim : valType(getGauge()).getDims())
    if (!valType(getExponent()).hasDim(dim))
      return emitOpError() << "expected a gauge over dimensions of the exponent, got '"
                           << dim.getValue() << "'";
  return expectUnion(*this, *kernel, getOperands());
}

/// The weights, and the gauges without weights, among the operations of `stream` that `values` are
/// computed from.
static void collectWeights(StreamOp stream, ValueRange values, SmallVectorImpl<WeighOp> &weights,
                           SmallVectorImpl<GaugeOp> &gauges) {
  llvm::SetVector<Operation *> work;
  auto push = [&](ValueRange operands) {
    for (Value operand : operands)
      if (Operation *def = operand.getDefiningOp(); def && def->getParentOp() == stream)
        work.insert(def);
  };
  push(values);
  for (size_t i = 0; i < work.size(); ++i) {
    auto weigh = dyn_cast<WeighOp>(work[i]);
    if (weigh && isa_and_nonnull<GaugeOp>(weigh.getGauge().getDefiningOp()))
      weights.push_back(weigh);
    else if (auto gauge = dyn_cast<GaugeOp>(work[i]))
      gauges.push_back(gauge);
    else
      push(work[i]->getOperands());
  }
}

/// Common checks of reductions and states: a monoid, one value or a product of two, and types.
static LogicalResult verifyJoin(Operation *op, StringRef kind, ValueRange values, Type result) {
  std::optional<tessera::ReduceOp> monoid = reduceOpByName({kind.data(), kind.size()});
  if (!monoid)
    return op->emitOpError() << "expected one of sum prod max min any all, got '" << kind << "'";
  if (values.empty() || values.size() > 2)
    return op->emitOpError() << "expected one value or a product of two, got " << values.size();
  if (values.size() == 2 && *monoid != tessera::ReduceOp::Sum)
    return op->emitOpError() << "expected 'sum' of products, got '" << kind << "'";
  Type element = valType(values.front()).getElementType();
  if (values.size() == 2 &&
      failed(expectElement(op, "factors", element, valType(values.back()).getElementType())))
    return failure();
  if (*monoid == tessera::ReduceOp::Any || *monoid == tessera::ReduceOp::All) {
    if (!element.isInteger(1))
      return op->emitOpError() << "expected bools for '" << kind << "', got " << element;
    return expectElement(op, "a result", element, result);
  }
  if (isa<FloatType>(element) != isa<FloatType>(result))
    return op->emitOpError() << "expected a result of the operands' kind of number, " << element
                             << ", got " << result;
  return success();
}

LogicalResult AccumulateOp::verify() {
  FailureOr<StreamOp> stream = expectStream(*this);
  if (failed(stream))
    return failure();
  auto kernel = cast<KernelOp>((*stream)->getParentOp());
  Type element = valType(getResult()).getElementType();
  if (failed(verifyJoin(*this, getKind(), getValues(), element)) ||
      failed(expectUnion(*this, kernel, getValues(), stream->getOver())))
    return failure();
  for (Operation *user : getResult().getUsers())
    if (!isa<YieldOp>(user)) {
      InFlightDiagnostic diagnostic =
          emitOpError("expected a state to be used by sched.yield only");
      diagnostic.attachNote(user->getLoc()) << "used here; the stream's result is the final state";
      return diagnostic;
    }

  SmallVector<WeighOp> weights;
  SmallVector<GaugeOp> gauges;
  collectWeights(*stream, getValues(), weights, gauges);
  if (!getGauge()) {
    if (weights.empty() && gauges.empty())
      return success();
    InFlightDiagnostic diagnostic = emitOpError("expected 'rel' and the gauge of its weights");
    Operation *used = weights.empty() ? gauges.front().getOperation() : weights.front();
    diagnostic.attachNote(used->getLoc()) << "the weights are made here";
    return diagnostic;
  }
  auto gauge = getGauge().getDefiningOp<GaugeOp>();
  if (!gauge || gauge->getParentOp() != *stream)
    return emitOpError("expected a sched.gauge of this stream after 'rel'");
  if (gauge.getIndicator()) {
    if (!weights.empty() || gauges.empty() ||
        llvm::any_of(gauges, [&](GaugeOp g) { return g != gauge; }))
      return emitOpError(
          "expected values that compare with the indicator after 'rel', and with no other gauge");
  } else if (getReduceOp() != tessera::ReduceOp::Sum || !isa<FloatType>(element)) {
    return emitOpError() << "expected a floating point 'sum' relative to a gauge, got '"
                         << getKind() << "' of " << element;
  } else if (weights.empty() || !gauges.empty()) {
    return emitOpError("expected values made from weights of the gauge, got none");
  }
  for (WeighOp weigh : weights)
    if (weigh.getGauge() != getGauge()) {
      InFlightDiagnostic diagnostic = emitOpError("expected weights of the gauge after 'rel'");
      diagnostic.attachNote(weigh.getLoc()) << "these are weights of another gauge";
      return diagnostic;
    }
  for (StringAttr dim : valType(getGauge()).getDims())
    if (!valType(getResult()).hasDim(dim))
      return emitOpError() << "expected a state over the dimensions of its gauge, '"
                           << dim.getValue() << "' is missing";
  return success();
}

LogicalResult ScanOp::verify() {
  FailureOr<StreamOp> stream = expectStream(*this);
  if (failed(stream) ||
      failed(verifyJoin(*this, getKind(), getValue(), valType(getResult()).getElementType())))
    return failure();
  if (stream->getOver().size() != 1)
    return emitOpError() << "expected a stream over one dimension, got "
                         << stream->getOver().size();
  auto kernel = cast<KernelOp>((*stream)->getParentOp());
  auto along = cast<StringAttr>(stream->getOver()[0]);
  SmallVector<StringAttr> dims;
  for (DimAttr dim : kernel.getDims().getAsRange<DimAttr>())
    if (dim.getName() == along || valType(getValue()).hasDim(dim.getName()) ||
        (getKey() && valType(getKey()).hasDim(dim.getName())))
      dims.push_back(dim.getName());
  if (getKey() && (!getBelow() || *getBelow() < 1))
    return emitOpError("expected a positive number of keys");
  if (valType(getResult()).getDims() != ArrayRef(dims))
    return emitOpError() << "expected a result over " << listText(dims) << ", got "
                         << listText(valType(getResult()).getDims());
  return expectElement(*this, "a result", valType(getValue()).getElementType(),
                       valType(getResult()).getElementType());
}

LogicalResult SortOp::verify() {
  FailureOr<StreamOp> stream = expectStream(*this);
  if (failed(stream))
    return failure();
  if (stream->getOver().size() != 1)
    return emitOpError() << "expected a stream over one dimension, got "
                         << stream->getOver().size();
  auto along = cast<StringAttr>(stream->getOver()[0]);
  if (!valType(getValue()).hasDim(along))
    return emitOpError() << "expected a value over '" << along.getValue() << "', got "
                         << listText(valType(getValue()).getDims());
  Type element = valType(getValue()).getElementType();
  if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    return emitOpError() << "expected integers of type i32 or i64, got " << element;
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Parses the index of a load or store and checks its rank; returns the dimensions that occur in
/// it.
static FailureOr<SmallVector<StringAttr>> verifyIndex(Operation *op, KernelOp kernel,
                                                      gir::TensorType tensor, ArrayAttr index) {
  FailureOr<SmallVector<SymExpr>> expressions = parseExpressions(op, index);
  if (failed(expressions))
    return failure();
  if (expressions->size() != tensor.getRank() && expressions->size() != 1)
    return op->emitOpError()
           << "expected " << tensor.getRank()
           << " index expressions, one for each dimension, or one row-major element number, got "
           << expressions->size();
  return kernel.getDimsIn(*expressions);
}

/// `op` may depend only on the stream dimensions of its own stream.
static LogicalResult expectStreamed(Operation *op, KernelOp kernel, ArrayRef<StringAttr> dims) {
  auto stream = dyn_cast<StreamOp>(op->getParentOp());
  for (StringAttr dim : dims)
    if (kernel.getDim(dim).isStream() && !(stream && contains(stream.getOver(), dim)))
      return op->emitOpError() << "expected to be inside a sched.stream over '" << dim.getValue()
                               << "'";
  return success();
}

/// Checks the gather indices, and that the index uses no others.
template <typename OpTy> static LogicalResult verifyPlaces(OpTy op) {
  size_t count = op.getPlaces().size(), limits = op.getBelow() ? op.getBelow()->size() : 0;
  if (limits != count)
    return op.emitOpError() << "expected " << count << " limits, one for each place, got "
                            << limits;
  if (count && failed(parseExpressions(op, *op.getBelow())))
    return failure();
  for (Value place : op.getPlaces()) {
    Type element = valType(place).getElementType();
    if (!element.isInteger() || element.isInteger(1))
      return op.emitOpError() << "expected integer gather indices, got " << element;
  }
  FailureOr<SmallVector<SymExpr>> expressions = parseExpressions(op, op.getIndex());
  if (failed(expressions))
    return failure();
  std::set<std::string> symbols;
  for (SymExpr expression : *expressions)
    expression.collectSymbols(symbols);
  for (StringRef symbol : symbols) {
    unsigned place;
    if (symbol.consume_front("#") && (symbol.getAsInteger(10, place) || place >= count))
      return op.emitOpError() << "expected a gather index below " << count
                              << " in the index, got '#" << symbol << "'";
  }
  return success();
}

/// The union of dimensions and those of values, in the kernel's order.
static SmallVector<StringAttr> withDimsOf(KernelOp kernel, ArrayRef<StringAttr> dims,
                                          ValueRange values) {
  SmallVector<StringAttr> result;
  for (DimAttr dim : kernel.getDims().getAsRange<DimAttr>())
    if (llvm::is_contained(dims, dim.getName()) ||
        llvm::any_of(values, [&](Value value) { return valType(value).hasDim(dim.getName()); }))
      result.push_back(dim.getName());
  return result;
}

LogicalResult LoadOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel) || failed(verifyPlaces(*this)))
    return failure();
  auto tensor = cast<gir::TensorType>(getTensor().getType());
  auto argument = dyn_cast<BlockArgument>(getTensor());
  if (!argument || argument.getArgNumber() >= kernel->getInputs().size())
    return emitOpError("expected to read an input of the kernel");
  FailureOr<SmallVector<StringAttr>> dims = verifyIndex(*this, *kernel, tensor, getIndex());
  if (failed(dims))
    return failure();
  dims = withDimsOf(*kernel, *dims, getPlaces());
  if (failed(expectStreamed(*this, *kernel, *dims)))
    return failure();
  if (valType(getResult()).getDims() != ArrayRef(*dims))
    return emitOpError() << "expected a result over " << listText(*dims) << ", got "
                         << listText(valType(getResult()).getDims());
  return expectElement(*this, "a result", tensor.getElementType(),
                       valType(getResult()).getElementType());
}

LogicalResult StoreOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel) || failed(verifyPlaces(*this)))
    return failure();
  if (getSum() && getPlaces().empty())
    return emitOpError("expected scatter indices for a 'sum'");
  if (getUnordered() && !getSum())
    return emitOpError("expected 'unordered' with a sum");
  auto tensor = cast<gir::TensorType>(getTensor().getType());
  auto argument = dyn_cast<BlockArgument>(getTensor());
  if (!argument || argument.getArgNumber() < kernel->getInputs().size())
    return emitOpError("expected to write a result of the kernel");
  FailureOr<SmallVector<StringAttr>> dims = verifyIndex(*this, *kernel, tensor, getIndex());
  if (failed(dims))
    return failure();
  dims = withDimsOf(*kernel, *dims, getPlaces());
  if (failed(expectStreamed(*this, *kernel, *dims)))
    return failure();
  for (StringAttr dim : valType(getValue()).getDims())
    if (!llvm::is_contained(*dims, dim))
      return emitOpError() << "expected every dimension of the value in the index, '"
                           << dim.getValue() << "' is missing";
  return expectElement(*this, "a value", tensor.getElementType(),
                       valType(getValue()).getElementType());
}

LogicalResult CheckOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel) ||
      failed(expectStreamed(*this, *kernel, withDimsOf(*kernel, {}, getOperands()))))
    return failure();
  Type condition = valType(getCondition()).getElementType(),
       value = valType(getValue()).getElementType();
  if (!condition.isInteger(1))
    return emitOpError() << "expected a condition, got " << condition;
  if (!value.isSignlessInteger(64))
    return emitOpError() << "expected values of i64, got " << value;
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel))
    return failure();
  if (!isa<FloatAttr, IntegerAttr>(getValue()))
    return emitOpError() << "expected a number, got " << getValue();
  if (failed(expectElement(*this, "a value", valType(getResult()).getElementType(),
                           getValue().getType())))
    return failure();
  return expectUnion(*this, *kernel, {});
}

LogicalResult IndexOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel))
    return failure();
  std::optional<SymExpr> expression = SymExpr::parse(getExpression().str());
  if (!expression)
    return emitOpError() << "expected a size expression, got '" << getExpression() << "'";
  Type element = valType(getResult()).getElementType();
  if (!element.isInteger() || element.isInteger(1))
    return emitOpError() << "expected an integer result, got " << element;
  SmallVector<StringAttr> dims = kernel->getDimsIn(*expression);
  if (failed(expectStreamed(*this, *kernel, dims)))
    return failure();
  if (valType(getResult()).getDims() == ArrayRef(dims))
    return success();
  return emitOpError() << "expected a result over " << listText(dims) << ", got "
                       << listText(valType(getResult()).getDims());
}

LogicalResult MapOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel))
    return failure();
  SmallVector<Type> elements;
  for (Value input : getInputs())
    elements.push_back(valType(input).getElementType());
  if (failed(verifyScalarOp([&] { return emitOpError(); }, getKind(), elements,
                            valType(getResult()).getElementType())))
    return failure();
  return expectUnion(*this, *kernel, getInputs());
}

LogicalResult MaskOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel))
    return failure();
  Type element = valType(getResult()).getElementType();
  if (!valType(getCondition()).getElementType().isInteger(1))
    return emitOpError() << "expected a condition of type i1, got "
                         << valType(getCondition()).getElementType();
  if (failed(expectElement(*this, "a value", element, valType(getValue()).getElementType())) ||
      failed(expectElement(*this, "an alternative", element, getOtherwise().getType())))
    return failure();
  return expectUnion(*this, *kernel, getOperands());
}

LogicalResult CastOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  return failed(kernel) ? failure() : expectUnion(*this, *kernel, getInput());
}

LogicalResult sched::ReduceOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel) ||
      failed(verifyJoin(*this, getKind(), getValues(), valType(getResult()).getElementType())))
    return failure();
  if (getOver().empty())
    return emitOpError("expected a dimension to reduce over, got none");
  for (StringAttr name : getOver().getAsRange<StringAttr>()) {
    DimAttr dim = kernel->getDim(name);
    if (!dim)
      return emitOpError() << "expected a declared dimension, got '" << name.getValue() << "'";
    if (!dim.isInner())
      return emitOpError() << "expected '" << name.getValue() << "' to have the role inner, got "
                           << dim.getRole().getValue();
    if (llvm::none_of(getValues(), [&](Value v) { return valType(v).hasDim(name); }))
      return emitOpError() << "expected values that depend on '" << name.getValue() << "'";
  }
  return expectUnion(*this, *kernel, getValues(), getOver());
}

LogicalResult BoundOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel))
    return failure();
  Type element = valType(getValue()).getElementType();
  bool isTest = getKind() == "any" || getKind() == "all";
  if (!isTest && getKind() != "min" && getKind() != "max")
    return emitOpError() << "expected min, max, any or all, got " << getKind();
  if (isTest != element.isInteger(1))
    return emitOpError() << "expected " << (isTest ? "bools" : "numbers") << " for " << getKind()
                         << ", got " << element;
  if (failed(expectElement(*this, "a result", element, valType(getResult()).getElementType())))
    return failure();
  return expectUnion(*this, *kernel, getValue(), getOver());
}

LogicalResult VisitOp::verify() {
  if (getAsRange() && getAsList())
    return emitOpError("expected a range or a list of blocks, got both");
  for (Value condition : getOperands())
    if (!valType(condition).getElementType().isInteger(1))
      return emitOpError() << "expected conditions, got " << valType(condition).getElementType();
  auto stream = cast<StreamOp>((*this)->getParentOp());
  if (llvm::range_size(stream.getBody().front().getOps<VisitOp>()) > 1)
    return emitOpError("expected one test of the block, got several");
  if (!stream.getBody().front().getOps<StoreOp>().empty())
    return emitOpError("expected a stream that stores nothing");
  if (!stream.getBody().front().getOps<CheckOp>().empty())
    return emitOpError("expected a stream that checks nothing");
  return success();
}
