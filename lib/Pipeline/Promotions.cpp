//===- Promotions.cpp - Matrix products in a wider type than expected -----===//
//
// One table of fp32 among tensors of bf16 makes everything after it fp32, matrix products included,
// and those are many times slower there. Promotion leaves a trace in Graph IR: a cast that is not
// `explicit`. From a contraction of a wide type this walks back to the operation where a narrow
// value was widened (where types meet), and from that operation's wide operand to its root: an
// argument, a cast that the program wrote, or an operation that makes the type.
//
//===----------------------------------------------------------------------===//
#include "Promotions.h"

#include "DiagnosticBridge.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Frontend/Frontend.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera {

using namespace mlir;

namespace {

FloatType floatType(Value value) {
  auto tensor = dyn_cast<gir::TensorType>(value.getType());
  return tensor ? dyn_cast<FloatType>(tensor.getElementType()) : FloatType();
}

std::string typeName(Value value) {
  std::optional<DType> dtype = dtypeFromMlir(floatType(value));
  return dtype ? std::string(dtypeName(*dtype)) : "?";
}

/// The value behind transpositions and the like.
Value behindViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<gir::TransposeOp, gir::BroadcastOp, gir::ReshapeOp, gir::SliceOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// What promotion widened to give this value; null where it did not.
Value widenedFrom(Value value) {
  auto cast = behindViews(value).getDefiningOp<gir::CastOp>();
  if (!cast || cast.getExplicit_())
    return {};
  FloatType from = floatType(cast.getInput()), to = floatType(cast.getResult());
  return from && to && from.getWidth() < to.getWidth() ? cast.getInput() : Value();
}

/// Whether a value has its type from what it meets: numbers of the program, and integers.
bool adaptsType(Value value) {
  Operation *op = behindViews(value).getDefiningOp();
  auto cast = dyn_cast_or_null<gir::CastOp>(op);
  return isa_and_nonnull<gir::ConstantOp>(op) ||
         (cast && !cast.getExplicit_() && !floatType(cast.getInput()));
}

/// Operands that can be the reason for the type of a result.
SmallVector<Value> wideOperands(Operation *op) {
  SmallVector<Value> wide;
  for (Value operand : op->getOperands())
    if (floatType(operand) && floatType(operand) == floatType(op->getResult(0)) &&
        !adaptsType(operand))
      wide.push_back(operand);
  return wide;
}

/// Where a narrow value was widened, on the way to a wide one.
struct Meeting {
  Operation *op = nullptr; ///< null: nowhere
  Value narrow;            ///< before it was widened
  Value other; ///< the wide operand; null where two narrow types have only a wide one in common
};

/// The nearest meeting above a value.
Meeting findMeeting(Value value) {
  llvm::SetVector<Operation *> queue;
  if (Operation *op = value.getDefiningOp())
    queue.insert(op);
  for (size_t i = 0; i < queue.size(); ++i) {
    Operation *op = queue[i];
    SmallVector<Value> wide = wideOperands(op);
    Meeting meeting;
    for (Value operand : wide)
      if (Value narrow = widenedFrom(operand))
        meeting = {op, narrow, meeting.other};
      else
        meeting.other = operand;
    if (meeting.op && (meeting.other || wide.size() > 1))
      return meeting;
    for (Value operand : wide)
      if (Operation *above = operand.getDefiningOp())
        queue.insert(above);
  }
  return {};
}

/// Why a value has its wide type: an argument, or the operation that first has it.
Value rootOf(Value value) {
  llvm::SetVector<Value> queue;
  queue.insert(value);
  for (size_t i = 0; i < queue.size(); ++i) {
    Operation *op = queue[i].getDefiningOp();
    SmallVector<Value> wide = op ? wideOperands(op) : SmallVector<Value>();
    if (wide.empty() && !widenedFrom(queue[i]))
      return queue[i];
    queue.insert(wide.begin(), wide.end());
  }
  return value;
}

class Writer {
public:
  explicit Writer(const SourceManager &sources) : sources(sources), os(text) {}

  void write(gir::ContractOp contract) {
    Value lhs = contract.getLhs(), rhs = contract.getRhs();
    FloatType type = floatType(lhs);
    if (!type || type.getWidth() < 32)
      return;
    Value left = widenedFrom(lhs), right = widenedFrom(rhs);
    if (left && right)
      return bothWidened(contract, left, right);
    if (left || right) {
      oneWidened(contract, left ? rhs : lhs, left ? left : right, left ? "right" : "left");
      return;
    }
    // Both came wide: a surprise only where neither had to.
    Meeting above[] = {findMeeting(lhs), findMeeting(rhs)};
    if (above[0].op && above[1].op)
      cameWide(contract, above);
  }

