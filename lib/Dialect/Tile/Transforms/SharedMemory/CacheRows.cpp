//===- CacheRows.cpp - Rows that are walked again stay near ----------------===//
//
// A walk is a loop, or several one behind the other, over the tiles of a row. What the first walk
// loads lies in shared memory afterwards, a stage for each tile of the row, and later walks read it
// there. The stages are filled by copies that are all in flight before the first walk begins; it
// waits for them in their order. Unaligned rows are brought by copies of the machine, with a
// mbarrier for each tile. What such copies bring in front of a row's first element is written over
// before the first walk. Rows that no copies can take are written behind their loads. Of rows that
// are too long the first tiles are kept.
//
//===----------------------------------------------------------------------===//
#include "Async/BulkRows.h"
#include "Async/FirstUse.h"
#include "Numerics/Zero.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/Dominance.h"
#include "tessera/Dialect/Common/LaunchHints.h"
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

namespace {
/// The loads of one row, by those of the first walk and those of all others, in order.
struct Row {
  SmallVector<LoadOp> first, later;
  BufferType buffer;
  bool isCopied = false, isBulkLoaded = false;
  Value room;

  uint64_t bytes() const {
    return buffer.getAllBytes() + (isBulkLoaded ? buffer.getStages() * MbarrierType::kBytes : 0);
  }
};

/// What the chip can do beside the threads: copies by 16 bytes, and of whole rows.
struct Copies {
  bool ofPieces = false, ofRows = false;
};

class Keeper {
public:
  Keeper(KernelOp kernel, SharedFeatures features, Copies copies, unsigned ahead)
      : kernel(kernel), coordinates(kernel), dominance(kernel), features(features), copies(copies),
        ahead(ahead) {}

  /// Keeps what fits into so many bytes; `splits`: a part of what does not, too.
  void run(uint64_t left, bool splits);

private:
  SmallVector<Row> findRows();
  SmallVector<Row> rowsOf(ArrayRef<LoadOp> loads);
  void splitLong(uint64_t left);
  static void split(scf::ForOp loop, Value end, Value begin);
  bool isByPieces(LoadOp load);
  bool follows(LoadOp load, LoadOp before);
  bool isSame(Value a, Value b) {
    std::optional<SymExpr> x = coordinates.expression(a), y = coordinates.expression(b);
    return a == b || (x && y && *x == *y);
  }
  bool isWalk(LoadOp load);
  bool areOfOneRow(LoadOp a, LoadOp b);
  bool haveSameTiles(LoadOp a, LoadOp b);
  /// How often a loop runs at most.
  int64_t iterationsOf(scf::ForOp loop);
  bool settle(Row &row);

