//===- Lexer.cpp - The lexer ----------------------------------------------===//
//
// One pass over the bytes. Errors are reported at their location and lexing continues. An unclosed
// bracket would extend to the end of the file; therefore a line inside brackets that starts with a
// keyword that can only start a statement closes the brackets with an error.
//
//===------------------------------------------------------------------------------------------===//
#include "tessera/Frontend/Lex/Lexer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace tessera;

std::string_view tessera::tokenName(Tok kind) {
  switch (kind) {
  case Tok::EndOfFile:
    return "end of file";
  case Tok::Newline:
    return "end of line";
  case Tok::Indent:
    return "indentation";
  case Tok::Dedent:
    return "end of block";
  case Tok::Identifier:
    return "a name";
  case Tok::Integer:
  case Tok::Float:
  case Tok::Imaginary:
    return "a number";
  case Tok::String:
  case Tok::Bytes:
  case Tok::FormatString:
    return "a string";
  case Tok::Error:
    return "an invalid token";
#define X(name)                                                                                    \
  case Tok::kw_##name:                                                                             \
    return "'" #name "'";
    TESSERA_KEYWORDS(X)
#undef X
#define X(name, spelling)                                                                          \
  case Tok::name:                                                                                  \
    return "'" spelling "'";
    TESSERA_PUNCTUATION(X)
#undef X
  }
  return "";
}

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isIdentifierStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}
static bool isIdentifierPart(char c) { return isIdentifierStart(c) || isDigit(c); }

