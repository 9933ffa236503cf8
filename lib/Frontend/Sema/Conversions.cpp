//===- Conversions.cpp - Conversion of abstract values to required kinds --===//
#include "Emitter.h"

using namespace tessera;
using namespace tessera::sema;

std::optional<int64_t> Interpreter::fix(SymExpr e, SourceRange range) {
  if (e.isConstant())
    return e.constantValue();
  if (std::optional<int64_t> value = sizes.fix(e, range))
    return value;
  ErrorBuilder report =
      error(range, "the value of '" + e.str() + "' must be known here, and it is not given");
  if (std::string how = howToGive(e); !how.empty())
    report.help(how);
  noteSize(report, e);
  return std::nullopt;
}

std::string Interpreter::howToGive(SymExpr e) {
  // A caller that resolves names is not the command line.
  if (program.request.resolver)
    return "";
  const Frame *entry = frame;
  while (entry->caller)
    entry = entry->caller;
  std::set<std::string> names;
  e.collectSymbols(names);
  for (const std::string &name : names) {
    const Sizes::Symbol *symbol = sizes.find(name);
    if (!symbol || symbol->info.size || symbol->origins.empty())
      continue;
    auto [argument, dim] = symbol->origins.front();
    std::string param(entry->function->def->params[argument].name);
    return dim < 0 ? "give it with --arg " + param + "=VALUE"
                   : "give dimension " + std::to_string(dim) + " of '" + param +
                         "' as a number with --arg";
  }
  return "";
}

std::optional<bool> Interpreter::truth(const Value &value, SourceRange range,
                                       std::string_view what) {
  switch (value.kind) {
  case Value::Error:
    return std::nullopt;
  case Value::None:
    return false;
  case Value::Bool:
  case Value::Int: {
    if (!value.number.isConstant() && sizes.provablyNonNegative(value.number - SymExpr(1)))
      return true;
    std::optional<int64_t> number = fix(value.number, range);
    return number ? std::optional(*number != 0) : std::nullopt;
  }
  case Value::Float:
    return value.real != 0;
  case Value::Str:
    return !value.text->empty();
  case Value::Tuple:
  case Value::List:
    return !value.elements->empty();
  case Value::Tensor:
    // A bool argument has a concrete value; its symbol names it.
    if (value.weak && value.number.isSymbol()) {
      std::optional<int64_t> number = fix(value.number, range);
      return number ? std::optional(*number != 0) : std::nullopt;
    }
    error(range, std::string(what) +
                     " needs a value that is known when the function is compiled, " + "found " +
                     describe(value))
        .help(what == "a branch" ? "use " + usual("where") + "(condition, a, b)"
                                 : "return the tensor, and look at it outside");
    return std::nullopt;
  default:
    return true;
  }
}

std::optional<SymExpr> Interpreter::toSize(const Value &value, SourceRange range,
                                           std::string_view what) {
  if (value.isError())
    return std::nullopt;
  if (value.is(Value::Int) || value.is(Value::Bool))
    return value.number;
  ErrorBuilder report =
      error(range, "expected an int for " + std::string(what) + ", found " + describe(value));
  hintDivision(report, value);
  return std::nullopt;
}

std::optional<int64_t> Interpreter::toInt(const Value &value, SourceRange range,
                                          std::string_view what) {
  std::optional<SymExpr> size = toSize(value, range, what);
  return size ? fix(*size, range) : std::nullopt;
}

std::optional<double> Interpreter::toDouble(const Value &value, SourceRange range,
                                            std::string_view what) {
  if (value.isError())
    return std::nullopt;
  if (value.is(Value::Float))
    return value.real;
  if (value.isNumber()) {
    std::optional<int64_t> number = fix(value.number, range);
    return number ? std::optional(double(*number)) : std::nullopt;
  }
  error(range, "expected a number for " + std::string(what) +
                   " that is known when the function is compiled, found " + describe(value));
  return std::nullopt;
}

std::optional<std::vector<Value>> Interpreter::toSequence(const Value &value, SourceRange range,
                                                          std::string_view what) {
  std::vector<Value> items;
  switch (value.kind) {
  case Value::Error:
    return std::nullopt;
  case Value::Tuple:
  case Value::List:
    return *value.elements;
  case Value::Str:
    for (size_t i = 0; i < value.text->size();) {
      size_t from = i;
      decodeUtf8(*value.text, i);
      items.push_back(Value::ofStr(value.text->substr(from, i - from)));
    }
    return items;
  case Value::Range: {
    const std::vector<Value> &parts = *value.elements;
    int64_t start = parts[0].number.constantValue(), stop = parts[1].number.constantValue();
    int64_t step = parts[2].number.constantValue();
    for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
      if (items.size() >= maxElements) {
        error(range, "the range has more than " + std::to_string(maxElements) + " elements");
        return std::nullopt;
      }
      items.push_back(Value::ofInt(SymExpr(i)));
      if (__builtin_add_overflow(i, step, &i))
        break;
    }
    return items;
  }
  default:
    error(range,
          "expected a tuple or a list for " + std::string(what) + ", found " + describe(value));
    return std::nullopt;
  }
}

Value Interpreter::sizeAsTensor(SymExpr e, bool asFloat) {
  mlir::Value size = gir::SizeOp::create(emitter->builder, emitter->loc(), e);
  Value value = Value::ofTensor(size, true);
  if (!asFloat)
    return value;
  value = emitter->cast(value, DType::FP64, false);
  value.weak = true;
  return value;
}

//===------------------------------------------------------------------------------------------===//
// Messages about sizes
//===------------------------------------------------------------------------------------------===//

void Interpreter::noteSize(ErrorBuilder &report, SymExpr e) {
  std::set<std::string> names;
  e.collectSymbols(names);
  for (const std::string &name : names) {
    Sizes::Symbol *symbol = sizes.find(name);
    if (!symbol || !symbol->bound.isValid())
      continue;
    std::string what = symbol->named ? "'" + name + "'" : symbol->description;
    std::string value =
        symbol->info.size ? " (" + std::to_string(*symbol->info.size) + " in this call)" : "";
    bool isKnown = !symbol->named && symbol->info.size;
    report.note(symbol->bound,
                isKnown ? what + " is " + std::to_string(*symbol->info.size) + " in this call"
                        : what + value + " is bound here");
  }
}

Value Interpreter::sizeMismatch(SourceRange range, std::string message, SymExpr a, SymExpr b) {
  ErrorBuilder report = error(range, std::move(message));
  std::optional<int64_t> left = sizes.valueAtHand(a), right = sizes.valueAtHand(b);
  if (left && right && *left == *right && !(a.isConstant() && b.isConstant()))
    report.help("different names are never assumed equal");
  noteSize(report, a);
  noteSize(report, b);
  return report;
}

Value Interpreter::sizeMismatch(SourceRange range, std::string message, SymExpr a, SymExpr b,
                                Operand left, Operand right) {
  ErrorBuilder report = error(range, std::move(message));
  std::optional<int64_t> one = sizes.valueAtHand(a), other = sizes.valueAtHand(b);
  if (one && other && *one == *other && !(a.isConstant() && b.isConstant()))
    report.help("different names are never assumed equal");
  for (const Operand &operand : {left, right})
    if (operand.range.isValid())
      report.highlight(operand.range).note(operand.range, "this is " + describe(operand.value));
  noteSize(report, a);
  noteSize(report, b);
  return report;
}