  void rewrite(MutableArrayRef<Row> rows);
  void copy(ArrayRef<Row> rows);
  void copyTile(ArrayRef<Row> rows, unsigned walk, Value tile);
  bool endsInside(LoadOp load);
  void load(Row &row);
  void clearFront(const Row &row, Value mbarriers);
  void serve(LoadOp load, Value room);
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

/// From one stage of a buffer to the next, of the part of a tile that a block holds, with what a
/// row that begins anywhere needs besides.
uint64_t bytesOfTile(LoadOp load) {
  constexpr uint64_t ofBanks = 128, ofPiece = 16;
  uint64_t elements = uint64_t(1) << gf2::rank(layoutOf(load)->columnsOf(~DimSet{Dim::Block}));
  uint64_t bytes = elements * llvm::divideCeil(load.getType().getElementTypeBitWidth(), 8);
  return std::max(llvm::alignTo(bytes, ofBanks), bytes + ofPiece + MbarrierType::kBytes);
}

/// What a load is converted to if it is, or the load itself.
Operation *wantedOf(LoadOp load) {
  auto convert = load->hasOneUse() ? dyn_cast<ConvertOp>(*load->user_begin()) : ConvertOp();
  return convert && convert->getBlock() == load->getBlock() ? convert.getOperation()
                                                            : load.getOperation();
}
} // namespace

//===----------------------------------------------------------------------===//
// Which rows
//===----------------------------------------------------------------------===//

/// Whether a load takes one tile after the other along one dimension, of a view that nobody writes.
bool Keeper::isWalk(LoadOp load) {
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

bool Keeper::areOfOneRow(LoadOp a, LoadOp b) {
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

bool Keeper::haveSameTiles(LoadOp a, LoadOp b) {
  return loopOf(a) != loopOf(b) && isSame(loopOf(a).getLowerBound(), loopOf(b).getLowerBound()) &&
         isSame(loopOf(a).getUpperBound(), loopOf(b).getUpperBound());
}

static constexpr unsigned kChunk = 16; // bytes that threads copy at once

/// Whether threads can copy a load's tiles past the registers.
bool Keeper::isByPieces(LoadOp load) {
  unsigned bits = load.getType().getElementTypeBitWidth();
  return copies.ofPieces && bits >= 8 && isZeroOrNone(load.getPad()) &&
         !load.getView().getDefiningOp<AlignedRowOp>() &&
         coordinates.accessWidth(load.getView(), load.getDims(), *layoutOf(load),
                                 load.getPad().has_value()) *
                 bits ==
             8 * kChunk;
}

/// Whether a load's tiles come behind those of another one. Where these are cut, so are those, at
/// the same tile, and no row that threads could copy goes through registers for their sake.
bool Keeper::follows(LoadOp load, LoadOp before) {
  auto cutOf = [](LoadOp load) {
    auto cut = loopOf(load).getUpperBound().getDefiningOp<arith::MinSIOp>();
    return cut ? getConstantIntValue(cut.getRhs()) : std::nullopt;
  };
  return comesBefore(coordinates, loopOf(before), loopOf(load)) &&
         (!cutOf(before) ||
          (cutOf(before) == cutOf(load) && isByPieces(before) == isByPieces(load)));
}

/// The loops of a first walk follow one another in the row as well, so that no tile comes twice.
SmallVector<Row> Keeper::rowsOf(ArrayRef<LoadOp> loads) {
  SmallVector<Row> rows;
  auto take = [&](LoadOp load) {
    for (Row &row : rows) {
      if (!areOfOneRow(row.first.front(), load))
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

int64_t Keeper::iterationsOf(scf::ForOp loop) {
  return runsOnce(coordinates, loop) ? 1 : coordinates.most(loop.getUpperBound());
}

/// Whether a row is worth its room and has a place for each of its tiles; says what its buffer is.
bool Keeper::settle(Row &row) {
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
  if (stages < 1 || stages > kMostStages)
    return false;
  // What lies outside is no part of the row: each load has a pad of its own. What lies in front is
  // written with one for all.
  auto isBulkLoad = [&](LoadOp load) {
    bool isAligned = isAlignedRow(load.getView(), load);
    return wantedOf(load) == load && loopOf(load)->getParentOp() == kernel &&
           isBetterBulkLoaded(load) &&
           (isAligned ? load.getPadAttr() == first.getPadAttr() &&
                            load.getType() == first.getType() && load.getPad()
                      : isLooseRow(coordinates, load.getView(), load.getDims(), load));
  };
  row.isBulkLoaded = copies.ofRows && !row.later.empty() && llvm::all_of(row.first, isBefore) &&
                     llvm::all_of(llvm::concat<LoadOp>(row.first, row.later), isBulkLoad);
  if (row.isBulkLoaded) {
    row.buffer = rowBuffer(first, stages, /*slack=*/!first.getView().getDefiningOp<AlignedRowOp>());
    return true;
  }
  llvm::erase_if(row.later, [&](LoadOp load) {
    return llvm::none_of(row.first, [&](LoadOp each) {
      return haveSameTiles(each, load) && each.getPadAttr() == load.getPadAttr();
    });
  });
  if (row.later.empty())
    return false;
  unsigned bits = first.getType().getElementTypeBitWidth(), bytes = std::max(1u, bits / 8);
  auto isCopy = [&](LoadOp load) {
    return isByPieces(load) && isBefore(load) && layoutOf(load) == layoutOf(first);
  };
  row.isCopied = llvm::all_of(row.first, isCopy);
  Layout from = *layoutOf(first), to = *layoutOf(wantedOf(first)->getResult(0));
  std::optional<SharedExchange> exchange =
      row.isCopied ? planCopy(from, to, 8 * bytes, llvm::Log2_32(kChunk / bytes), features)
                   : planExchange(from, to, 8 * bytes, features);
  if (!exchange || exchange->passes() > 1)
    return false;
  row.buffer = BufferType::get(kernel.getContext(), stages,
                               withLayout(first.getType(), inAllBlocks(exchange->memory, from)));
  return true;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

void Keeper::copyTile(ArrayRef<Row> rows, unsigned walk, Value tile) {
  scf::ForOp loop = loopOf(rows.front().first[walk]);
  Value exists =
      arith::CmpIOp::create(*builder, loc, arith::CmpIPredicate::slt, tile, loop.getUpperBound());
  auto branch = scf::IfOp::create(*builder, loc, exists);
  {
    OpBuilder::InsertionGuard guard(*builder);
    builder->setInsertionPointToStart(&branch.getThenRegion().front());
    for (const Row &row : rows) {
      LoadOp load = row.first[walk];
      SmallVector<Value> coords;
      for (Value coordinate : load.getCoords())
        coords.push_back(coordinate == loop.getInductionVar() ? tile : coordinate);
      CpAsyncOp::create(*builder, load.getLoc(), load.getView(), coords, load.getDims(), row.room,
                        tile, /*condition=*/Value(),
                        LayoutAttr::get(kernel.getContext(), *layoutOf(load)),
                        load.getPad().has_value());
    }
  }
  CpAsyncCommitOp::create(*builder, loc);
}

/// Rows whose first walks are the same loops. Before these the first tiles of all of them are
/// begun, a group for each step; in each step a group is waited for and another one closed, so that
/// as many are behind the one that is needed.
void Keeper::copy(ArrayRef<Row> rows) {
  SmallVector<scf::ForOp> loops;
  SmallVector<int64_t> iterations, begun;
  for (LoadOp load : rows.front().first) {
    loops.push_back(loopOf(load));
    iterations.push_back(iterationsOf(loops.back()));
    begun.push_back(std::min<int64_t>(iterations.back(), ahead));
  }
  for (unsigned walk = 0; walk < loops.size(); ++walk) {
    Value first = loops[walk].getLowerBound();
    if (begun[walk] == 1) {
      copyTile(rows, walk, first);
      continue;
    }
    auto fill = scf::ForOp::create(*builder, loc, index(0), index(begun[walk]), index(1));
    OpBuilder::InsertionGuard guard(*builder);
    builder->setInsertionPointToStart(fill.getBody());
    bool isFromStart = getConstantIntValue(first) == 0;
    copyTile(rows, walk,
             isFromStart
                 ? fill.getInductionVar()
                 : arith::AddIOp::create(*builder, loc, first, fill.getInductionVar()).getResult());
  }
  int64_t behind = std::accumulate(begun.begin(), begun.end(), int64_t(0));
  for (auto [walk, loop] : llvm::enumerate(loops)) {
    bool goesOn = iterations[walk] > begun[walk];
    builder->setInsertionPointToStart(loop.getBody());
    CpAsyncWaitOp::create(*builder, loc, goesOn ? begun[walk] - 1 : behind - 1);
    if (goesOn)
      copyTile(rows, walk,
               arith::AddIOp::create(*builder, loc, loop.getInductionVar(), index(begun[walk])));
    else
      CpAsyncCommitOp::create(*builder, loc);
    behind -= begun[walk];
  }
  builder->setInsertionPointAfter(loops.back());
  CpAsyncWaitOp::create(*builder, loc, 0);
}

/// Whether a load's loop goes over tiles that end by the end of their row.
bool Keeper::endsInside(LoadOp load) {
  Value end = loopOf(load).getUpperBound();
  if (auto cut = end.getDefiningOp<arith::MinSIOp>())
    end = cut.getLhs();
  std::optional<SymExpr> tiles = coordinates.expression(end);
  return tiles && *tiles == coordinates.size(load.getView(), load.getDims()[0])
                                .floorDiv(SymExpr(load.getType().getNumElements()));
}

/// Threads write the pad over what they will read in front of the row's first element.
void Keeper::clearFront(const Row &row, Value mbarriers) {
  LoadOp load = row.first.front();
  auto origin = load.getView().getDefiningOp<AlignedRowOp>();
  SmallVector<Value> coords(origin.getCoords());
  coords.insert(coords.begin() + origin.getDim(), Value());
  Value shift = shiftOf(*builder, loc, origin.getView(), coords, {int64_t(origin.getDim())}),
        zero = index(0);
  Value isAny = arith::CmpIOp::create(*builder, loc, arith::CmpIPredicate::slt, zero, shift);
  auto branch = scf::IfOp::create(*builder, loc, isAny);
  OpBuilder::InsertionGuard guard(*builder);
  builder->setInsertionPointToStart(&branch.getThenRegion().front());
  MbarrierWaitOp::create(*builder, loc, mbarriers, zero, zero);
  Value size = DimOp::create(*builder, loc, builder->getIndexType(), load.getView(), 0);
  Value tile =
      SharedLoadOp::create(*builder, loc, load.getType(), row.room, zero, /*shift=*/Value(), shift,
                           size, /*at=*/nullptr, load.getPadAttr());
  SharedStoreOp::create(*builder, loc, tile, row.room, zero);
}

/// All tiles are in flight before the first walk, which waits at the mbarrier of each.
void Keeper::load(Row &row) {
  Value mbarriers = MbarrierAllocOp::create(
      *builder, loc, MbarrierType::get(kernel.getContext(), row.buffer.getStages()));
  LoadOp any = row.first.front();
  bool isAligned = any.getView().getDefiningOp<AlignedRowOp>();
  Value shift =
      isAligned ? Value() : shiftOf(*builder, loc, any.getView(), any.getCoords(), any.getDims());
  for (LoadOp load : row.first) {
    scf::ForOp loop = loopOf(load);
    auto fill =
        scf::ForOp::create(*builder, loc, loop.getLowerBound(), loop.getUpperBound(), index(1));
    OpBuilder::InsertionGuard guard(*builder);
    builder->setInsertionPointToStart(fill.getBody());
    Value tile = fill.getInductionVar();
    BulkLoadOp::create(*builder, load.getLoc(), load.getView(), coordsIn(load, loop, tile),
                       load.getDims(), row.room, tile, mbarriers, tile,
                       load.getPad().has_value() && !(isAligned && endsInside(load)));
  }
  if (isAligned)
    clearFront(row, mbarriers);
  for (LoadOp load : row.first) {
    builder->setInsertionPointToStart(loopOf(load).getBody());
    MbarrierWaitOp::create(*builder, loc, mbarriers, loopOf(load).getInductionVar(), index(0));
  }
  for (LoadOp load : llvm::concat<LoadOp>(row.first, row.later)) {
    builder->setInsertionPoint(firstUse(load));
    if (isAligned && endsInside(load))
      load.removePadAttr();
    load.replaceAllUsesWith(
        readRow(*builder, load, row.room, loopOf(load).getInductionVar(), shift));
    load.erase();
  }
}

void Keeper::serve(LoadOp load, Value room) {
  Operation *wanted = wantedOf(load);
  Value result = wanted->getResult(0);
  builder->setInsertionPoint(firstUse(result));
  result.replaceAllUsesWith(SharedLoadOp::create(*builder, wanted->getLoc(), result.getType(), room,
                                                 loopOf(load).getInductionVar()));
  if (wanted != load)
    wanted->erase();
  load.erase();
}

void Keeper::rewrite(MutableArrayRef<Row> rows) {
  builder.emplace(loopOf(rows.front().first.front()));
  loc = loopOf(rows.front().first.front()).getLoc();
  for (Row &row : rows)
    row.room = AllocOp::create(*builder, loc, row.buffer);
  if (rows.front().isCopied)
    copy(rows);
  if (rows.front().isBulkLoaded)
    return load(rows.front());
  for (Row &row : rows) {
    for (LoadOp load : row.first) {
      if (row.isCopied) {
        serve(load, row.room);
        continue;
      }
      builder->setInsertionPointAfter(load);
      SharedStoreOp::create(*builder, load.getLoc(), load.getResult(), row.room,
                            loopOf(load).getInductionVar());
    }
    for (LoadOp load : row.later)
      serve(load, row.room);
  }
}

SmallVector<Row> Keeper::findRows() {
  SmallVector<LoadOp> loads;
  kernel.walk([&](LoadOp load) {
    if (isWalk(load))
      loads.push_back(load);
  });
  return rowsOf(loads);
}

/// Makes of a loop one that goes on until `end`, and one behind it from `begin` on for what is
/// left.
void Keeper::split(scf::ForOp loop, Value end, Value begin) {
  OpBuilder before(loop);
  auto first = cast<scf::ForOp>(before.clone(*loop));
  first.getUpperBoundMutable().assign(end);
  loop.getLowerBoundMutable().assign(begin);
  loop.getInitArgsMutable().assign(first.getResults());
}

/// Of rows that are too long, or as long as they like, the first tiles stay: their loops become
/// two.
void Keeper::splitLong(uint64_t left) {
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
      loops; // the tiles that stay, and the row's first loop
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
      if (isKnown(load) && isByPieces(load) == isByPieces(first)) {
        int64_t &all = loops.try_emplace(loopOf(load), fit, loopOf(first)).first->second.first;
        all = std::min(all, fit);
      }
  }
  // What is kept is known before a row's first loop.
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

void Keeper::run(uint64_t left, bool splits) {
  if (splits)
    splitLong(left);
  SmallVector<Row> kept;
  for (Row &row : findRows()) {
    if (!settle(row) || row.bytes() > left)
      continue;
    left -= row.bytes();
    kept.push_back(std::move(row));
  }
  // Copies of the same steps go together.
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

/// Products want the room for their operands.
static bool hasProducts(KernelOp kernel) {
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
    uint64_t room = most ? most : features.memoryBytes;
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      std::optional<int64_t> residents = getHint(kernel.getHintsAttr(), "min_ctas_per_sm");
      uint64_t own = room;
      if (residents)
        own = std::min<uint64_t>(room, gpu->sm.sharedBytes / *residents -
                                           CudaLimits::reservedSharedBytes);
      if (uint64_t others = exchangedBytes(kernel, features); others < own && !hasProducts(kernel))
        Keeper(kernel, features, {gpu->has(GpuFeature::CpAsync), gpu->has(GpuFeature::Tma)}, ahead)
            .run(own - others, residents.has_value());
    }
  }
};
} // namespace
