//===- GpuTiles.cpp - Tile sizes for GPUs ---------------------------------===//
//
// A program of the grid is one tile block. Its accumulators are in registers, what it streams goes
// through shared memory, and the machine wants at least one block for each SM:
// - a streamed contraction has the largest accumulator that 8 warps hold, as long as the grid fills
// the machine; of a small
//   one, tiles get narrow and blocks of a cluster share what it sums over; where warpgroups
//   multiply what tensor copies bring, tiles are as large as a few waves of programs allow, by
//   persistent CTAs, and two blocks share one where there are few, or have its columns where rows
//   begin inside lines of memory;
// - a stream with inner contractions keeps 64 rows and walks 128 columns at a time, two blocks on a
// SM; where groups of
//   warps multiply, 128 rows for two of them, or 64 rows and up to four blocks;
// - what is bound by memory takes rows whole while they fit into registers, some thousand elements
// for each block. The numbers are those that were fastest among candidates on an H200
// (benchmarks/results). Tiles are powers of two that may be larger than the dimension; accesses
// beyond it are masked.
//
//===----------------------------------------------------------------------===//
#include "GpuTiles.h"
#include "GpuChooser.h"
#include "tessera/CostModel/WgmmaTiles.h"
#include "tessera/Target/CudaLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace tessera;

namespace {
class GpuChooser : public GpuChooserBase {
public:
  using GpuChooserBase::GpuChooserBase;

private:
  /// Tiles of 16-bit products for warpgroups, the largest first: a thread holds 128 sums while
  /// there are programs for some waves; with half of that, two blocks share an SM, and with a
  /// quarter of it more of them have one. Where these are too few, two blocks of a cluster share a
  /// tile; where requests for rows take longer than the products, they have its columns and bring
  /// its rows for each other. Smaller products are left to others.
  bool groupWarps(Dim &rows, Dim &columns, Dim &over, int64_t products) {
    using namespace grouped;
    constexpr int64_t depth = 64, longSum = 4096, briefSum = 1024;
    // One step alone has nothing to begin ahead.
    if (!machine.warpgroups || !areCopied(rows, columns, over) || facts.max(over.size) <= depth ||
        rowsOf(rows, 128) < kSide || bounded(columns, 128) < kSide)
      return false;
    struct Choice {
      int64_t height, width, stages, residents, sharers;
      double waves; // of blocks, at least
      bool isSpread = false;
    };
    int64_t wide = std::max<int64_t>(kSide, 2 * kWidth / int64_t(llvm::PowerOf2Ceil(products))),
            half = wide / 2;
    bool isSharable = products == 1 && shape.canSplit && !shape.batchInvariant &&
                      machine.cluster >= kSharers && facts.hint(over.size) >= kSharedSum;
    bool isOff = isOffLines(rows, columns, over);
    // Of several products that sum over little, two blocks hide how each other begins and ends.
    bool isBrief = products > 1 && facts.hint(over.size) <= briefSum;
    for (const Choice &choice : {Choice{128, isBrief ? 0 : wide, 4, 1, 1, 1.5},
                                 {128, half, 3, 2, 1, kFewestWaves},
                                 {128, isOff ? half : 0, 8, 1, kSharers, kFewestWaves, true},
                                 {kHeight, half, 5, 1, 1, kFewestWaves},
                                 {128, half / 2, 6, 1, kSharers, kFewestWaves},
                                 {kHeight, half, 5, 1, kSharers, kFewestWaves}}) {
      bool isShared = choice.sharers > 1;
      if (!choice.width || (isShared && !isSharable))
        continue;
      columns.tile = bounded(columns, choice.width);
      // Of short columns, the largest tile has as many more rows.
      bool isTall = choice.width == wide && columns.tile < wide && !isShared;
      rows.tile = rowsOf(rows, isTall ? std::min(kTallest, choice.height * (wide / columns.tile))
                                      : choice.height);
      over.tile = std::max<int64_t>(16, bounded(over, depth));
      // Two warpgroups, each block with enough columns.
      if (choice.isSpread && (rows.tile < 128 || columns.tile < 2 * kSide))
        continue;
      bool isFilled = isShared ? fillsDeviceInClusters(programs(), machine.cores)
                               : fillsDevice(programs(), machine.cores, choice.waves);
      if (!shape.batchInvariant && !isFilled)
        continue;
      // Narrow tiles that sum over much wait for memory: longer steps have more of it in flight.
      bool isDeep = choice.height == kHeight && facts.hint(over.size) >= longSum;
      if (isDeep)
        over.tile *= 2;
      if (!choice.isSpread)
        over.tile *= choice.sharers;
      hint("num_stages", isDeep ? choice.stages - 1 : choice.stages);
      hint("use_tma", 1);
      // Blocks that run all at once need no order, which they would find by divisions.
      if (isShared)
        hint("cluster_size", choice.sharers);
      else
        hint("raster_group", choice.residents > 1 ? 8 : 16);
      // Two warpgroups in a persistent CTA have the next program's tiles come in while they end
      // one.
      if (choice.height >= 128 && choice.residents == 1 && !isShared && rows.tile >= 128 &&
          programs() > machine.cores)
        hint("persistent_ctas", machine.cores);
      if (choice.residents > 1)
        hint("min_ctas_per_sm", choice.residents);
      if (choice.isSpread)
        hint("cluster_axis", 1);
      hint("num_warps", rows.tile >= 128 ? 8 : 4);
      hint("wgmma", 1);
      return true;
    }
    rows.tile = columns.tile = over.tile = 1;
    return false;
  }