static Tok keywordKind(std::string_view text) {
#define X(name)                                                                                    \
  if (text == #name)                                                                               \
    return Tok::kw_##name;
  TESSERA_KEYWORDS(X)
#undef X
  return Tok::Identifier;
}

/// Non-ASCII characters that are not letters of any script: spaces, punctuation, symbols.
static bool isForeignPunctuation(uint32_t c) {
  return (c >= 0x80 && c <= 0xA9) || (c >= 0xAB && c <= 0xB4) || (c >= 0xB6 && c <= 0xB9) ||
         (c >= 0xBB && c <= 0xBF) || c == 0xD7 || c == 0xF7 || (c >= 0x2000 && c <= 0x206F) ||
         (c >= 0x2190 && c <= 0x2BFF) || (c >= 0x3000 && c <= 0x3003) ||
         (c >= 0x3008 && c <= 0x3020) || (c >= 0xFE10 && c <= 0xFE6F) || c == 0xFEFF ||
         (c >= 0xFF01 && c <= 0xFF0F) || (c >= 0xFF1A && c <= 0xFF20) ||
         (c >= 0xE000 && c <= 0xF8FF) || c == 0xFFFD || (c >= 0x1F000 && c <= 0x1FAFF) ||
         c >= 0xF0000;
}

/// The likely ASCII replacement of a look-alike character.
static std::string_view lookAlike(uint32_t c) {
  switch (c) {
  case 0x2212:
  case 0x2010:
  case 0x2011:
  case 0x2013:
  case 0x2014:
    return "-";
  case 0xD7:
  case 0x2217:
  case 0x22C5:
    return "*";
  case 0xF7:
  case 0x2215:
    return "/";
  case 0x201C:
  case 0x201D:
    return "\"";
  case 0x2018:
  case 0x2019:
    return "'";
  case 0x2264:
    return "<=";
  case 0x2265:
    return ">=";
  case 0x2260:
    return "!=";
  case 0x2026:
    return "...";
  case 0x2192:
    return "->";
  case 0xA0:
  case 0x3000:
    return " ";
  case 0xFF08:
    return "(";
  case 0xFF09:
    return ")";
  case 0xFF0C:
    return ",";
  case 0xFF1A:
    return ":";
  default:
    return "";
  }
}

Lexer::Lexer(Diagnostics &diagnostics, uint32_t file, bool snippet)
    : diagnostics(diagnostics), file(file), source(diagnostics.sources.buffer(file).text()),
      snippet(snippet) {
  indents.push_back({0, 0});
  if (source.starts_with("\xEF\xBB\xBF"))
    position = 3;
  size_t invalid = findInvalidUtf8(source);
  if (invalid != std::string_view::npos) {
    char message[64];
    std::snprintf(message, sizeof message, "source is not valid UTF-8 (byte 0x%02x)",
                  unsigned(uint8_t(source[invalid])));
    diagnostics.error({file, uint32_t(invalid), uint32_t(invalid + 1)}, message);
    // The bytes before it are still valid.
    source = source.substr(0, invalid);
  }
}

Token Lexer::errorToken(uint32_t begin, std::string message) {
  anyTokenOnLine = true;
  Token result = token(Tok::Error, begin);
  diagnostics.error(result.range, std::move(message));
  return result;
}

Token Lexer::next() {
  Token result;
  if (pendingDedents) {
    --pendingDedents;
    return token(Tok::Dedent, position);
  }
  if (atLineStart && lexLineStart(result))
    return result;
  if (skipBlanks(result))
    return result;
  if (position >= source.size())
    return lexEnd();
  anyTokenOnLine = true;
  char c = peek();
  if (isIdentifierStart(c))
    return lexIdentifier();
  if (isDigit(c) || (c == '.' && isDigit(peek(1))))
    return lexNumber();
  if (c == '"' || c == '\'')
    return lexString(position, {});
  return lexPunctuation();
}

//===------------------------------------------------------------------------------------------===//
// Lines, blanks and indentation
//===------------------------------------------------------------------------------------------===//

bool Lexer::skipLineBreak() {
  if (peek() == '\r' && peek(1) == '\n') {
    position += 2;
    return true;
  }
  if (peek() == '\n' || peek() == '\r') {
    ++position;
    return true;
  }
  return false;
}

bool Lexer::lexLineStart(Token &result) {
  uint32_t columns = 0, characters = 0;
  uint32_t lineBegin = position;
  for (;;) {
    columns = characters = 0;
    lineBegin = position;
    for (;; ++position, ++characters) {
      if (peek() == ' ')
        ++columns;
      else if (peek() == '\t')
        columns += 8 - columns % 8;
      else if (peek() == '\f')
        columns = characters = 0;
      else
        break;
    }
    if (peek() == '#')
      while (position < source.size() && peek() != '\n' && peek() != '\r')
        ++position;
    if (position >= source.size()) {
      atLineStart = false;
      return false;
    }
    if (!skipLineBreak())
      break;
  }
  atLineStart = false;
  anyTokenOnLine = false;
  if (snippet) {
    indents.back() = {columns, characters};
    snippet = false;
    return false;
  }
  IndentLevel current = indents.back();
  bool deeper = columns > current.columns;
  bool deeperByCharacters = characters > current.characters;
  bool same = columns == current.columns;
  bool sameByCharacters = characters == current.characters;
  if ((deeper != deeperByCharacters || same != sameByCharacters) && !inconsistentTabsReported) {
    inconsistentTabsReported = true;
    diagnostics.error(rangeFrom(lineBegin), "inconsistent use of tabs and spaces in indentation");
    return false;
  }
  if (deeper) {
    if (indents.size() >= 100) {
      diagnostics.error(rangeFrom(lineBegin), "blocks are nested too deeply");
      position = source.size();
      return false;
    }
    indents.push_back({columns, characters});
    result = token(Tok::Indent, lineBegin);
    return true;
  }
  if (columns == current.columns)
    return false;
  while (indents.size() > 1 && columns < indents.back().columns) {
    indents.pop_back();
    ++pendingDedents;
  }
  if (columns != indents.back().columns) {
    diagnostics.error(rangeFrom(lineBegin), "unindent does not match any outer indentation level");
    // Treated as a line of the nearest outer block.
    if (columns > indents.back().columns)
      indents.back() = {columns, characters};
    else if (indents.size() == 1)
      indents.back() = {columns, characters};
  }
  if (pendingDedents == 0)
    return false;
  --pendingDedents;
  result = token(Tok::Dedent, position);
  return true;
}

bool Lexer::skipBlanks(Token &result) {
  for (;;) {
    char c = peek();
    if (c == ' ' || c == '\t' || c == '\f') {
      ++position;
    } else if (c == '#') {
      while (position < source.size() && peek() != '\n' && peek() != '\r')
        ++position;
    } else if (c == '\\') {
      uint32_t begin = position++;
      if (skipLineBreak())
        continue;
      result = errorToken(begin, position >= source.size()
                                     ? "unexpected end of file after line continuation"
                                     : "unexpected character after line continuation '\\'");
      return true;
    } else if (c == '\n' || c == '\r') {
      if (brackets.empty()) {
        result = lexNewline();
        return true;
      }
      size_t before = position;
      skipLineBreak();
      if (startsStatementAt(position)) {
        position = before;
        result = unclosedBracket();
        return true;
      }
    } else {
      return false;
    }
  }
}

/// Whether the line at `offset` starts with a keyword that cannot occur inside an expression.
bool Lexer::startsStatementAt(size_t offset) const {
  while (offset < source.size() && (source[offset] == ' ' || source[offset] == '\t'))
    ++offset;
  size_t end = offset;
  while (end < source.size() && end - offset < 12 && isIdentifierPart(source[end]))
    ++end;
  switch (keywordKind(source.substr(offset, end - offset))) {
  case Tok::kw_assert:
  case Tok::kw_break:
  case Tok::kw_class:
  case Tok::kw_continue:
  case Tok::kw_def:
  case Tok::kw_del:
  case Tok::kw_global:
  case Tok::kw_import:
  case Tok::kw_nonlocal:
  case Tok::kw_pass:
  case Tok::kw_raise:
  case Tok::kw_return:
  case Tok::kw_try:
  case Tok::kw_while:
  case Tok::kw_with:
    return true;
  default:
    return false;
  }
}

Token Lexer::lexNewline() {
  uint32_t begin = position;
  skipLineBreak();
  atLineStart = true;
  anyTokenOnLine = false;
  // The range is empty, so that the caret is after the line's last character.
  return {Tok::Newline, {file, begin, begin}};
}

Token Lexer::lexEnd() {
  if (!brackets.empty())
    return unclosedBracket();
  if (anyTokenOnLine) {
    anyTokenOnLine = false;
    return token(Tok::Newline, position);
  }
  if (indents.size() > 1) {
    indents.pop_back();
    return token(Tok::Dedent, position);
  }
  return token(Tok::EndOfFile, position);
}

/// Closes all brackets with one message, at the innermost, which is the most likely error. The
/// error token keeps the parser from reporting another one.
Token Lexer::unclosedBracket() {
  Bracket last = brackets.back();
  diagnostics.error({file, last.offset, last.offset + 1},
                    std::string("'") + last.open + "' was never closed");
  brackets.clear();
  return token(Tok::Error, position);
}

//===------------------------------------------------------------------------------------------===//
// Names and punctuation
//===------------------------------------------------------------------------------------------===//

Token Lexer::lexIdentifier() {
  uint32_t begin = position;
  while (position < source.size() && isIdentifierPart(peek())) {
    if (!(peek() & 0x80)) {
      ++position;
      continue;
    }
    size_t after = position;
    if (isForeignPunctuation(decodeUtf8(source, after))) {
      if (position == begin)
        return lexUnknownCharacter();
      break;
    }
    position = after;
  }
  std::string_view name = source.substr(begin, position - begin);
  if ((peek() == '"' || peek() == '\'') && name.size() <= 2 &&
      name.find_first_not_of("rRbBuUfFtT") == std::string_view::npos)
    return lexString(begin, name);
  return token(keywordKind(name), begin);
}

Token Lexer::lexUnknownCharacter() {
  uint32_t begin = position;
  size_t after = position;
  uint32_t c = decodeUtf8(source, after);
  position = after;
  char buffer[96];
  std::string_view spelled = source.substr(begin, after - begin);
  if (c < 0x20 || c == 0x7F)
    std::snprintf(buffer, sizeof buffer, "invalid control character (U+%04X)", unsigned(c));
  else
    std::snprintf(buffer, sizeof buffer, "invalid character '%.*s' (U+%04X)", int(spelled.size()),
                  spelled.data(), unsigned(c));
  Token result = token(Tok::Error, begin);
  anyTokenOnLine = true;
  diagnostics.error(result.range, buffer).didYouMean(lookAlike(c));
  return result;
}

bool Lexer::closeBracket(char close, uint32_t offset) {
  char open = close == ')' ? '(' : close == ']' ? '[' : '{';
  SourceRange here{file, offset, offset + 1};
  if (brackets.empty()) {
    diagnostics.error(here, std::string("unmatched '") + close + "'").fix(here, "");
    return false;
  }
  Bracket last = brackets.back();
  if (last.open != open) {
    char wanted = last.open == '(' ? ')' : last.open == '[' ? ']' : '}';
    diagnostics
        .error(here,
               std::string("closing '") + close + "' does not match opening '" + last.open + "'")
        .fix(here, std::string(1, wanted))
        .note({file, last.offset, last.offset + 1}, std::string("'") + last.open + "' is here");
    // Close up to the matching bracket; if there is none, assume that the innermost was meant.
    size_t search = std::min<size_t>(brackets.size(), 64), closed = 1;
    for (size_t i = 1; i <= search; ++i) {
      if (brackets[brackets.size() - i].open == open) {
        closed = i;
        break;
      }
    }
    brackets.resize(brackets.size() - closed);
    return false;
  }
  brackets.pop_back();
  return true;
}

Token Lexer::lexPunctuation() {
  uint32_t begin = position;
  std::string_view rest = source.substr(position, 3);
#define X(name, spelling)                                                                          \
  if (rest[0] == spelling[0] && rest.starts_with(spelling)) {                                      \
    position += std::strlen(spelling);                                                             \
    char c = spelling[0];                                                                          \
    if (c == '(' || c == '[' || c == '{')                                                          \
      brackets.push_back({c, begin});                                                              \
    else if ((c == ')' || c == ']' || c == '}') && !closeBracket(c, begin))                        \
      return token(Tok::Error, begin);                                                             \
    return token(Tok::name, begin);                                                                \
  }
  TESSERA_PUNCTUATION(X)
#undef X
  if (peek() == '!') {
    ++position;
    Token result = token(Tok::Error, begin);
    diagnostics.error(result.range, "'!' is not an operator; write 'not', or '~' for a tensor")
        .fix(result.range, "not ");
    return result;
  }
  if (peek() == '$' || peek() == '?' || peek() == '`') {
    ++position;
    return errorToken(begin, std::string("unexpected '") + source[begin] + "'");
  }
  return lexUnknownCharacter();
}
