//===- PrefetchMmaOperands.cpp - Load fragments one k-step ahead ----------===//
//
// mma.sync waits for its fragments, and fragments for shared memory. The pass splits a contraction
// into k-steps and loads the fragments of a k-step before the MMA of the previous one. In a
// pipelined loop the first k-step of an iteration is loaded at the end of the previous iteration.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPREFETCHMMAOPERANDS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-prefetch-mma-operands";

namespace {
/// A contraction in k-steps: the fragments that each loads, and its MMA.
struct KSteps {
  SmallVector<std::array<SharedLoadOp, 2>> reads;
  SmallVector<MmaOp> mmas;
};
} // namespace

/// The layout of the first `size` elements along a dimension; none if other elements lie in other
/// threads.
static std::optional<Layout> firstKStep(const Layout &layout, Dim dim, uint64_t size) {
  Space in = layout.in(), out = layout.out();
  out.setBits(dim, llvm::Log2_64(size));
  unsigned registers = in.bits(Dim::Register), dropped = 0;
  gf2::Vectors columns;
  for (auto [i, column] : llvm::enumerate(layout.columns())) {
    uint64_t index = layout.out().unpack(column)[dim];
    if (index < size) {
      columns.push_back(layout.out().carry(column, out));
      continue;
    }
    bool selectsKStep = i < registers && llvm::isPowerOf2_64(index) &&
                        column == layout.out().pack(Point({{dim, index}}));
    if (!selectsKStep)
      return std::nullopt;
    ++dropped;
  }
  in.setBits(Dim::Register, registers - dropped);
  return Layout(in, out, std::move(columns));
}

/// The read of an operand from a stage that no operation writes before the contraction.
static SharedLoadOp stageRead(MmaOp mma, Value operand) {
  auto read = operand.getDefiningOp<SharedLoadOp>();
  if (!read || read.getAt() || read.getTransposed() || !read->hasOneUse() ||
      read->getBlock() != mma->getBlock())
    return nullptr;
  for (Operation *op = read->getNextNode(); op != mma; op = op->getNextNode())
    if (!isa<SharedLoadOp>(op) && !isMemoryEffectFree(op)) {
      missed(mma, kPass, "StageOverwritten") << remark::reason(
          "shared memory may change between the read of an operand and the contraction");
      return nullptr;
    }
  return read;
}

/// The type of the fragments of a k-step; null, with a remark, if a k-step does not begin at a
/// multiple of 16 bytes in the stage.
static RankedTensorType kStepType(SharedLoadOp read, unsigned dim, uint64_t depth) {
  constexpr uint64_t kChunk = 16;
  RankedTensorType type = read.getType();
  std::optional<Layout> layout = firstKStep(*layoutOf(read), tensorDim(dim), depth);
  if (!layout) {
    missed(read, kPass, "FragmentLayout") << remark::reason(
        "threads hold different k-steps of {0} x {1}", type.getDimSize(0), type.getDimSize(1));
    return nullptr;
  }
  Layout offsets = *read.getBuffer().getType().getMemory().leftInverse();
  uint64_t bytes = llvm::PowerOf2Ceil((type.getElementTypeBitWidth() + 7) / 8);
  for (uint64_t at = depth; at < uint64_t(type.getShape()[dim]); at *= 2)
    if (uint64_t offset = offsets(offsets.in().pack(Point({{tensorDim(dim), at}}))) * bytes;
        offset % kChunk) {
      missed(read, kPass, "UnalignedKStep")
          << remark::reason("the k-step at {0} begins at byte {1} of the stage, no multiple of {2}",
                            at, offset, kChunk);
      return nullptr;
    }
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = depth;
  return RankedTensorType::get(shape, type.getElementType(),
                               LayoutAttr::get(type.getContext(), *layout));
}

