//===- SemaFuzzTest.cpp - Mutated programs must not crash semantic analysis ----------------------===//
//
// A deterministic fuzzer. Functions of the lit corpus are mutated by words (names, operators,
// numbers and keywords are swapped, repeated, removed or replaced) and compiled with arguments of
// random types and sizes. Whatever comes out: no crash, no graph that the verifier rejects, an error
// or a graph.
//
//===------------------------------------------------------------------------------------------===//
#include "tessera/Frontend/Frontend.h"

#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

using namespace tessera;

namespace {

struct Source {
  std::string text;
  std::vector<std::string> functions;
};

std::vector<Source> loadCorpus() {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(TESSERA_FRONTEND_CORPUS, ignored))
    if (entry.path().extension() == ".py" || entry.path().extension() == ".tsr")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Source> corpus;
  for (const auto &file : files) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    Diagnostics diagnostics;
    std::vector<std::string> functions = findFunctions({text.str(), "f.py"}, diagnostics);
    if (!functions.empty())
      corpus.push_back({text.str(), functions});
  }
  return corpus;
}

/// Splits a text into words, numbers, blanks and single characters.
std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> words;
  auto isWord = [](char c) { return isalnum((unsigned char)c) || c == '_'; };
  for (size_t i = 0; i < text.size();) {
    size_t from = i++;
    if (isWord(text[from]))
      while (i < text.size() && isWord(text[i]))
        ++i;
    words.push_back(text.substr(from, i - from));
  }
  return words;
}

class Fuzzer {
public:
  explicit Fuzzer(uint64_t seed) : corpus(loadCorpus()), random(seed) {}

  size_t pick(size_t bound) { return bound ? random() % bound : 0; }

  Request next() {
    const Source &source = corpus[pick(corpus.size())];
    std::string name = source.functions[pick(source.functions.size())];
    std::vector<std::string> words = split(source.text);
    static const std::string spare[] = {
        "0",    "1",     "-1",    "2",      "7",      "0.5",   "None", "True", "x",     "y",
        "n",    "+",     "*",     "//",     "%",      "@",     "**",   "<",    "==",    "dim",
        "sum",  "shape", "D",     "N",      "softmax", "T",    "mT",   "reshape", "to", "int32",
        "9223372036854775807", "max", "where", "concat", "for", "if",  "[",    "]",     "...",
        ":",    ",",     "range", "matmul", "expand", "chunk", "roll", "repeat", "arange", "full"};
    // Mutations near one function's text are likelier to matter than those in comments.
    size_t begin = 0;
    std::string last = name.substr(name.rfind('.') + 1);
    for (size_t i = 0; i + 2 < words.size(); ++i)
      if (words[i] == "def" && words[i + 2] == last)
        begin = i;
    for (size_t count = 1 + pick(4); count > 0; --count) {
      size_t at = begin + pick(std::min<size_t>(words.size() - begin, 160));
      const std::string &other = words[begin + pick(std::min<size_t>(words.size() - begin, 160))];
      switch (pick(4)) {
      case 0:
        words[at] = other;
        break;
      case 1:
        words[at] = spare[pick(std::size(spare))];
        break;
      case 2:
        words[at].clear();
        break;
      case 3:
        words[at] += " " + spare[pick(std::size(spare))];
        break;
      }
    }
    Request request;
    for (const std::string &word : words)
      request.source.text += word;
    request.source.file = "fuzz.py";
    request.function = name;
    addArguments(request);
    return request;
  }

private:
  void addArguments(Request &request) {
    static const char *const names[] = {"x", "y", "w", "b", "h", "i", "u", "m", "a",
                                        "v", "q", "k", "n", "s", "on"};
    Diagnostics ignored;
    // Ask for all parameters by trial: those that do not exist are taken away by their error.
    size_t open = request.source.text.find("def " + request.function.substr(
                                                        request.function.rfind('.') + 1) + "(");
    size_t close = open == std::string::npos ? open : request.source.text.find("):", open);
    std::string head = open == std::string::npos || close == std::string::npos
                           ? ""
                           : request.source.text.substr(open, std::min<size_t>(close - open, 400));
    for (const char *name : names) {
      size_t at = head.find(name);
      bool found = false;
      for (; at != std::string::npos && !found; at = head.find(name, at + 1)) {
        char before = at ? head[at - 1] : ' ';
        char after = at + strlen(name) < head.size() ? head[at + strlen(name)] : ',';
        found = (before == '(' || before == ' ') && (after == ',' || after == ':' || after == '=');
      }
      if (!found && !(head.ends_with(std::string("(") + name)))
        continue;
      ArgSpec spec;
      spec.name = name;
      spec.hasValue = true;
      spec.integer = int64_t(pick(8)) - 2;
      bool scalar = strcmp(name, "n") == 0 || strcmp(name, "s") == 0 || strcmp(name, "on") == 0;
      if (scalar && pick(8)) {
        spec.kind = name[0] == 'n' ? ArgSpec::Int : name[0] == 's' ? ArgSpec::Float : ArgSpec::Bool;
      } else {
        spec.kind = ArgSpec::Tensor;
        spec.dtype = DType(pick(unsigned(DType::Bool) + 1));
        for (size_t rank = pick(5); rank > 0; --rank) {
          DimSpec dim;
          static constexpr int64_t sizes[] = {0, 1, 2, 3, 4, 8, 64, 4};
          dim.size = pick(16) ? sizes[pick(std::size(sizes))] : -1;
          dim.fixed = dim.size >= 0 && pick(3) == 0;
          dim.divisor = dim.size > 0 && dim.size % 4 == 0 ? 4 : 1;
          spec.dims.push_back(dim);
        }
      }
      request.arguments.push_back(spec);
    }
  }

  std::vector<Source> corpus;
  std::mt19937_64 random;
};

TEST(SemaFuzz, MutatedProgramsGiveAnErrorOrAGraph) {
  Fuzzer fuzzer(20240608);
  mlir::MLIRContext context;
  size_t graphs = 0;
  constexpr int count = 20000;
  for (int i = 0; i < count; ++i) {
    Request request = fuzzer.next();
    Diagnostics diagnostics;
    FrontendInfo info;
    mlir::OwningOpRef<mlir::ModuleOp> module =
        compileToGraph(context, request, diagnostics, info);
    ASSERT_EQ(bool(module), !diagnostics.hasErrors()) << request.source.text;
    for (const Diagnostic &diagnostic : diagnostics.all())
      ASSERT_EQ(diagnostic.message.find("internal error"), std::string::npos)
          << diagnostics.render() << request.function << "\n" << request.source.text;
    graphs += bool(module);
    if (i % 64 == 0)
      diagnostics.render();
  }
  // Mutants that still mean something are what this test is about.
  EXPECT_GT(graphs, count / 50);
}

} // namespace
