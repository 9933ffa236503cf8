//===- FitTiles.cpp - Smaller tiles for kernels that do not fit -----------===//
//
// The cost model estimates what a kernel needs. Its exact use of shared memory follows from the
// layouts of its tiles and from the lifetimes of buffers, which are known at the end of the
// pipeline.
//
//===----------------------------------------------------------------------===//
#include "FitTiles.h"

#include "llvm/Support/FormatVariadic.h"

namespace tessera {

using llvm::StringRef;

namespace {

/// A tile that is halved.
struct Shrunk {
  std::string kernel, dim;
  int64_t tile = 0; ///< before
};

/// The largest tile of a kernel in a report: of a parallel dimension, if one is larger than what an
/// MMA needs; otherwise of any dimension.
std::optional<Shrunk> largestTile(const llvm::json::Object &report, StringRef name) {
  constexpr int64_t mmaSide = 16;
  const llvm::json::Array *kernels = report.getArray("kernels");
  for (const llvm::json::Value &value : kernels ? *kernels : llvm::json::Array()) {
    const llvm::json::Object &kernel = *value.getAsObject();
    const llvm::json::Array *dims = kernel.getArray("dims");
    if (kernel.getString("name") != name || !dims)
      continue;
    StringRef whole = name; // before its stream was split
    whole.consume_back("_parts") || whole.consume_back("_merge");
    for (auto [onlyParallel, least] : {std::pair(true, mmaSide), {false, mmaSide}, {false, 1l}}) {
      Shrunk largest{whole.str(), "", least};
      for (const llvm::json::Value &each : *dims) {
        const llvm::json::Object &dim = *each.getAsObject();
        int64_t tile = dim.getInteger("tile").value_or(1);
        bool isParallel = dim.getString("role") == "parallel";
        if ((isParallel || !onlyParallel) && tile > largest.tile &&
            dim.getString("name") != "part") {
          largest.dim = dim.getString("name")->str();
          largest.tile = tile;
        }
      }
      if (!largest.dim.empty())
        return largest;
    }
  }
  return std::nullopt;
}

} // namespace

void fitTiles(const CompileRequest &request, CompileResult &result,
              llvm::function_ref<std::string(const CompileRequest &)> compileOnce) {
  constexpr int most = 16;
  std::string kernel = compileOnce(request);
  if (kernel.empty() || !request.codeOptions.schedule.empty() || request.isIR)
    return;
  CompileResult first;
  std::vector<PassRemark> remarks;
  CompileRequest smaller = request;
  for (int i = 0; i < most && !kernel.empty(); ++i) {
    std::optional<Shrunk> shrunk = largestTile(result.report, kernel);
    if (i == 0)
      first = std::move(result);
    if (!shrunk)
      break;
    smaller.codeOptions.schedule +=
        llvm::formatv(";kernel={0},tile.{1}={2}", shrunk->kernel, shrunk->dim, shrunk->tile / 2);
    remarks.push_back(
        {true,
         "sched-select-schedule",
         "SharedMemory",
         shrunk->kernel,
         llvm::formatv("tile.{0} {1} -> {2}: the kernel needs more shared memory than "
                       "a CTA has",
                       shrunk->dim, shrunk->tile, shrunk->tile / 2),
         {}});
    result = CompileResult();
    kernel = compileOnce(smaller);
  }
  if (result.outcome != Outcome::Ok) {
    result = std::move(first);
    return;
  }
  if (request.remarks != RemarkFilter::None)
    result.remarks.insert(result.remarks.begin(), remarks.begin(), remarks.end());
}

} // namespace tessera
