//===- ReleaseStages.cpp - Empty barriers for pipeline stages -------------===//
//
// A CTA barrier before the refill of a stage keeps all warpgroups in the same part of an iteration:
// all do wgmma, then all do elementwise work. With an empty barrier per stage each warp arrives
// when it has read the stage, and only the warp that issues the refill waits. Warpgroups can then
// be apart by as many iterations as there are stages, and the wgmma of one overlaps with the
// elementwise work of another.
//
// The loop's phase counts how often the full barrier of a stage has completed, which is also how
// often the warps have released the stage. The TMA loads of an iteration refill the stage of the
// previous iteration, and wait for one release more.
//
//===----------------------------------------------------------------------===//
#include "PipelinedLoads.h"

#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILERELEASESTAGES
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-release-stages";

namespace {
/// The wait after which the warps have read a stage.
struct Release {
  WgmmaWaitOp after;
  Value stage; // null: the stage that the wgmma of the previous iteration has read
};

class StageReleaser {
public:
  StageReleaser(MbarrierAllocOp mbarriers, unsigned warps) : mbarriers(mbarriers), warps(warps) {}
  void run();

private:
  /// Finds the refills and the releases. Returns false, with a remark, if stages cannot be
  /// released.
  bool find();
  std::optional<Release> matchRelease(WgmmaOp mma);
  MbarrierWaitOp fullWaitOf(TmaLoadOp refill);
  Value phaseOf(TmaLoadOp refill, bool isNext);

  MbarrierAllocOp mbarriers; // the full barriers
  unsigned warps;
  SmallVector<TmaLoadOp> refills;
  SmallVector<std::pair<Block *, Release>> releases;
  SmallVector<SharedLoadOp> reads; // of rows, by threads
};
} // namespace

/// The wait after which a wgmma is complete: in its iteration, or in the next one if the loop keeps
/// it in flight.
std::optional<Release> StageReleaser::matchRelease(WgmmaOp mma) {
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
  int64_t later = -1; // commit groups after the one of `mma`
  WgmmaWaitOp first;
  for (Operation *op = mma->getNextNode(); op; op = op->getNextNode()) {
    later += isa<WgmmaCommitOp>(op);
    auto wait = dyn_cast<WgmmaWaitOp>(op);
    if (wait && later >= int64_t(wait.getPending()))
      return Release{wait, stage};
    if (wait && !first)
      first = wait;
  }
  // The next iteration waits for what the loop carries.
  auto loop = dyn_cast<scf::ForOp>(mma->getBlock()->getParentOp());
  if (loop)
    for (auto [yielded, carried] :
         llvm::zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs()))
      for (Operation *user : carried.getUsers())
        if (auto wait = dyn_cast<WgmmaWaitOp>(user);
            wait && yielded == mma.getResult() && wait->getBlock() == mma->getBlock())
          return Release{wait, Value()};
  // Each iteration commits one group.
  bool isNext = first && later == 0 && first.getPending() == 1 &&
                isa<scf::ForOp>(mma->getBlock()->getParentOp());
  return isNext ? std::optional(Release{first, Value()}) : std::nullopt;
}

/// The wait at the full barrier in the iteration of a refill.
MbarrierWaitOp StageReleaser::fullWaitOf(TmaLoadOp refill) {
  auto branch = dyn_cast<scf::IfOp>(refill->getParentOp());
  if (!branch)
    return nullptr;
  for (auto wait : branch->getBlock()->getOps<MbarrierWaitOp>())
    return wait->isBeforeInBlock(branch) && wait.getMbarriers().getType() == mbarriers.getType()
               ? wait
               : nullptr;
  return nullptr;
}

/// The phase of the empty barrier that a refill waits for. It is the phase of the current
/// iteration, or the one before if the stage was last read before the ring of stages wrapped
/// around.
Value StageReleaser::phaseOf(TmaLoadOp refill, bool isNext) {
  MbarrierWaitOp wait = fullWaitOf(refill);
  if (isNext)
    return wait.getPhase();
  OpBuilder builder(refill->getParentOp());
  Location loc = mbarriers.getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, wait.getMbarrier(), number(0));
  Value before = arith::AddIOp::create(builder, loc, wait.getPhase(), number(-1));
  return arith::SelectOp::create(builder, loc, isFirst, before, wait.getPhase());
}

