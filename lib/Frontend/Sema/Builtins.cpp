//===- Builtins.cpp - The registry of functions and the binding of their arguments ------------===//
#include "Builtins.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

//===------------------------------------------------------------------------------------------===//
// Registry
//===------------------------------------------------------------------------------------------===//

static std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

/// The value of a default in a signature.
static Value defaultValue(std::string_view text) {
  if (text == "None")
    return Value::none();
  if (text == "True" || text == "False")
    return Value::ofBool(text == "True");
  if (text.front() == '\'')
    return Value::ofStr(std::string(text.substr(1, text.size() - 2)));
  std::string number(text);
  if (number.find_first_of(".e") == std::string::npos)
    return Value::ofInt(SymExpr(int64_t(std::stoll(number))));
  return Value::ofFloat(std::strtod(number.c_str(), nullptr));
}

static void parseSignature(Builtin &builtin) {
  std::string_view rest = builtin.signature;
  bool keywordOnly = false;
  while (!trim(rest).empty()) {
    size_t comma = rest.find(',');
    std::string_view part = trim(rest.substr(0, comma));
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
    if (part == "*") {
      keywordOnly = true;
      continue;
    }
    Builtin::Param param;
    param.variadic = part.starts_with("*");
    param.keywordOnly = keywordOnly;
    if (param.variadic)
      part.remove_prefix(1);
    size_t equal = part.find('=');
    param.name = trim(part.substr(0, equal));
    if (equal != part.npos)
      param.otherwise = defaultValue(trim(part.substr(equal + 1)));
    builtin.params.push_back(param);
  }
}

namespace {

struct Registry {
  std::vector<Builtin> table;
  llvm::StringMap<const Builtin *> functions;
  llvm::StringMap<const Builtin *> methods;

  Registry() {
    struct Group {
      std::string_view module;
      size_t begin, end;
    };
    std::vector<Group> groups;
    auto add = [&](std::string_view module, std::vector<Builtin> entries) {
      groups.push_back({module, table.size(), table.size() + entries.size()});
      table.insert(table.end(), entries.begin(), entries.end());
    };
    add("tessera.", elementwiseBuiltins());
    add("tessera.", reductionBuiltins());
    add("tessera.", shapeBuiltins());
    add("tessera.", partBuiltins());
    add("tessera.", gatherBuiltins());
    add("tessera.", creationBuiltins());
    add("tessera.", randomBuiltins());
    add("tessera.", sortBuiltins());
    add("tessera.", windowBuiltins());
    add("tessera.", poolBuiltins());
    add("tessera.", linearBuiltins());
    add("tessera.", normBuiltins());
    add("tessera.", gradientBuiltins());
    add("tessera.", lossBuiltins());
    add("tessera.", printBuiltins());
    add("math.", mathBuiltins());
    add("", pythonBuiltins());
    for (const Group &group : groups) {
      for (size_t i = group.begin; i < group.end; ++i) {
        Builtin &builtin = table[i];
        parseSignature(builtin);
        if (builtin.use & Builtin::Function)
          functions[std::string(group.module) + std::string(builtin.name)] = &builtin;
        if (builtin.use & (Builtin::Method | Builtin::Property))
          methods[builtin.name] = &builtin;
      }
    }
  }
};

const Registry &registry() {
  static const Registry *instance = new Registry;
  return *instance;
}

} // namespace

const Builtin *sema::findBuiltin(std::string_view qualified) {
  return registry().functions.lookup(qualified);
}

const Builtin *sema::findMethod(std::string_view name) { return registry().methods.lookup(name); }

std::vector<std::string_view> sema::builtinNames(std::string_view module) {
  std::vector<std::string_view> names;
  std::string prefix = module.empty() ? "" : std::string(module) + ".";
  for (const auto &entry : registry().functions) {
    std::string_view key(entry.first().data(), entry.first().size());
    bool here = module.empty() ? key.find('.') == key.npos : key.starts_with(prefix);
    if (here)
      names.push_back(entry.second->name);
  }
  llvm::sort(names);
  return names;
}

