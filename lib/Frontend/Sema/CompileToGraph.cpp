//===- CompileToGraph.cpp - Arguments, attempts, and the finished function --------------------===//
//
// Declares the requested function's arguments with their sizes, interprets it, and completes the
// module. The interpretation is repeated while it finds new assumptions about sizes (Sizes.h).
//
//===------------------------------------------------------------------------------------------===//
#include "Emitter.h"
#include "Patterns.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <deque>
#include <limits>

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

namespace {

constexpr llvm::StringLiteral kScalarAttr = "gir.scalar";
constexpr llvm::StringLiteral kNumericsAttr = "gir.numerics";

/// Options that say what is compiled, and not how.
bool isOfRequest(llvm::StringRef option) {
  static constexpr llvm::StringLiteral names[] = {"target", "grad", "residuals", "residual_bytes"};
  return llvm::is_contained(names, option);
}

/// One interpretation of the requested function.
class Attempt {
public:
  /// With `keepNames`, sizes that the caller fixed stay symbols, so that messages name them.
  Attempt(mlir::MLIRContext &context, Program &program, const UserFunction &function,
          Assumptions &assumptions, FrontendInfo &info, bool keepNames)
      : keepNames(keepNames), program(program), request(program.request),
        diagnostics(program.diagnostics), function(function), assumptions(assumptions),
        sizes(assumptions), info(info), emitter(mlir::OpBuilder(&context), diagnostics),
        in(program, sizes, &emitter) {
    frame.function = &function;
    in.frame = &frame;
  }

  mlir::OwningOpRef<mlir::ModuleOp> run();
  bool foundBindings() const { return sizes.foundBindings(); }
  /// Whether the caller fixed two names to one size, so that a required equality was not noticed.
  bool hidesNames() const;

private:
  bool matchArguments();
  const ArgSpec *fromAnnotation(const Param &param);
  void declareSizes();
  void declareTensor(unsigned index);
  void declareDim(unsigned index, unsigned dim, std::string name, bool named, SourceRange bound,
                  std::string description);
  void declareScalar(unsigned index);
  Value constantArgument(const Param &param, const Constant &constant);
  void bindArguments(mlir::func::FuncOp func, mlir::Block *entry);
  std::optional<llvm::SmallVector<mlir::Value>> results();
  void finish(mlir::func::FuncOp func);

  bool keepNames;
  Program &program;
  const Request &request;
  Diagnostics &diagnostics;
  const UserFunction &function;
  Assumptions &assumptions;
  Sizes sizes;
  FrontendInfo &info;
  Emitter emitter;
  Interpreter in;
  Frame frame;

