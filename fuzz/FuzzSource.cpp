//===- FuzzSource.cpp - The frontend, from text to Graph IR ---------------===//
//
// An input is a program below a line that says what to compile, as in test/Frontend/Errors:
//
//   #--- NAME[::FUNCTION] x=fp32[2,8] n=3 s=0.5 on=true
//
// It is compiled to Graph IR. Either there are errors, all of which point into the text, or a graph
// that the verifier accepts and whose text can be parsed.
//
//===----------------------------------------------------------------------===//
#include "Context.h"
#include "Fuzz.h"
#include "tessera/Frontend/Frontend.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdlib>

using namespace tessera;
using namespace mlir;

const std::vector<std::string> &fuzz::vocabulary() {
  static const std::vector<std::string> *words = [] {
    auto *made = new std::vector<std::string>{"if",
                                              "else",
                                              "elif",
                                              "for",
                                              "in",
                                              "while",
                                              "def",
                                              "return",
                                              "lambda",
                                              "not",
                                              "and",
                                              "or",
                                              "is",
                                              "with",
                                              "as",
                                              "from",
                                              "import",
                                              "class",
                                              "try",
                                              "raise",
                                              "assert",
                                              "pass",
                                              "break",
                                              "None",
                                              "True",
                                              "del",
                                              "global",
                                              "yield",
                                              "async",
                                              "match",
                                              "case",
                                              "(",
                                              ")",
                                              "[",
                                              "]",
                                              "{",
                                              "}",
                                              ":",
                                              ",",
                                              "**",
                                              "->",
                                              "//",
                                              "%",
                                              "@",
                                              "==",
                                              "<",
                                              "<<",
                                              "~",
                                              "|",
                                              ":=",
                                              "...",
                                              "\\",
                                              "'",
                                              "\"",
                                              "'''",
                                              "f'",
                                              "0x",
                                              "1e9",
                                              "\n",
                                              "\n  ",
                                              "\t",
                                              "*",
                                              "#",
                                              ";",
                                              "dim=",
                                              "axis=",
                                              "out=",
                                              "dtype=",
                                              "keepdim=True",
                                              "Tensor[",
                                              "Region[",
                                              "tsr.",
                                              "@tsr.function",
                                              "@accum(",
                                              "tsr.numerics(",
                                              "x",
                                              "y",
                                              "n",
                                              "-1",
                                              "range(",
                                              "shape"};
    for (const OperationDoc &operation : documentOperations())
      made->push_back(operation.name);
    for (unsigned type = 0; type < numDTypes; ++type)
      made->emplace_back(dtypeName(DType(type)));
    return made;
  }();
  return *words;
}

/// `x=fp32[2,8]`, `n=3`, `s=0.5`, `on=true`, within what the C interface lets through.
static ArgSpec parseArgument(llvm::StringRef text) {
  ArgSpec spec;
  auto [name, value] = text.split('=');
  spec.name = name.str();
  spec.hasValue = true;
  if (!value.contains('[')) {
    bool isBool = value == "true" || value == "false";
    spec.kind = isBool ? ArgSpec::Bool : value.contains('.') ? ArgSpec::Float : ArgSpec::Int;
    spec.integer = isBool ? value == "true" : std::atoll(value.str().c_str());
    return spec;
  }
  spec.kind = ArgSpec::Tensor;
  auto [type, sizes] = value.split('[');
  spec.dtype = dtypeByName(type.str()).value_or(DType::FP32);
  llvm::SmallVector<llvm::StringRef> parts;
  sizes.take_until([](char c) { return c == ']'; }).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : llvm::ArrayRef(parts).take_front(64)) {
    DimSpec dim;
    dim.size = std::max<int64_t>(std::atoll(part.str().c_str()), -1);
    dim.divisor = dim.size > 0 && dim.size % 16 == 0 ? 16 : 1;
    dim.fixed = part.ends_with("!");
    spec.dims.push_back(dim);
  }
  return spec;
}

static Request parseInput(llvm::StringRef text) {
  Request request;
  request.source.file = "fuzz.tsr";
  if (!text.consume_front("#--- ")) {
    request.source.text = text.str();
    return request;
  }
  auto [head, program] = text.split('\n');
  llvm::SmallVector<llvm::StringRef> words;
  head.split(words, ' ', -1, /*KeepEmpty=*/false);
  request.source.text = program.str();
  for (llvm::StringRef word : llvm::ArrayRef(words).take_front(32))
    if (word.contains('='))
      request.arguments.push_back(parseArgument(word));
    else
      request.function = word.split("::").second.str();
  return request;
}

/// Every range of a message lies within its source.
static void checkMessage(const tessera::Diagnostic &message, const SourceManager &sources) {
  auto check = [&](SourceRange range) {
    if (range.isValid())
      fuzz::expect(range.begin <= range.end &&
                       range.end <= sources.buffer(range.file).text().size(),
                   "ranges within the source", message.message);
  };
  check(message.range);
  for (SourceRange range : message.highlights)
    check(range);
  for (const FixIt &fix : message.fixIts)
    check(fix.range);
  for (const tessera::Diagnostic &note : message.notes)
    checkMessage(note, sources);
  fuzz::saw(message.message);
  fuzz::expect(message.message.find("internal error") == std::string::npos, "a message",
               message.message);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Stopwatch stopwatch;
  Request request = parseInput(fuzz::asText(data, size));
  MLIRContext &context = fuzz::freshContext();
  fuzz::Messages messages(context);
  Diagnostics diagnostics;
  FrontendInfo info;
  OwningOpRef<ModuleOp> module = compileToGraph(context, request, diagnostics, info);
  fuzz::expect(bool(module) == !diagnostics.hasErrors(), "a graph or errors", diagnostics.render());
  for (const tessera::Diagnostic &message : diagnostics.all())
    checkMessage(message, diagnostics.sources);
  if (size % 16 == 0) {
    diagnostics.render();
    diagnostics.renderJson();
  }
  if (!module)
    return 0;
  fuzz::expect(succeeded(verify(*module)), "a valid graph", messages.text());
  module->walk([](Operation *op) { fuzz::saw(op->getName().getStringRef()); });
  fuzz::checkRoundTrip(*module, messages);
  return 0;
}
