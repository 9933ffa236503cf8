//===- AccessCosts.cpp - Bytes of each load and store ---------------------===//
//
// An access has a stride in memory along each dimension of the kernel. The dimension with the
// smallest one is the direction in which neighbouring elements of a tile lie: they share sectors of
// 32 bytes on a GPU, and cache lines on a CPU.
//
//===----------------------------------------------------------------------===//
#include "AccessCosts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using llvm::StringRef;

namespace {

constexpr double kSectorBytes = 32, kLineBytes = 64;

class AccessReader {
public:
  AccessReader(sched::KernelOp kernel, const MachineModel &machine, const Roofline &roofline,
               const SizesAtHand &sizes)
      : kernel(kernel), machine(machine), roofline(roofline), sizes(sizes),
        facts(kernel->getParentOp()) {
    for (const auto &[name, size] : sizes)
      facts.assume(name, size);
  }

  std::vector<AccessCost> run() {
    kernel.getBody().walk([&](Operation *op) {
      if (auto load = dyn_cast<sched::LoadOp>(op))
        add(load, load.getTensor(), load.getIndex(), load.getPlaces(), load.getResult());
      else if (auto store = dyn_cast<sched::StoreOp>(op))
        add(store, store.getTensor(), store.getIndex(), store.getPlaces(), store.getValue());
    });
    return std::move(accesses);
  }

private:
  struct Direction {
    double stride, size, tile;
  };

  void add(Operation *op, Value tensor, ArrayAttr index, ValueRange places, Value value) {
    AccessCost cost;
    cost.op = op;
    cost.isStore = isa<sched::StoreOp>(op);
    Value outside = sourceOf(tensor, cost);
    auto type = cast<gir::TensorType>(tensor.getType());
    double width = std::max(1u, type.getElementType().getIntOrFloatBitWidth() / 8);
    std::vector<double> strides = stridesOf(type, outside);
    std::vector<Direction> directions = directionsOf(type, index, strides);
    double points = 1;
    for (const Direction &direction : directions)
      points *= direction.size;
    points *= gathered(places);
    double whole = double(std::max<int64_t>(1, facts.hint(type.getNumElements())));
    double &seen = accessed[tensor];
    double elements = 0;
    if (known.insert({tensor, index}).second)
      elements = std::min(std::min(points, whole), whole - std::min(seen, whole));
    seen += elements;
    cost.bytes = elements * width;
    cost.sectors = cost.bytes * wasteOf(directions, width, places.empty(), cost.stride);
    double share = 1;
    if (auto stream = op->getParentOfType<sched::StreamOp>())
      share = visitedShare(stream, roofline, sizes);
    cost.moved =
        cost.isStore ? cost.bytes : std::min(points, whole) * width * repeats(value) * share;
    accesses.push_back(cost);
  }

