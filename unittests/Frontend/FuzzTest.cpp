//===- FuzzTest.cpp - Mutated sources must not crash the lexer or the parser ------------------===//
//
// A deterministic fuzzer. Sources of the lit corpus and a few built-in ones are mutated by bytes
// (flip, insert, delete, copy) and by tokens (swap, delete, duplicate, replace, splice with another
// source), then parsed and rendered. It checks that parsing terminates quickly and that every range
// of the tree and of the messages is within the source.
//
//===------------------------------------------------------------------------------------------===//
#include "AstPrinter.h"
#include "tessera/Frontend/Lex/Lexer.h"
#include "tessera/Frontend/Parse/Parser.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

using namespace tessera;

namespace {

std::vector<std::string> loadCorpus() {
  std::vector<std::string> corpus = {
      "import tessera as tsr\n@tsr.function\ndef f(x: Tensor['B', 3], y=1.5) -> Tensor['B']:\n"
      "    \"\"\"doc\"\"\"\n    a, b = x[1:, ::2, ..., None], x.T\n    for i in range(3):\n"
      "        a += b if i < 2 <= 3 else -a ** 2\n    return tsr.sum(a, dim=-1), b\n",
      "class A:\n  def f(self, *a, **k):\n    with x as y, z:\n      try:\n"
      "        yield f'{x:{w}}'\n"
      "      except E:\n        raise\n    while True:\n      del a; global b\n",
      "match x:\n  case {'a': 1}:\n    lambda x, y=(1, 2): [i async for i in x if y]\n"
      "x = (y := 3)\n",
  };
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(TESSERA_FRONTEND_CORPUS, ignored))
    if (entry.path().extension() == ".py" || entry.path().extension() == ".tsr")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto &file : files) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    // The programs of a corpus file, or all of another one.
    std::string rest = text.str();
    for (size_t end = 0; end != std::string::npos; rest.erase(0, end)) {
      end = rest.find("\n#--- ", 1);
      corpus.push_back(rest.substr(0, std::min<size_t>(end, 4000)));
    }
  }
  return corpus;
}

class Mutator {
public:
  Mutator(const std::vector<std::string> &corpus, uint64_t seed) : corpus(corpus), random(seed) {}

  std::string next() {
    std::string text = corpus[pick(corpus.size())];
    unsigned count = 1 + pick(6);
    for (unsigned i = 0; i < count; ++i)
      pick(2) ? mutateBytes(text) : mutateTokens(text);
    return text;
  }

private:
  size_t pick(size_t bound) { return bound ? random() % bound : 0; }

  void mutateBytes(std::string &text) {
    static constexpr std::string_view interesting = "()[]{}'\"\\\n\t #:;,.=*@\r\f0eEjxX_\xff\xc3\0";
    size_t at = pick(text.size() + 1);
    switch (pick(5)) {
    case 0:
      if (at < text.size())
        text[at] = char(random());
      break;
    case 1:
      text.insert(at, 1, interesting[pick(interesting.size())]);
      break;
    case 2:
      text.erase(at, pick(8));
      break;
    case 3:
      text.insert(at, text.substr(pick(text.size()), pick(40)));
      break;
    case 4:
      text.resize(at);
      break;
    }
  }

  void mutateTokens(std::string &text) {
    static constexpr std::string_view words[] = {
        "if", "else", "for",   "in",    "def",    "return", "lambda", "not",   "(",
        ")",  "[",    "]",     "{",     "}",      ":",      ",",      "**",    "->",
        "\n", "\n  ", "=",     ":=",    "import", "from",   "...",    "1e9",   "0x",
        "f'", "'''",  "async", "await", "match",  "case",   "@",      "yield", "is"};
    std::vector<SourceRange> ranges;
    Diagnostics diagnostics;
    Lexer lexer(diagnostics, diagnostics.sources.add("f", text));
    for (Token token = lexer.next(); !token.is(Tok::EndOfFile); token = lexer.next())
      ranges.push_back(token.range);
    if (ranges.empty())
      return;
    SourceRange a = ranges[pick(ranges.size())];
    SourceRange b = ranges[pick(ranges.size())];
    std::string other(lexer.text(b));
    switch (pick(5)) {
    case 0:
      text.replace(a.begin, a.end - a.begin, other);
      break;
    case 1:
      text.erase(a.begin, a.end - a.begin);
      break;
    case 2:
      text.insert(a.begin, other + " ");
      break;
    case 3:
      text.replace(a.begin, a.end - a.begin, words[pick(std::size(words))]);
      break;
    case 4: {
      const std::string &donor = corpus[pick(corpus.size())];
      text = text.substr(0, a.begin) + donor.substr(pick(donor.size()));
      break;
    }
    }
  }

  const std::vector<std::string> &corpus;
  std::mt19937_64 random;
};

TEST(Fuzz, LexerAndParserSurviveMutations) {
  // TESSERA_FUZZ="SEED COUNT" runs another part of the space.
  unsigned long long seed = 20240607;
  int count = 20000;
  if (const char *given = std::getenv("TESSERA_FUZZ"))
    sscanf(given, "%llu %d", &seed, &count);
  std::vector<std::string> corpus = loadCorpus();
  ASSERT_GT(corpus.size(), 50u) << "the programs of " TESSERA_FRONTEND_CORPUS;
  Mutator mutator(corpus, seed);
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    std::string text = mutator.next();
    Diagnostics diagnostics;
    uint32_t file = diagnostics.sources.add("fuzz.py", text);
    std::unique_ptr<ast::Module> module = parseModule(diagnostics, file, i % 7 == 0);
    printTree(module->body);
    for (const ast::Stmt *stmt : module->body) {
      ASSERT_LE(stmt->range.begin, stmt->range.end) << text;
      ASSERT_LE(stmt->range.end, text.size()) << text;
      if (const auto *function = stmt->as<ast::FunctionStmt>())
        ast::reportUnsupported(*function, diagnostics);
    }
    for (const Diagnostic &diagnostic : diagnostics.all()) {
      ASSERT_LE(diagnostic.range.begin, diagnostic.range.end) << diagnostic.message << "\n" << text;
      ASSERT_LE(diagnostic.range.end, text.size()) << diagnostic.message << "\n" << text;
    }
    if (i % 16 == 0)
      diagnostics.render(), diagnostics.renderJson();
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LT(seconds, 120 * std::max(1, count / 20000));
}

} // namespace
