//===- StreamTiles.cpp - Tile sizes of streams of contractions ------------===//
#include "StreamTiles.h"
#include "tessera/Target/CudaLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>

using namespace tessera;

/// A contraction of which only reductions along the stream are kept: its columns are processed in
/// blocks.
const KernelShape::Contraction *StreamChooser::reducedProduct() {
  if (shape.contractions.size() != 1 || !shape.onTensorCores || shape.storageBytes > 2)
    return nullptr;
  const KernelShape::Contraction &c = shape.contractions.front();
  if (c.rows.empty() || c.columns.empty() || c.over.empty())
    return nullptr;
  Dim *columns = find(c.columns.back()), *over = find(c.over.back());
  return columns->role == Dim::Stream && facts.hint(over->size) > 256 ? &c : nullptr;
}

/// The rows and blocks of a stream by wgmma on tiles that TMA loads: some warpgroups multiply
/// while others do elementwise work, in one CTA or in several on an SM.
bool StreamChooser::groupStream(int64_t depth) {
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
  if (!machine.warpgroups || !narrow || shape.contractions.size() < 2 || depth > deepest ||
      rowsOf(*row, least) < least)
    return false;
  if (shape.contractions.size() > 2)
    return groupStreams(*row, *along);
  // Two warpgroups share the streamed tiles while the grid fills the device; with a small head
  // dimension several small CTAs are faster.
  using namespace grouped;
  row->tile = shape.batchInvariant || depth <= kShallow ? least : bounded(*row, 128);
  if (depth <= kDeep && !fillsDevice(programs(), machine.cores))
    row->tile = least;
  bool isPair = row->tile >= 128, isWide = depth > kDeep;
  along->tile =
      bounded(*along, isWide || (!isPair && (depth > kShallow || shape.masked)) ? 64 : 128);
  choose(TuningField::NumStages,
         depth <= kShallow || (isPair && !isWide && !shortStream()) ? 3 : 2);
  choose(TuningField::UseTma, 1);
  // Values outside the stream need registers that four CTAs do not leave.
  bool isAlone = llvm::all_of(
      shape.dims, [&](const Dim &dim) { return dim.role != Dim::Inner || isMultiplied(dim); });
  if (!isPair && !isWide)
    choose(TuningField::MinCtasPerSm, along->tile < 128 && depth <= kShallow && isAlone ? 4 : 2);
  choose(LaunchField::NumWarps, row->tile >= 128 ? 8 : 4);
  choose(TuningField::Wgmma, 1);
  return true;
}

