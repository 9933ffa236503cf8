//===- Differentiate.cpp - Gradients in reverse mode ----------------------===//
//
// Lowers `gir.vjp`. A value is active if it is a float and depends on an input. The operations in
// front of the `gir.vjp` are visited in reverse order; an operation whose result is active and has
// a cotangent adds to the cotangents of its active operands; `gir.custom_vjp` has its own rule. The
// first `gir.vjp` of a block is lowered first: the next one then differentiates the operations of
// its gradients.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/Pieces.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHDIFFERENTIATE
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

namespace {
/// Computes the gradients of one `gir.vjp`.
class Differentiation {
public:
  explicit Differentiation(gir::VjpOp op) : op(op), builder(op) {}

  LogicalResult run();

private:
  void findActive();
  void addCotangent(Value value, Value cotangent);
  LogicalResult visit(Operation *producer);
  void visit(gir::CustomVjpOp custom);
  LogicalResult visit(gir::CheckpointOp checkpoint);

  gir::VjpOp op;
  OpBuilder builder;
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> cotangents;
};
} // namespace

void Differentiation::findActive() {
  for (Value input : op.getInputs())
    active.insert(input);
  for (Operation &other : *op->getBlock()) {
    if (&other == op)
      break;
    if (isa<gir::StopGradientOp>(other) ||
        llvm::none_of(other.getOperands(), [&](Value value) { return active.contains(value); }))
      continue;
    for (Value result : other.getResults())
      if (auto type = dyn_cast<gir::TensorType>(result.getType()); type && type.isFloat())
        active.insert(result);
  }
}

void Differentiation::addCotangent(Value value, Value cotangent) {
  Value &sum = cotangents[value];
  if (!sum) {
    sum = cotangent;
    return;
  }
  if (Value joined = gir::joinPieces(builder, sum, cotangent)) {
    sum = joined;
    return;
  }
  // Types that only store numbers are added in f32.
  Type type = tensorType(sum).getElementType();
  bool isStorage = type.getIntOrFloatBitWidth() < 16;
  auto convert = [&](Value x, Type to) -> Value {
    return isStorage ? gir::CastOp::create(builder, x.getLoc(), x, to).getResult() : x;
  };
  Type wide = gir::accumulationType(type);
  Value added = gir::MapOp::create(builder, cotangent.getLoc(), ScalarOp::Add,
                                   ValueRange{convert(sum, wide), convert(cotangent, wide)});
  sum = convert(added, type);
}

/// Inserts the operations of the rule. The cotangents of results that are not used are zero.
void Differentiation::visit(gir::CustomVjpOp custom) {
  if (llvm::none_of(custom.getResults(), [&](Value value) { return cotangents.contains(value); }))
    return;
  IRMapping mapping;
  Block &rule = custom.getRule().front();
  auto arguments = rule.getArguments().begin();
  for (Value result : custom.getResults()) {
    if (!tensorType(result).isFloat())
      continue;
    Value cotangent = cotangents.lookup(result);
    if (!cotangent)
      cotangent = gir::ConstantOp::create(builder, custom.getLoc(), tensorType(result), 0.0);
    mapping.map(*arguments++, cotangent);
  }
  for (Operation &op : rule.without_terminator())
    builder.clone(op, mapping);
  auto yield = cast<gir::YieldOp>(rule.getTerminator());
  for (auto [input, gradient] : llvm::zip(custom.getInputs(), yield.getGradients()))
    if (active.contains(input))
      addCotangent(input, mapping.lookupOrDefault(gradient));
}

/// The operations between the inputs and the values of a checkpoint, in order.
static SmallVector<Operation *> operationsOf(gir::CheckpointOp checkpoint) {
  llvm::DenseSet<Value> inputs(checkpoint.getInputs().begin(), checkpoint.getInputs().end());
  llvm::SmallPtrSet<Operation *, 32> found;
  SmallVector<Value> open(checkpoint.getValues());
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || inputs.contains(value) || !found.insert(op).second)
      continue;
    llvm::append_range(open, op->getOperands());
    op->walk([&](Operation *nested) { llvm::append_range(open, nested->getOperands()); });
  }
  SmallVector<Operation *> ordered;
  for (Operation &op : *checkpoint->getBlock())
    if (found.contains(&op))
      ordered.push_back(&op);
  return ordered;
}

/// Whether a result of an operation, or its stored copy, has one of the names.
static bool isNamed(Operation *op, ArrayAttr names) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    if (isa<gir::MaterializeOp>(user))
      return isNamed(user, names);
    auto named = dyn_cast<gir::CheckpointNameOp>(user);
    return named && llvm::is_contained(names.getAsValueRange<StringAttr>(), named.getName());
  });
}

