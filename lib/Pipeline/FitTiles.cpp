//===- FitTiles.cpp - Smaller tiles for kernels that do not fit -----------===//
//
// The cost model estimates what a kernel needs. Its exact use of shared memory follows from the
// layouts of its tiles and from the lifetimes of buffers, which are known at the end of the
// pipeline. The assembler allocates registers.
//
//===----------------------------------------------------------------------===//
#include "FitTiles.h"

#include "tessera/Target/CudaLimits.h"
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

/// The names of a report's kernels.
std::vector<std::string> kernelsOf(const llvm::json::Object &report) {
  std::vector<std::string> names;
  const llvm::json::Array *kernels = report.getArray("kernels");
  for (const llvm::json::Value &value : kernels ? *kernels : llvm::json::Array())
    if (auto name = value.getAsObject()->getString("name"))
      names.push_back(name->str());
  return names;
}

/// Halves a tile in the schedule of a request, and returns the remark about it.
PassRemark halve(CompileRequest &request, const Shrunk &shrunk, StringRef name, StringRef why) {
  request.codeOptions.schedule +=
      llvm::formatv(";kernel={0},tile.{1}={2}", shrunk.kernel, shrunk.dim, shrunk.tile / 2);
  return {true,
          "sched-select-schedule",
          name.str(),
          shrunk.kernel,
          llvm::formatv("tile.{0} {1} -> {2}: {3}", shrunk.dim, shrunk.tile, shrunk.tile / 2, why),
          {}};
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
    remarks.push_back(halve(smaller, *shrunk, "SharedMemory",
                            "the kernel needs more shared memory than a CTA has"));
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

namespace {

/// What the assembler says of a kernel for which registers are short.
struct Crowding {
  int64_t spillBytes = 0;
  bool isSerialized = false;

  bool isLess(const Crowding &other) const {
    return std::pair(isSerialized, spillBytes) < std::pair(other.isSerialized, other.spillBytes);
  }
};

/// The blocks of the streams of crowded kernels; `all` sums up the crowding.
std::vector<Shrunk> crowdedStreams(const llvm::json::Object &report, Crowding &all) {
  // Blocks of 64 are the narrowest that keep the tensor cores busy.
  constexpr int64_t few = 64, narrowest = 64, narrowestSerialized = 32;
  std::vector<Shrunk> found;
  const llvm::json::Array *kernels = report.getArray("kernels");
  for (const llvm::json::Value &value : kernels ? *kernels : llvm::json::Array()) {
    const llvm::json::Object &kernel = *value.getAsObject();
    bool isSerialized = kernel.getBoolean("serialized").value_or(false);
    int64_t spills = kernel.getInteger("spill_bytes").value_or(0);
    bool isFull = kernel.getInteger("registers").value_or(0) >= CudaLimits::registersPerThread;
    if (!isSerialized && (!isFull || spills <= few))
      continue;
    all.spillBytes += spills;
    all.isSerialized |= isSerialized;
    Shrunk stream{kernel.getString("name").value_or("").str(), "",
                  isSerialized ? narrowestSerialized : narrowest};
    bool hasProducts = false;
    const llvm::json::Array *dims = kernel.getArray("dims");
    for (const llvm::json::Value &each : dims ? *dims : llvm::json::Array()) {
      const llvm::json::Object &dim = *each.getAsObject();
      int64_t tile = dim.getInteger("tile").value_or(1);
      hasProducts |= dim.getString("role") == "inner";
      if (dim.getString("role") == "stream" && tile > stream.tile) {
        stream.dim = dim.getString("name").value_or("").str();
        stream.tile = tile;
      }
    }
    if (!stream.dim.empty() && hasProducts)
      found.push_back(stream);
  }
  return found;
}

} // namespace

void relieveRegisters(const CompileRequest &request, CompileResult &result,
                      llvm::function_ref<std::string(const CompileRequest &)> compileOnce) {
  if (result.outcome != Outcome::Ok || !request.codeOptions.schedule.empty() || request.isIR)
    return;
  Crowding before, after;
  std::vector<Shrunk> streams = crowdedStreams(result.report, before);
  if (streams.empty())
    return;
  std::vector<PassRemark> remarks;
  CompileRequest smaller = request;
  for (const Shrunk &stream : streams)
    remarks.push_back(halve(smaller, stream, "Registers",
                            "a thread has too few registers for larger blocks of the stream"));
  CompileResult given;
  std::swap(given, result);
  compileOnce(smaller);
  if (result.outcome == Outcome::Ok)
    (void)crowdedStreams(result.report, after);
  if (result.outcome != Outcome::Ok || !after.isLess(before)) {
    std::swap(given, result);
    return;
  }
  if (request.remarks != RemarkFilter::None)
    result.remarks.insert(result.remarks.begin(), remarks.begin(), remarks.end());
}

void avoidRefusal(const CompileRequest &request, CompileResult &result,
                  llvm::function_ref<std::string(const CompileRequest &)> compileOnce) {
  constexpr int most = 3;
  if (!request.codeOptions.schedule.empty() || request.isIR)
    return;
  CompileResult first = std::move(result);
  std::vector<PassRemark> remarks;
  CompileRequest smaller = request;
  const llvm::json::Object *report = &first.report;
  for (int i = 0; i < most; ++i) {
    size_t before = remarks.size();
    for (const std::string &name : kernelsOf(*report))
      if (std::optional<Shrunk> shrunk = largestTile(*report, name);
          shrunk && !StringRef(name).ends_with("_merge"))
        remarks.push_back(
            halve(smaller, *shrunk, "AssemblerRefused", "the assembler refuses larger tiles"));
    if (remarks.size() == before)
      break;
    CompileResult next;
    std::swap(result, next);
    compileOnce(smaller);
    report = &result.report;
    if (result.outcome == Outcome::Ok) {
      if (request.remarks != RemarkFilter::None)
        result.remarks.insert(result.remarks.begin(), remarks.begin(), remarks.end());
      return;
    }
  }
  result = std::move(first);
}

} // namespace tessera