  /// The value outside of the kernel, with its name.
  Value sourceOf(Value tensor, AccessCost &cost) {
    auto argument = cast<BlockArgument>(tensor);
    unsigned number = argument.getArgNumber();
    bool isInput = number < kernel.getInputs().size();
    Value outside = isInput ? kernel.getInputs()[number]
                            : Value(kernel.getOutputs()[number - kernel.getInputs().size()]);
    if (auto given = dyn_cast<BlockArgument>(outside)) {
      auto function = cast<func::FuncOp>(given.getOwner()->getParentOp());
      auto name = function.getArgAttrOfType<StringAttr>(given.getArgNumber(), gir::kNameAttr);
      cost.tensor = name ? name.str() : "argument " + std::to_string(given.getArgNumber());
      cost.argument = given.getArgNumber();
      return outside;
    }
    bool isResult =
        llvm::any_of(outside.getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); });
    if (isResult)
      cost.tensor = "result";
    else if (auto producer = outside.getDefiningOp<sched::KernelOp>())
      cost.tensor = "temporary of " + producer.getSymName().str();
    return outside;
  }

  /// Elements from one index of a dimension to the next. Tensors are row-major, except for an
  /// argument whose unit stride is elsewhere, or nowhere.
  std::vector<double> stridesOf(gir::TensorType type, Value outside) {
    std::vector<double> strides(type.getRank(), 1);
    double stride = 1;
    int64_t unit = int64_t(type.getRank()) - 1;
    if (auto given = dyn_cast<BlockArgument>(outside)) {
      auto function = cast<func::FuncOp>(given.getOwner()->getParentOp());
      auto attribute =
          function.getArgAttrOfType<IntegerAttr>(given.getArgNumber(), gir::kUnitStrideAttr);
      bool isContiguous =
          function.getArgAttr(given.getArgNumber(), gir::kContiguousAttr) != nullptr;
      if (!isContiguous)
        unit = attribute ? attribute.getInt() : -1;
    }
    if (unit < 0)
      stride = kUnknownStride;
    for (unsigned d = type.getRank(); d-- > 0;) {
      if (int64_t(d) == unit)
        continue;
      if (stride == 1 && unit >= 0)
        stride = double(std::max<int64_t>(1, facts.hint(type.getDim(unsigned(unit)))));
      strides[d] = stride;
      stride *= double(std::max<int64_t>(1, facts.hint(type.getDim(d))));
    }
    return strides;
  }

  /// Of a view whose stride nobody knows: no two elements are neighbours.
  static constexpr double kUnknownStride = 64;

  std::optional<double> valueOf(StringRef text, StringRef dim, int64_t at) {
    std::string plain = text.str();
    std::replace(plain.begin(), plain.end(), '#', '_');
    std::optional<SymExpr> expression = SymExpr::parse(plain);
    if (!expression)
      return std::nullopt;
    std::optional<int64_t> value =
        expression->evaluate([&](const std::string &name) -> std::optional<int64_t> {
          if (kernel.getDim(name))
            return StringRef(name) == dim ? at : 0;
          return name.starts_with("_") ? 0 : facts.hint(SymExpr::symbol(name));
        });
    return value ? std::optional(double(*value)) : std::nullopt;
  }

  /// The dimensions of the kernel along which the access moves, the smallest stride first.
  std::vector<Direction> directionsOf(gir::TensorType type, ArrayAttr index,
                                      ArrayRef<double> strides) {
    std::vector<Direction> directions;
    for (Attribute attribute : kernel.getDims()) {
      auto dim = cast<sched::DimAttr>(attribute);
      double stride = 0;
      for (auto [d, text] : llvm::enumerate(index.getAsValueRange<StringAttr>())) {
        std::optional<double> first = valueOf(text, dim.getName().getValue(), 0),
                              second = valueOf(text, dim.getName().getValue(), 1);
        double each = index.size() == type.getRank() ? strides[d] : 1;
        if (first && second)
          stride += (*second - *first) * each;
      }
      double size = double(std::max<int64_t>(1, facts.hint(dim.getSize())));
      if (stride != 0 && size > 1)
        directions.push_back({std::abs(stride), size, std::min(double(dim.getTile()), size)});
    }
    llvm::sort(directions,
               [](const Direction &a, const Direction &b) { return a.stride < b.stride; });
    return directions;
  }

  /// Rows that gather indices choose: as many as there are indices.
  double gathered(ValueRange places) {
    double rows = 1;
    llvm::SmallSetVector<StringAttr, 4> dims;
    for (Value place : places)
      for (StringAttr dim : cast<sched::ValType>(place.getType()).getDims())
        dims.insert(dim);
    for (StringAttr name : dims)
      if (sched::DimAttr dim = kernel.getDim(name.getValue()))
        rows *= double(std::max<int64_t>(1, facts.hint(dim.getSize())));
    return rows;
  }

  /// The bytes of sectors over those of elements.
  double wasteOf(ArrayRef<Direction> directions, double width, bool isPlain, double &stride) const {
    double sector = machine.isGpu ? kSectorBytes : kLineBytes, most = sector / width;
    if (directions.empty() || most <= 1 || !isPlain)
      return 1;
    const Direction &first = directions.front();
    stride = first.stride;
    if (stride > 1)
      return std::min(stride, most);
    // A run of neighbours: on a CPU the next tile finds the line in the cache.
    double run = machine.isGpu ? first.tile : first.size;
    if (run >= most || first.size <= most)
      return 1;
    return most / run;
  }

  /// How often the grid reads what does not depend on some of its dimensions.
  double repeats(Value value) {
    auto dims = cast<sched::ValType>(value.getType()).getDims();
    double times = 1;
    for (Attribute name : kernel.getOrder()) {
      sched::DimAttr dim = kernel.getDim(cast<StringAttr>(name).getValue());
      if (dim && !llvm::is_contained(dims, dim.getName()))
        times *= std::ceil(double(facts.hint(dim.getSize())) / double(dim.getTile()));
    }
    return std::max(1.0, times);
  }

  sched::KernelOp kernel;
  const MachineModel &machine;
  const Roofline &roofline;
  const SizesAtHand &sizes;
  SizeFacts facts;
  llvm::DenseMap<Value, double> accessed;
  llvm::DenseSet<std::pair<Value, Attribute>> known;
  std::vector<AccessCost> accesses;
};

} // namespace

std::vector<AccessCost> tessera::accessesOf(sched::KernelOp kernel, const MachineModel &machine,
                                            const Roofline &roofline, const SizesAtHand &sizes) {
  return AccessReader(kernel, machine, roofline, sizes).run();
}
