//===- CostModel.cpp - Tile sizes from the description of a target --------===//
//
// There are three shapes of kernel, by what bounds them:
//
// - a streamed contraction alone is bound by arithmetic: the accumulator tile and the streamed
//   blocks fill the L2 cache, and the grid still has work for every core;
// - a stream that computes its elements by inner contractions is bound by arithmetic and by the
//   elementwise work between the contractions: the block of elements between them stays in the L1
//   or L2 cache;
// - everything else is bound by memory: long contiguous runs, a few rows at a time.
//
//===----------------------------------------------------------------------===//
#include "GpuTiles.h"
#include "Neighbours.h"
#include "TileChooser.h"
#include "tessera/CostModel/CpuCosts.h"
#include "tessera/CostModel/CpuKernels.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace tessera;

namespace {
class Chooser : public TileChooser {
public:
  Chooser(const MachineModel &machine, const SizeFacts &facts, KernelShape &shape,
          std::vector<Candidate> *listed)
      : TileChooser(machine, facts, shape), listed(listed) {}

private:
  /// The smallest number of blocks of a stream that may be split into parts.
  static constexpr int64_t leastBlocks = 8;

  /// At most `cap`, and no more than the dimension can hold.
  int64_t bounded(const Dim &dim, int64_t cap) const {
    return std::max<int64_t>(1, std::min(facts.max(dim.size), cap));
  }

  /// The same for rows of a contraction; with batch-invariant numerics one row is computed like
  /// many.
  int64_t rowsOf(const Dim &dim, int64_t cap) const {
    return std::max<int64_t>(bounded(dim, cap), shape.batchInvariant ? 2 : 1);
  }

  /// The next multiple of `block` where that is no more than `most`.
  static int64_t padded(int64_t size, int64_t block, int64_t most) {
    int64_t whole = (size + block - 1) / block * block;
    return whole <= most ? whole : size;
  }

  /// Whether AMX or BFMMLA multiplies this number of rows: from some number on they make up for the
  /// overhead.
  bool onUnit(int64_t rows) const {
    bool isAvoided = shape.tuning.get(TuningField::UseAmx) == 0;
    int64_t least = (shape.storageBytes >= 4 ? 4 : 2) * machine.blockRows;
    return machine.blockRows > 1 && shape.elementBytes <= 4 && !shape.batchInvariant &&
           !isAvoided && rows >= least;
  }

  /// Rows of a contraction, in whole blocks of AMX or BFMMLA if these are used.
  int64_t blockedRows(const Dim &dim, int64_t cap) const {
    int64_t rows = rowsOf(dim, cap), whole = padded(rows, machine.blockRows, cap);
    return onUnit(whole) ? whole : rows;
  }

  /// Pads the K dimension to whole blocks of AMX or BFMMLA, which are twice as fast: some padding
  /// pays.
  void padDepths() {
    for (const KernelShape::Contraction &c : shape.contractions) {
      const Dim *rows = c.rows.empty() ? nullptr : find(c.rows.back());
      if (rows && rows->tile % machine.blockRows == 0 && onUnit(rows->tile))
        for (const std::string &name : c.over)
          if (Dim *dim = find(name))
            dim->tile = padded(dim->tile, machine.blockDepth, dim->tile * 3 / 2);
    }
  }

  /// About equal tiles not above `cap`, a multiple of `unit` where the size is larger than it.
  int64_t balanced(const Dim &dim, int64_t cap, int64_t unit) const {
    if (facts.max(dim.size) <= cap)
      return rowsOf(dim, cap);
    int64_t size = facts.hint(dim.size), parts = (size + cap - 1) / cap;
    if (parts < 1)
      parts = 1;
    int64_t tile = (size + parts - 1) / parts;
    return std::max(unit, std::min(cap, (tile + unit - 1) / unit * unit));
  }

  /// Whether the size of a dimension is not known to be a multiple of much.
  bool endsAnywhere(const Dim &dim) const {
    return !dim.size.isConstant() && facts.divisor(dim.size) % 16 != 0;
  }

  /// Halves the dimension's tile until every core has something to do.
  void spread(Dim *dim, int64_t least, int64_t perCore) {
    while (dim && dim->tile / 2 >= least && programs() < machine.cores * perCore)
      dim->tile = (dim->tile / 2 + least - 1) / least * least;
  }

