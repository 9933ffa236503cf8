//===- BulkVerify.cpp - What makes copies of rows and boxes well formed ---===//
#include "Verify.h"

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Layout/Conversion.h"
#include "tessera/Layout/Families.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

static constexpr int64_t kPiece = 16; // bytes that the machine copies at once

LogicalResult GatesOp::verify() {
  if (getOffset() && (int64_t(*getOffset()) < 0 || *getOffset() % GatesType::kBytes))
    return emitOpError() << "expected an offset that " << GatesType::kBytes << " divides, got " << int64_t(*getOffset());
  constexpr int64_t kMost = (1 << 20) - 1;
  if (int64_t count = getArrivals().value_or(1); count < 1 || count > kMost)
    return emitOpError() << "expected 1 to " << kMost << " arrivals, got " << count;
  return success();
}
LogicalResult FenceOp::verify() { return success(); }

/// Dimensions and coordinates of a view, and the type of the slot's elements.
template <typename CopyOp> static LogicalResult verifyPlaces(CopyOp op) {
  ViewType view = op.getView().getType();
  if (failed(expectElement(op, "a buffer", view.getElementType(), op.getBuffer().getType().getTile().getElementType())) ||
      failed(expectDistinctDims(op, op.getDims(), view.getRank())))
    return failure();
  if (op.getCoords().size() != view.getRank())
    return op.emitOpError() << "expected " << view.getRank() << " coordinates, one for each dimension of the view, got "
                            << op.getCoords().size();
  return success();
}

