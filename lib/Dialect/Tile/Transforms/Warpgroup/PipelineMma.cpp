//===- PipelineMma.cpp - Overlap a contraction with the next iteration ----===//
//
// In an iteration with several contractions, a later one waits for elementwise work on the result
// of an earlier one, and tensor cores idle meanwhile. The pass delays such a contraction to the
// next iteration, where it starts after the first contraction and runs under the elementwise work.
// The first iteration is peeled, and the last delayed contraction follows the loop. Attention is
// the case with two contractions: S = Q K^T, the softmax of S, and O += P V. One contraction of an
// iteration is delayed; a remark names each further one.
//
//===----------------------------------------------------------------------===//
#include "Registers.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPIPELINEMMA
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-pipeline-mma";

namespace {
/// A contraction that the next iteration starts, after its contraction `first`.
struct DelayedMma {
  MmaOp mma, first;
  SharedLoadOp rhs;
  MbarrierWaitOp fullWait; // for the stage of rhs
  scf::IfOp refill;        // the TMA loads into the stages of rhs
  Operation *accUser;      // the first use of the carried accumulator in an iteration
  unsigned number = 0;     // of the accumulator among the values that the loop carries
};

class MmaPipeliner {
public:
  MmaPipeliner(scf::ForOp loop, unsigned warps, unsigned residents)
      : loop(loop), block(*loop.getBody()), warps(warps), threads(32 * warps),
        residents(residents) {}
  void run();

private:
  std::optional<DelayedMma> find();
  std::optional<DelayedMma> matchDelayed(MmaOp mma);
  bool isWarpgroupMma(MmaOp mma) {
    return mma.getParts() == 1 && areGroupSums(mma.getResult(), warps);
  }
  bool isExpected(MmaOp mma);
  bool hasRegisters(const DelayedMma &delayed);
  void rewrite(const DelayedMma &delayed);

  scf::ForOp loop;
  Block &block;
  unsigned warps, threads, residents;
};
} // namespace

/// The full barriers that TMA loads into a buffer arrive at; null without such loads.
static Value fullBarriersOf(Value buffer) {
  for (Operation *user : buffer.getUsers())
    if (auto load = dyn_cast<TmaLoadOp>(user))
      return load.getFull();
  return {};
}

/// Whether TMA loads into another buffer arrive at the full barriers of this one.
static bool sharesBarriers(Value buffer) {
  Value mbarriers = fullBarriersOf(buffer);
  return mbarriers && llvm::any_of(mbarriers.getUsers(), [&](Operation *user) {
           auto load = dyn_cast<TmaLoadOp>(user);
           return load && load.getBuffer() != buffer;
         });
}

/// The wait at the full barrier of a read's stage, right before the read; null if the barrier
/// serves another buffer as well.
static MbarrierWaitOp fullWaitOf(SharedLoadOp read) {
  Operation *op = read->getPrevNode();
  while (op && isa<SharedLoadOp>(op))
    op = op->getPrevNode();
  auto wait = dyn_cast_or_null<MbarrierWaitOp>(op);
  bool isOwn =
      wait && llvm::all_of(wait.getMbarriers().getUsers(), [&](Operation *user) {
        auto load = dyn_cast<TmaLoadOp>(user);
        bool isElsewhere =
            isa<MbarrierWaitOp>(user) && !wait->getBlock()->findAncestorOpInBlock(*user);
        return user == wait || isElsewhere || (load && load.getBuffer() == read.getBuffer());
      });
  return isOwn ? wait : nullptr;
}

/// The branch of the loop that refills the stages of a buffer; null if the branch does anything
/// else.
static scf::IfOp refillOf(Block &block, Value buffer) {
  scf::IfOp refill;
  for (Operation *user : buffer.getUsers()) {
    Operation *here = block.findAncestorOpInBlock(*user);
    if (!here || isa<SharedLoadOp>(user))
      continue;
    auto branch = dyn_cast<scf::IfOp>(here);
    if (!isa<TmaLoadOp>(user) || !branch || branch.getNumResults() ||
        !branch.getElseRegion().empty() || (refill && refill != branch))
      return nullptr;
    refill = branch;
  }
  bool isAlone =
      refill && llvm::all_of(refill.thenBlock()->without_terminator(), [](Operation &op) {
        return isa<TmaLoadOp>(op) || isMemoryEffectFree(&op);
      });
  return isAlone ? refill : nullptr;
}

