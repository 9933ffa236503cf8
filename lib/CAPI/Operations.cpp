//===- Operations.cpp - The language's operations as data -----------------===//
//
// The reference pages, the type stubs and `help(tsr.softmax)` are generated from this.
//
//===----------------------------------------------------------------------===//
#include "tessera-c/tessera.h"
#include "tessera/Frontend/Frontend.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

const char *tessera_operations(void) {
  static const std::string text = [] {
    llvm::json::Array operations;
    for (const tessera::OperationDoc &doc : tessera::documentOperations())
      operations.push_back(llvm::json::Object{{"module", doc.module},
                                              {"name", doc.name},
                                              {"signature", doc.signature},
                                              {"meaning", doc.meaning},
                                              {"function", doc.isFunction},
                                              {"method", doc.isMethod},
                                              {"property", doc.isProperty}});
    std::string json;
    llvm::raw_string_ostream(json) << llvm::json::Value(std::move(operations));
    return json;
  }();
  return text.c_str();
}
