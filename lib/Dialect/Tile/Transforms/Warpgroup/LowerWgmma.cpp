//===- LowerWgmma.cpp - Lower contractions to wgmma -----------------------===//
//
// wgmma reads operands from shared memory: warps neither load fragments nor hold them in registers.
// The pass recognizes contractions that wgmma supports by the layouts of the accumulator and of the
// stages. The same layouts are valid for mma.sync, so a contraction that stays is still correct.
//
// Contractions that follow each other form one commit group. Where the loop carries an accumulator,
// the wait for a group stands in the next iteration, and the TMA loads that refill the group's
// stages move after that wait.
//
// A contraction of two stages needs nothing that the iteration computes. It starts right after an
// earlier one, in a group of its own, and runs under the elementwise work on the earlier result.
//
//===----------------------------------------------------------------------===//
#include "Registers.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILELOWERWGMMA
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-lower-wgmma";

namespace {
/// A contraction, and the shared memory reads of its operands; `left` is null if lhs is in
/// registers.
struct Contraction {
  MmaOp mma;
  SharedLoadOp left, right;
};

/// Contractions of one commit group, in program order.
using CommitGroup = SmallVector<Contraction>;

/// Lowers the contractions of one block.
class WgmmaLowering {
public:
  WgmmaLowering(Block &block, unsigned warps, unsigned residents)
      : block(block), loop(dyn_cast<scf::ForOp>(block.getParentOp())), warps(warps),
        residents(residents) {}
  void run();

private:
  std::optional<Contraction> match(MmaOp mma);
  SharedLoadOp matchOperand(MmaOp mma, Value operand, unsigned over, Spread spread, StringRef &why);
  void startEarly();
  std::optional<SmallVector<Contraction>> findDelayed(ArrayRef<Contraction> contractions,
                                                      MmaOp mma);
  bool canStartAfter(const Contraction &contraction, MmaOp lead);
  bool hasRegisters(MmaOp lead, MmaOp mma);
  SmallVector<CommitGroup> findGroups();
  std::optional<SmallVector<unsigned>> carriedAccumulators(const CommitGroup &group);
  std::optional<unsigned> carriedToNextIteration(const CommitGroup &group);
  std::optional<SmallVector<Operation *>> refillsOfStages(const CommitGroup &group);
  void rewrite(const CommitGroup &group);
  void moveAfter(Operation *wait, ArrayRef<Operation *> refills);
  void waitBeforeUse(WgmmaCommitOp commit, ArrayRef<Value> results, ArrayRef<Operation *> refills);
  WgmmaWaitOp waitForCarried(Location loc, Value acc);
  void waitAfterLoop(Location loc, ArrayRef<unsigned> carried);

  Block &block;
  scf::ForOp loop; // whose body is the block, or null
  unsigned warps, residents;
  llvm::SmallPtrSet<Operation *, 4> early; // contractions that start early
  WgmmaCommitOp first;                     // the first commit group of the block
  /// The TMA loads that follow the wait for groups of the previous iteration.
  llvm::SmallPtrSet<Operation *, 4> carriedRefills;
  WgmmaWaitOp carriedWait;               // for groups of the previous iteration
  SmallVector<Operation *> firstRefills; // the TMA loads into the stages of that group
  /// Groups to wait for before the first use of an accumulator: the commit, the accumulators, and
  /// the TMA loads into the group's stages.
  SmallVector<std::tuple<WgmmaCommitOp, SmallVector<Value>, SmallVector<Operation *>>> pending;
};
} // namespace

/// The read of an operand that wgmma can do itself. TMA loads or shared stores have filled the
/// stage, and no operation writes shared memory between the read and the contraction. Returns null
/// and sets `why` otherwise.
SharedLoadOp WgmmaLowering::matchOperand(MmaOp mma, Value operand, unsigned over, Spread spread,
                                         StringRef &why) {
  auto read = operand.getDefiningOp<SharedLoadOp>();
  if (!read || read.getAt() || read.getShift() || read->getBlock() != &block) {
    why = "is not read from a whole stage of shared memory in the same block";
    return nullptr;
  }
  if (!groupMatrix(read.getSource(), over, mma.getParts(), spread)) {
    why = "has a layout in shared memory that no wgmma descriptor describes";
    return nullptr;
  }
  if (!llvm::all_of(read.getBuffer().getUsers(),
                    llvm::IsaPred<TmaLoadOp, SharedStoreOp, SharedLoadOp, WgmmaOp>)) {
    why = "lies in a buffer that is not filled by TMA loads or shared stores";
    return nullptr;
  }
  for (Operation *op = read->getNextNode(); op != mma; op = op->getNextNode())
    if (!isa<SharedLoadOp>(op) && !isMemoryEffectFree(op)) {
      why = "may be overwritten between its read and the contraction";
      return nullptr;
    }
  return read;
}

