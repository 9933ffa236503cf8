//===- PipelineMma.cpp - Products that run beside the next iteration ---------===//
//
// An iteration that makes one product, works on its sums and makes a second product of the result
// would leave tensor cores idle in between. The second product of an iteration is begun in the next
// one instead, behind the first product there: it is made while warps work on the first one's sums.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Target/CudaLimits.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPIPELINEMMA
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// A product that waits, what it waits for, and the one behind which the next iteration begins it.
struct Late {
  MmaOp product, first;
  SharedLoadOp right;
  MbarrierWaitOp await;
  scf::IfOp refill;    // of its stages
  Operation *taker;    // of the sums, the first one
  unsigned number = 0; // of the sums, among what the loop carries
};

class Delayer {
public:
  Delayer(scf::ForOp loop, unsigned warps, unsigned residents)
      : loop(loop), block(*loop.getBody()), warps(warps), threads(32 * warps),
        residents(residents) {}
  void run();

private:
  std::optional<Late> find();
  std::optional<Late> lateOf(MmaOp product);
  bool isGrouped(MmaOp product) {
    return product.getParts() == 1 && areGroupSums(product.getResult(), warps);
  }
  bool hasRegisters(const Late &late);
  void rewrite(const Late &late);

  scf::ForOp loop;
  Block &block;
  unsigned warps, threads, residents;
};
} // namespace

/// The only wait at the mbarriers of a buffer in the loop, right before its read.
static MbarrierWaitOp awaitOf(SharedLoadOp read) {
  Operation *op = read->getPrevNode();
  while (op && isa<SharedLoadOp>(op))
    op = op->getPrevNode();
  auto await = dyn_cast_or_null<MbarrierWaitOp>(op);
  bool isOwn =
      await && llvm::all_of(await.getMbarriers().getUsers(), [&](Operation *user) {
        auto load = dyn_cast<TmaLoadOp>(user);
        bool isElsewhere =
            isa<MbarrierWaitOp>(user) && !await->getBlock()->findAncestorOpInBlock(*user);
        return user == await || isElsewhere || (load && load.getBuffer() == read.getBuffer());
      });
  return isOwn ? await : nullptr;
}

/// The branch of the loop that fills a buffer's stages and does nothing else.
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
      refill && llvm::all_of(refill.thenBlock()->without_terminator(), llvm::IsaPred<TmaLoadOp>);
  return isAlone ? refill : nullptr;
}

/// Sums, the left operand and the sums of the first product are in registers at once; some are left
/// for places.
bool Delayer::hasRegisters(const Late &late) {
  constexpr int64_t all = CudaLimits::registersPerSm, mostOfThread = CudaLimits::registersPerThread,
                    others = 48;
  auto words = [&](Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    return type.getNumElements() * type.getElementTypeBitWidth() / (32 * int64_t(threads));
  };
  MmaOp product = late.product, first = late.first;
  int64_t room = std::min(mostOfThread, all / (int64_t(threads) * residents));
  return words(product.getResult()) + words(product.getLhs()) + words(first.getResult()) + others <=
         room;
}

std::optional<Late> Delayer::lateOf(MmaOp product) {
  Late late;
  late.product = product;
  late.right = product.getRhs().getDefiningOp<SharedLoadOp>();
  Operation *left = product.getLhs().getDefiningOp(), *sums = product.getAcc().getDefiningOp();
  auto isHere = [&](Operation *op) { return op && op->getBlock() == &block; };
  if (!isGrouped(product) || !product->hasOneUse() || !isa<scf::YieldOp>(*product->user_begin()))
    return std::nullopt;
  if (!isHere(left) || isa<SharedLoadOp>(left) || !isHere(sums) || !isHere(late.right) ||
      !late.right->hasOneUse())
    return std::nullopt;
  late.number = product->use_begin()->getOperandNumber();
  late.await = awaitOf(late.right);
  late.refill = refillOf(block, late.right.getBuffer());
  if (!late.await || !late.refill)
    return std::nullopt;
  late.taker = block.getTerminator();
  for (Operation *user : loop.getRegionIterArg(late.number).getUsers())
    if (Operation *here = block.findAncestorOpInBlock(*user); here->isBeforeInBlock(late.taker))
      late.taker = here;
  for (auto mma : block.getOps<MmaOp>())
    if (mma != product && isGrouped(mma) && mma->isBeforeInBlock(late.taker) &&
        late.taker->isBeforeInBlock(product)) {
      late.first = mma;
      return hasRegisters(late) ? std::optional(late) : std::nullopt;
    }
  return std::nullopt;
}

