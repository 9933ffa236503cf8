//===- AssignLayouts.cpp - Assign layouts to tiles ------------------------===//
//
// Layouts propagate backward. A store requests the layout in which threads access memory in wide
// contiguous vectors. An elementwise operation requests the layout of its result for its operands,
// a broadcast the part of its result's layout that its operand has. The first request wins. A
// contraction, a sort and a reduction within warps have layouts of their own. A load refuses one
// that is not coalesced. Long elementwise work is not requested in a layout that replicates it
// across warps, nor work on accumulators in one that replicates it across lanes. A value that is
// used in another layout is converted; constants and iotas are computed again instead, and so are
// loads and elementwise work on them where a conversion would need elements of another CTA.
//
// In a cluster the CTAs divide the longest rows into contiguous parts; everything else is
// replicated. With split-K each CTA has a part of the K dimension of the operands and of the tiles
// that they derive from elementwise. The results are divided by rows, or by columns with wgmma: a
// thread finishes some accumulator elements and sends the others to the same thread of other CTAs.
// With `cluster_axis` they divide the accumulator, the operand along that axis, and results.
//
//===----------------------------------------------------------------------===//
#include "Async/BulkRows.h"
#include "Async/PipelinedLoads.h"
#include "Layout/Coalescing.h"
#include "Layout/ReplicatedWork.h"
#include "Layout/ScanRows.h"

#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Common/Remarks.h"
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

static constexpr StringLiteral kPass = "tile-assign-layouts";

namespace {
using Sizes = std::vector<unsigned>;
constexpr unsigned kLanes = 32;

ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }
bool isTile(Value value) { return isTileType(value.getType()); }
/// The tile of a load or a store.
Value tileOf(Operation *op) { return op->getNumResults() ? op->getResult(0) : op->getOperand(0); }

class Assignment {
public:
  Assignment(KernelOp kernel, unsigned warps, unsigned blocks, std::optional<unsigned> side,
             bool quadPairs, bool warpgroups)
      : kernel(kernel), coordinates(kernel), warps(warps), blocks(blocks), quadPairs(quadPairs),
        warpgroups(warpgroups) {
    if (side)
      spread = {*side, blocks};
    kernel.walk([&](Operation *op) {
      if (auto tile = isa<LoadOp, StoreOp>(op) ? dyn_cast<RankedTensorType>(tileOf(op).getType())
                                               : RankedTensorType())
        longest = std::max(longest, tile.getRank() ? tile.getShape().back() : 1);
    });
    kernel.walk([&](MmaOp mma) {
      isChain |= hasOwnLayout(mma.getLhs());
      isSplitK |= mma.getParts() > 1;
      if (warpgroups && canUseWgmma(mma))
        grouped.insert(mma);
    });
    if (side && !canSpread()) {
      spread = {};
      this->blocks = 1;
    }
  }

  /// The CTAs of a cluster that the kernel uses.
  unsigned usedCtas() const { return blocks; }

  LogicalResult run() {
    if (failed(checkShapes()))
      return failure();
    if (warpgroups && kernel.getContext()->getRemarkEngine())
      kernel.walk([&](MmaOp mma) { remarkMmaSync(mma); });
    choose(kernel.getBody().front());
    rewrite();
    return success();
  }

private:
  LogicalResult checkShapes();

  /// How CTAs divide a tile: along which dimension, and among how many.
  struct Share {
    unsigned dim = 0, blocks = 1;
  };
  Share shareOf(ArrayRef<int64_t> shape);
  std::optional<Share> shareOfUses(Value tile, bool isOperand, llvm::DenseSet<Value> &seen);
  Share shareOf(Value tile);
  std::optional<Layout> wgmmaSplitResult(ArrayRef<int64_t> shape);
  bool canSpread();

