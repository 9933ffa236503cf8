//===- LowerTmaLoads.cpp - Pipeline the loads of a loop by TMA ------------===//
//
// cp.async costs every thread instructions and registers for addresses. TMA needs one thread per
// tile: it copies a box into a stage of shared memory, swizzled so that fragments are read without
// bank conflicts, and arrives at the full barrier of the stage.
//
// An iteration may need a tile and its transpose, as operands of several contractions. wgmma reads
// both from one stage.
//
// A loop has the loads of several iterations in flight, in a ring of stages. All loads of an
// iteration share one full barrier; in kernels with wgmma the operands of each contraction have
// their own. A CTA barrier precedes the refill of a stage (ReleaseStages.cpp replaces it by empty
// barriers). Issuing a TMA load takes noticeable time, so each load is issued by another warp.
//
// In a persistent kernel the stages and barriers outlive the K loop: the persistent loop carries
// the stage, the phase and the position of the loads, and the loads of the next tile start under
// the epilogue of the current one.
//
//===----------------------------------------------------------------------===//
#include "BulkRows.h"
#include "FirstUse.h"
#include "PipelinedLoads.h"
#include "TileCursor.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Layout/Conversion.h"
#include "tessera/Layout/Families.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILELOWERTMALOADS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-lower-tma-loads";

namespace {
/// The TMA loads of one loop with a given number of stages.
class TmaLoader {
public:
  TmaLoader(scf::ForOp loop, scf::ForOp tiles, const Coordinates &coordinates, unsigned stages,
            unsigned warps, bool hasGroups, SharedFeatures features)
      : loop(loop), tiles(tiles), cursor(loop, tiles), coordinates(coordinates), stages(stages),
        warps(warps), hasGroups(hasGroups), features(features), builder(tiles ? tiles : loop),
        loc(loop.getLoc()) {}

  /// Finds the loads that TMA can do; returns the bytes of their stages and barriers.
  uint64_t find();
  /// The shared memory for layout conversions and reductions beside the stages: of the loop, or of
  /// the whole persistent loop, whose stages outlive the K loop.
  uint64_t exchanged() {
    SmallVector<PipelinedLoad> all = found;
    for (const Continuation &next : continuations)
      all.append(next.loads);
    return exchangedBytesBeside(all, tiles ? tiles : loop, features);
  }
  /// Returns the last loop that was rewritten: the loop itself, one that continues it, or the
  /// persistent loop.
  scf::ForOp rewrite();
  /// Emits a remark for each load that was not found.
  void remarkOthers();
  bool isEmpty() const { return found.empty(); }

private:
  /// Loops that continue this one, in order, and their loads of the same tiles.
  struct Continuation {
    scf::ForOp loop;
    SmallVector<PipelinedLoad> loads;
  };

