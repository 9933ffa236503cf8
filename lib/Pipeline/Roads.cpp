//===- Roads.cpp - By which road a program goes to a GPU ------------------===//
#include "Roads.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
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
static std::string measuredRoad(const std::string &signature, const std::string &chip) {
  std::string folder = rt::cacheFolder(), road;
  auto file = folder.empty() ? std::make_error_code(std::errc::no_such_file_or_directory)
                             : llvm::MemoryBuffer::getFile(folder + "/roads-" + chip + ".txt");
  if (!file)
    return "";
  llvm::line_iterator lines(**file, /*SkipBlanks=*/true, '#');
  if (lines.is_at_eof() || lines->trim() != "tessera roads 1 " + chip)
    return "";
  for (++lines; !lines.is_at_eof(); ++lines) {
    SmallVector<StringRef> words;
    llvm::SplitString(*lines, words);
    if (words.size() >= 2 && words[0] == signature && (words[1] == "ptx" || words[1] == "tileir"))
      road = words[1].str();
  }
  return road;
}

/// Whether blocks of clusters share a product for which the other road takes a second kernel: there are few tiles of its
/// result, even of narrow ones, each the sum of much.
static bool isShared(gir::ContractOp product, const GpuDescription &gpu) {
  constexpr int64_t height = 64, width = 32, fewestElements = 512;
  auto function = product->getParentOfType<func::FuncOp>();
  if (gir::numericsOption(function, "batch_invariant") == "true")
    return false;
  SizeFacts facts(function);
  auto lhs = cast<gir::TensorType>(product.getLhs().getType()), rhs = cast<gir::TensorType>(product.getRhs().getType());
  int64_t tiles = 1, over = 1;
  for (int64_t dim : product.getLhsBatch())
    tiles *= facts.hint(lhs.getDim(dim));
  for (int64_t dim : product.getLhsContract())
    over *= facts.hint(lhs.getDim(dim));
  auto addSide = [&](gir::TensorType type, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract, int64_t side) {
    int64_t size = 1;
    for (int64_t dim = 0; dim < int64_t(type.getRank()); ++dim)
      if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
        size *= facts.hint(type.getDim(dim));
    tiles *= llvm::divideCeil(size, side);
    return size > 1;
  };
  bool isMatrix = addSide(lhs, product.getLhsBatch(), product.getLhsContract(), height);
  isMatrix &= addSide(rhs, product.getRhsBatch(), product.getRhsContract(), width);
  auto isHalf = [](Type type) { return type.isBF16() || type.isF16(); };
  return gpu.hasClusters && isMatrix && isHalf(lhs.getElementType()) && isHalf(rhs.getElementType()) &&
         over >= fewestElements && 4 * tiles < 3 * gpu.multiprocessors;
}

std::string chooseRoad(ModuleOp graph, const GpuDescription &gpu) {
  if (std::string road = measuredRoad(programSignature(graph), gpu.chip); !road.empty())
    return road;
  SmallVector<gir::ContractOp> products;
  graph.walk([&](gir::ContractOp product) { products.push_back(product); });
  bool isTiles = products.size() > 1 || (products.size() == 1 && !isShared(products.front(), gpu));
  return isTiles ? "tileir" : "ptx";
}

} // namespace tessera