/// Whether wgmma has the element types of a contraction; says so by a remark if it has not.
static bool hasElementTypes(MmaOp mma) {
  Type element = getElementTypeOrSelf(mma.getLhs()), acc = mma.getType().getElementType();
  if ((element.isBF16() || element.isF16() || element.isTF32()) && acc.isF32())
    return true;
  missed(mma, kPass, "ElementType")
      << remark::reason("the pass takes bf16, f16 or tf32 operands and an f32 accumulator, got "
                        "{0} and {1}",
                        element, acc);
  return false;
}

/// The contraction if wgmma supports its types, its shape, the layout of its accumulator and where
/// its operands lie; none, with a remark, otherwise.
std::optional<Contraction> WgmmaLowering::match(MmaOp mma) {
  constexpr int64_t kMaxColumns = 256, kRowsPerWarp = 16; // of an instruction
  constexpr unsigned kWarpgroup = 4;
  if (!hasElementTypes(mma))
    return std::nullopt;
  auto lhs = cast<RankedTensorType>(mma.getLhs().getType());
  Spread spread = mma.getParts() > 1 ? Spread() : spreadOf(mma.getAcc());
  int64_t rows = mma.getMatrix()[0] / spread.along(0),
          columns = mma.getMatrix()[1] / spread.along(1);
  if (!fragmentDepth(mma)) {
    missed(mma, kPass, "NoTensorCores")
        << remark::reason("a contraction of {0} x {1} x {2} does not run on tensor cores", rows,
                          columns, lhs.getDimSize(1) / mma.getParts());
    return std::nullopt;
  }
  if (columns > kMaxColumns) {
    missed(mma, kPass, "TooManyColumns") << remark::reason(
        "the accumulator has {0} columns, and wgmma at most {1}", columns, kMaxColumns);
    return std::nullopt;
  }
  bool isWord = lhs.getElementType().isTF32();
  std::optional<Layout> left =
      groupLeft(lhs.getShape(), isWord ? 32 : 16, warps, mma.getParts(), spread);
  if (!left) {
    if (warps % kWarpgroup)
      missed(mma, kPass, "PartialWarpgroup") << remark::reason(
          "{0} warps are no multiple of the {1} of a warpgroup", warps, kWarpgroup);
    else
      missed(mma, kPass, "TooFewRows")
          << remark::reason("the accumulator has {0} rows, and {1} warps need at least {2}", rows,
                            warps, kRowsPerWarp * warps);
    return std::nullopt;
  }
  if (!areGroupSums(mma.getAcc(), warps) || layoutOf(mma.getAcc()) != layoutOf(mma.getResult())) {
    missed(mma, kPass, "AccumulatorLayout") << remark::reason(
        "the accumulator is not distributed over the {0} warps as wgmma requires", warps);
    return std::nullopt;
  }
  StringRef whyLeft, whyRight;
  Contraction contraction{mma, matchOperand(mma, mma.getLhs(), /*over=*/1, spread, whyLeft),
                          matchOperand(mma, mma.getRhs(), /*over=*/0, spread, whyRight)};
  if (!contraction.right) {
    missed(mma, kPass, "RhsNotInSharedMemory") << remark::reason("rhs {0}", whyRight);
    return std::nullopt;
  }
  if (!contraction.left && isWord) {
    missed(mma, kPass, "LhsInRegisters") << remark::reason("lhs of tf32 {0}", whyLeft);
    return std::nullopt;
  }
  if (!contraction.left && layoutOf(mma.getLhs()) != left) {
    missed(mma, kPass, "LhsLayout")
        << remark::reason("lhs {0}, and its layout in registers is not the one of wgmma", whyLeft);
    return std::nullopt;
  }
  return contraction;
}