static std::optional<KSteps> split(MmaOp mma) {
  std::optional<unsigned> depth = fragmentDepth(mma);
  if (!depth)
    return std::nullopt;
  SharedLoadOp lhs = stageRead(mma, mma.getLhs()), rhs = stageRead(mma, mma.getRhs());
  if (!lhs || !rhs || lhs.getType().getShape()[1] <= int64_t(*depth))
    return std::nullopt;
  RankedTensorType left = kStepType(lhs, 1, *depth), right = kStepType(rhs, 0, *depth);
  if (!left || !right)
    return std::nullopt;
  int64_t count = lhs.getType().getShape()[1] / *depth;
  OpBuilder builder(mma);
  KSteps steps;
  auto readStep = [&](int64_t step) {
    auto part = [&](SharedLoadOp whole, RankedTensorType type, ArrayRef<int64_t> at) {
      return SharedLoadOp::create(builder, whole.getLoc(), type, whole.getBuffer(),
                                  whole.getStage(), builder.getDenseI64ArrayAttr(at));
    };
    steps.reads.push_back(
        {part(lhs, left, {0, step * *depth}), part(rhs, right, {step * *depth, 0})});
  };
  readStep(0);
  Value acc = mma.getAcc();
  for (int64_t step = 0; step < count; ++step) {
    if (step + 1 < count)
      readStep(step + 1);
    auto [a, b] = steps.reads[step];
    steps.mmas.push_back(MmaOp::create(builder, mma.getLoc(), a.getResult(), b.getResult(), acc));
    acc = steps.mmas.back().getResult();
  }
  mma.replaceAllUsesWith(acc);
  mma.erase();
  lhs.erase();
  rhs.erase();
  return steps;
}

//===----------------------------------------------------------------------===//
// Rotation of a pipelined loop
//===----------------------------------------------------------------------===//

/// Turns branches around the cp.async copies into a buffer into predicates of the copies. Their
/// coordinates are computed in any case.
static void predicateCopies(Value buffer) {
  for (Operation *user : llvm::to_vector(buffer.getUsers())) {
    auto branch = isa<CpAsyncOp>(user) ? dyn_cast<scf::IfOp>(user->getParentOp()) : scf::IfOp();
    if (!branch)
      continue;
    for (Operation &op : llvm::make_early_inc_range(branch.thenBlock()->without_terminator()))
      if (isMemoryEffectFree(&op))
        op.moveBefore(branch);
    auto copy = cast<CpAsyncOp>(user);
    copy.getConditionMutable().assign(branch.getCondition());
    copy->moveBefore(branch);
    if (branch.thenBlock()->without_terminator().empty())
      branch.erase();
  }
}

/// The waits at the head of a loop: for cp.async groups, and at full barriers of TMA loads. A
/// branch guards the TMA loads of each iteration.
struct Waits {
  SmallVector<Operation *> ops;
  SmallVector<scf::IfOp> loads; // the branches in the loop and in its prologue

  bool hasMbarriers() const { return !loads.empty(); }
};

/// The waits of a loop; none if the loop does not wait before it reads, or if its TMA loads cannot
/// run one iteration past its end.
static std::optional<Waits> findWaits(scf::ForOp loop, Operation *firstRead) {
  Waits waits;
  auto isCarried = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar();
  };
  for (Operation &op : *loop.getBody()) {
    if (!isa<CpAsyncWaitOp, MbarrierWaitOp>(op))
      continue;
    if (!op.isBeforeInBlock(firstRead))
      return std::nullopt;
    waits.ops.push_back(&op);
    auto wait = dyn_cast<MbarrierWaitOp>(op);
    if (!wait)
      continue;
    if (!isCarried(wait.getMbarrier()) || !isCarried(wait.getPhase()))
      return std::nullopt;
    for (Operation *user : wait.getMbarriers().getUsers()) {
      auto load = dyn_cast<TmaLoadOp>(user);
      if (!load && user != wait)
        return std::nullopt;
      if (!load)
        continue;
      auto branch = dyn_cast<scf::IfOp>(load->getParentOp());
      auto exists = branch ? branch.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
      if (!exists || exists.getPredicate() != arith::CmpIPredicate::slt ||
          exists.getRhs() != loop.getUpperBound())
        return std::nullopt;
      if (!llvm::is_contained(waits.loads, branch))
        waits.loads.push_back(branch);
    }
  }
  return waits.ops.empty() ? std::nullopt : std::optional(waits);
}

/// Whether only asynchronous copies fill a buffer: cp.async with no condition but that of a branch
/// around it, or TMA loads that the loop waits for.
static bool isFilledByCopies(Value buffer, const Waits &waits) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    if (isa<SharedLoadOp>(user))
      return true;
    auto branch = dyn_cast<scf::IfOp>(user->getParentOp());
    if (isa<TmaLoadOp>(user))
      return llvm::is_contained(waits.loads, branch);
    auto copy = dyn_cast<CpAsyncOp>(user);
    return copy && !copy.getCondition() &&
           (!branch || (branch.getElseRegion().empty() && !branch.getNumResults()));
  });
}

