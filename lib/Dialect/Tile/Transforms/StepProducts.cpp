//===- StepProducts.cpp - Fragments are read a step ahead -----------------===//
//
// Tensor cores wait for fragments, and fragments for shared memory. A product is split along the
// dimension that it sums over, so that the reads of one step stand before the product of the step
// before. Across turns of a loop the first step's reads are made at the end of the turn before.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILESTEPPRODUCTS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
/// A product in steps: what each reads, and what it makes.
struct Steps {
  SmallVector<std::array<ReadOp, 2>> reads;
  SmallVector<MmaOp> products;
};
} // namespace

/// The layout of the first `size` elements along a dimension; none: threads differ by where they are beyond those.
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
    bool isStep = i < registers && llvm::isPowerOf2_64(place) && column == layout.out().pack(Point({{dim, place}}));
    if (!isStep)
      return std::nullopt;
    ++dropped;
  }
  in.setBits(Dim::Register, registers - dropped);
  return Layout(in, out, std::move(columns));
}

/// The read of an operand that nothing changes until the product.
static ReadOp readOf(MmaOp product, Value operand) {
  auto read = operand.getDefiningOp<ReadOp>();
  if (!read || read.getAt() || !read->hasOneUse() || read->getBlock() != product->getBlock())
    return nullptr;
  for (Operation *op = read->getNextNode(); op != product; op = op->getNextNode())
    if (!isa<ReadOp>(op) && !isMemoryEffectFree(op))
      return nullptr;
  return read;
}

/// The type of what a step reads; null where parts do not lie in memory by 16 bytes.
static RankedTensorType partType(ReadOp read, unsigned dim, uint64_t depth) {
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
  return RankedTensorType::get(shape, type.getElementType(), LayoutAttr::get(type.getContext(), *layout));
}

static std::optional<Steps> split(MmaOp product) {
  std::optional<unsigned> depth = fragmentDepth(product);
  ReadOp lhs = readOf(product, product.getLhs()), rhs = readOf(product, product.getRhs());
  if (!depth || !lhs || !rhs || lhs.getType().getShape()[1] <= int64_t(*depth))
    return std::nullopt;
  RankedTensorType left = partType(lhs, 1, *depth), right = partType(rhs, 0, *depth);
  if (!left || !right)
    return std::nullopt;
  int64_t count = lhs.getType().getShape()[1] / *depth;
  OpBuilder builder(product);
  Steps steps;
  auto readStep = [&](int64_t step) {
    auto part = [&](ReadOp whole, RankedTensorType type, ArrayRef<int64_t> at) {
      return ReadOp::create(builder, whole.getLoc(), type, whole.getBuffer(), whole.getSlot(),
                            builder.getDenseI64ArrayAttr(at));
    };
    steps.reads.push_back({part(lhs, left, {0, step * *depth}), part(rhs, right, {step * *depth, 0})});
  };
  readStep(0);
  Value sum = product.getAcc();
  for (int64_t step = 0; step < count; ++step) {
    if (step + 1 < count)
      readStep(step + 1);
    auto [a, b] = steps.reads[step];
    steps.products.push_back(MmaOp::create(builder, product.getLoc(), a.getResult(), b.getResult(), sum));
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
    auto branch = isa<CopyOp>(user) ? dyn_cast<scf::IfOp>(user->getParentOp()) : scf::IfOp();
    if (!branch)
      continue;
    auto copy = cast<CopyOp>(user);
    copy.getConditionMutable().assign(branch.getCondition());
    copy->moveBefore(branch);
    if (branch.thenBlock()->without_terminator().empty())
      branch.erase();
  }
}

/// Whether a buffer is filled by copies alone that have no condition but that of a branch around them.
static bool isCopied(Value buffer) {
  return llvm::all_of(buffer.getUsers(), [](Operation *user) {
    if (isa<ReadOp>(user))
      return true;
    auto copy = dyn_cast<CopyOp>(user);
    auto branch = copy ? dyn_cast<scf::IfOp>(copy->getParentOp()) : scf::IfOp();
    return copy && !copy.getCondition() && (!branch || (branch.getElseRegion().empty() && !branch.getNumResults()));
  });
}

/// Turns the loop's first reads round, with the wait that stands before them.
static void rotate(scf::ForOp loop, ArrayRef<Steps> all) {
  auto wait = dyn_cast<WaitOp>(loop.getBody()->front());
  if (!wait || all.empty())
    return;
  std::array<ReadOp, 2> first = all.front().reads.front();
  MmaOp last = all.back().products.back();
  SmallVector<unsigned> carried;
  for (ReadOp read : first) {
    auto slot = dyn_cast<BlockArgument>(read.getSlot());
    if (!slot || slot.getOwner() != loop.getBody() || slot == loop.getInductionVar() || !isCopied(read.getBuffer()))
      return;
    carried.push_back(slot.getArgNumber() - 1);
  }
  // Behind the barrier no slot of this turn is read any more, nor was another group of copies waited for.
  for (Operation &op : *loop.getBody())
    if ((&op != wait && isa<WaitOp>(op)) || (isa<ReadOp, scf::ForOp>(op) && last->isBeforeInBlock(&op)))
      return;
  for (ReadOp read : first)
    inlineBranches(read.getBuffer());

  // Copies stand between the products.
  SmallVector<Operation *> copies;
  for (Operation &op : *loop.getBody())
    if (isa<CopyOp, CommitOp>(op))
      copies.push_back(&op);
  const Steps &start = all.front();
  for (auto [i, copy] : llvm::enumerate(copies))
    if (copy->isBeforeInBlock(start.products.front()))
      copy->moveBefore(start.products[std::min(i, start.products.size() - 2)]);

  IRRewriter rewriter(loop->getContext());
  rewriter.setInsertionPoint(loop);
  WaitOp::create(rewriter, wait.getLoc(), wait.getPending());
  auto readAt = [&](unsigned i, Value slot) -> Value {
    return ReadOp::create(rewriter, first[i].getLoc(), first[i].getType(), first[i].getBuffer(), slot,
                          first[i].getAtAttr());
  };
  SmallVector<Value> initial;
  for (unsigned i = 0; i < 2; ++i)
    initial.push_back(readAt(i, loop.getInitArgs()[carried[i]]));
  auto turned = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, initial, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument>) { return SmallVector<Value>(initial); }));

  // The next slots are known before the last product.
  auto yield = cast<scf::YieldOp>(turned.getBody()->getTerminator());
  std::function<void(Value)> hoist = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    if (!maker || maker->getBlock() != turned.getBody() || maker->isBeforeInBlock(last))
      return;
    llvm::for_each(maker->getOperands(), hoist);
    maker->moveBefore(last);
  };
  for (unsigned number : carried)
    hoist(yield.getOperand(number));
  rewriter.setInsertionPoint(last);
  WaitOp::create(rewriter, wait.getLoc(), wait.getPending());
  BarrierOp::create(rewriter, wait.getLoc(), /*warp=*/false);
  unsigned fresh = turned.getNumRegionIterArgs() - 2;
  for (unsigned i = 0; i < 2; ++i) {
    yield.setOperand(fresh + i, readAt(i, yield.getOperand(carried[i])));
    first[i].replaceAllUsesWith(turned.getRegionIterArg(fresh + i));
    first[i].erase();
  }
  wait.erase();
}

namespace {
struct TileStepProducts : tile::impl::TileStepProductsBase<TileStepProducts> {
  using TileStepProductsBase::TileStepProductsBase;

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
