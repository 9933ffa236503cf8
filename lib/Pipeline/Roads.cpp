//===- Roads.cpp - By which road a program goes to a GPU ------------------===//
#include "Roads.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Analysis/GroupTiles.h"
#include "tessera/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/GpuFeatures.h"
#include "tessera_rt/cache.h"
#include "llvm/ADT/SetVector.h"
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

static bool isHalf(Type type) { return type.isBF16() || type.isF16(); }

/// The sizes of the two sides of a product's result.
static std::pair<int64_t, int64_t> sidesOf(gir::ContractOp product) {
  SizeFacts facts(product->getParentOfType<func::FuncOp>());
  auto sizeOf = [&](Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    auto type = cast<gir::TensorType>(operand.getType());
    int64_t size = 1;
    for (int64_t dim = 0; dim < int64_t(type.getRank()); ++dim)
      if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
        size *= facts.hint(type.getDim(dim));
    return size;
  };
  return {sizeOf(product.getLhs(), product.getLhsBatch(), product.getLhsContract()),
          sizeOf(product.getRhs(), product.getRhsBatch(), product.getRhsContract())};
}

static int64_t shortestSide(gir::ContractOp product) {
  auto [rows, columns] = sidesOf(product);
  return std::min(rows, columns);
}

/// How many tiles of such a size the result of a product has, and what each sums over; no tiles where a side has one element.
static std::pair<int64_t, int64_t> tilesOf(gir::ContractOp product, int64_t height, int64_t width) {
  SizeFacts facts(product->getParentOfType<func::FuncOp>());
  auto lhs = cast<gir::TensorType>(product.getLhs().getType());
  int64_t tiles = 1, over = 1;
  for (int64_t dim : product.getLhsBatch())
    tiles *= facts.hint(lhs.getDim(dim));
  for (int64_t dim : product.getLhsContract())
    over *= facts.hint(lhs.getDim(dim));
  auto [rows, columns] = sidesOf(product);
  for (auto [size, side] : {std::pair(rows, height), std::pair(columns, width)})
    tiles *= size > 1 ? llvm::divideCeil(size, side) : 0;
  return {tiles, over};
}

/// Whether blocks of clusters share a product for which the other road takes a second kernel: there are few tiles of its
/// result, even of narrow ones, each the sum of much.
static bool isShared(gir::ContractOp product, const GpuDescription &gpu) {
  constexpr int64_t height = 64, width = 32, fewestElements = 512;
  auto function = product->getParentOfType<func::FuncOp>();
  if (gir::numericsOption(function, "batch_invariant") == "true")
    return false;
  auto [tiles, over] = tilesOf(product, height, width);
  auto isNarrow = [](Value side) { return isHalf(cast<gir::TensorType>(side.getType()).getElementType()); };
  return gpu.hasClusters && tiles && isNarrow(product.getLhs()) && isNarrow(product.getRhs()) && over >= fewestElements &&
         4 * tiles < 3 * gpu.multiprocessors;
}

/// Whether a product is changed element by element alone until it is returned.
static bool isKept(gir::ContractOp product) {
  llvm::SmallSetVector<Operation *, 8> made;
  made.insert(product);
  for (unsigned i = 0; i < made.size(); ++i)
    for (Operation *user : made[i]->getUsers()) {
      if (isa<func::ReturnOp>(user))
        continue;
      if (!isa<gir::MapOp, gir::CastOp>(user))
        return false;
      made.insert(user);
    }
  return true;
}

/// Whether tensor copies bring a side of a product as it lies in memory.
static bool isBrought(Value side, func::FuncOp function, const SizeFacts &facts) {
  constexpr int64_t piece = 8;
  if (auto transpose = side.getDefiningOp<gir::TransposeOp>())
    side = transpose.getInput();
  auto type = cast<gir::TensorType>(side.getType());
  auto argument = dyn_cast<BlockArgument>(side);
  return argument && function.getArgAttr(argument.getArgNumber(), gir::kContiguousAttr) && isHalf(type.getElementType()) && type.getRank() >= 2 &&
         facts.divisor(type.getDim(type.getRank() - 1)) % piece == 0;
}

