//===- BulkRows.cpp - Rows that the machine copies as a whole -----------------===//
#include "BulkRows.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Target/GpuDescription.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

static constexpr int64_t kPiece = 16, kWorth = 1024; // bytes: of a piece of memory, and of a tile

static int64_t bytesOfElement(Type type) { return std::max(1u, type.getIntOrFloatBitWidth() / 8); }

static bool isWorthCopy(Value tile) {
  BufferType room = rowBuffer(tile, 1);
  return room.getElements() * room.getElementBytes() >= kWorth && room.isInOrder();
}

bool tile::isLooseRow(const Coordinates &coordinates, Value view, ArrayRef<int64_t> dims,
                      Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getRank() != 1 || !cast<ViewType>(view.getType()).hasUnitStride(dims[0]) ||
      coordinates.rowAlignment(view) >= kPiece)
    return false;
  return isWorthCopy(tile) &&
         llvm::equal(layoutOf(tile)->columns(Dim::Lane), ArrayRef<uint64_t>{1, 2, 4, 8, 16});
}

bool tile::isAlignedRow(Value view, Value tile) {
  return view.getDefiningOp<AlignedRowOp>() &&
         cast<RankedTensorType>(tile.getType()).getRank() == 1 && isWorthCopy(tile);
}

bool tile::isBetterBulkLoaded(Value tile) {
  constexpr int64_t word = 4;
  return bytesOfElement(cast<RankedTensorType>(tile.getType()).getElementType()) < word;
}

BufferType tile::rowBuffer(Value tile, int64_t stages, bool slack) {
  auto type = cast<RankedTensorType>(tile.getType());
  Layout layout = *layoutOf(tile);
  unsigned bits = layout.out().bits() - gf2::rank(layout.columnsOf({Dim::Block}));
  Layout memory(Space({{Dim::Offset, 1u << bits}}), layout.out(), gf2::units(bits));
  return BufferType::get(tile.getContext(), stages, withLayout(type, inAllBlocks(memory, layout)),
                         slack ? kPiece / bytesOfElement(type.getElementType()) : 0);
}

Value tile::shiftOf(OpBuilder &builder, Location loc, Value view, ValueRange coords,
                    ArrayRef<int64_t> dims) {
  SmallVector<Value> first(coords);
  first[dims[0]] = arith::ConstantIndexOp::create(builder, loc, 0);
  int64_t elements = kPiece / bytesOfElement(cast<ViewType>(view.getType()).getElementType());
  return MisalignmentOp::create(builder, loc, builder.getIndexType(), view, first, elements);
}

Value tile::readRow(OpBuilder &builder, LoadOp load, Value buffer, Value stage, Value shift) {
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

SmallVector<Value> tile::coordsIn(LoadOp load, scf::ForOp loop, Value step) {
  SmallVector<Value> coords(load.getCoords());
  llvm::replace(coords, loop.getInductionVar(), step);
  return coords;
}

bool tile::comesBefore(const Coordinates &coordinates, scf::ForOp loop, scf::ForOp next) {
  Value end = loop.getUpperBound(), begin = next.getLowerBound();
  if (auto cut = end.getDefiningOp<arith::MinSIOp>())
    end = cut.getLhs();
  std::optional<SymExpr> x = coordinates.expression(end), y = coordinates.expression(begin);
  return end == begin || (x && y && *x == *y);
}

bool tile::runsOnce(const Coordinates &coordinates, scf::ForOp loop) {
  auto cut = loop.getUpperBound().getDefiningOp<arith::MinSIOp>();
  std::optional<SymExpr> first = coordinates.expression(loop.getLowerBound()),
                         end = coordinates.expression(cut ? cut.getLhs() : loop.getUpperBound());
  return first && end && end->kind() == SymExpr::Kind::CeilDiv &&
         *first == end->operands()[0].floorDiv(end->operands()[1]);
}

Value tile::stageAfter(OpBuilder &builder, Location loc, Value stage, int64_t stages) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value next = arith::AddIOp::create(builder, loc, stage, index(1));
  Value isLast =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, stage, index(stages - 1));
  return arith::SelectOp::create(builder, loc, isLast, index(0), next);
}

/// What the buffers of a kernel take.
static uint64_t bytesTaken(KernelOp kernel) {
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
  uint64_t taken = bytesTaken(kernel);
  // Persistent CTAs have no others to share with but those that the hints say.
  bool stays = llvm::any_of(kernel.getBody().front().getOps<scf::ForOp>(), isOverPrograms);
  if (taken && !stays) {
    uint64_t all = gpu.sm.sharedBytes,
             blocks = std::max<uint64_t>(1, all / (taken + 2 * kReserved));
    bytes = std::min(bytes, all / blocks - kReserved);
  }
  // Mailboxes are there all the time; those of a loop are counted with its exchanges.
  for (auto reduce : kernel.getBody().front().getOps<tile::ReduceOp>())
    taken += dsmemBytes(reduce);
  return bytes - std::min(bytes, taken);
}

uint64_t tile::bytesForRows(KernelOp kernel, uint64_t most, const GpuDescription &gpu) {
  SharedFeatures features = sharedFeaturesOf(gpu);
  uint64_t bytes = most ? most : features.memoryBytes,
           taken = bytesTaken(kernel) + exchangedBytes(kernel, features);
  DictionaryAttr hints = kernel.getHintsAttr();
  int64_t residents = getHint(hints, "min_ctas_per_sm").value_or(1),
          warps = getHint(hints, "num_warps").value_or(4);
  uint64_t blocks = std::max<int64_t>(residents, gpu.sm.warps / (4 * warps));
  bytes = std::min(bytes, gpu.sm.sharedBytes / blocks - kReserved);
  return bytes - std::min(bytes, taken);
}
