//===- MeasuredBackends.cpp - The measured backend of a GPU program ----------===//
#include "MeasuredBackends.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Dialect/Tile/IR/BackendAttr.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera_rt/cache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

namespace tessera {

using namespace mlir;

std::string programSignature(ModuleOp graph) {
  OwningOpRef<ModuleOp> copy = graph.clone();
  for (auto function : copy->getOps<func::FuncOp>())
    if (auto options = function->getAttrOfType<DictionaryAttr>(gir::kNumericsAttr)) {
      NamedAttrList rest(options);
      rest.erase("via");
      function->removeAttr(gir::kNumericsAttr);
      if (!rest.empty())
        function->setAttr(gir::kNumericsAttr, rest.getDictionary(graph.getContext()));
    }
  std::string text;
  llvm::raw_string_ostream stream(text);
  copy->print(stream);
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

/// The last line for the program counts; lines that cannot be read are ignored.
std::string measuredBackend(ModuleOp graph, const std::string &chip) {
  std::string backend;
  std::optional<rt::CacheTable> table = rt::cacheTable("backends-" + chip + ".txt");
  if (!table)
    return "";
  llvm::line_iterator lines(llvm::MemoryBufferRef(table->text, table->path), /*SkipBlanks=*/true,
                            '#');
  if (lines.is_at_eof() || lines->trim() != "tessera backends 1 " + chip)
    return "";
  std::string signature = programSignature(graph);
  for (++lines; !lines.is_at_eof(); ++lines) {
    SmallVector<StringRef> words;
    llvm::SplitString(*lines, words);
    if (words.size() >= 2 && words[0] == signature && (words[1] == "ptx" || words[1] == "tileir"))
      backend = words[1].str();
  }
  return backend;
}

/// The attribute that names the backend of a kernel.
static StringRef backendAttribute(Operation *op) {
  return isa<sched::KernelOp>(op)  ? StringRef(sched::kBackend)
         : isa<tile::KernelOp>(op) ? StringRef(tile::kBackendAttr)
                                   : "";
}

llvm::StringRef viaName(llvm::StringRef backend) {
  return backend == sched::kCudaTile ? llvm::StringRef("tileir") : backend;
}

std::string viaOf(ModuleOp module) {
  std::string found;
  module.walk([&](Operation *op) {
    StringRef name = backendAttribute(op);
    auto backend = name.empty() ? StringAttr() : op->getAttrOfType<StringAttr>(name);
    if (backend && found != viaName(backend))
      found = found.empty() ? viaName(backend).str() : kBothBackends.str();
  });
  return found;
}

void forgetBackends(ModuleOp module) {
  module.walk([](Operation *op) {
    if (StringRef name = backendAttribute(op); !name.empty())
      op->removeAttr(name);
  });
}

} // namespace tessera
