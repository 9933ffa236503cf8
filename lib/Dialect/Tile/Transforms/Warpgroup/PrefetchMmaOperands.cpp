//===- PrefetchMmaOperands.cpp - Fragments are read a step ahead -----------------===//
//
// Tensor cores wait for fragments, and fragments for shared memory. A product is split along the
// dimension that it sums over, so that the reads of one step stand before the product of the step
// before. Across iterations of a loop the first step's reads are made at the end of the iteration
// before.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEPREFETCHMMAOPERANDS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// A product in steps: what each reads, and what it makes.
struct Steps {
  SmallVector<std::array<SharedLoadOp, 2>> reads;
  SmallVector<MmaOp> products;
};
} // namespace

/// The layout of the first `size` elements along a dimension; none: threads differ by where they
/// are beyond those.
static std::optional<Layout> firstPart(const Layout &layout, Dim dim, uint64_t size) {
  Space in = layout.in(), out = layout.out();
  out.setBits(dim, llvm::Log2_64(size));
  unsigned registers = in.bits(Dim::Register), dropped = 0;
  gf2::Vectors columns;
  for (auto [i, column] : llvm::enumerate(layout.columns())) {
    uint64_t place = layout.out().unpack(column)[dim];
    if (place < size) {
      columns.push_back(layout.out().carry(column, out));
      continue;
    }
    bool isStep = i < registers && llvm::isPowerOf2_64(place) &&
                  column == layout.out().pack(Point({{dim, place}}));
    if (!isStep)
      return std::nullopt;
    ++dropped;
  }
  in.setBits(Dim::Register, registers - dropped);
  return Layout(in, out, std::move(columns));
}

/// The read of an operand that nothing changes until the product.
static SharedLoadOp readOf(MmaOp product, Value operand) {
  auto read = operand.getDefiningOp<SharedLoadOp>();
  if (!read || read.getAt() || !read->hasOneUse() || read->getBlock() != product->getBlock())
    return nullptr;
  for (Operation *op = read->getNextNode(); op != product; op = op->getNextNode())
    if (!isa<SharedLoadOp>(op) && !isMemoryEffectFree(op))
      return nullptr;
  return read;
}

/// The type of what a step reads; null where parts do not lie in memory by 16 bytes.
static RankedTensorType partType(SharedLoadOp read, unsigned dim, uint64_t depth) {
  constexpr uint64_t kChunk = 16;
  RankedTensorType type = read.getType();
  std::optional<Layout> layout = firstPart(*layoutOf(read), tensorDim(dim), depth);
  if (!layout)
    return nullptr;
  Layout offsets = *read.getBuffer().getType().getMemory().leftInverse();
  uint64_t bytes = llvm::PowerOf2Ceil((type.getElementTypeBitWidth() + 7) / 8);
  for (uint64_t at = depth; at < uint64_t(type.getShape()[dim]); at *= 2)
    if (offsets(offsets.in().pack(Point({{tensorDim(dim), at}}))) * bytes % kChunk)
      return nullptr;
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = depth;
  return RankedTensorType::get(shape, type.getElementType(),
                               LayoutAttr::get(type.getContext(), *layout));
}

