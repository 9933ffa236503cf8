//===- LowerLayoutConversions.cpp - Communication between warps -----------===//
//
// After layouts are assigned, some operations communicate between warps: conversions, reductions
// and scans along dimensions that several warps hold, and contractions without tensor cores. The
// pass rewrites each into operations within warps and reads and writes of shared memory.
// Conversions within a warp stay, if shuffles are cheaper. The partial results of the CTAs of a
// cluster go through distributed shared memory, one buffer per reduction.
//
//===----------------------------------------------------------------------===//
#include "Async/FirstUse.h"

#include "tessera/Dialect/Common/ModuleTarget.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"
#include "tessera/Dialect/Tile/Transforms/TooLarge.h"

#include "tessera/Dialect/Common/Monoids.h"
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Layout/Families.h"
#include "tessera/Layout/Reduction.h"
#include "tessera/Layout/SharedMatrix.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILELOWERLAYOUTCONVERSIONS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
class Expansion {
public:
  Expansion(KernelOp kernel, const GpuDescription &gpu)
      : kernel(kernel), gpu(gpu), features(sharedFeaturesOf(gpu)), builder(kernel.getContext()) {}

  LogicalResult run();

private:
  LogicalResult expand(tile::ReduceOp reduce);
  Value reduceWarps(tile::ReduceOp reduce, Value parts, int64_t blocks);
  Value gatherFromCtas(tile::ReduceOp reduce, Value parts);
  void initDsmem();
  LogicalResult expand(ScanOp scan);
  LogicalResult expand(SortOp sort);
  void expand(MmaOp mma);
  LogicalResult expand(ConvertOp convert);
  std::optional<Layout> memoryForWgmma(ConvertOp convert);

  Value zero();
  Value convertTo(Value tile, const Layout &layout);
  /// Writes a tile into a new buffer.
  Value write(Value tile, const Layout &memory);
  /// The buffer that holds a tile in a layout before an operation, or null.
  Value written(Value tile, const Layout &memory, Operation *point);
  template <typename OpTy> SmallVector<OpTy> all() {
    SmallVector<OpTy> ops;
    kernel.walk([&](OpTy op) { ops.push_back(op); });
    return ops;
  }

  KernelOp kernel;
  const GpuDescription &gpu;
  SharedFeatures features;
  OpBuilder builder;
  Location loc = builder.getUnknownLoc();
  Value firstStage;
  SmallVector<Value> dsmemBuffers;
};
} // namespace

/// Bits of an element in shared memory; tf32 has 32.
static unsigned bitsOf(RankedTensorType type) {
  return 8 * llvm::PowerOf2Ceil((type.getElementTypeBitWidth() + 7) / 8);
}

Value Expansion::zero() {
  if (!firstStage) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&kernel.getBody().front());
    firstStage = arith::ConstantIndexOp::create(builder, kernel.getLoc(), 0);
  }
  return firstStage;
}

Value Expansion::convertTo(Value tile, const Layout &layout) {
  if (*layoutOf(tile) == layout)
    return tile;
  return ConvertOp::create(builder, loc, withLayout(tile.getType(), layout), tile);
}

Value Expansion::write(Value tile, const Layout &memory) {
  Layout held = inAllBlocks(memory, *layoutOf(tile));
  auto type = BufferType::get(builder.getContext(), 1, withLayout(tile.getType(), held));
  Value buffer = AllocOp::create(builder, loc, type);
  SharedStoreOp::create(builder, loc, tile, buffer, zero());
  return buffer;
}

