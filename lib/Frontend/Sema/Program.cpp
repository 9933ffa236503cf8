//===- Program.cpp - Parsed sources and scopes ----------------------------===//
#include "Program.h"

#include "Builtins.h"
#include "Gradients.h"
#include "tessera/Frontend/Parse/Parser.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <limits>

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

Scope::~Scope() = default;

//===------------------------------------------------------------------------------------------===//
// Names of the language
//===------------------------------------------------------------------------------------------===//

static constexpr std::string_view laterTypes[] = {"tf32", "fp6_e2m3", "fp6_e3m2", "fp4_e2m1"};

bool sema::isLaterType(std::string_view name) { return llvm::is_contained(laterTypes, name); }

std::optional<Value> sema::languageName(const std::string &path) {
  static const double inf = std::numeric_limits<double>::infinity();
  if (path == "tessera" || path == "math")
    return Value::ofText(Value::Module, path);
  bool ours = path.starts_with("tessera.");
  if (path == "tessera.Tensor")
    return Value::of(Value::TensorType);
  if (path == "tessera.Region")
    return Value::of(Value::RegionType);
  if (ours && llvm::is_contained(privilegeNames, std::string_view(path).substr(8)))
    return Value::ofStr(path.substr(8));
  if (path == "tessera.inf" || path == "math.inf")
    return Value::ofFloat(inf);
  if (path == "tessera.nan" || path == "math.nan")
    return Value::ofFloat(std::numeric_limits<double>::quiet_NaN());
  if (path == "tessera.pi" || path == "math.pi")
    return Value::ofFloat(M_PI);
  if (path == "math.e")
    return Value::ofFloat(M_E);
  if (path == "math.tau")
    return Value::ofFloat(2 * M_PI);
  if (ours)
    if (std::optional<DType> type = dtypeByName(std::string_view(path).substr(8)))
      return Value::ofDType(*type);
  if (ours || path.starts_with("math."))
    if (const sema::Builtin *builtin = findBuiltin(path))
      return Value::ofBuiltin(builtin);
  return std::nullopt;
}

std::vector<std::string_view> sema::languageNames(std::string_view module) {
  std::vector<std::string_view> names = builtinNames(module);
  for (std::string_view name : {"inf", "nan", "pi"})
    names.push_back(name);
  if (module == "tessera") {
    for (std::string_view name :
         {"Tensor", "Region", "function", "float64", "float32", "float16", "bfloat16"})
      names.push_back(name);
    llvm::append_range(names, privilegeNames);
    for (unsigned i = 0; i < numDTypes; ++i)
      names.push_back(dtypeName(DType(i)));
  }
  return names;
}

//===------------------------------------------------------------------------------------------===//
// Files
//===------------------------------------------------------------------------------------------===//

FileScope::FileScope(Program &program, const Module &module, bool predeclared) : program(program) {
  auto import = [&](std::string_view name, std::string path) {
    Binding &binding = bindings[std::string(name)];
    binding.kind = Binding::Import;
    binding.path = std::move(path);
  };
  if (predeclared) {
    import("tsr", "tessera");
    import("tessera", "tessera");
    import("math", "math");
    import("Tensor", "tessera.Tensor");
    import("Region", "tessera.Region");
    for (std::string_view name : privilegeNames)
      import(name, "tessera." + std::string(name));
    for (unsigned i = 0; i < numDTypes; ++i)
      if (DType(i) != DType::Bool) // which is Python's own
        import(dtypeName(DType(i)), "tessera." + std::string(dtypeName(DType(i))));
    for (std::string_view name : laterTypes)
      import(name, "tessera." + std::string(name));
  }
  collect(module.body, "");
}

void FileScope::bindTarget(const Expr *target, const Expr *value, SourceRange range) {
  if (const auto *name = target->as<NameExpr>()) {
    Binding binding;
    binding.kind = Binding::Constant;
    binding.value = value;
    binding.range = range;
    bindings[std::string(name->name)] = binding;
    return;
  }
  if (const auto *tuple = target->as<TupleExpr>()) {
    const auto *values = value->as<TupleExpr>();
    for (size_t i = 0; i < tuple->elements.size(); ++i) {
      bool paired = values && values->elements.size() == tuple->elements.size();
      bindTarget(tuple->elements[i], paired ? values->elements[i] : value, range);
      if (const auto *name = tuple->elements[i]->as<NameExpr>(); name && !paired)
        bindings[std::string(name->name)].element = i;
    }
  }
}