std::vector<std::string_view> sema::methodNames() {
  std::vector<std::string_view> names;
  for (const auto &entry : registry().methods)
    names.push_back(entry.second->name);
  llvm::sort(names);
  return names;
}

bool sema::isLaterOperation(std::string_view name) {
  static constexpr std::string_view names[] = {
      "scatter",        "fft",     "ifft",   "rfft",  "all_reduce", "all_gather",
      "reduce_scatter", "nonzero", "unique", "kernel"};
  return llvm::is_contained(names, name);
}

std::vector<OperationDoc> tessera::documentOperations() {
  std::vector<OperationDoc> docs;
  auto add = [&](llvm::StringRef module, const Builtin &builtin) {
    docs.push_back({module.str(), std::string(builtin.name), std::string(builtin.signature),
                    std::string(builtin.meaning), bool(builtin.use & Builtin::Function),
                    bool(builtin.use & Builtin::Method), bool(builtin.use & Builtin::Property)});
  };
  for (const auto &entry : registry().functions) {
    llvm::StringRef name = entry.first();
    if (!name.starts_with("list."))
      add(name.consume_front("tessera.") ? "tsr"
          : name.consume_front("math.")  ? "math"
                                         : "",
          *entry.second);
  }
  for (const auto &entry : registry().methods)
    if (!(entry.second->use & Builtin::Function))
      add("tsr", *entry.second);
  llvm::sort(docs, [](const auto &a, const auto &b) {
    return std::tie(a.module, a.name) < std::tie(b.module, b.name);
  });
  return docs;
}

//===------------------------------------------------------------------------------------------===//
// Calls
//===------------------------------------------------------------------------------------------===//

/// Synonyms of parameters in NumPy and PyTorch.
static std::string_view synonym(std::string_view keyword) {
  if (keyword == "axis" || keyword == "axes" || keyword == "dims")
    return "dim";
  if (keyword == "keepdims")
    return "keepdim";
  if (keyword == "input" || keyword == "a")
    return "x";
  if (keyword == "other" || keyword == "vec2" || keyword == "mat2")
    return "y";
  return keyword;
}

/// Parameters of other libraries' operations, and the suggested replacement.
static std::optional<std::string> foreignParameter(std::string_view keyword) {
  if (keyword == "out")
    return "give out= to the call of the compiled function";
  if (keyword == "device")
    return "tensors are made where the function runs";
  if (keyword == "requires_grad")
    return "tsr.grad(f, wrt=...) differentiates a function with respect to its parameters";
  if (keyword == "inplace")
    return "operations give new tensors";
  return std::nullopt;
}

SourceRange Args::nameRange() const {
  const auto *attribute = call ? call->callee->as<AttributeExpr>() : nullptr;
  return attribute ? attribute->nameRange : call ? call->callee->range : SourceRange();
}

namespace {
/// Binds the arguments of a call to the parameters of a builtin.
class ArgumentBinder {
public:
  ArgumentBinder(Args &args, const Value *self)
      : in(args.in), builtin(args.builtin), call(*args.call), args(args), self(self),
        name(builtin.name), given(builtin.params.size(), false) {
    args.method = self;
    args.parts.resize(builtin.params.size());
    args.values.resize(builtin.params.size());
    args.ranges.resize(builtin.params.size(), call.range);
    // The tensor of a method call is not counted.
    signature = builtin.signature;
    if (size_t comma = signature.find(','); self)
      signature.erase(0, comma == signature.npos ? comma : comma + 1);
    signature = (self ? "x." : "") + name + "(" + std::string(trim(signature)) + ")";
  }

  /// Binds all arguments. Returns false after an error.
  bool bind(SourceRange selfRange);

private:
  void bindPositional(const Value &value, SourceRange range, const Expr *expr);
  void bindVariadic(const Value &value, SourceRange range, const Expr *expr);
  void bindKeyword(const KeywordArg &keyword);
  std::optional<size_t> findParam(const KeywordArg &keyword);
  void complete(size_t index);
  void setParts(size_t index, const Expr *expr);

