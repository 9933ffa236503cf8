//===- Performance.cpp - What a schedule should cost ----------------------===//
//
// Work is counted per operation over the dimensions of its value. Blocks that a mask empties are
// not: a stream counts with the share of its range that is live, averaged over the grid. The time
// is that of the slower of arithmetic and memory; on a GPU arithmetic fills whole waves of blocks.
//
// On a CPU a row whose length is known at run time only ends with a vector under a mask, and its
// loop is not unrolled. Memory hides that if the kernel's tensors do not fit into the L2 cache.
//
//===----------------------------------------------------------------------===//
#include "Performance.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using llvm::StringRef;

namespace {

class Counter {
public:
  Counter(sched::KernelOp kernel, const Roofline &roofline, const SizesAtHand &sizes)
      : kernel(kernel), roofline(roofline), facts(kernel->getParentOp()) {
    if (auto function = kernel->getParentOfType<func::FuncOp>())
      if (auto type = function->getAttrOfType<TypeAttr>(gir::kProductTypeAttr))
        productType = type.getValue();
    for (const auto &[name, size] : sizes)
      facts.assume(name, size);
  }

  void run() {
    countWork();
    llvm::SetVector<Value> inputs(kernel.getInputs().begin(), kernel.getInputs().end());
    for (Value input : inputs)
      addBytes(input.getType());
    for (Type output : kernel.getOutputs().getTypes())
      addBytes(output);
    for (Attribute name : kernel.getOrder())
      if (sched::DimAttr dim = kernel.getDim(cast<StringAttr>(name).getValue()))
        programs *= std::ceil(double(facts.hint(dim.getSize())) / double(dim.getTile()));
  }

  void countWork() {
    kernel.getBody().walk([&](Operation *op) { count(op); });
  }

  double flops = 0, seconds = 0, bytes = 0, programs = 1;
  double rows = 0; ///< of lengths that are known at run time only, added over all passes
  std::vector<OpWork> work;

  /// The part of a stream's range that is visited, on the average over the grid.
  double liveShare(sched::StreamOp stream) {
    auto [known, isNew] = shares.try_emplace(stream, 1.0);
    sched::DimAttr dim =
        kernel.getDim(cast<StringAttr>(stream.getOver()[stream.getOver().size() - 1]).getValue());
    if (!isNew || !dim || stream.getLive().size() != 2)
      return known->second;
    double size = std::max<double>(1, double(facts.hint(dim.getSize()))), sum = 0;
    constexpr int samples = 32;
    for (int sample = 0; sample < samples; ++sample) {
      double at = (sample + 0.5) / samples;
      std::optional<int64_t> begin = evaluate(stream.getLive()[0], at),
                             end = evaluate(stream.getLive()[1], at);
      if (!begin || !end)
        return 1;
      double first = std::clamp<double>(double(*begin), 0, size);
      sum += std::max(0.0, std::min<double>(double(*end), size) - first) / size;
    }
    return shares[stream] = sum / samples;
  }

private:
  void addBytes(Type type) {
    auto tensor = cast<gir::TensorType>(type);
    double width = std::max(1u, tensor.getElementType().getIntOrFloatBitWidth() / 8);
    bytes += width * double(facts.hint(tensor.getNumElements()));
  }

  /// Points of the union of the values' dimensions.
  double pointsOf(ValueRange values) {
    llvm::SmallSetVector<StringAttr, 8> dims;
    for (Value value : values)
      for (StringAttr dim : cast<sched::ValType>(value.getType()).getDims())
        dims.insert(dim);
    double product = 1;
    for (StringAttr dim : dims)
      if (sched::DimAttr declared = kernel.getDim(dim.getValue()))
        product *= double(facts.hint(declared.getSize()));
    return product;
  }

  /// Rows of one pass over the values' dimensions. A contraction is vectorised along one dimension
  /// and unrolled along another.
  void addRows(ValueRange values, double share) {
    llvm::SmallSetVector<StringAttr, 8> dims;
    for (Value value : values)
      for (StringAttr dim : cast<sched::ValType>(value.getType()).getDims())
        dims.insert(dim);
    double total = 1, longest = 0, secondLongest = 1;
    for (StringAttr dim : dims) {
      sched::DimAttr declared = kernel.getDim(dim.getValue());
      if (!declared)
        continue;
      double size = double(facts.hint(declared.getSize()));
      total *= size;
      if (declared.getSize().isConstant() || facts.divisibleBy(declared.getSize(), vectorLanes))
        continue;
      secondLongest = std::max(secondLongest, std::min(size, longest));
      longest = std::max(longest, size);
    }
    if (longest > 0)
      rows += share * total / longest / (values.size() > 1 ? secondLongest : 1);
  }

  void add(Operation *op, double operations, double rate, OpWork::Unit unit) {
    flops += operations;
    seconds += operations / rate;
    work.push_back({unit, op, operations, operations / rate});
  }

  double productRate(Value operand) {
    Type type = cast<sched::ValType>(operand.getType()).getElementType();
    if (type.isF32() && productType)
      type = productType;
    switch (type.getIntOrFloatBitWidth()) {
    case 8:
      return roofline.mma8;
    case 16:
      return roofline.mma16;
    case 64:
      return roofline.mma64;
    default:
      return roofline.mma32;
    }
  }