/// Adds the module-level names; blocks of `if`, `try` and the like count as module level.
void FileScope::collect(Block block, const std::string &prefix) {
  auto bindName = [&](std::string_view name, Binding binding) {
    if (prefix.empty() && !name.empty())
      bindings[std::string(name)] = std::move(binding);
  };
  for (const Stmt *stmt : block) {
    switch (stmt->kind) {
    case StmtKind::Import:
      if (!firstImport.isValid())
        firstImport = stmt->range.atBegin();
      for (const ImportedName &name : stmt->as<ImportStmt>()->names) {
        Binding binding;
        binding.kind = Binding::Import;
        binding.range = name.range;
        size_t dot = name.name.find('.');
        // `import a.b` binds `a`.
        binding.path = name.alias.empty() ? name.name.substr(0, dot) : name.name;
        bindName(name.alias.empty() ? name.name.substr(0, dot) : name.alias, binding);
      }
      break;
    case StmtKind::FromImport: {
      const auto *node = stmt->as<FromImportStmt>();
      // Python requires this import to be a file's first one.
      if (!firstImport.isValid() && node->module != "__future__")
        firstImport = stmt->range.atBegin();
      if (node->star && (node->module == "tessera" || node->module == "math")) {
        for (std::string_view name : languageNames(node->module)) {
          Binding binding;
          binding.kind = Binding::Import;
          binding.path = std::string(node->module) + "." + std::string(name);
          bindName(name, binding);
        }
      }
      for (const ImportedName &name : node->names) {
        Binding binding;
        binding.kind = Binding::Import;
        binding.range = name.range;
        binding.path = std::string(node->module) + "." + std::string(name.name);
        bindName(name.alias.empty() ? name.name : name.alias, binding);
      }
      break;
    }
    case StmtKind::Assign:
      if (prefix.empty())
        for (const Expr *target : stmt->as<AssignStmt>()->targets)
          bindTarget(target, stmt->as<AssignStmt>()->value, stmt->range);
      break;
    case StmtKind::AnnAssign:
      if (prefix.empty() && stmt->as<AnnAssignStmt>()->value)
        bindTarget(stmt->as<AnnAssignStmt>()->target, stmt->as<AnnAssignStmt>()->value,
                   stmt->range);
      break;
    case StmtKind::Function: {
      const auto *def = stmt->as<FunctionStmt>();
      Binding binding;
      binding.kind = Binding::Function;
      binding.def = def;
      binding.range = def->nameRange;
      bindName(def->name, binding);
      collectFunction(*def, prefix);
      break;
    }
    case StmtKind::Class: {
      const auto *node = stmt->as<ClassStmt>();
      Binding binding;
      binding.kind = Binding::Class;
      binding.range = node->nameRange;
      bindName(node->name, binding);
      if (prefix.size() < 200)
        collect(node->body, prefix + std::string(node->name) + ".");
      break;
    }
    case StmtKind::Expression:
      collectRule(stmt->as<ExpressionStmt>()->value, prefix);
      break;
    case StmtKind::If:
      for (const IfBranch &branch : stmt->as<IfStmt>()->branches)
        collect(branch.body, prefix);
      collect(stmt->as<IfStmt>()->orElse, prefix);
      break;
    case StmtKind::Unsupported:
      collect(stmt->as<UnsupportedStmt>()->body, prefix);
      break;
    default:
      break;
    }
  }
}

/// `@tsr.checkpoint(policy="nothing")` as in the option `grad`.
static std::string checkpointText(Diagnostics &diagnostics, const CallExpr *call) {
  const Expr *policy = nullptr;
  if (call && !call->args.empty())
    policy = call->args[0];
  for (const KeywordArg &keyword : call ? call->keywords : std::span<KeywordArg>())
    if (keyword.name == "policy")
      policy = keyword.value;
  if (!policy)
    return "checkpoint::auto";
  GradientRequest request;
  std::vector<Value> names;
  const auto *tuple = policy->as<TupleExpr>();
  for (const Expr *element : tuple ? tuple->elements : ExprList())
    if (const auto *text = element->as<StringExpr>())
      names.push_back(Value::ofStr(std::string(text->value)));
  const auto *word = policy->as<StringExpr>();
  Value given = word ? Value::ofStr(std::string(word->value)) : Value::ofTuple(names);
  bool isWhole = word || (tuple && names.size() == tuple->elements.size());
  if (!isWhole || !readPolicy(given, request)) {
    diagnostics.error(policy->range, "expected 'auto', 'nothing', 'everything', 'contractions' or "
                                     "a tuple of names for 'policy' of 'checkpoint', found " +
                                         std::string(diagnostics.sources.text(policy->range)));
    return "checkpoint::auto";
  }
  return "checkpoint:" + llvm::join(request.wrt, ",") + ":" + request.policy;
}

