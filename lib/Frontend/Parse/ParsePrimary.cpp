//===- ParsePrimary.cpp - Atoms, calls, subscripts and displays -----------===//
#include "ParserImpl.h"

using namespace tessera;
using namespace tessera::ast;

Expr *Parser::parsePostfix() {
  DepthScope scope(*this);
  if (!scope)
    return errorExpr();
  Expr *value = parseAtom();
  while (!failed) {
    if (at(Tok::LParen)) {
      value = parseCall(value);
    } else if (at(Tok::LSquare)) {
      value = parseSubscript(value);
    } else if (accept(Tok::Dot)) {
      auto *node = expr<AttributeExpr>(value->range.to(current.range));
      node->base = value;
      node->nameRange = current.range;
      node->name = lexer.text(current.range);
      over(node, value);
      if (!expect(Tok::Identifier, " after '.'"))
        return errorExpr();
      value = node;
    } else {
      break;
    }
  }
  return value;
}

Expr *Parser::parseAtom() {
  SourceRange range = current.range;
  switch (current.kind) {
  case Tok::Identifier: {
    advance();
    auto *node = expr<NameExpr>(range);
    node->name = lexer.text(range);
    return node;
  }
  case Tok::Integer: {
    advance();
    auto *node = expr<IntegerExpr>(range);
    std::optional<int64_t> value = integerLiteralValue(lexer.text(range));
    node->value = value.value_or(0);
    node->overflow = !value;
    return node;
  }
  case Tok::Float: {
    advance();
    auto *node = expr<FloatExpr>(range);
    node->value = floatLiteralValue(lexer.text(range));
    return node;
  }
  case Tok::Imaginary:
    advance();
    return unsupportedExpr(range, "a complex number", "");
  case Tok::String:
  case Tok::Bytes:
  case Tok::FormatString:
    return parseString();
  case Tok::kw_True:
  case Tok::kw_False: {
    auto *node = expr<BoolExpr>(range);
    node->value = advance().is(Tok::kw_True);
    return node;
  }
  case Tok::kw_None:
    advance();
    return expr<NoneExpr>(range);
  case Tok::Ellipsis:
    advance();
    return expr<EllipsisExpr>(range);
  case Tok::LParen:
    return parseParenthesised();
  case Tok::LSquare:
    return parseList();
  case Tok::LBrace:
    return parseBraces();
  default: {
    std::string_view word = lexer.text(current.range);
    bool keyword = !word.empty() && word[0] >= 'a' && word[0] <= 'z';
    if (keyword && following.is(Tok::Equal))
      fail(range, "'" + std::string(word) + "' is a keyword and cannot be a name");
    else
      failExpected("an expression");
    return errorExpr();
  }
  }
}

/// Adjacent literals are one string.
Expr *Parser::parseString() {
  SourceRange begin = current.range;
  std::string_view what;
  std::string value;
  while (current.isAny(Tok::String, Tok::Bytes, Tok::FormatString)) {
    if (at(Tok::Bytes))
      what = "a bytes literal";
    else if (at(Tok::FormatString))
      what = "an f-string";
    else
      value += stringLiteralValue(lexer.text(current.range));
    advance();
  }
  SourceRange range = begin.to(previous);
  if (!what.empty())
    return unsupportedExpr(range, what, "write a plain string");
  auto *node = expr<StringExpr>(range);
  node->value = arena.copy(value);
  return node;
}

bool Parser::atComprehension() const {
  return at(Tok::kw_for) || (at(Tok::kw_async) && following.is(Tok::kw_for));
}

/// The clauses of a comprehension after its element.
Expr *Parser::parseComprehension(SourceRange open, std::string_view what) {
  while (atComprehension()) {
    accept(Tok::kw_async);
    advance();
    do {
      if (at(Tok::kw_in))
        break;
      accept(Tok::Star);
      parseBinary(0);
    } while (accept(Tok::Comma));
    expect(Tok::kw_in, " in the comprehension");
    parseLogical(false);
    while (accept(Tok::kw_if))
      parseLogical(false);
  }
  return unsupportedExpr(open.to(previous), what, "write a for loop or each element by itself");
}

