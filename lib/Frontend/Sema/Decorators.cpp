//===- Decorators.cpp - Options that a file's decorators give
//-----------------------------------===//
//
// `@tsr.function(numerics="strict")`, `@tsr.function(numerics=tsr.numerics(matmul="tf32"))`,
// `@tsr.accum(fp32)` and `@tsr.schedule(num_stages=4, **{"tile.m": 128})`, as the command line
// reads them from the text. From Python the same options arrive checked
// (python/tessera/options.py), with the same table.
//
//===------------------------------------------------------------------------------------------===//
#include "Program.h"

#include "tessera/Support/ScheduleOverride.h"

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

namespace {

struct Option {
  std::string_view name;
  enum { Words, Bool, Accumulator, Count, Anything } kind;
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
      {"accum", Option::Accumulator},
      {"via", Option::Words, {"auto", "tileir", "ptx"}},
      {"alignment", Option::Words, {"default", "element"}},
      {"indices", Option::Words, {"default", "64"}},
      {"strides", Option::Words, {"default", "any"}},
      {"optimization_level", Option::Words, {"0", "1", "2", "3"}},
      {"tensor_cores", Option::Bool},
      {"profiling", Option::Bool},
      {"tuning", Option::Bool},
      {"residual_bytes", Option::Count},
      {"schedule", Option::Anything},
      {"target", Option::Anything},
      {"grad", Option::Anything},
      {"residuals", Option::Anything},
      {"tier", Option::Words, {"auto", "1", "2", "3"}},
      {"hot", Option::Anything},
  };
  return *options;
}

/// The text of an option's value; empty if it has none.
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

static const Option *findOption(std::string_view name) {
  for (const Option &option : knownOptions())
    if (option.name == name)
      return &option;
  return nullptr;
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

/// The values that the option accepts if `text` is not one of them; otherwise empty.
static std::string expectedValue(const Option &option, std::string_view text) {
  switch (option.kind) {
  case Option::Words:
    return llvm::is_contained(option.words, text) ? "" : choice(option.words);
  case Option::Bool:
    return text == "true" || text == "false" ? "" : "True or False";
  case Option::Accumulator: {
    std::optional<DType> type = dtypeByName(text);
    return type == DType::FP32 || type == DType::FP64 ? "" : "fp32 or fp64";
  }
  case Option::Count: {
    uint64_t count;
    return llvm::StringRef(text).getAsInteger(10, count) ? "a number of at least 0" : "";
  }
  case Option::Anything:
    break;
  }
  return "";
}

void Program::readOption(std::string_view name, SourceRange nameRange, const Expr *value) {
  const Option *known = findOption(name);
  if (!known) {
    std::vector<std::string_view> names;
    for (const Option &option : knownOptions())
      names.push_back(option.name);
    diagnostics.error(nameRange, "there is no option '" + std::string(name) + "'")
        .didYouMean(closestName(name, names));
    return;
  }
  std::string text = optionText(value);
  // Strings are words; numbers, bools and types are not.
  bool isString = value->is<StringExpr>();
  bool written = known->kind == Option::Words         ? isString || value->is<IntegerExpr>()
                 : known->kind == Option::Bool        ? value->is<BoolExpr>()
                 : known->kind == Option::Accumulator ? !isString
                 : known->kind == Option::Count       ? value->is<IntegerExpr>()
                                                      : true;
  std::string expected = expectedValue(*known, written ? text : "");
  // When calls are compiled is the caller's concern.
  if (expected.empty() && (name == "tier" || name == "hot"))
    return;
  if (expected.empty()) {
    options[std::string(name)] =
        known->kind == Option::Accumulator ? std::string(dtypeName(*dtypeByName(text))) : text;
    return;
  }
  std::string found(diagnostics.sources.text(value->range));
  Diagnostic &report =
      diagnostics.error(value->range, "expected " + expected + " for option '" + std::string(name) +
                                          "', found " + found.substr(0, 40));
  if (std::string_view near = closestName(text, known->words); isString && !near.empty())
    report.fix(value->range, '"' + std::string(near) + '"');
}

bool Program::checkOptions() {
  size_t errors = diagnostics.errorCount();
  for (const auto &[name, text] : request.options) {
    const Option *known = findOption(name);
    std::string expected = known ? expectedValue(*known, text) : "";
    if (!expected.empty())
      diagnostics.error({}, "expected " +
                                (known->kind == Option::Bool ? "true or false" : expected) +
                                " for option '" + name + "', found '" + text + "'");
  }
  return diagnostics.errorCount() == errors;
}

/// `@tsr.schedule("tile.m=128", kernel=0, num_stages=4)` as the text of the option `schedule`.
/// Several decorators add up.
void Program::readSchedule(const Expr *decorator) {
  const auto *call = decorator->as<CallExpr>();
  std::string text;
  auto add = [&](std::string_view name, const Expr *value) {
    std::string word = value->is<NoneExpr>() ? "none" : optionText(value);
    if (word.empty() || value->is<BoolExpr>())
      diagnostics.error(value->range, "expected a number, None or a string in 'schedule'");
    text += (text.empty() ? "" : ",") + (name.empty() ? "" : std::string(name) + "=") + word;
  };
  if (call) {
    for (const KeywordArg &keyword : call->keywords)
      add(keyword.name, keyword.value);
    for (const Expr *arg : call->args)
      add("", arg);
  }
  if (text.empty()) {
    diagnostics.error(decorator->range,
                      "expected choices for 'schedule', such as \"tile.m=128\" or num_stages=4");
    return;
  }
  std::string &option = options["schedule"], problem;
  // The decorator closest to the function is applied first.
  option = text + (option.empty() ? "" : ";") + option;
  if (!parseScheduleOverrides(option, problem))
    diagnostics.error(decorator->range, "schedule: " + problem);
}

void Program::readDecorators(const FileScope &scope, const FunctionStmt &def) {
  for (const Expr *decorator : def.decorators) {
    const auto *call = decorator->as<CallExpr>();
    std::string path = scope.qualifiedName(call ? call->callee : decorator);
    if (path == "tessera.accum") {
      if (call && call->args.size() == 1 && call->keywords.empty())
        readOption("accum", call->callee->range, call->args[0]);
      else
        diagnostics.error(decorator->range, "expected fp32 or fp64 for 'accum'");
    }
    if (path == "tessera.schedule")
      readSchedule(decorator);
    if ((path != "tessera.function" && path != "tessera.jit") || !call)
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

/// A file without a decorated function: a misspelled decorator, or none.
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
      if (!named || scope.qualifiedName(named->base) != "tessera" || named->name == "accum" ||
          named->name == "schedule")
        continue;
      std::string name(named->name);
      bool other = otherName(name) == "function";
      static constexpr std::string_view decorators[] = {"function", "jit",        "accum",
                                                        "schedule", "custom_vjp", "checkpoint"};
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