/// A row of a view and its slot.
template <typename RowOp> static LogicalResult verifyRow(RowOp op) {
  ViewType view = op.getView().getType();
  BufferType buffer = op.getBuffer().getType();
  RankedTensorType tile = buffer.getTile();
  if (tile.getRank() != 1 || op.getDims().size() != 1)
    return op.emitOpError() << "expected a tile of rank 1, got " << tile << " and " << op.getDims().size() << " dims";
  if (failed(verifyPlaces(op)))
    return failure();
  if (!view.hasUnitStride(op.getDims()[0]))
    return op.emitOpError() << "expected neighbours in memory along dimension " << op.getDims()[0] << ", got " << view;
  int64_t elements = buffer.getElements(), bytes = buffer.getElementBytes();
  if (!buffer.isInOrder())
    return op.emitOpError() << "expected elements that lie in order, got " << buffer;
  if (elements * bytes % kPiece || elements < 32)
    return op.emitOpError() << "expected at least 32 elements of a block, and bytes that " << kPiece << " divides, got " << tile;
  if (buffer.getSlack() && buffer.getSlack() * bytes != kPiece)
    return op.emitOpError() << "expected a slack of " << kPiece / bytes << " elements or none, got " << buffer.getSlack();
  return success();
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// The dimension of a box's tile along which elements are neighbours in memory; none: there is no such.
static std::optional<unsigned> innerOf(FetchOp fetch) {
  for (unsigned i = fetch.getDims().size(); i-- > 0;)
    if (fetch.getView().getType().hasUnitStride(fetch.getDims()[i]))
      return i;
  return std::nullopt;
}

/// The blocks of a kernel's clusters.
static int64_t clusterOf(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  return getHint(kernel ? kernel.getHintsAttr() : DictionaryAttr(), "cluster").value_or(1);
}

int64_t FetchOp::getSharers() { return getShared() ? clusterOf(*this) : 1; }

/// A block's part of a box for all blocks: some of the spans, or of the slowest dimension some elements, in which a swizzle is whole.
static bool takePart(Box &box, int64_t blocks, int64_t rank) {
  constexpr int64_t kLines = 8; // of a swizzle
  if (box.count % blocks == 0) {
    box.count /= blocks;
    box.isWhole &= box.count > 1;
    box.shared = 0;
    return true;
  }
  int64_t &slowest = box.sizes[rank - 1], lines = 1;
  for (int64_t size : ArrayRef(box.sizes).slice(1, rank - 1))
    lines *= size;
  if (slowest % blocks || lines / blocks % kLines)
    return false;
  slowest /= blocks;
  box.isWhole = false;
  box.shared = rank - 1;
  return true;
}

bool FetchOp::canShare(int64_t blocks) {
  std::optional<Box> box = isBox() ? getBox() : std::nullopt;
  return box && !getShared() && !getBuffer().getType().getMemory().in().bits(Dim::Block) &&
         takePart(*box, blocks, getBuffer().getType().getTile().getRank());
}

std::optional<Box> FetchOp::getBox() {
  ViewType view = getView().getType();
  BufferType buffer = getBuffer().getType();
  SmallVector<int64_t> shape(buffer.getTile().getShape());
  std::optional<unsigned> inner = innerOf(*this);
  std::optional<BlockPart> part = partOfBlock(buffer.getMemory());
  if (!inner || !part)
    return std::nullopt;
  if (part->blocks > 1)
    shape[part->dim] /= part->blocks;
  int64_t bytes = buffer.getElementBytes(), row = shape[*inner] * bytes;
  SmallVector<unsigned> sizes(shape.begin(), shape.end());
  for (int64_t span : {128, 64, 32, 16}) {
    if (row < span || part->layout != boxedShared(sizes, *inner, 8 * bytes, span))
      continue;
    bool isWhole = row > span && int64_t(view.getRank()) < Box::kMostDims &&
                   view.getDivisor(getDims()[*inner]) % (span / bytes) == 0;
    Box box{{getDims()[*inner]}, {span / bytes}, span, row / span, isWhole};
    for (unsigned i = shape.size(); i-- > 0;)
      if (i != *inner) {
        box.dims.push_back(getDims()[i]);
        box.sizes.push_back(shape[i]);
      }
    for (int64_t dim = 0; dim < int64_t(view.getRank()); ++dim)
      if (!llvm::is_contained(getDims(), dim)) {
        box.dims.push_back(dim);
        box.sizes.push_back(1);
      }
    if (getShared() && !takePart(box, getSharers(), shape.size()))
      return std::nullopt;
    return box;
  }
  return std::nullopt;
}

static LogicalResult verifyBox(FetchOp op) {
  ViewType view = op.getView().getType();
  BufferType buffer = op.getBuffer().getType();
  RankedTensorType tile = buffer.getTile();
  int64_t bytes = buffer.getElementBytes();
  if (int64_t(op.getDims().size()) != tile.getRank())
    return op.emitOpError() << "expected " << tile.getRank() << " dims for " << tile << ", got " << op.getDims().size();
  if (failed(verifyPlaces(op)))
    return failure();
  if (view.getRank() > Box::kMostDims)
    return op.emitOpError() << "expected a view of at most " << Box::kMostDims << " dimensions, got " << view;
  std::optional<unsigned> inner = innerOf(op);
  if (!inner)
    return op.emitOpError() << "expected neighbours in memory along a dimension of the tile, got " << view;
  for (auto [dim, stride] : llvm::enumerate(view.getStrides()))
    if (int64_t(dim) != op.getDims()[*inner] && !ShapedType::isDynamic(stride) && (stride <= 0 || stride * bytes % kPiece))
      return op.emitOpError() << "expected a stride in dimension " << dim << " that " << kPiece
                              << " bytes divide, above 0, got " << stride;
  if (int64_t blocks = clusterOf(op); op.getShared() && (blocks < 2 || buffer.getMemory().in().bits(Dim::Block)))
    return op.emitOpError() << "expected a cluster whose blocks all have the whole tile, got " << blocks << " and " << buffer;
  std::optional<Box> box = op.getBox();
  if (op.getShared() && !box)
    return op.emitOpError() << "expected a tile of which each of " << op.getSharers() << " blocks can bring a part, got " << buffer;
  if (!box || buffer.getSlack())
    return op.emitOpError() << "expected a layout that tensor copies write, got " << buffer;
  for (int64_t size : box->sizes)
    if (size > Box::kMostElements)
      return op.emitOpError() << "expected boxes of at most " << Box::kMostElements << " elements in each dimension, got " << size;
  if (buffer.getBytes() % box->alignment())
    return op.emitOpError() << "expected slots of bytes that " << box->alignment() << " divides, got " << buffer.getBytes();
  auto room = op.getBuffer().getDefiningOp<AllocOp>();
  if (room && room.getOffset() && *room.getOffset() % box->alignment())
    return op.emitOpError() << "expected a buffer at an offset that " << box->alignment() << " divides, got "
                            << int64_t(*room.getOffset());
  return success();
}

LogicalResult FetchOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  int64_t warps = getHint(kernel ? kernel.getHintsAttr() : DictionaryAttr(), "warps").value_or(4);
  if (int64_t by = getBy().value_or(0); by < 0 || by >= warps)
    return emitOpError() << "expected one of " << warps << " warps, got " << by;
  if (bool(getLeft()) != bool(getLeftGate()) || bool(getLeft()) != bool(getLeftPhase()) || ((getLeft() || getShared()) && !isBox()))
    return emitOpError("expected a box, a gate and its phase where it waits for others");
  return isBox() ? verifyBox(*this) : verifyRow(*this);
}
LogicalResult SendOp::verify() { return verifyRow(*this); }

/// Of gates that warps tell, nobody else opens one, and all warps do.
LogicalResult ArriveOp::verify() {
  auto made = getGates().getDefiningOp<GatesOp>();
  auto kernel = (*this)->getParentOfType<KernelOp>();
  int64_t warps = getHint(kernel ? kernel.getHintsAttr() : DictionaryAttr(), "warps").value_or(4);
  if (getCluster())
    warps *= clusterOf(*this);
  if (made && int64_t(made.getArrivals().value_or(1)) != warps)
    return emitOpError() << "expected gates of " << warps << " arrivals, one of each warp, got " << made.getArrivals().value_or(1);
  for (Operation *user : getGates().getUsers())
    if (auto fetch = dyn_cast<FetchOp>(user); fetch && fetch.getGates() == getGates())
      return emitOpError("expected gates that warps alone open").attachNote(user->getLoc()) << "a copy opens one here";
  return success();
}
LogicalResult AwaitOp::verify() { return success(); }

LogicalResult SentOp::verify() {
  if (int64_t(getPending()) < 0)
    return emitOpError() << "expected a number of sends of at least 0, got " << int64_t(getPending());
  return success();
}
