//===- Formulas.cpp - What several systems express alike --------------------------===//
#include "Formulas.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace tessera::importer;

//===----------------------------------------------------------------------===//
// Sizes and types
//===----------------------------------------------------------------------===//

std::string importer::converted(const std::string &text, const Node &node) {
  return "(" + text + ").to(tsr." + node.result().dtype + ")";
}

std::optional<int64_t> importer::staticSize(const std::string &size) {
  int64_t number = 0;
  return llvm::StringRef(size).getAsInteger(10, number) ? std::nullopt : std::optional(number);
}

std::optional<std::vector<int64_t>> importer::staticShape(const TensorInfo *info) {
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

std::string importer::sizeOf(const std::string &x, const TensorInfo &info, size_t dim) {
  return staticSize(info.shape[dim]) ? info.shape[dim] : x + ".shape[" + std::to_string(dim) + "]";
}

std::vector<std::string> importer::sizesOf(const std::string &x, const TensorInfo &info,
                                           size_t first, size_t last) {
  std::vector<std::string> sizes;
  for (size_t i = first; i < last; ++i)
    sizes.push_back(sizeOf(x, info, i));
  return sizes;
}

std::string importer::tupleOf(const std::vector<int64_t> &numbers) {
  std::vector<std::string> texts;
  for (int64_t number : numbers)
    texts.push_back(std::to_string(number));
  return importer::tupleOf(texts);
}

std::string importer::product(const std::vector<std::string> &sizes) {
  return sizes.empty() ? "1" : llvm::join(sizes, " * ");
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// An operand whose narrow type would lose what the formula needs.
static std::string widened(const Node &node, const char *argument) {
  const TensorInfo *info = node.tensor(argument);
  bool isNarrow = info && (info->dtype == "fp16" || info->dtype == "bf16");
  return isNarrow ? node.let("wide", node[argument] + ".to(tsr.fp32)") : node[argument];
}

// Inverse hyperbolic functions: log1p is accurate near 0, and large operands do not overflow.
static constexpr const char *kLog2 = "0.6931471805599453";

Text importer::inverseSinh(const Node &node, const char *argument) {
  std::string x = widened(node, argument), a = node.let("abs", "tsr.abs(" + x + ")");
  std::string near =
      "tsr.log1p(" + a + " + " + a + " * " + a + " / (1 + tsr.sqrt(1 + " + a + " * " + a + ")))";
  std::string size = node.let("size", "tsr.where(" + a + " > 1e9, tsr.log(" + a + ") + " + kLog2 +
                                          ", " + near + ")");
  return converted("tsr.where(" + x + " < 0, -" + size + ", " + size + ")", node);
}

Text importer::inverseCosh(const Node &node, const char *argument) {
  std::string x = widened(node, argument), t = node.let("above", x + " - 1");
  return converted("tsr.where(" + x + " > 1e9, tsr.log(" + x + ") + " + kLog2 + ", tsr.log1p(" + t +
                       " + tsr.sqrt(" + t + " * (" + t + " + 2))))",
                   node);
}

Text importer::inverseTanh(const Node &node, const char *argument) {
  std::string x = widened(node, argument), a = node.let("abs", "tsr.abs(" + x + ")");
  std::string size = node.let("size", "0.5 * tsr.log1p(2 * " + a + " / (1 - " + a + "))");
  return converted("tsr.where(" + x + " < 0, -" + size + ", " + size + ")", node);
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// Elements that replace others, which no two of them do: where something was added, the sum is
/// the new element.
std::string importer::replaced(const Node &node, const std::string &data, const std::string &dim,
                               const std::string &index, const std::string &updates,
                               const TensorInfo &info) {
  auto added = [&](const std::string &dtype, const std::string &what) {
    return "tsr.scatter_add(tsr.zeros(" + data + ".shape, dtype=tsr." + dtype + "), " + dim + ", " +
           index + ", " + what + ")";
  };
  std::string hits =
      node.let("hits", added("int32", "tsr.ones(" + updates + ".shape, dtype=tsr.int32)"));
  bool isBool = info.dtype == "bool";
  std::string sums = node.let("sums", isBool ? added("int32", updates + ".to(tsr.int32)") + " != 0"
                                             : added(info.dtype, updates));
  return "tsr.where(" + hits + " > 0, " + sums + ", " + data + ")";
}
