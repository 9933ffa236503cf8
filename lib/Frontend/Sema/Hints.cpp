//===- Hints.cpp - Suggestions in messages --------------------------------===//
//
// Most errors are of a few kinds with a known fix: a name of another library, a method that is not
// called, a reduction without `keepdim`, `and` between tensors. This file adds these fixes to
// messages, as text and, if the source can be edited automatically, as replacements.
//
//===------------------------------------------------------------------------------------------===//
#include "Builtins.h"

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

//===------------------------------------------------------------------------------------------===//
// Texts
//===------------------------------------------------------------------------------------------===//

/// The first part of an expression that does not start with a token of its own.
static const Expr *firstPart(const Expr *expr) {
  switch (expr->kind) {
  case ExprKind::Binary:
    return expr->as<BinaryExpr>()->left;
  case ExprKind::Compare:
    return expr->as<CompareExpr>()->operands[0];
  case ExprKind::Logical:
    return expr->as<LogicalExpr>()->operands[0];
  case ExprKind::Conditional:
    return expr->as<ConditionalExpr>()->whenTrue;
  case ExprKind::Call:
    return expr->as<CallExpr>()->callee;
  default:
    return nullptr;
  }
}

/// The range of an expression includes the parentheses around it.
static bool isParenthesised(const Expr *expr) {
  const Expr *first = firstPart(expr);
  return first && expr->range.begin < first->range.begin;
}

static bool isOperation(const Expr *expr) {
  return expr->is<UnaryExpr>() || (firstPart(expr) && !expr->is<CallExpr>());
}

std::string Interpreter::textOf(const Expr *expr, bool asOperand) const {
  std::string text(diagnostics.sources.text(expr->range));
  if (text.size() > 100 || text.find_first_of("\r\n#") != std::string::npos)
    return "";
  bool wrap = asOperand && isOperation(expr) && !isParenthesised(expr) && !text.starts_with("(");
  return wrap ? "(" + text + ")" : text;
}

std::string Interpreter::spell(std::string_view name) const {
  return frame ? frame->function->scope->spelling("tessera." + std::string(name)) : "";
}

std::string Interpreter::usual(std::string_view name) const {
  std::string spelled = spell(name);
  return spelled.empty() ? "tsr." + std::string(name) : spelled;
}

//===------------------------------------------------------------------------------------------===//
// Operators
//===------------------------------------------------------------------------------------------===//

void Interpreter::hintDivision(ErrorBuilder &report, const Value &value) {
  if (value.division.isValid())
    report.help("use '//' to divide integers").fix(value.division, "//");
}

/// The location after the arguments of a reduction that could keep its dimensions and does not.
static SourceRange keepdimPlace(const Expr *expr) {
  const auto *call = expr->as<CallExpr>();
  const auto *callee = call ? call->callee->as<AttributeExpr>() : nullptr;
  const sema::Builtin *builtin = callee ? findMethod(callee->name) : nullptr;
  if (!builtin || isParenthesised(expr))
    return {};
  bool keeps = llvm::any_of(builtin->params, [](const auto &p) { return p.name == "keepdim"; });
  for (const KeywordArg &keyword : call->keywords)
    keeps &= keyword.name != "keepdim" && keyword.name != "keepdims";
  bool any = !call->args.empty() || !call->keywords.empty();
  return keeps && any ? SourceRange{expr->range.file, expr->range.end - 1, expr->range.end - 1}
                      : SourceRange();
}

