//===- Coalescing.cpp - What the lanes of a warp read together ------------===//
#include "Layout/Coalescing.h"

#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

static constexpr unsigned kSector = 32; // bytes

/// The elements along a dimension of a tile that one load instruction of a warp reads: those of a
/// thread, then those of the next lanes.
static unsigned runAlong(const Layout &layout, unsigned dim, unsigned size, unsigned bytes,
                         unsigned *ofThread = nullptr) {
  constexpr unsigned kWidest = 16;
  unsigned run = 1;
  gf2::Vectors lanes = layout.columnsOf({Dim::Lane}), registers = layout.columnsOf({Dim::Register});
  auto element = [&](unsigned step) { return layout.out().pack(Point({{tensorDim(dim), step}})); };
  while (run < size && run * bytes < kWidest && llvm::is_contained(registers, element(run)))
    run *= 2;
  if (ofThread)
    *ofThread = run;
  while (run < size && llvm::is_contained(lanes, element(run)))
    run *= 2;
  return run;
}

bool tile::isCoalesced(LoadOp load, const Layout &layout) {
  constexpr unsigned kRegister = 4;
  unsigned bytes = std::max(1u, load.getType().getElementTypeBitWidth() / 8);
  for (auto [dim, along] : llvm::enumerate(load.getDims())) {
    if (!load.getView().getType().hasUnitStride(along))
      continue;
    unsigned size = load.getType().getShape()[dim], ofThread;
    unsigned run = runAlong(layout, dim, size, bytes, &ofThread);
    if (ofThread * bytes < kRegister && llvm::any_of(load->getUsers(), llvm::IsaPred<MmaOp>))
      return false;
    return run == size || run * bytes >= kSector;
  }
  return true;
}

/// The dimensions of a tile of indices along which the next index is larger by one.
static void collectIotaDims(Value index, SmallVectorImpl<unsigned> &dims) {
  if (auto broadcast = index.getDefiningOp<BroadcastOp>()) {
    if (broadcast.getInput().getDefiningOp<IotaOp>() && broadcast.getDims().size() == 1)
      dims.push_back(broadcast.getDims()[0]);
    return;
  }
  auto map = index.getDefiningOp<MapOp>();
  if (map && (map.getScalarOp() == ScalarOp::Add || map.getScalarOp() == ScalarOp::Sub))
    for (Value operand : map.getInputs().drop_back(map.getScalarOp() == ScalarOp::Sub))
      collectIotaDims(operand, dims);
}

/// The longest dimension of a gather's tile along which memory is contiguous, as in a shifted
/// tensor.
static std::optional<unsigned> runOf(GatherOp gather) {
  ArrayRef<int64_t> shape = gather.getType().getShape();
  ViewType view = gather.getView().getType();
  unsigned first = view.getRank() - unsigned(gather.getIndices().size());
  std::optional<unsigned> longest;
  for (auto [i, index] : llvm::enumerate(gather.getIndices())) {
    if (!view.hasUnitStride(first + unsigned(i)))
      continue;
    SmallVector<unsigned> dims;
    collectIotaDims(index, dims);
    for (unsigned dim : dims)
      if (!longest || shape[dim] > shape[*longest])
        longest = dim;
  }
  return longest;
}

std::optional<unsigned> tile::scatteredRun(GatherOp gather, const Layout &layout) {
  std::optional<unsigned> run = runOf(gather);
  if (!run)
    return std::nullopt;
  unsigned bytes = std::max(1u, gather.getType().getElementTypeBitWidth() / 8);
  unsigned size = unsigned(gather.getType().getShape()[*run]);
  unsigned length = runAlong(layout, *run, size, bytes);
  return length == size || length * bytes >= kSector ? std::nullopt : run;
}
