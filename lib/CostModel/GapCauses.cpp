//===- GapCauses.cpp - Why a schedule takes longer than the roofline ------===//
//
// Contractions by wgmma and kernels of CPUs have models of their own (WarpgroupCosts.h, CpuCosts.h,
// CpuKernels.h), whose parts overlap: the causes are scaled to the time that such a model predicts.
// The time of other GPU kernels is the sum of their causes.
//
//===----------------------------------------------------------------------===//
#include "tessera/CostModel/GapCauses.h"

#include "tessera/CostModel/CpuKernels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace tessera;

using Dim = KernelShape::Dim;

namespace {

/// The latency of memory, as in Neighbours.cpp; the L2 cache against memory where no measurement is
/// known.
constexpr double kLatencyUs = 0.7, kL2OverMemory = 3.5;
constexpr int64_t kThreads = 2048, kWarp = 32;

/// A time that grows by causes.
class Waterfall {
public:
  explicit Waterfall(double roofline) : roofline(roofline), time(roofline) {}

  /// The time is at least `least` because of this cause.
  void atLeast(llvm::StringLiteral cause, double least) { add(cause, least - time); }
  void add(llvm::StringLiteral cause, double more) {
    if (more <= 0)
      return;
    time += more;
    for (TimeTerm &known : causes)
      if (known.name == cause) {
        known.microseconds += more;
        return;
      }
    causes.push_back({cause, more});
  }

  /// The time is this one in all: causes share it in proportion, and `rest` has what they lack.
  void fit(double total, llvm::StringLiteral rest) {
    double grown = time - roofline, room = std::max(0.0, total - roofline);
    if (grown > room)
      for (TimeTerm &cause : causes)
        cause.microseconds *= room / grown;
    time = roofline + std::min(grown, room);
    add(rest, total - time);
  }

  double now() const { return time; }

  ExplainedTime take() {
    llvm::erase_if(causes, [](const TimeTerm &cause) { return cause.microseconds <= 0; });
    return {time, roofline, std::move(causes)};
  }

private:
  double roofline, time;
  llvm::SmallVector<TimeTerm, 8> causes;
};

class Explainer {
public:
  Explainer(const MachineModel &machine, const SizeFacts &facts, const KernelShape &shape,
            const ProfiledWork &work)
      : machine(machine), facts(facts), shape(shape), work(work) {}

  ExplainedTime run() {
    if (!machine.isGpu)
      return cpu();
    const KernelShape::Contraction *product = work.slowdown > 1 ? nullptr : warpgroupProduct();
    if (product)
      return warpgroups(*product);
    return gpu();
  }

private:
  double roofline() const { return std::max({work.productUs, work.elementwiseUs, work.memoryUs}); }

  const Dim *find(const std::string &name) const {
    auto found = llvm::find_if(shape.dims, [&](const Dim &dim) { return dim.name == name; });
    return found == shape.dims.end() ? nullptr : &*found;
  }

  double sizeOf(const Dim &dim) const { return double(std::max<int64_t>(1, facts.hint(dim.size))); }

  double tasks() const {
    double count = 1;
    for (const Dim &dim : shape.dims)
      if (dim.role == Dim::Parallel)
        count *= std::ceil(sizeOf(dim) / double(dim.tile));
    return count;
  }

  /// How much larger the tiles together are than what they cover.
  double padding() const {
    double factor = 1;
    for (const Dim &dim : shape.dims) {
      bool isMultiplied = llvm::any_of(shape.contractions, [&](const auto &c) {
        return llvm::any_of(llvm::ArrayRef({&c.rows, &c.columns, &c.over}),
                            [&](const auto *side) { return llvm::is_contained(*side, dim.name); });
      });
      if (isMultiplied || shape.contractions.empty())
        factor *= std::ceil(sizeOf(dim) / double(dim.tile)) * double(dim.tile) / sizeOf(dim);
    }
    return factor;
  }

  /// The time of all rounds of tasks over that of evenly spread work.
  static double rounding(double tasks, double cores) {
    return std::ceil(tasks / cores) * cores / tasks;
  }

  static llvm::StringLiteral idle(double tasks, double cores) {
    return tasks < cores ? llvm::StringLiteral("waves") : llvm::StringLiteral("tail");
  }

  // -- GPUs ---------------------------------------------------------------------------------------

  double l2BytesPerUs() const {
    if (const WarpgroupCosts *costs = machine.warpgroupCosts)
      return costs->l2BytesPerCycleOfAll * costs->cyclesPerUs;
    return work.memoryUs > 0 ? kL2OverMemory * work.bytes / work.memoryUs : 0;
  }