  std::optional<PipelinedLoad> matchLoad(LoadOp load);
  /// Whether what a coordinate is computed from can be computed for any tile.
  bool follow(Value coordinate);
  remark::detail::InFlightRemark decline(LoadOp load, StringRef name) {
    return remarks ? missed(load, kPass, name) : remark::detail::InFlightRemark();
  }
  Value number(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  /// Finds loads of tiles whose transposes other loads have.
  void shareStages();
  /// Assigns the loads to full barriers.
  void groupByBarrier();
  /// Finds the loops that continue all loads of this one: over blocks without a mask, and over the
  /// remainder.
  void findContinuations();
  std::optional<Continuation> continuationOf(scf::ForOp last);
  std::optional<PipelinedLoad> matchInContinuation(scf::ForOp next, const PipelinedLoad &load);
  /// Issues the loads of the iteration at a position into a stage, if there is such an iteration.
  void loadIteration(ValueRange position, Value stage);
  /// Rewrites one loop. `before` has the initial values that it carries: the stage that it reads,
  /// the stage that it fills, the phase, and in a persistent loop the position of the loads.
  scf::ForOp rewrite(scf::ForOp loop, MutableArrayRef<PipelinedLoad> taken, ValueRange before);

  scf::ForOp loop, tiles; // the K loop, and the persistent loop around it or null
  Cursor cursor;
  const Coordinates &coordinates;
  unsigned stages;
  unsigned warps;
  bool hasGroups; // whether the kernel uses wgmma
  SharedFeatures features;
  OpBuilder builder;
  Location loc;
  bool remarks = false; // whether matchLoad emits remarks
  SmallVector<PipelinedLoad> found;
  /// Loads, by their numbers, that share the full barriers of the stages.
  struct BarrierGroup {
    Operation *firstUser;
    SmallVector<unsigned> loads;
    Value mbarriers;
  };
  SmallVector<BarrierGroup> groups;
  /// The operands that a load has in all iterations. A null coordinate stands for the iteration;
  /// others may be computed by the loop.
  struct Source {
    Location loc;
    Value view;
    SmallVector<Value> coords;
    SmallVector<int64_t> dims;
    bool isBounded;
  };
  SmallVector<Source> sources;
  SmallVector<Continuation> continuations;
  Value end; // after the last iteration
};
} // namespace

/// The rounding of a loaded tile to tf32, if it is the only use.
static CastOp roundingOf(Operation *converted) {
  auto cast = converted->hasOneUse() ? dyn_cast<CastOp>(*converted->user_begin()) : CastOp();
  return cast && roundsToTf32(cast) && cast->getBlock() == converted->getBlock() ? cast : CastOp();
}

bool TmaLoader::follow(Value coordinate) {
  if (coordinate == loop.getInductionVar())
    return true;
  if (loop.isDefinedOutsideOfLoop(coordinate))
    return cursor.follow(coordinate);
  return llvm::all_of(coordinate.getDefiningOp()->getOperands(),
                      [&](Value operand) { return follow(operand); });
}

/// The stage gets the swizzled layout from which the tile is read at the least cost.
std::optional<PipelinedLoad> TmaLoader::matchLoad(LoadOp load) {
  if (load->use_empty())
    return std::nullopt;
  if (!isKnownAhead(loop, load)) {
    if (remarks)
      remarkLoadedIndex(loop, load, kPass);
    return std::nullopt;
  }
  if (!llvm::all_of(load.getCoords(), [&](Value each) { return follow(each); })) {
    decline(load, "CoordinateOfTile") << remark::reason(
        "a coordinate of the next tile of the persistent loop is not known ahead");
    return std::nullopt;
  }
  // Rows are loaded beside the operands of wgmma.
  if (load.getType().getRank() < 2 && (!hasGroups || layoutOf(load)->in().bits(Dim::Block)))
    return std::nullopt;
  Operation *converted = convertedOf(load);
  CastOp rounded = hasGroups ? roundingOf(converted) : CastOp();
  std::optional<unsigned> inner =
      tmaInnerDim(load, coordinates, remarks ? StringRef(kPass) : StringRef());
  if (!inner || converted->getBlock() != load->getBlock())
    return std::nullopt;
  RankedTensorType type = load.getType();
  Layout layout = *layoutOf(converted->getResult(0));
  unsigned bits = type.getElementTypeBitWidth();
  SmallVector<unsigned> shape(type.getShape().begin(), type.getShape().end());
  std::optional<BlockPart> part = partOfBlock(layout);
  if (bits < 8) {
    decline(load, "ElementType") << remark::reason("elements of {0} have less than 8 bits",
                                                   type.getElementType());
    return std::nullopt;
  }
  if (!part) {
    decline(load, "ClusterLayout")
        << remark::reason("the CTAs of the cluster hold parts of the tile that are no boxes");
    return std::nullopt;
  }
  if (part->blocks > 1)
    shape[part->dim] /= part->blocks;
  for (auto [i, size] : llvm::enumerate(shape))
    if ((i != *inner || shape.size() == 1) && size > Box::kMostElements) {
      decline(load, "BoxTooLarge")
          << remark::reason("dimension {0} of the tile has {1} elements, and a box at most {2}", i,
                            size, int64_t(Box::kMostElements));
      return std::nullopt;
    }
  std::optional<Layout> best;
  unsigned least = 0;
  SmallVector<unsigned> spans = {128, 64, 32};
  if (shape.size() == 1)
    spans = {Box::kUnswizzled};
  for (unsigned span : spans) {
    uint64_t bytes = uint64_t(type.getNumElements()) / part->blocks * bits / 8;
    if (shape[*inner] * bits / 8 < span || bytes % (8 * span))
      continue;
    Layout memory = boxedShared(shape, *inner, bits, span);
    if (part->blocks > 1)
      memory = memory * Layout::strided(Dim::Block, tensorDim(part->dim), part->blocks);
    SharedAccess read = planLoad(memory, layout, bits, features);
    if (!best || read.cost() < least) {
      best = memory;
      least = read.cost();
    }
  }
  if (!best) {
    decline(load, "TileTooSmall") << remark::reason(
        "{0} bytes along the contiguous dimension and {1} in all fill no swizzle "
        "pattern of 32, 64 or 128 bytes",
        shape[*inner] * bits / 8, uint64_t(type.getNumElements()) / part->blocks * bits / 8);
    return std::nullopt;
  }
  Type element = rounded ? getElementTypeOrSelf(rounded.getType()) : type.getElementType();
  auto stage = BufferType::get(load.getContext(), stages, withLayout(type.clone(element), *best));
  return PipelinedLoad{load, converted, stage, Value(), rounded};
}

/// The loads of a persistent kernel run across tiles: all tiles then have the same iterations.
uint64_t TmaLoader::find() {
  uint64_t bytes = 0;
  auto isSame = [&](Value bound) { return !tiles || tiles.isDefinedOutsideOfLoop(bound); };
  if (!llvm::all_of(ArrayRef<Value>{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                    isSame))
    return 0;
  for (auto load : loop.getBody()->getOps<LoadOp>())
    if (std::optional<PipelinedLoad> match = matchLoad(load))
      found.push_back(*match);
  llvm::stable_sort(found, [](const PipelinedLoad &a, const PipelinedLoad &b) {
    return firstUse(a.result())->isBeforeInBlock(firstUse(b.result()));
  });
  shareStages();
  for (const PipelinedLoad &load : found)
    if (!load.transposeOf)
      bytes += load.type.getAllBytes();
  groupByBarrier();
  findContinuations();
  // Released stages have empty barriers, too. An array of mbarriers is aligned to 16 bytes.
  unsigned mbarriers = releasesStages(loop->getParentOfType<KernelOp>()) ? 2 : 1;
  return bytes + mbarriers * groups.size() * llvm::alignTo<16>(stages * MbarrierType::kBytes);
}

void TmaLoader::remarkOthers() {
  if (!loop.getContext()->getRemarkEngine())
    return;
  auto isVarying = [&](Value bound) { return tiles && !tiles.isDefinedOutsideOfLoop(bound); };
  if (llvm::any_of(ArrayRef<Value>{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                   isVarying)) {
    missed(loop, kPass, "IterationsVary")
        << remark::reason("the tiles of the persistent loop have different numbers of iterations");
    return;
  }
  remarks = true;
  for (auto load : loop.getBody()->getOps<LoadOp>())
    if (llvm::none_of(found, [&](const PipelinedLoad &each) { return each.load == load; }))
      (void)matchLoad(load);
  remarks = false;
}

/// Whether a contraction adds to another one: tensor cores compute both in order.
static bool continuesSum(OpOperand &operand) {
  auto mma = dyn_cast<MmaOp>(operand.getOwner());
  return mma && operand.get() == mma.getAcc() && operand.get().getDefiningOp<MmaOp>();
}

/// Whether an operation waits for another one of its block.
static bool dependsOn(Operation *op, Operation *other) {
  llvm::SmallSetVector<Operation *, 16> made;
  made.insert(op);
  for (unsigned i = 0; i < made.size(); ++i)
    made[i]->walk([&](Operation *each) {
      for (OpOperand &operand : each->getOpOperands())
        if (Operation *maker = operand.get().getDefiningOp();
            maker && maker->getBlock() == op->getBlock() && !continuesSum(operand))
          made.insert(maker);
    });
  return op != other && made.contains(other);
}

/// Whether two loads have the same elements, the second one transposed, for contractions.
static bool areTransposes(const PipelinedLoad &load, const PipelinedLoad &other) {
  LoadOp a = load.load, b = other.load;
  auto isOperand = [](const PipelinedLoad &each) {
    return !each.rounding && !each.transposeOf &&
           getElementTypeOrSelf(each.result()).getIntOrFloatBitWidth() == 16 &&
           llvm::all_of(each.result().getUsers(), llvm::IsaPred<MmaOp>);
  };
  return isOperand(load) && isOperand(other) && a.getView() == b.getView() &&
         a.getCoords() == b.getCoords() && a.getDims().size() == 2 &&
         llvm::equal(a.getDims(), llvm::reverse(b.getDims())) &&
         a.getPad().has_value() == b.getPad().has_value() &&
         load.type.getTransposed() == other.type;
}

/// wgmma transposes operands of 16 bits.
void TmaLoader::shareStages() {
  for (unsigned i = 0; hasGroups && i < found.size(); ++i)
    for (unsigned first = 0; first < i && !found[i].transposeOf; ++first)
      if (areTransposes(found[first], found[i]))
        found[i].transposeOf = first;
}

/// With wgmma, an operand whose first use depends on another contraction has a barrier of its own:
/// the wait for it stands there. A group is in order of first uses.
void TmaLoader::groupByBarrier() {
  for (auto [i, load] : llvm::enumerate(found)) {
    if (load.transposeOf)
      continue;
    // Of a tile and its transpose, the use that waits for less decides.
    SmallVector<Operation *> users = {firstUse(load.result())};
    for (const PipelinedLoad &other : found)
      if (other.transposeOf == i)
        users.push_back(firstUse(other.result()));
    auto *known = llvm::find_if(groups, [&](const BarrierGroup &each) {
      return !hasGroups ||
             llvm::any_of(users, [&](Operation *user) { return !dependsOn(user, each.firstUser); });
    });
    if (known == groups.end())
      known = &groups.emplace_back(BarrierGroup{users.front(), {}, Value()});
    known->loads.push_back(i);
  }
}

/// The load of the same tiles in a loop that continues this one.
std::optional<PipelinedLoad> TmaLoader::matchInContinuation(scf::ForOp next,
                                                            const PipelinedLoad &match) {
  LoadOp load = match.load;
  for (auto other : next.getBody()->getOps<LoadOp>()) {
    Operation *converted = convertedOf(other);
    if (other.getView() == load.getView() && other.getDims() == load.getDims() &&
        other.getType() == load.getType() && isKnownAhead(next, other) &&
        converted->getBlock() == other->getBlock() &&
        llvm::all_of_zip(load.getCoords(), other.getCoords(),
                         [&](Value a, Value b) { return isSameInBoth(loop, a, next, b); }) &&
        bool(roundingOf(converted)) == bool(match.rounding))
      return PipelinedLoad{
          other, converted, match.type, Value(), roundingOf(converted), match.transposeOf};
  }
  return std::nullopt;
}

/// Whether `low` <= `high` is known of a loop's bounds.
static bool isAtMost(const Coordinates &coordinates, Value low, Value high) {
  if (low == high)
    return true;
  if (auto most = high.getDefiningOp<arith::MaxSIOp>())
    return isAtMost(coordinates, low, most.getLhs()) || isAtMost(coordinates, low, most.getRhs());
  if (getConstantIntValue(low) == 0)
    return coordinates.isNonNegative(high);
  std::optional<SymExpr> first = coordinates.expression(low), end = coordinates.expression(high);
  return first && end && (*end - *first).isNonNegative();
}

/// Whether `next` begins at the upper bound of `loop`, which is not below its lower bound.
static bool continues(const Coordinates &coordinates, scf::ForOp loop, scf::ForOp next) {
  std::optional<SymExpr> end = coordinates.expression(loop.getUpperBound()),
                         begin = coordinates.expression(next.getLowerBound());
  return (loop.getUpperBound() == next.getLowerBound() || (end && begin && *end == *begin)) &&
         isAtMost(coordinates, loop.getLowerBound(), loop.getUpperBound());
}

/// The loop that continues `last`, if it loads the same tiles.
std::optional<TmaLoader::Continuation> TmaLoader::continuationOf(scf::ForOp last) {
  Operation *op = last->getNextNode();
  while (op && !isa<scf::ForOp>(op))
    op = op->getNextNode();
  auto next = dyn_cast_or_null<scf::ForOp>(op);
  if (!next || !continues(coordinates, last, next) || getConstantIntValue(next.getStep()) != 1 ||
      getConstantIntValue(last.getStep()) != 1)
    return std::nullopt;
  Operation *bound = next.getUpperBound().getDefiningOp();
  if (bound && bound->getBlock() == loop->getBlock() && (tiles || !bound->isBeforeInBlock(loop)))
    return std::nullopt;
  Continuation continuation{next, {}};
  for (const PipelinedLoad &load : found) {
    std::optional<PipelinedLoad> other = matchInContinuation(next, load);
    if (!other)
      return std::nullopt;
    continuation.loads.push_back(*other);
  }
  return continuation;
}

/// With wgmma, the loops over blocks without a mask and over the partial last tile use the same
/// stages.
void TmaLoader::findContinuations() {
  if (!hasGroups)
    return;
  scf::ForOp last = loop;
  while (std::optional<Continuation> next = continuationOf(last)) {
    continuations.push_back(*next);
    last = next->loop;
  }
}

void TmaLoader::loadIteration(ValueRange position, Value stage) {
  Value hasIteration = cursor.hasIteration(builder, loc, position, end);
  auto atTile = [&](Value value) { return cursor.at(position, value); };
  for (const BarrierGroup &group : groups) {
    auto branch = scf::IfOp::create(builder, loc, hasIteration);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    for (unsigned i : group.loads) {
      Source &source = sources[i];
      SmallVector<Value> coords;
      for (Value coordinate : source.coords)
        coords.push_back(coordinate ? atIteration(builder, loop, coordinate, position[0], atTile)
                                    : position[0]);
      TmaLoadOp::create(builder, source.loc, source.view, coords, source.dims, found[i].buffer,
                        stage, group.mbarriers, stage, source.isBounded, i % warps);
    }
  }
}

scf::ForOp TmaLoader::rewrite() {
  if (found.empty())
    return tiles ? tiles : loop;
  for (auto [i, each] : llvm::enumerate(found)) {
    LoadOp load = each.load;
    each.buffer = each.transposeOf ? found[*each.transposeOf].buffer
                                   : Value(AllocOp::create(builder, loc, each.type));
    bool isBounded =
        load.getPad().has_value() || llvm::any_of(continuations, [i = i](const Continuation &next) {
          return LoadOp(next.loads[i].load).getPad().has_value();
        });
    sources.push_back({load.getLoc(), load.getView(), coordsAtIteration(load, loop, Value()),
                       SmallVector<int64_t>(load.getDims()), isBounded});
  }
  for (BarrierGroup &group : groups)
    group.mbarriers = MbarrierAllocOp::create(
        builder, loc, MbarrierType::get(loop.getContext(), stages), group.loads.size());
  end = loop.getUpperBound();
  for (Continuation &next : continuations)
    end = arith::MaxSIOp::create(builder, loc, end, next.loop.getUpperBound());
  SmallVector<Value> position = cursor.begin(builder);
  for (unsigned stage = 0; stage + 1 < stages; ++stage) {
    loadIteration(position, number(stage));
    position = cursor.next(builder, loc, position, end);
  }
  SmallVector<Value> before = {number(0), number(stages - 1), number(0)};
  if (tiles) {
    before.append(position);
    IRRewriter rewriter(builder);
    Value tile = tiles.getInductionVar();
    tiles = cast<scf::ForOp>(*tiles.replaceWithAdditionalYields(
        rewriter, before, /*replaceInitOperandUsesInLoop=*/false,
        [](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
          return SmallVector<Value>(carried.begin(), carried.end());
        }));
    cursor.replace(tile, tiles);
    for (Source &source : sources)
      llvm::replace(source.coords, tile, tiles.getInductionVar());
    before = llvm::to_vector_of<Value>(tiles.getRegionIterArgs().take_back(before.size()));
  }
  scf::ForOp last = rewrite(loop, found, before);
  for (Continuation &next : continuations) {
    for (auto [load, other] : llvm::zip_equal(found, next.loads))
      other.buffer = load.buffer;
    last = rewrite(next.loop, next.loads, last.getResults().take_back(before.size()));
  }
  if (!tiles)
    return last;
  auto yield = cast<scf::YieldOp>(tiles.getBody()->getTerminator());
  yield->setOperands(yield.getNumOperands() - before.size(), before.size(),
                     last.getResults().take_back(before.size()));
  return tiles;
}

/// The loop carries the stage that it reads, the stage that it fills, and the phase of the
/// full barriers.
scf::ForOp TmaLoader::rewrite(scf::ForOp loop, MutableArrayRef<PipelinedLoad> taken,
                              ValueRange before) {
  builder.setInsertionPoint(loop);
  IRRewriter rewriter(builder);
  bool isFirst = loop == this->loop;
  // The first use of each group; another load may be the first one in the remainder.
  SmallVector<Operation *> firstUsers;
  for (const BarrierGroup &group : groups) {
    SmallVector<Operation *> all =
        llvm::map_to_vector(group.loads, [&](unsigned i) { return firstUse(taken[i].result()); });
    firstUsers.push_back(
        *llvm::min_element(all, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); }));
  }
  loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, before, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
        OpBuilder::InsertionGuard guard(builder);
        builder.restoreInsertionPoint(inside.saveInsertionPoint());
        Value next = nextStage(builder, loc, carried[0], stages),
              free = nextStage(builder, loc, carried[1], stages);
        Value isFirst =
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, next, number(0));
        Value more = arith::AddIOp::create(builder, loc, carried[2], number(1));
        SmallVector<Value> yielded = {
            next, free, arith::SelectOp::create(builder, loc, isFirst, more, carried[2])};
        if (tiles)
          yielded.append(
              cursor.next(builder, loc, llvm::to_vector_of<Value>(carried.drop_front(3)), end));
        return yielded;
      }));
  if (isFirst)
    this->loop = loop;
  auto carried = loop.getRegionIterArgs().take_back(before.size());
  builder.setInsertionPointToStart(loop.getBody());
  MbarrierWaitOp::create(builder, loc, groups.front().mbarriers, carried[0], carried[2]);
  Value ahead = loop.getInductionVar();
  for (unsigned i = 1; i < stages && !tiles; ++i)
    ahead = arith::AddIOp::create(builder, loc, ahead, loop.getStep());
  loadIteration(tiles ? ValueRange(carried.drop_front(3)) : ValueRange(ahead), carried[1]);
  for (auto [group, firstUser] : llvm::drop_begin(llvm::zip(groups, firstUsers))) {
    builder.setInsertionPoint(firstUser);
    MbarrierWaitOp::create(builder, loc, group.mbarriers, carried[0], carried[2]);
  }
  for (PipelinedLoad &load : taken) {
    Value result = load.result();
    builder.setInsertionPoint(firstUse(result));
    auto read = SharedLoadOp::create(builder, load.converted->getLoc(), result.getType(),
                                     load.buffer, carried[0]);
    read.setTransposed(load.transposeOf.has_value());
    result.replaceAllUsesWith(read.getResult());
    if (load.rounding)
      load.rounding->erase();
    if (load.converted != load.load)
      load.converted->erase();
    load.load.erase();
  }
  return loop;
}

