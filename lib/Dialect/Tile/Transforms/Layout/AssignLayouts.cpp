//===- AssignLayouts.cpp - Which thread holds what ------------------------===//
//
// Layouts are asked for from the ends of a program backward: a store wants its tile as memory likes
// it, an elementwise operation wants its operands as its result is, a broadcast the part of its
// result's layout that its operand has. The first to ask decides. A reduction within warps and a
// product have a layout of their own, which follows from their operands, and a load refuses one
// that would read pieces of memory's sectors. Nor is long work asked for in a layout in which warps
// hold the same, or work on sums where lanes do. Where a value is wanted otherwise than it is, it
// is converted; what costs nothing to make is made again instead.
//
// The blocks of a cluster share the longest rows, each a part of neighbours; all have everything
// else. Where they share products, each has a part of what these sum over, also of what becomes
// their operands element by element; what else operands follow from, all have. Of the rest each has
// some of the rows, or of the columns where warpgroups make the products: each thread finishes some
// of its own sums, and tells those that have its place in other blocks the rest. Where products are
// spread over the blocks, each has rows or columns of the sums, and of what these are made of and
// become; the other operand all have.
//
//===----------------------------------------------------------------------===//
#include "Async/BulkRows.h"
#include "Async/PipelinedLoads.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Layout/Families.h"
#include "tessera/Layout/Reduction.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEASSIGNLAYOUTS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
using Sizes = std::vector<unsigned>;
constexpr unsigned kLanes = 32;

ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }
bool isTile(Value value) { return isTileType(value.getType()); }
/// What is loaded or stored.
Value tileOf(Operation *op) { return op->getNumResults() ? op->getResult(0) : op->getOperand(0); }

class Assignment {
public:
  Assignment(KernelOp kernel, unsigned warps, unsigned blocks, std::optional<unsigned> side,
             bool quadPairs, bool warpgroups)
      : kernel(kernel), coordinates(kernel), warps(warps), blocks(blocks), quadPairs(quadPairs) {
    if (side)
      spread = {*side, blocks};
    kernel.walk([&](Operation *op) {
      if (auto tile = isa<LoadOp, StoreOp>(op) ? dyn_cast<RankedTensorType>(tileOf(op).getType())
                                               : RankedTensorType())
        longest = std::max(longest, tile.getRank() ? tile.getShape().back() : 1);
    });
    kernel.walk([&](MmaOp mma) {
      isChain |= !isa_and_nonnull<LoadOp>(mma.getLhs().getDefiningOp());
      hasParts |= mma.getParts() > 1;
      if (warpgroups && isForGroups(mma))
        grouped.insert(mma);
    });
    if (side && !canSpread()) {
      spread = {};
      this->blocks = 1;
    }
  }

  /// Of a cluster's blocks, how many the kernel has work for.
  unsigned blocksWithWork() const { return blocks; }

  LogicalResult run() {
    if (failed(checkShapes()))
      return failure();
    choose(kernel.getBody().front());
    rewrite();
    return success();
  }

private:
  LogicalResult checkShapes();

  /// The dimension along which blocks have different parts of a tile, and how many have.
  struct Share {
    unsigned dim = 0, blocks = 1;
  };
  Share shareOf(ArrayRef<int64_t> shape);
  std::optional<Share> shareOfMade(Value tile, bool isOperand, llvm::DenseSet<Value> &seen);
  Share shareOf(Value tile);
  std::optional<Layout> ownSums(ArrayRef<int64_t> shape);
  bool canSpread();

  // What is wanted
  Layout memoryLayout(Value view, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape, Share share);
  Layout memoryLayout(LoadOp load) {
    return memoryLayout(load.getView(), load.getDims(), shapeOf(load), shareOf(load.getResult()));
  }
  Layout spreadOut(ArrayRef<int64_t> shape, ArrayRef<unsigned> order, unsigned perThread,
                   Share share);
  /// `seen`: what was looked at already, and has none.
  std::optional<Layout> inherited(Value tile, llvm::DenseSet<Value> &seen);
  Layout preferred(Value tile);
  bool isCoalesced(LoadOp load, const Layout &layout);
  Layout onAllThreads(const Layout &layout) {
    return layout.broadcastTo(
        Space({{Dim::Lane, kLanes}, {Dim::Warp, warps}, {Dim::Block, blocks}}));
  }
  /// The layout of a tile without the dimensions `dims`, each thread holding what it held a part
  /// of.
  Layout without(const Layout &layout, ArrayRef<int64_t> dims);
  /// Whether the parts of several warps are joined, by shared memory, from where the result goes
  /// anywhere.
  bool isAcrossWarps(tile::ReduceOp reduce) {
    SmallVector<unsigned> dims(reduce.getDims().begin(), reduce.getDims().end());
    ReductionPlan plan = planReduction(layoutFor(reduce.getInput()), dims);
    return !plan.warps.empty() || !plan.blocks.empty();
  }
  bool isForGroups(MmaOp mma);
  std::optional<Layout> placeOfSums(tile::CastOp rounded);
  unsigned warpsBelow(MmaOp mma);
  Layout fragments(MmaOp mma, unsigned operand);
  Layout square(Value tile);
  Layout ofProduct(MmaOp mma) {
    return fragmentDepth(mma) ? fragments(mma, 2) : square(mma.getResult());
  }
  std::optional<Layout> wantedBy(Operation *op, unsigned operand);

