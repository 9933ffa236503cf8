//===- BulkVerify.cpp - What makes copies of rows well formed -------------===//
#include "Verify.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

static constexpr int64_t kPiece = 16; // bytes that the machine copies at once

LogicalResult GatesOp::verify() {
  if (getOffset() && (int64_t(*getOffset()) < 0 || *getOffset() % GatesType::kBytes))
    return emitOpError() << "expected an offset that " << GatesType::kBytes << " divides, got " << int64_t(*getOffset());
  return success();
}
LogicalResult FenceOp::verify() { return success(); }

/// A row of a view and its slot.
template <typename RowOp> static LogicalResult verifyRow(RowOp op) {
  ViewType view = op.getView().getType();
  BufferType buffer = op.getBuffer().getType();
  RankedTensorType tile = buffer.getTile();
  if (tile.getRank() != 1 || op.getDims().size() != 1)
    return op.emitOpError() << "expected a tile of rank 1, got " << tile << " and " << op.getDims().size() << " dims";
  if (failed(expectElement(op, "a buffer", view.getElementType(), tile.getElementType())) ||
      failed(expectDistinctDims(op, op.getDims(), view.getRank())))
    return failure();
  if (op.getCoords().size() != view.getRank())
    return op.emitOpError() << "expected " << view.getRank() << " coordinates, one for each dimension of the view, got "
                            << op.getCoords().size();
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

LogicalResult FetchOp::verify() { return verifyRow(*this); }
LogicalResult SendOp::verify() { return verifyRow(*this); }
LogicalResult AwaitOp::verify() { return success(); }

LogicalResult SentOp::verify() {
  if (int64_t(getPending()) < 0)
    return emitOpError() << "expected a number of sends of at least 0, got " << int64_t(getPending());
  return success();
}