/// Whether an iteration does elementwise work or reductions, which hide the issue of TMA loads.
/// With mma.sync and nothing else between two barriers all warps wait for the issuing ones:
/// cp.async between the MMAs is faster there.
static bool hasElementwiseWork(scf::ForOp loop) {
  return llvm::any_of(*loop.getBody(), llvm::IsaPred<MapOp, tile::ReduceOp>);
}

/// Says why TMA does not load the operands of a loop that does nothing but mma.sync: TMA cannot, or
/// cp.async is faster.
static void remarkOnlyContractions(scf::ForOp loop, const Coordinates &coordinates) {
  if (!loop.getContext()->getRemarkEngine() || loop.getBody()->getOps<MmaOp>().empty())
    return;
  bool canLoad = true;
  for (auto load : loop.getBody()->getOps<LoadOp>())
    if (load.getDims().size() > 1 && isKnownAhead(loop, load))
      canLoad &= tmaInnerDim(load, coordinates, kPass).has_value();
  if (canLoad)
    missed(loop, kPass, "OnlyContractions")
        << remark::reason("the loop does nothing but mma.sync, for which cp.async is faster");
}

/// Moves the rows that threads load in front of the contraction before their first use, which hides
/// the latency.
static void loadRowsEarly(scf::ForOp loop) {
  for (auto load : llvm::to_vector(loop.getBody()->getOps<LoadOp>())) {
    auto isKnown = [&](Value coordinate) {
      return coordinate == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(coordinate);
    };
    if (load.getType().getRank() != 1 || load->use_empty() ||
        !llvm::all_of(load.getCoords(), isKnown))
      continue;
    Operation *before = firstUse(load.getResult())->getPrevNode();
    while (before && !isa<MmaOp>(before))
      before = before->getPrevNode();
    if (before && before->isBeforeInBlock(load))
      load->moveBefore(before);
  }
}

