//===- ReleaseStages.cpp - Stages that warps give back at mbarriers -------------===//
//
// A barrier of the block before a stage is filled again holds all warpgroups in the same place of a
// iteration: all multiply, and then all work on sums. At an mbarrier each warp tells that it has
// left a stage, and only the one that fills the stage waits there; groups drift apart by as many
// iterations as there are stages, and some multiply while others do not.
//
// A stage's iterations are counted by the loop: the mbarrier behind which tiles come has opened
// `phase` times before an iteration, and so often have warps left the stage. The copies of a
// iteration fill the stage of the iteration before, and wait until that was left once more; or,
// where that takes long, one of some iterations before.
//
//===----------------------------------------------------------------------===//
#include "PipelinedLoads.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILERELEASESTAGES
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// Where the warps of a block have read a stage.
struct Release {
  WgmmaWaitOp behind;
  Value stage; // none: the one that the product of the iteration before has read
};

class Releaser {
public:
  Releaser(MbarrierAllocOp mbarriers, unsigned warps) : mbarriers(mbarriers), warps(warps) {}
  void run();

private:
  bool find();
  std::optional<Release> releaseOf(WgmmaOp mma);
  MbarrierWaitOp iterationOf(TmaLoadOp refill);
  Value phaseOf(TmaLoadOp refill, bool isNext);

  MbarrierAllocOp mbarriers; // that the copies open
  unsigned warps;
  SmallVector<TmaLoadOp> refills;
  SmallVector<std::pair<Block *, Release>> releases;
};
} // namespace

/// The wait behind which a product is over, in its iteration or, where the loop has it in flight,
/// in the next one.
std::optional<Release> Releaser::releaseOf(WgmmaOp mma) {
  auto stageOf = [&](Value buffer) -> Value {
    return buffer == mma.getRhs() ? Value(mma.getRhsStage()) : Value(mma.getLhsStage());
  };
  Value stage;
  for (TmaLoadOp refill : refills)
    for (Value buffer : {Value(mma.getLhs()), Value(mma.getRhs())}) {
      if (buffer != refill.getBuffer())
        continue;
      if (stage && stage != stageOf(buffer))
        return std::nullopt;
      stage = stageOf(buffer);
    }
  int64_t behind = -1; // groups that are closed behind it
  WgmmaWaitOp first;
  for (Operation *op = mma->getNextNode(); op; op = op->getNextNode()) {
    behind += isa<WgmmaCommitOp>(op);
    auto wait = dyn_cast<WgmmaWaitOp>(op);
    if (wait && behind >= int64_t(wait.getPending()))
      return Release{wait, stage};
    if (wait && !first)
      first = wait;
  }
  // One group more is closed in each iteration.
  bool isNext = first && behind == 0 && first.getPending() == 1 &&
                isa<scf::ForOp>(mma->getBlock()->getParentOp());
  return isNext ? std::optional(Release{first, Value()}) : std::nullopt;
}

/// The wait of a refill's iteration for its own tiles.
MbarrierWaitOp Releaser::iterationOf(TmaLoadOp refill) {
  auto branch = dyn_cast<scf::IfOp>(refill->getParentOp());
  if (!branch)
    return nullptr;
  for (auto await : branch->getBlock()->getOps<MbarrierWaitOp>())
    return await->isBeforeInBlock(branch) && await.getMbarriers().getType() == mbarriers.getType()
               ? await
               : nullptr;
  return nullptr;
}

/// How often the stage of the iteration before was left before that, by its lowest bit. Where each
/// iteration tells of the stage that it fills, all stages were left once in as many iterations as
/// there are.
Value Releaser::phaseOf(TmaLoadOp refill, bool isNext) {
  MbarrierWaitOp iteration = iterationOf(refill);
  int64_t lag = lagOf(refill, iteration.getMbarrier()) + (isNext ? 0 : 1);
  if (!lag)
    return iteration.getPhase();
  OpBuilder builder(refill->getParentOp());
  Location loc = mbarriers.getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value isFirst = lag == 1 ? arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                                   iteration.getMbarrier(), number(0))
                           : arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                                   iteration.getMbarrier(), number(lag));
  Value before = arith::AddIOp::create(builder, loc, iteration.getPhase(), number(-1));
  return arith::SelectOp::create(builder, loc, isFirst, before, iteration.getPhase());
}

