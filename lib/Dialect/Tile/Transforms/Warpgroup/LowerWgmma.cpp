//===- LowerWgmma.cpp - Products that four warps begin together --------===//
//
// Tensor cores read operands from shared memory by themselves where a warpgroup asks them to: no
// warp waits for fragments, and none holds them. Which products can be made so is read from
// layouts, which serve as well for products of single warps: what is not taken here stays right.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILELOWERWGMMA
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// A product, and the reads of its operands; on the left none where that is in registers.
struct Product {
  MmaOp mma;
  SharedLoadOp left, right;
};

/// Products that follow each other, which are waited for together.
using Batch = SmallVector<Product>;

class Grouper {
public:
  Grouper(Block &block, unsigned warps)
      : block(block), loop(dyn_cast<scf::ForOp>(block.getParentOp())), warps(warps) {}
  void run();

private:
  std::optional<Product> productOf(MmaOp mma);
  SharedLoadOp readOf(MmaOp mma, Value operand, unsigned over, Spread spread);
  SmallVector<Batch> findBatches();
  std::optional<SmallVector<unsigned>> carriedBy(const Batch &batch);
  std::optional<unsigned> carriedOver(const Batch &batch);
  std::optional<SmallVector<Operation *>> refillsOf(const Batch &batch);
  void rewrite(const Batch &batch);
  void refillBehind(Operation *wait, ArrayRef<Operation *> refills);
  void waitInIteration(WgmmaCommitOp commit, ArrayRef<Value> made, ArrayRef<Operation *> refills);
  void waitBehindLoop(Location loc, ArrayRef<unsigned> carried);

  Block &block;
  scf::ForOp loop; // whose body the block is, if it is one
  unsigned warps;
  WgmmaCommitOp first;                   // of the block's products
  SmallVector<Operation *> firstRefills; // of the stages that those read
  /// Sums that are waited for where they are taken, when all products are begun, and what fills the
  /// stages that they are made of.
  SmallVector<std::tuple<WgmmaCommitOp, SmallVector<Value>, SmallVector<Operation *>>> open;
};
} // namespace

/// The read of a stage that the product can make by itself: the machine's copies or threads' writes
/// have filled it, and nothing changes it until then.
SharedLoadOp Grouper::readOf(MmaOp mma, Value operand, unsigned over, Spread spread) {
  auto read = operand.getDefiningOp<SharedLoadOp>();
  if (!read || read.getAt() || read.getShift() || read->getBlock() != &block)
    return nullptr;
  BufferType buffer = read.getBuffer().getType();
  if (!groupMatrix(buffer, over, mma.getParts(), spread) ||
      !llvm::all_of(read.getBuffer().getUsers(),
                    llvm::IsaPred<TmaLoadOp, SharedStoreOp, SharedLoadOp, WgmmaOp>))
    return nullptr;
  for (Operation *op = read->getNextNode(); op != mma; op = op->getNextNode())
    if (!isa<SharedLoadOp>(op) && !isMemoryEffectFree(op))
      return nullptr;
  return read;
}

std::optional<Product> Grouper::productOf(MmaOp mma) {
  auto lhs = cast<RankedTensorType>(mma.getLhs().getType());
  Type element = lhs.getElementType();
  bool isNarrow = (element.isBF16() || element.isF16()) && mma.getType().getElementType().isF32();
  constexpr int64_t kMost = 256; // columns of an instruction
  Spread spread = mma.getParts() > 1 ? Spread() : spreadOf(mma.getAcc());
  if (!isNarrow || !fragmentDepth(mma) || mma.getMatrix()[1] / spread.along(1) > kMost)
    return std::nullopt;
  std::optional<Layout> left = groupLeft(lhs.getShape(), 16, warps, mma.getParts(), spread);
  if (!left || !areGroupSums(mma.getAcc(), warps) ||
      layoutOf(mma.getAcc()) != layoutOf(mma.getResult()))
    return std::nullopt;
  Product product{mma, readOf(mma, mma.getLhs(), /*over=*/1, spread),
                  readOf(mma, mma.getRhs(), /*over=*/0, spread)};
  if (!product.right || (!product.left && layoutOf(mma.getLhs()) != left))
    return std::nullopt;
  return product;
}