void FileScope::collectFunction(const FunctionStmt &def, const std::string &prefix) {
  Found function{prefix + std::string(def.name), &def, nullptr};
  for (const Expr *decorator : llvm::reverse(def.decorators)) {
    const auto *call = decorator->as<CallExpr>();
    std::string path = qualifiedName(call ? call->callee : decorator);
    auto add = [&](const std::string &text) {
      function.gradients += (function.gradients.empty() ? "" : ";") + text;
    };
    if (path == "tessera.custom_vjp")
      add("custom_vjp");
    if (path == "tessera.checkpoint")
      add(checkpointText(program.diagnostics, call));
    if (path == "tessera.function" || path == "tessera.jit" || path == "tessera.custom_vjp" ||
        path == "tessera.checkpoint")
      function.decorator = decorator;
  }
  if (function.decorator)
    found.push_back(std::move(function));
}

void FileScope::collectRule(const Expr *expr, const std::string &prefix) {
  const auto *call = expr->as<CallExpr>();
  const auto *method = call ? call->callee->as<AttributeExpr>() : nullptr;
  const auto *name = method ? method->base->as<NameExpr>() : nullptr;
  if (name && method->name == "defvjp")
    rules[prefix + std::string(name->name)] = call;
}

std::optional<Value> FileScope::rule(Interpreter &in, const UserFunction &function,
                                     std::string_view part) {
  auto it = rules.find(function.name);
  if (it == rules.end())
    return std::nullopt;
  const CallExpr &call = *it->second;
  const Expr *given = nullptr;
  if (size_t i = part == "backward"; i < call.args.size())
    given = call.args[i];
  for (const KeywordArg &keyword : call.keywords)
    if (keyword.name == part)
      given = keyword.value;
  if (!given)
    return Value(in.error(call.range,
                          "missing argument '" + std::string(part) + "' in the call of 'defvjp'"));
  const auto *name = given->as<NameExpr>();
  auto binding = name ? bindings.find(name->name) : bindings.end();
  if (binding == bindings.end() || binding->second.kind != Binding::Function)
    return Value(in.error(given->range, "expected the name of a function as the " +
                                            std::string(part) + " rule of '" + function.name +
                                            "'"));
  Value value = Value::of(Value::Function);
  value.function = program.addFunction(binding->second.def, this, std::string(name->name));
  return value;
}

std::string FileScope::qualifiedName(const Expr *expr) const {
  if (const auto *name = expr->as<NameExpr>()) {
    auto it = bindings.find(name->name);
    return it != bindings.end() && it->second.kind == Binding::Import ? it->second.path : "";
  }
  if (const auto *attribute = expr->as<AttributeExpr>()) {
    std::string base = qualifiedName(attribute->base);
    return base.empty() ? "" : base + "." + std::string(attribute->name);
  }
  return "";
}

std::optional<Value> FileScope::lookup(Interpreter &in, const std::string &name, SourceRange range,
                                       std::vector<std::string> &candidates) {
  auto it = bindings.find(name);
  if (it != bindings.end())
    return evaluate(in, name, it->second, range);
  for (const auto &[known, binding] : bindings)
    candidates.push_back(known);
  return std::nullopt;
}

/// Constants and types that programs use of other libraries besides their functions.
static std::optional<Value> foreignConstant(const std::string &path) {
  std::string_view module = std::string_view(path).substr(0, path.rfind('.'));
  if (module != "numpy" && module != "torch" && module != "jax.numpy")
    return std::nullopt;
  std::string last = path.substr(path.rfind('.') + 1);
  if (last == "newaxis")
    return Value::none();
  if (last == "e")
    return languageName("math.e");
  if (last == "pi" || last == "inf" || last == "nan")
    return languageName("math." + last);
  if (std::optional<DType> type = dtypeByName(last))
    return Value::ofDType(*type);
  return std::nullopt;
}