/// Consecutive loops read a tile from the same buffer.
Value Expansion::written(Value tile, const Layout &memory, Operation *point) {
  for (Operation *user : tile.getUsers()) {
    auto write = dyn_cast<SharedStoreOp>(user);
    if (write && write->getBlock() == point->getBlock() && write->isBeforeInBlock(point) &&
        write.getBuffer().getType().getMemory() == memory &&
        llvm::all_of(write.getBuffer().getUsers(),
                     [&](Operation *other) { return other == write || isa<SharedLoadOp>(other); }))
      return write.getBuffer();
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

/// The layout of a tile with an additional last dimension, along which each CTA has one element.
static Layout withCtaDim(const Layout &kept, unsigned last) {
  Space out = kept.out();
  out.setBits(tensorDim(last), kept.in().bits(Dim::Block));
  gf2::Vectors columns;
  for (unsigned i = 0; i < kept.in().bits(); ++i) {
    uint64_t block = kept.in().unpack(uint64_t(1) << i)[Dim::Block];
    columns.push_back(kept.out().carry(kept.columns()[i], out) |
                      out.pack(Point({{tensorDim(last), block}})));
  }
  return Layout(kept.in(), out, std::move(columns));
}

/// Reduces the partial results of a CTA's warps to one per CTA.
Value Expansion::reduceWarps(tile::ReduceOp reduce, Value parts, int64_t blocks) {
  auto type = cast<RankedTensorType>(parts.getType());
  int64_t last = type.getRank() - 1, warps = type.getShape().back() / blocks;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = blocks;
  Layout perCta = withCtaDim(*layoutOf(reduce), last);
  auto joined = withLayout(RankedTensorType::get(shape, type.getElementType()), perCta);
  shape.push_back(warps);
  auto split = withLayout(RankedTensorType::get(shape, type.getElementType()),
                          layoutOf(parts)->splitDim(last, warps));
  parts =
      convertTo(ReshapeOp::create(builder, loc, split, parts), perCta.expandDim(last + 1, warps));
  return tile::ReduceOp::create(builder, loc, joined, reduce.getKind(), parts, ArrayRef(last + 1),
                                reduce.getSkipNan());
}

/// The type of narrow elements in distributed shared memory, which is written in words of 32 bits.
static Type wordOf(Type element) {
  if (element.getIntOrFloatBitWidth() >= 32)
    return element;
  return isa<FloatType>(element) ? Type(Float32Type::get(element.getContext()))
                                 : Type(IntegerType::get(element.getContext(), 32));
}

/// The layout of the CTAs' partial results, along a last dimension, in distributed shared memory.
/// Each CTA has all partial results, or those of its part of the result, one CTA after the other.
/// If threads send to the same thread of other CTAs, the elements lie in vectors of 16 bytes in the
/// order of the lanes.
static Layout dsmemOf(const Layout &parts, const Layout &result, ArrayRef<int64_t> shape) {
  SmallVector<unsigned> order(shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  if (!gf2::rank(result.columns(Dim::Block)))
    return linearShared(SmallVector<unsigned>(shape.begin(), shape.end()), order);
  Space out = spaceOf(shape), in;
  gf2::Vectors blocks, elements;
  for (uint64_t column : result.columns(Dim::Block))
    blocks.push_back(result.out().carry(column, out));
  if (ownRegisters(parts, result)) {
    gf2::Vectors registers = result.columnsOf({Dim::Register}), rest;
    size_t vectorBits = std::min<size_t>(2, registers.size());
    rest.assign(registers.begin() + vectorBits, registers.end());
    registers.resize(vectorBits);
    for (uint64_t column :
         gf2::concat({registers, result.columns(Dim::Lane), rest, result.columns(Dim::Warp)}))
      elements.push_back(result.out().carry(column, out));
  }
  std::rotate(order.begin(), order.begin() + 1, order.end());
  for (unsigned dim : order)
    for (unsigned bit = 0; bit < out.bits(tensorDim(dim)); ++bit)
      elements.push_back(out.pack(Point({{tensorDim(dim), uint64_t(1) << bit}})));
  elements = gf2::extend(blocks, elements);
  in.setBits(Dim::Block, blocks.size());
  in.setBits(Dim::Offset, elements.size());
  return Layout(in, out, gf2::concat({blocks, elements}));
}

/// The partial results of all CTAs, in the registers of the threads that need them. In a loop there
/// are two stages: partial results arrive while those of the previous iteration are still read.
Value Expansion::gatherFromCtas(tile::ReduceOp reduce, Value parts) {
  auto type = cast<RankedTensorType>(parts.getType());
  Type element = type.getElementType(), word = wordOf(element);
  auto cast = [&](Value tile, Type to) -> Value {
    auto type = mlir::cast<RankedTensorType>(tile.getType());
    return type.getElementType() == to ? tile
                                       : tile::CastOp::create(builder, loc, type.clone(to), tile);
  };
  int64_t last = type.getRank() - 1;
  bool isRepeated = reduce->getParentOfType<LoopLikeOpInterface>() != nullptr;
  auto plain = RankedTensorType::get(type.getShape(), word);
  auto box = BufferType::get(
      builder.getContext(), isRepeated ? 2 : 1,
      withLayout(plain, dsmemOf(*layoutOf(parts), *layoutOf(reduce), type.getShape())));
  Value dsmem;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&kernel.getBody().front());
    dsmem = dsmemBuffers.emplace_back(AllocOp::create(builder, loc, box, /*dsmem=*/true));
  }
  // The store signals that all warps of the CTA have read the previous stage. A reduction across
  // warps has synchronized them since.
  SmallVector<unsigned> dims(reduce.getDims().begin(), reduce.getDims().end());
  if (isRepeated && planReduction(*layoutOf(reduce.getInput()), dims).warps.empty())
    BarrierOp::create(builder, loc);
  DsmemStoreOp::create(builder, loc, cast(parts, word), dsmem);
  DsmemWaitOp::create(builder, loc, dsmem);
  Layout gathered = layoutOf(reduce)->expandDim(last, type.getShape().back());
  return cast(DsmemLoadOp::create(builder, loc, withLayout(plain, gathered), dsmem), element);
}

/// Arrives at the cluster barrier at the start of the kernel and waits before the first store to
/// distributed shared memory, so that the wait is short.
void Expansion::initDsmem() {
  if (dsmemBuffers.empty())
    return;
  Block &body = kernel.getBody().front();
  builder.setInsertionPointAfter(dsmemBuffers.front().getDefiningOp());
  ClusterArriveOp::create(builder, kernel.getLoc(), dsmemBuffers);
  Operation *first = nullptr;
  kernel.walk([&](DsmemStoreOp push) {
    Operation *outermost = body.findAncestorOpInBlock(*push);
    if (!first || outermost->isBeforeInBlock(first))
      first = outermost;
  });
  builder.setInsertionPoint(first);
  ClusterWaitOp::create(builder, first->getLoc());
}

/// Reduces within warps, and gathers the partial results in the registers of the threads that need
/// the result. In a cluster each CTA reduces its warps first.
LogicalResult Expansion::expand(tile::ReduceOp reduce) {
  SmallVector<unsigned> dims(reduce.getDims().begin(), reduce.getDims().end());
  ReductionPlan plan = planReduction(*layoutOf(reduce.getInput()), dims);
  if (plan.warps.empty() && plan.blocks.empty())
    return success();
  gf2::Vectors blocks = layoutOf(reduce)->columnsOf({Dim::Block});
  bool isShared = !plan.blocks.empty() && gf2::rank(blocks);
  if (isShared && (gf2::rank(blocks) < blocks.size() || !plan.warps.empty()))
    return reduce.emitError("expected a result that all CTAs of the cluster hold, or of which each "
                            "holds a part without a reduction across warps, got ")
           << reduce.getType();
  builder.setInsertionPoint(reduce);
  loc = reduce.getLoc();
  auto parts = WarpReduceOp::create(builder, loc, reduce.getReduceOp(), reduce.getInput(),
                                    reduce.getDims(), reduce.getSkipNan());
  int64_t last = reduce.getType().getRank();
  Value all;
  if (plan.blocks.empty())
    all = convertTo(parts, layoutOf(reduce)->expandDim(last, parts.getType().getShape().back()));
  else
    all = gatherFromCtas(
        reduce, isShared ? parts : reduceWarps(reduce, parts, int64_t(1) << plan.blocks.size()));
  auto joined = tile::ReduceOp::create(builder, loc, reduce.getType(), reduce.getKind(), all,
                                       ArrayRef(last), reduce.getSkipNan());
  reduce.replaceAllUsesWith(joined.getResult());
  reduce.erase();
  return success();
}

/// The lowest bit of a dimension that the warp index selects, or the number of bits if it selects
/// none. Fails if an input bit selects along this and another dimension, or the CTA selects along
/// it.
static FailureOr<unsigned> lowestWarpBit(const Layout &layout, Dim dim) {
  unsigned lowest = layout.out().bits(dim);
  for (Dim in : {Dim::Register, Dim::Lane, Dim::Warp, Dim::Block})
    for (uint64_t column : layout.columns(in)) {
      if (!layout.out().unpack(column)[dim])
        continue;
      if (!llvm::isPowerOf2_64(column) || in == Dim::Block)
        return failure();
      if (in == Dim::Warp)
        lowest = std::min<unsigned>(lowest, llvm::Log2_64(layout.out().unpack(column)[dim]));
    }
  return lowest;
}

/// A layout with all of dimension `dim` in the registers of each thread, or in the lanes of each
/// warp if that is too much for a thread.
static Layout gathered(const Layout &kept, unsigned dim, int64_t size) {
  constexpr int64_t kMost = 32;
  gf2::VectorsRef lanes = kept.columns(Dim::Lane);
  bool areFree = llvm::all_of(lanes, [](uint64_t column) { return !column; });
  if (size <= kMost || !areFree)
    return kept.insertDim(dim).expandDim(dim, size);
  int64_t inThread = size >> lanes.size();
  Layout few = kept.insertDim(dim).expandDim(dim, inThread);
  Space out = few.out();
  out.setBits(tensorDim(dim), llvm::Log2_64(size));
  gf2::Vectors columns;
  for (uint64_t column : few.columns())
    columns.push_back(few.out().carry(column, out));
  for (unsigned bit = 0; bit < lanes.size(); ++bit)
    columns[few.in().shift(Dim::Lane) + bit] =
        out.pack(Point({{tensorDim(dim), uint64_t(inThread) << bit}}));
  return Layout(few.in(), out, std::move(columns));
}

/// Each warp scans its contiguous runs. Every warp gathers and scans the totals of all runs, and
/// combines the prefix of a run with its elements.
LogicalResult Expansion::expand(ScanOp scan) {
  Layout layout = *layoutOf(scan.getInput());
  int64_t dim = scan.getDim();
  FailureOr<unsigned> bit = lowestWarpBit(layout, tensorDim(dim));
  if (failed(bit))
    return scan.emitError("expected a layout in which nothing moves along the scanned dimension "
                          "and another, nor CTAs of a cluster along it, got ")
           << scan.getInput().getType();
  RankedTensorType type = scan.getInput().getType();
  int64_t inRun = int64_t(1) << *bit, runs = type.getShape()[dim] / inRun;
  if (runs == 1)
    return success();
  builder.setInsertionPoint(scan);
  loc = scan.getLoc();
  tessera::ReduceOp kind = scan.getReduceOp();
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = runs;
  auto runType = RankedTensorType::get(shape, type.getElementType());
  shape.insert(shape.begin() + dim + 1, inRun);
  Layout split = layout.splitDim(dim, inRun), ofRuns = split.dropDim(dim + 1);
  auto splitType = withLayout(RankedTensorType::get(shape, type.getElementType()), split);

  Value parts = ReshapeOp::create(builder, loc, splitType, scan.getInput());
  Value unit = tile::ConstantOp::create(builder, loc, withLayout(runType, ofRuns),
                                        unitOf(kind, type.getElementType()));
  auto inner = ScanOp::create(builder, loc, kind, parts, unit, dim + 1);
  Layout all = gathered(ofRuns.dropDim(dim), dim, runs);
  Value init = convertTo(scan.getInit(), all.dropDim(dim));
  auto outer = ScanOp::create(builder, loc, kind, convertTo(inner.getTotal(), all), init, dim);
  outer.setExclusive(true);
  Value before = convertTo(outer.getResult(), ofRuns);
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i <= type.getRank(); ++i)
    if (i != dim + 1)
      dims.push_back(i);
  before = BroadcastOp::create(builder, loc, splitType, before, dims);
  Value joined =
      MapOp::create(builder, loc, reduceOpCombiner(kind), ValueRange{before, inner.getResult()});
  scan.getResult().replaceAllUsesWith(ReshapeOp::create(builder, loc, type, joined));
  scan.getTotal().replaceAllUsesWith(convertTo(outer.getTotal(), *layoutOf(scan.getTotal())));
  scan.erase();
  return success();
}

