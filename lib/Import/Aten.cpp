//===- Aten.cpp - Graphs of ATen operations as programs ------------------------===//
#include "tessera/Import/Aten.h"

#include "AtenTables.h"

using namespace tessera;

static const importer::Table &operations() {
  static const importer::Table table = [] {
    importer::Table made;
    aten::addBasicOperations(made);
    aten::addNetworkOperations(made);
    return made;
  }();
  return table;
}

llvm::Expected<ImportedProgram> tessera::importAten(llvm::StringRef json) {
  return importer::translate(json, operations());
}
