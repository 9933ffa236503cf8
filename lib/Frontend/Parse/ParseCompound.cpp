//===- ParseCompound.cpp - Functions, classes, loops and other statements with blocks ---------===//
#include "ParserImpl.h"

#include <algorithm>
#include <utility>

using namespace tessera;
using namespace tessera::ast;

void Parser::parseDecorated(std::vector<Stmt *> &out) {
  std::vector<Expr *> decorators;
  while (accept(Tok::At)) {
    decorators.push_back(parseExpression());
    if (!at(Tok::Newline))
      failExpected("end of line after the decorator");
    failed = false;
    accept(Tok::Newline);
  }
  if (at(Tok::kw_def))
    return out.push_back(parseFunction(decorators, false));
  if (at(Tok::kw_async))
    return out.push_back(parseAsync(decorators));
  if (at(Tok::kw_class))
    return out.push_back(parseClass());
  diagnostics.error(current.range,
                    "expected 'def' or 'class' after a decorator, found " + describeCurrent());
}

Stmt *Parser::parseFunction(const std::vector<Expr *> &decorators, bool isAsync) {
  SourceRange begin = advance().range;
  auto *node = stmt<FunctionStmt>(begin);
  node->isAsync = isAsync;
  node->decorators = arena.copy(decorators);
  node->nameRange = current.range;
  node->name = lexer.text(current.range);
  expect(Tok::Identifier, " after 'def'");
  // Type parameters of Python 3.12 are ignored.
  if (accept(Tok::LSquare)) {
    std::vector<Param> typeParams;
    parseParams(typeParams, Tok::RSquare);
    expect(Tok::RSquare, "");
  }
  std::vector<Param> params;
  if (expect(Tok::LParen, " after the function's name")) {
    parseParams(params, Tok::RParen);
    expectClose(Tok::RParen, " after the parameters");
  }
  node->params = arena.copy(params);
  if (accept(Tok::Arrow))
    node->returns = parseExpressionList();
  if (at(Tok::Equal) && following.is(Tok::Greater)) {
    SourceRange arrow = current.range.to(following.range);
    if (Diagnostic *report =
            fail(arrow, "the return annotation of a function is written after '->'"))
      report->fix(arrow, "->");
  }
  unsigned outer = std::exchange(loops, 0);
  node->body = parseBlock("the function's head");
  loops = outer;
  node->range = begin.to(previous);
  return node;
}

void Parser::parseParams(std::vector<Param> &params, Tok close) {
  bool keywordOnly = false;
  bool anyDefault = false;
  while (!at(close) && !failed) {
    Param param{};
    param.kind = keywordOnly ? ParamKind::KeywordOnly : ParamKind::Normal;
    if (accept(Tok::Slash)) {
      for (Param &earlier : params)
        earlier.kind = ParamKind::PositionalOnly;
      if (!at(close))
        expect(Tok::Comma, "");
      continue;
    }
    if (accept(Tok::StarStar)) {
      param.kind = ParamKind::VarKeywords;
    } else if (accept(Tok::Star)) {
      keywordOnly = true;
      if (accept(Tok::Comma))
        continue;
      param.kind = ParamKind::VarArgs;
    }
    param.nameRange = current.range;
    param.name = lexer.text(current.range);
    if (!expect(Tok::Identifier, " as a parameter"))
      return;
    if (close != Tok::Colon && accept(Tok::Colon))
      param.annotation = parseStarredOrExpression();
    if (accept(Tok::Equal)) {
      param.defaultValue = parseExpression();
      anyDefault = true;
    } else if (anyDefault && param.kind == ParamKind::Normal && close != Tok::RSquare) {
      fail(param.nameRange, "parameter '" + std::string(param.name) +
                                "' without a default follows one with a default");
      return;
    }
    // A linear search is cheaper than a table for so few parameters; generated lists are bounded.
    size_t checked = std::min<size_t>(params.size(), 256);
    for (size_t i = 0; i < checked; ++i) {
      if (params[i].name == param.name) {
        if (Diagnostic *report =
                fail(param.nameRange, "duplicate parameter '" + std::string(param.name) + "'"))
          report->note(params[i].nameRange, "the first one is here");
        return;
      }
    }
    params.push_back(param);
    if (!at(close) && !expect(Tok::Comma, " between parameters"))
      return;
  }
}

