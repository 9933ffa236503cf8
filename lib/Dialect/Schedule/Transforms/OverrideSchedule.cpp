//===- OverrideSchedule.cpp - Tiles, launch and tuning that a user gives --===//
#include "tessera/Dialect/Schedule/Transforms/Passes.h"
#include "tessera/Support/ScheduleOverride.h"

#include "ForEachKernel.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::sched;

namespace tessera::sched {
#define GEN_PASS_DEF_SCHEDULEOVERRIDESCHEDULE
#include "tessera/Dialect/Schedule/Transforms/Passes.h.inc"
} // namespace tessera::sched

/// "'m', 'k' or 'n'".
static std::string listed(ArrayRef<std::string> names) {
  std::string text;
  for (const auto &[i, name] : llvm::enumerate(names))
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + ("'" + name + "'");
  return text;
}

/// The kernel that an override names by its number or its name; null if there is none.
static KernelOp findKernel(ArrayRef<KernelOp> kernels, StringRef name) {
  unsigned number = 0;
  if (!name.getAsInteger(10, number))
    return number < kernels.size() ? kernels[number] : KernelOp();
  auto found = llvm::find_if(kernels, [&](KernelOp kernel) { return kernel.getSymName() == name; });
  return found == kernels.end() ? KernelOp() : *found;
}

/// Why a tile cannot be that of a dimension; empty if it can.
static std::string tileProblem(const MachineModel &machine, StringRef dim, int64_t tile) {
  constexpr int64_t most = 1 << 20;
  if (tile > most)
    return llvm::formatv("expected tile.{0} up to {1}, got {2}", dim, most, tile);
  // Warpgroups multiply tiles of several pieces.
  constexpr int64_t piece = 64;
  bool hasPieces = machine.warpgroupCosts && tile % piece == 0;
  if (machine.isGpu && !llvm::isPowerOf2_64(tile) && !hasPieces)
    return llvm::formatv("expected a power of two as tile.{0} on a GPU, got {1}", dim, tile);
  return "";
}

namespace {
/// Applies the overrides of one kernel.
class Overrider {
public:
  Overrider(KernelOp kernel, const MachineModel &machine)
      : kernel(kernel), machine(machine), launch(kernel.getLaunchConfig()),
        tuning(kernel.getTuningConfig()), dims(kernel.getDims().getValue()) {}

  LogicalResult apply(const ScheduleOverride &override) {
    for (const auto &[name, tile] : override.tiles)
      if (failed(setTile(name, tile)))
        return failure();
    for (const auto &[name, value] : override.fields)
      if (failed(setField(name, value)))
        return failure();
    std::string problem = launch.problem();
    if (problem.empty())
      problem = tuning.problem();
    if (!problem.empty())
      return fail() << problem;
    kernel.setDimsAttr(ArrayAttr::get(kernel.getContext(), dims));
    kernel.changeConfig(launch, kUsersSchedule);
    kernel.changeConfig(tuning, kUsersSchedule);
    SmallVector<StringRef> names;
    if (auto before = kernel->getAttrOfType<ArrayAttr>(kOverridden))
      names.append(before.getAsValueRange<StringAttr>().begin(),
                   before.getAsValueRange<StringAttr>().end());
    for (const auto &[name, value] : override.fields)
      if (value && !llvm::is_contained(names, name))
        names.push_back(name);
    if (!names.empty())
      kernel->setAttr(kOverridden, Builder(kernel.getContext()).getStrArrayAttr(names));
    return success();
  }

private:
  InFlightDiagnostic fail() {
    return kernel.emitError("schedule of kernel '") << kernel.getSymName() << "': ";
  }

  LogicalResult setTile(const std::string &name, int64_t tile) {
    std::vector<std::string> names;
    for (Attribute &attribute : dims) {
      auto dim = cast<DimAttr>(attribute);
      names.push_back(dim.getName().str());
      if (names.back() != name)
        continue;
      if (std::string problem = tileProblem(machine, name, tile); !problem.empty())
        return fail() << problem;
      attribute = DimAttr::get(dim.getContext(), dim.getName(), dim.getSize(), dim.getRole(), tile);
      return success();
    }
    return fail() << "there is no dimension '" << name << "'"
                  << (names.empty() ? "" : ", expected " + listed(names));
  }

  LogicalResult setField(const std::string &name, std::optional<int64_t> value) {
    auto set = [&](auto &config, auto field) {
      config = value ? config.with(field, *value) : config.without({field});
      return success();
    };
    if (std::optional<LaunchField> field = LaunchConfig::lookup(name))
      return set(launch, *field);
    if (std::optional<TuningField> field = TuningConfig::lookup(name))
      return set(tuning, *field);
    std::vector<std::string> names;
    for (const FieldInfo &field : kLaunchFields)
      names.push_back(field.name.str());
    for (const FieldInfo &field : kTuningFields)
      names.push_back(field.name.str());
    return fail() << "there is no field '" << name << "', expected tile.DIM, " << listed(names);
  }

  KernelOp kernel;
  const MachineModel &machine;
  LaunchConfig launch;
  TuningConfig tuning;
  SmallVector<Attribute> dims;
};

struct ScheduleOverrideSchedule
    : sched::impl::ScheduleOverrideScheduleBase<ScheduleOverrideSchedule> {
  using ScheduleOverrideScheduleBase::ScheduleOverrideScheduleBase;

  void runOnOperation() override {
    std::string error;
    auto overrides = parseScheduleOverrides(schedule.getValue(), error);
    std::optional<MachineModel> machine = parseMachineModel(target, cores);
    if (!overrides || !machine) {
      if (!overrides)
        getOperation().emitError("schedule: ") << error;
      else
        getOperation().emitError("expected a CPU or a GPU with its backend as target, got '")
            << target << "'";
      return signalPassFailure();
    }
    SmallVector<KernelOp> kernels;
    getOperation().walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (const ScheduleOverride &override : *overrides)
      if (failed(apply(*machine, kernels, override)))
        return signalPassFailure();
  }

  LogicalResult apply(const MachineModel &machine, ArrayRef<KernelOp> kernels,
                      const ScheduleOverride &override) {
    KernelOp kernel = findKernel(kernels, override.kernel);
    if (!kernel) {
      std::vector<std::string> names;
      for (KernelOp each : kernels)
        names.push_back(each.getSymName().str());
      return getOperation().emitError("schedule: there is no kernel '")
             << override.kernel << "'"
             << (names.empty() ? ""
                               : ", expected a number below " + std::to_string(names.size()) +
                                     ", " + listed(names));
    }
    if (!onlyBackends)
      return Overrider(kernel, machineOf(kernel, machine)).apply(override);
    if (override.backend.empty())
      return success();
    if (!machine.byTiles)
      return kernel.emitError("schedule of kernel '")
             << kernel.getSymName() << "': target '" << target << "' has one backend";
    StringRef backend = override.backend == "ptx" ? kPtx : kCudaTile;
    kernel->setAttr(kBackend, StringAttr::get(kernel.getContext(), backend));
    return success();
  }
};
} // namespace