/// Whether a thread holds at once the accumulators of both contractions and the left operand of the
/// delayed one, beside registers for addresses.
bool MmaPipeliner::hasRegisters(const DelayedMma &delayed) {
  MmaOp mma = delayed.mma, first = delayed.first;
  int64_t available = registersOfThread(threads, residents), needed = kRegistersBeside;
  for (Value value : {Value(mma.getResult()), Value(mma.getLhs()), Value(first.getResult())})
    needed += registersOf(value, threads);
  if (needed <= available)
    return true;
  missed(mma, kPass, "TooFewRegisters") << remark::reason(
      "two contractions in flight need {0} registers per thread, and {1} threads have {2}", needed,
      threads * residents, available);
  return false;
}

/// Whether a contraction follows another one of the iteration: the loop carries its result, and the
/// iteration computes its left operand in registers after the other.
bool MmaPipeliner::isExpected(MmaOp mma) {
  Operation *lhs = mma.getLhs().getDefiningOp();
  return isWarpgroupMma(mma) && mma->hasOneUse() && isa<scf::YieldOp>(*mma->user_begin()) && lhs &&
         lhs->getBlock() == &block && !isa<SharedLoadOp>(lhs) &&
         llvm::any_of(block.getOps<MmaOp>(), [&](MmaOp other) {
           return other->isBeforeInBlock(mma) && isWarpgroupMma(other);
         });
}

std::optional<DelayedMma> MmaPipeliner::matchDelayed(MmaOp mma) {
  if (!isExpected(mma))
    return std::nullopt;
  DelayedMma delayed;
  delayed.mma = mma;
  delayed.rhs = mma.getRhs().getDefiningOp<SharedLoadOp>();
  auto isHere = [&](Operation *op) { return op && op->getBlock() == &block; };
  if (!isHere(mma.getAcc().getDefiningOp())) {
    missed(mma, kPass, "AccumulatorNotRescaled")
        << remark::reason("the iteration adds to the carried accumulator without rescaling it");
    return std::nullopt;
  }
  if (!isHere(delayed.rhs) || !delayed.rhs->hasOneUse()) {
    missed(mma, kPass, "RhsNotStaged") << remark::reason(
        "rhs is not read from a stage of shared memory for this contraction only");
    return std::nullopt;
  }
  delayed.number = mma->use_begin()->getOperandNumber();
  delayed.fullWait = fullWaitOf(delayed.rhs);
  delayed.refill = refillOf(block, delayed.rhs.getBuffer());
  if (sharesBarriers(delayed.rhs.getBuffer())) {
    missed(mma, kPass, "SharedBarrier")
        << remark::reason("the full barrier of rhs serves another operand of the iteration: more "
                          "than two contractions, or two operands, depend on the same one");
    return std::nullopt;
  }
  if (!delayed.fullWait || !delayed.refill) {
    missed(mma, kPass, "SharedStages")
        << remark::reason("the stages of rhs have no full barrier and no TMA loads of their own");
    return std::nullopt;
  }
  delayed.accUser = block.getTerminator();
  for (Operation *user : loop.getRegionIterArg(delayed.number).getUsers())
    if (Operation *here = block.findAncestorOpInBlock(*user);
        here->isBeforeInBlock(delayed.accUser))
      delayed.accUser = here;
  for (auto other : block.getOps<MmaOp>())
    if (other != mma && isWarpgroupMma(other) && other->isBeforeInBlock(delayed.accUser) &&
        delayed.accUser->isBeforeInBlock(mma)) {
      delayed.first = other;
      return hasRegisters(delayed) ? std::optional(delayed) : std::nullopt;
    }
  missed(mma, kPass, "AccumulatorUsedFirst")
      << remark::reason("the iteration uses the carried accumulator before its first contraction");
  return std::nullopt;
}

std::optional<DelayedMma> MmaPipeliner::find() {
  for (auto mma : block.getOps<MmaOp>())
    if (std::optional<DelayedMma> delayed = matchDelayed(mma))
      return delayed;
  return std::nullopt;
}

/// Clones an operation, or maps its results to what it folds to.
static void cloneFolded(OpBuilder &builder, Operation &op, IRMapping &map) {
  Operation *copy = builder.clone(op, map);
  SmallVector<Value> folded;
  if (copy->getNumRegions() || !isMemoryEffectFree(copy) ||
      copy->hasTrait<OpTrait::ConstantLike>() || failed(builder.tryFold(copy, folded)) ||
      folded.size() != op.getNumResults())
    return;
  map.map(op.getResults(), folded);
  copy->erase();
}