  // Choosing, backward
  void choose(Block &block);
  void choose(Operation *op);
  void chooseLoop(scf::ForOp loop);
  const Layout &layoutFor(Value tile) {
    if (!layouts.contains(tile))
      layouts[tile] = preferred(tile);
    return layouts[tile];
  }
  void ask(Value tile, const Layout &layout) { layouts.try_emplace(tile, layout); }

  // Rewriting
  void rewrite();
  void convertOperand(OpOperand &operand, const Layout &wanted);

  KernelOp kernel;
  Coordinates coordinates;
  unsigned warps, blocks;
  bool quadPairs;
  int64_t longest = 1; // of all rows that are loaded or stored
  /// Whether products take the left operand from others.
  bool isChain = false;
  /// Whether blocks share products.
  bool hasParts = false;
  /// What blocks have of products that are spread over them.
  Spread spread;
  /// Products that warpgroups make.
  llvm::DenseSet<Operation *> grouped;
  llvm::DenseMap<Value, Layout> layouts;
  /// Of reductions' operands, where the results' were derived from them: a load may change its mind
  /// later.
  llvm::DenseMap<Operation *, Layout> joined;
};
} // namespace

LogicalResult Assignment::checkShapes() {
  WalkResult result = kernel.walk([&](Operation *op) {
    for (Value value : op->getResults())
      if (isTile(value) &&
          !llvm::all_of(shapeOf(value), [](int64_t size) { return llvm::isPowerOf2_64(size); })) {
        op->emitOpError() << "expected tile sizes that are powers of two for a layout, got "
                          << value.getType();
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// What is wanted
//===----------------------------------------------------------------------===//

/// How warpgroups hold the sums that a block has to finish of those that it shares with others:
/// columns, of which each thread has some.
std::optional<Layout> Assignment::ownSums(ArrayRef<int64_t> shape) {
  if (!hasParts || grouped.empty() || shape.size() != 2 || shape[1] < blocks)
    return std::nullopt;
  std::optional<Layout> part = groupSums({shape[0], shape[1] / blocks}, warps);
  return part ? std::optional(*part * Layout::strided(Dim::Block, Dim::D1, blocks)) : std::nullopt;
}

/// Whether blocks can have rows or columns of all products: warpgroups make these of what is loaded
/// for them, and element by element becomes of them what is stored.
bool Assignment::canSpread() {
  ArrayRef<int64_t> shape;
  auto fits = [&](MmaOp mma) {
    bool isLoaded = llvm::all_of(ArrayRef<Value>{mma.getLhs(), mma.getRhs()}, [](Value operand) {
      auto load = operand.getDefiningOp<LoadOp>();
      return load && load->hasOneUse();
    });
    if (shape.empty())
      shape = mma.getType().getShape();
    return grouped.contains(mma) && isLoaded && mma.getType().getShape() == shape;
  };
  WalkResult result = kernel.walk([&](Operation *op) {
    auto mma = dyn_cast<MmaOp>(op);
    bool isOfTiles =
        llvm::any_of(op->getOperands(), isTile) || llvm::any_of(op->getResults(), isTile);
    bool isKnown = mma ? fits(mma)
                       : isa<LoadOp, StoreOp, MapOp, tile::CastOp, BitcastOp, BroadcastOp,
                             ConstantOp, SplatOp, IotaOp, scf::ForOp, scf::YieldOp>(op);
    return isOfTiles && !isKnown ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !result.wasInterrupted() && !shape.empty();
}

Assignment::Share Assignment::shareOf(ArrayRef<int64_t> shape) {
  if (spread.blocks > 1)
    return shape.size() == 2 && shape[spread.dim] >= spread.blocks ? Share{spread.dim, blocks}
                                                                   : Share();
  if (ownSums(shape))
    return {1, blocks};
  if (hasParts)
    return shape.size() == 2 && shape[0] >= blocks ? Share{0, blocks} : Share();
  if (shape.empty() || shape.back() != longest)
    return {};
  return {unsigned(shape.size() - 1), unsigned(std::min<int64_t>(blocks, longest))};
}

/// The tiles that follow from one by a use of it: results, and what loops carry.
static SmallVector<Value> madeBy(OpOperand &use) {
  Operation *user = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (auto mma = dyn_cast<MmaOp>(user); mma && number == 2)
    return {};
  auto loop = dyn_cast<scf::ForOp>(isa<scf::YieldOp>(user) ? user->getParentOp() : user);
  if (!loop)
    return SmallVector<Value>(user->getResults());
  if (loop == user) {
    if (number < loop.getNumControlOperands())
      return {}; // a bound, which decides how often the loop runs and makes no tile
    number -= loop.getNumControlOperands();
  }
  return {loop.getRegionIterArg(number), loop.getResult(number)};
}

/// Whether operands of products follow from a tile.
static bool isInOperands(Value tile) {
  llvm::SetVector<Value> made;
  made.insert(tile);
  for (unsigned i = 0; i < made.size(); ++i)
    for (OpOperand &use : made[i].getUses()) {
      if (isa<MmaOp>(use.getOwner()) && use.getOperandNumber() < 2)
        return true;
      made.insert_range(madeBy(use));
    }
  return false;
}

/// How blocks share what a tile becomes element by element: an operand of a product, or what is
/// used otherwise.
std::optional<Assignment::Share> Assignment::shareOfMade(Value tile, bool isOperand,
                                                         llvm::DenseSet<Value> &seen) {
  if (!seen.insert(tile).second)
    return std::nullopt;
  for (OpOperand &use : tile.getUses()) {
    Operation *user = use.getOwner();
    if (unsigned number = use.getOperandNumber(); isOperand && isa<MmaOp>(user) && number < 2) {
      if (spread.blocks > 1)
        return Share{number, spread.along(number)};
      return Share{1 - number, blocks};
    }
    if (!isa<MapOp, tile::CastOp, BitcastOp, TransposeOp, scf::ForOp, scf::YieldOp>(user)) {
      if (!isOperand)
        return shareOf(shapeOf(tile));
      continue;
    }
    for (Value made : madeBy(use))
      if (std::optional<Share> share = shareOfMade(made, isOperand, seen)) {
        if (auto transpose = dyn_cast<TransposeOp>(user))
          share->dim = transpose.getPermutation()[share->dim];
        return share;
      }
  }
  return std::nullopt;
}

/// Where blocks share products, a tile is shared as what it becomes; of what operands follow from
/// otherwise, all have everything.
Assignment::Share Assignment::shareOf(Value tile) {
  if (!hasParts && spread.blocks == 1)
    return shareOf(shapeOf(tile));
  llvm::DenseSet<Value> seen;
  return shareOfMade(tile, isInOperands(tile), seen).value_or(Share());
}

/// Each thread holds `perThread` neighbours along the first dimension of `order`, lanes stand along
/// that order, warps along the other dimensions first, so that what lies side by side stays within
/// a warp.
Layout Assignment::spreadOut(ArrayRef<int64_t> shape, ArrayRef<unsigned> order, unsigned perThread,
                             Share share) {
  Blocked how;
  how.order.assign(order.begin(), order.end());
  how.perThread = how.lanes = how.warps = Sizes(shape.size(), 1);
  if (shape.empty())
    return onAllThreads(Layout());
  how.perThread[order[0]] = perThread;
  Sizes own(shape.begin(), shape.end());
  how.blocks = Sizes(shape.size(), 1);
  own[share.dim] /= how.blocks[share.dim] = share.blocks;
  unsigned lanes = kLanes;
  for (unsigned dim : order) {
    how.lanes[dim] = std::min<unsigned>(lanes, own[dim] / how.perThread[dim]);
    lanes /= how.lanes[dim];
  }
  how.lanes[order.back()] *= lanes;
  unsigned left = warps;
  for (unsigned dim : llvm::reverse(order)) {
    how.warps[dim] =
        std::clamp<unsigned>(own[dim] / (how.perThread[dim] * how.lanes[dim]), 1, left);
    left /= how.warps[dim];
  }
  how.warps[order.back()] *= left;
  return onAllThreads(blocked(Sizes(shape.begin(), shape.end()), how));
}

/// As wide accesses as the addresses allow, by neighbouring lanes.
Layout Assignment::memoryLayout(Value view, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape,
                                Share share) {
  auto type = cast<ViewType>(view.getType());
  auto isDense = [&](unsigned dim) { return dims[dim] >= 0 && type.hasUnitStride(dims[dim]); };
  SmallVector<unsigned> order;
  for (bool dense : {true, false})
    for (unsigned dim : llvm::reverse(llvm::seq<unsigned>(0, shape.size())))
      if (isDense(dim) == dense)
        order.push_back(dim);
  if (shape.empty() || !isDense(order[0]))
    return spreadOut(shape, order, 1, share);
  int64_t bytes = std::max(1u, type.getElementType().getIntOrFloatBitWidth() / 8);
  int64_t aligned = coordinates.rowAlignment(view);
  // No thread holds more while others have nothing.
  int64_t elements = llvm::product_of(shape) / share.blocks, threads = kLanes * warps;
  int64_t side = shape[order[0]] / (order[0] == share.dim ? share.blocks : 1);
  int64_t most = std::min<int64_t>(side, std::max<int64_t>(1, elements / threads));
  return spreadOut(shape, order, std::clamp<int64_t>(aligned / bytes, 1, most), share);
}

/// Whether the lanes of a warp read whole sectors of memory, of 32 bytes, by an instruction each.
/// What products take, threads hold several times: read in less than registers, it would be more
/// instructions than by way of shared memory.
bool Assignment::isCoalesced(LoadOp load, const Layout &layout) {
  constexpr unsigned kSector = 32, kWidest = 16, kRegister = 4;
  unsigned bytes = std::max(1u, load.getType().getElementTypeBitWidth() / 8);
  for (auto [dim, along] : llvm::enumerate(load.getDims())) {
    if (!load.getView().getType().hasUnitStride(along))
      continue;
    unsigned size = load.getType().getShape()[dim], run = 1;
    gf2::Vectors lanes = layout.columnsOf({Dim::Lane}),
                 registers = layout.columnsOf({Dim::Register});
    auto element = [&](unsigned step) {
      return layout.out().pack(Point({{tensorDim(dim), step}}));
    };
    while (run < size && run * bytes < kWidest && llvm::is_contained(registers, element(run)))
      run *= 2;
    if (run * bytes < kRegister && llvm::any_of(load->getUsers(), llvm::IsaPred<MmaOp>))
      return false;
    while (run < size && llvm::is_contained(lanes, element(run)))
      run *= 2;
    return run == size || run * bytes >= kSector;
  }
  return true;
}

/// The layout that a tile has from what it is made of: elementwise results are as their operands
/// are, of which another operation may have asked.
std::optional<Layout> Assignment::inherited(Value tile, llvm::DenseSet<Value> &seen) {
  if (!seen.insert(tile).second)
    return std::nullopt;
  if (auto known = layouts.find(tile); known != layouts.end())
    return known->second;
  Operation *op = tile.getDefiningOp();
  if (auto load = dyn_cast_or_null<LoadOp>(op))
    return memoryLayout(load);
  if (auto gather = dyn_cast_or_null<GatherOp>(op))
    return memoryLayout(gather.getView(), gather.getDims(), shapeOf(tile), shareOf(tile));
  if (isa_and_nonnull<MapOp, tile::CastOp, BitcastOp>(op))
    for (Value operand : op->getOperands())
      if (std::optional<Layout> layout = inherited(operand, seen))
        return layout;
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op))
    if (std::optional<Layout> layout = inherited(reshape.getInput(), seen))
      return layout->reshape(spaceOf(shapeOf(tile)));
  if (auto mma = dyn_cast_or_null<MmaOp>(op))
    return ofProduct(mma);
  if (auto reduce = dyn_cast_or_null<tile::ReduceOp>(op))
    if (std::optional<Layout> layout = inherited(reduce.getInput(), seen))
      return without(*layout, reduce.getDims());
  if (auto loop = dyn_cast_or_null<scf::ForOp>(op))
    return inherited(loop.getYieldedValues()[cast<OpResult>(tile).getResultNumber()], seen);
  return std::nullopt;
}

Layout Assignment::preferred(Value tile) {
  llvm::DenseSet<Value> seen;
  if (std::optional<Layout> layout = inherited(tile, seen))
    return *layout;
  ArrayRef<int64_t> shape = shapeOf(tile);
  SmallVector<unsigned> order(shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return spreadOut(shape, order, 1, shareOf(tile));
}

Layout Assignment::without(const Layout &layout, ArrayRef<int64_t> dims) {
  Layout result = layout;
  for (int64_t dim : llvm::reverse(dims))
    result = result.dropDim(dim);
  return onAllThreads(result);
}

/// Whether warpgroups are to make a product: tensor copies will bring what it reads from shared
/// memory.
bool Assignment::isForGroups(MmaOp mma) {
  auto isBrought = [&](Value operand) {
    auto load = operand.getDefiningOp<LoadOp>();
    auto loop = load ? dyn_cast<scf::ForOp>(load->getParentOp()) : scf::ForOp();
    return loop && isKnownAhead(loop, load) && boxedDim(load, coordinates);
  };
  bool isLoaded = isa_and_nonnull<LoadOp>(mma.getLhs().getDefiningOp());
  return groupSums(mma.getMatrix(), warps, spread) && isBrought(mma.getRhs()) &&
         (!isLoaded || isBrought(mma.getLhs()));
}

/// How many warps stand below each other. A warp's part of a product is as square as can be, so
/// that its operands are few; but where the left operand is computed, rows stay with their warp
/// from one product to the next. So do they where warpgroups make it.
unsigned Assignment::warpsBelow(MmaOp mma) {
  int64_t rows = mma.getMatrix()[0] / spread.along(0),
          columns = mma.getMatrix()[1] / spread.along(1);
  unsigned most = std::clamp<unsigned>(rows / 16, 1, warps), best = most,
           narrowest = quadPairs ? 16 : 8;
  for (unsigned below = 1; below <= most && !isChain && !grouped.contains(mma); below *= 2)
    if (columns * below >= narrowest * warps &&
        rows / below + columns * below / warps < rows / best + columns * best / warps)
      best = below;
  return best;
}

/// Tensor cores' fragments of the result (2) and the operands (0, 1). What other warps' rows or
/// columns need as well, all of them hold.
Layout Assignment::fragments(MmaOp mma, unsigned operand) {
  SmallVector<int64_t> shape(operand == 2 ? mma.getMatrix() : shapeOf(mma->getOperand(operand)));
  unsigned parts = mma.getParts();
  if (operand < 2)
    shape[1 - operand] /= parts;
  if (operand == 2 || operand == spread.dim)
    shape[spread.dim] /= spread.blocks;
  unsigned down = warpsBelow(mma), across = warps / down;
  // All instructions are 32 bytes deep.
  unsigned depth = *fragmentDepth(mma), bits = 256 / depth;
  Layout tile = operand == 2   ? quadPairs ? voltaAccumulator(16, 16) : mmaAccumulator(16, 8)
                : operand == 0 ? quadPairs ? voltaOperandA(16, 4) : mmaOperandA(16, depth, bits)
                : quadPairs    ? voltaOperandB(4, 16)
                               : mmaOperandB(depth, 8, bits);
  tile = tile *
         (operand == 1 ? Layout::broadcast(Dim::Warp, down)
                       : Layout::strided(Dim::Warp, Dim::D0, down)) *
         (operand == 0 ? Layout::broadcast(Dim::Warp, across)
                       : Layout::strided(Dim::Warp, Dim::D1, across));
  tile = tile.fit(spaceOf(shape), std::array{1u, 0u});
  if (parts > 1 && operand == 2)
    tile = tile.insertDim(0);
  if (parts > 1)
    tile = tile * Layout::strided(Dim::Block, operand == 0 ? Dim::D1 : Dim::D0, parts);
  else if (spread.blocks > 1 && (operand == 2 || operand == spread.dim))
    tile = tile * Layout::strided(Dim::Block, tensorDim(spread.dim), spread.blocks);
  return onAllThreads(tile);
}

/// Without tensor cores a thread has as many rows as columns, so that what it reads serves often.
Layout Assignment::square(Value tile) {
  ArrayRef<int64_t> shape = shapeOf(tile);
  Blocked how{.perThread = {1, 1}, .lanes = {4, 8}, .warps = {1, 1}, .order = {1, 0}};
  for (unsigned left = warps; left > 1; left /= 2)
    how.warps[how.warps[0] * 4 * shape[1] <= how.warps[1] * 8 * shape[0] ? 0 : 1] *= 2;
  return onAllThreads(blocked(Sizes(shape.begin(), shape.end()), how));
}

/// The layout that an operation needs an operand in, where its results have theirs; none: any.
std::optional<Layout> Assignment::wantedBy(Operation *op, unsigned operand) {
  Value input = op->getOperand(operand);
  if (!isTile(input))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<Layout>>(op)
      .Case([&](StoreOp store) {
        return memoryLayout(store.getView(), store.getDims(), shapeOf(input),
                            shareOf(shapeOf(input)));
      })
      .Case([&](ScatterOp scatter) { return layoutFor(scatter.getValue()); })
      .Case([&](BroadcastOp broadcast) {
        SmallVector<int64_t> added;
        for (int64_t dim = 0; dim < broadcast.getType().getRank(); ++dim)
          if (!llvm::is_contained(broadcast.getDims(), dim))
            added.push_back(dim);
        return without(layoutFor(broadcast), added);
      })
      .Case([&](TransposeOp transpose) {
        SmallVector<unsigned> back(transpose.getPermutation().size());
        for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
          back[dim] = i;
        return layoutFor(transpose).transpose(back);
      })
      .Case([&](ReshapeOp reshape) { return layoutFor(reshape).reshape(spaceOf(shapeOf(input))); })
      .Case([&](tile::ReduceOp reduce) -> std::optional<Layout> {
        auto known = joined.find(op);
        bool isAny = known == joined.end() || isAcrossWarps(reduce) ||
                     without(layoutFor(input), reduce.getDims()) == layoutFor(reduce.getResult());
        return isAny ? std::nullopt : std::optional(known->second);
      })
      .Case([&](ScanOp scan) {
        return input == scan.getInit()
                   ? without(layoutFor(scan.getResult()), {int64_t(scan.getDim())})
                   : layoutFor(scan.getResult());
      })
      .Case([&](MmaOp mma) -> std::optional<Layout> {
        if (fragmentDepth(mma))
          return fragments(mma, operand);
        return operand == 2 ? std::optional(layoutFor(mma)) : std::nullopt;
      })
      .Case([&](scf::ForOp loop) {
        return layoutFor(loop.getResult(operand - loop.getNumControlOperands()));
      })
      .Case([&](scf::YieldOp yield) { return layoutFor(op->getParentOp()->getResult(operand)); })
      .Case<ExtractOp, ConvertOp>([](auto) { return std::nullopt; })
      .Default([&](Operation *) { return layoutFor(op->getResult(0)); });
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

void Assignment::choose(Block &block) {
  for (Operation &op : llvm::reverse(block))
    choose(&op);
}

/// Whether a tile follows, element by element, from one whose operation has a layout of its own.
static bool hasOwnLayout(Value tile) {
  llvm::SetVector<Value> made;
  made.insert(tile);
  for (unsigned i = 0; i < made.size(); ++i) {
    Operation *op = made[i].getDefiningOp();
    if (isa_and_nonnull<MmaOp, tile::ReduceOp, ScanOp>(op))
      return true;
    if (isa_and_nonnull<MapOp, tile::CastOp, BitcastOp>(op))
      made.insert_range(op->getOperands());
  }
  return false;
}

/// Whether elements come from memory one by one.
static bool isScattered(Operation *op) {
  auto load = dyn_cast_or_null<LoadOp>(op);
  return load && llvm::none_of(load.getDims(), [&](int64_t dim) {
           return load.getView().getType().hasUnitStride(dim);
         });
}

/// The elementwise operations that compute a tile, from loads and operations with a layout of their
/// own.
static llvm::SetVector<Operation *> elementwiseWork(Value tile) {
  llvm::SetVector<Operation *> work;
  auto add = [&](Value value) {
    if (isa_and_nonnull<MapOp, tile::CastOp, BitcastOp>(value.getDefiningOp()))
      work.insert(value.getDefiningOp());
  };
  add(tile);
  for (unsigned i = 0; i < work.size(); ++i)
    llvm::for_each(work[i]->getOperands(), add);
  return work;
}

/// Whether a broadcast's slice of a layout makes each thread compute a tile for so many elements,
/// which other threads compute as well, that the code becomes too long. The tile is then computed
/// in a layout of its own and converted.
static bool isCodeRepeated(Value tile, const Layout &layout, unsigned threads) {
  constexpr int64_t mostRepeated = 2048; // instructions of a thread
  int64_t held = int64_t(1) << layout.columnsOf({Dim::Register}).size(),
          own = llvm::divideCeil(cast<RankedTensorType>(tile.getType()).getNumElements(), threads);
  return held > own && int64_t(elementwiseWork(tile).size()) * (held - own) > mostRepeated;
}

/// Whether warps would each do the same long work on elements of an operand of which all hold the
/// same: done once and told the others, it is shorter. So it is where lanes hold the same, and what
/// the work begins with is exchanged in any case: with its own layout, threads keep fewer elements,
/// and the exchange comes behind the work.
static bool isWorkRepeated(Value tile, const Layout &layout) {
  constexpr int64_t mostRepeated =
      32; // instructions for an element, about as many as an exchange is worth
  if (llvm::is_contained(layout.columnsOf({Dim::Lane}), 0u) && hasOwnLayout(tile))
    return true;
  int64_t times = 1;
  for (uint64_t column : layout.columnsOf({Dim::Warp}))
    times *= column ? 1 : 2;
  if (times == 1)
    return false;
  llvm::SetVector<Operation *> work;
  bool comesSlowly = false;
  auto add = [&](Value value) {
    comesSlowly |= isScattered(value.getDefiningOp());
    if (isa_and_nonnull<MapOp, tile::CastOp, BitcastOp>(value.getDefiningOp()))
      work.insert(value.getDefiningOp());
  };
  add(tile);
  for (unsigned i = 0; i < work.size(); ++i)
    llvm::for_each(work[i]->getOperands(), add);
  return comesSlowly || int64_t(work.size()) * (times - 1) > mostRepeated;
}

/// What a loop carries has the layout that its body gives it where that has one of its own.
void Assignment::chooseLoop(scf::ForOp loop) {
  choose(*loop.getBody());
  for (auto [result, argument, yielded] :
       llvm::zip(loop.getResults(), loop.getRegionIterArgs(), loop.getYieldedValues())) {
    if (!isTile(result))
      continue;
    bool isBodys = hasOwnLayout(yielded) || !layouts.contains(result);
    const Layout layout = isBodys ? layoutFor(yielded) : layoutFor(result);
    // Not in one expression: the table may move when it takes the second.
    layouts[argument] = layout;
    layouts[result] = layout;
  }
}

/// Where a tile is computed that follows, element by element, from sums of warpgroups that a loop
/// has made, before it is rounded: where the sums are, unless no more is exchanged if they go where
/// loads are, which would have to come to them, and the rounded tile to memory. None: there are no
/// such sums.
std::optional<Layout> Assignment::placeOfSums(tile::CastOp rounded) {
  llvm::SetVector<Value> made;
  made.insert(rounded.getInput());
  MmaOp sums;
  unsigned ofSums = 0, ofOthers = rounded.getType().getElementTypeBitWidth(); // bits of an element
  for (unsigned i = 0; i < made.size(); ++i) {
    Operation *op = made[i].getDefiningOp();
    if (auto mma = dyn_cast_or_null<MmaOp>(op); mma && grouped.contains(mma)) {
      sums = mma;
      ofSums += mma.getType().getElementTypeBitWidth();
    } else if (auto load = dyn_cast_or_null<LoadOp>(op)) {
      ofOthers += load.getType().getElementTypeBitWidth();
    } else if (auto loop = dyn_cast_or_null<scf::ForOp>(op)) {
      made.insert(loop.getYieldedValues()[cast<OpResult>(made[i]).getResultNumber()]);
    } else if (isa_and_nonnull<MapOp, tile::CastOp, BitcastOp>(op)) {
      made.insert_range(op->getOperands());
    }
  }
  if (!sums)
    return std::nullopt;
  llvm::DenseSet<Value> seen;
  return ofOthers < ofSums ? ofProduct(sums) : inherited(rounded.getInput(), seen);
}

void Assignment::choose(Operation *op) {
  // What becomes of sums of groups is exchanged when it is rounded to fewer bits.
  auto rounded = dyn_cast<tile::CastOp>(op);
  bool isNarrower = rounded && rounded.getType().getElementTypeBitWidth() <
                                   rounded.getInput().getType().getElementTypeBitWidth();
  auto around = dyn_cast<scf::ForOp>(op->getParentOp());
  if (isNarrower && (!around || isOverPrograms(around)))
    if (std::optional<Layout> layout = placeOfSums(rounded))
      layouts[rounded.getResult()] = *layout;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    chooseLoop(loop);
  else
    for (Region &region : op->getRegions())
      for (Block &block : region)
        choose(block);
  auto mma = dyn_cast<MmaOp>(op);
  if (mma)
    layouts[mma.getResult()] = ofProduct(mma);
  // A loop's results are known once its body is; until then a yield asks for nothing, nor against
  // what the body has.
  bool isOpen = isa<scf::YieldOp>(op) && isa<scf::ForOp>(op->getParentOp());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!isOpen || (layouts.contains(op->getParentOp()->getResult(i)) && !hasOwnLayout(operand)))
      if (std::optional<Layout> wanted = wantedBy(op, i);
          wanted && !(mma && isWorkRepeated(operand, *wanted)) &&
          !(isa<BroadcastOp>(op) && isCodeRepeated(operand, *wanted, kLanes * warps)))
        ask(operand, *wanted);
  bool isAsked = op->getNumResults() && layouts.contains(op->getResult(0));
  for (Value result : op->getResults())
    if (isTile(result))
      layoutFor(result);
  if (auto load = dyn_cast<LoadOp>(op); load && !isCoalesced(load, layoutFor(load)))
    layouts[load.getResult()] = memoryLayout(load);
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    joined[op] = layoutFor(reduce.getInput());
  if (auto reduce = dyn_cast<tile::ReduceOp>(op); reduce && !(isAsked && isAcrossWarps(reduce)))
    layouts[reduce.getResult()] = without(layoutFor(reduce.getInput()), reduce.getDims());
  if (auto reduce = dyn_cast<tile::ReduceOp>(op); reduce && isAcrossWarps(reduce))
    if (std::optional<Layout> own = ownSums(shapeOf(reduce.getResult()));
        own && layoutFor(reduce.getInput()) == groupSums(shapeOf(reduce.getInput()), warps) &&
        llvm::equal(own->columns(Dim::Block), layoutFor(reduce.getResult()).columns(Dim::Block)))
      layouts[reduce.getResult()] = *own;
  if (auto scan = dyn_cast<ScanOp>(op))
    layouts[scan.getTotal()] = without(layoutFor(scan.getResult()), {int64_t(scan.getDim())});
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

void Assignment::convertOperand(OpOperand &operand, const Layout &wanted) {
  Value value = operand.get();
  if (layouts.at(value) == wanted)
    return;
  OpBuilder builder(operand.getOwner());
  RankedTensorType type = withLayout(value.getType(), wanted);
  Operation *maker = value.getDefiningOp();
  if (isa_and_nonnull<ConstantOp, SplatOp, IotaOp>(maker)) {
    Operation *again = builder.clone(*maker);
    again->getResult(0).setType(type);
    return operand.set(again->getResult(0));
  }
  // What several products of groups take of one load is converted once, so that it is brought as
  // they read it.
  if (isa_and_nonnull<LoadOp>(maker) && grouped.contains(operand.getOwner()))
    for (Operation *user : maker->getUsers())
      if (auto same = dyn_cast<ConvertOp>(user);
          same && same.getType() == type && same->getBlock() == maker->getBlock())
        return operand.set(same);
  operand.set(ConvertOp::create(builder, operand.getOwner()->getLoc(), type, value));
}

void Assignment::rewrite() {
  for (auto &[tile, layout] : layouts)
    Value(tile).setType(withLayout(tile.getType(), layout));
  kernel.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (std::optional<Layout> wanted = wantedBy(op, operand.getOperandNumber()))
        convertOperand(operand, *wanted);
  });
  // Less moves after rounding to fewer bits.
  kernel.walk([](tile::CastOp cast) {
    auto convert = cast.getInput().getDefiningOp<ConvertOp>();
    auto narrow = cast.getType(), wide = cast.getInput().getType();
    if (!convert || narrow.getElementTypeBitWidth() >= wide.getElementTypeBitWidth())
      return;
    OpBuilder builder(cast);
    auto early = withLayout(narrow, *layoutOf(convert.getInput()));
    Value rounded = tile::CastOp::create(builder, cast.getLoc(), early, convert.getInput());
    Value moved = ConvertOp::create(builder, cast.getLoc(), narrow, rounded);
    cast.getResult().replaceAllUsesWith(moved);
    cast.erase();
    if (convert->use_empty())
      convert.erase();
  });
  // What was made again may have been made for nobody else.
  kernel.walk([](Operation *op) {
    if (isa<ConstantOp, SplatOp, IotaOp>(op) && op->use_empty())
      op->erase();
  });
}

namespace {
struct TileAssignLayouts : tile::impl::TileAssignLayoutsBase<TileAssignLayouts> {
  using TileAssignLayoutsBase::TileAssignLayoutsBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      unsigned count = getHint(kernel.getHintsAttr(), "num_warps").value_or(warps);
      unsigned blocks = getHint(kernel.getHintsAttr(), "cluster_size").value_or(1);
      if (!llvm::isPowerOf2_32(blocks)) {
        kernel.emitError("expected a cluster of a power of two of blocks, got ") << blocks;
        return signalPassFailure();
      }
      bool grouped = wgmma && getHint(kernel.getHintsAttr(), "wgmma").value_or(0);
      std::optional<int64_t> spread =
          blocks > 1 ? getHint(kernel.getHintsAttr(), "cluster_axis") : std::nullopt;
      Assignment assignment(kernel, count, blocks, spread, quadPairs, grouped);
      if (failed(assignment.run()))
        return signalPassFailure();
      if (spread && assignment.blocksWithWork() == 1) {
        NamedAttrList hints(kernel.getHintsAttr());
        hints.erase("cluster_size");
        hints.erase("cluster_axis");
        kernel.setHintsAttr(hints.getDictionary(kernel.getContext()));
      }
    }
  }
};
} // namespace
