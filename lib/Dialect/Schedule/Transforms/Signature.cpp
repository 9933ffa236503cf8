//===- Signature.cpp - The signature of a kernel --------------------------===//
//
// The signature hashes the text of a copy of the kernel that has all tiles 1, no launch
// configuration and no tuning.
// Dimensions and run-time sizes are numbered in the order of their first occurrence, so that
// programs with other names have the same signature. Constant sizes are part of the text; for other
// sizes the shape class is added. The rest comes from the function: the memory layout of its
// arguments and its numerics policy.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Schedule/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::sched;

/// The kernel's text without tuned attributes, names and notes.
static std::string plainText(KernelOp kernel) {
  OwningOpRef<KernelOp> copy(cast<KernelOp>(kernel->clone()));
  SmallVector<Attribute> dims;
  for (auto dim : kernel.getDims().getAsRange<DimAttr>())
    dims.push_back(DimAttr::get(dim.getContext(), dim.getName(), dim.getSize(), dim.getRole(), 1));
  copy->setDimsAttr(ArrayAttr::get(kernel.getContext(), dims));
  copy->removeLaunchAttr();
  copy->removeTuningAttr();
  copy->setSymName("kernel");
  copy->getOperation()->setDiscardableAttrs(DictionaryAttr::get(kernel.getContext()));
  std::string text;
  llvm::raw_string_ostream os(text);
  copy->print(os, OpPrintingFlags().useLocalScope());
  return text;
}

namespace {
/// Assigns numbers to names, and records the order of the sizes.
class Renamer {
public:
  Renamer(KernelOp kernel, DictionaryAttr symbols) {
    for (auto dim : kernel.getDims().getAsRange<DimAttr>())
      dims.insert(dim.getName().getValue());
    for (NamedAttribute symbol : symbols ? symbols.getValue() : ArrayRef<NamedAttribute>())
      sizes.insert(symbol.getName().getValue());
  }

  std::string rename(StringRef text) {
    std::string renamed;
    while (!text.empty()) {
      // A size without a name in the program is called "x.0"; `i.lo` belongs to `i`.
      StringRef name =
          text.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
      if (!sizes.contains(name))
        name = name.take_until([](char c) { return c == '.'; });
      if (!name.empty())
        renamed += numbered(name);
      else if (text[0] != '"') // names stand in quotes or not, depending on how they are spelt
        renamed += text[0];
      text = text.drop_front(std::max<size_t>(name.size(), 1));
    }
    return renamed;
  }

  SmallVector<StringRef> order; ///< of sizes

private:
  std::string numbered(StringRef name) {
    bool isSize = sizes.contains(name);
    if (!isSize && !dims.contains(name))
      return name.str();
    auto [it, isNew] = numbers.try_emplace(name, numbers.size());
    if (isNew && isSize)
      order.push_back(it->getKey());
    return (isSize ? "$S" : "$d") + std::to_string(it->getValue());
  }

  llvm::StringSet<> dims, sizes;
  llvm::StringMap<size_t> numbers;
};
} // namespace

std::string sched::signatureOf(KernelOp kernel) {
  auto function = kernel->getParentOfType<func::FuncOp>();
  auto symbols = function->getAttrOfType<DictionaryAttr>(gir::kSymbolsAttr);
  Renamer renamer(kernel, symbols);
  std::string text = renamer.rename(plainText(kernel));
  llvm::raw_string_ostream os(text);
  for (StringRef name : renamer.order)
    if (auto facts = symbols.getAs<DictionaryAttr>(name))
      os << "\nsize " << facts.get("divisor") << " " << facts.get("hint");
  for (Value input : kernel.getInputs())
    if (auto argument = dyn_cast<BlockArgument>(input))
      os << "\ninput " << function.getArgAttr(argument.getArgNumber(), gir::kContiguousAttr) << " "
         << function.getArgAttr(argument.getArgNumber(), gir::kUnitStrideAttr);
    else
      os << "\ntemporary";
  for (StringRef name : {gir::kNumericsAttr, gir::kProductTypeAttr, gir::kValueTypeAttr})
    os << "\n" << function->getAttr(name);
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}
