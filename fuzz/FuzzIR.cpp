//===- FuzzIR.cpp - The IR of all stages as text --------------------------===//
//
// A text is parsed and verified with every dialect of a stage. Either there are errors, or the
// module's own text, which is parsed again, is the same after that.
//
//===----------------------------------------------------------------------===//
#include "Context.h"
#include "Fuzz.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

using namespace tessera;
using namespace mlir;

const std::vector<std::string> &fuzz::vocabulary() {
  static const std::vector<std::string> *words = [] {
    auto *made = new std::vector<std::string>{"f64",
                                              "f32",
                                              "bf16",
                                              "f16",
                                              "i64",
                                              "i32",
                                              "i8",
                                              "ui8",
                                              "i1",
                                              "index",
                                              "none",
                                              "true",
                                              "-",
                                              "tensor<",
                                              "memref<",
                                              "dense<",
                                              "?",
                                              "*",
                                              "->",
                                              "unit",
                                              "loc",
                                              "(",
                                              ")",
                                              "<",
                                              ">",
                                              "[",
                                              "]",
                                              "{",
                                              "}",
                                              ",",
                                              ":",
                                              "=",
                                              "\"\"",
                                              "@f",
                                              "%0",
                                              "^bb0",
                                              "array<i64: 1, 2>",
                                              "array<i32>",
                                              "affine_map<(d0) -> (d0)>",
                                              "!gir.tensor<f32>"};
    MLIRContext &context = freshContext();
    for (RegisteredOperationName name : context.getRegisteredOperations()) {
      llvm::StringRef dialect = name.getDialectNamespace();
      if (dialect == "llvm" || dialect == "builtin")
        continue;
      made->push_back(name.getStringRef().str());
      for (StringAttr attribute : name.getAttributeNames())
        made->push_back(attribute.getValue().str());
    }
    return made;
  }();
  return *words;
}

/// What MLIR's own parser does not survive: an array whose elements have no width. Our programs
/// tell that it failed (test/Tools/bad-input.test).
static bool isFaultOfMlir(llvm::StringRef text) {
  for (size_t at = text.find("array<"); at != llvm::StringRef::npos;
       at = text.find("array<", at + 1))
    if (text.substr(at + 6).ltrim().starts_with("index"))
      return true;
  return false;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Stopwatch stopwatch;
  MLIRContext &context = fuzz::freshContext();
  fuzz::Messages messages(context);
  std::string text(fuzz::asText(data, size)); // ends with a zero, as the parser wants it
  if (isFaultOfMlir(text))
    return 0;
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  fuzz::expect(module || messages.errors(), "a module or errors");
  // MLIR's lexer goes on after an error; so may its parser, to the end.
  if (messages.errors())
    return 0;
  module->walk([](Operation *op) { fuzz::saw(op->getName().getStringRef()); });
  fuzz::checkRoundTrip(*module, messages);
  return 0;
}