/// What stands between two products of a batch takes nothing from the first, and gives no sums to
/// the second: one fence is before both. A product whose left operand is in registers is alone:
/// these are free again when it is made.
SmallVector<Batch> Grouper::findBatches() {
  SmallVector<Batch> batches;
  bool isOpen = false; // whether the last one can take more
  llvm::SmallPtrSet<Operation *, 4> made;
  for (Operation &op : block) {
    auto mma = dyn_cast<MmaOp>(op);
    std::optional<Product> product = mma ? productOf(mma) : std::nullopt;
    auto isMade = [&](Value value) { return made.contains(value.getDefiningOp()); };
    if (!product) {
      isOpen &= (isa<SharedLoadOp>(op) || isMemoryEffectFree(&op)) &&
                llvm::none_of(op.getOperands(), isMade) && !op.getNumRegions();
      continue;
    }
    Operation *sums = mma.getAcc().getDefiningOp();
    bool isBefore = !sums || made.contains(sums) || sums->getBlock() != &block ||
                    (isOpen && sums->isBeforeInBlock(batches.back().front().mma));
    if (!isOpen || !product->left || !isBefore) {
      batches.emplace_back();
      made.clear();
    }
    batches.back().push_back(*product);
    made.insert(mma);
    isOpen = bool(product->left);
  }
  return batches;
}

