//===- Differentiate.cpp - Gradients in reverse mode ----------------------===//
//
// Lowers `gir.vjp`. A value is active if it is a float and depends on an input. The operations in
// front of the `gir.vjp` are visited in reverse order; an operation whose result is active and has
// a cotangent adds to the cotangents of its active operands. The first `gir.vjp` of a block is
// lowered first: the next one then differentiates the operations of its gradients.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHDIFFERENTIATE
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

namespace {
/// A concatenation as the parts that are not zeros, and where they start and end.
struct Pieces {
  int64_t dim;
  struct Piece {
    Value value;
    SymExpr start, end;
  };
  SmallVector<Piece> pieces;
};
} // namespace

static bool isZeros(Value value) {
  auto constant = value.getDefiningOp<gir::ConstantOp>();
  auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  return number && number.getValue().isZero();
}

static std::optional<Pieces> piecesOf(Value value) {
  auto concat = value.getDefiningOp<gir::ConcatOp>();
  if (!concat)
    return std::nullopt;
  Pieces result{int64_t(concat.getDim()), {}};
  SymExpr start(0);
  for (Value part : concat.getInputs()) {
    SymExpr end = start + tensorType(part).getDim(result.dim);
    if (!isZeros(part))
      result.pieces.push_back({part, start, end});
    start = end;
  }
  return result;
}

/// The sum of two concatenations with zeros if the parts of one lie before those of the other: the
/// cotangents of slices of one value become one concatenation. Null if they do not.
static Value joinPieces(OpBuilder &builder, Value sum, Value added) {
  std::optional<Pieces> first = piecesOf(sum), second = piecesOf(added);
  if (!first || !second || first->dim != second->dim || first->pieces.empty() ||
      second->pieces.empty())
    return {};
  auto distance = [](const Pieces &before, const Pieces &after) {
    return after.pieces.front().start - before.pieces.back().end;
  };
  auto isBefore = [&](const Pieces &before, const Pieces &after) {
    SymExpr gap = distance(before, after);
    return gap.isConstant() && gap.constantValue() >= 0;
  };
  if (!isBefore(*first, *second))
    std::swap(first, second);
  if (!isBefore(*first, *second))
    return {};
  llvm::append_range(first->pieces, second->pieces);
  gir::TensorType type = tensorType(sum);
  SmallVector<Value> parts;
  SymExpr at(0);
  auto fill = [&](SymExpr until) {
    if (until == at)
      return;
    SmallVector<SymExpr> shape(type.getShape());
    shape[first->dim] = until - at;
    parts.push_back(gir::ConstantOp::create(builder, added.getLoc(), type.withShape(shape), 0.0));
  };
  for (const Pieces::Piece &piece : first->pieces) {
    fill(piece.start);
    parts.push_back(piece.value);
    at = piece.end;
  }
  fill(type.getDim(first->dim));
  return gir::ConcatOp::create(builder, added.getLoc(), first->dim, parts);
}

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
  if (Value joined = joinPieces(builder, sum, cotangent)) {
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

LogicalResult Differentiation::visit(Operation *producer) {
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
      if (!found.empty())
        eraseDeadOps(function);
      eraseMarkers(function);
    }
  }
};
} // namespace
