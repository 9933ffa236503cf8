//===- GpuTiles.cpp - Tile sizes for GPUs ---------------------------------===//
//
// A CTA computes one output tile. Its accumulators are in registers, streamed operands go through
// shared memory, and every SM should have at least one CTA:
//
// - A streamed contraction has the largest accumulator that 8 warps hold, as long as the grid fills
//   the device. For a small one, tiles become narrow and a cluster splits the K dimension. With
//   wgmma, the schedule is the one with the smallest predicted time (WarpgroupCosts.h).
// - A stream with inner contractions keeps 64 rows and processes 128 columns at a time, with two
//   CTAs per SM. With wgmma it keeps 128 rows for two warpgroups, or 64 rows with up to four CTAs
//   per SM.
// - A kernel that is bound by memory reads whole rows while they fit into registers, some thousand
//   elements per CTA.
//
// The numbers are those that were fastest among candidates on an H200 (benchmarks/results). Tiles
// are powers of two that may be larger than the dimension; accesses beyond it are masked.
//
//===----------------------------------------------------------------------===//
#include "GpuTiles.h"
#include "StreamTiles.h"
#include "tessera/CostModel/WarpgroupCosts.h"
#include "tessera/CostModel/WgmmaTiles.h"
#include "tessera/Target/CudaLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace tessera;

namespace {
class GpuChooser : public StreamChooser {
public:
  GpuChooser(const MachineModel &machine, const SizeFacts &facts, KernelShape &shape,
             std::vector<Candidate> *listed)
      : StreamChooser(machine, facts, shape), listed(listed) {}

private:
  /// The size of a contraction, of which an iteration over the last K dimension loads so many
  /// elements; parallel dimensions other than the last of each side are batches.
  ContractionSize sizeOf(const KernelShape::Contraction &c, int64_t depth, int64_t products) {
    const Dim &rows = *find(c.rows.back()), &columns = *find(c.columns.back()),
              &over = *find(c.over.back());
    ContractionSize size{facts.hint(rows.size), facts.hint(columns.size), facts.hint(over.size)};
    // Each iteration over the other dimensions has whole k-steps.
    for (const std::string &name : llvm::ArrayRef(c.over).drop_back())
      size.depth =
          llvm::alignTo(size.depth, depth) * std::max<int64_t>(1, facts.hint(find(name)->size));
    size.products = products;
    size.bytes = shape.storageBytes;
    size.parts = c.parts;
    bool areColumns = !areWords() && llvm::is_contained(shape.otherContiguous, rows.name);
    auto isAnyOffLines = [&](int64_t KernelShape::Contraction::*alignment, const Dim &dim) {
      return llvm::any_of(shape.contractions, [&](const auto &each) {
        return isOffLines(each.*alignment, dim, size.bytes);
      });
    };
    using Product = KernelShape::Contraction;
    size.rowsOffLines = isAnyOffLines(&Product::rowsAlignment, areColumns ? rows : over);
    size.columnsOffLines = isAnyOffLines(&Product::columnsAlignment, areWords() ? over : columns);
    for (const Dim &dim : shape.dims)
      if (dim.role == Dim::Parallel && &dim != &rows && &dim != &columns)
        size.addBatches(std::max<int64_t>(1, facts.hint(dim.size)),
                        !llvm::is_contained(c.columns, dim.name),
                        !llvm::is_contained(c.rows, dim.name));
    return size;
  }