  // Requests
  Layout memoryLayout(Value view, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape, Share share,
                      bool isNarrow = false);
  Layout memoryLayout(LoadOp load) {
    return memoryLayout(load.getView(), load.getDims(), shapeOf(load), shareOf(load.getResult()));
  }
  Layout distribute(ArrayRef<int64_t> shape, ArrayRef<unsigned> order, unsigned perThread,
                    Share share);
  /// The layout that a tile inherits from its operands; `seen` are tiles without one.
  std::optional<Layout> inherited(Value tile, llvm::DenseSet<Value> &seen);
  Layout preferred(Value tile);
  std::optional<Layout> coalesced(GatherOp gather, const Layout &layout);
  Layout onAllThreads(const Layout &layout) {
    return layout.broadcastTo(
        Space({{Dim::Lane, kLanes}, {Dim::Warp, warps}, {Dim::Block, blocks}}));
  }
  /// The layout of a tile without the dimensions `dims`: a thread holds the elements of which it
  /// held a part.
  Layout withoutDims(const Layout &layout, ArrayRef<int64_t> dims);
  /// Whether a reduction combines several warps or CTAs through shared memory, from where its
  /// result can have any layout.
  bool isAcrossWarps(tile::ReduceOp reduce) {
    SmallVector<unsigned> dims(reduce.getDims().begin(), reduce.getDims().end());
    ReductionPlan plan = planReduction(layoutFor(reduce.getInput()), dims);
    return !plan.warps.empty() || !plan.blocks.empty();
  }
  bool canUseWgmma(MmaOp mma);
  void remarkMmaSync(MmaOp mma);
  std::optional<Layout> layoutBeforeRounding(tile::CastOp rounded);
  unsigned warpsAlongRows(MmaOp mma);
  Layout fragments(MmaOp mma, unsigned operand);
  Layout simtAccumulator(Value tile);
  Layout accumulatorLayout(MmaOp mma) {
    return fragmentDepth(mma) ? fragments(mma, 2) : simtAccumulator(mma.getResult());
  }
  std::optional<Layout> requiredBy(Operation *op, unsigned operand);
  Layout beforeBroadcast(BroadcastOp broadcast, const Layout &layout);

  // Choosing, backward
  void choose(Block &block);
  void choose(Operation *op);
  void chooseLoop(scf::ForOp loop);
  const Layout &layoutFor(Value tile) {
    if (!layouts.contains(tile))
      layouts[tile] = preferred(tile);
    return layouts[tile];
  }
  void request(Value tile, const Layout &layout) { layouts.try_emplace(tile, layout); }

  // Rewriting
  void rewrite();
  void convertOperand(OpOperand &operand, const Layout &required);