  void product(const KernelShape::Contraction &c) override {
    Dim *rows = find(c.rows.back()), *columns = find(c.columns.back()), *over = find(c.over.back());
    // Tensor cores take 16 bits and less at full speed; wider elements take more room for fewer
    // products.
    bool narrow = shape.storageBytes <= 2 && shape.onTensorCores;
    int64_t room = shape.onTensorCores && (narrow || !machine.operandsInRegisters) ? 128 : 64;
    size_t products =
        llvm::count_if(shape.contractions, [](const auto &each) { return !each.inner; });
    // Bytes make steps as long in memory as 16 bits do; sums of 8-bit floats are kept twice.
    bool bytes = narrow && shape.storageBytes == 1;
    if (narrow && !bytes && groupWarps(*rows, *columns, *over, products))
      return;
    over->tile = std::max<int64_t>(16, bounded(*over, bytes && machine.multipliesBytes ? 128
                                                      : narrow                         ? 64
                                                      : shape.onTensorCores            ? 32
                                                                                       : 16));
    rows->tile = rowsOf(*rows, room);
    // Of few rows, more columns do not make operands serve more often.
    int64_t wide = !narrow || bytes                               ? room
                   : machine.tilesInRegisters && rows->tile < 128 ? 128
                                                                  : 256;
    // The accumulators of all products share the registers.
    for (size_t beside = 1; beside < products && wide > 64; beside *= 2)
      wide /= 2;
    columns->tile = bounded(*columns, wide);
    // Short sides leave tensor cores waiting; from 64 on a tile of one piece of memory comes
    // quicker than one of several.
    if (narrow && columns->tile < 64)
      extend(c.columns, wide);
    if (narrow && rows->tile < 64)
      extend(c.rows, room);
    columns->tile *= llvm::divideCeil(16, std::min<int64_t>(16, extentOf(c.columns)));
    rows->tile *= llvm::divideCeil(16, std::min<int64_t>(16, extentOf(c.rows)));
    for (const std::string &name : llvm::ArrayRef(c.columns).drop_back())
      spread(find(name), 1);
    spread(columns, 64);
    for (const std::string &name : llvm::ArrayRef(c.rows).drop_back())
      spread(find(name), 1);
    spread(rows, 64);
    bool isSharable = narrow && !bytes && products == 1 && machine.tilesInRegisters;
    int64_t sharers = isSharable ? shareProduct(*columns, *over) : 1;
    if (!isSharable)
      spread(columns, 32);
    int64_t area = extentOf(c.rows) * extentOf(c.columns);
    // Products of f32 are split in registers, where the copy engine does not bring them.
    if (!narrow && shape.onTensorCores)
      hint("use_tma", 0);
    if (!narrow || bytes)
      return hint("num_warps", area >= 128 * 128 ? 8 : 4);
    // Few rows are bound by memory: longer steps have more of it in flight.
    if (extentOf(c.rows) <= 32)
      over->tile = std::max<int64_t>(16, bounded(*over, 128));
    bool large = area * products >= 128 * 256;
    hint("num_warps", large ? 8 : 4);
    if (sharers > 1) {
      // Steps of narrow tiles are long where there are several of them; most are in flight at once.
      bool isLong = extentOf(c.rows) + extentOf(c.columns) <= 128 &&
                    facts.hint(over->size) >= 2 * sharers * 128;
      int64_t depth = isLong ? 128 : 64,
              step = (extentOf(c.rows) + extentOf(c.columns)) * depth * shape.storageBytes;
      over->tile = sharers * depth;
      // Beside what the blocks tell each other.
      int64_t stages = (machine.sharedOfBlock - 4 * area - ofExchanges) / step;
      hint("num_stages", std::clamp<int64_t>(stages, 2, 4));
      return hint("cluster_size", sharers);
    }
    if (machine.tilesInRegisters && area >= 128 * 128) {
      bool isTall = products == 1 && swapTileAspect(*rows, *columns, *over);
      over->tile = std::min<int64_t>(over->tile, isTall ? 64 : 32);
      hint("raster_group", isTall ? 8 : 16);
      hint("num_stages", isTall ? 3 : 4);
    }
    if (machine.tilesInRegisters)
      return;
    if (!large && products > 1 && programs() > 2 * machine.cores)
      return hint("raster_group", 8);
    if (!large)
      return;
    // Neighbours of a wave share rows and columns in the cache. Programs that walk the grid have no
    // gaps between them; several accumulators leave no registers for that.
    hint("raster_group", 16);
    if (products == 1 && programs() > 2 * machine.cores)
      hint("persistent_ctas", machine.cores);
  }