/// Whether threads hold the accumulators of two contractions at once, beside those that the loop
/// carries and registers for addresses and elementwise work.
bool WgmmaLowering::hasRegisters(MmaOp lead, MmaOp mma) {
  int64_t threads = 32 * warps, available = registersOfThread(threads, residents),
          needed = registersOf(lead.getResult(), threads) + registersOf(mma.getResult(), threads) +
                   kRegistersBeside;
  for (Value carried : loop.getRegionIterArgs())
    needed += registersOf(carried, threads);
  if (needed <= available)
    return true;
  missed(mma, kPass, "TooFewRegisters") << remark::reason(
      "it could run beside an earlier contraction, for which {0} registers per thread are needed, "
      "and {1} threads have {2}",
      needed, threads * residents, available);
  return false;
}

/// Whether a contraction depends on nothing between `lead` and itself, and the iteration works on
/// the result of `lead` there.
bool WgmmaLowering::canStartAfter(const Contraction &contraction, MmaOp lead) {
  MmaOp mma = contraction.mma;
  Operation *acc = mma.getAcc().getDefiningOp();
  if (!contraction.left || !acc || (acc->getBlock() == &block && !acc->isBeforeInBlock(lead)))
    return false;
  SharedLoadOp left = contraction.left, right = contraction.right;
  auto isOperand = [&](Value buffer) {
    return buffer == left.getBuffer() || buffer == right.getBuffer();
  };
  auto isRead = [&](Operation *op) { return op == left || op == right; };
  bool hasWork = false;
  for (Operation *op = lead->getNextNode(); op != mma; op = op->getNextNode()) {
    hasWork |= isa<MapOp>(op);
    if (auto wait = dyn_cast<MbarrierWaitOp>(op)) {
      if (llvm::any_of(wait.getMbarriers().getUsers(), [&](Operation *user) {
            auto load = dyn_cast<TmaLoadOp>(user);
            return load && isOperand(load.getBuffer());
          }))
        return false;
      continue;
    }
    bool isMade = !isRead(op) && llvm::any_of(op->getResults(), [&](Value result) {
      return llvm::any_of(result.getUsers(),
                          [&](Operation *user) { return user == mma || isRead(user); });
    });
    if (isMade || !(isa<SharedLoadOp>(op) || isMemoryEffectFree(op)))
      return false;
  }
  return hasWork;
}

/// The contractions with lhs in registers, of which ptxas requires that no other one runs while
/// threads compute lhs: all of them start after the use of the result of `mma`. None if there are
/// others.
std::optional<SmallVector<Contraction>>
WgmmaLowering::findDelayed(ArrayRef<Contraction> contractions, MmaOp mma) {
  SmallVector<Contraction> delayed;
  for (const Contraction &each : contractions)
    if (!each.left)
      delayed.push_back(each);
  if (delayed.empty())
    return delayed;
  MmaOp last = delayed.back().mma;
  bool isUsed = llvm::any_of(mma->getUsers(), [&](Operation *user) {
    Operation *here = block.findAncestorOpInBlock(*user);
    return here && here->isBeforeInBlock(last);
  });
  bool areCarried = llvm::all_of(delayed, [&](const Contraction &each) {
    MmaOp other = each.mma;
    return other == last || (other->hasOneUse() && isa<scf::YieldOp>(*other->user_begin()) &&
                             each.right->hasOneUse() && last.getAcc().getDefiningOp() != other);
  });
  return isUsed && areCarried ? std::optional(delayed) : std::nullopt;
}

