//===- RemarkCollector.cpp - Remarks of passes among the results ----------===//
#include "RemarkCollector.h"
#include "DiagnosticBridge.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace tessera {

using namespace mlir;

namespace {

class Collector : public remark::detail::MLIRRemarkStreamerBase {
public:
  Collector(const SourceManager &sources, std::vector<PassRemark> &remarks)
      : sources(sources), remarks(remarks) {}

  void streamOptimizationRemark(const remark::detail::Remark &given) override {
    PassRemark remark{given.getRemarkType() == llvm::remarks::Type::Missed,
                      given.getCombinedCategoryName().str(),
                      given.getRemarkName().str(),
                      "",
                      "",
                      sourceRange(sources, given.getLocation())};
    if (given.getFunction() != "<unknown function>") // what MLIR says where there is none
      remark.kernel = given.getFunction().str();
    for (const remark::detail::Remark::Arg &argument : given.getArgs())
      remark.reason += (remark.reason.empty() ? "" : "; ") + argument.val;
    if (!llvm::is_contained(remarks, remark))
      remarks.push_back(std::move(remark));
  }

private:
  const SourceManager &sources;
  std::vector<PassRemark> &remarks;
};

/// "tile-lower-wgmma does not apply: REASON [NAME]".
std::string messageOf(const PassRemark &remark) {
  return remark.pass + (remark.isMissed ? " does not apply: " : ": ") + remark.reason + " [" +
         remark.name + "]";
}

} // namespace

void collectRemarks(MLIRContext &context, RemarkFilter filter, const SourceManager &sources,
                    std::vector<PassRemark> &remarks) {
  remark::RemarkCategories categories;
  categories.missed = ".*";
  if (filter == RemarkFilter::All) // `all` widens the other filters, and enables none of them
    categories.passed = categories.analysis = categories.failed = ".*";
  // RemarkEmittingPolicyAll reports each remark at once, so that they keep their order.
  LogicalResult enabled = remark::enableOptimizationRemarks(
      context, std::make_unique<Collector>(sources, remarks),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
  (void)enabled; // it fails only where a regular expression is invalid
}

void addRemarks(const std::vector<PassRemark> &remarks, Diagnostics &diagnostics) {
  for (const PassRemark &remark : remarks) {
    Diagnostic &added = diagnostics.remark(remark.range, messageOf(remark));
    if (!remark.kernel.empty())
      added.note({}, "in kernel '" + remark.kernel + "'");
  }
}

std::string explainRemarks(const std::vector<PassRemark> &remarks, const SourceManager &sources) {
  if (remarks.empty())
    return "Every pass applies where it is expected to.\n";
  llvm::MapVector<llvm::StringRef, std::vector<const PassRemark *>> kernels;
  for (const PassRemark &remark : remarks)
    kernels[remark.kernel].push_back(&remark);
  std::string text = "Passes that do not apply:\n";
  for (auto &[kernel, list] : kernels) {
    text += "  " + kernel.str() + "\n";
    for (const PassRemark *remark : list) {
      text += "    " + remark->pass + ": " + remark->reason + " [" + remark->name + "]\n";
      if (remark->range.isValid())
        text += "      at " + std::string(sources.buffer(remark->range.file).name()) + ":" +
                std::to_string(sources.lineColumn(remark->range).line) + ": " +
                std::string(sources.text(remark->range)) + "\n";
    }
  }
  return text;
}

} // namespace tessera
