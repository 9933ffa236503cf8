//===- PlacedVerify.cpp - Verifiers of layouts and shared memory ----------===//
//
// Operations of placed programs: layout conversions, buffers in shared memory, distributed shared
// memory. BulkVerify.cpp has bulk copies and TMA, WgmmaVerify.cpp has warpgroup MMA.
//
//===----------------------------------------------------------------------===//
#include "Verify.h"

#include "tessera/Layout/Conversion.h"
#include "tessera/Layout/Families.h"
#include "tessera/Layout/Reduction.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

LogicalResult AllocOp::verify() {
  if (getOffset() && (int64_t(*getOffset()) < 0 || *getOffset() % 16))
    return emitOpError() << "expected an offset that is a multiple of 16, got "
                         << int64_t(*getOffset());
  if (Layout memory = getType().getMemory();
      getDsmem() && memory.in().bits(Dim::Block) && !memory.isInjective())
    return emitOpError()
           << "expected a dsmem with all elements in each CTA, or each element in one, got "
           << getType();
  if (getDsmem() && !llvm::isPowerOf2_64(getType().getStages()))
    return emitOpError() << "expected a power of two of stages for a dsmem, got "
                         << getType().getStages();
  return success();
}
LogicalResult CpAsyncCommitOp::verify() { return success(); }
LogicalResult BarrierOp::verify() { return success(); }

LogicalResult CpAsyncWaitOp::verify() { return expectPending(*this, getPending()); }

/// Threads access the shared memory of their own CTA only.
static LogicalResult verifyWithinCta(Operation *op, BufferType buffer, const Layout &layout) {
  if (buffer.getMemory().in().bits(Dim::Block) && !holder(buffer.getMemory(), layout, {Dim::Block}))
    return op->emitOpError()
           << "expected a buffer with the elements of each CTA's threads in that CTA, got "
           << buffer;
  return success();
}

LogicalResult CpAsyncOp::verify() {
  ViewType view = getView().getType();
  RankedTensorType tile = getBuffer().getType().getTile();
  if (failed(expectElement(*this, "a buffer", view.getElementType(), tile.getElementType())) ||
      failed(expectDistinctDims(*this, getDims(), view.getRank())))
    return failure();
  if (getCoords().size() != view.getRank() || int64_t(getDims().size()) != tile.getRank())
    return emitOpError() << "expected " << view.getRank() << " coordinates and " << tile.getRank()
                         << " dims, got " << getCoords().size() << " and " << getDims().size();
  if (failed(getVia().verifyEncoding(tile.getShape(), tile.getElementType(),
                                     [&] { return emitOpError(); })))
    return failure();
  return verifyWithinCta(*this, getBuffer().getType(), getVia().getValue());
}

/// A tile in registers that is the tile of a buffer or a slice of it.
static LogicalResult verifyTile(Operation *op, StringRef what, BufferType buffer,
                                RankedTensorType tile) {
  if (failed(expectElement(op, what, buffer.getTile().getElementType(), tile.getElementType())))
    return failure();
  if (!isa_and_nonnull<LayoutAttr>(tile.getEncoding()))
    return op->emitOpError() << "expected a tile with a layout, got " << tile;
  return success();
}

static LogicalResult verifyStage(Operation *op, StringRef what, BufferType buffer,
                                 RankedTensorType tile) {
  if (failed(expectShape(op, what, buffer.getTile().getShape(), tile.getShape())))
    return failure();
  return verifyTile(op, what, buffer, tile);
}

/// A tile that begins some elements after its stage.
static LogicalResult verifyShift(Operation *op, Value shift, BufferType buffer) {
  if (!shift)
    return success();
  if (buffer.getTile().getRank() != 1 || !buffer.getSlack())
    return op->emitOpError()
           << "expected a tile of rank 1 and a buffer with slack for a shift, got " << buffer;
  if (!buffer.isInOrder())
    return op->emitOpError() << "expected a buffer with the elements in order, got " << buffer;
  return success();
}

/// A slice has the rank of the whole tile, and its offsets are multiples of its sizes.
static LogicalResult verifySlice(Operation *op, ArrayRef<int64_t> whole, ArrayRef<int64_t> part,
                                 ArrayRef<int64_t> at) {
  if (at.size() != whole.size() || part.size() != whole.size())
    return op->emitOpError() << "expected a slice of rank " << whole.size() << ", got rank "
                             << part.size() << " and " << at.size() << " offsets";
  for (auto [size, most, offset] : llvm::zip(part, whole, at))
    if (size < 1 || offset < 0 || offset % size || offset > most - size)
      return op->emitOpError() << "expected a slice of size " << size
                               << " at a multiple of it, within " << most << ", got offset "
                               << offset;
  return success();
}