  /// A long product of which only statistics along the stream are kept: a product whose columns are
  /// walked.
  const KernelShape::Contraction *reducedProduct() {
    if (shape.contractions.size() != 1 || !shape.onTensorCores || shape.storageBytes > 2)
      return nullptr;
    const KernelShape::Contraction &c = shape.contractions.front();
    if (c.rows.empty() || c.columns.empty() || c.over.empty())
      return nullptr;
    Dim *columns = find(c.columns.back()), *over = find(c.over.back());
    return columns->role == Dim::Stream && facts.hint(over->size) > 256 ? &c : nullptr;
  }

  /// Rows and steps of a stream whose products warpgroups make from what tensor copies bring: some
  /// multiply while others work on sums, in one block or in several that share an SM.
  bool groupStream(int64_t depth) {
    constexpr int64_t least = 64, deepest = 256;
    Dim *row = nullptr, *along = nullptr;
    for (const KernelShape::Contraction &c : shape.contractions) {
      bool isWhole = llvm::all_of(c.inner ? c.over : c.columns,
                                  [&](const std::string &name) { return isInPieces(*find(name)); });
      if (!c.plainColumns || !isWhole || c.rows.empty() || c.columns.empty() || c.over.empty() ||
          (c.inner && !c.plainRows))
        return false;
      row = find(c.rows.back());
      along = find(c.inner ? c.columns.back() : c.over.back());
      bool isByRows = !llvm::is_contained(shape.otherContiguous, row->name);
      if (row->role != Dim::Parallel || along->role != Dim::Stream ||
          (shape.batchInvariant && !isByRows))
        return false;
    }
    bool narrow = shape.storageBytes == 2 && shape.onTensorCores;
    if (!machine.warpgroups || !narrow || shape.contractions.size() != 2 || depth > deepest ||
        rowsOf(*row, least) < least)
      return false;
    // Two warpgroups share what comes while there are programs for the machine; of shallow sums
    // several small blocks are quicker.
    using namespace grouped;
    row->tile = shape.batchInvariant || depth <= kShallow ? least : bounded(*row, 128);
    if (depth <= kDeep && !fillsDevice(programs(), machine.cores))
      row->tile = least;
    bool isPair = row->tile >= 128, isWide = depth > kDeep;
    along->tile =
        bounded(*along, isWide || (!isPair && (depth > kShallow || shape.masked)) ? 64 : 128);
    hint("num_stages", depth <= kShallow || (isPair && !isWide && !shortStream()) ? 3 : 2);
    hint("use_tma", 1);
    // What is beside the stream takes registers that four blocks do not leave.
    bool isAlone = llvm::all_of(
        shape.dims, [&](const Dim &dim) { return dim.role != Dim::Inner || isMultiplied(dim); });
    if (!isPair && !isWide)
      hint("min_ctas_per_sm", along->tile < 128 && depth <= kShallow && isAlone ? 4 : 2);
    hint("num_warps", row->tile >= 128 ? 8 : 4);
    hint("wgmma", 1);
    return true;
  }

