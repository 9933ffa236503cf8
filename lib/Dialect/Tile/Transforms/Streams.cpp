//===- Streams.cpp - Loads that a loop has under way ahead ----------------===//
#include "Streams.h"
#include "Zero.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

std::optional<unsigned> tile::boxedDim(LoadOp load, const Coordinates &coordinates) {
  constexpr int64_t kPiece = 16; // bytes
  ViewType view = load.getView().getType();
  bool isWritten = llvm::any_of(load.getView().getUsers(), llvm::IsaPred<StoreOp, ScatterOp, SendOp>);
  if (isWritten || !isZeroOrNone(load.getPad()) || view.getRank() > Box::kMostDims || load.getDims().size() < 2 ||
      coordinates.rowAlignment(load.getView()) < kPiece)
    return std::nullopt;
  std::optional<unsigned> inner;
  for (unsigned dim = 0; dim < view.getRank(); ++dim) {
    const auto *place = llvm::find(load.getDims(), dim);
    bool isNext = view.hasUnitStride(dim) && place != load.getDims().end();
    if (isNext && inner)
      return std::nullopt;
    if (isNext)
      inner = place - load.getDims().begin();
    else if (view.hasUnitStride(dim) || view.getStrides()[dim] == 0 ||
             (view.getStrides()[dim] < 0 && !coordinates.hasPositiveStride(load.getView(), dim)))
      return std::nullopt;
  }
  return inner;
}