LogicalResult SliceOp::verify() {
  RankedTensorType whole = getInput().getType(), part = getType();
  if (whole.getElementType() != part.getElementType())
    return emitOpError() << "expected a slice of element type " << whole.getElementType()
                         << ", got " << part.getElementType();
  if (failed(verifySlice(*this, whole.getShape(), part.getShape(), getAt())))
    return failure();
  std::optional<Layout> held = layoutOf(getInput()), wanted = layoutOf(getResult());
  if (bool(held) != bool(wanted))
    return emitOpError("expected layouts on both tiles or on none");
  if (!held)
    return success();
  gf2::Vectors columns;
  for (uint64_t column : wanted->columns())
    columns.push_back(wanted->out().carry(column, held->out()));
  Layout inWhole(wanted->in(), held->out(), std::move(columns));
  bool isWithinBits = llvm::all_of(getAt(), [](int64_t offset) { return offset >= 0; });
  if (!isWithinBits || !holder(*held, inWhole, threadDims))
    return emitOpError("expected a slice whose elements the same threads hold in the input");
  return success();
}

uint64_t SliceOp::getInputElement(uint64_t element) {
  Point point = spaceOf(getType().getShape()).unpack(element), input;
  for (auto [dim, offset] : llvm::enumerate(getAt()))
    input[tensorDim(dim)] = point[tensorDim(dim)] + offset;
  return spaceOf(getInput().getType().getShape()).pack(input);
}

LogicalResult SharedLoadOp::verify() {
  if (failed(verifyShift(*this, getShift(), getBuffer().getType())))
    return failure();
  if (getShift() && getAt())
    return emitOpError("expected a whole tile for a shift, got a slice");
  if (getTransposed() && (getShift() || getAt() || getType().getRank() != 2))
    return emitOpError() << "expected a whole matrix for `transposed`, got " << getType();
  bool isBounded = getFrom() || getBelow();
  if (isBounded != getPad().has_value())
    return emitOpError("expected a pad with `from` or `below`, and none without");
  if (isBounded && (getAt() || getType().getRank() != 1))
    return emitOpError() << "expected a whole tile of rank 1 with `from` or `below`, got "
                         << getType();
  if (getPad() && cast<TypedAttr>(*getPad()).getType() != getType().getElementType())
    return emitOpError() << "expected a pad of type " << getType().getElementType() << ", got "
                         << cast<TypedAttr>(*getPad()).getType();
  if (!getAt()) {
    BufferType source = getSource();
    if (failed(verifyStage(*this, "a result", source, getType())))
      return failure();
    return verifyWithinCta(*this, source, *layoutOf(getResult()));
  }
  if (failed(verifySlice(*this, getBuffer().getType().getTile().getShape(), getType().getShape(),
                         *getAt())))
    return failure();
  return verifyTile(*this, "a result", getBuffer().getType(), getType());
}

BufferType SharedLoadOp::getSource() {
  BufferType buffer = getBuffer().getType();
  return getTransposed() ? buffer.getTransposed() : buffer;
}

Layout SharedLoadOp::getElementLayout() {
  Layout layout = *layoutOf(getResult());
  if (getTransposed())
    return layout.transpose({1, 0});
  Space whole = spaceOf(getBuffer().getType().getTile().getShape());
  gf2::Vectors columns;
  for (uint64_t column : layout.columns())
    columns.push_back(layout.out().carry(column, whole));
  return Layout(layout.in(), whole, std::move(columns));
}

uint64_t SharedLoadOp::getFirstElement() {
  Point point;
  if (getAt())
    for (auto [dim, offset] : llvm::enumerate(*getAt()))
      point[tensorDim(dim)] = offset;
  return spaceOf(getBuffer().getType().getTile().getShape()).pack(point);
}