Stmt *Parser::parseClass() {
  SourceRange begin = advance().range;
  auto *node = stmt<ClassStmt>(begin);
  node->nameRange = current.range;
  node->name = lexer.text(current.range);
  expect(Tok::Identifier, " after 'class'");
  if (accept(Tok::LSquare)) {
    std::vector<Param> typeParams;
    parseParams(typeParams, Tok::RSquare);
    expect(Tok::RSquare, "");
  }
  if (at(Tok::LParen))
    parseCall(errorExpr());
  node->body = parseBlock("the class's head");
  node->range = begin.to(previous);
  return node;
}

Stmt *Parser::parseFor() {
  SourceRange begin = advance().range;
  auto *node = stmt<ForStmt>(begin);
  // Targets bind tighter than `in`; they are parsed as a list of binary expressions.
  std::vector<Expr *> targets;
  bool tuple = false;
  do {
    if (at(Tok::kw_in))
      break;
    SourceRange starRange = current.range;
    bool starred = accept(Tok::Star);
    Expr *target = parseBinary(0);
    targets.push_back(starred ? unsupportedExpr(starRange, "'*' in a target", "name each element")
                              : target);
  } while (accept(Tok::Comma) && (tuple = true));
  if (targets.empty()) {
    failExpected("a loop variable");
    targets.push_back(errorExpr());
  }
  node->target = targets.front();
  if (tuple) {
    auto *list = expr<TupleExpr>(targets.front()->range.to(targets.back()->range));
    list->elements = arena.copy(targets);
    over(list, list->elements);
    node->target = list;
  }
  checkTarget(node->target);
  if (expect(Tok::kw_in, " after the loop variable"))
    node->iterable = parseExpressionList();
  else
    node->iterable = errorExpr();
  ++loops;
  node->body = parseBlock("the loop's head");
  --loops;
  if (accept(Tok::kw_else))
    node->orElse = parseBlock("'else'");
  node->range = begin.to(previous);
  return node;
}

Stmt *Parser::parseIf() {
  SourceRange begin = current.range;
  auto *node = stmt<IfStmt>(begin);
  std::vector<IfBranch> branches;
  bool more = true;
  while (more) {
    bool first = advance().is(Tok::kw_if);
    Expr *condition = parseExpression();
    if (at(Tok::Equal)) {
      SourceRange equal = current.range;
      if (Diagnostic *report = fail(equal, "'=' assigns; write '==' to compare"))
        report->fix(equal, "==");
    }
    Block body = parseBlock(first ? "the 'if' condition" : "the 'elif' condition");
    branches.push_back({condition, body});
    more = at(Tok::kw_elif);
    if (at(Tok::kw_else) && following.is(Tok::kw_if)) {
      SourceRange words = current.range.to(following.range);
      diagnostics.error(words, "'else if' is written 'elif'").fix(words, "elif");
      advance();
      more = true;
    }
  }
  if (accept(Tok::kw_else))
    node->orElse = parseBlock("'else'");
  node->branches = arena.copy(branches);
  node->range = begin.to(previous);
  return node;
}

//===------------------------------------------------------------------------------------------===//
// Unsupported statements
//===------------------------------------------------------------------------------------------===//

static void append(std::vector<Stmt *> &out, Block block) {
  out.insert(out.end(), block.begin(), block.end());
}

Stmt *Parser::parseWhile() {
  SourceRange begin = advance().range;
  std::vector<Stmt *> body;
  parseExpression();
  ++loops;
  append(body, parseBlock("the loop's head"));
  --loops;
  if (accept(Tok::kw_else))
    append(body, parseBlock("'else'"));
  return unsupportedStmt(begin, "a 'while' loop", "write 'for i in range(...)' over static bounds",
                         body);
}

