//===- Print.cpp - Reports of simulations as text and JSON ----------------===//
#include "tessera/Simulator/Print.h"

#include "tessera/Dialect/Tile/IR/Tile.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace tessera;
using namespace tessera::simulator;

std::string simulator::placeOf(mlir::Operation *op) {
  auto place = op->getLoc()->findInstanceOf<mlir::FileLineColRange>();
  if (!place)
    return "";
  return llvm::formatv("{0}:{1}:{2}", place.getFilename().strref(), place.getStartLine(),
                       place.getStartColumn());
}

/// Without folders and column, for tables.
static std::string shortPlace(mlir::Operation *op) {
  auto place = op->getLoc()->findInstanceOf<mlir::FileLineColRange>();
  if (!place)
    return "";
  return llvm::formatv("{0}:{1}", llvm::sys::path::filename(place.getFilename().strref()),
                       place.getStartLine());
}

/// Copied, since a report outlives the program.
static std::string opName(mlir::Operation *op) { return op->getName().getStringRef().str(); }

namespace {
/// A header and rows; columns are as wide as their widest cell, numbers are right-aligned.
class Table {
public:
  explicit Table(std::vector<std::string> head) : rows{std::move(head)} {}
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  bool empty() const { return rows.size() == 1; }

  std::string str() const {
    std::vector<size_t> widths(rows[0].size());
    for (const auto &row : rows)
      for (size_t i = 0; i < row.size(); ++i)
        widths[i] = std::max(widths[i], row[i].size());
    std::string text;
    for (const auto &row : rows) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        std::string padding(widths[i] - row[i].size(), ' ');
        bool isNumber =
            i && rows.size() > 1 && llvm::isDigit(rows[1][i].empty() ? ' ' : rows[1][i][0]);
        line += (i ? "  " : "") + (isNumber ? padding + row[i] : row[i] + padding);
      }
      text += llvm::StringRef(line).rtrim().str() + "\n";
    }
    return text;
  }

private:
  std::vector<std::vector<std::string>> rows;
};
} // namespace

static std::string gridText(llvm::ArrayRef<int64_t> grid) {
  std::string text;
  for (int64_t size : grid)
    text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text.empty() ? "1" : text;
}

static std::string ordersText(const LaunchReport &launch) {
  if (!launch.isExhaustive)
    return std::to_string(launch.runs) + (launch.runs == 1 ? " seed" : " seeds");
  return std::to_string(launch.runs) + (launch.isComplete ? ", all distinct" : ", not all");
}

static uint64_t perSecond(uint64_t count, double seconds) {
  return seconds > 0 ? uint64_t(double(count) / seconds) : 0;
}

std::string simulator::printText(const Summary &summary) {
  const Report &report = summary.report;
  std::string text = summary.function + " on " + summary.target + "\n\n";
  Table launches({"kernel", "grid", "warps", "shared bytes", "orders"});
  for (const LaunchReport &launch : report.launches)
    launches.add({launch.kernel, gridText(launch.grid), std::to_string(launch.warps),
                  std::to_string(launch.sharedBytes), ordersText(launch)});
  text += launches.str();

  Table costs({"access", "line", "memory", "instructions", "transactions", "fewest", "ratio"});
  for (const LaunchReport &launch : report.launches)
    for (const Cost &cost : launch.costs)
      costs.add(
          {opName(cost.op), shortPlace(cost.op), cost.isShared ? "shared" : "global",
           std::to_string(cost.accesses), std::to_string(cost.units), std::to_string(cost.ideal),
           llvm::formatv("{0:f2}", cost.ideal ? double(cost.units) / double(cost.ideal) : 1.0)});
  if (!costs.empty())
    text += "\n" + costs.str();

  Table results({"result", "type", "against the reference"});
  for (auto [number, checked] : llvm::enumerate(summary.checked)) {
    const reference::Comparison &comparison = checked.comparison;
    std::string how = comparison.wrong
                          ? std::to_string(comparison.wrong) + " WRONG"
                          : llvm::formatv("ok, error {0:f3} of its bound", comparison.worst).str();
    if (comparison.uncertain)
      how += ", " + std::to_string(comparison.uncertain) + " left out";
    results.add({std::to_string(number), checked.type, how});
  }
  if (!results.empty())
    text += "\n" + results.str();

  if (summary.hasMutants) {
    Table mutants({"mutant of", "line", "change", "fate"});
    size_t killed = 0, equivalent = 0, missed = 0;
    for (const Mutant &mutant : summary.mutants) {
      killed += mutant.isKilled;
      equivalent += mutant.isProven;
      missed += !mutant.isReached;
      mutants.add({opName(mutant.op), shortPlace(mutant.op), mutant.change,
                   (mutant.isKilled    ? "killed: "
                    : mutant.isProven  ? "equivalent: "
                    : mutant.isReached ? "survived: "
                                       : "") +
                       mutant.why});
    }
    text +=
        "\n" + (mutants.empty() ? std::string() : mutants.str()) +
        llvm::formatv("{0} mutants: {1} killed, {2} equivalent, {3} not reached, {4} survived\n",
                      summary.mutants.size(), killed, equivalent, missed,
                      summary.mutants.size() - killed - equivalent - missed)
            .str();
  }
  uint64_t count = report.findings.size();
  text += llvm::formatv(
      "\n{0}; {1} warp instructions, {2:f1} million elements per second\n",
      count ? std::to_string(count) + (count == 1 ? " finding" : " findings") : "nothing found",
      report.instructions, double(perSecond(report.elements, report.seconds)) * 1e-6);
  return text;
}

