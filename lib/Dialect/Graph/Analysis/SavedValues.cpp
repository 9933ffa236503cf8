//===- SavedValues.cpp - What a forward function saves for backward -------===//
//
// The graph of the cut has two nodes for an operation that backward may need: one for computing it
// again, and one for its result. On the side of the sink, a node is done or available in backward.
//
//   source -> operation     what computing it again costs
//   operation -> result     what saving the result costs
//   result -> operation     cannot be cut: an operation that is computed again needs its operands
//   result -> sink          cannot be cut, if an operation of backward reads the result
//
// Elementwise work is recomputed inside the kernels that need it. A contraction whose result is
// larger than all arguments and results, with a short K dimension, is computed tile by tile inside
// streams, and neither its result nor what follows it element by element is ever saved.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/Analysis/SavedValues.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"
#include "tessera/Support/MinimumCut.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

/// The longest K dimension of a contraction inside a stream.
static constexpr double kDeepest = 256;
/// What an element of elementwise work costs, in bytes: of two equal cuts, the later one is taken.
static constexpr double kElementwise = 1.0 / 64;
/// Passes over memory of operations that sort, scan or add at computed indices.
static constexpr double kPassesOfOthers = 8, kPassesOfScans = 3;

std::optional<unsigned> JointFunction::resultOf(Value value) const {
  for (unsigned i = 0; i < numResults; ++i)
    if (terminator()->getOperand(i) == value)
      return i;
  return std::nullopt;
}

double SavedValues::bytes(const JointFunction &joint) const {
  double sum = 0;
  for (const SavedValue &one : saved)
    if (!joint.resultOf(one.value))
      sum += one.bytes;
  return sum;
}

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

static bool isView(Operation *op) { return isa<TransposeOp, BroadcastOp, ReshapeOp>(op); }

/// Whether an element of the result is computed from one element of each operand.
static bool isElementwise(Operation *op) {
  return isView(op) || isa<MapOp, CastOp, SliceOp, ConcatOp, RecomputeOp, MaterializeOp>(op);
}

namespace {
class Choice {
public:
  Choice(const JointFunction &joint, const SavingCosts &costs)
      : joint(joint), costs(costs), facts(joint.function) {
    findNeeded();
    findStreamed();
  }

  SavedValues run();

private:
  void findNeeded();
  void findStreamed();
  SavedValues cut(double weight);
  double bytesOf(Value value) const;
  double elementsOf(Value value) const;
  double depthOf(ContractOp product) const;
  double costOfProduct(ContractOp product) const;
  double costOfComputing(Operation *op) const;
  double costOfChain(Operation *op, llvm::function_ref<bool(Value)> isSaved) const;
  double costOfSaving(Operation *op, double weight) const;
  bool isForward(Value value) const { return !isBackward.contains(value); }

  const JointFunction &joint;
  const SavingCosts &costs;
  SizeFacts facts;
  llvm::DenseSet<Value> isBackward; ///< depends on a cotangent
  llvm::SetVector<Value> read;      ///< by backward
  SmallVector<Operation *> forward; ///< operations that backward may compute again, in order
  /// Values that a stream computes tile by tile, and the cost of the contraction before them.
  llvm::DenseMap<Value, double> streamed;
  llvm::DenseSet<Value> isUnsaved; ///< by a checkpoint policy
};
} // namespace

void Choice::findNeeded() {
  Block &block = joint.block();
  for (unsigned i = 0; i < joint.numCotangents; ++i)
    isBackward.insert(block.getArgument(joint.numInputs + i));
  for (Operation &op : block)
    if (llvm::any_of(op.getOperands(), [&](Value value) { return !isForward(value); }))
      isBackward.insert(op.result_begin(), op.result_end());
  llvm::SmallPtrSet<Operation *, 32> isNeeded;
  auto gradients = joint.terminator()->getOperands().drop_front(joint.numResults);
  auto need = [&](Value value) {
    if (isForward(value))
      read.insert(value);
    if (Operation *op = value.getDefiningOp())
      isNeeded.insert(op);
  };
  llvm::for_each(gradients, need);
  for (Operation &op : llvm::reverse(block)) {
    if (!isNeeded.contains(&op))
      continue;
    bool isOfBackward = op.getNumResults() && !isForward(op.getResult(0));
    if (!isOfBackward)
      forward.push_back(&op);
    for (Value operand : op.getOperands())
      if (isOfBackward)
        need(operand);
      else if (Operation *producer = operand.getDefiningOp())
        isNeeded.insert(producer);
  }
  std::reverse(forward.begin(), forward.end());
}

double Choice::elementsOf(Value value) const {
  return double(std::max<int64_t>(0, facts.hint(tensorType(value).getNumElements())));
}

double Choice::bytesOf(Value value) const {
  return elementsOf(value) *
         double(llvm::divideCeil(tensorType(value).getElementType().getIntOrFloatBitWidth(), 8));
}

double Choice::depthOf(ContractOp product) const {
  double depth = 1;
  for (int64_t dim : product.getLhsContract())
    depth *= double(std::max<int64_t>(1, facts.hint(tensorType(product.getLhs()).getDim(dim))));
  return depth;
}

/// The time of the multiplications; those of wider types take longer.
double Choice::costOfProduct(ContractOp product) const {
  double width = tensorType(product.getLhs()).getElementType().getIntOrFloatBitWidth() / 16.0;
  return 2 * elementsOf(product.getResult()) * depthOf(product) * std::max(1.0, width) /
         costs.flopPerByte;
}