  Interpreter &in;
  const Builtin &builtin;
  const CallExpr &call;
  Args &args;
  const Value *self;
  std::string name, signature;
  std::vector<bool> given;
  std::vector<Value> collected; ///< by the variadic parameter
  size_t position = 0;          ///< of the next positional argument
  bool ok = true;
};
} // namespace

/// Records the ranges of the elements of an argument that is written as a sequence.
void ArgumentBinder::setParts(size_t index, const Expr *expr) {
  const auto *tuple = expr ? expr->as<TupleExpr>() : nullptr;
  const auto *list = expr ? expr->as<ListExpr>() : nullptr;
  for (const Expr *element : tuple ? tuple->elements : list ? list->elements : ExprList())
    args.parts[index].push_back(element->range);
}

void ArgumentBinder::bindVariadic(const Value &value, SourceRange range, const Expr *expr) {
  if (collected.empty())
    args.ranges[position] = range;
  args.ranges[position] = args.ranges[position].to(range);
  if (collected.empty() && value.isSequence() && call.args.size() == (self ? 1 : 2))
    setParts(position, expr);
  else
    args.parts[position].push_back(range);
  collected.push_back(value);
  given[position] = true;
}

void ArgumentBinder::bindPositional(const Value &value, SourceRange range, const Expr *expr) {
  ok &= !value.isError();
  if (position < builtin.params.size() && builtin.params[position].variadic)
    return bindVariadic(value, range, expr);
  if (position >= builtin.params.size() || builtin.params[position].keywordOnly) {
    if (position <= builtin.params.size() && ok)
      in.error(range, "too many arguments for '" + name + "': expected " +
                          std::to_string(position - (self != nullptr)) + ", found " +
                          std::to_string(call.args.size()))
          .help("its signature is " + signature);
    ok = false;
    position = builtin.params.size() + 1;
    return;
  }
  args.values[position] = value;
  args.ranges[position] = range;
  setParts(position, expr);
  given[position++] = true;
}

/// The parameter that a keyword or its synonym names; none after an error.
std::optional<size_t> ArgumentBinder::findParam(const KeywordArg &keyword) {
  auto matches = [&](std::string_view param) {
    return param == keyword.name || param == synonym(keyword.name) ||
           (param == "dims" && synonym(keyword.name) == "dim");
  };
  std::vector<std::string_view> names;
  for (auto [index, param] : llvm::enumerate(builtin.params)) {
    if (matches(param.name))
      return index;
    names.push_back(param.name);
  }
  std::string_view near = closestName(keyword.name, names);
  ErrorBuilder report = in.error(keyword.nameRange, "'" + name + "' has no parameter '" +
                                                        std::string(keyword.name) + "'");
  if (near.empty())
    report.help(foreignParameter(keyword.name).value_or("its signature is " + signature));
  report.didYouMean(near);
  return std::nullopt;
}

void ArgumentBinder::bindKeyword(const KeywordArg &keyword) {
  Value value = in.eval(keyword.value);
  ok &= !value.isError();
  std::optional<size_t> index = findParam(keyword);
  if (!index) {
    ok = false;
    return;
  }
  if (given[*index]) {
    in.error(keyword.nameRange,
             "parameter '" + std::string(builtin.params[*index].name) + "' is given twice")
        .note(args.ranges[*index], "the first value is here");
    ok = false;
    return;
  }
  given[*index] = true;
  args.ranges[*index] = keyword.value->range;
  setParts(*index, keyword.value);
  if (builtin.params[*index].variadic)
    collected = {value};
  else
    args.values[*index] = value;
}

