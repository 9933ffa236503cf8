//===- Explain.cpp - What the scheduler decided ---------------------------===//
//
// Reads a schedule back as sentences: per kernel its grid, the streams with their states, what is
// reduced inside a block, what is read and written, and the notes that the scheduler left
// (`sched.notes`). Everything is taken from the IR, so an edited schedule explains itself too.
//
//===----------------------------------------------------------------------===//
#include "Explain.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Dialect/Schedule/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera {

using llvm::StringRef;
using namespace mlir;

namespace {

constexpr StringRef kNotes = "sched.notes";

std::string joined(ArrayAttr names) {
  std::string text;
  for (Attribute name : names)
    text += (text.empty() ? "" : ", ") + cast<StringAttr>(name).str();
  return text;
}

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
  KernelWriter(sched::KernelOp kernel, KernelCost cost, bool isGpu, llvm::raw_ostream &os)
      : kernel(kernel), cost(cost), isGpu(isGpu), os(os) {}

  void write() {
    auto road = kernel->getAttrOfType<StringAttr>(sched::kRoad);
    os << "kernel " << kernel.getSymName() << (road ? " via " + road.str() : "") << "\n";
    writeTensors();
    writeGrid();
    kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto stream = dyn_cast<sched::StreamOp>(op))
        writeStream(stream);
    });
    writeInner();
    writeTuning();
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

  /// The argument's name, "result", or the kernel that computes what is passed on.
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

  /// What a table of measurements calls the kernel, and what came of it.
  void writeTuning() {
    if (!isGpu)
      return;
    os << "  tuning  " << sched::signatureOf(kernel);
    if (auto tuned = kernel->getAttrOfType<StringAttr>(sched::kTuned))
      os << ": tiles and hints from measurements, " << tuned.getValue();
    os << "\n";
    if (std::optional<int64_t> blocks = getHint(kernel.getHintsAttr(), "cluster"))
      os << "  cluster " << *blocks << " blocks share each row, and push parts of reductions to each other\n";
  }

  void writeCost() {
    os << llvm::formatv("  predicted {0:f1} us, bound by {1}: {2} of arithmetic, {3} of memory, "
                        "{4} programs\n",
                        cost.microseconds, cost.bound, scaled(cost.flops, 1000, "FLOP"),
                        scaled(cost.bytes, 1024, "B"), llvm::formatv("{0:f0}", cost.programs));
  }

  /// "1.5 GFLOP", "64.0 MiB".
  static std::string scaled(double value, double step, StringRef unit) {
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

  void writeGrid() {
    std::string dims;
    for (Attribute name : kernel.getOrder())
      if (sched::DimAttr dim = kernel.getDim(cast<StringAttr>(name).getValue()))
        dims += (dims.empty() ? "" : "; ") + describe(dim);
    os << "  grid    " << (dims.empty() ? "one program" : dims) << "\n";
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
    os << "\n    visits " << range(stream.getLive());
    if (stream.getBody()
            .walk([](sched::MaskOp) { return WalkResult::interrupt(); })
            .wasInterrupted())
      os << ", without its masks in " << range(stream.getFull());
    os << "\n";
    Operation *terminator = stream.getBody().front().getTerminator();
    for (Value state : terminator->getOperands())
      writeState(state);
  }

  static std::string onMove(Value gauge) {
    auto op = gauge.getDefiningOp<sched::GaugeOp>();
    return op && op.getIndicator() ? "dropped" : "rescaled";
  }

  void writeState(Value state) {
    os << "    keeps a ";
    if (auto gauge = state.getDefiningOp<sched::GaugeOp>())
      os << "running maximum that "
         << (gauge.getIndicator() ? "elements are compared with" : "exponents are relative to");
    else if (auto accumulate = state.getDefiningOp<sched::AccumulateOp>())
      os << "running " << accumulate.getKind()
         << (accumulate.getValues().size() > 1 ? " of products" : "")
         << (accumulate.getGauge()
                 ? ", " + onMove(accumulate.getGauge()) + " when the maximum moves"
                 : "");
    else
      os << "value";
    auto type = cast<sched::ValType>(state.getType());
    os << " per (";
    llvm::interleaveComma(type.getDims(), os, [&](StringAttr dim) { os << dim.getValue(); });
    os << ") in " << type.getElementType() << "\n";
  }

  void writeInner() {
    for (Attribute attribute : kernel.getDims()) {
      auto dim = cast<sched::DimAttr>(attribute);
      if (dim.isInner())
        os << "  inside a block it reduces over " << describe(dim) << "\n";
    }
  }

  static std::string range(ArrayAttr bounds) {
    return bounds.size() == 2 ? "[" + joined(bounds) + ")" : joined(bounds);
  }

  sched::KernelOp kernel;
  KernelCost cost;
  bool isGpu;
  llvm::raw_ostream &os;
};

} // namespace

std::string ScheduleReader::explain(ModuleOp module) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto function : module.getOps<func::FuncOp>()) {
    SmallVector<sched::KernelOp> kernels(function.getOps<sched::KernelOp>());
    os << "function " << function.getSymName() << ": " << kernels.size()
       << (kernels.size() == 1 ? " kernel" : " kernels") << (gpu.empty() ? "" : " for " + gpu)
       << "\n";
    for (sched::KernelOp kernel : kernels) {
      os << "\n";
      KernelWriter(kernel, estimateCost(kernel, machine, ceilings, sizes), machine.isGpu, os).write();
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
    KernelCost cost = estimateCost(kernel, machine, ceilings, sizes);
    llvm::json::Object report{{"name", kernel.getSymName().str()},
                              {"dims", std::move(dims)},
                              {"notes", std::move(notes)},
                              {"flops", cost.flops},
                              {"bytes", cost.bytes},
                              {"programs", cost.programs},
                              {"predicted_us", cost.microseconds},
                              {"bound", cost.bound}};
    if (auto tuned = kernel->getAttrOfType<StringAttr>(sched::kTuned))
      report["tuned"] = tuned.str();
    if (auto road = kernel->getAttrOfType<StringAttr>(sched::kRoad))
      report["road"] = road.str();
    kernels.push_back(std::move(report));
  });
  return kernels;
}

} // namespace tessera
