//===- AST.cpp - The arena, spellings, and the report of unsupported nodes -===//
#include "tessera/Frontend/AST/AST.h"

#include <algorithm>

using namespace tessera;
using namespace tessera::ast;

void *Arena::allocate(size_t size, size_t align) {
  auto aligned = [&](char *p) {
    return reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(p) + align - 1) & ~(align - 1));
  };
  char *start = aligned(next);
  if (!next || start + size > end) {
    size_t slab = std::max<size_t>(size + align, 1 << 16);
    slabs.push_back(std::make_unique_for_overwrite<char[]>(slab));
    next = slabs.back().get();
    end = next + slab;
    start = aligned(next);
  }
  next = start + size;
  return start;
}

std::string_view ast::spelling(UnaryOp op) {
  static constexpr std::string_view names[] = {"-", "+", "~", "not"};
  return names[unsigned(op)];
}

std::string_view ast::spelling(BinaryOp op) {
  static constexpr std::string_view names[] = {"+",  "-",  "*",  "@", "/", "//", "%",
                                               "**", "<<", ">>", "&", "|", "^"};
  return names[unsigned(op)];
}

std::string_view ast::spelling(CompareOp op) {
  static constexpr std::string_view names[] = {"==", "!=", "<",      "<=", ">",
                                               ">=", "is", "is not", "in", "not in"};
  return names[unsigned(op)];
}

namespace {

/// Visits a function and reports the unsupported nodes. The height of trees is bounded.
class UnsupportedReporter {
public:
  explicit UnsupportedReporter(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  void report(SourceRange range, std::string_view what, std::string_view instead) {
    std::string message(what);
    message += " is not supported in a @tsr.function";
    if (!instead.empty()) {
      message += "; ";
      message += instead;
    }
    diagnostics.error(range, std::move(message));
  }

  void visit(const Expr *expr) {
    if (!expr)
      return;
    switch (expr->kind) {
    case ExprKind::Unsupported: {
      const auto *node = expr->as<UnsupportedExpr>();
      return report(node->range, node->what, node->instead);
    }
    case ExprKind::Unary:
      return visit(expr->as<UnaryExpr>()->operand);
    case ExprKind::Binary:
      visit(expr->as<BinaryExpr>()->left);
      return visit(expr->as<BinaryExpr>()->right);
    case ExprKind::Logical:
      return visit(expr->as<LogicalExpr>()->operands);
    case ExprKind::Compare:
      return visit(expr->as<CompareExpr>()->operands);
    case ExprKind::Conditional:
      visit(expr->as<ConditionalExpr>()->whenTrue);
      visit(expr->as<ConditionalExpr>()->condition);
      return visit(expr->as<ConditionalExpr>()->whenFalse);
    case ExprKind::Call:
      visit(expr->as<CallExpr>()->callee);
      visit(expr->as<CallExpr>()->args);
      for (const KeywordArg &keyword : expr->as<CallExpr>()->keywords)
        visit(keyword.value);
      return;
    case ExprKind::Attribute:
      return visit(expr->as<AttributeExpr>()->base);
    case ExprKind::Subscript:
      visit(expr->as<SubscriptExpr>()->base);
      return visit(expr->as<SubscriptExpr>()->indices);
    case ExprKind::Slice:
      visit(expr->as<SliceExpr>()->lower);
      visit(expr->as<SliceExpr>()->upper);
      return visit(expr->as<SliceExpr>()->step);
    case ExprKind::Tuple:
      return visit(expr->as<TupleExpr>()->elements);
    case ExprKind::List:
      return visit(expr->as<ListExpr>()->elements);
    default:
      return;
    }
  }

  void visit(ExprList list) {
    for (const Expr *expr : list)
      visit(expr);
  }

  void visit(Block block) {
    for (const Stmt *stmt : block)
      visit(stmt);
  }

  void visit(const Stmt *stmt) {
    switch (stmt->kind) {
    case StmtKind::Function:
      return report(stmt->as<FunctionStmt>()->nameRange, "a nested function",
                    "define it outside with @tsr.function");
    case StmtKind::Class:
      return report(stmt->as<ClassStmt>()->nameRange, "a class", "define it outside");
    case StmtKind::Import:
    case StmtKind::FromImport:
      return report(stmt->range, "an import", "import at the top of the file");
    case StmtKind::Unsupported: {
      const auto *node = stmt->as<UnsupportedStmt>();
      return report(node->range, node->what, node->instead);
    }
    case StmtKind::Assign:
      visit(stmt->as<AssignStmt>()->targets);
      return visit(stmt->as<AssignStmt>()->value);
    case StmtKind::AugAssign:
      visit(stmt->as<AugAssignStmt>()->target);
      return visit(stmt->as<AugAssignStmt>()->value);
    case StmtKind::AnnAssign:
      return visit(stmt->as<AnnAssignStmt>()->value);
    case StmtKind::Return:
      return visit(stmt->as<ReturnStmt>()->value);
    case StmtKind::For:
      visit(stmt->as<ForStmt>()->iterable);
      visit(stmt->as<ForStmt>()->body);
      return visit(stmt->as<ForStmt>()->orElse);
    case StmtKind::If:
      for (const IfBranch &branch : stmt->as<IfStmt>()->branches) {
        visit(branch.condition);
        visit(branch.body);
      }
      return visit(stmt->as<IfStmt>()->orElse);
    case StmtKind::Assert:
      return visit(stmt->as<AssertStmt>()->condition);
    case StmtKind::Expression:
      return visit(stmt->as<ExpressionStmt>()->value);
    default:
      return;
    }
  }

private:
  Diagnostics &diagnostics;
};

} // namespace

void ast::reportUnsupported(const FunctionStmt &function, Diagnostics &diagnostics) {
  UnsupportedReporter reporter(diagnostics);
  if (function.isAsync)
    reporter.report(function.nameRange, "'async'", "write a plain def");
  for (const Param &param : function.params) {
    if (param.kind == ParamKind::VarArgs)
      reporter.report(param.nameRange, "a '*' parameter", "name each parameter");
    else if (param.kind == ParamKind::VarKeywords)
      reporter.report(param.nameRange, "a '**' parameter", "name each parameter");
    reporter.visit(param.defaultValue);
  }
  reporter.visit(function.body);
}
