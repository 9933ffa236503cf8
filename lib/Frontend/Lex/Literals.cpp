//===- Literals.cpp - Numbers and strings -----------------------------------------------------===//
//
// The literal forms of Python: the extent of a literal, and its value.
//
//===------------------------------------------------------------------------------------------===//
#include "tessera/Frontend/Lex/Lexer.h"

#include <algorithm>
#include <cstdlib>

using namespace tessera;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static int digitValue(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z')
    return c - 'A' + 10;
  return 99;
}
static bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

static int literalBase(std::string_view text) {
  if (text.size() < 2 || text[0] != '0')
    return 10;
  switch (text[1] | 0x20) {
  case 'x':
    return 16;
  case 'o':
    return 8;
  case 'b':
    return 2;
  default:
    return 10;
  }
}

//===------------------------------------------------------------------------------------------===//
// Extent
//===------------------------------------------------------------------------------------------===//

Token Lexer::lexNumber() {
  uint32_t begin = position;
  int base = literalBase(source.substr(position, 2));
  Tok kind = Tok::Integer;
  bool ok = true;
  // Digits with single underscores between them; `separated` allows a leading one.
  auto digits = [&](int digitBase, bool separated) {
    bool any = false;
    for (;; ++position) {
      bool underscore = peek() == '_';
      if (underscore) {
        if (!separated || digitValue(peek(1)) >= digitBase)
          return any;
        separated = false;
        continue;
      }
      if (digitValue(peek()) >= digitBase)
        return any;
      any = separated = true;
    }
  };

  if (base != 10) {
    position += 2;
    ok = digits(base, true);
  } else {
    digits(10, false);
    if (peek() == '.') {
      kind = Tok::Float;
      ++position;
      digits(10, false);
    }
    bool signedExponent = (peek(1) == '+' || peek(1) == '-') && isDigit(peek(2));
    if ((peek() == 'e' || peek() == 'E') && (isDigit(peek(1)) || signedExponent)) {
      kind = Tok::Float;
      position += signedExponent ? 2 : 1;
      digits(10, false);
    }
    if (peek() == 'j' || peek() == 'J') {
      kind = Tok::Imaginary;
      ++position;
    }
  }

  // A keyword may follow directly (`1if x else 2`); any other letter or digit is an error.
  size_t tail = position;
  while (tail < source.size() && (isLetter(source[tail]) || isDigit(source[tail])))
    ++tail;
  std::string_view suffix = source.substr(position, tail - position);
  bool keyword = suffix == "and" || suffix == "else" || suffix == "for" || suffix == "if" ||
                 suffix == "in" || suffix == "is" || suffix == "or" || suffix == "not";
  if (!suffix.empty() && !keyword) {
    position = tail;
    ok = false;
  }
  if (!ok) {
    std::string_view names[] = {"binary", "octal", "decimal", "hexadecimal"};
    std::string_view name = names[base == 2 ? 0 : base == 8 ? 1 : base == 10 ? 2 : 3];
    return errorToken(begin, "invalid " + std::string(name) + " literal");
  }
  std::string_view text = source.substr(begin, position - begin);
  if (kind == Tok::Integer && base == 10 && text.size() > 1 && text[0] == '0' &&
      text.find_first_not_of("0_") != std::string_view::npos)
    return errorToken(begin, "leading zeros in decimal integer literals are not permitted; use an "
                             "0o prefix for octal integers");
  return token(kind, begin);
}

Token Lexer::lexString(uint32_t begin, std::string_view prefix) {
  auto has = [&](char lower, char upper) {
    return prefix.find(lower) != std::string_view::npos ||
           prefix.find(upper) != std::string_view::npos;
  };
  bool format = has('f', 'F') || has('t', 'T');
  char quote = peek();
  bool triple = peek(1) == quote && peek(2) == quote;
  uint32_t open = position;
  position += triple ? 3 : 1;
  Tok kind = has('b', 'B') ? Tok::Bytes : format ? Tok::FormatString : Tok::String;

  bool closed = false;
  if (format) {
    closed = skipFormatString(quote, triple);
  } else {
    while (position < source.size()) {
      char c = peek();
      if (c == '\\') {
        position = std::min(position + 2, source.size());
        continue;
      }
      if (!triple && (c == '\n' || c == '\r'))
        break;
      if (c == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        position += triple ? 3 : 1;
        closed = true;
        break;
      }
      ++position;
    }
  }
  if (closed)
    return token(kind, begin);
  Token result = token(Tok::Error, begin);
  anyTokenOnLine = true;
  // The skipped text may have closed them.
  brackets.clear();
  diagnostics.error({file, begin, open + (triple ? 3 : 1)},
                    triple ? "unterminated triple-quoted string" : "unterminated string");
  return result;
}

