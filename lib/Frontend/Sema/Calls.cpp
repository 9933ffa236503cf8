//===- Calls.cpp - Calls of user functions, and free names ----------------===//
#include "Builtins.h"

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

Value Interpreter::call(const Value &callee, const CallExpr &call) {
  switch (callee.kind) {
  case Value::Error: {
    // Arguments are evaluated for their own errors.
    for (const Expr *arg : call.args)
      eval(arg);
    for (const KeywordArg &keyword : call.keywords)
      eval(keyword.value);
    return Value::error();
  }
  case Value::Function:
    return callFunction(*callee.function, callee.elements ? &callee.elements->front() : nullptr,
                        call);
  case Value::Builtin: {
    const Value *self = callee.elements ? &callee.elements->front() : nullptr;
    SourceRange selfRange = call.callee->range;
    if (const auto *attribute = call.callee->as<AttributeExpr>(); attribute && self)
      selfRange = attribute->base->range;
    return callBuiltin(*this, *callee.builtin, self, selfRange, call);
  }
  case Value::DType: {
    // `fp16(x)`, `bool(n)`: conversions in NumPy's spelling.
    std::string name(dtypeName(callee.dtype));
    if (name == "bool")
      if (const sema::Builtin *builtin = findBuiltin("bool"))
        return callBuiltin(*this, *builtin, nullptr, call.callee->range, call);
    std::string type = textOf(call.callee);
    std::string operand = call.args.size() == 1 && call.keywords.empty()
                              ? textOf(call.args[0], /*asOperand=*/true)
                              : "";
    ErrorBuilder report = error(call.callee->range, "a type is not a function");
    report.help("write " + (operand.empty() ? "x" : operand) + ".to(" + name + ")");
    if (!operand.empty() && !type.empty())
      report.fix(call.range, operand + ".to(" + type + ")");
    return report;
  }
  case Value::Object: {
    std::string last = callee.text->substr(callee.text->rfind('.') + 1);
    bool ours = findBuiltin("tessera." + last);
    ErrorBuilder report =
        error(call.callee->range, "'" + *callee.text + "' is not a @tsr.function");
    report.help(ours ? "use " + usual(last) : "decorate it with @tsr.function");
    if (std::string spelled = ours ? spell(last) : ""; !spelled.empty())
      report.fix(call.callee->range, spelled);
    return report;
  }
  case Value::TensorType:
    return error(call.callee->range, "'Tensor' is for annotations")
        .help("make tensors with tsr.zeros, tsr.full, tsr.iota");
  case Value::RegionType:
    return error(call.callee->range, "'Region' is for annotations")
        .help("write Region[read] after a parameter's name");
  default:
    return notCallable(callee, call);
  }
}

bool Interpreter::checkFunction(const UserFunction &function, SourceRange callSite) {
  auto [it, isNew] = checked.try_emplace(&function, true);
  if (isNew) {
    size_t before = diagnostics.all().size(), errors = diagnostics.errorCount();
    reportUnsupported(*function.def, diagnostics);
    it->second = diagnostics.errorCount() == errors;
    Frame callee;
    callee.function = &function;
    callee.callSite = callSite;
    callee.caller = frame;
    for (size_t i = before; callSite.isValid() && i < diagnostics.all().size(); ++i)
      ErrorBuilder::noteCalls(diagnostics.at(i), &callee);
  }
  return it->second;
}

/// Binds the keyword arguments of a call. Returns false after an error.
bool Interpreter::bindKeywords(const UserFunction &function, const CallExpr &call,
                               BoundArguments &bound) {
  const FunctionStmt &def = *function.def;
  bool ok = true;
  for (const KeywordArg &keyword : call.keywords) {
    Value value = eval(keyword.value);
    std::vector<std::string_view> names;
    size_t index = 0;
    for (; index < def.params.size(); ++index) {
      names.push_back(def.params[index].name);
      if (def.params[index].name == keyword.name)
        break;
    }
    if (index < def.params.size() && def.params[index].kind == ParamKind::PositionalOnly) {
      SourceRange name{keyword.nameRange.file, keyword.nameRange.begin, keyword.value->range.begin};
      error(keyword.nameRange, "parameter '" + std::string(keyword.name) + "' of '" +
                                   function.name + "' is given by position only")
          .fix(name, "")
          .note(def.params[index].nameRange, "the parameter is here");
      ok = false;
      continue;
    }
    if (index == def.params.size()) {
      error(keyword.nameRange,
            "'" + function.name + "' has no parameter '" + std::string(keyword.name) + "'")
          .didYouMean(closestName(keyword.name, names))
          .note(def.nameRange, "'" + function.name + "' is defined here");
      ok = false;
      continue;
    }
    if (bound.given[index]) {
      error(keyword.nameRange, "parameter '" + std::string(keyword.name) + "' is given twice")
          .note(bound.ranges[index], "the first value is here");
      ok = false;
    }
    bound.values[index] = value;
    bound.ranges[index] = keyword.value->range;
    bound.given[index] = true;
  }
  return ok;
}