LogicalResult SharedStoreOp::verify() {
  if (failed(verifyShift(*this, getShift(), getBuffer().getType())))
    return failure();
  if (failed(verifyStage(*this, "a tile", getBuffer().getType(), tileType(getValue()))))
    return failure();
  return verifyWithinCta(*this, getBuffer().getType(), *layoutOf(getValue()));
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

static LogicalResult verifyDsmem(Operation *op, Value dsmem) {
  auto alloc = dsmem.getDefiningOp<AllocOp>();
  if (!alloc || !alloc.getDsmem())
    return op->emitOpError("expected a buffer of 'tile.alloc dsmem'");
  return success();
}

LogicalResult ClusterArriveOp::verify() {
  bool hasMbarriers =
      llvm::any_of((*this)->getBlock()->getOps<MbarrierAllocOp>(),
                   [&](MbarrierAllocOp mbarriers) { return mbarriers->isBeforeInBlock(*this); });
  if (getDsmem().empty() && !hasMbarriers)
    return emitOpError("expected dsmem buffers, or mbarriers before it, got none");
  for (Value dsmem : getDsmem())
    if (failed(verifyDsmem(*this, dsmem)))
      return failure();
  return success();
}
LogicalResult ClusterWaitOp::verify() { return success(); }
LogicalResult DsmemWaitOp::verify() { return verifyDsmem(*this, getDsmem()); }

LogicalResult DsmemStoreOp::verify() {
  Type element = getDsmem().getType().getTile().getElementType();
  if (!llvm::is_contained({32u, 64u}, element.getIntOrFloatBitWidth()))
    return emitOpError() << "expected elements of 32 or 64 bits, got " << element;
  if (failed(verifyDsmem(*this, getDsmem())))
    return failure();
  return verifyStage(*this, "a tile", getDsmem().getType(), tileType(getValue()));
}

LogicalResult DsmemLoadOp::verify() {
  if (failed(verifyDsmem(*this, getDsmem())) ||
      failed(verifyStage(*this, "a result", getDsmem().getType(), getType())))
    return failure();
  return verifyWithinCta(*this, getDsmem().getType(), *layoutOf(getResult()));
}

LogicalResult MmaSharedOp::verify() {
  RankedTensorType lhs = getLhs().getType().getTile(), rhs = getRhs().getType().getTile(),
                   acc = tileType(getAcc());
  if (lhs.getRank() != 2 || rhs.getRank() != 2 || acc.getRank() != 2)
    return emitOpError() << "expected matrices, got ranks " << lhs.getRank() << ", "
                         << rhs.getRank() << " and " << acc.getRank();
  if (failed(expectShape(*this, "rhs", {lhs.getDimSize(1), acc.getDimSize(1)}, rhs.getShape())) ||
      failed(expectShape(*this, "acc", {lhs.getDimSize(0), rhs.getDimSize(1)}, acc.getShape())))
    return failure();
  if (!layoutOf(getAcc()))
    return emitOpError() << "expected a tile with a layout, got " << acc;
  for (BufferType buffer : {getLhs().getType(), getRhs().getType()}) {
    ArrayRef<int64_t> shape = buffer.getTile().getShape();
    Layout rows =
        linearShared(SmallVector<unsigned>(shape.begin(), shape.end()), std::array{1u, 0u});
    if (buffer.getMemory() != rows)
      return emitOpError() << "expected row-major matrices, got " << buffer;
  }
  return success();
}

LogicalResult ConvertOp::verify() {
  RankedTensorType input = tileType(getInput()), result = tileType(getResult());
  if (failed(expectElement(*this, "a result", input.getElementType(), result.getElementType())) ||
      failed(expectShape(*this, "a result", input.getShape(), result.getShape())))
    return failure();
  for (Value value : {Value(getInput()), Value(getResult())})
    if (!layoutOf(value))
      return emitOpError() << "expected tiles with layouts, got " << value.getType();
  if (!holder(*layoutOf(getInput()), *layoutOf(getResult()), {Dim::Block}))
    return emitOpError() << "expected a conversion within each CTA, got " << input << " -> "
                         << result;
  return success();
}

RankedTensorType tile::partialType(RankedTensorType input, ArrayRef<int64_t> dims) {
  Layout layout = cast<LayoutAttr>(input.getEncoding()).getValue();
  ReductionPlan plan = planReduction(layout, SmallVector<unsigned>(dims.begin(), dims.end()));
  SmallVector<int64_t> shape = withoutDims(input.getShape(), dims);
  Layout parts = plan.partial(shape.size()).withoutFreeBits({Dim::Register});
  shape.push_back(int64_t(1) << (plan.warps.size() + plan.blocks.size()));
  return RankedTensorType::get(shape, input.getElementType(),
                               LayoutAttr::get(input.getContext(), parts));
}

LogicalResult WarpReduceOp::verify() {
  RankedTensorType input = tileType(getInput());
  if (!layoutOf(getInput()))
    return emitOpError() << "expected a tile with a layout, got " << input;
  if (getDims().empty())
    return emitOpError("expected at least one dimension to reduce, got none");
  if (failed(verifyReduction(*this, input, getKind(), getDims(), getSkipNan())))
    return failure();
  if (RankedTensorType parts = partialType(input, getDims()); parts != getType())
    return emitOpError() << "expected a result of type " << parts << ", got " << getType();
  return success();
}