/// Gives a parameter what the variadic arguments have collected, or its default.
void ArgumentBinder::complete(size_t index) {
  const Builtin::Param &param = builtin.params[index];
  if (param.variadic) {
    // A single sequence stands for its elements.
    bool spread = collected.size() == 1 && collected[0].isSequence();
    args.values[index] = spread ? collected[0] : Value::ofTuple(collected);
  } else if (!given[index] && param.otherwise) {
    args.values[index] = *param.otherwise;
  } else if (!given[index]) {
    SourceRange close{call.range.file, call.range.end - 1, call.range.end};
    if (ok)
      in.error(close, "missing argument '" + std::string(param.name) + "' of '" + name + "'")
          .highlight(call.range)
          .help("its signature is " + signature);
    ok = false;
  }
}

bool ArgumentBinder::bind(SourceRange selfRange) {
  if (self)
    bindPositional(*self, selfRange, nullptr);
  for (const Expr *arg : call.args)
    bindPositional(in.eval(arg), arg->range, arg);
  for (const KeywordArg &keyword : call.keywords)
    bindKeyword(keyword);
  for (size_t i = 0; i < builtin.params.size(); ++i)
    complete(i);
  return ok && llvm::none_of(args.values, [](const Value &value) { return value.isError(); });
}

Value sema::callBuiltin(Interpreter &in, const Builtin &builtin, const Value *self,
                        SourceRange selfRange, const CallExpr &call) {
  Args args{in, builtin, call.range, {}, {}, &call};
  if (!ArgumentBinder(args, self).bind(selfRange))
    return Value::error();
  if (!in.emitter && builtin.name != "list.append")
    for (const Value &value : args.values)
      if (value.isTensor())
        return Value::error();
  Emitter::At at(in.emitter, call.range);
  return builtin.handler(args);
}

//===------------------------------------------------------------------------------------------===//
// Arguments
//===------------------------------------------------------------------------------------------===//

static std::string quoted(const Args &args, size_t i) {
  return "'" + std::string(args.builtin.params[i].name) + "' of '" +
         std::string(args.builtin.name) + "'";
}

std::optional<Value> Args::tensor(size_t i) {
  const Value &value = values[i];
  if (!in.emitter) {
    error(i, "'" + std::string(builtin.name) + "' makes a tensor, which cannot be a constant")
        .help("call it inside the function");
    return std::nullopt;
  }
  if (value.isTensor() || value.isNumber())
    return emit().asTensor(value);
  if (value.isError())
    return std::nullopt;
  // The tensor of a method call has no parameter name.
  std::string what = method && i == 0 ? "'" + std::string(builtin.name) + "'" : quoted(*this, i);
  error(i, "expected a tensor for " + what + ", found " + describe(value));
  return std::nullopt;
}

std::optional<int64_t> Args::integer(size_t i) {
  return in.toInt(values[i], ranges[i], quoted(*this, i));
}

std::optional<double> Args::real(size_t i) {
  return in.toDouble(values[i], ranges[i], quoted(*this, i));
}

std::optional<bool> Args::boolean(size_t i) {
  if (values[i].is(Value::Bool) || values[i].is(Value::Int))
    return in.truth(values[i], ranges[i]);
  error(i, "expected a bool for " + quoted(*this, i) + ", found " + describe(values[i]));
  return std::nullopt;
}

std::optional<DType> Args::dtype(size_t i, DType otherwise) {
  const Value &value = values[i];
  if (value.is(Value::None))
    return otherwise;
  if (value.is(Value::DType))
    return value.dtype;
  if (value.is(Value::Builtin)) {
    std::string_view name = value.builtin->name;
    if (name == "float")
      return DType::FP32;
    if (name == "int")
      return DType::Int64;
    if (name == "bool")
      return DType::Bool;
  }
  if (value.is(Value::Str))
    if (std::optional<DType> type = dtypeByName(*value.text))
      return type;
  ErrorBuilder report =
      error(i, "expected a type for " + quoted(*this, i) + ", found " + describe(value));
  if (value.is(Value::Str)) {
    std::string_view text = *value.text;
    std::string_view near = closestName(text, languageNames("tessera"));
    if (text.starts_with("cuda") || text == "cpu")
      report.help("a function runs where its arguments are");
    else if (dtypeByName(near))
      report.help("did you mean '" + std::string(near) + "'?")
          .fix(ranges[i], '"' + std::string(near) + '"');
  }
  return std::nullopt;
}