  /// The schedule of contractions by wgmma on 16-bit operands or tf32 with the smallest predicted
  /// time. False if they are too small for it, or TMA cannot load the operands.
  bool groupWarps(const KernelShape::Contraction &c, int64_t products) {
    using namespace grouped;
    Dim &rows = *find(c.rows.back()), &columns = *find(c.columns.back()),
        &over = *find(c.over.back());
    // A warpgroup multiplies 64 rows at least, and few columns: the sides change places. Tiles of
    // 16 rows are fast enough where one loop streams both sides.
    if (c.over.size() > 1 && products == 1 && rowsOf(rows, 128) < kSide &&
        bounded(columns, 128) >= kSide) {
      KernelShape::Contraction swapped = c;
      std::swap(swapped.rows, swapped.columns);
      std::swap(swapped.plainRows, swapped.plainColumns);
      std::swap(swapped.rowsAlignment, swapped.columnsAlignment);
      return groupWarps(swapped, products);
    }
    constexpr int64_t stepBytes = 128, fewestSteps = 8, mostParts = 32;
    const int64_t depth = stepBytes / shape.storageBytes;
    // A single k-step has nothing to prefetch.
    if (!machine.warpgroupCosts || !areCopied(rows, columns, over) ||
        facts.max(over.size) <= depth || rowsOf(rows, 128) < kSide)
      return false;
    ContractionSize size = sizeOf(c, depth, products);
    // A narrow product is as long as its rows take to arrive: there are enough of them for all SMs.
    bool isNarrow = bounded(columns, 128) < kSide;
    if (isNarrow &&
        (shape.batchInvariant || c.columns.size() > 1 ||
         !fillsDevice(size.batches * int64_t(llvm::divideCeil(size.rows, kSide)), machine.cores)))
      return false;
    SmLimits limits{machine.cores, machine.sharedBytes, machine.sharedOfBlock};
    bool isSplittable = shape.canSplit && !shape.batchInvariant && products == 1;
    int64_t maxParts =
        isSplittable ? std::clamp<int64_t>(size.depth / depth / fewestSteps, 1, mostParts) : 1;
    std::vector<std::pair<WarpgroupSchedule, PredictedTime>> schedules;
    bool isSwapped = &rows > &columns;
    bool canDivide =
        shape.canDivideTile && c.plainRows && c.plainColumns && c.over.size() == 1 && products == 1;
    for (const WarpgroupSchedule &each : warpgroupSchedules(limits, size, maxParts))
      // Tiles are no larger than what they cover. The epilogue of a persistent kernel stores rows.
      if (!(each.persistent && isNarrow && isSwapped) && (each.cluster() == 1 || canDivide) &&
          each.height <= std::max(kSide, rowsOf(rows, kTallest)) &&
          each.width <= std::max(kSide, bounded(columns, kTallest)))
        schedules.emplace_back(each, predictTime(*machine.warpgroupCosts, limits, size, each));
    if (schedules.empty()) // the accumulators of many contractions exceed the registers
      return false;
    // Of schedules that take as long, the one with more stages: operands may come from memory.
    auto best = llvm::min_element(schedules, [](const auto &a, const auto &b) {
      return std::pair(a.second.microseconds, -a.first.stages) <
             std::pair(b.second.microseconds, -b.first.stages);
    });
    auto apply = [&](const WarpgroupSchedule &schedule) {
      rows.tile = schedule.height * schedule.clusterRows;
      columns.tile = schedule.width * schedule.clusterColumns;
      over.tile = std::max<int64_t>(16, bounded(over, depth));
      const Dim &outer = isSwapped ? columns : rows, &inner = isSwapped ? rows : columns;
      bool isWide =
          facts.hint(inner.size) > facts.hint(outer.size) && facts.hint(outer.size) > outer.tile;
      configure(schedule, residentCtas(limits, size, schedule), isWide);
    };
    if (listed)
      for (auto it = schedules.begin(); it != schedules.end(); ++it) {
        shape.launch = {};
        shape.tuning = {};
        apply(it->first);
        listed->push_back({shape, it->second, it == best});
      }
    shape.launch = {};
    shape.tuning = {};
    apply(best->first);
    return true;
  }