Expr *Parser::parseParenthesised() {
  SourceRange open = advance().range;
  if (accept(Tok::RParen))
    return expr<TupleExpr>(open.to(previous));
  Expr *first = parseStarredOrExpression();
  if (atComprehension()) {
    Expr *node = parseComprehension(open, "a generator expression");
    expect(Tok::RParen, "");
    node->range = open.to(previous);
    return node;
  }
  if (!at(Tok::Comma)) {
    expectClose(Tok::RParen, " to close '('");
    // The range includes the parentheses, so that a message about `(a + b)` shows all of it.
    first->range = open.to(previous);
    return first;
  }
  std::vector<Expr *> elements = {first};
  while (accept(Tok::Comma)) {
    if (at(Tok::RParen))
      break;
    elements.push_back(parseStarredOrExpression());
  }
  expectClose(Tok::RParen, " to close '('");
  auto *node = expr<TupleExpr>(open.to(previous));
  node->elements = arena.copy(elements);
  over(node, node->elements);
  return node;
}

Expr *Parser::parseList() {
  SourceRange open = advance().range;
  std::vector<Expr *> elements;
  while (!at(Tok::RSquare) && !failed) {
    elements.push_back(parseStarredOrExpression());
    if (atComprehension()) {
      Expr *node = parseComprehension(open, "a list comprehension");
      expect(Tok::RSquare, "");
      node->range = open.to(previous);
      return node;
    }
    if (!accept(Tok::Comma))
      break;
  }
  expectClose(Tok::RSquare, " to close '['");
  auto *node = expr<ListExpr>(open.to(previous));
  node->elements = arena.copy(elements);
  over(node, node->elements);
  return node;
}

/// Dicts and sets, which the language does not support.
Expr *Parser::parseBraces() {
  SourceRange open = advance().range;
  bool dict = at(Tok::RBrace);
  while (!at(Tok::RBrace) && !failed) {
    if (accept(Tok::StarStar)) {
      dict = true;
      parseBinary(0);
    } else {
      parseStarredOrExpression();
      if (accept(Tok::Colon)) {
        dict = true;
        parseExpression();
      }
    }
    if (atComprehension()) {
      Expr *node = parseComprehension(open, dict ? "a dict comprehension" : "a set comprehension");
      expect(Tok::RBrace, "");
      node->range = open.to(previous);
      return node;
    }
    if (!accept(Tok::Comma))
      break;
  }
  expectClose(Tok::RBrace, " to close '{'");
  return unsupportedExpr(open.to(previous), dict ? "a dict" : "a set", "use a tuple or names");
}

Expr *Parser::parseLambda() {
  DepthScope scope(*this);
  if (!scope)
    return errorExpr();
  if (following.is(Tok::Equal)) {
    fail(current.range, "'lambda' is a keyword and cannot be a name");
    return errorExpr();
  }
  SourceRange begin = advance().range;
  std::vector<Param> params;
  parseParams(params, Tok::Colon);
  expect(Tok::Colon, " after the lambda's parameters");
  parseExpression();
  return unsupportedExpr(begin.to(previous), "'lambda'", "define a @tsr.function");
}

Expr *Parser::parseYield() {
  DepthScope scope(*this);
  if (!scope)
    return errorExpr();
  SourceRange begin = advance().range;
  if (accept(Tok::kw_from))
    parseExpression();
  else if (!current.isAny(Tok::Newline, Tok::RParen, Tok::RSquare, Tok::RBrace, Tok::Equal,
                          Tok::Semicolon, Tok::Comma, Tok::EndOfFile))
    parseExpressionList();
  return unsupportedExpr(begin, "'yield'", "return a tuple");
}

