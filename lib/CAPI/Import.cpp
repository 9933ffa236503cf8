//===- Import.cpp - Programs of other systems through the C ABI -----------===//
#include "tessera-c/tessera.h"
#include "tessera/Import/Aten.h"
#include "tessera/Import/Onnx.h"
#include "tessera/Import/StableHlo.h"

#include "llvm/Support/Base64.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

static std::string textOf(llvm::json::Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

static std::string errorOf(llvm::Error error) {
  return textOf(
      llvm::json::Object{{"error", llvm::json::fixUTF8(llvm::toString(std::move(error)))}});
}

static llvm::json::Object objectOf(const tessera::ImportedProgram &program) {
  llvm::json::Array unsupported;
  for (const auto &[node, reason] : program.unsupported)
    unsupported.push_back(
        llvm::json::Array{llvm::json::fixUTF8(node), llvm::json::fixUTF8(reason)});
  return llvm::json::Object{{"program", program.text},
                            {"parameters", llvm::json::Array(program.parameters)},
                            {"unsupported", std::move(unsupported)}};
}

static std::string answerOf(llvm::Expected<tessera::ImportedProgram> program) {
  return program ? textOf(objectOf(*program)) : errorOf(program.takeError());
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

const char *tessera_import_stablehlo(const char *module, size_t size) {
  thread_local std::string answer;
  llvm::Expected<tessera::ImportedModule> imported =
      tessera::importStableHlo(llvm::StringRef(module, size));
  if (!imported)
    return (answer = errorOf(imported.takeError())).c_str();
  llvm::json::Object object = objectOf(imported->program);
  object["inputs"] = llvm::json::Array(imported->inputs);
  object["outputs"] = llvm::json::Array(imported->outputs);
  object["arguments"] = llvm::json::Array(imported->parameters);
  llvm::json::Array constants;
  for (const tessera::ImportedConstant &each : imported->constants)
    constants.push_back(llvm::json::Object{{"name", each.name},
                                           {"dtype", each.dtype},
                                           {"shape", llvm::json::Array(each.shape)},
                                           {"data", llvm::encodeBase64(each.data)}});
  object["constants"] = std::move(constants);
  answer = textOf(std::move(object));
  return answer.c_str();
}

const char *tessera_stablehlo_operations(void) {
  static const std::string text = textOf(llvm::json::Array(tessera::stableHloOperations()));
  return text.c_str();
}