  KernelOp kernel;
  Coordinates coordinates;
  unsigned warps, blocks;
  bool quadPairs;
  bool warpgroups;     // whether the kernel may use wgmma
  int64_t longest = 1; // row that is loaded or stored
  /// Whether the left operand of a contraction is computed, as in attention.
  bool isChain = false;
  /// Whether the CTAs of a cluster split the K dimension.
  bool isSplitK = false;
  /// How CTAs divide accumulators with `cluster_axis`.
  Spread spread;
  /// Contractions that use wgmma.
  llvm::DenseSet<Operation *> grouped;
  llvm::DenseMap<Value, Layout> layouts;
  /// The layouts of reductions' operands from which the layouts of their results were derived. A
  /// load may get another layout later.
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
// Requests
//===----------------------------------------------------------------------===//

/// The layout of the result of a split-K contraction with wgmma: each CTA has columns of it.
std::optional<Layout> Assignment::wgmmaSplitResult(ArrayRef<int64_t> shape) {
  if (!isSplitK || grouped.empty() || shape.size() != 2 || shape[1] < blocks)
    return std::nullopt;
  std::optional<Layout> part = groupSums({shape[0], shape[1] / blocks}, warps);
  return part ? std::optional(*part * Layout::strided(Dim::Block, Dim::D1, blocks)) : std::nullopt;
}

/// Whether CTAs can divide all accumulators by rows or columns: wgmma computes them from loaded
/// operands, and elementwise operations the stored tiles from them. If not, a remark says so.
bool Assignment::canSpread() {
  ArrayRef<int64_t> shape;
  auto fits = [&](MmaOp mma) {
    bool isLoaded = llvm::all_of(ArrayRef<Value>{mma.getLhs(), mma.getRhs()}, [](Value operand) {
      LoadOp load = operandLoad(operand);
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
    if (!isOfTiles || isKnown)
      return WalkResult::advance();
    missed(op, kPass, "ClusterOperation") << remark::reason(
        "the {0} CTAs of a cluster do not divide '{1}': they divide wgmma with operands that are "
        "loaded for it, and elementwise operations",
        blocks, op->getName().getStringRef());
    return WalkResult::interrupt();
  });
  return !result.wasInterrupted() && !shape.empty();
}

Assignment::Share Assignment::shareOf(ArrayRef<int64_t> shape) {
  if (spread.blocks > 1)
    return shape.size() == 2 && shape[spread.dim] >= spread.blocks ? Share{spread.dim, blocks}
                                                                   : Share();
  if (wgmmaSplitResult(shape))
    return {1, blocks};
  if (isSplitK)
    return shape.size() == 2 && shape[0] >= blocks ? Share{0, blocks} : Share();
  if (shape.empty() || shape.back() != longest)
    return {};
  return {unsigned(shape.size() - 1), unsigned(std::min<int64_t>(blocks, longest))};
}

/// The tiles that a use of a tile derives: results, and values that loops carry.
static SmallVector<Value> derivedBy(OpOperand &use) {
  Operation *user = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (auto mma = dyn_cast<MmaOp>(user); mma && number == 2)
    return {};
  auto loop = dyn_cast<scf::ForOp>(isa<scf::YieldOp>(user) ? user->getParentOp() : user);
  if (!loop)
    return SmallVector<Value>(user->getResults());
  if (loop == user) {
    if (number < loop.getNumControlOperands())
      return {}; // a bound of the loop
    number -= loop.getNumControlOperands();
  }
  return {loop.getRegionIterArg(number), loop.getResult(number)};
}

/// Whether an operand of a contraction derives from a tile.
static bool reachesOperand(Value tile) {
  llvm::SetVector<Value> made;
  made.insert(tile);
  for (unsigned i = 0; i < made.size(); ++i)
    for (OpOperand &use : made[i].getUses()) {
      if (isa<MmaOp>(use.getOwner()) && use.getOperandNumber() < 2)
        return true;
      made.insert_range(derivedBy(use));
    }
  return false;
}

/// Whether a reduction is along the K dimension of a contraction: all CTAs need the result.
static bool isStatisticOfOperand(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  return isa<tile::ReduceOp>(op) && loop && !loop.getOps<MmaOp>().empty();
}

/// How CTAs divide the tiles that elementwise operations derive from a tile: an operand of a
/// contraction, or another use.
std::optional<Assignment::Share> Assignment::shareOfUses(Value tile, bool isOperand,
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
        return isStatisticOfOperand(user) ? Share() : shareOf(shapeOf(tile));
      continue;
    }
    for (Value made : derivedBy(use))
      if (std::optional<Share> share = shareOfUses(made, isOperand, seen)) {
        if (auto transpose = dyn_cast<TransposeOp>(user))
          share->dim = transpose.getPermutation()[share->dim];
        return share;
      }
  }
  return std::nullopt;
}

/// If CTAs divide contractions, a tile is divided as its uses are; other inputs of operands are
/// replicated.
Assignment::Share Assignment::shareOf(Value tile) {
  if (!isSplitK && spread.blocks == 1)
    return shareOf(shapeOf(tile));
  llvm::DenseSet<Value> seen;
  return shareOfUses(tile, reachesOperand(tile), seen).value_or(Share());
}

