//===- AstPrinter.cpp - Syntax trees as short text, for tests ---------------------------------===//
#include "AstPrinter.h"

using namespace tessera;
using namespace tessera::ast;

static std::string print(const Expr *expr);

static std::string printAll(ExprList list) {
  std::string out;
  for (const Expr *expr : list)
    out += " " + print(expr);
  return out;
}

static std::string text(std::string_view view) { return std::string(view); }

static std::string print(const Expr *expr) {
  if (!expr)
    return "_";
  switch (expr->kind) {
  case ExprKind::Name:
    return text(expr->as<NameExpr>()->name);
  case ExprKind::Integer:
    return expr->as<IntegerExpr>()->overflow ? "<overflow>"
                                             : std::to_string(expr->as<IntegerExpr>()->value);
  case ExprKind::Float:
    return std::to_string(expr->as<FloatExpr>()->value);
  case ExprKind::String:
    return "\"" + text(expr->as<StringExpr>()->value) + "\"";
  case ExprKind::Bool:
    return expr->as<BoolExpr>()->value ? "True" : "False";
  case ExprKind::None:
    return "None";
  case ExprKind::Ellipsis:
    return "...";
  case ExprKind::Unary:
    return "(" + text(spelling(expr->as<UnaryExpr>()->op)) + " " +
           print(expr->as<UnaryExpr>()->operand) + ")";
  case ExprKind::Binary:
    return "(" + text(spelling(expr->as<BinaryExpr>()->op)) + " " +
           print(expr->as<BinaryExpr>()->left) + " " + print(expr->as<BinaryExpr>()->right) + ")";
  case ExprKind::Logical:
    return (expr->as<LogicalExpr>()->isAnd ? "(and" : "(or") +
           printAll(expr->as<LogicalExpr>()->operands) + ")";
  case ExprKind::Compare: {
    const auto *node = expr->as<CompareExpr>();
    std::string out = "(cmp " + print(node->operands[0]);
    for (size_t i = 0; i < node->ops.size(); ++i)
      out += " " + text(spelling(node->ops[i])) + " " + print(node->operands[i + 1]);
    return out + ")";
  }
  case ExprKind::Conditional: {
    const auto *node = expr->as<ConditionalExpr>();
    return "(if " + print(node->condition) + " " + print(node->whenTrue) + " " +
           print(node->whenFalse) + ")";
  }
  case ExprKind::Call: {
    const auto *node = expr->as<CallExpr>();
    std::string out = "(call " + print(node->callee) + printAll(node->args);
    for (const KeywordArg &keyword : node->keywords)
      out += " " + text(keyword.name) + "=" + print(keyword.value);
    return out + ")";
  }
  case ExprKind::Attribute:
    return "(. " + print(expr->as<AttributeExpr>()->base) + " " +
           text(expr->as<AttributeExpr>()->name) + ")";
  case ExprKind::Subscript:
    return "(index " + print(expr->as<SubscriptExpr>()->base) +
           printAll(expr->as<SubscriptExpr>()->indices) + ")";
  case ExprKind::Slice: {
    const auto *node = expr->as<SliceExpr>();
    return "(slice " + print(node->lower) + " " + print(node->upper) + " " + print(node->step) +
           ")";
  }
  case ExprKind::Tuple:
    return "(tuple" + printAll(expr->as<TupleExpr>()->elements) + ")";
  case ExprKind::List:
    return "(list" + printAll(expr->as<ListExpr>()->elements) + ")";
  case ExprKind::Unsupported:
    return "(unsupported " + text(expr->as<UnsupportedExpr>()->what) + ")";
  case ExprKind::Error:
    return "<error>";
  }
  return "";
}

static std::string print(const Stmt *stmt);

static std::string print(Block block) {
  std::string out = "{";
  for (size_t i = 0; i < block.size(); ++i)
    out += (i ? "; " : "") + print(block[i]);
  return out + "}";
}