/// Binds the arguments of a call to the parameters of a function. Returns nothing after an error.
std::optional<Interpreter::BoundArguments>
Interpreter::bindArguments(const UserFunction &function, const Value *self, const CallExpr &call) {
  const FunctionStmt &def = *function.def;
  BoundArguments bound{std::vector<Value>(def.params.size()),
                       std::vector<SourceRange>(def.params.size()),
                       std::vector<bool>(def.params.size(), false)};
  bool ok = true;

  size_t position = 0;
  if (self) {
    bound.values[0] = *self;
    bound.ranges[0] = call.callee->range;
    bound.given[position++] = true;
  }
  for (const Expr *arg : call.args) {
    Value value = eval(arg);
    ParamKind kind =
        position < def.params.size() ? def.params[position].kind : ParamKind::KeywordOnly;
    bool fits = kind == ParamKind::Normal || kind == ParamKind::PositionalOnly;
    if (!fits) {
      if (ok)
        error(arg->range, "too many arguments in the call of '" + function.name + "': expected " +
                              std::to_string(position - (self != nullptr)) + ", found " +
                              std::to_string(call.args.size()))
            .note(def.nameRange, "'" + function.name + "' is defined here");
      ok = false;
      continue;
    }
    bound.values[position] = value;
    bound.ranges[position] = arg->range;
    bound.given[position++] = true;
  }
  ok &= bindKeywords(function, call, bound);
  for (size_t i = 0; i < def.params.size() && ok; ++i) {
    if (bound.given[i] || def.params[i].defaultValue)
      continue;
    SourceRange close{call.range.file, call.range.end - 1, call.range.end};
    error(close, "missing argument '" + std::string(def.params[i].name) + "' in the call of '" +
                     function.name + "'")
        .note(def.params[i].nameRange, "the parameter is here");
    ok = false;
  }
  return ok ? std::optional(std::move(bound)) : std::nullopt;
}

Value Interpreter::callFunction(const UserFunction &function, const Value *self,
                                const CallExpr &call) {
  const FunctionStmt &def = *function.def;
  std::optional<BoundArguments> bound = bindArguments(function, self, call);
  if (!bound || !checkFunction(function, call.range))
    return Value::error();

  // A derivative rule may call its function, which then has one differentiation less.
  for (const Frame *at = frame; at; at = at->isRule ? nullptr : at->caller)
    if (at->function->def == function.def)
      return error(call.range,
                   "recursion is not supported: '" + function.name + "' is called while it runs")
          .help("write a loop over a static range");

  Frame callee;
  callee.function = &function;
  callee.callSite = call.range;
  callee.caller = frame;
  frame = &callee;
  bool ok = true;
  for (size_t i = 0; i < def.params.size(); ++i) {
    if (!bound->given[i]) {
      bound->values[i] = eval(def.params[i].defaultValue);
      bound->ranges[i] = def.params[i].defaultValue->range;
    }
    ok &= bindParam(def.params[i], bound->values[i], bound->ranges[i]);
  }
  // Arguments that violate their annotations would cause errors in the body, too.
  if (ok)
    runBody();
  frame = callee.caller;
  return ok ? callee.result : Value::error();
}

Value Interpreter::invoke(const UserFunction &function, llvm::ArrayRef<Value> values,
                          llvm::ArrayRef<SourceRange> ranges, const Expr *&returned, bool isRule) {
  if (!checkFunction(function))
    return Value::error();
  Frame callee;
  callee.function = &function;
  callee.caller = frame;
  callee.isRule = isRule;
  frame = &callee;
  bool ok = true;
  for (auto [param, value, range] : llvm::zip(function.def->params, values, ranges))
    ok &= bindParam(param, value, range);
  if (ok)
    runBody();
  frame = callee.caller;
  returned = callee.returned;
  return ok ? callee.result : Value::error();
}

bool Interpreter::bindParam(const Param &param, const Value &value, SourceRange valueRange) {
  frame->locals[param.name] = value;
  if (param.annotation && value.isTensor()) {
    TensorAnnotation annotation;
    Diagnostics::Checkpoint checkpoint = diagnostics.checkpoint();
    readAnnotation(param.annotation, annotation);
    diagnostics.rewind(checkpoint); // its error is reported below
    declareRegion(param.name, annotation);
  }
  bool isDefaultNone =
      value.is(Value::None) && param.defaultValue && param.defaultValue->is<NoneExpr>();
  return !param.annotation || value.isError() || isDefaultNone ||
         checkAnnotation(param.annotation, value, valueRange,
                         "argument '" + std::string(param.name) + "'");
}

//===------------------------------------------------------------------------------------------===//
// Names
//===------------------------------------------------------------------------------------------===//

Value Interpreter::lookup(const std::string &name, SourceRange range) {
  if (auto it = frame->regions.find(name); it != frame->regions.end())
    return readRegionValue(name, it->second, range);
  if (auto it = frame->locals.find(name); it != frame->locals.end())
    return it->second;
  if (auto it = frame->dims.find(name); it != frame->dims.end())
    return it->second;
  std::vector<std::string> candidates;
  // As in Python, a name that the function assigns is local throughout.
  if (!assignedAt(name).isValid())
    if (std::optional<Value> value = frame->function->scope->lookup(*this, name, range, candidates))
      return *value;
  if (const sema::Builtin *builtin = findBuiltin(name))
    return Value::ofBuiltin(builtin);
  if (name == "bool")
    return Value::ofDType(DType::Bool);
  return unknownName(name, range, candidates);
}