/// A blocked layout: each thread holds `perThread` contiguous elements along the first dimension of
/// `order`. Lanes follow that order, and warps the reverse order, so that contiguous elements stay
/// within a warp.
Layout Assignment::distribute(ArrayRef<int64_t> shape, ArrayRef<unsigned> order, unsigned perThread,
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

/// The layout with the widest accesses that the addresses allow, by neighbouring lanes. Narrow ones
/// are no wider than what divides the size of the view: otherwise an access that is partly outside
/// falls apart into elements, with the lanes far from each other.
Layout Assignment::memoryLayout(Value view, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape,
                                Share share, bool isNarrow) {
  auto type = cast<ViewType>(view.getType());
  auto isDense = [&](unsigned dim) { return dims[dim] >= 0 && type.hasUnitStride(dims[dim]); };
  SmallVector<unsigned> order;
  for (bool dense : {true, false})
    for (unsigned dim : llvm::reverse(llvm::seq<unsigned>(0, shape.size())))
      if (isDense(dim) == dense)
        order.push_back(dim);
  if (shape.empty() || !isDense(order[0]))
    return distribute(shape, order, 1, share);
  int64_t bytes = std::max(1u, type.getElementType().getIntOrFloatBitWidth() / 8);
  int64_t aligned = coordinates.rowAlignment(view);
  if (isNarrow)
    aligned = std::gcd(aligned, bytes * type.getDivisor(dims[order[0]]));
  // Use all threads before a thread gets a wider vector.
  int64_t elements = llvm::product_of(shape) / share.blocks, threads = kLanes * warps;
  int64_t side = shape[order[0]] / (order[0] == share.dim ? share.blocks : 1);
  int64_t most = std::min<int64_t>(side, std::max<int64_t>(1, elements / threads));
  return distribute(shape, order, std::clamp<int64_t>(aligned / bytes, 1, most), share);
}

/// The layout of a gather whose lanes would read memory apart from each other: they are along what
/// is contiguous.
std::optional<Layout> Assignment::coalesced(GatherOp gather, const Layout &layout) {
  std::optional<unsigned> run = scatteredRun(gather, layout);
  if (!run)
    return std::nullopt;
  SmallVector<unsigned> order{*run};
  for (unsigned dim : llvm::reverse(llvm::seq<unsigned>(0, shapeOf(gather).size())))
    if (dim != *run)
      order.push_back(dim);
  return distribute(shapeOf(gather), order, 1, shareOf(gather.getResult()));
}

/// The layout that a tile inherits: elementwise results have the layout of their operands, for
/// which there may be a request.
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
    return accumulatorLayout(mma);
  if (auto reduce = dyn_cast_or_null<tile::ReduceOp>(op))
    if (std::optional<Layout> layout = inherited(reduce.getInput(), seen))
      return withoutDims(*layout, reduce.getDims());
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
  return distribute(shape, order, 1, shareOf(tile));
}

Layout Assignment::withoutDims(const Layout &layout, ArrayRef<int64_t> dims) {
  Layout result = layout;
  for (int64_t dim : llvm::reverse(dims))
    result = result.dropDim(dim);
  return onAllThreads(result);
}

/// Whether a contraction is to use wgmma: the accumulator has a suitable shape, and TMA will load
/// what wgmma reads from shared memory.
bool Assignment::canUseWgmma(MmaOp mma) {
  // A left operand in registers has 16 bits: it is computed, or loaded before the loop.
  LoadOp load = operandLoad(mma.getLhs());
  bool isHoisted = load && load->getBlock() != mma->getBlock();
  bool isLoaded = (load && !isHoisted) || getElementTypeOrSelf(mma.getLhs()).isTF32();
  return groupSums(mma.getMatrix(), warps, spread) &&
         isGroupOperand(mma.getRhs(), 0, coordinates) &&
         (!isLoaded || isGroupOperand(mma.getLhs(), 1, coordinates));
}