/// The layout in which registers and lanes have the elements of a row that warps have in `layout`,
/// and warps those of the lowest bits. None if these bits are too few.
static std::optional<Layout> withWarpsLow(const Layout &layout, Dim dim) {
  gf2::Vectors columns(layout.columns().begin(), layout.columns().end());
  SmallVector<unsigned> low;
  for (Dim in : {Dim::Register, Dim::Lane})
    for (unsigned bit = 0; bit < layout.in().bits(in); ++bit)
      if (unsigned at = layout.in().shift(in) + bit; layout.out().unpack(columns[at])[dim])
        low.push_back(at);
  unsigned next = 0;
  for (unsigned bit = 0; bit < layout.in().bits(Dim::Warp); ++bit) {
    unsigned at = layout.in().shift(Dim::Warp) + bit;
    if (!layout.out().unpack(columns[at])[dim])
      continue;
    if (next == low.size() || columns[low[next]] > columns[at])
      return std::nullopt;
    std::swap(columns[at], columns[low[next++]]);
  }
  return Layout(layout.in(), layout.out(), std::move(columns));
}

/// The steps between elements of different warps take place after a conversion in which threads and
/// warps change places: once in each phase that has some.
LogicalResult Expansion::expand(SortOp sort) {
  Layout layout = *layoutOf(sort.getInput());
  int64_t dim = sort.getDim();
  FailureOr<unsigned> lowest = lowestWarpBit(layout, tensorDim(dim));
  int64_t bits = layout.out().bits(tensorDim(dim)), low = failed(lowest) ? 0 : *lowest;
  std::optional<Layout> high = failed(lowest) ? std::nullopt : withWarpsLow(layout, tensorDim(dim));
  if (!high)
    return sort.emitError("expected a layout in which nothing moves along the sorted dimension and "
                          "another, nor CTAs of a cluster along it, got ")
           << sort.getType();
  if (low == bits || sort.getPhases())
    return success();
  builder.setInsertionPoint(sort);
  loc = sort.getLoc();
  Value words = sort.getInput();
  auto run = [&](const Layout &in, std::array<int64_t, 2> phases, std::array<int64_t, 2> steps) {
    words = convertTo(words, in);
    words =
        SortOp::create(builder, loc, words.getType(), words, builder.getI64IntegerAttr(dim),
                       builder.getDenseI64ArrayAttr(phases), builder.getDenseI64ArrayAttr(steps));
  };
  run(layout, {1, low + 1}, {0, low});
  for (int64_t phase = low + 1; phase <= bits; ++phase) {
    run(*high, {phase, phase + 1}, {low, bits});
    run(layout, {phase, phase + 1}, {0, low});
  }
  sort.replaceAllUsesWith(words);
  sort.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Contractions and conversions
//===----------------------------------------------------------------------===//

void Expansion::expand(MmaOp mma) {
  if (fragmentDepth(mma))
    return;
  builder.setInsertionPoint(mma);
  loc = mma.getLoc();
  SmallVector<Value> buffers;
  for (Value operand : {mma.getLhs(), mma.getRhs()}) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(operand.getType()).getShape();
    buffers.push_back(write(operand, linearShared(SmallVector<unsigned>(shape.begin(), shape.end()),
                                                  std::array{1u, 0u})));
  }
  auto result = MmaSharedOp::create(builder, loc, mma.getType(), buffers[0], zero(), buffers[1],
                                    zero(), mma.getAcc());
  mma.replaceAllUsesWith(result.getResult());
  mma.erase();
}