static std::optional<Steps> split(MmaOp product) {
  std::optional<unsigned> depth = fragmentDepth(product);
  SharedLoadOp lhs = readOf(product, product.getLhs()), rhs = readOf(product, product.getRhs());
  if (!depth || !lhs || !rhs || lhs.getType().getShape()[1] <= int64_t(*depth))
    return std::nullopt;
  RankedTensorType left = partType(lhs, 1, *depth), right = partType(rhs, 0, *depth);
  if (!left || !right)
    return std::nullopt;
  int64_t count = lhs.getType().getShape()[1] / *depth;
  OpBuilder builder(product);
  Steps steps;
  auto readStep = [&](int64_t step) {
    auto part = [&](SharedLoadOp whole, RankedTensorType type, ArrayRef<int64_t> at) {
      return SharedLoadOp::create(builder, whole.getLoc(), type, whole.getBuffer(),
                                  whole.getStage(), builder.getDenseI64ArrayAttr(at));
    };
    steps.reads.push_back(
        {part(lhs, left, {0, step * *depth}), part(rhs, right, {step * *depth, 0})});
  };
  readStep(0);
  Value sum = product.getAcc();
  for (int64_t step = 0; step < count; ++step) {
    if (step + 1 < count)
      readStep(step + 1);
    auto [a, b] = steps.reads[step];
    steps.products.push_back(
        MmaOp::create(builder, product.getLoc(), a.getResult(), b.getResult(), sum));
    sum = steps.products.back().getResult();
  }
  product.replaceAllUsesWith(sum);
  product.erase();
  lhs.erase();
  rhs.erase();
  return steps;
}

//===----------------------------------------------------------------------===//
// Around a loop
//===----------------------------------------------------------------------===//

/// The copies into a buffer that branches guard have the condition themselves.
static void inlineBranches(Value buffer) {
  for (Operation *user : llvm::to_vector(buffer.getUsers())) {
    auto branch = isa<CpAsyncOp>(user) ? dyn_cast<scf::IfOp>(user->getParentOp()) : scf::IfOp();
    if (!branch)
      continue;
    auto copy = cast<CpAsyncOp>(user);
    copy.getConditionMutable().assign(branch.getCondition());
    copy->moveBefore(branch);
    if (branch.thenBlock()->without_terminator().empty())
      branch.erase();
  }
}

/// What a loop waits for at its head: groups of copies, and tiles that are loaded, each iteration's
/// behind a branch of its own.
struct Waits {
  SmallVector<Operation *> ops;
  SmallVector<scf::IfOp> loads; // around them, also before the loop

  bool hasMbarriers() const { return !loads.empty(); }
};

