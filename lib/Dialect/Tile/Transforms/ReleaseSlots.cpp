//===- ReleaseSlots.cpp - Slots that warps give back at gates -------------===//
//
// A barrier of the block before a slot is filled again holds all groups of warps in the same place of a turn: all multiply,
// and then all work on sums. At a gate each warp tells that it has left a slot, and only the one that fills the slot waits
// there; groups drift apart by as many turns as there are slots, and some multiply while others do not.
//
// A slot's turns are counted by the loop: the gate behind which tiles come has opened `phase` times before a turn, and so often have
// warps left the slot. The copies of a turn fill the slot of the turn before, and wait until that was left once more; or, where that takes long, one
// of some turns before.
//
//===----------------------------------------------------------------------===//
#include "Streams.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILERELEASESLOTS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// Where the warps of a block have read a slot.
struct Release {
  MmaWaitOp behind;
  Value slot; // none: the one that the product of the turn before has read
};

class Releaser {
public:
  Releaser(GatesOp gates, unsigned warps) : gates(gates), warps(warps) {}
  void run();

private:
  bool find();
  std::optional<Release> releaseOf(MmaAsyncOp mma);
  AwaitOp turnOf(FetchOp refill);
  Value phaseOf(FetchOp refill, bool isNext);

  GatesOp gates; // that the copies open
  unsigned warps;
  SmallVector<FetchOp> refills;
  SmallVector<std::pair<Block *, Release>> releases;
};
} // namespace

/// The wait behind which a product is over, in its turn or, where the loop has it under way, in the next one.
std::optional<Release> Releaser::releaseOf(MmaAsyncOp mma) {
  auto slotOf = [&](Value buffer) -> Value {
    return buffer == mma.getRhs() ? Value(mma.getRhsSlot()) : Value(mma.getLhsSlot());
  };
  Value slot;
  for (FetchOp refill : refills)
    for (Value buffer : {Value(mma.getLhs()), Value(mma.getRhs())}) {
      if (buffer != refill.getBuffer())
        continue;
      if (slot && slot != slotOf(buffer))
        return std::nullopt;
      slot = slotOf(buffer);
    }
  int64_t behind = -1; // groups that are closed behind it
  MmaWaitOp first;
  for (Operation *op = mma->getNextNode(); op; op = op->getNextNode()) {
    behind += isa<MmaCommitOp>(op);
    auto wait = dyn_cast<MmaWaitOp>(op);
    if (wait && behind >= int64_t(wait.getPending()))
      return Release{wait, slot};
    if (wait && !first)
      first = wait;
  }
  // One group more is closed in each turn.
  bool isNext = first && behind == 0 && first.getPending() == 1 && isa<scf::ForOp>(mma->getBlock()->getParentOp());
  return isNext ? std::optional(Release{first, Value()}) : std::nullopt;
}

/// The wait of a refill's turn for its own tiles.
AwaitOp Releaser::turnOf(FetchOp refill) {
  auto branch = dyn_cast<scf::IfOp>(refill->getParentOp());
  if (!branch)
    return nullptr;
  for (auto await : branch->getBlock()->getOps<AwaitOp>())
    return await->isBeforeInBlock(branch) && await.getGates().getType() == gates.getType() ? await : nullptr;
  return nullptr;
}

/// How often the slot of the turn before was left before that, by its lowest bit. Where each turn tells of the slot that it fills, all
/// slots were left once in as many turns as there are.
Value Releaser::phaseOf(FetchOp refill, bool isNext) {
  AwaitOp turn = turnOf(refill);
  int64_t lag = lagOf(refill, turn.getGate()) + (isNext ? 0 : 1);
  if (!lag)
    return turn.getPhase();
  OpBuilder builder(refill->getParentOp());
  Location loc = gates.getLoc();
  auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  Value isFirst = lag == 1 ? arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, turn.getGate(), number(0))
                           : arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, turn.getGate(), number(lag));
  Value before = arith::AddIOp::create(builder, loc, turn.getPhase(), number(-1));
  return arith::SelectOp::create(builder, loc, isFirst, before, turn.getPhase());
}

/// All that reads the slots are products, of which each turn has one group; all turns leave their slots alike.
bool Releaser::find() {
  SmallVector<Value> buffers;
  for (Operation *user : gates->getUsers())
    if (auto fetch = dyn_cast<FetchOp>(user)) {
      if (!fetch.isBox() || fetch.getLeft())
        return false;
      if (!llvm::is_contained(buffers, fetch.getBuffer()))
        buffers.push_back(fetch.getBuffer());
      // Before the loop, slots are filled for the first time.
      if (!getConstantIntValue(fetch.getSlot()) || turnOf(fetch))
        refills.push_back(fetch);
    }
  llvm::SmallPtrSet<Operation *, 4> seen;
  for (Value buffer : buffers)
    for (Operation *user : buffer.getUsers()) {
      auto mma = dyn_cast<MmaAsyncOp>(user);
      if (isa<FetchOp>(user) || (mma && !seen.insert(mma).second))
        continue;
      std::optional<Release> release = mma ? releaseOf(mma) : std::nullopt;
      if (!release)
        return false;
      auto *known = llvm::find_if(releases, [&](const auto &each) { return each.first == mma->getBlock(); });
      if (known == releases.end())
        releases.push_back({mma->getBlock(), *release});
      else if (known->second.behind != release->behind || known->second.slot != release->slot)
        return false;
    }
  bool isNext = !releases.empty() && !releases.front().second.slot;
  // Slots that are filled later are those of turns before.
  auto isTold = [&](FetchOp refill) {
    AwaitOp turn = turnOf(refill);
    return turn && (!isNext || !lagOf(refill, turn.getGate()) || leftBefore(refill, turn.getGate()));
  };
  return !refills.empty() && llvm::all_of(refills, isTold) &&
         llvm::all_of(releases, [&](const auto &each) { return !each.second.slot == isNext; });
}

void Releaser::run() {
  if (!find())
    return;
  OpBuilder builder(gates);
  Location loc = gates.getLoc();
  builder.setInsertionPointAfter(gates);
  auto left = GatesOp::create(builder, loc, gates.getType(), warps);
  bool isNext = !releases.front().second.slot;
  for (auto &[block, release] : releases) {
    builder.setInsertionPointAfter(release.behind);
    Value slot = release.slot;
    if (!slot)
      for (FetchOp refill : refills)
        if (block->findAncestorOpInBlock(*refill))
          slot = lagOf(refill, turnOf(refill).getGate()) ? leftBefore(refill, turnOf(refill).getGate()) : Value(refill.getSlot());
    if (slot)
      ArriveOp::create(builder, loc, left, slot);
  }
  llvm::DenseMap<Operation *, Value> phases; // by branch
  for (FetchOp refill : refills) {
    Value &phase = phases[refill->getParentOp()];
    if (!phase)
      phase = phaseOf(refill, isNext);
    refill.getLeftMutable().assign(left);
    refill.getLeftGateMutable().assign(refill.getSlot());
    refill.getLeftPhaseMutable().assign(phase);
  }
}

namespace {
struct TileReleaseSlots : tile::impl::TileReleaseSlotsBase<TileReleaseSlots> {
  using TileReleaseSlotsBase::TileReleaseSlotsBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (!givesSlotsBack(kernel))
        continue;
      int64_t warps = getHint(kernel.getHintsAttr(), "warps").value_or(4);
      for (GatesOp gates : llvm::to_vector(kernel.getBody().front().getOps<GatesOp>()))
        Releaser(gates, warps).run();
    }
  }
};
} // namespace