  /// Registers of a thread for products of f32 in a stream, by so many warps: of operands both
  /// parts, the left ones of inner products through the whole stream and a right one at a time, and
  /// all sums, of small products beside large ones.
  int64_t splitRegisters(int64_t warps) {
    constexpr int64_t parts = 2, lanes = 32, side = 16, narrowest = 8;
    int64_t left = 0, right = 0, sums = 0;
    for (const KernelShape::Contraction &c : shape.contractions) {
      int64_t rows = std::max(side, extentOf(c.rows)), columns = extentOf(c.columns),
              depth = extentOf(c.over);
      int64_t below = std::clamp<int64_t>(rows / side, 1, warps), across = warps / below;
      left += c.inner ? parts * rows * depth / (lanes * below) : 0;
      right = std::max(right, parts * depth * std::max(columns / across, narrowest) / lanes);
      sums += parts * rows * columns / (lanes * warps);
    }
    return left + right + sums;
  }

  /// Whether a product sums over a dimension.
  bool isMultiplied(const Dim &dim) const {
    return llvm::any_of(shape.contractions,
                        [&](const auto &c) { return llvm::is_contained(c.over, dim.name); });
  }

  bool shortStream() {
    return llvm::all_of(shape.dims, [&](const Dim &dim) {
      return dim.role != Dim::Stream || facts.hint(dim.size) <= 2048;
    });
  }

  static constexpr int64_t ofQuadPairs =
      64 * 64; // elements of an operand whose fragments a warp has in registers

  void chain() override {
    if (const KernelShape::Contraction *c = reducedProduct()) {
      Dim *rows = find(c->rows.back()), *columns = find(c->columns.back()),
          *over = find(c->over.back());
      over->tile = 64;
      rows->tile = std::max<int64_t>(16, rowsOf(*rows, 128));
      columns->tile = std::max<int64_t>(16, bounded(*columns, 256));
      // Chips without tensor cores for the type bring operands in f32, and have less shared memory
      // for them.
      if (machine.sharedOfBlock &&
          4 * (rows->tile + columns->tile) * over->tile >= machine.sharedOfBlock)
        over->tile /= 2;
      return hint("num_warps", rows->tile * columns->tile >= 128 * 128 ? 8 : 4);
    }
    int64_t depth = 1;
    auto whole = [&](Dim &dim) {
      depth = std::max(depth, dim.tile = std::max<int64_t>(16, bounded(dim, 256)));
    };
    for (const KernelShape::Contraction &c : shape.contractions) {
      for (const std::string &name : c.over)
        if (Dim *dim = find(name); dim && dim->role != Dim::Stream)
          whole(*dim);
      if (!c.inner && !c.columns.empty())
        if (Dim *dim = find(c.columns.back()); dim && dim->role == Dim::Parallel)
          whole(*dim);
    }
    if (groupStream(depth))
      return;
    // What is too long to be whole is walked by short steps, which leave registers for the sums.
    for (const KernelShape::Contraction &c : shape.contractions)
      for (const std::string &name : c.over)
        if (Dim *dim = find(name);
            dim && dim->role == Dim::Inner && facts.max(dim->size) > dim->tile)
          dim->tile = 64;
    // Two blocks on an SM compute while the other one waits; accumulators of more than 128 columns
    // leave room for one only. Products of f32 are made of three and take as much more room; others
    // are made in registers.
    bool narrow = shape.storageBytes <= 2 && shape.onTensorCores, pairs = narrow && depth <= 128;
    int64_t room = narrow ? 128 : shape.onTensorCores && !machine.operandsInRegisters ? 64 : 32;
    // Where data decides, or a condition on a short stream, smaller blocks lie inside or outside as
    // a whole. Shallow ones leave room for four blocks on an SM.
    bool isShort =
        pairs && depth <= 64 && shape.masked && !machine.tilesInRegisters && shortStream();
    int64_t along = shape.dataMasked || isShort ? std::min<int64_t>(room, 64) : room;
    // Operands that lanes hold twice leave registers for short steps, which the warps of two blocks
    // share.
    bool areTwice = narrow && machine.quadPairs;
    if (areTwice)
      along = std::clamp<int64_t>(ofQuadPairs / depth, 16, along);
    Dim *row = nullptr;
    for (const KernelShape::Contraction &c : shape.contractions)
      for (const std::vector<std::string> *side : {&c.rows, &c.columns}) {
        Dim *dim = side->empty() ? nullptr : find(side->back());
        if (dim && dim->role == Dim::Stream)
          dim->tile = bounded(*dim, along);
        else if (dim && dim->role == Dim::Parallel && dim->tile == 1)
          (row = dim)->tile = std::max<int64_t>(16, rowsOf(*dim, pairs || areTwice ? 64 : room));
      }
    spread(row, 64);
    bool large = row && row->tile >= 128;
    int64_t warps = large || areTwice ? 8 : 4;
    if (shape.onTensorCores && !narrow && machine.operandsInRegisters &&
        splitRegisters(warps) > 180) {
      // Short steps leave registers for deep operands; those of the deepest ones are shared by more
      // warps.
      std::vector<Dim> whole = shape.dims;
      for (Dim &dim : shape.dims)
        dim.tile = dim.role == Dim::Stream ? std::min<int64_t>(dim.tile, 16) : dim.tile;
      if (splitRegisters(warps) > 280) {
        shape.dims = whole;
        warps = 8;
      }
    }
    hint("num_warps", warps);
    if (pairs && !large && !areTwice)
      hint("min_ctas_per_sm", isShort ? 4 : 2);
  }

