//===- SemaFuzzTest.cpp - Mutated programs must not crash semantic analysis -------------------===//
//
// A deterministic fuzzer. Functions of the lit corpus are mutated by words (names, operators,
// numbers and keywords are swapped, repeated, removed or replaced) and compiled with arguments of
// random types and sizes. The result must be an error or a graph that the verifier accepts, and
// never a crash.
//
//===------------------------------------------------------------------------------------------===//
#include "tessera/Frontend/Frontend.h"

#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

using namespace tessera;

namespace {

/// A function of the corpus with the arguments of its RUN line.
struct Program {
  std::string text;
  std::string function;
  std::vector<ArgSpec> arguments;
};

/// `x=fp32[2,8]`, `n=3`, `s=0.5`, `on=true`, as on the command line.
ArgSpec parseArgument(const std::string &text) {
  ArgSpec spec;
  size_t equal = text.find('='), open = text.find('[');
  spec.name = text.substr(0, equal);
  std::string value = text.substr(equal + 1);
  spec.hasValue = true;
  if (open == std::string::npos) {
    bool isBool = value == "true" || value == "false";
    spec.kind = isBool                                 ? ArgSpec::Bool
                : value.find('.') != std::string::npos ? ArgSpec::Float
                                                       : ArgSpec::Int;
    spec.integer = isBool ? value == "true" : std::atoll(value.c_str());
    return spec;
  }
  spec.kind = ArgSpec::Tensor;
  spec.dtype = dtypeByName(text.substr(equal + 1, open - equal - 1)).value_or(DType::FP32);
  std::stringstream sizes(text.substr(open + 1, text.find(']') - open - 1));
  for (std::string size; std::getline(sizes, size, ',');) {
    DimSpec dim;
    dim.size = std::atoll(size.c_str());
    dim.divisor = dim.size > 0 && dim.size % 16 == 0 ? 16 : 1;
    spec.dims.push_back(dim);
  }
  return spec;
}

/// The programs of an error corpus file: `#--- NAME[::FUNCTION] ARG=TYPE…`, then the text.
void addWrongPrograms(const std::string &text, std::vector<Program> &corpus) {
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#--- ")) {
      if (!corpus.empty() && !line.starts_with("#|"))
        corpus.back().text += line + "\n";
      continue;
    }
    std::stringstream words(line.substr(5));
    std::string word;
    words >> word;
    size_t separator = word.find("::");
    Program program{"", separator == std::string::npos ? "f" : word.substr(separator + 2), {}};
    while (words >> word)
      if (!word.starts_with("--"))
        program.arguments.push_back(parseArgument(word));
    corpus.push_back(program);
  }
}

std::vector<Program> loadCorpus(std::vector<Program> &wrong) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(TESSERA_FRONTEND_CORPUS, ignored))
    if (entry.path().extension() == ".py" || entry.path().extension() == ".tsr")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Program> corpus;
  for (const auto &file : files) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    Diagnostics diagnostics;
    std::vector<std::string> functions = findFunctions({text.str(), "f.py"}, diagnostics);
    if (text.str().find("\n#--- ") != std::string::npos) {
      addWrongPrograms(text.str(), wrong);
      continue;
    }
    if (functions.empty())
      continue;
    std::stringstream lines(text.str());
    for (std::string line; std::getline(lines, line) && line.starts_with("#");) {
      if (line.find("RUN:") == std::string::npos)
        continue;
      Program program{text.str(), functions[0], {}};
      std::stringstream words(line);
      for (std::string word; words >> word;) {
        if (word.starts_with("%s::"))
          program.function = word.substr(4);
        if (word == "--arg" && words >> word)
          program.arguments.push_back(parseArgument(word));
      }
      corpus.push_back(program);
    }
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
  explicit Fuzzer(uint64_t seed) : corpus(loadCorpus(wrong)), random(seed) {}

  size_t pick(size_t bound) { return bound ? random() % bound : 0; }

  Request next() {
    const std::vector<Program> &chosen = pick(4) ? corpus : wrong;
    const Program &program = chosen[pick(chosen.size())];
    const std::string &name = program.function;
    std::vector<std::string> words = split(program.text);
    static const std::string spare[] = {"0",
                                        "1",
                                        "-1",
                                        "2",
                                        "7",
                                        "0.5",
                                        "None",
                                        "True",
                                        "x",
                                        "y",
                                        "n",
                                        "+",
                                        "*",
                                        "//",
                                        "%",
                                        "@",
                                        "**",
                                        "<",
                                        "==",
                                        "dim",
                                        "sum",
                                        "shape",
                                        "D",
                                        "N",
                                        "softmax",
                                        "T",
                                        "mT",
                                        "reshape",
                                        "to",
                                        "int32",
                                        "9223372036854775807",
                                        "max",
                                        "where",
                                        "concat",
                                        "for",
                                        "if",
                                        "[",
                                        "]",
                                        "...",
                                        ":",
                                        ",",
                                        "range",
                                        "matmul",
                                        "expand",
                                        "chunk",
                                        "roll",
                                        "repeat",
                                        "arange",
                                        "full"};
    // Mutations near one function's text are more useful than those in comments.
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
    request.arguments = program.arguments;
    for (ArgSpec &spec : request.arguments)
      if (pick(4) == 0)
        mutate(spec);
    return request;
  }