  /// Per parameter: the argument, the annotation, the symbols of its dimensions.
  struct Slot {
    const ArgSpec *spec = nullptr;
    Interpreter::TensorAnnotation annotation;
    std::vector<SymExpr> dims;
  };
  std::vector<Slot> slots;
  /// Arguments for the parameters that are not given.
  std::deque<ArgSpec> annotated;
  /// Symbols that the caller fixed: their bindings are not guards.
  std::set<std::string> fixedByCaller;
};

/// The annotation without `| None`.
const Expr *requiredPart(const Expr *annotation) {
  const auto *either = annotation ? annotation->as<BinaryExpr>() : nullptr;
  if (!either || either->op != BinaryOp::Or)
    return annotation;
  return either->right->is<NoneExpr>() ? either->left : either->right;
}

/// The form of an argument on the command line: "x=fp32[M,512]". Parts that the annotation leaves
/// open are filled with an example.
std::string argumentExample(const Param &param, Interpreter::AnnotationKind kind,
                            const Interpreter::TensorAnnotation &tensor) {
  using Kind = Interpreter::AnnotationKind;
  std::string name(param.name);
  if (kind == Kind::Int)
    return name + "=3";
  if (kind == Kind::Float)
    return name + "=0.5";
  if (kind == Kind::Bool)
    return name + "=true";
  std::string sizes;
  for (const Interpreter::DimAnnotation &dim : tensor.dims) {
    std::string size = dim.kind == Interpreter::DimAnnotation::Size ? dim.size.str() : dim.name;
    sizes += (sizes.empty() ? "" : ",") + (size.empty() ? "64" : size);
  }
  std::string_view dtype = dtypeName(tensor.dtype.value_or(DType::FP32));
  return name + "=" + std::string(dtype) + "[" + (tensor.anyShape ? "64,64" : sizes) + "]" +
         (kind == Kind::Tensor ? "" : ", or " + name + "=0.5 for a number");
}

/// The parts of an argument's type that an annotation leaves open; empty if none.
std::string openPart(const Expr *written, Interpreter::AnnotationKind kind,
                     const Interpreter::TensorAnnotation &tensor) {
  using Kind = Interpreter::AnnotationKind;
  if (!written)
    return "it has no annotation";
  if (kind == Kind::Int || kind == Kind::Float || kind == Kind::Bool)
    return "";
  if (kind != Kind::Tensor)
    return "its annotation is not of a tensor or a number";
  if (tensor.anyShape)
    return "its annotation has no sizes";
  if (llvm::any_of(tensor.dims, [](const auto &dim) { return dim.kind == dim.Rest; }))
    return "its annotation leaves the number of dimensions open";
  return tensor.dtype ? "" : "its annotation has no element type";
}

/// The argument that the annotation describes for a parameter that is not given; null after an
/// error if it is incomplete. Named sizes are unknown, numbers are run-time values.
const ArgSpec *Attempt::fromAnnotation(const Param &param) {
  using Kind = Interpreter::AnnotationKind;
  Interpreter::TensorAnnotation tensor;
  const Expr *written = requiredPart(param.annotation);
  Kind kind = written ? in.readAnnotation(written, tensor) : Kind::Other;
  if (kind == Kind::Error)
    return nullptr;
  std::string open = openPart(written, kind, tensor);
  if (!request.fromAnnotations || !open.empty()) {
    Diagnostic &report =
        diagnostics.error(param.nameRange, "missing argument '" + std::string(param.name) +
                                               "' of '" + function.name + "'");
    // A caller that resolves names is not the command line.
    if (!request.resolver)
      report.message += "; " + (request.fromAnnotations ? open + ": " : "") +
                        "give it with --arg " + argumentExample(param, kind, tensor);
    return nullptr;
  }
  ArgSpec &spec = annotated.emplace_back();
  spec.name = param.name;
  if (kind != Kind::Tensor) {
    spec.kind = kind == Kind::Int     ? ArgSpec::Int
                : kind == Kind::Float ? ArgSpec::Float
                                      : ArgSpec::Bool;
    return &spec;
  }
  spec.kind = ArgSpec::Tensor;
  spec.dtype = *tensor.dtype;
  for (const Interpreter::DimAnnotation &dim : tensor.dims)
    spec.dims.emplace_back().size =
        dim.kind == Interpreter::DimAnnotation::Size ? dim.size.constantValue() : -1;
  spec.contiguous = true;
  if (!spec.dims.empty())
    spec.unitStrideDim = spec.dims.size() - 1;
  return &spec;
}

/// Pairs the request's arguments with the parameters.
bool Attempt::matchArguments() {
  std::span<Param> params = function.def->params;
  slots.resize(params.size());
  bool ok = true, unknown = false;
  for (size_t i = 0; i < request.arguments.size(); ++i) {
    const ArgSpec &spec = request.arguments[i];
    size_t index = i;
    if (!spec.name.empty()) {
      std::vector<std::string_view> names;
      for (index = 0; index < params.size() && params[index].name != spec.name; ++index)
        names.push_back(params[index].name);
      if (index == params.size()) {
        Diagnostic &report =
            diagnostics.error(function.def->nameRange,
                              "'" + function.name + "' has no parameter '" + spec.name + "'");
        report.didYouMean(closestName(spec.name, names)).fixIts.clear();
        unknown = true;
        continue;
      }
    } else if (index >= params.size()) {
      diagnostics.error(function.def->nameRange,
                        "expected at most " + std::to_string(params.size()) + " arguments for '" +
                            function.name + "', found " + std::to_string(request.arguments.size()));
      return false;
    }
    slots[index].spec = &spec;
  }
  for (size_t i = 0; i < params.size(); ++i) {
    bool given = slots[i].spec && slots[i].spec->kind != ArgSpec::Default;
    if (given || params[i].defaultValue || unknown)
      continue;
    slots[i].spec = fromAnnotation(params[i]);
    ok &= slots[i].spec != nullptr;
  }
  return ok && !unknown;
}

bool Attempt::hidesNames() const {
  std::set<int64_t> seen;
  for (const Sizes::Symbol &symbol : sizes.all()) {
    bool isSize = !symbol.origins.empty() && symbol.origins.front().dim >= 0;
    if (symbol.named && isSize && fixedByCaller.count(symbol.info.name) && symbol.info.size &&
        *symbol.info.size > 1 && !seen.insert(*symbol.info.size).second)
      return true;
  }
  return false;
}

void Attempt::declareDim(unsigned index, unsigned dim, std::string name, bool named,
                         SourceRange bound, std::string description) {
  Slot &slot = slots[index];
  const DimSpec &spec = slot.spec->dims[dim];
  std::optional<int64_t> size;
  if (spec.size >= 0)
    size = spec.size;
  if (Sizes::Symbol *known = sizes.find(name)) {
    // The same name must be the same size.
    if (size && known->info.size && *size != *known->info.size) {
      const Guarded &first = known->origins.front();
      std::string_view other = function.def->params[first.argument].name;
      std::string where = first.dim < 0 ? "argument '" + std::string(other) + "'"
                                        : "dimension " + std::to_string(first.dim) + " of '" +
                                              std::string(other) + "'";
      in.error(bound, "size '" + name + "' is " + std::to_string(*size) + " in dimension " +
                          std::to_string(dim) + " of '" +
                          std::string(function.def->params[index].name) + "', but " +
                          std::to_string(*known->info.size) + " in " + where)
          .note(known->bound, "'" + name + "' is bound here");
    }
    if (!known->info.size)
      known->info.size = size;
    known->info.divisor = std::max(known->info.divisor, spec.divisor);
    known->info.hint = std::max(known->info.hint, spec.hint);
    known->origins.push_back({index, int(dim)});
  } else {
    Sizes::Symbol symbol;
    symbol.info = {name, std::max<int64_t>(spec.divisor, 1), size, spec.hint, 2};
    symbol.named = named;
    symbol.bound = bound;
    symbol.description = std::move(description);
    symbol.origins = {{index, int(dim)}};
    sizes.declare(symbol);
  }
  bool special = size && (*size == 0 || *size == 1);
  if (size && ((spec.fixed && !keepNames) || special)) {
    if (spec.fixed)
      fixedByCaller.insert(name);
    if (!assumptions.bindings.count(name))
      assumptions.bind(name, SymExpr(*size), bound);
  }
  slot.dims.push_back(SymExpr::symbol(name));
}

void Attempt::declareTensor(unsigned index) {
  const Param &param = function.def->params[index];
  Slot &slot = slots[index];
  const ArgSpec &spec = *slot.spec;
  std::string paramName(param.name);
  Interpreter::TensorAnnotation &annotation = slot.annotation;
  const Expr *written = requiredPart(param.annotation);
  auto kind = written ? in.readAnnotation(written, annotation) : Interpreter::AnnotationKind::Other;
  bool scalar = kind == Interpreter::AnnotationKind::Int ||
                kind == Interpreter::AnnotationKind::Float ||
                kind == Interpreter::AnnotationKind::Bool;
  if (scalar)
    in.error(param.annotation->range, "expected a number for argument '" + paramName +
                                          "', found a tensor of " +
                                          std::string(dtypeName(spec.dtype)));
  if (annotation.dtype && *annotation.dtype != spec.dtype)
    in.error(annotation.dtypeRange,
             "expected element type " + std::string(dtypeName(*annotation.dtype)) +
                 " for argument '" + paramName + "', found " + std::string(dtypeName(spec.dtype)));

  size_t rank = spec.dims.size();
  bool rest = llvm::any_of(annotation.dims, [](const auto &dim) { return dim.kind == dim.Rest; });
  size_t named = annotation.dims.size() - rest;
  bool shaped = !annotation.anyShape && (rest ? rank >= named : rank == named);
  if (!annotation.anyShape && !shaped) {
    std::string sizes;
    for (const DimSpec &dim : spec.dims)
      sizes += (sizes.empty() ? "" : ", ") + (dim.size < 0 ? "_" : std::to_string(dim.size));
    in.error(annotation.range, "expected " + std::string(rest ? "at least " : "") +
                                   counted(named, "dimension") + " for argument '" + paramName +
                                   "', found " + std::to_string(rank) + ": " +
                                   std::string(dtypeName(spec.dtype)) + "[" + sizes + "]");
  }
  auto unnamed = [&](unsigned dim) {
    declareDim(index, dim, paramName + "." + std::to_string(dim), false, param.nameRange,
               "dimension " + std::to_string(dim) + " of '" + paramName + "'");
  };
  if (!shaped) {
    for (unsigned dim = 0; dim < rank; ++dim)
      unnamed(dim);
    return;
  }
  unsigned dim = 0;
  for (const Interpreter::DimAnnotation &part : annotation.dims) {
    switch (part.kind) {
    case Interpreter::DimAnnotation::Any:
      unnamed(dim++);
      break;
    case Interpreter::DimAnnotation::Name:
      declareDim(index, dim++, part.name, true, part.range, "");
      break;
    case Interpreter::DimAnnotation::Rest: {
      size_t count = rank - named;
      std::vector<Value> group;
      auto known = frame.dims.find(part.name);
      if (known != frame.dims.end() && known->second.is(Value::Tuple) &&
          known->second.elements->size() != count)
        in.error(part.range, "'*" + part.name + "' stands for " + counted(count, "dimension") +
                                 " of '" + paramName + "', but for " +
                                 std::to_string(known->second.elements->size()) + " before")
            .note(frame.dimRanges[part.name], "'*" + part.name + "' is bound here");
      for (size_t i = 0; i < count; ++i) {
        if (part.name.empty()) {
          unnamed(dim++);
          continue;
        }
        std::string name = part.name + "." + std::to_string(i);
        declareDim(index, dim++, name, true, part.range, "");
        group.push_back(Value::ofInt(SymExpr::symbol(name)));
      }
      if (!part.name.empty() && known == frame.dims.end()) {
        frame.dims[part.name] = Value::ofTuple(group);
        frame.dimRanges[part.name] = part.range;
      }
      break;
    }
    case Interpreter::DimAnnotation::Size: {
      const DimSpec &size = spec.dims[dim];
      if (size.size >= 0 && !part.size.isConstant(size.size))
        in.error(part.range, "expected size " + part.size.str() + " for dimension " +
                                 std::to_string(dim) + " of argument '" + paramName + "', found " +
                                 std::to_string(size.size));
      unnamed(dim);
      std::string name = paramName + "." + std::to_string(dim++);
      if (!assumptions.bindings.count(name))
        assumptions.bind(name, part.size, part.range);
      break;
    }
    }
  }
}

void Attempt::declareScalar(unsigned index) {
  const Param &param = function.def->params[index];
  const ArgSpec &spec = *slots[index].spec;
  if (spec.kind == ArgSpec::Float)
    return;
  std::string name(param.name);
  Sizes::Symbol symbol;
  symbol.info.name = name;
  if (spec.hasValue)
    symbol.info.size = spec.kind == ArgSpec::Bool ? int64_t(spec.integer != 0) : spec.integer;
  symbol.info.min = std::numeric_limits<int64_t>::min();
  symbol.named = true;
  symbol.bound = param.nameRange;
  symbol.origins = {{index, -1}};
  sizes.declare(symbol);
  if (spec.fixed && spec.hasValue) {
    fixedByCaller.insert(name);
    if (!assumptions.bindings.count(name))
      assumptions.bind(name, SymExpr(*symbol.info.size), param.nameRange);
  }
}

/// All symbols are declared before any is used, so that bindings of any of them are known.
void Attempt::declareSizes() {
  for (unsigned i = 0; i < slots.size(); ++i) {
    if (!slots[i].spec)
      continue;
    switch (slots[i].spec->kind) {
    case ArgSpec::Int:
    case ArgSpec::Float:
    case ArgSpec::Bool:
      declareScalar(i);
      break;
    default:
      break;
    }
  }
  for (unsigned i = 0; i < slots.size(); ++i)
    if (slots[i].spec && slots[i].spec->kind == ArgSpec::Tensor)
      declareTensor(i);
}

Value Attempt::constantArgument(const Param &param, const Constant &constant) {
  if (constant.kind != Constant::Tensor)
    return fromConstant(constant, std::string(param.name), function.scope);
  Emitter::At at(&emitter, param.nameRange);
  return emitPattern(emitter, *constant.pattern);
}

void Attempt::bindArguments(mlir::func::FuncOp func, mlir::Block *entry) {
  mlir::Builder builder(func.getContext());
  std::span<Param> params = function.def->params;
  info.params.clear();
  llvm::SmallVector<mlir::Type> types;
  // The names of sizes are in scope before defaults and the body are evaluated.
  auto bindName = [&](const std::string &name, SourceRange range, const Value &value) {
    if (frame.dims.try_emplace(name, value).second)
      frame.dimRanges[name] = range;
  };
  for (auto &group : frame.dims)
    for (Value &size : *group.second.elements)
      size.number = assumptions.apply(size.number);
  for (unsigned i = 0; i < params.size(); ++i) {
    const Param &param = params[i];
    Slot &slot = slots[i];
    ArgSpec::Kind kind = slot.spec ? slot.spec->kind : ArgSpec::Default;
    ParamInfo &paramInfo = info.params.emplace_back();
    paramInfo.name = param.name;
    if (kind == ArgSpec::Default || kind == ArgSpec::Constant) {
      Value value = kind == ArgSpec::Constant ? constantArgument(param, slot.spec->constant)
                                              : in.eval(param.defaultValue);
      in.bindParam(param, value,
                   kind == ArgSpec::Constant ? param.nameRange : param.defaultValue->range);
      continue;
    }
    gir::TensorType type;
    llvm::StringRef scalar;
    switch (kind) {
    case ArgSpec::Int:
      type = gir::TensorType::get({}, builder.getI64Type());
      scalar = "int";
      break;
    case ArgSpec::Float:
      type = gir::TensorType::get({}, builder.getF64Type());
      scalar = "float";
      break;
    case ArgSpec::Bool:
      type = gir::TensorType::get({}, builder.getI1Type());
      scalar = "bool";
      break;
    default: {
      Shape shape;
      for (SymExpr dim : slot.dims)
        shape.push_back(assumptions.apply(dim));
      type = gir::TensorType::get(shape, emitter.type(slot.spec->dtype));
      break;
    }
    }
    paramInfo.argument = types.size();
    types.push_back(type);
    mlir::Value argument = entry->addArgument(type, emitter.loc(param.nameRange));
    Value value = Value::ofTensor(argument, !scalar.empty());
    SymExpr symbol = assumptions.apply(SymExpr::symbol(param.name));
    if (kind == ArgSpec::Int)
      value = Value::ofInt(symbol);
    else if (kind == ArgSpec::Bool && symbol.isConstant())
      value = Value::ofBool(symbol.constantValue());
    else if (kind == ArgSpec::Bool)
      value.number = symbol;

    unsigned dim = 0;
    for (const Interpreter::DimAnnotation &part : slot.annotation.dims) {
      size_t count =
          part.kind == part.Rest ? slot.dims.size() + 1 - slot.annotation.dims.size() : 1;
      if (part.kind == part.Name && dim < slot.dims.size())
        bindName(part.name, part.range, Value::ofInt(type.getDim(dim)));
      dim += count;
    }
    frame.locals[param.name] = value;
    in.declareRegion(param.name, slot.annotation);
    // Tensors were checked when their sizes were declared.
    if (!scalar.empty() && param.annotation)
      in.checkAnnotation(param.annotation, value, param.nameRange,
                         "argument '" + std::string(param.name) + "'");
  }
  func.setFunctionType(builder.getFunctionType(types, {}));
  for (unsigned i = 0; i < params.size(); ++i) {
    int index = info.params[i].argument;
    if (index < 0)
      continue;
    const ArgSpec &spec = *slots[i].spec;
    func.setArgAttr(index, gir::kNameAttr, builder.getStringAttr(info.params[i].name));
    if (spec.kind != ArgSpec::Tensor) {
      llvm::StringRef names[] = {"int", "float", "bool"};
      func.setArgAttr(index, kScalarAttr, builder.getStringAttr(names[spec.kind - ArgSpec::Int]));
      continue;
    }
    if (spec.unitStrideDim)
      func.setArgAttr(index, gir::kUnitStrideAttr, builder.getI64IntegerAttr(*spec.unitStrideDim));
    if (spec.contiguous)
      func.setArgAttr(index, gir::kContiguousAttr, builder.getUnitAttr());
  }
}

/// The function's results as tensors; nothing after an error.
std::optional<llvm::SmallVector<mlir::Value>> Attempt::results() {
  Value result = frame.result;
  SourceRange range = frame.returned ? frame.returned->range : function.def->nameRange;
  std::vector<Value> parts = {result};
  info.returnsTuple = result.isSequence();
  if (result.isSequence())
    parts = *result.elements;
  llvm::SmallVector<mlir::Value> values;
  // Written arguments come first.
  info.written.clear();
  for (const Param &param : function.def->params)
    if (auto region = frame.regions.find(param.name);
        region != frame.regions.end() && region->second.isWritten) {
      info.written.push_back(std::string(param.name));
      values.push_back(region->second.value.tensor);
    }
  if (!values.empty() && result.is(Value::None))
    return values;
  const auto *tuple = frame.returned ? frame.returned->as<TupleExpr>() : nullptr;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Value &part = parts[i];
    if (part.isError())
      return std::nullopt;
    if (part.is(Value::None) && !frame.returned) {
      ErrorBuilder report = in.error(range, "'" + function.name + "' does not return a value");
      const Stmt *last = function.def->body.empty() ? nullptr : function.def->body.back();
      const auto *alone = last ? last->as<ExpressionStmt>() : nullptr;
      if (alone && !alone->value->is<StringExpr>())
        report.note(alone->range, "did you mean to return this?")
            .fixNote(alone->range.atBegin(), "return ");
      return std::nullopt;
    }
    if (!part.isTensor() && !part.isNumber()) {
      bool written = tuple && tuple->elements.size() == parts.size();
      in.error(written ? tuple->elements[i]->range : range,
               "expected a tensor, a number or a tuple of them as the result of '" + function.name +
                   "', found " + describe(part));
      return std::nullopt;
    }
    Emitter::At at(&emitter, range);
    values.push_back(emitter.asTensor(part).tensor);
  }
  return values;
}

