//===- CacheRows.cpp - Cache rows that several loops read -----------------===//
//
// A sweep is a loop, or several consecutive loops, over the tiles of a row. The first sweep leaves
// the tiles in shared memory, one stage per tile, and later sweeps read them there.
//
// Asynchronous copies fill the stages. They start before the first sweep, which waits for them in
// order: cp.async groups, or for unaligned rows bulk copies with an mbarrier per tile. Threads then
// overwrite the bytes that a bulk copy brings before the first element of the row. Rows that
// neither can copy are stored into the stages after their loads. Of a row that is too long only the
// first tiles are cached.
//
//===----------------------------------------------------------------------===//
#include "Async/BulkRows.h"
#include "Async/FirstUse.h"
#include "Numerics/Zero.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/Dominance.h"
#include "tessera/Dialect/Common/Remarks.h"
#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/MapVector.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILECACHEROWS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

static constexpr StringLiteral kPass = "tile-cache-rows";

namespace {
/// The loads of one row: of the first sweep, and of all later ones, in order.
struct Row {
  SmallVector<LoadOp> first, later;
  BufferType type;
  bool isCopied = false, isBulkLoaded = false;
  Value buffer;

  uint64_t bytes() const {
    return type.getAllBytes() + (isBulkLoaded ? type.getStages() * MbarrierType::kBytes : 0);
  }
};

/// The asynchronous copies that a chip has.
struct Copies {
  bool cpAsync = false, bulk = false;
};

class RowCache {
public:
  RowCache(KernelOp kernel, SharedFeatures features, Copies copies, unsigned ahead)
      : kernel(kernel), coordinates(kernel), dominance(kernel), features(features), copies(copies),
        ahead(ahead) {}

  /// Caches the rows that fit into so many bytes; with `splits` also the first tiles of others.
  void run(uint64_t left, bool splits);

private:
  SmallVector<Row> findRows();
  SmallVector<Row> groupByRow(ArrayRef<LoadOp> loads);
  void splitLongRows(uint64_t left);
  static void split(scf::ForOp loop, Value end, Value begin);
  bool canUseCpAsync(LoadOp load);
  bool follows(LoadOp load, LoadOp before);
  bool isSame(Value a, Value b) {
    std::optional<SymExpr> x = coordinates.expression(a), y = coordinates.expression(b);
    return a == b || (x && y && *x == *y);
  }
  bool isSweepLoad(LoadOp load);
  bool loadSameRow(LoadOp a, LoadOp b);
  bool haveSameTiles(LoadOp a, LoadOp b);
  /// How often a loop runs at most.
  int64_t iterationsOf(scf::ForOp loop);
  bool chooseBuffer(Row &row);

  void rewrite(MutableArrayRef<Row> rows);
  void copy(ArrayRef<Row> rows);
  void copyTile(ArrayRef<Row> rows, unsigned sweep, Value tile);
  bool endsInside(LoadOp load);
  void load(Row &row);
  void padFront(const Row &row, Value mbarriers);
  void readFromStage(LoadOp load, Value buffer);
  Value index(int64_t value) { return arith::ConstantIndexOp::create(*builder, loc, value); }

  KernelOp kernel;
  Coordinates coordinates;
  DominanceInfo dominance;
  SharedFeatures features;
  Copies copies;
  unsigned ahead;
  std::optional<OpBuilder> builder;
  Location loc = kernel.getLoc();
};

scf::ForOp loopOf(LoadOp load) { return cast<scf::ForOp>(load->getParentOp()); }

/// The bytes of a stage for the part of a tile that a CTA holds, with the slack of an unaligned
/// row.
uint64_t bytesOfTile(LoadOp load) {
  constexpr uint64_t bankBytes = 128, slack = 16;
  uint64_t elements = uint64_t(1) << gf2::rank(layoutOf(load)->columnsOf(~DimSet{Dim::Block}));
  uint64_t bytes = elements * llvm::divideCeil(load.getType().getElementTypeBitWidth(), 8);
  return std::max(llvm::alignTo(bytes, bankBytes), bytes + slack + MbarrierType::kBytes);
}

/// The layout conversion of a load, if it is the only use, or the load itself.
Operation *convertedOf(LoadOp load) {
  auto convert = load->hasOneUse() ? dyn_cast<ConvertOp>(*load->user_begin()) : ConvertOp();
  return convert && convert->getBlock() == load->getBlock() ? convert.getOperation()
                                                            : load.getOperation();
}
} // namespace