/// The same for more contractions. Accumulators of the stream are as wide, and its blocks as long,
/// as registers have room for. CTAs of one warpgroup, of which an SM holds two, wait for nobody
/// else; where shared memory has no room for them, two warpgroups share the tiles of the stream.
bool StreamChooser::groupStreams(Dim &row, Dim &along) {
  constexpr int64_t rowsOfGroup = 64, most = CudaLimits::registersPerThread, narrowest = 32,
                    bytes = 2;
  // Fitted to what ptxas takes: 240 registers for streams of four contractions where this counts
  // 248. Conditions with many instructions need more.
  constexpr int64_t others = 40;
  row.tile = bounded(row, 2 * rowsOfGroup);
  // If the mask depends on data, smaller blocks are more often inside or outside as a whole.
  along.tile = bounded(along, shape.dataMasked ? rowsOfGroup : 2 * rowsOfGroup);
  // 64 rows of f32 take half as many registers of each of 128 threads as they have columns, and an
  // operand of 16 bits takes a quarter.
  // Of a row along the blocks, a thread has a quarter of the elements, half of the time.
  int64_t rowsAlong = llvm::count_if(shape.operands, [&](const KernelShape::Operand &each) {
    return llvm::is_contained(each.dims, along.name) &&
           llvm::none_of(each.dims, [&](const std::string &name) {
             Dim *dim = find(name);
             return dim != &along && dim->tile > 1;
           });
  });
  auto registers = [&] {
    int64_t columns = rowsAlong * along.tile / 4;
    for (const KernelShape::Contraction &c : shape.contractions)
      columns += extentOf(c.columns);
    return columns / 2 + others;
  };
  // Contractions read the tiles of a tensor, and their transposes, from the same stages.
  auto sharedBytes = [&](int64_t stages) {
    std::map<int64_t, int64_t> tiles;
    int64_t size = 0;
    for (const KernelShape::Contraction &c : shape.contractions) {
      int64_t tile = bytes * extentOf(c.over) * extentOf(c.columns);
      size += c.inner ? bytes * extentOf(c.over) * extentOf(c.rows) : 0;
      int64_t &known = tiles[c.columnsTensor.value_or(-1)];
      known = std::max(known, tile);
    }
    for (auto &[tensor, tile] : tiles)
      size += stages * tile;
    return size;
  };
  while (along.tile > rowsOfGroup && registers() > most)
    along.tile /= 2;
  for (const KernelShape::Contraction &c : shape.contractions)
    if (Dim *columns = find(c.columns.back()); !c.inner && columns->role == Dim::Parallel)
      while (columns->tile > rowsOfGroup && registers() > most)
        columns->tile /= 2;
  // The operands that stay are those of the rows: fewer rows leave room for blocks.
  if (sharedBytes(2) > machine.sharedOfBlock)
    row.tile = rowsOfGroup;
  while (along.tile > narrowest && (registers() > most || sharedBytes(2) > machine.sharedOfBlock))
    along.tile /= 2;
  bool isPair = row.tile > rowsOfGroup && grouped::fillsDevice(programs(), machine.cores);
  // Both CTAs have barriers, and rows of the stream.
  constexpr int64_t ctas = 2, beside = 8192;
  auto fits = [&](int64_t stages, int64_t residents) {
    return residents * (sharedBytes(stages) + beside) <= machine.sharedOfBlock;
  };
  int64_t pairRows = row.tile;
  row.tile = rowsOfGroup;
  bool areApart = fits(2, ctas);
  if (isPair && !areApart)
    row.tile = pairRows;
  isPair &= !areApart;
  int64_t residents = areApart ? ctas : 1;
  if (areApart)
    choose(TuningField::MinCtasPerSm, ctas);
  choose(TuningField::NumStages, fits(3, residents) ? 3 : 2);
  choose(TuningField::UseTma, 1);
  choose(TuningField::Wgmma, 1);
  choose(LaunchField::NumWarps, isPair ? 8 : 4);
  return true;
}

