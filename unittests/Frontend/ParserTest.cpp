//===- ParserTest.cpp - Trees, recovery and limits of the parser ------------------------------===//
#include "tessera/Frontend/Parse/Parser.h"
#include "AstPrinter.h"

#include "gtest/gtest.h"

#include <ctime>

using namespace tessera;

namespace {

std::string parse(std::string source, std::string *errors = nullptr, bool snippet = false) {
  Diagnostics diagnostics;
  uint32_t file = diagnostics.sources.add("f.py", std::move(source));
  std::unique_ptr<ast::Module> module = parseModule(diagnostics, file, snippet);
  if (errors) {
    errors->clear();
    for (const Diagnostic &diagnostic : diagnostics.all()) {
      LineColumn at = diagnostics.sources.lineColumn(diagnostic.range);
      *errors += std::to_string(at.line) + ":" + std::to_string(at.column) + " " +
                 diagnostic.message + "\n";
    }
  } else {
    EXPECT_EQ(diagnostics.render(), "");
  }
  return printTree(module->body);
}

std::string parseErrors(std::string source) {
  std::string errors;
  parse(std::move(source), &errors);
  return errors;
}

/// The output of `reportUnsupported` for the only function in `source`.
std::string unsupported(std::string source) {
  Diagnostics diagnostics;
  uint32_t file = diagnostics.sources.add("f.py", std::move(source));
  std::unique_ptr<ast::Module> module = parseModule(diagnostics, file);
  EXPECT_EQ(diagnostics.render(), "");
  for (const ast::Stmt *stmt : module->body)
    if (const auto *function = stmt->as<ast::FunctionStmt>())
      ast::reportUnsupported(*function, diagnostics);
  std::string errors;
  for (const Diagnostic &diagnostic : diagnostics.all())
    errors += std::to_string(diagnostics.sources.lineColumn(diagnostic.range).line) + " " +
              diagnostic.message + "\n";
  return errors;
}

TEST(Parser, Precedence) {
  EXPECT_EQ(parse("a + b * c ** -d ** e"), "(+ a (* b (** c (- (** d e)))))\n");
  EXPECT_EQ(parse("-a ** b"), "(- (** a b))\n");
  EXPECT_EQ(parse("a - b - c"), "(- (- a b) c)\n");
  EXPECT_EQ(parse("a | b ^ c & d << e"), "(| a (^ b (& c (<< d e))))\n");
  EXPECT_EQ(parse("not a == b and c or d"), "(or (and (not (cmp a == b)) c) d)\n");
  EXPECT_EQ(parse("a < b <= c is not d not in e"), "(cmp a < b <= c is not d not in e)\n");
  EXPECT_EQ(parse("a if b else c if d else e"), "(if b a (if d c e))\n");
  EXPECT_EQ(parse("a @ b.T"), "(@ a (. b T))\n");
}

TEST(Parser, Primaries) {
  EXPECT_EQ(parse("x[1:, ::2, ..., None, -1]"),
            "(index x (slice 1 _ _) (slice _ _ 2) ... None (- 1))\n");
  EXPECT_EQ(parse("x[:, a:b:c]"), "(index x (slice _ _ _) (slice a b c))\n");
  EXPECT_EQ(parse("f(a, b, dim=-1, keepdim=True)"), "(call f a b dim=(- 1) keepdim=True)\n");
  EXPECT_EQ(parse("f()(a,)[0].b"), "(. (index (call (call f) a) 0) b)\n");
  EXPECT_EQ(parse("(), (a,), (a), [a, b,]"), "(tuple (tuple) (tuple a) a (list a b))\n");
  EXPECT_EQ(parse("'a' \"b\""), "\"ab\"\n");
  EXPECT_EQ(parse("99999999999999999999"), "<overflow>\n");
}

TEST(Parser, Statements) {
  EXPECT_EQ(parse("a = b = c\na, b = b, a\na += 1\nx: int = 3\ny: int"),
            "(= a b c)\n(= (tuple a b) (tuple b a))\n(+= a 1)\n(: x int 3)\n(: y int)\n");
  EXPECT_EQ(parse("assert a, 'm'; pass; return\nreturn a, b"),
            "(assert a)\n(pass)\n(return)\n(return (tuple a b))\n");
  EXPECT_EQ(parse("for i in range(3):\n  a\nelse:\n  b\n"),
            "(for i (call range 3) {a} else {b})\n");
  EXPECT_EQ(parse("for i, (j, k) in z: a"), "(for (tuple i (tuple j k)) z {a})\n");
  EXPECT_EQ(parse("if a:\n b\nelif c: d\nelse:\n e\n"), "(if a {b} c {d} else {e})\n");
  EXPECT_EQ(parse("import math, a.b as c\nfrom x import (y as z,\n w,)\nfrom . import q\n"
                  "from t import *"),
            "(import math a.b:c)\n(from x y:z w)\n(from  q)\n(from t *)\n");
}

TEST(Parser, Functions) {
  EXPECT_EQ(parse("@tsr.function(a=1)\ndef f(x: Tensor['B', 3], y=2, *, z: int = 1) -> T:\n"
                  "  'doc'\n  return x\n"),
            "(def f [x:(index Tensor \"B\" 3) y=2 *z:int=1] -> T @(call (. tsr function) a=1) "
            "{\"doc\"; (return x)})\n");
  EXPECT_EQ(parse("class A(B, metaclass=C):\n  def f(self): pass\n"),
            "(class A {(def f [self] {(pass)})})\n");
  EXPECT_EQ(parse("    def f(x):\n        return x\n", nullptr, true),
            "(def f [x] {(return x)})\n");
}

TEST(Parser, PythonThatIsNotSupportedParses) {
  EXPECT_EQ(parse("while a:\n b\nelse:\n c\n"), "(unsupported a 'while' loop)\n");
  EXPECT_EQ(parse("try:\n a\nexcept (E, F) as e:\n b\nfinally:\n c\n"), "(unsupported 'try')\n");
  EXPECT_EQ(parse("with a as b, c: d"), "(unsupported 'with')\n");
  EXPECT_EQ(parse("with (a as b,\n c): d"), "(unsupported 'with')\n");
  EXPECT_EQ(parse("async def f(): pass\nasync for a in b: c"),
            "(async def f [] {(pass)})\n(unsupported 'async')\n");
  EXPECT_EQ(parse("match x:\n  case [1, *r] if r: a\n  case {'k': v}:\n    b\nc\n"),
            "(unsupported 'match')\nc\n");
  EXPECT_EQ(parse("match(x):\n  case 1: a\nc"), "(unsupported 'match')\nc\n");
  EXPECT_EQ(parse("match = 1\nmatch(x)\nmatch[0] = 2"),
            "(= match 1)\n(call match x)\n(= (index match 0) 2)\n");
  EXPECT_EQ(parse("[a for a in b if c], {a: b}, {a}, {**a}, (x for x in y)"),
            "(tuple (unsupported a list comprehension) (unsupported a dict) (unsupported a set) "
            "(unsupported a dict) (unsupported a generator expression))\n");
  EXPECT_EQ(parse("(a := 1)\nlambda x, y=1: x\nf(*a, **b)\nf(x for x in y)\nawait a"),
            "(unsupported ':=')\n(unsupported 'lambda')\n(call f (unsupported a '*' argument) "
            "(unsupported a '**' argument))\n(call f (unsupported a generator expression))\n"
            "(unsupported 'await')\n");
  EXPECT_EQ(parse("del a\nglobal a, b\nraise E from f\nx = yield a\na, *b = c"),
            "(unsupported 'del')\n(unsupported 'global')\n(unsupported 'raise')\n"
            "(= x (unsupported 'yield'))\n(= (tuple a (unsupported '*' (unpacking))) c)\n");
  EXPECT_EQ(parse("def f[T: int](x: T): pass"), "(def f [x:T] {(pass)})\n");
}

TEST(Parser, UnsupportedIsReportedOnce) {
  EXPECT_EQ(unsupported("def f(x, *a):\n"
                        "  while x:\n"
                        "    lambda: 0\n"
                        "  y = [i for i in x] + f'{x}'\n"
                        "  import os\n"
                        "  def g(): pass\n"
                        "  assert x, f'not checked'\n"),
            "1 a '*' parameter is not supported in a @tsr.function; name each parameter\n"
            "2 a 'while' loop is not supported in a @tsr.function; write 'for i in range(...)' "
            "over static bounds\n"
            "4 a list comprehension is not supported in a @tsr.function; write a for loop or each "
            "element by itself\n"
            "4 an f-string is not supported in a @tsr.function; write a plain string\n"
            "5 an import is not supported in a @tsr.function; import at the top of the file\n"
            "6 a nested function is not supported in a @tsr.function; define it outside with "
            "@tsr.function\n");
}

TEST(Parser, Errors) {
  EXPECT_EQ(parseErrors("x = (1 +\n"), "1:5 '(' was never closed\n");
  EXPECT_EQ(parseErrors("if x\n  y\n"), "1:5 expected ':' after the 'if' condition\n");
  EXPECT_EQ(parseErrors("if x:\ny\n"), "2:1 expected an indented block after the 'if' condition\n");
  EXPECT_EQ(parseErrors("x\n  y\n"), "2:1 unexpected indent\n");
  EXPECT_EQ(parseErrors("f() = 1\n"), "1:1 cannot assign to a call; did you mean '=='?\n");
  EXPECT_EQ(parseErrors("if x = 1:\n  y\n"), "1:6 '=' assigns; write '==' to compare\n");
  EXPECT_EQ(parseErrors("def f(a, a): pass"), "1:10 duplicate parameter 'a'\n");
  EXPECT_EQ(parseErrors("def f(a=1, b): pass"),
            "1:12 parameter 'b' without a default follows one with a default\n");
  EXPECT_EQ(parseErrors("f(a=1, b)"), "1:8 positional argument follows a keyword argument\n");
  EXPECT_EQ(parseErrors("return 1 2"),
            "1:10 expected an operator or the end of the line, found '2'\n");
  EXPECT_EQ(parseErrors("f(a b)"), "1:5 expected ',' or ')' to close the call's '(', found 'b'\n");
  EXPECT_EQ(parseErrors("a && b"), "1:3 '&&' is not an operator; write '&' for tensors, 'and' for "
                                   "what is known when compiling\n");
  EXPECT_EQ(parseErrors("a++"), "1:2 '++' is not an operator; write '+= 1'\n");
  EXPECT_EQ(parseErrors("a--b"), "");
  EXPECT_EQ(parseErrors("lambda = 3"), "1:1 'lambda' is a keyword and cannot be a name\n");
  EXPECT_EQ(parseErrors("in = 3"), "1:1 'in' is a keyword and cannot be a name\n");
  EXPECT_EQ(parseErrors("break"), "1:1 'break' outside a loop\n");
  EXPECT_EQ(parseErrors("for i in x:\n  def f():\n    continue\n"),
            "3:5 'continue' outside a loop\n");
  EXPECT_EQ(parseErrors("while x:\n  break\n"), "");
  EXPECT_EQ(parseErrors("if x:\n  y\nelse if z:\n  y\nif z:\n  x\n"),
            "3:1 'else if' is written 'elif'\n");
  EXPECT_EQ(parseErrors("def f(x) => y: pass"),
            "1:10 the return annotation of a function is written after '->'\n");
  EXPECT_EQ(parseErrors("x."), "1:3 expected a name after '.', found end of line\n");
  EXPECT_EQ(parseErrors("x[]"), "1:3 expected an index, found ']'\n");
  EXPECT_EQ(parseErrors("else:\n  x\n"), "1:1 'else' without a statement that it belongs to\n");
  EXPECT_EQ(parseErrors("@a\nx"), "2:1 expected 'def' or 'class' after a decorator, found 'x'\n");
}

TEST(Parser, RecoversAndReportsSeveral) {
  std::string errors;
  EXPECT_EQ(parse("def f(x):\n  a = = 1\n  b = 2\n  c = (3 4)\n  return b +\nz = 1\n", &errors),
            "(def f [x] {(= a <error>); (= b 2); (= c 3); (return (+ b <error>))})\n(= z 1)\n");
  EXPECT_EQ(errors, "2:7 expected an expression, found '='\n"
                    "4:10 expected ',' or ')' to close '(', found '4'\n"
                    "5:13 expected an expression, found end of line\n");
}

/// Processor time: other load on the machine does not count.
double secondsToParse(std::string source) {
  std::clock_t begin = std::clock();
  std::string errors;
  Diagnostics diagnostics;
  uint32_t file = diagnostics.sources.add("f.py", std::move(source));
  parseModule(diagnostics, file);
  diagnostics.render();
  return double(std::clock() - begin) / CLOCKS_PER_SEC;
}

std::string repeat(std::string_view unit, size_t bytes) {
  std::string out;
  while (out.size() < bytes)
    out += unit;
  return out;
}

TEST(Parser, DepthLimits) {
  for (std::string_view open : {"(", "[", "{", "-", "not ", "f(", "x[", "lambda: ", "x if ", "~",
                                "x ** ", "a.", "(x for x in ", "{1: ", "*", "yield "})
    EXPECT_NE(parseErrors("x = " + repeat(open, 100000)), "") << open;
  EXPECT_EQ(parseErrors("x = " + repeat("a + ", 400000) + "a"),
            "1:5 expression is nested too deeply; assign a part of it to a name first\n");
  EXPECT_EQ(parseErrors("x = " + repeat("(", 201) + "1" + repeat(")", 201)),
            "1:205 expression is nested too deeply\n");
  EXPECT_EQ(parseErrors("x = " + repeat("(", 150) + "1" + repeat(")", 150)), "");
  EXPECT_EQ(parseErrors("x = " + repeat("1 + ", 3600) + "1"), "");
  EXPECT_EQ(parseErrors("x = f" + repeat("()", 100000)),
            "1:5 expression is nested too deeply; assign a part of it to a name first\n");
  std::string blocks;
  for (int i = 0; i < 3000; ++i)
    blocks += std::string(i, ' ') + "if x:\n";
  EXPECT_NE(parseErrors(blocks).find("blocks are nested too deeply"), std::string::npos);
}

TEST(Parser, HugeLinesAreLinear) {
  constexpr size_t size = 300'000;
  for (std::string_view unit : {"a, ", "("})
    EXPECT_LT(secondsToParse("x = " + repeat(unit, 4'000'000)), 20) << unit;
  for (std::string_view unit :
       {"a, ", "a + ", "(", ")", "[", "a;", "'", "{", "f'{", "\\", "?", "1_", "a ", "not in ", "…"})
    EXPECT_LT(secondsToParse("x = " + repeat(unit, size)), 2) << unit;
  EXPECT_LT(secondsToParse(repeat("if a: b\nelif c: d\n", size)), 2);
  EXPECT_LT(secondsToParse("def f(" + repeat("a, ", size) + "): pass"), 2);
  EXPECT_LT(secondsToParse(std::string(size, 'x')), 2);
  EXPECT_LT(secondsToParse(std::string(size, '\n')), 2);
  EXPECT_LT(secondsToParse(std::string(size, ' ')), 2);
}

} // namespace