private:
  void mutate(ArgSpec &spec) {
    static constexpr int64_t sizes[] = {0, 1, 2, 3, 4, 5, 8, 64};
    spec.integer = int64_t(pick(8)) - 2;
    if (pick(8) == 0)
      spec.kind = ArgSpec::Kind(pick(5) + 1);
    if (pick(4) == 0)
      spec.dtype = DType(pick(unsigned(DType::Bool) + 1));
    if (pick(6) == 0)
      spec.dims.resize(pick(5), DimSpec{4});
    for (DimSpec &dim : spec.dims) {
      if (pick(3) == 0)
        dim.size = pick(16) ? sizes[pick(std::size(sizes))] : -1;
      dim.fixed = dim.size >= 0 && pick(3) == 0;
      dim.divisor = dim.size > 0 && dim.size % 4 == 0 ? 4 : 1;
    }
  }

  std::vector<Program> wrong; // programs that already give messages
  std::vector<Program> corpus;
  std::mt19937_64 random;
};

/// Every range of a message lies within its source.
void checkRanges(const Diagnostic &diagnostic, const SourceManager &sources) {
  auto check = [&](SourceRange range) {
    if (!range.isValid())
      return;
    ASSERT_LE(range.begin, range.end) << diagnostic.message;
    ASSERT_LE(range.end, sources.buffer(range.file).text().size()) << diagnostic.message;
  };
  check(diagnostic.range);
  for (SourceRange range : diagnostic.highlights)
    check(range);
  for (const FixIt &fix : diagnostic.fixIts)
    check(fix.range);
  for (const Diagnostic &note : diagnostic.notes)
    checkRanges(note, sources);
}

TEST(SemaFuzz, MutatedProgramsGiveAnErrorOrAGraph) {
  // TESSERA_FUZZ="SEED COUNT" runs another part of the space.
  unsigned long long seed = 20240608;
  int count = 10000;
  if (const char *given = std::getenv("TESSERA_FUZZ"))
    sscanf(given, "%llu %d", &seed, &count);
  Fuzzer fuzzer(seed);
  mlir::MLIRContext context;
  size_t graphs = 0;
  for (int i = 0; i < count; ++i) {
    Request request = fuzzer.next();
    Diagnostics diagnostics;
    FrontendInfo info;
    mlir::OwningOpRef<mlir::ModuleOp> module = compileToGraph(context, request, diagnostics, info);
    ASSERT_EQ(bool(module), !diagnostics.hasErrors()) << request.source.text;
    for (const Diagnostic &diagnostic : diagnostics.all())
      checkRanges(diagnostic, diagnostics.sources);
    for (const Diagnostic &diagnostic : diagnostics.all())
      ASSERT_EQ(diagnostic.message.find("internal error"), std::string::npos)
          << diagnostics.render() << request.function << "\n"
          << request.source.text;
    graphs += bool(module);
    if (i % 64 == 0)
      diagnostics.render();
  }
  // The test is about mutants that still compile.
  EXPECT_GT(graphs, size_t(count / 10)) << graphs;
  RecordProperty("graphs", int(graphs));
}

} // namespace
