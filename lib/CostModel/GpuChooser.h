//===- GpuChooser.h - Questions that the choice of GPU tiles asks -*- C++ -*-===//
//
// The part of GpuTiles.cpp that every kind of kernel shares: how large a dimension's tile may be,
// how CTAs spread over a dimension, and how operands lie in memory.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_COSTMODEL_GPUCHOOSER_H
#define TESSERA_LIB_COSTMODEL_GPUCHOOSER_H

#include "TileChooser.h"
#include "tessera/CostModel/WgmmaTiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {

class GpuChooserBase : public TileChooser {
public:
  using TileChooser::TileChooser;

protected:
  /// The smallest power of two that holds the dimension, at most `cap`.
  int64_t bounded(const Dim &dim, int64_t cap) const {
    int64_t size = std::clamp<int64_t>(facts.max(dim.size), 1, cap);
    return std::min<int64_t>(llvm::PowerOf2Ceil(size), cap);
  }

  /// Rows of a tile, at most `cap`: how many there are must not matter where rows are computed
  /// alike.
  int64_t rowsOf(const Dim &dim, int64_t cap) const {
    return shape.batchInvariant ? cap : bounded(dim, cap);
  }

  /// Halves the dimension's tile while there are too few programs, of so many blocks each, for the
  /// SMs.
  void spread(Dim *dim, int64_t least, int64_t blocks = 1) {
    while (dim && !shape.batchInvariant && dim->tile / 2 >= least &&
           !grouped::fillsDevice(blocks * programs(), machine.cores))
      dim->tile /= 2;
  }

  /// The same until some SMs have two programs: these wait for memory alone.
  void spreadFew(Dim &dim, int64_t least) {
    while (!shape.batchInvariant && dim.tile / 2 >= least && 2 * programs() < 3 * machine.cores)
      dim.tile /= 2;
  }

  /// Takes further dimensions of a contraction's side into the tile while those behind them are too
  /// short to fill it.
  void extend(const std::vector<std::string> &side, int64_t wanted) {
    const Dim *last = find(side.back());
    int64_t filled = last->tile;
    for (size_t i = side.size() - 1;
         i-- > 0 && 2 * filled <= wanted && facts.max(last->size) <= last->tile;) {
      Dim *dim = find(side[i]);
      if (!dim || dim->role != Dim::Parallel || shape.batchInvariant)
        return;
      dim->tile = bounded(*dim, wanted / filled);
      filled *= dim->tile;
      last = dim;
    }
  }

  /// Elements of a contraction's side in a tile.
  int64_t extentOf(const std::vector<std::string> &side) {
    int64_t extent = 1;
    for (const std::string &name : side)
      if (Dim *dim = find(name))
        extent *= dim->tile;
    return extent;
  }

  void choose(LaunchField field, int64_t value) { shape.launch.set(field, value); }
  void choose(TuningField field, int64_t value) { shape.tuning.set(field, value); }

  /// Chooses the number of warps, at least `fewest`, so that a thread has about `each` elements of
  /// a tile.
  void spreadOverThreads(int64_t elements, int64_t each, int64_t fewest = 2) {
    int64_t warps = llvm::PowerOf2Ceil(elements / (32 * each));
    choose(LaunchField::NumWarps, std::clamp<int64_t>(warps, fewest, 32));
  }

  int64_t accumulatorBytes() const { return std::max<int64_t>(4, shape.elementBytes); }

  /// Halves the tiles of a matrix with these sides, the last side first, until shared memory can
  /// convert its layout: some chips have less than others.
  void fitConversion(const std::vector<std::string> &first, const std::vector<std::string> &last,
                     int64_t bytes) {
    constexpr int64_t least = 16;
    auto isTooLarge = [&] {
      return machine.tilesInRegisters && machine.sharedOfBlock &&
             bytes * extentOf(first) * extentOf(last) > machine.sharedOfBlock;
    };
    for (const std::vector<std::string> *side : {&last, &first})
      for (const std::string &name : *side)
        if (Dim *dim = find(name))
          while (isTooLarge() && dim->tile > least)
            dim->tile /= 2;
  }

  /// Whether the operands are f32 that are rounded to tf32.
  bool areWords() const { return shape.storageBytes == 4; }
  /// Whether the size of a row of 16-bit elements is a multiple of 16 bytes.
  bool isInPieces(const Dim &dim) const { return facts.divisor(dim.size) * 2 % 16 == 0; }

