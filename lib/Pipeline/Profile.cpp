//===- Profile.cpp - Where the time of kernels goes -----------------------===//
#include "Profile.h"

#include "AccessCosts.h"
#include "DiagnosticBridge.h"
#include "MaskShares.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/CostModel/Candidates.h"
#include "tessera/CostModel/DescribeKernel.h"
#include "tessera/CostModel/GapCauses.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;

namespace {

/// The part of the peak that `mma.sync` reaches on a chip with wgmma.
constexpr double kMmaOfWgmma = 0.62;

void addPlace(Operation *op, const SourceManager &sources, Object &entry) {
  SourceRange range = sourceRange(sources, op->getLoc());
  if (!range.isValid())
    return;
  auto [line, column] = sources.lineColumn(range);
  entry["file"] = std::string(sources.buffer(range.file).name());
  entry["line"] = int64_t(line);
  entry["column"] = int64_t(column);
}

class KernelProfiler {
public:
  KernelProfiler(sched::KernelOp kernel, const Backend &backend, const SizesAtHand &sizes,
                 const SourceManager &sources)
      : kernel(kernel), backend(backend), sizes(sizes), sources(sources),
        machine(backend.machine()), facts(kernel->getParentOp()) {
    auto via = kernel->getAttrOfType<StringAttr>(sched::kBackend);
    if (machine.byTiles && via && via == sched::kCudaTile)
      machine = MachineModel(*machine.byTiles);
    for (const auto &[name, size] : sizes)
      facts.assume(name, size);
    peaks =
        machine.isGpu ? Roofline::ofChip(backend.chip(), /*tensorCores=*/true) : backend.roofline();
  }

  Object run() {
    KernelShape shape = describeKernel(kernel, facts);
    std::vector<OpWork> arithmetic = workOf(kernel, peaks, sizes);
    std::vector<AccessCost> accesses = accessesOf(kernel, machine, peaks, sizes);
    addIntegerDivisions(arithmetic);
    ProfiledWork work = sum(arithmetic, accesses, shape);
    ExplainedTime time = explainTime(machine, facts, shape, work);
    Object result{{"name", kernel.getSymName().str()},
                  {"schedule", scheduleText(shape, shape)},
                  {"predicted_us", time.microseconds},
                  {"causes", causes(time, accesses)},
                  {"roofline", rooflineOf(work, time)},
                  {"tensor_cores", unitOf(shape, work)},
                  {"bytes", work.bytes},
                  {"l2_bytes", work.movedBytes},
                  {"ops", operations(arithmetic, accesses)},
                  {"masks", masks()},
                  {"streams", streams()}};
    double ctas = 1;
    for (Attribute name : kernel.getOrder())
      if (sched::DimAttr dim = kernel.getDim(cast<StringAttr>(name).getValue()))
        ctas *= std::ceil(double(facts.hint(dim.getSize())) / double(dim.getTile()));
    ctas *= double(kernel.getField(LaunchField::ClusterSize).value_or(kDefaultClusterSize));
    result["ctas"] = ctas;
    result["waves"] = ctas / double(machine.cores);
    addPlace(kernel, result);
    if (auto names = kernel->getAttrOfType<ArrayAttr>(sched::kOverridden)) {
      Array fields;
      for (StringRef name : names.getAsValueRange<StringAttr>())
        fields.push_back(name.str());
      result["overridden"] = std::move(fields);
    }
    return result;
  }

private:
  /// Divisions of integers, which other predictions leave out: dozens of instructions each.
  void addIntegerDivisions(std::vector<OpWork> &arithmetic) {
    kernel.getBody().walk([&](sched::MapOp map) {
      if (!isDivision(map) || isFloat(map.getResult()) || isConstant(map.getInputs()[1]))
        return;
      double points = 1;
      for (StringAttr name : cast<sched::ValType>(map.getType()).getDims())
        points *= double(facts.hint(kernel.getDim(name.getValue()).getSize()));
      constexpr double instructions = 24;
      arithmetic.push_back(
          {OpWork::Elementwise, map, 0, instructions * points / peaks.vectorFlops});
    });
  }

