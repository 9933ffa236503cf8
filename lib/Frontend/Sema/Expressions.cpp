//===- Expressions.cpp - Evaluation of expressions --------------------------------------------===//
#include "Builtins.h"

#include <cmath>

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

Value Interpreter::eval(const Expr *expr) {
  if (!spend(expr->range))
    return Value::error();
  if (++evalDepth > maxEvalDepth) {
    if (!exhausted)
      error(expr->range, "calls and expressions are nested too deeply");
    exhausted = true;
    --evalDepth;
    return Value::error();
  }
  Value value = evalUnchecked(expr);
  --evalDepth;
  return value;
}

/// The dotted path of nested attributes of a foreign module; empty for others.
std::string Interpreter::foreignPath(const AttributeExpr *expr) {
  bool chained = expr->base->is<AttributeExpr>();
  std::string path = chained ? frame->function->scope->qualifiedName(expr) : "";
  bool ours = path.starts_with("tessera.") || path.starts_with("math.");
  const Expr *root = expr;
  while (const auto *attribute = root->as<AttributeExpr>())
    root = attribute->base;
  bool local = root->is<NameExpr>() && frame->locals.count(root->as<NameExpr>()->name);
  return ours || local ? "" : path;
}

Value Interpreter::evalUnary(const UnaryExpr &expr) {
  // The minimum 64-bit integer can only be written as a negated literal that does not fit.
  const auto *literal = expr.operand->as<IntegerExpr>();
  if (expr.op == UnaryOp::Negate && literal && literal->overflow &&
      diagnostics.sources.text(literal->range) == "9223372036854775808")
    return Value::ofInt(SymExpr(std::numeric_limits<int64_t>::min()));
  Value operand = eval(expr.operand);
  SourceRange sign{expr.range.file, expr.range.begin, expr.range.begin + 1};
  bool isSign = spelling(expr.op) == diagnostics.sources.text(sign);
  Emitter::At at(emitter, expr.range, isSign ? sign : SourceRange());
  size_t errors = diagnostics.errorCount();
  Value result = unary(expr.op, operand, expr.range);
  bool inverts =
      expr.op == UnaryOp::Not && operand.isTensor() && diagnostics.errorCount() != errors;
  if (std::string text = inverts ? textOf(expr.operand, true) : ""; !text.empty())
    diagnostics.last()->fix(expr.range, "~" + text);
  return result;
}

Value Interpreter::evalConditional(const ConditionalExpr &expr) {
  Value condition = eval(expr.condition);
  size_t errors = diagnostics.errorCount();
  std::optional<bool> taken = truth(condition, expr.condition->range);
  if (taken)
    return eval(*taken ? expr.whenTrue : expr.whenFalse);
  // An expression that evaluates both cases is not a branch.
  std::string parts[] = {textOf(expr.condition), textOf(expr.whenTrue), textOf(expr.whenFalse)};
  std::string where = spell("where");
  bool known = !where.empty() && !parts[0].empty() && !parts[1].empty() && !parts[2].empty();
  if (known && condition.isTensor() && diagnostics.errorCount() != errors)
    diagnostics.last()->fix(expr.range,
                            where + "(" + parts[0] + ", " + parts[1] + ", " + parts[2] + ")");
  return Value::error();
}

Value Interpreter::evalAttribute(const AttributeExpr &expr) {
  // `torch.nn.functional.silu` is one name.
  if (std::string path = foreignPath(&expr); !path.empty()) {
    std::vector<std::string> candidates;
    if (std::optional<Value> value =
            frame->function->scope->attribute(*this, path, expr.range, candidates))
      return *value;
  }
  // The type and shape of a region are accessible without the privilege to read it.
  const auto *name = expr.base->as<NameExpr>();
  auto region = name ? frame->regions.find(name->name) : frame->regions.end();
  bool isLook = expr.name == "shape" || expr.name == "dtype" || expr.name == "ndim";
  Value base = isLook && region != frame->regions.end() ? region->second.value : eval(expr.base);
  Emitter::At at(emitter, expr.range);
  return attribute(base, expr.name, expr);
}