/// Whether the policy of a checkpoint saves the results of an operation.
static bool isSaved(gir::CheckpointOp checkpoint, Operation *op) {
  StringRef policy = checkpoint.getPolicy();
  if (policy == "everything")
    return !isa<gir::ConstantOp, gir::IotaOp, gir::SizeOp, gir::ReshapeOp, gir::BroadcastOp,
                gir::TransposeOp, gir::SliceOp, gir::RecomputeOp, gir::StopGradientOp,
                gir::CustomVjpOp, gir::CheckpointOp>(op);
  if (policy == "contractions")
    return isa<gir::ContractOp>(op);
  return policy == "names" && isNamed(op, *checkpoint.getNames());
}

/// The value, stored for its users.
static Value storedValue(Value value) {
  for (Operation *user : value.getUsers())
    if (auto stored = dyn_cast<gir::MaterializeOp>(user))
      return stored;
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto stored = gir::MaterializeOp::create(builder, value.getLoc(), value.getType(), value,
                                           UnitAttr(), IntegerAttr(),
                                           builder.getStringAttr("a checkpoint policy saves it"));
  value.replaceAllUsesExcept(stored, stored);
  return stored;
}

/// Replaces a copy by the original, which is stored. If not all values are saved, those after it
/// are computed again.
static void save(Value original, Value copy, bool isLast) {
  Value stored = storedValue(original);
  if (!isLast) {
    OpBuilder builder(copy.getDefiningOp());
    stored = gir::RecomputeOp::create(builder, copy.getLoc(), copy.getType(), stored);
  }
  copy.replaceAllUsesWith(stored);
}

/// Differentiates a copy of the operations. What gradients need of it is the original, stored, if
/// the policy saves it; otherwise the copy remains.
LogicalResult Differentiation::visit(gir::CheckpointOp checkpoint) {
  if (llvm::none_of(checkpoint.getResults(),
                    [&](Value value) { return cotangents.contains(value); }))
    return success();
  IRMapping mapping;
  for (Value input : checkpoint.getInputs()) {
    Value copy = gir::RecomputeOp::create(builder, input.getLoc(), input.getType(), input);
    mapping.map(input, copy);
    if (active.contains(input))
      active.insert(copy);
  }
  SmallVector<std::pair<Operation *, Operation *>> copies;
  for (Operation *op : operationsOf(checkpoint)) {
    if (isa<gir::MaterializeOp, gir::CheckpointNameOp>(op)) {
      mapping.map(op->getResult(0), mapping.lookupOrDefault(op->getOperand(0)));
      continue;
    }
    Operation *copy = builder.clone(*op, mapping);
    copies.push_back({op, copy});
    for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
      if (active.contains(from))
        active.insert(to);
  }
  for (auto [value, result] : llvm::zip(checkpoint.getValues(), checkpoint.getResults()))
    if (Value cotangent = cotangents.lookup(result))
      addCotangent(mapping.lookupOrDefault(value), cotangent);
  for (auto [op, copy] : llvm::reverse(copies))
    if (failed(visit(copy)))
      return failure();
  for (Value input : checkpoint.getInputs())
    if (Value cotangent = cotangents.lookup(mapping.lookup(input));
        cotangent && active.contains(input))
      addCotangent(input, cotangent);
  for (auto [op, copy] : llvm::reverse(copies)) {
    if (!copy->use_empty() && isSaved(checkpoint, op))
      for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
        if (!to.use_empty())
          save(from, to, /*isLast=*/checkpoint.getPolicy() == "everything");
    // Cotangents are values of later operations, or of this one.
    if (isOpTriviallyDead(copy) && llvm::none_of(copy->getResults(), [&](Value value) {
          return llvm::any_of(cotangents, [&](auto &entry) { return entry.second == value; });
        })) {
      for (Value result : copy->getResults()) {
        cotangents.erase(result);
        active.erase(result);
      }
      copy->erase();
    }
  }
  return success();
}

LogicalResult Differentiation::visit(Operation *producer) {
  if (auto checkpoint = dyn_cast<gir::CheckpointOp>(producer))
    return visit(checkpoint);
  if (auto custom = dyn_cast<gir::CustomVjpOp>(producer)) {
    visit(custom);
    return success();
  }
  if (producer->getNumResults() != 1 || !active.contains(producer->getResult(0)) ||
      llvm::is_contained(op.getInputs(), producer->getResult(0)))
    return success();
  auto found = cotangents.find(producer->getResult(0));
  if (found == cotangents.end())
    return success();
  auto rule = dyn_cast<gir::DifferentiableOpInterface>(producer);
  if (!rule) {
    InFlightDiagnostic error = producer->emitOpError("has no derivative");
    if (auto reasoned = dyn_cast<gir::NonDifferentiableOpInterface>(producer))
      error << ": " << reasoned.getReason();
    return error;
  }
  SmallVector<bool> wanted;
  for (Value operand : producer->getOperands())
    wanted.push_back(active.contains(operand));
  SmallVector<Value> gradients = rule.buildVjp(builder, found->second, wanted);
  for (auto [operand, gradient] : llvm::zip_equal(producer->getOperands(), gradients))
    if (gradient && active.contains(operand))
      addCotangent(operand, gradient);
  return success();
}

