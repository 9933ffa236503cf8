//===- Import.cpp - Programs of other systems through the C ABI -----------===//
#include "tessera-c/tessera.h"
#include "tessera/Import/Aten.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

static std::string textOf(llvm::json::Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

const char *tessera_import_aten(const char *graph) {
  thread_local std::string answer;
  llvm::Expected<tessera::AtenProgram> program = tessera::importAten(graph);
  if (!program) {
    answer = textOf(llvm::json::Object{{"error", llvm::toString(program.takeError())}});
    return answer.c_str();
  }
  llvm::json::Array unsupported;
  for (const auto &[node, reason] : program->unsupported)
    unsupported.push_back(llvm::json::Array{node, reason});
  answer = textOf(
      llvm::json::Object{{"program", program->text}, {"unsupported", std::move(unsupported)}});
  return answer.c_str();
}

const char *tessera_aten_operations(void) {
  static const std::string text = textOf(llvm::json::Array(tessera::atenOperations()));
  return text.c_str();
}
