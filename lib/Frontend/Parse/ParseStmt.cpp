//===- ParseStmt.cpp - Files, blocks and statements -------------------------------------------===//
#include "tessera/Frontend/Parse/Parser.h"

#include "ParserImpl.h"

using namespace tessera;
using namespace tessera::ast;

std::unique_ptr<Module> tessera::parseModule(Diagnostics &diagnostics, uint32_t file,
                                             bool snippet) {
  auto module = std::make_unique<Module>();
  module->body = Parser(diagnostics, file, snippet, module->arena).parseFile();
  return module;
}

//===------------------------------------------------------------------------------------------===//
// Tokens and errors
//===------------------------------------------------------------------------------------------===//

Token Parser::advance() {
  Token token = current;
  previous = token.range;
  current = following;
  following = lexer.next();
  return token;
}

bool Parser::accept(Tok kind) {
  if (!at(kind))
    return false;
  advance();
  return true;
}

std::string Parser::describeCurrent() const {
  if (at(Tok::Identifier) || at(Tok::Integer) || at(Tok::Float)) {
    std::string_view text = lexer.text(current.range);
    return "'" + std::string(text.substr(0, 40)) + (text.size() > 40 ? "..." : "") + "'";
  }
  return std::string(tokenName(current.kind));
}

Diagnostic *Parser::fail(SourceRange range, std::string message) {
  Diagnostic *report = nullptr;
  if (!failed && !at(Tok::Error))
    report = &diagnostics.error(range, std::move(message));
  failed = true;
  // Skipping may report lexer errors; a Diagnostic's address is stable when others are added.
  while (!current.isAny(Tok::Newline, Tok::EndOfFile))
    advance();
  return report;
}

bool Parser::atOperand() const {
  return current.isAny(Tok::Identifier, Tok::Integer, Tok::Float, Tok::String, Tok::kw_True,
                       Tok::kw_False, Tok::kw_None, Tok::LParen, Tok::Ellipsis);
}

bool Parser::expectClose(Tok kind, std::string_view where) {
  if (accept(kind))
    return true;
  bool comma = atOperand() && !failed;
  SourceRange after = previous.atEnd();
  std::string what = std::string(comma ? "',' or " : "") + std::string(tokenName(kind));
  if (Diagnostic *report = fail(current.range, "expected " + what + std::string(where) +
                                                   ", found " + describeCurrent());
      report && comma)
    report->fix(after, ",");
  return false;
}

void Parser::failExpected(std::string_view what) {
  fail(current.range, "expected " + std::string(what) + ", found " + describeCurrent());
}

bool Parser::expect(Tok kind, std::string_view where) {
  if (accept(kind))
    return true;
  failExpected(std::string(tokenName(kind)) + std::string(where));
  return false;
}

Stmt *Parser::unsupportedStmt(SourceRange range, std::string_view what, std::string_view instead,
                              const std::vector<Stmt *> &body) {
  auto *node = stmt<UnsupportedStmt>(range);
  node->what = what;
  node->instead = instead;
  node->body = arena.copy(body);
  return node;
}

//===------------------------------------------------------------------------------------------===//
// Blocks
//===------------------------------------------------------------------------------------------===//

Block Parser::parseFile() {
  std::vector<Stmt *> body;
  while (!at(Tok::EndOfFile)) {
    if (accept(Tok::Newline) || accept(Tok::Dedent))
      continue;
    parseStatement(body);
  }
  return arena.copy(body);
}

/// The statements of an indented block, up to its Dedent.
void Parser::parseIndented(std::vector<Stmt *> &out) {
  while (!current.isAny(Tok::Dedent, Tok::EndOfFile)) {
    if (accept(Tok::Newline))
      continue;
    parseStatement(out);
  }
  accept(Tok::Dedent);
}