/// The layout in shared memory of a tile that wgmma reads: the swizzle that is written at the least
/// cost. None if the tile has other uses.
std::optional<Layout> Expansion::memoryForWgmma(ConvertOp convert) {
  RankedTensorType type = convert.getType();
  unsigned bits = bitsOf(type), warps = kernel.getNumWarps();
  auto isWgmmaOperand = [&](OpOperand &use) {
    auto mma = dyn_cast<MmaOp>(use.getOwner());
    return mma && use.getOperandNumber() < 2 && mma.getParts() == 1 &&
           areGroupSums(mma.getAcc(), warps) && spreadOf(mma.getAcc()).blocks == 1;
  };
  if (!kernel.isOn(TuningField::Wgmma) || type.getRank() != 2 || bits != 16 ||
      convert->use_empty() || !llvm::all_of(convert->getUses(), isWgmmaOperand))
    return std::nullopt;
  unsigned over = convert->getUses().begin()->getOperandNumber() == 0 ? 1 : 0;
  SmallVector<unsigned> shape(type.getShape().begin(), type.getShape().end());
  std::optional<Layout> best;
  unsigned least = 0;
  for (unsigned inner : {1u, 0u})
    for (unsigned span : {128u, 64u, 32u}) {
      if (shape[inner] * bits / 8 < span)
        continue;
      Layout memory = boxedShared(shape, inner, bits, span);
      unsigned cost = planStore(memory, *layoutOf(convert.getInput()), bits, features).cost();
      if (sharedMatrix(memory, over, bits) && (!best || cost < least)) {
        best = memory;
        least = cost;
      }
    }
  return best;
}