/// Whether a loop only runs others, as over the first of two dimensions of a stream.
static bool isAroundLoops(scf::ForOp loop) {
  return !loop.getBody()->getOps<scf::ForOp>().empty() && loop.getBody()->getOps<LoadOp>().empty();
}

static scf::ForOp firstInnerLoop(scf::ForOp around) {
  auto loops = around.getBody()->getOps<scf::ForOp>();
  return loops.empty() ? scf::ForOp() : *loops.begin();
}

namespace {
struct TileLowerTmaLoads : tile::impl::TileLowerTmaLoadsBase<TileLowerTmaLoads> {
  using TileLowerTmaLoadsBase::TileLowerTmaLoadsBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (kernel.isOn(TuningField::Wgmma))
        kernel.walk(loadRowsEarly);
      std::optional<int64_t> wanted = kernel.getField(TuningField::UseTma);
      if (wanted == 0)
        continue;
      Coordinates coordinates(kernel);
      SharedFeatures features = sharedFeaturesOf(*gpu);
      uint64_t left =
          sharedBytesLeft(kernel, sharedBytes ? sharedBytes : features.memoryBytes, *gpu);
      bool hasGroups = kernel.isOn(TuningField::Wgmma);
      // Mbarriers are initialized once: a nested loop would find them in another phase, unless the
      // outer loop carries the phase.
      Operation *next = nullptr;
      for (Operation *op = &kernel.getBody().front().front(); op; op = next) {
        next = op->getNextNode();
        auto loop = dyn_cast<scf::ForOp>(op);
        bool isOuter = loop && hasGroups && (isPersistentLoop(loop) || isAroundLoops(loop));
        scf::ForOp programs = isOuter ? loop : scf::ForOp();
        if (programs)
          loop = firstInnerLoop(programs);
        if (!loop)
          continue;
        if (!wanted && !hasElementwiseWork(loop)) {
          if (!hasGroups)
            remarkOnlyContractions(loop, coordinates);
          continue;
        }
        // wgmma uses as many stages as fit.
        unsigned room = kernel.getField(TuningField::NumStages).value_or(stages),
                 fewest = hasGroups ? 2 : room;
        for (bool isDone = false; room >= fewest && !isDone; --room) {
          TmaLoader pipeline(loop, programs, coordinates, room, kernel.getNumWarps(), hasGroups,
                             features);
          uint64_t bytes = pipeline.find(), needed = bytes + pipeline.exchanged();
          isDone = needed <= left;
          if (isDone) {
            left -= bytes;
            pipeline.remarkOthers();
            next = pipeline.rewrite()->getNextNode();
            if (bytes)
              kernel.noteUse(TuningField::NumStages, room, "shared memory for TMA loads of a loop");
          } else if (room == fewest && !pipeline.isEmpty()) {
            missed(loop, kPass, "SharedMemory")
                << remark::reason("{0} stages need {1} bytes of shared memory with the loop's "
                                  "layout conversions, and {2} are left",
                                  room, needed, left);
          }
        }
      }
    }
  }
};
} // namespace