/// Records the symbols and guards in the function's attributes and in the result.
void Attempt::finish(mlir::func::FuncOp func) {
  mlir::Builder builder(func.getContext());
  info.guards.clear();
  info.guarded.clear();
  info.symbols.clear();
  for (const std::string &name : assumptions.order) {
    const Assumptions::Binding &binding = assumptions.bindings.at(name);
    if (fixedByCaller.count(name))
      continue;
    info.guards.push_back({SymExpr::symbol(name), binding.value, binding.reason});
    if (binding.value.isConstant())
      llvm::append_range(info.guarded, sizes.find(name)->origins);
  }
  // Whether a guard on an expression holds depends on the values of its symbols.
  std::set<std::string> inExpressions;
  for (const Guard &guard : sizes.guards()) {
    info.guards.push_back(guard);
    guard.left.collectSymbols(inExpressions);
    guard.right.collectSymbols(inExpressions);
  }
  for (const std::string &name : inExpressions)
    llvm::append_range(info.guarded, sizes.find(name)->origins);

  std::set<std::string> bools;
  for (unsigned i = 0; i < slots.size(); ++i)
    if (slots[i].spec && slots[i].spec->kind == ArgSpec::Bool)
      bools.insert(std::string(function.def->params[i].name));
  llvm::SmallVector<mlir::NamedAttribute> symbols;
  for (const Sizes::Symbol &symbol : sizes.all()) {
    if (assumptions.bindings.count(symbol.info.name) || bools.count(symbol.info.name))
      continue;
    info.symbols.push_back(symbol.info);
    llvm::SmallVector<mlir::NamedAttribute> facts;
    auto fact = [&](llvm::StringRef name, int64_t value) {
      facts.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
    };
    fact("divisor", symbol.info.divisor);
    int64_t hint = symbol.info.hint ? symbol.info.hint : symbol.info.size.value_or(0);
    if (hint > 0)
      fact("hint", hint);
    if (symbol.info.hint > 0)
      fact("max", symbol.info.hint);
    if (symbol.info.min != std::numeric_limits<int64_t>::min())
      fact("min", symbol.info.min);
    symbols.push_back(builder.getNamedAttr(symbol.info.name, builder.getDictionaryAttr(facts)));
  }
  llvm::SmallVector<mlir::Attribute> guards;
  for (const Guard &guard : info.guards)
    guards.push_back(builder.getStringAttr(guard.text()));
  func->setAttr(gir::kSymbolsAttr, builder.getDictionaryAttr(symbols));
  func->setAttr(gir::kGuardsAttr, builder.getArrayAttr(guards));

  std::map<std::string, std::string> options = program.options;
  for (const auto &[key, value] : request.options)
    options[key] = value;
  llvm::SmallVector<mlir::NamedAttribute> numerics;
  for (const auto &[key, value] : options)
    if (!isOfRequest(key))
      numerics.push_back(builder.getNamedAttr(key, builder.getStringAttr(value)));
  if (!numerics.empty())
    func->setAttr(kNumericsAttr, builder.getDictionaryAttr(numerics));
}