/// `: simple; simple` or a colon and an indented block. `owner` names the statement in messages.
Block Parser::parseBlock(std::string_view owner) {
  std::vector<Stmt *> body;
  if (!accept(Tok::Colon)) {
    if (!failed && at(Tok::Newline)) {
      diagnostics.error(current.range, "expected ':' after " + std::string(owner))
          .fixIts.push_back({current.range, ":"});
      failed = true;
    } else {
      failExpected("':' after " + std::string(owner));
    }
  }
  if (!at(Tok::Newline)) {
    parseSimpleLine(body);
    return arena.copy(body);
  }
  bool headerFailed = failed;
  failed = false;
  advance();
  if (accept(Tok::Indent))
    parseIndented(body);
  else if (!headerFailed)
    diagnostics.error(current.range, "expected an indented block after " + std::string(owner));
  return arena.copy(body);
}

//===------------------------------------------------------------------------------------------===//
// Statements
//===------------------------------------------------------------------------------------------===//

void Parser::parseStatement(std::vector<Stmt *> &out) {
  failed = false;
  switch (current.kind) {
  case Tok::Indent:
    diagnostics.error(current.range, "unexpected indent");
    advance();
    return parseIndented(out);
  case Tok::At:
    return parseDecorated(out);
  case Tok::kw_def:
    return out.push_back(parseFunction({}, false));
  case Tok::kw_class:
    return out.push_back(parseClass());
  case Tok::kw_for:
    return out.push_back(parseFor());
  case Tok::kw_if:
    return out.push_back(parseIf());
  case Tok::kw_while:
    return out.push_back(parseWhile());
  case Tok::kw_try:
    return out.push_back(parseTry());
  case Tok::kw_with:
    return out.push_back(parseWith());
  case Tok::kw_async:
    return out.push_back(parseAsync({}));
  case Tok::kw_elif:
  case Tok::kw_else:
  case Tok::kw_except:
  case Tok::kw_finally: {
    std::string name(tokenName(current.kind));
    fail(current.range, name + " without a statement that it belongs to");
    advance();
    if (accept(Tok::Indent))
      parseIndented(out);
    return;
  }
  default:
    break;
  }
  if (atMatchStatement())
    return out.push_back(parseMatch(advance().range));
  parseSimpleLine(out);
}

/// Simple statements separated by semicolons, and the end of their line.
void Parser::parseSimpleLine(std::vector<Stmt *> &out) {
  do {
    if (at(Tok::Newline))
      break;
    Stmt *node = parseSimple();
    out.push_back(node);
    // `match (x):` parses as a call up to its colon.
    if (at(Tok::Colon) && following.is(Tok::Newline) && !failed &&
        lexer.text(node->range).starts_with("match")) {
      out.back() = parseMatch(node->range);
      return;
    }
  } while (accept(Tok::Semicolon));
  if (!current.isAny(Tok::Newline, Tok::EndOfFile))
    failExpected(atOperand() ? "an operator or the end of the line" : "the end of the line");
  bool lineFailed = failed;
  accept(Tok::Newline);
  // The block below a line with a syntax error is parsed for further errors.
  if (lineFailed && accept(Tok::Indent)) {
    failed = false;
    std::vector<Stmt *> ignored;
    parseIndented(ignored);
  }
}

Stmt *Parser::parseSimple() {
  SourceRange begin = current.range;
  switch (current.kind) {
  case Tok::kw_pass:
    advance();
    return stmt<PassStmt>(begin);
  case Tok::kw_break:
  case Tok::kw_continue: {
    bool isBreak = advance().is(Tok::kw_break);
    if (!loops)
      diagnostics.error(begin, isBreak ? "'break' outside a loop" : "'continue' outside a loop");
    return isBreak ? static_cast<Stmt *>(stmt<BreakStmt>(begin)) : stmt<ContinueStmt>(begin);
  }
  case Tok::kw_return: {
    advance();
    auto *node = stmt<ReturnStmt>(begin);
    if (!current.isAny(Tok::Newline, Tok::Semicolon, Tok::EndOfFile))
      node->value = parseExpressionList();
    node->range = begin.to(previous);
    return node;
  }
  case Tok::kw_assert: {
    advance();
    auto *node = stmt<AssertStmt>(begin);
    node->condition = parseExpression();
    if (accept(Tok::Comma))
      node->message = parseExpression();
    node->range = begin.to(previous);
    return node;
  }
  case Tok::kw_import:
    return parseImport();
  case Tok::kw_from:
    return parseFromImport();
  case Tok::kw_del:
    advance();
    parseExpressionList();
    return unsupportedStmt(begin, "'del'", "names end with the function");
  case Tok::kw_global:
  case Tok::kw_nonlocal: {
    std::string_view what = tokenName(advance().kind);
    do
      expect(Tok::Identifier, "");
    while (accept(Tok::Comma));
    return unsupportedStmt(begin, what, "return the new value instead");
  }
  case Tok::kw_raise:
    advance();
    if (!current.isAny(Tok::Newline, Tok::Semicolon, Tok::EndOfFile)) {
      parseExpression();
      if (accept(Tok::kw_from))
        parseExpression();
    }
    return unsupportedStmt(begin, "'raise'", "use 'assert' to check a static value");
  default:
    return parseExpressionOrAssignment();
  }
}

