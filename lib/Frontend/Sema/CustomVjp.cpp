//===- CustomVjp.cpp - Functions with a derivative rule -------------------===//
//
// `@tsr.custom_vjp` with `f.defvjp(forward, backward)`. `forward` has the parameters of `f` and
// returns its results and a tuple of residuals; `backward` has one parameter for each residual and
// for each float result, its cotangent, and returns the gradients of the float arguments.
//
// A call that is differentiated calls `forward`, and `backward` in the region of a
// `gir.custom_vjp`; other calls run the body of `f`. Only an outer differentiation concerns the
// operations of both: there `f` itself is called with one differentiation less, which ends the
// recursion of rules that use `f`.
//
//===------------------------------------------------------------------------------------------===//
#include "Builtins.h"
#include "Gradients.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

namespace {
/// One call, in the current frame of the interpreter.
class RuleCall {
public:
  RuleCall(Interpreter &in, const Gradient &gradient)
      : in(in), gradient(gradient), emit(*in.emitter), name("'" + gradient.of->name + "'") {}

  Value run();

private:
  const UserFunction *part(std::string_view which);
  bool checkParams();
  bool callForward();
  Value wrapResults();
  bool callBackward(gir::CustomVjpOp op);
  bool addGradients(const Value &result, const Expr *returned);
  std::optional<mlir::Value> gradientOf(size_t input, const Value &given, SourceRange range);

  Interpreter &in;
  const Gradient &gradient;
  Emitter &emit;
  std::string name;
  const UserFunction *forward = nullptr, *backward = nullptr;
  std::vector<Value> arguments;
  /// The float arguments, which have gradients; numbers are constants.
  std::vector<size_t> floats;
  std::vector<Value> results;
  bool isTuple = false;
  std::vector<Value> residuals;
  const Expr *returned = nullptr; ///< by `forward`
};
} // namespace

static bool isFloat(const Value &value) {
  return value.is(Value::Float) || (value.isTensor() && Emitter::isFloat(Emitter::dtype(value)));
}

/// Whether a value is or contains a float tensor.
static bool hasFloat(const Value &value) {
  return value.isSequence() ? llvm::any_of(*value.elements, hasFloat)
                            : value.isTensor() && isFloat(value);
}

const UserFunction *RuleCall::part(std::string_view which) {
  SourceRange range = gradient.of->def->nameRange;
  std::optional<Value> found = gradient.of->scope->rule(in, *gradient.of, which);
  if (!found) {
    in.error(range, name + " has no derivative rule")
        .help("call " + gradient.of->name + ".defvjp(forward, backward) after its definition");
    return nullptr;
  }
  if (!found->is(Value::Function)) {
    if (!found->isError())
      in.error(range, "expected a function as the " + std::string(which) + " rule of " + name +
                          ", found " + describe(*found));
    return nullptr;
  }
  return found->function;
}

bool RuleCall::checkParams() {
  size_t expected = gradient.numParams, found = forward->def->params.size();
  if (expected == found)
    return true;
  in.error(forward->def->nameRange, "expected the " + counted(expected, "parameter") + " of " +
                                        name + " in its forward rule '" + forward->name +
                                        "', found " + std::to_string(found))
      .note(gradient.of->def->nameRange, name + " is defined here");
  return false;
}

/// Calls a function of the rule, which outer differentiations only see.
static Value invokeRule(Interpreter &in, const UserFunction &function, llvm::ArrayRef<Value> values,
                        const Expr *&returned) {
  unsigned depth = 0;
  for (const Frame *at = in.frame; at; at = at->caller)
    depth += at->isRule && at->function->def == function.def;
  if (depth >= 8)
    return in.error(function.def->nameRange, "recursion is not supported: the rule '" +
                                                 function.name + "' differentiates itself");
  llvm::SaveAndRestore less(in.differentiations, in.differentiations - 1);
  std::vector<SourceRange> ranges;
  for (const Param &param : function.def->params)
    ranges.push_back(param.nameRange);
  return in.invoke(function, values, ranges, returned, /*isRule=*/true);
}

bool RuleCall::callForward() {
  Value result = invokeRule(in, *forward, arguments, returned);
  if (result.isError())
    return false;
  SourceRange range = returned ? returned->range : forward->def->nameRange;
  if (!result.is(Value::Tuple) || result.elements->size() != 2) {
    in.error(range, "expected the results of " + name + " and a tuple of residuals from '" +
                        forward->name + "', found " + describe(result))
        .help("write return y, (x, w)");
    return false;
  }
  const Value &first = result.elements->front(), &second = result.elements->back();
  isTuple = first.isSequence();
  results = isTuple ? *first.elements : std::vector<Value>{first};
  residuals = second.isSequence() ? *second.elements : std::vector<Value>{second};
  auto isError = [](const Value &value) { return value.isError(); };
  if (llvm::any_of(results, isError) || llvm::any_of(residuals, isError))
    return false;
  for (Value &part : results)
    if (part.is(Value::Float))
      part = emit.asTensor(part);
  return true;
}