/// None where the loop does not wait before it reads, or where an iteration more than it has cannot
/// be loaded.
static std::optional<Waits> waitsOf(scf::ForOp loop, Operation *firstRead) {
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
    auto await = dyn_cast<MbarrierWaitOp>(op);
    if (!await)
      continue;
    if (!isCarried(await.getMbarrier()) || !isCarried(await.getPhase()))
      return std::nullopt;
    for (Operation *user : await.getMbarriers().getUsers()) {
      auto load = dyn_cast<TmaLoadOp>(user);
      if (!load && user != await)
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

/// Whether a buffer is filled by copies alone that have no condition but that of a branch around
/// them, or by loads that the loop waits for.
static bool isCopied(Value buffer, const Waits &waits) {
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

/// Fetches one iteration more than a loop has, if it has one: what an iteration reads for the next
/// one is there behind the last iteration, too. Tensor copies put zeros where a view has ended.
/// Whether the loop has an iteration.
static Value loadIterationMore(scf::ForOp loop, const Waits &waits) {
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

/// Turns the loop's first reads round, with the waits that stand before them.
static void rotate(scf::ForOp loop, ArrayRef<Steps> all) {
  if (all.empty())
    return;
  std::array<SharedLoadOp, 2> first = all.front().reads.front();
  MmaOp last = all.back().products.back();
  std::optional<Waits> waits = waitsOf(loop, first[0]);
  if (!waits)
    return;
  SmallVector<unsigned> carried;
  for (SharedLoadOp read : first) {
    auto stage = dyn_cast<BlockArgument>(read.getStage());
    if (!stage || stage.getOwner() != loop.getBody() || stage == loop.getInductionVar() ||
        !isCopied(read.getBuffer(), *waits))
      return;
    carried.push_back(stage.getArgNumber() - 1);
  }
  // Behind the barrier no stage of this iteration is read any more.
  for (Operation &op : *loop.getBody())
    if (isa<SharedLoadOp, scf::ForOp>(op) && last->isBeforeInBlock(&op))
      return;
  for (SharedLoadOp read : first)
    inlineBranches(read.getBuffer());
  Value hasIterations = waits->hasMbarriers() ? loadIterationMore(loop, *waits) : Value();

  // Copies stand between the products.
  SmallVector<Operation *> copies;
  for (Operation &op : *loop.getBody())
    if (isa<CpAsyncOp, CpAsyncCommitOp>(op))
      copies.push_back(&op);
  const Steps &start = all.front();
  for (auto [i, copy] : llvm::enumerate(copies))
    if (copy->isBeforeInBlock(start.products.front()))
      copy->moveBefore(start.products[std::min(i, start.products.size() - 2)]);

  IRRewriter rewriter(loop->getContext());
  rewriter.setInsertionPoint(loop);
  /// The waits, and then the first reads, of an iteration that finds these values in place of what
  /// the loop carries.
  auto waitAndRead = [&](function_ref<Value(unsigned)> valueOf, bool hasBarrier) {
    IRMapping iteration;
    auto map = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && argument.getOwner() == loop.getBody())
        iteration.map(value, valueOf(argument.getArgNumber() - 1));
    };
    for (Operation *op : waits->ops)
      llvm::for_each(op->getOperands(), map);
    for (SharedLoadOp read : first)
      map(read.getStage());
    for (Operation *op : waits->ops)
      rewriter.clone(*op, iteration);
    if (hasBarrier)
      BarrierOp::create(rewriter, waits->ops.front()->getLoc(), /*warp=*/false);
    SmallVector<Value> parts;
    for (SharedLoadOp read : first)
      parts.push_back(rewriter.clone(*read, iteration)->getResult(0));
    return parts;
  };
  auto valueBefore = [&](unsigned number) -> Value { return loop.getInitArgs()[number]; };
  SmallVector<Value> initial;
  if (hasIterations) {
    auto branch = scf::IfOp::create(
        rewriter, loop.getLoc(), TypeRange{first[0].getType(), first[1].getType()}, hasIterations,
        /*withElseRegion=*/true);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(rewriter, loop.getLoc(), waitAndRead(valueBefore, /*hasBarrier=*/false));
    rewriter.setInsertionPointToStart(branch.elseBlock());
    SmallVector<Value> zeros;
    for (SharedLoadOp read : first)
      zeros.push_back(ConstantOp::create(rewriter, read.getLoc(), read.getType(), 0.0));
    scf::YieldOp::create(rewriter, loop.getLoc(), zeros);
    initial = branch.getResults();
    rewriter.setInsertionPoint(loop);
  } else {
    initial = waitAndRead(valueBefore, /*hasBarrier=*/false);
  }
  loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, initial, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument>) { return SmallVector<Value>(initial); }));

  // What the next iteration finds is known before the last product.
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  std::function<void(Value)> hoist = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    if (!maker || maker->getBlock() != loop.getBody() || maker->isBeforeInBlock(last))
      return;
    llvm::for_each(maker->getOperands(), hoist);
    maker->moveBefore(last);
  };
  auto valueBehind = [&](unsigned number) {
    hoist(yield.getOperand(number));
    return yield.getOperand(number);
  };
  rewriter.setInsertionPoint(last);
  SmallVector<Value> next = waitAndRead(valueBehind, /*hasBarrier=*/true);
  unsigned fresh = loop.getNumRegionIterArgs() - 2;
  for (unsigned i = 0; i < 2; ++i) {
    yield.setOperand(fresh + i, next[i]);
    first[i].replaceAllUsesWith(loop.getRegionIterArg(fresh + i));
    first[i].erase();
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
        SmallVector<Steps> all;
        for (MmaOp product : llvm::to_vector(loop.getBody()->getOps<MmaOp>()))
          if (std::optional<Steps> steps = split(product))
            all.push_back(std::move(*steps));
        rotate(loop, all);
      }
    }
  }
};
} // namespace