  /// AMX and BFMMLA multiply whole blocks, and f32 as three parts. In a contraction with two short
  /// dimensions of unknown remainder, too much of that is padding. With one such dimension, the
  /// long ones make up for it.
  void avoidPadding() {
    auto isShort = [&](const std::string &name) {
      const Dim *dim = find(name);
      return dim && facts.max(dim->size) <= 128 && facts.divisor(dim->size) % 16 != 0;
    };
    for (const KernelShape::Contraction &c : shape.contractions) {
      // Only the last row and column dimensions are tiled; the others have one index at a time.
      std::vector<std::string> tiled = c.over;
      for (const std::vector<std::string> *dims : {&c.rows, &c.columns})
        if (!dims->empty())
          tiled.push_back(dims->back());
      if (shape.storageBytes >= 4 && std::count_if(tiled.begin(), tiled.end(), isShort) > 1) {
        shape.tuning.set(TuningField::UseAmx, 0);
        return;
      }
    }
  }

  /// The K dimension that is tiled: the longest, or the last of several. The others have one index
  /// at a time.
  Dim *tiledOver(const KernelShape::Contraction &c) {
    Dim *longest = find(c.over.back());
    for (const std::string &name : c.over)
      if (Dim *dim = find(name); facts.hint(dim->size) > facts.hint(longest->size))
        longest = dim;
    return longest;
  }

  CpuContraction sizeOf(const Dim &rows, const Dim &columns, const Dim &over) const {
    CpuContraction size{facts.hint(rows.size), facts.hint(columns.size), facts.hint(over.size)};
    size.elementBytes = shape.elementBytes;
    size.storageBytes = shape.storageBytes;
    for (const Dim &dim : shape.dims)
      if (dim.role == Dim::Parallel && &dim != &rows && &dim != &columns)
        size.batches *= std::max<int64_t>(1, facts.hint(dim.size));
    return size;
  }

  /// The tiles with the smallest predicted time.
  void chooseTiles(Dim &rows, Dim &columns, Dim &over) {
    CpuContraction size = sizeOf(rows, columns, over);
    double least = std::numeric_limits<double>::infinity();
    for (const CpuTile &tile : cpuTiles(*machine.cpuCosts, size)) {
      double time = predictTime(*machine.cpuCosts, machine.cores, size, tile).microseconds;
      if (time >= least)
        continue;
      least = time;
      rows.tile = rowsOf(rows, tile.rows);
      columns.tile = bounded(columns, tile.columns);
      over.tile = bounded(over, tile.depth);
    }
  }

  /// Lists the tiles of a contraction with their predicted times, and the one that was chosen.
  void listTiles(const KernelShape::Contraction &c) {
    Dim *rows = find(c.rows.back()), *columns = find(c.columns.back()), *over = tiledOver(c);
    if (!listed || !machine.cpuCosts || shape.batchInvariant || onUnit(rows->tile))
      return;
    CpuContraction size = sizeOf(*rows, *columns, *over);
    auto list = [&](const CpuTile &tile, bool isChosen) {
      KernelShape scheduled = shape;
      for (KernelShape::Dim &dim : scheduled.dims)
        dim.tile = dim.name == rows->name      ? tile.rows
                   : dim.name == columns->name ? tile.columns
                   : dim.name == over->name    ? tile.depth
                                               : dim.tile;
      listed->push_back(
          {scheduled, predictTime(*machine.cpuCosts, machine.cores, size, tile), isChosen});
    };
    list({rows->tile, columns->tile, over->tile}, true);
    for (const CpuTile &tile : cpuTiles(*machine.cpuCosts, size))
      list(tile, false);
  }

  void product(const KernelShape::Contraction &c) override {
    chooseProduct(c);
    listTiles(c);
  }

  /// Few columns become rows where that takes fewer instructions: dot products along K use all
  /// lanes of a vector, and add them in the end; vectors of columns are partly empty, and rows are
  /// copied.
  bool swapsOperands(const Dim &rows, const Dim &columns, const Dim &over) const {
    constexpr int64_t sumsOfLanes = 2, copies = 4; // instructions for a dot product, for a vector
    int64_t lanes = machine.vectorBytes / shape.elementBytes, count = facts.max(columns.size);
    if (machine.fewRows < count || facts.hint(rows.size) <= count || shape.batchInvariant)
      return false;
    auto vectors = [&](int64_t size) { return (size + lanes - 1) / lanes; };
    bool areRowsContiguous = llvm::is_contained(shape.otherContiguous, rows.name);
    int64_t depth = facts.hint(over.size);
    return areRowsContiguous || count * (vectors(depth) + sumsOfLanes) <
                                    depth * vectors(count) + copies * vectors(depth);
  }