std::optional<Late> Delayer::find() {
  for (auto product : block.getOps<MmaOp>())
    if (std::optional<Late> late = lateOf(product))
      return late;
  return std::nullopt;
}

/// A copy of an operation, or what it folds to.
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

void Delayer::rewrite(const Late &late) {
  MmaOp product = late.product;
  SharedLoadOp right = late.right;
  MbarrierWaitOp await = late.await;
  auto yield = cast<scf::YieldOp>(block.getTerminator());
  // What the next iteration needs besides the sums.
  SmallVector<Value> kept = {product.getLhs(), right.getStage()};
  for (Value place : {Value(await.getMbarrier()), Value(await.getPhase())})
    if (!llvm::is_contained(kept, place))
      kept.push_back(place);
  auto isLate = [&](Operation &op) {
    return &op == product || &op == right || &op == await || isa<scf::YieldOp>(op);
  };
  auto afterIteration = [&](IRMapping &map) {
    SmallVector<Value> values;
    for (auto [i, value] : llvm::enumerate(yield.getOperands()))
      values.push_back(map.lookupOrDefault(i == late.number ? product.getAcc() : value));
    for (Value value : kept)
      values.push_back(map.lookupOrDefault(value));
    return values;
  };
  /// The product of the iteration before, of which there are these values.
  auto begin = [&](OpBuilder &builder, ValueRange carried) -> Value {
    IRMapping map;
    map.map(product.getAcc(), carried[late.number]);
    for (auto [value, now] : llvm::zip_equal(kept, carried.take_back(kept.size())))
      map.map(value, now);
    builder.clone(*await, map);
    builder.clone(*right, map);
    return builder.clone(*product, map)->getResult(0);
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
    if (!isLate(op))
      cloneFolded(builder, op, iteration);
  Value second = builder.createOrFold<arith::AddIOp>(loc, loop.getLowerBound(), loop.getStep());
  auto rest = scf::ForOp::create(
      builder, loc, second, loop.getUpperBound(), loop.getStep(), afterIteration(iteration),
      [&](OpBuilder &inside, Location, Value step, ValueRange carried) {
        IRMapping map;
        map.map(loop.getInductionVar(), step);
        map.map(loop.getRegionIterArgs(), carried.take_front(loop.getNumRegionIterArgs()));
        for (Operation &op : block) {
          if (isLate(op) || &op == late.refill)
            continue;
          inside.clone(op, map);
          if (&op == late.first)
            map.map(loop.getRegionIterArg(late.number), begin(inside, carried));
          if (&op == late.taker)
            inside.clone(*late.refill, map);
        }
        scf::YieldOp::create(inside, loc, afterIteration(map));
      });
  SmallVector<Value> results(rest.getResults().take_front(loop.getNumResults()));
  results[late.number] = begin(builder, rest.getResults());
  scf::YieldOp::create(builder, loc, results);
  loop.replaceAllUsesWith(branch.getResults());
  loop.erase();
}

void Delayer::run() {
  if (std::optional<Late> late = find())
    rewrite(*late);
}

namespace {
struct TilePipelineMma : tile::impl::TilePipelineMmaBase<TilePipelineMma> {
  using TilePipelineMmaBase::TilePipelineMmaBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      DictionaryAttr hints = kernel.getHintsAttr();
      if (!getHint(hints, "wgmma").value_or(0))
        continue;
      unsigned warps = getHint(hints, "num_warps").value_or(4),
               residents = getHint(hints, "min_ctas_per_sm").value_or(1);
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops)
        Delayer(loop, warps, residents).run();
    }
  }
};
} // namespace
