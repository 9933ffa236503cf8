//===- Token.h - The tokens of the Python subset ------------------------------------*- C++ -*-===//
//
// Tokens are a kind and a source range; their text is read from the source on demand. All keywords
// of Python are keywords here, including those of unsupported statements, so that the parser can
// name them.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_FRONTEND_LEX_TOKEN_H
#define TESSERA_FRONTEND_LEX_TOKEN_H

#include "tessera/Support/Diagnostics.h"

namespace tessera {

// clang-format off
// The keywords of Python in alphabetic order.
#define TESSERA_KEYWORDS(X)                                                                        \
  X(False) X(None) X(True) X(and) X(as) X(assert) X(async) X(await) X(break) X(class) X(continue)  \
  X(def) X(del) X(elif) X(else) X(except) X(finally) X(for) X(from) X(global) X(if) X(import)      \
  X(in) X(is) X(lambda) X(nonlocal) X(not) X(or) X(pass) X(raise) X(return) X(try) X(while)        \
  X(with) X(yield)

// Operators and delimiters, longest spellings first where one is the beginning of another.
#define TESSERA_PUNCTUATION(X)                                                                     \
  X(StarStarEqual, "**=") X(SlashSlashEqual, "//=") X(LessLessEqual, "<<=")                        \
  X(GreaterGreaterEqual, ">>=") X(Ellipsis, "...") X(PlusEqual, "+=") X(MinusEqual, "-=")          \
  X(StarEqual, "*=") X(SlashEqual, "/=") X(PercentEqual, "%=") X(AtEqual, "@=")                    \
  X(AmpEqual, "&=") X(PipeEqual, "|=") X(CaretEqual, "^=") X(StarStar, "**")                       \
  X(SlashSlash, "//") X(LessLess, "<<") X(GreaterGreater, ">>") X(EqualEqual, "==")                \
  X(NotEqual, "!=") X(LessEqual, "<=") X(GreaterEqual, ">=") X(Arrow, "->")                        \
  X(ColonEqual, ":=") X(Plus, "+") X(Minus, "-") X(Star, "*") X(Slash, "/") X(Percent, "%")        \
  X(At, "@") X(Amp, "&") X(Pipe, "|") X(Caret, "^") X(Tilde, "~") X(Less, "<") X(Greater, ">")     \
  X(Equal, "=") X(LParen, "(") X(RParen, ")") X(LSquare, "[") X(RSquare, "]") X(LBrace, "{")       \
  X(RBrace, "}") X(Colon, ":") X(Semicolon, ";") X(Comma, ",") X(Dot, ".")
// clang-format on

enum class Tok : uint8_t {
  EndOfFile,
  Newline, // the end of a logical line
  Indent,
  Dedent,
  Identifier,
  Integer,
  Float,
  Imaginary,
  String,
  Bytes,
  FormatString, // f"…" and t"…"
  Error,        // was reported when it was read
#define X(name) kw_##name,
  TESSERA_KEYWORDS(X)
#undef X
#define X(name, spelling) name,
      TESSERA_PUNCTUATION(X)
#undef X
};

/// The name of a token's kind in messages: "'+='", "end of line", "identifier".
std::string_view tokenName(Tok kind);

struct Token {
  Tok kind = Tok::EndOfFile;
  SourceRange range;

  bool is(Tok other) const { return kind == other; }
  template <typename... Kinds> bool isAny(Kinds... kinds) const { return ((kind == kinds) || ...); }
  bool isKeyword() const { return kind >= Tok::kw_False && kind <= Tok::kw_yield; }
};

} // namespace tessera

#endif // TESSERA_FRONTEND_LEX_TOKEN_H