LogicalResult Expansion::expand(ConvertOp convert) {
  Layout from = *layoutOf(convert.getInput()), to = *layoutOf(convert);
  RankedTensorType type = convert.getType();
  std::optional<ConversionPlan> plan = planConversion(from, to, bitsOf(type), features);
  if (plan && plan->kind != ConversionPlan::Kind::Shared)
    return success();
  uint64_t bytes =
      (type.getNumElements() * bitsOf(type) / 8) >> gf2::rank(from.columns(Dim::Block));
  if (bytes > features.memoryBytes) {
    InFlightDiagnostic error = convert.emitError("expected a tile of at most ");
    error << features.memoryBytes << " bytes to convert on " << gpu.chip << ", got " << bytes;
    return tooLarge(std::move(error), kernel);
  }
  if (!plan)
    return convert.emitError("expected a layout that holds all elements of the other one");
  // A loop-invariant tile is written before the loop. Contractions read it in each iteration, so
  // that it needs no registers in between; others read it once.
  Operation *point = convert;
  while (auto loop = dyn_cast<scf::ForOp>(point->getParentOp())) {
    if (!loop.isDefinedOutsideOfLoop(convert.getInput()))
      break;
    point = loop;
  }
  bool isForContractions = llvm::all_of(convert->getUsers(), llvm::IsaPred<MmaOp>);
  builder.setInsertionPoint(point);
  loc = convert.getLoc();
  std::optional<Layout> memory = memoryForWgmma(convert);
  Value buffer = memory ? written(convert.getInput(), *memory, point) : Value();
  if (!buffer)
    buffer = write(convert.getInput(), memory.value_or(plan->exchange.memory));
  // A late read lets more writes share one barrier and shortens live ranges.
  if (point == convert || isForContractions)
    builder.setInsertionPoint(firstUse(convert));
  convert.replaceAllUsesWith(SharedLoadOp::create(builder, loc, type, buffer, zero()).getResult());
  convert.erase();
  return success();
}

LogicalResult Expansion::run() {
  for (auto reduce : all<tile::ReduceOp>())
    if (failed(expand(reduce)))
      return failure();
  initDsmem();
  for (ScanOp scan : all<ScanOp>())
    if (failed(expand(scan)))
      return failure();
  for (SortOp sort : all<SortOp>())
    if (failed(expand(sort)))
      return failure();
  for (MmaOp mma : all<MmaOp>())
    expand(mma);
  for (ConvertOp convert : all<ConvertOp>())
    if (failed(expand(convert)))
      return failure();
  return success();
}

namespace {
struct TileLowerLayoutConversions
    : tile::impl::TileLowerLayoutConversionsBase<TileLowerLayoutConversions> {
  using TileLowerLayoutConversionsBase::TileLowerLayoutConversionsBase;

  void runOnOperation() override {
    FailureOr<GpuDescription> gpu = gpuOf(getOperation());
    if (failed(gpu))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (failed(Expansion(kernel, *gpu).run()))
        return signalPassFailure();
  }
};
} // namespace
