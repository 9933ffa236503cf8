//===- Neighbours.cpp - Schedules beside a choice -------------------------===//
//
// The candidates of GPU kernels whose schedules are not enumerated. The predicted time is that of
// the slower of arithmetic and memory, in whole waves of CTAs. Memory needs a number of bytes in
// flight, which tiles, stages and CTAs per SM determine.
//
//===----------------------------------------------------------------------===//
#include "Neighbours.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <set>

using namespace tessera;

using Dim = KernelShape::Dim;

namespace {
/// The latency of memory and the threads of an SM: estimates that only rank neighbours.
constexpr double kLatencyUs = 0.7;
constexpr int64_t kThreads = 2048, kWarp = 32;

class Enumerator {
public:
  Enumerator(const MachineModel &machine, const SizeFacts &facts, const KernelShape &chosen,
             const KernelWork &work)
      : machine(machine), facts(facts), chosen(chosen), work(work) {}

  std::vector<Candidate> run() {
    add(chosen);
    result.front().isChosen = true;
    std::vector<KernelShape> tiled = {chosen};
    for (size_t i = 0; i < chosen.dims.size(); ++i)
      for (KernelShape &each : tilesOf(i))
        tiled.push_back(std::move(each));
    for (const KernelShape &each : tiled) {
      add(each);
      addFields(each);
    }
    return std::move(result);
  }

private:
  /// The choice with other tiles of one dimension.
  std::vector<KernelShape> tilesOf(size_t number) const {
    std::vector<KernelShape> shapes;
    const Dim &dim = chosen.dims[number];
    // A contraction computes one matrix at a time.
    if (!chosen.contractions.empty() && dim.tile == 1)
      return shapes;
    int64_t most = std::max<int64_t>(1, llvm::PowerOf2Ceil(uint64_t(facts.hint(dim.size))));
    for (double factor : {0.25, 0.5, 2.0, 4.0}) {
      int64_t tile = int64_t(double(dim.tile) * factor);
      if (tile < leastTile(dim) || tile > most || double(tile) != double(dim.tile) * factor)
        continue;
      shapes.push_back(chosen);
      shapes.back().dims[number].tile = tile;
    }
    return shapes;
  }

  /// Rows are sorted as wholes, and contractions have tiles of at least 16 elements.
  int64_t leastTile(const Dim &dim) const {
    if (dim.name == chosen.sorted)
      return dim.tile;
    for (const KernelShape::Contraction &c : chosen.contractions)
      for (const std::vector<std::string> *side : {&c.rows, &c.columns, &c.over})
        if (llvm::is_contained(*side, dim.name) && side->back() == dim.name)
          return std::min<int64_t>(16, dim.tile);
    return 1;
  }

  void addFields(const KernelShape &base) {
    int64_t warps = base.launch.get(LaunchField::NumWarps).value_or(kDefaultNumWarps);
    bool isWgmma = base.tuning.get(TuningField::Wgmma) == 1;
    for (int64_t other : {warps / 2, warps * 2})
      if (other >= 1 && other <= 16 && !isWgmma) {
        KernelShape shape = base;
        shape.launch.set(LaunchField::NumWarps, other);
        add(shape);
      }
    if (std::optional<int64_t> stages = base.tuning.get(TuningField::NumStages))
      for (int64_t other : {*stages - 1, *stages + 1})
        if (other >= 2) {
          KernelShape shape = base;
          shape.tuning.set(TuningField::NumStages, other);
          add(shape);
        }
    int64_t residents = base.tuning.get(TuningField::MinCtasPerSm).value_or(1);
    for (int64_t other : {residents / 2, residents * 2})
      if (other >= 1 && other <= 16 && other * warps * kWarp <= kThreads) {
        KernelShape shape = base;
        shape.tuning.set(TuningField::MinCtasPerSm, other);
        add(shape);
      }
  }

  void add(const KernelShape &shape) {
    bool isLegal = result.empty() || convertedBytes(shape) <= machine.sharedOfBlock ||
                   !machine.tilesInRegisters;
    if (isLegal && seen.insert(scheduleText(shape, shape)).second)
      result.push_back({shape, predict(shape)});
  }

