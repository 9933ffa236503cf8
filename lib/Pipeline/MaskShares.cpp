//===- MaskShares.cpp - How much of a stream its masks leave --------------===//
#include "MaskShares.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Support/ScalarEval.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using llvm::StringRef;

namespace {

using Indices = std::map<std::string, int64_t, std::less<>>;

class MaskReader {
public:
  MaskReader(sched::KernelOp kernel, const Roofline &roofline, const SizesAtHand &sizes)
      : kernel(kernel), roofline(roofline), sizes(sizes), facts(kernel->getParentOp()) {
    for (const auto &[name, size] : sizes)
      facts.assume(name, size);
  }

  std::vector<MaskShare> run() {
    kernel.getBody().walk([&](sched::StreamOp stream) { read(stream); });
    return std::move(masks);
  }

private:
  void read(sched::StreamOp stream) {
    if (stream.getOver().empty())
      return;
    bool isTested = false;
    stream.getBody().walk([&](sched::VisitOp) { isTested = true; });
    sched::DimAttr dim = kernel.getDim(cast<StringAttr>(stream.getOver().getValue().back()));
    if (!dim || isTested)
      return;
    stream.getBody().walk([&](Operation *op) {
      if (auto mask = dyn_cast<sched::MaskOp>(op))
        add(stream, dim, op, mask.getCondition(), /*isSentinel=*/false);
      else if (auto select = dyn_cast<sched::MapOp>(op); select && isSentinel(select))
        add(stream, dim, op, select.getInputs()[0], /*isSentinel=*/true);
    });
  }

  /// What programs write in place of -inf.
  static bool isSentinel(sched::MapOp select) {
    if (select.getScalarOp() != ScalarOp::Where)
      return false;
    auto constant = select.getInputs()[2].getDefiningOp<sched::ConstantOp>();
    auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return number && std::isfinite(number.getValueAsDouble()) && number.getValueAsDouble() <= -1e3;
  }

  void add(sched::StreamOp stream, sched::DimAttr dim, Operation *op, Value condition,
           bool isSentinel) {
    if (std::optional<double> needed = shareOf(dim, condition))
      masks.push_back({op, isSentinel, visitedShare(stream, roofline, sizes), *needed});
  }

  struct Blocks {
    std::string name;
    int64_t size, tile, count;
  };

  Blocks blocksOf(sched::DimAttr dim) {
    int64_t size = std::max<int64_t>(1, facts.hint(dim.getSize())), tile = dim.getTile();
    return {dim.getName().str(), size, tile, (size + tile - 1) / tile};
  }

  /// The part of the blocks along the stream in which the condition holds somewhere.
  std::optional<double> shareOf(sched::DimAttr streamed, Value condition) {
    std::optional<Blocks> rows;
    for (StringAttr name : cast<sched::ValType>(condition.getType()).getDims())
      if (sched::DimAttr dim = kernel.getDim(name.getValue()); dim && dim.isParallel())
        rows = blocksOf(dim);
    Blocks columns = blocksOf(streamed), one{"", 1, 1, 1};
    constexpr int64_t samples = 24;
    int64_t live = 0, all = 0;
    const Blocks &down = rows ? *rows : one;
    for (int64_t r = 0; r < std::min(samples, down.count); ++r)
      for (int64_t c = 0; c < std::min(samples, columns.count); ++c) {
        int64_t row = r * down.count / std::min(samples, down.count),
                column = c * columns.count / std::min(samples, columns.count);
        std::optional<bool> isLive = anyIn(condition, down, row, columns, column);
        if (!isLive)
          return std::nullopt;
        live += *isLive;
        ++all;
      }
    return all ? double(live) / double(all) : 1;
  }

  /// Whether the condition holds for one of some elements of a block, its corners included.
  std::optional<bool> anyIn(Value condition, const Blocks &rows, int64_t row, const Blocks &columns,
                            int64_t column) {
    constexpr int64_t points = 8;
    auto at = [](const Blocks &blocks, int64_t block, int64_t point) {
      int64_t first = block * blocks.tile, last = std::min(first + blocks.tile, blocks.size) - 1;
      return first + (last - first) * point / (points - 1);
    };
    Indices indices;
    for (int64_t i = 0; i < points; ++i)
      for (int64_t j = 0; j < points; ++j) {
        indices[rows.name] = at(rows, row, i);
        indices[columns.name] = at(columns, column, j);
        std::optional<double> value = evaluate(condition, indices);
        if (!value)
          return std::nullopt;
        if (*value != 0)
          return true;
      }
    return false;
  }

  std::optional<double> evaluate(Value value, const Indices &indices) {
    Operation *op = value.getDefiningOp();
    if (auto constant = dyn_cast_or_null<sched::ConstantOp>(op)) {
      if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
        return double(number.getType().isInteger(1) ? number.getValue().getZExtValue()
                                                    : number.getInt());
      auto number = dyn_cast<FloatAttr>(constant.getValue());
      return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
    }
    if (auto index = dyn_cast_or_null<sched::IndexOp>(op))
      return valueOf(index.getExpression(), indices);
    if (auto cast = dyn_cast_or_null<sched::CastOp>(op)) {
      std::optional<double> input = evaluate(cast.getInput(), indices);
      return input && !isFloat(cast.getResult()) ? std::optional(std::trunc(*input)) : input;
    }
    auto map = dyn_cast_or_null<sched::MapOp>(op);
    return map ? evaluate(map, indices) : std::nullopt;
  }

  static bool isFloat(Value value) {
    return isa<FloatType>(cast<sched::ValType>(value.getType()).getElementType());
  }

  std::optional<double> evaluate(sched::MapOp map, const Indices &indices) {
    SmallVector<double, 4> floats;
    SmallVector<int64_t, 4> integers;
    bool hasFloats = isFloat(map.getResult());
    for (Value input : map.getInputs()) {
      std::optional<double> operand = evaluate(input, indices);
      if (!operand)
        return std::nullopt;
      floats.push_back(*operand);
      integers.push_back(int64_t(*operand));
      hasFloats |= isFloat(input);
    }
    if (hasFloats)
      return evaluateFloat(map.getScalarOp(), floats.data());
    unsigned width = cast<sched::ValType>(map.getType()).getElementType().getIntOrFloatBitWidth();
    return double(
        evaluateInteger(map.getScalarOp(), integers.data(), IntegerFormat{width, width > 1}));
  }

  std::optional<double> valueOf(StringRef text, const Indices &indices) {
    std::optional<SymExpr> expression = SymExpr::parse(text.str());
    if (!expression)
      return std::nullopt;
    std::optional<int64_t> value =
        expression->evaluate([&](const std::string &name) -> std::optional<int64_t> {
          if (auto found = indices.find(name); found != indices.end())
            return found->second;
          return kernel.getDim(name) ? 0 : facts.hint(SymExpr::symbol(name));
        });
    return value ? std::optional(double(*value)) : std::nullopt;
  }

  sched::KernelOp kernel;
  const Roofline &roofline;
  const SizesAtHand &sizes;
  SizeFacts facts;
  std::vector<MaskShare> masks;
};

} // namespace

std::vector<MaskShare> tessera::masksOf(sched::KernelOp kernel, const Roofline &roofline,
                                        const SizesAtHand &sizes) {
  return MaskReader(kernel, roofline, sizes).run();
}