mlir::OwningOpRef<mlir::ModuleOp> Attempt::run() {
  size_t errors = diagnostics.errorCount();
  if (!in.checkFunction(function) || !matchArguments())
    return {};
  declareSizes();

  mlir::OpBuilder &builder = emitter.builder;
  mlir::Location loc = emitter.loc(function.def->nameRange);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto func =
      mlir::func::FuncOp::create(builder, loc, function.name, builder.getFunctionType({}, {}));
  mlir::Block *entry = func.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  bindArguments(func, entry);
  if (diagnostics.errorCount() != errors)
    return {};
  in.runBody();
  if (foundBindings() || diagnostics.errorCount() != errors)
    return {};
  std::optional<llvm::SmallVector<mlir::Value>> values = results();
  if (!values)
    return {};
  mlir::func::ReturnOp::create(builder, loc, *values);
  llvm::SmallVector<mlir::Type> resultTypes;
  for (mlir::Value value : *values)
    resultTypes.push_back(value.getType());
  // A gradient may have added arguments.
  func.setType(builder.getFunctionType(entry->getArgumentTypes(), resultTypes));
  for (auto [i, name] : llvm::enumerate(info.written))
    func.setResultAttr(i, gir::kWritesAttr, builder.getStringAttr(name));
  finish(func);
  return module;
}

