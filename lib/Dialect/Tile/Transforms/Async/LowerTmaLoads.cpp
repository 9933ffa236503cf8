//===- LowerTmaLoads.cpp - Tiles that a loop streams come as boxes -----------===//
//
// Threads that copy a tile for a later iteration spend instructions and registers on addresses.
// Where memory is laid out as the machine's tensor copies want it, one thread asks for the tile
// instead: it comes into a stage by itself, swizzled so that fragments are read without conflicts,
// and opens an mbarrier.
//
// Loads of a loop are in flight some iterations ahead, in stages that are used in turns. All that a
// iteration takes opens one mbarrier, or what each product takes where warpgroups begin them; that
// a stage may be filled again is what a barrier says. To begin a copy takes a warp long enough to
// be seen, so that each load is begun by another one.
//
// A loop in one over programs, whose blocks stay, has its stages and mbarriers before that one,
// which carries what is told of them: the copies go on with the next program's tiles under the end
// of this one.
//
//===----------------------------------------------------------------------===//
#include "BulkRows.h"
#include "FirstUse.h"
#include "PipelinedLoads.h"
#include "TileCursor.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "tessera/Dialect/Common/LaunchHints.h"
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

namespace {
class BulkLoader {
public:
  BulkLoader(scf::ForOp loop, scf::ForOp programs, const Coordinates &coordinates, unsigned stages,
             unsigned lag, unsigned warps, bool hasGroups, SharedFeatures features)
      : loop(loop), programs(programs), cursor(loop, programs), coordinates(coordinates),
        stages(stages), lag(lag), warps(warps), hasGroups(hasGroups), features(features),
        builder(programs ? programs : loop), loc(loop.getLoc()) {}