  static bool isDivision(sched::MapOp map) {
    StringRef kind = map.getKind();
    return kind == "div" || kind == "floordiv" || kind == "floor_divide" || kind == "remainder";
  }

  static bool isFloat(Value value) {
    return isa<FloatType>(cast<sched::ValType>(value.getType()).getElementType());
  }

  static bool isConstant(Value value) { return value.getDefiningOp<sched::ConstantOp>(); }

  ProfiledWork sum(ArrayRef<OpWork> arithmetic, ArrayRef<AccessCost> accesses,
                   const KernelShape &shape) {
    ProfiledWork work;
    for (const OpWork &each : arithmetic)
      (each.unit == OpWork::Products && machine.isGpu ? work.productUs : work.elementwiseUs) +=
          each.seconds * 1e6;
    for (const AccessCost &each : accesses) {
      work.bytes += each.bytes;
      work.sectorBytes += each.sectors;
      work.movedBytes += each.moved;
      work.storedBytes += each.isStore ? each.bytes : 0;
    }
    work.memoryUs = work.bytes / peaks.bytesPerSecond * 1e6;
    work.launchUs = peaks.launchSeconds * 1e6;
    work.slowdown = slowdownOf(shape);
    return work;
  }

  /// How much slower the kernel multiplies than the fastest units of the chip do.
  double slowdownOf(const KernelShape &shape) {
    if (!machine.isGpu || shape.contractions.empty())
      return 1;
    Roofline used = backend.roofline();
    if (used.mma16 < peaks.mma16)
      return (shape.storageBytes <= 2 ? peaks.mma16 : peaks.mma32) / used.vectorFlops;
    bool isWide = shape.storageBytes > 2 || !shape.onTensorCores;
    if (!machine.warpgroups || isWide || shape.tuning.get(TuningField::Wgmma) == 1)
      return 1;
    return 1 / kMmaOfWgmma;
  }

  StringRef unitOf(const KernelShape &shape, const ProfiledWork &work) {
    if (work.productUs == 0)
      return "";
    if (backend.roofline().mma16 < peaks.mma16 || !shape.onTensorCores)
      return "none";
    return shape.tuning.get(TuningField::Wgmma) == 1 ? "warpgroups" : "warps";
  }

  Object rooflineOf(const ProfiledWork &work, const ExplainedTime &time) {
    const char *bound = work.memoryUs >= std::max(work.productUs, work.elementwiseUs) ? "memory"
                        : work.productUs >= work.elementwiseUs ? "tensor cores"
                                                               : "arithmetic";
    return Object{{"us", time.roofline},
                  {"tensor_us", work.productUs},
                  {"vector_us", work.elementwiseUs},
                  {"memory_us", work.memoryUs},
                  {"bound", bound}};
  }

  /// The operand that a cause is most about.
  Array causes(const ExplainedTime &time, ArrayRef<AccessCost> accesses) {
    Array list;
    for (const TimeTerm &cause : time.causes) {
      Object entry{{"cause", cause.name}, {"us", cause.microseconds}};
      double most = 0;
      for (const AccessCost &each : accesses) {
        double lost = cause.name == "reread"        ? each.moved - each.bytes
                      : cause.name == "uncoalesced" ? each.sectors - each.bytes
                                                    : 0;
        if (lost > most) {
          most = lost;
          entry["of"] = each.tensor;
        }
      }
      list.push_back(std::move(entry));
    }
    return list;
  }

  Array operations(ArrayRef<OpWork> arithmetic, ArrayRef<AccessCost> accesses) {
    Array list;
    for (const OpWork &each : arithmetic) {
      Object entry{{"op", nameOf(each.op)},
                   {"unit", each.unit == OpWork::Products ? "products" : "elementwise"},
                   {"flops", each.flops},
                   {"us", each.seconds * 1e6}};
      if (auto map = dyn_cast<sched::MapOp>(each.op); map && isDivision(map))
        addDivision(map, entry);
      addPlace(each.op, entry);
      list.push_back(std::move(entry));
    }
    for (const AccessCost &each : accesses) {
      Object entry{{"op", each.isStore ? "store" : "load"},
                   {"unit", "memory"},
                   {"tensor", each.tensor},
                   {"argument", each.argument},
                   {"stride", each.stride},
                   {"bytes", each.bytes},
                   {"sector_bytes", each.sectors},
                   {"l2_bytes", each.moved},
                   {"us", each.bytes / peaks.bytesPerSecond * 1e6}};
      addPlace(userOf(each.op), entry);
      list.push_back(std::move(entry));
    }
    return list;
  }