/// A gradient with the type of the argument; nothing after an error.
std::optional<mlir::Value> RuleCall::gradientOf(size_t input, const Value &given,
                                                SourceRange range) {
  const Value &argument = arguments[input];
  const Param &param = gradient.params[input];
  DType dtype = Emitter::dtype(argument);
  if (given.is(Value::None))
    return emit.constant(dtype, argument.shape(), Value::ofFloat(0)).tensor;
  bool fits = given.isNumber() && argument.rank() == 0;
  if (given.isTensor() && given.rank() == argument.rank()) {
    fits = true;
    for (size_t d = 0; fits && d < argument.rank(); ++d)
      fits = in.sizes.equal(given.shape()[d], argument.shape()[d], range);
  }
  bool isCast = given.isTensor() && !given.weak && !argument.weak && Emitter::dtype(given) != dtype;
  if (!fits || isCast || (given.isTensor() && !isFloat(given))) {
    ErrorBuilder report =
        in.error(range, "expected " + describe(argument) + " as the gradient of '" +
                            std::string(param.name) + "' from '" + backward->name + "', found " +
                            describe(given));
    if (fits)
      report.help("write .to(" + std::string(dtypeName(dtype)) + ")");
    else
      report.help("a gradient has the type of its argument");
    report.note(param.nameRange, "the argument is here");
    return std::nullopt;
  }
  Value converted = given.isTensor() && Emitter::dtype(given) != dtype
                        ? emit.cast(given, dtype, /*isExplicit=*/true)
                        : given;
  return emit.materialise(converted, dtype, argument.shape());
}

bool RuleCall::addGradients(const Value &result, const Expr *returned) {
  SourceRange range = returned ? returned->range : backward->def->nameRange;
  std::vector<Value> given = {result};
  if (result.isSequence())
    given = *result.elements;
  if (given.size() != floats.size()) {
    std::string names;
    for (size_t i : floats)
      names += (names.empty() ? "'" : ", '") + std::string(gradient.params[i].name) + "'";
    in.error(range, "expected " + counted(floats.size(), "gradient") + " from '" + backward->name +
                        "', one for each float argument of " + name + " (" + names + "), found " +
                        std::to_string(given.size()))
        .help("None is a gradient of zeros")
        .note(gradient.of->def->nameRange, name + " is defined here");
    return false;
  }
  const auto *tuple = returned ? returned->as<TupleExpr>() : nullptr;
  bool isWritten = tuple && tuple->elements.size() == given.size();
  llvm::SmallVector<mlir::Value> gradients;
  for (auto [k, input] : llvm::enumerate(floats)) {
    if (!arguments[input].isTensor())
      continue;
    std::optional<mlir::Value> made =
        gradientOf(input, given[k], isWritten ? tuple->elements[k]->range : range);
    if (!made)
      return false;
    gradients.push_back(*made);
  }
  gir::YieldOp::create(emit.builder, emit.loc(), gradients);
  return true;
}

bool RuleCall::callBackward(gir::CustomVjpOp op) {
  mlir::OpBuilder::InsertionGuard guard(emit.builder);
  mlir::Block *block = emit.builder.createBlock(&op.getRule());
  std::vector<Value> given = residuals;
  for (const Value &part : results)
    if (isFloat(part))
      given.push_back(Value::ofTensor(block->addArgument(part.tensor.getType(), emit.loc())));
  size_t cotangents = given.size() - residuals.size(), found = backward->def->params.size();
  if (given.size() != found) {
    ErrorBuilder report =
        in.error(backward->def->nameRange,
                 "expected " + counted(given.size(), "parameter") + " of '" + backward->name +
                     "', one for each of " + counted(residuals.size(), "residual") + " and of " +
                     counted(cotangents, "cotangent") + ", found " + std::to_string(found));
    if (returned)
      report.note(returned->range, "the residuals are here");
    return false;
  }
  const Expr *gradients = nullptr;
  Value result = invokeRule(in, *backward, given, gradients);
  return !result.isError() && addGradients(result, gradients);
}

Value RuleCall::wrapResults() {
  std::vector<mlir::Value> values, inputs;
  llvm::SmallVector<mlir::Type> types;
  for (const Value &part : results)
    if (part.isTensor()) {
      values.push_back(part.tensor);
      types.push_back(part.tensor.getType());
    }
  for (size_t i : floats)
    if (arguments[i].isTensor())
      inputs.push_back(arguments[i].tensor);
  auto op = gir::CustomVjpOp::create(emit.builder, emit.loc(), types, values, inputs);
  if (!callBackward(op)) {
    op.erase();
    return Value::error();
  }
  auto made = op.getResults().begin();
  for (Value &part : results)
    if (part.isTensor())
      part = Value::ofTensor(*made++);
  return isTuple ? Value::ofTuple(results) : results[0];
}

Value RuleCall::run() {
  for (const Param &param : gradient.params)
    arguments.push_back(in.frame->locals[param.name]);
  if (in.differentiations == 0 || !in.emitter) {
    std::vector<SourceRange> ranges;
    for (const Param &param : gradient.params)
      ranges.push_back(param.nameRange);
    return in.invoke(*gradient.of, arguments, ranges, returned);
  }
  for (auto [i, value] : llvm::enumerate(arguments)) {
    if (isFloat(value))
      floats.push_back(i);
    if (hasFloat(value) && value.isSequence())
      return in
          .error(gradient.params[i].nameRange, "expected a tensor or a number as argument '" +
                                                   std::string(gradient.params[i].name) + "' of " +
                                                   name + ", which has a derivative rule, found " +
                                                   describe(value))
          .help("make each tensor an argument");
  }
  forward = part("forward");
  backward = forward ? part("backward") : nullptr;
  if (!backward || !checkParams() || !callForward())
    return Value::error();
  return wrapResults();
}

Value sema::runCustomVjp(Interpreter &in, const Gradient &gradient) {
  return RuleCall(in, gradient).run();
}