/// The numbers of what the loop carries, if it carries all of the batch's sums and nobody else
/// touches them.
std::optional<SmallVector<unsigned>> Grouper::carriedBy(const Batch &batch) {
  SmallVector<unsigned> carried;
  for (auto [i, product] : llvm::enumerate(batch)) {
    MmaOp mma = product.mma;
    bool isAdded = llvm::any_of(ArrayRef(batch).drop_front(i + 1), [&](const Product &next) {
      return MmaOp(next.mma).getAcc() == mma.getResult();
    });
    if (!product.left || !loop || !mma->hasOneUse())
      return std::nullopt;
    if (isAdded)
      continue;
    Value first = mma.getAcc();
    for (const Product &before : llvm::reverse(ArrayRef(batch).take_front(i)))
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

/// Of sums that something else takes in the next iteration, the number by which the loop carries
/// them: the iteration begins other products before that, beside which these are made.
std::optional<unsigned> Grouper::carriedOver(const Batch &batch) {
  MmaOp mma = batch.front().mma;
  if (!first || !loop || batch.size() > 1 || !mma->hasOneUse() ||
      !isa<scf::YieldOp>(*mma->user_begin()))
    return std::nullopt;
  unsigned number = mma->use_begin()->getOperandNumber();
  auto isBehind = [&](Operation *user) {
    Operation *here = block.findAncestorOpInBlock(*user);
    return here && first->isBeforeInBlock(here);
  };
  return llvm::all_of(loop.getRegionIterArg(number).getUsers(), isBehind) ? std::optional(number)
                                                                          : std::nullopt;
}

/// What fills the stages that a batch reads, in later iterations of the loop; none where it does
/// not stand in the loop by itself.
std::optional<SmallVector<Operation *>> Grouper::refillsOf(const Batch &batch) {
  SmallVector<Operation *> refills;
  for (const Product &product : batch)
    for (SharedLoadOp read : {product.left, product.right})
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

void Grouper::refillBehind(Operation *wait, ArrayRef<Operation *> refills) {
  for (Operation *refill : refills) {
    refill->moveAfter(wait);
    wait = refill;
  }
}

/// Before the first who takes the sums, while products that were begun since go on. What fills the
/// stages comes behind it.
void Grouper::waitInIteration(WgmmaCommitOp commit, ArrayRef<Value> made,
                              ArrayRef<Operation *> refills) {
  Operation *taker = block.getTerminator();
  for (Value sums : made)
    for (Operation *user : sums.getUsers())
      if (Operation *here = block.findAncestorOpInBlock(*user);
          here && here->isBeforeInBlock(taker))
        taker = here;
  unsigned pending = 0;
  for (Operation *op = commit->getNextNode(); op != taker; op = op->getNextNode())
    pending += isa<WgmmaCommitOp>(op);
  OpBuilder builder(taker);
  auto wait = WgmmaWaitOp::create(builder, commit.getLoc(), pending, made);
  for (auto [before, behind] : llvm::zip_equal(made, wait.getResults()))
    Value(before).replaceAllUsesExcept(behind, wait);
  SmallVector<Operation *> early;
  for (Operation *refill : refills)
    if (commit->isBeforeInBlock(refill) && refill->isBeforeInBlock(wait))
      early.push_back(refill);
  refillBehind(wait, early);
}

void Grouper::waitBehindLoop(Location loc, ArrayRef<unsigned> carried) {
  OpBuilder builder(loop);
  builder.setInsertionPointAfter(loop);
  SmallVector<Value> sums;
  for (unsigned number : carried)
    sums.push_back(loop.getResult(number));
  auto wait = WgmmaWaitOp::create(builder, loc, 0, sums);
  for (auto [before, behind] : llvm::zip_equal(sums, wait.getResults()))
    before.replaceAllUsesExcept(behind, wait);
}

void Grouper::rewrite(const Batch &batch) {
  std::optional<SmallVector<unsigned>> carried = carriedBy(batch);
  std::optional<unsigned> over = carried ? std::nullopt : carriedOver(batch);
  std::optional<SmallVector<Operation *>> refills = refillsOf(batch);
  OpBuilder builder(batch.front().mma);
  WgmmaFenceOp::create(builder, builder.getInsertionPoint()->getLoc());
  SmallVector<Value> made;
  Location loc = MmaOp(batch.back().mma).getLoc();
  for (Product product : batch) {
    MmaOp mma = product.mma;
    builder.setInsertionPoint(mma);
    Value lhs = product.left ? Value(product.left.getBuffer()) : Value(mma.getLhs());
    auto begun = WgmmaOp::create(builder, mma.getLoc(), lhs,
                                 product.left ? product.left.getStage() : Value(),
                                 product.right.getBuffer(), product.right.getStage(), mma.getAcc());
    llvm::erase(made, mma.getAcc());
    made.push_back(begun);
    mma.replaceAllUsesWith(begun.getResult());
    mma.erase();
    for (SharedLoadOp read : {product.left, product.right})
      if (read && read->use_empty())
        read.erase();
    builder.setInsertionPointAfter(begun);
  }
  auto commit = WgmmaCommitOp::create(builder, loc);
  if (refills && carried) {
    refillBehind(WgmmaWaitOp::create(builder, loc, 1, ValueRange()), *refills);
    waitBehindLoop(loop.getLoc(), *carried);
  } else if (refills && over) {
    // Behind the first products of the next iteration, with these: the assembler makes products one
    // by one where it has to tell apart which of two groups, begun in different iterations, a
    // iteration takes sums of.
    Value sums = loop.getRegionIterArg(*over);
    builder.setInsertionPointAfter(first);
    auto wait = WgmmaWaitOp::create(builder, loc, 0, sums);
    sums.replaceAllUsesExcept(wait.getResult(0), wait);
    refillBehind(wait, *refills);
    // One barrier is for all of them.
    for (Operation *refill : firstRefills)
      if (!llvm::is_contained(*refills, refill))
        refill->moveAfter(wait);
    waitBehindLoop(loop.getLoc(), *over);
  } else {
    open.push_back({commit, made, refills.value_or(SmallVector<Operation *>())});
  }
  if (!first) {
    first = commit;
    firstRefills = refills.value_or(SmallVector<Operation *>());
  }
}

void Grouper::run() {
  for (const Batch &batch : findBatches())
    rewrite(batch);
  for (auto &[commit, made, refills] : open)
    waitInIteration(commit, made, refills);
}

namespace {
struct TileLowerWgmma : tile::impl::TileLowerWgmmaBase<TileLowerWgmma> {
  using TileLowerWgmmaBase::TileLowerWgmmaBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (!getHint(kernel.getHintsAttr(), "wgmma").value_or(0))
        continue;
      llvm::SetVector<Block *> blocks;
      kernel.walk([&](MmaOp mma) { blocks.insert(mma->getBlock()); });
      unsigned warps = getHint(kernel.getHintsAttr(), "num_warps").value_or(4);
      for (Block *block : blocks)
        Grouper(*block, warps).run();
    }
  }
};
} // namespace
