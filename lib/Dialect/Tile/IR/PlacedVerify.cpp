//===- PlacedVerify.cpp - What makes a placed program well formed ---------===//
//
// Verifiers of the operations that know layouts and shared memory.
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
    return emitOpError() << "expected an offset that 16 divides, got " << int64_t(*getOffset());
  if (Layout memory = getType().getMemory(); getMailbox() && memory.in().bits(Dim::Block) && !memory.isInjective())
    return emitOpError() << "expected a mailbox that holds all elements in each block, or each one in one, got " << getType();
  if (getMailbox() && !llvm::isPowerOf2_64(getType().getSlots()))
    return emitOpError() << "expected a mailbox with a power of two of slots, got " << getType().getSlots();
  return success();
}
LogicalResult CommitOp::verify() { return success(); }
LogicalResult BarrierOp::verify() { return success(); }

LogicalResult WaitOp::verify() { return expectPending(*this, getPending()); }

/// Threads reach the shared memory of their own block.
static LogicalResult verifyWithinBlocks(Operation *op, BufferType buffer, const Layout &layout) {
  if (buffer.getMemory().in().bits(Dim::Block) && !holder(buffer.getMemory(), layout, {Dim::Block}))
    return op->emitOpError() << "expected a buffer in which each block has the elements of its own threads, got " << buffer;
  return success();
}

LogicalResult CopyOp::verify() {
  ViewType view = getView().getType();
  RankedTensorType tile = getBuffer().getType().getTile();
  if (failed(expectElement(*this, "a buffer", view.getElementType(), tile.getElementType())) ||
      failed(expectDistinctDims(*this, getDims(), view.getRank())))
    return failure();
  if (getCoords().size() != view.getRank() || int64_t(getDims().size()) != tile.getRank())
    return emitOpError() << "expected " << view.getRank() << " coordinates and " << tile.getRank() << " dims, got "
                         << getCoords().size() << " and " << getDims().size();
  if (failed(getVia().verifyEncoding(tile.getShape(), tile.getElementType(), [&] { return emitOpError(); })))
    return failure();
  return verifyWithinBlocks(*this, getBuffer().getType(), getVia().getValue());
}

/// A tile in registers that is, or is of, the tile of a buffer.
static LogicalResult verifyTile(Operation *op, StringRef what, BufferType buffer, RankedTensorType tile) {
  if (failed(expectElement(op, what, buffer.getTile().getElementType(), tile.getElementType())))
    return failure();
  if (!isa_and_nonnull<LayoutAttr>(tile.getEncoding()))
    return op->emitOpError() << "expected a tile with a layout, got " << tile;
  return success();
}

static LogicalResult verifySlot(Operation *op, StringRef what, BufferType buffer, RankedTensorType tile) {
  if (failed(expectShape(op, what, buffer.getTile().getShape(), tile.getShape())))
    return failure();
  return verifyTile(op, what, buffer, tile);
}

/// A tile that begins anywhere in a slot.
static LogicalResult verifyBehind(Operation *op, Value behind, BufferType buffer) {
  if (!behind)
    return success();
  if (buffer.getTile().getRank() != 1 || !buffer.getSlack())
    return op->emitOpError() << "expected a slot with slack for a tile of rank 1 that begins behind some elements, got "
                             << buffer;
  if (!buffer.isInOrder())
    return op->emitOpError() << "expected elements that lie in order, got " << buffer;
  return success();
}

/// Part and whole have the same dimensions, and a part begins at multiples of its sizes.
static LogicalResult verifyPart(Operation *op, ArrayRef<int64_t> whole, ArrayRef<int64_t> part, ArrayRef<int64_t> at) {
  if (at.size() != whole.size() || part.size() != whole.size())
    return op->emitOpError() << "expected a part of " << whole.size() << " dimensions, got " << part.size() << " and "
                             << at.size() << " numbers of where it begins";
  for (auto [size, most, begin] : llvm::zip(part, whole, at))
    if (begin < 0 || begin % size || begin + size > most)
      return op->emitOpError() << "expected a part of size " << size << " that begins at a multiple of it and ends by " << most
                               << ", got one at " << begin;
  return success();
}

