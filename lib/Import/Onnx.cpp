//===- Onnx.cpp - ONNX graphs as programs ---------------------------------------===//
#include "tessera/Import/Onnx.h"

#include "OnnxTables.h"

using namespace tessera;
using namespace tessera::onnx;

std::string onnx::converted(const std::string &text, const Node &node) {
  return "(" + text + ").to(tsr." + node.result().dtype + ")";
}

std::optional<int64_t> onnx::staticSize(const std::string &size) {
  int64_t number = 0;
  return llvm::StringRef(size).getAsInteger(10, number) ? std::nullopt : std::optional(number);
}

std::optional<std::vector<int64_t>> onnx::staticShape(const TensorInfo *info) {
  if (!info)
    return std::nullopt;
  std::vector<int64_t> sizes;
  for (const std::string &size : info->shape) {
    std::optional<int64_t> number = staticSize(size);
    if (!number)
      return std::nullopt;
    sizes.push_back(*number);
  }
  return sizes;
}

std::string onnx::sizeOf(const std::string &x, const TensorInfo &info, size_t dim) {
  return staticSize(info.shape[dim]) ? info.shape[dim] : x + ".shape[" + std::to_string(dim) + "]";
}

std::vector<std::string> onnx::sizesOf(const std::string &x, const TensorInfo &info, size_t first,
                                       size_t last) {
  std::vector<std::string> sizes;
  for (size_t i = first; i < last; ++i)
    sizes.push_back(sizeOf(x, info, i));
  return sizes;
}

std::string onnx::tupleOf(const std::vector<int64_t> &numbers) {
  std::vector<std::string> texts;
  for (int64_t number : numbers)
    texts.push_back(std::to_string(number));
  return importer::tupleOf(texts);
}

static const Table &operators() {
  static const Table table = [] {
    Table made;
    addBasicOperators(made);
    addShapeOperators(made);
    addNetworkOperators(made);
    addRecurrentOperators(made);
    return made;
  }();
  return table;
}

llvm::Expected<ImportedProgram> tessera::importOnnx(llvm::StringRef json) {
  return translate(json, operators());
}

std::vector<std::string> tessera::onnxOperators() { return namesOf(operators()); }