  /// The bytes of the streams that were found, with their mbarriers.
  uint64_t find();
  /// What other exchanges take beside them: those of the loop, and of all the programs' where
  /// stages are kept from one to the next.
  uint64_t exchanged() {
    SmallVector<Stream> all = streams;
    all.append(more);
    return exchangedBeside(all, programs ? programs : loop, features);
  }
  /// Gives what the loop has become, the one over its last iterations, or the one over programs.
  scf::ForOp rewrite();

private:
  std::optional<Stream> streamOf(LoadOp load);
  Value number(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  /// Puts streams together that open one mbarrier.
  void bunch();
  /// Finds a loop behind this one that goes on with all of its streams.
  void findRest();
  std::optional<Stream> streamIn(scf::ForOp next, const Stream &stream);
  /// The tiles of the iteration at a place, if there is such an iteration.
  void loadIteration(ValueRange place, Value stage);
  /// A loop that begins with these stages, how often mbarriers have opened then, and, in one over
  /// programs, where copies are.
  scf::ForOp rewrite(scf::ForOp loop, MutableArrayRef<Stream> taken, ValueRange before);

  scf::ForOp loop, programs;
  Cursor cursor;
  const Coordinates &coordinates;
  unsigned stages, lag,
      warps; // lag: iterations that pass between a stage's last use and its next copy
  bool hasGroups;
  SharedFeatures features;
  OpBuilder builder;
  Location loc;
  SmallVector<Stream> streams;
  /// The numbers of streams that one mbarrier is for, and the mbarriers of all stages.
  struct Bunch {
    Operation *taker;
    SmallVector<unsigned> streams;
    Value mbarriers;
  };
  SmallVector<Bunch> bunches;
  /// What a stream's copies have in common. A null coordinate stands for the iteration.
  struct BulkLoad {
    Location loc;
    Value view;
    SmallVector<Value> coords;
    SmallVector<int64_t> dims;
    bool isBounded;
  };
  SmallVector<BulkLoad> loads;
  scf::ForOp rest;          // that takes tiles behind the loop, if there is one
  SmallVector<Stream> more; // of that loop
  Value end;                // behind the last iteration
};
} // namespace

/// The stage's layout is the one of those that tensor copies write from which tiles are read best.
std::optional<Stream> BulkLoader::streamOf(LoadOp load) {
  auto isFollowed = [&](Value coordinate) {
    return coordinate == loop.getInductionVar() || cursor.follow(coordinate);
  };
  if (load->use_empty() || !isKnownAhead(loop, load) || !llvm::all_of(load.getCoords(), isFollowed))
    return std::nullopt;
  Operation *wanted = wantedOf(load);
  std::optional<unsigned> inner = boxedDim(load, coordinates);
  if (!inner || wanted->getBlock() != load->getBlock())
    return std::nullopt;
  RankedTensorType type = load.getType();
  Layout layout = *layoutOf(wanted->getResult(0));
  unsigned bits = type.getElementTypeBitWidth();
  SmallVector<unsigned> shape(type.getShape().begin(), type.getShape().end());
  std::optional<BlockPart> part = partOfBlock(layout);
  if (bits < 8 || !part)
    return std::nullopt;
  if (part->blocks > 1)
    shape[part->dim] /= part->blocks;
  for (auto [i, size] : llvm::enumerate(shape))
    if (i != *inner && size > Box::kMostElements)
      return std::nullopt;
  std::optional<Layout> best;
  unsigned least = 0;
  for (unsigned span : {128u, 64u, 32u}) {
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
  if (!best)
    return std::nullopt;
  return Stream{load, wanted, BufferType::get(load.getContext(), stages, withLayout(type, *best)),
                Value()};
}

/// All programs have the same iterations where these are counted across programs.
uint64_t BulkLoader::find() {
  uint64_t bytes = 0;
  auto isSame = [&](Value bound) { return !programs || programs.isDefinedOutsideOfLoop(bound); };
  if (!llvm::all_of(ArrayRef<Value>{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                    isSame))
    return 0;
  for (auto load : loop.getBody()->getOps<LoadOp>())
    if (std::optional<Stream> stream = streamOf(load)) {
      streams.push_back(*stream);
      bytes += stream->buffer.getAllBytes();
    }
  bunch();
  findRest();
  // Stages that are given back have another mbarrier for that. A row of mbarriers begins at a
  // multiple of 16 bytes.
  unsigned mbarriers = releasesStages(loop->getParentOfType<KernelOp>()) ? 2 : 1;
  return bytes + mbarriers * bunches.size() * llvm::alignTo<16>(stages * MbarrierType::kBytes);
}

/// Whether an operation takes what comes of another one, in their block.
static bool comesOf(Operation *op, Operation *other) {
  llvm::SmallSetVector<Operation *, 16> made;
  made.insert(op);
  for (unsigned i = 0; i < made.size(); ++i)
    made[i]->walk([&](Operation *each) {
      for (Value operand : each->getOperands())
        if (Operation *maker = operand.getDefiningOp();
            maker && maker->getBlock() == op->getBlock())
          made.insert(maker);
    });
  return op != other && made.contains(other);
}

/// What is taken only behind another product of warpgroups is waited for there. The first stream of
/// a bunch is taken first.
void BulkLoader::bunch() {
  auto takerOf = [](const Stream &stream) { return firstUse(stream.wanted->getResult(0)); };
  llvm::stable_sort(streams, [&](const Stream &a, const Stream &b) {
    return takerOf(a)->isBeforeInBlock(takerOf(b));
  });
  for (auto [i, stream] : llvm::enumerate(streams)) {
    Operation *taker = takerOf(stream);
    auto *known = llvm::find_if(
        bunches, [&](const Bunch &each) { return !hasGroups || !comesOf(taker, each.taker); });
    if (known == bunches.end())
      known = &bunches.emplace_back(Bunch{taker, {}, Value()});
    known->streams.push_back(i);
  }
}

/// The same tiles as a stream's, in another loop.
std::optional<Stream> BulkLoader::streamIn(scf::ForOp next, const Stream &stream) {
  LoadOp load = stream.load;
  for (auto other : next.getBody()->getOps<LoadOp>()) {
    Operation *wanted = wantedOf(other);
    if (other.getView() == load.getView() && other.getDims() == load.getDims() &&
        other.getType() == load.getType() && isKnownAhead(next, other) &&
        wanted->getBlock() == other->getBlock() &&
        coordsIn(other, next, loop.getInductionVar()) == SmallVector<Value>(load.getCoords()))
      return Stream{other, wanted, stream.buffer, Value()};
  }
  return std::nullopt;
}

/// Whether a loop's bounds are known not to be the wrong way round.
static bool areInOrder(const Coordinates &coordinates, Value low, Value high) {
  if (auto most = high.getDefiningOp<arith::MaxSIOp>())
    return areInOrder(coordinates, low, most.getLhs()) ||
           areInOrder(coordinates, low, most.getRhs());
  if (getConstantIntValue(low) == 0)
    return coordinates.isNonNegative(high);
  std::optional<SymExpr> first = coordinates.expression(low), end = coordinates.expression(high);
  return low == high || (first && end && (*end - *first).isNonNegative());
}

/// Whether a loop begins where the one before it ends, and that has no iterations behind its end.
static bool goesOn(const Coordinates &coordinates, scf::ForOp loop, scf::ForOp next) {
  std::optional<SymExpr> end = coordinates.expression(loop.getUpperBound()),
                         begin = coordinates.expression(next.getLowerBound());
  return (loop.getUpperBound() == next.getLowerBound() || (end && begin && *end == *begin)) &&
         areInOrder(coordinates, loop.getLowerBound(), loop.getUpperBound());
}

/// Where warpgroups multiply: tiles of the last iterations, which are not whole, come with the
/// others.
void BulkLoader::findRest() {
  Operation *op = loop->getNextNode();
  while (op && !isa<scf::ForOp>(op))
    op = op->getNextNode();
  auto next = dyn_cast_or_null<scf::ForOp>(op);
  if (!hasGroups || !next || !goesOn(coordinates, loop, next) ||
      getConstantIntValue(next.getStep()) != 1 || getConstantIntValue(loop.getStep()) != 1)
    return;
  Operation *bound = next.getUpperBound().getDefiningOp();
  if (bound && bound->getBlock() == loop->getBlock() && (programs || !bound->isBeforeInBlock(loop)))
    return;
  for (const Stream &stream : streams) {
    std::optional<Stream> other = streamIn(next, stream);
    if (!other) {
      more.clear();
      return;
    }
    more.push_back(*other);
  }
  rest = next;
}

void BulkLoader::loadIteration(ValueRange place, Value stage) {
  Value exists = cursor.exists(builder, loc, place, end);
  for (const Bunch &bunch : bunches) {
    auto branch = scf::IfOp::create(builder, loc, exists);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    for (unsigned i : bunch.streams) {
      BulkLoad &load = loads[i];
      SmallVector<Value> coords;
      for (Value coordinate : load.coords)
        coords.push_back(coordinate ? cursor.at(place, coordinate) : place[0]);
      TmaLoadOp::create(builder, load.loc, load.view, coords, load.dims, streams[i].room, stage,
                        bunch.mbarriers, stage, load.isBounded, i % warps);
    }
  }
}

scf::ForOp BulkLoader::rewrite() {
  if (streams.empty())
    return programs ? programs : loop;
  for (auto [i, stream] : llvm::enumerate(streams)) {
    stream.room = AllocOp::create(builder, loc, stream.buffer);
    bool isBounded =
        stream.load.getPad().has_value() || (rest && more[i].load.getPad().has_value());
    loads.push_back({stream.load.getLoc(), stream.load.getView(),
                     coordsIn(stream.load, loop, Value()),
                     SmallVector<int64_t>(stream.load.getDims()), isBounded});
  }
  for (Bunch &bunch : bunches)
    bunch.mbarriers = MbarrierAllocOp::create(
        builder, loc, MbarrierType::get(loop.getContext(), stages), bunch.streams.size());
  end = loop.getUpperBound();
  if (rest)
    end = arith::MaxSIOp::create(builder, loc, end, rest.getUpperBound());
  SmallVector<Value> place = cursor.begin(builder);
  for (unsigned stage = 0; stage + lag + 1 < stages; ++stage) {
    loadIteration(place, number(stage));
    place = cursor.next(builder, loc, place, end);
  }
  SmallVector<Value> before = {number(0), number(stages - 1 - lag), number(0)};
  if (lag)
    before.push_back(number(stages - 1));
  if (programs) {
    before.append(place);
    IRRewriter rewriter(builder);
    Value program = programs.getInductionVar();
    programs = cast<scf::ForOp>(*programs.replaceWithAdditionalYields(
        rewriter, before, /*replaceInitOperandUsesInLoop=*/false,
        [](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
          return SmallVector<Value>(carried.begin(), carried.end());
        }));
    cursor.replace(program, programs);
    for (BulkLoad &load : loads)
      llvm::replace(load.coords, program, programs.getInductionVar());
    before = llvm::to_vector_of<Value>(programs.getRegionIterArgs().take_back(before.size()));
  }
  loop = rewrite(loop, streams, before);
  for (auto [stream, other] : llvm::zip(streams, more))
    other.room = stream.room;
  scf::ForOp last = rest ? rewrite(rest, more, loop.getResults().take_back(before.size())) : loop;
  if (!programs)
    return last;
  auto yield = cast<scf::YieldOp>(programs.getBody()->getTerminator());
  yield->setOperands(yield.getNumOperands() - before.size(), before.size(),
                     last.getResults().take_back(before.size()));
  return programs;
}

/// It carries the stage that it reads, the one that it fills, how often the mbarriers have opened,
/// and, where it does not fill that one, the stage that the iteration before has read.
scf::ForOp BulkLoader::rewrite(scf::ForOp loop, MutableArrayRef<Stream> taken, ValueRange before) {
  builder.setInsertionPoint(loop);
  IRRewriter rewriter(builder);
  SmallVector<Operation *>
      takers; // the first of each bunch, which may be another one in the last iterations
  for (const Bunch &bunch : bunches) {
    SmallVector<Operation *> all = llvm::map_to_vector(
        bunch.streams, [&](unsigned i) { return firstUse(taken[i].wanted->getResult(0)); });
    takers.push_back(
        *llvm::min_element(all, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); }));
  }
  loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, before, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &inside, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
        OpBuilder::InsertionGuard guard(builder);
        builder.restoreInsertionPoint(inside.saveInsertionPoint());
        Value next = stageAfter(builder, loc, carried[0], stages),
              free = stageAfter(builder, loc, carried[1], stages);
        Value isFirst =
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, next, number(0));
        Value more = arith::AddIOp::create(builder, loc, carried[2], number(1));
        SmallVector<Value> behind = {
            next, free, arith::SelectOp::create(builder, loc, isFirst, more, carried[2])};
        if (lag)
          behind.push_back(stageAfter(builder, loc, carried[3], stages));
        if (programs)
          behind.append(
              cursor.next(builder, loc, llvm::to_vector_of<Value>(carried.drop_front(3)), end));
        return behind;
      }));
  auto carried = loop.getRegionIterArgs().take_back(before.size());
  builder.setInsertionPointToStart(loop.getBody());
  MbarrierWaitOp::create(builder, loc, bunches.front().mbarriers, carried[0], carried[2]);
  Value ahead = loop.getInductionVar();
  for (unsigned i = 1; i + lag < stages && !programs; ++i)
    ahead = arith::AddIOp::create(builder, loc, ahead, loop.getStep());
  loadIteration(programs ? ValueRange(carried.drop_front(3)) : ValueRange(ahead), carried[1]);
  for (auto [bunch, taker] : llvm::drop_begin(llvm::zip(bunches, takers))) {
    builder.setInsertionPoint(taker);
    MbarrierWaitOp::create(builder, loc, bunch.mbarriers, carried[0], carried[2]);
  }
  for (Stream &stream : taken) {
    Value result = stream.wanted->getResult(0);
    builder.setInsertionPoint(firstUse(result));
    Value read = SharedLoadOp::create(builder, stream.wanted->getLoc(), result.getType(),
                                      stream.room, carried[0]);
    result.replaceAllUsesWith(read);
    if (stream.wanted != stream.load)
      stream.wanted->erase();
    stream.load.erase();
  }
  return loop;
}

