//===- SharedMemory.h - Who touches shared memory, and when ----*- C++ -*-===//
//
// A placed kernel says where each buffer lies and who reads and writes it. Two accesses of which
// one writes are a hazard where they may meet in memory and no barrier keeps them apart: of the
// block where different warps make them, of the warp where each warp meets only itself.
//
// Warps run apart: what one has read before a barrier, another may overwrite as soon as it has left
// the same barrier. So what a walk through the program has to know at a place is which accesses lie
// behind the last barrier of the block, on any way that leads there, around loops as well. A copy
// that goes on beside the program is written when it is begun, and again when it is waited for.
// Copies of rows see what threads have written behind a fence of theirs; what they bring is waited
// for by all. Products that go on beside the program read so, too, from where they are begun until
// they are waited for.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_ANALYSIS_SHAREDMEMORY_H
#define TESSERA_DIALECT_TILE_ANALYSIS_SHAREDMEMORY_H

#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Layout/Conversion.h"
#include "tessera/Target/GpuDescription.h"

namespace tessera {

/// What a chip has for exchanges through shared memory, and how much of it a CTA has.
SharedFeatures sharedFeaturesOf(const GpuDescription &gpu);

/// One operation's access to one buffer.
struct BufferAccess {
  mlir::Operation *op = nullptr;
  mlir::Value buffer, stage;
  bool isWrite = false;
  /// Thread -> elements, of the threads that take part.
  Layout layout;
};
llvm::SmallVector<BufferAccess, 2> bufferAccesses(mlir::Operation *op);

/// Bytes of the dsmem by which the blocks of a cluster will join what a reduction leaves of each;
/// 0: there is none.
uint64_t dsmemBytes(tile::ReduceOp reduce);
/// What exchanges inside an operation may take of shared memory at once: conversions that shuffles
/// do not make, operands of products without tensor cores, parts of reductions. `isElsewhere` names
/// those that will not be made so.
uint64_t exchangedBytes(mlir::Operation *scope, SharedFeatures features,
                        llvm::function_ref<bool(mlir::Operation *)> isElsewhere = nullptr);

/// Which barrier must keep two accesses apart.
enum class BarrierScope { None, Warp, Block };

struct Hazard {
  mlir::Operation *before, *after;
  BarrierScope scope;
  /// Whether the write before has to be fenced for a copy of a row to see it.
  bool wantsFence = false;
};

/// The hazards of a kernel with the barriers that it has.
llvm::SmallVector<Hazard> findHazards(tile::KernelOp kernel);
/// Inserts barriers, with fences where copies of rows follow, until there is no hazard: as late as
/// can be, but before a branch or a loop where that serves all of it.
void placeBarriers(tile::KernelOp kernel);

} // namespace tessera

#endif