void Interpreter::hintOperator(Diagnostic &report, BinaryOp op, const Value &left,
                               const Value &right, const Expr *leftExpr, const Expr *rightExpr) {
  for (const auto &[value, expr] : {std::pair(&left, leftExpr), std::pair(&right, rightExpr)}) {
    if (!value->is(Value::Builtin) || !value->elements)
      continue;
    bool alone = llvm::all_of(llvm::drop_begin(value->builtin->params),
                              [](const auto &p) { return p.otherwise || p.variadic; });
    report.message += "; call it";
    if (alone)
      report.fix(expr->range.atEnd(), "()");
    return;
  }
  if (!left.isTensor() || !right.isTensor())
    return;
  if (op == BinaryOp::MatMul) {
    bool contracts = report.message.starts_with("the contracted sizes");
    std::string text = textOf(rightExpr, true);
    if (!contracts || text.empty() || right.rank() < 2 ||
        left.shape().back() != right.shape().back())
      return;
    report.message += "; did you mean '" + text + ".mT'?";
    report.fix(rightExpr->range, text + ".mT");
    return;
  }
  if (!report.message.starts_with("sizes do not match") || left.rank() == right.rank())
    return;
  bool leftIsSmall = left.rank() < right.rank();
  const Value &small = leftIsSmall ? left : right, &big = leftIsSmall ? right : left;
  const Expr *smallExpr = leftIsSmall ? leftExpr : rightExpr;
  if (SourceRange place = keepdimPlace(smallExpr);
      place.isValid() && small.rank() + 1 == big.rank()) {
    report.message += "; keep the reduced dimension with keepdim=True";
    report.fix(place, ", keepdim=True");
    return;
  }
  if (small.rank() == 1 && big.rank() == 2 && small.shape()[0] == big.shape()[0]) {
    std::string text = textOf(smallExpr, true);
    report.message += "; for one number per row write '" + text + "[:, None]'";
    if (!text.empty())
      report.fix(smallExpr->range, text + "[:, None]");
  }
}

void Interpreter::hintPrecedence(const CompareExpr &expr) {
  Diagnostic *report = diagnostics.last();
  bool inside = report && report->range.file == expr.range.file &&
                report->range.begin >= expr.range.begin && report->range.end <= expr.range.end;
  if (!inside || !report->fixIts.empty() || expr.operands.size() != 3)
    return;
  const auto *middle = expr.operands[1]->as<BinaryExpr>();
  bool bitwise = middle && (middle->op == BinaryOp::And || middle->op == BinaryOp::Or ||
                            middle->op == BinaryOp::Xor);
  if (!bitwise || isParenthesised(middle))
    return;
  report->message += "; '" + std::string(spelling(middle->op)) +
                     "' binds tighter than comparisons: put them in parentheses";
  report->fix(expr.operands[0]->range.atBegin(), "(");
  report->fix(middle->left->range.atEnd(), ")");
  report->fix(middle->right->range.atBegin(), "(");
  report->fix(expr.operands[2]->range.atEnd(), ")");
}

std::string Interpreter::asBitwise(const LogicalExpr &expr) const {
  std::string joined;
  for (const Expr *operand : expr.operands) {
    std::string text = textOf(operand, true);
    if (text.empty())
      return "";
    if (!joined.empty())
      joined += expr.isAnd ? " & " : " | ";
    joined += text;
  }
  return isParenthesised(&expr) ? "(" + joined + ")" : joined;
}

//===------------------------------------------------------------------------------------------===//
// Names
//===------------------------------------------------------------------------------------------===//

static void collectTargets(const Expr *target, llvm::StringMap<SourceRange> &names) {
  if (const auto *name = target->as<NameExpr>())
    names.try_emplace(name->name, target->range);
  if (const auto *tuple = target->as<TupleExpr>())
    for (const Expr *element : tuple->elements)
      collectTargets(element, names);
  if (const auto *list = target->as<ListExpr>())
    for (const Expr *element : list->elements)
      collectTargets(element, names);
}

/// The names that statements assign, each with the first location.
static void collectAssigned(Block block, llvm::StringMap<SourceRange> &names) {
  for (const Stmt *stmt : block) {
    if (const auto *assign = stmt->as<AssignStmt>())
      for (const Expr *target : assign->targets)
        collectTargets(target, names);
    if (const auto *assign = stmt->as<AugAssignStmt>())
      collectTargets(assign->target, names);
    if (const auto *assign = stmt->as<AnnAssignStmt>(); assign && assign->value)
      collectTargets(assign->target, names);
    if (const auto *loop = stmt->as<ForStmt>()) {
      collectTargets(loop->target, names);
      collectAssigned(loop->body, names);
      collectAssigned(loop->orElse, names);
    }
    if (const auto *branches = stmt->as<IfStmt>()) {
      for (const IfBranch &branch : branches->branches)
        collectAssigned(branch.body, names);
      collectAssigned(branches->orElse, names);
    }
  }
}