  // Bytes of a block beside the rows that it keeps.
  static constexpr int64_t ofExchanges = 1024, ofSystem = CudaLimits::reservedSharedBytes;

  /// How many blocks on an SM keep rows of so many bytes.
  int64_t keeping(int64_t bytes) const {
    return machine.sharedBytes / (bytes + ofExchanges + ofSystem);
  }

  /// How many blocks share a row of so many bytes: so many that an SM keeps three of their parts,
  /// of which one comes and one goes while one is worked on; as many as there are SMs for few rows.
  int64_t clusterOf(const Dim &row, int64_t bytes) {
    constexpr int64_t wanted = 3, fewestElements = 2048;
    int64_t size = std::min<int64_t>(facts.max(row.size), int64_t(1) << 40), blocks = 1;
    if (shape.scanBytes)
      return 1;
    while (blocks < machine.cluster && keeping(llvm::divideCeil(size * bytes, blocks)) < wanted)
      blocks *= 2;
    while (!shape.batchInvariant && 2 * blocks <= machine.cluster &&
           2 * blocks * programs() <= machine.cores && size >= 2 * blocks * fewestElements)
      blocks *= 2;
    return blocks;
  }

  /// How many blocks share a row that registers hold, where there are few: fewer than four are not
  /// worth the exchange.
  int64_t sharersOf(const Dim &row) {
    constexpr int64_t fewest = 4, most = 8, fewestElements = 1024;
    int64_t blocks =
        std::min({most, machine.cluster, machine.cores / std::max<int64_t>(1, programs()),
                  row.tile / fewestElements});
    return shape.scanBytes || shape.batchInvariant || blocks < fewest
               ? 1
               : llvm::bit_floor(uint64_t(blocks));
  }

  /// Rows that are gone over again stay in shared memory, of long ones the first part, beside what
  /// reductions exchange. The threads of an SM share the rows that it keeps. Gives how many
  /// elements of a tile each has; 0: none stays.
  int64_t keepRows(Dim &row, bool isAligned) {
    constexpr int64_t mostBlocks = 4;
    int64_t bytes = shape.storageBytes * shape.rowTensors,
            cluster = shape.walks < 2 ? 1 : clusterOf(row, bytes);
    int64_t room = cluster * ((machine.sharedOfBlock - ofExchanges) / bytes);
    if (shape.walks < 2 || (facts.max(row.size) > room && facts.hint(row.size) <= room))
      return 0;
    int64_t kept = llvm::divideCeil(std::min(facts.max(row.size), room), cluster);
    int64_t blocks = std::clamp<int64_t>(keeping(kept * bytes), 1, mostBlocks);
    if (cluster > 1) {
      // Rows of a class are up to twice as long as others: what is in flight counts, so that of the
      // longest a part is kept.
      blocks = std::clamp<int64_t>(keeping(kept * bytes * 3 / 4), 1, mostBlocks);
      return shareRows(row, cluster, kept, programs() * cluster > machine.cores ? blocks : 1,
                       isAligned);
    }
    // Elements that are accessed one by one take registers for their addresses.
    const int64_t tiles = isAligned ? 8 : 16;
    blocks = llvm::bit_floor(uint64_t(blocks));
    row.tile = llvm::PowerOf2Ceil(kept / tiles);
    hint("min_ctas_per_sm", blocks);
    return std::max<int64_t>(1, row.tile * blocks / threads);
  }

  static constexpr int64_t threads = 1024; // of an SM, that work on the rows it keeps

