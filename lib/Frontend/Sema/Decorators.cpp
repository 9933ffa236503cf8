//===- Decorators.cpp - Options that a file's decorators give
//-----------------------------------===//
//
// `@tsr.function(numerics="strict")`, `@tsr.function(numerics=tsr.numerics(matmul="tf32"))` and
// `@tsr.accum(fp32)`, as the command line reads them from the text. From Python the same options
// come checked (python/tessera/options.py), which has the same table.
//
//===------------------------------------------------------------------------------------------===//
#include "Program.h"

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

namespace {

struct Option {
  std::string_view name;
  enum { Words, Bool, Type, Anything } kind;
  std::vector<std::string_view> words = {};
};

} // namespace

static const std::vector<Option> &knownOptions() {
  static const auto *options = new std::vector<Option>{
      {"numerics", Option::Words, {"default", "strict"}},
      {"matmul", Option::Words, {"default", "fp32", "tf32", "bf16"}},
      {"fast_math", Option::Bool},
      {"deterministic", Option::Bool},
      {"batch_invariant", Option::Bool},
      {"accum", Option::Type},
      {"via", Option::Words, {"auto", "tileir", "ptx"}},
      {"alignment", Option::Words, {"default", "element"}},
      {"indices", Option::Words, {"default", "64"}},
      {"strides", Option::Words, {"default", "any"}},
      {"target", Option::Anything},
  };
  return *options;
}

/// The text of an option's value; empty for what has none.
static std::string optionText(const Expr *expr) {
  if (const auto *text = expr->as<StringExpr>())
    return std::string(text->value);
  if (const auto *boolean = expr->as<BoolExpr>())
    return boolean->value ? "true" : "false";
  if (const auto *integer = expr->as<IntegerExpr>())
    return std::to_string(integer->value);
  if (const auto *name = expr->as<NameExpr>())
    return std::string(name->name);
  if (const auto *attribute = expr->as<AttributeExpr>())
    return std::string(attribute->name);
  return "";
}

/// "'a', 'b' or 'c'"
static std::string choice(const std::vector<std::string_view> &words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0                  ? ""
             : i + 1 == words.size() ? " or "
                                     : ", ") +
            ("'" + std::string(words[i]) + "'");
  return text;
}

void Program::readOption(std::string_view name, SourceRange nameRange, const Expr *value) {
  const Option *known = nullptr;
  std::vector<std::string_view> names;
  for (const Option &option : knownOptions()) {
    names.push_back(option.name);
    if (option.name == name)
      known = &option;
  }
  if (!known) {
    diagnostics.error(nameRange, "there is no option '" + std::string(name) + "'")
        .didYouMean(closestName(name, names));
    return;
  }
  std::string text = optionText(value);
  std::string quoted = "option '" + std::string(name) + "'", expected;
  switch (known->kind) {
  case Option::Words:
    if (!value->is<StringExpr>() || !llvm::is_contained(known->words, text))
      expected = choice(known->words);
    break;
  case Option::Bool:
    expected = value->is<BoolExpr>() ? "" : "True or False";
    break;
  case Option::Type:
    expected = value->is<StringExpr>() || !dtypeByName(text) ? "an element type" : "";
    break;
  case Option::Anything:
    break;
  }
  if (!expected.empty()) {
    std::string found(diagnostics.sources.text(value->range));
    Diagnostic &report = diagnostics.error(value->range, "expected " + expected + " for " + quoted +
                                                             ", found " + found.substr(0, 40));
    if (std::string_view near = closestName(text, known->words);
        known->kind == Option::Words && value->is<StringExpr>() && !near.empty())
      report.fix(value->range, '"' + std::string(near) + '"');
    return;
  }
  options[std::string(name)] = text;
}

void Program::readDecorators(const FileScope &scope, const FunctionStmt &def) {
  for (const Expr *decorator : def.decorators) {
    const auto *call = decorator->as<CallExpr>();
    std::string path = scope.qualifiedName(call ? call->callee : decorator);
    if (path == "tessera.accum") {
      if (call && call->args.size() == 1 && call->keywords.empty())
        readOption("accum", call->callee->range, call->args[0]);
      else
        diagnostics.error(decorator->range, "expected one element type for 'accum'");
    }
    if (path != "tessera.function" || !call)
      continue;
    for (const Expr *arg : call->args)
      diagnostics.error(arg->range, "options are given by name, as in numerics=\"strict\"");
    for (const KeywordArg &keyword : call->keywords) {
      const auto *policy = keyword.value->as<CallExpr>();
      bool isPolicy = policy && scope.qualifiedName(policy->callee) == "tessera.numerics";
      if (keyword.name != "numerics" || !isPolicy) {
        readOption(keyword.name, keyword.nameRange, keyword.value);
        continue;
      }
      for (const Expr *arg : policy->args)
        diagnostics.error(arg->range, "a policy is given by names, as in matmul=\"tf32\"");
      for (const KeywordArg &part : policy->keywords)
        readOption(part.name, part.nameRange, part.value);
    }
  }
}

/// A file without a function to compile: a misspelled decorator, or none.
void Program::reportNoFunction(const Module &module, const FileScope &scope, uint32_t file) {
  const FunctionStmt *plain = nullptr;
  for (const Stmt *stmt : module.body) {
    const auto *def = stmt->as<FunctionStmt>();
    if (!def)
      continue;
    if (!plain)
      plain = def;
    for (const Expr *decorator : def->decorators) {
      const auto *call = decorator->as<CallExpr>();
      const auto *named = (call ? call->callee : decorator)->as<AttributeExpr>();
      if (!named || scope.qualifiedName(named->base) != "tessera" || named->name == "accum")
        continue;
      std::string name(named->name);
      bool other = otherName(name) == "function";
      static constexpr std::string_view decorators[] = {"function", "accum"};
      diagnostics.error(named->nameRange, "module 'tessera' has no decorator '" + name + "'")
          .didYouMean(other ? "function" : closestName(name, decorators));
      return;
    }
  }
  Diagnostic &report = diagnostics.error({file, 0, 0}, "the file has no @tsr.function");
  std::string spelled = scope.spelling("tessera.function");
  if (!plain)
    return;
  report.note(plain->nameRange, "add @tsr.function to this definition");
  if (!spelled.empty())
    report.notes.back().fix(plain->range.atBegin(), "@" + spelled + "\n");
}