/// Skips the rest of a format string. Its replacement fields may contain strings with the same
/// quotes (Python 3.12), and nested fields in their format specification.
bool Lexer::skipFormatString(char quote, bool triple) {
  struct Level {
    char quote;
    bool triple;
    bool inField;
    bool inSpec;
    bool plain; // a string without fields inside a field
    unsigned parens;
  };
  std::vector<Level> levels = {{quote, triple, false, false, false, 0}};
  bool anyTriple = triple;
  while (position < source.size()) {
    Level &level = levels.back();
    char c = peek();
    if ((c == '\n' || c == '\r') && !anyTriple)
      return false;
    bool literal = !level.inField || level.inSpec;
    if (c == '\\') {
      position = std::min(position + 2, source.size());
      continue;
    }
    bool isQuote = c == level.quote && (!level.triple || (peek(1) == c && peek(2) == c));
    if (literal && isQuote) {
      position += level.triple ? 3 : 1;
      levels.pop_back();
      if (levels.empty())
        return true;
      continue;
    }
    ++position;
    if (literal && !level.plain) {
      if (c == '{' && peek() == '{' && !level.inSpec)
        ++position;
      else if (c == '{' && levels.size() < 64)
        // A field; inside a specification it is a nested level that ends with its brace.
        level.inSpec ? levels.push_back({level.quote, level.triple, true, false, false, 0})
                     : (void)(level.inField = true, level.parens = 0);
      else if (c == '}' && level.inSpec)
        level.inField = level.inSpec = false;
      continue;
    }
    if (literal)
      continue;
    if (c == '(' || c == '[' || c == '{') {
      ++level.parens;
    } else if (c == ')' || c == ']' || (c == '}' && level.parens)) {
      level.parens -= level.parens != 0;
    } else if (c == '}') {
      level.inField = false;
      bool nestedInSpec = levels.size() > 1 && levels[levels.size() - 2].inSpec;
      if (nestedInSpec)
        levels.pop_back();
    } else if (c == ':' && level.parens == 0) {
      level.inSpec = true;
    } else if ((c == '"' || c == '\'') && levels.size() < 64) {
      bool nestedTriple = peek() == c && peek(1) == c;
      bool nestedFormat = position >= 2 && ((source[position - 2] | 0x20) == 'f');
      if (nestedTriple)
        position += 2;
      levels.push_back({c, nestedTriple, false, false, !nestedFormat, 0});
    }
  }
  return false;
}

//===------------------------------------------------------------------------------------------===//
// Values
//===------------------------------------------------------------------------------------------===//

std::optional<int64_t> tessera::integerLiteralValue(std::string_view text) {
  int base = literalBase(text);
  int64_t value = 0;
  for (char c : text.substr(base == 10 ? 0 : 2)) {
    if (c == '_')
      continue;
    if (__builtin_mul_overflow(value, int64_t(base), &value) ||
        __builtin_add_overflow(value, int64_t(digitValue(c)), &value))
      return std::nullopt;
  }
  return value;
}

double tessera::floatLiteralValue(std::string_view text) {
  std::string digits;
  for (char c : text)
    if (c != '_')
      digits += c;
  return std::strtod(digits.c_str(), nullptr);
}

static void appendUtf8(std::string &out, uint32_t c) {
  if (c < 0x80) {
    out += char(c);
  } else if (c < 0x800) {
    out += char(0xC0 | c >> 6);
    out += char(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += char(0xE0 | c >> 12);
    out += char(0x80 | (c >> 6 & 0x3F));
    out += char(0x80 | (c & 0x3F));
  } else {
    out += char(0xF0 | c >> 18);
    out += char(0x80 | (c >> 12 & 0x3F));
    out += char(0x80 | (c >> 6 & 0x3F));
    out += char(0x80 | (c & 0x3F));
  }
}

std::string tessera::stringLiteralValue(std::string_view text) {
  size_t prefix = text.find_first_of("'\"");
  if (prefix == std::string_view::npos)
    return {};
  bool raw = text.substr(0, prefix).find_first_of("rR") != std::string_view::npos;
  text.remove_prefix(prefix);
  size_t quotes = text.size() >= 6 && text[1] == text[0] && text[2] == text[0] ? 3 : 1;
  if (text.size() < 2 * quotes)
    return {};
  text = text.substr(quotes, text.size() - 2 * quotes);
  if (raw)
    return std::string(text);

  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    char c = text[++i];
    // Up to `count` digits of a numeric escape, starting at `from`.
    auto number = [&](size_t from, size_t count, int base) {
      uint32_t value = 0;
      size_t at = from;
      for (; at < text.size() && at < from + count && digitValue(text[at]) < base; ++at)
        value = value * base + digitValue(text[at]);
      i = at - 1;
      bool surrogate = value >= 0xD800 && value <= 0xDFFF;
      appendUtf8(out, value > 0x10FFFF || surrogate ? 0xFFFD : value);
    };
    static constexpr std::string_view simple = "abfnrtv\\'\"";
    static constexpr std::string_view meant = "\a\b\f\n\r\t\v\\'\"";
    if (size_t index = simple.find(c); index != std::string_view::npos)
      out += meant[index];
    else if (c == '\n')
      continue;
    else if (c >= '0' && c <= '7')
      number(i, 3, 8);
    else if (c == 'x')
      number(i + 1, 2, 16);
    else if (c == 'u')
      number(i + 1, 4, 16);
    else if (c == 'U')
      number(i + 1, 8, 16);
    else
      (out += '\\') += c;
  }
  return out;
}