/// The registers of a thread for emulated f32 MMAs in a stream with `warps` warps: both parts of
/// the operands (the left ones of inner contractions during the whole stream, one right one at a
/// time), and all accumulators, also of the small products.
int64_t StreamChooser::splitRegisters(int64_t warps) {
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

/// Whether a contraction reduces a dimension.
bool StreamChooser::isMultiplied(const Dim &dim) const {
  return llvm::any_of(shape.contractions,
                      [&](const auto &c) { return llvm::is_contained(c.over, dim.name); });
}

bool StreamChooser::shortStream() const {
  return llvm::all_of(shape.dims, [&](const Dim &dim) {
    return dim.role != Dim::Stream || facts.hint(dim.size) <= 2048;
  });
}

void StreamChooser::chain() {
  if (const KernelShape::Contraction *c = reducedProduct()) {
    Dim *rows = find(c->rows.back()), *columns = find(c->columns.back()),
        *over = find(c->over.back());
    over->tile = 64;
    rows->tile = std::max<int64_t>(16, rowsOf(*rows, 128));
    columns->tile = std::max<int64_t>(16, bounded(*columns, 256));
    // Chips without tensor cores for the type load operands in f32, and have less shared memory.
    if (machine.sharedOfBlock &&
        4 * (rows->tile + columns->tile) * over->tile >= machine.sharedOfBlock)
      over->tile /= 2;
    return choose(LaunchField::NumWarps, rows->tile * columns->tile >= 128 * 128 ? 8 : 4);
  }
  int64_t depth = 1;
  // Dimensions together fill at least the side of an MMA, and at most a block.
  auto whole = [&](llvm::ArrayRef<Dim *> dims) {
    int64_t filled = 1;
    for (Dim *dim : llvm::reverse(dims))
      filled *= dim->tile = bounded(*dim, std::max<int64_t>(1, 256 / filled));
    if (!dims.empty() && filled < 16) {
      dims.back()->tile *= 16 / filled;
      filled = 16;
    }
    depth = std::max(depth, filled);
  };
  for (const KernelShape::Contraction &c : shape.contractions) {
    llvm::SmallVector<Dim *> over;
    for (const std::string &name : c.over)
      if (Dim *dim = find(name); dim && dim->role != Dim::Stream)
        over.push_back(dim);
    whole(over);
    if (!c.inner && !c.columns.empty())
      if (Dim *dim = find(c.columns.back()); dim && dim->role == Dim::Parallel)
        whole(dim);
  }
  if (groupStream(depth))
    return;
  // A K dimension that is too long for one block is processed in short blocks, which leave
  // registers for the accumulators.
  for (const KernelShape::Contraction &c : shape.contractions)
    for (const std::string &name : c.over)
      if (Dim *dim = find(name); dim && dim->role == Dim::Inner && facts.max(dim->size) > dim->tile)
        dim->tile = std::min<int64_t>(dim->tile, 64);
  // Two CTAs on an SM overlap computation and waiting; accumulators of more than 128 columns
  // leave room for one only. Emulated f32 MMAs need three times the work and more space; others
  // are done in registers.
  bool narrow = shape.storageBytes <= 2 && shape.onTensorCores, pairs = narrow && depth <= 128;
  int64_t room = narrow ? 128 : shape.onTensorCores && !machine.operandsInRegisters ? 64 : 32;
  // If the mask depends on data, or the stream is short, smaller blocks are more often inside or
  // outside as a whole. Shallow ones leave room for four CTAs on an SM.
  bool isShort = pairs && depth <= 64 && shape.masked && !machine.tilesInRegisters && shortStream();
  int64_t along = shape.dataMasked || isShort ? std::min<int64_t>(room, 64) : room;
  // Operands that lanes hold twice leave registers for short blocks only, which the warps of two
  // CTAs share.
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
  // Computed operands and accumulators change their layouts between contractions.
  for (const KernelShape::Contraction &c : shape.contractions) {
    int64_t operandBytes = narrow ? 2 : accumulatorBytes();
    fitConversion(c.over, c.rows, operandBytes);
    fitConversion(c.over, c.columns, operandBytes);
    fitConversion(c.rows, c.columns, accumulatorBytes());
  }
  bool large = row && row->tile >= 128;
  int64_t warps = large || areTwice ? 8 : 4;
  if (shape.onTensorCores && !narrow && machine.operandsInRegisters &&
      splitRegisters(warps) > 180) {
    // Short blocks leave registers for operands with a large K dimension; the longest are shared
    // by more warps.
    std::vector<Dim> whole = shape.dims;
    for (Dim &dim : shape.dims)
      dim.tile = dim.role == Dim::Stream ? std::min<int64_t>(dim.tile, 16) : dim.tile;
    if (splitRegisters(warps) > 280) {
      shape.dims = whole;
      warps = 8;
    }
  }
  choose(LaunchField::NumWarps, warps);
  if (shape.onTensorCores && !narrow && machine.operandsInRegisters)
    shape.mmaRegisters = splitRegisters(warps);
  if (pairs && !large && !areTwice)
    choose(TuningField::MinCtasPerSm, isShort ? 4 : 2);
}