SourceRange Interpreter::assignedAt(const std::string &name) {
  const FunctionStmt *def = frame->function->def;
  if (!def)
    return {};
  auto [it, isNew] = assigned.try_emplace(def);
  if (isNew)
    collectAssigned(def->body, it->second);
  return it->second.lookup(name);
}

/// Common Python functions that are not supported, and their replacements.
static std::optional<std::string_view> pythonFunction(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> functions[] = {
      {"enumerate", "write 'for i in range(len(...))'"},
      {"zip", "write 'for i in range(len(...))'"},
      {"map", "write a for loop"},
      {"filter", "write a for loop with 'if'"},
      {"reversed", "index with [::-1]"},
      {"isinstance", "look at .dtype, .ndim or 'is None'"},
      {"type", "look at .dtype"},
      {"list", "use a tuple"},
      {"getattr", "write the attribute"},
      {"sum", ""},
      {"any", ""},
      {"all", ""},
      {"print", ""},
      {"pow", ""},
      {"sorted", ""},
      {"dict", ""},
      {"set", ""},
      {"str", ""},
      {"setattr", ""},
      {"hasattr", ""},
      {"open", ""},
      {"input", ""},
      {"super", ""},
      {"iter", ""},
      {"next", ""},
      {"id", ""},
      {"vars", ""},
      {"repr", ""},
      {"format", ""},
      {"divmod", ""}};
  for (const auto &[known, instead] : functions)
    if (known == name)
      return instead;
  return std::nullopt;
}

Value Interpreter::unknownName(const std::string &name, SourceRange range,
                               const std::vector<std::string> &candidates) {
  std::string spelled = findBuiltin("tessera." + name) ? spell(name) : "";
  if (SourceRange place = assignedAt(name); place.isValid())
    return error(range, "'" + name + "' is used before it is assigned")
        .note(place, "it is assigned here");
  if (std::optional<std::string_view> instead = pythonFunction(name)) {
    ErrorBuilder report =
        error(range, "Python's '" + name + "' is not available in a @tsr.function");
    if (findBuiltin("tessera." + name))
      report.help("use " + usual(name));
    else if (!instead->empty())
      report.help(*instead);
    if (!spelled.empty())
      report.fix(range, spelled);
    return report;
  }
  std::vector<std::string_view> names(candidates.begin(), candidates.end());
  for (const auto &local : frame->locals)
    names.push_back({local.first().data(), local.first().size()});
  for (const auto &dim : frame->dims)
    names.push_back({dim.first().data(), dim.first().size()});
  for (std::string_view builtin : builtinNames(""))
    names.push_back(builtin);
  ErrorBuilder report = error(range, "unknown name '" + name + "'");
  if (findBuiltin("tessera." + name)) {
    report.help("write " + usual(name));
    if (!spelled.empty())
      report.fix(range, spelled);
  } else if (name == "math") {
    report.help("add 'import math' at the top of the file");
    if (SourceRange place = frame->function->scope->importPlace(); place.isValid())
      report.fix(place, "import math\n");
  } else if (name == "np" || name == "numpy" || name == "torch" || name == "jnp") {
    report.help("use the functions of tsr");
  } else {
    report.didYouMean(closestName(name, names));
  }
  return report;
}

//===------------------------------------------------------------------------------------------===//
// Attributes and calls
//===------------------------------------------------------------------------------------------===//

std::string_view sema::otherName(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"arcsin", "asin"},
      {"arccos", "acos"},
      {"arctan", "atan"},
      {"arctan2", "atan2"},
      {"power", "pow"},
      {"fabs", "abs"},
      {"expand_dims", "unsqueeze"},
      {"ravel", "flatten"},
      {"rint", "round"},
      {"fix", "trunc"},
      {"swapdims", "swapaxes"},
      {"hstack", "concat"},
      {"vstack", "concat"},
      {"mod", "remainder"},
      {"type", "to"},
      {"cast", "to"},
      {"ndimension", "dim"},
      {"nelement", "numel"},
      {"jit", "function"},
      {"compile", "function"}};
  for (const auto &[foreign, ours] : names)
    if (foreign == name &&
        (ours == "function" || findBuiltin("tessera." + std::string(ours)) || findMethod(ours)))
      return ours;
  return {};
}

