//===- Explain.cpp - What the scheduler decided ---------------------------===//
//
// Prints a schedule in words. For each kernel: its grid, its streams with their states, reductions
// within a tile, inputs and outputs, launch and tuning with what later passes changed of them, the
// predicted cost, and the notes of the scheduler (`sched.notes`). All of it comes from the IR, so
// that an edited schedule is explained as well.
//
//===----------------------------------------------------------------------===//
#include "Explain.h"

#include "MeasuredBackends.h"
#include "StreamMasks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"
#include "tessera/Dialect/Target/IR/Target.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera {

using llvm::StringRef;
using namespace mlir;

std::string tessera::scaledText(double value, double step, StringRef unit) {
  const char *prefixes = " KMGTP";
  size_t power = 0;
  while (value >= step && power < 5) {
    value /= step;
    ++power;
  }
  std::string prefix = power ? std::string(1, prefixes[power]) : "";
  if (power && step == 1024)
    prefix += "i";
  return llvm::formatv("{0:f1} {1}{2}", value, prefix, unit).str();
}

namespace {

constexpr StringRef kNotes = "sched.notes";

std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return StringRef(text).starts_with("!gir.") ? text.substr(5) : text;
}

/// "i = S in tiles of 64".
std::string describe(sched::DimAttr dim) {
  return dim.getName().str() + " = " + dim.getSize().str() + " in tiles of " +
         std::to_string(dim.getTile());
}

class KernelWriter {
public:
  KernelWriter(sched::KernelOp kernel, KernelCost cost, ArrayRef<std::string> changed, bool isGpu,
               llvm::raw_ostream &os)
      : kernel(kernel), cost(cost), changed(changed), isGpu(isGpu), os(os) {}

  void write() {
    auto backend = kernel->getAttrOfType<StringAttr>(sched::kBackend);
    os << "kernel " << kernel.getSymName() << (backend ? " via " + viaName(backend).str() : "")
       << "\n";
    writeTensors();
    writeGrid();
    kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto stream = dyn_cast<sched::StreamOp>(op))
        writeStream(stream);
    });
    writeInner();
    writeConfig();
    writeCost();
    if (auto notes = kernel->getAttrOfType<ArrayAttr>(kNotes))
      for (Attribute note : notes)
        os << "  - " << cast<StringAttr>(note).getValue() << "\n";
  }

private:
  void writeTensors() {
    for (Value input : kernel.getInputs())
      os << "  reads   " << nameOf(input) << ": " << textOf(input.getType()) << "\n";
    for (Value output : kernel.getOutputs())
      os << "  writes  " << nameOf(output) << ": " << textOf(output.getType()) << "\n";
  }

  /// The argument's name, "result", or the kernel that computes the temporary.
  static std::string nameOf(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
      if (auto name =
              function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), gir::kNameAttr))
        return name.str();
      return "argument " + std::to_string(argument.getArgNumber());
    }
    for (OpOperand &use : value.getUses())
      if (auto end = dyn_cast<func::ReturnOp>(use.getOwner()))
        return end.getNumOperands() == 1 ? "result"
                                         : "result " + std::to_string(use.getOperandNumber());
    if (auto kernel = value.getDefiningOp<sched::KernelOp>())
      return "temporary of " + kernel.getSymName().str();
    return "value";
  }

  /// The launch configuration and the tuning; the kernel's key in the tuning table, and whether the
  /// table was used; the CTAs of a cluster.
  void writeConfig() {
    if (LaunchConfig launch = kernel.getLaunchConfig(); !launch.empty())
      os << "  launch  " << launch << "\n";
    if (TuningConfig tuning = kernel.getTuningConfig(); !tuning.empty())
      os << "  tuning  " << tuning << "\n";
    for (const std::string &change : changed)
      os << "  changed " << change << "\n";
    if (!isGpu && !kernel->hasAttr(sched::kTuned))
      return;
    os << "  table   " << sched::signatureOf(kernel);
    if (auto tuned = kernel->getAttrOfType<StringAttr>(sched::kTuned))
      os << ": measured tiles, launch and tuning, " << tuned.getValue();
    os << "\n";
    std::optional<int64_t> size = kernel.getField(LaunchField::ClusterSize),
                           axis = kernel.getField(LaunchField::ClusterAxis);
    if (!size)
      return;
    os << "  cluster " << *size << " CTAs split ";
    if (axis)
      os << "the " << (*axis ? "columns" : "rows") << " of each tile\n";
    else
      os << "the reduced dimension and combine partial results through distributed shared memory\n";
  }

  void writeCost() {
    os << llvm::formatv("  predicted {0:f1} us, bound by {1}: {2} of arithmetic, {3} of memory, "
                        "{4} {5}\n",
                        cost.microseconds, cost.bound, scaledText(cost.flops, 1000, "FLOP"),
                        scaledText(cost.bytes, 1024, "B"), llvm::formatv("{0:f0}", cost.programs),
                        isGpu ? "CTAs" : "grid tasks");
  }

  void writeGrid() {
    std::string dims;
    for (Attribute name : kernel.getOrder())
      if (sched::DimAttr dim = kernel.getDim(cast<StringAttr>(name).getValue()))
        dims += (dims.empty() ? "" : "; ") + describe(dim);
    os << "  grid    " << (!dims.empty() ? dims : isGpu ? "one CTA" : "one grid task") << "\n";
  }

  void writeStream(sched::StreamOp stream) {
    os << "  streams over ";
    bool first = true;
    for (Attribute name : stream.getOver()) {
      os << (first ? "" : "; ");
      first = false;
      if (sched::DimAttr dim = kernel.getDim(cast<StringAttr>(name).getValue()))
        os << describe(dim);
    }
    os << "\n";
    for (const std::string &line : describeVisits(kernel, stream))
      os << "    " << line << "\n";
    Operation *terminator = stream.getBody().front().getTerminator();
    for (Value state : terminator->getOperands())
      writeState(state);
  }

  /// What becomes of a state when its gauge changes.
  static StringRef onChange(Value gauge) {
    auto op = gauge.getDefiningOp<sched::GaugeOp>();
    return op && op.getIndicator() ? "dropped" : "rescaled";
  }

  void writeState(Value state) {
    auto gauge = state.getDefiningOp<sched::GaugeOp>();
    auto accumulate = state.getDefiningOp<sched::AccumulateOp>();
    os << "    carries a ";
    if (gauge)
      os << "running maximum";
    else if (accumulate)
      os << "running " << accumulate.getKind()
         << (accumulate.getValues().size() > 1 ? " of products" : "");
    else
      os << "value";
    auto type = cast<sched::ValType>(state.getType());
    os << " per (";
    llvm::interleaveComma(type.getDims(), os, [&](StringAttr dim) { os << dim.getValue(); });
    os << ") in " << type.getElementType();
    if (gauge)
      os << " (the gauge: "
         << (gauge.getIndicator() ? "elements are compared with it"
                                  : "exponents are relative to it")
         << ")";
    else if (accumulate && accumulate.getGauge())
      os << ", " << onChange(accumulate.getGauge()) << " when the maximum changes";
    os << "\n";
  }

  void writeInner() {
    for (Attribute attribute : kernel.getDims()) {
      auto dim = cast<sched::DimAttr>(attribute);
      if (dim.isInner())
        os << "  reduces within a tile over " << describe(dim) << "\n";
    }
  }

  sched::KernelOp kernel;
  KernelCost cost;
  ArrayRef<std::string> changed;
  bool isGpu;
  llvm::raw_ostream &os;
};

} // namespace

