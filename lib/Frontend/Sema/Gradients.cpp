//===- Gradients.cpp - Functions that compute gradients -------------------===//
#include "Gradients.h"

#include "Builtins.h"
#include "tessera/Dialect/Graph/IR/Joint.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

//===------------------------------------------------------------------------------------------===//
// Requests
//===------------------------------------------------------------------------------------------===//

static std::optional<GradientRequest::Kind> kindByName(llvm::StringRef name) {
  if (name == "grad")
    return GradientRequest::Grad;
  if (name == "value_and_grad")
    return GradientRequest::ValueAndGrad;
  if (name == "vjp")
    return GradientRequest::Vjp;
  if (name == "jvp")
    return GradientRequest::Jvp;
  if (name == "custom_vjp")
    return GradientRequest::CustomVjp;
  if (name == "checkpoint")
    return GradientRequest::Checkpoint;
  if (name == "forward")
    return GradientRequest::Forward;
  if (name == "backward")
    return GradientRequest::Backward;
  return std::nullopt;
}

std::optional<std::vector<GradientRequest>> sema::parseGradients(std::string_view text) {
  std::vector<GradientRequest> requests;
  for (llvm::StringRef part : llvm::split(llvm::StringRef(text.data(), text.size()), ';')) {
    llvm::SmallVector<llvm::StringRef> fields;
    part.split(fields, ':');
    std::optional<GradientRequest::Kind> kind = kindByName(fields[0].trim());
    bool isBackward = kind == GradientRequest::Backward;
    if (!kind || fields.size() > (isBackward ? 4 : 3))
      return std::nullopt;
    GradientRequest &request = requests.emplace_back();
    request.kind = *kind;
    llvm::StringRef names = fields.size() > 1 ? fields[1].trim() : "";
    request.isTuple = names.contains(',');
    for (llvm::StringRef name : llvm::split(names, ','))
      if (!name.trim().empty())
        request.wrt.push_back(name.trim().str());
    llvm::StringRef flag = fields.size() > 2 ? fields[2].trim() : "";
    if (*kind == GradientRequest::Checkpoint) {
      if (!readPolicy(Value::ofStr(flag.str()), request) && flag != "names")
        return std::nullopt;
      request.policy = flag.str();
      continue;
    }
    request.hasAux = flag == "aux";
    if (!flag.empty() && !request.hasAux && flag.getAsInteger(10, request.results))
      return std::nullopt;
    if (fields.size() > 3 && fields[3].trim().getAsInteger(10, request.residuals))
      return std::nullopt;
  }
  // The two parts of a joint function are compiled; they are not functions of the language.
  for (const GradientRequest &one : requests)
    if (one.isJoint() && &one != &requests.back())
      return std::nullopt;
  return requests;
}

/// The index of a parameter by its name or number; nothing after an error.
static std::optional<size_t> findParam(Program &program, const UserFunction &function,
                                       const GradientRequest &request, size_t i, bool isMethod) {
  std::span<Param> params = function.def->params;
  llvm::StringRef name = request.wrt[i];
  SourceRange range = i < request.wrtRanges.size() ? request.wrtRanges[i] : request.range;
  bool isWritten = range.isValid();
  if (!isWritten)
    range = function.def->nameRange;
  int64_t number = 0;
  if (!name.getAsInteger(10, number)) {
    int64_t count = int64_t(params.size()) - isMethod;
    if (number >= -count && number < count)
      return size_t(number < 0 ? number + count : number) + isMethod;
    program.diagnostics.error(range, "expected a number below " + std::to_string(count) +
                                         " of a parameter of '" + function.name + "', found " +
                                         name.str());
    return std::nullopt;
  }
  std::vector<std::string_view> names;
  for (size_t index = 0; index < params.size(); ++index) {
    if (params[index].name == std::string_view(name))
      return index;
    names.push_back(params[index].name);
  }
  Diagnostic &report = program.diagnostics.error(
      range, "'" + function.name + "' has no parameter '" + name.str() + "'");
  report.didYouMean(closestName(name, names)).fixIts.clear();
  if (isWritten)
    report.note(function.def->nameRange, "'" + function.name + "' is defined here");
  return std::nullopt;
}

