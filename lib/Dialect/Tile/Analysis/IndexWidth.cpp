//===- IndexWidth.cpp - Whether 32 bits index every tensor ----------------===//
#include "tessera/Dialect/Tile/Analysis/IndexWidth.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;

StringRef tessera::compileOption(ModuleOp module, StringRef name) {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto options = function->getAttrOfType<DictionaryAttr>(gir::kNumericsAttr))
      if (auto value = options.getAs<StringAttr>(name))
        return value.getValue();
  return "";
}

std::optional<SymExpr> tessera::wideTensorSize(ModuleOp module) {
  std::optional<SymExpr> wide;
  for (auto function : module.getOps<func::FuncOp>()) {
    SizeFacts facts(function);
    auto look = [&](Value value) {
      auto type = dyn_cast<gir::TensorType>(value.getType());
      if (type && !wide && facts.hint(type.getNumElements()) > INT32_MAX)
        wide = type.getNumElements();
    };
    llvm::for_each(function.getArguments(), look);
    function.walk([&](tile::EmptyOp empty) { look(empty.getResult()); });
  }
  return wide;
}

bool tessera::needsWideIndices(ModuleOp module) {
  return compileOption(module, "indices") == "64" || wideTensorSize(module);
}