ChangedFields changedFields(ModuleOp module) {
  ChangedFields changed;
  auto add = [&](StringRef kernel, auto changes) {
    for (StringRef change : changes)
      changed[kernel.str()].push_back(change.str());
  };
  module.walk([&](Operation *op) {
    if (auto image = dyn_cast<target::ImageOp>(op)) {
      for (StringRef kernel : image.getKernels().getAsValueRange<StringAttr>())
        add(kernel, image.getChanges(kernel));
      return;
    }
    if (!isa<sched::KernelOp, tile::KernelOp>(op))
      return;
    StringRef list = sched::KernelOp::kChangedAttr;
    if (isa<tile::KernelOp>(op))
      list = tile::KernelOp::kChangedAttr;
    if (auto changes = op->getAttrOfType<ArrayAttr>(list))
      add(SymbolTable::getSymbolName(op).getValue(), changes.getAsValueRange<StringAttr>());
  });
  return changed;
}

std::string ScheduleReader::explain(ModuleOp module, const ChangedFields &changed) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto function : module.getOps<func::FuncOp>()) {
    SmallVector<sched::KernelOp> kernels(function.getOps<sched::KernelOp>());
    os << "function " << function.getSymName() << ": " << kernels.size()
       << (kernels.size() == 1 ? " kernel" : " kernels") << (gpu.empty() ? "" : " for " + gpu)
       << "\n";
    for (sched::KernelOp kernel : kernels) {
      os << "\n";
      ArrayRef<std::string> changes;
      if (auto found = changed.find(kernel.getSymName()); found != changed.end())
        changes = found->second;
      KernelWriter(kernel, estimateCost(kernel, machine, roofline, sizes), changes, machine.isGpu,
                   os)
          .write();
    }
  }
  return text;
}

llvm::json::Array ScheduleReader::report(ModuleOp module) const {
  llvm::json::Array kernels;
  module.walk([&](sched::KernelOp kernel) {
    llvm::json::Array dims, notes;
    for (Attribute attribute : kernel.getDims()) {
      auto dim = cast<sched::DimAttr>(attribute);
      dims.push_back(llvm::json::Object{{"name", dim.getName().str()},
                                        {"role", dim.getRole().str()},
                                        {"size", dim.getSize().str()},
                                        {"tile", dim.getTile()}});
    }
    if (auto list = kernel->getAttrOfType<ArrayAttr>(kNotes))
      for (Attribute note : list)
        notes.push_back(cast<StringAttr>(note).str());
    KernelCost cost = estimateCost(kernel, machine, roofline, sizes);
    llvm::json::Object report{{"name", kernel.getSymName().str()},
                              {"dims", std::move(dims)},
                              {"notes", std::move(notes)},
                              {"flops", cost.flops},
                              {"bytes", cost.bytes},
                              {"programs", cost.programs},
                              {"predicted_us", cost.microseconds},
                              {"remainder_us", cost.remainderMicroseconds},
                              {"bound", cost.bound}};
    if (auto tuned = kernel->getAttrOfType<StringAttr>(sched::kTuned))
      report["tuned"] = tuned.str();
    if (auto backend = kernel->getAttrOfType<StringAttr>(sched::kBackend))
      report["backend"] = viaName(backend).str();
    kernels.push_back(std::move(report));
  });
  return kernels;
}

} // namespace tessera