Value Interpreter::evalUnchecked(const Expr *expr) {
  switch (expr->kind) {
  case ExprKind::Name:
    return lookup(std::string(expr->as<NameExpr>()->name), expr->range);
  case ExprKind::Integer: {
    const auto *node = expr->as<IntegerExpr>();
    if (node->overflow)
      return error(node->range, "the integer does not fit in 64 bits");
    return Value::ofInt(SymExpr(node->value));
  }
  case ExprKind::Float:
    return Value::ofFloat(expr->as<FloatExpr>()->value);
  case ExprKind::String:
    return Value::ofStr(std::string(expr->as<StringExpr>()->value));
  case ExprKind::Bool:
    return Value::ofBool(expr->as<BoolExpr>()->value);
  case ExprKind::None:
    return Value::none();
  case ExprKind::Ellipsis:
    return Value::of(Value::Ellipsis);
  case ExprKind::Unary:
    return evalUnary(*expr->as<UnaryExpr>());
  case ExprKind::Binary: {
    const auto *node = expr->as<BinaryExpr>();
    Value left = eval(node->left);
    Value right = eval(node->right);
    Emitter::At at(emitter, expr->range, node->opRange);
    return binary(node->op, left, right, node->left, node->right, expr->range, node->opRange);
  }
  case ExprKind::Logical:
    return evalLogical(*expr->as<LogicalExpr>());
  case ExprKind::Compare:
    return evalCompare(*expr->as<CompareExpr>());
  case ExprKind::Conditional:
    return evalConditional(*expr->as<ConditionalExpr>());
  case ExprKind::Call: {
    const auto *node = expr->as<CallExpr>();
    Value callee = eval(node->callee);
    return call(callee, *node);
  }
  case ExprKind::Attribute:
    return evalAttribute(*expr->as<AttributeExpr>());
  case ExprKind::Subscript:
    return subscript(*expr->as<SubscriptExpr>());
  case ExprKind::Slice: {
    const auto *node = expr->as<SliceExpr>();
    auto part = [&](const Expr *e) {
      Value value = e ? eval(e) : Value::none();
      value.written = e ? e->range : SourceRange();
      return value;
    };
    return Value::ofList(Value::Slice, {part(node->lower), part(node->upper), part(node->step)});
  }
  case ExprKind::Tuple:
    return makeSequence(Value::Tuple, expr->as<TupleExpr>()->elements, expr->range);
  case ExprKind::List:
    return makeSequence(Value::List, expr->as<ListExpr>()->elements, expr->range);
  case ExprKind::Unsupported:
    // Inside a function it was reported before; a module-level constant is evaluated only now.
    if (!emitter)
      return error(expr->range, std::string(expr->as<UnsupportedExpr>()->what) +
                                    " cannot be a constant of a @tsr.function");
    return Value::error();
  case ExprKind::Error:
    return Value::error();
  }
  return Value::error();
}

Value Interpreter::makeSequence(Value::Kind kind, ExprList elements, SourceRange range) {
  std::vector<Value> values;
  for (const Expr *element : elements)
    values.push_back(eval(element));
  Value result = Value::ofList(kind, std::move(values));
  if (result.depth > maxTupleDepth)
    return error(range, "tuples are nested too deeply");
  return result;
}

/// `and` and `or` return one of their operands, as in Python; all but the last must be static.
Value Interpreter::evalLogical(const LogicalExpr &expr) {
  Value value;
  for (size_t i = 0; i < expr.operands.size(); ++i) {
    value = eval(expr.operands[i]);
    if (i + 1 == expr.operands.size() || value.isError())
      return value;
    if (value.isTensor() && !value.weak) {
      ErrorBuilder report =
          error(expr.operands[i]->range,
                std::string("'") + (expr.isAnd ? "and" : "or") +
                    "' needs a value that is known when the function is compiled, found " +
                    describe(value));
      report.help(expr.isAnd ? "use '&' for tensors" : "use '|' for tensors");
      if (std::string text = asBitwise(expr); !text.empty())
        report.fix(expr.range, text);
      return report;
    }
    std::optional<bool> holds =
        truth(value, expr.operands[i]->range, expr.isAnd ? "'and'" : "'or'");
    if (!holds)
      return Value::error();
    if (*holds != expr.isAnd)
      return value;
  }
  return value;
}