/// JSON has neither infinities nor NaN.
static llvm::json::Value numberOrNull(double number) {
  return std::isfinite(number) ? llvm::json::Value(number) : llvm::json::Value(nullptr);
}

llvm::json::Object simulator::toJson(const Summary &summary) {
  using llvm::json::Array;
  using llvm::json::Object;
  const Report &report = summary.report;
  Array findings, launches, results, mutants;
  for (const Finding &finding : report.findings) {
    Object object{{"kind", kindName(finding.kind)},
                  {"op", opName(finding.op)},
                  {"at", placeOf(finding.op)},
                  {"message", finding.text},
                  {"count", int64_t(finding.count)}};
    if (finding.other)
      object["other"] = Object{{"op", opName(finding.other)},
                               {"at", placeOf(finding.other)},
                               {"message", finding.otherText}};
    findings.push_back(std::move(object));
  }
  for (const LaunchReport &launch : report.launches) {
    Array costs;
    for (const Cost &cost : launch.costs)
      costs.push_back(Object{{"op", opName(cost.op)},
                             {"at", placeOf(cost.op)},
                             {"memory", cost.isShared ? "shared" : "global"},
                             {"instructions", int64_t(cost.accesses)},
                             {"transactions", int64_t(cost.units)},
                             {"fewest", int64_t(cost.ideal)}});
    launches.push_back(Object{{"kernel", launch.kernel},
                              {"grid", Array(launch.grid)},
                              {"warps", launch.warps},
                              {"shared_bytes", launch.sharedBytes},
                              {"runs", int64_t(launch.runs)},
                              {"exhaustive", launch.isExhaustive},
                              {"complete", launch.isComplete},
                              {"accesses", std::move(costs)}});
  }
  for (const Checked &checked : summary.checked)
    results.push_back(Object{{"type", checked.type},
                             {"checked", checked.comparison.checked},
                             {"left_out", checked.comparison.uncertain},
                             {"wrong", checked.comparison.wrong},
                             {"error_of_bound", numberOrNull(checked.comparison.worst)}});
  for (const Mutant &mutant : summary.mutants)
    mutants.push_back(
        Object{{"op", opName(mutant.op)},
               {"at", placeOf(mutant.op)},
               {"kernel", mutant.op->getParentOfType<tile::KernelOp>().getSymName().str()},
               {"number", int64_t(mutant.number)},
               {"change", mutant.change},
               {"killed", mutant.isKilled},
               {"reached", mutant.isReached},
               {"equivalent", mutant.isProven},
               {"always", mutant.isAlways},
               {"why", mutant.why}});
  return Object{{"function", summary.function},
                {"target", summary.target},
                {"findings", std::move(findings)},
                {"launches", std::move(launches)},
                {"results", std::move(results)},
                {"mutants", std::move(mutants)},
                {"instructions", int64_t(report.instructions)},
                {"elements", int64_t(report.elements)},
                {"seconds", report.seconds}};
}
