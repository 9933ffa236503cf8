//===- Roads.cpp - By which road a program goes to a GPU ------------------===//
#include "Roads.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Dialect/Tile/IR/Roads.h"
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

/// The last line for the program counts; what cannot be read is left aside.
std::string measuredRoad(ModuleOp graph, const std::string &chip) {
  std::string folder = rt::cacheFolder(), road;
  auto file = folder.empty() ? std::make_error_code(std::errc::no_such_file_or_directory)
                             : llvm::MemoryBuffer::getFile(folder + "/roads-" + chip + ".txt");
  if (!file)
    return "";
  llvm::line_iterator lines(**file, /*SkipBlanks=*/true, '#');
  if (lines.is_at_eof() || lines->trim() != "tessera roads 1 " + chip)
    return "";
  std::string signature = programSignature(graph);
  for (++lines; !lines.is_at_eof(); ++lines) {
    SmallVector<StringRef> words;
    llvm::SplitString(*lines, words);
    if (words.size() >= 2 && words[0] == signature && (words[1] == sched::kByThreads || words[1] == sched::kByTiles))
      road = words[1].str();
  }
  return road;
}

/// Where a kernel says by which road it goes.
static StringRef roadAttribute(Operation *op) {
  return isa<sched::KernelOp>(op) ? StringRef(sched::kRoad) : isa<tile::KernelOp>(op) ? StringRef(tile::kRoadAttr) : "";
}

std::string roadsOf(ModuleOp module) {
  std::string found;
  module.walk([&](Operation *op) {
    StringRef name = roadAttribute(op);
    auto road = name.empty() ? StringAttr() : op->getAttrOfType<StringAttr>(name);
    if (road && found != road.getValue())
      found = found.empty() ? road.str() : kBothRoads.str();
  });
  return found;
}

void forgetRoads(ModuleOp module) {
  module.walk([](Operation *op) {
    if (StringRef name = roadAttribute(op); !name.empty())
      op->removeAttr(name);
  });
}

} // namespace tessera
