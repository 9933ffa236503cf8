//===- Normalization.cpp - Rows of exponentials over their sum ------------===//
#include "Normalization.h"

#include "tessera/Dialect/Graph/IR/Joint.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

/// The operation on elements that makes a value, if it is this one.
static MapOp matchMap(Value value, ScalarOp op) {
  auto map = value.getDefiningOp<MapOp>();
  return map && map.getScalarOp() == op ? map : MapOp();
}

/// The reduction of rows that a value repeats for their elements.
static gir::ReduceOp matchRows(Value value, tessera::ReduceOp kind) {
  auto rows = value.getDefiningOp<BroadcastOp>();
  auto reduce = rows ? rows.getInput().getDefiningOp<gir::ReduceOp>() : gir::ReduceOp();
  return reduce && reduce.getReduceOp() == kind ? reduce : gir::ReduceOp();
}

/// exp(x - max(x)): the maximum.
static gir::ReduceOp matchExponential(MapOp exponential) {
  MapOp exponent = matchMap(exponential->getOperand(0), ScalarOp::Sub);
  gir::ReduceOp max =
      exponent ? matchRows(exponent->getOperand(1), tessera::ReduceOp::Max) : gir::ReduceOp();
  return max && max.getInput() == exponent->getOperand(0) ? max : gir::ReduceOp();
}

static std::optional<Normalization> match(MapOp quotient) {
  if (quotient.getScalarOp() != ScalarOp::Div)
    return std::nullopt;
  MapOp exponential = matchMap(quotient->getOperand(0), ScalarOp::Exp);
  gir::ReduceOp sum = matchRows(quotient->getOperand(1), tessera::ReduceOp::Sum),
                max = exponential ? matchExponential(exponential) : gir::ReduceOp();
  if (!sum || !max || sum.getInput() != exponential->getResult(0) || sum.getDims() != max.getDims())
    return std::nullopt;
  Operation *exponent = exponential->getOperand(0).getDefiningOp();
  auto subtracted = exponent->getOperand(1).getDefiningOp<BroadcastOp>(),
       divisor = quotient->getOperand(1).getDefiningOp<BroadcastOp>();
  if (subtracted.getDims() != divisor.getDims())
    return std::nullopt;
  return Normalization{quotient, max, sum};
}

/// The operations that the results of the forward part depend on.
static llvm::SmallPtrSet<Operation *, 32> forwardOps(const JointFunction &joint) {
  llvm::SmallPtrSet<Operation *, 32> found;
  SmallVector<Value> work(joint.terminator()->getOperands().take_front(joint.numResults));
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp(); op && found.insert(op).second)
      llvm::append_range(work, op->getOperands());
  return found;
}

SmallVector<Normalization> gir::findNormalizations(const JointFunction &joint) {
  SmallVector<Normalization> found;
  llvm::SmallPtrSet<Operation *, 32> forward = forwardOps(joint);
  for (auto map : joint.block().getOps<MapOp>())
    if (std::optional<Normalization> one = match(map); one && forward.contains(map))
      found.push_back(*one);
  return found;
}

/// Replaces a value where the forward part does not use it. Casts and transpositions for both parts
/// are repeated.
static void replaceBehind(Value value, Value replacement,
                          const llvm::SmallPtrSetImpl<Operation *> &forward) {
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
    Operation *user = use.getOwner();
    if (!forward.contains(user)) {
      use.set(replacement);
    } else if (isa<CastOp, TransposeOp>(user)) {
      OpBuilder builder(user);
      builder.setInsertionPointAfter(user);
      Operation *copy = builder.clone(*user);
      copy->setOperand(0, replacement);
      replaceBehind(user->getResult(0), copy->getResult(0), forward);
      if (copy->use_empty())
        copy->erase();
    }
  }
}

void gir::subtractLogSums(const JointFunction &joint, ArrayRef<Normalization> those) {
  llvm::SmallPtrSet<Operation *, 32> forward = forwardOps(joint);
  forward.insert(joint.terminator()); // forward returns its results
  for (auto [quotient, max, sum] : those) {
    OpBuilder builder(quotient);
    Location loc = quotient->getLoc();
    Value logarithm = MapOp::create(builder, loc, ScalarOp::Log, ValueRange{sum}),
          r = MapOp::create(builder, loc, ScalarOp::Add, ValueRange{max, logarithm});
    auto divisor = quotient->getOperand(1).getDefiningOp<BroadcastOp>();
    Value x = max.getInput(),
          rows = BroadcastOp::create(builder, loc, divisor.getType(), r, divisor.getDims());
    auto exponent = MapOp::create(builder, loc, ScalarOp::Sub, ValueRange{x, rows});
    exponent->setAttr(kAtMostZeroAttr, builder.getUnitAttr());
    Value again = MapOp::create(builder, loc, ScalarOp::Exp, ValueRange{exponent});
    replaceBehind(quotient->getResult(0), again, forward);
  }
}

gir::ReduceOp gir::maximumOf(Value r) {
  MapOp add = matchMap(r, ScalarOp::Add),
        logarithm = add ? matchMap(add->getOperand(1), ScalarOp::Log) : MapOp();
  auto max = add ? add->getOperand(0).getDefiningOp<gir::ReduceOp>() : gir::ReduceOp();
  auto sum = logarithm ? logarithm->getOperand(0).getDefiningOp<gir::ReduceOp>() : gir::ReduceOp();
  MapOp exponential = sum ? matchMap(sum.getInput(), ScalarOp::Exp) : MapOp();
  return exponential && max && matchExponential(exponential) == max ? max : gir::ReduceOp();
}
