//===- Import.cpp - Programs of other systems through the C ABI -----------===//
#include "tessera-c/tessera.h"
#include "tessera/Import/Aten.h"
#include "tessera/Import/Onnx.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

static std::string textOf(llvm::json::Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

static std::string answerOf(llvm::Expected<tessera::ImportedProgram> program) {
  if (!program)
    return textOf(llvm::json::Object{{"error", llvm::toString(program.takeError())}});
  llvm::json::Array unsupported;
  for (const auto &[node, reason] : program->unsupported)
    unsupported.push_back(llvm::json::Array{node, reason});
  return textOf(llvm::json::Object{{"program", program->text},
                                   {"parameters", llvm::json::Array(program->parameters)},
                                   {"unsupported", std::move(unsupported)}});
}

const char *tessera_import_aten(const char *graph) {
  thread_local std::string answer;
  answer = answerOf(tessera::importAten(graph));
  return answer.c_str();
}

const char *tessera_import_onnx(const char *graph) {
  thread_local std::string answer;
  answer = answerOf(tessera::importOnnx(graph));
  return answer.c_str();
}

const char *tessera_onnx_operators(void) {
  static const std::string text = textOf(llvm::json::Array(tessera::onnxOperators()));
  return text.c_str();
}