  /// The same for rows that a cluster of blocks shares: of few of them, each thread has a few
  /// elements; of many, as many as are worth a step, but not so many that blocks wait for the one
  /// whose part of the row's last tile is whole.
  int64_t shareRows(Dim &row, int64_t cluster, int64_t kept, int64_t residents, bool isAligned) {
    constexpr int64_t mostOfBlock = 8192;
    int64_t part = std::min<int64_t>(llvm::PowerOf2Ceil(kept), mostOfBlock),
            each = part < mostOfBlock ? 8 : 16;
    if (residents > 1) {
      each = isAligned ? 16 : 8;
      part = std::min<int64_t>(part, llvm::bit_floor(uint64_t(threads / residents)) * each);
    }
    row.tile = part * cluster;
    hint("cluster_size", cluster);
    hint("min_ctas_per_sm", residents);
    return each * cluster;
  }

  /// Which part of the last blocks' time all SMs work, if each block of so many threads takes so
  /// many programs: its threads have the registers of four.
  double filled(int64_t walk, int64_t threadsOfBlock) {
    int64_t places = machine.cores * std::max<int64_t>(1, threads / 2 / threadsOfBlock);
    int64_t blocks = llvm::divideCeil(programs(), walk);
    return double(blocks) / double(llvm::alignTo(blocks, places));
  }

  /// Many short unaligned rows, of narrow elements: a warp has one after the other, which come and
  /// go as a whole, and keeps the operands of all rows, so that it touches each element once.
  /// Whether there are so many.
  bool walkLoose(const Dim &row) {
    constexpr int64_t shortest = 1024, blocks = 16,
                      most = 3; // elements; of an SM, by their registers; rows
    int64_t rows = std::min(most, programs() / (blocks * machine.cores));
    if (row.tile < shortest || rows < 2 || shape.batchInvariant || !machine.copiesRows)
      return false;
    hint("num_stages", 3);
    hint("min_ctas_per_sm", blocks);
    hint("tiles_per_cta", rows);
    return true;
  }

  /// Columns are whole blocks side by side where they are short or nothing may cut them. Long ones
  /// are so, too, where rows of 256 bytes are enough for all SMs at once; otherwise they are cut
  /// into parts, which a second kernel merges.
  void spreadColumns(Dim &columns) {
    if (shortStream() || !shape.canSplit)
      return spread(&columns, 32);
    int64_t wide = columns.tile;
    spread(&columns, 256 / shape.storageBytes);
    if (!grouped::fillsDevice(programs(), machine.cores) || programs() > machine.cores)
      columns.tile = wide;
  }