/// Says why a contraction has an accumulator that is not in the layout of wgmma.
void Assignment::remarkMmaSync(MmaOp mma) {
  Spread own = mma.getParts() > 1 ? Spread() : spread;
  std::optional<Layout> acc = groupSums(shapeOf(mma.getResult()), warps, own);
  if (!acc)
    missed(mma, kPass, "AccumulatorShape") << remark::reason(
        "wgmma is not used: an accumulator of {0} x {1} is not divided among {2} warps",
        mma.getMatrix()[0], mma.getMatrix()[1], warps);
  else if (fragmentDepth(mma) && accumulatorLayout(mma) != *acc)
    remarkOperandsWithoutTma(mma, coordinates, kPass);
}

/// The number of warps along the rows of an accumulator. A warp's part is as square as possible, so
/// that it needs few operand elements. If the left operand is computed, or with wgmma, all warps
/// are along the rows: a warp keeps its rows from one contraction to the next.
unsigned Assignment::warpsAlongRows(MmaOp mma) {
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

/// The layout of tensor core fragments of the operands (0, 1) and the result (2). Operands are
/// replicated among warps with the same rows or columns.
Layout Assignment::fragments(MmaOp mma, unsigned operand) {
  SmallVector<int64_t> shape(operand == 2 ? mma.getMatrix() : shapeOf(mma->getOperand(operand)));
  unsigned parts = mma.getParts();
  if (operand < 2)
    shape[1 - operand] /= parts;
  if (operand == 2 || operand == spread.dim)
    shape[spread.dim] /= spread.blocks;
  unsigned down = warpsAlongRows(mma), across = warps / down;
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

/// The layout of an accumulator without tensor cores: a thread has as many rows as columns, so that
/// it reuses operand elements.
Layout Assignment::simtAccumulator(Value tile) {
  ArrayRef<int64_t> shape = shapeOf(tile);
  Blocked how{.perThread = {1, 1}, .lanes = {4, 8}, .warps = {1, 1}, .order = {1, 0}};
  for (unsigned left = warps; left > 1; left /= 2)
    how.warps[how.warps[0] * 4 * shape[1] <= how.warps[1] * 8 * shape[0] ? 0 : 1] *= 2;
  return onAllThreads(blocked(Sizes(shape.begin(), shape.end()), how));
}

/// The layout of what is broadcast to a layout.
Layout Assignment::beforeBroadcast(BroadcastOp broadcast, const Layout &layout) {
  auto added = llvm::to_vector(llvm::seq<int64_t>(broadcast.getType().getRank()));
  llvm::erase_if(added, [&](int64_t dim) { return llvm::is_contained(broadcast.getDims(), dim); });
  return withoutDims(layout, added);
}

/// The layout in which an operation needs an operand, given the layouts of its results; none if any
/// will do.
std::optional<Layout> Assignment::requiredBy(Operation *op, unsigned operand) {
  Value input = op->getOperand(operand);
  if (!isTile(input))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<Layout>>(op)
      .Case([&](StoreOp store) {
        bool isNarrow = store.getBounded() && coordinates.leastRowAlignment(input) <
                                                  coordinates.rowAlignment(store.getView());
        return memoryLayout(store.getView(), store.getDims(), shapeOf(input),
                            shareOf(shapeOf(input)), isNarrow);
      })
      .Case([&](ScatterOp scatter) { return layoutFor(scatter.getValue()); })
      .Case([&](BroadcastOp broadcast) { return beforeBroadcast(broadcast, layoutFor(broadcast)); })
      .Case([&](TransposeOp transpose) {
        SmallVector<unsigned> back(transpose.getPermutation().size());
        for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
          back[dim] = i;
        return layoutFor(transpose).transpose(back);
      })
      .Case([&](ReshapeOp reshape) { return layoutFor(reshape).reshape(spaceOf(shapeOf(input))); })
      .Case([&](tile::ReduceOp reduce) -> std::optional<Layout> {
        auto known = joined.find(op);
        bool isAny =
            known == joined.end() || isAcrossWarps(reduce) ||
            withoutDims(layoutFor(input), reduce.getDims()) == layoutFor(reduce.getResult());
        return isAny ? std::nullopt : std::optional(known->second);
      })
      .Case([&](ScanOp scan) {
        return input == scan.getInit()
                   ? withoutDims(layoutFor(scan.getResult()), {int64_t(scan.getDim())})
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
      .Case([&](ElementOp) { return onAllThreads(ElementOp::layoutInWarp(shapeOf(input)[0])); })
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

/// A carried value has the layout that the body gives it, if the body has one of its own.
void Assignment::chooseLoop(scf::ForOp loop) {
  choose(*loop.getBody());
  for (auto [result, argument, yielded] :
       llvm::zip(loop.getResults(), loop.getRegionIterArgs(), loop.getYieldedValues())) {
    if (!isTile(result))
      continue;
    bool isFromBody = hasOwnLayout(yielded) || !layouts.contains(result);
    const Layout layout = isFromBody ? layoutFor(yielded) : layoutFor(result);
    // Two statements: an insertion may move the elements of the map.
    layouts[argument] = layout;
    layouts[result] = layout;
  }
}

/// The layout for the epilogue of a wgmma accumulator before its result is rounded: the layout of
/// the accumulator, unless it is cheaper to convert the accumulator to the layout of the epilogue's
/// loads than the loads and the rounded result. None if there is no such accumulator.
std::optional<Layout> Assignment::layoutBeforeRounding(tile::CastOp rounded) {
  llvm::SetVector<Value> made;
  made.insert(rounded.getInput());
  MmaOp acc;
  unsigned accBits = 0,
           otherBits = rounded.getType().getElementTypeBitWidth(); // bits of an element
  for (unsigned i = 0; i < made.size(); ++i) {
    Operation *op = made[i].getDefiningOp();
    if (auto mma = dyn_cast_or_null<MmaOp>(op); mma && grouped.contains(mma)) {
      acc = mma;
      accBits += mma.getType().getElementTypeBitWidth();
    } else if (auto load = dyn_cast_or_null<LoadOp>(op)) {
      otherBits += load.getType().getElementTypeBitWidth();
    } else if (auto loop = dyn_cast_or_null<scf::ForOp>(op)) {
      made.insert(loop.getYieldedValues()[cast<OpResult>(made[i]).getResultNumber()]);
    } else if (isa_and_nonnull<MapOp, tile::CastOp, BitcastOp>(op)) {
      made.insert_range(op->getOperands());
    }
  }
  if (!acc)
    return std::nullopt;
  llvm::DenseSet<Value> seen;
  return otherBits < accBits ? accumulatorLayout(acc) : inherited(rounded.getInput(), seen);
}

void Assignment::choose(Operation *op) {
  // Convert the result of a wgmma after it is rounded to fewer bits.
  auto rounded = dyn_cast<tile::CastOp>(op);
  bool isNarrower = rounded && rounded.getType().getElementTypeBitWidth() <
                                   rounded.getInput().getType().getElementTypeBitWidth();
  auto around = dyn_cast<scf::ForOp>(op->getParentOp());
  if (isNarrower && (!around || isPersistentLoop(around)))
    if (std::optional<Layout> layout = layoutBeforeRounding(rounded))
      layouts[rounded.getResult()] = *layout;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    chooseLoop(loop);
  else
    for (Region &region : op->getRegions())
      for (Block &block : region)
        choose(block);
  if (auto sort = dyn_cast<SortOp>(op))
    layouts[sort.getResult()] = onAllThreads(sortedRows(shapeOf(sort), sort.getDim(), warps));
  auto mma = dyn_cast<MmaOp>(op);
  if (mma)
    layouts[mma.getResult()] = accumulatorLayout(mma);
  // What is scanned stays in the layout of its loads, and is converted then.
  std::optional<Layout> ofRows;
  if (auto scan = dyn_cast<ScanOp>(op))
    if (llvm::DenseSet<Value> seen; auto loaded = inherited(scan.getInput(), seen))
      ofRows = rowsInThreads(*loaded, tensorDim(scan.getDim()));
  if (ofRows)
    layouts[op->getResult(0)] = *ofRows;
  if (auto gather = dyn_cast<GatherOp>(op); gather && !around)
    if (std::optional<Layout> layout = coalesced(gather, layoutFor(gather)))
      layouts[gather.getResult()] = *layout;
  // The layouts of a loop's results are known after its body. Until then a yield requests nothing,
  // and nothing against a layout that the body has.
  bool isOpen = isa<scf::YieldOp>(op) && isa<scf::ForOp>(op->getParentOp());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!isOpen || (layouts.contains(op->getParentOp()->getResult(i)) && !hasOwnLayout(operand)))
      if (std::optional<Layout> required = requiredBy(op, i);
          required && !(mma && replicatesWork(operand, *required)) && !(ofRows && i == 0) &&
          !(isa<BroadcastOp>(op) && replicatesCode(operand, *required, kLanes * warps)))
        request(operand, *required);
  bool isAsked = op->getNumResults() && layouts.contains(op->getResult(0));
  for (Value result : op->getResults())
    if (isTile(result))
      layoutFor(result);
  // Loads of an MMA loop go through shared memory, where they run ahead. Rows beside wgmma do not:
  // a CTA barrier would keep all warpgroups in the same iteration.
  bool runsAhead = isa<LoadOp>(op) && around && !isPersistentLoop(around) &&
                   (grouped.empty() || shapeOf(op->getResult(0)).size() > 1) &&
                   reachesOperand(op->getResult(0));
  if (auto load = dyn_cast<LoadOp>(op); load && (runsAhead || !isCoalesced(load, layoutFor(load))))
    layouts[load.getResult()] = memoryLayout(load);
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    joined[op] = layoutFor(reduce.getInput());
  if (auto reduce = dyn_cast<tile::ReduceOp>(op); reduce && !(isAsked && isAcrossWarps(reduce)))
    layouts[reduce.getResult()] = withoutDims(layoutFor(reduce.getInput()), reduce.getDims());
  if (auto reduce = dyn_cast<tile::ReduceOp>(op); reduce && isAcrossWarps(reduce))
    if (std::optional<Layout> own = wgmmaSplitResult(shapeOf(reduce.getResult()));
        own && layoutFor(reduce.getInput()) == groupSums(shapeOf(reduce.getInput()), warps) &&
        llvm::equal(own->columns(Dim::Block), layoutFor(reduce.getResult()).columns(Dim::Block)))
      layouts[reduce.getResult()] = *own;
  if (auto scan = dyn_cast<ScanOp>(op))
    layouts[scan.getTotal()] = withoutDims(layoutFor(scan.getResult()), {int64_t(scan.getDim())});
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Whether a CTA of a cluster would need elements that another one has.
static bool crossesCtas(const Layout &from, const Layout &to) {
  auto isNonzero = [](auto column) { return column != 0; };
  return llvm::any_of(from.columns(Dim::Block), isNonzero) &&
         !llvm::equal(from.columns(Dim::Block), to.columns(Dim::Block));
}

void Assignment::convertOperand(OpOperand &operand, const Layout &required) {
  Value value = operand.get();
  if (auto convert = value.getDefiningOp<ConvertOp>()) // of an operation that is computed again
    value = convert.getInput();
  Layout from = *layoutOf(value);
  if (from == required)
    return operand.set(value);
  OpBuilder builder(operand.getOwner());
  RankedTensorType type = withLayout(value.getType(), required);
  Operation *maker = value.getDefiningOp();
  if (isa_and_nonnull<ConstantOp, SplatOp, IotaOp>(maker)) {
    Operation *again = builder.clone(*maker);
    again->getResult(0).setType(type);
    return operand.set(again->getResult(0));
  }
  // What another CTA of the cluster has is computed again.
  if (crossesCtas(from, required) &&
      isa_and_nonnull<LoadOp, MapOp, tile::CastOp, BitcastOp, BroadcastOp>(maker)) {
    builder.setInsertionPointAfter(maker);
    Operation *again = builder.clone(*maker);
    again->getResult(0).setType(type);
    for (OpOperand &input : again->getOpOperands())
      if (auto broadcast = dyn_cast<BroadcastOp>(again))
        convertOperand(input, beforeBroadcast(broadcast, required));
      else if (isTile(input.get()) && !isa<LoadOp>(again))
        convertOperand(input, required);
    return operand.set(again->getResult(0));
  }
  // A load that several operations read is converted once, so that it goes through one buffer.
  if (isa_and_nonnull<LoadOp>(maker))
    for (Operation *user : maker->getUsers())
      if (auto same = dyn_cast<ConvertOp>(user);
          same && same.getType() == type && same->getBlock() == maker->getBlock() &&
          maker->getBlock()->findAncestorOpInBlock(*operand.getOwner()) &&
          same->isBeforeInBlock(maker->getBlock()->findAncestorOpInBlock(*operand.getOwner())))
        return operand.set(same);
  operand.set(ConvertOp::create(builder, operand.getOwner()->getLoc(), type, value));
}

void Assignment::rewrite() {
  for (auto &[tile, layout] : layouts)
    Value(tile).setType(withLayout(tile.getType(), layout));
  kernel.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (std::optional<Layout> required = requiredBy(op, operand.getOperandNumber()))
        convertOperand(operand, *required);
  });
  // Round before a conversion: it then moves fewer bits.
  kernel.walk([](tile::CastOp cast) {
    auto convert = cast.getInput().getDefiningOp<ConvertOp>();
    auto narrow = cast.getType(), wide = cast.getInput().getType();
    if (!convert || narrow.getElementTypeBitWidth() >= wide.getElementTypeBitWidth() ||
        narrow.getElementType().isTF32()) // stored as 32 bits
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
  // Erase constants of which only clones are used.
  kernel.walk([](Operation *op) {
    if (isa<ConstantOp, SplatOp, IotaOp>(op) && op->use_empty())
      op->erase();
  });
}

namespace {
struct TileAssignLayouts : tile::impl::TileAssignLayoutsBase<TileAssignLayouts> {
  using TileAssignLayoutsBase::TileAssignLayoutsBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      unsigned count = kernel.getField(LaunchField::NumWarps).value_or(warps);
      unsigned blocks = kernel.getClusterSize();
      if (!llvm::isPowerOf2_32(blocks)) {
        kernel.emitError("expected a cluster size that is a power of two, got ") << blocks;
        return signalPassFailure();
      }
      bool grouped = gpu->has(GpuFeature::Wgmma) && kernel.isOn(TuningField::Wgmma);
      std::optional<int64_t> spread =
          blocks > 1 ? kernel.getField(LaunchField::ClusterAxis) : std::nullopt;
      Assignment assignment(kernel, count, blocks, spread, gpu->multipliesByQuadPairs(), grouped);
      if (failed(assignment.run()))
        return signalPassFailure();
      if (spread && assignment.usedCtas() == 1) {
        kernel.changeConfig(
            kernel.getLaunchConfig().without({LaunchField::ClusterSize, LaunchField::ClusterAxis}),
            "one CTA of a cluster has all work");
      }
    }
  }
};
} // namespace
