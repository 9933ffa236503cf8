//===- StreamMasks.cpp - What a stream does with its masks, in words ------===//
//
// A mask that holds in one interval of the stream's dimension gives the ranges `live` and `full`.
// Others do not, and cost more: an interval with a hole is visited as a whole, a mask that repeats
// within a block empties none, and a condition on floats, or a select to a finite number, is not
// seen as a mask at all. The form of a condition is read from its operations, so that an edited
// schedule is described as it is.
//
//===----------------------------------------------------------------------===//
#include "StreamMasks.h"

#include "tessera/Support/SymExpr.h"

#include <cmath>

namespace tessera {

using namespace mlir;

namespace {

/// Where along the stream a condition holds, of one row.
enum class Form {
  All,      ///< the same along the whole stream
  Prefix,   ///< up to some index
  Suffix,   ///< from some index on
  Interval, ///< between two
  Parts,    ///< intervals with a hole between them
  Repeats,  ///< again and again within a block
  Unknown,  ///< as data says
};

class FormReader {
public:
  FormReader(StringRef dim, int64_t tile) : dim(dim), tile(tile) {}

  Form read(Value condition, bool negated = false) {
    if (!llvm::any_of(cast<sched::ValType>(condition.getType()).getDims(),
                      [&](StringAttr name) { return name.getValue() == dim; }))
      return Form::All;
    auto map = condition.getDefiningOp<sched::MapOp>();
    if (!map)
      return Form::Unknown;
    switch (map.getScalarOp()) {
    case ScalarOp::Not:
      return read(map.getInputs()[0], !negated);
    case ScalarOp::And:
    case ScalarOp::Mul:
      return join(read(map.getInputs()[0], negated), read(map.getInputs()[1], negated), negated);
    case ScalarOp::Or:
    case ScalarOp::Add:
      return join(read(map.getInputs()[0], negated), read(map.getInputs()[1], negated), !negated);
    case ScalarOp::Le:
    case ScalarOp::Lt:
      return compare(map, negated ? Form::Suffix : Form::Prefix,
                     negated ? Form::Prefix : Form::Suffix);
    case ScalarOp::Ge:
    case ScalarOp::Gt:
      return compare(map, negated ? Form::Prefix : Form::Suffix,
                     negated ? Form::Suffix : Form::Prefix);
    case ScalarOp::Eq:
      return compare(map, negated ? Form::Parts : Form::Interval,
                     negated ? Form::Parts : Form::Interval);
    case ScalarOp::Ne:
      return compare(map, negated ? Form::Interval : Form::Parts,
                     negated ? Form::Interval : Form::Parts);
    default:
      return Form::Unknown;
    }
  }

private:
  static Form join(Form a, Form b, bool isOr) {
    for (Form strong : {Form::Unknown, Form::Repeats})
      if (a == strong || b == strong)
        return strong;
    if (a == Form::All || b == Form::All)
      return a == Form::All ? b : a;
    if (isOr)
      return a == b && (a == Form::Prefix || a == Form::Suffix) ? a : Form::Parts;
    if (a == Form::Parts || b == Form::Parts)
      return Form::Parts;
    return a == b ? a : Form::Interval;
  }

  /// The form of a comparison of left - right with zero, if that grows along the stream and if it
  /// falls.
  Form compare(sched::MapOp map, Form growing, Form falling) {
    Value left = map.getInputs()[0], right = map.getInputs()[1];
    if (repeats(left) || repeats(right))
      return Form::Repeats;
    std::optional<SymExpr> a = indexOf(left), b = indexOf(right);
    if (!a || !b)
      return Form::Unknown;
    auto at = [&](int64_t value) {
      return (*a - *b).substitute([&](const std::string &name) {
        return StringRef(name) == dim ? std::optional(SymExpr(value)) : std::nullopt;
      });
    };
    SymExpr slope = at(1) - at(0);
    if (!slope.isConstant() || at(2) - at(1) != slope)
      return Form::Unknown;
    return slope.constantValue() > 0 ? growing : slope.constantValue() < 0 ? falling : Form::All;
  }

  static std::optional<SymExpr> indexOf(Value value) {
    if (auto index = value.getDefiningOp<sched::IndexOp>())
      return SymExpr::parse(index.getExpression());
    if (std::optional<int64_t> number = integerOf(value))
      return SymExpr(*number);
    return std::nullopt;
  }