  /// Swaps the sides of a 128 x 256 tile of 16-bit elements if asynchronous copies bring long
  /// k-steps of both operands and shared memory holds three of them: fewer barriers, and longer
  /// rows of the left operand.
  bool swapTileAspect(Dim &rows, Dim &columns, Dim &over) {
    constexpr int64_t bytes = 2, tall = 256, wide = 128, steps = 3, others = 1024;
    bool isWhole =
        rows.tile == wide && columns.tile == tall && over.tile == 64 && bounded(rows, tall) == tall;
    bool isCopied = isInPieces(rows) && isInPieces(columns) && isInPieces(over);
    if (!isWhole || !isCopied || shape.batchInvariant ||
        machine.sharedOfBlock < steps * (tall + wide) * over.tile * bytes + others)
      return false;
    std::swap(rows.tile, columns.tile);
    return true;
  }

  /// Whether `blocks` CTAs can split the K dimension: each has enough of it to be worth the
  /// exchange.
  bool canShare(const Dim &over, int64_t blocks) const {
    constexpr int64_t most = 8, fewestElements = 128; // larger clusters do not fit everywhere
    // The CTAs of a cluster exchange no indices of gathered rows.
    return shape.canSplit && !shape.gathers && blocks <= std::min(most, machine.cluster) &&
           facts.hint(over.size) >= blocks * fewestElements;
  }

  /// Splits the columns and the K dimension of a contraction with few output tiles: two CTAs of a
  /// cluster exchange their partial sums quickly, and narrow tiles cost less than larger clusters.
  /// Returns the number of CTAs per tile.
  int64_t shareProduct(Dim &columns, Dim &over) {
    int64_t blocks = !shape.batchInvariant && !grouped::fillsDevice(programs(), machine.cores) &&
                             canShare(over, 2)
                         ? 2
                         : 1;
    spread(&columns, 16, blocks);
    while (blocks > 1 && 2 * blocks * programs() <= machine.cores && canShare(over, 2 * blocks))
      blocks *= 2;
    return blocks;
  }

  /// Whether TMA can load the operands of all contractions from memory as they are.
  bool areCopied(const Dim &rows, const Dim &columns, const Dim &over) const {
    bool isByRows = !llvm::is_contained(shape.otherContiguous, rows.name);
    if (shape.batchInvariant && !isByRows)
      return false;
    if (areWords())
      return llvm::all_of(shape.contractions, [](const auto &each) { return each.wordsAlongK; });
    bool arePlain = llvm::all_of(
        shape.contractions, [](const auto &each) { return each.plainRows && each.plainColumns; });
    return arePlain &&
           (llvm::all_of(shape.contractions, [](const auto &each) { return each.dense; }) ||
            (isInPieces(over) && isInPieces(columns) && (isByRows || isInPieces(rows))));
  }

  /// The number of operands and results whose elements differ along a dimension: others are read
  /// once for all of them.
  int64_t operandsAlong(const Dim &dim) const {
    return llvm::count_if(shape.operands, [&](const auto &operand) {
      return llvm::is_contained(operand.dims, dim.name);
    });
  }

  /// Short runs along the last dimension read parts of memory sectors. If another dimension moves
  /// along memory as the last one does, a tile takes a sector of it in exchange for other elements:
  /// one CTA reads what they share.
  void slideAlong(Dim &last) {
    constexpr int64_t sector = 32;
    const int64_t run = sector / shape.storageBytes;
    for (const std::string &name : shape.slidWithLast) {
      Dim *slid = find(name);
      if (!slid || slid->tile > 1 || last.tile >= run || slid->role != Dim::Parallel)
        continue;
      Dim *most = nullptr;
      for (Dim &dim : shape.dims)
        if (&dim != &last && &dim != slid && (!most || dim.tile > most->tile))
          most = &dim;
      int64_t wanted = bounded(*slid, run);
      if (most && most->tile > wanted) {
        most->tile /= wanted;
        slid->tile = wanted;
      }
    }
  }

  /// Whether an operand's rows of elements do not start at multiples of 128 bytes: each row of a
  /// copy then takes two requests. `dim` is contiguous in the operand, and decides where the
  /// alignment is not known.
  bool isOffLines(int64_t alignment, const Dim &dim, int64_t bytes) const {
    constexpr int64_t line = 128;
    return (alignment ? alignment : facts.divisor(dim.size) * bytes) % line != 0;
  }
};

} // namespace tessera

#endif
