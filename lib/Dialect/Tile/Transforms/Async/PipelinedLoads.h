//===- PipelinedLoads.h - Loads that a loop has in flight ahead --------*- C++ -*-===//
//
// What the passes share that bring the tiles of later iterations into stages of shared memory, by
// threads' copies (PipelineLoops.cpp) or as boxes (LowerTmaLoads.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_PIPELINEDLOADS_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_PIPELINEDLOADS_H

#include "tessera/Dialect/Common/LaunchHints.h"
#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/Analysis/SharedMemory.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

namespace tessera::tile {

/// A load of a loop, what it is converted to if it is, and the room for its tiles.
struct Stream {
  LoadOp load;
  mlir::Operation *wanted; // the conversion, or the load itself
  BufferType buffer;
  mlir::Value room;
};

/// Whether warps give stages back at mbarriers of their own (ReleaseStages.cpp): those of several
/// groups that multiply. Blocks that share an SM are in different places of an iteration anyway.
inline bool releasesStages(KernelOp kernel) {
  constexpr int64_t kGroup = 4; // warps that multiply together
  mlir::DictionaryAttr hints = kernel.getHintsAttr();
  return getHint(hints, "wgmma").value_or(0) && getHint(hints, "num_warps").value_or(4) > kGroup &&
         getHint(hints, "min_ctas_per_sm").value_or(1) <= 1;
}

/// Whether the loop's step moves the load, and nothing else does.
inline bool isKnownAhead(mlir::scf::ForOp loop, LoadOp load) {
  mlir::Value step = loop.getInductionVar();
  return llvm::is_contained(load.getCoords(), step) &&
         llvm::all_of(load.getCoords(), [&](mlir::Value coordinate) {
           return coordinate == step || loop.isDefinedOutsideOfLoop(coordinate);
         });
}

/// Of a load that tensor copies can bring, the tile's dimension with the neighbours in memory: the
/// view is one that a tensor map can describe, and that nobody writes.
std::optional<unsigned> boxedDim(LoadOp load, const Coordinates &coordinates);

/// What a load is converted to, if nothing else takes it, or the load itself.
inline mlir::Operation *wantedOf(LoadOp load) {
  auto convert = load->hasOneUse() ? mlir::dyn_cast<ConvertOp>(*load->user_begin()) : ConvertOp();
  return convert ? convert.getOperation() : load.getOperation();
}

/// Of a copy into a stage that a loop carries, as it does the one that it reads: how many
/// iterations ago the iteration was whose stage it fills, beside the last one.
int64_t lagOf(TmaLoadOp refill, mlir::Value read);
/// The stage that the iteration before has read, if the loop carries it.
mlir::Value leftBefore(TmaLoadOp refill, mlir::Value read);

/// What the loop's other exchanges may take of shared memory at once.
inline uint64_t exchangedBeside(llvm::ArrayRef<Stream> streams, mlir::scf::ForOp loop,
                                SharedFeatures features) {
  return exchangedBytes(loop, features, [&](mlir::Operation *op) {
    return llvm::any_of(streams, [&](const Stream &stream) { return stream.wanted == op; });
  });
}

} // namespace tessera::tile

#endif