/// All that reads the stages are products, of which each iteration has one group; all iterations
/// leave their stages alike.
bool Releaser::find() {
  SmallVector<Value> buffers;
  for (Operation *user : mbarriers->getUsers())
    if (auto load = dyn_cast<TmaLoadOp>(user)) {
      if (load.getEmpty())
        return false;
      if (!llvm::is_contained(buffers, load.getBuffer()))
        buffers.push_back(load.getBuffer());
      // Before the loop, stages are filled for the first time.
      if (!getConstantIntValue(load.getStage()) || iterationOf(load))
        refills.push_back(load);
    }
  llvm::SmallPtrSet<Operation *, 4> seen;
  for (Value buffer : buffers)
    for (Operation *user : buffer.getUsers()) {
      auto mma = dyn_cast<WgmmaOp>(user);
      if (isa<TmaLoadOp>(user) || (mma && !seen.insert(mma).second))
        continue;
      std::optional<Release> release = mma ? releaseOf(mma) : std::nullopt;
      if (!release)
        return false;
      auto *known =
          llvm::find_if(releases, [&](const auto &each) { return each.first == mma->getBlock(); });
      if (known == releases.end())
        releases.push_back({mma->getBlock(), *release});
      else if (known->second.behind != release->behind || known->second.stage != release->stage)
        return false;
    }
  bool isNext = !releases.empty() && !releases.front().second.stage;
  // Stages that are filled later are those of iterations before.
  auto isTold = [&](TmaLoadOp refill) {
    MbarrierWaitOp iteration = iterationOf(refill);
    return iteration && (!isNext || !lagOf(refill, iteration.getMbarrier()) ||
                         leftBefore(refill, iteration.getMbarrier()));
  };
  return !refills.empty() && llvm::all_of(refills, isTold) &&
         llvm::all_of(releases, [&](const auto &each) { return !each.second.stage == isNext; });
}

void Releaser::run() {
  if (!find())
    return;
  OpBuilder builder(mbarriers);
  Location loc = mbarriers.getLoc();
  builder.setInsertionPointAfter(mbarriers);
  auto left = MbarrierAllocOp::create(builder, loc, mbarriers.getType(), warps);
  bool isNext = !releases.front().second.stage;
  for (auto &[block, release] : releases) {
    builder.setInsertionPointAfter(release.behind);
    Value stage = release.stage;
    if (!stage)
      for (TmaLoadOp refill : refills)
        if (block->findAncestorOpInBlock(*refill))
          stage = lagOf(refill, iterationOf(refill).getMbarrier())
                      ? leftBefore(refill, iterationOf(refill).getMbarrier())
                      : Value(refill.getStage());
    if (stage)
      MbarrierArriveOp::create(builder, loc, left, stage);
  }
  llvm::DenseMap<Operation *, Value> phases; // by branch
  for (TmaLoadOp refill : refills) {
    Value &phase = phases[refill->getParentOp()];
    if (!phase)
      phase = phaseOf(refill, isNext);
    refill.getEmptyMutable().assign(left);
    refill.getEmptyIndexMutable().assign(refill.getStage());
    refill.getEmptyPhaseMutable().assign(phase);
  }
}

namespace {
struct TileReleaseStages : tile::impl::TileReleaseStagesBase<TileReleaseStages> {
  using TileReleaseStagesBase::TileReleaseStagesBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (!releasesStages(kernel))
        continue;
      int64_t warps = getHint(kernel.getHintsAttr(), "num_warps").value_or(4);
      for (MbarrierAllocOp mbarriers :
           llvm::to_vector(kernel.getBody().front().getOps<MbarrierAllocOp>()))
        Releaser(mbarriers, warps).run();
    }
  }
};
} // namespace