/// Adds parameters for cotangents or tangents, with names that the function does not have.
static void addParams(Gradient &gradient, std::string_view word, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    std::string name(word);
    if (count > 1)
      name += "_" + std::to_string(i);
    while (llvm::any_of(gradient.params, [&](const Param &param) { return param.name == name; }))
      name += "_";
    gradient.names.push_back(std::move(name));
    Param param{gradient.names.back(), gradient.def.nameRange, nullptr, nullptr, ParamKind::Normal};
    // A parameter without a default cannot follow one with a default.
    for (Param &other : gradient.params)
      other.defaultValue = nullptr;
    gradient.params.push_back(param);
  }
}

UserFunction *sema::makeGradient(Program &program, const UserFunction &function,
                                 const GradientRequest &request, bool isMethod) {
  auto gradient = std::make_shared<Gradient>();
  gradient->of = &function;
  gradient->request = request;
  gradient->numParams = function.def->params.size();
  bool isAll =
      request.kind != GradientRequest::Grad && request.kind != GradientRequest::ValueAndGrad;
  if (request.wrt.empty() && !isAll) {
    if (gradient->numParams <= size_t(isMethod)) {
      SourceRange range = request.range.isValid() ? request.range : function.def->nameRange;
      program.diagnostics.error(range, "'" + function.name + "' has no parameter to differentiate");
      return nullptr;
    }
    gradient->wrt = {size_t(isMethod)};
  }
  bool isCheckpoint = request.kind == GradientRequest::Checkpoint;
  for (size_t i = 0; i < request.wrt.size() && !isCheckpoint; ++i) {
    std::optional<size_t> index = findParam(program, function, request, i, isMethod);
    if (!index)
      return nullptr;
    gradient->wrt.push_back(*index);
  }
  gradient->def = *function.def;
  gradient->def.returns = nullptr;
  gradient->def.decorators = {};
  gradient->def.body = {};
  gradient->params.assign(function.def->params.begin(), function.def->params.end());
  if (request.kind == GradientRequest::Vjp || request.kind == GradientRequest::Backward)
    addParams(*gradient, "cotangent", request.results);
  if (request.kind == GradientRequest::Backward)
    addParams(*gradient, "residual", request.residuals);
  if (request.kind == GradientRequest::Jvp)
    addParams(*gradient, "tangent", std::max<size_t>(gradient->wrt.size(), 1));
  gradient->def.params = gradient->params;
  UserFunction *made = program.addFunction(&gradient->def, function.scope, function.name);
  made->gradient = std::move(gradient);
  return made;
}

//===------------------------------------------------------------------------------------------===//
// Calls
//===------------------------------------------------------------------------------------------===//

