//===- BulkRows.cpp - Bulk copies of unaligned rows -----------------------===//
#include "BulkRows.h"

#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Target/GpuDescription.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

// Bytes: the alignment of bulk copies, and the smallest tile for which one pays off.
static constexpr int64_t kAlignment = 16, kMinBytes = 1024;

static int64_t bytesOfElement(Type type) { return std::max(1u, type.getIntOrFloatBitWidth() / 8); }

static bool paysOff(Value tile) {
  BufferType buffer = rowBuffer(tile, 1);
  return buffer.getElements() * buffer.getElementBytes() >= kMinBytes && buffer.isInOrder();
}

bool tile::isUnalignedRow(const Coordinates &coordinates, Value view, ArrayRef<int64_t> dims,
                          Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getRank() != 1 || !cast<ViewType>(view.getType()).hasUnitStride(dims[0]) ||
      coordinates.rowAlignment(view) >= kAlignment)
    return false;
  return paysOff(tile) &&
         llvm::equal(layoutOf(tile)->columns(Dim::Lane), ArrayRef<uint64_t>{1, 2, 4, 8, 16});
}

bool tile::isAlignedRow(Value view, Value tile) {
  return view.getDefiningOp<AlignedRowOp>() &&
         cast<RankedTensorType>(tile.getType()).getRank() == 1 && paysOff(tile);
}

bool tile::prefersBulkLoad(Value tile) {
  constexpr int64_t word = 4;
  return bytesOfElement(cast<RankedTensorType>(tile.getType()).getElementType()) < word;
}

BufferType tile::rowBuffer(Value tile, int64_t stages, bool slack) {
  auto type = cast<RankedTensorType>(tile.getType());
  Layout layout = *layoutOf(tile);
  unsigned bits = layout.out().bits() - gf2::rank(layout.columnsOf({Dim::Block}));
  Layout memory(Space({{Dim::Offset, 1u << bits}}), layout.out(), gf2::units(bits));
  return BufferType::get(tile.getContext(), stages, withLayout(type, inAllBlocks(memory, layout)),
                         slack ? kAlignment / bytesOfElement(type.getElementType()) : 0);
}

Value tile::misalignmentOf(OpBuilder &builder, Location loc, Value view, ValueRange coords,
                           ArrayRef<int64_t> dims) {
  SmallVector<Value> first(coords);
  first[dims[0]] = arith::ConstantIndexOp::create(builder, loc, 0);
  int64_t elements = kAlignment / bytesOfElement(cast<ViewType>(view.getType()).getElementType());
  return MisalignmentOp::create(builder, loc, builder.getIndexType(), view, first, elements);
}

Value tile::readBulkRow(OpBuilder &builder, LoadOp load, Value buffer, Value stage, Value shift) {
  Location loc = load.getLoc();
  Value below;
  if (load.getPad()) {
    int64_t along = load.getDims()[0];
    Value size = arith::ConstantIndexOp::create(builder, loc, load.getType().getNumElements());
    Value before = arith::MulIOp::create(builder, loc, load.getCoords()[along], size);
    below = arith::SubIOp::create(
        builder, loc, DimOp::create(builder, loc, builder.getIndexType(), load.getView(), along),
        before);
  }
  return SharedLoadOp::create(builder, loc, load.getType(), buffer, stage, shift, /*from=*/Value(),
                              below,
                              /*at=*/nullptr, load.getPadAttr());
}

SmallVector<Value> tile::coordsAtIteration(LoadOp load, scf::ForOp loop, Value iteration) {
  SmallVector<Value> coords(load.getCoords());
  llvm::replace(coords, loop.getInductionVar(), iteration);
  return coords;
}

bool tile::comesBefore(const Coordinates &coordinates, scf::ForOp loop, scf::ForOp next) {
  Value end = loop.getUpperBound(), begin = next.getLowerBound();
  if (auto cut = end.getDefiningOp<arith::MinSIOp>())
    end = cut.getLhs();
  std::optional<SymExpr> x = coordinates.expression(end), y = coordinates.expression(begin);
  return end == begin || (x && y && *x == *y);
}

bool tile::isRemainderLoop(const Coordinates &coordinates, scf::ForOp loop) {
  auto cut = loop.getUpperBound().getDefiningOp<arith::MinSIOp>();
  std::optional<SymExpr> first = coordinates.expression(loop.getLowerBound()),
                         end = coordinates.expression(cut ? cut.getLhs() : loop.getUpperBound());
  return first && end && end->kind() == SymExpr::Kind::CeilDiv &&
         *first == end->operands()[0].floorDiv(end->operands()[1]);
}

Value tile::nextStage(OpBuilder &builder, Location loc, Value stage, int64_t stages) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value next = arith::AddIOp::create(builder, loc, stage, index(1));
  Value isLast =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, stage, index(stages - 1));
  return arith::SelectOp::create(builder, loc, isLast, index(0), next);
}

/// The bytes of a kernel's buffers and mbarriers.
static uint64_t allocatedBytes(KernelOp kernel) {
  uint64_t taken = 0;
  kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocOp>(op))
      taken += alloc.getAllBytes();
    else if (auto mbarriers = dyn_cast<MbarrierAllocOp>(op))
      taken += mbarriers.getType().getBytes();
  });
  return taken;
}

static constexpr uint64_t kReserved = CudaLimits::reservedSharedBytes;

uint64_t tile::sharedBytesLeft(KernelOp kernel, uint64_t bytes, const GpuDescription &gpu) {
  uint64_t taken = allocatedBytes(kernel);
  // Persistent CTAs share an SM with no others.
  bool isPersistent = llvm::any_of(kernel.getBody().front().getOps<scf::ForOp>(), isPersistentLoop);
  if (taken && !isPersistent) {
    uint64_t all = gpu.sm.sharedBytes, ctas = std::max<uint64_t>(1, all / (taken + 2 * kReserved));
    bytes = std::min(bytes, all / ctas - kReserved);
  }
  // Distributed shared memory is allocated for the whole kernel; exchangedBytes counts the one of
  // reductions in loops.
  for (auto reduce : kernel.getBody().front().getOps<tile::ReduceOp>())
    taken += dsmemBytes(reduce);
  return bytes - std::min(bytes, taken);
}

uint64_t tile::sharedBytesForRows(KernelOp kernel, uint64_t most, const GpuDescription &gpu) {
  SharedFeatures features = sharedFeaturesOf(gpu);
  uint64_t bytes = most ? most : features.memoryBytes,
           taken = allocatedBytes(kernel) + exchangedBytes(kernel, features);
  int64_t residents = kernel.getField(TuningField::MinCtasPerSm).value_or(1),
          warps = kernel.getNumWarps();
  uint64_t ctas = std::max<int64_t>(residents, gpu.sm.warps / (4 * warps));
  bytes = std::min(bytes, gpu.sm.sharedBytes / ctas - kReserved);
  return bytes - std::min(bytes, taken);
}