/// Lets the TMA loads run one iteration past the end of a loop that has any: the last iteration
/// loads fragments for a next one, too. TMA fills with zeros what lies outside of the view. Returns
/// the condition that the loop has an iteration.
static Value loadExtraIteration(scf::ForOp loop, const Waits &waits) {
  Operation *first = nullptr;
  for (scf::IfOp branch : waits.loads)
    if (branch->getBlock() == loop->getBlock() && (!first || branch->isBeforeInBlock(first)))
      first = branch;
  OpBuilder builder(first);
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lower, upper);
  Value more = arith::AddIOp::create(builder, loc, upper, loop.getStep());
  Value end = arith::SelectOp::create(builder, loc, exists, more, upper);
  for (scf::IfOp branch : waits.loads) {
    builder.setInsertionPoint(branch);
    auto old = branch.getCondition().getDefiningOp<arith::CmpIOp>();
    Value iteration = old.getLhs();
    branch.getConditionMutable().assign(
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, iteration, end));
    for (auto load : branch.thenBlock()->getOps<TmaLoadOp>())
      load.setBounded(true);
    if (old->use_empty())
      old.erase();
  }
  return exists;
}

namespace {
/// The fragment loads of a loop's first MMA, and the waits before them.
struct FirstReads {
  scf::ForOp loop;
  std::array<SharedLoadOp, 2> reads;
  Waits waits;

  /// Clones the waits and the loads of an iteration whose carried values are given.
  SmallVector<Value> clone(IRRewriter &rewriter, function_ref<Value(unsigned)> valueOf,
                           bool hasBarrier);
  /// Clones those of the first iteration before the loop; zeros if the loop has no iteration.
  SmallVector<Value> cloneBeforeLoop(IRRewriter &rewriter, Value hasIterations);
};
} // namespace

SmallVector<Value> FirstReads::clone(IRRewriter &rewriter, function_ref<Value(unsigned)> valueOf,
                                     bool hasBarrier) {
  IRMapping iteration;
  auto map = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == loop.getBody())
      iteration.map(value, valueOf(argument.getArgNumber() - 1));
  };
  for (Operation *op : waits.ops)
    llvm::for_each(op->getOperands(), map);
  for (SharedLoadOp read : reads)
    map(read.getStage());
  for (Operation *op : waits.ops)
    rewriter.clone(*op, iteration);
  if (hasBarrier)
    BarrierOp::create(rewriter, waits.ops.front()->getLoc(), /*warp=*/false);
  SmallVector<Value> parts;
  for (SharedLoadOp read : reads)
    parts.push_back(rewriter.clone(*read, iteration)->getResult(0));
  return parts;
}

SmallVector<Value> FirstReads::cloneBeforeLoop(IRRewriter &rewriter, Value hasIterations) {
  auto valueBefore = [&](unsigned number) -> Value { return loop.getInitArgs()[number]; };
  rewriter.setInsertionPoint(loop);
  if (!hasIterations)
    return clone(rewriter, valueBefore, /*hasBarrier=*/false);
  auto branch = scf::IfOp::create(rewriter, loop.getLoc(),
                                  TypeRange{reads[0].getType(), reads[1].getType()}, hasIterations,
                                  /*withElseRegion=*/true);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(rewriter, loop.getLoc(), clone(rewriter, valueBefore, /*hasBarrier=*/false));
  rewriter.setInsertionPointToStart(branch.elseBlock());
  SmallVector<Value> zeros;
  for (SharedLoadOp read : reads)
    zeros.push_back(ConstantOp::create(rewriter, read.getLoc(), read.getType(), 0.0));
  scf::YieldOp::create(rewriter, loop.getLoc(), zeros);
  rewriter.setInsertionPoint(loop);
  return llvm::to_vector_of<Value>(branch.getResults());
}