std::optional<Value> FileScope::attribute(Interpreter &in, const std::string &path,
                                          SourceRange range, std::vector<std::string> &) {
  if (std::optional<Value> value = foreignConstant(path))
    return value;
  std::string last = path.substr(path.rfind('.') + 1);
  std::string ours(findBuiltin("tessera." + last) ? last : otherName(last));
  bool isOurs = !in.frame->isConstant && !ours.empty() && findBuiltin("tessera." + ours);
  ErrorBuilder report = in.error(range, "'" + path + "' is not known without running the file");
  report.help(isOurs ? "use " + in.usual(ours)
                     : "assign a number to a module-level name, or pass it as an argument");
  if (isOurs && !in.spell(ours).empty())
    report.fix(range, in.spell(ours));
  return Value(report);
}

std::string FileScope::spelling(std::string_view path) const {
  std::string found;
  for (const auto &[name, binding] : bindings) {
    if (binding.kind != Binding::Import)
      continue;
    if (binding.path == path)
      return name;
    bool isModule = path.starts_with(binding.path + ".") && binding.path == "tessera";
    if (isModule && (found.empty() || name == "tsr"))
      found = name + std::string(path.substr(binding.path.size()));
  }
  return found;
}

std::optional<Value> FileScope::evaluate(Interpreter &in, const std::string &name, Binding &binding,
                                         SourceRange range) {
  if (binding.state == Binding::Known)
    return binding.known;
  if (binding.state == Binding::Running)
    return Value(in.error(range, "the value of '" + name + "' depends on itself")
                     .note(binding.range, "'" + name + "' is defined here"));
  Value value;
  switch (binding.kind) {
  case Binding::Import: {
    std::string_view path = binding.path;
    if (std::optional<Value> known = languageName(binding.path)) {
      value = *known;
      break;
    }
    size_t dot = path.rfind('.');
    std::string_view last = dot == path.npos ? path : path.substr(dot + 1);
    bool ours = path.starts_with("tessera.") || path.starts_with("math.");
    if (ours && (isLaterOperation(last) || isLaterType(last)))
      return Value(in.error(range, (isLaterType(last) ? "type '" : "operation '") +
                                       std::string(last) + "' is not supported by this compiler"));
    if (ours) {
      // The import has to be corrected, and its uses with it.
      std::string_view near = otherName(last);
      if (near.empty())
        near = closestName(last, languageNames(path.substr(0, dot)));
      bool direct = program.diagnostics.sources.text(binding.range) == last;
      ErrorBuilder report =
          in.error(binding.range, "module '" + std::string(path.substr(0, dot)) +
                                      "' has no attribute '" + std::string(last) + "'");
      if (direct && !near.empty())
        report.didYouMean(near).fix(range, std::string(near));
      report.note(range, "it is used here");
      return Value(report);
    }
    value = Value::ofText(Value::Module, binding.path);
    break;
  }
  case Binding::Constant: {
    // Evaluated in a separate frame: the module does not see the function's locals.
    static const UserFunction moduleLevel;
    UserFunction here = moduleLevel;
    here.scope = this;
    here.name = name;
    Frame frame;
    frame.function = &here;
    frame.callSite = range;
    frame.caller = in.frame;
    frame.isConstant = true;
    Frame *caller = in.frame;
    Emitter *emitter = in.emitter;
    in.frame = &frame;
    in.emitter = nullptr;
    binding.state = Binding::Running;
    value = in.eval(binding.value);
    if (binding.element && !value.isError()) {
      std::optional<std::vector<Value>> items =
          in.toSequence(value, binding.value->range, "the values to unpack");
      if (items && *binding.element < items->size())
        value = (*items)[*binding.element];
      else
        value = items ? Value(in.error(binding.range, "too few values to unpack")) : Value::error();
    }
    in.frame = caller;
    in.emitter = emitter;
    binding.state = Binding::Unknown;
    if (value.isError())
      return value;
    break;
  }
  case Binding::Function: {
    auto decorated = llvm::find_if(found, [&](const Found &f) { return f.def == binding.def; });
    if (decorated == found.end()) {
      std::string spelled = spelling("tessera.function");
      ErrorBuilder report = in.error(range, "'" + name + "' is not a @tsr.function");
      report.note(binding.range, "add @tsr.function to this definition");
      if (!spelled.empty())
        report.fixNote(binding.def->range.atBegin(), "@" + spelled + "\n");
      return Value(report);
    }
    value = Value::of(Value::Function);
    value.function =
        program.applyGradients(program.addFunction(binding.def, this, name), decorated->gradients);
    if (!value.function)
      return Value::error();
    break;
  }
  case Binding::Class:
    return Value(in.error(range, "class '" + name + "' cannot be used in a @tsr.function")
                     .note(binding.range, "'" + name + "' is defined here"));
  case Binding::Other:
    return std::nullopt;
  }
  binding.state = Binding::Known;
  binding.known = value;
  return value;
}