/// Moves a contraction of two stages behind the first contraction of the iteration.
void WgmmaLowering::startEarly() {
  if (!loop)
    return;
  SmallVector<Contraction> contractions;
  for (auto mma : block.getOps<MmaOp>())
    if (std::optional<Contraction> contraction = match(mma))
      contractions.push_back(*contraction);
  if (contractions.size() < 2)
    return;
  for (const Contraction &contraction : ArrayRef(contractions).drop_front()) {
    MmaOp mma = contraction.mma, lead = contractions.front().mma;
    if (!canStartAfter(contraction, lead) || !hasRegisters(lead, mma))
      continue;
    std::optional<SmallVector<Contraction>> delayed = findDelayed(contractions, mma);
    if (!delayed)
      continue;
    Operation *last = lead;
    for (SharedLoadOp read : {contraction.left, contraction.right})
      if (lead->isBeforeInBlock(read)) {
        read->moveAfter(last);
        last = read;
      }
    mma->moveAfter(last);
    early.insert(mma);
    for (const Contraction &each : *delayed)
      if (each.mma != delayed->back().mma) {
        each.mma->moveBefore(delayed->back().mma);
        each.right->moveBefore(each.mma);
      }
    return;
  }
}

/// One fence precedes all contractions of a commit group: the operations between two of them use no
/// result of the first and compute no accumulator of the second. A contraction with lhs in
/// registers ends its group, because the registers are free only after a wait.
SmallVector<CommitGroup> WgmmaLowering::findGroups() {
  SmallVector<CommitGroup> groups;
  bool isOpen = false; // whether the last group can take another contraction
  llvm::SmallPtrSet<Operation *, 4> members;
  for (Operation &op : block) {
    auto mma = dyn_cast<MmaOp>(op);
    std::optional<Contraction> contraction = mma ? match(mma) : std::nullopt;
    auto isMember = [&](Value value) { return members.contains(value.getDefiningOp()); };
    if (!contraction) {
      isOpen &= (isa<SharedLoadOp>(op) || isMemoryEffectFree(&op)) &&
                llvm::none_of(op.getOperands(), isMember) && !op.getNumRegions();
      continue;
    }
    Operation *acc = mma.getAcc().getDefiningOp();
    bool isBefore = !acc || members.contains(acc) || acc->getBlock() != &block ||
                    (isOpen && acc->isBeforeInBlock(groups.back().front().mma));
    if (!isOpen || !contraction->left || !isBefore || early.contains(mma)) {
      groups.emplace_back();
      members.clear();
    }
    groups.back().push_back(*contraction);
    members.insert(mma);
    isOpen = bool(contraction->left);
  }
  return groups;
}

/// The numbers of the group's accumulators among the values that the loop carries; none unless the
/// loop carries all of them and nothing else uses them.
std::optional<SmallVector<unsigned>> WgmmaLowering::carriedAccumulators(const CommitGroup &group) {
  SmallVector<unsigned> carried;
  for (auto [i, contraction] : llvm::enumerate(group)) {
    MmaOp mma = contraction.mma;
    bool isAdded = llvm::any_of(ArrayRef(group).drop_front(i + 1), [&](const Contraction &next) {
      return MmaOp(next.mma).getAcc() == mma.getResult();
    });
    if (!contraction.left || !loop || !mma->hasOneUse())
      return std::nullopt;
    if (isAdded)
      continue;
    Value first = mma.getAcc();
    for (const Contraction &before : llvm::reverse(ArrayRef(group).take_front(i)))
      if (MmaOp(before.mma).getResult() == first)
        first = MmaOp(before.mma).getAcc();
    auto argument = dyn_cast<BlockArgument>(first);
    if (!argument || argument.getOwner() != &block || argument == loop.getInductionVar() ||
        !argument.hasOneUse())
      return std::nullopt;
    unsigned number = argument.getArgNumber() - 1;
    if (loop.getYieldedValues()[number] != mma.getResult())
      return std::nullopt;
    carried.push_back(number);
  }
  return carried;
}

/// The number of an accumulator that the loop carries and that other operations use in the next
/// iteration, after that iteration's first commit group: the contraction overlaps with that group.
std::optional<unsigned> WgmmaLowering::carriedToNextIteration(const CommitGroup &group) {
  MmaOp mma = group.front().mma;
  auto isYielded = [](const Contraction &each) {
    MmaOp mma = each.mma;
    return mma->hasOneUse() && isa<scf::YieldOp>(*mma->user_begin());
  };
  if (!first || !loop || !llvm::all_of(group, isYielded))
    return std::nullopt;
  if (group.size() > 1) {
    missed(mma, kPass, "SeveralCarried") << remark::reason(
        "the loop carries the {0} accumulators of a commit group, and the wait of the next "
        "iteration is for one: this iteration waits for them",
        group.size());
    return std::nullopt;
  }
  unsigned number = mma->use_begin()->getOperandNumber();
  auto isAfterFirst = [&](Operation *user) {
    Operation *here = block.findAncestorOpInBlock(*user);
    return here && first->isBeforeInBlock(here);
  };
  return llvm::all_of(loop.getRegionIterArg(number).getUsers(), isAfterFirst)
             ? std::optional(number)
             : std::nullopt;
}