  void chooseProduct(const KernelShape::Contraction &c) {
    avoidPadding();
    int64_t lanes = machine.vectorBytes / shape.elementBytes;
    Dim *rows = find(c.rows.back()), *columns = find(c.columns.back()), *over = tiledOver(c);
    // Every grid task packs the right operand for itself. As many rows share that work as the L2
    // cache holds, with their part of the left operand and their accumulators. Rows that are read
    // in memory order are prefetched: they fill the L2 cache, and accumulators, which each block of
    // K reads once, are beyond it.
    bool isAhead = machine.interleavesRows && shape.elementBytes <= 4;
    const int64_t depth = isAhead ? 512 : 256, width = 512;
    int64_t height = isAhead ? machine.l2Bytes / (depth * shape.elementBytes)
                             : machine.l2Bytes * 3 / 4 / ((depth + width) * shape.elementBytes);
    over->tile = bounded(*over, depth);
    if (shape.storageBytes == 1) // bytes are multiplied in groups of four
      over->tile = padded(over->tile, 4, depth);
    height = std::clamp<int64_t>(height / 64 * 64, 64, 512);
    rows->tile =
        facts.max(rows->size) <= height ? blockedRows(*rows, height) : balanced(*rows, height, 32);
    // The right-hand side of few rows is read once, in the order of memory: long rows of it.
    bool hasFewRows = rows->tile <= machine.fewRows;
    columns->tile = balanced(*columns, hasFewRows ? 8 * width : width, 2 * lanes);
    bool isSwapped = !onUnit(rows->tile) && swapsOperands(*rows, *columns, *over);
    if (isSwapped) {
      shape.tuning.set(TuningField::SwapOperands, 1);
      int64_t fits = machine.l1Bytes / 2 / (columns->tile * shape.elementBytes);
      over->tile = bounded(*over, std::clamp<int64_t>(fits / 16 * 16, depth, 8 * depth));
    }
    // A long K dimension is split into parts: each operand is then packed once, not by every grid
    // task.
    if (shape.canSplit && facts.hint(over->size) >= leastBlocks * over->tile)
      return padDepths();
    bool isMeasured = machine.cpuCosts && machine.cpuCosts->choosesTiles && !shape.batchInvariant &&
                      !onUnit(rows->tile) && shape.storageBytes > 1;
    if (isMeasured && !isSwapped)
      return chooseTiles(*rows, *columns, *over);
    // Grid tasks that share rows or columns pack them separately: the longer side of a tile is
    // split first.
    auto [longer, shorter] =
        rows->tile >= columns->tile ? std::pair(rows, columns) : std::pair(columns, rows);
    for (Dim *dim : {longer, shorter})
      spread(dim, dim == rows ? 32 : 4 * lanes, 1);
    // If the last tile may be short, large tiles leave cores idle. For AMX and BFMMLA, packing
    // twice costs more.
    if (!onUnit(rows->tile) && (endsAnywhere(*rows) || endsAnywhere(*columns)))
      for (Dim *dim : {longer, shorter})
        spread(dim, 256, 2);
    padDepths();
  }

  void chain() override {
    avoidPadding();
    for (const KernelShape::Contraction &c : shape.contractions) {
      for (const std::string &name : c.over)
        if (Dim *dim = find(name))
          dim->tile = bounded(*dim, 256);
      if (!c.inner)
        for (const std::string &name : {c.columns.back()})
          if (Dim *dim = find(name); dim && dim->role == Dim::Parallel)
            dim->tile = bounded(*dim, 256);
    }
    // Streamed operands are packed once per row tile. The elements between the contractions stay in
    // the L2 cache, or in the L1 cache for a few rows at a time.
    bool inBands = machine.interleavesRows && shape.storageBytes == 4;
    int64_t height = shape.masked || machine.l2Bytes < 1 << 20 ? 128 : inBands ? 1024 : 256;
    Dim *row = nullptr;
    for (const KernelShape::Contraction &c : shape.contractions)
      for (const std::vector<std::string> *side : {&c.rows, &c.columns}) {
        if (side->empty())
          continue;
        Dim *dim = find(side->back());
        if (dim && dim->role == Dim::Stream)
          dim->tile = bounded(*dim, shape.masked ? 128 : 256);
        else if (dim && dim->role == Dim::Parallel && dim->tile == 1) {
          dim->tile = blockedRows(*dim, height);
          row = dim;
        }
      }
    // All cores should finish at about the same time.
    if (int64_t count = programs(), rounds = (count + machine.cores - 1) / machine.cores;
        row && height > 512 && rounds * machine.cores * 10 > count * 11)
      row->tile = rowsOf(*row, 512);
    // A long stream is split into parts instead: its operands are then packed once, and for whole
    // blocks of AMX or BFMMLA.
    bool isLong = std::any_of(shape.dims.begin(), shape.dims.end(), [&](const Dim &dim) {
      return dim.role == Dim::Stream && facts.hint(dim.size) >= leastBlocks * dim.tile;
    });
    spread(row, shape.canSplit && isLong ? 64 : 16, 1);
    padDepths();
  }