/// Why the first reads cannot move to the end of the previous iteration; "" if they can: the loop
/// carries their stages, only copies fill them, and nothing reads a stage after the last MMA.
static StringRef whyNotRotated(const FirstReads &first, MmaOp last) {
  scf::ForOp loop = first.loop;
  for (SharedLoadOp read : first.reads) {
    auto stage = dyn_cast<BlockArgument>(read.getStage());
    if (!stage || stage.getOwner() != loop.getBody() || stage == loop.getInductionVar() ||
        !isFilledByCopies(read.getBuffer(), first.waits))
      return "an operand does not lie in stages that asynchronous copies fill";
  }
  bool readsLater = llvm::any_of(*loop.getBody(), [&](Operation &op) {
    return isa<SharedLoadOp, scf::ForOp>(op) && last->isBeforeInBlock(&op);
  });
  return readsLater ? "the iteration reads shared memory after its last contraction" : "";
}

/// Distributes the copies of an iteration among its MMAs.
static void spreadCopies(scf::ForOp loop, const KSteps &start) {
  SmallVector<Operation *> copies;
  for (Operation &op : *loop.getBody())
    if (isa<CpAsyncOp, CpAsyncCommitOp>(op))
      copies.push_back(&op);
  for (auto [i, copy] : llvm::enumerate(copies))
    if (copy->isBeforeInBlock(start.mmas.front()))
      copy->moveBefore(start.mmas[std::min(i, start.mmas.size() - 2)]);
}

/// Moves the operations that compute a value before an operation of the same block.
static void hoistBefore(Operation *place, Value value) {
  Operation *maker = value.getDefiningOp();
  if (!maker || maker->getBlock() != place->getBlock() || maker->isBeforeInBlock(place))
    return;
  for (Value operand : maker->getOperands())
    hoistBefore(place, operand);
  maker->moveBefore(place);
}

/// Moves the fragment loads of the first k-step, with the waits before them, to the end of the
/// previous iteration.
static void rotate(scf::ForOp loop, ArrayRef<KSteps> all) {
  if (all.empty())
    return;
  auto decline = [&](StringRef why) {
    missed(loop, kPass, "LoopNotRotated") << remark::reason(
        "the first k-step of an iteration is not loaded in the previous one: {0}", why);
  };
  std::array<SharedLoadOp, 2> reads = all.front().reads.front();
  MmaOp last = all.back().mmas.back();
  std::optional<Waits> waits = findWaits(loop, reads[0]);
  if (!waits)
    return decline("the loop does not begin with a wait for copies of its own");
  FirstReads first{loop, reads, *waits};
  if (StringRef why = whyNotRotated(first, last); !why.empty())
    return decline(why);
  for (SharedLoadOp read : reads)
    predicateCopies(read.getBuffer());
  Value hasIterations = waits->hasMbarriers() ? loadExtraIteration(loop, *waits) : Value();
  spreadCopies(loop, all.front());

  IRRewriter rewriter(loop->getContext());
  SmallVector<Value> initial = first.cloneBeforeLoop(rewriter, hasIterations);
  loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, initial, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument>) { return SmallVector<Value>(initial); }));
  first.loop = loop;

  // Hoist the carried values of the next iteration above the last MMA.
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  auto valueAfter = [&](unsigned number) {
    hoistBefore(last, yield.getOperand(number));
    return yield.getOperand(number);
  };
  rewriter.setInsertionPoint(last);
  SmallVector<Value> next = first.clone(rewriter, valueAfter, /*hasBarrier=*/true);
  unsigned fresh = loop.getNumRegionIterArgs() - 2;
  for (unsigned i = 0; i < 2; ++i) {
    yield.setOperand(fresh + i, next[i]);
    reads[i].replaceAllUsesWith(loop.getRegionIterArg(fresh + i));
    reads[i].erase();
  }
  for (Operation *op : waits->ops)
    op->erase();
}

namespace {
struct TilePrefetchMmaOperands : tile::impl::TilePrefetchMmaOperandsBase<TilePrefetchMmaOperands> {
  using TilePrefetchMmaOperandsBase::TilePrefetchMmaOperandsBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops) {
        SmallVector<KSteps> all;
        for (MmaOp mma : llvm::to_vector(loop.getBody()->getOps<MmaOp>()))
          if (std::optional<KSteps> steps = split(mma))
            all.push_back(std::move(*steps));
        rotate(loop, all);
      }
    }
  }
};
} // namespace
