//===- ParserImpl.h - The recursive-descent parser ----------------------------------*- C++ -*-===//
//
// Error recovery is by logical lines. The first error in a line is reported and the rest of the
// line is skipped, so that the current token is the Newline. Every loop of the parser therefore
// terminates, and further errors before the next statement are suppressed (`failed`).
//
// Nesting is bounded twice: the recursion of the parser (`maxDepth`), and the height of trees that
// are built by iteration, such as long sums (`maxHeight`), since later visitors recurse over them.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_PARSE_PARSERIMPL_H
#define TESSERA_LIB_FRONTEND_PARSE_PARSERIMPL_H

#include "tessera/Frontend/AST/AST.h"
#include "tessera/Frontend/Lex/Lexer.h"

namespace tessera {

class Parser {
public:
  Parser(Diagnostics &diagnostics, uint32_t file, bool snippet, ast::Arena &arena)
      : diagnostics(diagnostics), lexer(diagnostics, file, snippet), arena(arena) {
    current = lexer.next();
    following = lexer.next();
  }

  ast::Block parseFile();

private:
  static constexpr unsigned maxDepth = 200;
  static constexpr unsigned maxHeight = 1000;

  // Tokens.
  bool at(Tok kind) const { return current.is(kind); }
  bool atKeyword(std::string_view softKeyword) const {
    return at(Tok::Identifier) && lexer.text(current.range) == softKeyword;
  }
  Token advance();
  bool accept(Tok kind);
  bool expect(Tok kind, std::string_view where);
  /// Reports an error and skips the line. Returns the diagnostic; null if it is not the first one
  /// of the line.
  Diagnostic *fail(SourceRange range, std::string message);
  void failExpected(std::string_view what);
  /// Expects the closing bracket of a list; if an element follows, a comma is missing.
  bool expectClose(Tok kind, std::string_view where);
  bool atOperand() const;
  /// Whether `current` repeats the preceding token without a blank, as in `&&`.
  bool repeats(SourceRange before) const {
    return current.range.begin == before.end && lexer.text(current.range) == lexer.text(before);
  }
  std::string describeCurrent() const;

  // Statements.
  void parseStatement(std::vector<ast::Stmt *> &out);
  void parseSimpleLine(std::vector<ast::Stmt *> &out);
  ast::Stmt *parseSimple();
  ast::Stmt *parseExpressionOrAssignment();
  ast::Stmt *parseImport();
  ast::Stmt *parseFromImport();
  std::string_view parseDottedName();
  bool parseImportedName(std::vector<ast::ImportedName> &names, bool dotted);
  ast::Block parseBlock(std::string_view owner);
  void parseIndented(std::vector<ast::Stmt *> &out);
  void parseDecorated(std::vector<ast::Stmt *> &out);
  ast::Stmt *parseFunction(const std::vector<ast::Expr *> &decorators, bool isAsync);
  void parseParams(std::vector<ast::Param> &params, Tok close);
  ast::Stmt *parseClass();
  ast::Stmt *parseFor();
  ast::Stmt *parseIf();
  ast::Stmt *parseWhile();
  ast::Stmt *parseTry();
  ast::Stmt *parseWith();
  ast::Stmt *parseAsync(const std::vector<ast::Expr *> &decorators);
  ast::Stmt *parseMatch(SourceRange keyword);
  bool atMatchStatement() const;
  bool checkTarget(const ast::Expr *target, bool declaration = false);
  template <typename T> T *stmt(SourceRange range) {
    T *node = arena.make<T>();
    node->kind = T::tag;
    node->range = range;
    return node;
  }
  ast::Stmt *unsupportedStmt(SourceRange range, std::string_view what, std::string_view instead,
                             const std::vector<ast::Stmt *> &body = {});

  // Expressions.
  ast::Expr *parseExpressionList();
  ast::Expr *parseStarredOrExpression();
  ast::Expr *parseExpression();
  ast::Expr *parseTernary();
  ast::Expr *parseLogical(bool isAnd);
  ast::Expr *parseNot();
  ast::Expr *parseComparison();
  bool acceptCompareOp(ast::CompareOp &op);
  ast::Expr *parseBinary(unsigned minPrecedence);
  bool checkRepeated(ast::BinaryOp op, SourceRange first);
  ast::Expr *parseUnary();
  ast::Expr *parsePower();
  ast::Expr *parsePostfix();
  ast::Expr *parseAtom();
  ast::Expr *parseString();
  ast::Expr *parseParenthesised();
  ast::Expr *parseList();
  ast::Expr *parseBraces();
  ast::Expr *parseLambda();
  ast::Expr *parseYield();
  void parseKeywordDict(std::vector<ast::KeywordArg> &keywords);
  ast::Expr *parseCall(ast::Expr *callee);
  ast::Expr *parseSubscript(ast::Expr *base);
  ast::Expr *parseIndex();
  bool atComprehension() const;
  ast::Expr *parseComprehension(SourceRange open, std::string_view what);
  ast::Expr *errorExpr();
  ast::Expr *unsupportedExpr(SourceRange range, std::string_view what, std::string_view instead);
  template <typename T> T *expr(SourceRange range) {
    T *node = arena.make<T>();
    node->kind = T::tag;
    node->height = 1;
    node->range = range;
    return node;
  }
  /// Updates the height of `node` from a child's.
  void over(ast::Expr *node, const ast::Expr *child);
  void over(ast::Expr *node, ast::ExprList children) {
    for (const ast::Expr *child : children)
      over(node, child);
  }

  /// Counts recursion; converts to false after reporting that the limit is exceeded.
  class DepthScope {
  public:
    explicit DepthScope(Parser &parser);
    ~DepthScope() { --parser.depth; }
    explicit operator bool() const { return ok; }

  private:
    Parser &parser;
    bool ok;
  };

  Diagnostics &diagnostics;
  Lexer lexer;
  ast::Arena &arena;
  Token current;
  Token following;
  SourceRange previous;
  unsigned depth = 0;
  unsigned loops = 0;
  bool failed = false;
};

} // namespace tessera

#endif // TESSERA_LIB_FRONTEND_PARSE_PARSERIMPL_H