void Choice::findStreamed() {
  double largest = 0;
  Block &block = joint.block();
  for (Value argument : block.getArguments().take_front(joint.numInputs))
    largest = std::max(largest, elementsOf(argument));
  for (Value result : joint.terminator()->getOperands().take_front(joint.numResults))
    largest = std::max(largest, elementsOf(result));
  for (Operation *op : forward) {
    if (isa<RecomputeOp>(op))
      isUnsaved.insert(op->getResult(0));
    if (isa<MaterializeOp>(op)) // a policy saves it
      continue;
    for (Value operand : op->getOperands())
      if (isUnsaved.contains(operand))
        isUnsaved.insert(op->result_begin(), op->result_end());
    if (auto product = dyn_cast<ContractOp>(op);
        product && depthOf(product) <= kDeepest && elementsOf(product.getResult()) > largest)
      streamed[product.getResult()] = costOfProduct(product);
    if (!isElementwise(op))
      continue;
    for (Value operand : op->getOperands())
      if (auto found = streamed.find(operand);
          found != streamed.end() && elementsOf(op->getResult(0)) >= elementsOf(operand)) {
        double cost = found->second;
        double &most = streamed[op->getResult(0)];
        most = std::max(most, cost);
      }
  }
}

/// In bytes of memory traffic.
double Choice::costOfComputing(Operation *op) const {
  if (isa<MaterializeOp>(op))
    return MinimumCut::kUncuttable;
  if (!op->getNumOperands() || isView(op) || isa<RecomputeOp>(op))
    return 0;
  Value result = op->getResult(0);
  if (isElementwise(op) || isa<WindowOp>(op))
    return kElementwise * elementsOf(result);
  if (isa<GatherOp>(op))
    return bytesOf(result);
  if (auto product = dyn_cast<ContractOp>(op))
    return costOfProduct(product) + (streamed.contains(result) ? 0 : 2 * bytesOf(result));
  if (auto reduce = dyn_cast<gir::ReduceOp>(op)) {
    // Another pass over its input, or over the stream that computes it.
    auto found = streamed.find(reduce.getInput());
    return found == streamed.end() ? bytesOf(reduce.getInput()) : found->second;
  }
  double bytes = bytesOf(result);
  for (Value operand : op->getOperands())
    bytes += bytesOf(operand);
  return (isa<ScanOp>(op) ? kPassesOfScans : kPassesOfOthers) * bytes;
}

/// In bytes of memory traffic. A result of the function is stored in any case.
double Choice::costOfSaving(Operation *op, double weight) const {
  Value result = op->getResult(0);
  if (joint.resultOf(result))
    return bytesOf(result);
  bool isByPolicy = isa<MaterializeOp>(op);
  if (!isByPolicy && (!op->getNumOperands() || isView(op) || streamed.contains(result) ||
                      isUnsaved.contains(result)))
    return MinimumCut::kUncuttable;
  return 2 * weight * bytesOf(result);
}

SavedValues Choice::cut(double weight) {
  MinimumCut graph;
  llvm::DenseMap<Value, unsigned> results;
  llvm::DenseMap<Operation *, unsigned> operations;
  auto resultNode = [&](Value value) {
    auto [found, isNew] = results.try_emplace(value, 0);
    if (isNew) {
      found->second = graph.addNode();
      if (isa<BlockArgument>(value))
        graph.addEdge(MinimumCut::kSource, found->second, bytesOf(value));
    }
    return found->second;
  };
  for (Operation *op : forward) {
    unsigned node = operations[op] = graph.addNode();
    graph.addEdge(MinimumCut::kSource, node, costOfComputing(op));
    for (Value operand : op->getOperands())
      graph.addEdge(resultNode(operand), node, MinimumCut::kUncuttable);
    for (Value result : op->getResults())
      graph.addEdge(node, resultNode(result), costOfSaving(op, weight));
  }
  for (Value value : read)
    graph.addEdge(resultNode(value), MinimumCut::kSink, MinimumCut::kUncuttable);
  std::vector<bool> isForwardOnly = graph.solve();
  SavedValues made;
  if (isForwardOnly.empty())
    return made;
  auto isSaved = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !isForwardOnly[results[value]] && (!op || isForwardOnly[operations[op]]);
  };
  for (Value argument : joint.block().getArguments().take_front(joint.numInputs))
    if (auto found = results.find(argument);
        found != results.end() && !isForwardOnly[found->second])
      made.inputs.push_back({argument, bytesOf(argument), 0});
  for (Operation *op : forward) {
    bool isRecomputed = !isForwardOnly[operations[op]];
    for (Value result : op->getResults()) {
      if (isSaved(result))
        made.saved.push_back({result, bytesOf(result), costOfChain(op, isSaved)});
      if (isRecomputed && isa<ContractOp, gir::ReduceOp>(op))
        made.recomputed.push_back({result, bytesOf(result), costOfComputing(op)});
    }
  }
  return made;
}

/// The cost of an operation and of those before it, up to what is saved.
double Choice::costOfChain(Operation *op, llvm::function_ref<bool(Value)> isSaved) const {
  llvm::SetVector<Operation *> chain;
  chain.insert(op);
  double cost = 0;
  for (size_t i = 0; i < chain.size(); ++i) {
    cost += costOfComputing(chain[i]);
    for (Value operand : chain[i]->getOperands())
      if (Operation *producer = operand.getDefiningOp(); producer && !isSaved(operand))
        chain.insert(producer);
  }
  return cost;
}

SavedValues Choice::run() {
  constexpr double largestWeight = 0x1p40;
  double weight = 1;
  SavedValues made = cut(weight);
  // With dearer bytes fewer are saved.
  while (made.bytes(joint) > costs.mostBytes && weight < largestWeight)
    made = cut(weight *= 2);
  return made;
}

SavedValues gir::chooseSavedValues(const JointFunction &joint, const SavingCosts &costs) {
  return Choice(joint, costs).run();
}
