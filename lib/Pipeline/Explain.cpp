//===- Explain.cpp - What the scheduler decided ---------------------------===//
//
// Reads a schedule back as sentences: per kernel its grid, the streams with their states, what is
// reduced inside a block, what is read and written, and the notes that the scheduler left
// (`sched.notes`). Everything is taken from the IR, so an edited schedule explains itself too.
//
//===----------------------------------------------------------------------===//
#include "Explain.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "llvm/ADT/StringExtras.h"
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
  KernelWriter(sched::KernelOp kernel, llvm::raw_ostream &os) : kernel(kernel), os(os) {}

  void write() {
    os << "kernel " << kernel.getSymName() << "\n";
    writeTensors();
    writeGrid();
    kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto stream = dyn_cast<sched::StreamOp>(op))
        writeStream(stream);
    });
    writeInner();
    if (auto notes = kernel->getAttrOfType<ArrayAttr>(kNotes))
      for (Attribute note : notes)
        os << "  - " << cast<StringAttr>(note).getValue() << "\n";
  }

private:
  void writeTensors() {
    for (Value input : kernel.getInputs())
      os << "  reads   " << textOf(input.getType()) << "\n";
    for (Value output : kernel.getOutputs())
      os << "  writes  " << textOf(output.getType()) << "\n";
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
    if (stream.getBody().walk([](sched::MaskOp) { return WalkResult::interrupt(); })
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
         << (accumulate.getGauge() ? ", " + onMove(accumulate.getGauge()) + " when the maximum moves" : "");
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
  llvm::raw_ostream &os;
};

} // namespace

std::string explainSchedule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto function : module.getOps<func::FuncOp>()) {
    SmallVector<sched::KernelOp> kernels(function.getOps<sched::KernelOp>());
    os << "function " << function.getSymName() << ": " << kernels.size()
       << (kernels.size() == 1 ? " kernel\n" : " kernels\n");
    for (sched::KernelOp kernel : kernels) {
      os << "\n";
      KernelWriter(kernel, os).write();
    }
  }
  return text;
}

llvm::json::Array reportSchedule(ModuleOp module) {
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
    kernels.push_back(llvm::json::Object{{"name", kernel.getSymName().str()},
                                         {"dims", std::move(dims)},
                                         {"notes", std::move(notes)}});
  });
  return kernels;
}

} // namespace tessera
