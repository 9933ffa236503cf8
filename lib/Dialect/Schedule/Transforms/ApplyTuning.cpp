//===- ApplyTuning.cpp - Measured tiles, launch and tuning ----------------===//
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::sched;

namespace tessera::sched {
#define GEN_PASS_DEF_SCHEDULEAPPLYTUNING
#include "tessera/Dialect/Schedule/Transforms/Passes.h.inc"
} // namespace tessera::sched

/// More elements than a CTA can hold.
static constexpr int64_t kMostElements = 1 << 18;

namespace {
struct Configs {
  LaunchConfig launch;
  TuningConfig tuning;
};
} // namespace

/// Why a choice does not fit the kernel, empty if it does; sets its fields by their names.
static std::string whyNot(KernelOp kernel, const MeasuredChoice &choice, Configs &configs) {
  bool isGpu = choice.via != "cpu";
  if (choice.tiles.size() != kernel.getDims().size())
    return llvm::formatv("expected {0} tiles, got {1}", kernel.getDims().size(),
                         choice.tiles.size());
  int64_t elements = 1;
  for (auto [dim, tile] : llvm::zip(kernel.getDims().getAsRange<DimAttr>(), choice.tiles)) {
    if ((isGpu && !llvm::isPowerOf2_64(tile)) || tile > kMostElements)
      return llvm::formatv("expected {0} up to {1} as tiles, got {2}",
                           isGpu ? "powers of two" : "numbers", kMostElements, tile);
    if (isGpu && dim.isParallel() && (elements *= tile) > kMostElements)
      return llvm::formatv("expected at most {0} elements in an output tile", kMostElements);
  }
  for (const auto &[name, value] : choice.fields)
    if (std::optional<LaunchField> field = LaunchConfig::lookup(name))
      configs.launch.set(*field, value);
    else if (std::optional<TuningField> field = TuningConfig::lookup(name))
      configs.tuning.set(*field, value);
    else
      return llvm::formatv("there is no field '{0}' of launch or tuning", name);
  std::string problem = configs.launch.problem();
  return problem.empty() ? configs.tuning.problem() : problem;
}

static void apply(KernelOp kernel, const MeasuredChoice &choice, const Configs &configs) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> dims;
  for (auto [dim, tile] : llvm::zip(kernel.getDims().getAsRange<DimAttr>(), choice.tiles))
    dims.push_back(
        DimAttr::get(dim.getContext(), dim.getName(), dim.getSize(), dim.getRole(), tile));
  bool isFirst = builder.getArrayAttr(dims) == kernel.getDims() &&
                 kernel.getLaunchConfig() == configs.launch &&
                 kernel.getTuningConfig() == configs.tuning;
  kernel.setDimsAttr(builder.getArrayAttr(dims));
  kernel.changeConfig(configs.launch, "measured");
  kernel.changeConfig(configs.tuning, "measured");
  std::string text = isFirst ? "none was faster than the cost model's choice"
                             : llvm::formatv("{0:f2} times as fast as the cost model's choice",
                                             choice.firstMilliseconds / choice.milliseconds)
                                   .str();
  if (!choice.origin.empty())
    text += " (" + choice.origin + ")";
  kernel->setAttr(kTuned, builder.getStringAttr(text));
}

namespace {
struct ScheduleApplyTuning : sched::impl::ScheduleApplyTuningBase<ScheduleApplyTuning> {
  using ScheduleApplyTuningBase::ScheduleApplyTuningBase;
  ScheduleApplyTuning(std::shared_ptr<const TuningTable> given, std::string backend,
                      std::function<void(const std::string &)> warn)
      : given(std::move(given)), warn(std::move(warn)) {
    via = std::move(backend);
  }

  void runOnOperation() override {
    if (!warn)
      warn = [this](const std::string &problem) { getOperation().emitWarning(problem); };
    if (!given) {
      FailureOr<GpuDescription> gpu = gpuOf(getOperation());
      if (failed(gpu))
        return signalPassFailure();
      std::vector<std::string> problems;
      given = std::make_shared<TuningTable>(TuningTable::read(table, gpu->chip, {}, problems));
      llvm::for_each(problems, warn);
    }
    if (given->empty())
      return;
    getOperation().walk([&](KernelOp kernel) {
      auto backend = kernel->getAttrOfType<StringAttr>(kBackend);
      std::string name = !backend ? via.getValue() : backend == kCudaTile ? "tileir" : "ptx";
      const MeasuredChoice *choice = given->find(signatureOf(kernel), name);
      if (!choice)
        return;
      Configs configs;
      if (std::string problem = whyNot(kernel, *choice, configs); problem.empty())
        apply(kernel, *choice, configs);
      else
        warn("line " + std::to_string(choice->line) + ": " + problem);
    });
  }

  std::shared_ptr<const TuningTable> given;
  std::function<void(const std::string &)> warn;
};
} // namespace

std::unique_ptr<Pass>
sched::createScheduleApplyTuning(std::shared_ptr<const TuningTable> table, std::string via,
                                 std::function<void(const std::string &)> warn) {
  return std::make_unique<ScheduleApplyTuning>(std::move(table), std::move(via), std::move(warn));
}