static std::string print(const Param &param) {
  static constexpr std::string_view marks[] = {"", "*", "/", "*args ", "**kwargs "};
  std::string out = text(marks[unsigned(param.kind)]) + text(param.name);
  if (param.annotation)
    out += ":" + print(param.annotation);
  if (param.defaultValue)
    out += "=" + print(param.defaultValue);
  return out;
}

static std::string print(std::span<ImportedName> names) {
  std::string out;
  for (const ImportedName &name : names)
    out += " " + text(name.name) + (name.alias.empty() ? "" : ":" + text(name.alias));
  return out;
}

static std::string print(const Stmt *stmt) {
  switch (stmt->kind) {
  case StmtKind::Function: {
    const auto *node = stmt->as<FunctionStmt>();
    std::string out = node->isAsync ? "(async def " : "(def ";
    out += text(node->name) + " [";
    for (size_t i = 0; i < node->params.size(); ++i)
      out += (i ? " " : "") + print(node->params[i]);
    out += "]";
    if (node->returns)
      out += " -> " + print(node->returns);
    for (const Expr *decorator : node->decorators)
      out += " @" + print(decorator);
    return out + " " + print(node->body) + ")";
  }
  case StmtKind::Class:
    return "(class " + text(stmt->as<ClassStmt>()->name) + " " +
           print(stmt->as<ClassStmt>()->body) + ")";
  case StmtKind::Import:
    return "(import" + print(stmt->as<ImportStmt>()->names) + ")";
  case StmtKind::FromImport:
    return "(from " + text(stmt->as<FromImportStmt>()->module) +
           (stmt->as<FromImportStmt>()->star ? " *" : print(stmt->as<FromImportStmt>()->names)) +
           ")";
  case StmtKind::Assign:
    return "(=" + printAll(stmt->as<AssignStmt>()->targets) + " " +
           print(stmt->as<AssignStmt>()->value) + ")";
  case StmtKind::AugAssign:
    return "(" + text(spelling(stmt->as<AugAssignStmt>()->op)) + "= " +
           print(stmt->as<AugAssignStmt>()->target) + " " +
           print(stmt->as<AugAssignStmt>()->value) + ")";
  case StmtKind::AnnAssign: {
    const auto *node = stmt->as<AnnAssignStmt>();
    return "(: " + print(node->target) + " " + print(node->annotation) +
           (node->value ? " " + print(node->value) : "") + ")";
  }
  case StmtKind::Return: {
    const Expr *value = stmt->as<ReturnStmt>()->value;
    return value ? "(return " + print(value) + ")" : "(return)";
  }
  case StmtKind::For: {
    const auto *node = stmt->as<ForStmt>();
    return "(for " + print(node->target) + " " + print(node->iterable) + " " + print(node->body) +
           (node->orElse.empty() ? "" : " else " + print(node->orElse)) + ")";
  }
  case StmtKind::If: {
    const auto *node = stmt->as<IfStmt>();
    std::string out = "(if";
    for (const IfBranch &branch : node->branches)
      out += " " + print(branch.condition) + " " + print(branch.body);
    return out + (node->orElse.empty() ? "" : " else " + print(node->orElse)) + ")";
  }
  case StmtKind::Assert:
    return "(assert " + print(stmt->as<AssertStmt>()->condition) + ")";
  case StmtKind::Pass:
    return "(pass)";
  case StmtKind::Break:
    return "(break)";
  case StmtKind::Continue:
    return "(continue)";
  case StmtKind::Expression:
    return print(stmt->as<ExpressionStmt>()->value);
  case StmtKind::Unsupported:
    return "(unsupported " + text(stmt->as<UnsupportedStmt>()->what) + ")";
  case StmtKind::Error:
    return "(error)";
  }
  return "";
}

std::string tessera::printTree(Block block) {
  std::string out;
  for (const Stmt *stmt : block)
    out += print(stmt) + "\n";
  return out;
}
