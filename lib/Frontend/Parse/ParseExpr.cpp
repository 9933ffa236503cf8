//===- ParseExpr.cpp - Expressions ------------------------------------------------------------===//
#include "ParserImpl.h"

using namespace tessera;
using namespace tessera::ast;

Parser::DepthScope::DepthScope(Parser &parser) : parser(parser), ok(++parser.depth <= maxDepth) {
  if (!ok)
    parser.fail(parser.current.range, "expression is nested too deeply");
}

void Parser::over(Expr *node, const Expr *child) {
  if (!child || node->height > child->height)
    return;
  if (child->height >= maxHeight) {
    fail(node->range.atBegin(),
         "expression is nested too deeply; assign a part of it to a name first");
    return;
  }
  node->height = child->height + 1;
}

Expr *Parser::errorExpr() { return expr<ErrorExpr>(current.range); }

Expr *Parser::unsupportedExpr(SourceRange range, std::string_view what, std::string_view instead) {
  auto *node = expr<UnsupportedExpr>(range);
  node->what = what;
  node->instead = instead;
  return node;
}

//===------------------------------------------------------------------------------------------===//
// From lists down to comparisons
//===------------------------------------------------------------------------------------------===//

/// One expression, or a tuple without parentheses.
Expr *Parser::parseExpressionList() {
  Expr *first = parseStarredOrExpression();
  if (!at(Tok::Comma))
    return first;
  std::vector<Expr *> elements = {first};
  while (accept(Tok::Comma)) {
    if (current.isAny(Tok::Newline, Tok::Equal, Tok::Semicolon, Tok::Colon, Tok::RParen,
                      Tok::RSquare, Tok::RBrace, Tok::EndOfFile))
      break;
    elements.push_back(parseStarredOrExpression());
  }
  auto *node = expr<TupleExpr>(first->range.to(previous));
  node->elements = arena.copy(elements);
  over(node, node->elements);
  return node;
}

Expr *Parser::parseStarredOrExpression() {
  if (!at(Tok::Star))
    return parseExpression();
  SourceRange begin = advance().range;
  parseBinary(0);
  return unsupportedExpr(begin.to(previous), "'*' (unpacking)", "write each element by itself");
}

/// Any expression, including an assignment expression.
Expr *Parser::parseExpression() {
  if (at(Tok::kw_lambda))
    return parseLambda();
  if (at(Tok::kw_yield))
    return parseYield();
  if (at(Tok::Identifier) && following.is(Tok::ColonEqual)) {
    DepthScope scope(*this);
    if (!scope)
      return errorExpr();
    SourceRange begin = advance().range;
    advance();
    parseExpression();
    return unsupportedExpr(begin.to(previous), "':='", "assign in a statement of its own");
  }
  return parseTernary();
}

/// `a if c else b`; a chain of them is right-associative and parsed by a loop.
Expr *Parser::parseTernary() {
  struct Pending {
    Expr *whenTrue;
    Expr *condition;
  };
  std::vector<Pending> pending;
  Expr *value = parseLogical(false);
  while (at(Tok::kw_if)) {
    if (pending.size() >= maxHeight) {
      fail(current.range, "expression is nested too deeply");
      break;
    }
    advance();
    Expr *condition = parseLogical(false);
    if (!expect(Tok::kw_else, " in the conditional expression"))
      return errorExpr();
    pending.push_back({value, condition});
    if (at(Tok::kw_lambda)) {
      value = parseLambda();
      break;
    }
    value = parseLogical(false);
  }
  for (; !pending.empty(); pending.pop_back()) {
    auto *node = expr<ConditionalExpr>(pending.back().whenTrue->range.to(value->range));
    node->whenTrue = pending.back().whenTrue;
    node->condition = pending.back().condition;
    node->whenFalse = value;
    for (const Expr *part : {node->whenTrue, node->condition, node->whenFalse})
      over(node, part);
    value = node;
  }
  return value;
}

/// `or` of `and`s of `not`s.
Expr *Parser::parseLogical(bool isAnd) {
  auto operand = [&] { return isAnd ? parseNot() : parseLogical(true); };
  Tok word = isAnd ? Tok::kw_and : Tok::kw_or;
  Expr *first = operand();
  if (!at(word))
    return first;
  std::vector<Expr *> operands = {first};
  while (accept(word))
    operands.push_back(operand());
  auto *node = expr<LogicalExpr>(first->range.to(operands.back()->range));
  node->isAnd = isAnd;
  node->operands = arena.copy(operands);
  over(node, node->operands);
  return node;
}

Expr *Parser::parseNot() {
  if (!at(Tok::kw_not))
    return parseComparison();
  DepthScope scope(*this);
  if (!scope)
    return errorExpr();
  SourceRange begin = advance().range;
  Expr *operand = parseNot();
  auto *node = expr<UnaryExpr>(begin.to(operand->range));
  node->op = UnaryOp::Not;
  node->operand = operand;
  over(node, operand);
  return node;
}

bool Parser::acceptCompareOp(CompareOp &op) {
  switch (current.kind) {
  case Tok::EqualEqual:
    op = CompareOp::Eq;
    break;
  case Tok::NotEqual:
    op = CompareOp::Ne;
    break;
  case Tok::Less:
    op = CompareOp::Lt;
    break;
  case Tok::LessEqual:
    op = CompareOp::Le;
    break;
  case Tok::Greater:
    op = CompareOp::Gt;
    break;
  case Tok::GreaterEqual:
    op = CompareOp::Ge;
    break;
  case Tok::kw_in:
    op = CompareOp::In;
    break;
  case Tok::kw_is:
    op = CompareOp::Is;
    if (following.is(Tok::kw_not)) {
      advance();
      op = CompareOp::IsNot;
    }
    break;
  case Tok::kw_not:
    if (!following.is(Tok::kw_in))
      return false;
    advance();
    op = CompareOp::NotIn;
    break;
  default:
    return false;
  }
  advance();
  return true;
}