//===------------------------------------------------------------------------------------------===//
// Resolvers
//===------------------------------------------------------------------------------------------===//

std::optional<Value> ResolverScope::lookup(Interpreter &in, const std::string &path,
                                           SourceRange range,
                                           std::vector<std::string> &candidates) {
  if (auto it = known.find(path); it != known.end()) {
    if (!it->second)
      candidates = missing[path];
    return it->second;
  }
  Resolution answer = program.request.resolver->resolve(id, path);
  std::optional<Value> value;
  switch (answer.kind) {
  case Resolution::Missing:
    missing[path] = candidates = answer.candidates;
    break;
  case Resolution::Value:
    if (answer.constant.kind != Constant::Object)
      program.capture(id, path, answer.constant);
    value = fromConstant(answer.constant, path, this);
    break;
  case Resolution::Function: {
    value = Value::of(Value::Function);
    value->function = program.applyGradients(
        program.resolvedFunction(answer.scope, answer.source, answer.text), answer.gradients);
    if (!value->function)
      return Value::error();
    break;
  }
  case Resolution::Module:
    value = Value::ofText(Value::Module, answer.text);
    // Attributes of a foreign module are resolved under the program's name for it.
    if (answer.text != "tessera" && answer.text != "math")
      value = fromConstant(Constant(Constant::Object), path, this);
    break;
  case Resolution::Operation: {
    value = languageName(answer.text);
    if (value)
      break;
    size_t dot = answer.text.rfind('.');
    std::string last = dot == std::string::npos ? answer.text : answer.text.substr(dot + 1);
    return Value(in.error(range, "operation '" + last + "' is not supported by this compiler"));
  }
  case Resolution::Array:
    return Value(in.error(range, "'" + path + "' is an array (" + answer.text +
                                     ") from outside the function")
                     .help("pass it as an argument"));
  }
  known[path] = value;
  return value;
}

std::optional<Value> ResolverScope::rule(Interpreter &in, const UserFunction &,
                                         std::string_view part) {
  std::vector<std::string> candidates;
  return lookup(in, "defvjp." + std::string(part), {}, candidates);
}

std::string ResolverScope::spelling(std::string_view path) const {
  std::string found;
  for (const auto &[name, value] : known) {
    bool isModule = value && value->is(Value::Module) && *value->text == "tessera";
    if (isModule && path.starts_with("tessera.") && (found.empty() || name == "tsr"))
      found = name + std::string(path.substr(7));
  }
  // A name that the function has not used may still exist.
  for (const char *name : {"tsr", "tessera"}) {
    if (!found.empty() || !path.starts_with("tessera."))
      break;
    Resolution answer = program.request.resolver->resolve(id, name);
    if (answer.kind == Resolution::Module && answer.text == "tessera")
      found = name + std::string(path.substr(7));
  }
  return found;
}

//===------------------------------------------------------------------------------------------===//
// Programs
//===------------------------------------------------------------------------------------------===//

const Module *Program::parse(const SourceText &source, bool snippet) {
  uint32_t file =
      diagnostics.sources.add(source.file, source.text, source.firstLine, source.columnShift);
  size_t errors = diagnostics.errorCount();
  modules.push_back(parseModule(diagnostics, file, snippet));
  return diagnostics.errorCount() == errors ? modules.back().get() : nullptr;
}

Scope *Program::addScope(std::unique_ptr<Scope> scope) {
  scopes.push_back(std::move(scope));
  return scopes.back().get();
}

UserFunction *Program::addFunction(const FunctionStmt *def, Scope *scope, std::string name) {
  auto function = std::make_unique<UserFunction>();
  function->def = def;
  function->scope = scope;
  function->name = std::move(name);
  functions.push_back(std::move(function));
  return functions.back().get();
}

void Program::capture(const std::string &scope, const std::string &path, const Constant &value) {
  captures.push_back({scope, path, value});
}

UserFunction *Program::parseFunction(const SourceText &source, const std::string &name,
                                     Scope *scope) {
  const Module *module = parse(source, /*snippet=*/true);
  if (!module)
    return nullptr;
  for (const Stmt *stmt : module->body)
    if (const auto *def = stmt->as<FunctionStmt>())
      if (name.empty() || def->name == name)
        return addFunction(def, scope, std::string(def->name));
  uint32_t file = diagnostics.sources.size() - 1;
  diagnostics.error({file, 0, 0}, "the text has no function '" + name + "'");
  return nullptr;
}

