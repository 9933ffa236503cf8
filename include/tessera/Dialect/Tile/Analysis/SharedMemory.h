//===- SharedMemory.h - Accesses, hazards and barriers ---------*- C++ -*-===//
//
// A placed kernel says where each buffer lies and which threads read and write it. Two accesses of
// which one writes are a hazard if they may touch the same bytes and no barrier separates them: a
// CTA barrier if different warps access, a warp barrier if each warp meets only itself.
//
// Warps run independently: after a barrier one warp may overwrite what another one has read before
// the same barrier. The analysis therefore collects, for each operation, the accesses since the
// last CTA barrier on all paths, also around loops.
//
// An asynchronous copy writes from its start until its wait, and wgmma reads from its start until
// its wait. TMA, bulk copies and wgmma use the async proxy: they see writes of threads only after a
// fence. All threads wait at the full barrier for what TMA or a bulk copy has loaded.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_ANALYSIS_SHAREDMEMORY_H
#define TESSERA_DIALECT_TILE_ANALYSIS_SHAREDMEMORY_H

#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Layout/Conversion.h"
#include "tessera/Target/GpuDescription.h"

namespace tessera {

/// The instructions of a chip for layout conversions through shared memory, and the bytes of a CTA.
SharedFeatures sharedFeaturesOf(const GpuDescription &gpu);

/// One operation's access to one buffer.
struct BufferAccess {
  mlir::Operation *op = nullptr;
  mlir::Value buffer, stage;
  bool isWrite = false;
  /// The elements that each thread accesses.
  Layout layout;
};
llvm::SmallVector<BufferAccess, 2> bufferAccesses(mlir::Operation *op);

/// Bytes of distributed shared memory with which the CTAs of a cluster combine the partial results
/// of a reduction; 0 if each CTA has the whole result.
uint64_t dsmemBytes(tile::ReduceOp reduce);
/// The shared memory that the operations in a scope may need at once: for layout conversions that
/// are not shuffles, operands of contractions without tensor cores, and partial results of
/// reductions. `isElsewhere` excludes operations.
uint64_t exchangedBytes(mlir::Operation *scope, SharedFeatures features,
                        llvm::function_ref<bool(mlir::Operation *)> isElsewhere = nullptr);

/// The barrier that two accesses need between them.
enum class BarrierScope { None, Warp, Block };

struct Hazard {
  mlir::Operation *before, *after;
  BarrierScope scope;
  /// Whether a fence must make the earlier write visible to the async proxy.
  bool wantsFence = false;
};

/// The hazards of a kernel with the barriers that it has.
llvm::SmallVector<Hazard> findHazards(tile::KernelOp kernel);
/// Inserts barriers, with fences before accesses of the async proxy, until there is no hazard: as
/// late as possible, and before a branch or a loop if one barrier there serves all of it.
void placeBarriers(tile::KernelOp kernel);

} // namespace tessera

#endif