static std::optional<BinaryOp> augmentedOp(Tok kind) {
  switch (kind) {
  case Tok::PlusEqual:
    return BinaryOp::Add;
  case Tok::MinusEqual:
    return BinaryOp::Sub;
  case Tok::StarEqual:
    return BinaryOp::Mul;
  case Tok::AtEqual:
    return BinaryOp::MatMul;
  case Tok::SlashEqual:
    return BinaryOp::Div;
  case Tok::SlashSlashEqual:
    return BinaryOp::FloorDiv;
  case Tok::PercentEqual:
    return BinaryOp::Mod;
  case Tok::StarStarEqual:
    return BinaryOp::Pow;
  case Tok::LessLessEqual:
    return BinaryOp::LeftShift;
  case Tok::GreaterGreaterEqual:
    return BinaryOp::RightShift;
  case Tok::AmpEqual:
    return BinaryOp::And;
  case Tok::PipeEqual:
    return BinaryOp::Or;
  case Tok::CaretEqual:
    return BinaryOp::Xor;
  default:
    return std::nullopt;
  }
}

Stmt *Parser::parseExpressionOrAssignment() {
  SourceRange begin = current.range;
  // `type X = …` of Python 3.12.
  if (atKeyword("type") && following.is(Tok::Identifier)) {
    fail(begin, "a type alias is not supported");
    return stmt<ErrorStmt>(begin);
  }
  Expr *first = at(Tok::kw_yield) ? parseYield() : parseExpressionList();
  if (failed)
    return stmt<ErrorStmt>(begin);

  if (std::optional<BinaryOp> op = augmentedOp(current.kind)) {
    auto *node = stmt<AugAssignStmt>(begin);
    node->op = *op;
    if (first->is<TupleExpr>() || first->is<ListExpr>())
      fail(first->range, "a tuple cannot be the target of an augmented assignment");
    else
      checkTarget(first);
    node->opRange = current.range;
    advance();
    node->target = first;
    node->value = failed ? errorExpr() : parseExpressionList();
    node->range = begin.to(previous);
    return node;
  }
  if (at(Tok::Colon) && !following.is(Tok::Newline)) {
    if (!checkTarget(first, true))
      return stmt<ErrorStmt>(begin);
    advance();
    auto *node = stmt<AnnAssignStmt>(begin);
    node->target = first;
    node->annotation = parseExpression();
    if (accept(Tok::Equal))
      node->value = parseExpressionList();
    node->range = begin.to(previous);
    return node;
  }
  if (!at(Tok::Equal)) {
    auto *node = stmt<ExpressionStmt>(first->range);
    node->value = first;
    return node;
  }
  std::vector<Expr *> parts = {first};
  while (accept(Tok::Equal)) {
    if (!checkTarget(parts.back()))
      return stmt<ErrorStmt>(begin);
    parts.push_back(at(Tok::kw_yield) ? parseYield() : parseExpressionList());
  }
  auto *node = stmt<AssignStmt>(begin.to(previous));
  node->value = parts.back();
  parts.pop_back();
  node->targets = arena.copy(parts);
  return node;
}