  /// The launch and tuning of a schedule by wgmma, of which an SM can hold so many CTAs. In a wide
  /// grid the larger operand is that of the inner dimension.
  void configure(const WarpgroupSchedule &schedule, int64_t resident, bool isWide) {
    using namespace grouped;
    int64_t ctas = programs() * schedule.cluster(),
            residents = std::min(resident, int64_t(llvm::divideCeil(ctas, machine.cores)));
    choose(LaunchField::NumWarps, 4 * schedule.groups());
    if (schedule.cluster() > 1) {
      choose(LaunchField::ClusterSize, schedule.cluster());
      choose(LaunchField::ClusterAxis, schedule.clusterRows > 1 ? 0 : 1);
    }
    if (schedule.persistent && ctas > schedule.persistent)
      choose(LaunchField::PersistentCtas, schedule.persistent);
    if (schedule.parts > 1 || !fillsDevice(ctas, machine.cores))
      choose(LaunchField::StreamParts, schedule.parts);
    choose(TuningField::NumStages, schedule.stages);
    choose(TuningField::UseTma, 1);
    choose(TuningField::Wgmma, 1);
    if (residents > 1)
      choose(TuningField::MinCtasPerSm, residents);
    // CTAs that all run at once read the smaller operand from the L2 cache in any order. Those with
    // the same tile of the larger one run next to each other.
    if (ctas > residents * machine.cores || isWide)
      choose(TuningField::RasterGroup, residents > 1 ? 8 : 16);
  }

  void product(const KernelShape::Contraction &c) override {
    Dim *rows = find(c.rows.back()), *columns = find(c.columns.back()), *over = find(c.over.back());
    // Tensor cores process 16 bits and less at full speed; wider elements need more space for fewer
    // multiplications.
    bool narrow = shape.storageBytes <= 2 && shape.onTensorCores;
    // Emulated f32 MMAs hold both parts of their operands and the sum of a k-step in registers.
    bool isSplit = shape.onTensorCores && !narrow && machine.operandsInRegisters;
    bool isRounded = isSplit && shape.roundsFactors;
    int64_t room = shape.onTensorCores && (!isSplit || isRounded) ? 128 : 64;
    size_t products =
        llvm::count_if(shape.contractions, [](const auto &each) { return !each.inner; });
    // K-steps of bytes are as long in memory as those of 16-bit elements; 8-bit floats have two
    // accumulators.
    bool bytes = narrow && shape.storageBytes == 1;
    bool canGroup = shape.onTensorCores && (shape.storageBytes == 2 || areWords());
    if (canGroup && groupWarps(c, products))
      return;
    over->tile = std::max<int64_t>(16, bounded(*over, bytes && machine.multipliesBytes ? 128
                                                      : narrow                         ? 64
                                                      : shape.onTensorCores            ? 32
                                                                                       : 16));
    rows->tile = rowsOf(*rows, room);
    // With few rows, more columns do not increase the reuse of operands.
    int64_t wide = isSplit                                        ? 128
                   : !narrow || bytes                             ? room
                   : machine.tilesInRegisters && rows->tile < 128 ? 128
                                                                  : 256;
    // The accumulators of all products share the registers.
    for (size_t beside = 1; beside < products && wide > 64; beside *= 2)
      wide /= 2;
    columns->tile = bounded(*columns, wide);
    // Short sides leave tensor cores waiting; from 64 elements on, a tile of one contiguous piece
    // loads faster than one of several.
    if (narrow && columns->tile < 64)
      extend(c.columns, wide);
    if (narrow && rows->tile < 64)
      extend(c.rows, room);
    columns->tile *= llvm::divideCeil(16, std::min<int64_t>(16, extentOf(c.columns)));
    rows->tile *= llvm::divideCeil(16, std::min<int64_t>(16, extentOf(c.rows)));
    // Other operands meet the accumulators in the layout of the store.
    if (shape.loads > 2 * products)
      fitConversion(c.rows, c.columns, accumulatorBytes());
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
    // Operands of emulated f32 MMAs are split in registers, which TMA does not load.
    if (!narrow && shape.onTensorCores)
      choose(TuningField::UseTma, 0);
    if (!narrow || bytes) {
      // Half of a thread's registers are for sums: beside the accumulator there is that of a
      // k-step, unless operands are rounded and multiplied once.
      constexpr int64_t threads = 4 * 32, sumRegisters = 128;
      int64_t sums = area * (isRounded ? 1 : 2);
      return choose(LaunchField::NumWarps, sums > threads * sumRegisters ? 8 : 4);
    }
    // Few rows are bound by memory: longer k-steps keep more bytes in flight.
    if (extentOf(c.rows) <= 32)
      over->tile = std::max<int64_t>(16, bounded(*over, 128));
    bool large = area * products >= 128 * 256;
    choose(LaunchField::NumWarps, large ? 8 : 4);
    if (sharers > 1) {
      // K-steps of narrow tiles are long if there are several; most are in flight at once.
      bool isLong = extentOf(c.rows) + extentOf(c.columns) <= 128 &&
                    facts.hint(over->size) >= 2 * sharers * 128;
      int64_t depth = isLong ? 128 : 64,
              step = (extentOf(c.rows) + extentOf(c.columns)) * depth * shape.storageBytes;
      over->tile = sharers * depth;
      // Beside the buffers for the exchange in the cluster.
      int64_t stages = (machine.sharedOfBlock - 4 * area - ofExchanges) / step;
      choose(TuningField::NumStages, std::clamp<int64_t>(stages, 2, 4));
      return choose(LaunchField::ClusterSize, sharers);
    }
    if (machine.tilesInRegisters && area >= 128 * 128) {
      bool isTall = products == 1 && swapTileAspect(*rows, *columns, *over);
      over->tile = std::min<int64_t>(over->tile, isTall ? 64 : 32);
      choose(TuningField::RasterGroup, isTall ? 8 : 16);
      choose(TuningField::NumStages, isTall ? 3 : 4);
    }
    if (machine.tilesInRegisters)
      return;
    if (!large && products > 1 && programs() > 2 * machine.cores)
      return choose(TuningField::RasterGroup, 8);
    if (!large)
      return;
    // CTAs of a wave share rows and columns in the L2 cache. Persistent CTAs have no gaps between
    // tiles; several accumulators leave no registers for that.
    choose(TuningField::RasterGroup, 16);
    if (products == 1 && programs() > 2 * machine.cores)
      choose(LaunchField::PersistentCtas, machine.cores);
  }

