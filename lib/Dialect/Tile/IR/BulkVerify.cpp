//===- BulkVerify.cpp - Verifiers of mbarriers, bulk copies and TMA -------===//
//
// A bulk copy moves a row in 16-byte chunks; a TMA load moves boxes that a tensor map describes.
// getBox() decides what one instruction of a TMA load copies: it looks for the swizzle span whose
// layout the buffer has.
//
//===----------------------------------------------------------------------===//
#include "Verify.h"

#include "tessera/Layout/Conversion.h"
#include "tessera/Layout/Families.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

static constexpr int64_t kChunk = 16; // bytes that bulk copies and TMA strides are multiples of

static int64_t numWarps(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  return kernel ? kernel.getNumWarps() : kDefaultNumWarps;
}

static int64_t clusterSize(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  return kernel ? kernel.getClusterSize() : kDefaultClusterSize;
}

//===----------------------------------------------------------------------===//
// Mbarriers
//===----------------------------------------------------------------------===//

LogicalResult MbarrierAllocOp::verify() {
  if (getOffset() && (int64_t(*getOffset()) < 0 || *getOffset() % MbarrierType::kBytes))
    return emitOpError() << "expected an offset that is a multiple of " << MbarrierType::kBytes
                         << ", got " << int64_t(*getOffset());
  constexpr int64_t kMost = (1 << 20) - 1;
  if (int64_t count = getArrivals().value_or(1); count < 1 || count > kMost)
    return emitOpError() << "expected 1 to " << kMost << " arrivals, got " << count;
  return success();
}

LogicalResult MbarrierWaitOp::verify() { return success(); }

/// At an empty mbarrier every warp arrives, and no load completes.
LogicalResult MbarrierArriveOp::verify() {
  auto alloc = getMbarriers().getDefiningOp<MbarrierAllocOp>();
  int64_t warps = numWarps(*this);
  if (getCluster())
    warps *= clusterSize(*this);
  if (alloc && int64_t(alloc.getArrivals().value_or(1)) != warps)
    return emitOpError() << "expected mbarriers with " << warps << " arrivals, one per warp, got "
                         << alloc.getArrivals().value_or(1);
  for (Operation *user : getMbarriers().getUsers())
    if (auto load = dyn_cast<AsyncLoadOpInterface>(user); load && load.getFull() == getMbarriers())
      return emitOpError("expected mbarriers at which no load completes").attachNote(user->getLoc())
             << "a load completes at one here";
  return success();
}

//===----------------------------------------------------------------------===//
// Copies of either kind
//===----------------------------------------------------------------------===//

/// Dimensions and coordinates of a view, and the element type of the stage.
/// The element type that a copy writes. TMA can round f32 to tf32.
static Type copiedElement(Operation *op, Type element) {
  auto load = dyn_cast<TmaLoadOp>(op);
  return load && load.isRounded() && element.isF32() ? Type(FloatTF32Type::get(op->getContext()))
                                                     : element;
}

template <typename CopyOp> static LogicalResult verifyCoords(CopyOp op) {
  ViewType view = op.getView().getType();
  if (failed(expectElement(op, "a buffer", copiedElement(op, view.getElementType()),
                           op.getBuffer().getType().getTile().getElementType())) ||
      failed(expectDistinctDims(op, op.getDims(), view.getRank())))
    return failure();
  if (op.getCoords().size() != view.getRank())
    return op.emitOpError() << "expected " << view.getRank()
                            << " coordinates, one for each dimension of the view, got "
                            << op.getCoords().size();
  return success();
}