/// Reports an expression that cannot be assigned to.
bool Parser::checkTarget(const Expr *target, bool declaration) {
  std::string what;
  switch (target->kind) {
  case ExprKind::Name:
  case ExprKind::Attribute:
  case ExprKind::Subscript:
  case ExprKind::Error:
    return true;
  case ExprKind::Unsupported:
    if (target->as<UnsupportedExpr>()->what.starts_with("'*'"))
      return true;
    what = target->as<UnsupportedExpr>()->what;
    break;
  case ExprKind::Tuple:
  case ExprKind::List: {
    if (declaration) {
      fail(target->range, "only a single name can be annotated");
      return false;
    }
    ExprList elements = target->is<TupleExpr>() ? target->as<TupleExpr>()->elements
                                                : target->as<ListExpr>()->elements;
    for (const Expr *element : elements)
      if (!checkTarget(element))
        return false;
    return true;
  }
  case ExprKind::Call:
    what = "a call";
    break;
  case ExprKind::Compare:
    what = "a comparison";
    break;
  case ExprKind::Conditional:
    what = "a conditional expression";
    break;
  case ExprKind::Integer:
  case ExprKind::Float:
  case ExprKind::String:
    what = "a literal";
    break;
  case ExprKind::Bool:
  case ExprKind::None:
  case ExprKind::Ellipsis:
    what = "a constant";
    break;
  default:
    what = "an expression";
    break;
  }
  bool assigns = lexer.text(previous) == "=";
  SourceRange equal = previous;
  Diagnostic *report =
      fail(target->range, "cannot assign to " + what + (assigns ? "; did you mean '=='?" : ""));
  if (report && assigns)
    report->fix(equal, "==");
  return false;
}

//===------------------------------------------------------------------------------------------===//
// Imports
//===------------------------------------------------------------------------------------------===//

/// `a.b.c` as one view of the source, with leading dots of a relative import.
std::string_view Parser::parseDottedName() {
  SourceRange begin = current.range;
  if (!expect(Tok::Identifier, ""))
    return {};
  while (accept(Tok::Dot))
    if (!expect(Tok::Identifier, " after '.'"))
      return {};
  return lexer.text(begin.to(previous));
}

bool Parser::parseImportedName(std::vector<ImportedName> &names, bool dotted) {
  SourceRange begin = current.range;
  ImportedName name{};
  if (dotted) {
    name.name = parseDottedName();
  } else {
    name.name = lexer.text(current.range);
    expect(Tok::Identifier, "");
  }
  if (accept(Tok::kw_as)) {
    name.alias = lexer.text(current.range);
    expect(Tok::Identifier, " after 'as'");
  }
  if (failed)
    return false;
  name.range = begin.to(previous);
  names.push_back(name);
  return true;
}

Stmt *Parser::parseImport() {
  SourceRange begin = advance().range;
  std::vector<ImportedName> names;
  while (parseImportedName(names, true) && accept(Tok::Comma))
    ;
  auto *node = stmt<ImportStmt>(begin.to(previous));
  node->names = arena.copy(names);
  return node;
}

Stmt *Parser::parseFromImport() {
  SourceRange begin = advance().range;
  auto *node = stmt<FromImportStmt>(begin);
  bool relative = false;
  while (accept(Tok::Dot) || accept(Tok::Ellipsis))
    relative = true;
  if (!relative || !at(Tok::kw_import))
    node->module = parseDottedName();
  // A relative module is never one that the compiler knows.
  if (relative)
    node->module = {};
  expect(Tok::kw_import, "");
  if (accept(Tok::Star)) {
    node->star = true;
    node->range = begin.to(previous);
    return node;
  }
  std::vector<ImportedName> names;
  bool parenthesised = accept(Tok::LParen);
  while (parseImportedName(names, false) && accept(Tok::Comma))
    if (parenthesised && at(Tok::RParen))
      break;
  if (parenthesised)
    expect(Tok::RParen, "");
  node->names = arena.copy(names);
  node->range = begin.to(previous);
  return node;
}