/// An operation that the verifier rejects is a bug in this compiler and reported as one.
bool verifyModule(mlir::ModuleOp module, Diagnostics &diagnostics, SourceRange range) {
  std::string text;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (text.empty())
      text = diagnostic.str();
    return mlir::success();
  });
  if (mlir::succeeded(mlir::verify(module)))
    return true;
  diagnostics.error(range, "internal error: the graph is not valid: " + text);
  return false;
}

/// Interprets repeatedly until there are no new assumptions.
mlir::OwningOpRef<mlir::ModuleOp> interpret(mlir::MLIRContext &context, Program &program,
                                            const UserFunction &function, FrontendInfo &info,
                                            bool keepNames, bool &hidesNames) {
  Diagnostics &diagnostics = program.diagnostics;
  Assumptions assumptions;
  // Each repetition binds at least one more symbol.
  for (;;) {
    Diagnostics::Checkpoint checkpoint = diagnostics.checkpoint();
    Attempt attempt(context, program, function, assumptions, info, keepNames);
    mlir::OwningOpRef<mlir::ModuleOp> module = attempt.run();
    if (attempt.foundBindings()) {
      diagnostics.rewind(checkpoint);
      continue;
    }
    hidesNames = attempt.hidesNames();
    info.captures = program.captures;
    if (!module || !verifyModule(*module, diagnostics, function.def->nameRange))
      return {};
    return module;
  }
}

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> tessera::compileToGraph(mlir::MLIRContext &context,
                                                          const Request &request,
                                                          Diagnostics &diagnostics,
                                                          FrontendInfo &info) {
  context.loadDialect<gir::GraphDialect, mlir::func::FuncDialect>();
  Program program(request, diagnostics);
  UserFunction *function = program.load();
  if (!function)
    return {};
  info = {};
  info.function = function->name;
  Diagnostics::Checkpoint start = diagnostics.checkpoint();
  bool hidesNames = false;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      interpret(context, program, *function, info, false, hidesNames);
  bool anyFixed = llvm::any_of(request.arguments, [](const ArgSpec &argument) {
    return llvm::any_of(argument.dims, [](const DimSpec &dim) { return dim.fixed; });
  });
  if (module && !hidesNames)
    return module;
  // Names that the caller's sizes replaced are kept for messages, and used where they explain the
  // error.
  if (anyFixed) {
    std::vector<Diagnostic> taken = diagnostics.take(start);
    FrontendInfo named = info;
    interpret(context, program, *function, named, true, hidesNames);
    if (diagnostics.errorCount() != start.errors)
      return {};
    diagnostics.rewind(start);
    diagnostics.restore(std::move(taken));
  }
  return module;
}