  /// How much longer memory takes because too few bytes are in flight.
  double latency(double tasks) const {
    int64_t warps = shape.launch.get(LaunchField::NumWarps).value_or(kDefaultNumWarps);
    double cores = double(machine.cores);
    double resident =
        std::max(1.0, std::min(double(kThreads / (kWarp * warps)), std::ceil(tasks / cores)));
    double tile = double(shape.storageBytes * std::max(1u, shape.rowTensors));
    for (const Dim &dim : shape.dims)
      tile *= std::min(double(dim.tile), sizeOf(dim));
    double stages = double(shape.tuning.get(TuningField::NumStages).value_or(2) - 1);
    double flight = resident * tile * stages * std::min(cores, tasks);
    double needed = work.memoryUs > 0 ? work.bytes / work.memoryUs * kLatencyUs : 0;
    // A kernel that is shorter than the latency waits for all of its bytes at once: `fill` has it.
    return std::max(1.0, std::min(needed, work.bytes) / std::max(1.0, flight));
  }

  ExplainedTime gpu() {
    double count =
        tasks() * double(shape.launch.get(LaunchField::ClusterSize).value_or(kDefaultClusterSize));
    double cores = double(machine.cores);
    Waterfall time(roofline());
    double products = work.productUs * work.slowdown;
    time.atLeast("fallback", std::max(products, work.elementwiseUs));
    double compute = products + work.elementwiseUs;
    time.atLeast("overlap", compute);
    compute *= padding();
    time.atLeast("padding", compute);
    compute *= rounding(count, cores);
    time.atLeast(idle(count, cores), compute);
    double memory = work.bytes > 0 ? work.memoryUs * work.sectorBytes / work.bytes : 0;
    time.atLeast("uncoalesced", memory);
    time.atLeast("latency", memory * latency(count));
    if (double rate = l2BytesPerUs())
      time.atLeast("reread", work.movedBytes / rate * rounding(count, cores));
    if (work.bytes > 0)
      time.add("fill", kLatencyUs);
    if (!shape.contractions.empty() && work.bytes > 0)
      time.add("epilogue", work.memoryUs / work.bytes * work.storedBytes *
                               std::min(1.0, cores / std::max(1.0, count)) / 2);
    time.add("launch", work.launchUs);
    return time.take();
  }

  /// The contraction of a kernel whose time the model of wgmma predicts.
  const KernelShape::Contraction *warpgroupProduct() const {
    if (!machine.warpgroupCosts || shape.tuning.get(TuningField::Wgmma) != 1)
      return nullptr;
    const KernelShape::Contraction *found = nullptr;
    for (const KernelShape::Contraction &c : shape.contractions) {
      if (c.inner || c.rows.empty() || c.columns.empty() || c.over.empty())
        return nullptr;
      found = found ? found : &c;
    }
    return found;
  }

  ContractionSize sizeOf(const KernelShape::Contraction &c) const {
    const Dim *rows = find(c.rows.back()), *columns = find(c.columns.back());
    ContractionSize size;
    size.rows = int64_t(sizeOf(*rows));
    size.columns = int64_t(sizeOf(*columns));
    for (const std::string &name : c.over)
      size.depth *= int64_t(sizeOf(*find(name)));
    for (const Dim &dim : shape.dims)
      if (dim.role == Dim::Parallel && &dim != rows && &dim != columns)
        size.addBatches(int64_t(sizeOf(dim)), !llvm::is_contained(c.columns, dim.name),
                        !llvm::is_contained(c.rows, dim.name));
    size.products = int64_t(shape.contractions.size());
    size.bytes = std::clamp<int64_t>(shape.storageBytes, 2, 4);
    size.parts = c.parts;
    return size;
  }

  ExplainedTime warpgroups(const KernelShape::Contraction &c) {
    const WarpgroupCosts &costs = *machine.warpgroupCosts;
    ContractionSize size = sizeOf(c);
    WarpgroupSchedule schedule;
    int64_t cluster = shape.launch.get(LaunchField::ClusterSize).value_or(kDefaultClusterSize);
    if (std::optional<int64_t> axis = shape.launch.get(LaunchField::ClusterAxis))
      (*axis == 0 ? schedule.clusterRows : schedule.clusterColumns) = cluster;
    schedule.height = find(c.rows.back())->tile / schedule.clusterRows;
    schedule.width = find(c.columns.back())->tile / schedule.clusterColumns;
    schedule.stages = shape.tuning.get(TuningField::NumStages).value_or(4);
    schedule.persistent = shape.launch.get(LaunchField::PersistentCtas).value_or(0);
    SmLimits limits{machine.cores, machine.sharedBytes, machine.sharedOfBlock};
    PredictedTime model = predictTime(costs, limits, size, schedule);
    auto term = [&](llvm::StringRef name) {
      auto found = llvm::find_if(model.terms, [&](const TimeTerm &t) { return t.name == name; });
      return found == model.terms.end() ? 0 : found->microseconds;
    };
    double cores = double(machine.cores), count = tasks(), whole = count / cores;
    double rounds = double(llvm::divideCeil(int64_t(count), machine.cores));
    Waterfall time(roofline());
    double flop = 2 * double(size.batches * size.products * size.partProducts()) *
                  double(size.rows) * double(size.columns) * double(size.depth);
    double widening = double(size.bytes) / 2;
    double sustained = flop * widening / costs.tensorFlopPerUs;
    time.atLeast("clock", sustained);
    time.atLeast("overlap", sustained + work.elementwiseUs);
    double tensor = term("tensor cores") + work.elementwiseUs;
    time.atLeast("padding", tensor * whole / rounds);
    time.atLeast(idle(count, cores), tensor);
    double memory = work.bytes > 0 ? work.memoryUs * work.sectorBytes / work.bytes : 0;
    time.atLeast("uncoalesced", memory);
    time.atLeast("reread", term("L2"));
    time.atLeast("latency", term("issue and latency"));
    time.add("fill", rounds * (costs.ctaCycles + costs.missLatency) / costs.cyclesPerUs /
                         (schedule.persistent ? rounds : 1));
    time.add("epilogue", term("epilogue"));
    time.fit(std::max(model.microseconds - costs.launchUs, std::max(roofline(), memory)),
             "overlap");
    time.add("launch", costs.launchUs);
    return time.take();
  }