/// Whether two products are a stream that groups of four warps make: the softmax of the first one's sums, scaled or masked by where
/// they stand, is the second one's left side, tensor copies bring the other sides, and there are rows for the machine. Of
/// shallow products the other road makes more blocks at once, which hides how short ones begin and end as well.
static bool isStreamed(ArrayRef<gir::ContractOp> products, const GpuDescription &gpu) {
  using namespace grouped;
  constexpr int64_t height = 128, brief = 512;
  if (products.size() != 2 || !findGpuFeature("wgmma")->isIn(gpu))
    return false;
  gir::ContractOp first = products[0], second = products[1];
  auto function = second->getParentOfType<func::FuncOp>();
  if (gir::numericsOption(function, "batch_invariant") == "true" || !second.getLhs().getDefiningOp<gir::SoftmaxOp>())
    return false;
  llvm::SmallSetVector<Operation *, 8> made;
  made.insert(second.getLhs().getDefiningOp());
  for (unsigned i = 0; i < made.size(); ++i) {
    auto map = dyn_cast<gir::MapOp>(made[i]);
    bool isSimple = map && llvm::is_contained({"mul", "where", "le", "lt", "ge", "gt"}, map.getKind());
    if (!isSimple && !isa<gir::SoftmaxOp, gir::CastOp, gir::IotaOp>(made[i]))
      return false;
    for (Value operand : made[i]->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker)
        return false;
      if (maker != first && !isa<gir::ConstantOp>(maker))
        made.insert(maker);
    }
  }
  SizeFacts facts(function);
  auto columns = cast<gir::TensorType>(second.getRhs().getType());
  auto [tiles, length] = tilesOf(second, height, kDeep);
  int64_t depth = tilesOf(first, height, kDeep).second;
  return isBrought(first.getLhs(), function, facts) && isBrought(first.getRhs(), function, facts) && isBrought(second.getRhs(), function, facts) &&
         depth > kShallow && depth <= kDeep && facts.max(columns.getDim(columns.getRank() - 1)) <= kDeep && length > brief &&
         areEnough(tiles, gpu.multiprocessors);
}

/// Whether groups of four warps multiply two tensors that tensor copies bring as they lie in memory, by tiles that fill
/// the machine, or that blocks of clusters share so as to fill it, if the product is alone.
static bool isGrouped(gir::ContractOp product, bool isAlone, const GpuDescription &gpu) {
  using namespace grouped;
  constexpr int64_t fewestElements = 128, mostWaves = 2, shortSum = 2048;
  auto function = product->getParentOfType<func::FuncOp>();
  if (gir::numericsOption(function, "batch_invariant") == "true")
    return false;
  SizeFacts facts(function);
  auto [tiles, over] = tilesOf(product, kHeight, kWidth);
  // Of many tiles that sum over little, the other road makes one while it stores another.
  if (over <= shortSum && tilesOf(product, 2 * kHeight, 2 * kWidth).first > mostWaves * gpu.multiprocessors)
    return false;
  bool isSharable = isAlone && gpu.hasClusters && over >= kSharedSum && shortestSide(product) > kSide / 2;
  bool isFilled = areEnough(tiles, gpu.multiprocessors) || (isSharable && areEnoughShared(tiles, gpu.multiprocessors));
  bool isOne = cast<gir::TensorType>(product.getLhs().getType()).getElementType() ==
               cast<gir::TensorType>(product.getRhs().getType()).getElementType();
  return findGpuFeature("wgmma")->isIn(gpu) && isOne && isKept(product) && product.getLhsContract().size() == 1 &&
         isBrought(product.getLhs(), function, facts) && isBrought(product.getRhs(), function, facts) && over >= fewestElements && isFilled;
}

std::string chooseRoad(ModuleOp graph, const GpuDescription &gpu) {
  if (std::string road = measuredRoad(programSignature(graph), gpu.chip); !road.empty())
    return road;
  SmallVector<gir::ContractOp> products;
  graph.walk([&](gir::ContractOp product) { products.push_back(product); });
  bool isAlone = products.size() == 1 && isShared(products.front(), gpu);
  bool areGrouped = llvm::all_of(products, [&](gir::ContractOp product) { return isGrouped(product, products.size() == 1, gpu); });
  return isAlone || areGrouped || isStreamed(products, gpu) ? "ptx" : "tileir";
}

} // namespace tessera
