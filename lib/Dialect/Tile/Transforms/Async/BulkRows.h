//===- BulkRows.h - Bulk copies of unaligned rows --------------*- C++ -*-===//
//
// Shared by the passes that copy rows between global and shared memory by cp.async.bulk, and by
// those that pipeline loops: properties of rows, the buffers for them, and the shared memory that a
// kernel has left.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_BULKROWS_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_BULKROWS_H

#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Target/GpuDescription.h"

namespace tessera::tile {

/// Whether a tile is a contiguous part of a row that is not aligned to 16 bytes, and a bulk copy of
/// it pays off: it has at least 1 KiB per CTA, each CTA of a cluster holds a contiguous part or all
/// of it, and neighbouring lanes hold neighbouring elements, so that their reads of shared memory
/// have no bank conflicts for any misalignment.
bool isUnalignedRow(const Coordinates &coordinates, mlir::Value view, llvm::ArrayRef<int64_t> dims,
                    mlir::Value tile);

/// Whether a tile is a part of a `tile.aligned_row`, which begins at a multiple of 16 bytes, and a
/// bulk copy of it pays off.
bool isAlignedRow(mlir::Value view, mlir::Value tile);

/// Whether a bulk copy loads such a row faster than the threads do: elements of 4 bytes or more
/// already fill whole sectors per warp.
bool prefersBulkLoad(mlir::Value tile);

/// The buffer for such rows, or for a CTA's part of them; `slack` adds the bytes that an unaligned
/// row needs.
BufferType rowBuffer(mlir::Value tile, int64_t stages, bool slack = true);

/// The distance of a row's first element from a multiple of 16 bytes, in elements.
mlir::Value misalignmentOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value view,
                           mlir::ValueRange coords, llvm::ArrayRef<int64_t> dims);

/// Reads the tile of a load from the stage that a bulk copy has filled.
mlir::Value readBulkRow(mlir::OpBuilder &builder, LoadOp load, mlir::Value buffer,
                        mlir::Value stage, mlir::Value shift);

/// The coordinates of a load in another iteration of its loop.
llvm::SmallVector<mlir::Value> coordsAtIteration(LoadOp load, mlir::scf::ForOp loop,
                                                 mlir::Value iteration);

/// Whether a loop, before it was cut to the tiles that fit, ends where another one begins.
bool comesBefore(const Coordinates &coordinates, mlir::scf::ForOp loop, mlir::scf::ForOp next);

/// Whether a loop is over the remainder after the whole tiles of a row: it has at most one
/// iteration.
bool isRemainderLoop(const Coordinates &coordinates, mlir::scf::ForOp loop);

/// Whether a loop is the persistent loop of a CTA over its tiles.
inline bool isPersistentLoop(mlir::scf::ForOp loop) {
  return loop.getLowerBound().getDefiningOp<ProgramIdOp>() != nullptr;
}

/// The stage after one that a loop carries; the first stage follows the last.
mlir::Value nextStage(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value stage,
                      int64_t stages);

/// The shared memory that a kernel may still use: `bytes` less its own buffers and its distributed
/// shared memory, and no more than keeps as many CTAs on an SM as its buffers allow.
uint64_t sharedBytesLeft(KernelOp kernel, uint64_t bytes, const GpuDescription &gpu);

/// The shared memory that a kernel may use for rows beside its buffers and layout conversions: an
/// SM keeps a quarter of its warps and `min_ctas_per_sm` CTAs. `most` limits the
/// shared memory of a CTA; 0 is the chip's limit.
uint64_t sharedBytesForRows(KernelOp kernel, uint64_t most, const GpuDescription &gpu);

} // namespace tessera::tile

#endif