UserFunction *Program::resolvedFunction(const std::string &id, const SourceText &source,
                                        const std::string &name) {
  UserFunction *&function = resolved[id];
  if (!function)
    function = parseFunction(source, name, addScope(std::make_unique<ResolverScope>(*this, id)));
  return function;
}

UserFunction *Program::applyGradients(UserFunction *function, const std::string &text) {
  if (text.empty() || !function)
    return function;
  std::optional<std::vector<GradientRequest>> requests = parseGradients(text);
  if (!requests) {
    diagnostics.error(
        {}, "expected 'KIND:PARAMETERS' for option 'grad', as in 'grad:w,b', found '" + text + "'");
    return nullptr;
  }
  bool isMethod = request.function.find('.') != std::string::npos;
  for (const GradientRequest &one : *requests)
    if (function)
      function = makeGradient(*this, *function, one, isMethod);
  return function;
}

std::string Program::option(const std::string &name) const {
  for (const auto &[key, value] : llvm::reverse(request.options))
    if (key == name)
      return value;
  auto found = options.find(name);
  return found == options.end() ? "" : found->second;
}

UserFunction *Program::load() {
  if (!checkOptions())
    return nullptr;
  std::string gradients;
  for (const auto &[name, value] : request.options)
    if (name == "grad")
      gradients = value;
  return applyGradients(loadFunction(), gradients);
}

UserFunction *Program::loadFunction() {
  if (request.resolver) {
    size_t dot = request.function.rfind('.');
    std::string name =
        dot == std::string::npos ? request.function : request.function.substr(dot + 1);
    return resolvedFunction("", request.source, name);
  }
  const Module *module = parse(request.source, /*snippet=*/false);
  if (!module)
    return nullptr;
  uint32_t file = diagnostics.sources.size() - 1;
  bool hasImports = llvm::any_of(module->body, [](const Stmt *stmt) {
    return stmt->is<ImportStmt>() || stmt->is<FromImportStmt>();
  });
  auto owned = std::make_unique<FileScope>(*this, *module, !hasImports);
  FileScope &scope = *owned;
  addScope(std::move(owned));
  if (diagnostics.hasErrors())
    return nullptr;

  std::vector<std::string_view> names;
  const FileScope::Found *chosen = nullptr;
  for (const FileScope::Found &found : scope.functions()) {
    names.push_back(found.name);
    if (request.function.empty() || found.name == request.function)
      chosen = &found;
  }
  if (!chosen) {
    if (names.empty())
      reportNoFunction(*module, scope, file);
    else
      diagnostics.error({file, 0, 0}, "the file has no @tsr.function '" + request.function + "'")
          .didYouMean(closestName(request.function, names))
          .fixIts.clear();
    return nullptr;
  }
  if (request.function.empty() && names.size() > 1) {
    Diagnostic &report = diagnostics.error({file, 0, 0}, "the file has several functions; name one "
                                                         "of them as FILE::FUNCTION");
    for (const FileScope::Found &found : scope.functions())
      report.note(found.def->nameRange, "'" + found.name + "' is defined here");
    return nullptr;
  }
  size_t errors = diagnostics.errorCount();
  readDecorators(scope, *chosen->def);
  if (diagnostics.errorCount() != errors)
    return nullptr;
  return applyGradients(addFunction(chosen->def, &scope, chosen->name), chosen->gradients);
}

std::map<std::string, std::string> tessera::decoratorOptions(const Request &request) {
  Diagnostics unreported;
  Program program(request, unreported);
  return program.load() ? program.options : std::map<std::string, std::string>();
}

std::vector<std::string> tessera::findFunctions(const SourceText &source,
                                                Diagnostics &diagnostics) {
  Request request;
  request.source = source;
  Program program(request, diagnostics);
  uint32_t file =
      diagnostics.sources.add(source.file, source.text, source.firstLine, source.columnShift);
  std::unique_ptr<Module> module = parseModule(diagnostics, file);
  bool hasImports = llvm::any_of(module->body, [](const Stmt *stmt) {
    return stmt->is<ImportStmt>() || stmt->is<FromImportStmt>();
  });
  FileScope scope(program, *module, !hasImports);
  std::vector<std::string> names;
  for (const FileScope::Found &found : scope.functions())
    names.push_back(found.name);
  return names;
}
