//===- Lexer.h - The lexer --------------------------------------*- C++ -*-===//
//
// Reads Python's lexical structure: logical lines, indentation as Indent and Dedent tokens, line
// joining inside brackets, all literal forms. Tokens are produced one at a time, so that memory use
// does not depend on the size of the source.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_FRONTEND_LEX_LEXER_H
#define TESSERA_FRONTEND_LEX_LEXER_H

#include "tessera/Frontend/Lex/Token.h"

#include <string>

namespace tessera {

class Lexer {
public:
  /// Reads buffer `file` of `diagnostics.sources`. A `snippet` is a part of a file and may be
  /// indented as a whole.
  Lexer(Diagnostics &diagnostics, uint32_t file, bool snippet = false);

  /// The next token. After the end it returns EndOfFile repeatedly.
  Token next();

  std::string_view text(SourceRange range) const {
    return source.substr(range.begin, range.end - range.begin);
  }

private:
  struct Bracket {
    char open;
    uint32_t offset;
  };
  struct IndentLevel {
    uint32_t columns;    // with tab stops of 8
    uint32_t characters; // with a tab as one column: both must agree on the order
  };

  char peek(size_t ahead = 0) const {
    return position + ahead < source.size() ? source[position + ahead] : '\0';
  }
  SourceRange rangeFrom(uint32_t begin) const { return {file, begin, uint32_t(position)}; }
  Token token(Tok kind, uint32_t begin) const { return {kind, rangeFrom(begin)}; }
  Token errorToken(uint32_t begin, std::string message);

  /// Measures the indentation of a new logical line, skipping blank ones. Returns true if it
  /// produced a token.
  bool lexLineStart(Token &result);
  /// Skips blanks, comments and joined lines. Returns true at an error or the end of a line, which
  /// is in `result`.
  bool skipBlanks(Token &result);
  bool skipLineBreak();
  bool startsStatementAt(size_t offset) const;
  Token lexNewline();
  Token lexIdentifier();
  Token lexNumber();
  Token lexString(uint32_t begin, std::string_view prefix);
  bool skipFormatString(char quote, bool triple);
  Token lexPunctuation();
  Token lexUnknownCharacter();
  Token lexEnd();
  /// False after an error.
  bool closeBracket(char close, uint32_t offset);
  Token unclosedBracket();

  Diagnostics &diagnostics;
  uint32_t file;
  std::string_view source;
  size_t position = 0;
  bool atLineStart = true;
  bool snippet;
  bool anyTokenOnLine = false;
  bool inconsistentTabsReported = false;
  unsigned pendingDedents = 0;
  std::vector<IndentLevel> indents;
  std::vector<Bracket> brackets;
};

/// The value of an integer literal's text, or nothing if it does not fit in 64 bits.
std::optional<int64_t> integerLiteralValue(std::string_view text);
/// The value of a float literal's text.
double floatLiteralValue(std::string_view text);
/// The characters of a string literal with escapes resolved. `text` includes prefix and quotes.
std::string stringLiteralValue(std::string_view text);

} // namespace tessera

#endif // TESSERA_FRONTEND_LEX_LEXER_H