/// `a < b < c` is `(a < b) and (b < c)`; between tensors the parts are combined by `&`.
Value Interpreter::evalCompare(const CompareExpr &expr) {
  Value left = eval(expr.operands[0]);
  Value result;
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    Value right = eval(expr.operands[i + 1]);
    Emitter::At at(emitter, expr.range, expr.opRanges[i]);
    size_t errors = diagnostics.errorCount();
    Value part = compare(expr.ops[i], left, right, expr.opRanges[i], expr.operands[i]->range,
                         expr.operands[i + 1]->range);
    if (Diagnostic *report = diagnostics.last();
        diagnostics.errorCount() != errors && report->highlights.empty())
      report->highlight(expr.operands[i]->range).highlight(expr.operands[i + 1]->range);
    if (part.isError()) {
      hintPrecedence(expr);
      for (size_t rest = i + 2; rest < expr.operands.size(); ++rest)
        eval(expr.operands[rest]);
      return part;
    }
    if (i == 0) {
      result = part;
    } else if (result.isTensor() || part.isTensor()) {
      result = emitter->map(ScalarOp::And, {result, part});
    } else {
      result = part;
    }
    // The rest of a chain is not evaluated once it is false.
    if (!result.isTensor() && result.number.isConstant(0))
      return result;
    left = right;
  }
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Attributes
//===------------------------------------------------------------------------------------------===//

static Value methodOf(const Value &base, const sema::Builtin &builtin) {
  Value method = Value::ofBuiltin(&builtin);
  method.elements = std::make_shared<std::vector<Value>>(1, base);
  return method;
}

Value Interpreter::attribute(const Value &base, std::string_view name, const AttributeExpr &expr) {
  std::string quoted = "'" + std::string(name) + "'";
  switch (base.kind) {
  case Value::Error:
    return base;
  case Value::Tensor: {
    if (const sema::Builtin *method = findMethod(name)) {
      if (!(method->use & sema::Builtin::Property))
        return methodOf(base, *method);
      Args args{*this, *method, expr.range, {base}, {expr.base->range}};
      return method->handler(args);
    }
    if (isLaterOperation(name))
      return error(expr.nameRange, "operation " + quoted + " is not supported by this compiler");
    return noAttribute(base, name, expr);
  }
  case Value::Module: {
    std::string path = *base.text + "." + std::string(name);
    if (std::optional<Value> value = languageName(path))
      return *value;
    if (*base.text != "tessera" && *base.text != "math") {
      std::vector<std::string> candidates;
      if (std::optional<Value> value =
              frame->function->scope->attribute(*this, path, expr.range, candidates))
        return *value;
      return error(expr.range, "'" + path + "' is not available in a @tsr.function")
          .help("use the functions of tsr, and constants of your own");
    }
    if (isLaterOperation(name) || isLaterType(name))
      return error(expr.nameRange, (isLaterType(name) ? "type " : "operation ") + quoted +
                                       " is not supported by this compiler");
    return noAttribute(base, name, expr);
  }
  case Value::Object: {
    std::vector<std::string> candidates;
    std::string path = *base.text + "." + std::string(name);
    if (std::optional<Value> value = base.scope->attribute(*this, path, expr.range, candidates)) {
      // A method is called with its object.
      bool method = value->is(Value::Function) && !value->function->def->params.empty() &&
                    value->function->def->params[0].name == "self";
      if (method)
        value->elements = std::make_shared<std::vector<Value>>(1, base);
      return *value;
    }
    std::vector<std::string_view> names(candidates.begin(), candidates.end());
    return error(expr.nameRange, "'" + *base.text + "' has no attribute " + quoted)
        .didYouMean(closestName(name, names));
  }
  case Value::Tuple:
    // The pair of `max(dim)` and `min(dim)`.
    if (base.elements->size() == 2 && (name == "values" || name == "indices"))
      return (*base.elements)[name == "indices"];
    break;
  case Value::List:
    if (name == "append")
      return methodOf(base, *findBuiltin("list.append"));
    break;
  default:
    break;
  }
  return noAttribute(base, name, expr);
}