  /// Where all is in registers: blocks of some thousand elements, and as few of them for a thread
  /// as make wide accesses.
  void memoryInRegisters() {
    constexpr int64_t manyThreads = 512;
    bool streams = llvm::any_of(shape.dims, [](Dim &dim) { return dim.role == Dim::Stream; });
    Dim &last = shape.dims.back();
    bool isRow = last.role != Dim::Parallel;
    bool isAligned = facts.divisor(last.size) * shape.storageBytes % 16 == 0;
    // A result that the L2 cannot hold leaves it the sooner, and in longer runs, if what is read
    // stays.
    if (machine.cachePolicies && 2 * shape.resultBytes >= machine.l2Bytes)
      hint("l2_evict_last", 1);
    if (!shape.otherContiguous.empty() && shape.dims.size() > 1) {
      llvm::SmallSetVector<Dim *, 4> sides;
      sides.insert(&last);
      for (const std::string &name : shape.otherContiguous)
        if (Dim *dim = find(name))
          sides.insert(dim);
      // Rows of 256 bytes.
      bool isWide = shape.storageBytes >= 4;
      int64_t area = 1;
      for (Dim *dim : sides)
        area *= dim->tile = bounded(*dim, streams || isWide ? 64 : 128);
      auto largest = [&] {
        return *llvm::max_element(sides, [](Dim *a, Dim *b) { return a->tile < b->tile; });
      };
      // The exchange goes through shared memory, of which every chip has 64 KiB.
      for (; area * shape.storageBytes > 64 << 10; area /= 2)
        largest()->tile /= 2;
      // Few elements are spread over all SMs, while rows and columns still fill sectors of memory.
      int64_t whole = area;
      for (; !shape.batchInvariant && 2 * programs() < 3 * machine.cores && largest()->tile > 32;
           area /= 2)
        largest()->tile /= 2;
      // All of a tile is asked for before any of it is stored: the assembler need not save
      // registers.
      if (area == whole && !streams)
        hint("min_ctas_per_sm", 1);
      return spreadOverThreads(area, area < whole || isWide ? 8 : 32);
    }
    // What has eight bytes takes two registers.
    int64_t each = std::max(shape.storageBytes, shape.scanBytes) == 8 ? 16 : 32,
            wanted = 256 * each, fewest = 2;
    if (isRow && facts.max(last.size) <= machine.wholeRow) {
      last.tile = bounded(last, machine.wholeRow);
      // A warp has a short row for itself; a long one is shared by all.
      bool isNarrow = shape.storageBytes <= 2;
      if (last.tile >= 2048) {
        wanted = last.tile;
        each = std::max<int64_t>(isAligned && !isNarrow ? 16 : 32, last.tile / manyThreads);
        // Rows of several tensors are all asked for before one is worked on: the assembler need not
        // save registers.
        if (shape.rowTensors > 1 && !isNarrow)
          hint("min_ctas_per_sm", 1);
      } else if (isNarrow && !isAligned && shape.rowOperands && walkLoose(last)) {
        fewest = 1;
        wanted = last.tile;
      } else if (shape.rowOperands) {
        // A warp or two: small blocks leave no room empty while their last warp works. Operands of
        // all rows serve twice as many where elements are read one by one.
        fewest = isNarrow && isAligned ? 1 : 2;
        each = isNarrow ? 64 : 16;
        wanted = fewest * 32 * each;
      } else if (shape.walks > 1) {
        fewest = 1;
        wanted = 32 * each;
      }
      if (int64_t sharers = sharersOf(last); sharers > 1) {
        hint("cluster_size", sharers);
        each = 8 * sharers;
      }
      // Rows that take long to work on come ahead of that, by copies past the registers, where
      // operands of all rows stay.
      bool isLongest = last.tile >= machine.wholeRow,
           takesLong = shape.rowOperands && (shape.waits >= 5 || isLongest);
      bool areMany = isAligned && !shape.batchInvariant && last.tile >= 2048 &&
                     programs() > 32 * machine.cores;
      if (isNarrow && areMany && takesLong) {
        hint("tiles_per_cta",
             !isLongest && filled(3, last.tile / each) > filled(4, last.tile / each) ? 3 : 4);
        if (!isLongest)
          hint("num_stages", 4);
      } else if (areMany && shape.rowOperands && shape.rowTensors == 1 && last.tile <= 4096) {
        // What is the same for all rows serves more elements of a thread: of wide ones those of two
        // rows.
        each *= 2;
        wanted = isNarrow ? last.tile : 2 * last.tile;
      }
    } else if (int64_t part = isRow ? keepRows(last, isAligned) : 0) {
      each = part;
      wanted = last.tile;
    } else if (isRow) {
      // Few rows have to be read by many threads each; of many, each has a warp, which waits for no
      // other.
      bool isFew = !shape.batchInvariant && programs() < 8 * machine.cores;
      // Narrow elements of unaligned rows are read one by one, which leaves no time for short
      // steps.
      bool isLoose = !isFew && !isAligned && shape.storageBytes < 4;
      wanted = last.tile = bounded(last, isFew ? 32 * manyThreads : isLoose ? 4096 : 512);
      // Unaligned rows come and go by slots of shared memory, three each way.
      if (shape.scanBytes && !isAligned)
        wanted = last.tile = std::min<int64_t>(last.tile, 16 * manyThreads);
      each = isFew || isLoose ? 32 : 16;
      if (isLoose)
        hint("min_ctas_per_sm", 4);
      fewest = isFew ? 2 : 1;
    } else if (streams) {
      last.tile = bounded(last, 256);
      // What is carried for each column takes registers as well.
      if (shape.waits > 5)
        each /= 2;
      wanted = manyThreads * each;
      spreadColumns(last);
    } else {
      // One wide access for each operand, behind which all can be computed; two where memory says
      // first which; more where that takes so long that what a thread does once is to be shared by
      // more elements; 8 bytes of many operands.
      each = shape.draws ? 32
                         : std::clamp<int64_t>(
                               (shape.waits > shape.walks ? 32 : 16) / shape.storageBytes, 8, 16);
      wanted = 128 * each;
      if (shape.loads >= 4) {
        each = std::max<int64_t>(1, 8 / shape.storageBytes);
        wanted = 512;
      }
      last.tile = bounded(last, wanted);
    }
    int64_t filled = last.tile;
    for (size_t i = shape.dims.size() - 1; i-- > 0 && wanted > filled;) {
      Dim &dim = shape.dims[i];
      dim.tile = rowsOf(dim, wanted / filled);
      filled *= dim.tile;
      if (streams)
        break;
    }
    // Few rows are spread over all SMs, short ones over more threads than wide accesses need.
    auto respread = [&](Dim &dim, int64_t least) {
      filled /= dim.tile;
      isRow || streams ? spread(&dim, least) : spreadFew(dim, least);
      filled *= dim.tile;
    };
    if (!isRow && !streams) {
      // Few elements go to more blocks than there are SMs, by 8 bytes for each thread: whatever a
      // thread has more of takes longer than its launch.
      int64_t whole = filled;
      respread(last, 64);
      for (Dim &dim : llvm::MutableArrayRef(shape.dims).drop_back())
        respread(dim, 1);
      if (filled < whole)
        each = std::max<int64_t>(1, 8 / shape.storageBytes);
    }
    for (Dim &dim : shape.dims)
      if (isRow && dim.role == Dim::Parallel)
        respread(dim, 1);
    if (isRow && !shape.batchInvariant && programs() <= machine.cores)
      each = std::min(each, std::max<int64_t>(8, filled / 128));
    spreadOverThreads(filled, each, fewest);
  }