/// Whether a value depends on another one by operations that have a derivative.
static bool dependsOn(mlir::Value value, mlir::Value on) {
  llvm::SmallVector<mlir::Value> open{value};
  llvm::SmallPtrSet<void *, 32> seen;
  while (!open.empty()) {
    mlir::Value next = open.pop_back_val();
    if (next == on)
      return true;
    mlir::Operation *op = next.getDefiningOp();
    auto type = mlir::cast<gir::TensorType>(next.getType());
    if (!op || !type.isFloat() || mlir::isa<gir::StopGradientOp>(op) ||
        !seen.insert(next.getAsOpaquePointer()).second)
      continue;
    if (auto custom = mlir::dyn_cast<gir::CustomVjpOp>(op)) {
      llvm::append_range(open, custom.getInputs());
      continue;
    }
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

namespace {
/// One call of the gradient of a function, in the current frame of the interpreter.
class GradientCall {
public:
  GradientCall(Interpreter &in, const Gradient &gradient)
      : in(in), gradient(gradient), request(gradient.request), emit(*in.emitter) {
    range = request.range.isValid() ? request.range : gradient.def.nameRange;
  }

  Value run();

private:
  bool markInputs();
  bool callFunction();
  std::optional<Value> output(const Value &value, bool isScalar);
  std::optional<std::vector<mlir::Value>>
  given(llvm::ArrayRef<size_t> places, llvm::ArrayRef<mlir::Value> like, std::string_view what);
  std::vector<mlir::Value> vjp(llvm::ArrayRef<mlir::Value> outputs,
                               llvm::ArrayRef<mlir::Value> cotangents,
                               llvm::ArrayRef<mlir::Value> inputs);
  Value runScalar();
  Value runProduct();
  Value runJoint();
  std::vector<mlir::Value> unknownCotangents(llvm::ArrayRef<mlir::Value> outputs);
  void warnUnused(llvm::ArrayRef<mlir::Value> outputs);
  /// The function that is compiled.
  mlir::func::FuncOp function() const {
    return mlir::cast<mlir::func::FuncOp>(emit.builder.getInsertionBlock()->getParentOp());
  }
  Value &argument(size_t i) { return in.frame->locals[gradient.params[i].name]; }
  SourceRange returnedRange() const { return returned ? returned->range : range; }

  Interpreter &in;
  const Gradient &gradient;
  const GradientRequest &request;
  Emitter &emit;
  SourceRange range;
  /// The differentiated parameters and their values in the call.
  std::vector<size_t> wrt;
  std::vector<mlir::Value> inputs;
  std::vector<Value> arguments;
  Value result;
  const Expr *returned = nullptr;
};
} // namespace

static bool isFloatTensor(const Value &value) {
  return value.isTensor() && Emitter::isFloat(Emitter::dtype(value));
}

/// Gives each differentiated argument a value of its own, so that derivatives do not pass through
/// what the caller computed it from, nor through another argument with the same value.
bool GradientCall::markInputs() {
  for (size_t i = 0; i < gradient.numParams; ++i)
    arguments.push_back(argument(i));
  wrt = gradient.wrt;
  if (wrt.empty())
    for (size_t i = 0; i < gradient.numParams; ++i)
      if (isFloatTensor(arguments[i]))
        wrt.push_back(i);
  for (size_t i : wrt) {
    Value &value = arguments[i];
    const Param &param = gradient.params[i];
    if (value.isError())
      return false;
    if (auto region = in.frame->regions.find(param.name);
        region != in.frame->regions.end() && region->second.privileges != Region::Read) {
      in.error(param.nameRange, "gradients with respect to a region that is written are not "
                                "supported");
      return false;
    }
    if (value.is(Value::Float))
      value = Value::ofTensor(emit.asTensor(value).tensor, /*weak=*/true);
    if (!isFloatTensor(value)) {
      in.error(param.nameRange, "expected a float to differentiate with respect to '" +
                                    std::string(param.name) + "', found " + describe(value))
          .help("integers and bools have no derivative");
      return false;
    }
    mlir::Value marked =
        gir::ReshapeOp::create(emit.builder, emit.loc(), value.tensor, value.shape());
    inputs.push_back(marked);
    value = Value::ofTensor(marked, value.weak);
  }
  return true;
}

bool GradientCall::callFunction() {
  std::vector<SourceRange> ranges;
  for (size_t i = 0; i < gradient.numParams; ++i)
    ranges.push_back(gradient.params[i].nameRange);
  // A jvp is the derivative of a vjp.
  unsigned count = request.kind == GradientRequest::Jvp ? 2 : 1;
  llvm::SaveAndRestore more(in.differentiations, in.differentiations + count);
  result = in.invoke(*gradient.of, arguments, ranges, returned);
  return !result.isError();
}

/// A result that is differentiated; nothing after an error.
std::optional<Value> GradientCall::output(const Value &value, bool isScalar) {
  std::string name = "'" + gradient.of->name + "'";
  if (!value.isTensor() && !value.is(Value::Float)) {
    ErrorBuilder report = in.error(returnedRange(), "expected a float to differentiate as the "
                                                    "result of " +
                                                        name + ", found " + describe(value));
    if (value.isSequence() && isScalar)
      report.help("has_aux=True differentiates the first of several results");
    else
      report.help("integers and bools have no derivative");
    return std::nullopt;
  }
  Value tensor = emit.asTensor(value);
  if (!isFloatTensor(tensor)) {
    in.error(returnedRange(), "expected a float to differentiate as the result of " + name +
                                  ", found " + describe(tensor))
        .help("integers and bools have no derivative");
    return std::nullopt;
  }
  if (isScalar && tensor.rank() != 0) {
    in.error(returnedRange(), "expected a scalar to differentiate as the result of " + name +
                                  ", found " + describe(tensor))
        .help("reduce it, as with .sum(), or give its cotangent to tsr.vjp");
    return std::nullopt;
  }
  return tensor;
}

/// The values of these parameters, which must have the types of `like`.
std::optional<std::vector<mlir::Value>> GradientCall::given(llvm::ArrayRef<size_t> places,
                                                            llvm::ArrayRef<mlir::Value> like,
                                                            std::string_view what) {
  std::vector<mlir::Value> values;
  for (auto [place, other] : llvm::zip(places, like)) {
    const Value &value = argument(place);
    Value expected = Value::ofTensor(other);
    bool isNumber = value.isNumber() && expected.rank() == 0;
    if (value.isError())
      return std::nullopt;
    bool fits = value.isTensor() && value.rank() == expected.rank() &&
                (value.weak || Emitter::dtype(value) == Emitter::dtype(expected));
    for (size_t d = 0; fits && d < expected.rank(); ++d)
      fits = in.sizes.equal(value.shape()[d], expected.shape()[d], range);
    if (!fits && !isNumber) {
      in.error(range, "expected " + describe(expected) + " as " + std::string(what) + " '" +
                          std::string(gradient.params[place].name) + "', found " + describe(value));
      return std::nullopt;
    }
    values.push_back(emit.materialise(value, Emitter::dtype(expected), expected.shape()));
  }
  return values;
}

std::vector<mlir::Value> GradientCall::vjp(llvm::ArrayRef<mlir::Value> outputs,
                                           llvm::ArrayRef<mlir::Value> cotangents,
                                           llvm::ArrayRef<mlir::Value> inputs) {
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value input : inputs)
    types.push_back(input.getType());
  auto op = gir::VjpOp::create(emit.builder, emit.loc(), types, outputs, cotangents, inputs);
  return std::vector<mlir::Value>(op.getGradients().begin(), op.getGradients().end());
}

void GradientCall::warnUnused(llvm::ArrayRef<mlir::Value> outputs) {
  for (auto [i, input] : llvm::zip(wrt, inputs))
    if (llvm::none_of(outputs, [&](mlir::Value output) { return dependsOn(output, input); })) {
      const Param &param = gradient.params[i];
      Diagnostic &report = in.diagnostics.warning(
          param.nameRange, "the result of '" + gradient.of->name + "' does not depend on '" +
                               std::string(param.name) + "'; its gradient is zero");
      if (returned)
        report.note(returned->range, "the result is here");
    }
}

/// grad and value_and_grad.
Value GradientCall::runScalar() {
  std::vector<Value> parts;
  if (request.hasAux) {
    if (!result.is(Value::Tuple) || result.elements->size() < 2)
      return in.error(returnedRange(), "expected a tuple of a value and auxiliary results from '" +
                                           gradient.of->name + "' with has_aux=True, found " +
                                           describe(result));
    parts = *result.elements;
  } else {
    parts = {result};
  }
  std::optional<Value> loss = output(parts[0], /*isScalar=*/true);
  if (!loss)
    return Value::error();
  warnUnused({loss->tensor});
  mlir::Value one = gir::ConstantOp::create(emit.builder, emit.loc(), loss->type(), 1.0);
  std::vector<Value> gradients;
  for (auto [i, value] : llvm::enumerate(vjp({loss->tensor}, {one}, inputs)))
    gradients.push_back(Value::ofTensor(value, arguments[wrt[i]].weak));
  std::vector<Value> all;
  bool isValueFirst = request.kind == GradientRequest::ValueAndGrad;
  if (isValueFirst) {
    all.push_back(*loss);
    all.insert(all.end(), parts.begin() + 1, parts.end());
  }
  all.insert(all.end(), gradients.begin(), gradients.end());
  if (!isValueFirst)
    all.insert(all.end(), parts.begin() + 1, parts.end());
  return all.size() == 1 && !request.isTuple ? all[0] : Value::ofTuple(std::move(all));
}

/// vjp and jvp. A jvp is the derivative of the vjp with respect to the cotangents, in which it is
/// linear.
Value GradientCall::runProduct() {
  bool isVjp = request.kind == GradientRequest::Vjp;
  std::vector<Value> parts = {result};
  if (result.isSequence())
    parts = *result.elements;
  if (isVjp && parts.size() != request.results)
    return in
        .error(returnedRange(), "expected " + counted(request.results, "result") + " of '" +
                                    gradient.of->name + "', found " + std::to_string(parts.size()))
        .help("write results=" + std::to_string(parts.size()));
  // The cotangents of integers among several results are ignored.
  std::vector<mlir::Value> outputs;
  std::vector<size_t> places;
  for (auto [i, part] : llvm::enumerate(parts)) {
    if (parts.size() > 1 && part.isTensor() && !isFloatTensor(part))
      continue;
    std::optional<Value> tensor = output(part, /*isScalar=*/false);
    if (!tensor)
      return Value::error();
    outputs.push_back(tensor->tensor);
    places.push_back(gradient.numParams + i);
  }
  warnUnused(outputs);
  if (!isVjp) {
    places.resize(inputs.size());
    std::iota(places.begin(), places.end(), gradient.numParams);
  }
  auto others =
      isVjp ? given(places, outputs, "the cotangent") : given(places, inputs, "the tangent");
  if (!others)
    return Value::error();
  std::vector<mlir::Value> made;
  if (isVjp) {
    made = vjp(outputs, *others, inputs);
  } else {
    std::vector<mlir::Value> variables;
    for (mlir::Value output : outputs)
      variables.push_back(gir::ConstantOp::create(
          emit.builder, emit.loc(), mlir::cast<gir::TensorType>(output.getType()), 0.0));
    made = vjp(vjp(outputs, variables, inputs), *others, variables);
  }
  std::vector<Value> all;
  if (!isVjp)
    all = parts;
  for (mlir::Value value : made)
    all.push_back(Value::ofTensor(value));
  return all.size() == 1 && !request.isTuple ? all[0] : Value::ofTuple(std::move(all));
}

/// Arguments of the function that no caller gives: the forward part has no use for them.
std::vector<mlir::Value> GradientCall::unknownCotangents(llvm::ArrayRef<mlir::Value> outputs) {
  std::vector<mlir::Value> cotangents;
  mlir::Block &entry = function().getBody().front();
  for (mlir::Value output : outputs)
    cotangents.push_back(entry.addArgument(output.getType(), emit.loc()));
  return cotangents;
}

/// Forward and backward: the results and the gradients of all of them, which `gir-partition`
/// splits.
Value GradientCall::runJoint() {
  bool isForward = request.kind == GradientRequest::Forward;
  std::vector<Value> parts = {result};
  if (result.isSequence())
    parts = *result.elements;
  std::vector<mlir::Value> outputs;
  for (Value &part : parts) {
    if (part.isNumber())
      part = emit.asTensor(part);
    bool isOther = parts.size() > 1 && part.isTensor() && !isFloatTensor(part);
    std::optional<Value> tensor = isOther ? part : output(part, /*isScalar=*/false);
    if (!tensor)
      return Value::error();
    if (!isOther)
      outputs.push_back(tensor->tensor);
  }
  if (!isForward && outputs.size() != request.results)
    return in.error(range, "expected " + counted(outputs.size(), "cotangent") + ", found " +
                               std::to_string(request.results));
  unsigned given = isForward ? 0 : request.results + request.residuals;
  unsigned numInputs = function().getBody().front().getNumArguments() - given;
  std::vector<mlir::Value> cotangents;
  if (isForward) {
    warnUnused(outputs);
    cotangents = unknownCotangents(outputs);
  } else {
    std::vector<size_t> places(outputs.size());
    std::iota(places.begin(), places.end(), gradient.numParams);
    auto values = this->given(places, outputs, "the cotangent");
    if (!values)
      return Value::error();
    cotangents = *values;
  }
  std::vector<Value> all = parts;
  for (mlir::Value value : vjp(outputs, cotangents, inputs))
    all.push_back(Value::ofTensor(value));
  mlir::Builder &builder = emit.builder;
  auto number = [&](llvm::StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  auto text = [&](llvm::StringRef name, llvm::StringRef value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  };
  llvm::SmallVector<mlir::NamedAttribute> joint = {
      text("part", isForward ? "forward" : "backward"), number("inputs", numInputs),
      number("cotangents", int64_t(outputs.size())), number("results", int64_t(parts.size()))};
  if (result.isSequence())
    joint.push_back(builder.getNamedAttr("tuple", builder.getUnitAttr()));
  int64_t bytes = 0;
  if (std::string limit = in.program.option("residual_bytes");
      !llvm::StringRef(limit).getAsInteger(10, bytes))
    joint.push_back(number("bytes", bytes));
  if (!isForward)
    joint.push_back(text("saved", in.program.option("residuals")));
  function()->setAttr(gir::kJointAttr, builder.getDictionaryAttr(joint));
  return Value::ofTuple(std::move(all));
}

Value GradientCall::run() {
  Emitter::At at(&emit, range);
  if (!markInputs() || !callFunction())
    return Value::error();
  if (request.kind == GradientRequest::Jvp &&
      wrt.size() != gradient.params.size() - gradient.numParams)
    return in.error(range, "expected the parameters of 'jvp' in argnums or wrt");
  bool isScalar =
      request.kind == GradientRequest::Grad || request.kind == GradientRequest::ValueAndGrad;
  if (request.isJoint())
    return runJoint();
  return isScalar ? runScalar() : runProduct();
}

Value Interpreter::runGradient(const Gradient &gradient) {
  if (gradient.request.kind == GradientRequest::CustomVjp)
    return runCustomVjp(*this, gradient);
  if (gradient.request.kind == GradientRequest::Checkpoint)
    return runCheckpoint(*this, gradient);
  return GradientCall(*this, gradient).run();
}

//===------------------------------------------------------------------------------------------===//
// Functions of the language
//===------------------------------------------------------------------------------------------===//

/// Adds a name or number of 'argnums' or 'wrt'. Returns false after an error.
static bool addParameter(Args &args, size_t i, size_t k, const Value &value,
                         GradientRequest &request) {
  if (value.is(Value::Str))
    request.wrt.push_back(*value.text);
  else if (value.is(Value::Int) && value.number.isConstant())
    request.wrt.push_back(std::to_string(value.number.constantValue()));
  else {
    args.in.error(args.part(i, k),
                  "expected the name or number of a parameter, found " + describe(value));
    return false;
  }
  request.wrtRanges.push_back(args.part(i, k));
  return true;
}

/// The function that is made of another one.
static Value derived(Args &args, const Value &function, const GradientRequest &request) {
  Value value = function;
  value.function =
      makeGradient(args.in.program, *function.function, request, function.elements != nullptr);
  return value.function ? value : Value::error();
}

/// grad, value_and_grad, vjp and jvp: functions.
static Value gradientOf(Args &args) {
  const Value &function = args[0];
  if (!function.is(Value::Function))
    return args.error(0, "expected a @tsr.function for '" + std::string(args.builtin.name) +
                             "', found " + describe(function));
  GradientRequest request;
  request.kind = *kindByName(args.builtin.name);
  request.range = args.range;
  // The default of 'jvp'.
  bool isDefault = request.kind == GradientRequest::Jvp && !args[2].is(Value::None);
  if (isDefault && args[1].is(Value::Int))
    args[1] = Value::none();
  if (!args[1].is(Value::None) && !args[2].is(Value::None))
    return args.error(2, "expected either argnums or wrt, found both");
  for (size_t i : {size_t(1), size_t(2)}) {
    if (args[i].is(Value::None))
      continue;
    request.isTuple = args[i].isSequence();
    std::vector<Value> given = request.isTuple ? *args[i].elements : std::vector<Value>{args[i]};
    for (size_t k = 0; k < given.size(); ++k)
      if (!addParameter(args, i, k, given[k], request))
        return Value::error();
  }
  bool isScalar =
      request.kind == GradientRequest::Grad || request.kind == GradientRequest::ValueAndGrad;
  if (isScalar) {
    std::optional<bool> hasAux = args.boolean(3);
    if (!hasAux)
      return Value::error();
    request.hasAux = *hasAux;
  } else if (request.kind == GradientRequest::Vjp) {
    std::optional<int64_t> results = args.integer(3);
    if (!results)
      return Value::error();
    if (*results < 1 || *results > 1000)
      return args.error(3, "expected at least 1 for 'results' of 'vjp', found " +
                               std::to_string(*results));
    request.results = unsigned(*results);
  }
  return derived(args, function, request);
}

/// checkpoint: a function.
static Value checkpointOf(Args &args) {
  const Value &function = args[0];
  if (!function.is(Value::Function))
    return args.error(0, "expected a @tsr.function for 'checkpoint', found " + describe(function));
  GradientRequest request;
  request.kind = GradientRequest::Checkpoint;
  request.range = args.range;
  if (!readPolicy(args[1], request))
    return args.error(1, "expected 'auto', 'nothing', 'everything', 'contractions' or a tuple of "
                         "names for 'policy' of 'checkpoint', found " +
                             describe(args[1]));
  return derived(args, function, request);
}

static Value checkpointName(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  if (!args[1].is(Value::Str) || args[1].text->empty())
    return args.error(1, "expected a string for 'name' of 'checkpoint_name', found " +
                             describe(args[1]));
  Emitter &emit = args.emit();
  mlir::Value named = gir::CheckpointNameOp::create(emit.builder, emit.loc(), x->tensor.getType(),
                                                    x->tensor, *args[1].text);
  return Value::ofTensor(named, x->weak);
}

static Value stopGradient(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  Emitter &emit = args.emit();
  return Value::ofTensor(
      gir::StopGradientOp::create(emit.builder, emit.loc(), x->tensor.getType(), x->tensor)
          .getResult(),
      x->weak);
}

std::vector<Builtin> sema::gradientBuiltins() {
  constexpr uint8_t function = Builtin::Function, both = Builtin::Function | Builtin::Method;
  return {
      {"grad", "f, argnums=None, *, wrt=None, has_aux=False", function, gradientOf,
       "the function that computes gradients of the scalar that f returns"},
      {"value_and_grad", "f, argnums=None, *, wrt=None, has_aux=False", function, gradientOf,
       "as grad, with the value of f before the gradients"},
      {"vjp", "f, argnums=None, *, wrt=None, results=1", function, gradientOf,
       "the function that computes gradients from the arguments of f and cotangents of its "
       "results"},
      {"jvp", "f, argnums=0, *, wrt=None", function, gradientOf,
       "the function that computes f and its derivative from the arguments of f and tangents"},
      {"checkpoint", "f, policy='auto'", function, checkpointOf,
       "f, with a choice of the tensors that its gradients save; the others are recomputed"},
      {"checkpoint_name", "x, name", function, checkpointName,
       "x itself, with a name for policies of checkpoint"},
      {"stop_gradient", "x", both, stopGradient, "x itself, as a constant of gradients"},
      {"detach", "x", Builtin::Method, stopGradient, "as stop_gradient"},
  };
}