std::optional<int64_t> Args::dim(size_t i, unsigned rank, bool rank0) {
  return dim(values[i], ranges[i], i, rank, rank0);
}

std::optional<int64_t> Args::dim(const Value &value, SourceRange at, size_t i, unsigned rank,
                                 bool rank0) {
  std::optional<int64_t> dim = in.toInt(value, at, quoted(*this, i));
  if (!dim)
    return std::nullopt;
  int64_t bound = std::max<int64_t>(rank, rank0);
  if (*dim >= -bound && *dim < bound)
    return *dim < 0 ? *dim + bound : *dim;
  std::string text = "dimension " + std::to_string(*dim) + " is out of range";
  if (bound)
    text += ": expected " + std::to_string(-bound) + " to " + std::to_string(bound - 1);
  else
    text += " for a tensor without dimensions";
  in.error(at, text);
  return std::nullopt;
}

std::optional<llvm::SmallVector<int64_t>> Args::dims(size_t i, unsigned rank) {
  llvm::SmallVector<int64_t> dims;
  Value whole = values[i];
  if (whole.is(Value::None) || (whole.isSequence() && whole.elements->empty())) {
    for (unsigned dim = 0; dim < rank; ++dim)
      dims.push_back(dim);
    return dims;
  }
  std::vector<Value> given = whole.isSequence() ? *whole.elements : std::vector<Value>{whole};
  for (size_t k = 0; k < given.size(); ++k) {
    std::optional<int64_t> dim = this->dim(given[k], part(i, k), i, rank, true);
    if (!dim)
      return std::nullopt;
    if (llvm::is_contained(dims, *dim)) {
      in.error(part(i, k), "dimension " + std::to_string(*dim) + " is named twice");
      return std::nullopt;
    }
    dims.push_back(*dim);
  }
  if (!rank)
    dims.clear();
  llvm::sort(dims);
  return dims;
}

std::optional<Shape> Args::shape(size_t i) {
  const Value &value = values[i];
  std::vector<Value> given = value.isSequence() ? *value.elements : std::vector<Value>{value};
  Shape shape;
  for (size_t k = 0; k < given.size(); ++k) {
    std::optional<SymExpr> size = in.toSize(given[k], part(i, k), "a size in " + quoted(*this, i));
    if (!size)
      return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

void Args::wrongShape(size_t i, llvm::ArrayRef<SymExpr> expected, const Value &found,
                      std::string_view what) {
  ErrorBuilder report =
      error(i, "expected " + std::string(what) + " of shape " + shapeText(expected) + " for " +
                   quoted(*this, i) + ", found " + describe(found));
  report.note(ranges[0], "'" + std::string(builtin.params[0].name) + "' is " +
                             describe(emit().asTensor(values[0])));
  for (SymExpr size : expected)
    in.noteSize(report, size);
  for (SymExpr size : found.shape())
    in.noteSize(report, size);
}

void Args::needsFloat(size_t i, const Value &found) {
  ErrorBuilder report = error(i, "expected a floating point tensor for '" +
                                     std::string(builtin.name) + "', found " + describe(found));
  report.help("convert with .to(fp32)");
  std::string type = in.spell("fp32");
  std::string_view text = in.diagnostics.sources.text(ranges[i]);
  bool simple = !text.empty() && text.find_first_of(" \n-+*/@<>~") == text.npos;
  if (!type.empty() && simple)
    report.fix(ranges[i].atEnd(), ".to(" + type + ")");
}

bool Args::checkSizes(size_t i, llvm::ArrayRef<SymExpr> sizes) {
  for (SymExpr size : sizes) {
    if (in.sizes.nonNegative(size, ranges[i]) == false) {
      error(i, "a size must not be negative, found " + size.str());
      return false;
    }
  }
  return true;
}