  void memoryBound() override {
    if (shape.dims.empty())
      return;
    if (machine.tilesInRegisters)
      return memoryInRegisters();
    constexpr int64_t elements = 4096;
    bool streams = std::any_of(shape.dims.begin(), shape.dims.end(),
                               [](Dim &d) { return d.role == Dim::Stream; });
    Dim &last = shape.dims.back();
    if (!shape.otherContiguous.empty() && shape.dims.size() > 1) {
      int64_t side = streams ? 64 : 128;
      last.tile = bounded(last, side);
      for (const std::string &name : shape.otherContiguous)
        if (Dim *dim = find(name); dim && dim != &last)
          dim->tile = bounded(*dim, side);
      return;
    }
    bool isRow = last.role != Dim::Parallel;
    bool isAligned = facts.divisor(last.size) * shape.storageBytes % 16 == 0;
    if (isRow)
      last.tile =
          bounded(last, facts.max(last.size) <= machine.wholeRow ? machine.wholeRow : elements);
    else
      last.tile = bounded(last, streams ? 1024 : elements);
    if (streams && !isRow && !shape.canSplit)
      spread(&last, 32);
    // Operands of all rows are worth two rows at a time, and so is what is narrow; unaligned rows
    // are read piece by piece, one by one.
    bool isDouble = (isRow && shape.rowOperands) || ((isRow || !streams) && last.tile < 1024);
    bool isLoose = !isAligned && (isRow || last.tile >= 1024);
    int64_t wanted = isLoose ? last.tile : isDouble ? 2 * elements : elements, filled = last.tile;
    if (streams && !isRow)
      wanted = 4 * elements;
    for (size_t i = shape.dims.size() - 1; i-- > 0;) {
      Dim &dim = shape.dims[i];
      int64_t room = wanted / filled;
      if (room <= 1)
        break;
      dim.tile = streams && dim.role == Dim::Parallel ? rowsOf(dim, llvm::bit_floor(uint64_t(room)))
                                                      : bounded(dim, room);
      filled *= dim.tile;
      if (streams)
        break;
    }
    if (!isRow && !streams)
      spread(&last, 64);
    // As many bytes in flight as the memory needs: many blocks while a row is short.
    // Short rows come together by the copy engine, others straight into registers.
    bool isLong = isRow && last.tile > elements;
    // Operands of all rows stay with programs that walk the grid, and the next rows come while
    // these are worked on.
    bool isWalk =
        isRow && isAligned && !isLong && shape.rowOperands && programs() > 16 * machine.cores;
    bool hasFew = isDouble && filled > elements && (isWalk || !shape.rowOperands);
    hint("num_warps", 4);
    if (isLong)
      hint("min_ctas_per_sm", std::max<int64_t>(1, 8 * elements / last.tile));
    else
      hint("min_ctas_per_sm", isRow && !isAligned ? 12 : hasFew ? 4 : 8);
    if (isWalk)
      hint("persistent_ctas", machine.cores * (hasFew ? 4 : 8));
    // The copy engine takes no unaligned rows.
    if (!isLong &&
        (isRow ? !isAligned || (last.tile >= 1024 && (!isDouble || (shape.rowOperands && !isWalk)))
               : last.tile >= 1024 && isAligned && !isDouble && !streams))
      hint("use_tma", 0);
  }
};
} // namespace

void tessera::chooseGpuTiles(const MachineModel &machine, const SizeFacts &facts,
                             KernelShape &shape) {
  GpuChooser(machine, facts, shape).run();
}