Stmt *Parser::parseTry() {
  SourceRange begin = advance().range;
  std::vector<Stmt *> body;
  append(body, parseBlock("'try'"));
  while (current.isAny(Tok::kw_except, Tok::kw_else, Tok::kw_finally)) {
    bool handler = advance().is(Tok::kw_except);
    if (handler)
      accept(Tok::Star);
    if (handler && !at(Tok::Colon)) {
      parseExpressionList();
      if (accept(Tok::kw_as))
        expect(Tok::Identifier, " after 'as'");
    }
    append(body, parseBlock("the handler's head"));
  }
  return unsupportedStmt(begin, "'try'", "a tensor program does not raise exceptions", body);
}

Stmt *Parser::parseWith() {
  SourceRange begin = advance().range;
  // Items may be in parentheses, with `as` inside; then the whole head is skipped.
  if (at(Tok::LParen)) {
    unsigned open = 0;
    while (!current.isAny(Tok::Newline, Tok::EndOfFile) && (open || !at(Tok::Colon))) {
      open += current.isAny(Tok::LParen, Tok::LSquare, Tok::LBrace);
      open -= open && current.isAny(Tok::RParen, Tok::RSquare, Tok::RBrace);
      advance();
    }
  } else {
    do {
      parseExpression();
      if (accept(Tok::kw_as))
        parseBinary(0);
    } while (accept(Tok::Comma));
  }
  std::vector<Stmt *> body;
  append(body, parseBlock("the 'with' head"));
  return unsupportedStmt(begin, "'with'", "write its body without it", body);
}

Stmt *Parser::parseAsync(const std::vector<Expr *> &decorators) {
  SourceRange begin = advance().range;
  if (at(Tok::kw_def))
    return parseFunction(decorators, true);
  if (at(Tok::kw_for) || at(Tok::kw_with)) {
    Stmt *inner = at(Tok::kw_for) ? parseFor() : parseWith();
    return unsupportedStmt(begin, "'async'", "leave it out", {inner});
  }
  failExpected("'def', 'for' or 'with' after 'async'");
  accept(Tok::Newline);
  return stmt<ErrorStmt>(begin);
}

/// `match` starts a statement if a word or a literal follows; `match(…)` and `match[…]` are
/// recognized by the colon at their end.
bool Parser::atMatchStatement() const {
  return atKeyword("match") &&
         following.isAny(Tok::Identifier, Tok::Integer, Tok::Float, Tok::String, Tok::LBrace,
                         Tok::kw_None, Tok::kw_True, Tok::kw_False, Tok::kw_not, Tok::kw_await);
}

Stmt *Parser::parseMatch(SourceRange keyword) {
  if (!at(Tok::Colon))
    parseExpressionList();
  std::vector<Stmt *> body;
  if (!at(Tok::Colon) && !failed)
    failExpected("':' after the 'match' subject");
  accept(Tok::Colon);
  accept(Tok::Newline);
  failed = false;
  if (accept(Tok::Indent)) {
    while (!current.isAny(Tok::Dedent, Tok::EndOfFile)) {
      // Patterns are skipped as tokens up to the colon that ends them.
      unsigned open = 0;
      while (!current.isAny(Tok::Newline, Tok::EndOfFile) && (open || !at(Tok::Colon))) {
        open += current.isAny(Tok::LParen, Tok::LSquare, Tok::LBrace);
        open -= open && current.isAny(Tok::RParen, Tok::RSquare, Tok::RBrace);
        advance();
      }
      append(body, parseBlock("the 'case' pattern"));
      failed = false;
      accept(Tok::Newline);
    }
    accept(Tok::Dedent);
  }
  SourceRange word{keyword.file, keyword.begin, keyword.begin + 5};
  return unsupportedStmt(word, "'match'", "write 'if' on static values", body);
}
