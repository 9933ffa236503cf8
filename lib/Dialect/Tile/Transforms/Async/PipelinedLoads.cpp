//===- PipelinedLoads.cpp - Loads that a loop has in flight ahead ----------------===//
#include "PipelinedLoads.h"
#include "Numerics/Zero.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

std::optional<unsigned> tile::boxedDim(LoadOp load, const Coordinates &coordinates) {
  constexpr int64_t kPiece = 16; // bytes
  ViewType view = load.getView().getType();
  bool isWritten =
      llvm::any_of(load.getView().getUsers(), llvm::IsaPred<StoreOp, ScatterOp, BulkStoreOp>);
  if (isWritten || !isZeroOrNone(load.getPad()) || view.getRank() > Box::kMostDims ||
      load.getDims().size() < 2 || coordinates.rowAlignment(load.getView()) < kPiece)
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

/// Where a stage began that a loop carries, in the first of the loops behind each other that do.
static std::optional<int64_t> startOf(Value stage) {
  auto argument = dyn_cast<BlockArgument>(stage);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || argument == loop.getInductionVar())
    return std::nullopt;
  Value start = loop.getInitArgs()[argument.getArgNumber() - loop.getNumInductionVars()];
  while (auto before = start.getDefiningOp<scf::ForOp>())
    start = before.getInitArgs()[cast<OpResult>(start).getResultNumber()];
  return getConstantIntValue(start);
}

/// By how many iterations the stage of one value is before that of another, of those that are used
/// in turns.
static std::optional<int64_t> iterationsBetween(Value before, Value behind, int64_t stages) {
  std::optional<int64_t> first = startOf(before), last = startOf(behind);
  return first && last ? std::optional((*last - *first + stages) % stages) : std::nullopt;
}

int64_t tile::lagOf(TmaLoadOp refill, Value read) {
  int64_t stages = refill.getBuffer().getType().getStages();
  std::optional<int64_t> iterations = iterationsBetween(refill.getStage(), read, stages);
  return iterations ? (*iterations + stages - 1) % stages : 0;
}

Value tile::leftBefore(TmaLoadOp refill, Value read) {
  auto argument = dyn_cast<BlockArgument>(read);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (loop)
    for (Value carried : loop.getRegionIterArgs())
      if (carried.getType().isIndex() &&
          iterationsBetween(carried, read, refill.getBuffer().getType().getStages()) == 1)
        return carried;
  return nullptr;
}
