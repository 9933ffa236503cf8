//===- ApplyTuning.cpp - Measured tiles and hints -------------------------===//
#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
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

/// Why a choice does not fit the kernel; empty if it does.
static std::string whyNot(KernelOp kernel, const MeasuredChoice &choice) {
  if (choice.tiles.size() != kernel.getDims().size())
    return llvm::formatv("expected {0} tiles, got {1}", kernel.getDims().size(),
                         choice.tiles.size());
  int64_t elements = 1;
  for (auto [dim, tile] : llvm::zip(kernel.getDims().getAsRange<DimAttr>(), choice.tiles)) {
    if (!llvm::isPowerOf2_64(tile) || tile > kMostElements)
      return llvm::formatv("expected powers of two up to {0} as tiles, got {1}", kMostElements,
                           tile);
    if (dim.isParallel() && (elements *= tile) > kMostElements)
      return llvm::formatv("expected at most {0} elements in a program's tile", kMostElements);
  }
  for (const auto &[name, value] : choice.hints) {
    const LaunchHint *known = llvm::find_if(
        kLaunchHints, [&name = name](const LaunchHint &each) { return each.name == name; });
    if (known == kLaunchHints.end())
      return llvm::formatv("there is no hint '{0}'", name);
    if (value < known->least || value > known->most)
      return llvm::formatv("expected a hint '{0}' from {1} to {2}, got {3}", name, known->least,
                           known->most, value);
  }
  return "";
}

static void apply(KernelOp kernel, const MeasuredChoice &choice) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> dims;
  for (auto [dim, tile] : llvm::zip(kernel.getDims().getAsRange<DimAttr>(), choice.tiles))
    dims.push_back(
        DimAttr::get(dim.getContext(), dim.getName(), dim.getSize(), dim.getRole(), tile));
  NamedAttrList hints;
  for (const auto &[name, value] : choice.hints)
    hints.set(name, builder.getI64IntegerAttr(value));
  auto chosen = hints.getDictionary(kernel.getContext());
  bool isFirst = builder.getArrayAttr(dims) == kernel.getDims() &&
                 (kernel.getHintsAttr() ? kernel.getHintsAttr() == chosen : chosen.empty());
  kernel.setDimsAttr(builder.getArrayAttr(dims));
  kernel.setHintsAttr(chosen);
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
  ScheduleApplyTuning(std::shared_ptr<const TuningTable> given,
                      std::function<void(const std::string &)> tell)
      : given(std::move(given)), tell(std::move(tell)) {}

  void runOnOperation() override {
    if (!tell)
      tell = [this](const std::string &problem) { getOperation().emitWarning(problem); };
    if (!given) {
      FailureOr<GpuDescription> gpu = gpuOf(getOperation());
      if (failed(gpu))
        return signalPassFailure();
      std::vector<std::string> problems;
      given = std::make_shared<TuningTable>(TuningTable::read(table, gpu->chip, problems));
      llvm::for_each(problems, tell);
    }
    if (given->empty())
      return;
    getOperation().walk([&](KernelOp kernel) {
      auto backend = kernel->getAttrOfType<StringAttr>(kBackend);
      const MeasuredChoice *choice =
          backend && backend != kCudaTile ? nullptr : given->find(signatureOf(kernel));
      if (!choice)
        return;
      if (std::string problem = whyNot(kernel, *choice); problem.empty())
        apply(kernel, *choice);
      else
        tell("line " + std::to_string(choice->line) + ": " + problem);
    });
  }

  std::shared_ptr<const TuningTable> given;
  std::function<void(const std::string &)> tell;
};
} // namespace

std::unique_ptr<Pass>
sched::createScheduleApplyTuning(std::shared_ptr<const TuningTable> table,
                                 std::function<void(const std::string &)> tell) {
  return std::make_unique<ScheduleApplyTuning>(std::move(table), std::move(tell));
}