//===------------------------------------------------------------------------------------------===//
// Subscripts
//===------------------------------------------------------------------------------------------===//

Value Interpreter::subscript(const SubscriptExpr &expr) {
  Value base = eval(expr.base);
  std::vector<Value> indices;
  std::vector<SourceRange> ranges;
  bool ok = !base.isError();
  for (const Expr *index : expr.indices) {
    indices.push_back(eval(index));
    ranges.push_back(index->range);
    ok &= !indices.back().isError();
  }
  if (!ok)
    return Value::error();
  Emitter::At at(emitter, expr.range);
  if (base.isTensor()) {
    // A tuple variable is flattened like a literal one; a list is an index array along a dimension.
    if (!expr.isTuple && indices[0].is(Value::Tuple)) {
      std::vector<Value> spread = *indices[0].elements;
      return emitter->index(base, spread, std::vector<SourceRange>(spread.size(), ranges[0]));
    }
    return emitter->index(base, indices, ranges);
  }
  if (expr.isTuple || !(base.isSequence() || base.is(Value::Str) || base.is(Value::Range))) {
    ErrorBuilder report = error(expr.range, describe(base) + " cannot be indexed" +
                                                (base.isSequence() ? " by a tuple" : ""));
    if (base.is(Value::Object))
      report.help(base.typeName && *base.typeName == "list"
                      ? "make it a tuple"
                      : "constants are numbers, strings, types and tuples of them");
    return report;
  }
  return subscriptSequence(base, indices[0], ranges[0]);
}

Value Interpreter::subscriptSequence(const Value &base, const Value &index, SourceRange range) {
  std::optional<std::vector<Value>> items = toSequence(base, range, "the value");
  if (!items)
    return Value::error();
  auto rebuild = [&](std::vector<Value> part) {
    if (!base.is(Value::Str))
      return Value::ofList(base.is(Value::List) ? Value::List : Value::Tuple, std::move(part));
    std::string text;
    for (const Value &letter : part)
      text += *letter.text;
    return Value::ofStr(text);
  };
  int64_t size = items->size();
  if (!index.is(Value::Slice)) {
    std::optional<int64_t> at = toInt(index, range, "the index");
    if (!at)
      return Value::error();
    if (*at < -size || *at >= size)
      return error(range,
                   "index " + std::to_string(*at) + " is out of range for " + describe(base));
    return (*items)[*at < 0 ? *at + size : *at];
  }
  const std::vector<Value> &parts = *index.elements;
  int64_t step = 1;
  if (!parts[2].is(Value::None)) {
    std::optional<int64_t> given = toInt(parts[2], range, "the step");
    if (!given)
      return Value::error();
    if (*given == 0)
      return error(range, "a slice's step must not be 0");
    step = std::clamp<int64_t>(*given, -size - 1, size + 1);
  }
  auto bound = [&](const Value &part, int64_t otherwise) -> std::optional<int64_t> {
    if (part.is(Value::None))
      return otherwise;
    std::optional<int64_t> at = toInt(part, range, "the slice's bound");
    if (!at)
      return std::nullopt;
    int64_t value = *at < 0 ? std::max<int64_t>(*at, -size - 1) + size : std::min(*at, size);
    return std::clamp<int64_t>(value, step < 0 ? -1 : 0, step < 0 ? size - 1 : size);
  };
  std::optional<int64_t> lower = bound(parts[0], step < 0 ? size - 1 : 0);
  std::optional<int64_t> upper = bound(parts[1], step < 0 ? -1 : size);
  if (!lower || !upper)
    return Value::error();
  std::vector<Value> part;
  for (int64_t i = *lower; step > 0 ? i < *upper : i > *upper; i += step)
    part.push_back((*items)[i]);
  return rebuild(std::move(part));
}