  std::string take() { return std::move(text); }
  llvm::json::Array takeEntries() { return std::move(entries); }

private:
  /// Notes a contraction, what narrow value there is, and the root of the wide type.
  void note(gir::ContractOp contract, Value narrow, Value root, Operation *meeting,
            size_t textStart) {
    llvm::json::Object entry{{"narrow", typeName(narrow)}, {"text", text.substr(textStart)}};
    auto line = [&](Operation *op, StringRef name) {
      SourceRange range = sourceRange(sources, op->getLoc());
      if (range.isValid())
        entry[name] = int64_t(sources.lineColumn(range).line);
    };
    line(contract, "line");
    if (meeting)
      line(meeting, "at");
    auto argument = dyn_cast_or_null<BlockArgument>(root);
    if (auto function =
            argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp())
      if (auto name =
              function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), gir::kNameAttr))
        entry["argument"] = name.str();
    entries.push_back(std::move(entry));
  }

  void head(gir::ContractOp contract) {
    os << "warning: " << place(contract) << " multiplies in " << typeName(contract.getLhs())
       << ": ";
  }

  /// Two types of 16 bits that have no other in common.
  void bothWidened(gir::ContractOp contract, Value left, Value right) {
    size_t start = text.size();
    head(contract);
    os << "its operands are " << typeName(left) << " and " << typeName(right)
       << ", which are both converted\n  cast one operand with .to(" << typeName(left)
       << ") or .to(" << typeName(right) << ")\n";
    note(contract, left, {}, nullptr, start);
  }

  void oneWidened(gir::ContractOp contract, Value wide, Value narrow, StringRef side) {
    StringRef other = side == "left" ? "right" : "left";
    size_t start = text.size();
    head(contract);
    os << "its " << side << " operand is " << typeName(wide) << ", and its " << other
       << " operand is converted from " << typeName(narrow) << "\n";
    Meeting meeting = findMeeting(wide);
    if (meeting.op)
      became(side, meeting);
    else
      os << "  " << reason(rootOf(wide)) << "\n";
    cure(("the " + side + " operand").str(), narrow);
    Value root = meeting.op && !meeting.other ? Value() : rootOf(meeting.op ? meeting.other : wide);
    note(contract, narrow, root, meeting.op, start);
  }

  void cameWide(gir::ContractOp contract, ArrayRef<Meeting> above) {
    size_t start = text.size();
    head(contract);
    os << "both operands are " << typeName(contract.getLhs()) << "\n";
    became("left", above[0]);
    became("right", above[1]);
    cure("both operands", above[0].narrow);
    note(contract, above[0].narrow, above[0].other ? rootOf(above[0].other) : Value(), above[0].op,
         start);
  }

  void became(StringRef side, const Meeting &meeting) {
    os << "  the " << side << " operand was " << typeName(meeting.narrow) << " until "
       << place(meeting.op) << ": ";
    if (meeting.other)
      os << reason(rootOf(meeting.other)) << "\n";
    else
      os << "two types meet that have only " << typeName(meeting.op->getResult(0))
         << " in common\n";
  }

  void cure(const std::string &what, Value narrow) {
    os << "  cast " << what << " with .to(" << typeName(narrow) << ") to multiply in "
       << typeName(narrow) << "\n";
  }

  std::string reason(Value root) {
    std::string type = typeName(root);
    if (auto argument = dyn_cast<BlockArgument>(root)) {
      unsigned number = argument.getArgNumber();
      auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
      auto name =
          function ? function.getArgAttrOfType<StringAttr>(number, gir::kNameAttr) : StringAttr();
      return "argument " + (name ? "'" + name.str() + "'" : std::to_string(number)) + " is " + type;
    }
    return place(root.getDefiningOp()) + " is " + type;
  }

  /// "f.py:3:12 `x @ w`"; of a text without a source, the operation's name.
  std::string place(Operation *op) {
    auto location = op->getLoc()->findInstanceOf<FileLineColRange>();
    SourceRange range = sourceRange(sources, op->getLoc());
    if (!location || !range.isValid())
      return op->getName().getStringRef().str();
    std::string out = location.getFilename().str() + ":" + std::to_string(location.getStartLine()) +
                      ":" + std::to_string(location.getStartColumn());
    StringRef written = sources.text(range);
    if (written.empty())
      return out;
    constexpr size_t most = 60;
    StringRef line = written.split('\n').first.take_front(most);
    return out + " `" + line.str() + (line.size() < written.size() ? "…`" : "`");
  }

  const SourceManager &sources;
  std::string text;
  llvm::raw_string_ostream os;
  llvm::json::Array entries;
};

/// Whether the program said itself in what products of fp32 are made.
bool hasMatmulPolicy(func::FuncOp function) {
  auto numerics = function->getAttrOfType<DictionaryAttr>(gir::kNumericsAttr);
  return numerics && numerics.get("matmul");
}

void writeAll(ModuleOp module, Writer &writer) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!hasMatmulPolicy(function))
      function.walk([&](gir::ContractOp contract) { writer.write(contract); });
}

} // namespace

std::string explainPromotions(ModuleOp module, const SourceManager &sources) {
  Writer writer(sources);
  writeAll(module, writer);
  return writer.take();
}

llvm::json::Array reportPromotions(ModuleOp module, const SourceManager &sources) {
  Writer writer(sources);
  writeAll(module, writer);
  return writer.takeEntries();
}

} // namespace tessera