  // -- CPUs ---------------------------------------------------------------------------------------

  ExplainedTime cpu() {
    if (!machine.cpuCosts || machine.blockRows > 1)
      return anyCpu();
    for (const KernelShape::Contraction &c : shape.contractions)
      if (c.inner)
        return cpuKernel();
    for (const KernelShape::Contraction &c : shape.contractions)
      if (!c.rows.empty() && !c.columns.empty() && !c.over.empty())
        return cpuProduct(c);
    return cpuKernel();
  }

  /// The sum of what is known of any CPU.
  ExplainedTime anyCpu() {
    double count = tasks(), cores = double(machine.cores);
    Waterfall time(roofline());
    time.atLeast("overlap", work.productUs + work.elementwiseUs);
    time.atLeast(idle(count, cores), time.now() * rounding(count, cores));
    time.add("launch", work.launchUs);
    return time.take();
  }

  /// Data that a cache holds takes no time of memory.
  Waterfall cpuRoofline(double total) const {
    return Waterfall(std::min(roofline(), total - work.launchUs));
  }

  ExplainedTime cpuKernel() {
    PredictedTime model = predictCpuKernel(machine, facts, shape);
    auto term = [&](llvm::StringRef name) { return termOf(model, name); };
    double count = tasks(), cores = double(machine.cores);
    Waterfall time = cpuRoofline(model.microseconds);
    double computed = term("arithmetic") + term("products");
    time.atLeast("instructions", computed / rounding(count, cores));
    time.atLeast(idle(count, cores), computed);
    double memory = work.bytes > 0 ? work.memoryUs * work.sectorBytes / work.bytes : 0;
    time.atLeast("uncoalesced",
                 std::min(memory, term("memory") * work.sectorBytes / std::max(1.0, work.bytes)));
    time.atLeast("reread", term("caches"));
    time.add("loops", term("loops") + term("blocks"));
    time.add("fill", term("grid tasks"));
    return finish(time, model);
  }

  ExplainedTime cpuProduct(const KernelShape::Contraction &c) {
    const Dim &rows = *find(c.rows.back()), &columns = *find(c.columns.back());
    const Dim *over = find(c.over.back());
    for (const std::string &name : c.over)
      if (sizeOf(*find(name)) > sizeOf(*over))
        over = find(name);
    CpuContraction size{int64_t(sizeOf(rows)), int64_t(sizeOf(columns)), int64_t(sizeOf(*over))};
    size.elementBytes = shape.elementBytes;
    size.storageBytes = shape.storageBytes;
    for (const Dim &dim : shape.dims)
      if (&dim != &rows && &dim != &columns && &dim != over)
        size.batches *= int64_t(sizeOf(dim));
    PredictedTime model =
        predictTime(*machine.cpuCosts, machine.cores, size, {rows.tile, columns.tile, over->tile});
    double count = tasks(), cores = double(machine.cores);
    Waterfall time = cpuRoofline(model.microseconds);
    double computed = termOf(model, "arithmetic");
    time.atLeast("padding", computed / rounding(count, cores));
    time.atLeast(idle(count, cores), computed);
    time.atLeast("reread", std::max(termOf(model, "L2"), termOf(model, "memory")));
    time.add("packing", termOf(model, "packing"));
    time.add("epilogue", termOf(model, "accumulators"));
    time.add("fill", termOf(model, "blocks"));
    return finish(time, model);
  }

  static double termOf(const PredictedTime &model, llvm::StringRef name) {
    for (const TimeTerm &term : model.terms)
      if (term.name == name)
        return term.microseconds;
    return 0;
  }

  ExplainedTime finish(Waterfall &time, const PredictedTime &model) {
    double launch = termOf(model, "launch");
    time.fit(model.microseconds - launch, "overlap");
    time.add("launch", launch);
    return time.take();
  }

  const MachineModel &machine;
  const SizeFacts &facts;
  const KernelShape &shape;
  const ProfiledWork &work;
};

} // namespace

ExplainedTime tessera::explainTime(const MachineModel &machine, const SizeFacts &facts,
                                   const KernelShape &shape, const ProfiledWork &work) {
  return Explainer(machine, facts, shape, work).run();
}