  /// A row that several passes read and that fits into the cache is one block: later passes find
  /// there what earlier ones computed. Other rows are processed in blocks, and scans in short ones,
  /// whose elements are in registers.
  int64_t rowTile(const Dim &dim) const {
    if (llvm::is_contained(shape.scanned, dim.name))
      return 64;
    if (shape.passes < 2)
      return 1024;
    int64_t fits = std::max(machine.l1Bytes, machine.l2Bytes / 32) / shape.elementBytes;
    return facts.max(dim.size) <= fits ? fits : 1024;
  }

  /// The tiles with the smallest predicted time.
  void chooseByTime() {
    std::vector<KernelShape> all = cpuKernelTiles(facts, shape);
    std::vector<double> times;
    for (const KernelShape &each : all)
      times.push_back(predictCpuKernel(machine, facts, each).microseconds);
    if (!all.empty())
      shape = all[size_t(std::min_element(times.begin(), times.end()) - times.begin())];
  }

  void memoryBound() override {
    // Cache lines of a result that no cache would keep need not be read before they are written.
    if (!machine.detectsStreams && shape.resultBytes >= 4 * machine.l2Bytes)
      shape.tuning.set(TuningField::CacheStores, 0);
    if (shape.dims.empty())
      return;
    // A stream whose elements are reductions of their own computes them again for every tile of the
    // grid.
    if (llvm::any_of(shape.dims, [](const Dim &dim) { return dim.role == Dim::Inner; }))
      return chooseByTime();
    Dim &last = shape.dims.back();
    bool streams = std::any_of(shape.dims.begin(), shape.dims.end(),
                               [](Dim &d) { return d.role == Dim::Stream; });
    int64_t elements = 4096 / std::max<int64_t>(1, shape.elementBytes / 4);
    if (!shape.otherContiguous.empty() && shape.dims.size() > 1) {
      last.tile = bounded(last, 64);
      for (const std::string &name : shape.otherContiguous)
        if (Dim *dim = find(name); dim && dim != &last)
          dim->tile = bounded(*dim, 64);
      return;
    }
    last.tile =
        bounded(last, streams ? (last.role == Dim::Stream ? rowTile(last) : 256) : elements);
    int64_t filled = last.tile;
    // Long rows are processed one at a time, so that reading the next one overlaps writing the
    // last. Narrow elements are bound by conversions instead: several rows share the work per row.
    if (last.role == Dim::Stream && shape.storageBytes >= 4)
      elements /= 4;
    for (size_t i = shape.dims.size() - 1; i-- > 0;) {
      Dim &dim = shape.dims[i];
      int64_t room = elements / std::max<int64_t>(1, filled);
      if (room <= 1)
        break;
      dim.tile =
          bounded(dim, dim.role == Dim::Stream ? std::min<int64_t>(room, 32)
                                               : std::min<int64_t>(room, streams ? 8 : room));
      filled *= dim.tile;
      if (streams)
        break;
    }
    if (last.role == Dim::Parallel)
      spread(&last, 64, 1);
  }

  std::vector<Candidate> *listed; ///< gets all schedules of a contraction; null: nobody asks
};
} // namespace

/// Across rows, ptxas takes minutes for a scan of a large tile: only a few rows at a time.
static void limitScannedRows(const std::string &along, KernelShape &shape) {
  if (shape.dims.back().name == along)
    return;
  int64_t elements = 1;
  for (KernelShape::Dim &dim : shape.dims) {
    if (dim.name == along)
      dim.tile = std::min<int64_t>(dim.tile, 8);
    elements *= dim.tile;
  }
  for (KernelShape::Dim &dim : shape.dims)
    for (; elements > 4096 && dim.name != along && dim.tile > 1; elements /= 2)
      dim.tile /= 2;
}