  // The bytes of a CTA beside the rows that it keeps.
  static constexpr int64_t ofExchanges = 1024, ofSystem = CudaLimits::reservedSharedBytes;

  /// The number of CTAs on an SM that can keep rows of `bytes` bytes.
  int64_t keeping(int64_t bytes) const {
    return machine.sharedBytes / (bytes + ofExchanges + ofSystem);
  }

  /// The cluster size for a row of `bytes` bytes: an SM keeps three of its parts, of which one is
  /// loaded, one is processed and one is stored. For few rows, as many CTAs as there are SMs.
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

  /// The cluster size for a row that fits into registers, if there are few rows: fewer than four
  /// CTAs are not worth the exchange.
  int64_t sharersOf(const Dim &row) {
    constexpr int64_t fewest = 4, most = 8, fewestElements = 1024;
    int64_t blocks =
        std::min({most, machine.cluster, machine.cores / std::max<int64_t>(1, programs()),
                  row.tile / fewestElements});
    return shape.scanBytes || shape.batchInvariant || blocks < fewest
               ? 1
               : llvm::bit_floor(uint64_t(blocks));
  }

  /// Rows that are read several times stay in shared memory, or the first part of long ones, beside
  /// the buffers of reductions. The threads of an SM share the rows that it keeps. Returns the
  /// number of elements of a tile per thread; 0: none is kept.
  int64_t keepRows(Dim &row, bool isAligned) {
    constexpr int64_t mostBlocks = 4;
    int64_t bytes = shape.storageBytes * shape.rowTensors,
            cluster = shape.passes < 2 ? 1 : clusterOf(row, bytes);
    int64_t room = cluster * ((machine.sharedOfBlock - ofExchanges) / bytes);
    if (shape.passes < 2 || (facts.max(row.size) > room && facts.hint(row.size) <= room))
      return 0;
    int64_t kept = llvm::divideCeil(std::min(facts.max(row.size), room), cluster);
    int64_t blocks = std::clamp<int64_t>(keeping(kept * bytes), 1, mostBlocks);
    if (cluster > 1) {
      // Rows of a shape class differ in length by up to a factor of two: bytes in flight count, so
      // that a part of the longest is kept.
      blocks = std::clamp<int64_t>(keeping(kept * bytes * 3 / 4), 1, mostBlocks);
      return shareRows(row, cluster, kept, programs() * cluster > machine.cores ? blocks : 1,
                       isAligned);
    }
    // Elements that are accessed one by one need registers for their addresses.
    const int64_t tiles = isAligned ? 8 : 16;
    blocks = llvm::bit_floor(uint64_t(blocks));
    row.tile = llvm::PowerOf2Ceil(kept / tiles);
    choose(TuningField::MinCtasPerSm, blocks);
    return std::max<int64_t>(1, row.tile * blocks / threads);
  }