/// The TMA loads of the block, or the branches around them, that refill the stages which a group
/// reads; none if other operations write these stages.
std::optional<SmallVector<Operation *>> WgmmaLowering::refillsOfStages(const CommitGroup &group) {
  SmallVector<Operation *> refills;
  for (const Contraction &contraction : group)
    for (SharedLoadOp read : {contraction.left, contraction.right})
      for (Operation *user : read ? llvm::to_vector(SharedLoadOp(read).getBuffer().getUsers())
                                  : SmallVector<Operation *>()) {
        Operation *here = block.findAncestorOpInBlock(*user);
        if (!here || isa<SharedLoadOp, WgmmaOp>(user))
          continue;
        if (!isa<TmaLoadOp>(user) || !isa<TmaLoadOp, scf::IfOp>(here) || here->getNumResults())
          return std::nullopt;
        if (!llvm::is_contained(refills, here))
          refills.push_back(here);
      }
  llvm::sort(refills, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return refills;
}

void WgmmaLowering::moveAfter(Operation *wait, ArrayRef<Operation *> refills) {
  for (Operation *refill : refills) {
    refill->moveAfter(wait);
    wait = refill;
  }
}

/// Waits for a group before the first use of its accumulators; later groups stay in flight. The TMA
/// loads into the group's stages move after the wait.
void WgmmaLowering::waitBeforeUse(WgmmaCommitOp commit, ArrayRef<Value> results,
                                  ArrayRef<Operation *> refills) {
  Operation *firstUser = block.getTerminator();
  for (Value acc : results)
    for (Operation *user : acc.getUsers())
      if (Operation *here = block.findAncestorOpInBlock(*user);
          here && here->isBeforeInBlock(firstUser))
        firstUser = here;
  unsigned later = 0;
  for (Operation *op = commit->getNextNode(); op != firstUser; op = op->getNextNode())
    later += isa<WgmmaCommitOp>(op);
  OpBuilder builder(firstUser);
  auto wait = WgmmaWaitOp::create(builder, commit.getLoc(), later, results, /*after=*/Value());
  for (auto [inFlight, complete] : llvm::zip_equal(results, wait.getResults()))
    Value(inFlight).replaceAllUsesExcept(complete, wait);
  SmallVector<Operation *> early;
  for (Operation *refill : refills)
    if (commit->isBeforeInBlock(refill) && refill->isBeforeInBlock(wait) &&
        !carriedRefills.contains(refill))
      early.push_back(refill);
  moveAfter(wait, early);
}

/// Waits after the first group of an iteration for accumulators that the loop carries: one wait for
/// all of them.
WgmmaWaitOp WgmmaLowering::waitForCarried(Location loc, Value acc) {
  OpBuilder builder(first->getContext());
  builder.setInsertionPointAfter(first);
  SmallVector<Value> sums;
  if (carriedWait)
    sums = llvm::to_vector(carriedWait.getSums());
  sums.push_back(acc);
  auto wait = WgmmaWaitOp::create(builder, loc, 0, sums, /*after=*/Value());
  acc.replaceAllUsesExcept(wait.getResults().back(), wait);
  if (carriedWait) {
    carriedWait->replaceAllUsesWith(wait.getResults().drop_back());
    carriedWait.erase();
  }
  return carriedWait = wait;
}

void WgmmaLowering::waitAfterLoop(Location loc, ArrayRef<unsigned> carried) {
  OpBuilder builder(loop);
  builder.setInsertionPointAfter(loop);
  SmallVector<Value> results;
  for (unsigned number : carried)
    results.push_back(loop.getResult(number));
  auto wait = WgmmaWaitOp::create(builder, loc, 0, results, /*after=*/Value());
  for (auto [inFlight, complete] : llvm::zip_equal(results, wait.getResults()))
    inFlight.replaceAllUsesExcept(complete, wait);
}

void WgmmaLowering::rewrite(const CommitGroup &group) {
  std::optional<SmallVector<unsigned>> carried = carriedAccumulators(group);
  std::optional<unsigned> next = carried ? std::nullopt : carriedToNextIteration(group);
  std::optional<SmallVector<Operation *>> refills = refillsOfStages(group);
  OpBuilder builder(group.front().mma);
  WgmmaFenceOp::create(builder, builder.getInsertionPoint()->getLoc());
  SmallVector<Value> results;
  Location loc = MmaOp(group.back().mma).getLoc();
  for (Contraction contraction : group) {
    MmaOp mma = contraction.mma;
    SharedLoadOp left = contraction.left, right = contraction.right;
    builder.setInsertionPoint(mma);
    auto wgmma =
        WgmmaOp::create(builder, mma.getLoc(), left ? Value(left.getBuffer()) : Value(mma.getLhs()),
                        left ? left.getStage() : Value(), right.getBuffer(), right.getStage(),
                        mma.getAcc(), /*join=*/IntegerAttr());
    wgmma.setLhsTransposed(left && left.getTransposed());
    wgmma.setRhsTransposed(right.getTransposed());
    llvm::erase(results, mma.getAcc());
    results.push_back(wgmma);
    mma.replaceAllUsesWith(wgmma.getResult());
    mma.erase();
    for (SharedLoadOp read : {left, right})
      if (read && read->use_empty())
        read.erase();
    builder.setInsertionPointAfter(wgmma);
  }
  auto commit = WgmmaCommitOp::create(builder, loc);
  if (refills && carried) {
    moveAfter(WgmmaWaitOp::create(builder, loc, 1, ValueRange(), /*after=*/Value()), *refills);
    waitAfterLoop(loop.getLoc(), *carried);
  } else if (refills && next) {
    // The wait stands after the first group of the next iteration and waits for both groups. ptxas
    // serializes wgmma if an iteration uses one of two accumulators in flight that were started in
    // different iterations.
    Value acc = loop.getRegionIterArg(*next);
    WgmmaWaitOp wait = waitForCarried(loc, acc);
    moveAfter(wait, *refills);
    carriedRefills.insert(refills->begin(), refills->end());
    // One barrier then serves all refills.
    for (Operation *refill : firstRefills)
      if (!llvm::is_contained(*refills, refill))
        refill->moveAfter(wait);
    waitAfterLoop(loop.getLoc(), *next);
  } else {
    pending.push_back({commit, results, refills.value_or(SmallVector<Operation *>())});
  }
  if (!first) {
    first = commit;
    firstRefills = refills.value_or(SmallVector<Operation *>());
  }
}

void WgmmaLowering::run() {
  startEarly();
  for (const CommitGroup &group : findGroups())
    rewrite(group);
  for (auto &[commit, results, refills] : pending)
    waitBeforeUse(commit, results, refills);
}

/// Why a kernel without `wgmma` keeps mma.sync.
static void remarkMmaSync(KernelOp kernel) {
  if (!kernel.getContext()->getRemarkEngine())
    return;
  kernel.walk([](MmaOp mma) {
    if (hasElementTypes(mma))
      missed(mma, kPass, "MmaSync")
          << remark::reason("the schedule of the kernel selects mma.sync: it does not set wgmma");
  });
}

namespace {
struct TileLowerWgmma : tile::impl::TileLowerWgmmaBase<TileLowerWgmma> {
  using TileLowerWgmmaBase::TileLowerWgmmaBase;

  void runOnOperation() override {
    llvm::SmallPtrSet<Operation *, 4> lowered;
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (!kernel.isOn(TuningField::Wgmma))
        continue;
      llvm::SetVector<Block *> blocks;
      kernel.walk([&](MmaOp mma) { blocks.insert(mma->getBlock()); });
      unsigned warps = kernel.getNumWarps(),
               residents = kernel.getField(TuningField::MinCtasPerSm).value_or(1);
      for (Block *block : blocks)
        WgmmaLowering(*block, warps, residents).run();
      lowered.insert(kernel);
    }
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (!lowered.contains(kernel))
        remarkMmaSync(kernel);
  }
};
} // namespace