  /// What an operation costs beside an addition. A power needs a logarithm of twice the precision.
  static double weightOf(StringRef kind) {
    static const std::set<StringRef> divisions = {"div", "sqrt", "rsqrt", "reciprocal"};
    static const std::set<StringRef> simple = {"add",     "sub",     "mul",   "neg", "abs",
                                               "maximum", "minimum", "where", "fma", "square"};
    return simple.count(kind) ? 1 : divisions.count(kind) ? 4 : kind == "pow" ? 256 : 8;
  }

  /// Comparisons of a bitonic network. Each takes two or four integer instructions, of which a GPU
  /// computes a quarter of the rate of additions and multiplications.
  void countNetwork(sched::SortOp sort) {
    auto along = cast<StringAttr>(cast<sched::StreamOp>(sort->getParentOp()).getOver()[0]);
    double bits = std::log2(double(std::max<int64_t>(1, kernel.getDim(along).getTile())));
    bool isWide = sort.getType().getElementType().isInteger(64);
    add(sort, pointsOf(sort.getValue()) * bits * (bits + 1) / 2,
        roofline.vectorFlops / (isWide ? 16 : 8), OpWork::Elementwise);
  }

  static constexpr int64_t vectorLanes = 16;

  void count(Operation *op) {
    double share = 1;
    if (auto stream = op->getParentOfType<sched::StreamOp>())
      share = liveShare(stream);
    auto elementwise = [&](double operations, double rate) {
      add(op, operations, rate, OpWork::Elementwise);
    };
    auto values = [&](ValueRange operands) {
      addRows(operands, share);
      double points = share * pointsOf(operands);
      if (operands.size() > 1)
        add(op, 2 * points, productRate(operands.front()), OpWork::Products);
      else
        elementwise(points, roofline.vectorFlops);
    };
    if (auto reduce = dyn_cast<sched::ReduceOp>(op))
      return values(reduce.getValues());
    if (auto accumulate = dyn_cast<sched::AccumulateOp>(op))
      return values(accumulate.getValues());
    if (auto weigh = dyn_cast<sched::WeighOp>(op))
      return elementwise(3 * share * pointsOf(weigh.getExponent()), roofline.vectorFlops / 3);
    if (auto gauge = dyn_cast<sched::GaugeOp>(op))
      return elementwise(share * pointsOf(gauge.getExponent()), roofline.vectorFlops);
    if (auto sort = dyn_cast<sched::SortOp>(op))
      return countNetwork(sort);
    auto map = dyn_cast<sched::MapOp>(op);
    if (map && isa<FloatType>(cast<sched::ValType>(map.getType()).getElementType()))
      elementwise(share * pointsOf(map.getResult()),
                  roofline.vectorFlops / weightOf(map.getKind()));
  }

  /// A bound of a stream at a tile that lies this far along the parallel dimensions.
  std::optional<int64_t> evaluate(Attribute text, double at) {
    std::optional<SymExpr> expr = SymExpr::parse(cast<StringAttr>(text).getValue());
    if (!expr)
      return std::nullopt;
    return expr->evaluate([&](const std::string &name) -> std::optional<int64_t> {
      auto [dim, end] = StringRef(name).rsplit('.');
      if (end != "lo" && end != "hi")
        return facts.hint(SymExpr::symbol(name));
      sched::DimAttr declared = kernel.getDim(dim);
      if (!declared)
        return std::nullopt;
      int64_t size = facts.hint(declared.getSize()), tile = declared.getTile();
      int64_t first = int64_t(at * double(size)) / tile * tile;
      return end == "lo" ? first : std::min(first + tile, size) - 1;
    });
  }

  sched::KernelOp kernel;
  const Roofline &roofline;
  SizeFacts facts;
  Type productType;
  llvm::DenseMap<Operation *, double> shares;
};

} // namespace

std::vector<OpWork> tessera::workOf(sched::KernelOp kernel, const Roofline &roofline,
                                    const SizesAtHand &sizes) {
  Counter counter(kernel, roofline, sizes);
  counter.countWork();
  return std::move(counter.work);
}

double tessera::visitedShare(sched::StreamOp stream, const Roofline &roofline,
                             const SizesAtHand &sizes) {
  return Counter(stream->getParentOfType<sched::KernelOp>(), roofline, sizes).liveShare(stream);
}

KernelCost tessera::estimateCost(sched::KernelOp kernel, const MachineModel &machine,
                                 const Roofline &roofline, const SizesAtHand &sizes) {
  Counter counter(kernel, roofline, sizes);
  counter.run();
  KernelCost cost;
  cost.flops = counter.flops;
  cost.bytes = counter.bytes;
  cost.programs = counter.programs;
  cost.arithmeticMicroseconds = counter.seconds * 1e6;
  double compute = counter.seconds, memory = counter.bytes / roofline.bytesPerSecond;
  if (double cores = double(machine.cores); machine.isGpu && counter.programs > 0)
    compute *= std::ceil(counter.programs / cores) * cores / counter.programs;
  double work = std::max(compute, memory);
  cost.microseconds = (work + roofline.launchSeconds) * 1e6;
  if (!machine.isGpu) {
    constexpr double rowSeconds = 30e-9; // measured on a Xeon: small softmaxes, norms and products
    double busy =
        std::clamp<double>(counter.programs, 1, double(std::max<int64_t>(machine.cores, 1)));
    double remainder = counter.rows * rowSeconds / busy;
    if (counter.bytes > double(machine.l2Bytes))
      remainder = std::max(0.0, compute + remainder - work);
    cost.remainderMicroseconds = remainder * 1e6;
  }
  if (work >= roofline.launchSeconds)
    cost.bound = compute > memory ? "compute" : "memory";
  return cost;
}