  /// The operation that first uses what is loaded: a load itself is at the argument's name.
  Operation *userOf(Operation *op) {
    auto place = [](Operation *each) { return each->getLoc()->findInstanceOf<FileLineColRange>(); };
    Operation *user = op;
    while (isa<sched::LoadOp, sched::CastOp>(user)) {
      if (user->use_empty())
        return op;
      Operation *next = nullptr; // uses are listed from the last one
      for (Operation *each : user->getUsers())
        next = !next || each->getBlock() != next->getBlock() || each->isBeforeInBlock(next) ? each
                                                                                            : next;
      user = next;
    }
    return place(user) ? user : op;
  }

  /// What a division could be instead: a multiplication, if its divisor has fewer dimensions.
  void addDivision(sched::MapOp map, Object &entry) {
    auto dims = [](Value value) { return cast<sched::ValType>(value.getType()).getDims().size(); };
    entry["division"] = isFloat(map.getResult()) ? "float" : "integer";
    entry["invariant"] =
        !isConstant(map.getInputs()[1]) && dims(map.getInputs()[1]) < dims(map.getResult());
  }

  static std::string nameOf(Operation *op) {
    if (auto map = dyn_cast<sched::MapOp>(op))
      return map.getKind().str();
    if (auto reduce = dyn_cast<sched::ReduceOp>(op))
      return reduce.getValues().size() > 1 ? "product" : reduce.getKind().str();
    if (auto accumulate = dyn_cast<sched::AccumulateOp>(op))
      return accumulate.getValues().size() > 1 ? "product" : accumulate.getKind().str();
    return op->getName().stripDialect().str();
  }

  Array masks() {
    Array list;
    for (const MaskShare &mask : masksOf(kernel, peaks, sizes)) {
      Object entry{
          {"sentinel", mask.isSentinel}, {"visited", mask.visited}, {"needed", mask.needed}};
      addPlace(mask.op, entry);
      list.push_back(std::move(entry));
    }
    return list;
  }

  Array streams() {
    Array list;
    kernel.getBody().walk([&](sched::StreamOp stream) {
      list.push_back(Object{{"visited", visitedShare(stream, peaks, sizes)}});
    });
    return list;
  }

  void addPlace(Operation *op, Object &entry) { ::addPlace(op, sources, entry); }

  sched::KernelOp kernel;
  const Backend &backend;
  const SizesAtHand &sizes;
  const SourceManager &sources;
  MachineModel machine;
  SizeFacts facts;
  Roofline peaks;
};

} // namespace

llvm::json::Array tessera::reportViews(ModuleOp module, const SourceManager &sources) {
  Array views;
  module.walk([&](Operation *op) {
    if (!isa<gir::SliceOp, gir::TransposeOp>(op))
      return;
    Value root = op->getOperand(0);
    while (Operation *above = root.getDefiningOp()) {
      if (!isa<gir::TransposeOp, gir::BroadcastOp, gir::ReshapeOp, gir::SliceOp>(above))
        return;
      root = above->getOperand(0);
    }
    auto argument = cast<BlockArgument>(root);
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = function
                    ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), gir::kNameAttr)
                    : StringAttr();
    if (!name)
      return;
    Object entry{{"tensor", name.str()}, {"slice", isa<gir::SliceOp>(op)}};
    addPlace(op, sources, entry);
    views.push_back(std::move(entry));
  });
  return views;
}

llvm::json::Array tessera::profileKernels(ModuleOp module, const Backend &backend,
                                          const SizesAtHand &sizes, const SourceManager &sources) {
  Array kernels;
  module.walk([&](sched::KernelOp kernel) {
    kernels.push_back(KernelProfiler(kernel, backend, sizes, sources).run());
  });
  return kernels;
}
