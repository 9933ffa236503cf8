//===- ExplainPartition.cpp - What forward saves for backward -------------===//
#include "ExplainPartition.h"

#include "Explain.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Joint.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

namespace {
constexpr llvm::StringLiteral kLists[] = {"saved", "inputs", "recomputed"};

std::string typeText(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << cast<TypeAttr>(attribute).getValue();
  return llvm::StringRef(text).starts_with("!gir.tensor") ? text.substr(11) : text;
}

DictionaryAttr partitionOf(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto attribute = function->getAttrOfType<DictionaryAttr>(gir::kPartitionAttr))
      return attribute;
  return {};
}

std::optional<int64_t> numberOf(DictionaryAttr entry, llvm::StringRef name) {
  auto number = entry.getAs<IntegerAttr>(name);
  return number ? std::optional(number.getInt()) : std::nullopt;
}

std::string bytesText(double bytes) { return scaledText(bytes, 1024, "B"); }

/// What bytes of memory traffic cost.
class Costs {
public:
  explicit Costs(double bytesPerSecond) : bytesPerSecond(bytesPerSecond) {}

  std::string text(double bytes) const {
    if (bytesPerSecond <= 0)
      return "as much as " + bytesText(bytes) + " of memory traffic";
    return llvm::formatv("{0:F1} us", bytes / bytesPerSecond * 1e6);
  }

private:
  double bytesPerSecond;
};

/// Why a value is saved.
std::string reasonToSave(DictionaryAttr entry, const Costs &costs) {
  if (std::optional<int64_t> result = numberOf(entry, "result"))
    return "it is result " + std::to_string(*result);
  std::optional<int64_t> again = numberOf(entry, "again");
  if (!again)
    return "a checkpoint policy saves it";
  return "computing it again takes " + costs.text(double(*again)) + ", saving it " +
         costs.text(2 * double(*numberOf(entry, "bytes")));
}
} // namespace

bool tessera::isJoint(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(),
                      [](func::FuncOp function) { return function->hasAttr(gir::kJointAttr); });
}

std::optional<llvm::json::Object> tessera::reportPartition(ModuleOp module) {
  DictionaryAttr partition = partitionOf(module);
  if (!partition)
    return std::nullopt;
  // The report outlives the attributes.
  llvm::json::Object report{{"residuals", partition.getAs<StringAttr>("residuals").str()},
                            {"bytes", *numberOf(partition, "bytes")},
                            {"tuple", partition.contains("tuple")}};
  for (llvm::StringRef name : kLists) {
    llvm::json::Array list;
    for (auto entry : partition.getAs<ArrayAttr>(name).getAsRange<DictionaryAttr>()) {
      llvm::json::Object one{{"value", entry.getAs<StringAttr>("value").str()},
                             {"type", typeText(entry.get("type"))}};
      for (llvm::StringRef field : {"bytes", "again", "result"})
        if (std::optional<int64_t> number = numberOf(entry, field))
          one[field] = *number;
      list.push_back(std::move(one));
    }
    report[name] = std::move(list);
  }
  return report;
}

std::string tessera::explainPartition(ModuleOp module, double bytesPerSecond) {
  DictionaryAttr partition = partitionOf(module);
  if (!partition)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  Costs costs(bytesPerSecond);
  auto each = [&](llvm::StringRef list, llvm::function_ref<void(DictionaryAttr)> write) {
    for (auto entry : partition.getAs<ArrayAttr>(list).getAsRange<DictionaryAttr>())
      write(entry);
  };
  os << "forward saves " << bytesText(double(*numberOf(partition, "bytes"))) << " for backward\n";
  auto write = [&](llvm::StringRef verb, DictionaryAttr entry) -> llvm::raw_ostream & {
    return os << "  " << llvm::left_justify(verb, 10) << entry.getAs<StringAttr>("value").getValue()
              << ": " << typeText(entry.get("type")) << ", "
              << bytesText(double(*numberOf(entry, "bytes")));
  };
  each("saved", [&](DictionaryAttr entry) {
    write("saves", entry) << ": " << reasonToSave(entry, costs) << "\n";
  });
  each("inputs", [&](DictionaryAttr entry) { write("reads", entry) << ", an argument\n"; });
  each("recomputed", [&](DictionaryAttr entry) {
    write("again", entry) << ": it takes "
                          << costs.text(double(numberOf(entry, "again").value_or(0)))
                          << ", saving it " << costs.text(2 * double(*numberOf(entry, "bytes")))
                          << "\n";
  });
  return text;
}