//===----------------------------------------------------------------------===//
// Rows to cache
//===----------------------------------------------------------------------===//

/// Whether a load reads one tile after the other along one dimension of a view that the kernel does
/// not write.
bool RowCache::isSweepLoad(LoadOp load) {
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  if (!loop || load->use_empty() || getConstantIntValue(loop.getStep()) != 1 ||
      !coordinates.isNonNegative(loop.getLowerBound()))
    return false;
  unsigned moved = 0;
  for (auto [dim, coordinate] : llvm::enumerate(load.getCoords())) {
    if (coordinate != loop.getInductionVar()) {
      if (!loop.isDefinedOutsideOfLoop(coordinate))
        return false;
      continue;
    }
    ++moved;
    if (!llvm::is_contained(load.getDims(), int64_t(dim)))
      return false;
  }
  bool isWritten = llvm::any_of(load.getView().getUsers(),
                                [](Operation *user) { return isa<StoreOp, ScatterOp>(user); });
  return moved == 1 && !isWritten;
}

bool RowCache::loadSameRow(LoadOp a, LoadOp b) {
  RankedTensorType x = a.getType(), y = b.getType();
  if (loopOf(a)->getBlock() != loopOf(b)->getBlock() || a.getView() != b.getView() ||
      a.getDims() != b.getDims() || x.getShape() != y.getShape())
    return false;
  return llvm::all_of(llvm::zip_equal(a.getCoords(), b.getCoords()), [&](auto pair) {
    auto [p, q] = pair;
    bool moves = p == loopOf(a).getInductionVar();
    return moves == (q == loopOf(b).getInductionVar()) && (moves || isSame(p, q));
  });
}

bool RowCache::haveSameTiles(LoadOp a, LoadOp b) {
  return loopOf(a) != loopOf(b) && isSame(loopOf(a).getLowerBound(), loopOf(b).getLowerBound()) &&
         isSame(loopOf(a).getUpperBound(), loopOf(b).getUpperBound());
}

static constexpr unsigned kChunk = 16; // bytes of a cp.async

/// Whether cp.async can copy the tiles of a load.
bool RowCache::canUseCpAsync(LoadOp load) {
  unsigned bits = load.getType().getElementTypeBitWidth();
  return copies.cpAsync && bits >= 8 && isZeroOrNone(load.getPad()) &&
         !load.getView().getDefiningOp<AlignedRowOp>() &&
         coordinates.accessWidth(load.getView(), load.getDims(), *layoutOf(load),
                                 load.getPad().has_value()) *
                 bits ==
             8 * kChunk;
}

/// Whether the tiles of a load follow those of another one. If the loop of one is cut to the tiles
/// that fit, the other is cut at the same tile, and both or neither can use cp.async.
bool RowCache::follows(LoadOp load, LoadOp before) {
  auto cutOf = [](LoadOp load) {
    auto cut = loopOf(load).getUpperBound().getDefiningOp<arith::MinSIOp>();
    return cut ? getConstantIntValue(cut.getRhs()) : std::nullopt;
  };
  return comesBefore(coordinates, loopOf(before), loopOf(load)) &&
         (!cutOf(before) ||
          (cutOf(before) == cutOf(load) && canUseCpAsync(before) == canUseCpAsync(load)));
}

/// Groups loads by row. The loops of a first sweep follow each other along the row, so that they
/// load each tile once.
SmallVector<Row> RowCache::groupByRow(ArrayRef<LoadOp> loads) {
  SmallVector<Row> rows;
  auto take = [&](LoadOp load) {
    for (Row &row : rows) {
      if (!loadSameRow(row.first.front(), load))
        continue;
      if (llvm::any_of(row.first, [&](LoadOp first) { return haveSameTiles(first, load); }))
        return row.later.push_back(load);
      if (follows(load, row.first.back()))
        return row.first.push_back(load);
    }
    rows.emplace_back().first.push_back(load);
  };
  llvm::for_each(loads, take);
  return rows;
}

int64_t RowCache::iterationsOf(scf::ForOp loop) {
  return isRemainderLoop(coordinates, loop) ? 1 : coordinates.most(loop.getUpperBound());
}