  /// The bytes of the largest matrix of a contraction, whose layout is converted through shared
  /// memory.
  static int64_t convertedBytes(const KernelShape &shape) {
    auto extentOf = [&](const std::vector<std::string> &side) {
      int64_t extent = 1;
      for (const Dim &dim : shape.dims)
        if (llvm::is_contained(side, dim.name))
          extent *= dim.tile;
      return extent;
    };
    int64_t accumulatorBytes = std::max<int64_t>(4, shape.elementBytes), bytes = 0;
    int64_t operandBytes = shape.storageBytes <= 2 ? 2 : accumulatorBytes;
    for (const KernelShape::Contraction &c : shape.contractions)
      bytes = std::max({bytes, accumulatorBytes * extentOf(c.rows) * extentOf(c.columns),
                        operandBytes * extentOf(c.rows) * extentOf(c.over),
                        operandBytes * extentOf(c.columns) * extentOf(c.over)});
    return bytes;
  }

  /// CTAs.
  double tasksOf(const KernelShape &shape) const {
    double tasks = 1;
    for (const Dim &dim : shape.dims)
      if (dim.role == Dim::Parallel)
        tasks *= std::max(1.0, double(llvm::divideCeil(facts.hint(dim.size), dim.tile)));
    return tasks * double(shape.launch.get(LaunchField::ClusterSize).value_or(kDefaultClusterSize));
  }

  PredictedTime predict(const KernelShape &shape) const {
    double tasks = tasksOf(shape), cores = double(machine.cores);
    double rounds = std::ceil(tasks / cores) * cores / tasks;
    int64_t warps = shape.launch.get(LaunchField::NumWarps).value_or(kDefaultNumWarps);
    double resident =
        std::max(1.0, std::min(double(kThreads / (kWarp * warps)), std::ceil(tasks / cores)));
    double tile = double(shape.storageBytes * std::max(1u, shape.rowTensors));
    for (const Dim &dim : shape.dims)
      tile *= double(std::min<int64_t>(dim.tile, std::max<int64_t>(1, facts.hint(dim.size))));
    double stages = double(shape.tuning.get(TuningField::NumStages).value_or(2) - 1);
    double flight = resident * tile * stages * std::min(cores, tasks);
    double needed = work.memoryUs > 0 ? work.bytes / work.memoryUs * kLatencyUs : 0;
    double memory = work.memoryUs * std::max(1.0, needed / std::max(1.0, flight));
    double arithmetic = work.arithmeticUs * rounds;
    return {std::max(arithmetic, memory) + work.launchUs,
            {{"arithmetic", arithmetic}, {"memory", memory}, {"launch", work.launchUs}}};
  }

  const MachineModel &machine;
  const SizeFacts &facts;
  const KernelShape &chosen;
  const KernelWork &work;
  std::set<std::string> seen;
  std::vector<Candidate> result;
};
} // namespace

std::vector<Candidate> tessera::neighboursOf(const MachineModel &machine, const SizeFacts &facts,
                                             const KernelShape &chosen, const KernelWork &work) {
  return Enumerator(machine, facts, chosen, work).run();
}

std::string tessera::scheduleText(const KernelShape &shape, const KernelShape &base) {
  std::string text;
  auto add = [&](llvm::StringRef name, const std::string &value) {
    text += (text.empty() ? "" : ",") + name.str() + "=" + value;
  };
  for (const Dim &dim : shape.dims)
    add("tile." + dim.name, std::to_string(dim.tile));
  auto addConfig = [&](const auto &config, const auto &before) {
    using Config = std::decay_t<decltype(config)>;
    for (const FieldInfo &field : Config::fields()) {
      auto id = *Config::lookup(field.name);
      if (std::optional<int64_t> value = config.get(id))
        add(field.name, std::to_string(*value));
      else if (before.get(id))
        add(field.name, "none");
    }
  };
  addConfig(shape.launch, base.launch);
  addConfig(shape.tuning, base.tuning);
  return text;
}