  static constexpr int64_t threads = 1024; // of an SM, that work on the rows it keeps

  /// The same for rows that a cluster shares. With few rows, each thread has a few elements. With
  /// many, it has as many as are worth an iteration, but not so many that CTAs wait for the one
  /// whose part of the last tile is full.
  int64_t shareRows(Dim &row, int64_t cluster, int64_t kept, int64_t residents, bool isAligned) {
    constexpr int64_t mostOfBlock = 8192;
    int64_t part = std::min<int64_t>(llvm::PowerOf2Ceil(kept), mostOfBlock),
            each = part < mostOfBlock ? 8 : 16;
    if (residents > 1) {
      each = isAligned ? 16 : 8;
      part = std::min<int64_t>(part, llvm::bit_floor(uint64_t(threads / residents)) * each);
    }
    row.tile = part * cluster;
    choose(LaunchField::ClusterSize, cluster);
    choose(TuningField::MinCtasPerSm, residents);
    return each * cluster;
  }

  /// The fraction of the last wave in which all SMs work, if each CTA of `threadsOfBlock` threads
  /// computes `walk` tiles: its threads have the registers of four.
  double filled(int64_t walk, int64_t threadsOfBlock) {
    int64_t places = machine.cores * std::max<int64_t>(1, threads / 2 / threadsOfBlock);
    int64_t blocks = llvm::divideCeil(programs(), walk);
    return double(blocks) / double(llvm::alignTo(blocks, places));
  }

  /// Many short unaligned rows of narrow elements: a warp processes one after the other by bulk
  /// copies, and keeps operands that all rows share in registers. Returns whether there are enough
  /// rows.
  bool walkLoose(const Dim &row) {
    constexpr int64_t shortest = 1024, blocks = 16,
                      most = 3; // elements; of an SM, by their registers; rows
    int64_t rows = std::min(most, programs() / (blocks * machine.cores));
    if (row.tile < shortest || rows < 2 || shape.batchInvariant || !machine.copiesRows)
      return false;
    choose(TuningField::NumStages, 3);
    choose(TuningField::MinCtasPerSm, blocks);
    choose(LaunchField::TilesPerCta, rows);
    return true;
  }

  /// Columns are reduced by one CTA if they are short or may not be split, or if rows of 256 bytes
  /// suffice for all SMs. Otherwise they are split into parts, which a second kernel merges.
  void spreadColumns(Dim &columns) {
    if (shortStream() || !shape.canSplit)
      return spread(&columns, 32);
    int64_t wide = columns.tile;
    spread(&columns, 256 / shape.storageBytes);
    if (!grouped::fillsDevice(programs(), machine.cores) || programs() > machine.cores)
      columns.tile = wide;
  }

  /// The side of a tile along which some tensor is contiguous: at most `cap`, shorter where most of
  /// the last tile would be empty, but not below a memory sector.
  int64_t filledSide(const Dim &dim, int64_t cap) const {
    constexpr int64_t sector = 32;
    int64_t size = facts.hint(dim.size), tile = bounded(dim, cap);
    auto covered = [&](int64_t tile) { return int64_t(llvm::divideCeil(size, tile)) * tile; };
    while (!shape.batchInvariant && 2 * covered(tile) > 3 * size &&
           tile / 2 * shape.storageBytes >= sector)
      tile /= 2;
    return tile;
  }