void MmaPipeliner::rewrite(const DelayedMma &delayed) {
  MmaOp mma = delayed.mma;
  SharedLoadOp rhs = delayed.rhs;
  MbarrierWaitOp wait = delayed.fullWait;
  auto yield = cast<scf::YieldOp>(block.getTerminator());
  // The loop also carries what the delayed contraction needs beside the accumulator.
  SmallVector<Value> kept = {mma.getLhs(), rhs.getStage()};
  for (Value value : {Value(wait.getMbarrier()), Value(wait.getPhase())})
    if (!llvm::is_contained(kept, value))
      kept.push_back(value);
  auto isDelayed = [&](Operation &op) {
    return &op == mma || &op == rhs || &op == wait || isa<scf::YieldOp>(op);
  };
  auto yieldedValues = [&](IRMapping &map) {
    SmallVector<Value> values;
    for (auto [i, value] : llvm::enumerate(yield.getOperands()))
      values.push_back(map.lookupOrDefault(i == delayed.number ? mma.getAcc() : value));
    for (Value value : kept)
      values.push_back(map.lookupOrDefault(value));
    return values;
  };
  /// Starts the contraction of the previous iteration, from the values that the loop carries.
  auto startDelayed = [&](OpBuilder &builder, ValueRange carried) -> Value {
    IRMapping map;
    map.map(mma.getAcc(), carried[delayed.number]);
    for (auto [value, now] : llvm::zip_equal(kept, carried.take_back(kept.size())))
      map.map(value, now);
    builder.clone(*wait, map);
    builder.clone(*rhs, map);
    return builder.clone(*mma, map)->getResult(0);
  };

  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       loop.getLowerBound(), loop.getUpperBound());
  auto branch =
      scf::IfOp::create(builder, loc, loop.getResultTypes(), exists, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, loop.getInitArgs());

  builder.setInsertionPointToStart(branch.thenBlock());
  IRMapping iteration;
  iteration.map(loop.getInductionVar(), loop.getLowerBound());
  iteration.map(loop.getRegionIterArgs(), loop.getInitArgs());
  for (Operation &op : block)
    if (!isDelayed(op))
      cloneFolded(builder, op, iteration);
  Value second = builder.createOrFold<arith::AddIOp>(loc, loop.getLowerBound(), loop.getStep());
  auto rest = scf::ForOp::create(
      builder, loc, second, loop.getUpperBound(), loop.getStep(), yieldedValues(iteration),
      [&](OpBuilder &inside, Location, Value step, ValueRange carried) {
        IRMapping map;
        map.map(loop.getInductionVar(), step);
        map.map(loop.getRegionIterArgs(), carried.take_front(loop.getNumRegionIterArgs()));
        for (Operation &op : block) {
          if (isDelayed(op) || &op == delayed.refill)
            continue;
          inside.clone(op, map);
          if (&op == delayed.first)
            map.map(loop.getRegionIterArg(delayed.number), startDelayed(inside, carried));
          if (&op == delayed.accUser)
            inside.clone(*delayed.refill, map);
        }
        scf::YieldOp::create(inside, loc, yieldedValues(map));
      });
  SmallVector<Value> results(rest.getResults().take_front(loop.getNumResults()));
  results[delayed.number] = startDelayed(builder, rest.getResults());
  scf::YieldOp::create(builder, loc, results);
  loop.replaceAllUsesWith(branch.getResults());
  loop.erase();
}

void MmaPipeliner::run() {
  std::optional<DelayedMma> delayed = find();
  if (!delayed)
    return;
  for (auto other : block.getOps<MmaOp>())
    if (delayed->mma->isBeforeInBlock(other) && isExpected(other))
      missed(other, kPass, "AnotherDelayed") << remark::reason(
          "an iteration delays one contraction, and delays an earlier one already");
  rewrite(*delayed);
}

namespace {
struct TilePipelineMma : tile::impl::TilePipelineMmaBase<TilePipelineMma> {
  using TilePipelineMmaBase::TilePipelineMmaBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (!kernel.isOn(TuningField::Wgmma))
        continue;
      unsigned warps = kernel.getNumWarps(),
               residents = kernel.getField(TuningField::MinCtasPerSm).value_or(1);
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops)
        MmaPipeliner(loop, warps, residents).run();
    }
  }
};
} // namespace