/// Chooses how a row is copied, and the type of its buffer. Returns false, with a remark if a later
/// sweep reads the row, if it is not cached.
bool RowCache::chooseBuffer(Row &row) {
  constexpr int64_t kMostStages = 1 << 10;
  int64_t stages = 0;
  for (LoadOp load : row.first)
    stages = std::max(stages, coordinates.most(loopOf(load).getUpperBound()));
  LoadOp first = row.first.front();
  auto isBefore = [&](LoadOp load) {
    scf::ForOp loop = loopOf(load);
    return llvm::all_of(ValueRange{loop.getLowerBound(), loop.getUpperBound()}, [&](Value bound) {
      return dominance.properlyDominates(bound, loopOf(first));
    });
  };
  auto decline = [&](StringRef name) {
    return row.later.empty() ? remark::detail::InFlightRemark() : missed(first, kPass, name);
  };
  if (stages < 1 || stages > kMostStages) {
    if (stages == INT64_MAX)
      decline("UnknownLength") << remark::reason(
          "the number of tiles of the row has no bound at compile time");
    else
      decline("TooManyTiles") << remark::reason("the row has up to {0} tiles, and the limit is {1}",
                                                stages, kMostStages);
    return false;
  }
  // Each load of an unaligned row pads by itself. The pad before the first element of an aligned
  // row is written into the stage, so that all loads have the same one.
  auto isBulkLoad = [&](LoadOp load) {
    bool isAligned = isAlignedRow(load.getView(), load);
    return convertedOf(load) == load && loopOf(load)->getParentOp() == kernel &&
           prefersBulkLoad(load) &&
           (isAligned ? load.getPadAttr() == first.getPadAttr() &&
                            load.getType() == first.getType() && load.getPad()
                      : isUnalignedRow(coordinates, load.getView(), load.getDims(), load));
  };
  row.isBulkLoaded = copies.bulk && !row.later.empty() && llvm::all_of(row.first, isBefore) &&
                     llvm::all_of(llvm::concat<LoadOp>(row.first, row.later), isBulkLoad);
  if (row.isBulkLoaded) {
    row.type = rowBuffer(first, stages, /*slack=*/!first.getView().getDefiningOp<AlignedRowOp>());
    return true;
  }
  if (row.later.empty())
    return false;
  llvm::erase_if(row.later, [&](LoadOp load) {
    return llvm::none_of(row.first, [&](LoadOp each) {
      return haveSameTiles(each, load) && each.getPadAttr() == load.getPadAttr();
    });
  });
  if (row.later.empty()) {
    missed(first, kPass, "PaddingDiffers")
        << remark::reason("the loops that read the row pad it with different values");
    return false;
  }
  unsigned bits = first.getType().getElementTypeBitWidth(), bytes = std::max(1u, bits / 8);
  auto isCopy = [&](LoadOp load) {
    return canUseCpAsync(load) && isBefore(load) && layoutOf(load) == layoutOf(first);
  };
  row.isCopied = llvm::all_of(row.first, isCopy);
  Layout from = *layoutOf(first), to = *layoutOf(convertedOf(first)->getResult(0));
  std::optional<SharedExchange> exchange =
      row.isCopied ? planCopy(from, to, 8 * bytes, llvm::Log2_32(kChunk / bytes), features)
                   : planExchange(from, to, 8 * bytes, features);
  if (!exchange || exchange->passes() > 1) {
    decline("SharedLayout") << remark::reason(
        "no layout in shared memory serves both the first and the later reads of a tile");
    return false;
  }
  row.type = BufferType::get(kernel.getContext(), stages,
                             withLayout(first.getType(), inAllBlocks(exchange->memory, from)));
  return true;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

void RowCache::copyTile(ArrayRef<Row> rows, unsigned sweep, Value tile) {
  scf::ForOp loop = loopOf(rows.front().first[sweep]);
  Value exists =
      arith::CmpIOp::create(*builder, loc, arith::CmpIPredicate::slt, tile, loop.getUpperBound());
  auto branch = scf::IfOp::create(*builder, loc, exists);
  {
    OpBuilder::InsertionGuard guard(*builder);
    builder->setInsertionPointToStart(&branch.getThenRegion().front());
    for (const Row &row : rows) {
      LoadOp load = row.first[sweep];
      SmallVector<Value> coords;
      for (Value coordinate : load.getCoords())
        coords.push_back(coordinate == loop.getInductionVar() ? tile : coordinate);
      CpAsyncOp::create(*builder, load.getLoc(), load.getView(), coords, load.getDims(), row.buffer,
                        tile, /*condition=*/Value(),
                        LayoutAttr::get(kernel.getContext(), *layoutOf(load)),
                        load.getPad().has_value());
    }
  }
  CpAsyncCommitOp::create(*builder, loc);
}

/// Copies rows whose first sweeps are the same loops by cp.async. Copies of the first tiles start
/// before the loops, one commit group per iteration. Each iteration waits for its group and commits
/// another one, so that the number of later groups stays the same.
void RowCache::copy(ArrayRef<Row> rows) {
  SmallVector<scf::ForOp> loops;
  SmallVector<int64_t> iterations, started;
  for (LoadOp load : rows.front().first) {
    loops.push_back(loopOf(load));
    iterations.push_back(iterationsOf(loops.back()));
    started.push_back(std::min<int64_t>(iterations.back(), ahead));
  }
  for (unsigned sweep = 0; sweep < loops.size(); ++sweep) {
    Value first = loops[sweep].getLowerBound();
    if (started[sweep] == 1) {
      copyTile(rows, sweep, first);
      continue;
    }
    auto fill = scf::ForOp::create(*builder, loc, index(0), index(started[sweep]), index(1));
    OpBuilder::InsertionGuard guard(*builder);
    builder->setInsertionPointToStart(fill.getBody());
    bool isFromStart = getConstantIntValue(first) == 0;
    copyTile(rows, sweep,
             isFromStart
                 ? fill.getInductionVar()
                 : arith::AddIOp::create(*builder, loc, first, fill.getInductionVar()).getResult());
  }
  int64_t inFlight = std::accumulate(started.begin(), started.end(), int64_t(0));
  for (auto [sweep, loop] : llvm::enumerate(loops)) {
    bool hasMore = iterations[sweep] > started[sweep];
    builder->setInsertionPointToStart(loop.getBody());
    CpAsyncWaitOp::create(*builder, loc, hasMore ? started[sweep] - 1 : inFlight - 1);
    if (hasMore)
      copyTile(rows, sweep,
               arith::AddIOp::create(*builder, loc, loop.getInductionVar(), index(started[sweep])));
    else
      CpAsyncCommitOp::create(*builder, loc);
    inFlight -= started[sweep];
  }
  builder->setInsertionPointAfter(loops.back());
  CpAsyncWaitOp::create(*builder, loc, 0);
}

/// Whether the loop of a load reads only tiles that end within the row.
bool RowCache::endsInside(LoadOp load) {
  Value end = loopOf(load).getUpperBound();
  if (auto cut = end.getDefiningOp<arith::MinSIOp>())
    end = cut.getLhs();
  std::optional<SymExpr> tiles = coordinates.expression(end);
  return tiles && *tiles == coordinates.size(load.getView(), load.getDims()[0])
                                .floorDiv(SymExpr(load.getType().getNumElements()));
}

/// Threads overwrite with the pad what the first stage holds before the row's first element.
void RowCache::padFront(const Row &row, Value mbarriers) {
  LoadOp load = row.first.front();
  auto origin = load.getView().getDefiningOp<AlignedRowOp>();
  SmallVector<Value> coords(origin.getCoords());
  coords.insert(coords.begin() + origin.getDim(), Value());
  Value shift = misalignmentOf(*builder, loc, origin.getView(), coords, {int64_t(origin.getDim())}),
        zero = index(0);
  Value isAny = arith::CmpIOp::create(*builder, loc, arith::CmpIPredicate::slt, zero, shift);
  auto branch = scf::IfOp::create(*builder, loc, isAny);
  OpBuilder::InsertionGuard guard(*builder);
  builder->setInsertionPointToStart(&branch.getThenRegion().front());
  MbarrierWaitOp::create(*builder, loc, mbarriers, zero, zero);
  Value size = DimOp::create(*builder, loc, builder->getIndexType(), load.getView(), 0);
  Value tile =
      SharedLoadOp::create(*builder, loc, load.getType(), row.buffer, zero, /*shift=*/Value(),
                           shift, size, /*at=*/nullptr, load.getPadAttr());
  SharedStoreOp::create(*builder, loc, tile, row.buffer, zero);
}

/// Starts the bulk copies of all tiles before the first sweep, which waits at the mbarrier of each.
void RowCache::load(Row &row) {
  Value mbarriers = MbarrierAllocOp::create(
      *builder, loc, MbarrierType::get(kernel.getContext(), row.type.getStages()));
  LoadOp any = row.first.front();
  bool isAligned = any.getView().getDefiningOp<AlignedRowOp>();
  Value shift = isAligned
                    ? Value()
                    : misalignmentOf(*builder, loc, any.getView(), any.getCoords(), any.getDims());
  for (LoadOp load : row.first) {
    scf::ForOp loop = loopOf(load);
    auto fill =
        scf::ForOp::create(*builder, loc, loop.getLowerBound(), loop.getUpperBound(), index(1));
    fill->setAttr(kOneThreadAttr, builder->getUnitAttr());
    OpBuilder::InsertionGuard guard(*builder);
    builder->setInsertionPointToStart(fill.getBody());
    Value tile = fill.getInductionVar();
    BulkLoadOp::create(*builder, load.getLoc(), load.getView(), coordsAtIteration(load, loop, tile),
                       load.getDims(), row.buffer, tile, mbarriers, tile,
                       load.getPad().has_value() && !(isAligned && endsInside(load)));
  }
  if (isAligned)
    padFront(row, mbarriers);
  for (LoadOp load : row.first) {
    builder->setInsertionPointToStart(loopOf(load).getBody());
    MbarrierWaitOp::create(*builder, loc, mbarriers, loopOf(load).getInductionVar(), index(0));
  }
  for (LoadOp load : llvm::concat<LoadOp>(row.first, row.later)) {
    builder->setInsertionPoint(firstUse(load));
    if (isAligned && endsInside(load))
      load.removePadAttr();
    load.replaceAllUsesWith(
        readBulkRow(*builder, load, row.buffer, loopOf(load).getInductionVar(), shift));
    load.erase();
  }
}

void RowCache::readFromStage(LoadOp load, Value buffer) {
  Operation *converted = convertedOf(load);
  Value result = converted->getResult(0);
  builder->setInsertionPoint(firstUse(result));
  result.replaceAllUsesWith(SharedLoadOp::create(*builder, converted->getLoc(), result.getType(),
                                                 buffer, loopOf(load).getInductionVar()));
  if (converted != load)
    converted->erase();
  load.erase();
}

void RowCache::rewrite(MutableArrayRef<Row> rows) {
  builder.emplace(loopOf(rows.front().first.front()));
  loc = loopOf(rows.front().first.front()).getLoc();
  for (Row &row : rows)
    row.buffer = AllocOp::create(*builder, loc, row.type);
  if (rows.front().isCopied)
    copy(rows);
  if (rows.front().isBulkLoaded)
    return load(rows.front());
  for (Row &row : rows) {
    for (LoadOp load : row.first) {
      if (row.isCopied) {
        readFromStage(load, row.buffer);
        continue;
      }
      builder->setInsertionPointAfter(load);
      SharedStoreOp::create(*builder, load.getLoc(), load.getResult(), row.buffer,
                            loopOf(load).getInductionVar());
    }
    for (LoadOp load : row.later)
      readFromStage(load, row.buffer);
  }
}

SmallVector<Row> RowCache::findRows() {
  SmallVector<LoadOp> loads;
  kernel.walk([&](LoadOp load) {
    if (isSweepLoad(load))
      loads.push_back(load);
  });
  return groupByRow(loads);
}

/// Splits a loop into one up to `end` and one from `begin` on.
void RowCache::split(scf::ForOp loop, Value end, Value begin) {
  OpBuilder before(loop);
  auto first = cast<scf::ForOp>(before.clone(*loop));
  first.getUpperBoundMutable().assign(end);
  loop.getLowerBoundMutable().assign(begin);
  loop.getInitArgsMutable().assign(first.getResults());
}

/// Splits the loops over rows that do not fit, or whose length has no bound: the first tiles are
/// cached.
void RowCache::splitLongRows(uint64_t left) {
  SmallVector<Row> rows = findRows();
  llvm::erase_if(rows, [&](Row &row) {
    LoadOp first = row.first.front();
    uint64_t bytes = bytesOfTile(first);
    if (row.later.empty() || getConstantIntValue(loopOf(first).getLowerBound()) != 0)
      return true;
    int64_t most = 0;
    for (LoadOp load : row.first)
      most = std::max(most, coordinates.most(loopOf(load).getUpperBound()));
    if (uint64_t(most) > left / bytes)
      return false;
    left -= most * bytes;
    return true;
  });
  llvm::MapVector<Operation *, std::pair<int64_t, scf::ForOp>>
      loops; // the number of cached tiles, and the row's first loop
  for (Row &row : rows) {
    LoadOp first = row.first.front();
    int64_t fit = left / rows.size() / bytesOfTile(first);
    auto isKnown = [&](LoadOp load) {
      scf::ForOp loop = loopOf(load);
      return llvm::all_of(ValueRange{loop.getLowerBound(), loop.getUpperBound()}, [&](Value bound) {
        return dominance.properlyDominates(bound, loopOf(first));
      });
    };
    for (LoadOp load : llvm::concat<LoadOp>(row.first, row.later))
      if (isKnown(load) && canUseCpAsync(load) == canUseCpAsync(first)) {
        int64_t &all = loops.try_emplace(loopOf(load), fit, loopOf(first)).first->second.first;
        all = std::min(all, fit);
      }
  }
  // The bounds are computed before a row's first loop.
  llvm::MapVector<Operation *, std::pair<Value, Value>> bounds;
  for (auto [op, how] : loops) {
    auto loop = cast<scf::ForOp>(op);
    auto [fit, first] = how;
    if (fit < 2)
      continue;
    OpBuilder before(first);
    Value count = arith::ConstantIndexOp::create(before, loop.getLoc(), fit);
    bounds[op] = {arith::MinSIOp::create(before, loop.getLoc(), loop.getUpperBound(), count),
                  arith::MaxSIOp::create(before, loop.getLoc(), loop.getLowerBound(), count)};
  }
  for (auto [loop, both] : bounds)
    split(cast<scf::ForOp>(loop), both.first, both.second);
}

void RowCache::run(uint64_t left, bool splits) {
  if (splits)
    splitLongRows(left);
  SmallVector<Row> kept;
  for (Row &row : findRows()) {
    if (!chooseBuffer(row))
      continue;
    if (row.bytes() > left) {
      missed(row.first.front(), kPass, "SharedMemory") << remark::reason(
          "{0} tiles of the row need {1} bytes of shared memory, and {2} are left",
          row.type.getStages(), row.bytes(), left);
      continue;
    }
    left -= row.bytes();
    kept.push_back(std::move(row));
  }
  // Copies of the same iterations form one commit group.
  auto areTogether = [](const Row &a, const Row &b) {
    return a.isCopied && b.isCopied && a.first.size() == b.first.size() &&
           llvm::all_of(llvm::zip_equal(a.first, b.first), [](auto pair) {
             return loopOf(std::get<0>(pair)) == loopOf(std::get<1>(pair));
           });
  };
  while (!kept.empty()) {
    SmallVector<Row> together, others;
    together.push_back(std::move(kept.front()));
    for (Row &row : llvm::drop_begin(kept))
      (areTogether(together.front(), row) ? together : others).push_back(std::move(row));
    rewrite(together);
    kept = std::move(others);
  }
}

/// Whether a kernel has contractions, which need the shared memory for their operands.
static bool hasContractions(KernelOp kernel) {
  return kernel.walk([](MmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

namespace {
struct TileCacheRows : tile::impl::TileCacheRowsBase<TileCacheRows> {
  using TileCacheRowsBase::TileCacheRowsBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    SharedFeatures features = sharedFeaturesOf(*gpu);
    uint64_t limit = sharedBytes ? sharedBytes : features.memoryBytes;
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      std::optional<int64_t> residents = kernel.getField(TuningField::MinCtasPerSm);
      uint64_t own = limit;
      if (residents)
        own = std::min<uint64_t>(limit, gpu->sm.sharedBytes / *residents -
                                            CudaLimits::reservedSharedBytes);
      if (uint64_t others = exchangedBytes(kernel, features);
          others < own && !hasContractions(kernel))
        RowCache(kernel, features, {gpu->has(GpuFeature::CpAsync), gpu->has(GpuFeature::Tma)},
                 ahead)
            .run(own - others, residents.has_value());
    }
  }
};
} // namespace