LogicalResult SliceOp::verify() {
  RankedTensorType whole = getInput().getType(), part = getType();
  if (whole.getElementType() != part.getElementType())
    return emitOpError() << "expected a part of elements " << whole.getElementType() << ", got " << part.getElementType();
  if (failed(verifyPart(*this, whole.getShape(), part.getShape(), getAt())))
    return failure();
  std::optional<Layout> held = layoutOf(getInput()), wanted = layoutOf(getResult());
  if (bool(held) != bool(wanted))
    return emitOpError("expected layouts of both tiles or of none");
  if (!held)
    return success();
  gf2::Vectors columns;
  for (uint64_t column : wanted->columns())
    columns.push_back(wanted->out().carry(column, held->out()));
  Layout inWhole(wanted->in(), held->out(), std::move(columns));
  bool isWithinBits = llvm::all_of(getAt(), [](int64_t begin) { return begin >= 0; });
  if (!isWithinBits || !holder(*held, inWhole, threadDims))
    return emitOpError("expected a part that threads hold of the whole");
  return success();
}

uint64_t SliceOp::getPlace(uint64_t element) {
  Point point = spaceOf(getType().getShape()).unpack(element), place;
  for (auto [dim, begin] : llvm::enumerate(getAt()))
    place[tensorDim(dim)] = point[tensorDim(dim)] + begin;
  return spaceOf(getInput().getType().getShape()).pack(place);
}

LogicalResult ReadOp::verify() {
  if (failed(verifyBehind(*this, getBehind(), getBuffer().getType())))
    return failure();
  if (getBehind() && getAt())
    return emitOpError("expected a whole tile behind some elements, got a part");
  bool isPart = getFrom() || getBelow();
  if (isPart != getPad().has_value())
    return emitOpError("expected a pad with `from` or `below`, and none without");
  if (isPart && (getAt() || getType().getRank() != 1))
    return emitOpError() << "expected a whole tile of rank 1 whose elements are there in part, got " << getType();
  if (getPad() && cast<TypedAttr>(*getPad()).getType() != getType().getElementType())
    return emitOpError() << "expected a pad of type " << getType().getElementType() << ", got "
                         << cast<TypedAttr>(*getPad()).getType();
  if (!getAt()) {
    if (failed(verifySlot(*this, "a result", getBuffer().getType(), getType())))
      return failure();
    return verifyWithinBlocks(*this, getBuffer().getType(), *layoutOf(getResult()));
  }
  if (failed(verifyPart(*this, getBuffer().getType().getTile().getShape(), getType().getShape(), *getAt())))
    return failure();
  return verifyTile(*this, "a result", getBuffer().getType(), getType());
}

Layout ReadOp::getPlaces() {
  Layout layout = *layoutOf(getResult());
  Space whole = spaceOf(getBuffer().getType().getTile().getShape());
  gf2::Vectors columns;
  for (uint64_t column : layout.columns())
    columns.push_back(layout.out().carry(column, whole));
  return Layout(layout.in(), whole, std::move(columns));
}

uint64_t ReadOp::getFirst() {
  Point point;
  if (getAt())
    for (auto [dim, begin] : llvm::enumerate(*getAt()))
      point[tensorDim(dim)] = begin;
  return spaceOf(getBuffer().getType().getTile().getShape()).pack(point);
}