/// Attributes of other libraries' tensors without a counterpart.
static std::string_view instead(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"item", "values are known only when the function has run: use the tensor itself"},
      {"tolist", "values are known only when the function has run: return the tensor"},
      {"numpy", "return the tensor, and convert it outside"},
      {"cpu", "a function runs where its arguments are"},
      {"cuda", "a function runs where its arguments are"},
      {"device", "a function runs where its arguments are"},
      {"backward", "gradients are those of a function: use tsr.grad(f, wrt=...)"},
      {"grad", "gradients are those of a function: use tsr.grad(f, wrt=...)"},
      {"requires_grad", "name the parameters in tsr.grad(f, wrt=...)"},
      {"requires_grad_", "name the parameters in tsr.grad(f, wrt=...)"},
      {"masked_fill", "use tsr.where(mask, value, x)"},
      {"masked_fill_", "use tsr.where(mask, value, x)"},
      {"tensor", "pass an array as an argument, or use tsr.full, tsr.zeros, tsr.arange"},
      {"array", "pass it as an argument, or use tsr.full, tsr.zeros, tsr.arange"}};
  for (const auto &[known, text] : names)
    if (known == name)
      return text;
  return {};
}

Value Interpreter::noAttribute(const Value &base, std::string_view name,
                               const AttributeExpr &expr) {
  std::string quoted = "'" + std::string(name) + "'";
  bool isModule = base.is(Value::Module);
  std::string owner = isModule                        ? "module '" + *base.text + "'"
                      : base.isTensor() && !base.weak ? "a tensor"
                                                      : describe(base);
  bool inPlace =
      base.isTensor() && name.ends_with("_") && findMethod(name.substr(0, name.size() - 1));
  if (inPlace) {
    std::string plain(name.substr(0, name.size() - 1)), text = textOf(expr.base);
    ErrorBuilder report = error(expr.nameRange, quoted + " would change a tensor in place");
    report.help("'" + plain + "' gives a new one").fix(expr.nameRange, plain);
    // A statement must use the result.
    const auto *call = statement ? statement->as<CallExpr>() : nullptr;
    if (call && call->callee == &expr && expr.base->is<NameExpr>())
      report.fix(statement->range.atBegin(), text + " = ");
    return report;
  }
  ErrorBuilder report = error(expr.nameRange, owner + " has no attribute " + quoted);
  if (std::string_view help = base.isTensor() || isModule ? instead(name) : ""; !help.empty())
    return report.help(help);
  if (std::string_view ours = base.isTensor() || isModule ? otherName(name) : ""; !ours.empty())
    return report.didYouMean(ours);
  if (base.isTensor())
    report.didYouMean(closestName(name, methodNames()));
  else if (isModule)
    report.didYouMean(closestName(name, languageNames(*base.text)));
  return report;
}

Value Interpreter::notCallable(const Value &callee, const CallExpr &call) {
  SourceRange after{call.range.file, call.callee->range.end, call.range.end};
  std::string arguments(diagnostics.sources.text(after));
  bool plain = arguments.size() >= 2 && arguments.front() == '(' && arguments.back() == ')' &&
               call.keywords.empty();
  std::string inside = plain ? arguments.substr(1, arguments.size() - 2) : "";
  const auto *attribute = call.callee->as<AttributeExpr>();
  const sema::Builtin *property = attribute ? findMethod(attribute->name) : nullptr;
  if (property && property->use & sema::Builtin::Property) {
    std::string name(attribute->name);
    ErrorBuilder report = error(attribute->nameRange, "'" + name + "' is not a method");
    bool indexed = !inside.empty() && callee.isSequence();
    report.help(indexed ? "index it with []" : "leave out the parentheses");
    if (plain && (indexed || inside.empty()))
      report.fix(after, indexed ? "[" + inside + "]" : "");
    return report;
  }
  ErrorBuilder report =
      error(call.callee->range, "expected a function to call, found " + describe(callee));
  if (callee.isTensor() && !callee.weak && !inside.empty())
    report.help("index it with []").fix(after, "[" + inside + "]");
  return report;
}