/// Elements that depend on each other are processed one by one. Along memory, several rows at a
/// time would not help.
static void processSingleRows(KernelShape &shape) {
  if (!shape.sequential || shape.dims.empty() || shape.dims.back().role != KernelShape::Dim::Stream)
    return;
  for (KernelShape::Dim &dim : shape.dims)
    if (dim.role == KernelShape::Dim::Parallel)
      dim.tile = 1;
}

/// CTAs sort whole rows, with as many elements per thread as are compared in registers, and as many
/// short rows as keep a CTA busy.
static void chooseSortedRows(const MachineModel &machine, const SizeFacts &facts,
                             KernelShape &shape) {
  constexpr int64_t perThread = 8, perCta = 2048, lanes = 32, mostWarps = 32;
  int64_t elements = 1, rows = 1;
  for (KernelShape::Dim &dim : shape.dims) {
    if (dim.name == shape.sorted)
      elements = dim.tile = std::max<uint64_t>(2, llvm::PowerOf2Ceil(facts.max(dim.size)));
    else
      rows *= std::max<int64_t>(1, facts.hint(dim.size));
  }
  for (KernelShape::Dim &dim : llvm::reverse(shape.dims))
    while (dim.name != shape.sorted && 2 * elements <= perCta && dim.tile < facts.hint(dim.size) &&
           rows > 2 * machine.cores) {
      dim.tile *= 2;
      elements *= 2;
      rows /= 2;
    }
  shape.launch.set(LaunchField::NumWarps,
                   std::clamp<int64_t>(elements / (perThread * lanes), 1, mostWarps));
}

/// The choice; `listed` gets all schedules that were compared by their predicted times.
static void choose(const MachineModel &machine, const SizeFacts &facts, KernelShape &shape,
                   std::vector<Candidate> *listed) {
  for (KernelShape::Dim &dim : shape.dims)
    dim.tile = 1;
  shape.launch = {};
  shape.tuning = {};
  if (!machine.isGpu) {
    Chooser(machine, facts, shape, listed).run();
    return processSingleRows(shape);
  }
  if (!shape.sorted.empty())
    return chooseSortedRows(machine, facts, shape);
  shape.storageBytes = std::max(shape.storageBytes, shape.sideBytes);
  chooseGpuTiles(machine, facts, shape, listed);
  for (const std::string &along : shape.scanned) {
    limitScannedRows(along, shape);
    // tileiras refuses scans of shorter tiles.
    constexpr int64_t shortestScan = 16;
    for (KernelShape::Dim &dim : shape.dims)
      if (dim.name == along && !machine.tilesInRegisters)
        dim.tile = std::max(dim.tile, shortestScan);
  }
}

void tessera::chooseTiles(const MachineModel &machine, const SizeFacts &facts, KernelShape &shape) {
  choose(machine, facts, shape, nullptr);
}

std::vector<Candidate> tessera::enumerateCandidates(const MachineModel &machine,
                                                    const SizeFacts &facts,
                                                    const KernelShape &given,
                                                    const KernelWork &work) {
  std::vector<Candidate> listed;
  KernelShape chosen = given;
  choose(machine, facts, chosen, &listed);
  limitWork(machine, chosen);
  if (listed.empty() && !machine.isGpu) {
    listed.push_back({chosen, predictCpuKernel(machine, facts, chosen), true});
    for (KernelShape &each : cpuKernelTiles(facts, chosen))
      listed.push_back({each, predictCpuKernel(machine, facts, each)});
  }
  if (listed.empty())
    listed = neighboursOf(machine, facts, chosen, work);
  std::stable_sort(listed.begin(), listed.end(), [](const Candidate &a, const Candidate &b) {
    return a.time.microseconds < b.time.microseconds;
  });
  // Some schedules of the model are the same code: a persistent kernel needs more tiles than CTAs.
  std::vector<Candidate> distinct;
  std::map<std::string, size_t> known;
  for (Candidate &each : listed) {
    auto [found, isNew] = known.try_emplace(scheduleText(each.shape, each.shape), distinct.size());
    if (isNew)
      distinct.push_back(std::move(each));
    else
      distinct[found->second].isChosen |= each.isChosen;
  }
  return distinct;
}