LogicalResult WriteOp::verify() {
  if (failed(verifyBehind(*this, getBehind(), getBuffer().getType())))
    return failure();
  if (failed(verifySlot(*this, "a tile", getBuffer().getType(), tileType(getValue()))))
    return failure();
  return verifyWithinBlocks(*this, getBuffer().getType(), *layoutOf(getValue()));
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

static LogicalResult verifyMailbox(Operation *op, Value mailbox) {
  auto alloc = mailbox.getDefiningOp<AllocOp>();
  if (!alloc || !alloc.getMailbox())
    return op->emitOpError("expected a mailbox, which 'tile.alloc mailbox' makes");
  return success();
}

LogicalResult OpenOp::verify() {
  bool hasGates = llvm::any_of((*this)->getBlock()->getOps<GatesOp>(), [&](GatesOp gates) { return gates->isBeforeInBlock(*this); });
  if (getMailboxes().empty() && !hasGates)
    return emitOpError("expected a mailbox, or gates before it, got none");
  for (Value mailbox : getMailboxes())
    if (failed(verifyMailbox(*this, mailbox)))
      return failure();
  return success();
}
LogicalResult MeetOp::verify() { return success(); }
LogicalResult ReceiveOp::verify() { return verifyMailbox(*this, getMailbox()); }

LogicalResult PushOp::verify() {
  Type element = getMailbox().getType().getTile().getElementType();
  if (!llvm::is_contained({32u, 64u}, element.getIntOrFloatBitWidth()))
    return emitOpError() << "expected elements of 32 or 64 bits, got " << element;
  if (failed(verifyMailbox(*this, getMailbox())))
    return failure();
  return verifySlot(*this, "a tile", getMailbox().getType(), tileType(getValue()));
}

LogicalResult TakeOp::verify() {
  if (failed(verifyMailbox(*this, getMailbox())) ||
      failed(verifySlot(*this, "a result", getMailbox().getType(), getType())))
    return failure();
  return verifyWithinBlocks(*this, getMailbox().getType(), *layoutOf(getResult()));
}

LogicalResult MmaSharedOp::verify() {
  RankedTensorType lhs = getLhs().getType().getTile(), rhs = getRhs().getType().getTile(), acc = tileType(getAcc());
  if (lhs.getRank() != 2 || rhs.getRank() != 2 || acc.getRank() != 2)
    return emitOpError() << "expected matrices, got ranks " << lhs.getRank() << ", " << rhs.getRank() << " and "
                         << acc.getRank();
  if (failed(expectShape(*this, "rhs", {lhs.getDimSize(1), acc.getDimSize(1)}, rhs.getShape())) ||
      failed(expectShape(*this, "acc", {lhs.getDimSize(0), rhs.getDimSize(1)}, acc.getShape())))
    return failure();
  if (!layoutOf(getAcc()))
    return emitOpError() << "expected a tile with a layout, got " << acc;
  for (BufferType buffer : {getLhs().getType(), getRhs().getType()}) {
    ArrayRef<int64_t> shape = buffer.getTile().getShape();
    Layout rows = linearShared(SmallVector<unsigned>(shape.begin(), shape.end()), std::array{1u, 0u});
    if (buffer.getMemory() != rows)
      return emitOpError() << "expected matrices that lie row by row, got " << buffer;
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
    return emitOpError() << "expected what a block needs within the block: the blocks of a cluster exchange parts of "
                            "reductions only; got "
                         << input << " -> " << result;
  return success();
}

RankedTensorType tile::partialType(RankedTensorType input, ArrayRef<int64_t> dims) {
  Layout layout = cast<LayoutAttr>(input.getEncoding()).getValue();
  ReductionPlan plan = planReduction(layout, SmallVector<unsigned>(dims.begin(), dims.end()));
  SmallVector<int64_t> shape = withoutDims(input.getShape(), dims);
  Layout parts = plan.partial(shape.size()).withoutFreeBits({Dim::Register});
  shape.push_back(int64_t(1) << (plan.warps.size() + plan.blocks.size()));
  return RankedTensorType::get(shape, input.getElementType(), LayoutAttr::get(input.getContext(), parts));
}

LogicalResult PartialOp::verify() {
  RankedTensorType input = tileType(getInput());
  if (!layoutOf(getInput()))
    return emitOpError() << "expected a tile with a layout, got " << input;
  if (getDims().empty())
    return emitOpError("expected at least one dimension, got none");
  if (failed(verifyJoin(*this, input, getKind(), getDims(), getSkipNan())))
    return failure();
  if (RankedTensorType parts = partialType(input, getDims()); parts != getType())
    return emitOpError() << "expected a result of type " << parts << ", got " << getType();
  return success();
}
