//===- LexerTest.cpp - Tokens, lines, literals ------------------------------------------------===//
#include "tessera/Frontend/Lex/Lexer.h"

#include "gtest/gtest.h"

using namespace tessera;

namespace {

/// All tokens as words: names and literals by their text, the rest by their name.
std::string lex(std::string source, std::string *errors = nullptr, bool snippet = false) {
  Diagnostics diagnostics;
  uint32_t file = diagnostics.sources.add("f.py", std::move(source));
  Lexer lexer(diagnostics, file, snippet);
  std::string out;
  for (Token token = lexer.next(); !token.is(Tok::EndOfFile); token = lexer.next()) {
    if (!out.empty())
      out += ' ';
    switch (token.kind) {
    case Tok::Newline:
      out += "NL";
      break;
    case Tok::Indent:
      out += "IN";
      break;
    case Tok::Dedent:
      out += "DE";
      break;
    case Tok::Error:
      out += "ERR";
      break;
    case Tok::FormatString:
      out += "F:" + std::string(lexer.text(token.range));
      break;
    default:
      out += lexer.text(token.range);
      break;
    }
  }
  std::string messages;
  for (const Diagnostic &diagnostic : diagnostics.all())
    messages += (messages.empty() ? "" : "|") + diagnostic.message;
  if (errors)
    *errors = messages;
  else
    EXPECT_EQ(messages, "");
  return out;
}

std::string lexErrors(std::string source) {
  std::string errors;
  lex(std::move(source), &errors);
  return errors;
}

TEST(Lexer, LinesAndIndentation) {
  EXPECT_EQ(lex("if a:\n    b\n\n  # c\n    d\ne"), "if a : NL IN b NL d NL DE e NL");
  EXPECT_EQ(lex("a:\n b:\n  c\n"), "a : NL IN b : NL IN c NL DE DE");
  EXPECT_EQ(lex("f(a,\n  b)\n"), "f ( a , b ) NL");
  EXPECT_EQ(lex("a + \\\n  b\r\nc"), "a + b NL c NL");
  EXPECT_EQ(lex("\n\n# only a comment"), "");
  EXPECT_EQ(lex("    a\n    b\n", nullptr, true), "a NL b NL");
  EXPECT_EQ(lex("\xEF\xBB\xBF"
                "a\n"),
            "a NL");
}

TEST(Lexer, IndentationErrors) {
  EXPECT_EQ(lexErrors("if a:\n        b\n    c\n"),
            "unindent does not match any outer indentation level");
  EXPECT_EQ(lexErrors("if a:\n        b\n\tc\n"),
            "inconsistent use of tabs and spaces in indentation");
}

TEST(Lexer, Numbers) {
  EXPECT_EQ(lex("0 1_000 0x_FF 0b10 0o17 1. .5 1e3 1_0.2_5e-1_0 2j 00"),
            "0 1_000 0x_FF 0b10 0o17 1. .5 1e3 1_0.2_5e-1_0 2j 00 NL");
  EXPECT_EQ(lex("1if x else 2"), "1 if x else 2 NL");
  EXPECT_EQ(lex("x[1:2]...y"), "x [ 1 : 2 ] ... y NL");
  EXPECT_EQ(lex("1 .real 1..real"), "1 . real 1. . real NL");
  EXPECT_EQ(lexErrors("1abc"), "invalid decimal literal");
  EXPECT_EQ(lexErrors("1__0"), "invalid decimal literal");
  EXPECT_EQ(lexErrors("0x"), "invalid hexadecimal literal");
  EXPECT_EQ(lexErrors("0b12"), "invalid binary literal");
  EXPECT_NE(lexErrors("012").find("leading zeros"), std::string::npos);
}

TEST(Lexer, NumberValues) {
  EXPECT_EQ(integerLiteralValue("1_000"), 1000);
  EXPECT_EQ(integerLiteralValue("0xFF"), 255);
  EXPECT_EQ(integerLiteralValue("0b1_01"), 5);
  EXPECT_EQ(integerLiteralValue("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(integerLiteralValue("9223372036854775808"), std::nullopt);
  EXPECT_EQ(floatLiteralValue("1_0.5e-1"), 1.05);
  EXPECT_EQ(floatLiteralValue(".5"), 0.5);
}

TEST(Lexer, Strings) {
  EXPECT_EQ(lex("'a' \"b\" r'\\d' \"\"\"c\n'd'\"\"\" 'e\\'f'"),
            "'a' \"b\" r'\\d' \"\"\"c\n'd'\"\"\" 'e\\'f' NL");
  EXPECT_EQ(lexErrors("'a\nb"), "unterminated string");
  EXPECT_EQ(lexErrors("'''a\nb"), "unterminated triple-quoted string");
  EXPECT_EQ(stringLiteralValue("'a\\n\\x41\\u00e9\\\\'"), "a\nA\xc3\xa9\\");
  EXPECT_EQ(stringLiteralValue("r'a\\n'"), "a\\n");
  EXPECT_EQ(stringLiteralValue("'''x'y'''"), "x'y");
  EXPECT_EQ(stringLiteralValue("''"), "");
  EXPECT_EQ(stringLiteralValue("'\\101'"), "A");
}

TEST(Lexer, FormatStrings) {
  EXPECT_EQ(lex("f'{x}' y"), "F:f'{x}' y NL");
  EXPECT_EQ(lex("f'{{' y"), "F:f'{{' y NL");
  EXPECT_EQ(lex("f\"{x[\"a\"]}\" y"), "F:f\"{x[\"a\"]}\" y NL");
  EXPECT_EQ(lex("f'{x:{w}.{p}}' y"), "F:f'{x:{w}.{p}}' y NL");
  EXPECT_EQ(lex("f\"{x:'>10}\" y"), "F:f\"{x:'>10}\" y NL");
  EXPECT_EQ(lex("rf'''{a}\n{b!r}''' y"), "F:rf'''{a}\n{b!r}''' y NL");
  EXPECT_EQ(lexErrors("f'{x\n"), "unterminated string");
}

TEST(Lexer, Operators) {
  EXPECT_EQ(lex("a**=b//c->d:=e!=f<<=g@h"), "a **= b // c -> d := e != f <<= g @ h NL");
  EXPECT_EQ(lexErrors("a ? b"), "unexpected '?'");
  EXPECT_EQ(lexErrors("!a"), "'!' is not an operator; write 'not', or '~' for a tensor");
}

TEST(Lexer, Characters) {
  EXPECT_EQ(lex("é = größe + 数"), "é = größe + 数 NL");
  EXPECT_EQ(lexErrors("a − b"), "invalid character '−' (U+2212); did you mean '-'?");
  EXPECT_EQ(lexErrors("a \x01 b"), "invalid control character (U+0001)");
  EXPECT_EQ(lexErrors(std::string("a \0 b", 5)), "invalid control character (U+0000)");
  EXPECT_EQ(lexErrors("a = '\xff'"), "source is not valid UTF-8 (byte 0xff)|unterminated string");
  EXPECT_EQ(lexErrors("a \\ b"), "unexpected character after line continuation '\\'");
}

TEST(Lexer, Brackets) {
  EXPECT_EQ(lexErrors("f(a]"), "closing ']' does not match opening '('");
  EXPECT_EQ(lexErrors("f('a\nb)"), "unterminated string|unmatched ')'");
  EXPECT_EQ(lexErrors("a)"), "unmatched ')'");
  std::string errors;
  EXPECT_EQ(lex("x = f(a,\nreturn x\n", &errors), "x = f ( a , ERR NL return x NL");
  EXPECT_EQ(errors, "'(' was never closed");
}

} // namespace