/// Whether an iteration has more to do than products, which the warps that begin copies are not
/// missed for. Where products alone stand between two barriers, all warps wait for these: threads'
/// own copies, which stand between the products, are quicker there.
static bool hasOtherWork(scf::ForOp loop) {
  return llvm::any_of(*loop.getBody(), llvm::IsaPred<MapOp, tile::ReduceOp>);
}

static scf::ForOp firstLoop(scf::ForOp around) {
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
      DictionaryAttr hints = kernel.getHintsAttr();
      std::optional<int64_t> wanted = getHint(hints, "use_tma");
      if (wanted == 0)
        continue;
      Coordinates coordinates(kernel);
      SharedFeatures features = sharedFeaturesOf(*gpu);
      uint64_t left = sharedBytesLeft(kernel, most ? most : features.memoryBytes, *gpu);
      bool hasGroups = getHint(hints, "wgmma").value_or(0);
      // Mbarriers are made once: a loop inside of another one comes to them again, unless that
      // carries how often they have opened.
      Operation *next = nullptr;
      for (Operation *op = &kernel.getBody().front().front(); op; op = next) {
        next = op->getNextNode();
        auto loop = dyn_cast<scf::ForOp>(op);
        scf::ForOp programs = loop && hasGroups && isOverPrograms(loop) ? loop : scf::ForOp();
        if (programs)
          loop = firstLoop(programs);
        if (!loop || (!wanted && !hasOtherWork(loop)))
          continue;
        // Tiles for warpgroups come as far ahead as memory allows.
        unsigned room = getHint(hints, "num_stages").value_or(stages),
                 fewest = hasGroups ? 2 : room;
        for (bool isDone = false; room >= fewest && !isDone; --room) {
          // What blocks of a cluster tell each other takes a while.
          constexpr unsigned kLag = 2;
          unsigned lag = getHint(hints, "cluster_axis") && !programs ? std::min(kLag, room - 2) : 0;
          BulkLoader fetcher(loop, programs, coordinates, room, lag,
                             getHint(hints, "num_warps").value_or(4), hasGroups, features);
          uint64_t bytes = fetcher.find();
          isDone = bytes + fetcher.exchanged() <= left;
          if (isDone) {
            left -= bytes;
            next = fetcher.rewrite()->getNextNode();
          }
        }
      }
    }
  }
};
} // namespace