/// Only wgmma of one commit group per iteration reads the stages, and all iterations release them
/// after the same wait.
bool StageReleaser::find() {
  SmallVector<Value> buffers;
  for (Operation *user : mbarriers->getUsers())
    if (auto load = dyn_cast<TmaLoadOp>(user)) {
      if (load.getEmpty())
        return false;
      if (!llvm::is_contained(buffers, load.getBuffer()))
        buffers.push_back(load.getBuffer());
      // Loads of the prologue fill stages for the first time.
      if (!getConstantIntValue(load.getStage()) || fullWaitOf(load))
        refills.push_back(load);
    }
  llvm::SmallPtrSet<Operation *, 4> seen;
  for (Value buffer : buffers)
    for (Operation *user : buffer.getUsers()) {
      auto mma = dyn_cast<WgmmaOp>(user);
      if (isa<TmaLoadOp>(user) || (mma && !seen.insert(mma).second))
        continue;
      if (auto read = dyn_cast<SharedLoadOp>(user);
          read && read.getBuffer().getType().getTile().getRank() == 1) {
        reads.push_back(read);
        continue;
      }
      if (!mma) {
        missed(user, kPass, "ReadByThreads")
            << remark::reason("threads read the stage: a CTA barrier precedes its refill");
        return false;
      }
      std::optional<Release> release = matchRelease(mma);
      if (!release) {
        missed(mma, kPass, "WaitNotFound") << remark::reason(
            "no wait of this or the next iteration completes the wgmma that reads the stage");
        return false;
      }
      auto *known =
          llvm::find_if(releases, [&](const auto &each) { return each.first == mma->getBlock(); });
      if (known == releases.end()) {
        releases.push_back({mma->getBlock(), *release});
        continue;
      }
      // The last of several waits: that of the next iteration, if there is one.
      Release &last = known->second;
      bool isOther = last.stage && release->stage
                         ? last.stage != release->stage
                         : last.stage == release->stage && last.after != release->after;
      if (isOther) {
        missed(mma, kPass, "SeveralWaits") << remark::reason(
            "the iteration completes the wgmma that read the stage at several waits");
        return false;
      }
      if (last.stage && (!release->stage || last.after->isBeforeInBlock(release->after)))
        last = *release;
    }
  bool isNext = !releases.empty() && !releases.front().second.stage;
  auto isReleased = [&](TmaLoadOp refill) { return bool(fullWaitOf(refill)); };
  if (refills.empty() || releases.empty())
    return false;
  if (llvm::all_of(refills, isReleased) &&
      llvm::all_of(releases, [&](const auto &each) { return !each.second.stage == isNext; }))
    return true;
  missed(refills.front(), kPass, "RefillOrder") << remark::reason(
      "the iteration in which warps have read the stage that is refilled is not known");
  return false;
}

void StageReleaser::run() {
  if (!find())
    return;
  OpBuilder builder(mbarriers);
  Location loc = mbarriers.getLoc();
  builder.setInsertionPointAfter(mbarriers);
  auto empty = MbarrierAllocOp::create(builder, loc, mbarriers.getType(), warps);
  bool isNext = !releases.front().second.stage;
  for (auto &[block, release] : releases) {
    // Threads have read the rows of this iteration, too.
    Operation *last = release.after;
    for (SharedLoadOp read : reads)
      if (read->getBlock() == block && !isNext && last->isBeforeInBlock(read))
        last = read;
    builder.setInsertionPointAfter(last);
    Value stage = release.stage;
    if (!stage)
      for (TmaLoadOp refill : refills)
        if (block->findAncestorOpInBlock(*refill))
          stage = refill.getStage();
    if (stage)
      MbarrierArriveOp::create(builder, loc, empty, stage);
  }
  llvm::DenseMap<Operation *, Value> phases; // by the branch around the refills
  for (TmaLoadOp refill : refills) {
    Value &phase = phases[refill->getParentOp()];
    if (!phase)
      phase = phaseOf(refill, isNext);
    refill.getEmptyMutable().assign(empty);
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
      int64_t warps = kernel.getNumWarps();
      for (MbarrierAllocOp mbarriers :
           llvm::to_vector(kernel.getBody().front().getOps<MbarrierAllocOp>()))
        StageReleaser(mbarriers, warps).run();
    }
  }
};
} // namespace