/// `**{"tile.s": 64}` in a call: keywords whose names are strings.
void Parser::parseKeywordDict(std::vector<KeywordArg> &keywords) {
  advance();
  while (!at(Tok::RBrace) && !failed) {
    if (!at(Tok::String)) {
      failExpected("a string, the name of a keyword");
      return;
    }
    SourceRange range = current.range;
    Expr *name = parseString();
    expect(Tok::Colon, " after the keyword's name");
    Expr *value = failed ? errorExpr() : parseExpression();
    if (const auto *text = name->as<StringExpr>())
      keywords.push_back({text->value, range, value});
    if (!accept(Tok::Comma))
      break;
  }
  expectClose(Tok::RBrace, " to close '{'");
}

Expr *Parser::parseCall(Expr *callee) {
  advance();
  std::vector<Expr *> args;
  std::vector<KeywordArg> keywords;
  while (!at(Tok::RParen) && !failed) {
    SourceRange begin = current.range;
    if (at(Tok::StarStar) && following.is(Tok::LBrace)) {
      advance();
      parseKeywordDict(keywords);
    } else if (accept(Tok::StarStar)) {
      parseExpression();
      args.push_back(
          unsupportedExpr(begin.to(previous), "a '**' argument", "write each keyword by itself"));
    } else if (accept(Tok::Star)) {
      parseExpression();
      args.push_back(
          unsupportedExpr(begin.to(previous), "a '*' argument", "write each argument by itself"));
    } else if (at(Tok::Identifier) && following.is(Tok::Equal)) {
      KeywordArg keyword{lexer.text(begin), begin, nullptr};
      advance();
      advance();
      keyword.value = parseExpression();
      keywords.push_back(keyword);
    } else {
      Expr *arg = parseExpression();
      if (atComprehension())
        arg = parseComprehension(begin, "a generator expression");
      if (!keywords.empty() && !failed && !arg->is<UnsupportedExpr>()) {
        fail(arg->range, "positional argument follows a keyword argument");
        break;
      }
      args.push_back(arg);
    }
    if (!accept(Tok::Comma))
      break;
  }
  expectClose(Tok::RParen, " to close the call's '('");
  auto *node = expr<CallExpr>(callee->range.to(previous));
  node->callee = callee;
  node->args = arena.copy(args);
  node->keywords = arena.copy(keywords);
  over(node, callee);
  over(node, node->args);
  for (const KeywordArg &keyword : keywords)
    over(node, keyword.value);
  return node;
}

Expr *Parser::parseSubscript(Expr *base) {
  advance();
  std::vector<Expr *> indices;
  bool tuple = false;
  if (at(Tok::RSquare))
    failExpected("an index");
  while (!at(Tok::RSquare) && !failed) {
    indices.push_back(parseIndex());
    if (!accept(Tok::Comma))
      break;
    tuple = true;
  }
  expectClose(Tok::RSquare, " to close the subscript's '['");
  auto *node = expr<SubscriptExpr>(base->range.to(previous));
  node->base = base;
  node->indices = arena.copy(indices);
  node->isTuple = tuple;
  over(node, base);
  over(node, node->indices);
  return node;
}

Expr *Parser::parseIndex() {
  SourceRange begin = current.range;
  Expr *lower = at(Tok::Colon) ? nullptr : parseStarredOrExpression();
  if (!at(Tok::Colon))
    return lower;
  advance();
  auto *node = expr<SliceExpr>(begin);
  auto part = [&]() -> Expr * {
    return current.isAny(Tok::Colon, Tok::Comma, Tok::RSquare) ? nullptr : parseExpression();
  };
  node->lower = lower;
  node->upper = part();
  if (accept(Tok::Colon))
    node->step = part();
  node->range = begin.to(previous);
  for (const Expr *child : {node->lower, node->upper, node->step})
    over(node, child);
  return node;
}