Expr *Parser::parseComparison() {
  Expr *first = parseBinary(0);
  CompareOp op;
  if (!acceptCompareOp(op))
    return first;
  std::vector<Expr *> operands = {first};
  std::vector<CompareOp> ops;
  std::vector<SourceRange> opRanges;
  do {
    ops.push_back(op);
    opRanges.push_back(previous);
    operands.push_back(parseBinary(0));
  } while (acceptCompareOp(op));
  auto *node = expr<CompareExpr>(first->range.to(operands.back()->range));
  node->operands = arena.copy(operands);
  node->ops = arena.copy(ops);
  node->opRanges = arena.copy(opRanges);
  over(node, node->operands);
  return node;
}

//===------------------------------------------------------------------------------------------===//
// Arithmetic
//===------------------------------------------------------------------------------------------===//

namespace {
struct BinaryInfo {
  unsigned precedence;
  BinaryOp op;
};
} // namespace

static std::optional<BinaryInfo> binaryInfo(Tok kind) {
  switch (kind) {
  case Tok::Pipe:
    return BinaryInfo{1, BinaryOp::Or};
  case Tok::Caret:
    return BinaryInfo{2, BinaryOp::Xor};
  case Tok::Amp:
    return BinaryInfo{3, BinaryOp::And};
  case Tok::LessLess:
    return BinaryInfo{4, BinaryOp::LeftShift};
  case Tok::GreaterGreater:
    return BinaryInfo{4, BinaryOp::RightShift};
  case Tok::Plus:
    return BinaryInfo{5, BinaryOp::Add};
  case Tok::Minus:
    return BinaryInfo{5, BinaryOp::Sub};
  case Tok::Star:
    return BinaryInfo{6, BinaryOp::Mul};
  case Tok::At:
    return BinaryInfo{6, BinaryOp::MatMul};
  case Tok::Slash:
    return BinaryInfo{6, BinaryOp::Div};
  case Tok::SlashSlash:
    return BinaryInfo{6, BinaryOp::FloorDiv};
  case Tok::Percent:
    return BinaryInfo{6, BinaryOp::Mod};
  default:
    return std::nullopt;
  }
}

/// Operators of other languages: `&&`, `||`, `++`, `--`. False after an error.
bool Parser::checkRepeated(BinaryOp op, SourceRange first) {
  SourceRange both = first.to(current.range);
  Diagnostic *report = nullptr;
  if (op == BinaryOp::And || op == BinaryOp::Or) {
    bool isAnd = op == BinaryOp::And;
    report = fail(both, isAnd ? "'&&' is not an operator; write '&' for tensors, 'and' for what is "
                                "known when compiling"
                              : "'||' is not an operator; write '|' for tensors, 'or' for what is "
                                "known when compiling");
    if (report)
      report->fix(both, isAnd ? "&" : "|");
    return false;
  }
  bool steps = (op == BinaryOp::Add || op == BinaryOp::Sub) &&
               following.isAny(Tok::Newline, Tok::Semicolon, Tok::RParen);
  if (!steps)
    return true;
  bool isAdd = op == BinaryOp::Add;
  report = fail(both, isAdd ? "'++' is not an operator; write '+= 1'"
                            : "'--' is not an operator; write '-= 1'");
  if (report)
    report->fix(both, isAdd ? " += 1" : " -= 1");
  return false;
}

/// Left-associative operators of at least `minPrecedence`, by precedence climbing.
Expr *Parser::parseBinary(unsigned minPrecedence) {
  Expr *left = parseUnary();
  while (std::optional<BinaryInfo> info = binaryInfo(current.kind)) {
    if (info->precedence < minPrecedence)
      break;
    SourceRange opRange = advance().range;
    if (repeats(opRange) && !checkRepeated(info->op, opRange))
      return left;
    Expr *right = parseBinary(info->precedence + 1);
    auto *node = expr<BinaryExpr>(left->range.to(right->range));
    node->op = info->op;
    node->left = left;
    node->right = right;
    node->opRange = opRange;
    over(node, left);
    over(node, right);
    left = node;
  }
  return left;
}

Expr *Parser::parseUnary() {
  UnaryOp op;
  switch (current.kind) {
  case Tok::Minus:
    op = UnaryOp::Negate;
    break;
  case Tok::Plus:
    op = UnaryOp::Plus;
    break;
  case Tok::Tilde:
    op = UnaryOp::Invert;
    break;
  default:
    return parsePower();
  }
  DepthScope scope(*this);
  if (!scope)
    return errorExpr();
  SourceRange begin = advance().range;
  Expr *operand = parseUnary();
  auto *node = expr<UnaryExpr>(begin.to(operand->range));
  node->op = op;
  node->operand = operand;
  over(node, operand);
  return node;
}

/// `**` binds tighter than a sign on its left, and looser than one on its right.
Expr *Parser::parsePower() {
  if (at(Tok::kw_await)) {
    SourceRange begin = advance().range;
    parsePostfix();
    return unsupportedExpr(begin, "'await'", "leave it out");
  }
  Expr *base = parsePostfix();
  if (!at(Tok::StarStar))
    return base;
  DepthScope scope(*this);
  if (!scope)
    return errorExpr();
  SourceRange opRange = advance().range;
  Expr *exponent = parseUnary();
  auto *node = expr<BinaryExpr>(base->range.to(exponent->range));
  node->op = BinaryOp::Pow;
  node->left = base;
  node->right = exponent;
  node->opRange = opRange;
  over(node, base);
  over(node, exponent);
  return node;
}
