//===- Onnx.cpp - ONNX graphs as programs ---------------------------------------===//
#include "tessera/Import/Onnx.h"

#include "OnnxTables.h"

using namespace tessera;
using namespace tessera::onnx;

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