LogicalResult Differentiation::run() {
  findActive();
  for (auto [output, cotangent] : llvm::zip(op.getOutputs(), op.getCotangents()))
    if (active.contains(output))
      addCotangent(output, cotangent);
  SmallVector<Operation *> before;
  for (Operation &other : *op->getBlock()) {
    if (&other == op)
      break;
    before.push_back(&other);
  }
  for (Operation *other : llvm::reverse(before))
    if (failed(visit(other)))
      return failure();
  for (auto [input, gradient] : llvm::zip(op.getInputs(), op.getGradients())) {
    Value sum = cotangents.lookup(input);
    if (!sum)
      sum = gir::ConstantOp::create(builder, op.getLoc(), tensorType(input), 0.0);
    gradient.replaceAllUsesWith(sum);
  }
  op.erase();
  return success();
}

/// Appends the gradients of the first result to the results of a function, or replaces them.
static LogicalResult addGradients(func::FuncOp function, ArrayRef<unsigned> wrt, bool keepValue) {
  auto terminator = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  if (terminator.getNumOperands() == 0)
    return function.emitError("expected a result to differentiate, got none");
  Value result = terminator.getOperand(0);
  auto type = dyn_cast<gir::TensorType>(result.getType());
  if (!type || !type.isFloat() || type.getRank() != 0)
    return function.emitError("expected a float scalar as the first result, got ")
           << result.getType();
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  for (unsigned index : wrt) {
    if (index >= function.getNumArguments())
      return function.emitError("expected an argument below ")
             << function.getNumArguments() << " in 'wrt', got " << index;
    Value input = function.getArgument(index);
    auto inputType = dyn_cast<gir::TensorType>(input.getType());
    if (!inputType || !inputType.isFloat())
      return function.emitError("expected a float tensor as argument ")
             << index << " in 'wrt', got " << input.getType();
    inputs.push_back(input);
    types.push_back(inputType);
  }
  OpBuilder builder(terminator);
  Value one = gir::ConstantOp::create(builder, result.getLoc(), type, 1.0);
  auto op = gir::VjpOp::create(builder, result.getLoc(), types, ValueRange{result}, ValueRange{one},
                               inputs);
  SmallVector<Value> results;
  if (keepValue)
    llvm::append_range(results, terminator.getOperands());
  llvm::append_range(results, op.getGradients());
  terminator->setOperands(results);
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), terminator.getOperandTypes()));
  function.removeResAttrsAttr(); // of the former results
  return success();
}

static void eraseDeadOps(func::FuncOp function) {
  for (Block &block : function.getBody())
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
}

/// Erases what only gradients need.
static void eraseMarkers(func::FuncOp function) {
  function.walk([](Operation *op) {
    op->removeDiscardableAttr(gir::kFirstTieAttr);
    op->removeDiscardableAttr(gir::kZeroAtZeroAttr);
    if (auto stop = dyn_cast<gir::StopGradientOp>(op)) {
      stop.getResult().replaceAllUsesWith(stop.getInput());
      stop.erase();
    }
    if (auto custom = dyn_cast<gir::CustomVjpOp>(op)) {
      custom.replaceAllUsesWith(custom.getValues());
      custom.erase();
    }
    if (auto checkpoint = dyn_cast<gir::CheckpointOp>(op)) {
      checkpoint.replaceAllUsesWith(checkpoint.getValues());
      checkpoint.erase();
    }
    if (auto named = dyn_cast<gir::CheckpointNameOp>(op)) {
      named.getResult().replaceAllUsesWith(named.getInput());
      named.erase();
    }
  });
}

namespace {
struct Differentiate : gir::impl::GraphDifferentiateBase<Differentiate> {
  using GraphDifferentiateBase::GraphDifferentiateBase;

  LogicalResult addRequested() {
    if (wrt.empty())
      return success();
    auto named = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!named)
      return getOperation().emitError("expected a function named '") << function << "', got none";
    return addGradients(named, SmallVector<unsigned>(wrt.begin(), wrt.end()), value);
  }

  void runOnOperation() override {
    if (failed(addRequested()))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<gir::VjpOp> found;
      function.walk([&](gir::VjpOp op) { found.push_back(op); });
      for (gir::VjpOp op : found)
        if (failed(Differentiation(op).run()))
          return signalPassFailure();
      eraseMarkers(function);
      if (!found.empty())
        eraseDeadOps(function);
    }
  }
};
} // namespace