static LogicalResult verifyIssuingWarp(AsyncLoadOpInterface op) {
  int64_t warps = numWarps(op), warp = op.getIssuingWarp();
  if (warp < 0 || warp >= warps)
    return op->emitOpError() << "expected a warp below " << warps << ", got " << warp;
  return success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

template <typename CopyOp> static LogicalResult verifyRow(CopyOp op) {
  ViewType view = op.getView().getType();
  BufferType buffer = op.getBuffer().getType();
  RankedTensorType tile = buffer.getTile();
  if (tile.getRank() != 1 || op.getDims().size() != 1)
    return op.emitOpError() << "expected a tile of rank 1, got " << tile << " and "
                            << op.getDims().size() << " dims";
  if (failed(verifyCoords(op)))
    return failure();
  if (!view.hasUnitStride(op.getDims()[0]))
    return op.emitOpError() << "expected contiguous elements along dimension " << op.getDims()[0]
                            << ", got " << view;
  int64_t elements = buffer.getElements(), bytes = buffer.getElementBytes();
  if (!buffer.isInOrder())
    return op.emitOpError() << "expected a buffer with the elements in order, got " << buffer;
  if (elements * bytes % kChunk || elements < 32)
    return op.emitOpError() << "expected at least 32 elements per CTA and a multiple of " << kChunk
                            << " bytes, got " << tile;
  if (buffer.getSlack() && buffer.getSlack() * bytes != kChunk)
    return op.emitOpError() << "expected a slack of " << kChunk / bytes << " elements or none, got "
                            << buffer.getSlack();
  return success();
}

LogicalResult BulkLoadOp::verify() {
  return failed(verifyIssuingWarp(*this)) ? failure() : verifyRow(*this);
}
LogicalResult BulkStoreOp::verify() { return verifyRow(*this); }

LogicalResult BulkWaitOp::verify() {
  if (int64_t(getPending()) < 0)
    return emitOpError() << "expected at least 0 pending bulk stores, got "
                         << int64_t(getPending());
  return success();
}

LogicalResult FenceProxyAsyncOp::verify() { return success(); }

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// The dimension of the tile along which elements are contiguous in memory.
static std::optional<unsigned> contiguousDim(TmaLoadOp load) {
  for (unsigned i = load.getDims().size(); i-- > 0;)
    if (load.getView().getType().hasUnitStride(load.getDims()[i]))
      return i;
  return std::nullopt;
}

/// Cuts a box down to what one CTA issues of a multicast: some of the spans, or of the slowest
/// dimension some elements such that whole swizzle patterns are copied.
static bool divideAmongCtas(Box &box, int64_t ctas, int64_t rank) {
  constexpr int64_t kSwizzleRows = 8;
  if (box.count % ctas == 0) {
    box.count /= ctas;
    box.isWhole &= box.count > 1;
    box.multicastDim = 0;
    return true;
  }
  int64_t &slowest = box.sizes[rank - 1], rows = 1;
  for (int64_t size : ArrayRef(box.sizes).slice(1, rank - 1))
    rows *= size;
  if (slowest % ctas || rows / ctas % kSwizzleRows)
    return false;
  slowest /= ctas;
  box.isWhole = false;
  box.multicastDim = rank - 1;
  return true;
}

int64_t TmaLoadOp::getMulticastCtas() { return getMulticast() ? clusterSize(*this) : 1; }

bool TmaLoadOp::canMulticast(int64_t ctas) {
  std::optional<Box> box = getBox();
  return box && !getMulticast() && !getBuffer().getType().getMemory().in().bits(Dim::Block) &&
         divideAmongCtas(*box, ctas, getBuffer().getType().getTile().getRank());
}

std::optional<Box> TmaLoadOp::getBox() {
  ViewType view = getView().getType();
  BufferType buffer = getBuffer().getType();
  SmallVector<int64_t> shape(buffer.getTile().getShape());
  std::optional<unsigned> inner = contiguousDim(*this);
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
    // A tile of rank 1 is a box of its own, which is not swizzled.
    bool isRow = shape.size() == 1 && span == Box::kUnswizzled;
    if (shape.size() == 1 && !isRow)
      continue;
    bool isWhole = !isRow && row > span && int64_t(view.getRank()) < Box::kMostDims &&
                   view.getDivisor(getDims()[*inner]) % (span / bytes) == 0;
    Box box{{getDims()[*inner]},
            {isRow ? shape[0] : span / bytes},
            span,
            isRow ? 1 : row / span,
            isWhole};
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
    if (getMulticast() && !divideAmongCtas(box, getMulticastCtas(), shape.size()))
      return std::nullopt;
    return box;
  }
  return std::nullopt;
}

/// The view is one that a tensor map can describe.
static LogicalResult verifyTensorMap(TmaLoadOp op) {
  ViewType view = op.getView().getType();
  int64_t bytes = op.getBuffer().getType().getElementBytes();
  if (view.getRank() > Box::kMostDims)
    return op.emitOpError() << "expected a view of at most " << Box::kMostDims
                            << " dimensions, got " << view;
  std::optional<unsigned> inner = contiguousDim(op);
  if (!inner)
    return op.emitOpError() << "expected contiguous elements along a dimension of the tile, got "
                            << view;
  for (auto [dim, stride] : llvm::enumerate(view.getStrides()))
    if (int64_t(dim) != op.getDims()[*inner] && !ShapedType::isDynamic(stride) &&
        (stride <= 0 || stride * bytes % kChunk))
      return op.emitOpError() << "expected a positive stride in dimension " << dim
                              << " that is a multiple of " << kChunk << " bytes, got " << stride
                              << " elements";
  return success();
}

/// The stage is one that TMA can write.
static LogicalResult verifyBox(TmaLoadOp op) {
  BufferType buffer = op.getBuffer().getType();
  if (int64_t ctas = clusterSize(op);
      op.getMulticast() && (ctas < 2 || buffer.getMemory().in().bits(Dim::Block)))
    return op.emitOpError() << "expected a cluster of several CTAs that all hold the whole tile, "
                               "got "
                            << ctas << " and " << buffer;
  std::optional<Box> box = op.getBox();
  if (op.getMulticast() && !box)
    return op.emitOpError() << "expected a tile that " << op.getMulticastCtas()
                            << " CTAs can divide for multicast, got " << buffer;
  if (!box || buffer.getSlack())
    return op.emitOpError() << "expected a layout that TMA writes, got " << buffer;
  for (int64_t size : box->sizes)
    if (size > Box::kMostElements)
      return op.emitOpError() << "expected boxes of at most " << Box::kMostElements
                              << " elements in each dimension, got " << size;
  if (buffer.getBytes() % box->alignment())
    return op.emitOpError() << "expected stages of a multiple of " << box->alignment()
                            << " bytes, got " << buffer.getBytes();
  auto alloc = op.getBuffer().getDefiningOp<AllocOp>();
  if (alloc && alloc.getOffset() && *alloc.getOffset() % box->alignment())
    return op.emitOpError() << "expected a buffer at a multiple of " << box->alignment()
                            << " bytes, got offset " << int64_t(*alloc.getOffset());
  return success();
}

LogicalResult TmaLoadOp::verify() {
  RankedTensorType tile = getBuffer().getType().getTile();
  if (failed(verifyIssuingWarp(*this)))
    return failure();
  if (bool(getEmpty()) != bool(getEmptyIndex()) || bool(getEmpty()) != bool(getEmptyPhase()))
    return emitOpError("expected an index and a phase with the empty mbarriers, and none without");
  if (tile.getRank() < 1 || int64_t(getDims().size()) != tile.getRank())
    return emitOpError() << "expected a tile of rank 1 or more and as many dims, got " << tile
                         << " and " << getDims().size() << " dims";
  if (failed(verifyCoords(*this)) || failed(verifyTensorMap(*this)))
    return failure();
  return verifyBox(*this);
}
