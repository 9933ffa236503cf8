//===- BulkRows.h - Rows that the machine copies as a whole --------*- C++ -*-===//
//
// What the passes share that bring rows of memory into shared memory, or from there, by bulk
// copies.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_BULKROWS_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_ASYNC_BULKROWS_H

#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Target/GpuDescription.h"

namespace tessera::tile {

/// Whether a tile is a run of memory that begins anywhere, of which each block has a part of
/// neighbours, or all of it, that is worth a copy of its own, and lies in neighbouring lanes, so
/// that these meet no bank twice wherever it begins.
bool isLooseRow(const Coordinates &coordinates, mlir::Value view, llvm::ArrayRef<int64_t> dims,
                mlir::Value tile);

/// Whether a tile is a run of a row that begins at a multiple of 16 bytes since `tile.aligned_row`
/// says so, worth a copy as well.
bool isAlignedRow(mlir::Value view, mlir::Value tile);

/// Whether it is better to bring such a row into shared memory as a whole: lanes that load elements
/// of 4 bytes or more take whole lines of memory at once.
bool isBetterBulkLoaded(mlir::Value tile);

/// Room for such rows, or for a block's part of them; `slack`: they begin anywhere.
BufferType rowBuffer(mlir::Value tile, int64_t stages, bool slack = true);

/// By how many elements the tiles of a row lie behind multiples of 16 bytes.
mlir::Value shiftOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value view,
                    mlir::ValueRange coords, llvm::ArrayRef<int64_t> dims);

/// The tile that a load takes, from the stage that a load has brought it to.
mlir::Value readRow(mlir::OpBuilder &builder, LoadOp load, mlir::Value buffer, mlir::Value stage,
                    mlir::Value shift);

/// The loads' coordinates in another iteration of the loop that moves them.
llvm::SmallVector<mlir::Value> coordsIn(LoadOp load, mlir::scf::ForOp loop, mlir::Value step);

/// Whether the steps of a loop, up to where it may be cut, lie before those of another one.
bool comesBefore(const Coordinates &coordinates, mlir::scf::ForOp loop, mlir::scf::ForOp next);

/// Whether a loop is for what is left behind whole tiles, and so runs once at most.
bool runsOnce(const Coordinates &coordinates, mlir::scf::ForOp loop);

/// Whether a loop is over the programs of a persistent CTA.
inline bool isOverPrograms(mlir::scf::ForOp loop) {
  return loop.getLowerBound().getDefiningOp<ProgramIdOp>() != nullptr;
}

/// The stage behind one that a loop carries, the first one behind the last.
mlir::Value stageAfter(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value stage,
                       int64_t stages);

/// What a kernel's own buffers and dsmem leave of so many bytes, without keeping away blocks that
/// have room beside each other.
uint64_t sharedBytesLeft(KernelOp kernel, uint64_t bytes, const GpuDescription &gpu);

/// What rows may take of shared memory beside a kernel's own buffers and exchanges, so that a
/// quarter of the warps that an SM has room for stay there, and as many blocks as a hint says.
/// `most`: of a block, or 0.
uint64_t bytesForRows(KernelOp kernel, uint64_t most, const GpuDescription &gpu);

} // namespace tessera::tile

#endif