  /// Kernels in registers: some thousand elements per CTA, with as few per thread as wide accesses
  /// need.
  void memoryInRegisters() {
    constexpr int64_t manyThreads = 512, fewestOfCopy = 4096;
    bool streams = llvm::any_of(shape.dims, [](Dim &dim) { return dim.role == Dim::Stream; });
    Dim &last = shape.dims.back();
    bool isRow = last.role != Dim::Parallel;
    bool isAligned = facts.divisor(last.size) * shape.storageBytes % 16 == 0;
    // If the L2 cannot hold the result, it evicts it sooner and in longer runs if inputs stay.
    if (machine.cachePolicies && 2 * shape.resultBytes >= machine.l2Bytes)
      choose(TuningField::L2EvictLast, 1);
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
        area *= dim->tile = filledSide(*dim, streams || isWide ? 64 : 128);
      auto largest = [&] {
        return *llvm::max_element(sides, [](Dim *a, Dim *b) { return a->tile < b->tile; });
      };
      // The transposition goes through shared memory, of which every chip has 64 KiB.
      for (; area * shape.storageBytes > 64 << 10; area /= 2)
        largest()->tile /= 2;
      // Few elements are spread over all SMs, as long as rows and columns fill memory sectors.
      int64_t whole = area;
      for (; !shape.batchInvariant && 2 * programs() < 3 * machine.cores && largest()->tile > 32;
           area /= 2)
        largest()->tile /= 2;
      // Short sides: more rows of a tensor.
      for (Dim &dim : llvm::reverse(shape.dims)) {
        if ((streams && !isRow) || 2 * area > fewestOfCopy)
          break;
        if (!sides.contains(&dim) && dim.role == Dim::Parallel)
          area *= dim.tile = bounded(dim, fewestOfCopy / area);
      }
      // All loads of a tile precede its stores: ptxas need not save registers.
      if (area >= whole && !streams)
        choose(TuningField::MinCtasPerSm, 1);
      return spreadOverThreads(area, area < whole || isWide ? 8 : 32);
    }
    // An element of eight bytes needs two registers.
    int64_t each = std::max(shape.storageBytes, shape.scanBytes) == 8 ? 16 : 32,
            wanted = 256 * each, fewest = 2;
    if (isRow && facts.max(last.size) <= machine.wholeRow) {
      last.tile = bounded(last, machine.wholeRow);
      // A warp has a short row for itself; all warps share a long one.
      bool isNarrow = shape.storageBytes <= 2;
      if (last.tile >= 2048) {
        wanted = last.tile;
        each = std::max<int64_t>(isAligned && !isNarrow ? 16 : 32, last.tile / manyThreads);
        // Rows of several tensors are all loaded before one is processed: ptxas need not save
        // registers.
        if (shape.rowTensors > 1 && !isNarrow)
          choose(TuningField::MinCtasPerSm, 1);
      } else if (isNarrow && !isAligned && shape.rowOperands && walkLoose(last)) {
        fewest = 1;
        wanted = last.tile;
      } else if (shape.rowOperands) {
        // One or two warps: small CTAs leave no resources idle while their last warp works.
        // Operands that all rows share are reused twice as often if elements are read one by one.
        fewest = isNarrow && isAligned ? 1 : 2;
        each = isNarrow ? 64 : 16;
        wanted = fewest * 32 * each;
      } else if (shape.passes > 1) {
        fewest = 1;
        wanted = 32 * each;
      } else if (shape.scanBytes && last.tile <= each) {
        // A thread scans one row: with a bound, ptxas does not keep addresses of all its elements.
        choose(TuningField::MinCtasPerSm, 3);
      }
      if (int64_t sharers = sharersOf(last); sharers > 1) {
        choose(LaunchField::ClusterSize, sharers);
        each = 8 * sharers;
      }
      // Rows that take long to process are prefetched by asynchronous copies, while operands that
      // all rows share stay in registers.
      bool isLongest = last.tile >= machine.wholeRow,
           takesLong = shape.rowOperands && (shape.waits >= 5 || isLongest);
      bool areMany = isAligned && !shape.batchInvariant && last.tile >= 2048 &&
                     programs() > 32 * machine.cores;
      if (isNarrow && areMany && takesLong) {
        choose(LaunchField::TilesPerCta,
               !isLongest && filled(3, last.tile / each) > filled(4, last.tile / each) ? 3 : 4);
        if (!isLongest)
          choose(TuningField::NumStages, 4);
      } else if (areMany && shape.rowOperands && shape.rowTensors == 1 && last.tile <= 4096) {
        // Operands that all rows share are reused for more elements of a thread: for wide ones,
        // those of two rows.
        each *= 2;
        wanted = isNarrow ? last.tile : 2 * last.tile;
      }
    } else if (int64_t part = isRow ? keepRows(last, isAligned) : 0) {
      each = part;
      wanted = last.tile;
    } else if (isRow) {
      // Few rows are read by many threads each; of many rows, each has a warp, which waits for no
      // other.
      bool isFew = !shape.batchInvariant && programs() < 8 * machine.cores;
      // Narrow elements of unaligned rows are read one by one, which leaves no time for short
      // iterations.
      bool isLoose = !isFew && !isAligned && shape.storageBytes < 4;
      wanted = last.tile = bounded(last, isFew ? 32 * manyThreads : isLoose ? 4096 : 512);
      // Unaligned rows are loaded and stored through stages of shared memory, three each way.
      if (shape.scanBytes && !isAligned)
        wanted = last.tile = std::min<int64_t>(last.tile, 16 * manyThreads);
      each = isFew || isLoose ? 32 : 16;
      if (isLoose)
        choose(TuningField::MinCtasPerSm, 4);
      fewest = isFew ? 2 : 1;
    } else if (streams) {
      last.tile = bounded(last, 256);
      // Carried values of each column need registers as well.
      if (shape.waits > 5)
        each /= 2;
      wanted = manyThreads * each;
      spreadColumns(last);
    } else {
      // One wide access per operand; two if an operand in memory decides which elements are read;
      // more if random numbers or long work per thread should be shared by more elements; 8 bytes
      // if there are many operands.
      each = shape.draws ? 32
                         : std::clamp<int64_t>(
                               (shape.waits > shape.passes ? 32 : 16) / shape.storageBytes, 8, 16);
      wanted = 128 * each;
      if (operandsAlong(last) > 4) {
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
      if (streams && !(isRow && dim.tile >= facts.hint(dim.size)))
        break;
    }
    if (!isRow && !streams)
      slideAlong(last);
    // Few rows are spread over all SMs, and short rows over more threads than wide accesses need.
    auto respread = [&](Dim &dim, int64_t least) {
      filled /= dim.tile;
      isRow || streams ? spread(&dim, least) : spreadFew(dim, least);
      filled *= dim.tile;
    };
    if (!isRow && !streams) {
      // Few elements are spread over more CTAs than there are SMs, with 8 bytes per thread: more
      // work per thread takes longer than its launch.
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
    // If rows share operands, or elements are narrow, two rows are processed at a time; unaligned
    // rows are processed one by one.
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
    // Enough bytes in flight for the memory: many CTAs while a row is short. Short rows are loaded
    // together by TMA, others straight into registers.
    bool isLong = isRow && last.tile > elements;
    // Persistent CTAs keep operands that all rows share, and load the next rows while these are
    // processed.
    bool isWalk =
        isRow && isAligned && !isLong && shape.rowOperands && programs() > 16 * machine.cores;
    bool hasFew = isDouble && filled > elements && (isWalk || !shape.rowOperands);
    choose(LaunchField::NumWarps, 4);
    if (isLong)
      choose(TuningField::MinCtasPerSm, std::max<int64_t>(1, 8 * elements / last.tile));
    else
      choose(TuningField::MinCtasPerSm, isRow && !isAligned ? 12 : hasFew ? 4 : 8);
    if (isWalk)
      choose(LaunchField::PersistentCtas, machine.cores * (hasFew ? 4 : 8));
    // TMA does not load unaligned rows.
    if (!isLong &&
        (isRow ? !isAligned || (last.tile >= 1024 && (!isDouble || (shape.rowOperands && !isWalk)))
               : last.tile >= 1024 && isAligned && !isDouble && !streams))
      choose(TuningField::UseTma, 0);
  }

  std::vector<Candidate> *listed; ///< gets all schedules that were compared; null: nobody asks
};
} // namespace

void tessera::chooseGpuTiles(const MachineModel &machine, const SizeFacts &facts,
                             KernelShape &shape, std::vector<Candidate> *listed) {
  GpuChooser(machine, facts, shape, listed).run();
}