  static std::optional<int64_t> integerOf(Value value) {
    auto constant = value.getDefiningOp<sched::ConstantOp>();
    auto number = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
    return number ? std::optional(number.getInt()) : std::nullopt;
  }

  /// A remainder along the stream whose period fits into a block.
  bool repeats(Value value) const {
    auto map = value.getDefiningOp<sched::MapOp>();
    if (!map || map.getScalarOp() != ScalarOp::Remainder)
      return false;
    std::optional<int64_t> period = integerOf(map.getInputs()[1]);
    return period && *period > 1 && *period <= tile && indexOf(map.getInputs()[0]);
  }

  StringRef dim;
  int64_t tile;
};

std::string rangeText(ArrayAttr bounds) {
  std::string text;
  for (Attribute bound : bounds)
    text += (text.empty() ? "" : ", ") + cast<StringAttr>(bound).str();
  return bounds.size() == 2 ? "[" + text + ")" : text;
}

/// " at f.py:3:12", or nothing.
std::string placeText(Operation *op) {
  auto place = op->getLoc()->findInstanceOf<FileLineColRange>();
  return place ? " at " + place.getFilename().str() + ":" + std::to_string(place.getStartLine()) +
                     ":" + std::to_string(place.getStartColumn())
               : "";
}

/// The number that a select gives where its condition does not hold.
std::optional<double> otherwiseOf(sched::MapOp select) {
  auto constant = select.getInputs()[2].getDefiningOp<sched::ConstantOp>();
  auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

/// What programs write in place of -inf is far below any score.
bool isSentinel(double value) { return std::isfinite(value) && value <= -1e3; }

} // namespace

std::vector<std::string> describeVisits(sched::KernelOp kernel, sched::StreamOp stream) {
  std::vector<std::string> lines = {"visits " + rangeText(stream.getLive())};
  if (stream.getOver().empty())
    return lines;
  StringRef dim = cast<StringAttr>(stream.getOver().getValue().back()).getValue();
  sched::DimAttr attribute = kernel.getDim(dim);
  FormReader reader(dim, attribute ? attribute.getTile() : 1);
  auto add = [&](std::string line) {
    if (!llvm::is_contained(lines, line))
      lines.push_back(std::move(line));
  };
  const std::string notRange = " gives no range of " + dim.str();

  sched::VisitOp visit;
  bool hasMasks = false, repeats = false;
  stream.getBody().walk([&](Operation *op) {
    if (auto found = dyn_cast<sched::VisitOp>(op))
      visit = found;
    auto mask = dyn_cast<sched::MaskOp>(op);
    hasMasks |= !!mask;
    repeats |= mask && reader.read(mask.getCondition()) == Form::Repeats;
  });
  if (visit && repeats)
    add("its mask" + notRange +
        ", and repeats within a block: every block that is visited is masked element by element");
  else if (visit && visit.getAsRange())
    add("its mask" + notRange +
        ": it goes from the first to the last block that can have a live "
        "element, and masks none in which all are live");
  else if (visit && visit.getAsList())
    add("its mask" + notRange +
        ": the blocks that can have a live element are listed before the loop, "
        "and those in which all are live are not masked");
  else if (visit)
    add("its mask" + notRange +
        ": each block is tested, left out if it can have no live element, "
        "and not masked if all are live");
  else if (hasMasks)
    lines[0] += ", without its masks in " + rangeText(stream.getFull());

  stream.getBody().walk([&](Operation *op) {
    if (auto mask = dyn_cast<sched::MaskOp>(op);
        mask && !visit && reader.read(mask.getCondition()) == Form::Parts)
      add("its mask" + placeText(mask) + notRange +
          ": the blocks between its parts are visited, too, and masked element by element");
    auto select = dyn_cast<sched::MapOp>(op);
    if (!select || select.getScalarOp() != ScalarOp::Where)
      return;
    Form form = reader.read(select.getInputs()[0]);
    std::optional<double> otherwise = otherwiseOf(select);
    if (!otherwise || form == Form::All)
      return;
    if (std::isinf(*otherwise) && *otherwise < 0)
      add("the mask" + placeText(select) + notRange +
          ": every block that is visited is masked element by element");
    else if (isSentinel(*otherwise) && form != Form::Unknown)
      add("the select" + placeText(select) +
          " is no mask, since its other value is finite: no block is left out as with -tsr.inf");
  });
  return lines;
}

} // namespace tessera
